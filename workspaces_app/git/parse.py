"""Pure: what git prints, as values. All input is NUL-separated (`-z`): names may hold anything else."""

import re
from dataclasses import dataclass, field

_HASH = re.compile(r"[0-9a-fA-F]{4,64}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Change:
    """One file of a status: two porcelain characters, a blank = unchanged. `source`: old name of a rename or copy."""

    path: str
    index: str
    working_dir: str
    source: str | None = None

    @property
    def conflicted(self) -> bool:
        return "U" in (self.index, self.working_dir) or self.index + self.working_dir in ("AA", "DD")


@dataclass(slots=True)
class Status:
    """branch: "" when HEAD is detached. head: "" before the first commit. upstream: "" = none."""

    branch: str = ""
    head: str = ""
    upstream: str = ""
    ahead: int = 0
    behind: int = 0
    changes: list[Change] = field(default_factory=list)
    ignored: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Commit:
    """at: Unix seconds. refs: as git decorates it, for example `HEAD -> main, origin/main`."""

    hash: str
    short_hash: str
    author: str
    at: int
    refs: str
    subject: str
    body: str


@dataclass(frozen=True, slots=True)
class Named:
    """One file of a commit; status is one letter."""

    path: str
    status: str
    source: str | None = None


@dataclass(frozen=True, slots=True)
class Progress:
    """stage: git's own word. percent: 0 to 100."""

    stage: str
    percent: int


def fields(output: bytes) -> list[str]:
    """Texts between NULs. Names that are no UTF-8 are shown with replacement characters."""
    return output.decode("utf-8", "replace").removesuffix("\0").split("\0") if output else []


def parse_status(output: bytes) -> Status:
    """`git status --porcelain=v2 --branch -z`. Lines of kinds unknown to us are passed over."""
    status = Status()
    parts = iter(fields(output))
    for part in parts:
        kind, _, rest = part.partition(" ")
        match kind:
            case "#":
                _header(status, rest)
            case "1":
                if len(words := rest.split(" ", 7)) == 8:
                    status.changes.append(_change(words[0], words[7]))
            case "2":
                words, source = rest.split(" ", 8), next(parts, "")
                if len(words) == 9:
                    status.changes.append(_change(words[0], words[8], source))
            case "u":
                if len(words := rest.split(" ", 9)) == 10:
                    status.changes.append(_change(words[0], words[9]))
            case "?":
                status.changes.append(Change(rest, "?", "?"))
            case "!":
                status.ignored.append(rest.rstrip("/"))
    return status


def _header(status: Status, text: str) -> None:
    name, _, value = text.partition(" ")
    match name:
        case "branch.oid":
            status.head = "" if value == "(initial)" else value
        case "branch.head":
            status.branch = "" if value == "(detached)" else value
        case "branch.upstream":
            status.upstream = value
        case "branch.ab":
            if found := re.fullmatch(r"\+(\d{1,9}) -(\d{1,9})", value):
                status.ahead, status.behind = int(found[1]), int(found[2])


def _change(letters: str, path: str, source: str | None = None) -> Change:
    shown = (letters + "  ").replace(".", " ")
    return Change(path, shown[0], shown[1], source or None)


LOG_FORMAT = "%H%x00%h%x00%an%x00%at%x00%D%x00%s%x00%b"
_LOG_FIELDS = 7


def parse_log(output: bytes) -> list[Commit]:
    """`git log -z --format=LOG_FORMAT`. A commit's texts hold no NUL, so the number of fields is fixed."""
    parts = fields(output)
    commits = []
    for start in range(0, len(parts) - _LOG_FIELDS + 1, _LOG_FIELDS):
        full, short, author, at, refs, subject, body = parts[start : start + _LOG_FIELDS]
        seconds = int(at) if re.fullmatch(r"-?\d{1,12}", at, re.ASCII) else 0
        commits.append(Commit(full, short, author, seconds, refs, subject, body.strip()))
    return commits


def parse_name_status(output: bytes) -> list[Named]:
    """`git diff-tree --name-status -z`; each path once, the first one counts."""
    parts = iter(fields(output))
    found: dict[str, Named] = {}
    for letters in parts:
        first = next(parts, None)
        if first is None or not letters:
            continue
        if letters[0] in "RC":
            second = next(parts, None)
            if second is not None:
                found.setdefault(second, Named(second, letters[0], first))
        else:
            found.setdefault(first, Named(first, letters[0]))
    return list(found.values())


def parse_remotes(output: bytes) -> list[tuple[str, str]]:
    """`git config -z --get-regexp ^remote\\..*\\.url$` -> (name, url), the first url of each remote, by name."""
    found: dict[str, str] = {}
    for part in fields(output):
        key, newline, url = part.partition("\n")
        if newline and key.startswith("remote.") and key.endswith(".url"):
            found.setdefault(key[7:-4], url)
    return sorted(found.items())


_PROGRESS = re.compile(r"(?:remote: )?([A-Z][A-Za-z ]{2,60}):\s+(\d{1,3})%")
_COUNT = re.compile(r"(?:remote: )?[A-Z][A-Za-z ]{2,60}: \d+(, done\.)?\s*")


def parse_progress(line: str) -> Progress | None:
    """One line of git's progress on standard error; None for anything else."""
    found = _PROGRESS.match(line)
    return Progress(found[1], min(int(found[2]), 100)) if found else None


def without_progress(text: str) -> str:
    """What git said besides its progress."""
    kept = []
    for line in text.split("\n"):
        last = line.rstrip("\r").rpartition("\r")[2]
        if not parse_progress(last) and not _COUNT.fullmatch(last):
            kept.append(last.rstrip())
    return "\n".join(kept).strip()


def is_hash(text: str) -> bool:
    """A commit's name in hex: nothing git could take for an option, a range or another name."""
    return bool(_HASH.fullmatch(text))
