"""Bedrock InvokeModel of the fake: Messages events in AWS frames, and the check of its signature. No product code.

The frames and the signature are made here by hand, so that a mistake of the library the product uses would show.
"""

import base64
import hashlib
import hmac
import re
import struct
import zlib
from typing import Any
from urllib.parse import quote

from .model_rules import Refused, check_messages, need
from .model_wire import MessagesWire, dumps

ERRORS = {
    400: "ValidationException", 401: "UnrecognizedClientException", 403: "AccessDeniedException",
    402: "AccessDeniedException", 404: "ResourceNotFoundException", 408: "ModelTimeoutException",
    424: "ModelErrorException", 429: "ThrottlingException", 500: "InternalServerException",
    503: "ServiceUnavailableException",
}  # fmt: skip


def frame(headers: dict[str, str], payload: bytes) -> bytes:
    """One message of the AWS event stream: prelude, its CRC, headers (strings), payload, CRC of all of it."""
    packed = b""
    for name, value in headers.items():
        key, text = name.encode(), value.encode()
        packed += bytes([len(key)]) + key + b"\x07" + struct.pack(">H", len(text)) + text
    prelude = struct.pack(">II", 16 + len(packed) + len(payload), len(packed))
    message = prelude + struct.pack(">I", zlib.crc32(prelude)) + packed + payload
    return message + struct.pack(">I", zlib.crc32(message))


def chunk(event: bytes) -> bytes:
    headers = {":event-type": "chunk", ":content-type": "application/json", ":message-type": "event"}
    return frame(headers, dumps({"bytes": base64.b64encode(event).decode(), "p": "abcdefgh"[: len(event) % 8]}))


def exception(name: str, message: str) -> bytes:
    headers = {":exception-type": name, ":content-type": "application/json", ":message-type": "exception"}
    return frame(headers, dumps({"message": message}))


class BedrockWire(MessagesWire):
    @staticmethod
    def _event(kind: str, **data: Any) -> bytes:
        return chunk(dumps({"type": kind, **data}))

    @staticmethod
    def error_event(error: Any) -> bytes:
        inner = error.get("error", error) if isinstance(error, dict) else {"message": str(error)}
        return exception(str(inner.get("type", "modelStreamErrorException")), str(inner.get("message", "")))

    @staticmethod
    def refusal(status: int, message: str, code: str | None = None) -> dict[str, Any]:
        return {
            "message": message,
            "__type": code or ERRORS.get(status, "ValidationException" if status < 500 else "InternalServerException"),
        }


def check_bedrock(body: Any) -> None:
    need(isinstance(body, dict), "Malformed input request, please reformat your input and try again.")
    need(body.get("anthropic_version") == "bedrock-2023-05-31", "anthropic_version: Field required")
    for name in ("model", "stream"):
        need(name not in body, f"{name}: Extra inputs are not permitted")
    rest = {name: value for name, value in body.items() if name != "anthropic_version"}
    check_messages({"model": "from the path", **rest})


def check_signature(method: str, path: str, headers: dict[str, str], body: bytes, keys: dict[str, str]) -> None:
    """AWS Signature 4, worked out again from the request as it came. `keys`: secret by key id."""
    found = re.fullmatch(
        r"AWS4-HMAC-SHA256 Credential=([^/]+)/(\d{8})/([\w-]+)/([\w-]+)/aws4_request, "
        r"SignedHeaders=([\w;-]+), Signature=([0-9a-f]{64})",
        headers.get("authorization", ""),
    )
    if found is None:
        raise Refused("Missing Authentication Token", status=403, code="MissingAuthenticationTokenException")
    key_id, day, region, service, names, signature = found.groups()
    if key_id not in keys:
        message = f"The security token {key_id} included in the request is invalid."
        raise Refused(message, status=403, code="UnrecognizedClientException")
    need({"host", "x-amz-date"} <= set(names.split(";")), "host and x-amz-date must be signed")
    canonical = "\n".join(
        [
            method,
            quote(path, safe="/~"),
            "",
            *(f"{name}:{' '.join(headers[name].split())}" for name in names.split(";")),
            "",
            names,
            hashlib.sha256(body).hexdigest(),
        ]
    )
    scope = f"{day}/{region}/{service}/aws4_request"
    text = "\n".join(["AWS4-HMAC-SHA256", headers["x-amz-date"], scope, hashlib.sha256(canonical.encode()).hexdigest()])
    key = f"AWS4{keys[key_id]}".encode()
    for part in (day, region, service, "aws4_request"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    if not hmac.compare_digest(hmac.new(key, text.encode(), hashlib.sha256).hexdigest(), signature):
        message = "The request signature we calculated does not match the signature you provided."
        raise Refused(message, status=403, code="InvalidSignatureException")
