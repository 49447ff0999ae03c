"""The page docs/performance-python.md, and the table that bench.py prints, from a report."""
import summary
from cases import TITLES
from systems import NAMES, VARIANTS

HEADINGS = {"new": "the call allocates its result", "out": "the call writes into memory that was there before"}
WORST = 12


def _table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def _number(value, digits=2):
    return "-" if value is None else f"{value:.{digits}f}"


def _time(nanoseconds):
    """In microseconds, three digits."""
    if nanoseconds is None:
        return "-"
    value = nanoseconds / 1000
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:.0f}"


def _threads(count):
    return f"{count} thread" + ("" if count == 1 else "s")


def _rival(result, variant):
    name, _ = summary.best_rival(result, variant)
    return f"{_number(summary.lead(result, variant))} ({name})" if name else "-"


def _where(report):
    machine, versions = report["machine"], report["versions"]
    rows = [("processor", f"{machine['processor']}, {machine['cores']} cores"),
            ("caches", ", ".join(f"{level} {size}" for level, size in machine["caches"].items()) or "not known"),
            ("transparent huge pages", machine["transparent_huge_pages"] or "not known"),
            ("system", machine["system"]),
            ("versions", ", ".join(f"{name} {version or 'not installed'}" for name, version in versions.items())),
            ("date", machine["date"]),
            ("load before", _number(machine["load_before"])),
            ("command", f"`{report['command']}`, {report['rounds']} rounds")]
    return _table(("", ""), [(name, str(value).replace("|", "\\|")) for name, value in rows])


def _means_row(name, results, variant):
    found = summary.means(results, variant)
    slower = f"{found.slower} of {found.raced}" if found.raced else "-"
    row = [name, str(found.cases), _number(found.to_copy), _number(found.numpy), _number(found.torch),
           _number(found.fastest), slower]
    return row + [_number(found.to_cpp)] if variant == "out" else row


def _means_table(report, threads, variant):
    head = ["class", "cases", "times a copy", "NumPy", "PyTorch", "fastest other", "slower than it"]
    rows = [_means_row(group, summary.selected(report, threads, group), variant) for group in summary.groups(report)]
    rows.append(_means_row("**all**", summary.selected(report, threads), variant))
    return _table(head + (["Python / C++"] if variant == "out" else []), rows)


def _worst(report, threads):
    rows = []
    for variant in VARIANTS:
        for result in summary.slowest(report, threads, variant):
            rows.append((summary.lead(result, variant), variant, result))
    rows.sort(key=lambda row: row[0])
    if not rows:
        return "No other system is faster in any case."
    return _table(("case", "variant", "us", "times a copy", "fastest other"),
                  [(f"`{result['name']}`", variant, _time(summary.time_of(result, variant, "relayout")),
                    _number(summary.to_copy(result, variant)), _rival(result, variant))
                   for _, variant, result in rows[:WORST]])


def _cases(report, threads, group):
    rows = []
    for result in summary.selected(report, threads, group):
        row = [f"`{result['name']}`"]
        for variant in VARIANTS:
            row += [_time(summary.time_of(result, variant, "relayout")), _number(summary.to_copy(result, variant)),
                    _rival(result, variant)]
        rows.append(row + [_number(summary.to_cpp(result))])
    return _table(("case", "new, us", "times a copy", "fastest other", "out, us", "times a copy", "fastest other",
                   "Python / C++"), rows)


def _intro(image):
    return ("How long conversions take from Python, beside NumPy, PyTorch and einops on the same memory in the same "
            "process, and\nbeside a plain copy of as many bytes: 1 is as fast as memory can be copied. "
            "[Benchmarks](benchmarks.md) says how the\nC++ library is measured; `bench/python` follows it.\n\n"
            f"![Each class of conversions beside a copy, NumPy and PyTorch]({image})")


COLUMNS = """\
- *new*: the call allocates its result, as `np.ascontiguousarray`, `Tensor.contiguous` and `relayout.contiguous` do. The
  copy beside it allocates as well: `x.copy()` or `x.clone()`, whichever is faster.
- *out*: the call writes into memory that was there before, as `np.copyto`, `Tensor.copy_` and `relayout.copy` do. So do
  the copies beside it, `np.copyto` and `Tensor.copy_`.
- *us*: the median time of relayout with a NumPy array, in microseconds. *Times a copy* is that time over the copy's.
- *NumPy*, *fastest other*: how many times as long the other system takes as relayout. Under 1 it is faster. *PyTorch*
  is compared with relayout on the same tensors. einops is measured where a case is written in its notation.
- *Python / C++*: the time of *out* over that of the same conversion by `relayout bench`, which is another process; only
  of cases with 64 KiB and more.
- Means are geometric. A system's result is compared with NumPy's before; one that differs has no time. NumPy has one
  thread, also where the others have two. Where a library knows several ways, the fastest of them counts.
"""


def _faults(report):
    lines = [f"- `{result['name']}` ({_threads(result['threads'])}): {why}" for result, why in summary.faults(report)]
    return ["## Without a time", "\n".join(dict.fromkeys(lines))] if lines else []


def page(report, image):
    parts = ["# Performance from Python",
             "<!-- Generated by bench/python/bench.py. Do not edit. -->", _intro(image),
             "## Where and how", _where(report), "## What the columns mean", COLUMNS.rstrip()]
    for threads in summary.thread_counts(report):
        parts.append(f"## Classes of conversions, {_threads(threads)}")
        for variant in VARIANTS:
            parts += [f"*{variant}*: {HEADINGS[variant]}", _means_table(report, threads, variant)]
        parts += [f"## Where another system is faster, {_threads(threads)}", _worst(report, threads)]
    for threads in summary.thread_counts(report):
        for group in summary.groups(report):
            words = TITLES[group]
            parts += [f"## {group.capitalize()}, {_threads(threads)}", f"{words[0].upper()}{words[1:]}.",
                      _cases(report, threads, group)]
    return "\n\n".join(parts + _faults(report)) + "\n"


def table_of_cases(report):
    """All cases as text for a terminal, with every system."""
    shown = [name for name in NAMES if any(summary.time_of(result, variant, name)
                                           for result in report["results"] for variant in VARIANTS)]
    lines = [f"{'us':<60}{'copy':>10}" + "".join(f"{NAMES[name]:>21}" for name in shown) + f"{'C++':>10}"]
    for result in report["results"]:
        for variant in VARIANTS:
            times = [_time(summary.time_of(result, variant, name)) for name in shown]
            label = f"{result['name']}, {variant}, {result['threads']}"
            lines.append(f"{label:<60}{_time(result['variants'][variant]['copy_ns']):>10}"
                         + "".join(f"{one:>21}" for one in times)
                         + f"{_time(result.get('cpp_ns')) if variant == 'out' else '':>10}")
    for threads in summary.thread_counts(report):
        for variant in VARIANTS:
            found = summary.means(summary.selected(report, threads), variant)
            lines.append(f"{_threads(threads)}, {variant}: {_number(found.to_copy)} times a copy; NumPy takes "
                         f"{_number(found.numpy)} times as long, PyTorch {_number(found.torch)}, the fastest other "
                         f"{_number(found.fastest)}, and it is faster in {found.slower} of {found.raced}"
                         + (f"; Python / C++ {_number(found.to_cpp)}" if variant == "out" else ""))
    lines += [f"without a time: {result['name']}: {why}" for result, why in summary.faults(report)]
    return "\n".join(lines)
