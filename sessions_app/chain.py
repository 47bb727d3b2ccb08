"""A chain of tasks handed on between workspaces: which waits a piece of work answers. Pure (spec relay R3.8).

It travels with the work: in the origin of an entry, on the turn that read it, and from there into everything the turn
sets off (a dispatch, a sub-agent, a report). So a cycle, the hops and the cost are seen wherever the work goes.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self

MOST_IDS = 20  # chains that met in one turn; the newest are kept


@dataclass(frozen=True, slots=True)
class Waiting:
    """Somebody further up who waits for an answer. root: key of the root session; at: how people call it."""

    root: int
    at: str


@dataclass(frozen=True, slots=True)
class Chain:
    """ids: what is counted together for money, the first one is written on model calls. callers: nearest last.

    hop: how often the task was handed on. answers: keys of the debts that this work pays.
    """

    ids: tuple[str, ...]
    hop: int = 0
    callers: tuple[Waiting, ...] = ()
    answers: tuple[int, ...] = ()

    @classmethod
    def of(cls, stored: object) -> Self | None:
        """As a JSON column holds it; None for anything else."""
        if not isinstance(stored, Mapping) or not stored.get("ids"):
            return None
        callers = tuple(Waiting(int(root), str(at)) for root, at in stored.get("callers", ()))
        answers = tuple(int(key) for key in stored.get("answers", ()))
        return cls(tuple(map(str, stored["ids"])), int(stored.get("hop", 0)), callers, answers)

    def stored(self) -> dict[str, Any]:
        return {
            "ids": list(self.ids),
            "hop": self.hop,
            "callers": [[caller.root, caller.at] for caller in self.callers],
            "answers": list(self.answers),
        }


def merged(chains: Iterable[Chain | None]) -> Chain | None:
    """What a turn that reads all of these works for: whoever waits for one of them waits for it. None = nobody."""
    known = sorted((chain for chain in chains if chain is not None), key=lambda chain: chain.hop)
    if not known:
        return None
    callers: dict[int, Waiting] = {}
    for chain in known:  # the longest last, so that its nearest caller stays the nearest
        for caller in chain.callers:
            callers.pop(caller.root, None)
            callers[caller.root] = caller
    ids = dict.fromkeys(each for chain in reversed(known) for each in chain.ids)
    answers = dict.fromkeys(key for chain in known for key in chain.answers)
    return Chain(tuple(ids)[:MOST_IDS], known[-1].hop, tuple(callers.values()), tuple(answers))
