from pathlib import Path

import pytest

from halo_site.lib import publish
from tests.homes import own_home


@pytest.fixture
def home(settings, tmp_path) -> Path:
    return own_home(settings, tmp_path)


@pytest.fixture
def workspace(tmp_path) -> Path:
    folder = tmp_path / "my project, ünïcode"
    folder.mkdir()
    return folder.resolve()


@pytest.fixture
def published(monkeypatch):
    """(topic, event) of everything that is told to open pages."""
    events: list[tuple[str, object]] = []

    class Recorder(publish.Local):
        def publish(self, topic, event):
            events.append((topic, event))

    monkeypatch.setattr(publish, "_transport", Recorder())
    return events
