"""Who owes whom a report (ARCHITECTURE 4, spec relay "Data")."""

from typing import Any, Self

from django.db import models
from django.db.models import F, Q

from sessions_app.chain import Chain
from sessions_app.models import Entry, Session
from workspaces_app.models import Workspace


class ReplyToQuerySet(models.QuerySet["ReplyTo"]):
    def open(self) -> Self:
        return self.filter(closed_at=None)

    def made_in_tree_of(self, root_key: int) -> Self:
        """Dispatched by a root session or one of its sub-agents."""
        return self.filter(Q(caller=root_key) | Q(caller__root=root_key))


class ReplyTo(models.Model):
    """A task handed to another session. Open = exactly one final report is owed to that caller.

    The names of both sides are kept, so that the row still tells its story when a session or workspace is gone.
    """

    class Outcome(models.TextChoices):
        COMPLETED = "completed"
        ABORTED = "aborted"
        STOPPED = "stopped"  # by its caller, who knows the outcome: no report
        CANCELLED = "cancelled"  # by a person
        UNDELIVERED = "undelivered"  # nobody was left to hear it

    target = models.ForeignKey(Session, models.SET_NULL, null=True, related_name="owed_replies", db_index=False)
    caller = models.ForeignKey(Session, models.SET_NULL, null=True, related_name="awaited_replies")
    target_workspace = models.ForeignKey(Workspace, models.SET_NULL, null=True, related_name="+")
    caller_workspace = models.ForeignKey(Workspace, models.SET_NULL, null=True, related_name="+")
    target_path = models.TextField()
    caller_path = models.TextField()
    target_sid = models.CharField(max_length=1600)
    caller_sid = models.CharField(max_length=1600)
    caller_agent = models.CharField(max_length=128)  # who else may hear the report when the caller is gone
    entry = models.BigIntegerField(default=0)  # the first message of this dispatch
    chain = models.JSONField()  # sessions_app.chain of the task, its caller last; `answers` = what the caller works for
    chain_id = models.CharField(max_length=64, db_index=True)
    hop = models.PositiveSmallIntegerField()
    people = models.JSONField(default=list)  # keys of the users behind the caller
    sends = models.PositiveIntegerField(default=1)  # messages that share the one final report
    interims = models.PositiveIntegerField(default=0)
    interim_mark = models.CharField(max_length=64, blank=True, default="")  # hash of the newest one
    created_at = models.DateTimeField()
    renewed_at = models.DateTimeField()
    closed_at = models.DateTimeField(null=True, blank=True, db_index=True)
    outcome = models.CharField(max_length=16, choices=Outcome.choices, blank=True, default="")
    reason = models.TextField(blank=True, default="")

    objects = ReplyToQuerySet.as_manager()

    class Meta:
        verbose_name = "relay"
        constraints = [
            models.UniqueConstraint(
                fields=["target", "caller"], condition=Q(closed_at=None), name="one_open_reply_per_caller"
            )
        ]
        indexes = [
            models.Index(F("id").desc(), name="open_replies", condition=Q(closed_at=None)),
            models.Index(fields=["target"], name="replies_of_target"),
        ]

    def __str__(self) -> str:
        return f"{self.caller_path} → {self.target_path}"

    def messages(self) -> models.QuerySet[Entry]:
        """What was sent for this one report."""
        return Entry.objects.filter(session=self.target_id or 0, pk__gte=self.entry, origin__dispatch=self.pk)

    def task(self) -> Chain:
        chain = Chain.of(self.chain)
        assert chain is not None  # written by `actions.dispatch` only
        return chain

    def reply_to(self) -> dict[str, Any]:
        """The wire form of the documents."""
        return {"workspace": self.caller_path, "sessionId": self.caller_sid}
