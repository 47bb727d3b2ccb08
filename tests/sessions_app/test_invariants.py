"""Invariants of spec sessions that no other file of this folder has: 3, 15, 22, 23, 31, 32, 34."""

import threading
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection

from agents_app.agents import load_agent
from agents_app.providers.contract import ErrorKind
from halo_site.lib.access_level import Access
from halo_site.lib.errors import HaloError
from sessions_app import actions
from sessions_app.actions import SessionDeletedError
from sessions_app.delegation import actions as delegation
from sessions_app.engine.intake import claim_and_drain, drain
from sessions_app.engine.lease import LeaseLost
from sessions_app.engine.retry import GiveUp, Retry, after_failure
from sessions_app.engine.store import begin_call, save_progress
from sessions_app.engine.turn_end import end_turn
from sessions_app.engine.values import Batch, Ending
from sessions_app.listing import NEW_SESSION, page_of
from sessions_app.models import Entry, Session, Tombstone, Turn
from sessions_app.transcripts.records import file_of
from tests.fakes.model_server import FakeModelServer
from workspaces_app.models import Membership, Workspace

from .conftest import Say
from .engine.conftest import Viewer, engine, in_db, viewer
from .engine.test_engine import vendor

__all__ = ["engine", "in_db", "vendor", "viewer"]  # fixtures


def claimed(key: int) -> Batch:
    found = claim_and_drain(key)
    assert found
    return found[1]


def over(batch: Batch) -> bool:
    return end_turn(batch.lease, batch, Ending(status="done", stop_reason="end_turn"), 1)


def start_child(parent: int, message: str = "dig  deep\nhere") -> Session:
    sid = delegation.start(
        parent,
        load_agent(None, "default"),
        message=message,
        context="",
        level=Access.FULL,
        working_dir=None,
        title="",
        max_depth=16,
    )
    return Session.objects.get(sid=sid)


@pytest.mark.django_db
def test_3_a_queue_that_is_full_for_agents_still_takes_people_and_interrupts(say: Say):
    caller = say("other", sid="other").session_key
    key = say("first").session_key
    claimed(key)
    say("a person's message does not count")

    def send(**more: bool) -> bool:
        return delegation.send(caller, key, "m", level=Access.FULL, cap=256, **more)

    assert all(send() for _ in range(256))
    with pytest.raises(delegation.QueueFull, match=r"session sid_one message queue is full \(256/256\)\."):
        send()
    assert say("I may").busy == "busy"
    assert send(interrupt=True)


@pytest.mark.django_db
def test_15_after_a_delete_nothing_comes_back_by_a_late_write_or_a_resend(say: Say):
    key = say("first", sid="gone", client_msg_id="m1").session_key
    other = say("other", sid="stays").session_key
    batch = claimed(key)
    child = start_child(key)
    child_batch = claimed(child.pk)
    assert actions.delete(key) == 2
    for late in (
        lambda: save_progress(batch.lease, batch, None, 5),
        lambda: begin_call(batch.lease, batch, "t1", 0, "p", "m", None),
        lambda: over(batch),
        lambda: over(child_batch),
    ):
        with pytest.raises(LeaseLost):
            late()
    with pytest.raises(SessionDeletedError, match="Session gone was deleted"):
        say("first", sid="gone", client_msg_id="m1")
    with pytest.raises(HaloError):
        start_child(key)
    assert list(Session.objects.values_list("pk", flat=True)) == [other]
    assert list(Entry.objects.values_list("text", flat=True)) == ["other"]
    assert set(Tombstone.objects.values_list("sid", flat=True)) == {"gone", child.sid}


@pytest.mark.django_db
def test_22_a_renamed_agent_keeps_its_folder_and_old_sessions_their_name(
    say: Say, workspace: Workspace, agent_folder: Path
):
    say("one", sid="before")
    yaml = agent_folder / "agent.yaml"
    yaml.write_text(yaml.read_text().replace("name: Default", "name: Renamed"))
    say("two", sid="after")
    names = {row["id"]: row["agentName"] for row in page_of(workspace.pk, 0).rows}
    assert names == {"before": "Default", "after": "Renamed"}
    folders = {Path(file_of(row.agent_id, row.sid)).parent for row in Session.objects.all()}
    assert folders == {Path(".halo/sessions/default")}


@pytest.mark.parametrize("kind", [ErrorKind.SERVER, ErrorKind.THROTTLE, ErrorKind.NETWORK])
def test_23_what_may_pass_is_tried_again_and_a_refused_key_is_not(kind: ErrorKind):
    given: dict[str, Any] = {"failures": 1, "max_attempts": 5, "jitter": 0.5}
    given |= {"retry_after": None, "images_dropped": False}
    assert isinstance(after_failure(kind, **given), Retry)
    assert isinstance(after_failure(ErrorKind.ACCOUNT, **given), GiveUp)


async def test_31_a_lower_level_takes_tools_away_and_keeps_the_history(
    vendor: FakeModelServer,
    agent_folder: Path,
    viewer: Viewer,
    engine: Any,
    say: Say,
    in_db: Any,
    owner: User,
    workspace: Workspace,
):
    (agent_folder / "agent.yaml").write_text(
        f"name: Default\nmodel: {{provider: openai, id: fake, endpoint: '{vendor.chat}'}}\n"
        "tools: [file_read, relay_send]\n"
    )
    await in_db(say, "remember blue")
    await viewer.completes(1)
    await in_db(Membership.objects.filter(user=owner).update, level=Access.READONLY.value)
    await in_db(say, "which colour", level=Access.READONLY)
    await viewer.completes(2)
    before, after = ({tool["function"]["name"] for tool in r["body"]["tools"]} for r in vendor.requests)
    assert "relay_send" in before
    assert "relay_send" not in after
    assert "file_read" in after
    assert "remember blue" in str(vendor.requests[1]["body"]["messages"])
    assert await in_db(list, Turn.objects.order_by("id").values_list("access_level", flat=True)) == ["full", "readonly"]


@pytest.mark.django_db
def test_32_a_title_comes_from_the_first_words_and_stays(say: Say, workspace: Workspace):
    def title(sid: str) -> str:
        return next(str(row["title"]) for row in page_of(workspace.pk, 0, parent="*").rows if row["id"] == sid)

    picture = {"type": "image", "path": "/x.png", "media_type": "image/png"}
    key = say("", sid="one", images=[picture]).session_key
    assert title("one") == NEW_SESSION
    say("[Currently viewing: a.py]\nFix the parser", sid="one")
    assert title("one") == "Fix the parser"
    say("And the lexer", sid="one")
    assert title("one") == "Fix the parser"
    actions.rename(key, "Mine")
    say("More", sid="one")
    assert title("one") == "Mine"
    assert title(start_child(key).sid) == "dig deep here"


@pytest.mark.django_db(transaction=True)
def test_34_messages_of_two_writers_at_once_run_once_each_in_the_order_of_their_ids(say: Say):
    key = say("first").session_key
    ready = threading.Barrier(3)
    faults: list[BaseException] = []

    def write(name: str) -> None:
        try:
            ready.wait()
            for number in range(10):
                say(f"{name}{number}")
        except BaseException as error:
            faults.append(error)
        finally:
            connection.close()

    writers = [threading.Thread(target=write, args=(name,)) for name in "ab"]
    for writer in writers:
        writer.start()
    ready.wait()
    while any(writer.is_alive() for writer in writers) or Entry.objects.filter(turn=None).exists():
        found = claim_and_drain(key)
        batch = found[1] if found else None
        while batch is not None and not over(batch):
            batch = drain(batch.lease)
    for writer in writers:
        writer.join()
    assert faults == []
    rows = list(Entry.objects.filter(kind="user").order_by("pk").values_list("text", "turn__index"))
    assert len(rows) == 21
    assert [text for text, _ in rows if text.startswith("a")] == [f"a{number}" for number in range(10)]
    indices = [index for _, index in rows]
    assert indices == sorted(indices)
