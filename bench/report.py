"""Turns the raw numbers into docs/benchmarks.md: figure, target, measured, and their ratio."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .throttle import ENGINE_SHARE

HEAD = """# Benchmarks

`make bench` starts a real server and a fake model server on loopback and measures. Client, fake and server share one
machine, so read the ratios, not the digits: repeated runs differ by up to 30 % here, more when others work on it.

Measured {date}, {cpus} cores, Python {python}. Before each step, the load and the CPU time of a loop of 2,000,000
additions (a virtual machine does not keep its speed; about 60 ms on a current desktop core): {conditions}.

| Figure | Target | Measured | Measured / target |
|---|---|---|---|
"""


def write(result: dict[str, Any], path: Path) -> None:
    path.write_text(render(result), encoding="utf-8")


def render(result: dict[str, Any]) -> str:
    conditions = ", ".join(f"{name} {result['load'][name]} / {loop} ms" for name, loop in result["loop_ms"].items())
    lines = [HEAD.format(**result, conditions=conditions)]
    for figure, target, measured, at_least in figures(result):
        if isinstance(measured, str) or measured is None:
            lines.append(f"| {figure} | {'≥' if at_least else '≤'} {target} | {measured or 'not measured'} | |\n")
            continue
        mark = "" if (measured >= target if at_least else measured <= target) else " **missed**"
        ratio = f"{measured / target:.2f}" if target else ""
        lines.append(f"| {figure} | {'≥' if at_least else '≤'} {target} | {measured} | {ratio}{mark} |\n")
    return "".join(lines) + scaled(result) + FOOT + crowded(result)


SCALED = """
Scaled mode (PostgreSQL, Redis, a web process) did {one} turns/s with one engine process and {two} with two: client,
fake and database share the cores, which were {busy} % busy already with one. What a second engine adds shows where
engines are what is short: with each held to {share} of a core (`bench/throttle.py`), one did {held_one} turns/s and two
{held_two}. That is the row of the table.
"""

FOOT = """
How each is measured: `bench/measure.py`, and the module of the step for the others (`python -m bench.run --only STEP`
runs one). The overhead of the first delta is the median time from the chat frame to the
first streamed text, minus the same reply asked straight from the fake. Every token of every turn is counted: "tokens
lost" must be 0.

500 sockets while 50 sessions of one workspace stream 200 tokens 10 ms apart (`bench/crowd.py`): the first delta is the
whole way at its sender's socket, nothing subtracted: the message on disk, the run, the request to the fake (which
answers at once) and the frame back. Every socket holds the `seq` of each frame against the one before.
"""

CROWD = """Each socket is on a session of its own there. With ten on each streamed session, 20,000 frames a second that
the client, too, has to read on the same cores, the p95 was {shared} ms; of 50 turns sent in one moment, which wait for
each other, {together} ms.
"""


def pick(result: dict[str, Any], *path: str) -> Any:
    """The value at a path, or the reason why it is missing."""
    value: Any = result
    for name in path:
        if isinstance(value, dict) and ("failed" in value or "skipped" in value):
            return value.get("failed") or value.get("skipped")
        value = value.get(name) if isinstance(value, dict) else None
    return value


def figures(result: dict[str, Any]) -> Iterator[tuple[str, float, Any, bool]]:
    """(name, target, measured, True when more is better)."""
    yield (
        "first delta, overhead, median (ms)",
        8,
        pick(result, "first_delta", "same_session", "overhead_median_ms"),
        False,
    )
    yield "first delta, overhead, p95 (ms)", 20, pick(result, "first_delta", "same_session", "overhead_p95_ms"), False
    yield "50 sessions x 200 tokens, turns/s, one process", 50, pick(result, "throughput", "turns_per_s"), True
    yield "health meanwhile, p95 (ms)", 50, pick(result, "throughput", "health_ms", "p95"), False
    yield "resident memory meanwhile (MB)", 250, max_of(pick(result, "throughput", "rss_mb")), False
    yield "500 sockets, first to last receipt, p95 (ms)", 60, pick(result, "fan_out", "first_to_last_ms", "p95"), False
    yield "memory per idle socket (KB)", 60, pick(result, "fan_out", "kb_per_idle_socket"), False
    yield from crowd(result)
    yield "health after process start, median (s)", 1.5, pick(result, "boot", "seconds", "median"), False
    yield "idle resident memory (MB)", 130, pick(result, "boot", "idle_rss_mb"), False
    yield "end after SIGTERM in the middle of 50 turns, most (s)", 5, pick(result, "boot", "end_s", "max"), False
    yield "turn in 10,000 entries / turn in 10", 1.2, pick(result, "history", "turn_ratio"), False
    yield (
        "open a session of 10,000, route, median (ms)",
        30,
        pick(result, "history", "open_route_ms", "10000", "median"),
        False,
    )
    yield (
        "first page of 10,000 sessions, median (ms)",
        10,
        pick(result, "history", "list_first_page_ms", "median"),
        False,
    )
    yield from much(result)
    yield "turns/s with two engine processes / with one, each held to a part of a core", 1.5, gain(result), True
    yield "CPU per turn of 200 tokens, one process (ms)", 20, cpu_per_turn(result), False
    yield (
        "watch 26,000 files, subscribe to answer, median (ms)",
        1000,
        pick(result, "watch", "subscribe_ms", "median"),
        False,
    )
    yield "write to frame, median (ms)", 120, pick(result, "watch", "write_to_frame_ms", "median"), False
    yield "tokens lost", 0, pick(result, "throughput", "tokens_lost"), False
    yield from folders(result)
    yield from engine(result)


def crowd(result: dict[str, Any]) -> Iterator[tuple[str, float, Any, bool]]:
    """500 sockets while 50 sessions stream; as `figures`."""
    first = pick(result, "crowd", "alone", "first_ms", "meanwhile", "p95")
    yield "500 sockets, first delta while 49 other turns stream, p95 (ms)", 200, first, False
    yield "gaps in seq, doubles, resyncs, lost tokens meanwhile", 0, amiss(result), False
    yield "resident memory meanwhile, at its peak (MB)", 600, pick(result, "crowd", "peak_rss_mb"), False


def much(result: dict[str, Any]) -> Iterator[tuple[str, float, Any, bool]]:
    """10,000 sessions, one of them with 50,000 entries; as `figures`."""
    page = pick(result, "history", "list_first_page_ms", "p95")
    yield "first page of 10,000 sessions, p95 (ms)", 100, page, False
    for way in ("route", "socket"):
        opened = pick(result, "history", f"open_{way}_ms", "50000", "p95")
        yield f"open a session of 50,000, {way}, p95 (ms)", 300, opened, False


def folders(result: dict[str, Any]) -> Iterator[tuple[str, float, Any, bool]]:
    """Files, tables, repositories, extensions; as `figures`."""
    status = pick(result, "repository", "status_ms", "median")
    yield "git status of 26,000 files, median (ms)", 500, status, False
    yield "a level of 5,000 entries, median (ms)", 100, pick(result, "files", "level_ms", "median"), False
    for name in ("upload", "download"):
        yield f"{name} of 1 GiB, memory (MB)", 32, pick(result, "files", name, "memory_mb"), False
    page = pick(result, "tables", "first_page_ms", "median")
    yield "first page of a csv of 1 GB, median (ms)", 1000, page, False
    yield "files of extensions, requests/s, one process", 1500, pick(result, "assets", "requests_per_s"), True


def engine(result: dict[str, Any]) -> Iterator[tuple[str, float, Any, bool]]:
    """A hundred roots with three sub-agents each, and parts of a turn; as `figures`."""
    yield "100 trees at once, sessions stuck", 0, pick(result, "trees", "stuck"), False
    yield "100 trees at once, turns not done", 0, pick(result, "trees", "not_done"), False
    yield "work at the end of a run, median (ms)", 10, pick(result, "trees", "run_end_ms", "median"), False
    yield "work at the end of a run, p95 (ms)", 10, pick(result, "trees", "run_end_ms", "p95"), False
    yield "prompt of an agent with 50 skills, CPU, median (ms)", 10, pick(result, "prompt", "cpu_ms", "median"), False
    yield "a tool call besides its work, median (ms)", 2, pick(result, "tools", "dispatch", "median"), False
    yield "streams read and folded, slowest family (MB/s of CPU)", 30, pick(result, "sse", "slowest"), True


def gain(result: dict[str, Any]) -> Any:
    """How many times the turns of one engine process two of them do, where engines are what is short."""
    one, two = (pick(result, "scaled", "held", engines, "turns_per_s") for engines in ("1", "2"))
    return round(two / one, 2) if isinstance(one, float) and isinstance(two, float) else one


def scaled(result: dict[str, Any]) -> str:
    found = result.get("scaled", {})
    if "held" not in found:
        return ""
    one, two = found["1"], found["2"]
    held_one, held_two = (found["held"][engines]["turns_per_s"] for engines in ("1", "2"))
    busy = round(one["machine_busy"] * 100)
    return SCALED.format(
        one=one["turns_per_s"],
        two=two["turns_per_s"],
        busy=busy,
        held_one=held_one,
        held_two=held_two,
        share=ENGINE_SHARE,
    )


def crowded(result: dict[str, Any]) -> str:
    found = result.get("crowd", {})
    if "shared" not in found:
        return ""
    shared, together = found["shared"]["first_ms"]["meanwhile"]["p95"], found["alone"]["first_ms"]["together"]["p95"]
    return CROWD.format(shared=round(shared), together=round(together))


def amiss(result: dict[str, Any]) -> Any:
    """Everything that a viewer among 500 should not have noticed, added up."""
    names = ("gaps", "doubles", "resyncs", "errors", "unfinished", "tokens_lost")
    counts = [pick(result, "crowd", layout, name) for layout in ("alone", "shared") for name in names]
    return sum(map(abs, counts)) if all(isinstance(count, int) for count in counts) else counts[0]


def max_of(value: Any) -> Any:
    return max(value) if isinstance(value, list) else value


def cpu_per_turn(result: dict[str, Any]) -> Any:
    seconds, turns = pick(result, "throughput", "cpu_s"), pick(result, "throughput", "turns")
    return round(seconds * 1000 / turns, 1) if isinstance(seconds, float) and turns else seconds
