"""`/workspace import`: a look first, then exactly what was shown, then back."""

import re
from pathlib import Path

from halo_site.lib.access_level import Access
from tests.extensions_app.zips import zipped
from workspaces_app.models import Workspace

from .conftest import Type

SHARED = {
    ".halo/INDEX.md": b"theirs",
    ".halo/docs/guide.md": b"guide",
    ".halo/agents/mine/agent.yaml": b'name: Mine\napi_key: "{{mine.params.api_key}}"\n',
    "code.py": b"x",
}


def put(workspace: Workspace, name: str = "two words.zip", **more: bytes) -> Path:
    file = Path(workspace.path, name)
    file.write_bytes(zipped(SHARED | more).getvalue())
    return file


def plan_in(text: str) -> str:
    found = re.search(r"confirm ([0-9a-f]{16})$", text, re.MULTILINE)
    assert found, text
    return found[1]


def test_first_a_look_then_what_was_shown_then_back(type_: Type, workspace: Workspace):
    put(workspace)
    index = Path(workspace.path, ".halo/INDEX.md")
    index.parent.mkdir(exist_ok=True)
    index.write_text("ours")
    shown = type_("/workspace import two words.zip").text
    assert "differs from yours" in shown
    assert "Left out: code.py" in shown
    assert "To be set in Settings, not here: mine.params.api_key" in shown
    assert not Path(workspace.path, ".halo/agents/mine").exists()
    done = type_(f"/workspace import two words.zip confirm {plan_in(shown)}").text
    assert done.startswith("Imported: .halo/agents/mine, .halo/docs/guide.md.")
    assert index.read_text() == "ours"
    assert "As before the import" in type_("/workspace import undo").text
    assert not Path(workspace.path, ".halo/agents/mine").exists()
    type_(f"/workspace import two words.zip confirm {plan_in(shown)} replace")
    assert index.read_text() == "theirs"


def test_another_archive_under_the_same_name_is_not_what_was_shown(type_: Type, workspace: Workspace):
    put(workspace)
    plan = plan_in(type_("/workspace import two words.zip").text)
    put(workspace, **{".halo/docs/evil.md": b"evil"})
    assert "changed since the preview" in type_(f"/workspace import two words.zip confirm {plan}").text
    assert not Path(workspace.path, ".halo/docs").exists()


def test_what_cannot_be_imported_says_why(type_: Type, workspace: Workspace, tmp_path: Path):
    Path(workspace.path, "a.txt").write_text("no zip")
    outside = tmp_path / "outside.zip"
    outside.write_bytes(zipped(SHARED).getvalue())
    for line, said in (
        ("", "Usage: /workspace import"),
        ("none.zip", "none.zip"),
        ("a.txt", "Not imported: this is not a zip file"),
        (str(outside), "outside the allowed"),
        ("../outside.zip", "traversal"),
        ("undo", "There is no import to undo"),
    ):
        assert said in type_(f"/workspace import {line}").text


def test_it_needs_full_access(type_: Type, workspace: Workspace):
    put(workspace)
    refused = type_("/workspace import two words.zip", level=Access.WORKSPACE)
    assert refused.text == "/workspace import needs full access; you have workspace here."
