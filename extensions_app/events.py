"""What this app announces to open pages."""

from dataclasses import dataclass
from typing import Any, ClassVar

from halo_site.lib.events import Event


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtensionChanged(Event):
    """The whole snapshot, as `GET /api/extensions` answers it."""

    type: ClassVar[str] = "extension:changed"
    extensions: list[dict[str, Any]]
    errors: list[dict[str, str]]
    isolation: str
