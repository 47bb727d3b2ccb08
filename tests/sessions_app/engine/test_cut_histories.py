"""A conversation that ends anywhere goes on: every vendor accepts what a run that died, or was stopped there, left.

`make histories` tries 10,000 conversations of every family (HALO_HISTORIES sets another number).
"""

import asyncio
import json
import os
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agents_app.providers.registry import DIALECTS
from agents_app.providers.wire import Wire
from sessions_app.engine.history import Row, history
from sessions_app.engine.images import with_pixels
from tests.agents_app.providers.conftest import FAMILIES, request
from tests.agents_app.providers.test_histories import ARGUMENTS, CHECKS, ID_STARTS, NAMES, SAID, WORDS, thoughts

EXAMPLES = int(os.environ.get("HALO_HISTORIES", "60"))
PICTURE = {"type": "image", "path": "/no/such/picture.png", "media_type": "image/png"}
MARKS = st.sampled_from([{}, {}, {}, {"images_removed": True}, {"cleared": True}])


@st.composite
def inputs(draw: st.DrawFn) -> Row:
    """What a person or an agent said."""
    kind = draw(st.sampled_from(["user", "user", "agent"]))
    note = draw(st.sampled_from([{}, {"note": "2 more run"}, {"model_text": "<rules/>\n\nx"}]))
    blocks = [PICTURE] if draw(st.booleans()) else []
    return Row(kind, draw(SAID), blocks, {**draw(MARKS), **note}, "r>c" if kind == "agent" else None)


@st.composite
def logs(draw: st.DrawFn, family: str) -> list[Row]:
    """The rows of a session in the order in which a run writes them, whatever went wrong in between."""
    rows = [Row("summary", draw(SAID))] if draw(st.integers(0, 4)) == 0 else []
    calls = 0
    for _ in range(draw(st.integers(1, 3))):
        rows += draw(st.lists(inputs(), min_size=1, max_size=2))
        for _ in range(draw(st.integers(0, 3))):
            said = [*draw(thoughts(family)), {"type": "text", "text": draw(WORDS)}]
            wrong = draw(st.sampled_from(["", "", "", "partial", "reset"]))
            if wrong:
                rows.append(Row("assistant", blocks=said, meta={wrong: True}))
                continue
            ids = [f"{draw(ID_STARTS)}{(calls := calls + 1)}" for _ in range(draw(st.integers(1, 3)))]
            uses = [{"type": "tool_use", "id": one, "name": draw(NAMES), "input": draw(ARGUMENTS)} for one in ids]
            rows.append(Row("assistant", blocks=[*said, *uses]))
            for one in draw(st.permutations(ids)):
                content = draw(st.one_of(WORDS, st.just([]), st.just([{"type": "text", "text": "x"}])))
                result = {"type": "tool_result", "tool_use_id": one, "content": content}
                rows.append(Row("tool_result", blocks=[result], meta=draw(MARKS)))
        if draw(st.booleans()):
            rows.append(Row("assistant", blocks=[*draw(thoughts(family)), {"type": "text", "text": draw(SAID)}]))
    return rows


def saved_while_streaming(row: Row) -> Row | None:
    """A reply as the save in the middle of it left it."""
    if row.kind != "assistant":
        return None
    return Row(
        "assistant", blocks=[block for block in row.blocks if block["type"] != "tool_use"], meta={"partial": True}
    )


def left_behind(rows: list[Row]) -> list[list[Row]]:
    """The log after each event: each row, and each reply in the middle of its stream."""
    found = []
    for at, row in enumerate(rows):
        begun = saved_while_streaming(row)
        if begun is not None:
            found.append([*rows[:at], begun])
        found.append(rows[: at + 1])
    return found


def check(family: str, rows: list[Row], changes: dict[str, Any]) -> None:
    messages = asyncio.run(with_pixels(history(rows), changes["vision"]))
    wire = DIALECTS[family].request(request(family, "http://h/v1", *messages, **changes), Wire())
    CHECKS[family](json.loads(wire.body))


@pytest.mark.parametrize("family", FAMILIES)
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(drawn=st.data())
def test_C37_wherever_a_conversation_was_cut_the_next_message_is_accepted(family: str, drawn: st.DataObject):
    rows = drawn.draw(logs(family))
    changes = {
        "thinking": drawn.draw(st.booleans()),
        "thinking_mode": drawn.draw(st.sampled_from(["adaptive", "manual"])),
        "vision": drawn.draw(st.booleans()),
        "prompt_caching": drawn.draw(st.sampled_from([None, "5m"])),
    }
    for left in left_behind(rows):
        check(family, [*left, Row("user", "go on")], changes)
