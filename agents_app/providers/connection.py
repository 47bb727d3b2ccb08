"""The Test button of a provider: is it reached, which models does it have, when does the first token come."""

import asyncio
import time
from contextlib import aclosing
from dataclasses import asdict, dataclass, replace
from typing import Any

import httpx

from .contract import Delta, ErrorKind, ModelConfig, ModelReply, ModelRequest, ProviderError
from .http import client
from .pricing import cost_micros
from .registry import entry_of, pricing_of, provider_for
from .wire_json import document

_LIST_TIMEOUT = 10.0  # seconds for the list of models, which many servers do not have
_WHOLE_TIMEOUT = 60.0
_LONGEST_LIST = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionReport:
    ok: bool
    reach_ms: int | None = None  # until the server answered anything
    first_token_ms: int | None = None
    duration_ms: int | None = None
    models: tuple[str, ...] = ()  # ids the server offers, empty when it does not say
    tokens: int = 0
    cost_micros: int | None = None
    currency: str | None = None
    error: str = ""
    error_kind: str = ""

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


async def test_connection(config: ModelConfig) -> ConnectionReport:
    """One small real call with this configuration. Costs a few tokens; never raises for what the vendor does wrong."""
    entry = entry_of(config.provider)
    reach: int | None = None
    models: tuple[str, ...] = ()
    if entry.family in ("demo", "scripted"):
        reach = 0
    else:
        reach, models = await _reach(config, entry.family)
    small = replace(config, max_tokens=min(config.max_tokens, 256), thinking=False, prompt_caching=None)
    request = ModelRequest(
        config=small,
        system="Answer with one word.",
        messages=[{"role": "user", "content": [{"type": "text", "text": "Say: ready"}]}],
        tools=(),
    )
    try:
        async with asyncio.timeout(_WHOLE_TIMEOUT):
            first, reply = await _call(request)
    except TimeoutError:
        return ConnectionReport(
            ok=False, reach_ms=reach, models=models, error="no answer within a minute", error_kind=ErrorKind.NETWORK
        )
    except ProviderError as error:
        return ConnectionReport(ok=False, reach_ms=reach, models=models, error=str(error), error_kind=error.kind.value)
    price = pricing_of(config)
    return ConnectionReport(
        ok=True,
        reach_ms=reach,
        first_token_ms=first,
        duration_ms=reply.duration_ms,
        models=models,
        tokens=reply.usage.context_tokens,
        cost_micros=cost_micros(reply.usage, price),
        currency=price.currency if price else None,
    )


async def _call(request: ModelRequest) -> tuple[int | None, ModelReply]:
    began = time.perf_counter()
    first: int | None = None
    async with aclosing(provider_for(request.config).stream(request)) as stream:
        async for item in stream:
            if isinstance(item, Delta):
                first = first if first is not None else round((time.perf_counter() - began) * 1000)
            else:
                return first, item
    raise ProviderError("the provider ended without a reply", kind=ErrorKind.NETWORK)


async def _reach(config: ModelConfig, family: str) -> tuple[int | None, tuple[str, ...]]:
    """Milliseconds to any answer of the server, and the models it lists."""
    endpoint = config.endpoint.rstrip("/")
    key = config.secrets.get("api_key", "")
    headers: dict[str, str] = {}
    if family == "messages":
        url = endpoint.removesuffix("/v1") + "/v1/models"
        headers = {"anthropic-version": "2023-06-01"} | ({"x-api-key": key} if key else {})
    elif family == "bedrock":
        url = endpoint  # its list is at another address
    else:
        url = endpoint.removesuffix("/chat/completions").removesuffix("/responses") + "/models"
        headers = {"authorization": f"Bearer {key}"} if key else {}
    began = time.perf_counter()
    try:
        answer = await (await client()).get(url, headers=headers, timeout=_LIST_TIMEOUT)
    except (httpx.HTTPError, httpx.InvalidURL, UnicodeError):
        return None, ()
    reach = round((time.perf_counter() - began) * 1000)
    value = document(answer.content)
    listed = value.get("data") if isinstance(value, dict) and answer.status_code == 200 else None
    ids = [item["id"] for item in listed or () if isinstance(item, dict) and isinstance(item.get("id"), str)]
    return reach, tuple(ids[:_LONGEST_LIST])
