"""Request bodies: thinking, caching and the quirks of the shipped vendors."""

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest

from agents_app.providers.catalogue_schema import ProviderEntry
from agents_app.providers.chat_dialect import known_effort
from agents_app.providers.contract import ModelRequest
from agents_app.providers.registry import DIALECTS, PACKAGED

from .conftest import assistant, request, user

Shipped = Callable[[str], ProviderEntry]


def built(entry: ProviderEntry, model: str = "", messages: Any = (), **changes: Any) -> tuple[dict[str, Any], Any]:
    """(body, wire request) as this vendor gets it."""
    model = model or (entry.first_model.id if entry.first_model else "m")
    made: ModelRequest = request(entry.id, entry.default_endpoint, *messages, model=model, **changes)
    wire = DIALECTS[entry.family].request(made, entry.wire_for(model))
    return json.loads(wire.body), wire


def thinking_of(body: dict[str, Any]) -> dict[str, Any]:
    return {key: body[key] for key in ("thinking", "output_config", "reasoning_effort") if key in body}


def test_adaptive_thinking_names_the_effort(shipped: Shipped):
    body, _ = built(shipped("anthropic"), thinking=True, thinking_effort="high")
    assert thinking_of(body) == {
        "thinking": {"type": "adaptive", "display": "summarized"}, "output_config": {"effort": "high"}
    }  # fmt: skip
    assert thinking_of(built(shipped("anthropic"))[0]) == {}


@pytest.mark.parametrize(
    ("fields", "budget"),
    [
        ({"thinking_effort": "high", "max_tokens": 4000}, 2000),
        ({"thinking_effort": "low", "max_tokens": 64000}, 2048),
        ({"thinking_effort": "max", "max_tokens": 200_000}, 60000),
        ({"thinking_budget": 5000, "max_tokens": 64000}, 5000),
        ({"thinking_budget": 10, "max_tokens": 64000}, 1024),
        ({"max_tokens": 64000}, 8192),
        ({"max_tokens": 1024}, None),  # no room for the smallest budget: no thinking rather than a refusal
    ],
)
def test_manual_thinking_has_a_budget_that_fits(shipped: Shipped, fields: dict[str, Any], budget: int | None):
    body, _ = built(shipped("anthropic"), thinking=True, thinking_mode="manual", **fields)
    assert thinking_of(body) == ({"thinking": {"type": "enabled", "budget_tokens": budget}} if budget else {})


def test_an_explicit_budget_makes_thinking_manual(shipped: Shipped):
    body, _ = built(shipped("anthropic"), thinking=True, thinking_budget=3000, max_tokens=64000)
    assert body["thinking"] == {"type": "enabled", "budget_tokens": 3000}


QUIRKS = [
    ("minimax", "MiniMax-M3", True, {"thinking": {"type": "adaptive", "display": "summarized"}}),
    ("minimax", "MiniMax-M2.7", False, {"thinking": {"type": "enabled", "budget_tokens": 2048}}),
    ("qwen", "qwen3.7-max", True, {"thinking": {"type": "enabled", "budget_tokens": 2048}}),
    ("qwen", "qwen3.7-max", False, {"thinking": {"type": "disabled"}}),
    ("openai", "gpt-4o", True, {"reasoning_effort": "medium"}),
    ("openai", "gpt-4o", False, {}),
    ("deepseek", "deepseek-v4-pro", True, {"thinking": {"type": "enabled"}}),
    ("deepseek", "deepseek-v4-pro", False, {"thinking": {"type": "disabled"}}),
    ("kimi", "kimi-k3", True, {"reasoning_effort": "max"}),
    ("kimi", "kimi-k3", False, {}),
    ("kimi", "kimi-k2.6", True, {}),
    ("kimi", "kimi-k2.6", False, {"thinking": {"type": "disabled"}}),
    ("zhipu", "glm-4.6", True, {"thinking": {"type": "enabled"}}),
    ("doubao", "", False, {"thinking": {"type": "disabled"}}),
    ("hunyuan", "hy3-preview", True, {"reasoning_effort": "low"}),
    ("hunyuan", "hy3-preview", False, {}),
]


@pytest.mark.parametrize(("name", "model", "on", "wanted"), QUIRKS)
def test_a_vendor_is_told_to_think_in_its_own_words(shipped: Shipped, name: str, model: str, on: bool, wanted: Any):
    mode = "manual" if name == "qwen" or "M2.7" in model else "adaptive"
    body, _ = built(shipped(name), model, thinking=on, thinking_effort="medium", thinking_mode=mode)
    assert thinking_of(body) == wanted


@pytest.mark.parametrize(
    ("effort", "sent"), [("low", "low"), ("xhigh", "xhigh"), ("max", "max"), ("minimal", "high"), (None, "medium")]
)
def test_responses_knows_five_efforts_and_takes_any_other_as_high(shipped: Shipped, effort: str | None, sent: str):
    body, _ = built(shipped("aws-bedrock-mantle"), thinking=True, thinking_effort=effort)
    assert body["reasoning"] == {"effort": sent}
    assert "reasoning" not in built(shipped("aws-bedrock-mantle"), thinking_effort=effort)[0]


def test_responses_is_asked_for_a_summary_where_the_file_says_so(shipped: Shipped):
    entry = shipped("aws-bedrock-mantle").model_copy(update={"wire": {"reasoning_summary": "auto"}})
    assert built(entry, thinking=True)[0]["reasoning"] == {"effort": "medium", "summary": "auto"}
    assert "reasoning" not in built(entry)[0]


def test_responses_is_told_how_much_to_write(shipped: Shipped):
    assert built(shipped("aws-bedrock-mantle"), verbosity="low")[0]["text"] == {"verbosity": "low"}
    assert "text" not in built(shipped("aws-bedrock-mantle"))[0]


def test_a_conversation_as_responses_items(shipped: Shipped):
    """The system text first; calls and results flat; an image of a result after it; no reasoning."""
    calls = [{"type": "tool_use", "id": f"c{at}", "name": "grep", "input": {"n": at}} for at in (1, 2)]
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA=="}}
    results = [
        {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "see"}, picture]},
        {"type": "tool_result", "tool_use_id": "c2", "content": "two"},
    ]
    thought = {"type": "thinking", "thinking": "hm"}
    history = [user("go"), assistant(thought, {"type": "text", "text": "I look."}, *calls), user("and?", *results)]
    body, _ = built(shipped("aws-bedrock-mantle"), messages=history, vision=True)
    assert body["input"] == [
        {"role": "developer", "content": "Be brief."},
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": "I look."},
        {"type": "function_call", "call_id": "c1", "name": "grep", "arguments": '{"n":1}'},
        {"type": "function_call", "call_id": "c2", "name": "grep", "arguments": '{"n":2}'},
        {"type": "function_call_output", "call_id": "c1", "output": "see\n[image]"},
        {"type": "function_call_output", "call_id": "c2", "output": "two"},
        {
            "role": "user",
            "content": [
                {"type": "input_image", "image_url": "data:image/png;base64,AA=="},
                {"type": "input_text", "text": "and?"},
            ],
        },
    ]
    blind, _ = built(shipped("aws-bedrock-mantle"), messages=history, vision=False)
    assert blind["input"][-1] == {"role": "user", "content": "and?"}


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("openai", "none"),
        ("anthropic", {"type": "none"}),
        ("aws-bedrock-mantle", "none"),
        ("aws-bedrock-claude-invoke", {"type": "none"}),
    ],
)
def test_forbidden_calls_leave_the_tools_in_the_request(shipped: Shipped, name: str, word: Any):
    entry = shipped(name)
    free, bound = built(entry)[0], built(entry, may_call=False)[0]
    assert bound == free | {"tool_choice": word}
    assert "tool_choice" not in free
    assert "tool_choice" not in built(entry, tools=(), may_call=False)[0]  # refused where there are no tools


def test_fixed_fields_of_a_registry_file_are_sent(shipped: Shipped):
    for name in ("openai", "anthropic", "aws-bedrock-mantle", "aws-bedrock-claude-invoke"):
        entry = shipped(name).model_copy(update={"wire": {"body": {"temperature": 0.5}}})
        assert built(entry)[0]["temperature"] == 0.5


def test_bedrock_says_model_and_streaming_in_the_address(shipped: Shipped):
    entry = shipped("aws-bedrock-claude-invoke")
    body, wire = built(entry, thinking=True, thinking_effort="xhigh", prompt_caching="1h")
    assert body["anthropic_version"] == "bedrock-2023-05-31"
    assert not {"model", "stream"} & set(body)
    assert body["output_config"] == {"effort": "xhigh"}
    assert marks(body) == [{"type": "ephemeral", "ttl": "1h"}] * 3
    host = "https://bedrock-runtime.us-east-1.amazonaws.com"
    assert wire.url == f"{host}/model/global.anthropic.claude-sonnet-4-6/invoke-with-response-stream"
    arn = "arn:aws:bedrock:us-east-1:1:application-inference-profile/x"
    assert built(entry, arn)[1].url == f"{host}/model/{arn.replace('/', '%2F')}/invoke-with-response-stream"
    small, _ = built(
        entry, "global.anthropic.claude-haiku-4-5-20251001-v1:0", thinking=True, thinking_mode="manual",
        thinking_budget=4000, max_tokens=64000,
    )  # fmt: skip
    assert small["thinking"] == {"type": "enabled", "budget_tokens": 4000}


@pytest.mark.parametrize(
    ("label", "known", "sent"),
    [
        ("high", ("low", "high"), "high"), ("medium", ("low", "high"), "low"), ("max", ("low", "high"), "high"),
        ("low", ("medium", "high"), "medium"), ("low", ("max",), "max"), (None, ("low", "medium"), "medium"),
        ("wild", ("low", "medium", "high"), "medium"), ("high", (), None),
    ],
)  # fmt: skip
def test_only_known_effort_labels_are_sent(label: str | None, known: tuple[str, ...], sent: str | None):
    assert known_effort(label, known) == sent


def marks(body: dict[str, Any]) -> list[Any]:
    places = [*body["system"], body["tools"][-1], body["messages"][-1]["content"][-1]]
    return [place["cache_control"] for place in places]


def test_caching_puts_three_marks_and_changes_nothing_stored(shipped: Shipped):
    history = [user("one"), assistant({"type": "text", "text": "two"}), user("three", "four")]
    kept = copy.deepcopy(history)
    body, _ = built(shipped("anthropic"), messages=history, prompt_caching="1h")
    assert marks(body) == [{"type": "ephemeral", "ttl": "1h"}] * 3
    assert json.dumps(body).count("cache_control") == 3
    assert history == kept
    assert marks(built(shipped("anthropic"), messages=history, prompt_caching="5m")[0]) == [{"type": "ephemeral"}] * 3


def test_a_vendor_without_long_caching_gets_short_marks_or_none(shipped: Shipped):
    assert marks(built(shipped("qwen"), prompt_caching="1h")[0]) == [{"type": "ephemeral"}] * 3
    assert "cache_control" not in json.dumps(built(shipped("minimax"), "MiniMax-M3", prompt_caching="1h")[0])
    assert "cache_control" not in json.dumps(built(shipped("openai"), prompt_caching="1h")[0])


def test_the_prefix_of_a_session_stays_the_same_byte_for_byte(shipped: Shipped):
    for name in ("anthropic", "openai", "aws-bedrock-mantle"):
        first = built(shipped(name), messages=[user("one")])[1].body
        longer = [user("one"), assistant({"type": "text", "text": "x"}), user("two")]
        second = built(shipped(name), messages=longer)[1].body
        kept = "input" if "mantle" in name else "messages"
        one = json.loads(first)[kept]
        assert json.loads(second)[kept][: len(one)] == one
        assert json.loads(first)["tools"] == json.loads(second)["tools"]


def test_tool_results_come_before_what_the_person_wrote(shipped: Shipped):
    call = {"type": "tool_use", "id": "c1", "name": "grep", "input": {}}
    history = [
        user("go"),
        assistant(call),
        user("stop that", {"type": "tool_result", "tool_use_id": "c1", "content": "r"}),
    ]
    chat, _ = built(shipped("openai"), messages=history)
    assert [message["role"] for message in chat["messages"]] == ["system", "user", "assistant", "tool", "user"]
    assert chat["messages"][-1]["content"] == "stop that"
    anthropic, _ = built(shipped("anthropic"), messages=history)
    assert [block["type"] for block in anthropic["messages"][-1]["content"]] == ["tool_result", "text"]


def test_several_texts_of_one_message_all_arrive(shipped: Shipped):
    body, _ = built(shipped("openai"), messages=[user("one", "two")])
    assert body["messages"][-1]["content"] == "one\n\ntwo"


@pytest.mark.parametrize(
    ("name", "endpoint", "url"),
    [
        ("anthropic", "https://api.anthropic.com", "https://api.anthropic.com/v1/messages"),
        ("anthropic", "https://api.anthropic.com/", "https://api.anthropic.com/v1/messages"),
        ("anthropic", "https://api.anthropic.com/v1", "https://api.anthropic.com/v1/messages"),
        ("anthropic", "https://h/anthropic/v1/messages", "https://h/anthropic/v1/messages"),
        ("openai", "http://127.0.0.1:11434/v1/", "http://127.0.0.1:11434/v1/chat/completions"),
        ("openai", "http://h/v1/chat/completions", "http://h/v1/chat/completions"),
        ("aws-bedrock-mantle", "https://h/openai/v1/", "https://h/openai/v1/responses"),
        ("aws-bedrock-openai", "https://h/openai/v1/responses", "https://h/openai/v1/responses"),
    ],
)
def test_the_address_is_forgiving(shipped: Shipped, name: str, endpoint: str, url: str):
    entry = shipped(name)
    wire = DIALECTS[entry.family].request(request(name, endpoint), entry.wire_for("m"))
    assert wire.url == url
    assert "sk-test" not in repr(wire)


def test_headers_of_the_families(shipped: Shipped):
    _, wire = built(shipped("anthropic"))
    assert wire.headers["anthropic-version"] == "2023-06-01"
    assert wire.headers["x-api-key"].startswith("sk-test")
    assert "anthropic-version" not in built(shipped("qwen"))[1].headers
    assert built(shipped("openai"))[1].headers["authorization"].startswith("Bearer sk-test")


def test_kimi_routes_its_cache_by_session(shipped: Shipped):
    assert built(shipped("kimi"))[0]["prompt_cache_key"] == "sid_1"
    assert "prompt_cache_key" not in built(shipped("openai"))[0]


def test_no_tools_no_field(shipped: Shipped):
    for name in ("openai", "anthropic"):
        assert "tools" not in built(shipped(name), tools=())[0]


def test_every_shipped_vendor_loads_and_has_what_the_app_shows():
    from agents_app.providers.registry import _entry

    names = sorted(path.stem for path in PACKAGED.glob("*.yaml"))
    aws = {"aws-bedrock-claude-invoke", "aws-bedrock-mantle", "aws-bedrock-openai"}
    messages = {"anthropic", "mimo-token-plan-china", "minimax", "qwen"}
    chat = {"openai", "deepseek", "doubao", "hunyuan", "kimi", "zhipu"}
    assert set(names) == aws | messages | chat | {"demo", "scripted"}
    for name in names:
        entry = _entry(PACKAGED / f"{name}.yaml")
        assert entry.id == name
        assert entry.display_name
        assert entry.default_endpoint
        assert entry.first_model is not None
        assert entry.first_model.id == entry.default_model_id
        keys = [secret.key for secret in entry.secrets]
        of_aws = ["api_key", "access_key_id", "secret_access_key"]
        assert keys == ([] if name in ("demo", "scripted") else of_aws if name in aws else ["api_key"])
