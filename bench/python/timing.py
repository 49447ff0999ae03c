"""Times of calls that take turns in one process, so that what disturbs the machine disturbs all of them.

In each round every call has one turn, in an order that rotates, and the median over the rounds counts. A turn repeats
what is shorter than 100 us. Up to 64 MiB of bytes a turn begins with an untimed call, so that what fits in the caches
is measured in them. What takes over 0.2 s has a turn in every third round only.
"""
import gc
import statistics
import time
from itertools import repeat

SHORT_NS = 100_000
SLOW_NS = 200_000_000
WARM_BYTES = 64 << 20
SPINNING_S = 0.01


def _turn(call, count):
    """Nanoseconds of one call, of `count` in a row."""
    start = time.perf_counter_ns()
    for _ in repeat(None, count):
        call()
    return (time.perf_counter_ns() - start) / count


def _repeats(call):
    """How many calls take 100 us, and how long one takes."""
    call()
    once = _turn(call, 1)
    if once < SHORT_NS:
        once = _turn(call, max(1, min(1000, int(SHORT_NS / max(once, 1)))))
    return max(1, int(SHORT_NS / max(once, 1))), once


def measure(calls, rounds, size, spinning=()):
    """Median nanoseconds of each of the calls, a dict of functions by name, which move `size` bytes.

    After a turn of a call that `spinning` names, there is a rest in which its idle threads stop waiting in a loop.
    """
    prepared = {name: _repeats(call) for name, call in calls.items()}
    times = {name: [] for name in calls}
    names = list(calls)
    gc.collect()
    gc.disable()
    try:
        for round_ in range(rounds):
            shift = round_ % len(names)
            for name in names[shift:] + names[:shift]:
                count, once = prepared[name]
                if once > SLOW_NS and round_ % 3:
                    continue
                if size <= WARM_BYTES:
                    calls[name]()
                times[name].append(_turn(calls[name], count))
                if name in spinning:
                    time.sleep(SPINNING_S)
    finally:
        gc.enable()
    return {name: statistics.median(values) for name, values in times.items()}
