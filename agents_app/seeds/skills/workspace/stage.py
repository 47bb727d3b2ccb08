#!/usr/bin/env python3
"""Prepare the shareable part of a workspace: `stage.py <workspace> [--global DIR]`, then `--zip` after consent.

Copies what may be given away to <workspace>/.halo/tmp/share/staged/, takes literal secrets out of the copies and lists
what a person should look at. Nothing outside that folder is changed. JSON on stdout, messages on stderr.
Exit: 0 done, 1 refused or failed, 2 wrong call. Standard library only.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import sys
import zipfile
from datetime import date, datetime, timezone
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import unquote

from redact import redact_defaults, redact_keys, redact_yaml, suspicious  # type: ignore[import-not-found]

ALWAYS_EXCLUDED = [
    *("USER.md", "memory/", "assets/", "sessions/", "logs/", "tmp/", "evo/", "uploads/", "extensions/", "*.db*"),
    *("settings.yaml", "prompts/bootstrap/", "everything outside .halo/"),
]
SKIPPED_FOLDERS = {"node_modules", ".git", ".hg", ".svn", "__pycache__", ".venv", "venv", "dist", "build", "target"}
SKIPPED_FILES = re.compile(
    r"user\.md|settings\.yaml|disabled\.json|\.env.*|.*\.db.*|.*\.sqlite.*|.*\.bak-\d+|.*\.pyc", re.IGNORECASE
)
YAML_FILES = {"agent.yaml", "config.yaml", "agent-config.yaml"}
MANIFEST = "share-manifest.json"
IMPORT = "Put this zip into a folder that is open in Halo, and type `/workspace import <name of the zip>` there."
TEXT_LIMIT = 2_000_000


class Stage:
    """One run. `root`: the workspace; `home`: the folder of the agents and skills that all workspaces share."""

    def __init__(self, root: Path, home: Path) -> None:
        self.root, self.home, self.halo = root, home, root / ".halo"
        self.staged = self.halo / "tmp" / "share" / "staged"
        self.off = disabled_items(self.halo)
        self.built_in = built_in_items(home)
        self.included: dict[str, Any] = {"instructions": [], "index": None, "docs": [], "agents": [], "skills": []}
        self.included["prompts"] = {"all": None, "root": None}
        self.excluded: dict[str, Any] = {"user_md": [], "memory_count": 0, "assets_count": 0, "missing_skills": []}
        self.excluded |= {"always_excluded": ALWAYS_EXCLUDED, "internal_agents": []}
        self.excluded |= {"links": [], "skipped_folders": [], "binary_files": []}
        self.redactions: dict[str, list[Any]] = {"yaml_params": [], "markdown_auto": [], "markdown_suspicious": []}

    def run(self) -> dict[str, Any]:
        for place in (self.halo, self.halo / "tmp", self.staged.parent, self.staged):
            if place.is_symlink():
                fail(f"{self.relative(place)} is a link")
        shutil.rmtree(self.staged, ignore_errors=True)
        (self.staged / ".halo").mkdir(parents=True)
        self.instructions()
        self.index()
        self.skills(self.agents())
        self.prompts()
        self.count_excluded()
        for file in files_below(self.staged):
            self.redact(file)
        (self.staged / "README.md").write_text(self.readme(), encoding="utf-8")
        staged_at = self.relative(self.staged)
        manifest = {
            "staged_at": staged_at,
            "generated_at": datetime.now(timezone.utc).isoformat(timespec="seconds"),  # noqa: UP017  any python3
            "included": self.included,
            "excluded": self.excluded,
            "redactions": self.redactions,
        }
        text = json.dumps(manifest, indent=1, ensure_ascii=False)
        (self.staged / MANIFEST).write_text(text, encoding="utf-8")
        return {"ok": True, "staged_at": staged_at, "manifest": f"{staged_at}/{MANIFEST}", "summary": self.summary()}

    # -- what goes along

    def instructions(self) -> None:
        for base, told in ((self.halo, ""), (self.home, " (copy of the global file)")):
            file = base / "INSTRUCTIONS.md"
            if has_text(file) and self.copy(file, ".halo/INSTRUCTIONS.md", base):
                self.included["instructions"].append(f".halo/INSTRUCTIONS.md{told}")
                break
        for place, folders, _ in os.walk(self.root):
            here = Path(place)
            skipped = [here / name for name in sorted(folders) if name in SKIPPED_FOLDERS]
            self.excluded["skipped_folders"] += [self.relative(folder) for folder in skipped]
            folders[:] = sorted(name for name in folders if name not in SKIPPED_FOLDERS and name != ".halo")
            file = here / ".halo" / "INSTRUCTIONS.md"
            if here != self.root and has_text(file) and self.copy(file, self.relative(file), here):
                self.included["instructions"].append(self.relative(file))

    def index(self) -> None:
        """INDEX.md and, of the docs folder, what it links to."""
        file, docs = self.halo / "INDEX.md", self.halo / "docs"
        if not has_text(file) or not self.copy(file, ".halo/INDEX.md", self.halo):
            return
        self.included["index"] = ".halo/INDEX.md"
        for name in sorted(set(re.findall(r"\]\(\s*<?(?:\./)?(docs/[^)\s>#]*)", read(file)))):
            place = Path(os.path.normpath(self.halo / unquote(name)))
            if place != docs and docs not in place.parents:
                continue
            for found in [doc for doc in self.below(place) if doc.suffix == ".md"] if place.is_dir() else [place]:
                inside = self.relative(found)
                private = SKIPPED_FILES.fullmatch(found.name)
                fresh = inside not in self.included["docs"] and found.is_file() and not private
                if fresh and self.copy(found, inside, docs):
                    self.included["docs"].append(inside)

    def agents(self) -> list[str]:
        """The ids of the skills that the staged agents list."""
        wanted: list[str] = []
        taken: set[str] = set()
        for scope, base in (("workspace", self.halo), ("global", self.home)):
            for folder in subfolders(base / "agents"):
                name, text = folder.name, read(folder / "agent.yaml")
                foreign = scope == "global" and (name in taken or ("agent", name) in self.built_in)
                if foreign or ("agent", scope, name) in self.off:
                    continue
                taken.add(name)
                if re.search(r"^internal\s*:\s*[\"']?(true|yes|on)\b", text, re.MULTILINE | re.IGNORECASE):
                    self.excluded["internal_agents"].append(name)
                    continue
                self.folder(folder, f".halo/agents/{name}")
                self.included["agents"].append({"id": name, "scope": scope})
                wanted += listed(text, "skills")
        return wanted

    def skills(self, wanted: list[str]) -> None:
        own: set[str] = set()
        for folder in subfolders(self.halo / "skills"):
            if ("skill", "workspace", folder.name) not in self.off:
                own.add(folder.name)
                self.folder(folder, f".halo/skills/{folder.name}")
                self.included["skills"].append({"id": folder.name, "scope": "workspace"})
        for skill in sorted(set(wanted) - own):
            folder = self.home / "skills" / skill
            if ("skill", skill) in self.built_in or ("skill", "global", skill) in self.off:
                continue
            if re.fullmatch(r"[\w-]+", skill) and folder.is_dir():
                self.folder(folder, f".halo/skills/{skill}")
                self.included["skills"].append({"id": skill, "scope": "global"})
            else:
                self.excluded["missing_skills"].append(skill)

    def prompts(self) -> None:
        for scope in ("all", "root"):
            for name, base in (("workspace", self.halo), ("global", self.home)):
                folder = base / "prompts" / scope
                if folder.is_dir():
                    self.folder(folder, f".halo/prompts/{scope}", only=".md")
                    self.included["prompts"][scope] = name
                    break

    def count_excluded(self) -> None:
        for file, told in ((self.halo / "USER.md", ".halo/USER.md"), (self.home / "USER.md", "the global USER.md")):
            if file.exists():
                self.excluded["user_md"].append(told)
        self.excluded["memory_count"] = len(files_below(self.halo / "memory"))
        self.excluded["assets_count"] = len(files_below(self.halo / "assets"))

    def below(self, folder: Path) -> list[Path]:
        """Like `files_below`; the folders that are passed over are told."""
        skipped: list[Path] = []
        found = files_below(folder, skipped)
        for place in skipped:
            told = f"{folder.name}/{self.relative(place, folder)}"  # of the home, too: no path of this machine
            if told not in self.excluded["skipped_folders"]:
                self.excluded["skipped_folders"].append(told)
        return found

    def folder(self, source: Path, target: str, only: str = "") -> None:
        for file in self.below(source):
            if file.name.endswith(only) and not SKIPPED_FILES.fullmatch(file.name):
                self.copy(file, f"{target}/{file.relative_to(source).as_posix()}", source)

    def copy(self, source: Path, target: str, boundary: Path) -> bool:
        """False for what is no file, or leads out of `boundary` through a link; one of the workspace may be no link."""
        real, root = os.path.realpath(boundary), os.path.realpath(self.root)
        linked = boundary.is_relative_to(self.root) and real != os.path.normpath(f"{root}/{self.relative(boundary)}")
        if linked or not Path(os.path.realpath(source)).is_relative_to(real) or not source.is_file():
            self.excluded["links"].append(target)
            return False
        place = self.staged / target
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, place)
        return True

    # -- what must not

    def redact(self, file: Path) -> None:
        """Take secrets out of a staged file, in place."""
        name = self.relative(file, self.staged)
        text = text_of(file)
        if text is None:
            self.excluded["binary_files"].append(name)
            return
        fresh: str
        fresh, keys = redact_keys(self.yaml(text, file.name, name))
        self.redactions["markdown_auto"] += [{"file": name, **note} for note in keys]
        self.redactions["markdown_suspicious"] += [{"file": name, **find} for find in suspicious(fresh)]
        if fresh != text:
            file.write_bytes(fresh.encode("utf-8", "surrogateescape"))

    def yaml(self, text: str, kind: str, name: str) -> str:
        parts = name.split("/")
        owner = parts[2] if len(parts) > 3 and parts[1] in ("agents", "skills") else "workspace"

        def note(field: str, placeholder: str) -> None:
            self.redactions["yaml_params"].append({"file": name, "field": field, "placeholder": placeholder})

        if kind in YAML_FILES:
            text = str(redact_yaml(text, owner, note))
            return str(redact_defaults(text, owner, note)) if kind.endswith("config.yaml") else text
        header = re.match(r"\ufeff?\s*---[ \t]*\r?\n(.*?)^---[ \t\r]*$", text, re.DOTALL | re.MULTILINE)
        if kind.lower() == "skill.md" and header:
            return f"{text[: header.start(1)]}{redact_yaml(header[1], owner, note)}{text[header.end(1) :]}"
        return text

    # -- what is told

    def summary(self) -> dict[str, Any]:
        return {
            **{name: len(self.included[name]) for name in ("agents", "skills", "instructions")},
            "docs_count": len(self.included["docs"]),
            "prompts": sum(scope is not None for scope in self.included["prompts"].values()),
            "yaml_redactions": len(self.redactions["yaml_params"]),
            "markdown_auto_redactions": len(self.redactions["markdown_auto"]),
            "markdown_suspicious": len(self.redactions["markdown_suspicious"]),
            "excluded_user_md": len(self.excluded["user_md"]),
            "excluded_memory_files": self.excluded["memory_count"],
            "excluded_asset_files": self.excluded["assets_count"],
            "missing_skills": self.excluded["missing_skills"],
        }

    def readme(self) -> str:
        agents, skills = (", ".join(item["id"] for item in self.included[kind]) for kind in ("agents", "skills"))
        lines = ["# A shared workspace", "", IMPORT, ""]
        lines += [f"- Agents: {agents or 'none'}", f"- Skills: {skills or 'none'}"]
        needed = sorted({note["placeholder"].strip("{}") for note in self.redactions["yaml_params"]})
        if needed:
            lines += ["", "Set these in Settings before you begin:", "", *(f"- `{name}`" for name in needed)]
        return "\n".join(lines) + "\n"

    def relative(self, path: Path, base: Path | None = None) -> str:
        return Path(os.path.relpath(path, base or self.root)).as_posix()

    def pack(self, keep: set[str], keep_all: bool) -> dict[str, Any]:
        """Zip what is staged, without the manifest; refused while a find is undecided."""
        if not (self.staged / MANIFEST).is_file():
            fail("nothing is staged yet; run stage.py without --zip first")
        files = {self.relative(file, self.staged): file for file in files_below(self.staged) if file.name != MANIFEST}
        undecided = [
            {"file": name, **find}
            for name, file in files.items()
            for find in suspicious(text_of(file) or "")
            if not keep_all and f"{name}:{find['line']}" not in keep
        ]
        if undecided:
            print(json.dumps({"ok": False, "undecided": undecided}, ensure_ascii=False))
            fail("some finds are undecided: edit the staged file, or pass --keep FILE:LINE for each that may stay")
        target = self.staged.parent / f"workspace-{date.today().isoformat()}.zip"
        with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, file in files.items():
                entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))  # the same content gives the same archive
                entry.external_attr = 0o644 << 16
                archive.writestr(entry, file.read_bytes(), zipfile.ZIP_DEFLATED)
        return {"ok": True, "zip": self.relative(target), "bytes": target.stat().st_size, "files": len(files)}


def disabled_items(halo: Path) -> set[tuple[str, ...]]:
    """(type, scope, id) of what this workspace switched off."""
    try:
        found = json.loads((halo / "disabled.json").read_text("utf-8"))
        return {(kind, *item.split(":", 1)) for kind in ("agent", "skill") for item in found.get(kind, [])}
    except (OSError, ValueError, AttributeError):
        return set()


def built_in_items(home: Path) -> set[tuple[str, str]]:
    """(type, id) of what the installed version brought along; whoever gets the archive has those."""
    try:
        names = json.loads((home / ".template-files.json").read_text("utf-8"))
    except (OSError, ValueError):
        return set()
    parts = [name.split("/") for name in names]
    return {(part[0][:-1], part[1]) for part in parts if len(part) > 2 and part[0] in ("agents", "skills")}


def listed(text: str, key: str) -> list[str]:
    """The items of a top-level list of a YAML text, in either of its two shapes."""
    flow = re.search(rf"^{key}\s*:\s*\[([^\]]*)\]", text, re.MULTILINE)
    if flow:
        return [item.strip().strip("\"'") for item in flow[1].split(",") if item.strip()]
    lines = text.split("\n")
    starts = [number for number, line in enumerate(lines) if re.match(rf"{key}\s*:\s*(#.*)?$", line)]
    found: list[str] = []
    for line in lines[starts[0] + 1 :] if starts else []:
        item = re.match(r"\s*-\s+([^#]+)", line)
        if item:
            found.append(item[1].strip().strip("\"'"))
        elif line.strip() and not line.lstrip().startswith("#"):
            break
    return found


def subfolders(folder: Path) -> list[Path]:
    found = folder.iterdir() if folder.is_dir() else []
    return sorted(place for place in found if place.is_dir() and re.fullmatch(r"[\w-]+", place.name))


def files_below(folder: Path, skipped: list[Path] | None = None) -> list[Path]:
    """Files and links to files, sorted. Folders that are links are never entered.

    skipped: gets the folders that are passed over; None = none is.
    """
    found: list[Path] = []
    for place, folders, names in os.walk(folder):
        folders.sort()
        if skipped is not None:
            skipped += [Path(place, name) for name in folders if name in SKIPPED_FOLDERS]
            folders[:] = [name for name in folders if name not in SKIPPED_FOLDERS]
        found += [Path(place, name) for name in sorted(names)]
    return found


def read(file: Path) -> str:
    try:
        return file.read_text("utf-8", "replace")
    except OSError:
        return ""


def has_text(file: Path) -> bool:
    return bool(read(file).strip())


def text_of(file: Path) -> str | None:
    """None for what is no text."""
    data = file.read_bytes()
    return None if b"\0" in data[:8192] or len(data) > TEXT_LIMIT else data.decode("utf-8", "surrogateescape")


def home_of(given: str) -> Path:
    """As given, or where this script is installed, or the default home."""
    installed = Path(__file__).resolve().parents[2]
    if given:
        return Path(given).resolve()
    if (installed / ".template-files.json").is_file():
        return installed
    return Path(os.environ.get("HALO_HOME") or Path.home() / ".halo") / "global"


def fail(message: str) -> NoReturn:
    print(f"error: {message}", file=sys.stderr)
    sys.exit(1)


def main() -> None:
    parser = argparse.ArgumentParser(description="Stage the shareable part of a workspace")
    parser.add_argument("workspace")
    parser.add_argument("--global", dest="home", default="", help="the home's global/ folder")
    parser.add_argument("--zip", action="store_true", help="pack what is staged")
    parser.add_argument("--keep", action="append", default=[], metavar="FILE:LINE", help="a find that may stay")
    parser.add_argument("--keep-all", action="store_true", help="all finds may stay")
    given = parser.parse_args()
    root = Path(given.workspace).resolve()
    if not (root / ".halo").is_dir():
        fail("there is no .halo folder here, so there is nothing to share")
    stage = Stage(root, home_of(given.home))
    result = stage.pack(set(given.keep), given.keep_all) if given.zip else stage.run()
    print(json.dumps(result, ensure_ascii=False))


if __name__ == "__main__":
    main()
