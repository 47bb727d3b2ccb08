"""Rows of the ground layer: workspaces, who may use them, personal settings, and the audit trail."""

from typing import Self

from django.conf import settings
from django.db import models

from halo_site.lib.access_level import Access


class WorkspaceQuerySet(models.QuerySet["Workspace"]):
    def visible_to(self, user: "models.Model") -> Self:
        """Workspaces this user may open: all for a superuser, else those with a membership."""
        if getattr(user, "is_superuser", False):
            return self
        return self.filter(memberships__user=user.pk)


class Workspace(models.Model):
    """A folder people work in, known by its real path. Moved folders keep their row when staff relink it."""

    path = models.TextField(unique=True)
    name = models.CharField(max_length=255)
    created_at = models.DateTimeField(auto_now_add=True)
    opened_at = models.DateTimeField(null=True, blank=True)

    objects = WorkspaceQuerySet.as_manager()

    class Meta:
        ordering = ["-opened_at"]

    def __str__(self) -> str:
        return self.name


class Membership(models.Model):
    """What one user may do in one workspace."""

    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="memberships")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="memberships")
    level = models.CharField(
        max_length=16, choices=[(level.value, level.value) for level in Access], default=Access.READONLY.value
    )

    class Meta:
        constraints = [models.UniqueConstraint(fields=["workspace", "user"], name="one_membership")]

    def __str__(self) -> str:
        return f"{self.user} in {self.workspace}: {self.level}"


class UserPrefs(models.Model):
    """Theme and language follow the person (DESIGN 13); empty means the site's default."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, models.CASCADE, related_name="prefs")
    theme = models.CharField(max_length=16, blank=True, default="")
    language = models.CharField(max_length=16, blank=True, default="")

    class Meta:
        verbose_name_plural = "user prefs"


class Notice(models.Model):
    """News from a process without a shared channel layer; the server drains them every 500 ms (ARCHITECTURE 2)."""

    kind = models.CharField(max_length=16)  # publish, signal
    name = models.CharField(max_length=255)
    body = models.BinaryField()
    created_at = models.DateTimeField(auto_now_add=True, db_index=True)


class AuditEvent(models.Model):
    """Who did what, when, from where. Rows are only ever added."""

    at = models.DateTimeField(auto_now_add=True, db_index=True)
    actor = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+")
    actor_name = models.CharField(max_length=150, blank=True)  # survives the user
    action = models.CharField(max_length=64, db_index=True)  # "login", "session.delete", "user.change" ...
    target = models.CharField(max_length=255, blank=True)
    workspace = models.ForeignKey(Workspace, models.SET_NULL, null=True, blank=True, related_name="+")
    address = models.CharField(max_length=64, blank=True)
    detail = models.JSONField(default=dict, blank=True)

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"{self.actor_name or 'somebody'} {self.action} {self.target}"
