"""`secrets/config.yaml`: self-describing leaves `{value, default, description, description_zh}` (spec deploy 2).

Reading is `lib/env.py`'s part. Here the file is brought up to date: new leaves come in, values and comments stay.
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from .atomic_file import locked_folder, write_atomic
from .errors import HaloError
from .yaml_edit import set_value
from .yaml_files import YamlError, load_mapping


class ConfigBroken(HaloError):
    """It is not overwritten: it holds the signing key."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path} is not valid YAML, mend it or move it away: {reason}")


def merge_template(path: Path, template: str) -> bool:
    """Add the leaves of `template` that `path` does not have; makes the file (0600). True when it was written.

    A leaf that is there keeps value, default and comments. Raises ConfigBroken, OSError.
    """
    with locked_folder(path.parent):
        text = _read(path)
        if text is None:
            write_atomic(path, template.encode(), mode=0o600)
            return True
        merged = _merged(path, text, template)
        if merged != text:
            write_atomic(path, merged.encode(), mode=0o600)
    if path.stat().st_mode & 0o077:
        path.chmod(0o600)
    return merged != text


def set_leaf(path: Path, key: str, value: str | int | bool) -> None:
    """Set the `value` of one leaf, e.g. `server.jwt_secret`. Raises ConfigBroken, OSError."""
    with locked_folder(path.parent):
        try:
            text = set_value(_read(path) or "", [*key.split("."), "value"], value)
        except YamlError as error:
            raise ConfigBroken(path, str(error)) from error
        write_atomic(path, text.encode(), mode=0o600)


def _read(path: Path) -> str | None:
    try:
        with open(path, encoding="utf-8", opener=lambda name, flags: os.open(name, flags | os.O_CLOEXEC)) as file:
            return file.read()
    except FileNotFoundError:
        return None
    except UnicodeDecodeError as error:
        raise ConfigBroken(path, str(error)) from error


def _merged(path: Path, text: str, template: str) -> str:
    try:
        known = dict(leaves(load_mapping(text)))
        for key, leaf in leaves(load_mapping(template)):
            if key not in known:
                text = set_value(text, key, leaf)
    except YamlError as error:
        raise ConfigBroken(path, str(error)) from error
    return text


def leaves(document: Mapping[str, Any], prefix: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Path and content of every leaf. A plain value where a leaf should be counts as one: somebody wrote it by hand."""
    for name, node in document.items():
        path = (*prefix, name)
        if isinstance(node, dict) and "value" not in node and "default" not in node:
            yield from leaves(node, path)
        else:
            yield path, node
