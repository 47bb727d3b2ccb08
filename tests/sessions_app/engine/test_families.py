"""A whole turn with each family of models: tools, thinking, retries, images, and what it cost."""

from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agents_app.providers import http
from agents_app.providers.registry import models_dir
from halo_site.lib import settings_write
from sessions_app.engine import retry
from sessions_app.engine.engine import Engine
from sessions_app.models import Entry, ModelCall, Session, ToolCall, Turn
from tests.fakes.model_server import FakeModelServer
from workspaces_app.models import Workspace

from ..conftest import Say
from .conftest import Viewer

InDb = Callable[..., Any]
FAMILIES = ["chat", "messages", "responses", "bedrock"]
FILE = """
id: priced
family: {family}
displayName: Priced
defaultEndpoint: {endpoint}
secrets: [{{key: api_key, description: key, secret: true}}]
models:
  - id: m-1
    maxOutputTokens: 4096
    capabilities: {{image: true, thinking: {{defaultEnabled: true}}}}
    pricing: {{input: 2, output: 10, cacheRead: 0.5, currency: EUR}}
"""


@pytest.fixture
async def vendor() -> AsyncIterator[FakeModelServer]:
    async with FakeModelServer() as server:
        yield server
        await http.close_client()


@pytest.fixture(params=FAMILIES)
def family(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def priced(vendor: FakeModelServer, family: str, agent_folder: Path, engine: Engine) -> Iterator[None]:
    """An agent of a provider that is nothing but a file of the home, with a price."""
    endpoint = getattr(vendor, family)
    vendor.key = "key-0123456789"
    path = models_dir() / "priced.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(FILE.format(family=family, endpoint=endpoint))
    settings_write.write("global", None, "priced.secrets.api_key", vendor.key)
    (agent_folder / "agent.yaml").write_text(
        f"name: Default\nmodel: {{provider: priced, id: m-1, endpoint: '{endpoint}', thinking: {{enabled: true}}}}\n"
        "tools: [file_list, file_read]\n"
    )
    yield
    path.unlink()
    settings_write.write("global", None, "priced.secrets.api_key", "")


async def test_a_turn_with_two_parallel_tools_is_answered_and_priced_per_call(
    priced: None, vendor: FakeModelServer, viewer: Viewer, say: Say, in_db: InDb
):
    calls = [{"name": "file_list", "arguments": {"path": "."}}, {"name": "file_read", "arguments": {"path": "a.txt"}}]
    used = {"input": 100, "output": 20}
    vendor.will(thinking="let me look", text="I look.", tool_calls=calls, usage=used)
    vendor.will(text="Done.", usage={"input": 200, "output": 10, "cache_read": 1000})
    await in_db(say, "look")
    await viewer.completes()
    assert await in_db(lambda: list(Turn.objects.values_list("status", "stop_reason"))) == [("done", "end_turn")]
    assert await in_db(lambda: sorted(ToolCall.objects.values_list("name", flat=True))) == ["file_list", "file_read"]
    costs = [100 * 2 + 20 * 10, 200 * 2 + 10 * 10 + 500]
    rows = await in_db(lambda: list(ModelCall.objects.order_by("id").values_list("cost_micros", "currency")))
    assert rows == [(costs[0], "EUR"), (costs[1], "EUR")]
    session = await in_db(Session.objects.get)
    assert (session.cost_micros, session.currency) == (sum(costs), "EUR")
    assert [frame["costMicros"] for frame in viewer.of("chat:usage")] == costs
    assert [request["outcome"] for request in vendor.requests] == ["done", "done"]


async def test_C35_a_partial_answer_is_taken_back_before_the_next_try(
    priced: None, vendor: FakeModelServer, viewer: Viewer, say: Say, in_db: InDb, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(retry, "MAX_WAIT", 0.01)
    vendor.will(text="half of " * 60, delay=2, close=6_000)
    vendor.will(text="the whole answer")
    await in_db(say, "hi")
    await viewer.completes()
    [reset] = viewer.of("stream_reset")
    shown = [frame for frame in viewer.of("chat:stream") if frame["turnId"] != reset["turnId"]]
    assert "".join(frame["text"] for frame in shown) == "the whole answer"
    assert (await in_db(lambda: Entry.objects.filter(kind="assistant").latest("id"))).text == "the whole answer"


REFUSALS = {
    "chat": {"error": {"message": "You uploaded an unsupported image.", "code": "invalid_image_format"}},
    "messages": {"type": "error", "error": {"type": "invalid_request_error", "message": "Could not process image"}},
    "responses": {"error": {"message": "The image data you provided is not valid.", "code": "image_parse_error"}},
    "bedrock": {"message": "messages.0.content.0: Could not process image", "__type": "ValidationException"},
}


async def test_C43_a_refused_image_becomes_a_note_and_the_turn_goes_on(
    priced: None, family: str, vendor: FakeModelServer, viewer: Viewer, say: Say, workspace: Workspace, in_db: InDb
):
    from PIL import Image

    path = Path(workspace.path, "a.png")
    Image.new("RGB", (40, 30), "red").save(path)
    vendor.will(status=400, error=REFUSALS[family])
    vendor.will(text="Without it, then.")
    await in_db(say, "look", images=[{"type": "image", "path": str(path), "media_type": "image/png"}])
    await viewer.completes()
    first, second = (str(request["body"]) for request in vendor.requests)
    assert "image/png" in first
    assert "image/png" not in second
    assert "image removed" in second
    assert viewer.text() == "Without it, then."
    await in_db(say, "and now?")
    await viewer.completes(2)
    assert len(vendor.requests) == 3, "the refused image is not sent again"
    assert "image/png" not in str(vendor.requests[2]["body"])
    assert "image removed" in str(vendor.requests[2]["body"])


async def test_19_the_key_of_the_workspace_is_sent_where_it_has_one(
    priced: None, vendor: FakeModelServer, viewer: Viewer, say: Say, workspace: Workspace, in_db: InDb
):
    own = vendor.key = "key-of-this-workspace"
    settings_write.write("workspace", Path(workspace.path), "priced.secrets.api_key", own)
    await in_db(say, "hi")
    await viewer.completes()
    assert [request["key"] for request in vendor.requests] == [own]


async def test_a_long_conversation_stays_valid_for_the_vendor(
    priced: None, vendor: FakeModelServer, viewer: Viewer, say: Say, in_db: InDb
):
    """Thinking, tools and texts of earlier turns go back in the form the vendor takes."""
    for turn in range(3):
        vendor.will(thinking="hm", text="I look.", tool_calls=[{"name": "file_list", "arguments": {"path": "."}}])
        vendor.will(thinking="so", text=f"Answer {turn}.")
        await in_db(say, f"question {turn}")
        await viewer.completes(turn + 1)
    assert {request["outcome"] for request in vendor.requests} == {"done"}
    assert len(vendor.requests) == 6
