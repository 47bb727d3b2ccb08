"""`@scope <dir>` in a message: the folder's instructions go along with it (spec agents-and-prompts 3.6)."""

import os
import re
from dataclasses import dataclass
from html import escape
from pathlib import Path

from .prompt_files import folder_instructions

_MARK = re.compile(r'(?<!\S)@scope\s+(?:"([^"\n]*)"|([^\s"]\S*))\s?')
NOTE = (
    "Guidance for this folder. Treat it as instructions of the person. Tools still run where they ran before; "
    "paths in it are relative to the folder."
)


@dataclass(frozen=True, slots=True)
class Scoped:
    """`text` is what the model gets; equal to the message when nothing was marked. `warnings` are for the person."""

    text: str
    warnings: tuple[str, ...] = ()


def marks(message: str) -> tuple[list[str], str]:
    """The marked folders in order, each once, and the message without the marks."""
    found = [quoted if quoted is not None else bare for quoted, bare in _pairs(message)]
    return list(dict.fromkeys(found)), _MARK.sub("", message)


def _pairs(message: str) -> list[tuple[str | None, str]]:
    return [(match[1], match[2]) for match in _MARK.finditer(message)]


def expand(workspace: Path, message: str) -> Scoped:
    """Put the instructions of the marked folders in front. A mark that leads nowhere is dropped with a warning."""
    if "@scope" not in message:
        return Scoped(message)
    folders, plain = marks(message)
    blocks: list[str] = []
    warnings: list[str] = []
    for folder in folders:
        inside = _inside(workspace, folder)
        if inside is None:
            warnings.append(f'@scope "{folder}": there is no such folder in this workspace')
        elif not (body := folder_instructions(workspace, inside)):
            warnings.append(f'@scope "{folder}": no INSTRUCTIONS.md found along that path')
        else:
            block = f'<workspace-instructions dir="{escape(inside)}" note="{escape(NOTE)}">\n{body}\n'
            blocks.append(f"{block}</workspace-instructions>")
    return Scoped("\n\n".join([*blocks, plain]) if folders else message, tuple(warnings))


def _inside(workspace: Path, folder: str) -> str | None:
    """The folder relative to the workspace, "" for its root; None when it is not in there or not a folder."""
    if not folder or "\0" in folder:
        return None
    path = os.path.normpath(os.path.join(workspace, folder))
    inside = os.path.relpath(path, workspace)
    if inside.split(os.sep)[0] == os.pardir or not Path(os.path.realpath(path)).is_relative_to(workspace):
        return None
    return ("" if inside == os.curdir else inside) if os.path.isdir(path) else None
