"""The OpenAPI description is what clients are made from: it must name each thing once, and say how errors look."""

from collections import defaultdict

from halo_site.lib.schema import ApiSchema
from tests.contracts.test_fuzzed_api import SCHEMA


def schema_classes(base: type = ApiSchema) -> set[type]:
    return {one for child in base.__subclasses__() for one in ({child} | schema_classes(child))}


def test_no_two_bodies_of_the_api_have_one_name():
    """The description knows them by name alone: of two, one would be described as the other."""
    places = defaultdict(set)
    for one in schema_classes():
        if not one.__module__.startswith("tests."):
            places[one.__name__].add(one.__module__)
    assert {name: sorted(modules) for name, modules in places.items() if len(modules) > 1} == {}


def test_every_operation_says_how_its_errors_look():
    for path, item in SCHEMA["paths"].items():
        for method, operation in item.items():
            assert "default" in operation["responses"], (method, path)


def test_every_operation_that_takes_a_body_describes_it():
    """DELETE and PATCH may name what they mean in the address alone; a bare POST is a verb without an object."""
    bare = {
        f"{method.upper()} {path}"
        for path, item in SCHEMA["paths"].items()
        for method, operation in item.items()
        if method in ("post", "put") and "requestBody" not in operation
    }
    assert bare == {
        "POST /api/auth/logout",
        "POST /api/auth/logout-everywhere",
        "POST /api/fs/sample",
        "POST /api/agent-configs/{agent_id}/sessions",
    }
