"""Lines of a text file with the byte where each begins: what delimited text and JSON lines have in common."""

import codecs
import re
import time
from collections.abc import Iterator
from typing import BinaryIO

from .page import MAX_ROW, Mark, Unreadable

CHUNK = 256 * 1024
MARK_EVERY = 1_000  # rows
PATIENCE = 8.0  # seconds
TOO_FAR = "Row {rows} was reached in the time a preview may take; ask again, and it goes on from there"
TOO_LONG = "Row exceeds 1MB — file may not be valid CSV/TSV"
_WIDEST = 4  # bytes of a character, in every encoding we read
ENCODINGS = {
    "utf-8": "utf-8",
    "utf-16": "utf-16",
    "utf-16le": "utf-16-le",
    "utf-16be": "utf-16-be",
    "gb18030": "gb18030",
    "big5": "big5",
    "shift_jis": "shift_jis",
    "euc-kr": "euc-kr",
    "windows-1252": "cp1252",
    "latin-1": "latin-1",
}  # wire name -> Python's
_BOMS = {
    "utf-8": (codecs.BOM_UTF8,),
    "utf-16le": (codecs.BOM_UTF16_LE,),
    "utf-16be": (codecs.BOM_UTF16_BE,),
}
_HIGH = re.compile(rb"[\x80-\xff]+")
_BINARY = re.compile(rb"[\x00-\x08\x0e-\x1f\x7f\x81\x8d\x8f\x90\x9d]")  # in no text of western Windows
_CHINESE = re.compile(r"[\u3000-\u303f\u4e00-\u9fff\uff00-\uffef]")


class Lines:
    """Iterates over lines with their ends (LF, CRLF, CR); `at` is the byte after the last line given out, if `counted`.

    `restart_row()` at the end of each row: a row of more than a million characters raises Unreadable.
    """

    def __init__(self, file: BinaryIO, encoding: str, *, start: int = 0) -> None:
        self.file, self.encoding, self.at = file, ENCODINGS[encoding], start
        self.counted = is_counted(encoding)
        self._left = MAX_ROW
        self._lines = self._read()

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        return next(self._lines)

    def restart_row(self) -> None:
        self._left = MAX_ROW

    def _read(self) -> Iterator[str]:
        self.file.seek(self.at)
        decoder = None if self.counted else codecs.getincrementaldecoder(self.encoding)("replace")
        rest = b""
        while chunk := self.file.read(CHUNK):
            if decoder is not None:
                chunk = decoder.decode(chunk).encode("utf-8", "replace")
            pieces = (rest + chunk).splitlines(keepends=True)
            # Unfinished, or its LF may still come.
            rest = pieces.pop() if pieces and not pieces[-1].endswith(b"\n") else b""
            yield from map(self._line, pieces)
            if len(rest) > self._left * _WIDEST:
                raise Unreadable(TOO_LONG)
        if rest:
            yield self._line(rest)

    def _line(self, piece: bytes) -> str:
        self.at += len(piece)
        line = piece.decode(self.encoding if self.counted else "utf-8", "replace")
        self._left -= len(line)
        if self._left < 0 and self._left + len(line) < len(line.rstrip("\r\n")):  # the row's own end does not count
            raise Unreadable(TOO_LONG)
        return line


def is_counted(encoding: str) -> bool:
    """Whether line ends are single bytes of the file. UTF-16 is turned into UTF-8 while it is read."""
    return not encoding.startswith("utf-16")


def encoding_of(head: bytes, asked: str = "") -> tuple[str, int]:
    """(wire name of the encoding, bytes of the mark before the text). asked: "" = found out. Raises Unreadable."""
    if not asked:
        return _recognised(head)
    if asked.lower() not in ENCODINGS:
        raise Unreadable(f"encoding must be one of: {', '.join(ENCODINGS)}")
    named = asked.lower()
    if named == "utf-16" and not head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        named = "utf-16le"
    return named, next((len(mark) for mark in _BOMS.get(named, ()) if head.startswith(mark)), 0)


def _recognised(head: bytes) -> tuple[str, int]:
    """UTF-8, unless a mark says otherwise or the bytes are plainly Chinese or western."""
    if head.startswith(codecs.BOM_UTF8):
        return "utf-8", 3
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16", 0
    if _decodes(head, "utf-8") is not None:
        return "utf-8", 0
    shown = head.decode("utf-8", "replace")
    if sum(char > "\x7f" for char in shown) > 2 * shown.count("\ufffd"):
        return "utf-8", 0  # with some broken places
    runs = _HIGH.findall(head)
    alone = sum(len(run) == 1 for run in runs)  # an accented letter among plain ones; Chinese comes in pairs
    if 2 * alone <= len(runs):
        text = _decodes(head, "gb18030")
        return ("gb18030", 0) if text is not None and _CHINESE.search(text) else ("utf-8", 0)
    return ("utf-8", 0) if _BINARY.search(head) else ("windows-1252", 0)


def _decodes(head: bytes, encoding: str) -> str | None:
    try:
        return codecs.getincrementaldecoder(encoding)().decode(head)  # a character may be cut at the end
    except UnicodeDecodeError:
        return None


class Marks:
    """Collects where every thousandth row begins, while rows go by. Gives up before the child is ended from outside."""

    def __init__(self, lines: Lines, seconds: float = PATIENCE) -> None:
        self.lines = lines
        self.found: list[Mark] = []
        self._end = time.monotonic() + seconds

    def passed(self, rows: int) -> None:
        """`rows` data rows lie before the place the lines are at now. Raises Unreadable when it took too long."""
        if rows % MARK_EVERY == 0 and self.lines.counted:
            self.found.append((rows, self.lines.at))
            if time.monotonic() > self._end:
                raise Unreadable(TOO_FAR.format(rows=rows), self.found)
