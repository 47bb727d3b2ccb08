"""What a vendor's failure means: one classification for HTTP answers, error events and broken connections. Pure.

Structured facts first (status, error type and code), the wording last, because wordings change (spec models 3.8, 7).
Texts go to people and logs: the key is taken out of everything a vendor echoes, also in its usual disguises.
"""

import base64
import email.utils
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

from halo_site.lib.text import clean

from .contract import ErrorKind, ProviderError

_SHOWN = 300  # characters of a vendor's message
_LONGEST_WAIT = 3600.0  # seconds; a longer Retry-After is cut to this

# Types and codes, compared in lower case.
_TYPES: dict[str, tuple[ErrorKind, int | None]] = {
    "invalid_request_error": (ErrorKind.FATAL, 400),  # the wording decides, see _by_words
    "authentication_error": (ErrorKind.ACCOUNT, 401),
    "invalid_authentication_error": (ErrorKind.ACCOUNT, 401),
    "invalid_api_key": (ErrorKind.ACCOUNT, 401),
    "billing_error": (ErrorKind.ACCOUNT, 402),
    "permission_error": (ErrorKind.ACCOUNT, 403),
    "insufficient_quota": (ErrorKind.ACCOUNT, None),
    "exceeded_current_quota_error": (ErrorKind.ACCOUNT, None),
    "billing_hard_limit_reached": (ErrorKind.ACCOUNT, None),
    "insufficient_balance": (ErrorKind.ACCOUNT, None),
    "arrearage": (ErrorKind.ACCOUNT, None),
    "accountoverdueerror": (ErrorKind.ACCOUNT, None),
    "accessdeniedexception": (ErrorKind.ACCOUNT, 403),
    "unrecognizedclientexception": (ErrorKind.ACCOUNT, 403),
    "invalidsignatureexception": (ErrorKind.ACCOUNT, 403),
    "missingauthenticationtokenexception": (ErrorKind.ACCOUNT, 403),
    "expiredtokenexception": (ErrorKind.ACCOUNT, 403),
    "context_length_exceeded": (ErrorKind.OVERFLOW, None),
    "string_above_max_length": (ErrorKind.OVERFLOW, None),
    "prompt_too_long": (ErrorKind.OVERFLOW, None),
    "exceed_context_size_error": (ErrorKind.OVERFLOW, None),
    "request_too_large": (ErrorKind.OVERFLOW, 413),
    "rate_limit_error": (ErrorKind.THROTTLE, 429),
    "rate_limit_exceeded": (ErrorKind.THROTTLE, 429),
    "rate_limit_reached_error": (ErrorKind.THROTTLE, 429),
    "engine_overloaded_error": (ErrorKind.THROTTLE, 429),
    "throttlingexception": (ErrorKind.THROTTLE, 429),
    "servicequotaexceededexception": (ErrorKind.THROTTLE, 429),
    "throttling": (ErrorKind.THROTTLE, 429),
    "overloaded_error": (ErrorKind.SERVER, 529),
    "api_error": (ErrorKind.SERVER, 500),
    "server_error": (ErrorKind.SERVER, 500),
    "internal_server_error": (ErrorKind.SERVER, 500),
    "internalserverexception": (ErrorKind.SERVER, 500),
    "timeout_error": (ErrorKind.SERVER, 504),
    "modeltimeoutexception": (ErrorKind.SERVER, 504),
    "serviceunavailableexception": (ErrorKind.SERVER, 503),
    "service_unavailable": (ErrorKind.SERVER, 503),
    "modelstreamerrorexception": (ErrorKind.SERVER, 424),
    "modelerrorexception": (ErrorKind.SERVER, 424),
    "modelnotreadyexception": (ErrorKind.SERVER, 503),
    "invalid_image": (ErrorKind.IMAGE, None),
    "invalid_image_format": (ErrorKind.IMAGE, None),
    "invalid_base64_image": (ErrorKind.IMAGE, None),
    "image_parse_error": (ErrorKind.IMAGE, None),
    "image_too_large": (ErrorKind.IMAGE, None),
    "image_too_small": (ErrorKind.IMAGE, None),
    "empty_image_file": (ErrorKind.IMAGE, None),
    "unsupported_image_media_type": (ErrorKind.IMAGE, None),
    "image_content_policy_violation": (ErrorKind.IMAGE, None),
}

_OVERFLOW = re.compile(
    r"too many input tokens|prompt[_ ]?(is )?too[_ ]long|contextwindowoverflow|context_length_exceeded"
    r"|maximum context length|exceeds? (the )?(available |model'?s? )?context (size|window|length|limit)"
    r"|context window exceed|exceeded model token limit|range of input length should be"
    r"|input (is too long|token count .{0,40}exceeds)|exceed context limit|prompt exceeds max length"
    r"|exceed max message tokens|longer than the maximum model length|maximum prompt length|exceeds the maximum length"
    r"|context the overflows|greater than the context length|reduce the length of (the |your )?(messages|prompt)"
    r"|tokens \+ .{0,3}max_new_tokens|超长|过长|超过.{0,20}(上下文|最大长度)",
    re.I,
)
_ACCOUNT = re.compile(
    r"insufficient[ _](balance|quota|funds|credit)|suspended|invalid[ _]api[ _]?key|incorrect api key|unauthorized"
    r"|authentication|credit balance|billing details|arrear|overdue|login fail|deactivated|欠费|余额不足|已到期",
    re.I,
)
_QUOTA = re.compile(r"quota exceeded|exceeded .{0,30}quota", re.I)
_THROTTLE = re.compile(r"throttl|rate[ _-]?limit|too many (requests|tokens)|速率限制|并发数过高|过于频繁", re.I)
_SERVER = re.compile(
    r"internal ?server ?(error|exception)|modeltimeoutexception|serviceunavailable|service unavailable|overloaded"
    r"|bad gateway",
    re.I,
)
_NETWORK = re.compile(
    r"fetch failed|model request timed out|econnreset|connection (was )?(reset|refused|closed)|socket (hang up|closed)"
    r"|headers timeout|network error",
    re.I,
)
_REPAIR = re.compile(
    r"no tool (call|output) found for function call"
    r"|tool_use.{0,80}without.{0,20}tool_result|unexpected.{0,20}tool_use_id|tool_call_ids? did not have|"
    r"role '?tool'? must be a response|must be followed by tool messages|insufficient tool messages"
    r"|tool_call_id .{0,60}not found|roles must alternate|non-empty content|must be non-empty"
    r"|missing.{0,40}(role|content)|(role|content).{0,40}(field required|is required|missing)",
    re.I | re.S,
)
_IMAGE = re.compile(
    r"multimodal data is corrupted|could not process image|image (dimensions )?exceeds?|invalid image|unsupported image"
    r"|does not represent a valid image|failed to (load|decode|download) image|image.{0,40}too large"
    r"|image (length|width|size).{0,40}do not meet|multimodal file size|image input is not supported"
    r"|support image input|at most \d+ image|not a multimodal model|unknown variant .{0,3}image_url"
    r"|image_url is only supported|图片.{0,12}(错误|失败|无法)",
    re.I,
)
_SERVER_STATUS = frozenset({408, 500, 502, 503, 504, 529, *range(520, 528)})
_MODEL_FAILED = 424  # Bedrock: the model fell over, the request may be fine
# Statuses whose meaning the wording may refine: a plain refusal, or none at all (an error inside a stream).
_OPEN_STATUS = frozenset({None, 400, 404, 409, 413, 422})
_STATUS_IN_TEXT = re.compile(r"API error (\d{3})\b|\] (\d{3})\b|status=(\d{3})\b")


def classify(status: int | None, codes: Iterable[str], message: str) -> ErrorKind:
    """The kind of a failure. `codes`: the vendor's error types and codes; `message`: its wording."""
    known = [_TYPES[code.lower()] for code in codes if code.lower() in _TYPES]
    for kind, implied in known:
        refusal = status is not None and status < 500 and status not in (_MODEL_FAILED, *_SERVER_STATUS)
        if kind is not ErrorKind.FATAL and not (kind is ErrorKind.SERVER and refusal):
            return kind
        status = status or implied
    by_words = _by_words(status, message)
    if status == 413 or by_words is ErrorKind.OVERFLOW:
        return ErrorKind.OVERFLOW
    if status in (401, 402, 403):
        return ErrorKind.ACCOUNT
    if status == 429:
        return ErrorKind.ACCOUNT if _ACCOUNT.search(message) else ErrorKind.THROTTLE
    if status in _SERVER_STATUS:
        return ErrorKind.SERVER
    return by_words


def _by_words(status: int | None, message: str) -> ErrorKind:
    """The last resort, in the order of spec models 3.8."""
    # Some gateways wrap the vendor's refusal of a long prompt into a 5xx: repeating it would not help.
    if (status in _OPEN_STATUS or (status or 0) >= 500) and _OVERFLOW.search(message):
        return ErrorKind.OVERFLOW
    if status not in _OPEN_STATUS:
        return ErrorKind.FATAL
    if _ACCOUNT.search(message) or _QUOTA.search(message):
        return ErrorKind.ACCOUNT
    if _THROTTLE.search(message):
        return ErrorKind.THROTTLE
    if status is None and _SERVER.search(message):
        return ErrorKind.SERVER
    if status is None and _NETWORK.search(message):
        return ErrorKind.NETWORK
    if "MantleEmptyResponse" in message:
        return ErrorKind.EMPTY
    if _IMAGE.search(message):
        return ErrorKind.IMAGE
    if _REPAIR.search(message):
        return ErrorKind.REPAIR
    return ErrorKind.FATAL


def retry_after(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Seconds the vendor asks us to wait, at most an hour; None when it did not say. Takes seconds and HTTP dates."""
    for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        value = headers.get(name, "").strip()
        if not value:
            continue
        if re.fullmatch(r"\d{1,12}(\.\d{1,9})?", value, re.ASCII):
            return min(float(value) * scale, _LONGEST_WAIT)
        try:
            until = email.utils.parsedate_to_datetime(value)
        except ValueError:
            continue
        if until.tzinfo is None:
            until = until.replace(tzinfo=UTC)
        return min(max((until - (now or datetime.now(UTC))).total_seconds(), 0.0), _LONGEST_WAIT)
    return None


def without_secrets(text: str, secrets: Iterable[str]) -> str:
    """`text` with every secret replaced, also URL-quoted, as hex and as base64 at any of its three offsets."""
    for secret in secrets:
        if len(secret) < 4:
            continue  # too short to be a key, and replacing it would tear words apart
        raw = secret.encode("utf-8", "replace")
        disguises = {secret, quote(secret, safe=""), raw.hex(), raw.hex().upper()}
        for offset in range(3):
            for encode in (base64.b64encode, base64.urlsafe_b64encode):
                # Without the characters that also depend on the neighbours.
                code = encode(b"\0" * offset + raw).decode().rstrip("=")
                inner = code[(0, 2, 3)[offset] : len(code) - (1 if (offset + len(raw)) % 3 else 0)]
                if len(inner) >= 8:
                    disguises.add(inner)
        for disguise in sorted(disguises, key=len, reverse=True):
            text = text.replace(disguise, "***")
    return text


@dataclass(frozen=True, slots=True)
class Vendor:
    """Whom a failure is reported of. Every text that leaves here is clean, short and without keys."""

    name: str  # provider id
    secrets: tuple[str, ...] = field(default=(), repr=False)

    def text(self, message: str) -> str:
        safe = without_secrets(clean(message), self.secrets)
        safe = " ".join("".join(c if c.isprintable() else " " for c in safe[: 4 * _SHOWN]).split())
        return safe if len(safe) <= _SHOWN else safe[:_SHOWN] + "…"

    def error(self, kind: ErrorKind, message: str, *, status: int | None = None) -> ProviderError:
        return ProviderError(f"[{self.name}] {self.text(message)}", kind=kind, status=status)

    def network(self, message: str) -> ProviderError:
        """The connection or the stream failed: worth another try."""
        return self.error(ErrorKind.NETWORK, message)

    def refused(
        self, document: Mapping[str, Any], *, status: int | None = None, headers: Mapping[str, str] | None = None
    ) -> ProviderError:
        """An error answer, or an error object inside a stream (then `status` is None)."""
        message, codes = describe(document)
        if name := (headers or {}).get("x-amzn-errortype"):  # `ThrottlingException:http://...`
            codes.append(name.partition(":")[0])
        numbers = [int(code) for code in codes if re.fullmatch(r"[45]\d\d", code, re.ASCII)]
        given = status or (numbers[0] if numbers else _status_in(message))
        kind = classify(given, codes, message)
        shown = given or next((_TYPES[c.lower()][1] for c in codes if c.lower() in _TYPES), None)
        head = f"API error {shown}" if shown else "API error"
        text = f"{head}: {self.text(message)}"
        if document.get("type") == "error" and shown:  # the Messages family: `529 overloaded_error: Overloaded`
            text = f"{shown} {self.text(message)}"
        return ProviderError(
            f"[{self.name}] {text}",
            kind=kind,
            status=shown,
            retry_after=retry_after(headers or {}),
        )


def describe(document: Mapping[str, Any]) -> tuple[str, list[str]]:
    """(message, types and codes) of the error shapes in use: `{error: {message, type, code}}`, `{error: text}`,
    `{message, code}`, `{base_resp: {status_msg, status_code}}`."""
    error: Any = document.get("error")
    if isinstance(error, str) and error:
        return error, []
    if not isinstance(error, dict):
        base = document.get("base_resp")
        if isinstance(base, dict) and base.get("status_msg"):
            return str(base["status_msg"]), [str(base.get("status_code", ""))]
        error = document
    codes = [str(error[key]) for key in ("code", "type", "__type", "status") if isinstance(error.get(key), str | int)]
    message = error.get("message") or error.get("msg") or error.get("detail") or error.get("errors")
    label = next((code for code in codes if not code.isdigit() and code != "error"), "")
    if not message:
        return label or "the vendor gave no reason", codes
    text = message if isinstance(message, str) else str(message)
    return (f"{label}: {text}" if label and label not in text else text), codes


def _status_in(message: str) -> int | None:
    found = _STATUS_IN_TEXT.search(message)
    return int(next(group for group in found.groups() if group)) if found else None
