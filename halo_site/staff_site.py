"""The admin site itself: the dashboard is its start page, and the finder looks where staff look."""

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

from django.contrib import messages
from django.contrib.auth.models import User
from django.db.models import Model
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext

from halo_site.passwords import is_env_managed
from halo_site.throttle import account_name
from workspaces_app.audit import audit
from workspaces_app.models import UserPrefs
from workspaces_app.staff import record

if TYPE_CHECKING:
    from django.contrib.admin import AdminSite as _Site
else:
    from unfold.sites import UnfoldAdminSite as _Site


# Pages of libraries that nobody gets. A schedule of the job queue names any Python function (SECURITY-BAR L7), so
# whoever may write one owns the server; groups carry permissions, which we do not use.
HIDDEN = frozenset(
    {
        "auth.group",
        "axes.accessfailurelog",
        "axes.accesslog",
        "django_q.failure",
        "django_q.ormq",
        "django_q.schedule",
        "django_q.success",
    }
)
# As the app names them.
LANGUAGES = frozenset({"en-US", "zh-CN"})
# Pages we replace with our own, in `halo_site/admin/`.
OURS = frozenset({"auth.user", "axes.accessattempt"})


class HaloAdminSite(_Site):
    """Django's admin with our start page and finder. Model pages live in each app's `admin.py`."""

    enable_nav_sidebar = True

    def register(self, model_or_iterable: Any, admin_class: Any = None, **options: Any) -> None:
        """Libraries' pages that we hide or replace are left out here, so it does not matter who registers first."""
        models: Iterable[type[Model]] = (
            [model_or_iterable] if isinstance(model_or_iterable, type) else model_or_iterable
        )
        library = admin_class is not None and not admin_class.__module__.startswith("halo_site.")
        refused = HIDDEN | OURS if library else HIDDEN
        shown = [model for model in models if model._meta.label_lower not in refused]
        super().register(shown, admin_class, **options)

    def extra_urls(self) -> list[URLPattern]:
        """Hook of unfold: routes that come before Django's own."""
        from halo_site.admin.agents import agents_page
        from halo_site.admin.dashboard import page

        return [
            path("agents/", self.admin_view(partial(agents_page, self)), name="agents"),
            path("dashboard/cards/", self.admin_view(page.cards_fragment), name="dashboard_cards"),
            path("language/", self.admin_view(self.set_language), name="language"),
        ]

    def set_language(self, request: HttpRequest) -> HttpResponse:
        """POST `language` (en-US or zh-CN): this person's language from now on, here and in the app."""
        language = request.POST.get("language", "")
        if request.method == "POST" and language in LANGUAGES and isinstance(request.user, User):
            UserPrefs.objects.update_or_create(user=request.user, defaults={"language": language})
        back = request.POST.get("next", "")
        safe = url_has_allowed_host_and_scheme(back, allowed_hosts=None)
        return HttpResponseRedirect(back if safe else reverse("admin:index"))

    def login(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """The same throttle as the API's login, and the same audit rows."""
        answer = super().login(request, extra_context)
        if request.method == "POST":
            if answer.status_code == 302 and request.user.is_authenticated:
                record(request, "login", request.user.get_username(), detail={"door": "staff site"})
            else:
                audit("login.failed", target=account_name(request), request=request, detail={"door": "staff site"})
        return answer

    def logout(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> Any:
        if request.method == "POST" and request.user.is_authenticated:
            record(request, "logout", request.user.get_username(), detail={"door": "staff site"})
        super().logout(request, extra_context)
        return HttpResponseRedirect(reverse("admin:login"))

    def password_change(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> Any:
        if isinstance(request.user, User) and is_env_managed(request.user):
            messages.error(request, gettext("This password is managed by the HALO_PASSWORD environment variable."))
            return HttpResponseRedirect(reverse("admin:index"))
        answer = super().password_change(request, extra_context)
        if request.method == "POST" and answer.status_code == 302:
            record(request, "password.change", request.user.get_username(), detail={"door": "staff site"})
        return answer

    def index(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> TemplateResponse:
        from halo_site.admin.dashboard import page

        context = {
            **self.each_context(request),
            "title": gettext("Dashboard"),
            "subtitle": None,
            "dashboard": page.dashboard(request),
            **(extra_context or {}),
        }
        request.current_app = self.name
        return TemplateResponse(request, "admin/index.html", context)

    def search(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Answers the finder: pages by name, then users, sessions and workspaces; a few of each."""
        from halo_site.admin.finder import find

        term = request.GET.get("s", "").replace("\0", "").strip()[:100]
        if not term:
            return HttpResponse()
        return TemplateResponse(
            request,
            "admin/halo/finder.html",
            {"results": find(request, self.get_app_list(request), term)},
            headers={"HX-Trigger": "search"},
        )
