#!/usr/bin/env python3
"""Answer a question from the web through Amazon Nova: `nova_search.py "<question>" [--model ID] [--region R]`.

Credentials: AWS_BEARER_TOKEN_BEDROCK, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (and AWS_SESSION_TOKEN), or the
profile AWS_PROFILE of the AWS credentials file. Prints the answer, then its sources. Standard library only.
Exit: 0 done, 1 no credentials, refused or not reachable, 2 wrong call.
"""

from __future__ import annotations

import argparse
import configparser
import hashlib
import hmac
import json
import os
import sys
import urllib.error
import urllib.parse
import urllib.request
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

MODEL = "us.amazon.nova-2-lite-v1:0"
REGION = "us-east-1"
TIMEOUT = 60  # seconds
Keys = tuple[str, str, str]  # access key, secret key, session token or ""


def credentials() -> Keys | None:
    """From the environment, else from the credentials file."""
    environ = os.environ
    if environ.get("AWS_ACCESS_KEY_ID") and environ.get("AWS_SECRET_ACCESS_KEY"):
        return environ["AWS_ACCESS_KEY_ID"], environ["AWS_SECRET_ACCESS_KEY"], environ.get("AWS_SESSION_TOKEN", "")
    file = environ.get("AWS_SHARED_CREDENTIALS_FILE") or str(Path.home() / ".aws" / "credentials")
    profiles = configparser.ConfigParser(interpolation=None)
    profiles.read(file)
    name = environ.get("AWS_PROFILE", "default")
    if not profiles.has_section(name) or "aws_access_key_id" not in profiles[name]:
        return None
    found = profiles[name]
    return found["aws_access_key_id"], found.get("aws_secret_access_key", ""), found.get("aws_session_token", "")


def signed(url: str, body: bytes, region: str, keys: Keys, now: datetime) -> dict[str, str]:
    """Headers of a Signature Version 4 POST to Bedrock."""
    access, secret, session = keys
    parts = urllib.parse.urlsplit(url)
    stamp, day = now.strftime("%Y%m%dT%H%M%SZ"), now.strftime("%Y%m%d")
    headers = {"content-type": "application/json", "host": parts.netloc, "x-amz-date": stamp}
    if session:
        headers["x-amz-security-token"] = session
    names = ";".join(sorted(headers))
    lines = "".join(f"{name}:{headers[name]}\n" for name in sorted(headers))
    path = urllib.parse.quote(parts.path, safe="/~")  # escaped once more, as every service but S3 wants it
    request = "\n".join(["POST", path, "", lines, names, hashlib.sha256(body).hexdigest()])
    scope = f"{day}/{region}/bedrock/aws4_request"
    to_sign = f"AWS4-HMAC-SHA256\n{stamp}\n{scope}\n{hashlib.sha256(request.encode()).hexdigest()}"
    key = f"AWS4{secret}".encode()
    for part in (day, region, "bedrock", "aws4_request"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    signature = hmac.new(key, to_sign.encode(), hashlib.sha256).hexdigest()
    authorization = f"AWS4-HMAC-SHA256 Credential={access}/{scope}, SignedHeaders={names}, Signature={signature}"
    return {**headers, "authorization": authorization}


def ask(question: str, model: str, region: str) -> dict[str, Any]:
    """The reply of the model. Raises OSError, ValueError, LookupError (no credentials)."""
    base = os.environ.get("AWS_ENDPOINT_URL_BEDROCK_RUNTIME") or f"https://bedrock-runtime.{region}.amazonaws.com"
    url = f"{base}/model/{urllib.parse.quote(model, safe='')}/converse"
    document = {
        "messages": [{"role": "user", "content": [{"text": question}]}],
        "toolConfig": {"tools": [{"systemTool": {"name": "nova_grounding"}}]},
    }
    body = json.dumps(document).encode()
    token = os.environ.get("AWS_BEARER_TOKEN_BEDROCK")
    if token:
        headers = {"content-type": "application/json", "authorization": f"Bearer {token}"}
    elif keys := credentials():
        headers = signed(url, body, region, keys, datetime.now(timezone.utc))  # noqa: UP017  any python3
    else:
        raise LookupError("no AWS credentials: set AWS_BEARER_TOKEN_BEDROCK, or AWS_ACCESS_KEY_ID and its secret")
    request = urllib.request.Request(url, body, headers, method="POST")
    with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:
        reply = json.load(answer)
    if not isinstance(reply, dict):
        raise ValueError("the answer is not understood")
    return reply


def told(reply: dict[str, Any]) -> str:
    """The answer and the addresses it rests on, each once."""
    texts: list[str] = []
    sources: list[str] = []
    for block in reply.get("output", {}).get("message", {}).get("content", []):
        if "text" in block:
            texts.append(block["text"])
        for citation in (block.get("citationsContent") or {}).get("citations", []):
            web = citation.get("location", {}).get("web", {})
            if web.get("url"):
                sources.append(web["url"])
        texts += [part["text"] for part in (block.get("citationsContent") or {}).get("content", []) if "text" in part]
    listed = "\n".join(f"- {url}" for url in dict.fromkeys(sources))
    return "".join(texts).strip() + (f"\n\nSources:\n{listed}" if listed else "")


def main() -> int:
    top = argparse.ArgumentParser(description="Search the web through Amazon Nova")
    top.add_argument("question")
    top.add_argument("--model", default=MODEL)
    top.add_argument("--region", default=REGION)
    given = top.parse_args()
    try:
        print(told(ask(given.question, given.model, given.region)))
    except urllib.error.HTTPError as error:
        print(f"error: Bedrock answered {error.code}: {error.read(2000).decode('utf-8', 'replace')}", file=sys.stderr)
        return 1
    except (OSError, ValueError, LookupError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
