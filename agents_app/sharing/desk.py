"""Where an import is laid out, moved in and taken back: `.halo/import/<number>/`, out of reach below full access.

    new/<n>        an item of the archive until it has its place
    old/<n>        what had its place before
    journal.json   which item is n, and how far it got

Every item comes and goes by one rename. An import ends with all items in place or with none; after a kill, as soon as
somebody opens the folder or imports here again.
"""

import os
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from halo_site.lib.atomic_file import folder_lock
from halo_site.lib.crashpoint import crashpoint
from halo_site.lib.errors import Conflict, HaloError, NotFound
from workspaces_app.files.remove import move, remove
from workspaces_app.jail import Jail

from .digest import digest_of
from .journal import Journal, Moved, missing_above
from .plan import Step

FOLDER = ".halo/import"
JOURNAL = "journal.json"
LIMIT = 4 * 1024 * 1024  # bytes of a journal
PIECE = 64 * 1024


def last(jail: Jail) -> tuple[str, Journal] | None:
    """The newest import that is whole, and its folder; the only one that can be taken back. Changes nothing."""
    whole = [(base, found) for base in _all(jail) if (found := _read(jail, base)) and found.state == "done"]
    return whole[-1] if whole else None


def is_used(jail: Jail) -> bool:
    """Whether anything lies here."""
    return bool(_all(jail))


def is_broken_off(jail: Jail) -> bool:
    """Whether an import or an undo stopped halfway; also true while another process is in the middle of one."""
    return any((found := _read(jail, base)) is not None and found.state != "done" for base in _all(jail))


@contextmanager
def alone(jail: Jail) -> Iterator[list[Journal]]:
    """Keeps other imports of this workspace out; what a killed one left is taken back first, and given."""
    taken_back = []
    jail.make_folder(FOLDER)
    with jail.errors(FOLDER), jail.folder(FOLDER) as handle, folder_lock(handle):
        for base in _all(jail):
            found = _read(jail, base)
            if found is None and not _is_there(jail, f"{base}/old"):
                remove(jail, base)  # killed before anything moved
            elif found is not None and found.state != "done":
                _back(jail, base, found)
                taken_back.append(found)
        yield taken_back


def bring(jail: Jail, source: Path, steps: Sequence[Step], *, name: str, at: int, then: Callable[[], None]) -> Journal:
    """Move the items from `source` to their places, then do `then`; all of it or nothing. Use it inside `alone`.

    at: Unix milliseconds. Raises HaloError.
    """
    base = f"{FOLDER}/{at:015d}-{secrets.token_hex(4)}"
    paths = [step.item.path for step in steps]
    made = [path for path in missing_above(paths, ()) if not _is_there(jail, path)]
    items = [Moved(step.item.path, step.ours, step.here is not None) for step in steps]
    journal = Journal("moving", at, name, items, made)
    _lay_out(jail, source, steps, base, journal)
    try:
        for number, step in enumerate(steps):
            if step.here is not None:
                jail.make_folder(f"{base}/old")
                move(jail, step.item.path, f"{base}/old/{number}")
            move(jail, f"{base}/new/{number}", step.item.path)
            crashpoint("import.moved")
        then()
        crashpoint("import.before_done")
        _write(jail, base, journal.now("done"))
    except BaseException:
        _back(jail, base, journal)
        raise
    with suppress(HaloError):  # it is done; what cannot be cleared away now is passed over
        for other in [*(other for other in _all(jail) if other != base), f"{base}/new"]:
            remove(jail, other)
    return journal


def take_back(jail: Jail, *, force: bool) -> Journal:
    """Undo the last import. force: also where somebody changed since what it brought; those changes are lost.

    Use it inside `alone`. Raises NotFound, and Conflict with `changed` = paths of the changed items, or when what was
    there before is no longer kept.
    """
    found = last(jail)
    if found is None:
        raise NotFound("There is no import to undo")
    base, journal = found
    kept = {number for number in range(len(journal.items)) if _is_there(jail, f"{base}/old/{number}")}
    lost = [item.path for number, item in enumerate(journal.items) if item.had and number not in kept]
    if lost:
        raise Conflict(f"What was there before is no longer in {FOLDER}: {', '.join(lost)}; nothing was undone")
    changed = [item.path for item in journal.items if digest_of(jail, item.path) != item.digest]
    if changed and not force:
        raise Conflict(f"Changed since the import, and would be lost: {', '.join(changed)}", changed=changed)
    _write(jail, base, journal.now("undoing"))
    crashpoint("import.moved")
    _back(jail, base, journal)
    return journal


def _lay_out(jail: Jail, source: Path, steps: Sequence[Step], base: str, journal: Journal) -> None:
    """All items beside each other, and the journal behind them; nothing in the workspace has moved yet."""
    try:
        for number, step in enumerate(steps):
            for file in step.item.files:
                _copy(jail, source / file, f"{base}/new/{number}{file.removeprefix(step.item.path)}")
        _write(jail, base, journal)
    except BaseException:
        with suppress(HaloError):
            remove(jail, base)
        raise
    crashpoint("import.staged")


def _back(jail: Jail, base: str, journal: Journal) -> None:
    """Everything as it was before. Safe to repeat: what already went back is passed over."""
    for number, item in reversed(list(enumerate(journal.items))):
        new, old = f"{base}/new/{number}", f"{base}/old/{number}"
        put_aside = _is_there(jail, old)
        came = not _is_there(jail, new) and (put_aside or not item.had)
        if came and _is_there(jail, item.path):
            move(jail, item.path, new)
        if put_aside:
            move(jail, old, item.path)
    for path in reversed(journal.made):
        with suppress(HaloError), jail.errors(path), jail.spot(path, writing=True, keep_link=True) as spot:
            os.rmdir(spot.name, dir_fd=spot.folder)  # fails, as it should, when something is in it
    remove(jail, base)


def _all(jail: Jail) -> list[str]:
    """The folders of imports, the newest last."""
    try:
        return [f"{FOLDER}/{entry.name}" for entry in jail.entries(FOLDER) if entry.is_dir]
    except NotFound:
        return []


def _read(jail: Jail, base: str) -> Journal | None:
    try:
        return Journal.load(jail.read(f"{base}/{JOURNAL}", limit=LIMIT)[0])
    except HaloError:
        return None


def _write(jail: Jail, base: str, journal: Journal) -> None:
    jail.write(f"{base}/{JOURNAL}", journal.dump())


def _copy(jail: Jail, source: Path, target: str) -> None:
    with source.open("rb") as file, jail.draft(target, create=True) as (spot, draft):
        while piece := file.read(PIECE):
            draft.write(piece)
        draft.publish(spot.name)


def _is_there(jail: Jail, path: str) -> bool:
    """Also for a link that leads nowhere."""
    try:
        with jail.errors(path), jail.spot(path, keep_link=True) as spot:
            os.stat(spot.name, dir_fd=spot.folder, follow_symlinks=False)
    except NotFound:
        return False
    return True
