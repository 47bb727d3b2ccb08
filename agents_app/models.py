"""The rows of this app: what a workspace does without, and how MCP servers are. All else is files."""

from datetime import timedelta

from django.db import models
from django.utils import timezone

from workspaces_app.models import Workspace


class DisabledItem(models.Model):
    """A workspace does not use this agent or skill of this scope; the same id of the other scope is not meant."""

    AGENT, SKILL = "agent", "skill"

    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="disabled_items")
    item_type = models.CharField(max_length=8, choices=[(AGENT, AGENT), (SKILL, SKILL)])
    item_id = models.CharField(max_length=128)
    scope = models.CharField(max_length=16, choices=[("global", "global"), ("workspace", "workspace")])
    disabled_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["item_type", "item_id", "scope"]
        constraints = [
            models.UniqueConstraint(fields=["workspace", "item_type", "item_id", "scope"], name="one_disabled_item")
        ]

    def __str__(self) -> str:
        return f"{self.item_type} {self.item_id} ({self.scope})"


class McpState(models.Model):
    """How an MCP server of an agent is, as far as this level has used it. Written by the process that runs it."""

    SEEN_FOR = timedelta(minutes=3)  # a running server is seen every 30 s; one of a killed process no more

    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="mcp_states")
    agent_id = models.CharField(max_length=128)
    level = models.CharField(max_length=16)
    name = models.CharField(max_length=32)
    state = models.CharField(max_length=16)  # starting, ready, failed, ended
    error = models.TextField(blank=True, default="")  # why it failed; without secrets
    tools = models.JSONField(default=list)  # names as models call them
    warnings = models.JSONField(default=list)
    changed_at = models.DateTimeField()
    seen_at = models.DateTimeField()

    class Meta:
        ordering = ["agent_id", "name", "level"]
        constraints = [models.UniqueConstraint(fields=["workspace", "agent_id", "level", "name"], name="one_mcp_state")]

    def __str__(self) -> str:
        return f"{self.agent_id}: {self.name} ({self.level})"

    @property
    def state_now(self) -> str:
        """`ended` for one whose process did not live to write it."""
        runs = self.state in ("starting", "ready")
        return "ended" if runs and timezone.now() - self.seen_at > self.SEEN_FOR else self.state
