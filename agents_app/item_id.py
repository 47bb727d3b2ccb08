"""Ids of agents and skills: the name of a folder, one safe path segment."""

import re

_ID = re.compile(r"[\w-]{1,128}")


def is_item_id(text: str) -> bool:
    return _ID.fullmatch(text) is not None
