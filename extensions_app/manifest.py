"""`halo-extension.json`: what an extension says about itself (spec canvas-extensions 2.2). Pure: no disk.

Standard library only: see `steps`.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

NAME = "halo-extension.json"
MAX_BYTES = 64 * 1024
ID = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
VERSION = re.compile(
    r"(?:0|[1-9]\d{0,8})(?:\.(?:0|[1-9]\d{0,8})){2}(?:-[0-9A-Za-z-]{1,64}(?:\.[0-9A-Za-z-]{1,64}){0,8})?"
)
FILE_TYPE = re.compile(r"\.[a-z0-9]{1,32}")
PRIORITIES = ("default", "option")
CAPABILITIES = ("save",)
MOST_TYPES = 100


class BadManifest(Exception):
    """Why an extension cannot be used, for its author."""


@dataclass(frozen=True, slots=True)
class Manifest:
    id: str
    name: str
    version: str
    extensions: tuple[str, ...]
    entry: str
    priority: str = "default"
    capabilities: tuple[str, ...] = ()
    description: str | None = None
    homepage: str | None = None
    license: str | None = None


def is_older(version: str, than: str) -> bool:
    """Whether a version comes before another one, by the rules of semver. Both as `VERSION` has them."""
    return _rank(version) < _rank(than)


def _rank(version: str) -> tuple[object, ...]:
    numbers, _, pre = version.partition("-")
    # What has a pre-release part comes before the same without; in it numbers come before words.
    parts = [(0, int(part), "") if part.isdecimal() else (1, 0, part) for part in pre.split(".")] if pre else []
    return tuple(int(number) for number in numbers.split(".")), not pre, parts


def parse(data: bytes, folder: str | None, entry_exists: Callable[[str], bool]) -> Manifest:
    """The manifest in `data`. Unknown fields are passed over.

    folder: name of the directory, which must be the id; None = not known yet. entry_exists: is this relative path a
    file. Raises BadManifest with the first thing that is wrong.
    """
    raw = _object(data)
    given = raw.get("id")
    if not isinstance(given, str) or not ID.fullmatch(given):
        raise BadManifest(f"id must match ^{ID.pattern}$, not {_shown(given)}")
    if folder is not None and given != folder:
        raise BadManifest(f"id mismatch: manifest says {_shown(given)}")
    version = raw.get("version")
    if not isinstance(version, str) or not VERSION.fullmatch(version):
        raise BadManifest(f"version must be x.y.z or x.y.z-pre, not {_shown(version)}")
    return Manifest(
        id=given,
        name=_name(raw.get("name")),
        version=version,
        extensions=_file_types(raw.get("extensions")),
        entry=_entry(raw.get("entry"), entry_exists),
        priority=_priority(raw.get("priority", "default")),
        capabilities=_capabilities(raw.get("capabilities", [])),
        description=_text(raw, "description", 200),
        homepage=_homepage(_text(raw, "homepage", 2000)),
        license=_text(raw, "license", 200),
    )


def _object(data: bytes) -> dict[str, Any]:
    if len(data) > MAX_BYTES:
        raise BadManifest(f"{NAME} is larger than {MAX_BYTES // 1024} KiB")
    try:
        raw = json.loads(data.removeprefix(b"\xef\xbb\xbf").decode(), parse_constant=_no_number)
        json.dumps(raw, ensure_ascii=False).encode()  # half characters
    except (ValueError, RecursionError) as error:
        raise BadManifest(f"{NAME} is not JSON: {error}") from error
    if not isinstance(raw, dict):
        raise BadManifest(f"{NAME} must hold an object")
    return raw


def _no_number(text: str) -> None:
    raise ValueError(f"{text} is no number of JSON")


def _name(value: object) -> str:
    if not isinstance(value, str) or not 1 <= len(value.strip()) <= 64 or not value.isprintable():
        raise BadManifest(f"name must be 1 to 64 printable characters, not {_shown(value)}")
    return value.strip()


def _file_types(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not value or len(value) > MOST_TYPES:
        raise BadManifest(f'extensions must be a list such as [".glb"], not {_shown(value)}')
    for item in value:
        if not isinstance(item, str) or not FILE_TYPE.fullmatch(item):
            raise BadManifest(f"extensions: {_shown(item)} is not a dot with small letters and digits")
    return tuple(dict.fromkeys(value))


def _entry(value: object, exists: Callable[[str], bool]) -> str:
    if not isinstance(value, str) or not is_served(value) or not value.lower().endswith((".html", ".htm")):
        raise BadManifest(f"entry must be the relative path of an HTML file, not {_shown(value)}")
    if not exists(value):
        raise BadManifest(f"entry does not exist: {value}")
    return value


def _priority(value: object) -> str:
    if value not in PRIORITIES:
        raise BadManifest(f"priority must be default or option, not {_shown(value)}")
    return str(value)


def _capabilities(value: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise BadManifest(f"capabilities must be a list, not {_shown(value)}")
    for item in value:
        if item not in CAPABILITIES:
            raise BadManifest(f"capabilities: {_shown(item)} is unknown; there is: {', '.join(CAPABILITIES)}")
    return tuple(dict.fromkeys(value))


def _text(raw: dict[str, Any], key: str, longest: int) -> str | None:
    value = raw.get(key)
    if value is None:
        return None
    if not isinstance(value, str) or len(value) > longest:
        raise BadManifest(f"{key} must be text of at most {longest} characters")
    return value


def _homepage(value: str | None) -> str | None:
    if value is not None and not re.fullmatch(r"https?://[^\s\x00-\x1f]+", value):
        raise BadManifest(f"homepage must begin with http:// or https://, not {_shown(value)}")
    return value


def is_served(path: str) -> bool:
    """Whether a relative path is one we would serve: no empty, `.`, `..` or hidden part, no backslash, no NUL."""
    return "\\" not in path and "\0" not in path and all(part and not part.startswith(".") for part in path.split("/"))


def _shown(value: object) -> str:
    """A value of the manifest as JSON, short."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text if len(text) <= 80 else text[:77] + "..."
