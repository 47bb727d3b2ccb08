"""At which level a turn runs: the lowest of session, senders and job, read again before each tool call."""

from collections.abc import Iterable

from django.contrib.auth.models import User

from halo_site.lib.access_level import Access, lowest
from workspaces_app.access import Caller, level_in

from ..models import Entry, Session


def senders(entries: Iterable[Entry]) -> dict[int, Access]:
    """User id -> level at which they sent, of a batch."""
    found: dict[int, Access] = {}
    for entry in entries:
        origin = entry.origin or {}
        level = Access.stored(origin.get("level"))
        people = origin["people"] if "people" in origin else [origin.get("sender")]
        for person in people:
            if isinstance(person, int):
                found[person] = lowest(found.get(person, level), level)
    return found


def levels_of(entries: Iterable[Entry]) -> list[Access]:
    """Levels at which a batch was sent, by people, other sessions or this one: nothing runs above what it came from."""
    return [Access.stored(entry.origin["level"]) for entry in entries if entry.origin and "level" in entry.origin]


def own_level(session: Session) -> Access:
    """The session's level, and no more than what it was started by has now: lowering a session lowers all below it."""
    stored = [session.access_level]
    if session.parent_id is not None:
        parts = session.sid.split(">")
        above = [">".join(parts[:count]) for count in range(1, len(parts))]
        tree = Session.objects.filter(workspace=session.workspace_id, sid__in=above)
        stored += tree.values_list("access_level", flat=True)
    return lowest(*map(Access.stored, stored))


def present_level(session: Session, ceiling: Access, people: Iterable[int]) -> Access:
    """The level now: a member who lost rights, or a lowered session, lowers a turn in flight.

    `ceiling` is what the turn began with. A user without any right left here counts as readonly; the session's
    creator counts too, since behind every session stands a user (spec README 31).
    """
    if session.created_by_id is None:
        return Access.READONLY
    keys = {*people, session.created_by_id}
    users = User.objects.filter(pk__in=keys, is_active=True)
    levels = {user.pk: level_in(Caller.of(user), session.workspace_id) for user in users}
    return lowest(ceiling, own_level(session), *(levels.get(key) or Access.READONLY for key in keys))
