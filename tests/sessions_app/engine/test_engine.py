"""Turns against a strict model server: every history it gets is checked as the real vendors would."""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User

from agents_app.providers import admission, http
from halo_site.lib import settings_write
from halo_site.lib.access_level import Access
from halo_site.lib.publish import signal
from sessions_app import actions
from sessions_app.delegation.actions import send
from sessions_app.engine import engine as engine_module
from sessions_app.engine import recovery, retry
from sessions_app.engine.engine import Engine
from sessions_app.engine.next_step import CUT_AT_LIMIT
from sessions_app.models import Entry, ModelCall, Session, ToolCall, Turn
from tests.fakes.model_server import FakeModelServer
from workspaces_app.models import AuditEvent, Membership, Workspace

from ..conftest import Say
from .conftest import Viewer

InDb = Callable[..., Any]
TOOLS = "[file_read, file_write, file_edit, file_list, grep, glob, shell_exec]"


@pytest.fixture
async def vendor() -> AsyncIterator[FakeModelServer]:
    async with FakeModelServer() as server:
        yield server
        await http.close_client()


@pytest.fixture(params=["openai", "anthropic"])
def family(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def agent(vendor: FakeModelServer, family: str, agent_folder: Path, engine: Engine) -> None:
    write_agent(agent_folder, vendor, family)


@pytest.fixture
def one_family(vendor: FakeModelServer, agent_folder: Path, engine: Engine) -> None:
    write_agent(agent_folder, vendor, "openai")


def write_agent(folder: Path, vendor: FakeModelServer, family: str, extra: str = "") -> None:
    endpoint = vendor.chat if family == "openai" else vendor.messages
    (folder / "agent.yaml").write_text(
        f"name: Default\nmodel: {{provider: {family}, id: fake, endpoint: '{endpoint}'{extra}}}\ntools: {TOOLS}\n"
    )


@pytest.fixture
def quick_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "MAX_WAIT", 0.01)
    monkeypatch.setattr(admission, "_LONGEST_REST", 0.01)


def running(viewer: Viewer) -> Any:
    return viewer.of("agent:tool_call")


async def turns(in_db: InDb) -> list[tuple[str, str]]:
    return await in_db(lambda: list(Turn.objects.order_by("id").values_list("status", "stop_reason")))


async def test_a_message_is_answered_and_its_figures_are_stored(
    agent: None, vendor: FakeModelServer, viewer: Viewer, say: Say, in_db: InDb
):
    vendor.will(text="Hello there", usage={"input": 12, "output": 3})
    await in_db(say, "hi")
    await viewer.completes()
    assert viewer.text() == "Hello there"
    entry = await in_db(lambda: Entry.objects.get(kind="assistant"))
    assert entry.text == "Hello there"
    assert entry.meta["final"]
    assert entry.meta["usage"]["inputTokens"] == 12
    assert "partial" not in entry.meta
    call = await in_db(ModelCall.objects.get)
    assert (call.outcome, call.input_tokens, call.output_tokens) == ("end_turn", 12, 3)
    session = await in_db(Session.objects.get)
    assert (session.context_tokens, session.output_tokens, session.lease_owner) == (15, 3, None)
    assert viewer.of("chat:usage")[0]["turnId"] == entry.meta["turn_id"]


async def test_2_a_session_is_not_running_any_more_when_complete_is_sent(
    one_family: None, viewer: Viewer, say: Say, in_db: InDb, engine: Engine
):
    seen: list[bool] = []
    publish = viewer.publish

    def spy(topic: str, event: Any) -> None:
        if event.type == "chat:complete":
            seen.append(next(iter(engine.runs.values())).released)
        publish(topic, event)

    viewer.publish = spy  # type: ignore[method-assign]
    await in_db(say, "hi")
    await viewer.completes()
    assert seen == [True]


async def test_tools_run_and_their_results_go_back(
    agent: None, vendor: FakeModelServer, viewer: Viewer, say: Say, workspace: Workspace, in_db: InDb
):
    Path(workspace.path, "a.txt").write_text("alpha")
    Path(workspace.path, "b.txt").write_text("beta")
    reads = [{"name": "file_read", "arguments": {"path": name}} for name in ("a.txt", "b.txt")]
    vendor.will(text="Looking.", tool_calls=reads)
    vendor.will(text="Done.")
    await in_db(say, "read both")
    await viewer.completes()
    calls = {frame["toolUseId"]: frame["input"]["path"] for frame in viewer.of("agent:tool_call")}
    results = {calls[frame["toolUseId"]]: frame["result"] for frame in viewer.of("agent:tool_result")}
    assert "alpha" in results["a.txt"]
    assert "beta" in results["b.txt"]
    stored = await in_db(lambda: list(Entry.objects.filter(kind="tool_result").order_by("id").values_list("text")))
    assert "alpha" in stored[0][0]  # in the order of the calls, whichever came back first
    assert viewer.text() == "Looking.Done."
    assert len(vendor.requests) == 2
    assert await in_db(lambda: list(ToolCall.objects.values_list("outcome", flat=True))) == ["ok", "ok"]


async def test_an_unknown_tool_and_bad_arguments_are_told_to_the_model(
    agent: None, vendor: FakeModelServer, viewer: Viewer, say: Say, in_db: InDb
):
    vendor.will(tool_calls=[{"name": "fly", "arguments": {}}, {"name": "file_read", "arguments": {"path": 7}}])
    vendor.will(text="Sorry.")
    await in_db(say, "go")
    await viewer.completes()
    unknown, wrong = (frame["result"] for frame in viewer.of("agent:tool_result"))
    assert "no tool named 'fly'" in unknown
    assert "path" in wrong
    assert await turns(in_db) == [("done", "end_turn")]


async def test_1_two_messages_queued_during_a_turn_become_one_merged_turn(
    agent: None, vendor: FakeModelServer, viewer: Viewer, say: Say, in_db: InDb
):
    vendor.will(tokens=40, delay=10)
    await in_db(say, "first")
    await viewer.until(Viewer.text)
    assert (await in_db(say, "second")).busy == "busy"
    await in_db(say, "third")
    await viewer.completes(2)
    assert len(vendor.requests) == 2
    assert len(viewer.of("chat:followup")) == 1
    assert await turns(in_db) == [("done", "end_turn"), ("done", "end_turn")]
    said = str(vendor.requests[1]["body"]["messages"][-1]["content"])
    assert "second" in said
    assert "third" in said
    assert viewer.of("queue:changed")[-1]["items"] == ()


async def test_1_messages_of_agents_and_of_a_person_are_merged_and_only_the_agents_are_named(
    agent: None, vendor: FakeModelServer, viewer: Viewer, say: Say, in_db: InDb
):
    other = (await in_db(say, "hello", sid="sid_other")).session_key
    await viewer.completes()
    vendor.will(tokens=40, delay=10)
    key = (await in_db(say, "first")).session_key
    before = len(viewer.frames)
    await viewer.until(lambda viewer: [frame for frame in viewer.of("chat:stream") if frame["sessionId"] == "sid_one"])
    for text in ("Report one", "Report two"):
        assert await in_db(lambda text=text: send(other, key, text, level=Access.FULL, cap=256))
    await in_db(say, "And me")
    await viewer.completes(3)
    rounds = [frame["type"] for frame in viewer.frames[before:] if frame["type"] in ("chat:complete", "chat:followup")]
    assert rounds == ["chat:complete", "chat:followup", "chat:complete"]
    assert len(vendor.requests) == 3
    content = vendor.requests[-1]["body"]["messages"][-1]["content"]
    said = content if isinstance(content, str) else "\n\n".join(block["text"] for block in content)
    prefix = "(from: session sid_other)\n"
    assert said.startswith(f"{prefix}Report one\n\n{prefix}Report two\n\n")
    assert said.endswith("\n\nAnd me")
    assert said.count(prefix) == 2
    kinds = Entry.objects.filter(session=key, kind__in=["user", "agent", "assistant"]).order_by("turn__index", "id")
    assert await in_db(lambda: list(kinds.values_list("kind", "turn__index"))) == [
        ("user", 0),
        ("assistant", 0),
        ("agent", 1),
        ("agent", 1),
        ("user", 1),
        ("assistant", 1),
    ]


async def test_4_a_soft_interrupt_lets_the_running_tool_finish(
    agent: None, vendor: FakeModelServer, viewer: Viewer, say: Say, workspace: Workspace, in_db: InDb
):
    gate = Path(workspace.path, "gate")
    wait = "until [ -e gate ]; do sleep 0.02; done; touch finished"
    vendor.will(tool_calls=[{"name": "shell_exec", "arguments": {"command": wait}},
                            {"name": "shell_exec", "arguments": {"command": "touch never"}}])  # fmt: skip
    vendor.will(text="I read your note.")
    await in_db(say, "work")
    await viewer.until(running)
    await in_db(say, "also this")
    gate.touch()
    await viewer.completes(2)
    assert Path(workspace.path, "finished").exists()
    assert not Path(workspace.path, "never").exists()
    assert await turns(in_db) == [("done", "interjected"), ("done", "end_turn")]
    assert [frame["result"] for frame in viewer.of("agent:tool_result")][1] == "[not run]"


async def test_4_a_hard_interrupt_kills_the_commands_process_group(
    agent: None, vendor: FakeModelServer, viewer: Viewer, say: Say, workspace: Workspace, in_db: InDb
):
    command = "echo started; (sleep 600 && touch x) & sleep 600 && touch x"
    vendor.will(tool_calls=[{"name": "shell_exec", "arguments": {"command": command}}])
    vendor.will(text="What now?")
    accepted = await in_db(say, "work")
    await viewer.until(lambda viewer: viewer.of("agent:tool_output"))
    await in_db(say, "stop that")
    assert await in_db(actions.interrupt, accepted.session_key)
    await viewer.completes(2)
    assert not Path(workspace.path, "x").exists()
    assert await turns(in_db) == [("aborted", "aborted"), ("done", "end_turn")]
    assert "[interrupted by user]" in viewer.of("agent:tool_result")[0]["result"]
    assert "started" in viewer.of("agent:tool_result")[0]["result"]


async def test_5_stop_keeps_what_was_said_and_folds_the_queue(
    agent: None, vendor: FakeModelServer, viewer: Viewer, say: Say, in_db: InDb
):
    vendor.will(tokens=1000, delay=10)
    key = (await in_db(say, "first")).session_key
    await viewer.until(Viewer.text)
    await in_db(say, "second")
    assert await in_db(actions.stop, key)
    await viewer.completes()
    assert await turns(in_db) == [("aborted", "aborted"), ("aborted", "folded")]
    assert len(vendor.requests) == 1
    partial = await in_db(lambda: Entry.objects.get(kind="assistant"))
    assert partial.meta["partial"]
    assert partial.text == viewer.text()
    vendor.will(text="Understood.")
    await in_db(say, "third")
    await viewer.completes(2)
    sent = str(vendor.requests[1]["body"]["messages"])
    assert "t000" in sent
    assert "second" in sent
    assert "third" in sent


async def test_a_folded_message_keeps_its_image(
    vendor: FakeModelServer, agent_folder: Path, engine: Engine, viewer: Viewer, say: Say, workspace: Workspace,
    in_db: InDb,
):  # fmt: skip
    from PIL import Image

    write_agent(agent_folder, vendor, "openai", ", image: true")
    path = Path(workspace.path, "a.png")
    Image.new("RGB", (40, 30), "red").save(path)
    vendor.will(tokens=1000, delay=10)
    key = (await in_db(say, "first")).session_key
    await viewer.until(Viewer.text)
    await in_db(say, "look", images=[{"type": "image", "path": str(path), "media_type": "image/png"}])
    await in_db(actions.stop, key)
    await viewer.completes()
    vendor.will(text="Red.")
    await in_db(say, "which colour?")
    await viewer.completes(2)
    newest = vendor.requests[1]["body"]["messages"][-1]["content"]
    assert [part["type"] for part in newest if part["type"] == "image_url"] == ["image_url"]
    assert [word in str(newest) for word in ("look", "which colour?")] == [True, True]


async def test_11_an_interrupt_inside_tool_arguments_leaves_no_call_behind(
    agent: None, vendor: FakeModelServer, viewer: Viewer, say: Say, in_db: InDb
):
    vendor.will(text="Wait", tool_calls=[{"name": "grep", "arguments": {"pattern": "x" * 500}}], hang="stream", after=2)
    vendor.will(text="Yes?")
    key = (await in_db(say, "go")).session_key
    await viewer.until(Viewer.text)
    await in_db(actions.interrupt, key)
    await viewer.completes()
    await in_db(say, "hello?")
    await viewer.completes(2)
    assert "tool_use" not in str(vendor.requests[1]["body"]["messages"])
    assert not await in_db(ToolCall.objects.exists)


async def test_6_a_busy_vendor_is_asked_again_and_each_wait_is_told(
    agent: None, quick_retries: None, vendor: FakeModelServer, viewer: Viewer, say: Say, in_db: InDb
):
    vendor.will(status=429)
    vendor.will(status=529 if vendor.messages else 503)
    vendor.will(text="At last.")
    await in_db(say, "hi")
    await viewer.completes()
    assert len(vendor.requests) == 3
    assert len(viewer.of("chat:system")) == 2
    assert viewer.text() == "At last."
    outcomes = await in_db(lambda: list(ModelCall.objects.order_by("id").values_list("outcome", flat=True)))
    assert outcomes == ["throttle", "server", "end_turn"]


async def test_C35_a_cut_stream_is_dropped_told_and_asked_again_once_per_try(
    agent: None, quick_retries: None, vendor: FakeModelServer, viewer: Viewer, say: Say, in_db: InDb
):
    vendor.will(tokens=50, close=3000)
    vendor.will(text="Whole.")
    await in_db(say, "hi")
    await viewer.completes()
    reset = viewer.of("stream_reset")[0]["turnId"]
    kept = "".join(frame["text"] for frame in viewer.of("chat:stream") if frame["turnId"] != reset)
    assert kept == "Whole."
    shown = await in_db(lambda: [e.text for e in Entry.objects.filter(kind="assistant") if not e.meta.get("reset")])
    assert shown == ["Whole."]
    assert "t000" not in str(vendor.requests[1]["body"]["messages"])


async def test_C35_no_tool_runs_from_a_cut_call(
    agent: None, quick_retries: None, vendor: FakeModelServer, viewer: Viewer, say: Say, in_db: InDb
):
    for _ in range(5):
        vendor.will(tool_calls=[{"name": "file_write", "arguments": {"path": "x", "content": "y" * 2000}}], close=900)
    await in_db(say, "hi")
    await viewer.completes()
    assert not await in_db(ToolCall.objects.exists)
    assert await turns(in_db) == [("error", "error")]


async def test_C34_an_error_inside_a_200_ends_as_an_error_with_the_vendors_words(
    one_family: None, vendor: FakeModelServer, viewer: Viewer, say: Say, in_db: InDb
):
    vendor.will(tokens=5, sse_error={"error": {"message": "quota exceeded for today", "type": "invalid_request_error"}})
    await in_db(say, "hi")
    await viewer.completes()
    assert len(vendor.requests) == 1
    assert "quota exceeded" in viewer.of("error")[0]["error"]
    entry = await in_db(lambda: Entry.objects.get(kind="assistant"))
    assert entry.meta["partial"]
    assert await turns(in_db) == [("error", "error")]


async def test_7_a_rejected_key_is_asked_once_and_says_what_to_do(
    agent: None, vendor: FakeModelServer, viewer: Viewer, say: Say, in_db: InDb
):
    vendor.will(status=401)
    await in_db(say, "hi")
    await viewer.completes()
    assert len(vendor.requests) == 1
    frame = viewer.of("error")[0]
    assert frame["code"] == "account"
    assert "Nothing was lost" in frame["error"]
    vendor.will(text="Back.")
    await in_db(say, "again")
    await viewer.completes(2)
    assert viewer.text() == "Back."


async def test_C42_an_empty_answer_is_never_an_answer(
    one_family: None, quick_retries: None, vendor: FakeModelServer, viewer: Viewer, say: Say, in_db: InDb
):
    for _ in range(6):
        vendor.will(text="", stop="length", usage={"input": 5, "output": 0})
    await in_db(say, "hi")
    await viewer.completes()
    assert (await turns(in_db))[0][0] == "error"
    assert viewer.of("error")


async def test_22_a_call_cut_at_the_output_limit_is_not_run_and_the_person_is_told(
    agent: None, family: str, vendor: FakeModelServer, viewer: Viewer, say: Say, workspace: Workspace, in_db: InDb
):
    write = {"name": "file_write", "arguments": '{"path": "x", "content": "y'}
    vendor.will(text="I write.", tool_calls=[write], stop="length" if family == "openai" else "max_tokens")
    await in_db(say, "write")
    await viewer.completes()
    assert not await in_db(ToolCall.objects.exists)
    assert not Path(workspace.path, "x").exists()
    assert await turns(in_db) == [("done", "max_tokens")]
    assert [frame["text"] for frame in viewer.of("chat:system")] == [CUT_AT_LIMIT]
    assert await in_db(lambda: Entry.objects.get(kind="notice").text) == CUT_AT_LIMIT


async def test_25_an_agent_edited_in_the_middle_of_a_run_changes_with_the_next_one(
    one_family: None, vendor: FakeModelServer, viewer: Viewer, say: Say, workspace: Workspace, agent_folder: Path,
    in_db: InDb,
):  # fmt: skip
    (agent_folder / "AGENT.md").write_text("FIRST WORDS")
    wait = {"name": "shell_exec", "arguments": {"command": "until [ -e gate ]; do sleep 0.02; done"}}
    vendor.will(tool_calls=[wait])
    await in_db(say, "work")
    await viewer.until(running)
    (agent_folder / "AGENT.md").write_text("SECOND WORDS")
    write_agent(agent_folder, vendor, "openai", ", maxTokens: 99")
    Path(workspace.path, "gate").touch()
    await viewer.completes()
    await in_db(say, "again")
    await viewer.completes(2)
    systems = [request["body"]["messages"][0]["content"] for request in vendor.requests]
    assert ["FIRST WORDS" in system for system in systems] == [True, True, False]
    assert "SECOND WORDS" in systems[2]
    limits = [request["body"]["max_tokens"] for request in vendor.requests]
    assert limits[0] == limits[1] != limits[2] == 99
    (agent_folder / "AGENT.md").unlink()


async def test_C40_a_conversation_that_does_not_fit_names_the_largest_parts(
    agent: None, vendor: FakeModelServer, viewer: Viewer, say: Say, workspace: Workspace, in_db: InDb
):
    vendor.window = 8000
    instructions = Path(workspace.path, ".halo", "INSTRUCTIONS.md")
    instructions.parent.mkdir(exist_ok=True)
    instructions.write_text("rule\n" * 9000)
    await in_db(say, "hi")
    await viewer.completes()
    assert len(vendor.requests) == 1
    assert "system prompt" in viewer.of("error")[0]["error"]
    instructions.unlink()
    vendor.will(text="Fits.")
    await in_db(say, "again")
    await viewer.completes(2)
    assert viewer.text() == "Fits."


async def test_C45_usage_replaces_within_a_call_and_adds_across_calls(
    agent: None, vendor: FakeModelServer, viewer: Viewer, say: Say, in_db: InDb
):
    for _ in range(2):
        vendor.will(text="ok", usage={"input": 27, "output": 47, "cache_read": 10_000})
    await in_db(say, "one")
    await viewer.completes()
    await in_db(say, "two")
    await viewer.completes(2)
    totals = await in_db(lambda: list(Turn.objects.values_list("input_tokens", "output_tokens", "cache_read_tokens")))
    assert totals == [(27, 47, 10_000), (27, 47, 10_000)]
    session = await in_db(Session.objects.get)
    assert session.output_tokens == 94
    assert session.context_tokens == 10_074


async def test_X3_a_model_that_never_answers_ends_the_turn_and_nothing_else(
    one_family: None,
    quick_retries: None,
    vendor: FakeModelServer,
    viewer: Viewer,
    say: Say,
    in_db: InDb,
    monkeypatch: pytest.MonkeyPatch,
):
    whole = http.Limits
    monkeypatch.setattr(http, "Limits", lambda: whole(idle=0.15))
    for _ in range(5):
        vendor.will(hang="headers")
    await in_db(say, "hi", sid="hung")
    await vendor.wait_for(1)
    await viewer.until(lambda viewer: [f for f in viewer.of("chat:complete") if f["sessionId"] == "hung"])
    assert "several tries" in viewer.of("error")[0]["error"]
    await in_db(say, "hello", sid="other")
    await in_db(say, "again", sid="hung")
    await viewer.completes(3)
    assert (await turns(in_db))[0] == ("error", "error")
    assert [status for status, _ in (await turns(in_db))[1:]] == ["done", "done"]


async def test_a_run_without_progress_is_ended_as_the_setting_says_and_the_queue_goes_on(
    one_family: None, vendor: FakeModelServer, viewer: Viewer, say: Say, in_db: InDb, engine: Engine
):
    vendor.will(tokens=5, hang="stream")
    await in_db(say, "hi")
    await viewer.until(Viewer.text)
    run = next(iter(engine.runs.values()))
    run.progress_at -= 19 * 60
    await engine._watch()
    assert run.abort is None
    settings_write.write("global", None, "general.session.stall_minutes", 18)
    await in_db(say, "next")
    await engine._watch()
    await viewer.completes(2)
    assert await turns(in_db) == [("error", "aborted"), ("done", "end_turn")]
    assert "nothing happened for too long" in viewer.of("chat:system")[-1]["text"]


@pytest.fixture
def quick_renewals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_module, "RENEW_EVERY", 0.1)


async def test_an_interrupt_whose_wake_up_was_lost_acts_with_the_next_renewal(
    quick_renewals: None, one_family: None, vendor: FakeModelServer, viewer: Viewer, say: Say, in_db: InDb
):
    vendor.will(hang="headers")
    key = (await in_db(say, "hi")).session_key
    await vendor.wait_for(1)
    asked = {"tier": "hard", "turn": 0, "upto": 0}
    await in_db(Session.objects.filter(pk=key).update, abort_requested=asked)
    await viewer.completes()
    assert await turns(in_db) == [("aborted", "aborted")]


async def test_stop_is_quick_while_a_retry_waits(
    one_family: None, vendor: FakeModelServer, viewer: Viewer, say: Say, in_db: InDb
):
    vendor.will(status=429, retry_after="600")  # it is waited for as long as a retry ever is: a minute
    key = (await in_db(say, "hi")).session_key
    await viewer.until(lambda viewer: viewer.of("chat:system"))
    await in_db(actions.stop, key)
    await viewer.until(lambda viewer: viewer.of("chat:complete"), 40)
    assert await turns(in_db) == [("aborted", "aborted")]
    assert len(vendor.requests) == 1


async def test_C43_a_refused_image_becomes_a_note_and_the_turn_goes_on(
    vendor: FakeModelServer, agent_folder: Path, engine: Engine, viewer: Viewer, say: Say, workspace: Workspace,
    in_db: InDb,
):  # fmt: skip
    from PIL import Image

    write_agent(agent_folder, vendor, "openai", ", image: true")
    path = Path(workspace.path, "a.png")
    Image.new("RGB", (1440, 8570), "red").save(path)
    vendor.will(status=400, error={"error": {"message": "Could not process image", "type": "invalid_request_error"}})
    vendor.will(text="Without it, then.")
    await in_db(say, "look", images=[{"type": "image", "path": str(path), "media_type": "image/png"}])
    await viewer.completes()
    assert "image_url" in str(vendor.requests[0]["body"])
    assert "image_url" not in str(vendor.requests[1]["body"])
    assert "image removed" in str(vendor.requests[1]["body"])
    assert viewer.text() == "Without it, then."
    assert (await in_db(lambda: Entry.objects.get(kind="user"))).blocks  # the log keeps the picture


async def test_rights_lost_during_a_run_end_it(
    one_family: None, vendor: FakeModelServer, viewer: Viewer, say: Say, owner: User, in_db: InDb
):
    vendor.will(tokens=1000, delay=10)
    await in_db(say, "hi")
    await viewer.until(Viewer.text)
    await in_db(lambda: Membership.objects.update(level="readonly"))
    signal("auth.changed", user=owner.pk)
    await viewer.completes()
    assert await turns(in_db) == [("aborted", "aborted")]
    assert "access level" in viewer.of("chat:system")[-1]["text"]


async def test_11_a_session_below_full_access_gets_no_writing_shell(
    one_family: None, vendor: FakeModelServer, viewer: Viewer, say: Say, workspace: Workspace, in_db: InDb
):
    await in_db(lambda: Membership.objects.update(level="readonly"))
    from halo_site.lib.access_level import Access

    vendor.will(tool_calls=[{"name": "shell_exec", "arguments": {"command": "touch x"}},
                            {"name": "file_write", "arguments": {"path": "y", "content": ""}}])  # fmt: skip
    vendor.will(text="I may not.")
    await in_db(say, "write", level=Access.READONLY)
    await viewer.completes()
    assert not Path(workspace.path, "x").exists()
    assert not Path(workspace.path, "y").exists()


async def test_28_a_hundred_sends_to_an_idle_session_run_one_at_a_time_and_once(
    one_family: None, vendor: FakeModelServer, viewer: Viewer, say: Say, in_db: InDb
):
    texts = [f"message-{number:03d}." for number in range(100)]
    await asyncio.gather(*(in_db(say, text) for text in texts))
    await viewer.until(lambda viewer: viewer.of("chat:complete"))

    def settled() -> bool:
        return not Session.objects.exclude(lease_owner=None).exists() and not Entry.objects.filter(turn=None).exists()

    async with asyncio.timeout(60):
        while not await in_db(settled):
            viewer.changed.clear()
            await viewer.changed.wait()
    last = str(vendor.requests[-1]["body"]["messages"])
    assert all(last.count(text) == 1 for text in texts)
    assert await in_db(lambda: Turn.objects.exclude(status="done").count()) == 0


async def test_a_shutdown_hands_the_session_back_and_the_next_engine_goes_on(
    one_family: None, vendor: FakeModelServer, viewer: Viewer, say: Say, workspace: Workspace, in_db: InDb,
    engine: Engine,
):  # fmt: skip
    command = "echo started; sleep 600; touch x"
    vendor.will(text="Working.", tool_calls=[{"name": "shell_exec", "arguments": {"command": command}}])
    vendor.will(text="Continued.")
    await in_db(say, "work")
    await viewer.until(lambda viewer: viewer.of("agent:tool_output"))
    await engine.shutdown()
    session = await in_db(Session.objects.get)
    assert (session.lease_owner, session.deaths) == (None, 0)
    assert await turns(in_db) == [("interrupted", "interrupted")]
    assert not Path(workspace.path, "x").exists()
    other = Engine("other")
    task = asyncio.create_task(other.run())
    await viewer.completes()
    await other.shutdown()
    task.cancel()
    assert viewer.text() == "Working.Continued."
    sent = str(vendor.requests[1]["body"]["messages"])
    assert "outcome unknown" in sent
    assert recovery.NUDGE in sent


async def test_deleting_a_running_session_stops_it_and_leaves_nothing(
    one_family: None, vendor: FakeModelServer, viewer: Viewer, say: Say, in_db: InDb, engine: Engine
):
    vendor.will(tokens=1000, delay=10)
    key = (await in_db(say, "hi")).session_key
    await viewer.until(Viewer.text)
    await in_db(actions.delete, key)
    await viewer.until(lambda viewer: viewer.of("session:deleted"))
    async with asyncio.timeout(60):
        while engine.runs:
            await asyncio.sleep(0)
    assert not await in_db(Session.objects.exists)
    assert not await in_db(Entry.objects.exists)


async def test_12_many_deltas_become_few_frames_and_the_same_text(
    one_family: None, vendor: FakeModelServer, viewer: Viewer, say: Say, in_db: InDb
):
    vendor.will(tokens=1000)
    await in_db(say, "hi")
    await viewer.completes()
    assert viewer.text() == "".join(f"t{number:03d} " for number in range(1000))
    assert len(viewer.of("chat:stream")) < 200


async def test_F4_a_change_of_what_steers_agents_is_in_the_trail(
    one_family: None, vendor: FakeModelServer, viewer: Viewer, say: Say, workspace: Workspace, in_db: InDb
):
    for path in ("notes.txt", ".halo/agents/new/AGENT.md"):
        vendor.will(tool_calls=[{"name": "file_write", "arguments": {"path": path, "content": "x"}}])
    vendor.will(
        tool_calls=[{"name": "shell_exec", "arguments": {"command": "echo y >> AGENTS.md; echo z > notes.txt"}}]
    )
    await in_db(say, "change them")
    await viewer.completes()
    rows = await in_db(lambda: list(AuditEvent.objects.filter(action="control.change").order_by("id")))
    root = workspace.path
    assert [row.detail["files"] for row in rows] == [[f"{root}/.halo/agents/new/AGENT.md"], [f"{root}/AGENTS.md"]]
    assert [row.detail["tool"] for row in rows] == ["file_write", "shell_exec"]
    assert {(row.target, row.actor_name, row.workspace_id) for row in rows} == {("sid_one", "owner", workspace.pk)}
