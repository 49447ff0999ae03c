"""What a report says: times of a case relative to a copy and to other systems, and means over many cases."""
import math
from collections import namedtuple

from systems import NAMES, RIVALS

# Of a set of cases: means are geometric, and None where no case has the two times.
Means = namedtuple("Means", "cases to_copy numpy torch fastest slower raced to_cpp")


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def thread_counts(report):
    return sorted({result["threads"] for result in report["results"]})


def groups(report):
    return list(dict.fromkeys(result["group"] for result in report["results"]))


def selected(report, threads, group=None):
    return [result for result in report["results"]
            if result["threads"] == threads and group in (None, result["group"])]


def time_of(result, variant, system):
    """Median nanoseconds, or None."""
    return result["variants"][variant]["systems"].get(system, {}).get("median_ns")


def to_copy(result, variant, system="relayout"):
    own = time_of(result, variant, system)
    return own and own / result["variants"][variant]["copy_ns"]


def best_rival(result, variant):
    """Name and time of the fastest other system; (None, None) where none has a time."""
    times = [(time_of(result, variant, system), system) for system in RIVALS if time_of(result, variant, system)]
    best, system = min(times, default=(None, None))
    return system and NAMES[system], best


def lead(result, variant):
    """How many times as long the fastest other system takes; None where one of the two has no time."""
    own, (_, best) = time_of(result, variant, "relayout"), best_rival(result, variant)
    return best / own if own and best else None


def to_cpp(result):
    """Time in Python over the time in C++, both into memory that was there before."""
    own, other = time_of(result, "out", "relayout"), result.get("cpp_ns")
    return own / other if own and other else None


def _over(results, variant, other, own):
    pairs = [(time_of(one, variant, other), time_of(one, variant, own)) for one in results]
    return geometric_mean([theirs / ours for theirs, ours in pairs if theirs and ours])


def means(results, variant):
    leads = [lead(one, variant) for one in results if lead(one, variant)]
    return Means(cases=len(results),
                 to_copy=geometric_mean([to_copy(one, variant) for one in results if to_copy(one, variant)]),
                 numpy=_over(results, variant, "numpy", "relayout"),
                 torch=_over(results, variant, "torch", "relayout_tensors"),
                 fastest=geometric_mean(leads), slower=sum(value < 1 for value in leads), raced=len(leads),
                 to_cpp=geometric_mean([to_cpp(one) for one in results if to_cpp(one)]))


def slowest(report, threads, variant):
    """The cases in which another system is faster, the worst first."""
    cases = [one for one in selected(report, threads) if (lead(one, variant) or 1) < 1]
    return sorted(cases, key=lambda one: lead(one, variant))


def faults(report):
    """Pairs of a result and a text for what could not be timed."""
    found = []
    for result in report["results"]:
        for variant, measured in result["variants"].items():
            for system, entry in measured["systems"].items():
                if "why" in entry:
                    found.append((result, f"{NAMES[system]}, {variant}: {entry['why']}"))
    return found
