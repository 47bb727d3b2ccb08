"""The garbage collector of a process that lives long: off while it loads (manage.py), then over what is new only."""

import gc

# How many new objects start a look at the youngest generation; the default of 700 looks several times per request.
YOUNG, MIDDLE, OLD = 10_000, 20, 20


def collect_from_now_on() -> None:
    """What is loaded stays for ever: later looks skip it. Call when the process is up."""
    gc.freeze()
    gc.set_threshold(YOUNG, MIDDLE, OLD)
    gc.enable()
