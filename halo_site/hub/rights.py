"""What the people behind open sockets may see: kept per person, checked whenever a frame is delivered (C3).

A changed password, role or membership closes that person's sockets within 2 s. News of it comes by signal; because a
signal may be lost, the rows are also read every second (two queries for all who are connected).
"""

from collections.abc import Collection
from dataclasses import dataclass

from django.contrib.auth.models import User

from halo_site.lib.access_level import Access
from workspaces_app.models import Membership

CHECK_EVERY = 1.0  # seconds; closing, and killing what ignores a hang-up, must fit into the rest

Stamp = tuple[str, bool, bool, bool]  # password hash, active, superuser, staff


@dataclass(frozen=True, slots=True)
class Rights:
    stamp: Stamp
    levels: dict[int, str]  # by workspace key


def read_rights(user_ids: Collection[int]) -> dict[int, Rights]:
    """A unit of work. Whoever is missing was deleted."""
    users = User.objects.filter(pk__in=user_ids)
    found = {
        key: Rights((password, active, superuser, staff), {})
        for key, password, active, superuser, staff in users.values_list(
            "pk", "password", "is_active", "is_superuser", "is_staff"
        )
    }
    for user, workspace, level in Membership.objects.filter(user__in=user_ids).values_list(
        "user", "workspace", "level"
    ):
        if user in found:
            found[user].levels[workspace] = level
    return found


class Person:
    """Shared by all sockets of one user in this process."""

    __slots__ = ("_learned", "rights", "user_id")

    def __init__(self, user_id: int, rights: Rights) -> None:
        self.user_id = user_id
        self.rights = rights
        self._learned: set[int] = set()  # workspaces joined since the last look

    def may_see(self, workspace_key: int) -> bool:
        return self.rights.stamp[2] or workspace_key in self.rights.levels or workspace_key in self._learned

    def learn(self, workspace_key: int, level: Access) -> None:
        """A check in the database just found this right; the next look confirms it."""
        if workspace_key not in self.rights.levels:
            self._learned.add(workspace_key)

    def update(self, rights: Rights | None) -> bool:
        """Take what the rows say now. False = something was taken away or changed: the sockets must go.

        A new membership alone changes nothing that was promised before.
        """
        before, self._learned = self.rights, set()
        if rights is None or not rights.stamp[1] or rights.stamp != before.stamp:
            return False
        self.rights = rights
        return all(rights.levels.get(key) == level for key, level in before.levels.items())
