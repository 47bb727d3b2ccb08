"""`manage.py extensions`, and that our samples are extensions like any other."""

import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from extensions_app import pack, registry
from extensions_app.models import Extension
from extensions_app.scanner import scan
from workspaces_app.models import AuditEvent

from .zips import good, zipped

pytestmark = pytest.mark.django_db


@pytest.fixture
def root(tmp_path, settings) -> Path:
    settings.HALO = replace(settings.HALO, home=tmp_path / "home")
    return registry.root()


def run(capsys, *words: str) -> str:
    call_command("extensions", *words)
    return capsys.readouterr().out


def test_a_sample_is_installed_listed_packed_and_removed(root, tmp_path, capsys):
    assert run(capsys, "list") == "Samples to install: echo-save, model-viewer\n"
    assert run(capsys, "install", "echo-save") == "Installed echo-save 1.0.0\n"
    assert run(capsys, "list").splitlines()[0] == "echo-save 1.0.0 .echo Echo (save sample)"
    assert Extension.objects.get().folder == "echo-save"
    run(capsys, "pack", str(root / "echo-save"), "--into", str(tmp_path))
    run(capsys, "remove", "echo-save")
    assert scan(root).extensions == ()
    run(capsys, "install", str(tmp_path / "echo-save-1.0.0.zip"))
    assert scan(root).find("echo-save") is not None
    assert [row.action for row in AuditEvent.objects.order_by("pk")] == [
        "extension.install",
        "extension.remove",
        "extension.install",
    ]


def test_C58_the_command_asks_before_it_goes_back_and_says_who_opens_a_type(root, tmp_path, capsys):
    zips = {}
    for version in ("1.0.0", "2.0.0"):
        zips[version] = tmp_path / f"{version}.zip"
        zips[version].write_bytes(zipped(good(version=version)).read())
    run(capsys, "install", str(zips["2.0.0"]))
    with pytest.raises(
        CommandError, match=r"is older than 2\.0\.0, which is installed; --older installs it all the same"
    ):
        run(capsys, "install", str(zips["1.0.0"]))
    assert run(capsys, "install", "--older", str(zips["1.0.0"])) == "Installed mol-view 1.0.0\n"
    (tmp_path / "other.zip").write_bytes(zipped(good(id="other", extensions=[".pdb"], priority="option")).read())
    run(capsys, "install", str(tmp_path / "other.zip"))
    assert run(capsys, "list").splitlines()[:3] == [
        "mol-view 1.0.0 .mol .pdb Molecule viewer",
        "other 1.2.0 .pdb Molecule viewer",
        ".pdb of other opens with mol-view",
    ]


def test_the_same_folder_packs_to_the_same_bytes_with_the_contents_at_the_root(tmp_path):
    folder = pack.samples()["echo-save"]
    zips = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        zips.append(pack.pack(folder, tmp_path / name)[1])
    assert zips[0].read_bytes() == zips[1].read_bytes()
    with zipfile.ZipFile(zips[0]) as made:
        assert {"halo-extension.json", "index.html", "LICENSE"} <= set(made.namelist())


@pytest.mark.parametrize("name", pack.samples())
def test_a_sample_has_a_licence_and_a_manifest_that_is_its_folder(name):
    place = pack.samples()[name]
    assert (place / "LICENSE").is_file()
    assert scan(place.parent).find(name) is not None


def test_what_cannot_be_done_says_why(root, tmp_path, monkeypatch):
    (tmp_path / "bad.zip").write_bytes(zipped(good(id="UPPER")).read())
    empty = tmp_path / "empty"
    empty.mkdir()
    for words, reason in (
        (("install", "nope"), "nope is no zip, no folder and no sample"),
        (("install", str(tmp_path / "bad.zip")), "Not installed: id must match"),
        (("install", str(empty)), "Not installed: there is no halo-extension.json"),
        (("pack", str(empty)), "Not packed: there is no halo-extension.json"),
        (("remove", "nope"), "nope is not installed"),
    ):
        with pytest.raises(CommandError, match=reason):
            call_command("extensions", *words)
    monkeypatch.setattr(pack, "SAMPLES", tmp_path)
    sample = tmp_path / "fetched"
    sample.mkdir()
    (sample / "halo-extension.json").write_text("{}")
    (sample / "package.json").write_text("{}")
    with pytest.raises(CommandError, match="run scripts/setup samples"):
        call_command("extensions", "install", "fetched")
