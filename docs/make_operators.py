#!/usr/bin/env python3
"""Writes docs/operators.md: which operators of ONNX models are read, from the importer's own tables.

    make_operators.py            writes the page
    make_operators.py --check    exit 1 and the difference if the page is not what the tables say

Names, attributes and their opsets are those of relayout/graph/onnx/ops_*.cc, refusals those of unsupported.cc. What is
said of an operator's forms is in NOTES below. Standard library only.
"""
import difflib
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/operators.md"
ROW = re.compile(r'\{"(\w+)",\s*([\w:<>, ]+?)(?:,\s*((?:"[^"]*"\s*)+))?\}')

HEAD = """# Operators of ONNX models

`docs/make_operators.py` writes this page from the importer's tables, and the test `operators` compares the two.
[Models](models.md) says what becomes of a model.

Models of opset 7 to 28 are read. Behind an attribute stand the opsets that have it; without a number all have it. An
attribute that an operator does not have in the model's opset is an error.

**Types.** f32, f64, f16, bf16, f8_e4m3 (FLOAT8E4M3FN), f8_e5m2, integers of 8 to 64 bits with and without a sign, and
bool; integers of 4 and 2 bits and f4_e2m1 (FLOAT4E2M1) as sources and results of casts, QuantizeLinear and
DequantizeLinear; f8_e8m0 (FLOAT8E8M0) as their source, such as a scale. Other types (text, complex numbers, the 8-bit
floats that end in FNUZ) are refused, and casts to FLOAT8E8M0, which ONNX rounds up. Whether a type can be run is up to
the node's implementations, which `plan` lists: f32 runs everywhere, convolutions, pooling and recurrent layers in what
oneDNN has.

**Constants.** Where all sources of an operator are constants of at most 65,536 elements, it is computed at import.
Bounds, axes, shapes and numbers of results must be constants, as the dims of all tensors are known before a model runs.

**Functions.** A model's own functions are replaced by their nodes.

**Refusals.** An operator that is not listed, or of which a form is not supported, is a barrier: `plan` goes around it
with a warning that says why, and `run` refuses it.

"""

NOTES = {
    "Attention": "the key/value cache by concat or as an external cache with lengths; all masks, windows, soft caps",
    "AveragePool": "with ceil_mode, also where padding counts",
    "BatchNormalization": "in inference; training only with `--training`",
    "Cast": "floating numbers to integers truncate, integers to narrower ones keep their low bits",
    "Compress": "a constant condition",
    "ConvInteger": "sums of at most 258 products, which f32 holds exactly",
    "DFT": "lengths up to 32768, as a product of matrices",
    "Dropout": "left out; training mode is refused unless the ratio is 0",
    "Einsum": "all forms, with an ellipsis and repeated letters",
    "GRU": "all forms; those with lengths, bounds or other activations step by step",
    "If": "a condition that is known at import; its branch takes the operator's place",
    "LSTM": "all forms; those with lengths, peepholes, bounds or other activations step by step",
    "LinearAttention": "step by step",
    "Loop": "a number of turns that is known at import; the turns stand one behind the other",
    "LRN": "an odd size",
    "MaxPool": "the indices of maxima (`Indices`) from copies of all elements of all windows",
    "NonZero": "a constant source",
    "OptionalGetElement": "of a tensor",
    "OptionalHasElement": "of a tensor",
    "RNN": "all forms; those with lengths, bounds or other activations step by step",
    "Resize": "all forms; nearest and linear in whole as one node, all others dim by dim",
    "Scan": "the number of turns is the extent; not the form of opset 8",
    "TopK": "a constant k",
}


def tables():
    """{name: attributes} of all operators, and {name: reason} of those that are refused."""
    known, refused = {}, {}
    for path in sorted((ROOT / "relayout/graph/onnx").glob("ops_*.cc")):
        text = path.read_text(encoding="utf-8")
        for name, _, attributes in ROW.findall(text):
            if name[0].islower():
                continue
            known[name] = " ".join(re.findall(r'"([^"]*)"', attributes)).split() if attributes else []
    text = (ROOT / "relayout/graph/onnx/unsupported.cc").read_text(encoding="utf-8")
    words = dict(re.findall(r'(k\w+) = "([^"]*)"', text))
    for name, reason in re.findall(r'\{"(\w+)", (k\w+|"[^"]*")\}', text):
        refused[name] = words.get(reason, reason.strip('"'))
    return known, refused


def shown(word):
    name, _, opsets = word.partition(":")
    first, _, last = opsets.partition("-")
    if not opsets:
        return f"`{name}`"
    if first == last:
        return f"`{name}` {first}"
    return f"`{name}` {first} to {last}" if last else f"`{name}` from {first}"


def page():
    known, refused = tables()
    missing = sorted(set(NOTES) - set(known))
    if missing or len(known) < 150:
        sys.exit(f"make_operators: {len(known)} operators were found in the sources, and not {', '.join(missing)}")
    lines = ["| operator | attributes | forms |", "|---|---|---|"]
    for name in sorted(known):
        attributes = ", ".join(map(shown, sorted(known[name])))
        lines.append(f"| {name} | {attributes} | {NOTES.get(name, '')} |".replace("|  |", "| |").replace("|  |", "| |"))
    lines += ["", "## What is refused", "", "| operator | why |", "|---|---|"]
    lines += [f"| {name} | {refused[name]} |" for name in sorted(refused)]
    return HEAD + "\n".join(lines) + "\n"


def main():
    now = page()
    if sys.argv[1:] == ["--check"]:
        old = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
        changes = difflib.unified_diff(old.splitlines(True), now.splitlines(True), "docs/operators.md", "the tables")
        print("".join(changes))
        sys.exit(old != now)
    if len(sys.argv) > 1:
        sys.exit(__doc__)
    PAGE.write_text(now, encoding="utf-8")


if __name__ == "__main__":
    main()
