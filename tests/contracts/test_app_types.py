"""The browser app's types of the JSON API are those of the API as it is: `make api-types` writes them anew."""

import re
from pathlib import Path
from typing import Any

import halo_site.urls  # noqa: F401  mounts the API
from halo_site.api import api

GENERATED = Path(__file__).resolve().parents[2] / "static/app/src/api/schema.gen.ts"


def block(text: str, name: str) -> str:
    """The lines of one schema in the generated file."""
    found = re.search(rf"^        {re.escape(name)}: (?:\{{.*?^        \}}|[^\n]*);", text, re.MULTILINE | re.DOTALL)
    return found[0] if found else ""


def test_every_schema_and_field_of_the_api_is_in_the_types_of_the_app():
    text = GENERATED.read_text(encoding="utf-8")
    schemas: dict[str, Any] = api.get_openapi_schema()["components"]["schemas"]
    missing = [
        f"{name}.{field}"
        for name, schema in schemas.items()
        for field in schema.get("properties", {})
        if not re.search(rf"^            {re.escape(field)}\??:", block(text, name), re.MULTILINE)
    ]
    assert missing == [], "run: make api-types"


def test_every_route_of_the_api_is_in_the_types_of_the_app():
    text = GENERATED.read_text(encoding="utf-8")
    missing = [path for path in api.get_openapi_schema()["paths"] if f'"{path}": {{' not in text]
    assert missing == [], "run: make api-types"
