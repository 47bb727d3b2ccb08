"""`python -m bench.against OTHER_CHECKOUT`: what a change did to a figure, as a ratio.

The speed of a virtual machine can halve from one minute to the next, so two runs an hour apart say little. Here both
versions take turns, each measured by its own `bench.run`, and the medians of all rounds are compared.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.server import ROOT

FIGURES: dict[str, dict[str, tuple[str, ...]]] = {
    "first_delta": {
        "same session, median (ms)": ("same_session", "overhead_median_ms"),
        "same session, p95 (ms)": ("same_session", "overhead_p95_ms"),
        "fresh session, median (ms)": ("fresh_session", "overhead_median_ms"),
        "fresh session, p95 (ms)": ("fresh_session", "overhead_p95_ms"),
    },
    "boot": {"health after process start (s)": ("seconds", "median"), "idle memory (MB)": ("idle_rss_mb",)},
    "throughput": {"turns/s": ("turns_per_s",)},
}


def measured(checkout: Path, step: str) -> dict[str, Any]:
    """One step, by the benchmark of that checkout. Raises CalledProcessError."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "out.json")
        command = [sys.executable, "-m", "bench.run", "--only", step, "--out", str(out)]
        subprocess.run(command, cwd=checkout, check=True, stdout=subprocess.DEVNULL)
        found: dict[str, Any] = json.loads(out.read_text())
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("other", type=Path, help="a checkout of the version to compare with")
    parser.add_argument("--step", default="first_delta", choices=FIGURES)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    runs: dict[str, list[dict[str, Any]]] = {"other": [], "this": []}
    for number in range(options.rounds):
        for name, checkout in (("other", options.other), ("this", ROOT)):
            found = measured(checkout, options.step)
            runs[name].append(found[options.step])
            print(f"round {number + 1}, {name}: loop {found['loop_ms'][options.step]} ms", file=sys.stderr, flush=True)
    for label, path in FIGURES[options.step].items():
        other, this = (statistics.median(at(run, path) for run in runs[name]) for name in ("other", "this"))
        print(f"{label}: {other:.2f} -> {this:.2f}, ratio {this / other:.2f}")


def at(result: Any, path: tuple[str, ...]) -> float:
    for name in path:
        result = result[name]
    return float(result)


if __name__ == "__main__":
    main()
