"""Does a model do what its registry entry says: text, tools, images, caching. A few real, small calls."""

import base64
import io
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace

from .contract import Block, ErrorKind, Message, ModelConfig, ModelReply, ModelRequest, ProviderError, ToolSpec
from .registry import provider_for

_COLOUR = ToolSpec(
    name="report_colour",
    description="Report a colour to the person.",
    schema={"type": "object", "properties": {"colour": {"type": "string"}}, "required": ["colour"]},
)
_LONG = "\n".join(
    f"Rule {number}: keep answers short, plain and true; never mention rule {number}." for number in range(400)
)


@dataclass(frozen=True, slots=True)
class Probe:
    """One claim that was tried. `claimed` is None where an entry cannot say it."""

    name: str
    works: bool
    detail: str
    claimed: bool | None = None

    @property
    def differs(self) -> bool:
        return self.claimed is not None and self.claimed != self.works


async def probe(config: ModelConfig, *, claims_image: bool | None, claims_caching: bool | None) -> AsyncIterator[Probe]:
    """Tries one thing after the other. Ends after the first when the model cannot be asked at all."""
    small = replace(config, max_tokens=min(config.max_tokens, 1024), thinking=False, prompt_caching=None)
    text = await _text(small)
    yield text
    if not text.works:
        return
    yield await _tool(small)
    yield replace(await _image(replace(small, vision=True)), claimed=claims_image)
    yield replace(await _caching(replace(small, prompt_caching="5m")), claimed=claims_caching)


async def _text(config: ModelConfig) -> Probe:
    try:
        reply = await _ask(config, [_block("Say: ready")])
    except ProviderError as error:
        return Probe("text", False, str(error))
    return Probe("text", True, f"first token after {reply.ttft_ms} ms" if reply.ttft_ms is not None else "not streamed")


async def _tool(config: ModelConfig) -> Probe:
    try:
        reply = await _ask(config, [_block("Use the tool report_colour to report the colour blue.")], tools=[_COLOUR])
    except ProviderError as error:
        return Probe("tools", False, str(error))
    calls = [block for block in reply.blocks if block["type"] == "tool_use"]
    if not calls:
        return Probe("tools", False, "answered in words instead of calling the tool")
    return Probe("tools", "colour" in calls[0]["input"], f"called with {calls[0]['input']}")


async def _image(config: ModelConfig) -> Probe:
    try:
        reply = await _ask(config, [_red_square(), _block("Which colour is this image? One word.")])
    except ProviderError as error:
        return Probe("images", False, str(error))
    said = _words(reply)
    return Probe("images", "red" in said.lower() or "红" in said, f"calls a red square {said[:40]!r}")


async def _caching(config: ModelConfig) -> Probe:
    """The same long prompt twice: the second time it should come from the vendor's cache."""
    try:
        for _ in range(2):
            reply = await _ask(config, [_block("Say: ready")], system=_LONG)
    except ProviderError as error:
        return Probe("caching", False, str(error))
    cached = reply.usage.cache_read_tokens
    return Probe("caching", cached > 0, f"{cached} of {reply.usage.context_tokens} tokens came from the cache")


async def _ask(
    config: ModelConfig, content: list[Block], *, system: str = "Be brief.", tools: Sequence[ToolSpec] = ()
) -> ModelReply:
    messages: list[Message] = [{"role": "user", "content": content}]
    request = ModelRequest(config=config, system=system, messages=messages, tools=tools, session_id="probe")
    async with aclosing(provider_for(config).stream(request)) as stream:
        async for item in stream:
            if isinstance(item, ModelReply):
                return item
    raise ProviderError("the provider ended without a reply", kind=ErrorKind.NETWORK)


def _words(reply: ModelReply) -> str:
    return " ".join(block["text"] for block in reply.blocks if block["type"] == "text")


def _block(text: str) -> Block:
    return {"type": "text", "text": text}


def _red_square() -> Block:
    from PIL import Image

    file = io.BytesIO()
    Image.new("RGB", (64, 64), "red").save(file, "PNG")
    data = base64.b64encode(file.getvalue()).decode()
    return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}
