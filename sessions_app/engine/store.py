"""The transactions of a run: each one plain function, fenced by the lease, awaited once (ARCHITECTURE 5).

What a run knows only in memory is never needed to go on: after any of these commits another process could.
"""

from collections.abc import Sequence
from typing import Any

from django.db.models import DateTimeField
from django.utils import timezone

from agents_app.providers.contract import Usage
from halo_site.lib.access_level import Access
from halo_site.lib.crashpoint import crashpoint
from halo_site.lib.db import in_transaction
from halo_site.lib.prepared import Param, Plus, Update, insert_row, update_row

from ..models import Entry, ModelCall, Session, ToolCall
from .access import present_level
from .lease import Lease, fenced, something_waits
from .queue import somebody_waits
from .values import Abort, Batch, CallEnd, Intent, Result, Said
from .wishes import wanted


@in_transaction
def begin_call(
    lease: Lease, batch: Batch, call_id: str, attempt: int, provider: str, model: str, prompt: dict[str, Any] | None
) -> tuple[int, int, Abort | None]:
    """The intent to ask a model, written before the request. (ModelCall key, entry of the reply, a waiting abort)

    The reply's entry is made now, hidden until it says something: what people send meanwhile comes after it in the
    log, as it does on their screens. prompt: `{hash, at, config}` to keep with the session, None when it has them.
    """
    session = fenced(lease)
    now = timezone.now()
    call = insert_row(
        ModelCall,
        turn_id=batch.turn,
        call_id=call_id,
        attempt=attempt,
        provider=provider,
        model=model,
        started_at=now,
        chain_id=batch.chain_id,
    )
    entry = insert_row(
        Entry,
        session_id=session.pk,
        turn_id=batch.turn,
        kind=Entry.Kind.ASSISTANT,
        meta={"turn_id": call_id, "partial": True, "hidden": True},
        created_at=now,
    )
    if prompt is not None:
        update_row(Session, session.pk, prompt=prompt)
    return call, entry, wanted(session, batch)


@in_transaction
def save_progress(
    lease: Lease, batch: Batch, said: Said | None, seq: int, outputs: dict[str, str] | None = None
) -> Abort | None:
    """What the person has seen so far, with the seq it covers; at most once a second."""
    session = fenced(lease)
    if said is not None:
        write_said(said)
    for tool_use_id, tail in (outputs or {}).items():
        ToolCall.objects.filter(turn=batch.turn, tool_use_id=tool_use_id, outcome="").update(output=tail)
    update_row(Session, session.pk, seq=seq)
    return wanted(session, batch)


@in_transaction
def save_reply(
    lease: Lease, batch: Batch, said: Said, end: CallEnd, seq: int, intents: Sequence[Intent]
) -> tuple[Abort | None, Access]:
    """A reply that goes on with tools: the entry, the call's figures, and the intents of its first tools."""
    session = fenced(lease)
    write_said(said)
    changes = close_call(end)
    _intend(batch, said.call_id, intents)
    update_row(Session, session.pk, seq=seq, **changes)
    return wanted(session, batch), present_level(session, batch.level, batch.people)


@in_transaction
def save_results(
    lease: Lease,
    batch: Batch,
    call_id: str,
    results: Sequence[Result],
    seq: int,
    intents: Sequence[Intent],
    warnings: Sequence[str] = (),
    *,
    more: bool,
) -> tuple[Abort | None, bool, Access]:
    """Results of finished tools and, in the same commit, the intents of the next. (abort, interrupted, level now)

    warnings: lines the person was shown. more: calls of this reply are left.

    A queued entry is the soft interrupt: then the next intents are not written. A report waits for the calls of the
    reply: it must not keep the third sub-agent from being started because the first was quick.
    """
    session = fenced(lease)
    write_results(session.pk, batch.turn, call_id, results)
    for warning in warnings:
        write_notice(session.pk, batch.turn, warning, {"level": "system", "code": "loop"})
    waits = somebody_waits(session.pk) if more else something_waits(session.pk)
    if not waits:
        _intend(batch, call_id, intents)
    update_row(Session, session.pk, seq=seq)
    return wanted(session, batch), waits, present_level(session, batch.level, batch.people)


_CLOSE_TOOL_CALL = Update(
    lambda: ToolCall.objects.filter(turn=Param("turn"), call_id=Param("call_id"), tool_use_id=Param("tool_use_id")),
    ended_at=Param("now", DateTimeField()),
    outcome=Param("outcome"),
    output="",
)


def write_results(session_key: int, turn_key: int, call_id: str, results: Sequence[Result]) -> None:
    now = timezone.now()
    for result in results:
        insert_row(
            Entry,
            session_id=session_key,
            turn_id=turn_key,
            kind=Entry.Kind.TOOL_RESULT,
            text=result.ui_text,
            blocks=[_result_block(result)],
            meta={
                "turn_id": call_id,
                "tool_use_id": result.id,
                "name": result.name,
                "duration_ms": result.duration_ms,
                "outcome": result.outcome,
            },
            created_at=now,
        )
        if result.outcome != "not_run":
            _CLOSE_TOOL_CALL.run(turn=turn_key, call_id=call_id, tool_use_id=result.id, now=now, outcome=result.outcome)


def _result_block(result: Result) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": result.id, "content": result.content}
    return block | {"is_error": True} if result.is_error else block


def _intend(batch: Batch, call_id: str, intents: Sequence[Intent]) -> None:
    now = timezone.now()
    for intent in intents:
        insert_row(
            ToolCall, turn_id=batch.turn, call_id=call_id, tool_use_id=intent.id, name=intent.name, started_at=now
        )


def write_said(said: Said) -> None:
    text = "".join(block["text"] for block in said.blocks if block["type"] == "text")
    meta = {"turn_id": said.call_id, **said.meta}
    update_row(Entry, said.entry, text=text, blocks=said.blocks, meta=meta)


def close_call(end: CallEnd) -> dict[str, Any]:
    """Completes the call's row. What it changes on the session: the context size replaces, output and cost add."""
    usage = end.usage
    update_row(
        ModelCall,
        end.key,
        ended_at=timezone.now(),
        outcome=end.outcome,
        error=end.error[:2000],
        ttft_ms=end.ttft_ms,
        cost_micros=end.cost_micros,
        currency=end.currency,
        **tokens_of(usage),
    )
    if not usage.context_tokens:
        return {}
    changes: dict[str, Any] = {"output_tokens": Plus(usage.output_tokens)}
    if not end.side:
        changes["context_tokens"] = usage.context_tokens
    if end.cost_micros is not None:
        changes |= {"cost_micros": Plus(end.cost_micros), "currency": end.currency}
    return changes


def tokens_of(usage: Usage) -> dict[str, int]:
    return {
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cache_read_tokens": usage.cache_read_tokens,
        "cache_write_tokens": usage.cache_write_tokens,
    }


@in_transaction
def close_failed_call(lease: Lease, batch: Batch, said: Said | None, end: CallEnd, notice: str, seq: int) -> None:
    """A call that will be tried again: its row, its partial text marked as reset, and the line the person reads."""
    session = fenced(lease)
    if said is not None:
        said.meta["reset"] = True
        write_said(said)
        update_row(Entry, said.entry, in_context=False)
    changes = close_call(end)
    write_notice(session.pk, batch.turn, notice, {"level": "system"})
    update_row(Session, session.pk, seq=seq, **changes)


@in_transaction
def add_notice(lease: Lease, batch: Batch, text: str, code: str, seq: int) -> None:
    """A line for the person, which `seq` covers."""
    session = fenced(lease)
    write_notice(session.pk, batch.turn, text, {"level": "system", "code": code})
    update_row(Session, session.pk, seq=seq)


@in_transaction
def begin_side_call(lease: Lease, batch: Batch, call_id: str, provider: str, model: str) -> int:
    """The intent of a call that makes no reply of its own, such as a summary. Key of the ModelCall."""
    fenced(lease)
    return insert_row(
        ModelCall,
        turn_id=batch.turn,
        call_id=call_id,
        provider=provider,
        model=model,
        started_at=timezone.now(),
        chain_id=batch.chain_id,
    )


@in_transaction
def close_side_call(lease: Lease, batch: Batch, end: CallEnd, notice: str, seq: int) -> None:
    """It gave nothing: its row, and the line the person reads, if any."""
    session = fenced(lease)
    changes = close_call(end)
    if notice:
        write_notice(session.pk, batch.turn, notice, {"level": "system"})
    update_row(Session, session.pk, seq=seq, **changes)


@in_transaction
def write_summary(
    lease: Lease,
    batch: Batch,
    end: CallEnd | None,
    text: str,
    covered: Sequence[int],
    cleared: Sequence[int],
    notice: str,
    tokens: int,
    seq: int,
) -> None:
    """The summary takes the place of `covered`; `cleared` lose their content for the model. All keys of entries."""
    session = fenced(lease)
    changes = close_call(end) if end is not None else {}
    Entry.objects.filter(session=session.pk, pk__in=covered).update(in_context=False)
    _mark_cleared(session.pk, cleared)
    insert_row(
        Entry,
        session_id=session.pk,
        turn_id=batch.turn,
        kind=Entry.Kind.SUMMARY,
        text=text,
        meta={"covers": len(covered)},
        created_at=timezone.now(),
    )
    write_notice(session.pk, batch.turn, notice, {"level": "system", "code": "compacted"})
    crashpoint("compact.before_commit")
    update_row(Session, session.pk, **changes | {"seq": seq, "context_tokens": tokens})


@in_transaction
def clear_content(lease: Lease, entries: Sequence[int]) -> None:
    """Old results and images are left out of the context from now on; the log keeps them."""
    session = fenced(lease)
    _mark_cleared(session.pk, entries)


def _mark_cleared(session_key: int, entries: Sequence[int]) -> None:
    for key, meta in Entry.objects.filter(session=session_key, pk__in=entries).values_list("pk", "meta"):
        update_row(Entry, key, meta=meta | {"cleared": True})


@in_transaction
def drop_images(lease: Lease) -> None:
    """The vendor refused an image: the model gets a note instead of every image from now on; the log keeps them."""
    session = fenced(lease)
    for entry in Entry.objects.filter(session=session.pk, in_context=True).only("blocks", "meta"):
        if any(_holds_image(block) for block in entry.blocks):
            Entry.objects.filter(pk=entry.pk).update(meta=entry.meta | {"images_removed": True})


def _holds_image(block: dict[str, Any]) -> bool:
    content = block.get("content")
    return block.get("type") == "image" or (isinstance(content, list) and any(map(_holds_image, content)))


def write_notice(session_key: int, turn_key: int | None, text: str, meta: dict[str, Any]) -> None:
    if text:
        insert_row(
            Entry,
            session_id=session_key,
            turn_id=turn_key,
            kind=Entry.Kind.NOTICE,
            text=text,
            meta=meta,
            in_context=False,
            created_at=timezone.now(),
        )
