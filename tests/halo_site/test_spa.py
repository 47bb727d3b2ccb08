"""The page of the browser app: which files it names, and what it says when it was not built."""

import json
import os
from pathlib import Path

import pytest

from halo_site import spa

MANIFEST = {
    "src/main.tsx": {"file": "assets/app-1.js", "css": ["assets/app-1.css"], "imports": ["_shared.js"]},
    "src/head.ts": {"file": "assets/head-1.js"},
    "_shared.js": {"file": "assets/shared-1.js", "css": ["assets/shared-1.css"]},
}


def test_the_page_names_the_built_files_and_has_no_inline_script():
    page = spa.render(MANIFEST).decode()
    assert '<script type="module" src="/static/app/assets/app-1.js"></script>' in page
    assert '<link rel="stylesheet" href="/static/app/assets/shared-1.css">' in page
    assert '<link rel="modulepreload" href="/static/app/assets/shared-1.js">' in page
    assert "<script>" not in page
    assert " style=" not in page


def test_theme_and_language_are_set_before_the_style_sheet_is_asked_for():
    page = spa.render(MANIFEST).decode()
    assert page.index("head-1.js") < page.index("stylesheet")


def test_without_a_build_the_answer_is_503_and_says_what_to_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr(spa, "MANIFEST", tmp_path / "manifest.json")
    answer = spa.shell()
    assert answer.status == 503
    assert b"make run" in answer.body


def test_a_new_build_is_noticed_without_a_restart(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    manifest = tmp_path / "manifest.json"
    monkeypatch.setattr(spa, "MANIFEST", manifest)

    manifest.write_text(json.dumps(MANIFEST))
    first = spa.shell().body
    manifest.write_text(json.dumps(MANIFEST).replace("app-1", "app-2"))
    os.utime(manifest, ns=(1, 1))
    assert b"app-2.js" in spa.shell().body
    assert b"app-2.js" not in first
