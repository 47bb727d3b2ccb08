"""Named points where a test may kill the process, to prove that nothing is lost there.

`crashpoint("name")` costs one comparison unless `HALO_CRASH_AT` names the point: then the process kills itself with
SIGKILL on the given visit (`HALO_CRASH_AT=claim.after:3`, default the first). `HALO_CRASH_LOG` names a file that
collects every point reached, so that a test can fail when a point is never visited.
"""

import os
import signal

POINTS = frozenset(
    {
        "accept.before_commit",
        "accept.after_commit",
        "accept.after_ack",
        "claim.after",
        "drain.after_commit",
        "model.before_request",
        "model.mid_text",
        "model.mid_tool_args",
        "tool.intent_saved",
        "tool.mid_run",
        "tool.effect_done",
        "tool.result_saved",
        "interrupt.folded",
        "compact.claimed",
        "compact.before_request",
        "compact.before_commit",
        "compact.after_commit",
        "end.before_release",
        "end.after_release",
        "report.before_commit",
        "relay.before_commit",
        "relay.before_clear",
        "relay.after_clear",
        "transcript.after_write",
        "file.temp_written",
        "extension.staged",
        "extension.aside",
        "extension.moved_in",
        "import.staged",
        "import.moved",
        "import.before_done",
        "boot.nudge_inserted",
        "migrate.mid",
    }
)

_name, _, _visit = os.environ.get("HALO_CRASH_AT", "").partition(":")
_left = int(_visit or 1)
_log = os.environ.get("HALO_CRASH_LOG", "")
_armed = bool(_name or _log)


def crashpoint(name: str) -> None:
    """Mark a durable step. Unknown names raise, so that the list above stays complete."""
    if _armed:
        _reach(name)


def _reach(name: str) -> None:
    global _left
    if name not in POINTS:
        raise ValueError(f"unknown crash point {name!r}")
    if _log:
        with open(_log, "a", encoding="utf-8") as log:
            log.write(name + "\n")
    if name == _name:
        _left -= 1
        if _left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
