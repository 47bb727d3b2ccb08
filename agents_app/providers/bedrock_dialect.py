"""Bedrock InvokeModel with a response stream: the Messages family in AWS's envelope. Pure; the sender signs and sends.

Source: spec models 2.2, 4.2.
"""

from collections.abc import Set
from typing import Any
from urllib.parse import quote

from .aws import signing
from .aws_stream import FrameReader
from .contract import ModelRequest
from .errors import Vendor
from .messages_dialect import MessagesFold, request_body
from .wire import Fold, Wire, WireRequest
from .wire_json import dump

_VERSION = "bedrock-2023-05-31"


class BedrockDialect:
    content_type = "vnd.amazon.eventstream"

    def request(self, request: ModelRequest, wire: Wire) -> WireRequest:
        config = request.config
        body: dict[str, Any] = {"anthropic_version": _VERSION, **request_body(request, wire)}
        headers = {
            "content-type": "application/json",
            "accept": "application/vnd.amazon.eventstream",
            **wire.headers,
        }
        key = config.secrets.get("api_key", "")
        if key:
            headers["authorization"] = f"Bearer {key}"
        # A colon stays as it is: the HTTP library would undo its quoting, and the signature covers the path as sent.
        model = quote(config.model, safe=":")
        return WireRequest(
            url=f"{config.endpoint.rstrip('/')}/model/{model}/invoke-with-response-stream",
            headers=headers,
            body=dump(body),
            signing=None if key else signing(config, wire.sigv4 or "bedrock"),
        )

    def reader(self) -> FrameReader:
        return FrameReader()

    def fold(self, vendor: Vendor, taken: Set[str] = frozenset()) -> Fold:
        return MessagesFold(vendor, taken)
