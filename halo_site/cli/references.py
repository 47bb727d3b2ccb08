"""`@file` and `@image` in a typed prompt (spec cli-tui-acp 7). `@scope` is the accept's part.

Only what the person typed is looked through, never what came by a pipe: a brief may quote what others wrote, and must
not pull files of this machine into a request.
"""

import codecs
import os
import re
from dataclasses import dataclass
from pathlib import Path

_MARK = re.compile(r'(?<!\S)@(file|image)\s+(?:"([^"\n]+)"|([^\s"]\S*))')
IMAGES = frozenset({".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp"})
MOST_TEXT = 100 * 1024  # bytes
MOST_IMAGE = 5 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Resolved:
    """`text` is what the model gets, `images` the bytes of what it sees, `warnings` are for the person."""

    text: str
    images: tuple[bytes, ...] = ()
    warnings: tuple[str, ...] = ()


def resolve(workspace: Path, prompt: str) -> Resolved:
    """Put files in the place of their marks. Relative paths count from the workspace. Never raises for a bad path."""
    images: list[bytes] = []
    warnings: list[str] = []

    def put(found: re.Match[str]) -> str:
        named = found[2] or found[3]
        path = Path(workspace, named if "\0" in named else os.path.expanduser(named))
        if found[1] == "image" or path.suffix.lower() in IMAGES:
            return _image(path, named, images, warnings)
        return _text(workspace, path, named, warnings)

    text = _MARK.sub(put, prompt)
    return Resolved(text, tuple(images), tuple(warnings))


def _read(path: Path, most: int) -> bytes | str:
    """Its first bytes, or why there are none."""
    try:
        if not path.exists():
            return "not found"
        if not path.is_file():
            return "not a file"
        with path.open("rb") as file:
            return file.read(most)
    except (OSError, ValueError) as error:
        return "not readable" if isinstance(error, OSError) else "not found"


def _text(workspace: Path, path: Path, named: str, warnings: list[str]) -> str:
    data = _read(path, MOST_TEXT)
    if isinstance(data, str):
        warnings.append(f"@file {named}: {data}")
        return f"[{data}: {named}]"
    size = path.stat().st_size
    cut = size > len(data)
    body = codecs.getincrementaldecoder("utf-8")("replace").decode(data, final=not cut)
    if cut:
        note = f"[truncated: file is {size // 1024}KB, showing first {MOST_TEXT // 1024}KB]"
        warnings.append(f"@file {named}: {note[1:-1]}")
        body += f"\n{note}"
    inside = path.resolve().is_relative_to(workspace.resolve())
    shown = path.resolve().relative_to(workspace.resolve()) if inside else path
    return f'\n<file path="{shown}">\n{body}\n</file>\n'


def _image(path: Path, named: str, images: list[bytes], warnings: list[str]) -> str:
    data = _read(path, MOST_IMAGE + 1)
    if isinstance(data, str):
        warnings.append(f"@image {named}: {data}")
        return f"[{data}: {named}]"
    if len(data) > MOST_IMAGE:
        warnings.append(f"@image {named}: larger than 5 MiB, left out")
        return f"[image left out: {named}]"
    images.append(data)
    return f"[image: {named}]"
