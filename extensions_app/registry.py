"""The snapshot of this process and the one notifier (spec canvas-extensions 3.2): routes read, `refresh` scans.

Each web process looks at the disk for its own sockets (W6); `on_change` is how the hub learns of a new snapshot.
"""

import logging
import threading
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path

from django.conf import settings
from django.db import DatabaseError, transaction

from .events import ExtensionChanged
from .isolation import isolation
from .models import Extension
from .scanner import Broken, Installed, Snapshot, scan

log = logging.getLogger(__name__)
Listener = Callable[[ExtensionChanged], None]

_lock = threading.Lock()
_known: tuple[Path, Snapshot] | None = None
_listeners: list[Listener] = []


def root() -> Path:
    folder: Path = settings.HALO.global_dir / "extensions"
    return folder


def snapshot() -> Snapshot:
    """What is installed, as of the last scan; the first call of a process without a watcher scans."""
    known = cached()
    return _scan()[0] if known is None else known


def cached() -> Snapshot | None:
    """The last scan, without a look at the disk."""
    known = _known
    return known[1] if known is not None and known[0] == root() else None


def refresh() -> Snapshot:
    """Scan again; when something changed, tell the sockets of this process and write the index.

    In a thread: it reads the disk and the database.
    """
    found, changed = _scan()
    if changed:
        event = changed_event(found)
        for listener in list(_listeners):
            listener(event)
    write_index(found)
    return found


def on_change(listener: Listener) -> Callable[[], None]:
    """Called in the thread that scanned. The result ends it."""
    _listeners.append(listener)
    return lambda: _listeners.remove(listener)


def changed_event(found: Snapshot) -> ExtensionChanged:
    body = found.as_dict()
    return ExtensionChanged(extensions=body["extensions"], errors=body["errors"], isolation=isolation().value)


def _scan() -> tuple[Snapshot, bool]:
    global _known
    with _lock:  # an older scan must not replace a newer one
        place = root()
        found = scan(place)
        changed = _known is None or _known[0] != place or _known[1].key() != found.key()
        _known = place, found
        return found, changed


def write_index(found: Snapshot) -> None:
    """Idempotent; several processes may do it at once. A database that is busy is left to the next scan."""
    rows = [*map(_row, found.extensions), *map(_broken_row, found.errors)]
    try:
        with transaction.atomic():
            if _as_facts(Extension.objects.all()) == _as_facts(rows):
                return
            Extension.objects.exclude(folder__in=[row.folder for row in rows]).delete()
            Extension.objects.bulk_create(
                rows,
                update_conflicts=True,
                unique_fields=["folder"],
                update_fields=[field for field in _FACTS if field != "folder"],
            )
    except DatabaseError:
        log.warning("The index of extensions was not written; the next change writes it", exc_info=True)


_FACTS = ("folder", "name", "version", "file_types", "priority", "capabilities", "error", "installed_at")


def _as_facts(rows: Iterable[Extension]) -> list[tuple[object, ...]]:
    return sorted((tuple(getattr(row, name) for name in _FACTS) for row in rows), key=lambda facts: str(facts[0]))


def _broken_row(each: Broken) -> Extension:
    return Extension(folder=each.id[:255], error=each.error)


def _row(each: Installed) -> Extension:
    said = each.manifest
    return Extension(
        folder=said.id,
        name=said.name,
        version=said.version,
        file_types=list(said.extensions),
        priority=said.priority,
        capabilities=list(said.capabilities),
        installed_at=datetime.fromtimestamp(each.installed_at / 1000, tz=UTC),
    )
