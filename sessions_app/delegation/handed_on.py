"""What the work of a turn passes on to everything it sets off: who stands behind it, and who waits for it."""

from typing import Any

from halo_site.lib.access_level import Access, lowest

from ..chain import Chain, merged
from ..engine.access import senders
from ..engine.lease import INPUTS
from ..models import Entry, Turn

LOOKED_BACK = 5  # turns; one that only resumed interrupted work stands for the one before it


def handed_on(session_key: int) -> dict[str, Any]:
    """`{people, chain?}` of the session's newest turn, for the origin of an entry. people: keys of users."""
    found = list(Turn.objects.filter(session=session_key).order_by("-index")[:LOOKED_BACK])
    people: set[int] = set()
    for turn in found:
        inputs = list(Entry.objects.filter(turn=turn, kind__in=INPUTS).only("origin"))
        people.update(senders(inputs))
        if any((entry.origin or {}).get("kind") != "nudge" for entry in inputs):
            break
    chain = found[0].chain if found else None
    return {"people": sorted(people)} | ({"chain": chain} if chain else {})


def left_undone(turn: Turn) -> dict[str, Any]:
    """`{people, level, chain?}` of a turn that died, for the message that resumes it.

    Turns that it had cut short are not done either: what resumes runs with no more rights than any of them had.
    """
    cut = [turn]
    for before in Turn.objects.filter(session=turn.session_id, index__lt=turn.index).order_by("-index"):
        if before.stop_reason != "interjected":
            break
        cut.append(before)
    told = handed_on(turn.session_id)
    people = {*told["people"], *senders(Entry.objects.filter(turn__in=cut, kind__in=INPUTS).only("origin"))}
    level = lowest(*(Access.stored(each.access_level) for each in cut))
    return told | {"people": sorted(people), "level": level.value}


def undone_together(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """One message that resumes the work of both."""
    chain = merged([Chain.of(one.get("chain")), Chain.of(other.get("chain"))])
    level = lowest(Access.stored(one.get("level")), Access.stored(other.get("level")))
    people = sorted({*one.get("people", ()), *other["people"]})
    return {"people": people, "level": level.value} | ({"chain": chain.stored()} if chain else {})
