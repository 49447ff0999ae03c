"""The picture of a report: each case as a row of marks, from the speed of a copy on to slower ones. Plain SVG 1.1."""
import math
from html import escape

import summary
from cases import TITLES

INK, SOFT_INK, GRID = "#222222", "#666666", "#dddddd"
# System: name, colour, kind of mark.
MARKS = {"numpy": ("NumPy", "#7a3e9d", "diamond"), "torch": ("PyTorch", "#c2406b", "square"),
         "einops_numpy": ("einops on NumPy", "#3d8f5f", "triangle"),
         "einops_torch": ("einops on PyTorch", "#8a6d3b", "triangle"), "relayout": ("relayout", "#2f6fb3", "circle")}
WIDTH, MARGIN, LABELS, PLOT, TOP, LINE, HEADING, BOTTOM = 1120, 16, 400, 650, 96, 17, 28, 44
LEAST, MOST = 0.5, 64  # times a copy; the axis is logarithmic
VARIANT = "new"
NOT_DRAWN = "small"  # a call's cost, which is no speed


def _text(x, y, words, anchor="start", size=11, fill=INK, weight="normal"):
    return (f"<text x='{x:.1f}' y='{y:.1f}' text-anchor='{anchor}' font-size='{size}' fill='{fill}' "
            f"font-weight='{weight}'>{escape(words)}</text>")


def _line(x1, y1, x2, y2, stroke, width=1.0):
    return f"<line x1='{x1:.1f}' y1='{y1:.1f}' x2='{x2:.1f}' y2='{y2:.1f}' stroke='{stroke}' stroke-width='{width}'/>"


def _mark(x, y, system):
    _, fill, kind = MARKS[system]
    if kind == "circle":
        return f"<circle cx='{x:.1f}' cy='{y:.1f}' r='5.5' fill='{fill}' stroke='white' stroke-width='0.8'/>"
    corners = {"diamond": ((0, -5), (5, 0), (0, 5), (-5, 0)), "square": ((-4, -4), (4, -4), (4, 4), (-4, 4)),
               "triangle": ((0, -4.5), (4.5, 4), (-4.5, 4))}[kind]
    points = " ".join(f"{x + dx:.1f},{y + dy:.1f}" for dx, dy in corners)
    return f"<polygon points='{points}' fill='{fill}' stroke='white' stroke-width='0.8'/>"


def _x_of(ratio):
    share = math.log(min(max(ratio, LEAST), MOST) / LEAST) / math.log(MOST / LEAST)
    return LABELS + share * PLOT


def _legend(systems):
    out, x = [], LABELS
    for system in systems:
        out += [_mark(x, 64, system), _text(x + 12, 68, MARKS[system][0])]
        x += 34 + 6.8 * len(MARKS[system][0])
    return out


def _grid(bottom):
    out, at = [], LEAST
    while at <= MOST:
        x = _x_of(at)
        words = f"{at:g} and more" if at == MOST else f"{at:g}"
        out.append(_line(x, TOP - 4, x, bottom, SOFT_INK if at == 1 else GRID, 1.5 if at == 1 else 1))
        out += [_text(x, y, words, "middle", fill=SOFT_INK) for y in (TOP - 9, bottom + 16)]
        at *= 2
    out.append(_text(LABELS + PLOT / 2, bottom + 34,
                     "time / time of an allocating copy of as many bytes (same process); less is better", "middle"))
    return out


def _row(result, y, systems):
    out = [_text(LABELS - 12, y + 12, result["name"], "end")]
    ratios = {system: summary.to_copy(result, VARIANT, system) for system in systems}
    known = [ratio for ratio in ratios.values() if ratio]
    if known:
        out.append(_line(_x_of(min(known)), y + 8.5, _x_of(max(known)), y + 8.5, GRID, 3))
    # relayout's mark comes last and lies on top.
    return out + [_mark(_x_of(ratio), y + 8.5, system) for system, ratio in ratios.items() if ratio]


def picture(report):
    """The cases on the fewest threads that were measured, where the call allocates its result."""
    threads = summary.thread_counts(report)[0]
    drawn = [one for one in summary.selected(report, threads) if one["group"] != NOT_DRAWN]
    groups = list(dict.fromkeys(one["group"] for one in drawn))
    systems = [system for system in MARKS if any(summary.time_of(one, VARIANT, system) for one in drawn)]
    bottom = TOP + LINE * len(drawn) + HEADING * len(groups)
    machine, versions = report["machine"], report["versions"]
    where = [f"{machine['processor']}, {machine['cores']} cores", machine["date"][:10]]
    where[1:1] = [f"{name} {version}" for name, version in versions.items() if version]
    body = [_text(MARGIN, 24, f"Conversions from Python: time over that of a copy, {threads} thread"
                  + ("" if threads == 1 else "s"), size=15, weight="bold"),
            _text(MARGIN, 42, ", ".join(where), fill=SOFT_INK)]
    body += _legend(systems) + _grid(bottom)
    y = TOP
    for group in groups:
        heading = f"{group}: {TITLES[group]}"
        # White under the heading, so that the lines of the grid do not cross it.
        width = 7.8 * len(heading)
        body += [f"<rect x='{MARGIN}' y='{y + HEADING - 20}' width='{width:.0f}' height='15' fill='white'/>",
                 _text(MARGIN, y + HEADING - 8, heading, size=12, weight="bold")]
        y += HEADING
        for result in (one for one in drawn if one["group"] == group):
            body += _row(result, y, systems)
            y += LINE
    height = bottom + BOTTOM
    head = (f"<svg xmlns='http://www.w3.org/2000/svg' width='{WIDTH}' height='{height}' viewBox='0 0 {WIDTH} {height}' "
            "font-family='DejaVu Sans, Verdana, sans-serif'>\n<rect width='100%' height='100%' fill='white'/>\n")
    return head + "\n".join(body) + "\n</svg>\n"
