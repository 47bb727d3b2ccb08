"""`python -m bench.run [--only boot,first_delta] [--quick]`: measure and write docs/benchmarks.md.

Needs an otherwise idle machine; what the load was is written beside the figures. Results are ratios and times of this
machine, not promises for another. Postgres and Redis on loopback are used for the scaled figures when they are there.
"""

import argparse
import asyncio
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.server import ROOT

from . import measure, numbers, report, watching
from .alone import alone
from .assets import assets
from .clients import HTTPConn, raw_get
from .crowd import crowd
from .files import files
from .repository import repository
from .tables import tables
from .target import Halo
from .throttle import ENGINE_SHARE

STEPS = (
    *("boot", "first_delta", "throughput", "fan_out", "crowd", "history", "scaled"),
    *("watch", "repository", "files", "tables", "assets", "trees", "prompt", "tools", "sse"),
)
DATABASE = "postgres://postgres@127.0.0.1:5432/{name}"
REDIS = "redis://127.0.0.1:6379/9"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def listens(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0


async def fake_models(work: Path) -> tuple[subprocess.Popen[bytes], str]:
    port = free_port()
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.fakes.model_server", "--port", str(port)],
        cwd=ROOT,
        stdout=(work / "models.log").open("wb"),
        stderr=subprocess.STDOUT,
    )
    base = f"http://127.0.0.1:{port}"
    for _ in range(400):
        if listens(port):
            conn = await HTTPConn.open(base)
            await conn.request(raw_get(base, "/control", {}))
            conn.transport.close()
            return process, base
        await asyncio.sleep(0.05)
    raise RuntimeError("the fake model server did not start")


def psql(*command: str) -> None:
    subprocess.run(["psql", "-qX", "-h", "127.0.0.1", "-U", "postgres", *command], check=True)


async def scaled(work: Path, llm: str, quick: bool) -> dict[str, Any]:
    """Throughput with one and with two engine processes beside one web process: at full speed, and held back."""
    if not (listens(5432) and listens(6379)):
        return {"skipped": "PostgreSQL or Redis does not listen on loopback"}
    out: dict[str, Any] = {"held": {}}
    for engines in (1, 2):
        name = f"halo_bench_{os.getpid()}_{engines}"
        psql("-c", f"CREATE DATABASE {name}")
        folder = work / f"scaled-{engines}"
        folder.mkdir()
        halo = Halo(folder, llm, port=free_port(), scaled=engines, database=DATABASE.format(name=name), redis=REDIS)
        try:
            await prepare_scaled(halo)
            out[str(engines)] = await measure.throughput(halo, each=2 if quick else 12)
            out["held"][str(engines)] = await measure.throughput(
                halo, each=2 if quick else 12, engine_share=ENGINE_SHARE
            )
        finally:
            await halo.stop()
            psql("-c", f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
    return out


async def prepare_scaled(halo: Halo) -> None:
    """The first start of `serve` makes home, schema and admin; the engines then share them."""
    single = Halo(halo.work, halo.llm, port=halo.port)
    environ = dict(halo.environ())
    process = subprocess.Popen(
        [sys.executable, str(ROOT / "manage.py"), "serve", "-p", str(halo.port), "--no-qcluster"],
        env=environ,
        cwd=ROOT,
        stdout=(halo.work / "first.log").open("wb"),
        stderr=subprocess.STDOUT,
    )
    single.processes.append(process)
    for _ in range(1200):
        if listens(halo.port) or process.poll() is not None:
            break
        await asyncio.sleep(0.05)
    await single.stop()
    from tests.server import bind_agent

    bind_agent(halo.home, f"{halo.llm}/v1")


async def run(options: argparse.Namespace) -> dict[str, Any]:
    work = Path(options.work or tempfile.mkdtemp(prefix="halo-bench-"))
    work.mkdir(parents=True, exist_ok=True)
    models, llm = await fake_models(work)
    result: dict[str, Any] = {
        "cpus": os.cpu_count(),
        "python": sys.version.split()[0],
        "date": time.strftime("%Y-%m-%d"),
        "load": {},
        "loop_ms": {},
    }
    quick = options.quick
    halo = Halo(work, llm, port=free_port())
    steps = {
        "boot": lambda: measure.boot(halo, times=2 if quick else 5),
        "first_delta": lambda: measure.first_delta(halo, turns=15 if quick else 60),
        "throughput": lambda: measure.throughput(halo, each=1 if quick else 12),
        "fan_out": lambda: measure.fan_out(halo, turns=5 if quick else 20),
        "crowd": lambda: crowd(halo, rounds=2 if quick else 10),
        "history": lambda: measure.history(halo, sessions=1000 if quick else 10_000),
        "watch": lambda: watching.watch(halo, subscribes=2 if quick else 5, writes=10 if quick else 40),
        "repository": lambda: repository(halo, rounds=3 if quick else 15),
        "files": lambda: files(halo, size=32 if quick else 1024),
        "tables": lambda: tables(halo, size=32 if quick else 1000, rounds=3 if quick else 10),
        "assets": lambda: assets(halo, seconds=1 if quick else 5),
        "trees": lambda: alone("trees", work, *("--roots", "20", "--alone", "10") if quick else ()),
        "prompt": lambda: alone("prompt", work),
        "tools": lambda: alone("tools", work),
        "sse": lambda: alone("sse", work),
        "scaled": lambda: scaled(work, llm, quick),
    }
    try:
        await halo.prepare()
        for name in options.only.split(",") if options.only else STEPS:
            result["load"][name] = round(os.getloadavg()[0], 2)
            result["loop_ms"][name] = numbers.calibration()
            begun = time.monotonic()
            try:
                result[name] = await asyncio.wait_for(steps[name](), options.limit)
            except Exception as error:
                # One failed step must not lose the others; the report shows it.
                result[name] = {"failed": f"{type(error).__name__}: {error}"}
                await halo.stop()
            print(f"{name}: {time.monotonic() - begun:.1f} s", file=sys.stderr, flush=True)
            if options.out:
                Path(options.out).write_text(json.dumps(result, indent=1) + "\n")
    finally:
        await halo.stop()
        models.terminate()
        models.wait(10)
        if not options.work:  # one of our own
            shutil.rmtree(work, ignore_errors=True)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help=",".join(STEPS))
    parser.add_argument("--quick", action="store_true", help="fewer rounds and small files; writes no report")
    parser.add_argument("--work", default="", help="scratch folder, kept; default: one that is removed")
    parser.add_argument("--out", default="", help="also write the raw numbers here, after every step")
    parser.add_argument("--limit", type=float, default=600.0, help="seconds, upper bound of one step")
    options = parser.parse_args()
    result = asyncio.run(run(options))
    print(json.dumps(result, indent=1))
    if not options.quick and not options.only:
        report.write(result, ROOT / "docs" / "benchmarks.md")
    if any(isinstance(value, dict) and "failed" in value for value in result.values()):
        sys.exit(1)


if __name__ == "__main__":
    main()
