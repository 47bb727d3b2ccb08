"""Settings in two layers: `<home>/secrets/settings.yaml`, and `<ws>/.halo/settings.yaml` over it, leaf by leaf.

Files are read again when mtime, size or inode change; a file that stopped being valid YAML keeps its last good values
in force and refuses writes until it is mended (spec settings-auth-secrets). Values are kept as the text of the file;
the schema says what is a number. `<<NAME>>` is filled from the environment only where a value is used.
"""

import logging
import os
import re
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from django.conf import settings

from . import sealed
from .env import SERVER_SECRETS
from .errors import BadRequest
from .general_settings import GENERAL_BY_KEY
from .remembered import looking_at
from .settings_schema import Value
from .text import decode
from .yaml_files import MAX_BYTES, YamlError, load_mapping

log = logging.getLogger(__name__)

Scope = Literal["global", "workspace"]
Tree = dict[str, Any]

PLACEHOLDER = re.compile(r"<<([A-Z_][A-Z0-9_]*)>>")
_MISSING_STAMP = (0, 0, 0)


@dataclass(slots=True)
class Layer:
    """One settings file as it was last read. `error`: why the newest text is not used; `line` of it, 0 = unknown."""

    stamp: tuple[int, int, int] = (-1, -1, -1)
    values: Tree = field(default_factory=dict)
    error: str = ""
    line: int = 0


_lock = threading.Lock()
_layers: dict[Path, Layer] = {}


def file_of(scope: Scope, workspace: Path | None) -> Path:
    """Raises BadRequest for scope workspace without one."""
    if scope == "global":
        return Path(settings.HALO.secrets_dir, "settings.yaml")
    if workspace is None:
        raise BadRequest("projectId required for workspace settings")
    return workspace / ".halo" / "settings.yaml"


def layer(path: Path) -> Layer:
    """The layer as of now. A missing file is an empty layer; an unreadable one keeps what was known."""
    looking_at(path)
    with _lock:
        known = _layers.setdefault(path, Layer())
        try:
            found = path.lstat()
            stamp = (found.st_mtime_ns, found.st_size, found.st_ino)
            if stamp == known.stamp:
                return known
            text = read_file(path)
        except (FileNotFoundError, NotADirectoryError):
            fresh = Layer(_MISSING_STAMP)
        except OSError as error:
            fresh = Layer(known.stamp, known.values, f"{path} cannot be read: {error.strerror}")
        else:
            try:
                fresh = _opened(path, Layer(stamp, load_mapping(text)))
            except YamlError as error:
                fresh = Layer(stamp, known.values, f"{path}: {error}", error.line)
                log.error("settings stay as they were: %s: %s", path, error)
        _layers[path] = fresh
        return fresh


def _opened(path: Path, state: Layer) -> Layer:
    """Sealed secrets of the global file opened. One that does not open counts as unset, and writes are refused."""
    if path != file_of("global", None):
        return state
    locked: list[tuple[str, str]] = []
    state.values = sealed.opened(state.values, lambda key, reason: locked.append((key, reason)))
    if locked:
        state.error = f"{path}: {', '.join(key for key, _ in locked)} cannot be opened: {locked[0][1]}"
        log.error("%s", state.error)
    return state


def read_file(path: Path) -> str:
    """At most the size we accept. Links are not followed: a workspace must not show us somebody else's file."""
    folder = open_folder(path)
    try:
        handle = os.open(path.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    finally:
        os.close(folder)
    with os.fdopen(handle, "rb") as file:
        return decode(file.read(MAX_BYTES + 1))


def open_folder(path: Path) -> int:
    """The folder of a settings file. `.halo` of a workspace may not be a link; `secrets` of a home may."""
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
    return os.open(path.parent, flags | (os.O_NOFOLLOW if path.parent.name == ".halo" else 0))


def errors(workspace: Path | None) -> list[dict[str, object]]:
    """The layers whose file does not parse: `{scope, path, error, line}`, for the banner in Settings."""
    scopes: list[Scope] = ["global"] if workspace is None else ["global", "workspace"]
    found = []
    for scope in scopes:
        path = file_of(scope, workspace)
        if (state := layer(path)).error:
            found.append({"scope": scope, "path": str(path), "error": state.error, "line": state.line})
    return found


# -- reading ------------------------------------------------------------------------------------------------------


def at(tree: Mapping[str, Any], key: str) -> Any:
    """The value at a dotted key; None when there is none. Empty text counts as none."""
    node: Any = tree
    for name in key.split("."):
        if not isinstance(node, Mapping):
            return None
        node = node.get(name)
    return None if node == "" else node


def raw(key: str, workspace: Path | None = None, *, global_only: bool = False) -> tuple[Any, Scope | None]:
    """The stored value of one leaf and where it comes from; (None, None) when it is unset in both."""
    if workspace is not None and not global_only:
        value = at(layer(file_of("workspace", workspace)).values, key)
        if value is not None:
            return value, "workspace"
    value = at(layer(file_of("global", None)).values, key)
    return (None, None) if value is None else (value, "global")


def site_default(key: str) -> str:
    """A global `general.*` text where somebody set one, else "": then the browser decides. `key` without `general.`."""
    _, scope = raw(f"general.{key}", global_only=True)
    return str(general(key)) if scope else ""


def general(key: str, workspace: Path | None = None) -> Value | None:
    """A `general.*` setting in its type: workspace, else global, else default. `key` without `general.`.

    A stored value that is not acceptable is passed over with a log line. Raises KeyError for an undeclared key.
    """
    part = GENERAL_BY_KEY[key]
    for place in (workspace, None) if workspace is not None and not part.global_only else (None,):
        value, _ = raw(f"general.{key}", place, global_only=part.global_only)
        try:
            read = part.read(value)
        except BadRequest as error:
            log.warning("general.%s is ignored: %s", key, error)
            continue
        if read is not None:
            return read
    read = part.read(part.default)
    return [] if read is None and part.type == "list" else read


def number(key: str, workspace: Path | None = None) -> int:
    """A whole-number `general.*` setting that has a default."""
    value = general(key, workspace)
    assert isinstance(value, int), key
    return value


_limits: tuple[Layer, dict[str, int]] | None = None


def limits() -> dict[str, int]:
    """`general.limits.*` by their last name, as tools take them."""
    global _limits
    now = layer(file_of("global", None))
    if _limits is None or _limits[0] is not now:
        keys = [key for key in GENERAL_BY_KEY if key.startswith("limits.")]
        _limits = now, {key.removeprefix("limits."): number(key) for key in keys}
    return _limits[1]


def secrets_of(owner: str, workspace: Path | None = None, *, only: Scope | None = None) -> dict[str, str]:
    """`<owner>.secrets.*` for server code: workspace over global. Never shown or logged. `only`: one layer alone.

    The environment is filled in for the global layer only: a workspace may be somebody else's folder, and its file
    must not pull the server's variables into a request.
    """
    return _namespace(owner, "secrets", workspace, only)


def params_of(owner: str, workspace: Path | None = None) -> dict[str, str]:
    """`<owner>.params.*`, keys dotted where nested; numbers and booleans as text."""
    return _namespace(owner, "params", workspace, None)


def _namespace(owner: str, kind: str, workspace: Path | None, only: Scope | None) -> dict[str, str]:
    found: dict[str, str] = {}
    scopes: tuple[Scope, ...] = ("global", "workspace") if workspace is not None else ("global",)
    for scope in scopes:
        if only not in (None, scope):
            continue
        tree = at(layer(file_of(scope, workspace)).values, f"{owner}.{kind}")
        for key, value in leaves(tree if isinstance(tree, dict) else {}):
            if value not in (None, "") and not isinstance(value, list | dict):
                found[key] = expand_env(str(value)) if scope == "global" else str(value)
    return found


def expand_env(text: str, environ: Mapping[str, str] | None = None) -> str:
    """`<<NAME>>` filled from the environment. Unset names, and the server's own secrets, stay as they stand."""
    values = os.environ if environ is None else environ

    def fill(found: re.Match[str]) -> str:
        name = found.group(1)
        if name in SERVER_SECRETS or name not in values:
            log.warning("settings: the environment variable %s is not set or not allowed", name)
            return found.group(0)
        return values[name]

    return PLACEHOLDER.sub(fill, text)


def leaves(tree: Mapping[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    """Dotted key and value of every leaf; lists are leaves."""
    found: list[tuple[str, Any]] = []
    for key, value in tree.items():
        name = f"{prefix}.{key}" if prefix else str(key)
        if isinstance(value, dict):
            found += leaves(value, name)
        else:
            found.append((name, value))
    return found


def effective(workspace: Path | None) -> Tree:
    """`merged`, with every `general.*` leaf in its type and filled from its default. One tree to read from in a run.

    Secrets are in it as stored: use `secrets_of` for them, which fills the environment in.
    """
    tree = merged(workspace)
    for key in GENERAL_BY_KEY:
        put(tree, f"general.{key}", general(key, workspace))
    return tree


def merged(workspace: Path | None) -> Tree:
    """Both layers as one tree, workspace winning; keys that are global only come from the global file."""
    tree: Tree = {}
    for key, value in leaves(layer(file_of("global", None)).values):
        put(tree, key, value)
    if workspace is not None:
        for key, value in leaves(layer(file_of("workspace", workspace)).values):
            general_part = GENERAL_BY_KEY.get(key.removeprefix("general.")) if key.startswith("general.") else None
            if value not in (None, "") and not (general_part and general_part.global_only):
                put(tree, key, value)
    return tree


def put(tree: Tree, key: str, value: Any) -> None:
    """Set a leaf of a nested tree by its dotted key."""
    *above, last = key.split(".")
    for name in above:
        inner = tree.get(name)
        if not isinstance(inner, dict):
            inner = tree[name] = {}
        tree = inner
    tree[last] = value


# -- masking ------------------------------------------------------------------------------------------------------


def mask(value: str) -> str:
    """How a secret is shown: `<<NAME>>` as it is, up to 6 characters all stars, else first and last two."""
    if PLACEHOLDER.fullmatch(value):
        return value
    if len(value) <= 6:
        return "*" * len(value)
    return value[:2] + "*" * min(8, len(value) - 4) + value[-2:]


def is_mask_of(sent: Any, stored: Any) -> bool:
    """True when a client sends back what it was shown: then nothing is to be changed."""
    return isinstance(sent, str) and isinstance(stored, str) and "*" in sent and sent == mask(stored)
