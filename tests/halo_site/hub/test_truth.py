"""Frames are hints, rows are the truth: what a viewer missed is found and mended (ARCHITECTURE 6, C50)."""

import asyncio
import json
import threading
from typing import Any

import pytest
from asgiref.sync import sync_to_async

from halo_site.auth import authenticate_scope
from halo_site.hub.service import HubService
from halo_site.lib.packet import Packet
from halo_site.lib.publish import session_topic
from sessions_app.engine.engine import Engine
from sessions_app.models import Entry, Session, Turn
from tests.socket_client import SocketClient

from .conftest import World

in_db = sync_to_async


def stream(seq: int, text: str, prev: int | None = None, sid: str = "s", task: str | None = None) -> Packet:
    frame: dict[str, Any] = {"type": "chat:stream", "sessionId": sid, "text": text, "turnId": "c1", "seq": seq}
    return Packet("chat:stream", json.dumps(frame | ({"taskId": task} if task else {})).encode(), sid, task, seq, prev)


def complete(seq: int) -> Packet:
    return Packet(
        "chat:complete", json.dumps({"type": "chat:complete", "sessionId": "s", "seq": seq}).encode(), "s", seq=seq
    )


def send(world: World, session: Session, *packets: Packet) -> None:
    for packet in packets:
        world.server.call(world.server.hub.deliver, session_topic(session.root_key), packet)


async def compare(world: World) -> None:
    service = HubService(world.server.hub, authenticate_scope)
    await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(service.compare(), world.server.loop))


async def opened(world: World, tab: SocketClient, sid: str = "s") -> None:
    tab.open(sid, world.path)
    await tab.until(lambda: tab.view(sid).loaded)


async def saved(world: World, session: Session, text: str, seq: int, *, running: bool) -> Turn:
    """The run of another process saves what it has shown so far."""

    def unit() -> Turn:
        turn = Turn.objects.filter(session=session).first() or world.turn(session, "running")
        Entry.objects.filter(session=session, kind="assistant").delete()
        world.entry(session, "assistant", text, turn=turn, meta={"turn_id": "c1"})
        Turn.objects.filter(pk=turn.pk).update(status="running" if running else "done")
        lease = {"lease_owner": "x", "lease_until": "2999-01-01T00:00Z"} if running else {"lease_owner": None}
        Session.objects.filter(pk=session.pk).update(seq=seq, **lease)
        return turn

    return await in_db(unit)()


async def test_a_gap_is_mended_with_resync_and_a_snapshot(world: World) -> None:
    session = await in_db(world.session)("s")
    async with world.tab() as tab:
        await opened(world, tab)
        send(world, session, stream(101, "Hel", prev=0))
        await tab.until(lambda: tab.view("s").text() == "Hel")
        await saved(world, session, "Hello w", 103, running=True)
        send(world, session, stream(103, " w"))  # 102 was lost
        await tab.until(lambda: tab.view("s").resyncs == ["gap"] and tab.view("s").text() == "Hello w")
        send(world, session, stream(103, " w"), stream(104, "orld"))
        await tab.until(lambda: tab.view("s").text() == "Hello world")


async def test_8_a_lost_last_frame_is_noticed_by_the_comparison_with_the_rows(world: World) -> None:
    session = await in_db(world.session)("s")
    async with world.tab() as tab:
        await opened(world, tab)
        send(world, session, stream(101, "Hello", prev=0))
        await tab.until(lambda: tab.view("s").running)
        await saved(world, session, "Hello", 102, running=False)  # and `complete`, 102, is lost
        await compare(world)
        await tab.until(lambda: not tab.view("s").running)
        assert tab.view("s").text() == "Hello"
        assert tab.view("s").resyncs == ["gap"]
        await compare(world)
        assert tab.view("s").snapshots == 2  # mended once


async def test_a_frame_that_is_only_late_causes_no_resync(world: World) -> None:
    session = await in_db(world.session)("s")
    async with world.tab() as tab:
        await opened(world, tab)
        send(world, session, stream(101, "Hello", prev=0))
        await saved(world, session, "Hello", 102, running=False)
        comparing = asyncio.create_task(compare(world))
        await asyncio.sleep(0.1)
        send(world, session, complete(102))
        await comparing
        await tab.until(lambda: tab.view("s").completes)
        assert tab.view("s").snapshots == 1


async def test_frames_that_come_slower_than_the_comparison_waits_cause_no_resync(world: World) -> None:
    session = await in_db(world.session)("s")
    async with world.tab() as tab:
        await opened(world, tab)
        send(world, session, stream(101, "Hello", prev=0))
        await saved(world, session, "Hello world", 103, running=False)
        comparing = asyncio.create_task(compare(world))
        await asyncio.sleep(0.1)
        send(world, session, stream(102, " world"))
        await comparing
        send(world, session, complete(103))
        await tab.until(lambda: tab.view("s").completes)
        assert tab.view("s").snapshots == 1


async def test_39_what_a_dead_run_showed_but_never_saved_goes_away_after_recovery(world: World) -> None:
    session = await in_db(world.session)("s")
    async with world.tab() as tab:
        await opened(world, tab)
        await saved(world, session, "Hello", 101, running=True)
        send(world, session, stream(101, "Hello", prev=0), stream(102, " never saved"))
        await tab.until(lambda: tab.view("s").text() == "Hello never saved")
        await compare(world)
        assert tab.view("s").snapshots == 1  # the run may still save
        await saved(world, session, "Hello", 101, running=False)  # recovery
        await compare(world)
        await tab.until(lambda: tab.view("s").text() == "Hello")
        assert tab.view("s").resyncs == ["recovered"]


async def test_a_message_and_a_queue_nobody_told_of_are_found(world: World) -> None:
    session = await in_db(world.session)("s")
    async with world.tab() as tab:
        await opened(world, tab)
        entry = await in_db(world.entry)(session, "user", "from elsewhere")
        await compare(world)
        await tab.until(lambda: tab.view("s").queue == [entry.pk])
        await in_db(Entry.objects.filter(pk=entry.pk).update)(text="edited elsewhere")
        await compare(world)
        await tab.until(lambda: tab.view("s").queued_text[entry.pk] == "edited elsewhere")


async def test_a_deletion_nobody_told_of_is_found(world: World) -> None:
    session = await in_db(world.session)("s")
    async with world.tab() as tab:
        await opened(world, tab)
        await in_db(session.delete)()
        await compare(world)
        await tab.until(lambda: tab.view("s").deleted)


async def test_a_snapshot_waits_for_the_save_that_covers_what_was_already_sent(world: World) -> None:
    session = await in_db(world.session)("s")
    await saved(world, session, "Hel", 101, running=True)
    async with world.tab() as tab:
        tab.open("s", world.path)
        await tab.until(lambda: tab.connections)
        await asyncio.sleep(0)
        while not world.server.hub.subscriptions():
            await asyncio.sleep(0.005)
        send(world, session, stream(104, "!"))  # 102 and 103 went out before it joined
        await asyncio.sleep(0.2)
        await saved(world, session, "Hello", 103, running=True)
        await tab.until(lambda: tab.view("s").text() == "Hello!")
        assert tab.view("s").snapshots <= 2


async def test_17_a_sub_agents_frames_reach_the_roots_viewers_with_its_id_and_once(world: World) -> None:
    root = await in_db(world.session)("s")
    child = await in_db(world.session)("s>a", parent=root, root=root)
    async with world.tab() as tab, world.tab() as panel:
        await opened(world, tab)
        await opened(world, panel, "s>a")
        packets = [stream(101, "a", prev=0, task="s>a"), stream(102, "b", task="s>a")]
        send(world, child, packets[0], packets[0], packets[1], stream(201, "root", prev=0))
        await panel.until(lambda: panel.view("s>a").text() == "ab")
        await tab.until(lambda: tab.view("s").text() == "root")
        assert tab.view("s>a").text() == "ab"
        assert not panel.received("chat:stream", text="root")


async def test_6_cut_again_and_again_in_the_middle_and_still_like_one_that_stayed(world: World, engine: Engine) -> None:
    async with world.tab() as stays, world.tab() as cut:
        for number in range(3):
            sid = f"s{number}"
            stays.chat(sid, world.path, "What is in this folder?")
            await stays.until(lambda sid=sid: stays.view(sid).rows)
            cut.open(sid, world.path)
            for _ in range(3):
                await asyncio.sleep(0.03)
                cut.cut()
            await stays.until(lambda sid=sid: stays.view(sid).answered)
            await cut.until(lambda sid=sid: cut.view(sid).answered)
            assert cut.view(sid).state() == stays.view(sid).state()


async def test_7_whoever_comes_back_after_the_end_finds_the_reply_without_a_replay(
    world: World, engine: Engine
) -> None:
    async with world.tab() as stays, world.tab() as away:
        await in_db(world.session)("s")
        await opened(world, away)
        away.offline = True
        away.cut()
        stays.chat("s", world.path, "hello")
        await stays.until(lambda: stays.view("s").answered)
        away.offline = False
        await away.until(lambda: away.view("s").answered)
        assert away.view("s").state() == stays.view("s").state()
        assert not away.received("chat:followup", replay=True)


async def test_8_with_every_socket_gone_the_agent_still_finishes(world: World, engine: Engine) -> None:
    async with world.tab() as tab:
        name = tab.chat("s", world.path, "hello")
        await tab.until(lambda: tab.is_acked(name))
    async with asyncio.timeout(60):
        while not await in_db(Entry.objects.filter(kind="assistant", turn__status="done").exists)():
            await asyncio.sleep(0.02)


async def test_T13_a_message_written_offline_arrives_once(world: World, engine: Engine) -> None:
    async with world.tab() as tab:
        await tab.until(lambda: tab.connections)
        tab.offline = True
        tab.cut()
        name = tab.chat("s", world.path, "written on a train")
        assert not tab.is_acked(name)
        tab.offline = False
        await tab.until(lambda: tab.view("s").answered)
        assert await in_db(Entry.objects.filter(kind="user").count)() == 1


async def test_X6_a_login_that_ended_while_sending_is_401_and_the_text_is_kept(world: World, engine: Engine) -> None:
    async with world.tab("halo_token=expired") as tab:
        name = tab.chat("s", world.path, "do not lose me")
        await tab.until(lambda: tab.link == "logged out")
        assert name in tab.pending
        kept = tab.pending[name].frame
    async with world.tab() as tab:  # after the login
        tab.chat("s", world.path, kept["message"], clientMsgId=kept["clientMsgId"])
        await tab.until(lambda: tab.view("s").answered)
    assert await in_db(Entry.objects.filter(kind="user").count)() == 1


async def test_a_snapshot_that_was_read_before_my_message_and_comes_after_its_ack_takes_nothing_away(
    world: World, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    await in_db(world.session)("s")
    reader, was_read, go_on = world.server.hub.reader, threading.Event(), threading.Event()
    read = reader.read

    async def slow(key: int, **options: Any) -> Any:
        view = await read(key, **options)
        was_read.set()
        await asyncio.to_thread(go_on.wait, 10)
        return view

    async with world.tab() as tab:
        monkeypatch.setattr(reader, "read", slow)
        tab.open("s", world.path)
        assert await asyncio.to_thread(was_read.wait, 10)
        sent = tab.chat("s", world.path, "hello")
        await tab.until(lambda: tab.is_acked(sent))
        go_on.set()
        await tab.until(lambda: tab.view("s").answered)
        assert [row["user"] for row in tab.view("s").rows if "user" in row] == ["hello"]
