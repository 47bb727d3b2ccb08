"""What sessions below full access never see, by file tools in the server itself (spec tools 6.6; SECURITY-BAR S1)."""

from dataclasses import replace
from pathlib import Path

import pytest

from halo_site.lib.access_level import Access
from workspaces_app import protected

CANARY = "canary-5d20"
SECRETS = """
.ssh/id_ed25519 .SSH/id_upper .aws/credentials .config/gh/hosts.yml .npmrc .netrc .halo/secrets/halo.sqlite3
.halo/global/logs/server.log .halo/global/evo.db .halo/global/evo.db-wal .halo/sessions/a/1.jsonl .halo/settings.yaml
"""
LOWER = pytest.mark.parametrize("level", [Access.WORKSPACE, Access.READONLY])


@pytest.fixture
def user(settings, home, tmp_path, monkeypatch) -> Path:
    """A home folder that is also the workspace: everything lies inside of it."""
    user = tmp_path / "ann"
    for name in SECRETS.split():
        path = user / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"x: {CANARY}\n")
    (user / "notes.txt").write_text("ordinary\n")
    monkeypatch.setenv("HOME", str(user))
    settings.HALO = replace(settings.HALO, home=user / ".halo")
    return user.resolve()


@LOWER
@pytest.mark.parametrize("name", SECRETS.split())
async def test_S1_with_the_home_as_workspace_credentials_stay_unread(call, context, user, level, name):
    ctx = replace(context(level), workspace=user)
    for path in (name, str(user / name), f"~/{name}", f"./x/../{name}"):
        for tool in ("file_read", "file_list", "view_image", "grep"):
            extra = {"pattern": "canary"} if tool == "grep" else {}
            assert CANARY not in (await call(tool, ctx=ctx, path=path, **extra)).text
    (user / "link").symlink_to(user / name)
    assert "Access denied" in (await call("file_read", ctx=ctx, path="link")).text
    written = await call("file_write", ctx=replace(ctx, level=Access.WORKSPACE), path=name, content="x")
    assert "Access denied" in written.text
    assert CANARY in (user / name).read_text()


@LOWER
async def test_S1_searches_leave_hidden_places_out(call, context, user, level):
    ctx = replace(context(level), workspace=user)
    for include in (None, "*", "id_ed25519", "*.yml"):
        arguments = {"include": include} if include else {}
        text = (await call("grep", ctx=ctx, pattern="canary|ordinary", **arguments)).text
        assert CANARY not in text
    found = (await call("glob", ctx=ctx, pattern="**")).text
    assert "notes.txt" in found
    assert not any(name in found for name in ("id_ed25519", "id_upper", "hosts.yml", ".npmrc", ".netrc", "credentials"))
    listed = (await call("file_list", ctx=ctx, recursive=True)).text
    assert "id_ed25519" not in listed
    assert "📄 notes.txt" in listed
    assert "📁 .ssh/" in listed


async def test_full_access_sees_everything(call, context, user):
    ctx = replace(context(Access.FULL), workspace=user)
    assert CANARY in (await call("file_read", ctx=ctx, path=".ssh/id_ed25519")).text
    assert CANARY in (await call("grep", ctx=ctx, pattern="canary")).text


def test_the_lists_follow_the_settings_file(user, settings):
    assert protected.hidden().covers(user / ".ssh" / "x")
    (user / ".halo" / "secrets" / "settings.yaml").write_text("general: {sandbox: {hidden_dirs: ~/diary}}\n")
    assert protected.hidden().covers(user / "diary" / "d")
    assert not protected.hidden().covers(user / ".ssh" / "x")
    assert protected.hidden().covers(user / ".halo" / "secrets" / "x"), "ours stay, whatever is set"
    assert not protected.hidden().covers(user / "diary2")
