"""The log of a server process (SECURITY-BAR L2, spec observability 5)."""

import json
import logging
from dataclasses import replace

import pytest
from django.conf import settings

from halo_site.lib import logs


@pytest.fixture
def env(tmp_path):
    return replace(
        settings.HALO,
        home=tmp_path,
        log_level="info",
        log_max_size=1000,
        log_max_files=2,
        password="correct-horse-9",
        database_url="postgres://u:pg-pass-77@db/x",
    )


@pytest.fixture
def root_logger():
    root = logging.getLogger()
    kept, level, raising = list(root.handlers), root.level, logging.raiseExceptions
    yield root
    for handler in set(root.handlers) - set(kept):
        handler.close()
    root.handlers, root.level, logging.raiseExceptions = kept, level, raising


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_L2_control_bytes_never_start_a_line_of_their_own(env, tmp_path, root_logger):
    logs.start(env, file=tmp_path / "server.log")
    logging.getLogger("halo.x").info("name %s", 'a\r\n{"level":"error"}\x1b[2J', extra={"agent": "b\nc"})
    (line,) = lines(tmp_path / "server.log")
    assert line["message"] == 'name a\r\n{"level":"error"}\x1b[2J'
    assert line["agent"] == "b\nc"
    assert line["level"] == "info"
    assert line["time"].endswith("Z")


def test_secrets_are_masked_in_messages_fields_and_traces(env, tmp_path, root_logger):
    logs.start(replace(env, log_max_size=10**6), file=tmp_path / "server.log")
    log = logging.getLogger("halo.x")
    log.warning("login with correct-horse-9 and pg-pass-77", extra={"url": "/x?token=abcdef123456&a=1"})
    try:
        raise ValueError("Authorization: Bearer sk-ant-0123456789abcdef")
    except ValueError:
        log.exception("failed")
    text = (tmp_path / "server.log").read_text()
    for secret in ("correct-horse-9", "pg-pass-77", "abcdef123456", "0123456789abcdef"):
        assert secret not in text
    assert "a=1" in text


def test_files_rotate_and_no_line_is_lost_or_torn(env, tmp_path, root_logger):
    logs.start(env, file=tmp_path / "server.log")
    for number in range(60):
        logging.getLogger("halo.x").info("line %d", number)
    names = sorted(path.name for path in tmp_path.glob("server.log*"))
    assert names == ["server.log", "server.log.1", "server.log.2"]
    kept = [line["message"] for name in reversed(names) for line in lines(tmp_path / name)]
    assert kept == [f"line {number}" for number in range(60 - len(kept), 60)]


def test_a_line_below_the_level_goes_nowhere_and_an_unknown_level_is_warn(env, tmp_path, root_logger, capsys):
    logs.start(replace(env, log_level="loud"), file=tmp_path / "server.log")
    logging.getLogger("halo.x").info("quiet")
    logging.getLogger("halo.x").warning("heard")
    assert [line["message"] for line in lines(tmp_path / "server.log")] == ["heard"]


def test_an_unwritable_folder_means_stdout_only_and_one_warning(env, tmp_path, root_logger, capsys):
    (tmp_path / "file").write_text("")
    logs.start(env, file=tmp_path / "file" / "server.log")
    assert "logging to stdout only" in capsys.readouterr().out
