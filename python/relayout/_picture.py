"""A picture of a layout for notebooks: memory as rows of cells, each with the index that lies there.

Cells that follow each other along the innermost digit share a colour, and each block, or each plane of a layout without
blocks, has a thick frame. A legend says what both stand for. Cells are as wide as the longest index, of which those
dims are left out that do not change in what is shown; all dims stand in the cell's title, which a browser shows under
the mouse. The picture is SVG without styles or scripts of others, on a background of its own. Colours are Paul Tol's
light scheme, which colour-blind people see apart.
"""
from __future__ import annotations

import math
from html import escape
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Set, Tuple

_COLOURS = ("#77aadd", "#eedd88", "#44bb99", "#ffaabb", "#99ddff", "#ee8866", "#bbcc33", "#cfcf9a")
_PLAIN, _INK, _FAINT, _BACKGROUND = "#dfe8f3", "#1f2328", "#57606a", "#ffffff"
_MARGIN, _TOP, _HEIGHT, _LEAST_WIDTH, _LETTER, _WIDEST = 12, 74, 24, 24, 6.7, 900
_ROWS, _FIRST_ROWS, _LAST_ROWS, _LONGEST_TITLE = 16, 10, 5, 100


class _Level(NamedTuple):
    """A digit of a dim that has more than one value: index // place % extent, `stride` apart in memory."""

    stride: int
    dim: int
    place: int
    extent: int
    inner: bool  # inside a block: an outer digit of the same dim follows

    def of(self, index: Sequence[int]) -> int:
        return index[self.dim] // self.place % self.extent


class _Cell(NamedTuple):
    offset: int
    kind: str
    at: Tuple[int, ...]
    label: str = ""
    colour: str = _PLAIN
    frame: Optional[Tuple[int, ...]] = None


def _levels(layout: Any) -> List[_Level]:
    """The digits from the smallest step in memory to the largest."""
    found = []
    for dim, digits in enumerate(layout.plain.digits):
        place = 1
        for k, (extent, stride) in enumerate(digits):
            # A dim of 3 in blocks of 16 has one digit, which reaches further than the dim.
            inner = k + 1 < len(digits) or (k == 0 and extent > layout.dims[dim])
            if extent > 1 and stride != 0:
                found.append(_Level(abs(stride), dim, place, extent, inner))
            place *= extent
    return sorted(found)


def _columns(levels: Sequence[_Level], span: int, fit: int) -> int:
    """How many cells a row has: whole runs, so that blocks and planes line up, and at most `fit`."""
    sizes = sorted({level.stride for level in levels if 1 < level.stride < span} | {span})
    if span <= fit:
        return max(span, 1)
    run = max((size for size in sizes if size <= fit), default=1)
    longer = min(size for size in sizes if size > run)
    best = max((run * k for k in range(1, fit // run + 1) if longer % (run * k) == 0), default=run)
    return best if best >= min(8, fit) else max(run * (fit // run), 1)


def _names(dims: Sequence[int], names: str) -> str:
    return ",".join(names[dim] for dim in dims)


def _first_offset(layout: Any) -> int:
    """The least offset that has an index."""
    if layout.swizzle:
        return next((at for at in range(layout.span_elements) if layout.index(at)[0] != "gap"), 0)
    steps = [(extent - 1) * stride for digits in layout.digits for extent, stride in digits]
    return int(layout.offset0 + sum(step for step in steps if step < 0)) if layout.span_elements else 0


def _shown(layout: Any, columns: int) -> List[Optional[range]]:
    """The offsets of each row, from the first that has an index on; None for rows that are left out."""
    first, span = _first_offset(layout), layout.span_elements
    rows = range(-(-(span - first) // columns))
    shown = [*rows] if len(rows) <= _ROWS else [*rows[:_FIRST_ROWS], None, *rows[-_LAST_ROWS:]]
    return [None if row is None else range(first + row * columns, min(first + (row + 1) * columns, span))
            for row in shown]


def _repeats(layout: Any, dim: int) -> bool:
    """Whether all indices of a dim share an offset."""
    return bool(layout.dims[dim] > 1 and all(extent == 1 or stride == 0 for extent, stride in layout.plain.digits[dim]))


class _Picture:
    """What is drawn: the rows of cells, and what their colours, frames and labels stand for."""

    def __init__(self, layout: Any) -> None:
        self.layout = layout
        self.found: Dict[int, Tuple[str, Any]] = {}
        self.levels = _levels(layout)
        self.blocks = [level for level in self.levels if level.inner]
        framed = self.blocks or (self.levels[:2] if len(self.levels) > 2 else [])
        self.around = [level for level in self.levels if level not in framed] if framed else []
        self.framed = framed
        self.colour_by = self.levels[1] if len(self.levels) > 1 else None
        self.dims: List[int] = list(range(layout.ndim))
        self.width = self.columns = 1
        self.rows: List[Optional[List[_Cell]]] = []
        self._fill()
        # Which dims change depends on how much is shown, and that on how wide the labels are. With fewer dims more is
        # shown, in which a dim that was left out may change: then it comes back.
        kept: Set[int] = set()
        while self.dims != (changing := sorted(kept | set(self._changing()))):
            kept = set(changing) - set(self.dims) | kept
            self.dims = changing
            self._fill()

    def _fill(self) -> None:
        """The rows, for labels of self.dims."""
        layout = self.layout
        edge = 2 * _MARGIN + self.offset_width()
        # No label is longer than that of the last index. What is shown then says how long the longest is.
        longest = len(self._label([max(extent - 1, 0) for extent in layout.dims]))
        for _ in range(2):
            self.width = max(_LEAST_WIDTH, math.ceil(_LETTER * longest) + 8)
            reach = layout.span_elements - _first_offset(layout)
            self.columns = _columns(self.levels, reach, max(1, int((_WIDEST - edge) // self.width)))
            self.rows = [None if row is None else [self._cell(offset) for offset in row]
                         for row in _shown(layout, self.columns)]
            longest = max((len(cell.label) for cell in self.cells()), default=1)

    def offset_width(self) -> int:
        return math.ceil(_LETTER * len(str(max(self.layout.span_elements - 1, 0)))) + 10

    def _label(self, index: Sequence[int]) -> str:
        return ",".join(str(index[dim]) for dim in self.dims)

    def _cell(self, offset: int) -> _Cell:
        if offset not in self.found:
            self.found[offset] = self.layout.index(offset)
        kind, index = self.found[offset]
        if kind == "gap":
            return _Cell(offset, kind, ())
        colour = _PLAIN if self.colour_by is None else _COLOURS[self.colour_by.of(index) % len(_COLOURS)]
        frame = tuple(level.of(index) for level in self.around)
        return _Cell(offset, kind, tuple(index), self._label(index) if kind == "element" else "", colour, frame)

    def cells(self) -> List[_Cell]:
        return [cell for row in self.rows if row is not None for cell in row]

    def parts(self) -> List[List[_Cell]]:
        """The elements before the rows that are left out, and those after them."""
        cut = self.rows.index(None) if None in self.rows else len(self.rows)
        return [[cell for row in rows if row is not None for cell in row if cell.kind == "element"]
                for rows in (self.rows[:cut], self.rows[cut:])]

    def _changing(self) -> List[int]:
        """The dims that have more than one index in a part of what is shown; all of them where none has."""
        found = [dim for dim in range(self.layout.ndim)
                 if any(len({cell.at[dim] for cell in part}) > 1 for part in self.parts())]
        return found or list(range(self.layout.ndim))

    def fixed(self, part: int) -> str:
        """The dims that are left out of the labels, with the index that they have throughout a part: "n,c = 0,1"."""
        cells = self.parts()[part]
        left_out = [dim for dim in range(self.layout.ndim)
                    if cells and dim not in self.dims and not _repeats(self.layout, dim)]
        values = ",".join(str(cells[0].at[dim]) for dim in left_out)
        return f"{_names(left_out, self.layout.names)} = {values}" if left_out else ""


def _text(x: float, y: float, words: str, size: float = 12, colour: str = _INK, more: str = "") -> str:
    return f'<text x="{x:g}" y="{y:g}" font-size="{size:g}" fill="{colour}"{more}>{escape(words)}</text>'


def _box(x: float, y: float, width: float, kind: str, colour: str, height: float = _HEIGHT - 1) -> str:
    """A cell: filled; white and hatched for padding; dashed for a gap."""
    style = {"element": f'fill="{colour}" stroke="#ffffff"', "padding": 'fill="#f6f8fa" stroke="#d0d7de"',
             "gap": 'fill="#ffffff" stroke="#8c959f" stroke-dasharray="2 3"'}[kind]
    out = f'<rect x="{x:g}" y="{y:g}" width="{width - 1:g}" height="{height}" {style}/>'
    if kind == "padding":
        strokes = "".join(f"M{x + at:g} {y + height:g}L{x + min(at + height, width - 1):g} "
                          f"{y + max(height - (width - 1 - at), 0):g}" for at in range(2, int(width) - 2, 8))
        out += f'<path d="{strokes}" stroke="#8c959f" fill="none"/>'
    return out


def _drawn(picture: _Picture, cell: _Cell, x: float, y: float) -> str:
    named = ", ".join(f"{name} = {i}" for name, i in zip(picture.layout.names, cell.at))
    title = f"offset {cell.offset}: {cell.kind}" + (f" {named}" if named else "")
    out = f"<g><title>{escape(title)}</title>" + _box(x, y, picture.width, cell.kind, cell.colour)
    if cell.label:
        out += _text(x + (picture.width - 1) / 2, y + 16, cell.label, 11, more=' text-anchor="middle"')
    return out + "</g>"


def _frame_path(picture: _Picture, left: float) -> str:
    """The sides of cells at which a block ends."""
    path, y = "", float(_TOP)
    for r, row in enumerate(picture.rows):
        if row is not None:
            above = picture.rows[r - 1] if r > 0 else None
            below = picture.rows[r + 1] if r + 1 < len(picture.rows) else None
            for k, cell in enumerate(row):
                x = left + k * picture.width - 0.5
                if cell.frame is None:
                    continue
                sides = ((row[k - 1] if k > 0 else None, f"M{x:g} {y - 0.5:g}v{_HEIGHT}"),
                         (row[k + 1] if k + 1 < len(row) else None, f"M{x + picture.width:g} {y - 0.5:g}v{_HEIGHT}"),
                         (above[k] if above and k < len(above) else None, f"M{x:g} {y - 0.5:g}h{picture.width}"),
                         (below[k] if below and k < len(below) else None,
                          f"M{x:g} {y - 0.5 + _HEIGHT:g}h{picture.width}"))
                path += "".join(side for other, side in sides if other is None or other.frame != cell.frame)
        y += _HEIGHT
    return f'<path d="{path}" stroke="{_INK}" stroke-width="2" stroke-linecap="square" fill="none"/>'


def _words_of_labels(picture: _Picture) -> str:
    """What the labels in the cells are."""
    layout = picture.layout
    if not picture.cells():
        return "no elements"
    words = f"in each cell the index {_names(picture.dims, layout.names)}"
    if layout.ndim == 0:
        words = "one element, which has no index"
    fixed = picture.fixed(0)
    everywhere = None not in picture.rows or picture.fixed(1) in ("", fixed)
    words += f"; {fixed}" + (" everywhere" if everywhere else " at first") if fixed else ""
    same = [dim for dim in range(layout.ndim) if _repeats(layout, dim) and dim not in picture.dims]
    words += f"; the same for every {_names(same, layout.names)}" if same else ""
    first = picture.cells()[0].offset
    return words + (f"; offsets 0 to {first - 1} are a gap" if first else "")


def _words_of_gap(picture: _Picture) -> str:
    """What stands where rows are left out; "" where none are."""
    if None not in picture.rows:
        return ""
    cut = picture.rows.index(None)
    before, after = picture.rows[cut - 1], picture.rows[cut + 1]
    assert before is not None and after is not None
    fixed = picture.fixed(1)
    return (f"... offsets {before[-1].offset + 1} to {after[0].offset - 1} are not shown"
            + (f"; below {fixed}" if fixed not in ("", picture.fixed(0)) else ""))


def _block_name(levels: Sequence[_Level], names: str) -> str:
    """"4i16o4i": a block as tags write it, the innermost part last."""
    return "".join(f"{level.extent}{names[level.dim]}" for level in reversed(levels))


def _legend(picture: _Picture) -> List[Tuple[str, str]]:
    """Pairs of what is drawn as a sample and its words."""
    names, out = picture.layout.names, []
    kinds = {cell.kind for cell in picture.cells()}
    if not kinds:
        return []
    if picture.colour_by is not None:
        level = picture.colour_by
        part = names[level.dim] + (f"/{level.place}" if level.place > 1 else "")
        part += f"%{level.extent}" if level.inner else ""
        out.append(("colours", f"a colour for each {part}" + (", in turn" if level.extent > len(_COLOURS) else "")))
    else:
        out.append(("element", "element"))
    if picture.blocks:
        out.append(("frame", f"a block of {_block_name(picture.blocks, names)}"))
    elif picture.framed:
        inside = _names([level.dim for level in reversed(picture.framed)], names)
        out.append(("frame", f"all {inside} of one {names[picture.levels[2].dim]}"))
    return out + [(kind, words) for kind, words in (("padding", "padding"), ("gap", "gap: no index")) if kind in kinds]


def _legend_drawn(picture: _Picture) -> Tuple[str, float]:
    """The legend and where it ends."""
    out, x, y = "", float(_MARGIN), 44.0
    for sample, words in _legend(picture):
        if sample == "colours":
            used = min(picture.colour_by.extent if picture.colour_by else 1, len(_COLOURS))
            for k in range(used):
                out += f'<rect x="{x:g}" y="{y:g}" width="9" height="{_HEIGHT - 7}" fill="{_COLOURS[k]}"/>'
                x += 9
        elif sample == "frame":
            out += (f'<rect x="{x + 1:g}" y="{y + 1:g}" width="20" height="{_HEIGHT - 9:g}" fill="none" '
                    f'stroke="{_INK}" stroke-width="2"/>')
            x += 22
        else:
            out += _box(x, y, 23, sample, _PLAIN, _HEIGHT - 7)
            x += 22
        out += _text(x + 6, y + 13, words)
        x += 6 + 7.25 * len(words) + 20
    return out, x


def svg(layout: Any) -> str:
    """Memory in rows, the first and the last where there are too many, under the layout's expression and a legend."""
    picture = _Picture(layout)
    left = _MARGIN + picture.offset_width()
    title = f"{layout.expression}  {'x'.join(map(str, layout.dims)) or 'scalar'}"
    heading = title if len(title) <= _LONGEST_TITLE else title[:_LONGEST_TITLE - 3] + "..."
    words, gap = _words_of_labels(picture), _words_of_gap(picture)
    legend, legend_end = _legend_drawn(picture)
    body, y = "", float(_TOP)
    for row in picture.rows:
        if row is None:
            body += _text(left, y + 16, gap, 12, _FAINT)
        else:
            body += _text(left - 8, y + 16, str(row[0].offset), 11, _FAINT, ' text-anchor="end"')
            body += "".join(_drawn(picture, cell, left + k * picture.width, y) for k, cell in enumerate(row))
        y += _HEIGHT
    if picture.framed:
        body += _frame_path(picture, left)
    ends = (left + picture.columns * picture.width, legend_end - _MARGIN, _MARGIN + 8.6 * len(heading),
            _MARGIN + 7.4 * len(words), left + 7.4 * len(gap))
    width, height = math.ceil(max(ends)) + _MARGIN, math.ceil(y) + _MARGIN
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
            f'viewBox="0 0 {width} {height}" '
            'font-family="ui-monospace,Menlo,Consolas,\'DejaVu Sans Mono\',monospace" '
            f'role="img" aria-label="{escape(title)}">'
            f'<rect x="0" y="0" width="{width}" height="{height}" rx="6" fill="{_BACKGROUND}"/>'
            + _text(_MARGIN, 20, heading, 14, more=' font-weight="bold"') + _text(_MARGIN, 37, words, 12, _FAINT)
            + legend + body + "</svg>")
