"""The tools of one reply: intent before, result after, the queue and the level looked at in between."""

import asyncio
import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from agents_app.tools.contract import ERROR, ToolContext, ToolResult, failed
from agents_app.tools.cut import model_copy, ui_copy
from agents_app.tools.run import run_tool
from halo_site.lib.access_level import Access
from halo_site.lib.crashpoint import crashpoint

from ..events import ToolResultArrived
from . import store, values
from .history import NOT_RUN, Row
from .loops import to_model, to_person
from .next_step import Call, groups
from .run import Run
from .setup import Setup
from .steering import watched
from .stream import OutputTail
from .values import CallEnd, Intent, Result, Said

log = logging.getLogger("halo.engine")

SETTLE_SECONDS = 4.0  # a tool that was told to stop gets this long before its task is cancelled
INTERRUPTED = "[interrupted by user]"


@dataclass(slots=True)
class CallsOutcome:
    """left: results that are not written yet (of an abort, or "not run" after a soft interrupt)."""

    aborted: bool = False
    interjected: bool = False
    left: list[Result] = field(default_factory=list)


async def run_calls(run: Run, setup: Setup, said: Said, calls: Sequence[Call], end: CallEnd) -> CallsOutcome:
    """Run all calls of a reply, group by group. The reply itself is saved with the first intents."""
    await run.settle_saves()
    waiting = groups(calls, setup.only_reads)
    first = waiting[0]
    abort, level = await run.unit(
        store.save_reply, run.lease, run.batch, said, end, run.stream.seq, _intents(setup, first)
    )
    run.open_call = None
    run.heed(abort)
    while waiting:
        group = waiting.pop(0)
        if run.aborted.is_set():
            return CallsOutcome(aborted=True, left=[_not_run(call) for call in _flat([group, *waiting])])
        if not level.covers(run.batch.level):
            run.request_abort(values.Abort("lowered"))
            return CallsOutcome(aborted=True, left=[_not_run(call) for call in _flat([group, *waiting])])
        limit = setup.limits["repeated_calls"]
        if any(run.loops.is_stuck(call.name, call.input, limit) for call in group):
            run.request_abort(values.Abort("looping"))
            return CallsOutcome(aborted=True, left=[_not_run(call) for call in _flat([group, *waiting])])
        crashpoint("tool.intent_saved")
        repeated = {call.id: run.loops.count(call.name, call.input) for call in group}
        results = await asyncio.gather(*(_run_one(run, setup, call, level, repeated[call.id]) for call in group))
        warnings = [to_person(call.name, repeated[call.id]) for call in group if repeated[call.id]]
        for warning in warnings:
            run.say(warning, "loop")
        crashpoint("tool.effect_done")
        if run.aborted.is_set():
            return CallsOutcome(aborted=True, left=[*results, *(_not_run(call) for call in _flat(waiting))])
        following = _intents(setup, waiting[0]) if waiting else []
        abort, queue_waits, level = await run.unit(
            store.save_results,
            run.lease,
            run.batch,
            said.call_id,
            results,
            run.stream.seq,
            following,
            warnings,
            more=bool(waiting),
        )
        crashpoint("tool.result_saved")
        _remember(run, results)
        run.heed(abort)
        if run.aborted.is_set():
            return CallsOutcome(aborted=True, left=[_not_run(call) for call in _flat(waiting)])
        if queue_waits:
            left = [_not_run(call) for call in _flat(waiting)]
            for result in left:
                _show(run, result)
            _remember(run, left)
            return CallsOutcome(interjected=True, left=left)
    return CallsOutcome()


def _flat(waiting: Sequence[Sequence[Call]]) -> list[Call]:
    return [call for group in waiting for call in group]


def _intents(setup: Setup, calls: Sequence[Call]) -> list[Intent]:
    return [Intent(call.id, call.name) for call in calls if call.problem is None and call.name in setup.tools]


async def _run_one(run: Run, setup: Setup, call: Call, level: Access, repeated: int) -> Result:
    """repeated: how often the same was asked, when the model should be told; else 0."""
    begun = time.monotonic()
    tool = setup.tools.get(call.name)
    if call.problem is not None:
        result = failed(f"{call.name} was not run, its arguments are not valid JSON: {call.problem}")
    elif tool is None:
        result = failed(setup.no_tool(call.name))
    else:
        tail = OutputTail(run.stream, call.id, lambda: run.changed(output=call.id))
        run.tails[call.id] = tail
        context = ToolContext(
            workspace=Path(run.facts.workspace_path),
            session_id=run.facts.sid,
            session_key=run.facts.key,
            team=setup.team,
            agent_id=run.facts.agent_id,
            level=level,
            abort=run.aborted,
            output=tail,
            resume=run.resume,
            shell_timeout=setup.shell_timeout,
            limits=setup.limits,
            skills=setup.skills,
            placeholders=setup.placeholders,
        )
        async with watched(run, call.name, level, reads=tool.read_only_for(call.input)):
            task = asyncio.ensure_future(run_tool(tool, call.input, context))
            crashpoint("tool.mid_run")
            result = await _settled(run, task)
        tail.flush()
        run.tails.pop(call.id, None)
    run.progress_at = time.monotonic()
    warning = to_model(call.name, repeated) if repeated else ""
    made = _result(setup, call, result, run.aborted.is_set(), round((time.monotonic() - begun) * 1000), warning)
    if not run.aborted.is_set():
        _show(run, made)
    return made


async def _settled(run: Run, task: "asyncio.Task[ToolResult]") -> ToolResult:
    """The tool's result; after an abort it gets some seconds to kill its children and tell what it had."""
    aborted = asyncio.ensure_future(run.aborted.wait())
    try:
        await asyncio.wait({task, aborted}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            await asyncio.wait({task}, timeout=SETTLE_SECONDS)
        if not task.done():
            task.cancel()
            await asyncio.wait({task})
        if task.cancelled():
            return failed("The tool was stopped before it gave a result.")
        return task.result()
    finally:
        aborted.cancel()
        if not task.done():  # the engine is shutting down: the tool dies with the run
            task.cancel()


def _result(setup: Setup, call: Call, result: ToolResult, aborted: bool, duration_ms: int, warning: str) -> Result:
    """warning: words for the model behind its copy."""
    text = f"{ERROR}{INTERRUPTED}\n{result.text.removeprefix(ERROR)}".rstrip() if aborted else result.text
    tool = setup.tools.get(call.name)
    uncut = tool is not None and tool.uncut
    model_text = text if uncut else model_copy(text, setup.limits["tool_result_render_chars"])
    model_text = f"{model_text}\n\n{warning}" if warning else model_text
    content = [{"type": "text", "text": model_text}, *result.blocks] if result.blocks else model_text
    outcome = "aborted" if aborted else "error" if result.is_error else "ok"
    return Result(
        id=call.id,
        name=call.name,
        outcome=outcome,
        ui_text=ui_copy(text, setup.limits["tool_result_ui_chars"]),
        content=content,
        is_error=result.is_error or aborted,
        duration_ms=duration_ms,
    )


def _not_run(call: Call) -> Result:
    return Result(call.id, call.name, "not_run", NOT_RUN, NOT_RUN, False, 0)


def _remember(run: Run, results: Sequence[Result]) -> None:
    run.rows.extend(
        Row(
            "tool_result",
            blocks=[
                {"type": "tool_result", "tool_use_id": result.id, "content": result.content}
                | ({"is_error": True} if result.is_error else {})
            ],
        )
        for result in results
    )


def _show(run: Run, result: Result) -> None:
    run.stream.emit(
        ToolResultArrived,
        result=result.ui_text,
        tool_use_id=result.id,
        agent_name=run.facts.agent_name,
        duration_ms=result.duration_ms,
    )


def close_as_interrupted(run: Run, results: Sequence[Result]) -> None:
    """After an abort no tool card stays open on any screen."""
    for result in results:
        _show(run, result)
    _remember(run, results)
