"""The texts of `/help` and of an object without a verb. Pure (spec commands, rules 16 and 17)."""

import unicodedata
from collections.abc import Iterable, Sequence

from agents_app.commands import Command

from .texts import CATALOGUE, Lang, text


def width(words: str) -> int:
    """Columns in a terminal: Chinese characters and most signs beside them take two."""
    return sum(
        0 if unicodedata.combining(sign) else 2 if unicodedata.east_asian_width(sign) in "WF" else 1 for sign in words
    )


def grid(rows: Iterable[tuple[str, str]]) -> list[str]:
    """Heads and descriptions in two columns."""
    found = list(rows)
    widest = max((width(head) for head, _ in found), default=0)
    return [f"  {head}{' ' * (widest - width(head))}  {description}".rstrip() for head, description in found]


def hint(lang: Lang, command: Command) -> str:
    """What is written behind a command: `<verb>`, `[hint]` or nothing."""
    if command.verbs:
        return text(lang, "arg.verb")
    return text(lang, "arg.evo") if command.name == "evo" else ""


def describe(lang: Lang, command: Command, *, full: bool) -> str:
    """A built-in has a text of ours, and another one for people who may do less; a skill describes itself."""
    keys = [f"cmd.{command.name}"] if full else [f"cmd.{command.name}.readonly", f"cmd.{command.name}"]
    ours = next((key for key in keys if key in CATALOGUE["en"]), None) if command.source == "builtin" else None
    return text(lang, ours) if ours else command.description


def describe_verb(lang: Lang, command: Command, name: str, own: str) -> str:
    """own: what the skill says of it; a built-in verb has a text of ours."""
    key = f"verb.{command.name}.{name}"
    return text(lang, key) if command.source == "builtin" and key in CATALOGUE["en"] else own


def overview(lang: Lang, commands: Sequence[Command], *, full: bool, more: Sequence[tuple[str, str]] = ()) -> str:
    """All that can be typed, by name. more: rows of the surface's own, such as `/qr [level]`."""
    rows = [*((_head(lang, each), _line(lang, each, full=full)) for each in commands), *more]
    return "\n".join([text(lang, "help.title"), *grid(sorted(rows))])


def _head(lang: Lang, command: Command) -> str:
    return f"/{command.name} {hint(lang, command)}".rstrip()


def _line(lang: Lang, command: Command, *, full: bool) -> str:
    verbs = f" ({'/'.join(verb.name for verb in command.verbs)})" if command.verbs else ""
    return describe(lang, command, full=full) + verbs


def verbs_of(lang: Lang, command: Command) -> str:
    """What can be done with one object; a sentence when this caller may do nothing."""
    name = f"/{command.name}"
    if not command.verbs:
        return text(lang, "verb.none", cmd=name)
    rows = [(f"{name} {verb.name}", describe_verb(lang, command, verb.name, verb.desc)) for verb in command.verbs]
    return "\n".join([text(lang, "verb.title", cmd=name), *grid(rows)])
