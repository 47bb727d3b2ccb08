"""How tools reach files: one jail per call, made from the call's context."""

import asyncio
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from django.conf import settings

from workspaces_app.jail import Jail

from .contract import ToolContext

P = ParamSpec("P")
T = TypeVar("T")


def door(ctx: ToolContext) -> Jail:
    """Full access reaches the whole machine; lower levels the workspace, and the home's shared folder for reading."""
    return Jail(ctx.workspace, level=ctx.level, readable=(settings.HALO.global_dir,))


async def in_thread(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """File work never runs on the event loop."""
    return await asyncio.to_thread(work, *args, **kwargs)
