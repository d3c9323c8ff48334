"""Read the html`...` templates of a module, as htm reads them, without running JavaScript."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser

HOLE = "\0"  # stands for ${...}
SPACE = "\1"  # stands for ${" "}
VOID = {"input", "br", "hr", "img", "path", "circle", "rect", "canvas/"}


def templates(source: str) -> Iterator[str]:
    """Every html`...` of a module, inner ones included. HOLE or SPACE stands for each ${...}."""
    for match in re.finditer(r"html`", source):
        text, _ = _template(source, match.end())
        yield text


def _template(source: str, at: int) -> tuple[str, int]:
    """The text of a template that begins at a position, and the position after its backtick."""
    text = ""
    while source[at] != "`":
        if source.startswith('${" "}', at):
            text, at = text + SPACE, at + 6
        elif source.startswith("${", at):
            text, at = text + HOLE, _after_hole(source, at + 2)
        else:
            text, at = text + source[at], at + 1
    return text, at + 1


def _after_hole(source: str, at: int) -> int:
    depth = 1
    while depth:
        if source[at] == "`":
            at = _template(source, at + 1)[1]
            continue
        depth += (source[at] == "{") - (source[at] == "}")
        at += 1
    return at


def texts(template: str) -> Iterator[str]:
    """The text between tags. Holes stay in it; a `<` that begins no tag does too."""
    text, quote, inside = "", "", False
    for here, after in zip(template, template[1:] + " ", strict=True):
        if inside:
            if quote:
                quote = "" if here == quote else quote
            elif here in "\"'":
                quote = here
            elif here == ">":
                inside = False
        elif here == "<" and (after.isalpha() or after == "/"):
            yield text
            text, inside = "", True
        else:
            text += here
    yield text


def bare_brackets(template: str) -> list[str]:
    """Texts with a `<` that begins no tag. htm reads it as a tag and fails at rendering."""
    return [text.strip() for text in texts(template) if "<" in text]


def lost_spaces(template: str) -> list[str]:
    """Places where a line break is the only space between words and a hole: htm drops it."""
    words = rf"[^\s{HOLE}{SPACE}]"
    broken = re.compile(rf"\S*{words}[ ]*\n\s*{HOLE}|{HOLE}[ ]*\n\s*{words}\S*")
    return [match[0].replace(HOLE, "${}") for text in texts(template) for match in broken.finditer(text)]


class Balance(HTMLParser):
    """Checks that every tag of a template is closed, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: object) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open[-1] == tag, f"</{tag}> closes <{self.open[-1] if self.open else 'nothing'}>"
        self.open.pop()
