#!/usr/bin/env python3
"""PyTorch's tensors, formats and views in relayout (interop/pytorch.h) against PyTorch.

    against_pytorch.py INTEROP_LINES      the program answer_lines.cc

Random chains of views, with arguments that PyTorch refuses among them: the verdict of each step (a view, a copy,
refused, or that view() would have to copy), and the sizes, strides and offset of its result. Random strided tensors,
extents of 0 and 1 among them: is_contiguous() in each format, contiguous() and whether it copies, clone()'s and
empty_like()'s strides, and the format that operators choose for their results. The code that is made for a layout makes
that tensor.

3,000 of each, and 50,000 with RELAYOUT_SLOW_TESTS=1. Without PyTorch the test is skipped.
"""
import sys

import lines
from capsules import compare_capsules
from lines import CASES, Report, ask, commas, generator, numbers, random_sizes, random_strides, reach

torch = lines.skip_without("torch", "python3-torch")
import torch.utils.dlpack

FORMATS = (torch.contiguous_format, torch.channels_last, torch.channels_last_3d)
REFUSED = (RuntimeError, IndexError, ValueError, TypeError)
EARLIER_NARROW = "narrow() takes a start of -1 on a dim of size 0 in PyTorch 1.x, which PyTorch 2 refuses as this does"
NEGATIVE = "unfold() and expand() of negative sizes are refused here; PyTorch makes a tensor of a negative size"


def storage_of(tensor):
    """The tensor's storage: two are one only if their _cdata is the same number, while both are there."""
    return tensor.untyped_storage() if hasattr(tensor, "untyped_storage") else tensor.storage()


def shown(tensor, before):
    """Sizes, strides, offset, and whether the tensor lies in another storage than that tensor."""
    copies = storage_of(tensor)._cdata != storage_of(before)._cdata
    return [list(tensor.shape), list(tensor.stride()), tensor.storage_offset(), copies]


def parsed(text):
    sizes, strides, offset, copies = text.split("|")
    return [numbers(sizes), numbers(strides), int(offset), copies == "1"]


# --- chains of views -------------------------------------------------------------------------------------------------

def any_dim(rng, rank):
    return rng.randint(-rank - 1, rank) if rng.random() < 0.04 else rng.randint(-max(rank, 1), max(rank, 1) - 1)


def new_sizes(rng, shape):
    """Sizes for a reshape: factored anew, dims joined and split, 1 and -1 put in, and now and then wrong."""
    out = list(shape)
    for _ in range(rng.randint(0, 3)):
        kind = rng.random()
        if kind < 0.4 and len(out) > 1:
            d = rng.randrange(len(out) - 1)
            out[d:d + 2] = [out[d] * out[d + 1]]
        elif kind < 0.7 and out:
            d = rng.randrange(len(out))
            factor = rng.choice([k for k in range(1, max(out[d], 1) + 1) if out[d] % k == 0])
            out[d:d + 1] = rng.choice(([factor, out[d] // factor], [out[d] // factor, factor]))
        elif kind < 0.9:
            out.insert(rng.randint(0, len(out)), 1)
        elif out:
            d = rng.randrange(len(out))
            out[d] += rng.choice((0, 0, 0, 1))
    if out and rng.random() < 0.25:
        out[rng.randrange(len(out))] = -1
    if out and rng.random() < 0.02:
        out[rng.randrange(len(out))] = rng.choice((-1, -2, 0))
    return out


def random_step(rng, x, storage):
    """A step's name and its lists of numbers."""
    rank, shape = x.dim(), list(x.shape)
    d, e = any_dim(rng, rank), any_dim(rng, rank)
    size = shape[d] if -rank <= d < rank else 1
    name = rng.choice(("view", "view", "reshape", "flatten", "permute", "permute", "transpose", "narrow", "narrow",
                       "select", "expand", "squeeze", "squeeze", "unsqueeze", "unsqueeze", "unfold", "diagonal",
                       "as_strided", "contiguous", "clone"))
    if name in ("view", "reshape"):
        return name, [new_sizes(rng, shape)]
    if name == "permute":
        order = rng.sample(range(-rank, 0), rank) if rng.random() < 0.3 else rng.sample(range(rank), rank)
        if rng.random() < 0.03:
            order = order[:-1] + [d]
        return name, [order]
    if name in ("transpose", "flatten"):
        return name, [[d, e]] if rng.random() < 0.6 else [[min(d, e), max(d, e)]]
    if name == "narrow":
        start = rng.randint(-size - 1, size + 1) if rng.random() < 0.2 else rng.randint(0, size)
        room = size - start if start >= 0 else -start
        return name, [[d, start, rng.randint(-1, size + 1) if rng.random() < 0.1 else rng.randint(0, max(room, 0))]]
    if name == "select":
        return name, [[d, rng.randint(-size - 1, size) if rng.random() < 0.1 or size == 0 else rng.randrange(size)]]
    if name == "expand":
        new = [rng.choice((0, 1, 2, 3, -1)) if n == 1 else rng.choice((n, -1)) for n in shape]
        new = [rng.choice((1, 1, 2, 0)) for _ in range(rng.choice((0, 0, 1, 2)))] + new
        if new and rng.random() < 0.05:
            new[rng.randrange(len(new))] = rng.choice((-1, -2, 7))
        return name, [new[1:] if rng.random() < 0.02 else new]
    if name == "squeeze":
        return name, [[d] if rng.random() < 0.7 else []]
    if name == "unsqueeze":
        return name, [[rng.randint(-rank - 2, rank + 1) if rng.random() < 0.05 else rng.randint(-rank - 1, rank)]]
    if name == "unfold":
        return name, [[d, rng.randint(-1, size + 1) if rng.random() < 0.1 else rng.randint(0, size),
                       rng.choice((0, 1, 1, 2, 3)) if rng.random() < 0.2 else rng.randint(1, 4)]]
    if name == "diagonal":
        return name, [[rng.randint(-5, 5), d, e]]
    if name == "as_strided":
        sizes = random_sizes(rng, rng.randint(0, 4), 60)
        strides = random_strides(rng, sizes)
        if strides and rng.random() < 0.03:
            strides[rng.randrange(len(strides))] = -1
        if rng.random() < 0.02:
            strides = strides + [1]
        room = storage - reach(sizes, strides) if len(sizes) == len(strides) else 0
        return name, [sizes, strides, [rng.randint(-1, max(room, 0) + 1) if rng.random() < 0.1 else
                                       rng.randint(0, max(room, 0))]]
    return name, [[rng.randrange(3)] if name == "contiguous" else []]


def torch_step(x, name, lists):
    a = lists[0]
    if name in ("view", "reshape", "permute", "expand"):
        return getattr(x, name)(a)
    if name == "as_strided":
        return x.as_strided(lists[0], lists[1], lists[2][0])
    if name == "contiguous":
        return x.contiguous(memory_format=FORMATS[a[0]])
    return getattr(x, name)(*a)


class Chain:
    """Steps and what PyTorch makes of each: a tensor, "needs_copy", or "refused"."""

    def __init__(self, rng):
        sizes = random_sizes(rng, rng.choice((0, 1, 2, 3, 3, 4, 4, 5)), 300)
        strides = random_strides(rng, sizes)
        offset = rng.choice((0, 0, 0, 3))
        count = offset + max(reach(sizes, strides), 1) + rng.choice((0, 5))
        x = torch.empty(count, dtype=torch.uint8).as_strided(sizes, strides, offset)
        self.words, self.results = ["views", commas(sizes), commas(strides), offset, count], []
        self.deliberate = None
        for _ in range(rng.randint(1, 6)):
            elements = storage_of(x).nbytes()
            name, lists = random_step(rng, x, elements)
            if x.dim() > 7 or x.numel() > 3000:
                break
            self.words.append("%s:%s" % (name, "/".join(map(commas, lists))))
            before = x
            try:
                x = torch_step(x, name, lists)
            except REFUSED as error:
                self.results.append("needs_copy" if "Use .reshape(...)" in str(error) else "refused")
                break
            if name == "narrow" and lists[0][1] == -1 and before.shape[lists[0][0]] == 0:
                self.deliberate = EARLIER_NARROW
            if any(n < 0 for n in x.shape):
                self.deliberate = NEGATIVE
            if self.deliberate:
                self.results.append("refused")
                break
            self.results.append(shown(x, before))

    def check(self, answer, report):
        theirs = [part for part in answer if part]
        for k, expected in enumerate(self.results):
            ours = theirs[k] if k < len(theirs) else "nothing"
            if ours == "error":
                ours = "needs_copy" if theirs[k + 1] == "needs_copy" else "refused"
            elif ours != "nothing":
                ours = parsed(ours)
            if ours != expected:
                report.differ("%s: step %d: PyTorch %s, relayout %s" % (self.words, k, expected, answer[k:]))
                return
            if isinstance(expected, str):
                report.agree("steps that are refused" if expected == "refused" else "views that need a copy")
            else:
                report.agree("steps that copy" if expected[3] else "steps that are views")
        if self.deliberate:
            report.deliberate(self.deliberate)


def compare_chains(program):
    rng, report = generator("views"), Report("chains of views")
    chains = [Chain(rng) for _ in range(CASES)]
    for chain, answer in zip(chains, ask(program, [chain.words for chain in chains])):
        chain.check(answer, report)
    print("%d chains" % len(chains))
    return report.end(least=CASES // 100)


# --- formats ---------------------------------------------------------------------------------------------------------

def chosen_format(x):
    """The format of a result whose operator asks suggest_memory_format(), told by strides of dims longer than 1."""
    if x.dim() not in (4, 5):
        return "contiguous"
    padded = torch.nn.functional.pad(x.float(), (1, 1) * (x.dim() - 1)) if x.numel() == 0 else \
        torch.nn.functional.pad(x, (1, 1) * (x.dim() - 1))
    return ("channels_last" if x.dim() == 4 else "channels_last_3d") if padded.stride(1) == 1 else "contiguous"


def format_case(rng):
    sizes = random_sizes(rng, rng.choice((0, 1, 2, 3, 4, 4, 4, 4, 5, 5, 5)), 400)
    strides = random_strides(rng, sizes)
    offset = rng.choice((0, 0, 3))
    return torch.empty(offset + max(reach(sizes, strides), 1), dtype=torch.uint8).as_strided(sizes, strides, offset)


RANKS_REFUSED = set()


def contiguous_by_torch(x, memory_format):
    # Only the rank decides what is refused, and PyTorch 1.x takes milliseconds to make an exception.
    if (x.dim(), memory_format) in RANKS_REFUSED:
        return "invalid_argument"
    try:
        out = x.contiguous(memory_format=memory_format)
    except REFUSED:
        RANKS_REFUSED.add((x.dim(), memory_format))
        return "invalid_argument"
    return shown(out, x)


def compare_formats(program):
    rng, report = generator("formats"), Report("formats")
    tensors = [format_case(rng) for _ in range(CASES)]
    questions = [["formats", commas(x.shape), commas(x.stride()), x.storage_offset()] for x in tensors]
    for x, question, answer in zip(tensors, questions, ask(program, questions)):
        expected = ["".join("01"[x.is_contiguous(memory_format=f)] for f in FORMATS), chosen_format(x)]
        expected += [contiguous_by_torch(x, f) for f in FORMATS]
        clone, like = x.clone(), torch.empty_like(x)
        expected.append([list(clone.shape), list(clone.stride()), 0, True])
        ours = answer[:2] + [part if part == "invalid_argument" else parsed(part) for part in answer[2:]]
        if ours != expected:
            report.differ("%s: PyTorch %s, relayout %s" % (question, expected, ours))
        elif like.stride() != clone.stride():
            report.differ("%s: clone() and empty_like() differ in PyTorch" % question)
        else:
            report.agree("of %s elements, contiguous in %s and suggested to be %s" %
                         ("0" if x.numel() == 0 else "some", expected[0], expected[1]))
    return report.end()


# --- code ------------------------------------------------------------------------------------------------------------

def compare_code(program):
    rng, report = generator("code"), Report("code")
    types = {"f64": "float64", "f32": "float32", "f16": "float16", "bf16": "bfloat16", "s64": "int64", "s32": "int32",
             "s16": "int16", "s8": "int8", "u8": "uint8", "bool": "bool"}
    types = {ours: getattr(torch, theirs) for ours, theirs in types.items()}
    for ours, theirs in (("f8_e5m2", "float8_e5m2"), ("f8_e4m3", "float8_e4m3fn"), ("u16", "uint16"), ("u32", "uint32"),
                         ("u64", "uint64")):
        if hasattr(torch, theirs):
            types[ours] = getattr(torch, theirs)
    cases = []
    for _ in range(min(CASES, 5000)):
        sizes = random_sizes(rng, rng.randint(0, 5), 300)
        strides = random_strides(rng, sizes)
        cases.append((rng.choice(sorted(types)), sizes, strides, rng.choice((0, 0, 3))))
    questions = [["code", "pytorch", dtype, commas(sizes), commas(strides), offset]
                 for dtype, sizes, strides, offset in cases]
    for (dtype, sizes, strides, offset), (text,) in zip(cases, ask(program, questions)):
        x = eval(text, {"torch": torch})
        if [list(x.shape), list(x.stride()), x.storage_offset(), x.dtype] != [sizes, strides, offset, types[dtype]]:
            report.differ("%s makes %s %s at %d" % (text, x.shape, x.stride(), x.storage_offset()))
        else:
            report.agree("of torch." + text.split("(")[0].split(".")[1])
    return report.end()


# --- DLPack ----------------------------------------------------------------------------------------------------------

def compare_dlpack(program):
    rng, exported = generator("dlpack"), []
    names = {"f64": torch.float64, "f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16,
             "s64": torch.int64, "s32": torch.int32, "s16": torch.int16, "s8": torch.int8, "u8": torch.uint8}
    for _ in range(CASES):
        sizes = random_sizes(rng, rng.randint(0, 5), 300)
        strides, offset, dtype = random_strides(rng, sizes), rng.choice((0, 0, 3)), rng.choice(sorted(names))
        base = torch.empty(offset + max(reach(sizes, strides), 1), dtype=names[dtype])
        x = base.as_strided(sizes, strides, offset)
        exported.append((torch.utils.dlpack.to_dlpack(x), dtype, x.element_size(), sizes, strides, x.data_ptr()))
    return compare_capsules(program, "DLPack", exported, least=CASES // 30)


def main():
    print("PyTorch %s" % torch.__version__)
    program = sys.argv[1]
    return max(part(program) for part in (compare_chains, compare_formats, compare_code, compare_dlpack))


if __name__ == "__main__":
    sys.exit(main())
