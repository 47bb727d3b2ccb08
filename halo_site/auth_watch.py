"""Notices every change of a person's rights, wherever it is made, and tells the hub: `auth.changed {user}`.

The staff site, a route and `manage.py changepassword` all end in a save of these rows, so this is the one place that
sees them all. The news goes out after commit; the hub then closes that person's sockets, and the next request reads
the new rights from the database anyway.
"""

from functools import partial
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models.signals import post_delete, post_save, pre_save

from halo_site.lib.publish import signal
from workspaces_app.models import Membership

_RIGHTS = ("password", "is_active", "is_superuser", "is_staff", "username")
_BEFORE = "_halo_rights_before"


def watch() -> None:
    """Called once, when the apps are ready."""
    pre_save.connect(_remember_user, sender=User, dispatch_uid="halo.user.before")
    post_save.connect(_user_saved, sender=User, dispatch_uid="halo.user.after")
    post_delete.connect(_user_deleted, sender=User, dispatch_uid="halo.user.gone")
    pre_save.connect(_remember_membership, sender=Membership, dispatch_uid="halo.member.before")
    post_save.connect(_membership_saved, sender=Membership, dispatch_uid="halo.member.after")
    post_delete.connect(_membership_deleted, sender=Membership, dispatch_uid="halo.member.gone")


def _remember_user(instance: User, update_fields: Any = None, **kwargs: Any) -> None:
    if instance.pk and (update_fields is None or set(update_fields) & set(_RIGHTS)):
        setattr(instance, _BEFORE, User.objects.filter(pk=instance.pk).values_list(*_RIGHTS).first())


def _user_saved(instance: User, **kwargs: Any) -> None:
    before = instance.__dict__.pop(_BEFORE, None)
    if before is not None and before != tuple(getattr(instance, name) for name in _RIGHTS):
        tell_rights_changed(instance.pk)


def _user_deleted(instance: User, **kwargs: Any) -> None:
    tell_rights_changed(instance.pk)


def _remember_membership(instance: Membership, **kwargs: Any) -> None:
    before = Membership.objects.filter(pk=instance.pk).values_list("user_id", "level").first() if instance.pk else None
    setattr(instance, _BEFORE, before)


def _membership_saved(instance: Membership, **kwargs: Any) -> None:
    before = instance.__dict__.pop(_BEFORE, None)
    if before == (instance.user_id, instance.level):
        return
    tell_rights_changed(instance.user_id)
    if before is not None and before[0] != instance.user_id:
        tell_rights_changed(before[0])


def _membership_deleted(instance: Membership, **kwargs: Any) -> None:
    tell_rights_changed(instance.user_id)


def tell_rights_changed(user_id: int) -> None:
    """After commit, ask the hub to look again at the logins and rights of this person's connections."""
    transaction.on_commit(partial(signal, "auth.changed", user=user_id))
