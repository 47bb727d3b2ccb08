"""Notices when a tool of a run with full access changed what steers agents, and writes it into the trail (F4)."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from django.conf import settings

from halo_site.lib.access_level import Access
from workspaces_app.audit import audit
from workspaces_app.control_state import changed, control_state

from ..models import Session
from .run import Run

MOST_NAMED = 50


@asynccontextmanager
async def watched(run: Run, tool: str, level: Access, *, reads: bool) -> AsyncIterator[None]:
    """Below full access those files cannot be written, and a tool that only reads changes none."""
    if level is not Access.FULL or reads:
        yield
        return
    places = Path(run.facts.workspace_path), Path(settings.HALO.global_dir)
    before = await asyncio.to_thread(control_state, *places)
    try:
        yield
    finally:
        files = changed(before, await asyncio.to_thread(control_state, *places))
        if files:
            await run.threads.run_for(run.facts.key, _write, run.facts.key, tool, files)


def _write(session_key: int, tool: str, files: list[str]) -> None:
    session = Session.objects.select_related("workspace", "created_by").filter(pk=session_key).first()
    if session is not None:
        audit(
            "control.change",
            actor=session.created_by,
            target=session.sid,
            workspace=session.workspace,
            detail={"tool": tool, "files": files[:MOST_NAMED], "count": len(files)},
        )
