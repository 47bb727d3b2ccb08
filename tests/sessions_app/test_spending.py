"""What agents used and cost: summed per agent, unknown where no price is known, for those who may see the workspace."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from halo_site.auth import COOKIE, new_login, token_of
from sessions_app.models import ModelCall, Session, Turn
from sessions_app.spending import parts_since
from workspaces_app.models import Workspace

Called = Callable[..., ModelCall]


@pytest.fixture
def called(workspace: Workspace) -> Called:
    """A call in a turn of its own: `called("coder", 2_000_000)`."""

    def made(
        agent: str, micros: int | None, currency: str = "USD", days_ago: int = 0, name: str = "", **more: Any
    ) -> ModelCall:
        at = timezone.now() - timedelta(days=days_ago)
        place = more.pop("workspace", workspace)
        session = Session.objects.create(
            workspace=place, sid=f"s{Session.objects.count()}", agent_id=agent, agent_name=name or agent.title(),
            created_at=at, updated_at=at,
        )  # fmt: skip
        turn = Turn.objects.create(session=session, index=0, started_at=at, status="done")
        facts = {"outcome": "end_turn", "input_tokens": 100, "output_tokens": 20} | more
        return ModelCall.objects.create(
            turn=turn, call_id="c", provider="p", model="m", started_at=at, cost_micros=micros,
            currency=currency if micros is not None else "", **facts,
        )  # fmt: skip

    return made


def usage(user: User, workspace: Workspace, **query: object) -> Any:
    client = Client()
    client.cookies[COOKIE] = token_of(new_login(user))
    return client.get("/api/sessions/usage", {"projectId": workspace.path} | query)


def test_calls_are_summed_for_each_agent_the_dearest_first(owner: User, workspace: Workspace, called: Called):
    called("coder", 2_000_000, cache_read_tokens=7, cache_write_tokens=3)
    called("coder", 500_000)
    called("writer", 9_000_000)
    called("writer", 4_000_000, workspace=Workspace.objects.create(path="/srv/other", name="other"))
    writer, coder = usage(owner, workspace).json()["agents"]
    assert coder == {
        "agentId": "coder", "agentName": "Coder", "calls": 2, "unpricedCalls": 0, "inputTokens": 200,
        "outputTokens": 40, "cacheReadTokens": 7, "cacheWriteTokens": 3,
        "costs": [{"currency": "USD", "micros": 2_500_000}],
    }  # fmt: skip
    assert (writer["agentId"], writer["costs"]) == ("writer", [{"currency": "USD", "micros": 9_000_000}])


def test_a_missing_price_is_unknown_and_never_nothing(owner: User, workspace: Workspace, called: Called):
    called("free", None)
    (agent,) = usage(owner, workspace).json()["agents"]
    assert (agent["costs"], agent["unpricedCalls"]) == ([], 1)


def test_a_call_that_gave_nothing_is_a_call_but_not_one_of_unknown_price(
    owner: User, workspace: Workspace, called: Called
):
    called("coder", 2_000_000)
    called("coder", None, outcome="throttle", input_tokens=0, output_tokens=0)
    called("coder", None, outcome="", input_tokens=0, output_tokens=0)  # still open
    (agent,) = usage(owner, workspace).json()["agents"]
    assert (agent["calls"], agent["unpricedCalls"]) == (2, 0)


def test_currencies_are_not_added_up(owner: User, workspace: Workspace, called: Called):
    called("coder", 2_000_000)
    called("coder", 3_000_000, "CNY")
    (agent,) = usage(owner, workspace).json()["agents"]
    assert agent["costs"] == [{"currency": "CNY", "micros": 3_000_000}, {"currency": "USD", "micros": 2_000_000}]


def test_an_agent_is_called_as_it_was_last(owner: User, workspace: Workspace, called: Called):
    called("coder", 1, name="Zoe")
    called("coder", 1, name="Anna")
    (agent,) = usage(owner, workspace).json()["agents"]
    assert agent["agentName"] == "Anna"


def test_the_days_are_those_of_utc_and_today_is_one(owner: User, workspace: Workspace, called: Called):
    called("coder", 1_000_000)
    called("coder", 1_000_000, days_ago=1)
    today = usage(owner, workspace, days=1).json()
    assert today["agents"][0]["calls"] == 1
    assert datetime.fromtimestamp(today["since"] / 1000, UTC).time() == datetime.min.time()
    assert usage(owner, workspace, days=2).json()["agents"][0]["calls"] == 2


@pytest.mark.parametrize("days", [0, 91, "x"])
def test_a_range_that_makes_no_sense_is_refused(owner: User, workspace: Workspace, days: object):
    assert usage(owner, workspace, days=days).status_code == 400


def test_strangers_see_nothing(workspace: Workspace):
    assert usage(User.objects.create_user("stranger"), workspace).status_code == 404


def test_it_is_one_question_however_many_sessions_there_are(workspace: Workspace, called: Called):
    for number in range(30):
        called(f"agent{number % 3}", number)
    with CaptureQueriesContext(connection) as asked:
        assert len(parts_since(timezone.now() - timedelta(days=1), workspace.pk)) == 3
    assert len(asked) == 1
