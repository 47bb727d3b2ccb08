"""HTML to markdown that a model reads well: text, headings, lists, links, tables, code.

Pure; never fails for bad markup. Not a browser: no scripts, styles, forms or hidden parts. The standard library's
parser takes time that grows with the square of some hostile pages (unclosed comments, tags, quotes), hence a tokenizer
of our own in which every character is looked at a fixed number of times.
"""

import html
import re
from collections.abc import Iterator
from urllib.parse import urljoin, urlsplit

_DROPPED = frozenset(
    {
        "script", "style", "noscript", "template", "svg", "canvas", "iframe", "object", "video", "audio",
        "select", "button"
    }
)  # fmt: skip
_BLOCKS = frozenset(
    {
        "p", "div", "section", "article", "main", "header", "footer", "nav", "aside", "ul", "ol", "dl", "dt",
        "dd", "figure", "figcaption", "form", "fieldset", "address", "details", "summary", "blockquote", "table",
        "tbody", "thead", "tfoot", "tr", "hr", "body", "html"
    }
)  # fmt: skip
_MARKS = {"strong": "**", "b": "**", "em": "*", "i": "*", "code": "`", "kbd": "`", "samp": "`", "del": "~~", "s": "~~"}
_INDENT_DEPTH = 20  # lists deeper than this are not indented further


_TAG = re.compile(r"<(/?)([a-zA-Z][^\s/>]*+)")
_ATTRIBUTE = re.compile(r"[\s/]*+([^\s/>=][^\s/>=]*+)(?:\s*+=\s*+(\"[^\"]*+\"|'[^']*+'|[^\s>\"'][^\s>]*+|(?=[\s>])))?+")
_TAG_END = re.compile(r"[\s/=\"']*+>")
_RAW = frozenset({"script", "style", "textarea", "xmp", "noframes"})  # their content is no markup
# Where hidden parts end is certain only for elements that are always closed.
_CAN_HIDE = frozenset({"div", "span", "section", "nav", "aside", "ul", "ol", "table", "header", "footer", "dialog"})


def markdown_of(page: str, base: str = "") -> str:
    """The readable text. base: address of the page, for relative links."""
    reader = _Reader(base)
    for kind, value, attributes in _tokens(page):
        match kind:
            case "text":
                reader.text_seen(value)
            case "start":
                reader.start_seen(value, attributes)
            case "end":
                reader.end_seen(value)
    return reader.result()


def _tokens(page: str) -> Iterator[tuple[str, str, dict[str, str]]]:
    """("text" | "start" | "end", text or name in lower case, attributes). What is never closed is left out."""
    at = 0
    while at < len(page):
        opens = page.find("<", at)
        if opens != at:
            yield "text", _plain(page[at : opens if opens >= 0 else len(page)]), {}
        if opens < 0:
            return
        if page.startswith(("<!", "<?"), opens):
            mark = "-->" if page.startswith("<!--", opens) else ">"
            at = page.find(mark, opens + 2) + len(mark)
            if at < len(mark):
                return
            continue
        tag = _TAG.match(page, opens)
        if tag is None:
            yield "text", "<", {}
            at = opens + 1
            continue
        attributes, at = _attributes(page, tag.end())
        if at < 0:
            return
        name = tag[2].lower()
        yield ("end" if tag[1] else "start"), name, attributes
        if name in _RAW and not tag[1]:
            end = re.compile(rf"</{name}[\s/>]", re.IGNORECASE).search(page, at)
            if end is None:
                return
            at = end.start()


def _attributes(page: str, at: int) -> tuple[dict[str, str], int]:
    """The attributes from here to the end of the tag, and where the text goes on; -1 = the tag has no end."""
    found: dict[str, str] = {}
    while (one := _ATTRIBUTE.match(page, at)) is not None:
        at = one.end()
        value = one[2] or ""
        found.setdefault(one[1].lower(), _plain(value[1:-1] if value[:1] in ("'", '"') else value))
    end = _TAG_END.match(page, at)
    if end is not None:
        return found, end.end()
    return found, page.find(">", at) + 1 or -1


def _plain(text: str) -> str:
    """Character references resolved; one with more digits than Python reads stays as it is."""
    try:
        return html.unescape(text) if "&" in text else text
    except ValueError:
        return text


class _Reader:
    def __init__(self, base: str) -> None:
        self._base = base
        self._done: list[str] = []  # finished parts: tidied text, and code as it was
        self._out: list[str] = []
        self._dropped = ""  # the element whose content is left out, and how often it is open
        self._dropped_depth = 0
        self._pre = 0
        self._title: list[str] | None = None
        self._page_title = ""
        self._lists: list[int | None] = []  # None = bullets, else the next number
        self._link: tuple[str, int] | None = None  # address, and where its text begins in `_out`
        self._cells: int | None = None  # cells so far of the open table row
        self._rows = 0

    # -- tokens

    def start_seen(self, tag: str, values: dict[str, str]) -> None:
        if self._dropped:
            self._dropped_depth += tag == self._dropped
            return
        hidden = tag in _CAN_HIDE and ("hidden" in values or values.get("aria-hidden") == "true")
        if tag in _DROPPED or hidden:
            self._dropped, self._dropped_depth = tag, 1
            return
        if tag == "base" and values.get("href"):
            self._base = _joined(self._base, values["href"])
        self._open(tag, values)

    def end_seen(self, tag: str) -> None:
        if not self._dropped:
            self._close(tag)
        elif tag == self._dropped:
            self._dropped_depth -= 1
            if not self._dropped_depth:
                self._dropped = ""

    def text_seen(self, data: str) -> None:
        if self._dropped:
            return
        if self._title is not None:
            self._title.append(data)
        elif self._pre:
            self._out.append(data)
        else:
            text = re.sub(r"\s+", " ", data)
            self._out.append(text.lstrip() if self._at_line_start() else text)

    # -- elements

    def _open(self, tag: str, values: dict[str, str]) -> None:
        match tag:
            case "title":
                self._title = []
            case "br":
                self._out.append("\n")
            case "h1" | "h2" | "h3" | "h4" | "h5" | "h6":
                self._block()
                self._out.append("#" * int(tag[1]) + " ")
            case "pre":
                if not self._pre:
                    self._block()
                    self._finish()
                self._pre += 1
            case "ul" | "ol":
                self._block(1 if self._lists else 2)
                self._lists.append(None if tag == "ul" else 1)
            case "li":
                self._item()
            case "hr":
                self._block()
                self._out.append("---")
                self._block()
            case "a":
                self._end_link()
                self._link = _link(self._base, values.get("href", "")), len(self._out)
            case "img":
                if values.get("alt"):
                    self._out.append(f"[image: {' '.join(values['alt'].split())[:200]}]")
            case "table":
                self._block()
                self._rows = 0
            case "tr":
                self._block(1)
                self._cells = 0
            case "td" | "th":
                self._out.append("| " if not self._cells else " | ")
                self._cells = (self._cells or 0) + 1
            case _ if tag in _MARKS and not self._pre:
                self._out.append(_MARKS[tag])
            case _ if tag in _BLOCKS:
                self._block()

    def _close(self, tag: str) -> None:
        match tag:
            case "title":
                self._page_title = " ".join("".join(self._title or []).split())
                self._title = None
            case "pre" if self._pre:
                self._pre -= 1
                if not self._pre:
                    self._finish_code()
            case "ul" | "ol":
                if self._lists:
                    self._lists.pop()
                self._block(1 if self._lists else 2)
            case "a":
                self._end_link()
            case "tr":
                self._end_row()
            case "h1" | "h2" | "h3" | "h4" | "h5" | "h6":
                self._block()
            case _ if tag in _MARKS and not self._pre:
                self._out.append(_MARKS[tag])
            case _ if tag in _BLOCKS and tag not in ("td", "th"):
                self._block()

    def _item(self) -> None:
        self._block(1)
        depth = min(len(self._lists), _INDENT_DEPTH)
        mark = "-"
        if self._lists and (number := self._lists[-1]) is not None:
            mark, self._lists[-1] = f"{number}.", number + 1
        self._out.append("  " * max(0, depth - 1) + f"{mark} ")

    def _end_link(self) -> None:
        if self._link is None:
            return
        address, start = self._link
        self._link = None
        text = "".join(self._out[start:]).strip()
        if address and text and "\n" not in text:
            self._out[start:] = [f"[{text}]({address})"]

    def _end_row(self) -> None:
        if self._cells:
            self._out.append(" |")
            self._rows += 1
            if self._rows == 1:
                self._out.append("\n|" + " --- |" * min(self._cells, 100))
        self._cells = None

    def _block(self, lines: int = 2) -> None:
        """The following text begins after so many line ends; inside a table row after a space."""
        if self._cells:
            self._out.append(" ")
        elif (self._out or self._done) and not self._pre:
            had = len(self._out.pop()) if self._out and not self._out[-1].strip("\n") else 0
            self._out.append("\n" * max(had, lines))

    def _at_line_start(self) -> bool:
        return not self._out or self._out[-1].endswith(("\n", " "))

    def _finish(self) -> None:
        """What was read so far, tidied: no marks around nothing, no blanks at line ends, no heaps of empty lines."""
        part = re.sub(r"(\*\*|~~|`)\s*\1", "", "".join(self._out))
        part = re.sub(r"(?<![ \t])[ \t]+\n", "\n", part)
        self._done.append(re.sub(r"\n{3,}", "\n\n", part))
        self._out, self._link = [], None

    def _finish_code(self) -> None:
        code = "".join(self._out).strip("\n")
        self._done.append(f"```\n{code}\n```\n\n")
        self._out, self._link = [], None

    def result(self) -> str:
        (self._finish_code if self._pre else self._finish)()
        body = "".join(self._done).strip()
        if self._page_title and not body.startswith("# "):
            body = f"# {self._page_title}\n\n{body}"
        return body.strip()


def _link(base: str, href: str) -> str:
    """The address a person could open; empty for scripts, anchors of the page and the like."""
    if not href.strip() or href.strip().startswith("#"):
        return ""
    address = _joined(base, href.strip())
    return address if address.lower().startswith(("http://", "https://", "mailto:")) and " " not in address else ""


def _joined(base: str, href: str) -> str:
    try:
        address = urljoin(base, href)
        urlsplit(address)
    except ValueError:
        return ""
    return address
