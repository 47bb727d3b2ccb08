"""The three levels at which people and agents act in a workspace."""

from enum import StrEnum
from typing import Self


class Access(StrEnum):
    """Ordered by rights: READONLY < WORKSPACE < FULL. Stored as text."""

    READONLY = "readonly"
    WORKSPACE = "workspace"
    FULL = "full"

    @property
    def rank(self) -> int:
        return _RANKS[self]

    @classmethod
    def stored(cls, value: str | None) -> Self:
        """A level as the database or a document holds it: null means full, unknown text means readonly."""
        if value is None:
            return cls.FULL
        try:
            return cls(value)
        except ValueError:
            return cls.READONLY

    def covers(self, needed: "Access") -> bool:
        return self.rank >= needed.rank


_RANKS = {Access.READONLY: 0, Access.WORKSPACE: 1, Access.FULL: 2}


def lowest(*levels: Access) -> Access:
    """The weakest of one or more levels."""
    return min(levels, key=lambda level: level.rank)
