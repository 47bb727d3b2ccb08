"""Rows of a conversation. ARCHITECTURE 4 gives the fields, spec sessions.md what each fact means."""

from typing import Self

from django.conf import settings
from django.db import models
from django.db.models import F, Q

from halo_site.lib.ids import LONGEST_SID
from workspaces_app.models import Workspace


class SessionQuerySet(models.QuerySet["Session"]):
    def roots(self) -> Self:
        return self.filter(parent=None)

    def listed(self) -> Self:
        """What lists show: sessions of internal agents are found only by id (spec storage 3.4)."""
        return self.exclude(source=Session.Source.INTERNAL)


class Session(models.Model):
    """One conversation with one agent. `sid` is its public id, unique within its workspace only."""

    class Source(models.TextChoices):
        EXPLORER = "explorer"
        DELEGATED = "delegated"
        INTERNAL = "internal"

    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="sessions")
    sid = models.CharField(max_length=LONGEST_SID)
    parent = models.ForeignKey("self", models.CASCADE, null=True, blank=True, related_name="children")
    root = models.ForeignKey(
        "self", models.CASCADE, null=True, blank=True, related_name="descendants"
    )  # null = is root
    agent_id = models.CharField(max_length=128)
    agent_name = models.CharField(max_length=255)
    title = models.CharField(max_length=255, null=True, blank=True)  # null = shown as "New session"
    description = models.TextField(blank=True, default="")
    source = models.CharField(max_length=16, choices=Source.choices, default=Source.EXPLORER)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    access_level = models.CharField(max_length=16, default="full")
    working_dir = models.TextField(null=True, blank=True)
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()
    stopped_at = models.DateTimeField(null=True, blank=True)
    archived_at = models.DateTimeField(null=True, blank=True)
    parked_at = models.DateTimeField(null=True, blank=True)

    context_tokens = models.PositiveBigIntegerField(default=0)
    output_tokens = models.PositiveBigIntegerField(default=0)
    cost_micros = models.BigIntegerField(null=True, blank=True)  # null = no call with a known price yet
    currency = models.CharField(max_length=8, blank=True, default="")
    exchange_count = models.PositiveIntegerField(default=0)
    turn_count = models.PositiveIntegerField(default=0)
    deaths = models.PositiveSmallIntegerField(default=0)  # crashes in a row

    lease_owner = models.CharField(max_length=128, null=True, blank=True)  # boot id:pid namespace:pid:start
    lease_epoch = models.PositiveBigIntegerField(default=0)
    lease_until = models.DateTimeField(null=True, blank=True)  # database time
    activity = models.CharField(max_length=16, blank=True, default="")  # turn, compact; empty = idle
    runner = models.CharField(max_length=128, blank=True, default="")  # a CLI or TUI that keeps its tree
    abort_requested = models.JSONField(null=True, blank=True)  # {tier, turn, upto}
    seq = models.PositiveBigIntegerField(default=0)  # of the newest frame that is covered by stored rows
    prompt = models.JSONField(null=True, blank=True)  # {hash, at}
    report_due = models.BooleanField(default=False)
    goal = models.JSONField(null=True, blank=True)  # of a session that pursues one (sessions_app/goals/state.py)
    goal_session = models.ForeignKey(  # of the session that works for it
        "self", models.SET_NULL, null=True, blank=True, related_name="goal_workers", db_index=False
    )
    exported = models.PositiveBigIntegerField(default=0)  # newest entry id in the transcript file

    objects = SessionQuerySet.as_manager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["workspace", "sid"], name="one_sid_per_workspace")]
        indexes = [
            models.Index(F("workspace"), F("updated_at").desc(), F("sid"), name="session_list"),
            models.Index(fields=["parent"], name="active_children", condition=Q(stopped_at=None, archived_at=None)),
            models.Index(fields=["id"], name="owed_reports", condition=Q(report_due=True)),
            models.Index(fields=["lease_until"], name="leases", condition=Q(lease_owner__isnull=False)),
            models.Index(fields=["id"], name="kept_trees", condition=~Q(runner="")),
            models.Index(fields=["workspace"], name="goal_sessions", condition=Q(goal__isnull=False)),
            models.Index(fields=["goal_session"], name="goal_workers", condition=Q(goal_session__isnull=False)),
        ]

    def __str__(self) -> str:
        return self.title or self.sid

    @property
    def root_key(self) -> int:
        """Key of the root: names the topic to which all frames of the tree go."""
        return self.root_id or self.pk


class Tombstone(models.Model):
    """A deleted session id is never created again: not by a resend, a late write or an import."""

    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="tombstones")
    sid = models.CharField(max_length=LONGEST_SID)
    deleted_at = models.DateTimeField(auto_now_add=True)
    file = models.TextField(default="", blank=True)  # the transcript below the workspace, until it is gone

    class Meta:
        constraints = [models.UniqueConstraint(fields=["workspace", "sid"], name="one_tombstone")]
        indexes = [models.Index(fields=["id"], condition=~models.Q(file=""), name="tombstone_with_file")]


class Turn(models.Model):
    """One merged input and everything the agent did about it. Running without a live lease = a crash."""

    class Status(models.TextChoices):
        RUNNING = "running"
        DONE = "done"
        ERROR = "error"
        ABORTED = "aborted"
        INTERRUPTED = "interrupted"

    session = models.ForeignKey(Session, models.CASCADE, related_name="turns", db_index=False)  # see the constraint
    index = models.PositiveIntegerField()
    status = models.CharField(max_length=16, choices=Status.choices, default=Status.RUNNING)
    stop_reason = models.CharField(max_length=32, blank=True, default="")
    error = models.JSONField(null=True, blank=True)  # {kind, message}
    door = models.JSONField(null=True, blank=True)  # relay: which dispatch this turn may answer
    chain = models.JSONField(null=True, blank=True)
    waiting_on_children = models.BooleanField(default=False)
    interim_sent = models.BooleanField(default=False)
    access_level = models.CharField(max_length=16, default="full")
    started_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True)
    model = models.CharField(max_length=255, blank=True, default="")
    input_tokens = models.PositiveBigIntegerField(default=0)
    output_tokens = models.PositiveBigIntegerField(default=0)
    cache_read_tokens = models.PositiveBigIntegerField(default=0)
    cache_write_tokens = models.PositiveBigIntegerField(default=0)
    cost_micros = models.BigIntegerField(null=True, blank=True)
    ttft_ms = models.PositiveIntegerField(null=True, blank=True)  # of the first call

    class Meta:
        constraints = [models.UniqueConstraint(fields=["session", "index"], name="one_turn_index")]
        indexes = [
            models.Index(fields=["session", "status"], name="running_turns"),
            models.Index(fields=["started_at"], name="turns_by_day"),
        ]

    def __str__(self) -> str:
        return f"turn {self.index}: {self.status}"


class Entry(models.Model):
    """One row of the log: what people see, what waits, and what the model gets, in one place."""

    class Kind(models.TextChoices):
        USER = "user"
        AGENT = "agent"
        ASSISTANT = "assistant"
        TOOL_RESULT = "tool_result"
        NOTICE = "notice"
        SUMMARY = "summary"

    session = models.ForeignKey(Session, models.CASCADE, related_name="entries", db_index=False)  # see the indexes
    turn = models.ForeignKey(Turn, models.SET_NULL, null=True, blank=True, related_name="entries")  # null = queued
    kind = models.CharField(max_length=16, choices=Kind.choices)
    text = models.TextField(blank=True, default="")
    blocks = models.JSONField(default=list, blank=True)
    meta = models.JSONField(default=dict, blank=True)
    source_session = models.ForeignKey(Session, models.SET_NULL, null=True, blank=True, related_name="+")
    origin = models.JSONField(null=True, blank=True)  # {kind, sender, level, chat, dispatch}
    client_msg_id = models.CharField(max_length=128, null=True, blank=True)
    deleted = models.BigIntegerField(null=True, blank=True)  # id of the entry whose deletion took this one along
    in_context = models.BooleanField(default=True)
    created_at = models.DateTimeField()

    class Meta:
        verbose_name_plural = "entries"
        constraints = [models.UniqueConstraint(fields=["session", "client_msg_id"], name="one_client_msg")]
        indexes = [
            models.Index(fields=["session", "id", "kind"], name="entry_log"),  # kind: rows are counted in the index
            models.Index(fields=["session"], name="entry_queue", condition=Q(turn=None)),
            models.Index(fields=["session", "id"], name="entry_context", condition=Q(in_context=True)),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.pk}"


class ModelCall(models.Model):
    """One request to a model provider: written before it is sent, completed after."""

    turn = models.ForeignKey(Turn, models.CASCADE, related_name="model_calls")
    call_id = models.CharField(max_length=64)  # the wire's `turnId` and `Entry.meta.turn_id`: names one model call
    attempt = models.PositiveSmallIntegerField(default=0)
    provider = models.CharField(max_length=128)
    model = models.CharField(max_length=255)
    started_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True)
    outcome = models.CharField(max_length=32, blank=True, default="")  # stop reason, or the error's kind; empty = open
    error = models.TextField(blank=True, default="")
    input_tokens = models.PositiveBigIntegerField(default=0)
    output_tokens = models.PositiveBigIntegerField(default=0)
    cache_read_tokens = models.PositiveBigIntegerField(default=0)
    cache_write_tokens = models.PositiveBigIntegerField(default=0)
    ttft_ms = models.PositiveIntegerField(null=True, blank=True)
    cost_micros = models.BigIntegerField(null=True, blank=True)  # null = price unknown
    currency = models.CharField(max_length=8, blank=True, default="")
    chain_id = models.CharField(max_length=64, blank=True, default="")

    class Meta:
        indexes = [models.Index(fields=["chain_id"], name="calls_of_a_chain", condition=~Q(chain_id=""))]


class ToolCall(models.Model):
    """One call of a tool: the row is written before the effect, its outcome after."""

    turn = models.ForeignKey(Turn, models.CASCADE, related_name="tool_calls")
    call_id = models.CharField(max_length=64)
    tool_use_id = models.CharField(max_length=255)
    name = models.CharField(max_length=128)
    started_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True)
    outcome = models.CharField(max_length=32, blank=True, default="")  # ok, error, aborted, unknown; empty = open
    output = models.TextField(blank=True, default="")  # last 200 lines of a running command, for replay

    class Meta:
        indexes = [models.Index(fields=["turn", "tool_use_id"], name="tool_call_ids")]


class Upload(models.Model):
    """An image that went up over HTTP and waits to be named by a chat frame; unused ones go after 24 h."""

    id = models.CharField(max_length=32, primary_key=True)
    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="uploads")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    path = models.TextField()  # absolute
    mime_type = models.CharField(max_length=64)
    size = models.PositiveIntegerField()
    width = models.PositiveIntegerField()
    height = models.PositiveIntegerField()
    used = models.BooleanField(default=False)
    created_at = models.DateTimeField(auto_now_add=True, db_index=True)


class SessionSeen(models.Model):
    """How far a person has seen a session; the unseen dot follows the person, not the browser."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    session = models.ForeignKey(Session, models.CASCADE, related_name="+")
    seq = models.PositiveBigIntegerField(default=0)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "session"], name="one_seen_mark")]
