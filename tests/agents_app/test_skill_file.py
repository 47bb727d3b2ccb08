"""SKILL.md as people really write it (spec agents-and-prompts 2.5; CASES C65)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents_app.frontmatter import cut
from agents_app.skill_file import SkillFile, Verb, parse
from halo_site.lib.access_level import Access
from halo_site.lib.text import decode


def skill(header: str, body: str = "Body", folder: str = "audit") -> SkillFile:
    return parse(f"---\n{header}\n---\n{body}", folder)


def test_C65_a_colon_in_the_description_loses_no_other_key():
    found = skill(
        "name: audit\ndescription: Use for audits. Triggers on: review, check\nallowed-tools: Read\n"
        "requiresAccess: full\nverbs:\n  - {name: draft, desc: Draft it}\n  - {name: publish, requiresAccess: full}"
    )
    assert found.description == "Use for audits. Triggers on: review, check"
    assert found.requires is Access.FULL
    assert found.verbs == (Verb("draft", desc="Draft it"), Verb("publish", requires=Access.FULL))
    assert "line 3" in found.warnings[0]
    assert found.error == ""


def test_C65_a_header_that_cannot_be_recovered_is_broken_with_line_and_cure():
    found = skill("name: audit\ndescription: fine: text\nmetadata: a: b\nrequiresAccess: full")
    assert found.error == (
        "line 4: mapping values are not allowed in this context; put quotes around a value that holds `: ` or ` #`, "
        "and close the header with `---`"
    )
    assert (found.name, found.description) == ("audit", "fine: text"), "people still see which one it is"
    assert found.body == ""


@pytest.mark.parametrize(
    ("header", "said"),
    [
        ("requiresAccess: [full]", "line 2: requiresAccess must be one of full, workspace, readonly"),
        ("requiresAccess: full\nrequiresAccess: readonly", "line 3: the key `requiresAccess` is there twice"),
        ("verbs: {publish: {requiresAccess: full}}", "line 2: verbs must be a list"),
        ("verbs:\n  - requiresAccess: full", "line 3: a verb needs a name"),
        ("verbs:\n  - {name: x, requiresAccess: full}\n  - {name: x}", 'line 4: the verb "x" is there twice'),
        ("- a\n- b", "line 2: the header needs `key: value` lines"),
        ("\tname: x", "line 2: a tab is used as indent"),
    ],
)
def test_what_limits_rights_is_never_guessed(header, said):
    assert said in skill(header).error


@pytest.mark.parametrize(
    "key",
    ["requiresAccess", "requires-access", "requires_access", "RequiresAccess", "REQUIRES_ACCESS", '"requiresAccess"'],
)
def test_a_level_counts_however_its_key_is_spelt(key):
    assert skill(f"name: audit\ndescription: d\n{key}: full").requires is Access.FULL
    [verb] = skill(f"name: audit\ndescription: d\nverbs: [{{name: x, {key}: full}}]").verbs
    assert verb.requires is Access.FULL


def test_two_spellings_of_one_key_are_one_too_many():
    assert (
        "line 3: the key `requiresAccess` is there twice" in skill("requiresAccess: full\nrequires-access: full").error
    )


@pytest.mark.parametrize(
    "text",
    [
        "---\nname: x\ndescription: use: it\n requiresAccess: full\n---\nBody",
        "---\nname: x\ndescription: use it\n  'requiresAccess': full\n---\nBody",
        '---\nname: x\ndescription: use: it\n"requiresAccess": full\n---\nBody',
        "---\nname: x\ndescription:\n  disable-model-invocation: true\n---\nBody",
        "<!-- a licence -->\n---\nname: x\nrequiresAccess: full\n---\nBody",
        "```markdown\n---\nname: x\nuser-invocable: false\n---\nBody\n```",
        "# Title\n\n---\nname: x\nrequires_access: full\n---\nBody",
        "----\nname: x\nrequiresAccess: full\n----\nBody",
    ],
)
def test_a_limit_where_it_would_not_count_breaks_the_skill(text):
    found = parse(text, "x")
    assert "does not count here" in found.error
    assert found.body == ""


def test_merged_keys_break_the_skill():
    assert "line 2: `<<` is not read here" in skill("<<: {requiresAccess: full}").error


@pytest.mark.parametrize("description", ["d", "use: it"])
def test_a_header_that_only_a_rule_of_the_body_closes_loses_no_instructions_in_silence(description):
    found = parse(f"---\nname: x\ndescription: {description}\n\nDo this first.\n\n---\n\nThen that.", "x")
    assert found.error.endswith("close the header with `---`")


@pytest.mark.parametrize("text", ["", "\ufeff", " \r\n\n"])
def test_an_empty_file_is_no_skill(text):
    assert parse(text, "x").error == "the file is empty"


def test_another_encoding_is_told():
    text = "---\nname: x\ndescription: caf\xe9\n---\nBody"
    assert parse(decode(text.encode("utf-16")), "x").error == "it is no UTF-8 text; save the file as UTF-8"
    found = parse(decode(text.encode("latin-1")), "x")
    assert (found.error, found.body) == ("", "Body")
    assert "save the file as UTF-8" in found.warnings[0]


def test_a_name_is_one_line_of_bearable_length():
    assert skill("name: |\n  one\n  two").name == "one two"
    assert len(skill(f"name: {'n' * 5000}").name) == 100


def test_a_header_that_is_never_closed_is_broken_and_a_rule_on_top_is_not():
    assert "never closed" in parse("---\nname: x\nrequiresAccess: full\n", "x").error
    found = parse("---\n\nJust text", "x")
    assert (found.error, found.body) == ("", "---\n\nJust text")


def test_a_byte_order_mark_and_windows_line_ends_change_nothing():
    plain = "---\nname: x\ndescription: d\ncommand: /x\n---\n# T\n\ntext"
    assert parse("\ufeff" + plain.replace("\n", "\r\n"), "x") == parse(plain, "x")


def test_a_later_rule_belongs_to_the_body():
    assert skill("name: audit\ndescription: d", "one\n\n---\n\ntwo").body == "one\n\n---\n\ntwo"


def test_without_a_header_all_is_body_and_the_first_line_describes_it():
    found = parse("# Release notes\n\nDo this.", "notes")
    assert (found.name, found.description, found.command) == ("notes", "Release notes", "")
    assert found.body == "# Release notes\n\nDo this."
    assert "no header" in found.warnings[0]


def test_a_name_that_is_not_the_folders_is_shown_and_told():
    found = skill("name: Audit Pro\ndescription: d")
    assert found.name == "Audit Pro"
    assert 'called by its folder, "audit"' in found.warnings[0]


@pytest.mark.parametrize(
    ("header", "description"),
    [
        ("description: >\n  a: b\n  c", "a: b c"),
        ("description: |\n  one\n  two", "one two"),
        ("description: one: two\n  and: three", "one: two and: three"),
        ('description: "quoted: yes"', "quoted: yes"),
        ("description: [draft] writes", "[draft] writes"),
        ("description: @mention `x`", "@mention `x`"),
        ("description: no", "no"),
        ("description: 1.10", "1.10"),
    ],
)
def test_a_description_is_text_however_it_is_written(header, description):
    found = skill(f"name: audit\n{header}\nrequiresAccess: workspace")
    assert found.description == description
    assert found.requires is Access.WORKSPACE


def test_an_unknown_level_counts_as_unset_with_a_warning():
    found = skill("name: audit\ndescription: d\nrequiresAccess: owner")
    assert found.requires is None
    assert "line 4: requiresAccess: 'owner'" in found.warnings[0]


@pytest.mark.parametrize("word", ["maybe", "[x]", "''"])
def test_a_flag_that_is_neither_yes_nor_no_counts_as_the_narrower(word):
    found = skill(f"name: audit\ndescription: d\nuser-invocable: {word}\ndisableModelInvocation: {word}")
    assert (found.user_invocable, found.model_invocable) == (False, False)


@pytest.mark.parametrize(("text", "command"), [("/notes", "notes"), ("notes", "notes"), ("/a b", ""), ("//x", "")])
def test_a_command_has_an_optional_slash(text, command):
    assert skill(f"name: audit\ndescription: d\ncommand: {text}").command == command


@given(st.text(max_size=400))
def test_any_text_is_read_without_an_error_of_ours(text):
    found = parse(text, "x")
    assert isinstance(found, SkillFile)
    assert not found.error or found.body == ""


@given(st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\r\n\x85\u2028\u2029\0"), max_size=80))
def test_no_description_ever_opens_a_skill(description):
    """Whatever stands in the description, the level is read, or the skill is broken."""
    found = skill(f"name: audit\ndescription: {description}\nrequiresAccess: full")
    assert found.error or found.requires is Access.FULL


@given(st.text(max_size=200), st.text(max_size=200))
def test_cutting_loses_nothing_of_the_body(header, body):
    parts = cut(f"---\n{header}\n---\n{body}")
    plain = body.replace("\r\n", "\n").replace("\r", "\n")
    assert parts.unclosed or plain.strip("\n") in parts.body or parts.header is not None
