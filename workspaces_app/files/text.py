"""Bytes of a file to text and back, without loss: what was read is what an unchanged save writes. Pure."""

import codecs
from dataclasses import dataclass

from halo_site.lib.errors import BadRequest, UnsupportedMedia

LOOKED_AT = 8192  # bytes searched for NUL

# Wire name -> codec and byte order mark.
ENCODINGS: dict[str, tuple[str, bytes]] = {
    "utf-8": ("utf-8", b""),
    "utf-8-bom": ("utf-8", codecs.BOM_UTF8),
    "utf-16le": ("utf-16-le", codecs.BOM_UTF16_LE),
    "utf-16be": ("utf-16-be", codecs.BOM_UTF16_BE),
    "gb18030": ("gb18030", b""),
    "latin-1": ("latin-1", b""),
}


@dataclass(frozen=True, slots=True)
class Text:
    content: str
    encoding: str  # a key of ENCODINGS


def detect(data: bytes) -> str | None:
    """The encoding of a text file; None = it is no text. Byte order mark, then UTF-8, GB18030, Latin-1."""
    for name in ("utf-8-bom", "utf-16le", "utf-16be"):
        codec, mark = ENCODINGS[name]
        if data.startswith(mark) and _decoded(data[len(mark) :], codec) is not None:
            return name
    if b"\0" in data[:LOOKED_AT]:
        return None
    return next(name for name in ("utf-8", "gb18030", "latin-1") if _decoded(data, name) is not None)


def to_text(data: bytes, encoding: str | None = None) -> Text:
    """Raises UnsupportedMedia for a binary file, BadRequest for an encoding that is unknown or does not fit."""
    name = encoding or detect(data)
    if name is None:
        raise UnsupportedMedia("This is a binary file and cannot be shown as text")
    codec, mark = _known(name)
    content = _decoded(data.removeprefix(mark), codec)
    if content is None:
        raise BadRequest(f"This file is not {name} text")
    return Text(content, name)


def to_bytes(content: str, encoding: str | None = None) -> bytes:
    """Raises BadRequest when the encoding is unknown or lacks a character of the text."""
    codec, mark = _known(encoding or "utf-8")
    try:
        return mark + content.encode(codec)
    except UnicodeEncodeError as error:
        char = error.object[error.start]
        raise BadRequest(f"{encoding or 'utf-8'} has no character {char!r}; save as utf-8 instead") from error


def _known(name: str) -> tuple[str, bytes]:
    found = ENCODINGS.get(name)
    if found is None:
        raise BadRequest(f"encoding must be one of {', '.join(ENCODINGS)}")
    return found


def _decoded(data: bytes, codec: str) -> str | None:
    try:
        return data.decode(codec)
    except UnicodeDecodeError:
        return None
