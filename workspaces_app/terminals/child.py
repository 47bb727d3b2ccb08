"""Runs in the child, by the bare interpreter, and becomes the shell: python -I -S child.py PARENT PROGRAM ARGV0 ...

A server with threads must not fork and go on in Python (os.forkpty, ptyprocess): so `subprocess` starts this file, and
what a terminal needs of its own process is done here. No import of the product, no third party.
"""

import fcntl
import os
import signal
import sys
import termios

PR_SET_PDEATHSIG = 1


def main(argv: list[str]) -> None:
    parent, program, *words = argv
    if sys.platform.startswith("linux"):
        import ctypes

        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGHUP)
        if os.getppid() != int(parent):
            sys.exit(0)
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGCHLD, signal.SIGPIPE):
        signal.signal(number, signal.SIG_DFL)  # what the server was started with (nohup) is not the shell's
    os.execv(program, words)  # noqa: S606 -- the shell of the account


if __name__ == "__main__":
    main(sys.argv[1:])
