"""What is looked for, and the line that shows it."""

from hypothesis import given
from hypothesis import strategies as st

from sessions_app.search.question import LONGEST, MOST_TERMS, SNIPPET, question_of


def test_words_and_quoted_phrases_are_terms() -> None:
    assert question_of('fix "two words" Tests fix').terms == ("fix", "two words", "Tests")


def test_a_lonely_quote_or_nothing_asks_for_nothing() -> None:
    assert question_of(' " ').terms == ()
    assert question_of("").terms == ()


def test_a_snippet_is_one_line_around_the_first_hit() -> None:
    text = "a" * 100 + "\nneedle\n" + "b" * 300
    snippet = question_of("NEEDLE").snippet(text)
    assert snippet is not None
    assert (snippet[:2], snippet[-2:]) == ("…a", "b…")
    assert " needle " in snippet


def test_every_term_must_occur() -> None:
    assert question_of("red green").snippet("red only") is None
    assert question_of("中文 搜索").snippet("我们搜索中文") == "我们搜索中文"


@given(st.text(max_size=300), st.text(max_size=300))
def test_any_question_of_any_text_has_a_short_answer_or_none(asked: str, text: str) -> None:
    question = question_of(asked)
    assert len(question.terms) <= MOST_TERMS
    assert all(0 < len(term) <= LONGEST for term in question.terms)
    snippet = question.snippet(text)
    assert snippet is None or len(snippet) <= SNIPPET + 2


@given(st.text(min_size=1, max_size=20), st.text(max_size=50), st.text(max_size=50))
def test_a_text_that_holds_the_word_is_always_found(word: str, head: str, tail: str) -> None:
    question = question_of(word)
    text = head + " ".join(question.terms) + tail
    assert not question.terms or question.snippet(text) is not None
