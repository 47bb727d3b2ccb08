"""Chains of handed-on work: pure, and what people type (spec relay R3.8, SECURITY-BAR M4)."""

from hypothesis import given
from hypothesis import strategies as st

from sessions_app.chain import Chain, Waiting, merged
from sessions_app.marks import OURS, from_workspace, unmarked

A, B, C = (Waiting(key, f"/w/{name} · s") for key, name in ((1, "a"), (2, "b"), (3, "c")))
chains = st.builds(
    Chain,
    st.lists(st.text("xyz", min_size=1), min_size=1, max_size=3).map(tuple),
    st.integers(0, 9),
    st.lists(st.sampled_from([A, B, C]), unique=True).map(tuple),
    st.lists(st.integers(1, 99), unique=True).map(tuple),
)


@given(chains)
def test_a_chain_survives_its_column(chain: Chain):
    assert Chain.of(chain.stored()) == chain


def test_no_chain_is_read_from_anything_else():
    assert [Chain.of(stored) for stored in (None, {}, [], "x", {"ids": []})] == [None] * 5


@given(st.lists(st.none() | chains, max_size=4))
def test_a_turn_that_reads_several_chains_answers_everybody_in_them(several: list[Chain | None]):
    turn, known = merged(several), [chain for chain in several if chain is not None]
    if not known:
        assert turn is None
        return
    assert turn is not None
    assert {caller for chain in known for caller in chain.callers} == set(turn.callers)
    assert {key for chain in known for key in chain.answers} == set(turn.answers)
    assert turn.hop == max(chain.hop for chain in known)
    assert len({caller.root for caller in turn.callers}) == len(turn.callers)


def test_the_nearest_caller_of_the_longest_chain_stays_the_nearest():
    turn = merged([Chain(("x",), 2, (A, B)), Chain(("y",), 1, (B,))])
    assert turn == Chain(("x", "y"), 2, (A, B))


@given(st.sampled_from(OURS), st.sampled_from(["", " ", "\n"]), st.booleans(), st.text(max_size=5))
def test_M4_a_mark_that_a_person_types_does_not_begin_the_text_of_the_model(mark, space, upper, rest):
    typed = space + (mark.upper() if upper else mark) + rest
    assert not unmarked(typed).lstrip().lower().startswith(OURS)


def test_other_words_stay_as_they_are():
    assert unmarked(" hello [channel: x]") == " hello [channel: x]"
    assert from_workspace("/w/a", "do it") == "[channel: relay | from: /w/a]\ndo it"
