"""Whatever a conversation went through, every family gets a request that its strictest vendor accepts."""

import copy
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents_app.providers.aws_stream import FrameReader
from agents_app.providers.registry import DIALECTS
from agents_app.providers.wire import Wire
from tests.fakes.bedrock_wire import check_bedrock, chunk, frame
from tests.fakes.model_rules import check_chat, check_messages
from tests.fakes.responses_wire import check_responses

from .conftest import FAMILIES, assistant, request, user
from .test_exchange import IMAGE

CHECKS = {"chat": check_chat, "messages": check_messages, "responses": check_responses, "bedrock": check_bedrock}
WORDS = st.text(max_size=12)
SAID = WORDS.map(lambda text: f"x{text}")  # never blank
ID_STARTS = st.sampled_from(["call_", "functions.grep:", "工具 ", "toolu_" + "x" * 70, "\x00", "a" * 39])
NAMES = st.sampled_from(["grep", "functions.grep", "读取", "", "x" * 90])
RESULTS = st.one_of(
    WORDS, st.just([]), st.just([IMAGE]), WORDS.map(lambda text: [{"type": "text", "text": text}, IMAGE])
)
ARGUMENTS = st.dictionaries(
    WORDS, st.one_of(WORDS, st.integers(), st.none(), st.lists(st.integers(), max_size=2)), max_size=2
)


@st.composite
def histories(draw: st.DrawFn, family: str) -> list[dict[str, Any]]:
    """Turns with thinking of this vendor and of others, parallel calls, pictures, blank texts, doubled roles."""
    messages: list[dict[str, Any]] = []
    calls = 0
    for _ in range(draw(st.integers(1, 3))):
        messages.append(user(draw(SAID), *draw(st.lists(st.one_of(WORDS, st.just(IMAGE)), max_size=2))))
        for _ in range(draw(st.integers(0, 2))):
            blocks = [*draw(thoughts(family)), {"type": "text", "text": draw(WORDS)}]
            results = []
            for _ in range(draw(st.integers(1, 3))):
                calls += 1
                call_id = f"{draw(ID_STARTS)}{calls}"
                blocks.append({"type": "tool_use", "id": call_id, "name": draw(NAMES), "input": draw(ARGUMENTS)})
                results.append({"type": "tool_result", "tool_use_id": call_id, "content": draw(RESULTS)})
            messages.append(assistant(*blocks))
            messages.append(user(*draw(st.permutations(results)), *draw(st.lists(WORDS, max_size=1))))
        if draw(st.booleans()):
            messages.append(assistant(*draw(thoughts(family)), {"type": "text", "text": draw(SAID)}))
    if messages[-1]["role"] == "assistant":
        messages.append(user(draw(SAID)))
    return messages


def thoughts(family: str) -> st.SearchStrategy[list[dict[str, Any]]]:
    own = {"type": "thinking", "thinking": "hm", "signature": "sig-1", "provider": family}
    foreign = {"type": "thinking", "thinking": "hm", "signature": "other", "provider": "elsewhere"}
    unsigned = {"type": "thinking", "thinking": "hm", "provider": family}
    return st.lists(st.sampled_from([own, foreign, unsigned]), max_size=2)


@pytest.mark.parametrize("family", FAMILIES)
@settings(max_examples=150, deadline=None)
@given(drawn=st.data())
def test_any_history_becomes_a_request_that_the_vendor_accepts(family: str, drawn: st.DataObject):
    history = drawn.draw(histories(family))
    kept = copy.deepcopy(history)
    changes = {
        "thinking": drawn.draw(st.booleans()),
        "thinking_mode": drawn.draw(st.sampled_from(["adaptive", "manual"])),
        "vision": drawn.draw(st.booleans()),
        "prompt_caching": drawn.draw(st.sampled_from([None, "5m", "1h"])),
    }
    wire = DIALECTS[family].request(request(family, "http://h/v1", *history, **changes), Wire())
    CHECKS[family](json.loads(wire.body))
    assert history == kept


@settings(max_examples=100, deadline=None)
@given(st.lists(st.binary(max_size=80), max_size=6), st.lists(st.integers(1, 60), min_size=1, max_size=30))
def test_frames_are_read_back_as_they_were_written_however_they_are_cut(payloads: list[bytes], sizes: list[int]):
    ping = frame({":message-type": "event", ":event-type": "initial-response"}, b"{}")
    stream = b"".join(chunk(payload) + ping for payload in payloads)
    reader = FrameReader()
    found = []
    at = turn = 0
    while at < len(stream):
        size = sizes[turn % len(sizes)]
        found += reader.feed(stream[at : at + size])
        at, turn = at + size, turn + 1
    found += reader.close()
    assert [event.data for event in found] == payloads
