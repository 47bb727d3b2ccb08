#!/usr/bin/env python3
"""Ask the public AWS knowledge server: `aws_kb.py search|read|recommend|regions|availability ...`.

Prints text. Messages on stderr. Exit: 0 done, 1 the server could not be asked or refused, 2 wrong call.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import urllib.error
import urllib.request
from typing import Any

ENDPOINT = os.environ.get("AWS_KB_ENDPOINT", "https://knowledge-mcp.global.api.aws")
TIMEOUT = 30  # seconds
LIMIT = 8 * 1024 * 1024
TOPICS = (
    *("reference_documentation", "current_awareness", "troubleshooting", "amplify_docs"),
    *("cdk_docs", "cdk_constructs", "cloudformation", "general"),
)


def call(tool: str, arguments: dict[str, Any]) -> str:
    """The text of one tool of the server. Raises OSError and ValueError with a reason for people."""
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    request = urllib.request.Request(ENDPOINT, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:
        text = answer.read(LIMIT).decode("utf-8", "replace")
    reply = json.loads(_json_of(text))
    if "error" in reply:
        raise ValueError(str(reply["error"].get("message", reply["error"])))
    result = reply.get("result", {})
    parts = [part["text"] for part in result.get("content", []) if part.get("type") == "text"]
    if result.get("isError"):
        raise ValueError("\n".join(parts) or "the server reported an error")
    return "\n".join(parts)


def _json_of(text: str) -> str:
    """The message of an answer that comes as JSON or as an event stream."""
    events = [line[5:].strip() for line in text.splitlines() if line.startswith("data:")]
    return events[-1] if events else text


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(description="AWS documentation and facts")
    verbs = top.add_subparsers(dest="verb", required=True)
    search = verbs.add_parser("search")
    search.add_argument("phrase")
    search.add_argument("--topics", nargs="+", choices=TOPICS, default=[], metavar="TOPIC", help=" ".join(TOPICS))
    search.add_argument("--limit", type=int, default=5)
    read = verbs.add_parser("read")
    read.add_argument("url")
    read.add_argument("--start", type=int, default=0, help="first character")
    read.add_argument("--max-length", type=int, default=10_000)
    verbs.add_parser("recommend").add_argument("url")
    verbs.add_parser("regions")
    availability = verbs.add_parser("availability")
    availability.add_argument("kind", choices=["product", "api", "cfn"])
    availability.add_argument("--filters", nargs="+", required=True)
    availability.add_argument("--region", default="")
    return top


def wanted(given: argparse.Namespace) -> tuple[str, dict[str, Any]]:
    """Tool and arguments of a command line."""
    if given.verb == "search":
        topics = {"topics": given.topics[:3]} if given.topics else {}
        return "aws___search_documentation", {"search_phrase": given.phrase, "limit": given.limit, **topics}
    if given.verb == "read":
        return "aws___read_documentation", {
            "url": given.url,
            "start_index": given.start,
            "max_length": given.max_length,
        }
    if given.verb == "recommend":
        return "aws___recommend", {"url": given.url}
    if given.verb == "regions":
        return "aws___list_regions", {}
    region = {"region": given.region} if given.region else {}
    return "aws___get_regional_availability", {"resource_type": given.kind, "filters": given.filters, **region}


def main() -> int:
    tool, arguments = wanted(parser().parse_args())
    try:
        print(call(tool, arguments))
    except (urllib.error.URLError, TimeoutError, OSError) as error:
        print(f"error: the AWS knowledge server could not be reached: {error}", file=sys.stderr)
        return 1
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
