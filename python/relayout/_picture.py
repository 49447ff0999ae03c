"""A small picture of a layout for notebooks: memory as rows of cells, each with the index that lies there.

The picture is SVG without styles or scripts of others, in the colours of the page around it. Cells with the same first
index have the same shade; padding is hatched, gaps are empty.
"""
from __future__ import annotations

from html import escape
from typing import Any

_CELL_WIDTH, _CELL_HEIGHT, _COLUMNS, _ROWS = 46, 22, 16, 8


def _cell(layout: Any, offset: int) -> str:
    kind, index = layout.index(offset)
    x, y = offset % _COLUMNS * _CELL_WIDTH, offset // _COLUMNS * _CELL_HEIGHT
    if kind == "gap":
        fill, label = "none", ""
    elif kind == "padding":
        fill, label = "currentColor", "pad"
    else:
        fill, label = f"hsl({index[0] * 67 % 360 if index else 200},55%,72%)", ",".join(map(str, index))
    opacity = "0.15" if kind == "padding" else "1"
    colour = "#222" if kind == "element" else "currentColor"
    return (f'<g><title>offset {offset}: {escape(kind)} {escape(label)}</title>'
            f'<rect x="{x}" y="{y}" width="{_CELL_WIDTH - 2}" height="{_CELL_HEIGHT - 2}" fill="{fill}" '
            f'fill-opacity="{opacity}" stroke="currentColor" stroke-opacity="0.25"/>'
            f'<text x="{x + _CELL_WIDTH / 2 - 1:g}" y="{y + 14}" font-size="10" text-anchor="middle" fill="{colour}">'
            f'{escape(label)}</text></g>')


def svg(layout: Any) -> str:
    """The first offsets of memory, a row of 16 each, and the layout's expression above."""
    shown = min(layout.span_elements, _COLUMNS * _ROWS)
    rows = -(-shown // _COLUMNS)
    more = layout.span_elements - shown
    title = f"{layout.expression}  {'x'.join(map(str, layout.dims)) or 'scalar'}"
    note = f"offsets 0 to {shown - 1}" + (f", and {more} more" if more else "") if shown else "no elements"
    width, height = _COLUMNS * _CELL_WIDTH, rows * _CELL_HEIGHT + 40
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
            f'viewBox="0 -24 {width} {height}" font-family="monospace" role="img" aria-label="{escape(title)}">'
            f'<text x="0" y="-8" font-size="13" fill="currentColor">{escape(title)}</text>'
            + "".join(_cell(layout, offset) for offset in range(shown)) +
            f'<text x="0" y="{rows * _CELL_HEIGHT + 12}" font-size="11" fill="currentColor" fill-opacity="0.7">'
            f'{escape(note)}</text></svg>')
