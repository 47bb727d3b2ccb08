"""What a failure means, from real wordings of vendors."""

from datetime import UTC, datetime

import pytest

from agents_app.providers.contract import ErrorKind
from agents_app.providers.errors import Vendor, classify, retry_after, without_secrets

K = ErrorKind
WORDINGS = [
    # Too long
    (400, "invalid_request_error", "prompt is too long: 215000 tokens > 200000 maximum", K.OVERFLOW),
    (400, "context_length_exceeded", "This model's maximum context length is 128000 tokens.", K.OVERFLOW),
    (400, "", "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens", K.OVERFLOW),
    (400, "exceed_context_size_error", "the request exceeds the available context size. try increasing it", K.OVERFLOW),
    (400, "invalid_request_error", "input length and `max_tokens` exceed context limit: 190000 + 20000", K.OVERFLOW),
    (400, "invalid_request_error", "Invalid request: Your request exceeded model token limit: 262144", K.OVERFLOW),
    (400, "InvalidParameter", "Range of input length should be [1, 129024]", K.OVERFLOW),
    (400, "ValidationException", "Input is too long for requested model: too many input tokens", K.OVERFLOW),
    (400, "context_length_exceeded", "Your input exceeds the context window of this model.", K.OVERFLOW),
    (400, "1261", "Prompt exceeds max length", K.OVERFLOW),
    (400, "1261", "Prompt 超长", K.OVERFLOW),
    (400, "InvalidParameter", "Total tokens of image and text exceed max message tokens.", K.OVERFLOW),
    (400, "invalid_request_error", "invalid params, context window exceeds limit (2013)", K.OVERFLOW),
    (400, "", "The decoder prompt (length 9000) is longer than the maximum model length of 8192.", K.OVERFLOW),
    (400, "", "This model's maximum prompt length is 131072 but the request contains 140000 tokens.", K.OVERFLOW),
    (400, "", "The number of tokens to keep from the initial prompt is greater than the context length", K.OVERFLOW),
    (400, "", "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).", K.OVERFLOW),
    (400, "", "Please reduce the length of the messages or completion.", K.OVERFLOW),
    (400, "", "input length exceeds the context length", K.OVERFLOW),
    (400, "ValidationException", "The model returned the following errors: prompt is too long", K.OVERFLOW),
    (500, "", "upstream: the request exceeds the available context size", K.OVERFLOW),
    (413, "request_too_large", "Request exceeds the maximum size", K.OVERFLOW),
    (413, "", "anything", K.OVERFLOW),
    # The account
    (401, "authentication_error", "invalid x-api-key", K.ACCOUNT),
    (402, "", "Insufficient Balance", K.ACCOUNT),
    (403, "permission_error", "no access to this model", K.ACCOUNT),
    (
        429,
        "insufficient_quota",
        "You exceeded your current quota, please check your plan and billing details.",
        K.ACCOUNT,
    ),
    (429, "exceeded_current_quota_error", "Your account is suspended, please check your plan", K.ACCOUNT),
    (400, "invalid_request_error", "Your credit balance is too low to access the API.", K.ACCOUNT),
    (400, "Arrearage", "Access denied, please make sure your account is in good standing.", K.ACCOUNT),
    (429, "1113", "您的账户已欠费，请充值后重试", K.ACCOUNT),
    (403, "AccessDeniedException", "You don't have access to the model with the specified model ID.", K.ACCOUNT),
    (403, "UnrecognizedClientException", "The security token included in the request is invalid.", K.ACCOUNT),
    (400, "ExpiredTokenException", "The security token included in the request is expired", K.ACCOUNT),
    (None, "1004", "login fail: Please carry the API secret key", K.ACCOUNT),
    (429, "1113", "余额不足或无可用资源包，请充值。", K.ACCOUNT),
    (403, "AccountOverdueError", "The request failed because your account has an overdue balance.", K.ACCOUNT),
    (None, "", "quota exceeded", K.ACCOUNT),
    (None, "", "Invalid API key", K.ACCOUNT),
    # Slower
    (429, "rate_limit_error", "Number of requests has exceeded your per-minute rate limit", K.THROTTLE),
    (429, "engine_overloaded_error", "The engine is currently overloaded, please try again later", K.THROTTLE),
    (429, "", "Resource quota exceeded for requests per minute", K.THROTTLE),
    (400, "ThrottlingException", "Too many tokens, please wait before trying again.", K.THROTTLE),
    (429, "1302", "您的账户已达到速率限制", K.THROTTLE),
    (400, "ServiceQuotaExceededException", "Your request exceeds the service quota for your account.", K.THROTTLE),
    (None, "", "Rate limit reached for gpt-4o", K.THROTTLE),
    # Again
    (529, "overloaded_error", "Overloaded", K.SERVER),
    (None, "overloaded_error", "Overloaded", K.SERVER),
    (500, "", "some generic text about authentication", K.SERVER),
    (503, "", "no healthy upstream", K.SERVER),
    (524, "", "a timeout occurred", K.SERVER),
    (None, "", "InternalServerException", K.SERVER),
    (None, "server_error", "The server had an error", K.SERVER),
    (None, "", "connection reset by peer: ECONNRESET", K.NETWORK),
    (424, "ModelErrorException", "The request failed due to an error while processing the model.", K.SERVER),
    (408, "ModelTimeoutException", "Model has timed out in processing the request.", K.SERVER),
    (None, "modelStreamErrorException", "The model fell over", K.SERVER),
    (None, "", "MantleEmptyResponse", K.EMPTY),
    # The history
    (
        400,
        "invalid_request_error",
        "messages.2: `tool_use` ids were found without `tool_result` blocks after",
        K.REPAIR,
    ),
    (400, "", "unexpected `tool_use_id` found in `tool_result` blocks: toolu_1", K.REPAIR),
    (400, "", "The following tool_call_ids did not have response messages: call_1", K.REPAIR),
    (400, "", "messages with role 'tool' must be a response to a preceeding message with 'tool_calls'", K.REPAIR),
    (400, "invalid_request_error", "No tool output found for function call call_1.", K.REPAIR),
    (400, "", "No tool call found for function call output with call_id call_1.", K.REPAIR),
    (400, "", "Missing required field: content", K.REPAIR),
    (400, "invalid_request_error", "messages: text content blocks must be non-empty", K.REPAIR),
    # An image
    (400, "invalid_request_error", "Could not process image", K.IMAGE),
    (400, "", "Multimodal data is corrupted or cannot be processed", K.IMAGE),
    (400, "invalid_request_error", "image dimensions exceed max allowed size: 8000 pixels", K.IMAGE),
    (400, "invalid_image", "You uploaded an unsupported image.", K.IMAGE),
    (400, "InvalidParameter", "The image length and width do not meet the model restrictions.", K.IMAGE),
    (400, "", "messages[1]: unknown variant `image_url`, expected `text`", K.IMAGE),
    (400, "", "image input is not supported - hint: provide the mmproj", K.IMAGE),
    (404, "", "No endpoints found that support image input", K.IMAGE),
    (400, "1210", "图片输入格式/解析错误", K.IMAGE),
    # Nothing helps
    (400, "invalid_request_error", "temperature: must be between 0 and 1", K.FATAL),
    (404, "not_found_error", "model: claude-none", K.FATAL),
    (501, "", "not implemented", K.FATAL),
    (None, "", "the model fell over", K.FATAL),
]


@pytest.mark.parametrize(("status", "code", "message", "kind"), WORDINGS)
def test_a_wording_means(status: int | None, code: str, message: str, kind: ErrorKind):
    assert classify(status, [code] if code else [], message) is kind


SHAPES = [
    ({"error": {"message": "no", "type": "t", "code": None}}, "[v] API error 400: t: no"),
    ({"type": "error", "error": {"type": "invalid_request_error", "message": "no"}},
     "[v] 400 invalid_request_error: no"),
    ({"error": "no"}, "[v] API error 400: no"),
    ({"message": "no", "code": 12}, "[v] API error 400: no"),
    ({"detail": "no"}, "[v] API error 400: no"),
    ({"base_resp": {"status_code": 1004, "status_msg": "no"}}, "[v] API error 400: no"),
    ({"error": {"code": "c"}}, "[v] API error 400: c"),
    ({}, "[v] API error 400: the vendor gave no reason"),
    ({"error": {"message": ["a", {"b": 1}]}}, "[v] API error 400: ['a', {'b': 1}]"),
]  # fmt: skip


@pytest.mark.parametrize(("document", "text"), SHAPES)
def test_every_error_shape_becomes_one_line(document: dict, text: str):
    assert str(Vendor("v").refused(document, status=400)) == text


def test_a_number_in_an_event_counts_as_its_status():
    error = Vendor("v").refused({"error": {"message": "upstream", "code": 502}})
    assert (error.kind, error.status) == (K.SERVER, 502)
    assert Vendor("v").refused({"error": {"message": "[x] API error 429: slow down"}}).kind is K.THROTTLE


def test_a_text_is_one_short_line_without_control_characters():
    text = Vendor("v").text("a\x00\x1b[31m\r\nb\ud800" + "x" * 5000)
    assert text.startswith("a\ufffd [31m b\ufffdxxx")
    assert len(text) <= 301
    assert "\n" not in text


@pytest.mark.parametrize("before", [b"", b"a", b"ab", b'{"key":"'])
@pytest.mark.parametrize("length", [8, 9, 10, 31, 64])
def test_L1_a_secret_is_found_in_every_alignment_of_base64(before: bytes, length: int):
    import base64

    secret = ("sk-Zq3_" * 10)[:length]
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        for after in (b"", b"x", b'"}'):
            text = "see " + encode(before + secret.encode() + after).decode()
            assert "***" in without_secrets(text, [secret])
    assert without_secrets("nothing here", [secret]) == "nothing here"


def test_a_word_that_is_too_short_to_be_a_key_is_left_alone():
    assert without_secrets("an apple", ["a", "", "app"]) == "an apple"


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "3"}, 3.0), ({"retry-after": " 2.5 "}, 2.5), ({"retry-after": "99999999"}, 3600.0),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5), ({"retry-after": "Mon, 01 Jan 2029 00:00:10 GMT"}, 10.0),
        ({"retry-after": "Mon, 01 Jan 2029 00:00:10"}, 10.0), ({"retry-after": "Sun, 31 Dec 2028 00:00:00 GMT"}, 0.0),
        ({"retry-after": "-5"}, None), ({"retry-after": "nan"}, None), ({"retry-after": "1e9"}, None),
        ({"retry-after": "٣"}, None), ({"retry-after": ""}, None), ({}, None),
    ],
)  # fmt: skip
def test_the_wait_a_vendor_asks_for(headers: dict[str, str], seconds: float | None):
    assert retry_after(headers, datetime(2029, 1, 1, tzinfo=UTC)) == seconds
