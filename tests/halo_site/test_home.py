"""Modes of the home folder (SECURITY-BAR L3)."""

import os
import stat
from dataclasses import replace

import pytest
from django.conf import settings

from halo_site.lib.home import HomeUnusable, prepare_home


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def careless_umask():
    before = os.umask(0)
    yield
    os.umask(before)


def test_L3_a_home_made_under_umask_000_is_closed_to_others(tmp_path, careless_umask):
    env = replace(settings.HALO, home=tmp_path / "home", database_url="")
    prepare_home(env)
    assert mode(env.secrets_dir) == 0o700
    assert mode(env.secrets_dir / "halo.sqlite3") == 0o600
    (tmp_path / "made-later").write_text("")
    assert mode(tmp_path / "made-later") == 0o644


def test_L3_modes_somebody_widened_are_put_right_at_the_next_start(tmp_path):
    env = replace(settings.HALO, home=tmp_path / "home", database_url="")
    prepare_home(env)
    (env.secrets_dir / "config.yaml").write_text("server: {}\n")
    (env.secrets_dir / "config.yaml").chmod(0o666)
    env.secrets_dir.chmod(0o777)
    (tmp_path / "outside").write_text("")
    (tmp_path / "outside").chmod(0o644)
    (env.secrets_dir / "link").symlink_to(tmp_path / "outside")
    prepare_home(env)
    assert mode(env.secrets_dir) == 0o700
    assert mode(env.secrets_dir / "config.yaml") == 0o600
    assert mode(tmp_path / "outside") == 0o644


def test_a_home_that_cannot_be_used_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(HomeUnusable, match="cannot be used"):
        prepare_home(replace(settings.HALO, home=tmp_path / "file"))
