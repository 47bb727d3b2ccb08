"""The loop warning (spec sessions 6.6) and `continue_task` (8; invariant 24)."""

from pathlib import Path

from django.contrib.auth.models import User

from halo_site.lib import settings_write
from halo_site.lib.access_level import Access
from sessions_app import actions
from sessions_app.engine.loops import LoopWatch
from sessions_app.engine.turn_end import KICK
from sessions_app.models import Entry, Turn
from tests.fakes.model_server import FakeModelServer
from workspaces_app.models import Membership, Workspace

from ..conftest import Say
from .conftest import Viewer
from .test_engine import InDb, agent, family, one_family, vendor

__all__ = ["agent", "family", "one_family", "vendor"]  # fixtures

RESUME = {"name": "continue_task", "arguments": {}}


def test_the_third_call_of_a_kind_is_warned_of_once():
    watch = LoopWatch()
    assert [watch.count("grep", {"pattern": "a", "path": "."}) for _ in range(5)] == [0, 0, 3, 0, 0]
    assert [watch.count("grep", {"path": ".", "pattern": "b"}) for _ in range(3)] == [0, 0, 3]
    assert LoopWatch().count("grep", {}) == 0


def test_the_limit_is_reached_with_the_call_that_would_be_it():
    watch = LoopWatch()
    stuck = []
    for _ in range(4):
        stuck.append(watch.is_stuck("grep", {"pattern": "a"}, 3))
        watch.count("grep", {"pattern": "a"})
    assert stuck == [False, False, True, True]
    assert not watch.is_stuck("grep", {"pattern": "a"}, 0)
    assert not watch.is_stuck("grep", {"pattern": "b"}, 3)
    assert not any(watch.is_stuck("session_list", {}, 1) for _ in range(3))


def test_calls_long_ago_do_not_count_and_looking_after_others_is_no_circle():
    watch = LoopWatch()
    for number in range(20):
        assert watch.count("file_read", {"path": "a"} if number in (0, 1, 16) else {"path": number}) == 0
    assert [watch.count("session_list", {}) for _ in range(9)] == [0] * 9


async def test_person_and_model_are_told_that_the_agent_goes_in_circles(
    agent: None, vendor: FakeModelServer, viewer: Viewer, say: Say, workspace: Workspace, in_db: InDb
):
    Path(workspace.path, "a.txt").write_text("alpha")
    for _ in range(4):
        vendor.will(tool_calls=[{"name": "file_read", "arguments": {"path": "a.txt"}}])
    vendor.will(text="I give up.")
    await in_db(say, "read it")
    await viewer.completes()
    said = [frame["text"] for frame in viewer.of("chat:system")]
    assert len(said) == 1
    assert said[0].startswith("file_read was called 3 times with the same input")
    assert await in_db(lambda: Entry.objects.filter(kind="notice", meta__code="loop").count()) == 1
    warned = ["You called file_read 3 times" in str(request["body"]["messages"]) for request in vendor.requests]
    assert warned == [False, False, False, True, True]
    assert not any("You called" in frame["result"] for frame in viewer.of("agent:tool_result"))


async def test_a_run_that_goes_in_circles_is_ended_where_the_owner_wishes_so(
    agent: None, vendor: FakeModelServer, viewer: Viewer, say: Say, workspace: Workspace, in_db: InDb
):
    settings_write.write("global", None, "general.limits.repeated_calls", 4)
    Path(workspace.path, "a.txt").write_text("alpha")
    for _ in range(5):
        vendor.will(tool_calls=[{"name": "file_read", "arguments": {"path": "a.txt"}}])
    await in_db(say, "read it")
    await viewer.completes()
    assert len(vendor.requests) == 4
    assert await in_db(lambda: Turn.objects.values_list("status", "error__kind").get()) == ("error", "looping")
    assert "the same call again and again" in viewer.of("chat:system")[-1]["text"]


async def interrupted(vendor: FakeModelServer, viewer: Viewer, say: Say, in_db: InDb, *replies: dict) -> None:
    """A task with a question in between: the task's tool, the question, then `replies`."""
    vendor.will(tool_calls=[{"name": "shell_exec", "arguments": {"command": "until test -e go; do sleep 0.02; done"}}])
    for reply in replies:
        vendor.will(**reply)
    await in_db(say, "The long task")
    await viewer.until(lambda seen: seen.of("agent:tool_call"))
    await in_db(say, "A question in between")


async def test_24_the_interrupted_task_goes_on_in_the_same_run(
    agent: None, vendor: FakeModelServer, viewer: Viewer, say: Say, workspace: Workspace, in_db: InDb
):
    replies = (
        {"text": "The answer.", "tool_calls": [RESUME]},
        {"text": "I go on after this."},
        {"tool_calls": [RESUME]},
        {"text": "Task done."},
    )
    await interrupted(vendor, viewer, say, in_db, *replies)
    Path(workspace.path, "go").touch()
    await viewer.completes(3)
    assert await in_db(lambda: list(Turn.objects.order_by("index").values_list("stop_reason", flat=True))) == [
        "interjected",
        "end_turn",
        "end_turn",
    ]
    assert len(viewer.of("chat:followup")) == 2
    assert KICK in str(vendor.requests[3]["body"]["messages"])
    results = [frame["result"] for frame in viewer.of("agent:tool_result")]
    assert '"code":0' in results[-2]
    assert results[-1] == '{"code":1,"error":"nothing to resume"}'  # the resumed task resumes nothing
    assert not any(KICK in str(frame) for frame in viewer.frames)
    kick = await in_db(lambda: Entry.objects.get(text=KICK))
    assert (kick.meta["hidden"], kick.origin["kind"]) == (True, "kick")


async def test_24_an_opening_turn_has_nothing_to_resume(
    one_family: None, vendor: FakeModelServer, viewer: Viewer, say: Say, in_db: InDb
):
    vendor.will(tool_calls=[RESUME])
    vendor.will(text="Fine.")
    await in_db(say, "hi")
    await viewer.completes()
    assert viewer.of("agent:tool_result")[0]["result"] == '{"code":1,"error":"nothing to resume"}'
    assert await in_db(Turn.objects.count) == 1


async def test_24_esc_after_the_call_ends_the_run(
    one_family: None, vendor: FakeModelServer, viewer: Viewer, say: Say, workspace: Workspace, in_db: InDb
):
    await interrupted(vendor, viewer, say, in_db, {"text": "Answer.", "tool_calls": [RESUME]}, {"hang": "headers"})
    Path(workspace.path, "go").touch()
    await vendor.wait_for(3)
    key = await in_db(lambda: Turn.objects.first().session_id)
    assert await in_db(actions.interrupt, key)
    await viewer.completes(2)
    assert await in_db(lambda: Entry.objects.filter(text=KICK).count()) == 0


async def test_C5_the_resumed_task_never_runs_above_any_turn_before_it(
    one_family: None, vendor: FakeModelServer, viewer: Viewer, say: Say, workspace: Workspace, in_db: InDb
):
    other = await in_db(User.objects.create_user, "member")
    await in_db(Membership.objects.create, workspace=workspace, user=other, level="workspace")
    await in_db(say, "hello")  # the session is the owner's
    await viewer.completes()
    vendor.will(tool_calls=[{"name": "file_read", "arguments": {"path": "a.txt"}}], ttft=200)
    vendor.will(text="Answer.", tool_calls=[RESUME])
    vendor.will(text="After.")
    vendor.will(text="Done.")
    await in_db(say, "The task", user_id=other.pk, level=Access.WORKSPACE)
    await vendor.wait_for(2)
    await in_db(say, "A question")
    await viewer.completes(4)
    levels = await in_db(lambda: list(Turn.objects.order_by("index").values_list("access_level", flat=True)))
    assert levels == ["full", "workspace", "full", "workspace"]
