"""Parameters in commands, and secrets kept out of what commands print (spec tools 3.9; settings-auth-secrets 23)."""

import base64
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from halo_site.lib import settings_store

from ..settings_sections import declared

MASK = "***"
SHORTEST = 4  # characters; shorter values would turn ordinary output into stars
HEX_WAYS = {digit: (digit, digit.upper()) for digit in "abcdef"}
BASE64_WAYS = {"+": (r"\+", "-"), "/": ("/", "_")}  # both alphabets

_PARAM = re.compile(r"\{\{\s*([\w-]+)\.params\.([\w-][\w.-]*)\s*\}\}")
_ENV = re.compile(r"<<[A-Z_][A-Z0-9_]*>>")


@dataclass(frozen=True, slots=True)
class Filled:
    """The command to run, and the values in it that nobody may read."""

    command: str
    secrets: tuple[str, ...] = ()


def has_params(command: str) -> bool:
    return _PARAM.search(command) is not None


def fill(command: str, owners: Iterable[str], workspace: Path) -> Filled:
    """`{{<id>.params.<key>}}` of the allowed owners filled in; anything else stays as it stands.

    Secret are values that came from an environment variable, and params declared `secret: true`.
    """
    allowed = frozenset(owners)
    wanted = {(found[1], found[2]) for found in _PARAM.finditer(command) if found[1] in allowed}
    if not wanted:
        return Filled(command)
    fields = declared(workspace)
    values: dict[tuple[str, str], str] = {}
    secrets: list[str] = []
    for owner, key in wanted:
        path = f"{owner}.params.{key}"
        field = fields.get(path)
        raw, scope = settings_store.raw(path, workspace, global_only=bool(field and field.global_only))
        if raw is None and field is not None:
            raw, scope = field.default, "global"
        if raw is None or isinstance(raw, list | dict):
            continue
        text = _text(raw)
        from_env = scope == "global" and _ENV.search(text) is not None
        value = settings_store.expand_env(text) if from_env else text
        values[owner, key] = value
        if (from_env and value != text) or (field is not None and field.secret):
            secrets.append(value)
    filled = _PARAM.sub(lambda found: values.get((found[1], found[2]), found[0]), command)
    return Filled(filled, tuple(secrets))


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _forms(secrets: Iterable[str]) -> list[tuple[int, str]]:
    """Every spelling of a secret that a command may print, longest first: most characters of it, regular expression."""
    found: set[tuple[int, str]] = set()
    for secret in secrets:
        for text in {secret, secret.strip()}:
            if len(text) < SHORTEST:
                continue
            data = text.encode("utf-8", "surrogatepass")
            found.update(_as_it_is_or_percent(text))
            found.update(_in_lines(data.hex(), HEX_WAYS))
            for core in _base64(data):
                found.update(_in_lines(core, BASE64_WAYS))
    return sorted(found, key=lambda form: (-form[0], form[1]))


def _as_it_is_or_percent(text: str) -> Iterator[tuple[int, str]]:
    """Character by character, because encoders differ in what they leave alone, and in the case of their digits."""
    most, letters = 0, []
    for char in text:
        digits = [f"{byte:02x}" for byte in char.encode("utf-8", "surrogatepass")]
        percent = "".join(f"%(?i:{pair})" for pair in digits)
        letters.append((percent, re.escape(char), *([r"\+"] if char == " " else [])))
        most += 3 * len(digits)
    return ((most, pattern) for pattern in _patterns(letters))


def _base64(data: bytes) -> Iterator[str]:
    """The parts of a base64 text that do not depend on what stands before and after, for each of three places."""
    for shift in range(3):
        whole = base64.b64encode(bytes(shift) + data).decode().rstrip("=")
        start = (0, 2, 3)[shift]
        end = len(whole) - (1 if (shift + len(data)) % 3 else 0)
        core = whole[start:end]
        if len(core) >= 6:
            yield core


def _in_lines(encoded: str, ways: Mapping[str, Sequence[str]]) -> Iterator[tuple[int, str]]:
    """A spelling that programs break into lines, wherever one ends."""
    letters = [ways.get(char, (char,)) for char in encoded]
    return ((2 * len(encoded) - 1, pattern) for pattern in _patterns(letters, between=r"\n?"))


def _patterns(letters: Sequence[Sequence[str]], between: str = "") -> Iterator[str]:
    """letters: each with its spellings. One pattern per spelling of the first, so that each begins with a character
    that is given: then `re` passes quickly over what cannot be one, ten times as fast as otherwise."""
    rest = [f"(?:{'|'.join(ways)})" if len(ways) > 1 else ways[0] for ways in letters[1:]]
    return (between.join([first, *rest]) for first in letters[0])


@lru_cache(maxsize=64)
def _compiled(secrets: frozenset[str]) -> tuple[int, re.Pattern[str] | None]:
    """How many characters may begin a spelling without being all of one, and what finds them; a command makes three."""
    forms = _forms(secrets)
    if not forms:
        return 0, None
    return forms[0][0] - 1, re.compile("|".join(pattern for _, pattern in forms))


class Masker:
    """Hides secrets in a text that comes in pieces: what may be the beginning of one is held back."""

    def __init__(self, secrets: Iterable[str]) -> None:
        self._keep, self._pattern = _compiled(frozenset(secrets))
        self._held = ""

    def whole(self, text: str) -> str:
        return self._pattern.sub(MASK, text) if self._pattern else text

    def feed(self, piece: str) -> str:
        """What may be shown by now."""
        if self._pattern is None:
            return piece
        text = self._held + piece
        end = len(text) - self._keep  # what begins before has all its characters here
        shown: list[str] = []
        at = 0
        for found in self._pattern.finditer(text):
            if found.start() >= end:
                break
            shown += [text[at : found.start()], MASK]
            at = found.end()
        end = max(at, end)
        self._held = text[end:]
        return "".join([*shown, text[at:end]])

    def flush(self) -> str:
        text, self._held = self.whole(self._held), ""
        return text
