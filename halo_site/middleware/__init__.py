"""What every Django request passes, outermost first (settings.MIDDLEWARE). All async-native and cheap.

peer -> headers -> compress -> api_errors -> hosts -> plain_text -> cors -> origin -> gate -> body_type -> Django's own
(not for /api)

`/api/health`, static files and the app's page are answered in asgi.py before any of this.
"""

from collections.abc import Awaitable, Callable

from django.http import HttpRequest
from django.http.response import HttpResponseBase

Next = Callable[[HttpRequest], Awaitable[HttpResponseBase]]


def is_api(request: HttpRequest) -> bool:
    return request.path_info == "/api" or request.path_info.startswith("/api/")
