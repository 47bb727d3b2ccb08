"""News about agents and skills for pages that list them."""

from functools import partial
from typing import Literal

from django.db import transaction

from halo_site.lib.publish import SITE, publish, workspace_topic
from workspaces_app.models import Workspace

from .events import AgentsChanged, SkillsChanged

Kind = Literal["agent", "skill"]
EVENTS = {"agent": AgentsChanged, "skill": SkillsChanged}


def announce_item(kind: Kind, scope: str, workspace: Workspace | None) -> None:
    """`workspace`: where it happened; those who may open it are told. None = in the home: everybody is."""
    event = EVENTS[kind](scope=scope, project_id=workspace.path if workspace else None)
    transaction.on_commit(partial(publish, workspace_topic(workspace.pk) if workspace else SITE, event))
