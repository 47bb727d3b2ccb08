"""Names of uploaded files. Pure (SECURITY-BAR D7; CASES C61, C63)."""

import unicodedata

MAX_BYTES = 255
MAX_SUFFIX = 32  # bytes; what is longer is no file type
_DOUBLE = (".tar.gz", ".tar.bz2", ".tar.xz", ".tar.zst")


def plain_name(said: str) -> str | None:
    """The last segment of what a client calls a file: composed, without control characters, 255 bytes at most.

    None for a name that names nothing ("", ".", ".."). Both slashes end a segment: the client may run Windows.
    """
    last = said.replace("\\", "/").rsplit("/", 1)[-1]
    name = "".join(char for char in unicodedata.normalize("NFC", last) if unicodedata.category(char) not in _UNFIT)
    name = name.strip()
    return None if name in ("", ".", "..") else fitted(name)


# Control characters, half surrogates, and marks that turn the direction of what stands beside them.
_UNFIT = frozenset({"Cc", "Cs", "Cf"})


def split_suffix(name: str) -> tuple[str, str]:
    """("report", ".pdf"), ("x", ".tar.gz"), (".env", "")."""
    for double in _DOUBLE:
        if name.lower().endswith(double) and len(name) > len(double):
            return name[: -len(double)], name[-len(double) :]
    stem, dot, suffix = name.rpartition(".")
    if not stem or not suffix or len(suffix.encode()) > MAX_SUFFIX:
        return name, ""
    return stem, dot + suffix


def fitted(name: str, mark: str = "") -> str:
    """`name` with `mark` before its suffix, the stem cut so that all of it fits; the suffix is kept."""
    stem, suffix = split_suffix(name)
    room = MAX_BYTES - len((mark + suffix).encode())
    return cut_bytes(stem, room) + mark + suffix


def numbered(name: str, number: int) -> str:
    """`a (1).txt` for number 1; number 0 is the name itself."""
    return fitted(name, f" ({number})" if number else "")


def cut_bytes(text: str, room: int) -> str:
    """As many whole characters of `text` as fit into `room` bytes of UTF-8."""
    return text.encode()[:room].decode("utf-8", "ignore")
