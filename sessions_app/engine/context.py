"""What the model gets to read of a session."""

from collections.abc import Iterable
from typing import Any

from halo_site.lib.prepared import Param, Select

from ..models import Entry, Session
from .history import Row


def sids_of(keys: Iterable[int | None]) -> dict[int, str]:
    wanted = {key for key in keys if key}
    return dict(Session.objects.filter(pk__in=wanted).values_list("pk", "sid")) if wanted else {}


_CONTEXT = Select(
    lambda: Entry.objects.filter(
        session=Param("session"), in_context=True, deleted=None, turn__isnull=False
    ).values_list("kind", "text", "blocks", "meta", "source_session", "turn__index", "id")
)


def load_context(session_key: int) -> list[Row]:
    """All rows the model gets, in reading order: the summary, then by (turn index, place in the queue, id)."""
    values = _CONTEXT.rows(session=session_key)

    def place(value: tuple[Any, ...]) -> tuple[bool, int, float, int]:
        kind, meta, index, key = value[0], value[3], value[5], value[6]
        pos = meta.get("pos")
        return kind != Entry.Kind.SUMMARY, index, float(pos) if isinstance(pos, int | float) else float(key), key

    values.sort(key=place)
    sids = sids_of(value[4] for value in values)
    return [
        Row(kind, text, blocks, meta, sids.get(source or 0), key) for kind, text, blocks, meta, source, _, key in values
    ]
