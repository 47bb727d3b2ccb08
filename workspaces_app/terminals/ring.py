"""Pure: the last output of a terminal, for whoever comes back to it."""

import re

LINE_WITHIN = 4096  # bytes: so near a cut, the next line is a better begin

_MODE = re.compile(r"\x1b\[\?([0-9;]{1,64})([hl])|\x1bc")
_MOUSE = (9, 1000, 1001, 1002, 1003, 1004, 1005, 1006, 1015, 1016)
_SCREENS = (47, 1047, 1049)
_TRACKED = {*_MOUSE, *_SCREENS, 1, 2004}
_ESCAPE_TAIL = 72  # characters an unfinished sequence may have


class Ring:
    """The last `limit` bytes of valid UTF-8. Positions count all bytes since the beginning, kept or not."""

    __slots__ = ("_data", "_start", "limit")

    def __init__(self, limit: int) -> None:
        self.limit = max(1, limit)
        self._data = bytearray()
        self._start = 0

    @property
    def end(self) -> int:
        return self._start + len(self._data)

    def add(self, text: str) -> None:
        self._data += text.encode()
        over = len(self._data) - self.limit
        if over > 0:
            while over < len(self._data) and self._data[over] & 0xC0 == 0x80:
                over += 1  # never begin within a character
            del self._data[:over]
            self._start += over

    def since(self, position: int) -> tuple[str, bool]:
        """What came after `position`, and whether some of it is lost; then it begins with a line if one is near."""
        at = position - self._start
        if at >= 0:
            return self._data[at:].decode(), False
        line = self._data.find(b"\n", 0, LINE_WITHIN) + 1
        return self._data[line:].decode(), True


class Modes:
    """Switches of the screen that programs left on: who begins in the middle of the output must be told."""

    __slots__ = ("_hidden", "_on", "_tail")

    def __init__(self) -> None:
        self._on: set[int] = set()
        self._hidden = False
        self._tail = ""

    def feed(self, text: str) -> None:
        text = self._tail + text
        for found in _MODE.finditer(text):
            if found[1] is None:
                self._on.clear()
                self._hidden = False
                continue
            on = found[2] == "h"
            for number in (int(part) for part in found[1].split(";") if part):
                if number == 25:
                    self._hidden = not on
                elif number in _TRACKED:
                    (self._on.add if on else self._on.discard)(number)
        escape = text.rfind("\x1b")
        self._tail = text[escape:] if escape >= 0 and len(text) - escape < _ESCAPE_TAIL else ""
        if _MODE.match(self._tail):
            self._tail = ""

    def restore(self) -> str:
        """Brings any screen into the state of this one: mouse and paste off, then on what is on."""
        off = ";".join(str(number) for number in (*_MOUSE, 2004, 1))
        on = ";".join(str(number) for number in sorted(self._on))
        return f"\x1b[?{off}l" + (f"\x1b[?{on}h" if on else "") + ("\x1b[?25l" if self._hidden else "\x1b[?25h")
