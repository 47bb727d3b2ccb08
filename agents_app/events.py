"""What this app announces to open pages."""

from dataclasses import dataclass
from typing import ClassVar

from halo_site.lib.events import Event


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsChanged(Event):
    """Settings were saved: pages that show them load again. `scope`: global or workspace."""

    type: ClassVar[str] = "settings:changed"
    scope: str
    project_id: str | None = None  # path of the workspace


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentsChanged(Event):
    """Somebody made, changed, deleted or switched an agent in the app: load the list again.

    Files of a workspace that change on the disk are told by `file:changed`, those of the home by nothing.
    """

    type: ClassVar[str] = "agents:changed"
    scope: str
    project_id: str | None = None  # path of the workspace; absent = it concerns all of them


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillsChanged(Event):
    """The same for skills."""

    type: ClassVar[str] = "skills:changed"
    scope: str
    project_id: str | None = None
