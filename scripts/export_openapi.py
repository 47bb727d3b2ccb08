"""Print the OpenAPI description of the JSON API: the types of the browser app are made from it (`make api-types`)."""

import json
import os
import sys
import tempfile
from pathlib import Path


def main() -> None:
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "halo_site.settings")
    with tempfile.TemporaryDirectory() as home:
        os.environ["HALO_HOME"] = home  # nothing of it is read; an absolute path has to be named
        import django

        django.setup()
        import halo_site.urls  # noqa: F401  mounts the API; its description needs the addresses
        from halo_site.api import api

        # Status codes become texts first: sorted, they must not stand beside the word "default".
        schema = json.loads(json.dumps(api.get_openapi_schema(), default=str))
        json.dump(schema, sys.stdout, sort_keys=True, indent=1)


if __name__ == "__main__":
    main()
