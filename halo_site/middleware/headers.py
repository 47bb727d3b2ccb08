"""Headers that tell the browser what our pages may do (SECURITY-BAR B5).

Scripts come from this server only. Pages below /admin/ may also compile strings ('unsafe-eval'): the admin theme's
small reactive library needs it, nothing else does.
"""

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.decorators import async_only_middleware

from . import Next

_REST = (
    "style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; font-src 'self' data:; media-src 'self' blob:; "
    "connect-src 'self'; worker-src 'self' blob:; frame-src 'self'; object-src 'none'; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'self'"
)
PAGE_POLICY = f"default-src 'self'; script-src 'self'; {_REST}"
ADMIN_POLICY = f"default-src 'self'; script-src 'self' 'unsafe-eval'; {_REST}"
DATA_POLICY = "default-src 'none'; frame-ancestors 'none'"

ALWAYS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "X-DNS-Prefetch-Control": "off",
    "X-Frame-Options": "SAMEORIGIN",
    "Cross-Origin-Opener-Policy": "same-origin",
}


def headers_for(path: str, content_type: str) -> dict[str, str]:
    """The security headers of an answer; for asgi.py too, which serves the app's page and files itself."""
    if path.startswith("/admin/"):
        policy = ADMIN_POLICY
    elif content_type.startswith("application/json"):
        policy = DATA_POLICY
    else:
        policy = PAGE_POLICY
    found = {**ALWAYS, "Content-Security-Policy": policy}
    if path.startswith("/admin/"):
        # Its pages send plain forms, and under `no-referrer` a browser posts those with `Origin: null`: refused.
        found["Referrer-Policy"] = "same-origin"
    return found


@async_only_middleware
def headers(get_response: Next) -> Next:
    async def middleware(request: HttpRequest) -> HttpResponseBase:
        response = await get_response(request)
        for name, value in headers_for(request.path_info, response.headers.get("Content-Type", "")).items():
            response.headers.setdefault(name, value)  # a route may set a stricter one
        if request.path_info.startswith("/api/") and "ETag" not in response.headers:
            response.headers.setdefault("Cache-Control", "no-store")
        if request.is_secure() and isinstance(response, HttpResponse):
            for name in (settings.SESSION_COOKIE_NAME, settings.CSRF_COOKIE_NAME):
                if name in response.cookies:
                    response.cookies[name]["secure"] = True
        return response

    return middleware
