"""Fills the home folder and brings its platform files up to date (spec agents-and-prompts 3.10, deploy 2 and 4).

Platform files belong to us: an upgrade overwrites them, and keeps a copy of what somebody had changed
(`<file>.bak-<version>`). Everything else is the user's and is made once or never.
"""

import hashlib
import json
import logging
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from halo_site.lib.atomic_file import sweep, write_atomic
from halo_site.lib.config_file import merge_template
from halo_site.lib.errors import HaloError
from halo_site.lib.yaml_edit import block_of, dump
from halo_site.lib.yaml_files import load_mapping

from .model_binding import default_provider, model_block
from .providers.registry import registry

log = logging.getLogger(__name__)

TEMPLATE_VERSION = 79
SEEDS = Path(__file__).parent / "seeds"
CATALOGUE = Path(__file__).parent / "providers" / "catalogue"
DOCS = Path(__file__).parent.parent / "docs"
AGENTS = ("default", "executor", "deep-executor", "__evo_agent__", "__score__", "__apply_agent__")
SKILLS = ("agent", "skill", "workspace", "halo", "extension", "aws-knowledge", "nova-web-search")
CODE = Path(__file__).parent.parent
RULES = (  # what the script of the skill `extension` judges a package by: the server's own modules, as they are
    "extensions_app/__init__.py",
    "extensions_app/manifest.py",
    "extensions_app/scanner.py",
    "extensions_app/steps.py",
    "halo_site/__init__.py",
    "halo_site/lib/__init__.py",
    "halo_site/lib/zips.py",
)
MARK = "# <model and context>\n"
CONTEXT = {"context": {"maxTokens": 200_000, "compressAt": 0.8}}
FOLDERS = (
    "prompts/bootstrap",
    "prompts/all",
    "prompts/root",
    "agents",
    "skills",
    "models",
    "extensions",
    "docs",
    "logs",
)
MANIFEST = ".template-files.json"  # what we wrote: path -> hash, to tell what somebody changed
VERSION = ".template-version"
OPTIONAL = ".installed-optional-skills"  # ids, one a line, `#` comments: optional skills somebody chose
JOURNAL = ".temp-files"  # the same in workspaces_app/apps.py


def seed_home(home: Path, provider: str = "", *, force: bool = False) -> list[str]:
    """Make and refresh the home; returns the platform files that were written, relative to `global/`.

    provider: what built-in agents without a model are bound to; "" = see model_binding.default_provider. Refreshes
    when the stored template version is older than ours, or always with `force`. One failing file is logged and does
    not stop the rest; then the version is not written, so the next start tries again. Raises OSError, ConfigBroken
    for the files a server cannot do without.
    """
    folder = home / "global"
    for place in (home, folder, *(folder / name for name in FOLDERS), home / "secrets", folder / JOURNAL):
        place.mkdir(parents=True, exist_ok=True, mode=0o700)
    (home / "secrets").chmod(0o700)
    sweep(folder / JOURNAL)
    merge_template(home / "secrets" / "config.yaml", (SEEDS / "config.yaml").read_text(encoding="utf-8"))
    _once(home / "secrets" / "settings.yaml", b"", 0o600)
    _once(folder / "aliases.yaml", (SEEDS / "aliases.yaml").read_bytes(), 0o644)
    version = stored_version(folder)
    if version >= TEMPLATE_VERSION and not force:
        return _chosen_since(folder, version)
    return _refresh(folder, version, provider)


def seed_agent(home: Path, agent: str) -> None:
    """One agent of ours that a home gets only when somebody uses it. What is there stays. Raises OSError."""
    folder = home / "global" / "agents" / agent
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    for name in ("AGENT.md", "agent.yaml"):
        text = (SEEDS / "agents" / agent / name).read_text(encoding="utf-8")
        _once(folder / name, (agent_text(text, None, default_provider()) if MARK in text else text).encode(), 0o644)


def stored_version(folder: Path) -> int:
    """The template version of a `global/` folder; 0 = never seeded, or not to be read."""
    try:
        return int((folder / VERSION).read_text(encoding="ascii").strip())
    except (OSError, ValueError):
        return 0


def _once(path: Path, data: bytes, mode: int) -> None:
    if not path.exists():
        write_atomic(path, data, mode=mode)
    elif mode == 0o600 and path.stat().st_mode & 0o077:
        path.chmod(mode)


def _chosen_since(folder: Path, version: int) -> list[str]:
    """Optional skills that were chosen after the last refresh and are not there yet."""
    new = [skill for skill in sorted(chosen_skills(folder)) if not (folder / "skills" / skill).is_dir()]
    manifest, written = _manifest(folder), list[str]()
    for skill in new:
        for name, text in _below(SEEDS / "optional-skills", skill):
            _put(folder, name, text, version, manifest, written)
    if written:
        write_atomic(folder / MANIFEST, json.dumps(manifest, indent=1, sort_keys=True).encode(), mode=0o644)
    return written


def _refresh(folder: Path, version: int, provider: str) -> list[str]:
    manifest = _manifest(folder)
    written: list[str] = []
    whole = True
    for name, text in _plain_files(folder):
        whole &= _put(folder, name, text, version, manifest, written)
    if provider and provider not in registry().providers:
        log.error("seed: there is no provider %r (HALO_DEFAULT_PROVIDER); another one is used", provider)
        provider = ""
    bound = provider or default_provider()
    for agent in AGENTS:
        template = (SEEDS / "agents" / agent / "agent.yaml").read_text(encoding="utf-8")
        name = f"agents/{agent}/agent.yaml"
        try:
            text = agent_text(template, _old_text(folder / name), bound)
        except (HaloError, OSError) as error:
            log.error("seed: %s is left as it is: %s", name, error)
            whole = False
            continue
        whole &= _put(folder, name, text, version, manifest, written)
    write_atomic(folder / MANIFEST, json.dumps(manifest, indent=1, sort_keys=True).encode(), mode=0o644)
    if whole:
        write_atomic(folder / VERSION, f"{TEMPLATE_VERSION}\n".encode(), mode=0o644)
    return written


def _plain_files(folder: Path) -> Iterator[tuple[str, str]]:
    """Path below `global/` and text of every platform file but the agent.yaml, which are merged."""
    for path in sorted((SEEDS / "prompts").rglob("*.md")):
        yield str(path.relative_to(SEEDS)), path.read_text(encoding="utf-8")
    yield "INSTRUCTIONS.md", (SEEDS / "INSTRUCTIONS.md").read_text(encoding="utf-8")
    for agent in AGENTS:
        yield f"agents/{agent}/AGENT.md", (SEEDS / "agents" / agent / "AGENT.md").read_text(encoding="utf-8")
    for path in sorted(CATALOGUE.glob("*.yaml")):
        yield f"models/{path.name}", path.read_text(encoding="utf-8")
    for skill in SKILLS:
        yield from _below(SEEDS / "skills", skill)
    for name in RULES:
        yield f"skills/extension/scripts/rules/{name}", (CODE / name).read_text(encoding="utf-8")
    for skill in sorted(chosen_skills(folder)):
        yield from _below(SEEDS / "optional-skills", skill)
    for path in sorted(DOCS.rglob("*.md")):
        yield f"docs/{path.relative_to(DOCS)}", path.read_text(encoding="utf-8")


def _below(base: Path, skill: str) -> Iterator[tuple[str, str]]:
    for path in sorted((base / skill).rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            yield f"skills/{path.relative_to(base)}", path.read_text(encoding="utf-8")


def optional_skills() -> list[str]:
    """Skills that come along and are installed only where somebody chose them."""
    return sorted(path.name for path in (SEEDS / "optional-skills").iterdir() if (path / "SKILL.md").is_file())


def chosen_skills(folder: Path) -> set[str]:
    """The optional skills that the `global/` folder asks for; unknown ids count for nothing."""
    lines = (_old_text(folder / OPTIONAL) or "").splitlines()
    return {line.partition("#")[0].strip() for line in lines} & set(optional_skills())


def _put(folder: Path, name: str, text: str, version: int, manifest: dict[str, str], written: list[str]) -> bool:
    """Write one platform file; False when that failed."""
    path = folder / name
    try:
        old = _old_text(path)
        if old is not None and old != text and manifest.get(name) != _hash(name, old) != _hash(name, text):
            backup = _free(path.with_name(f"{path.name}.bak-{version}"))
            write_atomic(backup, old.encode())
            log.warning("seed: %s had been changed; the old text is in %s", name, backup.name)
        if old != text:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            write_atomic(path, text.encode(), mode=0o644)
            written.append(name)
        manifest[name] = _hash(name, text)
    except (OSError, UnicodeDecodeError) as error:
        log.error("seed: %s was not written: %s", name, error)
        return False
    return True


def _free(path: Path) -> Path:
    """The name itself, or with a number: a second refresh keeps what the first one put aside."""
    names = (path, *(path.with_name(f"{path.name}-{number}") for number in range(2, 100)))
    return next((name for name in names if not name.exists()), path)


def agent_text(template: str, old: str | None, provider: str) -> str:
    """A built-in agent.yaml: our text with the user's `model:` and `context:`, or with a fresh model block.

    An old text that is not YAML is given up: the template comes plain.
    """
    blocks = {"model": "", "context": ""}
    if old is not None:
        with suppress(HaloError):
            kept = load_mapping(old)
            for key in blocks:
                if kept.get(key):
                    blocks[key] = block_of(old, key) or dump({key: kept[key]})
    model = blocks["model"] or dump({"model": model_block(provider)})
    return template.replace(MARK, model + (blocks["context"] or dump(CONTEXT)))


def _old_text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return None


def _manifest(folder: Path) -> dict[str, str]:
    try:
        found = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return {str(key): str(value) for key, value in found.items()} if isinstance(found, dict) else {}


def _hash(name: str, text: str) -> str:
    """Of what an upgrade would overwrite: in an agent.yaml not the blocks that are kept anyway."""
    if name.endswith("agent.yaml"):
        with suppress(HaloError):
            document: Mapping[str, Any] = load_mapping(text)
            text = json.dumps({key: value for key, value in document.items() if key not in ("model", "context")})
    return hashlib.sha256(text.encode()).hexdigest()[:32]
