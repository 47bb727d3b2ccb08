"""A file system that is really full, or read-only, below home and workspace (SECURITY-BAR T3)."""

import asyncio
import io
import json
import os
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.error import HTTPError

import pytest

from tests.crash.world import World, post_json
from tests.server import PASSWORD, START, RunningServer, get_json, prepared_home

pytestmark = [
    pytest.mark.server,
    pytest.mark.skipif(bool(os.environ.get("DATABASE_URL")), reason="fills the disk of SQLite"),
]


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 16 MiB of its own."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16m", "halo-test", place], capture_output=True)
    if mounted.returncode:
        pytest.skip(f"needs the right to mount a tmpfs (root): {mounted.stderr.decode(errors='replace').strip()}")
    yield place
    subprocess.run(["umount", "--lazy", place], check=True)


def fill(disk: Path) -> Path:
    """Leave not one byte; the file to remove for space again."""
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file:
        for size in (1 << 16, 1 << 12, 1):
            with pytest.raises(OSError, match="No space left"):
                write_for_ever(file, bytes(size))
    return filler


def write_for_ever(file: io.RawIOBase, block: bytes) -> None:
    while True:
        file.write(block)


def empty_the_journal(world: World) -> None:
    """Space that SQLite has already taken would hide the full disk for a while."""
    with closing(sqlite3.connect(world.home / "secrets" / "halo.sqlite3", timeout=20)) as db:
        for _ in range(50):
            busy, *_ = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            if not busy:
                return
    raise AssertionError("the journal could not be emptied")


def status_of(url: str, value: object, cookie: str = "") -> tuple[int, str]:
    try:
        post_json(url, value, cookie)
    except HTTPError as error:
        return error.code, error.read().decode()
    return 200, ""


async def test_T3_a_full_disk_refuses_a_message_and_everything_works_again_once_there_is_space(disk):
    async with World(disk) as world:
        await world.start()
        client, server = world.client, world.server
        assert client
        assert server
        world.say("before")
        await world.settled()
        empty_the_journal(world)
        filler = fill(disk)

        refused = client.chat(world.sid, str(world.workspace), "into the void")
        await client.until(lambda: refused in client.failed)
        assert not client.is_acked(refused)
        error = client.errors[-1]
        assert (error["code"], error["clientMsgId"]) == ("storage_full", refused)
        assert "full" in error["error"]
        # the same connection still answers, and so does every read
        client.send({"type": "subscribe", "sessionId": world.sid, "projectId": str(world.workspace)})
        before = client.view(world.sid).snapshots
        await client.until(lambda: client.view(world.sid).snapshots > before)
        assert client.connections == 1
        assert (await asyncio.to_thread(get_json, server.base + "/api/health"))["status"] == "ok"
        code, text = await asyncio.to_thread(status_of, server.base + "/api/auth/login", {"password": PASSWORD})
        assert code == 507
        assert "error" in json.loads(text)

        filler.unlink()
        world.say("after")
        await world.settled()
        assert "into the void" not in {row["text"] for row in world.rows("entry")}
        assert server.popen.poll() is None
        world.judge()


async def test_T3_a_reply_that_streams_while_the_disk_fills_up_can_be_stopped(disk):
    async with World(disk) as world:
        await world.start()
        client, server = world.client, world.server
        assert client
        assert server
        talk = world.say("talk", "tokens=100000 delay=20")
        await world.acked(talk)
        await world.shown(100)
        await asyncio.to_thread(empty_the_journal, world)
        filler = fill(disk)
        await asyncio.to_thread(server.out.wait_for, "could not save progress")

        client.send({"type": "chat:stop", "sessionId": world.sid, "projectId": str(world.workspace)})
        await client.until(lambda: client.received("chat:stopped"))
        await world.models.wait_for(1, done=True, seconds=30)
        filler.unlink()
        await world.settled()
        world.say("after")
        await world.settled()
        assert client.connections == 1
        assert server.popen.poll() is None
        # What could not be written while the disk was full was written later: as a stop, not as a crash.
        assert [row["status"] for row in world.rows("turn")] == ["aborted", "done"]
        assert "Server restarted" not in " ".join(row["text"] for row in world.rows("entry"))
        world.judge()


async def test_T3_a_home_that_cannot_be_written_ends_the_start_with_a_sentence(disk):
    home = await asyncio.to_thread(prepared_home, disk / "home")
    subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
    with RunningServer(home, wait=False) as server:
        assert server.wait(START) == 1
    assert str(home) in server.out.text
    assert "cannot be used: Read-only file system. Make it writable or set HALO_HOME." in server.out.text
    assert "Traceback" not in server.out.text


async def test_T3_a_disk_that_is_full_at_the_start_ends_it_with_a_sentence(disk):
    home = await asyncio.to_thread(prepared_home, disk / "home")
    filler = fill(disk)
    with RunningServer(home, wait=False) as server:
        assert server.wait(START) == 1
    assert "cannot be used: No space left on device. Free some space, then start again." in server.out.text
    assert "Traceback" not in server.out.text
    filler.unlink()
    with RunningServer(home) as server:
        assert server.terminate() == 0
