"""Colours in a terminal: the text stays what it is."""

import re

from hypothesis import given
from hypothesis import strategies as st

from halo_site.cli.style import BOLD, CODE, QUIET, RESET, Styler

MARKDOWN = st.lists(
    st.sampled_from(["#", "# ", "`", "```", "~~~", "**", "*", "\n", "> ", " ", "word", "py\n", "- ", "日本"]),
    max_size=40,
).map("".join)


def styled(*pieces: str) -> str:
    styler = Styler()
    return "".join(map(styler.feed, pieces)) + styler.end()


@given(MARKDOWN)
def test_without_the_colours_it_is_the_same_text(text: str):
    assert re.sub(r"\x1b\[\d+m", "", styled(text)) == text


@given(MARKDOWN, st.data())
def test_where_it_is_cut_makes_no_difference(text: str, data: st.DataObject):
    cut = data.draw(st.integers(0, len(text)))
    assert styled(text[:cut], text[cut:]) == styled(*text) == styled(text)


@given(MARKDOWN)
def test_the_terminal_is_left_as_it_was(text: str):
    codes = re.findall(r"\x1b\[\d+m", styled(text))
    assert not codes or codes[-1] == RESET


def test_headings_code_and_bold_words_stand_out():
    assert styled("## Plan\nDo `ls` **now**.\n") == (
        f"{BOLD}## Plan{RESET}\nDo {CODE}`ls`{RESET} {BOLD}**now**{RESET}.\n"
    )


def test_a_fence_is_quiet_to_its_end_and_signs_inside_mean_nothing():
    assert styled("```py\n# no **heading**\n```\nafter") == (
        f"{QUIET}```py{RESET}\n{QUIET}# no **heading**{RESET}\n{QUIET}```{RESET}\nafter"
    )


def test_a_lone_sign_does_not_colour_the_rest():
    assert styled("2 * 3 and `x\nplain") == f"2 * 3 and {CODE}`x{RESET}\nplain"
