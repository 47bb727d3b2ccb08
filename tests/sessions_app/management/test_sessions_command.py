"""`manage.py sessions`: reading conversations in a terminal (issue 4.8)."""

import io
import json
from collections.abc import Callable
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from hypothesis import given
from hypothesis import strategies as st

from sessions_app import actions
from sessions_app.management.commands import sessions as command
from sessions_app.models import Entry, Session
from sessions_app.terminal import safe
from workspaces_app.models import Workspace

from ..search.test_search import LONG_AGO, made, said, turn_of

pytestmark = pytest.mark.django_db


def run(*words: str) -> str:
    out = io.StringIO()
    call_command("sessions", *words, stdout=out)
    return out.getvalue()


def test_list_shows_newest_first_with_children_and_without_archived_ones(workspace: Workspace) -> None:
    root = made(workspace, "one", title="The first")
    made(workspace, "one>c", parent=root, root=root, stopped_at=LONG_AGO)
    old = made(workspace, "old")
    actions.archive(old.pk)
    lines = run("list").splitlines()
    assert {line.split()[0] for line in lines} == {"one", "one>c"}
    assert any("The first" in line and "idle" in line for line in lines)
    assert "old" in run("list", "--archived", "-w", workspace.path)
    assert len(run("list", "-n", "1").splitlines()) == 1


def test_show_prints_messages_and_calls_with_their_output(workspace: Workspace) -> None:
    session = made(workspace)
    turn = turn_of(session)
    said(session, "run the tests", turn)
    call = {"type": "tool_use", "id": "u1", "name": "shell_exec", "input": {"command": "pytest"}}
    said(session, "", turn, kind="assistant", blocks=[call, {"type": "text", "text": "Done."}])
    said(session, "1\n" * 12 + "13", turn, kind="tool_result", meta={"tool_use_id": "u1"})
    text = run("show", "s1")
    assert "run the tests" in text
    assert "> shell_exec" in text
    assert "… 3 more lines" in text
    assert "Done." in text


def test_show_raw_prints_what_the_model_gets(workspace: Workspace) -> None:
    said(made(workspace), "hello")
    assert json.loads(run("show", "s1", "--raw")) == [{"role": "user", "content": [{"type": "text", "text": "hello"}]}]


def test_json_gives_one_object_per_line(workspace: Workspace) -> None:
    entry = said(made(workspace), "hello")
    for words in (("show", "s1"), ("tail", "s1"), ("search", "hello")):
        (row,) = map(json.loads, run(*words, "--json").splitlines())
        assert row["entryId"] == entry.pk


def test_search_finds_a_message_in_every_workspace_or_one(workspace: Workspace, tmp_path: Any) -> None:
    other = Workspace.objects.create(path=str(tmp_path), name="other")
    said(made(workspace), "我们搜索")
    said(made(other, "s2"), "我们搜索")
    assert [line.split()[0] for line in run("search", "搜索").splitlines()[::2]] == ["s2", "s1"]
    assert run("search", "搜索", "-w", workspace.path).startswith("s1")


def test_tail_shows_the_newest_and_follows_a_run_to_its_end(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = made(workspace, lease_owner="a process", activity="turn")
    turn = turn_of(session)
    first, second = said(session, "one", turn), said(session, "two", turn)
    steps: list[Callable[[], object]] = [
        lambda: said(session, "half", turn, kind="assistant", blocks=[{"type": "text", "text": "half"}]),
        lambda: Entry.objects.filter(kind="assistant").update(blocks=[{"type": "text", "text": "whole answer"}]),
        lambda: Session.objects.filter(pk=session.pk).update(lease_owner=None),
    ]
    monkeypatch.setattr(command.time, "sleep", lambda seconds: steps.pop(0)())
    text = run("tail", "s1", "-n", "1", "-f")
    assert f"entry {first.pk}" not in text
    assert f"entry {second.pk}" in text
    assert text.count("whole answer") == 1
    assert "half" not in text


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("show", "nobody"), "There is no session nobody"),
        (("list", "-w", "/nowhere"), "/nowhere is not a workspace"),
        (("list", "-n", "0"), "-n must be from 1 to 500"),
    ],
)
def test_what_is_not_there_is_named(workspace: Workspace, words: tuple[str, ...], reason: str) -> None:
    with pytest.raises(CommandError, match=reason):
        run(*words)


def test_one_id_in_two_workspaces_needs_the_folder(workspace: Workspace, tmp_path: Any) -> None:
    other = Workspace.objects.create(path=str(tmp_path), name="other")
    made(workspace)
    said(made(other), "theirs")
    with pytest.raises(CommandError, match="Several workspaces"):
        run("show", "s1")
    assert "theirs" in run("show", "s1", "-w", other.path)


def test_a_message_cannot_steer_the_terminal(workspace: Workspace) -> None:
    session = made(workspace, title="\x1b]0;owned\x07")
    said(session, "\x1b[2Jgone\u202e")
    for words in (("list",), ("show", "s1"), ("search", "gone")):
        assert not set("\x1b\x07\u202e") & set(run(*words))


@given(st.text())
def test_only_line_breaks_and_tabs_stay_of_control_characters(text: str) -> None:
    assert all(char.isprintable() or char in "\n\t" or ord(char) > 159 for char in safe(text))


def test_times_are_those_of_the_rows(workspace: Workspace) -> None:
    said(made(workspace), "hello")
    assert LONG_AGO.strftime("%Y-%m-%d %H:%M:%S") in run("tail", "s1")
