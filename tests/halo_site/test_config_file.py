"""config.yaml is brought up to date without losing a word (spec deploy 2, 11.2)."""

import pytest

from halo_site.lib.config_file import ConfigBroken, merge_template, set_leaf
from halo_site.lib.env import Env
from halo_site.lib.yaml_files import load

TEMPLATE = """server:
  port: {value: null, default: 9527, description: "Port"}
  jwt_secret: {value: null, default: ""}
features:
  goal_mode: {value: null, default: false}
"""


def test_a_missing_file_is_the_template_and_private(tmp_path):
    file = tmp_path / "config.yaml"
    assert merge_template(file, TEMPLATE) is True
    assert file.read_text() == TEMPLATE
    assert file.stat().st_mode & 0o777 == 0o600
    assert merge_template(file, TEMPLATE) is False


def test_new_leaves_come_in_and_values_and_comments_stay(tmp_path):
    file = tmp_path / "config.yaml"
    file.write_text("# my server\nserver:\n  port: {value: 9600, default: 9527}  # behind nginx\n  own: 3\n")
    file.chmod(0o644)
    assert merge_template(file, TEMPLATE) is True
    text = file.read_text()
    assert "# my server" in text
    assert "value: 9600, default: 9527}  # behind nginx" in text
    found = load(text)
    assert found["server"]["port"]["value"] == "9600"
    assert found["server"]["own"] == "3"
    assert found["features"]["goal_mode"]["default"] == "false"
    assert file.stat().st_mode & 0o777 == 0o600


def test_a_broken_file_is_not_overwritten(tmp_path):
    file = tmp_path / "config.yaml"
    file.write_text("server: {port")
    with pytest.raises(ConfigBroken, match=r"config\.yaml"):
        merge_template(file, TEMPLATE)
    with pytest.raises(ConfigBroken):
        set_leaf(file, "server.jwt_secret", "x")
    assert file.read_text() == "server: {port"


def test_a_set_leaf_is_what_the_next_start_reads(tmp_path):
    (tmp_path / "secrets").mkdir()
    file = tmp_path / "secrets" / "config.yaml"
    merge_template(file, TEMPLATE)
    set_leaf(file, "server.jwt_secret", "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=")
    set_leaf(file, "server.port", 9601)
    env = Env.read({"HALO_HOME": str(tmp_path)})
    assert (env.port, env.jwt_secret) == (9601, "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=")
    assert 'description: "Port"' in file.read_text()
