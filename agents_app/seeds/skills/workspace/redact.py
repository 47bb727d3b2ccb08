"""Takes secrets out of texts that are given away, and finds what only a person can judge. Standard library only.

YAML is changed line by line, so that everything else stays as it was written. What comes out may hold a placeholder
too many, never a secret that stood under a name of one.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from typing import Any

SECRET_NAMES = frozenset(
    {"api_key", "secret", "secret_key", "token", "password", "access_key", "aws_secret_access_key"}
    | {"bot_token", "client_secret"}
)
AUTOMATIC = (
    ("aws-access-key", re.compile(r"\bAKIA[0-9A-Z]{16}\b")),
    ("aws-session-key", re.compile(r"\bASIA[0-9A-Z]{16}\b")),
)
_VENDORS = (
    *(r"sk-[\w-]{16,}", r"gh[pousr]_\w{20,}", r"github_pat_\w{20,}", r"xox[abprs]-[\w-]{10,}", r"AIza[\w-]{30,}"),
    *(r"glpat-[\w-]{16,}", r"npm_\w{30,}", r"pypi-[\w-]{40,}", r"hf_\w{30,}", r"dop_v1_\w{40,}", r"xapp-[\w-]{20,}"),
    *(r"[rs]k_(?:live|test)_\w{16,}", r"SG\.[\w-]{16,}\.[\w-]{16,}", r"ya29\.[\w-]{20,}", r"\d{8,10}:AA[\w-]{30,}"),
)
SUSPICIOUS = (
    ("private-key", re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----")),
    ("vendor-token", re.compile(rf"\b(?:{'|'.join(_VENDORS)})")),
    ("jwt", re.compile(r"\beyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]*")),
    ("url-with-password", re.compile(r"\b[a-z][a-z0-9+.-]{0,20}://[^\s/:@]+:[^\s/@]+@")),
    ("authorization", re.compile(r"\b(?:bearer\s+[\w.~+/=-]{8,}|authorization\s*[:=]\s*\S+)", re.IGNORECASE)),
    ("e-mail", re.compile(r"\b[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,6}\b")),
)
_LONG = re.compile(r"[A-Za-z0-9+/_-]{40,}={0,2}")
_SHORTER = re.compile(r"(?<![A-Za-z0-9+/_.-])[A-Za-z0-9+_-]{20,39}(?![A-Za-z0-9+/_.-])")
_ASSIGNED = re.compile(
    r"""(?:key|token|secret|passw(?:or)?d|credential)[\w-]{0,20}["']?\s{0,3}[:=]\s{0,3}["']?"""
    r"""(?P<value>[A-Za-z0-9+/_.~=!@$%^&*-]{12,200})""",
    re.IGNORECASE,
)
_BLOCK = re.compile(r"""(?P<head>\s*(?:-\s+)*(?P<key>["']?[\w-]+["']?)\s*:)(?P<value>(?:\s.*)?)$""")
_FLOW = re.compile(
    r"""(?P<head>[{,]\s*(?P<key>["']?[\w-]+["']?)\s*:\s*)(?P<value>"(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^,}\]\n"']+)"""
)
_FILLED = re.compile(r"\{\{.*\}\}|<<.*>>|true|false|null|~|\[.*|\{.*|[&*].*")

Note = Callable[[str, str], None]  # field, placeholder


def redact_yaml(text: str, owner: str, note: Note) -> str:
    """Literal values under a secret's name become `{{owner.params.<key>}}`."""
    return _redact(text, lambda key: _normal(key) in SECRET_NAMES, lambda key: _placeholder(owner, key), note)


def redact_defaults(text: str, owner: str, note: Note) -> str:
    """The `default` of each field of a config that is secret, by its name or by `secret: true`."""
    fresh = ""
    for item in re.split(r"(?m)(?=^[ \t]*-[ \t])", text):
        key = re.search(r"""\bkey\s*:\s*["']?([\w.-]+)""", item)
        secret = re.search(r"""\bsecret\s*:\s*["']?(?:true|yes|on)\b""", item, re.IGNORECASE)
        if key and (secret or _normal(key[1]) in SECRET_NAMES):
            placeholder = _placeholder(owner, key[1])
            item = _redact(item, lambda name: name == "default", lambda _, put=placeholder: put, note)  # type: ignore[misc]
        fresh += item
    return fresh


def _redact(text: str, is_secret: Callable[[str], bool], placeholder: Callable[[str], str], note: Note) -> str:
    out: list[str] = []
    blank: list[str] = []  # empty lines of which it is not known yet whether the value goes on behind them
    inside: int | None = None  # indent of a redacted key: what is deeper belongs to its value

    def put(key: str) -> str:
        note(key, placeholder(key))
        return f'"{placeholder(key)}"'

    def in_flow(found: re.Match[str]) -> str:
        key, value = _bare(found["key"]), _bare(found["value"].strip())
        return found["head"] + put(key) if is_secret(key) and value and not _FILLED.fullmatch(value) else found[0]

    lines = text.split("\n")
    for number, line in enumerate(lines):
        indent = len(line) - len(line.lstrip(" "))
        if inside is not None:
            if not line.strip():
                blank.append(line)
                continue
            if indent > inside:
                blank.clear()
                continue
            inside = None
            out += blank
            blank.clear()
        found = _BLOCK.match(line)
        if found and is_secret(_bare(found["key"])):
            value = re.sub(r"\s#.*$", "", found["value"]).strip()
            comma = "," if value.endswith(",") else ""
            value = _bare(value.rstrip(",").strip())
            follows = lines[number + 1] if number + 1 < len(lines) else ""
            if (value and not _FILLED.fullmatch(value)) or (not value and _is_text_below(follows, indent)):
                line, inside = f"{found['head']} {put(_bare(found['key']))}{comma}", indent
        else:
            line = _FLOW.sub(in_flow, line)
        out.append(line)
    return "\n".join(out + blank)


def _is_text_below(line: str, indent: int) -> bool:
    """True when the value of a key without one stands on the next line, as a plain text."""
    deeper = len(line) - len(line.lstrip(" ")) > indent
    return deeper and bool(line.strip()) and not line.lstrip().startswith(("- ", "#")) and not _BLOCK.match(line)


def redact_keys(text: str) -> tuple[str, list[dict[str, Any]]]:
    """AWS keys replaced; where they were: `{line, pattern, before}`, of the key itself four characters only."""
    notes: list[dict[str, Any]] = []
    lines = text.split("\n")
    for number, line in enumerate(lines):
        for kind, pattern in AUTOMATIC:
            notes += [{"line": number + 1, "pattern": kind, "before": key[:4] + "…"} for key in pattern.findall(line)]
            lines[number] = line = pattern.sub(f"[REDACTED:{kind}]", line)
    return "\n".join(lines), notes


def suspicious(text: str) -> Iterator[dict[str, Any]]:
    """What a person should look at: `{line, pattern, snippet}`, at most one per line."""
    for number, line in enumerate(text.split("\n")):
        kind, hit = _first(line[:20_000])
        if hit:
            start = max(0, hit.start() - 20)
            yield {"line": number + 1, "pattern": kind, "snippet": line[start : hit.end() + 20][:160]}


def _first(line: str) -> tuple[str, re.Match[str] | None]:
    for kind, pattern in SUSPICIOUS:
        if hit := pattern.search(line):
            return kind, hit
    for hit in _LONG.finditer(line):
        if all(re.search(wanted, hit[0]) for wanted in ("[a-z]", "[A-Z]", "[0-9]")):
            return "long-random-text", hit
    for hit in _ASSIGNED.finditer(line):
        called = line[hit.end() : hit.end() + 1] == "("  # the name of a function
        if not called and _digits(hit["value"]) > 2 and _entropy(hit["value"]) > 3:
            return "assigned-secret", hit
    for hit in _SHORTER.finditer(line):
        if not hit[0].islower() and _digits(hit[0]) > 2 and _turns(hit[0]) > len(hit[0]) / 3 and _entropy(hit[0]) > 3.8:
            return "random-text", hit
    return "", None


def _digits(text: str) -> int:
    return sum(sign.isdigit() for sign in text)


def _turns(text: str) -> int:
    """How often small letters, capitals and digits follow one another: seldom in words, often in keys."""
    kinds = [(sign.islower(), sign.isupper(), sign.isdigit()) for sign in text]
    return sum(one != other for one, other in zip(kinds, kinds[1:]))  # noqa: B905, RUF007  any python3


def _entropy(text: str) -> float:
    """Bits per character, by how often each occurs in this text."""
    shares = [text.count(sign) / len(text) for sign in set(text)]
    return -sum(share * math.log2(share) for share in shares)


def _placeholder(owner: str, key: str) -> str:
    return "{{" + f"{owner}.params.{key}" + "}}"


def _normal(key: str) -> str:
    return key.lower().replace("-", "_")


def _bare(text: str) -> str:
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'" else text
