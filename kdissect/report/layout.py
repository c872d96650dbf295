"""Which columns fit on a terminal and how wide each may be."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len, set_cell_size

from kdissect.report.view import ESSENTIAL, Column, Row

GAP = 2


def cells(text: str) -> int:
    """Terminal cells that ``text`` takes: wide letters take two."""
    return len(text) if text.isascii() else cell_len(text)


def cut(text: str, width: int) -> str:
    """``text`` in at most ``width`` cells, with an ellipsis where something was cut off."""
    if cells(text) <= width:
        return text
    if width <= 1:
        return "…"[:width]
    if text.isascii():
        return text[: width - 1] + "…"
    return set_cell_size(text, width - 1).rstrip() + "…"


def wrapped(text: str, width: int, most: int = 6) -> list[str]:
    """``text`` in lines of at most ``width`` cells, broken between words where there are any; the rest behind ``most`` is cut."""
    lines: list[str] = []
    rest = text
    while cells(rest) > width and len(lines) < most - 1:
        head = rest[:width] if rest.isascii() else set_cell_size(rest, width).rstrip()
        blank = head.rfind(" ")
        if blank > width // 3 and len(rest) > len(head) and rest[len(head)] != " ":
            head = head[:blank]
        lines.append(head.rstrip())
        rest = rest[len(head) :].lstrip()
    return [*lines, cut(rest, width)]


def pad(text: str, width: int, right: bool) -> str:
    """``text`` filled with blanks to ``width`` cells."""
    space = " " * (width - cells(text))
    return space + text if right else text + space


def fit(columns: Sequence[Column[Row]], natural: Sequence[int], width: int, more: bool = False) -> dict[int, int]:
    """Chooses columns for a terminal of ``width`` cells, given the natural width of each.

    Returns column position -> width.  The least important go first, one by
    one: the inessential until the rest is comfortable, others until the rest
    fits at its narrowest.  Then what is left over is given back, the most
    important first.  Columns of rank 0 stay always.  ``more`` rows, unseen
    yet, may be wider: then comfortable widths are aimed at even if nothing
    needs them yet.
    """
    if more:
        natural = [max(n, c.comfort or 0) for c, n in zip(columns, natural, strict=True)]
    wanted = [max(len(c.title), min(n, c.maximum)) for c, n in zip(columns, natural, strict=True)]
    least = [w if c.minimum is None else min(w, max(c.minimum, len(c.title))) for c, w in zip(columns, wanted, strict=True)]
    comfortable = [max(low, min(w, c.comfort or 0)) for c, w, low in zip(columns, wanted, least, strict=True)]
    titles = {column.title: at for at, column in enumerate(columns)}
    dropped: set[int] = set()

    def shown() -> list[int]:
        return [
            at for at, c in enumerate(columns) if at not in dropped and (c.instead_of is None or titles[c.instead_of] in dropped)
        ]

    def spare(widths: Sequence[int]) -> int:
        return width - sum(widths[at] + GAP for at in shown()) + GAP

    for at in sorted((at for at, column in enumerate(columns) if column.rank), key=lambda at: columns[at].rank):
        if spare(comfortable if columns[at].rank < ESSENTIAL else least) < 0:
            dropped.add(at)
    widths = {at: least[at] for at in shown()}
    left = spare(least)
    for aim in (comfortable, wanted):
        for at in sorted(widths, key=lambda at: (columns[at].rank > 0, -columns[at].rank)):
            grown = max(0, min(left, aim[at] - widths[at]))
            widths[at] += grown
            left -= grown
    last = max(widths)
    if columns[last].minimum is not None:
        widths[last] += left  # Costs nothing: there is nothing to the right of it.
    return widths
