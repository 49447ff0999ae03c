"""Faults that are planted in right outputs, to see that the comparison finds them."""
import numpy

import elements


def forgotten_nan(array):
    return numpy.where(numpy.isnan(array), 0, array)


def bounded_infinity(array):
    return numpy.clip(array, -1e30, 1e30)


def lost_number(array):
    return numpy.where(numpy.isfinite(array), numpy.nan, array)


def wrong_sign(array):
    return numpy.where(numpy.isinf(array), -array, array)


def changed_numbers(array):
    usual = numpy.abs(array) < elements.UNUSUAL
    return numpy.where(usual, array + elements.scale_of(array) / 2, array)


def flipped_zeros(array):
    return numpy.where(array == 0, -array, array)


FAULTS = (forgotten_nan, bounded_infinity, lost_number, wrong_sign, changed_numbers, flipped_zeros)
# Where the peers differ, a fault in one's place may be the other's answer.
SHARE = 0.9


def plant(chains, value, right, counts):
    """Counts the faults that change an element that is compared, and those of them that are found."""
    if not elements.is_float(right.dtype):
        return
    for fault in FAULTS:
        if fault is flipped_zeros and not value.zeros:
            continue
        with numpy.errstate(all="ignore"):
            wrong = fault(right.astype("f8")).astype(right.dtype)
        changed = (wrong.view("u%d" % wrong.itemsize) != right.view("u%d" % wrong.itemsize)) & ~numpy.isnan(wrong)
        changed |= numpy.isnan(wrong) & ~numpy.isnan(right)
        changed &= ~chains.marked[value.name]
        if changed.any():
            counts["planted"][fault.__name__] += 1
            counts["found"][fault.__name__] += bool((~chains.accepted(value, wrong) & changed).any())


def missed(counts):
    """The faults that were not planted, or not found often enough."""
    return [f.__name__ for f in FAULTS
            if counts["planted"][f.__name__] == 0
            or counts["found"][f.__name__] < SHARE * counts["planted"][f.__name__]]
