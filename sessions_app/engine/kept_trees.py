"""Trees that a terminal process (CLI, TUI) keeps for itself while it works on them (ARCHITECTURE 5.2).

`Session.runner` names the process on every session of the tree, from the accept of its message to its end. Nobody else
claims such a session. When the process is gone its tree is given back: what it ran is marked and waits for its person,
what others had sent meanwhile is run by a server.
"""

import logging
from datetime import timedelta
from functools import partial

from django.db import transaction
from django.db.models import Exists, OuterRef, Q
from django.db.models.functions import Now
from django.utils import timezone

from halo_site.lib.db import in_transaction
from halo_site.lib.prepared import update_row
from halo_site.lib.publish import signal

from ..models import Entry, Session
from .lease import locked, queued
from .owner import is_gone, is_of_this_host
from .turn_end import fold

log = logging.getLogger("halo.engine")

SILENT = timedelta(seconds=60)  # without any lease: then a keeper of another host counts as gone


def _tree(root_key: int) -> "Q":
    return Q(pk=root_key) | Q(root=root_key)


def take(root: Session, runner: str) -> bool:
    """Keep the tree of a locked root. False = a session of it is run or kept by somebody who lives.

    In the transaction that stores the message. Dead leases are left to recovery.
    """
    rows = Session.objects.filter(_tree(root.pk)).select_for_update(of=("self",)).order_by("pk")
    facts = rows.values_list("runner", "lease_owner", "lease_until")
    now = timezone.now()
    for keeper, owner, until in facts:
        if keeper not in ("", runner) and not is_gone(keeper):
            return False
        if owner and owner != runner and until and until > now and not is_gone(owner):
            return False
    Session.objects.filter(_tree(root.pk)).update(runner=runner)
    return True


def is_quiet(root_key: int) -> bool:
    """True when no session of the tree runs, waits or owes a report: one statement, so one moment."""
    waits = Exists(Entry.objects.filter(queued(OuterRef("pk"))))
    owes = Q(report_due=True, stopped_at=None)
    busy = Q(lease_owner__isnull=False) | Q(waits, parked_at=None) | owes
    return not Session.objects.filter(_tree(root_key), busy, archived_at=None).exists()


@in_transaction
def let_go(root_key: int, runner: str, *, only_quiet: bool = True) -> bool:
    """Stop keeping a tree. False = it is not quiet: something came in this instant. Gone trees are let go."""
    root = locked(root_key)
    if root is None:
        return True
    if only_quiet and not is_quiet(root_key):
        return False
    Session.objects.filter(_tree(root_key), runner=runner).update(runner="")
    for key in Session.objects.filter(_tree(root_key)).values_list("pk", flat=True):
        transaction.on_commit(partial(signal, "engine.wake", session=key))
    return True


def abandoned() -> list[int]:
    """Roots whose keeper is gone; at most 200."""
    kept = Session.objects.filter(parent=None).exclude(runner="")
    return [key for key, runner in kept.values_list("pk", "runner")[:200] if _keeper_is_gone(key, runner)]


def _keeper_is_gone(root_key: int, runner: str) -> bool:
    if is_of_this_host(runner):
        return is_gone(runner)
    recent = Q(lease_owner__isnull=False) | Q(updated_at__gte=Now() - SILENT)
    return not Session.objects.filter(_tree(root_key), recent).exists()


def give_back_abandoned() -> int:
    """One pass, after recovery has answered the dead runs; how many trees."""
    return sum(_give_back(key) for key in abandoned())


@in_transaction
def _give_back(root_key: int) -> bool:
    """Sub-agents stop and owe nothing. What only agents had queued is history; a person's message is run."""
    root = locked(root_key)
    if root is None or not root.runner or not _keeper_is_gone(root_key, root.runner):
        return False
    below = Session.objects.filter(root=root_key).select_for_update(of=("self",)).order_by("pk")
    if root.lease_owner or any(child.lease_owner for child in below):
        return False  # the next pass: recovery has it first
    for child in below:
        fold(child, _newest(child))
        update_row(Session, child.pk, runner="", report_due=False, stopped_at=child.stopped_at or timezone.now())
    if not Entry.objects.filter(queued(root_key), kind=Entry.Kind.USER).exists():
        fold(root, _newest(root))
    update_row(Session, root_key, runner="")
    transaction.on_commit(partial(signal, "engine.wake", session=root_key))
    log.warning("the terminal process that ran session %s is gone", root.sid)
    return True


def _newest(session: Session) -> int:
    return Entry.objects.filter(queued(session.pk)).order_by("-pk").values_list("pk", flat=True).first() or 0
