"""Markdown as it streams into a terminal: coloured, never altered. Pure.

Only colours are put in between; taken out again, the text is what the model wrote. Where it is cut into pieces makes no
difference.
"""

import re

BOLD, CODE, QUIET, RESET = "\x1b[1m", "\x1b[36m", "\x1b[2m", "\x1b[0m"
_MAY_BEGIN = re.compile(r" {0,3}(#{0,6}|`{0,3}|~{0,3})")  # what of a line has to be seen before it is known
_HEADING = re.compile(r" {0,3}#{1,6} ")
_FENCE = re.compile(r" {0,3}(`{3}|~{3})")
_QUOTE = re.compile(r" {0,3}>")


class Styler:
    """`feed` pieces as they come, `end` when no more follow."""

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._held = ""  # not decided yet: the beginning of a line, or one `*`
        self._at_start = True
        self._fence = ""  # its sign, inside one
        self._line = ""  # style of the whole line
        self._bold = self._code = False
        self._now = ""  # what the terminal is set to

    def feed(self, text: str) -> str:
        out: list[str] = []
        for char in text:
            self._take(char, out)
        return "".join(out)

    def end(self) -> str:
        """What was held, and the terminal as it was."""
        out: list[str] = []
        self._decide(out)
        if self._now:
            out.append(RESET)
        self._begin()
        return "".join(out)

    def _take(self, char: str, out: list[str]) -> None:
        if self._at_start:
            held = self._held + char
            if char != "\n" and _MAY_BEGIN.fullmatch(held):
                self._held = held
                return
            self._begin_line(held, out)
            return
        if char == "*" and not self._code and not self._fence:
            if self._held:
                self._held = ""
                if self._bold:
                    self._put("**", out)
                self._bold = not self._bold
                if self._bold:
                    self._put("**", out)
            else:
                self._held = "*"
            return
        self._decide(out)
        if char == "\n":
            self._end_line(out)
        elif char == "`" and not self._fence:
            self._tick(out)
        else:
            self._put(char, out)

    def _begin_line(self, held: str, out: list[str]) -> None:
        self._held, self._at_start = "", False
        fence = _FENCE.match(held)
        if fence and (not self._fence or fence[1] == self._fence):
            closes = bool(self._fence)
            self._fence = fence[1]
            self._line = QUIET
            self._put(held.rstrip("\n"), out)
            self._line = "" if closes else QUIET
            self._fence = "" if closes else self._fence
            if held.endswith("\n"):
                self._end_line(out)
            return
        if not self._fence:
            self._line = BOLD if _HEADING.match(held) else QUIET if _QUOTE.match(held) else ""
        for char in held:
            if char == "\n":
                self._end_line(out)
            else:
                self._take(char, out)

    def _end_line(self, out: list[str]) -> None:
        self._bold = self._code = False  # neither goes over a line in what models write; a lone sign ends here
        self._line = QUIET if self._fence else ""
        self._set("", out)
        out.append("\n")
        self._at_start = True

    def _tick(self, out: list[str]) -> None:
        if self._code:
            self._put("`", out)
        self._code = not self._code
        if self._code:
            self._put("`", out)

    def _decide(self, out: list[str]) -> None:
        held, self._held = self._held, ""
        if held:
            self._put(held, out)

    def _put(self, text: str, out: list[str]) -> None:
        self._set(self._line + BOLD * self._bold + CODE * self._code, out)
        out.append(text)

    def _set(self, style: str, out: list[str]) -> None:
        if style != self._now:
            out.append((RESET if self._now else "") + style)
            self._now = style
