import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halo_site.lib.env import SERVER_SECRETS
from workspaces_app.terminals import rules
from workspaces_app.terminals.ring import Modes, Ring


@pytest.mark.parametrize(
    ("value", "result"), [(None, 80), (0, 1), (-5, 1), (1, 1), (120, 120), (1000, 1000), (2**63, 1000)]
)
def test_L6_sizes_are_clamped(value, result):
    assert rules.clamped(value, 80, 1000) == result


def test_a_terminal_without_an_id_gets_one_of_the_time():
    prefix, _, digits = rules.new_id(1_700_000_000.123).partition("_")
    assert (prefix, int(digits, 36)) == ("term", 1_700_000_000_123)


def test_S9_the_environment_is_built_from_empty():
    secrets = {
        name: "canary" for name in (*SERVER_SECRETS, "AWS_SECRET_ACCESS_KEY", "OPENAI_API_KEY", "npm_config_prefix")
    }
    found = rules.environment(secrets | {"HOME": "/h", "LC_ALL": "C", "PATH": "/bin"}, {"HALO_DATABASE": "sqlite"})
    assert found == {
        "HOME": "/h",
        "LC_ALL": "C",
        "PATH": "/bin",
        "TERM": "xterm-256color",
        "COLORTERM": "truecolor",
        "HALO_DATABASE": "sqlite",
    }


def test_the_shell_of_the_account_is_taken_if_it_works():
    assert rules.shell({"SHELL": "/bin/zsh"}, lambda path: True) == "/bin/zsh"
    assert rules.shell({"SHELL": "zsh"}, lambda path: True) == "/bin/bash"
    assert rules.shell({"SHELL": "/gone"}, lambda path: path == "/bin/bash") == "/bin/bash"
    assert rules.shell({}, lambda path: False) == "/bin/sh"
    assert rules.as_login("/bin/bash") == ["/bin/bash", "-bash"]


def test_a_signal_is_told_as_shells_tell_it():
    assert (rules.exit_code(0), rules.exit_code(3), rules.exit_code(-9)) == (0, 3, 137)


def test_the_ring_keeps_the_last_bytes_and_says_what_is_lost():
    ring = Ring(50_000)
    ring.add("x" * 60_000)
    text, cut = ring.since(0)
    assert (len(text), cut) == (50_000, True)
    assert ring.since(ring.end) == ("", False)
    ring.add("new")
    assert ring.since(60_000) == ("new", False)


def test_a_cut_replay_begins_with_a_line_when_one_is_near():
    ring = Ring(10)
    ring.add("first line\nsecond\n")
    assert ring.since(0) == ("second\n", True)


@given(st.lists(st.text(max_size=30), max_size=30), st.integers(1, 60))
def test_whatever_is_added_the_ring_holds_whole_characters_of_the_end(parts, limit):
    ring, everything = Ring(limit), ""
    seen = ""
    for part in parts:
        part = part.encode("utf-8", "replace").decode()
        before = ring.end
        ring.add(part)
        everything += part
        text, cut = ring.since(before)
        seen += text if not cut else ""
        kept = ring.since(ring.end - len(ring._data))[0]
        assert everything.endswith(kept)
        assert len(kept.encode()) <= limit
        assert len(everything.encode()) - ring.end == 0
    if len(everything.encode()) <= limit:
        assert seen == everything


def test_the_modes_a_program_left_on_are_restored_and_others_reset():
    modes = Modes()
    modes.feed("\x1b[?1000h\x1b[?1006;2004h\x1b[?25l text \x1b[?1000l")
    restored = modes.restore()
    off, _, on = restored.partition("\x1b[?1006;2004h")
    assert "1000" in off
    assert on == "\x1b[?25l"
    modes.feed("\x1bc")
    assert "h" not in modes.restore().replace("25h", "")


@given(
    st.lists(st.sampled_from(["\x1b[?1000h", "\x1b[?1000l", "\x1b[?2004h", "\x1bc", "text", "\x1b[31m", "\x1b[?25l"]))
)
def test_modes_do_not_depend_on_where_the_output_is_cut(parts):
    whole, cut = Modes(), Modes()
    whole.feed("".join(parts))
    for character in "".join(parts):
        cut.feed(character)
    assert whole.restore() == cut.restore()


def test_the_real_environment_of_this_process_gives_a_usable_one():
    assert os.path.isabs(rules.environment(os.environ, {})["HOME"])
