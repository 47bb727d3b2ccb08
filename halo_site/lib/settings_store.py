"""Settings in two layers: `<home>/secrets/settings.yaml`, and `<ws>/.halo/settings.yaml` over it, leaf by leaf.

Files are read again when mtime, size or inode change; a file that stopped being valid YAML keeps its last good values
in force and refuses writes until it is mended (spec settings-auth-secrets). Values are kept as the text of the file;
the schema says what is a number. `<<NAME>>` is filled from the environment only where a value is used.
"""

import logging
import os
import re
import threading
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from django.conf import settings

from . import sealed
from .atomic_file import folder_lock, replace_in
from .env import SERVER_SECRETS
from .errors import BadRequest, Conflict, HaloError, NotFound, StorageFull
from .general_settings import GENERAL_BY_KEY
from .settings_schema import Field, Value
from .text import clean, decode
from .yaml_edit import delete_value, dump, set_value
from .yaml_files import MAX_BYTES, YamlError, load_mapping

log = logging.getLogger(__name__)

Scope = Literal["global", "workspace"]
Tree = dict[str, Any]

_ENV = re.compile(r"<<([A-Z_][A-Z0-9_]*)>>")
_SEGMENT = re.compile(r"[\w-]{1,128}")
_REFUSED = frozenset({"constructor", "prototype"})
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
    with _lock:
        known = _layers.setdefault(path, Layer())
        try:
            found = path.lstat()
            stamp = (found.st_mtime_ns, found.st_size, found.st_ino)
            if stamp == known.stamp:
                return known
            text = _read(path)
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


def _read(path: Path) -> str:
    """At most the size we accept. Links are not followed: a workspace must not show us somebody else's file."""
    folder = _open_folder(path)
    try:
        handle = os.open(path.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    finally:
        os.close(folder)
    with os.fdopen(handle, "rb") as file:
        return decode(file.read(MAX_BYTES + 1))


def _open_folder(path: Path) -> int:
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

    return _ENV.sub(fill, text)


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


# -- writing ------------------------------------------------------------------------------------------------------


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
    if scope == "global" and is_secret and sealed.is_on() and isinstance(value, str) and not _ENV.fullmatch(value):
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
                text = _read(path)
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
        return _open_folder(path)
    except OSError as error:
        raise StorageFull(f"The settings were not saved: {error.strerror}") from error


# -- masking ------------------------------------------------------------------------------------------------------


def mask(value: str) -> str:
    """How a secret is shown: `<<NAME>>` as it is, up to 6 characters all stars, else first and last two."""
    if _ENV.fullmatch(value):
        return value
    if len(value) <= 6:
        return "*" * len(value)
    return value[:2] + "*" * min(8, len(value) - 4) + value[-2:]


def is_mask_of(sent: Any, stored: Any) -> bool:
    """True when a client sends back what it was shown: then nothing is to be changed."""
    return isinstance(sent, str) and isinstance(stored, str) and "*" in sent and sent == mask(stored)
