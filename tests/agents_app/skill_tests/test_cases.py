"""What a tests.yaml may say, and what counts as a difference."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents_app.skill_tests.cases import CasesError, Expected, differences, parse
from halo_site.lib.access_level import Access


def test_a_case_needs_a_name_and_a_prompt_and_is_sandboxed_unless_it_says_otherwise():
    (case,) = parse("cases: [{name: greets, prompt: /hello}]")
    assert (case.name, case.level, case.model) == ("greets", Access.WORKSPACE, ())


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("cases: [", "it is not YAML (line 1)"),
        ("", "the file: "),
        ("cases: []", "cases: "),
        ("cases: [{name: x}]", "cases.0.prompt: "),
        ("cases: [{name: x, prompt: y, promt: z}]", "cases.0.promt: "),
        ("cases: [{name: x, prompt: y, level: root}]", "cases.0.level: "),
        ("cases: [{name: x, prompt: y, files: {../out: z}}]", "a path below the folder"),
        ("cases: [{name: x, prompt: y, files: {/etc/out: z}}]", "a path below the folder"),
        ("cases: [{name: x, prompt: y, expect: {files: {a/../../b: z}}}]", "a path below the folder"),
        ("cases: [{name: x, prompt: y, expect: {refused: never}}]", "cases.0.expect.refused: "),
    ],
)
def test_a_mistake_is_named_with_its_place(text: str, said: str):
    with pytest.raises(CasesError) as caught:
        parse(text)
    assert said in str(caught.value)


@given(st.text(max_size=200))
def test_any_text_is_read_without_an_error_of_ours(text: str):
    with suppress(CasesError):
        parse(text)


def found(expected: Expected, **got: object) -> list[str]:
    values = {"refused": "", "told": [], "failures": [], "files": {}} | got
    return differences(expected, **values)


def test_each_difference_is_a_line():
    expected = Expected(told=("one", "two"), not_told=("secret",), files={"a": "x", "b": "y", "c": None})
    assert found(expected, told=["one", "a secret"], files={"a": "holds x", "b": "z", "c": ""}) == [
        "the model was not told: two",
        "the model was told: secret",
        "b does not hold: y",
        "c is there",
    ]
    assert found(Expected(files={"a": "x"}), files={"a": None}) == ["a is not there"]


def test_a_call_fails_when_the_case_expects_it_and_only_then():
    failure = "shell_exec: exit code 2\nno such tag"
    assert found(Expected(), failures=[failure]) == ["a call failed: shell_exec: exit code 2 no such tag"]
    assert found(Expected(fails=("no such tag",)), failures=[failure]) == []
    assert found(Expected(fails=("no such tag",))) == ["no call failed with: no such tag"]


def test_a_refusal_is_compared_and_nothing_else_then():
    assert found(Expected(refused="access_required", told=("x",)), refused="access_required") == []
    assert found(Expected(refused="access_required")) == ["expected access_required, was not refused"]
    assert found(Expected(told=("x",)), refused="not_offered") == ["expected no refusal, was not_offered"]
