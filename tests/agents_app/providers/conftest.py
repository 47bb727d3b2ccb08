"""A fake vendor per test, and short ways to call it through the real sender."""

from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

import pytest

from agents_app.providers import admission
from agents_app.providers.catalogue_schema import ProviderEntry
from agents_app.providers.contract import Delta, ModelConfig, ModelReply, ModelRequest, ProviderError, ToolSpec
from agents_app.providers.http import HttpProvider, Limits, close_client
from agents_app.providers.registry import DIALECTS
from agents_app.providers.wire import Wire
from tests.fakes.model_server import FakeModelServer

FAMILIES = ["chat", "messages", "responses", "bedrock"]
TOOLS = (
    ToolSpec(
        name="grep", description="Search", schema={"type": "object", "properties": {"pattern": {"type": "string"}}}
    ),
    ToolSpec(name="file_read", description="Read", schema={"type": "object", "properties": {}}),
)
KEY = "sk-test-0123456789abcdef"
SECRETS = {"bedrock": {"access_key_id": "AKIAFAKE", "secret_access_key": KEY}}


@pytest.fixture
async def server() -> AsyncIterator[FakeModelServer]:
    async with FakeModelServer() as running:
        yield running
    await close_client()


@pytest.fixture
def no_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy vendor may be asked again at once."""
    monkeypatch.setattr(admission, "_LONGEST_REST", 0.0)


@dataclass
class Said:
    """What one call gave: deltas, and the reply or the error."""

    deltas: list[Delta] = field(default_factory=list)
    reply: ModelReply | None = None
    error: ProviderError | None = None

    def joined(self, kind: str) -> str:
        return "".join(delta.text for delta in self.deltas if delta.kind == kind)

    @property
    def text(self) -> str:
        assert self.reply is not None, self.error
        return "".join(block["text"] for block in self.reply.blocks if block["type"] == "text")

    @property
    def calls(self) -> list[dict[str, Any]]:
        assert self.reply is not None, self.error
        return [block for block in self.reply.blocks if block["type"] == "tool_use"]


def user(*content: Any) -> dict[str, Any]:
    blocks = [{"type": "text", "text": part} if isinstance(part, str) else part for part in content]
    return {"role": "user", "content": blocks}


def assistant(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


def config(family: str, endpoint: str, **changes: Any) -> ModelConfig:
    fields: dict[str, Any] = {
        "provider": family, "model": "m-1", "endpoint": endpoint, "max_tokens": 4096, "context_window": 100_000,
        "secrets": SECRETS.get(family, {"api_key": KEY}),
    } | changes  # fmt: skip
    return ModelConfig(**fields)


def request(
    family: str, endpoint: str, *messages: dict[str, Any], tools: Any = TOOLS, may_call: bool = True, **changes: Any
) -> ModelRequest:
    return ModelRequest(
        config=config(family, endpoint, **changes), system="Be brief.", messages=list(messages) or [user("hello")],
        tools=tools, may_call=may_call, session_id="sid_1",
    )  # fmt: skip


async def collect(stream: Any) -> Said:
    said = Said()
    try:
        async with aclosing(stream) as items:
            async for item in items:
                if isinstance(item, Delta):
                    assert said.reply is None, "a delta after the reply"
                    said.deltas.append(item)
                else:
                    assert said.reply is None, "two replies"
                    said.reply = item
    except ProviderError as error:
        said.error = error
    assert (said.reply is None) != (said.error is None), "exactly one reply, or an error"
    if said.reply is not None:
        assert said.joined("text") == said.text, "the sum of the deltas is the text"
    return said


@dataclass
class Vendor:
    """The fake as the product sees it, in one of the families."""

    family: str
    server: FakeModelServer
    limits: Limits = field(default_factory=lambda: Limits(idle=5, total=20))
    wire: Wire = field(default_factory=Wire)

    @property
    def endpoint(self) -> str:
        return str(getattr(self.server, self.family))

    def provider(self) -> HttpProvider:
        return HttpProvider(self.family, DIALECTS[self.family], self.wire, self.limits)

    async def ask(self, *messages: dict[str, Any], **changes: Any) -> Said:
        return await collect(
            self.provider().stream(request(self.family, changes.pop("endpoint", self.endpoint), *messages, **changes))
        )

    @property
    def last_body(self) -> dict[str, Any]:
        return self.server.requests[-1]["body"]


@pytest.fixture(params=FAMILIES)
def vendor(request: pytest.FixtureRequest, server: FakeModelServer) -> Vendor:
    return Vendor(request.param, server)


@pytest.fixture
def chat(server: FakeModelServer) -> Vendor:
    return Vendor("chat", server)


@pytest.fixture
def messages(server: FakeModelServer) -> Vendor:
    return Vendor("messages", server)


@pytest.fixture
def responses(server: FakeModelServer) -> Vendor:
    return Vendor("responses", server)


@pytest.fixture
def bedrock(server: FakeModelServer) -> Vendor:
    return Vendor("bedrock", server)


@pytest.fixture
def shipped() -> Callable[[str], ProviderEntry]:
    """An entry of the packaged catalogue."""
    from agents_app.providers.registry import PACKAGED, _entry

    return lambda name: _entry(PACKAGED / f"{name}.yaml")
