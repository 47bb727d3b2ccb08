"""What holds the commands of sessions below full access, as this process found it."""

from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _

from halo_site.lib import settings_store
from workspaces_app.sandbox import status

from .shape import Range


def card(view: Range, now: datetime) -> dict[str, Any]:
    """`{program, version, reason, network}`; program "" = there is none, then `reason` says why."""
    state = status()
    network = str(settings_store.general("sandbox.network"))
    return {"program": state.program, "version": state.version, "reason": state.reason, "network": network}


def told(found: dict[str, Any]) -> str:
    """The card as one line."""
    if found["program"]:
        return _("Sandbox: %(version)s (%(program)s), network: %(network)s") % found
    return _("No sandbox: %(reason)s. Sessions below full access get no shell.") % found
