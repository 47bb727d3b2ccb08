"""Terminals: a shell on a pseudo-terminal that outlives its browser tab for a while (spec files-git-terminal 44 to 51).

`rules.py` sizes, limits, environment and `ring.py` what is replayed are pure; `pty.py` is one program, started by
`child.py`; `registry.py` knows whose it is and where its output goes; `frames.py` is the socket's side.

A terminal is a shell with the rights of the server's account, so it needs full access. It lives in the process that
started it.
"""

from .registry import Terminals, the_terminals

__all__ = ["Terminals", "the_terminals"]
