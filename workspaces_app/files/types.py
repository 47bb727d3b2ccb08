"""What a browser is told a file is. By the suffix alone, and only from these tables (SECURITY-BAR D5)."""

BINARY = "application/octet-stream"

# May be shown in place by the app; also what a preview's page loads.
SHOWN = {
    "png": "image/png",
    "jpg": "image/jpeg",
    "jpeg": "image/jpeg",
    "gif": "image/gif",
    "webp": "image/webp",
    "bmp": "image/bmp",
    "svg": "image/svg+xml",
    "ico": "image/x-icon",
    "avif": "image/avif",
    "pdf": "application/pdf",
    "html": "text/html; charset=utf-8",
    "htm": "text/html; charset=utf-8",
    "mp4": "video/mp4",
    "webm": "video/webm",
    "ogg": "audio/ogg",
    "mov": "video/quicktime",
    "mp3": "audio/mpeg",
    "wav": "audio/wav",
    "flac": "audio/flac",
    "aac": "audio/aac",
    "m4a": "audio/mp4",
}

# Parts of a page, served below a preview token only.
PARTS = {
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "mjs": "text/javascript; charset=utf-8",
    "json": "application/json",
    "txt": "text/plain; charset=utf-8",
    "csv": "text/csv; charset=utf-8",
    "md": "text/plain; charset=utf-8",
    "wasm": "application/wasm",
    "woff": "font/woff",
    "woff2": "font/woff2",
    "ttf": "font/ttf",
    "otf": "font/otf",
}


def suffix_of(name: str) -> str:
    """Lower case, without the dot; empty when there is none."""
    return name.rpartition(".")[2].lower() if "." in name else ""


def shown_as(name: str) -> str | None:
    """The type of a file that may be shown in place; None = it is only downloaded."""
    return SHOWN.get(suffix_of(name))


def part_of_page(name: str) -> str:
    return SHOWN.get(suffix_of(name)) or PARTS.get(suffix_of(name), BINARY)
