"""How a viewer's frame is caged (ARCHITECTURE 7, `general.extensions.isolation`)."""

from enum import StrEnum
from typing import cast

from halo_site.lib.settings_store import general


class Isolation(StrEnum):
    AUTO = "auto"  # opaque origin; a person may choose compatibility mode for a viewer that does not work in it
    STRICT = "strict"  # opaque origin, always
    COMPAT = "compat"  # the origin of the app: a viewer can do what its user can


def isolation() -> Isolation:
    """As it is set now."""
    return Isolation(cast(str, general("extensions.isolation")))


def policy(host: str, base: str) -> str:
    """The Content-Security-Policy of an extension's file outside compat.

    The sandbox also cages a file opened in a tab of its own. A viewer loads what it brought along and nothing else:
    what it was given to show cannot leave. host: the Host header; base: path of its files with the token, ending "/".
    """
    # An address in brackets is no source that a policy can name. `http:` in a source means https as well.
    own = "'self'" if "[" in host else f"http://{host}{base}"
    return (
        f"sandbox allow-scripts; default-src {own} data: blob:; script-src {own} blob: 'unsafe-inline' 'unsafe-eval'; "
        f"style-src {own} blob: data: 'unsafe-inline'; worker-src {own} blob:; object-src 'none'; base-uri 'none'; "
        "form-action 'none'; frame-src blob: data:; frame-ancestors 'self'"
    )
