"""Where the sessions of a relay graph stand (pure)."""

from hypothesis import given
from hypothesis import strategies as st

from relay_app.layout import layout


def test_callers_stand_left_of_their_targets():
    places = layout([("a", "b"), ("b", "c"), ("a", "c"), ("x", "c")])
    assert places == {"a": (0, 0), "x": (0, 1), "b": (1, 0), "c": (2, 0)}


def test_circles_and_loops_are_drawn_too():
    assert layout([("a", "a")]) == {"a": (0, 0)}
    places = layout([("a", "b"), ("b", "a")])
    assert places["a"][0] < places["b"][0]


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.sampled_from("abcdef"))))
def test_every_end_of_an_edge_has_a_place_of_its_own(edges):
    places = layout(edges)
    assert set(places) == {end for edge in edges for end in edge}
    assert len(set(places.values())) == len(places)
