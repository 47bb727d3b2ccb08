"""Measurements without a server: `python -m bench.NAME` has a process and a home of its own and prints JSON."""

import asyncio
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.server import ROOT, environment


async def alone(name: str, work: Path, *words: str) -> dict[str, Any]:
    """What `python -m bench.NAME WORDS` found. work: an existing scratch folder."""
    home = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=work))
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", f"bench.{name}", *words),
        cwd=ROOT,
        env=environment(home, HALO_LOG_LEVEL="error"),
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        out, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
    if process.returncode:
        raise RuntimeError(f"bench.{name} ended with {process.returncode}")
    found: dict[str, Any] = json.loads(out.splitlines()[-1])
    return found


def begin() -> Path:
    """In the child: Django, on the home that HALO_HOME names (without one: on a new one)."""
    home = Path(os.environ.setdefault("HALO_HOME", tempfile.mkdtemp(prefix="halo-bench-")))
    for part in ("global", "secrets"):
        (home / part).mkdir(parents=True, mode=0o700)
    os.environ["DJANGO_SETTINGS_MODULE"] = "halo_site.settings"
    import django

    django.setup()
    return home
