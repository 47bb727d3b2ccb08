"""Pixels of images that a history only names. Read late, scaled for the model, cached by file state."""

import asyncio
import base64
from functools import lru_cache
from pathlib import Path
from typing import Any

from agents_app.images import check, edge_for, fit
from agents_app.providers.contract import Message
from halo_site.lib.errors import HaloError


async def with_pixels(messages: list[Message], vision: bool) -> list[Message]:
    """The same messages with base64 in place of path sources; untouched when there is none or the model is blind."""
    if not vision or not any(_named(block) for message in messages for block in message["content"]):
        return messages
    return await asyncio.to_thread(_filled, messages)


def _named(block: dict[str, Any]) -> bool:
    return block.get("type") == "image" and block["source"].get("type") == "path"


def _filled(messages: list[Message]) -> list[Message]:
    count = sum(_named(block) for message in messages for block in message["content"])
    return [
        {**message, "content": [_block(block, count) if _named(block) else block for block in message["content"]]}
        for message in messages
    ]


def _block(block: dict[str, Any], count: int) -> dict[str, Any]:
    path = Path(block["source"]["path"])
    try:
        state = path.stat()
        media_type, data = _encoded(path, state.st_mtime_ns, state.st_size, edge_for(count))
    except OSError:
        return {"type": "text", "text": "[image no longer on disk]"}
    except HaloError as error:  # the file was changed since it was sent
        return {"type": "text", "text": f"[image left out: {error}]"}
    return {"type": "image", "source": {"type": "base64", "media_type": media_type, "data": data}}


@lru_cache(maxsize=32)
def _encoded(path: Path, _mtime: int, _size: int, edge: int) -> tuple[str, str]:
    """(media type, base64) within what vendors take. The file's state is part of the key."""
    picture = fit(check(path.read_bytes()), edge=edge)
    return picture.media_type, base64.b64encode(picture.data).decode()
