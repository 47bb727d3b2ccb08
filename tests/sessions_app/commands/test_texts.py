"""The words of commands: both languages, and columns that stand (spec commands, invariants 16 and 19)."""

import string

from hypothesis import given
from hypothesis import strategies as st

from agents_app.commands import BUILT_IN, Command
from sessions_app.commands.aliases import Aliases, parse
from sessions_app.commands.help import grid, overview, verbs_of, width
from sessions_app.commands.texts import CATALOGUE, language, text


def parameters(words: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(words) if name}


def test_19_both_languages_have_the_same_keys_and_parameters():
    english, chinese = CATALOGUE["en"], CATALOGUE["zh"]
    assert set(english) == set(chinese)
    assert {key: parameters(words) for key, words in english.items()} == {
        key: parameters(words) for key, words in chinese.items()
    }


def test_every_command_and_verb_has_a_text():
    for command in BUILT_IN.values():
        assert f"cmd.{command.name}" in CATALOGUE["en"]
        for verb in command.verbs:
            assert f"verb.{command.name}.{verb.name}" in CATALOGUE["en"]


def test_an_unknown_key_is_its_own_text_and_a_missing_language_english():
    assert text("en", "no.such.key") == "no.such.key"
    assert text("fr", "help.title") == "Commands:"
    assert [language(name) for name in ("zh-CN", "zh", "en-US", "", None)] == ["zh", "zh", "en", "en", "en"]


def test_16_columns_stand_with_wide_signs_and_long_heads():
    lines = grid([("/a", "短"), ("/很长的命令", "b"), ("/long <verb>", "c")])
    starts = {width(line[: len(line) - len(line.rsplit("  ", 1)[1])]) for line in lines}
    assert len(starts) == 1
    commands = [Command("b", "skill", "描述"), Command("a", "skill", "x")]
    assert [line.split()[0] for line in overview("zh", commands, full=True).splitlines()[1:]] == ["/a", "/b"]
    more = overview("en", commands, full=True, more=[("/qr [level]", "Another account")])
    assert more.splitlines()[-1] == "  /qr [level]  Another account"


def test_17_an_object_without_verbs_says_so():
    assert verbs_of("en", Command("x", "skill")) == "There is nothing you can do with /x here."


@given(st.lists(st.tuples(st.text("ab漢e\u0301 ", min_size=1), st.text("xyz", min_size=1)), min_size=1))
def test_16_every_description_begins_in_the_same_column(rows: list[tuple[str, str]]):
    lines = grid(rows)
    assert len({width(line) - width(about) for line, (_, about) in zip(lines, rows, strict=True)}) == 1


def test_aliases_are_expanded_once():
    found = parse('top: {"/a": "/b x", b: c, n: "/session new"}\nverb: {x: y, y: z, n: new}')
    assert found.expand("a", "1") == ("b", "y 1")
    assert found.expand("session", "n") == ("session", "new")
    assert found.expand("n", "") == ("session", "new")
    assert parse("top: [1]\nverb: nothing") == Aliases()
