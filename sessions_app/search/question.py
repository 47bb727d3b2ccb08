"""What a person looks for: words and "quoted phrases", and where they stand in a text. Pure."""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

LONGEST, MOST_TERMS = 200, 10  # characters of a question; terms of it, the rest is ignored
AROUND = 60  # characters before a hit that its snippet begins with
SNIPPET = 200
_TERM = re.compile(r'"([^"]+)"|(\S+)')


@dataclass(frozen=True)
class Question:
    """Terms that must all occur in a message, as parts of words, too; upper and lower case are the same."""

    terms: Sequence[str]

    @cached_property
    def _patterns(self) -> list[re.Pattern[str]]:
        return [re.compile(re.escape(term), re.IGNORECASE) for term in self.terms]

    def snippet(self, text: str) -> str | None:
        """One line around the first hit; None when a term is missing."""
        found = [pattern.search(text) for pattern in self._patterns]
        places = [match.start() for match in found if match is not None]
        if len(places) < len(found) or not places:
            return None
        start = max(0, min(places) - AROUND)
        part = " ".join(text[start : start + SNIPPET].split())
        return f"{'…' if start else ''}{part}{'…' if start + SNIPPET < len(text) else ''}"


def question_of(text: str) -> Question:
    """Without any term nothing is found. Composed characters, as people's keyboards send them."""
    composed = unicodedata.normalize("NFC", text)[:LONGEST]
    terms = [phrase.strip() or word for phrase, word in _TERM.findall(composed)]
    return Question(tuple(dict.fromkeys(term for term in terms if term.strip('"')))[:MOST_TERMS])


def is_plain(term: str) -> bool:
    """Whether every database compares the term alike: ASCII, or a script without upper and lower case."""
    return term.isascii() or term.lower() == term.upper()
