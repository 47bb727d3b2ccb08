"""Django's own middleware for the staff site. The API has no use for it and skips the thread hops it costs.

Its CSRF middleware is not here: the staff site protects its forms itself, and middleware/origin.py covers the rest.
"""

from typing import Any

from asgiref.sync import iscoroutinefunction, sync_to_async
from axes.middleware import AxesMiddleware
from django.contrib.auth.middleware import AuthenticationMiddleware
from django.contrib.messages.middleware import MessageMiddleware
from django.contrib.sessions.middleware import SessionMiddleware
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.middleware.locale import LocaleMiddleware
from django.utils import translation

from halo_site.lib import settings_store
from halo_site.throttle import locked_page
from workspaces_app.models import UserPrefs

from . import is_api


class _NotForTheApi:
    def __call__(self, request: HttpRequest) -> Any:
        following: Any = self
        if is_api(request):
            return following.get_response(request)  # a response, or a coroutine in async mode
        return super().__call__(request)  # type: ignore[misc]


class Sessions(_NotForTheApi, SessionMiddleware):
    pass


class Accounts(_NotForTheApi, AuthenticationMiddleware):
    pass


class Languages(_NotForTheApi, LocaleMiddleware):
    """The person's own language, as in the app; without one the site's if the owner set it, else the browser's."""

    def process_request(self, request: HttpRequest) -> None:
        key = request.user.pk
        own = UserPrefs.objects.filter(user=key).values_list("language", flat=True).first() if key else ""
        if key and not own:
            own = settings_store.site_default("language")
        if not own:
            super().process_request(request)
            return
        translation.activate("zh-hans" if own.startswith("zh") else "en")
        request.LANGUAGE_CODE = translation.get_language()

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        answer: HttpResponseBase = super().process_response(request, response)
        translation.deactivate()  # the thread's next request may be the API's
        return answer


class Messages(_NotForTheApi, MessageMiddleware):
    pass


class Lockout(_NotForTheApi, AxesMiddleware):  # type: ignore[misc]
    """Shows the lock-out of the login throttle on the staff site's login form (429 with `Retry-After`)."""

    def __call__(self, request: HttpRequest) -> Any:
        if is_api(request):
            return self.get_response(request)
        if iscoroutinefunction(self):
            return self.__acall__(request)
        response = self.get_response(request)
        return locked_page(request) if getattr(request, "axes_locked_out", None) else response

    async def __acall__(self, request: HttpRequest) -> Any:
        response = await self.get_response(request)
        return await sync_to_async(locked_page)(request) if getattr(request, "axes_locked_out", None) else response
