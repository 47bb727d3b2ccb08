"""Images on their way into a message: checked by their bytes, kept below the workspace (spec ws-protocol 16).

They lie in `.halo/assets/web/inbound/web/<yyyy-mm-dd>/`, named `image_<HHMMSS>_<6 hex><ext>`.
"""

import base64
import binascii
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.utils import timezone

from agents_app.images import MAX_UPLOAD, Picture, check
from halo_site.lib.access_level import Access
from halo_site.lib.errors import BadRequest, UnsupportedMedia
from workspaces_app.jail import Jail
from workspaces_app.models import Workspace

from .models import Upload

__all__ = ["MAX_UPLOAD", "InlineImage", "forget_unused", "save_inline", "save_upload"]

FOLDER = ".halo/assets/web/inbound/web"
UNUSED_FOR = timedelta(hours=24)
_SUFFIXES = {"image/png": ".png", "image/jpeg": ".jpg", "image/gif": ".gif", "image/webp": ".webp"}


@dataclass(frozen=True, slots=True)
class InlineImage:
    """An image inside a frame. Its MIME type is read from the bytes, whatever the client said."""

    data: str  # base64


def checked(data: bytes) -> Picture:
    """Raises BadRequest `not an image`, or the reason; TooLarge over 5 MiB or 50 megapixels."""
    try:
        return check(data)
    except UnsupportedMedia as error:
        raise BadRequest("not an image") from error


def save_upload(workspace: Workspace, user_id: int, data: bytes) -> Upload:
    """Keep an image until a message names it; unused ones go after a day."""
    picture = checked(data)
    path = _save(workspace, picture)
    forget_unused()
    return Upload.objects.create(
        id=secrets.token_hex(16),
        workspace=workspace,
        user_id=user_id,
        path=str(path),
        mime_type=picture.media_type,
        size=len(data),
        width=picture.width,
        height=picture.height,
    )


def save_inline(workspace: Workspace, images: Sequence[InlineImage]) -> list[dict[str, Any]]:
    """Blocks of a message for images that came within its frame. All are checked before one is saved."""
    pictures = [checked(_decoded(image.data)) for image in images]
    return [
        {"type": "image", "upload": None, "path": str(_save(workspace, picture)), "media_type": picture.media_type}
        for picture in pictures
    ]


def forget_unused() -> int:
    """Remove uploads that no message named within a day, and their files."""
    old = Upload.objects.filter(used=False, created_at__lt=timezone.now() - UNUSED_FOR)
    removed = 0
    for upload in old[:100]:
        if Upload.objects.filter(pk=upload.pk, used=False).delete()[0]:
            Path(upload.path).unlink(missing_ok=True)
            removed += 1
    return removed


def _save(workspace: Workspace, picture: Picture) -> Path:
    now = timezone.now()
    name = f"image_{now:%H%M%S}_{secrets.token_hex(3)}{_SUFFIXES[picture.media_type]}"
    path = f"{FOLDER}/{now:%Y-%m-%d}/{name}"
    jail = Jail(Path(workspace.path), level=Access.WORKSPACE, confined=True)
    jail.write(path, picture.data)
    return Path(workspace.path) / path


def _decoded(text: str) -> bytes:
    """Base64, also as a data URL."""
    if text.startswith("data:"):
        text = text.partition(",")[2]
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise BadRequest("not an image") from error
