"""One turn: ask the model, run its tools, ask again, until it is done (spec sessions 6)."""

import asyncio
import logging
import random
import time
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any, assert_never

from agents_app.providers.contract import Delta, ErrorKind, Message, ModelReply, ModelRequest, ProviderError
from halo_site.lib.crashpoint import crashpoint
from halo_site.lib.errors import HaloError

from ..events import ChatUsage, RunError, StreamReset, ToolCallStarted
from ..models import Turn
from . import store
from .compact import ROOM_MAKERS, RoomMaker, compact, due
from .history import Row, history
from .images import with_pixels
from .next_step import Call, Finish, RunTools, after_reply
from .retry import GiveUp, Retry, after_failure, may_fall_back
from .run import Run, RunClosed, partial_reply
from .setup import Setup, build
from .tool_calls import close_as_interrupted, run_calls
from .values import CallEnd, Ending, Said
from .words import explain_changes, explain_failure, explain_fallback, explain_retry

log = logging.getLogger("halo.engine")


@dataclass(frozen=True, slots=True)
class Failed:
    error: ProviderError
    call: int


@dataclass(frozen=True, slots=True)
class Aborted:
    call: int


@dataclass(frozen=True, slots=True)
class Replied:
    reply: ModelReply
    call: int


Outcome = Replied | Failed | Aborted


async def take_turn(run: Run) -> Ending:
    """From a drained batch to how its turn ended; the caller writes the end and sends `complete`."""
    setup = await build(run)
    if setup.changed:
        text = explain_changes(setup)
        run.say(text, "config")
        await run.unit(store.add_notice, run.lease, run.batch, text, "config", run.stream.seq)
    failures = 0
    images_dropped = False
    room_makers = list(ROOM_MAKERS)
    while True:
        if due(run, setup):
            run.said = None
            await compact(run, setup)
            if run.aborted.is_set():
                return _aborted(run, None)
        outcome = await _ask(run, setup, failures)
        match outcome:
            case Aborted(call=call):
                return _aborted(run, CallEnd(call, "aborted"))
            case Failed(error=error, call=call) if error.kind is ErrorKind.OVERFLOW and room_makers:
                await _drop_try(run, error, call)
                if not await _make_room(run, setup, room_makers):
                    return _gave_up(run, setup, error, None)
            case Failed(error=error, call=call):
                failures += 1
                verdict = after_failure(
                    error.kind,
                    failures=failures,
                    max_attempts=setup.max_attempts,
                    jitter=random.random(),
                    retry_after=error.retry_after,
                    images_dropped=images_dropped,
                )
                if isinstance(verdict, GiveUp):
                    following = await _following(run, setup) if may_fall_back(error.kind) else None
                    if following is None:
                        return _gave_up(run, setup, error, call)
                    await _drop_try(run, error, call, explain_fallback(error, setup, following))
                    setup, failures = following, 0
                    continue
                images_dropped |= verdict.drop_images
                if await _prepare_retry(run, setup, error, call, verdict):
                    return _aborted(run, None)
            case Replied(reply=reply, call=call):
                failures = 0
                step = after_reply(reply.stop_reason, reply.blocks, dict(reply.bad_arguments), reply.notes)
                if run.is_behind():
                    await run.settle_saves()  # what closes a reply shows the rest of it
                end = _close(run, setup, reply, call)
                match step:
                    case Finish(stop_reason=reason, notes=notes):
                        for note in notes:
                            run.say(note)
                        ending = Ending(
                            status=Turn.Status.DONE,
                            stop_reason=reason,
                            said=run.said,
                            call=end,
                            notices=[(note, {"level": "system"}) for note in notes],
                        )
                        return await _compacted_end(run, setup, ending) if due(run, setup) else ending
                    case RunTools(calls=calls):
                        over = await _use_tools(run, setup, calls, end)
                        if over is not None:
                            return over
                    case never:
                        assert_never(never)
            case never:
                assert_never(never)


async def _compacted_end(run: Run, setup: Setup, ending: Ending) -> Ending:
    """The conversation grew over its limit with this reply: the next turn shall not have to wait for a summary."""
    await run.unit(store.save_progress, run.lease, run.batch, ending.said, run.stream.seq)
    call = ending.call
    if await compact(run, setup) and call is not None:
        call = replace(call, side=True)  # the size it counted is that of before
    return replace(ending, call=call, abort=run.abort)


async def _following(run: Run, setup: Setup) -> Setup | None:
    """With the agent's next model that can be used at all; None = it names no further one."""
    for at in range(setup.at + 1, setup.agent.models):
        try:
            return await build(run, at)
        except HaloError as problem:
            run.say(f"A fallback model of {setup.agent.name} cannot be used: {problem}")
    return None


async def _make_room(run: Run, setup: Setup, makers: list[RoomMaker]) -> bool:
    """Use up the ways to make room, until one has made some."""
    while makers:
        if await makers.pop(0)(run, setup):
            return True
    return False


async def _ask(run: Run, setup: Setup, attempt: int) -> Outcome:
    call_id = run.next_call_id()
    opening = asyncio.create_task(
        run.unit(
            store.begin_call,
            run.lease,
            run.batch,
            call_id,
            attempt,
            setup.config.provider,
            setup.config.model,
            setup.prompt_to_keep if setup.prompt_to_keep != run.facts.prompt else None,
        )
    )
    await asyncio.sleep(0)  # the intent is on its way to the disk while the history is put together
    messages: list[Message] = await with_pixels(history(run.rows), setup.config.vision)
    call, entry, abort = await opening
    if setup.prompt_to_keep is not None:
        run.facts = replace(run.facts, prompt=setup.prompt_to_keep)  # a later turn of this run starts from it
    run.said = Said(call_id, entry, meta={"model": setup.config.model, "partial": True})
    run.open_call = call
    run.heed(abort)
    if run.aborted.is_set():
        return Aborted(call)
    crashpoint("model.before_request")
    request = ModelRequest(
        config=setup.config,
        system=setup.system,
        messages=messages,
        tools=setup.specs,
        session_id=run.facts.sid,
        workspace_path=run.facts.workspace_path,
    )
    task = asyncio.create_task(_receive(run, setup, request, run.said))
    run.asking = task
    try:
        return Replied(await task, call)
    except ProviderError as error:
        return Failed(error, call)
    except asyncio.CancelledError:
        if run.aborted.is_set() and task.cancelled():
            return Aborted(call)
        task.cancel()
        raise
    finally:
        run.asking = None


async def _receive(run: Run, setup: Setup, request: ModelRequest, said: Said) -> ModelReply:
    """Show deltas while they arrive; the reply at the end is what counts."""
    blocks = said.blocks
    async with aclosing(setup.provider.stream(request)) as stream:
        async for item in stream:
            if isinstance(item, ModelReply):
                return item
            if item.kind == "tool_args":
                run.progress_at = time.monotonic()
                crashpoint("model.mid_tool_args")
                continue
            opens = _append(blocks, item)
            run.stream.delta(item.kind, item.text, said.call_id)
            run.changed(now=opens and len(blocks) > 1)
    raise ProviderError("The model server ended the reply without an end mark", kind=ErrorKind.NETWORK)


def _append(blocks: list[dict[str, Any]], delta: Delta) -> bool:
    """A block has its text under the name of its kind: `{"type": "text", "text": ...}`. True = it opened one."""
    if blocks and blocks[-1]["type"] == delta.kind:
        blocks[-1][delta.kind] += delta.text
        return False
    blocks.append({"type": delta.kind, delta.kind: delta.text})
    return True


def _close(run: Run, setup: Setup, reply: ModelReply, call: int) -> CallEnd:
    """Take the authoritative blocks, show the calls, then the usage (which ends the wire's turnId)."""
    said = run.said
    assert said is not None
    cost, currency = setup.cost(reply.usage)
    usage = usage_object(reply, setup)
    said.blocks = [dict(block) for block in reply.blocks]
    said.meta = {
        "model": setup.config.model,
        "final": reply.stop_reason != "tool_use",
        "stop_reason": reply.stop_reason,
        "usage": usage,
    }
    if cost is not None:
        said.meta |= {"cost_micros": cost, "currency": currency}
    for block in said.blocks:
        if block["type"] == "tool_use":
            run.stream.emit(
                ToolCallStarted,
                tool=block["name"],
                tool_use_id=block["id"],
                input=block.get("input") or {},
                agent_name=run.facts.agent_name,
                turn_id=said.call_id,
            )
    run.figures = run.figures.plus(setup.config.model, reply.usage, cost, reply.ttft_ms)
    run.output_tokens += reply.usage.output_tokens
    run.context_tokens = reply.usage.context_tokens or run.context_tokens
    run.stream.emit(
        ChatUsage,
        context_tokens=reply.usage.context_tokens,
        output_tokens=run.output_tokens,
        turn_id=said.call_id,
        model_id=setup.config.model,
        usage=usage,
        cost_micros=cost,
        currency=currency or None,
    )
    if reply.blocks:
        run.rows.append(Row("assistant", blocks=said.blocks))
    return CallEnd(call, reply.stop_reason, reply.usage, reply.ttft_ms, cost, currency)


def usage_object(reply: ModelReply, setup: Setup) -> dict[str, Any]:
    """The wire's `usage` (spec ws-protocol): cache figures only when there are any."""
    usage = reply.usage
    found: dict[str, Any] = {
        "inputTokens": usage.input_tokens,
        "outputTokens": usage.output_tokens,
        "totalTokens": usage.input_tokens + usage.output_tokens,
        "cacheReadInputTokens": usage.cache_read_tokens,
        "e2eMs": reply.duration_ms,
    }
    if usage.cache_write_tokens:
        found["cacheWriteInputTokens"] = usage.cache_write_tokens
    if reply.ttft_ms is not None:
        found["ttftMs"] = reply.ttft_ms
    if setup.thinking_label:
        found["thinkingEffort"] = setup.thinking_label
    return found


async def _use_tools(run: Run, setup: Setup, calls: Sequence[Call], end: CallEnd) -> Ending | None:
    """None = ask the model again."""
    said = run.said
    assert said is not None
    outcome = await run_calls(run, setup, said, calls, end)
    if outcome.aborted:
        return _aborted(run, None, (said.call_id, outcome.left))
    if outcome.interjected:
        return Ending(
            status=Turn.Status.DONE,
            stop_reason="interjected",
            results=(said.call_id, outcome.left) if outcome.left else None,
        )
    return None


FAULTS = ("stalled", "looping")  # reasons of ours to end a run, not a person's wish


def _aborted(run: Run, call: CallEnd | None, results: Any = None) -> Ending:
    abort = run.abort
    tier = abort.tier if abort else "hard"
    if tier == "shutdown":
        raise RunClosed
    said = partial_reply(run) if results is None else None
    if said is not None and said.blocks:
        run.rows.append(Row("assistant", blocks=said.blocks, meta={"partial": True}))
    text, code = {
        "stop": ("Stopped.", "stopped"),
        "lowered": ("Your access level in this workspace was lowered, so this run was ended.", "lowered"),
        "stalled": ("This run was ended: nothing happened for too long. The next message starts a new one.", "stalled"),
        "looping": (
            "This run was ended: the agent made the same call again and again. Tell it what to change.",
            "looping",
        ),
    }.get(tier, ("Interrupted.", "interrupted"))
    close_as_interrupted(run, results[1] if results else ())
    run.say(text, code)
    return Ending(
        status=Turn.Status.ERROR if tier in FAULTS else Turn.Status.ABORTED,
        stop_reason="aborted",
        error={"kind": tier, "message": text} if tier in FAULTS else None,
        said=said,
        call=call,
        results=results if results and results[1] else None,
        notices=[(text, {"level": "system", "code": code})],
        abort=abort,
    )


def _gave_up(run: Run, setup: Setup, error: ProviderError, call: int | None) -> Ending:
    """call: its row, when that is still open."""
    text = explain_failure(error, setup)
    run.stream.emit(RunError, error=text, code=error.kind.value, agent_name=run.facts.agent_name)
    return Ending(
        status=Turn.Status.ERROR,
        stop_reason="error",
        error={"kind": error.kind.value, "message": text},
        said=partial_reply(run),
        call=None if call is None else CallEnd(call, error.kind.value, error=str(error)),
        notices=[(text, {"level": "error", "code": error.kind.value})],
    )


async def _drop_try(run: Run, error: ProviderError, call: int, notice: str = "") -> None:
    """Take back what was shown of a broken try, and close its call."""
    await run.settle_saves()
    said, run.said = run.said, None
    run.stream.flush()
    if said is not None and said.blocks:
        run.stream.emit(StreamReset, turn_id=said.call_id)
    if notice:
        run.say(notice)
    end = CallEnd(call, error.kind.value, error=str(error))
    await run.unit(store.close_failed_call, run.lease, run.batch, said, end, notice, run.stream.seq)
    run.open_call = None


async def _prepare_retry(run: Run, setup: Setup, error: ProviderError, call: int, verdict: Retry) -> bool:
    """Drop what was shown of the broken try, say why and how long, wait. True = the wait was aborted."""
    await _drop_try(run, error, call, explain_retry(error, setup, verdict))
    if verdict.drop_images:
        await run.unit(store.drop_images, run.lease)
        run.rows = [replace(row, meta=row.meta | {"images_removed": True}) for row in run.rows]
    try:
        await asyncio.wait_for(run.aborted.wait(), verdict.seconds)
    except TimeoutError:
        return run.aborted.is_set()
    return True
