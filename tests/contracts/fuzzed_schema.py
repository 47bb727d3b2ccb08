"""What the fuzz test of the JSON API calls, and with which values; pure, so that it can be read at a glance.

The description of the API says `projectId: string`; a random string never passes the first check. So most requests
name things that exist, whatever else hypothesis thinks of.
"""

from typing import Any

Schema = dict[str, Any]

# Operations that are not called, and why. Everything else is.
EXCLUDED = {
    "POST /api/auth/login": "wrong passwords are counted; the address would be locked out",
    "POST /api/auth/change-password": "the same; and the right one would end the login of the run",
    "POST /api/auth/logout": "ends the login of the run",
    "POST /api/auth/logout-everywhere": "the same",
    "POST /api/settings/providers/{provider_id}/test": "calls the address it is given",
    "POST /api/git/push": "calls the remote, which may be anything by then",
    "POST /api/git/pull": "calls the remote, which may be anything by then",
    "POST /api/git/ssh/unlock": "starts a key agent that outlives the run",
    "POST /api/fs/sample": "makes a workspace in the home at each call",
}

ORDER = ("GET", "POST", "PUT", "PATCH", "DELETE")


def operations(schema: Schema) -> list[tuple[str, str]]:
    """(method, path) of all that are called; what reads first, what deletes last, else nothing is left to find."""
    found = [(method.upper(), path) for path, item in schema["paths"].items() for method in item]
    called = [pair for pair in found if " ".join(pair) not in EXCLUDED]
    return sorted(called, key=lambda pair: (ORDER.index(pair[0]), pair[1]))


def takes_something(schema: Schema, method: str, path: str) -> bool:
    """Whether a request can be against the description: any text fits into the path."""
    operation = schema["paths"][path][method.lower()]
    beyond_path = [parameter for parameter in operation.get("parameters", []) if parameter["in"] != "path"]
    return bool(beyond_path or operation.get("requestBody"))


def fields_of(schema: Schema, method: str, path: str) -> dict[str, str]:
    """Where each field of a request belongs: `path`, `query` or `body`, by its name."""
    operation = schema["paths"][path][method.lower()]
    found = {parameter["name"]: parameter["in"] for parameter in operation.get("parameters", [])}
    for content in operation.get("requestBody", {}).get("content", {}).values():
        body = content["schema"]
        for part in [body, *body.get("anyOf", [])]:
            if "$ref" in part:
                part = schema["components"]["schemas"][part["$ref"].rpartition("/")[2]]
            found |= {name: "body" for name in part.get("properties", {})}
    return found
