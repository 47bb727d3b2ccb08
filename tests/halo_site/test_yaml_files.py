"""YAML without surprises (CASES C67, SECURITY-BAR L6), and edits that keep what people wrote."""

import time
from contextlib import suppress

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from halo_site.lib.yaml_edit import block_of, delete_value, dump, set_value
from halo_site.lib.yaml_files import YamlError, load, load_mapping, load_with_lines


@pytest.mark.parametrize(
    "text", ["no", "on", "1.10", "2026-10-05", "12:30:00", "0777", "1e3", "0x1F", ".inf", "<<KEY>>"]
)
def test_C67_every_scalar_stays_the_text_of_the_file(text):
    assert load(f"key: {text}") == {"key": text}


def test_C67_only_null_is_nothing():
    assert load("a:\nb: ~\nc: null\nd: ''\ne: 'null'") == {"a": None, "b": None, "c": None, "d": "", "e": "null"}


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("a: 1\nb: 2\na: 3", 3, "twice"),
        ("a:\n\tb: 1", 2, "tab"),
        ("a: 1\nb: !!python/object/apply:os.system [id]", 2, "tags"),
        ("a: 1\nb: !custom x", 2, "tags"),
        ("a: [1, 2", 2, "expected"),
        ("? [x]\n: y", 1, "plain text"),
        ("a: 1\n---\nb: 2", 2, "one document"),
        ("a: 'x", 1, ""),
    ],
)
def test_C67_what_is_refused_names_its_line(text, line, said):
    with pytest.raises(YamlError) as caught:
        load(text)
    assert caught.value.line == line
    assert said in str(caught.value)


def bomb(levels: int) -> str:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, levels)]
    return "\n".join(lines)


@pytest.mark.parametrize(
    "text",
    [
        bomb(9),
        "[" * 100_000,
        "{a: " * 60 + "1" + "}" * 60,
        "x: &x [*x]",
        "a: " + "b" * 300_000,
        "- " * 5_000 + "x",
        "\0",
        "\ud800",
    ],
    ids=["anchors", "brackets", "deep", "circle", "large", "dashes", "nul", "surrogate"],
)
def test_L6_bombs_are_refused_at_once(text):
    start = time.thread_time()
    with pytest.raises(YamlError):
        load(text)
    assert time.thread_time() - start < 20  # seconds of work, not of the clock; one that goes off has no end


@given(st.text(max_size=300))
def test_L6_any_text_is_either_read_or_refused_with_a_sentence(text):
    with suppress(YamlError):
        load(text)


def test_lines_of_values_are_known():
    _, lines = load_with_lines("a: 1\nb:\n  c: 2\n  d:\n    - x\n    - y\n")
    assert lines.near(("b", "c")) == 3
    assert lines.near(("b", "d", "1")) == 6
    assert lines.near(("b", "nothing")) == 2


PERSONAL = """# mine
general: {compact: {keep_messages: 8}}  # short

openai:
  # from the console
  secrets:
    api_key: <<OPENAI_KEY>>   # do not share
"""


def test_a_changed_value_keeps_every_comment():
    text = set_value(PERSONAL, ["openai", "secrets", "api_key"], "sk: new")
    assert text == PERSONAL.replace("<<OPENAI_KEY>>", "'sk: new'")


def test_new_values_go_where_they_belong():
    text = set_value(PERSONAL, ["openai", "secrets", "organisation"], "yes")
    text = set_value(text, ["general", "compact", "max_summary_input"], 9000)
    text = set_value(text, ["kimi", "secrets", "api_key"], "x\ny")
    assert load(text) == {
        "general": {"compact": {"keep_messages": "8", "max_summary_input": "9000"}},
        "openai": {"secrets": {"api_key": "<<OPENAI_KEY>>", "organisation": "yes"}},
        "kimi": {"secrets": {"api_key": "x\ny"}},
    }
    for comment in ("# mine", "# short", "# from the console", "# do not share"):
        assert comment in text


def test_a_deleted_value_takes_empty_levels_along_and_nothing_else():
    assert delete_value(PERSONAL, ["openai", "secrets", "api_key"]) == PERSONAL[: PERSONAL.index("openai:")]
    assert delete_value(PERSONAL, ["openai", "secrets", "nothing"]) == PERSONAL


KEYS = st.text("abcdef", min_size=1, max_size=3)
VALUES = st.one_of(st.text(max_size=20).filter(lambda text: yaml_takes(text)), st.integers(), st.booleans())
TREES = st.recursive(
    st.dictionaries(KEYS, VALUES, max_size=3),
    lambda inner: st.dictionaries(KEYS, st.one_of(VALUES, inner), max_size=3),
    max_leaves=8,
)


def yaml_takes(text: str) -> bool:
    try:
        return load(dump({"k": text})) == {"k": text}
    except YamlError:
        return False


@given(TREES, st.lists(KEYS, min_size=1, max_size=3), VALUES, st.booleans())
def test_any_edit_of_any_document_gives_exactly_the_wanted_one(tree, path, value, flow):
    text = yaml.dump(tree, Dumper=yaml.SafeDumper, allow_unicode=True, default_flow_style=flow, width=10**6)
    before = load_mapping(text)
    edited = load_mapping(set_value(text, path, value))
    node = edited
    for name in path:
        node = node[name]
    assert node == (str(value).lower() if isinstance(value, bool) else str(value))
    rest = load_mapping(delete_value(set_value(text, path, value), path))
    others = {key: item for key, item in before.items() if key != path[0]}
    assert {key: item for key, item in edited.items() if key != path[0]} == others
    assert {key: item for key, item in rest.items() if key != path[0]} == others


def test_the_lines_of_one_key_can_be_taken_out():
    text = "name: x\nmodel:\n  id: a  # why\n  # note\n\ntools: [b]\n"
    assert block_of(text, "model") == "model:\n  id: a  # why\n  # note\n\n"
    assert block_of(text, "tools") == "tools: [b]\n"
    assert block_of(text, "nothing") is None
