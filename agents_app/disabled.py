"""Which agents and skills a workspace does without.

The set is read once per build and handed down, so that finding agents and skills stays a matter of files alone.
"""

import json
import logging
import os
from pathlib import Path
from typing import Literal

from halo_site.lib.db import in_transaction
from halo_site.lib.errors import HaloError
from halo_site.lib.prepared import Param, Select
from workspaces_app.jail import Jail
from workspaces_app.models import Workspace

from .models import DisabledItem

log = logging.getLogger(__name__)
MIRROR = ".halo/disabled.json"
ItemType = Literal["agent", "skill"]
Disabled = frozenset[tuple[str, str, str]]  # (agent or skill, id, scope)
NOTHING: Disabled = frozenset()

_OF_KEY = Select(
    lambda: DisabledItem.objects.filter(workspace=Param("workspace")).values_list("item_type", "item_id", "scope")
)
_OF_PATH = Select(
    lambda: DisabledItem.objects.filter(workspace__path=Param("path")).values_list("item_type", "item_id", "scope")
)


def disabled_in(workspace_key: int) -> Disabled:
    """What the workspace with this key switched off."""
    return frozenset((kind, item, scope) for kind, item, scope in _OF_KEY.rows(workspace=workspace_key))


def disabled_at(folder: Path | None) -> Disabled:
    """The same by folder; nothing is off where no workspace is meant."""
    if folder is None:
        return NOTHING
    found = _OF_PATH.rows(path=os.path.realpath(folder))
    return frozenset((kind, item, scope) for kind, item, scope in found)


@in_transaction
def set_disabled(workspace: Workspace, kind: ItemType, item_id: str, scope: str, *, off: bool) -> bool:
    """Switch an item off or on; False = it was like that already."""
    rows = DisabledItem.objects.filter(workspace=workspace, item_type=kind, item_id=item_id, scope=scope)
    if off:
        return rows.get_or_create(workspace=workspace, item_type=kind, item_id=item_id, scope=scope)[1]
    return rows.delete()[0] > 0


def mirror(workspace: Workspace) -> None:
    """Write what is off beside the files, so that it goes along when the folder is shared. The rows stay the truth."""
    off = sorted(disabled_in(workspace.pk))
    document = {kind: [f"{scope}:{item}" for one, item, scope in off if one == kind] for kind in ("agent", "skill")}
    try:
        Jail(Path(workspace.path), confined=True).write(MIRROR, f"{json.dumps(document, indent=1)}\n".encode())
    except (HaloError, OSError) as error:
        log.warning("%s of %s was not written: %s", MIRROR, workspace.path, error)
