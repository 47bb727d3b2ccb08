"""The one page of the browser app. Vite builds it into `static/dist/`; its files are served under `BASE`.

`shell()` is plain and quick (a stat, then a cached answer), so the ASGI app may call it without passing Django.
"""

import json
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.template.loader import render_to_string

BASE = "/static/app/"  # as `base` in static/app/vite.config.ts
DIST: Path = settings.BASE_DIR / "static" / "dist"
MANIFEST = DIST / ".vite" / "manifest.json"
NOT_BUILT = "The browser app is not built yet. Run: make run (or, in static/app: npm ci, npm run build)\n"


@dataclass(frozen=True, slots=True)
class Shell:
    status: int  # 200, or 503 when the app is not built
    content_type: str
    body: bytes


_cached: tuple[int, Shell] | None = None


def shell() -> Shell:
    """The page for every address that is neither API, admin nor a file. Never cached by the browser: names change."""
    global _cached
    try:
        version = MANIFEST.stat().st_mtime_ns
    except OSError:
        return Shell(503, "text/plain; charset=utf-8", NOT_BUILT.encode())
    if _cached is None or _cached[0] != version:
        _cached = (version, Shell(200, "text/html; charset=utf-8", render(json.loads(MANIFEST.read_text()))))
    return _cached[1]


def render(manifest: dict[str, dict[str, object]]) -> bytes:
    """The page for a Vite manifest: `{source: {file, css?: [file], imports?: [source]}}`."""
    sheets: list[str] = []
    preloads: list[str] = []

    def collect(source: str) -> None:
        chunk = manifest[source]
        for sheet in _strings(chunk.get("css")):
            if sheet not in sheets:
                sheets.append(sheet)
        for imported in _strings(chunk.get("imports")):
            file = str(manifest[imported]["file"])
            if file not in preloads:
                preloads.append(file)
                collect(imported)

    collect("src/main.tsx")
    context = {
        "base": BASE,
        "head": manifest["src/head.ts"]["file"],
        "entry": manifest["src/main.tsx"]["file"],
        "sheets": sheets,
        "preloads": preloads,
    }
    return render_to_string("app.html", context).encode()


def _strings(value: object) -> list[str]:
    return [str(item) for item in value] if isinstance(value, list) else []
