"""What an import would do to a workspace, item by item, and what a person chose of it. Pure."""

import hashlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

from halo_site.lib.errors import BadRequest, Conflict

from .contents import Item

# new: nothing is there. same: nothing to do. differs: something else has its place. hides: not there, but the home has
# an agent or skill of this id, which would no longer serve here. blocked: its folder is a file; it cannot be taken.
Verdict = Literal["new", "same", "differs", "hides", "blocked"]
ASKED = frozenset({"differs", "hides"})  # taken only when named

BLOCKED = "blocked"  # in place of the digest of what is there


@dataclass(frozen=True, slots=True)
class Step:
    """One item. ours, here: digests of what the archive brings and of what has its place now; None = nothing."""

    item: Item
    ours: str
    here: str | None
    in_home: bool
    size: int  # bytes

    @property
    def verdict(self) -> Verdict:
        if self.here == BLOCKED:
            return "blocked"
        if self.here is not None:
            return "same" if self.here == self.ours else "differs"
        return "hides" if self.in_home else "new"


@dataclass(frozen=True, slots=True)
class Choice:
    """replace: paths of items that take the place of another, or hide one of the home. leave: new ones not wanted."""

    replace: Collection[str] = ()
    leave: Collection[str] = ()


def plan_id(steps: Sequence[Step]) -> str:
    """Another one when the archive or what is in the places of its items changed since it was shown."""
    mark = hashlib.sha256()
    for step in steps:
        mark.update(repr((step.item.path, step.ours, step.here, step.in_home)).encode())
    return mark.hexdigest()[:16]


def check_seen(steps: Sequence[Step], seen: str) -> None:
    """Raises Conflict when this is not the plan that was shown."""
    if seen != plan_id(steps):
        raise Conflict("The archive or the workspace changed since the preview: look again; nothing was imported")


def chosen(steps: Sequence[Step], choice: Choice) -> list[Step]:
    """The steps to take. Raises BadRequest for a path that the choice cannot mean."""
    verdicts = {step.item.path: step.verdict for step in steps}
    for path in choice.replace:
        if verdicts.get(path) not in ASKED:
            raise BadRequest(f"{path} is nothing that could be replaced; the preview lists what can")
    for path in choice.leave:
        if verdicts.get(path) != "new":
            raise BadRequest(f"{path} is nothing new that could be left out; the preview lists what is")
    wanted = [
        step
        for step in steps
        if (step.verdict == "new" and step.item.path not in choice.leave) or step.item.path in choice.replace
    ]
    if not wanted:
        raise BadRequest("Nothing is left to import: all of it is here already, or was not chosen")
    return wanted
