"""The slot for features whose dispatches end in a report (ARCHITECTURE 5.7): relay, and whoever else owes something.

A debt is a row of the feature. The engine tells of the moments that matter; each call comes inside a transaction that
holds the session's row, but `settle_idle`.
"""

from typing import Any, Protocol

from .models import Session


class Debtor(Protocol):
    def interim(self, session: Session, dispatches: list[int], text: str) -> None:
        """A turn that read these dispatches said `text`, and what follows will not carry it."""

    def lost(self, session: Session, why: str, *, for_good: bool) -> None:
        """The session is archived, deleted or parked: nothing more will come of what it was asked. why: a sentence.

        for_good: False for a parked one, which a person may wake with a new message.
        """

    def settle_idle(self) -> int:
        """Pay what idle sessions still owe after a crash or a stop; how many. Called with every scan."""


_debtors: list[Debtor] = []


def add_debtor(debtor: Debtor) -> None:
    """Once, from `AppConfig.ready`."""
    _debtors.append(debtor)


def interim(session: Session, door: dict[str, Any], text: str) -> None:
    for debtor in _debtors:
        debtor.interim(session, list(door.get("dispatches", ())), text)


def lost(session: Session, why: str, *, for_good: bool = True) -> None:
    for debtor in _debtors:
        debtor.lost(session, why, for_good=for_good)


def settle_idle() -> int:
    return sum(debtor.settle_idle() for debtor in _debtors)
