"""Makes room in a running conversation: by asking the model for a summary, or without it (spec sessions 10).

The pure part is `compaction.py`. A summary and what it covers change in one transaction: after a crash in the middle
nothing has changed.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from dataclasses import replace

from agents_app.providers.contract import ErrorKind, ModelReply, ModelRequest, ProviderError
from halo_site.lib.crashpoint import crashpoint

from ..events import CompactDone, CompactStarted, CompactSummarizing, SessionCompacted
from . import context, store
from .compaction import (
    INSTRUCTION,
    Cut,
    cleared,
    cut,
    estimate,
    is_due,
    local_summary,
    old_images,
    outdated,
    summary_text,
)
from .history import Row, history
from .images import with_pixels
from .run import Run
from .setup import Setup
from .values import CallEnd

log = logging.getLogger("halo.engine")

FAILED = "Compaction failed — context unchanged"
EMPTY = "Compaction skipped — no summary produced"
CANCELLED = "Compact cancelled"
DONE = "Auto-compacted {n} older messages"


def due(run: Run, setup: Setup) -> bool:
    fixed = setup.fixed_characters // 4
    return is_due(run.context_tokens, setup.config.context_window, setup.compaction.compress_at, fixed)


async def compact(run: Run, setup: Setup, done: str = DONE) -> bool:
    """Ask for a summary when there is something to summarise; True = it replaced the older messages.

    done: the line about it, `{n}` is the number of messages.

    An abort meanwhile is left to the caller.
    """
    rows = await _stored_rows(run)
    found = cut(rows, setup.compaction.keep_messages)
    if found is None:
        return False
    run.stream.emit(CompactStarted)
    run.say(f"Compacting context ({run.context_tokens // 1000}K tokens)…")
    summary, end = await _ask_for_summary(run, setup, found)
    if not summary:
        notice = CANCELLED if run.aborted.is_set() else FAILED if end.error else EMPTY
        await run.unit(store.close_side_call, run.lease, run.batch, end, notice, run.stream.seq + 2)
        run.say(notice)
        run.stream.emit(CompactDone)
        return False
    await _replace(run, setup, found, summary_text(summary, found.messages), end, done)
    return True


async def clear_old_content(run: Run, setup: Setup) -> bool:
    """Old tool results and images leave the context; False = there were none."""
    rows = await _stored_rows(run)
    gone = [*outdated(rows), *old_images(rows)]
    if not gone:
        return False
    await run.unit(store.clear_content, run.lease, [row.entry for row in gone])
    run.rows = cleared(rows, gone)
    return True


async def summarise_here(run: Run, setup: Setup) -> bool:
    """A summary made without a model; False = there is nothing to leave out."""
    rows = await _stored_rows(run)
    found = cut(rows, setup.compaction.keep_messages) or cut(rows, 1)
    if found is None:
        return False
    run.stream.emit(CompactStarted)
    run.say("The conversation does not fit: context overflow, compacting locally...")
    most, per_message = setup.compaction.max_summary_input, setup.compaction.max_message_slice
    await _replace(run, setup, found, local_summary(found, most=most, per_message=per_message), None, DONE)
    return True


# After the vendor said that the conversation does not fit: one after the other, until something became shorter.
RoomMaker = Callable[[Run, Setup], Awaitable[bool]]
ROOM_MAKERS: tuple[RoomMaker, ...] = (clear_old_content, summarise_here)


async def _stored_rows(run: Run) -> list[Row]:
    """The context with the keys of its entries; all of it is stored at these moments."""
    return await run.threads.run_for(run.facts.key, context.load_context, run.facts.key)


async def _ask_for_summary(run: Run, setup: Setup, found: Cut) -> tuple[str, CallEnd]:
    """("", ...) = none came: an abort, a failure, a time-out, or nothing was said. A call of a tool is never run."""
    ask = Row("user", INSTRUCTION)
    request = ModelRequest(
        config=setup.config,
        system=setup.system,
        messages=await with_pixels(history([*found.old, ask]), setup.config.vision),
        tools=setup.specs,
        session_id=run.facts.sid,
        workspace_path=run.facts.workspace_path,
    )
    run.stream.emit(CompactSummarizing)
    # At first only the instruction forbids calls. Said in the request, it would make the vendors of the Messages family
    # read the whole conversation anew at full price: their cache holds for one choice of tools.
    reply, end = await _side_call(run, setup, request)
    if reply is not None and reply.stop_reason == "tool_use":  # it worked on; what it said on the way is no summary
        await run.unit(store.close_side_call, run.lease, run.batch, end, "", run.stream.seq)
        reply, end = await _side_call(run, setup, replace(request, may_call=False))
    if reply is None or reply.stop_reason == "tool_use":
        return "", end
    return "\n\n".join(block["text"] for block in reply.blocks if block["type"] == "text").strip(), end


async def _side_call(run: Run, setup: Setup, request: ModelRequest) -> tuple[ModelReply | None, CallEnd]:
    """One answer beside the conversation, and how the call ended."""
    call_id = run.next_call_id()
    call = await run.unit(
        store.begin_side_call, run.lease, run.batch, call_id, setup.config.provider, setup.config.model
    )
    crashpoint("compact.before_request")
    task = asyncio.create_task(_reply(setup, request))
    run.asking = task
    try:
        if run.aborted.is_set():
            task.cancel()
        async with asyncio.timeout(setup.compaction.summarize_timeout_sec):
            reply = await task
    except (ProviderError, TimeoutError) as error:
        log.warning("no summary for session %s: %s", run.facts.sid, error)
        if isinstance(error, ProviderError) and error.kind is ErrorKind.EMPTY:
            return None, CallEnd(call, error.kind.value)
        return None, CallEnd(call, "error", error=str(error) or "no answer in time")
    except asyncio.CancelledError:
        if run.aborted.is_set() and task.cancelled():
            return None, CallEnd(call, "aborted")
        task.cancel()
        raise
    finally:
        run.asking = None
    cost, currency = setup.cost(reply.usage)
    run.figures = run.figures.plus(setup.config.model, reply.usage, cost, reply.ttft_ms)
    # Its usage says nothing about the size of the conversation from now on.
    return reply, CallEnd(call, reply.stop_reason, reply.usage, reply.ttft_ms, cost, currency, side=True)


async def _reply(setup: Setup, request: ModelRequest) -> ModelReply:
    async with aclosing(setup.provider.stream(request)) as stream:
        async for item in stream:
            if isinstance(item, ModelReply):
                return item
    raise ProviderError("The model server ended the reply without an end mark", kind=ErrorKind.NETWORK)


async def _replace(run: Run, setup: Setup, found: Cut, text: str, end: CallEnd | None, done: str) -> None:
    gone = outdated(found.tail)
    tail = cleared(found.tail, gone)
    rows = [Row("summary", text), *tail]
    tokens = estimate(setup.fixed_characters, history(rows))
    notice = done.format(n=found.messages)
    await run.settle_saves()
    await run.unit(
        store.write_summary,
        run.lease,
        run.batch,
        end,
        text,
        [row.entry for row in found.old],
        [row.entry for row in gone],
        notice,
        tokens,
        run.stream.seq + 2,
    )
    crashpoint("compact.after_commit")
    if run.batch.turn not in run.compacted:
        run.compacted.append(run.batch.turn)
    run.rows = rows
    run.context_tokens = tokens
    run.say(notice)
    run.stream.emit(SessionCompacted, context_tokens=tokens)
