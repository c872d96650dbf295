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

    def print(self, root: Node, data: bytes | None = None) -> None:
        """Prints a tree; with ``data``, the message, each line begins with offset and length and ends in the bytes in hex."""
        stack: list[tuple[Iterator[Node], str]] = []
        self._node(root, "", "", data)
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
            self._node(node, guide + ("└─ " if last else "├─ "), guide + ("   " if last else "│  "), data)
            inner = iter(node.children)
            stack.append((inner, guide + ("   " if last else "│  ")))
            waiting.append(next(inner, None))

    def _node(self, node: Node, guide: str, _below: str, data: bytes | None) -> None:
        gutter, tail = "", ""
        if data is not None:
            gutter = "            "
            if node.span is not None:
                offset, length = node.span
                gutter = f"{offset:6}{length:5} "
                if not isinstance(node.children, list) and length:
                    tail = hexadecimal(data[offset : offset + length], length if self._full else self.HEX)
        room = max(20, self._sink.width - len(gutter) - len(guide) - cells(node.label) - (2 if node.value else 0))
        value, note = node.value, node.note
        if not self._full and self._sink.terminal:
            note = cut(note, max(10, room - 10)) if note else ""
            value = cut(value, max(10, room - (cells(note) + 2 if note else 0) - (min(len(tail), 24) + 2 if tail else 0)))
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
