#!/usr/bin/env python3
"""NumPy's arrays, buffers and views in relayout (interop/numpy.h, core/decide.h) against NumPy.

    against_numpy.py INTEROP_LINES      the program answer_lines.cc

Random arrays over one buffer, with negative and repeated strides, gaps and extents of 0 and 1: what __array_interface__
and the buffer protocol say of them, read and said again; their flags, their bounds, and the code that makes them.
Whether an array can have other dims without a copy, and its strides then. Whether two arrays share memory. Arrays as
NumPy exports them by DLPack.

3,000 of each, and 50,000 with RELAYOUT_SLOW_TESTS=1. Without NumPy the test is skipped.
"""
import sys

from capsules import compare_capsules
from lines import (CASES, Report, ask, commas, generator, numbers, random_sizes, random_strides, reach, skip_without)

numpy = skip_without("numpy", "python3-numpy")

TYPES = ("float64", "float32", "float16", "int64", "int32", "int16", "int8", "uint64", "uint32", "uint16", "uint8",
         "bool")
BUFFER = bytearray(1 << 16)
ADDRESS = numpy.frombuffer(BUFFER, numpy.uint8).__array_interface__["data"][0]


def random_array(rng, dtype=None):
    """An array over BUFFER, and its sizes, strides and offset in elements."""
    dtype = numpy.dtype(dtype or rng.choice(TYPES))
    sizes = random_sizes(rng, rng.randint(0, 5), 400)
    strides = random_strides(rng, sizes)
    if rng.random() < 0.3:
        strides = [-s if rng.random() < 0.4 else s for s in strides]
    if rng.random() < 0.3:
        order = list(range(len(sizes)))
        rng.shuffle(order)
        sizes, strides = [sizes[d] for d in order], [strides[d] for d in order]
    low = 0 if 0 in sizes else sum(min(0, (n - 1) * s) for n, s in zip(sizes, strides))
    offset = rng.choice((0, 0, 1, 5)) - low
    array = numpy.ndarray(sizes, dtype, BUFFER, offset * dtype.itemsize, [s * dtype.itemsize for s in strides])
    return array, sizes, strides, offset


def text_of(array):
    """Shape, strides, typestr and offset, as answer_lines.cc writes them."""
    about = array.__array_interface__
    # Of an array without elements NumPy moves the address of what it is made of.
    offset = about["data"][0] - ADDRESS
    strides = "-" if about["strides"] is None else commas(about["strides"])
    return [commas(about["shape"]), strides, about["typestr"], str(offset)]


def significant(sizes, strides):
    """The strides that say something: not those of extent 1, and none without elements."""
    return [] if 0 in sizes else [s for n, s in zip(sizes, strides) if n > 1]


def same_layout(text, array):
    """Whether an answer describes that array."""
    shape, strides, typestr, offset = text
    if typestr != array.__array_interface__["typestr"] or numbers(shape) != list(array.shape):
        return False
    if strides == "-":
        return array.flags.c_contiguous and (array.size == 0 or int(offset) == text_offset(array))
    return significant(array.shape, numbers(strides)) == significant(array.shape, array.strides) and \
        (array.size == 0 or int(offset) == text_offset(array))


def text_offset(array):
    return array.__array_interface__["data"][0] - ADDRESS


def bounds_of(array):
    """The first byte and the one behind the last, from element (0, 0, ...) on, by the array's own strides."""
    if array.size == 0:
        return [0, 0]
    reaches = [(n - 1) * s for n, s in zip(array.shape, array.strides)]
    return [sum(min(0, r) for r in reaches), sum(max(0, r) for r in reaches) + array.itemsize]


def compare_arrays(program):
    rng, report = generator("arrays"), Report("arrays")
    arrays = [random_array(rng)[0] for _ in range(CASES)]
    questions = []
    for array in arrays:
        shape, strides, typestr, offset = text_of(array)
        questions.append(["array", shape, strides, typestr, array.dtype.name, offset])
    for array, answer in zip(arrays, ask(program, questions)):
        flags = ("C" if array.flags.c_contiguous else "-") + ("F" if array.flags.f_contiguous else "-")
        if answer[0] == "error" or not same_layout(answer[:4], array):
            report.differ("%s is read as %s" % (text_of(array), answer))
        elif answer[4] != flags:
            report.differ("flags of %s: %s, %s in NumPy" % (text_of(array), answer[4], flags))
        elif numbers(answer[5]) != bounds_of(array):
            report.differ("bounds of %s: %s, %s in NumPy" % (text_of(array), answer[5], bounds_of(array)))
        else:
            made = eval(answer[6], {"np": numpy, "buf": BUFFER})
            if same_layout(text_of(made), array) and made.dtype == array.dtype:
                report.agree("without elements" if array.size == 0 else "with elements")
            else:
                report.differ("%s makes %s of %s" % (answer[6], text_of(made), text_of(array)))
    return report.end(least=CASES // 30)


def compare_buffers(program):
    rng, report = generator("buffers"), Report("buffers")
    arrays = [random_array(rng)[0] for _ in range(CASES)]
    views = [memoryview(array) for array in arrays]
    questions = [["buffer", view.format, view.itemsize, view.ndim, view.nbytes, commas(view.shape),
                  commas(view.strides), text_offset(array)] for view, array in zip(views, arrays)]
    for view, array, answer in zip(views, arrays, ask(program, questions)):
        if answer[0] == "error" or not same_layout(answer[:4], array):
            report.differ("%s with %s is read as %s" % (text_of(array), view.format, answer))
            continue
        back = [numpy.dtype(answer[4]), int(answer[5]), int(answer[6]), significant(view.shape, numbers(answer[7]))]
        if back == [array.dtype, view.itemsize, view.nbytes, significant(view.shape, view.strides)]:
            report.agree("buffers")
        else:
            report.differ("%s comes back as %s" % (text_of(array), answer))
    return report.end()


def other_sizes(rng, count):
    """Sizes of as many elements."""
    if count == 0:
        return [0, rng.randint(1, 3)]
    out, rest = [], count
    for divisor in (2, 3, 5, 7):
        while rest % divisor == 0:
            rest //= divisor
            if out and rng.random() < 0.5:
                out[rng.randrange(len(out))] *= divisor
            else:
                out.insert(rng.randint(0, len(out)), divisor)
    out.append(rest)
    return out[:12] if len(out) <= 12 else [count]


def compare_reshapes(program):
    rng, report = generator("reshapes"), Report("reshapes")
    cases, questions = [], []
    for _ in range(CASES):
        array, sizes, strides, offset = random_array(rng, "int8")
        wanted = other_sizes(rng, array.size)
        cases.append((array, sizes, strides, wanted))
        questions.append(["reshape", commas(sizes), commas(strides), offset, commas(wanted)])
    for (array, sizes, strides, wanted), answer in zip(cases, ask(program, questions)):
        what = "%s with strides %s as %s" % (sizes, strides, wanted)
        view = array[...]
        try:
            view.shape = wanted
            expected = ["view", significant(wanted, view.strides)]
        except AttributeError:
            expected = ["copy"]
        found = [answer[0]] + ([significant(wanted, numbers(answer[1]))] if answer[0] == "view" else [])
        if found == expected:
            report.agree(answer[0])
        else:
            report.differ("%s: %s, in NumPy %s" % (what, answer, expected))
    return report.end(least=CASES // 20)


def compare_overlaps(program):
    rng, report = generator("overlaps"), Report("overlaps")
    cases, questions = [], []
    for _ in range(CASES):
        pair = [random_array(rng, "int8") for _ in range(2)]
        if rng.random() < 0.5:  # further on in the buffer: behind the first one, or inside it
            array, sizes, strides, offset = pair[1]
            offset += rng.randint(0, max(1, reach(pair[0][1], list(map(abs, pair[0][2])))))
            pair[1] = (numpy.ndarray(sizes, "int8", BUFFER, offset, strides), sizes, strides, offset)
        cases.append(pair)
        questions.append(["overlap"] + [part for _, sizes, strides, offset in pair
                                        for part in (commas(sizes), commas(strides), offset)])
    for (a, b), answer in zip(cases, ask(program, questions)):
        shared = bool(numpy.shares_memory(a[0], b[0]))
        what = "%s and %s" % (a[1:], b[1:])
        if answer[0] != ("yes" if shared else "no"):
            report.differ("%s: %s, in NumPy %s" % (what, answer, shared))
            continue
        for (array, _, _, _), index in zip((a, b), answer[1:3] if shared else ()):
            at = text_offset(array) + sum(i * s for i, s in zip(numbers(index), array.strides))
            if at != int(answer[3]):
                report.differ("%s: %s lies at %d and not at %s" % (what, index, at, answer[3]))
        report.agree("shared" if shared else "apart")
    return report.end(least=CASES // 20)


def compare_dlpack(program):
    rng, exported = generator("dlpack"), []
    names = {"float64": "f64", "float32": "f32", "float16": "f16", "int64": "s64", "int32": "s32", "int16": "s16",
             "int8": "s8", "uint64": "u64", "uint32": "u32", "uint16": "u16", "uint8": "u8"}
    for _ in range(CASES):
        array, sizes, strides, _ = random_array(rng, rng.choice(sorted(names)))
        exported.append((array.__dlpack__(), names[array.dtype.name], array.itemsize, sizes, strides,
                         array.__array_interface__["data"][0]))
    return compare_capsules(program, "DLPack", exported, least=CASES // 30)


if __name__ == "__main__":
    sys.exit(max(part(sys.argv[1]) for part in (compare_arrays, compare_buffers, compare_reshapes, compare_overlaps,
                                                compare_dlpack)))
