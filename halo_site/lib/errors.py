"""The expected failures. One base; each surface (HTTP, socket, tools) maps it in one place."""


class HaloError(Exception):
    """An expected failure whose text a person may read. Anything else is a bug: logged, answered as 500."""

    status = 400
    code = "bad_request"

    def __init__(self, message: str, **extra: object) -> None:
        super().__init__(message)
        self.extra = extra


class BadRequest(HaloError):
    """The input is wrong; the text says what and how to mend it."""


class Unauthorized(HaloError):
    status, code = 401, "unauthorized"

    def __init__(self, message: str = "Unauthorized", **extra: object) -> None:
        super().__init__(message, **extra)


class Forbidden(HaloError):
    """Known person, too little right."""

    status, code = 403, "forbidden"


class NotFound(HaloError):
    """Not there, or not yours: the two answers are the same on purpose."""

    status, code = 404, "not_found"


class Conflict(HaloError):
    status, code = 409, "conflict"


class TooLarge(HaloError):
    status, code = 413, "too_large"


class UnsupportedMedia(HaloError):
    status, code = 415, "unsupported_media"


class TooManyRequests(HaloError):
    """`retry_after`: whole seconds until a retry can succeed."""

    status, code = 429, "too_many_requests"

    def __init__(self, message: str, *, retry_after: int, **extra: object) -> None:
        super().__init__(message, **extra)
        self.retry_after = retry_after


class Unavailable(HaloError):
    """The server cannot do it right now (database locked, shutting down)."""

    status, code = 503, "unavailable"
    retry_after = 5


class StorageFull(HaloError):
    """Nothing was saved: the disk or quota is full."""

    status, code = 507, "storage_full"

    def __init__(self, message: str = "Storage is full: the message was not saved", **extra: object) -> None:
        super().__init__(message, **extra)
