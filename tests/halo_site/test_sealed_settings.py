"""Secrets of the global settings file at rest, with HALO_SETTINGS_KEY (spec settings, "where to go beyond")."""

import io
from dataclasses import replace

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError, call_command

from agents_app.settings_actions import put_all, set_one
from halo_site.lib import settings_store as store
from halo_site.lib import settings_write
from halo_site.lib.env import Env
from halo_site.lib.errors import BadRequest, Conflict
from tests.accounts import owner
from tests.homes import own_home
from workspaces_app.access import Caller

KEY = "k3y-0123456789-abcdefghijklmnopqrstuvwxyz"
CANARY = "sk-canary-0123456789"
SECRET = "openai.secrets.api_key"


@pytest.fixture
def home(settings, tmp_path):
    return own_home(settings, tmp_path)


@pytest.fixture
def file(home, settings):
    settings.HALO = replace(settings.HALO, settings_key=KEY)
    return home / "secrets" / "settings.yaml"


def reads_anew(settings, key: str) -> None:
    """As a server does that starts with this key."""
    settings.HALO = replace(settings.HALO, settings_key=key)
    store._layers.clear()


def test_a_secret_is_stored_sealed_and_read_as_it_was_given(file):
    settings_write.write("global", None, SECRET, CANARY)
    settings_write.write("global", None, "general.agent.max_retries", 3)
    assert CANARY not in file.read_text()
    assert "max_retries: 3" in file.read_text()
    store._layers.clear()
    assert store.secrets_of("openai") == {"api_key": CANARY}
    assert store.raw(SECRET) == (CANARY, "global")


def test_without_a_key_secrets_stay_readable_in_the_file(home):
    settings_write.write("global", None, SECRET, CANARY)
    assert CANARY in (home / "secrets" / "settings.yaml").read_text()


def test_the_same_secret_looks_different_each_time_and_a_change_elsewhere_leaves_it_alone(file):
    settings_write.write("global", None, SECRET, CANARY)
    settings_write.write("global", None, "other.secrets.api_key", CANARY)
    sealed = [line for line in file.read_text().splitlines() if "enc:v1:" in line]
    assert len({line.rpartition(":")[2] for line in sealed}) == 2
    settings_write.write("global", None, "general.agent.max_retries", 4)
    assert all(line in file.read_text() for line in sealed)


def test_names_of_environment_variables_and_workspace_files_are_not_sealed(file, tmp_path, monkeypatch):
    monkeypatch.setenv("MY_KEY", CANARY)
    settings_write.write("global", None, SECRET, "<<MY_KEY>>")
    assert "<<MY_KEY>>" in file.read_text()
    assert store.secrets_of("openai") == {"api_key": CANARY}
    settings_write.write("workspace", tmp_path, SECRET, "of this folder")
    assert "of this folder" in (tmp_path / ".halo" / "settings.yaml").read_text()


@pytest.mark.parametrize("key", ["", KEY.upper()])
def test_with_another_key_the_secret_is_unset_the_rest_works_and_nothing_is_overwritten(file, settings, key):
    settings_write.write("global", None, SECRET, CANARY)
    settings_write.write("global", None, "general.agent.max_retries", 3)
    before = file.read_text()
    reads_anew(settings, key)
    assert store.secrets_of("openai") == {}
    assert store.number("agent.max_retries") == 3
    assert SECRET in str(store.errors(None)[0]["error"])
    with pytest.raises(Conflict):
        settings_write.write("global", None, "general.agent.max_retries", 5)
    assert file.read_text() == before
    reads_anew(settings, KEY)
    assert store.secrets_of("openai") == {"api_key": CANARY}


def test_a_sealed_value_opens_under_its_own_key_only_and_in_no_workspace(file, tmp_path):
    settings_write.write("global", None, SECRET, CANARY)
    sealed = next(line.partition("api_key:")[2].strip() for line in file.read_text().splitlines() if "enc:" in line)
    file.write_text(f"shown: {{params: {{city: '{sealed}'}}}}\n")
    assert store.params_of("shown") == {}
    file.write_text("")
    (tmp_path / ".halo").mkdir()
    (tmp_path / ".halo" / "settings.yaml").write_text(f"openai: {{secrets: {{api_key: '{sealed}'}}}}\n")
    assert CANARY not in store.secrets_of("openai", tmp_path).values()


def test_nobody_can_enter_a_value_that_looks_sealed(file):
    with pytest.raises(BadRequest):
        settings_write.check_value(SECRET, "enc:v1:AAAA", None, "global")


@pytest.mark.django_db
def test_params_that_a_skill_declares_secret_are_sealed_too_by_every_way_in(file, home, rf):
    skill = home / "global" / "skills" / "weather"
    skill.mkdir(parents=True)
    (skill / "config.yaml").write_text("params: [{key: token, secret: true}, {key: city}]\n")
    boss = Caller.of(owner())
    set_one(boss, "global", None, "weather.params.token", CANARY, rf.get("/"))
    set_one(boss, "global", None, "weather.params.city", "Bonn", rf.get("/"))
    assert (CANARY in file.read_text(), "Bonn" in file.read_text()) == (False, True)
    masked = store.mask(CANARY)
    put_all(boss, "global", None, {"weather": {"params": {"token": masked, "city": "Ulm"}}}, None, rf.get("/"))
    assert (CANARY in file.read_text(), "Ulm" in file.read_text()) == (False, True)
    assert store.params_of("weather") == {"token": CANARY, "city": "Ulm"}


def test_a_command_seals_what_is_there_and_opens_it_again_comments_included(home, settings):
    settings_write.write("global", None, SECRET, CANARY)
    file = home / "secrets" / "settings.yaml"
    file.write_text(f"# mine\n{file.read_text()}kimi: {{secrets: {{api_key: <<KIMI>>}}}}\n")
    before = file.read_text()
    reads_anew(settings, KEY)
    for told in ("1 secret(s) sealed", "0 secret(s) sealed"):
        call_command("seal_secrets", stdout=(out := io.StringIO()))
        assert out.getvalue().strip() == told
    assert CANARY not in file.read_text()
    assert "# mine" in file.read_text()
    assert store.secrets_of("openai") == {"api_key": CANARY}
    call_command("seal_secrets", "--open", stdout=(out := io.StringIO()))
    assert (out.getvalue().strip(), file.read_text()) == ("1 secret(s) opened", before)


def test_the_command_needs_the_key(home):
    with pytest.raises(CommandError, match="HALO_SETTINGS_KEY is not set"):
        call_command("seal_secrets")


def test_the_key_comes_from_the_environment_or_a_file_and_a_weak_one_is_refused(tmp_path):
    given = {"HALO_HOME": str(tmp_path)}
    (tmp_path / "key").write_text(f"{KEY}\n")
    assert Env.read(given).settings_key == ""
    assert Env.read(given | {"HALO_SETTINGS_KEY": KEY}).settings_key == KEY
    assert Env.read(given | {"HALO_SETTINGS_KEY_FILE": str(tmp_path / "key")}).settings_key == KEY
    for wrong in (
        {"HALO_SETTINGS_KEY": "short"},
        {"HALO_SETTINGS_KEY": "ab" * 40},
        {"HALO_SETTINGS_KEY_FILE": str(tmp_path / "none")},
    ):
        with pytest.raises(ImproperlyConfigured, match="HALO_SETTINGS_KEY"):
            Env.read(given | wrong)
