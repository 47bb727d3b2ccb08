"""Every relative link and picture in README, CHANGELOG and docs leads somewhere."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
LINK = re.compile(r"\]\(([^)\s]+)\)")
CODE = re.compile(r"```.*?```|`[^`]*`", re.S)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page: Path):
    text = CODE.sub("", page.read_text(encoding="utf-8"))
    missing = []
    for target in LINK.findall(text):
        if re.match(r"[a-z]+:|#", target):
            continue
        if not (page.parent / target.partition("#")[0]).exists():
            missing.append(target)
    assert missing == []


def test_every_page_is_reached_from_the_index():
    seen, todo = set(), [ROOT / "docs" / "index.md"]
    while todo:
        page = todo.pop()
        if page in seen:
            continue
        seen.add(page)
        if page.is_dir():
            todo += page.glob("*.md")
            continue
        if page.suffix != ".md":
            continue
        for target in LINK.findall(page.read_text(encoding="utf-8")):
            if not re.match(r"[a-z]+:|#", target):
                todo.append((page.parent / target.partition("#")[0]).resolve())
    assert [str(page.relative_to(ROOT)) for page in PAGES[2:] if page not in seen] == []
