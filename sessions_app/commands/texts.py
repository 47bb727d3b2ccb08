"""Every text of a slash command, in English and Chinese (spec commands, "i18n catalogue")."""

from collections.abc import Mapping
from typing import Literal

from .texts_en import EN
from .texts_zh import ZH

Lang = Literal["en", "zh"]
CATALOGUE: Mapping[str, Mapping[str, str]] = {"en": EN, "zh": ZH}


def text(lang: str, key: str, **values: object) -> str:
    """The text with its parameters filled. An unknown key is its own text, a missing language is English."""
    found = CATALOGUE.get(lang, EN).get(key) or EN.get(key)
    return key if found is None else found.format_map(values) if values else found


def language(name: str | None) -> Lang:
    """`zh-CN` and the like -> zh, everything else -> en."""
    return "zh" if (name or "").lower().startswith("zh") else "en"
