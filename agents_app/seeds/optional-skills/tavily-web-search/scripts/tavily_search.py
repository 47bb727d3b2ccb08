#!/usr/bin/env python3
"""Search the web with Tavily: `TAVILY_KEY=... tavily_search.py "<query>" [options]`.

The key comes in the environment, so that it stands in no process list. Prints answer, titles, addresses and extracts.
Exit: 0 done, 1 refused or not reachable, 2 wrong call or no key. Standard library only.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import urllib.error
import urllib.request
from typing import Any

ENDPOINT = os.environ.get("TAVILY_ENDPOINT", "https://api.tavily.com/search")
TIMEOUT = 60  # seconds


def search(key: str, query: dict[str, Any]) -> dict[str, Any]:
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {key}"}
    request = urllib.request.Request(ENDPOINT, json.dumps(query).encode(), headers)
    with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:
        found = json.load(answer)
    if not isinstance(found, dict):
        raise ValueError("the answer is not understood")
    return found


def told(found: dict[str, Any]) -> str:
    parts = [str(found["answer"])] if found.get("answer") else []
    for result in found.get("results", []):
        parts.append(f"## {result.get('title', '')}\n{result.get('url', '')}\n{result.get('content', '')}".strip())
    return "\n\n".join(parts) or "Nothing was found."


def main() -> int:
    top = argparse.ArgumentParser(description="Search the web with Tavily")
    top.add_argument("query")
    top.add_argument("--max-results", type=int, choices=range(1, 21), default=5, metavar="1..20")
    top.add_argument("--depth", choices=["basic", "advanced"], default="basic")
    top.add_argument("--topic", choices=["general", "news", "finance"], default="general")
    top.add_argument("--time-range", choices=["day", "week", "month", "year"])
    top.add_argument("--include", nargs="*", default=[], metavar="DOMAIN")
    top.add_argument("--exclude", nargs="*", default=[], metavar="DOMAIN")
    given = top.parse_args()
    key = os.environ.get("TAVILY_KEY", "")
    if not key or key.startswith(("{{", "<<")):
        print("error: no key; set the parameter api_key of this skill in Settings", file=sys.stderr)
        return 2
    query = {
        "query": given.query,
        "max_results": given.max_results,
        "include_answer": True,
        "search_depth": given.depth,
        "topic": given.topic,
        "time_range": given.time_range,
        "include_domains": given.include,
        "exclude_domains": given.exclude,
    }
    try:
        print(told(search(key, {name: value for name, value in query.items() if value not in (None, [])})))
    except urllib.error.HTTPError as error:
        print(f"error: Tavily answered {error.code}: {error.read(2000).decode('utf-8', 'replace')}", file=sys.stderr)
        return 1
    except (OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
