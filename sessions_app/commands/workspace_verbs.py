"""`/workspace ...`."""

import os
from pathlib import Path

from halo_site.lib.errors import HaloError, NotFound
from workspaces_app.actions import open_folder

from .context import Context, Result


def info(context: Context, rest: str) -> Result:
    return Result(text=context.say("workspace.current", path=context.workspace.path))


def switch(context: Context, rest: str) -> Result:
    """An absolute path, `~/x`, or a name in the home folder; opened as the caller may open it."""
    if not rest or "\0" in rest:
        return Result(text=context.say("workspace.switch_usage"))
    path = Path(rest).expanduser() if rest.startswith("~/") else Path(rest)
    real = os.path.realpath(path if path.is_absolute() else Path.home() / path)
    if real == context.workspace.path:
        return Result(text=context.say("workspace.same"))
    try:
        workspace, _ = open_folder(context.caller, real)
    except NotFound:  # also for folders that are there and not yours
        return Result(text=context.say("workspace.not_found", path=rest))
    except HaloError as error:
        return Result(text=context.say("workspace.failed", error=error))
    return Result(text=context.say("workspace.done", path=workspace.path), workspace=workspace.path)
