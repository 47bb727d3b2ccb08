"""GET /sessions/usage: what the agents of a workspace read, wrote and cost (spec models 7)."""

from datetime import timedelta
from typing import Annotated

from django.utils import timezone
from ninja import Router
from pydantic import Field

from halo_site.lib.schema import ApiSchema
from workspaces_app.access import CallerRequest, open_workspace

from .display import milliseconds
from .spending import dearest_first, parts_since

router = Router(by_alias=True, tags=["sessions"])


class CostOut(ApiSchema):
    currency: str
    micros: int


class AgentUsageOut(ApiSchema):
    """`costs`: what is known, one per currency. `unpricedCalls`: calls whose cost is unknown, which is not 0."""

    agent_id: str
    agent_name: str
    calls: int
    unpriced_calls: int
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    costs: list[CostOut]


class UsageOut(ApiSchema):
    """`since`: Unix milliseconds."""

    since: int
    agents: list[AgentUsageOut]


@router.get("/sessions/usage", response=UsageOut, summary="What the agents of a workspace used and cost")
def read_usage(
    request: CallerRequest, projectId: str | None = None, days: Annotated[int, Field(ge=1, le=90)] = 14
) -> UsageOut:
    """Of the last `days` days (UTC, today is one), sub-agents on their own; the dearest first."""
    workspace, _ = open_workspace(request.caller, projectId)
    today = timezone.now().replace(hour=0, minute=0, second=0, microsecond=0)
    since = today - timedelta(days=days - 1)
    agents = dearest_first(parts_since(since, workspace.pk), lambda part: part.agent)
    return UsageOut(
        since=milliseconds(since),
        agents=[
            AgentUsageOut(
                agent_id=agent,
                agent_name=spent.newest.agent_name,
                calls=spent.calls,
                unpriced_calls=spent.unpriced,
                input_tokens=spent.input_tokens,
                output_tokens=spent.output_tokens,
                cache_read_tokens=spent.cache_read_tokens,
                cache_write_tokens=spent.cache_write_tokens,
                costs=[CostOut(currency=name, micros=micros) for name, micros in sorted(spent.costs.items())],
            )
            for agent, spent in agents
        ],
    )
