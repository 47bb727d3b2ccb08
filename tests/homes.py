"""A home of its own for one test: settings.HALO points there, nothing else is shared."""

from dataclasses import replace
from pathlib import Path
from typing import Any


def own_home(settings: Any, folder: Path, **changes: Any) -> Path:
    """Makes `folder` the home, with its two folders, for the rest of the test (`settings` is pytest-django's)."""
    home = folder / "home"
    for name in ("global", "secrets"):
        (home / name).mkdir(parents=True, mode=0o700)
    settings.HALO = replace(settings.HALO, home=home, **changes)
    return home
