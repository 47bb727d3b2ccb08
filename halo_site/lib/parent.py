"""A child process that ends with its parent, also when the parent is killed with -9 (DEPENDENCIES R2)."""

import ctypes
import os
import signal
import sys

PARENT_VARIABLE = "HALO_PARENT_PID"
_PR_SET_PDEATHSIG = 1


def end_with_parent() -> None:
    """In a child whose parent set HALO_PARENT_PID: get SIGTERM when that parent dies. Elsewhere a no-op.

    Exits at once when the parent is already gone. Linux only; on other systems the supervisor's own stop is all
    there is.
    """
    parent = os.environ.pop(PARENT_VARIABLE, "")
    if not parent.isdigit() or not sys.platform.startswith("linux"):
        return
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != int(parent):
        sys.exit(0)
