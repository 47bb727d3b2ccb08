"""A session as a Markdown document (spec spa 7)."""

from datetime import UTC, datetime
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from halo_site.auth import COOKIE, new_login, token_of
from halo_site.lib.access_level import Access
from sessions_app.markdown import Head, Lang, document, file_name
from sessions_app.models import Entry, Session, Turn
from sessions_app.windows import SEGMENT
from workspaces_app.models import Membership, Workspace

AT = datetime(2026, 1, 2, 14, 31, tzinfo=UTC)
HEAD = Head("s1", "Export\ntimeout", "Default", AT)


def shown(*rows: dict[str, Any], lang: Lang = "en") -> str:
    """The document without its head; each row at 14:31."""
    text = "".join(document(HEAD, [{"timestamp": int(AT.timestamp() * 1000), **row} for row in rows], lang))
    return text.split("\n", 3)[3].strip("\n")


def person(text: str, **more: Any) -> dict[str, Any]:
    return {"type": "user", "agentName": "user", "content": text, **more}


def agent(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"type": "assistant", "agentName": "Default", "contentBlocks": list(blocks)}


def said(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def call(name: str, output: str = "done", **asked: Any) -> dict[str, Any]:
    return {"type": "tool_call", "toolCall": {"name": name, "input": asked, "output": output}}


def test_the_head_names_title_agent_session_and_beginning() -> None:
    assert list(document(HEAD, [], "en")) == [
        "# Export timeout\n\nSession `s1` of Default, begun 2026-01-02 14:31 UTC\n"
    ]


def test_a_question_is_quoted_and_its_answer_stays_markdown() -> None:
    text = shown(person("Why?\n\n## No heading\n```\nopen"), agent(said("Because:\n\n- *one*")))
    assert text == (
        "## User, 2026-01-02 14:31 UTC\n\n> Why?\n>\n> ## No heading\n> ```\n> open\n\n"
        "## Default, 2026-01-02 14:31 UTC\n\nBecause:\n\n- *one*"
    )


def test_calls_of_tools_are_lines_of_a_list_without_their_output() -> None:
    text = shown(
        agent(said("Look"), call("file_read", path="a`b"), call("shell_exec", "__TOOL_ERROR__\nno", command="x"))
    )
    assert text.endswith('Look\n\n- `file_read` ``{"path":"a`b"}``\n- `shell_exec` `{"command":"x"}` (failed)')
    assert len(shown(agent(call("file_write", content="x" * 5000)))) < 300


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("```py\nx = 1", "x = 1\n```"),
        ("~~~~\n```\n~~~", "~~~\n~~~~"),
        ("````\n```", "```\n````"),
        ("```\nx\n```", "x\n```"),
        ("``` no `fence`", "``` no `fence`"),
    ],
)
def test_an_open_fence_of_a_cut_answer_is_closed(text: str, end: str) -> None:
    assert shown(agent(said(text))).endswith(end)
    assert shown(agent(said(text)), person("next")).endswith("> next")
    assert shown(agent(said(text))).count("\n") <= text.count("\n") + 3


def test_thinking_figures_summaries_and_deleted_messages_are_left_out() -> None:
    rows = [
        agent({"type": "thinking", "text": "hm"}),
        {"type": "usage", "agentName": "Default", "content": ""},
        {"type": "user", "role": "user", "content": "[Conversation Summary — 9 messages compacted]\nShort."},
        person("Take this back", deleted=True),
    ]
    assert shown(*rows) == ""


def test_other_senders_pictures_and_notices_are_named_in_the_language_asked_for() -> None:
    rows = [
        person("Done.", origin={"kind": "report", "name": "researcher"}),
        person("Go on.", origin={"kind": "nudge"}),
        person("See", images=[{"path": "shots/a.png"}]),
        {"type": "notification", "level": "error", "content": "No\nkey"},
    ]
    english, chinese = shown(*rows), shown(*rows, lang="zh")
    assert "## Report: researcher, " in english
    assert "## Halo, " in english
    assert "> See\n> Image `shots/a.png`" in english
    assert english.endswith("— Error: No key")
    assert "## 报告: researcher, " in chinese
    assert chinese.endswith("— 错误: No key")


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("Plan", "Plan.md"),
        ("a/b: c?", "a_b_ c_.md"),
        ("../..", "_.md"),
        ("导出 超时", "导出 超时.md"),
        (" . ", "session.md"),
        ("x" * 300, "x" * 80 + ".md"),
    ],
)
def test_the_file_is_called_by_the_title(title: str, name: str) -> None:
    assert file_name(title) == name


def browser(user: User) -> Client:
    client = Client()
    client.cookies[COOKIE] = token_of(new_login(user))
    return client


def long_session(workspace: Workspace, entries: int) -> Session:
    session = Session.objects.create(
        sid="s1",
        workspace=workspace,
        agent_id="default",
        agent_name="Default",
        title="Long",
        created_at=AT,
        updated_at=AT,
    )
    turn = Turn.objects.create(session=session, index=1, status="done", started_at=AT, ended_at=AT)
    Entry.objects.bulk_create(
        Entry(session=session, turn=turn, kind="user", text=f"message {place}", created_at=AT)
        for place in range(entries)
    )
    return session


def test_the_route_sends_the_whole_session_as_a_file(workspace: Workspace, owner: User) -> None:
    long_session(workspace, 2 * SEGMENT + 7)
    answer = browser(owner).get("/api/sessions/logs/s1/export", {"projectId": workspace.path})
    assert answer.status_code == 200
    assert answer["Content-Type"] == "text/markdown; charset=utf-8"
    assert 'attachment; filename="Long.md"' in answer["Content-Disposition"]
    quoted = [line for line in answer.content.decode().splitlines() if line.startswith("> ")]
    assert quoted == [f"> message {place}" for place in range(2 * SEGMENT + 7)]


def test_who_may_read_the_session_may_export_it_and_nobody_else(workspace: Workspace, owner: User) -> None:
    long_session(workspace, 1)
    reader, stranger = User.objects.create_user("reader"), User.objects.create_user("stranger")
    Membership.objects.create(workspace=workspace, user=reader, level=Access.READONLY.value)
    ask = {"projectId": workspace.path}
    assert browser(reader).get("/api/sessions/logs/s1/export", ask).status_code == 200
    assert browser(stranger).get("/api/sessions/logs/s1/export", ask).status_code == 404
    assert browser(stranger).get("/api/sessions/logs/s1/export").status_code == 404
