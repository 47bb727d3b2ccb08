"""Transcripts of deleted sessions: a tombstone names the file until it is gone, so a removal that was cut off, or
that found the folder away, is made up for later."""

import logging
from collections.abc import Iterable, Sequence
from pathlib import Path

from django.db import DatabaseError
from django.db.models import QuerySet

from halo_site.lib.access_level import Access
from halo_site.lib.errors import HaloError, NotFound
from workspaces_app.jail import Jail

from ..models import Tombstone

log = logging.getLogger("halo.transcript")
AT_ONCE = 500  # tombstones of one look


def remove_files_of_deleted(workspace_key: int, sids: Sequence[str]) -> None:
    """After the commit of a delete; what cannot be removed now is left to the next look."""
    for start in range(0, len(sids), AT_ONCE):
        some = sids[start : start + AT_ONCE]
        _remove(_owed().filter(workspace=workspace_key, sid__in=some))


def remove_files_left_behind() -> None:
    """Of all workspaces whose folder is there, the newest first."""
    _remove(_owed().order_by("-pk")[:AT_ONCE])


def _owed() -> QuerySet[Tombstone]:
    return Tombstone.objects.exclude(file="").select_related("workspace")


def _remove(owed: Iterable[Tombstone]) -> None:
    try:
        gone = [stone.pk for stone in owed if _is_gone(stone.workspace.path, stone.file)]
        if gone:
            Tombstone.objects.filter(pk__in=gone).update(file="")
    except (HaloError, DatabaseError) as error:
        log.warning("transcripts of deleted sessions wait: %s", error)


def _is_gone(root: str, file: str) -> bool:
    """True when the file is not there any more. A folder that is away keeps its files, and its debt."""
    if not Path(root).is_dir():
        return False
    try:
        Jail(Path(root), level=Access.FULL, confined=True).remove_file(file)
    except NotFound:
        return True
    except (HaloError, OSError) as error:
        log.warning("a transcript was not removed: %s", error)
        return False
    return True
