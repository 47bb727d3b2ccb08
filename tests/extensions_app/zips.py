"""Zips for tests, good and hostile; imports no product code."""

import io
import json
import stat
import zipfile
from typing import Any

MANIFEST: dict[str, Any] = {
    "id": "mol-view",
    "name": "Molecule viewer",
    "version": "1.2.0",
    "extensions": [".mol", ".pdb"],
    "entry": "index.html",
}


def manifest(**changes: Any) -> bytes:
    merged = MANIFEST | changes
    return json.dumps({key: value for key, value in merged.items() if value is not ...}).encode()


def good(**changes: Any) -> dict[str, bytes]:
    return {"halo-extension.json": manifest(**changes), "index.html": b"<!doctype html><p>hello", "js/a.js": b"1;"}


def zipped(files: dict[str, bytes], *, below: str = "", compress: int = zipfile.ZIP_DEFLATED) -> io.BytesIO:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", compress) as archive:
        for name, data in files.items():
            archive.writestr(below + name, data)
    return ready(made)


def with_entry(
    name: str, data: bytes = b"evil", *, mode: int | None = None, files: dict[str, bytes] | None = None
) -> io.BytesIO:
    """A good extension, or `files`, and one entry more, whose stored name is exactly `name`."""
    made = io.BytesIO()
    stored = name.encode("utf-8", "surrogatepass")
    placeholder = "x" * len(stored)
    with zipfile.ZipFile(made, "w") as archive:
        for path, content in (good() if files is None else files).items():
            archive.writestr(path, content)
        info = zipfile.ZipInfo(placeholder)
        info.external_attr = (stat.S_IFREG | 0o644 if mode is None else mode) << 16
        archive.writestr(info, data)
    raw = made.getvalue().replace(placeholder.encode(), stored)
    if not name.isascii():  # say that the name is UTF-8
        for magic, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
            place = raw.rfind(magic)
            raw = raw[: place + at] + b"\x00\x08" + raw[place + at + 2 :]
    return ready(io.BytesIO(raw))


def ready(file: io.BytesIO) -> io.BytesIO:
    file.seek(0)
    file.name = "extension.zip"
    return file
