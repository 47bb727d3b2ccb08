"""Tool view_image: look at a picture. Result: a line of text and an image block with what the model gets.

What is sent is judged by its bytes, decoded as a whole first, and made small enough: a bad picture in a conversation
makes every later request fail. The file on disk stays as it is.
"""

import base64
import hashlib
from pathlib import PurePath

from pydantic import Field

from halo_site.lib.errors import BadRequest, TooLarge, UnsupportedMedia

from .. import images
from .contract import Tool, ToolContext, ToolParams, ToolResult, refused
from .door import door, in_thread

SUFFIXES = (".png", ".jpg", ".jpeg", ".gif", ".webp")
FILE_LIMIT = 64 * 1024 * 1024  # bytes


class Params(ToolParams):
    """Look at an image file (png, jpg, jpeg, gif, webp). Large ones are scaled down for you."""

    path: str = Field(description="Image file, relative to the workspace root")


def _view(params: Params, ctx: ToolContext) -> ToolResult:
    if PurePath(params.path).suffix.lower() not in SUFFIXES:
        return refused(f"{params.path} is not an image by its name ({', '.join(SUFFIXES)})")
    data, _ = door(ctx).read(params.path, limit=FILE_LIMIT)
    try:
        whole = images.check(data, limit=FILE_LIMIT)
        sent = images.fit(whole, edge=images.TOOL_EDGE)
    except (BadRequest, TooLarge, UnsupportedMedia) as error:
        return refused(f"{params.path} was not loaded: {error}")
    md5 = hashlib.md5(data, usedforsecurity=False).hexdigest()[:8]
    resized = f" — resized from {whole.width}x{whole.height} to {sent.width}x{sent.height}" if sent != whole else ""
    text = f"Image loaded: {params.path} ({sent.media_type}, {len(sent.data) / 1024:.1f} KB, md5: {md5}{resized})"
    source = {"type": "base64", "media_type": sent.media_type, "data": base64.b64encode(sent.data).decode()}
    return ToolResult(text, ({"type": "image", "source": source},))


async def run(params: Params, ctx: ToolContext) -> ToolResult:
    return await in_thread(_view, params, ctx)


TOOL = Tool(name="view_image", params=Params, run=run, read_only=True)
