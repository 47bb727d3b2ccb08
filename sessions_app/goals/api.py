"""GET /sessions/goal: the goal a tab shows when it opens (spec sessions, "Wire formats")."""

from typing import Any

from django.conf import settings
from ninja import Router

from halo_site.lib.access_level import Access
from halo_site.lib.schema import ApiSchema
from workspaces_app.access import CallerRequest, open_workspace

from .actions import latest

router = Router(by_alias=True, tags=["sessions"])


class GoalOut(ApiSchema):
    """`status`: intake, running, paused, done or halted. `round`: how many were judged."""

    goal_session_id: str
    worker_session_id: str
    status: str
    round: int
    max_rounds: int


class SeedOut(ApiSchema):
    """`goal`: the newest of the workspace; null = none, it was cleared, or goal mode is off."""

    goal: GoalOut | None


@router.get("/sessions/goal", response=SeedOut)
def newest_goal(request: CallerRequest, projectId: str | None = None) -> dict[str, Any]:
    workspace, _ = open_workspace(request.caller, projectId, Access.READONLY)
    found = latest(workspace.pk) if settings.HALO.goal_mode else None
    if found is None or found[1].status == "cleared":
        return {"goal": None}
    goal = found[1]
    return {
        "goal": {
            "goal_session_id": goal.goal_id,
            "worker_session_id": goal.worker,
            "status": goal.status,
            "round": goal.round,
            "max_rounds": goal.max_rounds,
        }
    }
