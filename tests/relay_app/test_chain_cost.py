"""`relay.max_chain_cost` with real prices: departments are running agents whose model has a price (spec relay R3.8)."""

from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User

from agents_app.providers.registry import models_dir
from halo_site.lib import settings_write
from relay_app.actions import spent_by
from relay_app.models import ReplyTo
from sessions_app.models import Entry
from tests.fakes.model_server import FakeModelServer
from workspaces_app.models import Workspace

from .conftest import Office, folder_of

pytestmark = pytest.mark.usefixtures("desk")
PRICES = """
id: priced
family: chat
displayName: Priced
defaultEndpoint: {endpoint}
secrets: [{{key: api_key, description: key, secret: true}}]
models:
  - id: m-1
    maxOutputTokens: 4096
    pricing: {{input: 2, output: 10, currency: EUR}}
"""
USED = {"input": 1000, "output": 300}  # of every call: 5,000 millionths
PRICE = 5_000


@pytest.fixture
def prices(office: Office) -> Iterator[None]:
    """A provider with prices, and a cap of two calls for a whole chain."""
    path = models_dir() / "priced.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(PRICES.format(endpoint=office.vendor.chat))
    settings_write.write("global", None, "priced.secrets.api_key", "key-0123456789")
    settings_write.write("global", None, "general.relay.max_chain_cost", 2 * PRICE / 1_000_000)
    yield
    path.unlink()
    settings_write.write("global", None, "priced.secrets.api_key", "")
    settings_write.write("global", None, "general.relay.max_chain_cost", "")


@pytest.fixture
async def models() -> AsyncIterator[list[FakeModelServer]]:
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(FakeModelServer()) for _ in range(2)]


def department(path: Path, owner: User, models: FakeModelServer) -> Workspace:
    place = folder_of(path, owner)
    folder = path / ".halo" / "agents" / "default"
    folder.mkdir(parents=True)
    model = f"model: {{provider: priced, id: m-1, endpoint: '{models.chat}'}}\n"
    (folder / "agent.yaml").write_text(f"name: {path.name}\n{model}tools: [relay_send]\n")
    return place


def hand_on(to: Workspace, message: str) -> list[dict[str, Any]]:
    where = {"workspace": to.path, "session_id": "sid_law"}
    return [{"name": "relay_send", "arguments": where | {"message": message}}]


async def test_a_chain_that_has_cost_too_much_is_handed_on_no_further_and_still_reports_once(
    prices: None, models: list[FakeModelServer], office: Office, home: Workspace, owner: User, tmp_path: Path
):
    tax = await office.in_db(department, tmp_path / "tax", owner, models[0])
    law = await office.in_db(department, tmp_path / "law", owner, models[1])
    caller = await office.session(home)
    models[0].will(tool_calls=hand_on(law, "check this"), usage=USED)  # 1 call: within the cap
    models[0].will(text="I asked the lawyers.", usage=USED)
    models[1].will(text="All legal.", usage=USED, ttft=1000)  # the other turn is over by then
    models[0].will(tool_calls=hand_on(law, "and this"), usage=USED)  # on their report: the chain has cost 4 calls
    models[0].will(text="Then this is all I have.", usage=USED)
    await office.call("relay_send", caller, workspace=tax.path, session_id="sid_tax", message="audit")

    [final] = await office.finals(caller)
    assert "status: completed" in final
    assert final.rstrip().endswith("Then this is all I have.")
    refusals = Entry.objects.filter(kind="tool_result", session__sid="sid_tax", text__contains="spend cap reached")
    [refused] = await office.in_db(lambda: list(refusals.values_list("text", flat=True)))
    told = "this chain of tasks has cost 0.0200 EUR, 0.01 is allowed; answer with what you have"
    assert told in refused
    assert len(models[1].requests) == 1  # the lawyers never heard of the second task
    rows = await office.in_db(lambda: list(ReplyTo.objects.order_by("pk")))
    assert [row.outcome for row in rows] == ["completed", "completed"]
    [chain] = {row.chain_id for row in rows}
    assert await office.in_db(spent_by, (chain,)) == {"EUR": 5 * PRICE}
    await office.quiet(home, caller.sid)
