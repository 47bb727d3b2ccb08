"""Messages of servers: whatever they say, we read it or say what is wrong with it (SECURITY-BAR L5, L6)."""

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents_app.mcp import wire

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(codec=None)),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
PART = st.fixed_dictionaries(
    {"type": st.sampled_from(["text", "image", "audio"]) | JSON}, optional={"text": JSON, "data": JSON}
)
TOOL = st.fixed_dictionaries(
    {"name": st.text(st.characters(codec=None), max_size=70) | JSON},
    optional={
        "description": JSON,
        "inputSchema": st.fixed_dictionaries({"type": st.just("object")}, optional={"properties": JSON, "x": JSON})
        | JSON,
        "annotations": JSON,
    },
)


@given(st.binary(max_size=200) | JSON.map(lambda value: json.dumps(value).encode()))
def test_any_line_is_messages_or_malformed(data):
    with suppress(wire.Malformed):
        for message in wire.read(data):
            assert isinstance(message, wire.Answer | wire.Asked | wire.Told)
            if isinstance(message, wire.Asked):
                wire.reply_to(message)


@given(st.lists(TOOL | JSON, max_size=6), st.none() | st.lists(st.text(max_size=5), max_size=2))
def test_any_list_of_tools_gives_tools_that_models_can_be_told_of(raw, only):
    tools, warnings = wire.offered("fake", raw, only)
    for tool in tools:
        assert wire.orjson.dumps([tool.full_name, tool.description, tool.schema])
        assert len(tool.full_name) <= 64
        assert tool.full_name.isascii()
    assert all(isinstance(text, str) for text in warnings)
    assert len({tool.full_name for tool in tools}) == len(tools)


@given(
    st.fixed_dictionaries(
        {}, optional={"content": st.lists(PART, max_size=4) | JSON, "isError": JSON, "structuredContent": JSON}
    )
)
def test_any_result_is_parts_or_malformed(result):
    with suppress(wire.Malformed):
        assert all(isinstance(part.text, str) for part in wire.called(result).parts)


@pytest.mark.parametrize(
    ("line", "what"),
    [
        (b'{"jsonrpc":"2.0","id":7,"result":{}}', wire.Answer(7, {})),
        (b'{"jsonrpc":"2.0","id":"7","result":{}}', wire.Answer(7, {})),
        (b'{"jsonrpc":"2.0","id":7,"result":3}', wire.Answer(7, error="malformed answer: it has no result")),
        (b'{"jsonrpc":"2.0","id":7,"error":{"code":-1,"message":"no"}}', wire.Answer(7, error="no (-1)")),
        (b'{"jsonrpc":"2.0","id":7,"error":"x"}', wire.Answer(7, error="an error without a text")),
        (b'{"jsonrpc":"2.0","id":"a","method":"ping"}', wire.Asked("a", "ping")),
        (b'{"jsonrpc":"2.0","method":"notifications/x"}', wire.Told("notifications/x")),
    ],
)
def test_messages_are_told_apart(line, what):
    assert wire.read(line) == [what]
    assert wire.read(b"[" + line + b"," + line + b"]") == [what, what]


def test_only_ping_is_answered():
    assert json.loads(wire.reply_to(wire.Asked("a", "ping"))) == {"jsonrpc": "2.0", "id": "a", "result": {}}
    assert json.loads(wire.reply_to(wire.Asked(1, "sampling/createMessage")))["error"]["code"] == wire.METHOD_NOT_FOUND


def test_L6_a_deep_or_large_schema_is_dropped():
    deep: dict = {"type": "object"}
    for _ in range(900):
        deep = {"type": "object", "properties": {"x": deep}}
    large = {"type": "object", "properties": {"x": {"description": "y" * 40_000}}}
    tools, warnings = wire.offered("f", [{"name": "a", "inputSchema": deep}, {"name": "b", "inputSchema": large}], None)
    assert tools == ()
    assert ["deeper than" in warnings[0], "larger than" in warnings[1]] == [True, True]


def test_names_that_look_alike_are_not_mixed_up():
    schema = {"inputSchema": {"type": "object"}}
    tools, warnings = wire.offered("f", [{"name": "a.b"} | schema, {"name": "a/b"} | schema], None)
    assert [tool.name for tool in tools] == ["a.b"]
    assert warnings == ("mcp__f__a_b: dropped, the name is there twice",)


def test_an_endless_list_is_cut_with_a_warning():
    schema = {"inputSchema": {"type": "object"}}
    tools, warnings = wire.offered("f", [{"name": f"t{number}"} | schema for number in range(300)], None)
    assert len(tools) == wire.MAX_TOOLS
    assert warnings == ("44 tools after the first 256 were dropped",)


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"anyOf": [{"required": ["a"]}]}, "models take no anyOf at the top of a schema"),
        ({"properties": {"a b": {}}}, "models do not take the names of its arguments"),
        ({"properties": {"a": {"maximum": 2**70}}}, "its schema cannot be passed on"),
        ({"properties": {"a": "string"}}, "its schema is not valid at properties.a"),
        ({"properties": {"a": {"type": "str"}}}, "its schema is not valid at properties.a.type"),
        ({"properties": {"a": {"type": []}}}, "its schema is not valid at properties.a.type"),
        ({"properties": {"a": {"required": True}}}, "its schema is not valid at properties.a.required"),
        ({"required": ["a", "a"]}, "its schema is not valid at required"),
        ({"properties": {"a": {"enum": "x"}}}, "its schema is not valid at properties.a.enum"),
        ({"properties": {"a": {"items": [{"type": "string"}]}}}, "its schema is not valid at properties.a.items"),
        ({"properties": {"a": {"anyOf": []}}}, "its schema is not valid at properties.a.anyOf"),
        ({"properties": {"a": {"anyOf": [{}, 3]}}}, "its schema is not valid at properties.a.anyOf.1"),
        ({"properties": {"a": {"exclusiveMinimum": True}}}, "its schema is not valid at properties.a.exclusiveMinimum"),
        ({"properties": {"a": {"maximum": float("nan")}}}, "its schema is not valid at properties.a.maximum"),
        ({"$defs": {"b": {"minLength": -1}}}, "its schema is not valid at $defs.b.minLength"),
        ({"$defs": []}, "its schema is not valid at $defs"),
    ],
)
def test_a_schema_for_which_vendors_refuse_whole_requests_is_dropped(more, why):
    tools, warnings = wire.offered("f", [{"name": "t", "inputSchema": {"type": "object"} | more}], None)
    assert (tools, warnings) == ((), (f"mcp__f__t: dropped, {why}",))


def test_a_schema_as_servers_write_it_is_passed_on_as_it_is():
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "title": "Search",
        "properties": {
            "query": {"type": "string", "minLength": 1, "pattern": "^[^ ]", "examples": ["a"], "default": None},
            "kind": {"anyOf": [{"type": ["string", "null"], "enum": ["a", None]}, {"$ref": "#/$defs/kind"}]},
            "sizes": {"type": "array", "items": {"type": "number", "exclusiveMinimum": 0.5}, "maxItems": 3.0},
            "anything": True,
            "nested": {"type": "object", "additionalProperties": {"const": 3}, "x-order": [1]},
        },
        "required": [],
        "additionalProperties": False,
        "$defs": {"kind": {"not": {"type": "integer"}}},
    }
    [tool], warnings = wire.offered("f", [{"name": "t", "inputSchema": schema}], None)
    assert (tool.schema, warnings) == (schema, ())


def test_what_a_server_called_its_request_comes_back_in_the_reply():
    for text in ("\ud800", 10**40):
        assert json.loads(wire.reply_to(wire.Asked(text, "ping")))["id"] == text


def test_an_error_without_an_id_says_what_the_server_said():
    with pytest.raises(wire.Malformed, match=r"an error without an id: no such thing \(-32700\)"):
        wire.read(b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no such thing"}}')


def test_a_result_of_countless_parts_is_cut_with_a_note():
    parts = wire.called({"content": [{"type": "text", "text": "x"}] * (wire.MAX_PARTS + 7)}).parts
    assert len(parts) == wire.MAX_PARTS + 1
    assert parts[-1] == wire.Part("left_out", f"7 parts after the first {wire.MAX_PARTS}")
