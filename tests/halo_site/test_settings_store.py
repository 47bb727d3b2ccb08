"""Two layers of settings, leaf by leaf (spec settings-auth-secrets)."""

import os
import stat

import pytest

from halo_site.lib import settings_store as store
from halo_site.lib import settings_write
from halo_site.lib.errors import BadRequest, Conflict, NotFound
from tests.homes import own_home


@pytest.fixture
def home(settings, tmp_path):
    return own_home(settings, tmp_path)


@pytest.fixture
def workspace(tmp_path):
    folder = tmp_path / "ws"
    folder.mkdir()
    return folder


def test_a_value_comes_from_workspace_then_global_then_default(home, workspace):
    assert store.general("compact.keep_messages", workspace) == 5
    settings_write.write("global", None, "general.compact.keep_messages", 7)
    assert store.general("compact.keep_messages", workspace) == 7
    settings_write.write("workspace", workspace, "general.compact.keep_messages", 9)
    assert store.general("compact.keep_messages", workspace) == 9
    assert store.general("compact.keep_messages") == 7
    settings_write.delete("workspace", workspace, "general.compact.keep_messages")
    settings_write.delete("global", None, "general.compact.keep_messages")
    assert store.general("compact.keep_messages", workspace) == 5


def test_a_workspace_cannot_change_what_is_global_only(home, workspace):
    (workspace / ".halo").mkdir()
    (workspace / ".halo" / "settings.yaml").write_text("general: {limits: {grep_default_matches: 1}}\n")
    assert store.general("limits.grep_default_matches", workspace) == 50
    assert "general" not in store.merged(workspace)


def test_an_edit_in_an_editor_counts_at_the_next_read(home):
    settings_write.write("global", None, "general.agent.max_retries", 3)
    file = home / "secrets" / "settings.yaml"
    file.write_text(file.read_text().replace("3", "4"))
    assert store.number("agent.max_retries") == 4


def test_a_file_that_stopped_parsing_keeps_its_last_good_values_and_refuses_writes(home):
    settings_write.write("global", None, "general.agent.max_retries", 3)
    file = home / "secrets" / "settings.yaml"
    file.write_text("general:\n  agent: {max_retries: 3\n  broken")
    assert store.number("agent.max_retries") == 3
    assert store.errors(None)[0]["line"] > 0
    with pytest.raises(Conflict):
        settings_write.write("global", None, "general.agent.max_retries", 5)
    assert "broken" in file.read_text()
    file.write_text("general: {agent: {max_retries: 8}}")
    assert (store.number("agent.max_retries"), store.errors(None)) == (8, [])


def test_a_stored_value_of_the_wrong_type_is_passed_over(home):
    (home / "secrets" / "settings.yaml").write_text("general: {agent: {max_retries: many}}")
    assert store.number("agent.max_retries") == 5


def test_L3_files_are_private_even_when_they_were_not(home, workspace):
    file = home / "secrets" / "settings.yaml"
    file.write_text("")
    file.chmod(0o644)
    (home / "secrets").chmod(0o755)
    settings_write.write("global", None, "openai.secrets.api_key", "k")
    settings_write.write("workspace", workspace, "openai.secrets.api_key", "k")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE((home / "secrets").stat().st_mode) == 0o700
    assert stat.S_IMODE((workspace / ".halo" / "settings.yaml").stat().st_mode) == 0o600


def test_a_vanished_workspace_is_not_made_again(home, workspace):
    workspace.rmdir()
    with pytest.raises(NotFound):
        settings_write.write("workspace", workspace, "openai.secrets.api_key", "k")
    assert not workspace.exists()


def test_environment_values_are_filled_in_only_for_use_and_never_the_servers_own(home, monkeypatch):
    monkeypatch.setenv("VENDOR_KEY", "from the environment")
    monkeypatch.setenv("HALO_PASSWORD", "canary")
    for name, value in {"a": "<<VENDOR_KEY>>", "b": "<<UNSET_NAME>>", "c": "<<HALO_PASSWORD>>", "d": "12"}.items():
        settings_write.write("global", None, f"openai.secrets.{name}", value)
    assert store.secrets_of("openai") == {
        "a": "from the environment",
        "b": "<<UNSET_NAME>>",
        "c": "<<HALO_PASSWORD>>",
        "d": "12",
    }
    assert store.merged(None)["openai"]["secrets"]["a"] == "<<VENDOR_KEY>>"


def test_a_workspace_has_keys_of_its_own(home, workspace):
    settings_write.write("global", None, "openai.secrets.api_key", "global")
    settings_write.write("workspace", workspace, "openai.secrets.api_key", "own")
    assert store.secrets_of("openai", workspace)["api_key"] == "own"
    settings_write.write("workspace", workspace, "openai.secrets.api_key", "")
    assert store.secrets_of("openai", workspace)["api_key"] == "global"


@pytest.mark.parametrize(
    "key",
    [
        "",
        "general",
        "general.nothing",
        "a.b",
        "a.b.c",
        "a.params",
        "a.__proto__.b",
        "a.params.__class__",
        "a.params.constructor",
        "a.params.prototype",
        "a..b",
        "a.params.b c",
        "../a.params.b",
        "a.params." + "x" * 200,
        "a.params.b.c.d.e.f.g.h",
    ],
)
def test_keys_that_may_not_be_written_are_refused(key):
    with pytest.raises(BadRequest, match="Invalid key"):
        settings_write.check_key(key)


def test_masks_show_little_and_are_recognised_when_they_come_back():
    assert [store.mask(value) for value in ("<<NAME>>", "abc", "abcdefg", "sk-0123456789abcdef")] == [
        "<<NAME>>",
        "***",
        "ab***fg",
        "sk********ef",
    ]
    assert store.is_mask_of("sk********ef", "sk-0123456789abcdef")
    assert not store.is_mask_of("sk********ef", "another value")
    assert not store.is_mask_of("plain", "plain")


def test_a_link_in_place_of_workspace_settings_is_not_followed(home, workspace, tmp_path):
    (tmp_path / "outside.yaml").write_text("openai: {secrets: {api_key: stolen}}")
    (workspace / ".halo").mkdir()
    os.symlink(tmp_path / "outside.yaml", workspace / ".halo" / "settings.yaml")
    assert store.secrets_of("openai", workspace) == {}


def test_effective_has_every_general_value_in_its_type(home):
    tree = store.effective(None)["general"]
    assert tree["compact"]["compress_at"] == 0.8
    assert tree["server"]["trust_proxy"] is False
    assert tree["sandbox"]["hidden_dirs"][0] == "~/.halo/secrets"
    assert tree["relay"]["allowed_workspaces"] == []
