"""Verbs: look at an archive, import it, take the last import back. One set for routes, slash command and terminal."""

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from django.conf import settings
from django.http import HttpRequest

from halo_site.lib import settings_store, settings_write
from halo_site.lib.access_level import Access
from halo_site.lib.errors import BadRequest, HaloError, NotFound, TooLarge
from workspaces_app.access import Caller, open_workspace
from workspaces_app.audit import audit
from workspaces_app.jail import Jail
from workspaces_app.models import Workspace

from ..item_news import announce_item
from ..settings_actions import announce
from . import desk
from .bundle import MAX_ZIP, Bundle, opened
from .contents import LeftOut
from .digest import digest_of
from .journal import Journal
from .needs import Need, needs
from .plan import Choice, Step, check_seen, chosen, plan_id

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Preview:
    """unset: keys of `needs` that have no value yet. last: the import that can be taken back."""

    steps: Sequence[Step]
    left_out: Sequence[LeftOut]
    needs: Sequence[Need]
    unset: frozenset[str]
    last: Journal | None

    @property
    def id(self) -> str:
        return plan_id(self.steps)


@dataclass(frozen=True, slots=True)
class Wanted:
    """values: parameters by key, for this workspace; only those that nobody set yet."""

    plan: str
    choice: Choice = field(default_factory=Choice)
    values: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Imported:
    """missing: keys of required parameters of what came that have no value yet."""

    paths: list[str]
    kept: list[str]
    missing: list[str]


@dataclass(frozen=True, slots=True)
class Actor:
    """Who does it and from where, for the audit trail. caller None = somebody at a terminal of the server."""

    caller: Caller | None = None
    request: HttpRequest | None = None
    address: str = ""


def workspace_for(caller: Caller, project_id: str | None) -> Workspace:
    """Importing steers agents: it needs full access. Raises BadRequest, NotFound, Forbidden."""
    return open_workspace(caller, project_id, Access.FULL)[0]


def check_size(size: int) -> None:
    if size > MAX_ZIP:
        raise TooLarge(f"The zip has {size} bytes; the limit is {MAX_ZIP}", maxBytes=MAX_ZIP)


def preview(workspace: Workspace, file: BinaryIO) -> Preview:
    """What an import would do. Changes nothing. Raises BadRequest for an archive that is not to be imported."""
    with opened(file) as bundle:
        return _preview(workspace, bundle)


def do_import(workspace: Workspace, file: BinaryIO, wanted: Wanted, *, name: str, actor: Actor) -> Imported:
    """All that was chosen, or nothing. name: of the zip.

    Raises Conflict when archive or workspace are not as in the preview `wanted.plan`; BadRequest, StorageFull.
    """
    with opened(file) as bundle:
        _checked(workspace, bundle, wanted)  # before anything is made in the workspace
        jail = _door(workspace)
        with desk.alone(jail):
            seen, steps, values = _checked(workspace, bundle, wanted)
            folder = Path(workspace.path)
            desk.bring(
                jail,
                bundle.folder,
                steps,
                name=name,
                at=int(time.time() * 1000),
                then=lambda: settings_write.write_many("workspace", folder, values) if values else None,
            )
    came = [step.item.path for step in steps]
    _told("workspace.import", workspace, actor, name, {"items": came, "values": sorted(values)})
    if values:
        announce("workspace", workspace)
    waiting = {need.key for need in seen.needs if need.required and need.item in came}
    kept = [step.item.path for step in seen.steps if step.item.path not in came]
    return Imported(came, kept, sorted((waiting & seen.unset) - set(values)))


def do_undo(workspace: Workspace, *, force: bool, actor: Actor) -> list[str]:
    """The paths that are as before the last import. Values in the settings stay. Raises NotFound, Conflict."""
    jail = _door(workspace)
    if not desk.is_used(jail):
        raise NotFound("There is no import to undo")
    with desk.alone(jail) as taken_back:
        # An undo that broke off is complete by now; another one would take back more than was asked.
        broken_off = [journal for journal in taken_back if journal.state == "undoing"]
        journal = broken_off[-1] if broken_off else desk.take_back(jail, force=force)
    paths = [item.path for item in journal.items]
    _told("workspace.import_undo", workspace, actor, journal.name, {"items": paths})
    return paths


def settle(workspace: Workspace) -> None:
    """Take back what a killed server left halfway. Raises nothing: a folder that cannot be mended still opens."""
    jail = _door(workspace)
    try:
        if desk.is_broken_off(jail):
            with desk.alone(jail):
                log.warning("an import that broke off was taken back in %s", workspace.path)
    except HaloError as error:
        log.error("an import that broke off could not be taken back in %s: %s", workspace.path, error)


def _door(workspace: Workspace) -> Jail:
    return Jail(Path(workspace.path), level=Access.FULL, confined=True)


def _preview(workspace: Workspace, bundle: Bundle) -> Preview:
    jail, ours = _door(workspace), Jail(bundle.folder, confined=True)
    steps = [
        Step(
            item,
            digest_of(ours, item.path) or "",
            digest_of(jail, item.path),
            _in_home(item.kind, item.name),
            bundle.size(item),
        )
        for item in bundle.items
    ]
    waiting = needs(bundle.items, bundle.text)
    folder = Path(workspace.path)
    unset = frozenset(need.key for need in waiting if settings_store.raw(need.key, folder)[0] is None)
    last = desk.last(jail)
    return Preview(steps, bundle.left_out, waiting, unset, last[1] if last else None)


def _in_home(kind: str, name: str) -> bool:
    """Whether the home has an agent or skill of this id, which the workspace's own would hide."""
    return kind in ("agent", "skill") and (Path(settings.HALO.global_dir) / f"{kind}s" / name).is_dir()


def _checked(workspace: Workspace, bundle: Bundle, wanted: Wanted) -> tuple[Preview, list[Step], dict[str, Any]]:
    seen = _preview(workspace, bundle)
    check_seen(seen.steps, wanted.plan)
    steps = chosen(seen.steps, wanted.choice)
    return seen, steps, _values(workspace, seen, {step.item.path for step in steps}, wanted.values)


def _values(workspace: Workspace, seen: Preview, coming: set[str], given: Mapping[str, Any]) -> dict[str, Any]:
    """As they are stored. Raises BadRequest for a key that what comes does not ask for, or that has a value."""
    asked = {need.key: need for need in seen.needs if need.item in coming}
    stored: dict[str, Any] = {}
    for key, value in given.items():
        if key not in asked:
            raise BadRequest(f"{key} is no parameter of what is imported")
        if value in (None, ""):
            continue
        if key not in seen.unset:
            raise BadRequest(f"{key} has a value already; change it in Settings")
        settings_write.check_key(key)
        stored[key] = settings_write.check_value(key, value, asked[key].field, "workspace")
    broken = settings_store.layer(settings_store.file_of("workspace", Path(workspace.path))).error
    if stored and broken:
        raise BadRequest(f"{broken}. Mend the file first, or import without values; nothing was imported.")
    return stored


def _told(action: str, workspace: Workspace, actor: Actor, name: str, detail: dict[str, object]) -> None:
    audit(
        action,
        actor=actor.caller,
        target=name,
        workspace=workspace,
        request=actor.request,
        address=actor.address,
        detail=detail if actor.caller else detail | {"door": "terminal"},
    )
    announce_item("agent", "workspace", workspace)
    announce_item("skill", "workspace", workspace)
