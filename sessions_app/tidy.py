"""What piles up and nobody looks at again: temporary files, old uploads and pictures, sessions of internal agents.

Runs only when somebody asks (`manage.py tidy`, by hand or from the system's scheduler).
"""

import logging
import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from django.db.models import Q
from django.utils import timezone

from halo_site.lib.access_level import Access
from halo_site.lib.errors import HaloError, NotFound
from workspaces_app.jail import Jail

from . import actions
from .models import Session

log = logging.getLogger(__name__)
TEMPORARY = ".halo/tmp"
KEPT = (".halo/uploads", ".halo/assets")


@dataclass(frozen=True, slots=True)
class Found:
    path: str  # below the workspace
    size: int
    changed: float  # Unix seconds
    is_temporary: bool


@dataclass(frozen=True, slots=True)
class Rules:
    """Ages in days; None = for ever. quota: bytes that all of it may take in one workspace, None = any number."""

    temporary: int
    kept: int | None = None
    quota: int | None = None


def files_of(root: Path) -> list[Found]:
    """Files below the folders that fill up; links are neither entered nor named."""
    return [found for folder in (TEMPORARY, *KEPT) for found in _below(root, folder)]


def _below(root: Path, folder: str) -> Iterator[Found]:
    if (root / folder).is_symlink():
        return
    for place, _, names in os.walk(root / folder):
        for name in names:
            path = Path(place, name)
            try:
                state = path.lstat()
            except OSError:
                continue
            if not path.is_symlink():
                yield Found(str(path.relative_to(root)), state.st_size, state.st_mtime, folder == TEMPORARY)


def too_many(files: list[Found], rules: Rules, now: float) -> list[Found]:
    """Those that go: the too old ones, then the oldest of the rest until the quota holds. Pure."""

    def is_old(file: Found) -> bool:
        days = rules.temporary if file.is_temporary else rules.kept
        return days is not None and file.changed < now - days * 86_400

    old = [file for file in files if is_old(file)]
    left = sorted((file for file in files if not is_old(file)), key=lambda file: (file.changed, file.path))
    over = sum(file.size for file in left) - rules.quota if rules.quota is not None else 0
    for file in left:
        if over <= 0:
            break
        old.append(file)
        over -= file.size
    return old


def remove_files(root: Path, files: list[Found]) -> int:
    """Bytes freed. Through the jail: an agent may swap a folder for a link while we are at it."""
    jail, freed = Jail(root, level=Access.FULL, confined=True), 0
    for file in files:
        try:
            jail.remove_file(file.path)
        except NotFound:
            continue
        except (HaloError, OSError) as error:
            log.warning("%s of %s stays: %s", file.path, root, error)
            continue
        freed += file.size
    return freed


def idle_internal_sessions(days: int) -> list[int]:
    """Keys of sessions of internal agents that nothing happened in for so long; those at work are not among them."""
    now = timezone.now()
    idle = Q(lease_until=None) | Q(lease_until__lt=now)
    found = Session.objects.filter(idle, source=Session.Source.INTERNAL, updated_at__lt=now - timedelta(days=days))
    return list(found.order_by("pk").values_list("pk", flat=True))


def delete_sessions(keys: list[int]) -> int:
    """How many are gone, sub-agents included. One that went with its parent is passed over."""
    gone = 0
    for key in keys:
        try:
            gone += actions.delete(key)
        except NotFound:
            continue
    return gone
