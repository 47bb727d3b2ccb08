"""The `.halo/` folder of a workspace (spec storage 2.2). A root that vanished is never made again."""

from pathlib import Path

from halo_site.lib.access_level import Access
from halo_site.lib.errors import NotFound

from .jail import Jail

FOLDERS = (
    *("sessions", "agents", "skills", "logs", "memory", "canvas", "trash"),
    *("evo/runs", "evo/applies", "evo/history"),
)


def scaffold(root: Path) -> None:
    """Make what is missing; what is there stays. Safe to repeat, also at the same time.

    Raises NotFound when the root is gone, Forbidden when it may not be written or `.halo` is a link that leads out.
    """
    if not root.is_dir():
        raise NotFound("Project not found")
    files = Jail(root, level=Access.FULL, confined=True)
    for name in FOLDERS:
        files.make_folder(f".halo/{name}")
