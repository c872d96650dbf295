"""A tree of labelled values, printed as it is walked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from kdissect.report.escape import hexadecimal
from kdissect.report.layout import cells, cut
from kdissect.report.sink import Output, Sink
from kdissect.report.style import RESET, sgr


@dataclass(slots=True)
class Node:
    """One line of a tree, all of its texts escaped already."""

    label: str
    value: str = ""
    style: str = ""
    note: str = ""
    """The value in human terms."""
    note_style: str = "quiet"
    span: tuple[int, int] | None = None
    """Offset and length in the message, for ``--bytes``."""
    children: Iterable[Node] = field(default_factory=tuple)
    """Asked for when the line has been printed."""
    label_style: str = ""


class TreePrinter:
    """Prints nodes with guides, line by line; lines are cut to the terminal unless everything is asked for."""

    HEX = 16

    def __init__(self, sink: Sink, full: bool = False) -> None:
        self._sink, self._full = sink, full
        self.output = Output(sink)

    def line(self, *parts: tuple[str, str]) -> None:
        """A line of ``(text, style)`` parts."""
        self.output.write(
            ("".join(self._styled(text, style) for text, style in parts).rstrip() + "\n").encode(errors="backslashreplace")
        )

    def print(self, root: Node, data: bytes | None = None, headless: bool = False) -> None:
        """Prints a tree; with ``data``, the message, each line begins with offset and length and ends in the bytes in hex.

        ``headless``: the root has no line of its own.
        """
        stack: list[tuple[Iterator[Node], str]] = []
        if data is not None:
            self.line(("offset  len", "quiet"))
        if not headless:
            self._node(root, "", data)
        stack.append((iter(root.children), ""))
        waiting: list[Node | None] = [next(stack[0][0], None)]
        while stack:
            siblings, guide = stack[-1]
            node = waiting[-1]
            if node is None:
                stack.pop()
                waiting.pop()
                continue
            waiting[-1] = next(siblings, None)
            last = waiting[-1] is None
            self._node(node, guide + ("└─ " if last else "├─ "), data)
            inner = iter(node.children)
            stack.append((inner, guide + ("   " if last else "│  ")))
            waiting.append(next(inner, None))

    def _node(self, node: Node, guide: str, data: bytes | None) -> None:
        gutter, tail = "", ""
        if data is not None:
            gutter = "            "
            if node.span is not None:
                offset, length = node.span
                gutter = f"{offset:6}{length:5} "
                if not node.children and length:
                    tail = hexadecimal(data[offset : offset + length], length if self._full else self.HEX)
        value, note = node.value, node.note
        if not self._full and self._sink.terminal:
            room = self._sink.width - cells(gutter) - cells(guide) - cells(node.label)
            value, note, tail = _share(room - 2, value, note, tail)
        parts = [(gutter, "quiet"), (guide, "quiet"), (node.label, node.label_style)]
        if value:
            parts += [(": " if node.label else "", "quiet"), (value, node.style)]
        if note:
            parts += [("  ", ""), (note, node.note_style)]
        if tail:
            parts += [("  ", ""), (tail, "bytes")]
        self.line(*parts)

    def _styled(self, text: str, style: str) -> str:
        code = sgr(style) if self._sink.color else ""
        return f"{code}{text}{RESET}" if code and text else text


def _share(room: int, value: str, note: str, tail: str) -> tuple[str, str, str]:
    """Cuts the three to ``room`` cells with two between them: the bytes first, then the note, then the value."""
    widths = [cells(text) + 2 * bool(text) for text in (value, note, tail)]
    over = sum(widths) - 2 - room
    for least, at in ((14, 2), (14, 1), (24, 0), (0, 2), (0, 1), (4, 0)):
        less = max(0, min(over, widths[at] - least))
        widths[at] -= less
        over -= less
    value, note, tail = (cut(text, max(0, width - 2)) for text, width in zip((value, note, tail), widths, strict=True))
    return value, note, tail
