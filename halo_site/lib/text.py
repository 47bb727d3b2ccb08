"""Text from outside (tools, vendors, platforms, forms) made storable, the same on SQLite and PostgreSQL.

PostgreSQL keeps no NUL, and neither database keeps half of a surrogate pair. One function mends both, so that a row
never depends on the database behind it.
"""

from typing import Any

REPLACEMENT = "\ufffd"


def clean(text: str) -> str:
    """`text` without NUL and lone surrogates; each becomes U+FFFD. Proper surrogate pairs become their character."""
    if "\0" in text:
        text = text.replace("\0", REPLACEMENT)
    if text.isascii():
        return text
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def clean_json(value: Any) -> Any:
    """A JSON value with every string in it cleaned, keys included; other values stay as they are."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {clean(key) if isinstance(key, str) else key: clean_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [clean_json(item) for item in value]
    return value


def decode(data: bytes) -> str:
    """Bytes that should be UTF-8; what is not becomes U+FFFD. A byte order mark is dropped."""
    return clean(data.decode("utf-8", "replace").removeprefix("\ufeff"))


def cut(text: str, limit: int) -> str:
    """At most `limit` characters; never ends in the middle of a joined pair of `\\r\\n`."""
    if len(text) <= limit:
        return text
    head = text[:limit]
    return head[:-1] if head.endswith("\r") else head
