"""What is on disk before anybody is told so, seen by the kernel's own record (SECURITY-BAR T2)."""

import asyncio
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.crash.world import World
from tests.server import ROOT

pytestmark = [
    pytest.mark.server,
    pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace"),
    pytest.mark.skipif(bool(os.environ.get("DATABASE_URL")), reason="looks at the files of SQLite"),
]


async def test_T2_a_message_is_flushed_to_the_disk_before_it_is_acknowledged(tmp_path: Path):
    record = tmp_path / "calls"
    async with World(tmp_path / "world") as world:
        await world.start()
        assert world.server
        calls = "trace=fdatasync,fsync,write,sendto,pwrite64,writev,sendmsg"
        command = ["strace", "-f", "-y", "-s", "400", "-e", calls, "-o", record, "-p", str(world.server.popen.pid)]
        tracer = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        assert tracer.stderr
        await asyncio.to_thread(tracer.stderr.readline)  # "Process ... attached"
        mid = world.say("keep this one")
        await world.acked(mid)
        await world.settled()
        tracer.send_signal(signal.SIGINT)
        await asyncio.to_thread(tracer.wait, 20)
    lines = record.read_text(errors="replace").splitlines()
    ack = next(at for at, line in enumerate(lines) if "chat:ack" in line and "socket:" in line)
    flushes = [at for at, line in enumerate(lines) if re.search(r"f(data)?sync\(.*halo\.sqlite3-wal", line)]
    writes = [at for at, line in enumerate(lines) if re.search(r"write64\(.*halo\.sqlite3-wal", line)]
    assert any(write < flush < ack for flush in flushes for write in writes)


def test_T2_a_saved_file_is_flushed_then_named_then_its_folder_is_flushed(tmp_path: Path):
    record = tmp_path / "calls"
    saved = f"Path({str(tmp_path / 'saved')!r})"
    code = f"from pathlib import Path; from halo_site.lib.atomic_file import write_atomic; write_atomic({saved}, b'x')"
    command = ["strace", "-f", "-y", "-e", "trace=fsync,fdatasync,rename,renameat,renameat2", "-o", record]
    subprocess.run([*command, sys.executable, "-c", code], cwd=ROOT, check=True)
    calls = [line for line in record.read_text().splitlines() if str(tmp_path) in line and " = 0" in line]
    kinds = [re.search(r"(fsync|fdatasync|rename\w*)\(", line) for line in calls]
    order = ["rename" if found and found[1].startswith("rename") else "flush" for found in kinds]
    assert order == ["flush", "rename", "flush"], calls
