"""`@file` and `@image` in a prompt (spec cli-tui-acp 7)."""

from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from halo_site.cli.references import MOST_IMAGE, MOST_TEXT, resolve


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a b").mkdir()
    (tmp_path / "a b" / "notes.md").write_text("milk")
    (tmp_path / "pic.PNG").write_bytes(b"\x89PNG")
    return tmp_path


def test_9_a_quoted_path_is_put_in_with_its_relative_name(folder: Path):
    found = resolve(folder, 'sum up @file "a b/notes.md" please')
    assert found.text == 'sum up \n<file path="a b/notes.md">\nmilk\n</file>\n please'
    assert (found.images, found.warnings) == ((), ())


@pytest.mark.parametrize(
    ("prompt", "text", "warned"),
    [
        ("@file gone.md", "[not found: gone.md]", True),
        ("@image gone.png", "[not found: gone.png]", True),
        ('@file "a b"', "[not a file: a b]", True),
        ("mail me@file x", "mail me@file x", False),
        ("@files x", "@files x", False),
        ("@file", "@file", False),
    ],
)
def test_9_what_leads_nowhere_is_named_and_never_an_error(folder: Path, prompt: str, text: str, warned: bool):
    found = resolve(folder, prompt)
    assert (found.text, bool(found.warnings)) == (text, warned)


def test_9_a_long_file_is_cut_between_characters(folder: Path):
    (folder / "long.txt").write_text("x" * (MOST_TEXT - 1) + "会" * 400)
    found = resolve(folder, "@file long.txt")
    assert "\ufffd" not in found.text
    assert "[truncated: file is 101KB, showing first 100KB]" in found.text
    assert found.text.count("会") == 0
    assert found.warnings


def test_an_image_is_seen_and_not_quoted_whichever_mark_names_it(folder: Path):
    for mark in ("@file", "@image"):
        found = resolve(folder, f"look at {mark} pic.PNG")
        assert found.images == (b"\x89PNG",)
        assert "PNG" not in found.text.replace("pic.PNG", "")


def test_an_image_that_is_too_large_stays_behind_with_a_word(folder: Path):
    with (folder / "big.png").open("wb") as file:
        file.truncate(MOST_IMAGE + 1)
    found = resolve(folder, "@image big.png")
    assert found.images == ()
    assert "5 MiB" in found.warnings[0]


@given(st.text(max_size=60) | st.text("~a/\0", max_size=6))
@example("~nobody/x")
@example("~\0")
def test_no_prompt_raises(prompt: str):
    assert isinstance(resolve(Path("/nonexistent"), f"@file {prompt} @image {prompt}").text, str)
