"""How the staff site looks (django-unfold's settings): colours, sidebar, start page. Read by `settings.py` only."""

import socket
from typing import Any

from django.templatetags.static import static
from django.urls import reverse_lazy
from django.utils.translation import gettext_lazy as _

# DESIGN 2: the ten halo shades; unfold wants eleven, the last one is ours.
_PRIMARY = dict(
    zip(
        ("50", "100", "200", "300", "400", "500", "600", "700", "800", "900", "950"),
        (
            "#f0f2ff",
            "#dfe3ff",
            "#bfc8ff",
            "#9aa8ff",
            "#7b8bf4",
            "#5363e0",
            "#4858dc",
            "#4050cf",
            "#3442ac",
            "#28338a",
            "#1c2466",
        ),
        strict=True,
    )
)
# Greys of the light theme at the top, of the dark theme at the bottom: unfold reads 50..300 in light, 700..950 in dark.
_BASE = {
    "50": "#f7f8fa",
    "100": "#eef0f3",
    "200": "#e3e6eb",
    "300": "#c8ced8",
    "400": "#8f97a5",
    "500": "#5b6371",
    "600": "#454c59",
    "700": "#353b46",
    "800": "#22262d",
    "900": "#111317",
    "950": "#0b0c0f",
}
_FONT = {
    "subtle-light": "#5b6371",
    "subtle-dark": "#8f97a5",
    "default-light": "#454c59",
    "default-dark": "#b4bbc7",
    "important-light": "#15181e",
    "important-dark": "#eceef2",
}


def _page(title: Any, icon: str, view: str, **more: object) -> dict[str, Any]:
    return {"title": title, "icon": icon, "link": reverse_lazy(f"admin:{view}"), **more}


def _superuser(request: Any) -> bool:
    return bool(request.user.is_superuser)


def _group(title: Any, *items: dict[str, Any]) -> dict[str, Any]:
    return {"title": title, "items": list(items)}


UNFOLD: dict[str, Any] = {
    "SITE_TITLE": "Halo",
    "SITE_HEADER": "Halo",
    "SITE_SUBHEADER": socket.gethostname(),
    "SITE_URL": "/",
    "SITE_SYMBOL": "radio_button_unchecked",
    "SHOW_HISTORY": False,
    "SHOW_VIEW_ON_SITE": False,
    "SHOW_BACK_BUTTON": False,
    "BORDER_RADIUS": "6px",
    "COLORS": {"base": _BASE, "primary": _PRIMARY, "font": _FONT},
    "STYLES": [lambda request: static("halo_admin/admin.css")],
    "SCRIPTS": [lambda request: static("halo_admin/admin.js")],
    "SITE_FAVICONS": [
        {"rel": "icon", "type": "image/svg+xml", "href": lambda request: static("halo_admin/halo.svg")},
    ],
    "COMMAND": {"search_models": False, "show_history": False},
    "SIDEBAR": {
        "show_search": False,
        "show_all_applications": False,
        "navigation": [
            {
                "items": [
                    _page(_("Dashboard"), "bar_chart", "index"),
                    {"title": _("Open the app"), "icon": "arrow_forward", "link": "/", "active": False},
                ],
            },
            _group(
                _("Work"),
                _page(
                    _("Workspaces"),
                    "folder",
                    "workspaces_app_workspace_changelist",
                    badge="halo_site.admin.badges.workspaces",
                ),
                _page(
                    _("Sessions"),
                    "chat_bubble",
                    "sessions_app_session_changelist",
                    badge="halo_site.admin.badges.at_work",
                    badge_variant="primary",
                ),
                _page(_("Relays"), "moving", "relay_app_replyto_changelist"),
                _page(_("Turns"), "format_list_bulleted", "sessions_app_turn_changelist"),
                _page(_("Model calls"), "neurology", "sessions_app_modelcall_changelist"),
                _page(_("Tool calls"), "build", "sessions_app_toolcall_changelist"),
            ),
            _group(
                _("Server"),
                _page(_("Agents and skills"), "smart_toy", "agents"),
                _page(_("Extensions"), "extension", "extensions_app_extension_changelist"),
                _page(_("Users"), "group", "auth_user_changelist"),
                _page(_("Sign-in attempts"), "shield", "axes_accessattempt_changelist", permission=_superuser),
                _page(_("Audit trail"), "history", "workspaces_app_auditevent_changelist"),
            ),
        ],
    },
}
