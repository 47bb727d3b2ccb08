"""Parts of an answer that arrive in pieces. Pure."""

import secrets

from halo_site.lib.text import clean

from .wire_json import load_arguments


class Text:
    """A growing text; what `add` returns, joined, is the text."""

    __slots__ = ("_half", "_parts")

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._half = ""  # first half of a surrogate pair whose second half may come with the next piece

    def add(self, piece: str) -> str:
        if self._half:
            piece, self._half = self._half + piece, ""
        if not piece.isascii():
            if "\ud800" <= piece[-1] <= "\udbff":
                piece, self._half = piece[:-1], piece[-1]
            piece = clean(piece)
        elif "\x00" in piece:
            piece = clean(piece)
        if piece:
            self._parts.append(piece)
        return piece

    @property
    def value(self) -> str:
        return "".join(self._parts)


class Call:
    """A tool call in the making. `fragments`: the argument text so far."""

    __slots__ = ("_args", "id", "name")

    def __init__(self, call_id: str, name: str) -> None:
        self.id = call_id or new_call_id()
        self.name = name
        self._args = Text()

    def add(self, fragment: str) -> str:
        return self._args.add(fragment)

    @property
    def arguments(self) -> str:
        return self._args.value

    @property
    def complete(self) -> bool:
        """The text so far is a whole JSON object."""
        text = self.arguments.strip()
        return text.endswith("}") and not load_arguments(text)[1]


def new_call_id() -> str:
    """For a vendor that sends none. Unique within the conversation."""
    return f"call_{secrets.token_hex(10)}"


def count(value: object) -> int | None:
    """A token counter of a vendor: whole, never negative; None when it said nothing usable."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return max(0, int(value)) if value == value and abs(value) < 2**53 else None
