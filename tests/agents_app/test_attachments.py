"""Markers in replies, and which files may leave (spec tools 3.15, invariants 23 and 24)."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents_app.attachments import open_attachment, split_attachments
from halo_site.lib.access_level import Access
from halo_site.lib.errors import BadRequest, Forbidden, NotFound


@pytest.mark.parametrize(
    ("reply", "text", "paths"),
    [
        ("Here it is.\nMEDIA:/w/a.png\n", "Here it is.", ("/w/a.png",)),
        ("MEDIA: /w/with space.pdf  ", "", ("/w/with space.pdf",)),
        ("MEDIA:/w/1\nMEDIA:/w/2\nDone", "Done", ("/w/1", "/w/2")),
        ("a\r\nMEDIA:/w/x\r\nb", "a\r\nb", ("/w/x",)),
        ("the line MEDIA:/w/x is text", "the line MEDIA:/w/x is text", ()),
        (" MEDIA:/w/x", " MEDIA:/w/x", ()),
        ("MEDIA:\n/w/x", "MEDIA:\n/w/x", ()),
        ("media:/w/x", "media:/w/x", ()),
        ("", "", ()),
    ],
)
def test_24_markers_are_lines_of_their_own(reply: str, text: str, paths: tuple[str, ...]):
    found = split_attachments(reply)
    assert (found.text, found.paths) == (text, paths)


@given(st.text())
def test_a_reply_without_markers_is_untouched(reply: str):
    found = split_attachments(reply)
    assert found.text == reply or found.paths


@given(st.lists(st.sampled_from(["MEDIA:/w/a", "MEDIA: /w/b c ", "text", "", " MEDIA:/no", "x MEDIA:/no"])))
def test_no_line_is_lost_and_markers_keep_their_order(lines: list[str]):
    found = split_attachments("\n".join(lines))
    markers = [line for line in lines if line.startswith("MEDIA:")]
    assert list(found.paths) == [line.removeprefix("MEDIA:").strip() for line in markers]
    assert [line for line in found.text.split("\n") if line.strip()] == [
        line for line in lines if line.strip() and not line.startswith("MEDIA:")
    ]


@pytest.fixture
def outside(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is neither the workspace nor the place for temporary files."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path_factory.mktemp("temporary")))
    return tmp_path_factory.mktemp("outside")


def test_23_D9_a_lower_level_sends_only_what_lies_in_the_workspace(tmp_path: Path, outside: Path):
    (outside / "secret").write_text("s")
    (tmp_path / "mine").write_text("m")
    (tmp_path / "way out").symlink_to(outside / "secret")
    for path in (outside / "secret", tmp_path / "way out", Path("/etc/passwd")):
        with pytest.raises((Forbidden, NotFound)):
            open_attachment(str(path), tmp_path, Access.WORKSPACE)
    with open_attachment(str(tmp_path / "mine"), tmp_path, Access.READONLY) as file:
        assert file.read() == b"m"
    of_another_session = Path(tempfile.gettempdir()) / "chart.png"
    of_another_session.write_bytes(b"png")
    with pytest.raises(Forbidden):
        open_attachment(str(of_another_session), tmp_path, Access.WORKSPACE)


def test_full_access_sends_any_file_it_can_read(tmp_path: Path, outside: Path):
    (outside / "report").write_text("r")
    with open_attachment(str(outside / "report"), tmp_path, Access.FULL) as file:
        assert file.read() == b"r"


def test_what_is_no_file_is_refused_with_a_reason(tmp_path: Path):
    with pytest.raises(NotFound):
        open_attachment(str(tmp_path / "gone"), tmp_path, Access.FULL)
    with pytest.raises(BadRequest):
        open_attachment("relative.png", tmp_path, Access.FULL)
    with pytest.raises(BadRequest):
        open_attachment(str(tmp_path), tmp_path, Access.FULL)
