"""Pages as markdown: what people read of them, and nothing that only machines do."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents_app.html_text import markdown_of


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<p>one\n two</p><p>three", "one two\n\nthree"),
        ("<h2>Head</h2>text<br>next", "## Head\n\ntext\nnext"),
        ("<b>bold</b> and <i>it</i> and <code>x</code>", "**bold** and *it* and `x`"),
        ("<ul><li>a<li>b<ol><li>c<li>d</ol></ul>after", "- a\n- b\n  1. c\n  2. d\n\nafter"),
        ("<pre>a\n  b <b>c</b></pre>", "```\na\n  b c\n```"),
        ("<table><tr><th>a<th>b</tr><tr><td>1<td>2</tr></table>", "| a | b |\n| --- | --- |\n| 1 | 2 |"),
        (
            "<a href='/x'>go</a> <a href='#y'>here</a> <a href='javascript:z'>bad</a>",
            "[go](https://a.example/x) here bad",
        ),
        ("<base href='https://b.example/d/'><a href='e'>go</a>", "[go](https://b.example/d/e)"),
        ("<img alt='a  cat' src=x><img src=y>", "[image: a cat]"),
        ("<title>T</title><p>x", "# T\n\nx"),
        ("<title>T</title><h1>H</h1>", "# H"),
        ("a &amp; b &lt;c&gt; &#8364;", "a & b <c> €"),
        ("<script>evil()</script><style>x{}</style><div hidden><div>no</div>no</div><p>yes", "yes"),
        ("<svg><title>no</title><p>no</svg>yes", "yes"),
        ("<!-- no --><!doctype html><p>yes", "yes"),
        ("<p>Un<b>closed <i>marks", "Un**closed *marks"),
        ("</p></ul></a></table></pre>text", "text"),
        ("", ""),
    ],
)
def test_markup_becomes_readable(html, text):
    assert markdown_of(html, "https://a.example/p") == text


PIECES = """
<p> <b> </b> <ul> <li> </ul> <pre> </pre> <a href=x> </a> <table> <tr> <td> </table> <script> </script> <svg> x < & <h1>
</h1> <title> </title> <!-- --> <![CDATA[ <base href=http://[> <a href='http://['> <a b= <a b='c <a "=>  &#99999999999;
"""


@given(st.text() | st.lists(st.sampled_from(PIECES.split())).map("".join))
def test_no_markup_breaks_it(page):
    markdown_of(page, "https://a.example/")


LONG = """
<div> <ul><li> <b> <a> <a></a> <table><tr><td> <td><p> <pre> <svg> < & &# <!-- </p> <a/ <a/b= <a/b=' <a/b=" </svg
</script <svg></b> <b></b> <pre></pre> <!x <?x &#1 &#x </
"""


@pytest.mark.parametrize("piece", LONG.split())
def test_L6_deep_and_long_markup_takes_no_time(piece):
    began = time.thread_time()
    markdown_of(piece * (400_000 // len(piece)), "https://a.example/")
    markdown_of("<pre>" + " " * 400_000 + "<table><tr><td>" + "<p> " * 100_000, "")
    markdown_of("&#" + "9" * 400_000 + ";")
    assert time.thread_time() - began < 30  # of work, not of the clock; with the square of the length: many minutes
