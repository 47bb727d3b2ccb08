"""Changes of the two settings files, see `settings_store`: one leaf, many, or a whole file; never over a broken one."""

import os
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from . import sealed
from .atomic_file import folder_lock, replace_in
from .errors import BadRequest, Conflict, HaloError, NotFound, StorageFull
from .general_settings import GENERAL_BY_KEY
from .settings_schema import Field
from .settings_store import PLACEHOLDER, Layer, Scope, Tree, at, file_of, layer, leaves, open_folder, put, read_file
from .text import clean
from .yaml_edit import delete_value, dump, set_value
from .yaml_files import load_mapping

_SEGMENT = re.compile(r"[\w-]{1,128}")
_REFUSED = frozenset({"constructor", "prototype"})


def is_refused(segment: str) -> bool:
    """Names no part of a key may have, whoever reads or writes it."""
    return segment.startswith("__") or segment in _REFUSED


def check_key(key: str) -> list[str]:
    """The segments of a key that may be written: a declared `general.*`, or `<id>.params|secrets.<name>`.

    Raises BadRequest `Invalid key`.
    """
    parts = key.split(".")
    for part in parts:
        if not _SEGMENT.fullmatch(part) or is_refused(part):
            raise BadRequest("Invalid key")
    if parts[0] == "general":
        if key.removeprefix("general.") not in GENERAL_BY_KEY:
            raise BadRequest("Invalid key")
    elif len(parts) < 3 or len(parts) > 8 or parts[1] not in ("params", "secrets"):
        raise BadRequest("Invalid key")
    return parts


def check_value(key: str, value: Any, declared: Field | None, scope: Scope) -> Any:
    """`value` as it is stored. Raises BadRequest: wrong type, not acceptable, or global only."""
    if declared is not None and declared.global_only and scope == "workspace":
        raise BadRequest(f"{key} is global-only and cannot be set per workspace")
    if sealed.is_sealed(value):
        raise BadRequest(f"{key} must not begin with {sealed.PREFIX}")
    if value is None or isinstance(value, str | int | float | bool):
        if isinstance(value, str) and len(value) > 65_536:
            raise BadRequest(f"{key} is longer than 65536 characters")
        stored: Any = clean(value) if isinstance(value, str) else value
    elif isinstance(value, list) and declared is not None and declared.type == "list" and len(value) <= 1000:
        stored = [str(item) for item in value]
    else:
        raise BadRequest(f"{key} must be a single value")
    if declared is not None:
        read = replace(declared, key=key).read(stored)  # messages name the whole key
        if declared.type == "list" and isinstance(read, list):
            return ",".join(read)
    return stored


def _kept(scope: Scope, key: str, value: Any, secret: bool) -> Any:
    """The value as it stands in the file: sealed when it is a secret of the home and there is a key for that."""
    is_secret = secret or key.split(".")[1:2] == ["secrets"]
    if (
        scope == "global"
        and is_secret
        and sealed.is_on()
        and isinstance(value, str)
        and not PLACEHOLDER.fullmatch(value)
    ):
        return sealed.seal(key, value)
    return value


def write(scope: Scope, workspace: Path | None, key: str, value: Any, *, secret: bool = False) -> None:
    """Set one leaf; None or "" unsets it. Key and value are checked by the caller. secret: a param declared as one.
    Raises Conflict when the file is broken, NotFound when the workspace is gone, StorageFull."""
    path = key.split(".")
    if value is None or value == "":
        delete(scope, workspace, key)
    else:
        _change(scope, workspace, lambda text: set_value(text, path, _kept(scope, key, value, secret)))


def write_many(scope: Scope, workspace: Path | None, values: Mapping[str, Any]) -> None:
    """Set several leaves, all or none; keys and values are checked by the caller. Raises like `write`."""

    def edit(text: str) -> str:
        for key, value in values.items():
            text = set_value(text, key.split("."), _kept(scope, key, value, False))
        return text

    _change(scope, workspace, edit)


def delete(scope: Scope, workspace: Path | None, key: str) -> None:
    """Unset one leaf or branch; fine when it is not there."""
    _change(scope, workspace, lambda text: delete_value(text, key.split(".")))


def replace_all(
    scope: Scope, workspace: Path | None, tree: Tree, version: str | None = None, *, secret: Collection[str] = ()
) -> None:
    """Put `tree` in place of the whole file. version: of the file it was made from; Conflict when it is another now.

    secret: keys of params that are declared as secrets.
    """
    kept: Tree = {}
    for key, value in leaves(tree):
        put(kept, key, _kept(scope, key, value, key in secret))
    _change(scope, workspace, lambda text: dump(kept) if kept else "", version)


def reseal(secret: Collection[str], *, seal: bool) -> int:
    """Seal the secrets of the global file that stand there in clear, or open all; how many. `secret`: as above."""
    changed = 0

    def edit(text: str) -> str:
        nonlocal changed
        known = layer(file_of("global", None)).values
        for key, stored in leaves(load_mapping(text)):
            plain = at(known, key)
            new = _kept("global", key, plain, key in secret) if seal else plain
            if sealed.is_sealed(stored) == seal or sealed.is_sealed(new) != seal or not isinstance(plain, str):
                continue
            text = set_value(text, key.split("."), new)
            changed += 1
        return text

    _change("global", None, edit)
    return changed


def version_of(scope: Scope, workspace: Path | None) -> str:
    """Another one after every change of the file, whoever makes it. Made of its times and size, not of its secrets."""
    return _version(layer(file_of(scope, workspace)))


def _version(state: Layer) -> str:
    return "-".join(f"{number:x}" for number in state.stamp)


def _change(scope: Scope, workspace: Path | None, edit: Callable[[str], str], version: str | None = None) -> None:
    path = file_of(scope, workspace)
    folder = _folder(path, scope, workspace)
    try:
        with folder_lock(folder):
            state = layer(path)
            if state.error:
                raise Conflict(f"{state.error}. Mend the file first; nothing was saved.", line=state.line)
            if version not in (None, _version(state)):
                raise Conflict("Somebody else changed these settings. Load them again; nothing was saved.")
            try:
                text = read_file(path)
            except FileNotFoundError:
                text = ""
            new = edit(text)
            if new != text:
                replace_in(folder, path.name, new.encode(), mode=0o600, where=path.parent)
                layer(path)  # known as good from now on
    except HaloError:
        raise
    except OSError as error:
        raise StorageFull(f"The settings were not saved: {error.strerror}") from error
    finally:
        os.close(folder)


def _folder(path: Path, scope: Scope, workspace: Path | None) -> int:
    """The open folder of the file, made when missing; but a workspace root that vanished stays away."""
    try:
        if scope == "workspace":
            if workspace is None or not workspace.is_dir():
                raise NotFound("Project not found")
            path.parent.mkdir(exist_ok=True)
        else:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            path.parent.chmod(0o700)
        return open_folder(path)
    except OSError as error:
        raise StorageFull(f"The settings were not saved: {error.strerror}") from error
