"""Whatever goes wrong below /api, the answer is `{"error": text}`: also for errors that never reached ninja."""

from http import HTTPStatus

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.utils.decorators import async_only_middleware

from . import Next, is_api


@async_only_middleware
def api_errors(get_response: Next) -> Next:
    async def middleware(request: HttpRequest) -> HttpResponseBase:
        response = await get_response(request)
        if response.status_code < 400 or not is_api(request) or not isinstance(response, HttpResponse):
            return response
        response._has_been_logged = True  # type: ignore[attr-defined]  # a refusal is no event; faults.py logs faults
        if response.headers.get("Content-Type", "").startswith("application/json"):
            return response
        if response.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
            text = "Method not allowed"
        elif response.status_code == HTTPStatus.NOT_FOUND:
            text = "Not found"
        else:
            text = HTTPStatus(response.status_code).phrase
        mended = JsonResponse({"error": text}, status=response.status_code)
        mended._has_been_logged = True  # type: ignore[attr-defined]
        if "Allow" in response.headers:
            mended["Allow"] = response["Allow"]
        return mended

    return middleware
