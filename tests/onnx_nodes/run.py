#!/usr/bin/env python3
"""Runs ONNX's own node tests (PyPI's package onnx, onnx.backend.test) by the library.

    run.py CASES [--only TEXT] [--keep FOLDER]

CASES is the program onnx_nodes_cases. Of each node test there are up to three models: as it is, with all inputs but the
first as constants, and with all of them as constants, as models have shapes, axes and bounds. Prints how many passed,
how many were refused and why, and every one that is wrong; exit code 1 where one is.

A test of the slow tier: without RELAYOUT_SLOW_TESTS=1, or without the package onnx, it exits with 77 and says so.
--only runs the tests whose names contain TEXT, --keep keeps what the program read.
"""
import argparse
import collections
import re
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

from with_onnx import with_onnx  # noqa: E402


def types():
    """The project's name of each of ONNX's element types; others are refused."""
    from onnx import TensorProto as T
    return {T.FLOAT: "f32", T.UINT8: "u8", T.INT8: "s8", T.UINT16: "u16", T.INT16: "s16", T.INT32: "s32",
            T.INT64: "s64", T.BOOL: "bool", T.FLOAT16: "f16", T.DOUBLE: "f64", T.UINT32: "u32", T.UINT64: "u64",
            T.BFLOAT16: "bf16", T.FLOAT8E4M3FN: "f8_e4m3", T.FLOAT8E5M2: "f8_e5m2", T.INT4: "s4", T.UINT4: "u4",
            23: "f4_e2m1", 24: "f8_e8m0", 25: "u2", 26: "s2"}  # as numbers, since older packages lack the names


# Types of few bits: an implementation may round each step, while the expected values are rounded once or not at all.
STEPS = {"f16": 2e-3, "bf16": 2e-2, "f8_e4m3": 0.1, "f8_e5m2": 0.2, "f4_e2m1": 0.5}


# The operator of a refusal.
OPERATOR = re.compile(r"\((\w[\w.]*)\) cannot run: ")


class Refused(Exception):
    """A test that cannot be written down for the program."""


def tensor_of(value, info):
    from onnx import TensorProto, numpy_helper
    if not info.type.HasField("tensor_type"):
        raise Refused("values that are no tensors (sequences, maps, optional ones)")
    tensor = value if isinstance(value, TensorProto) else numpy_helper.from_array(value)
    if tensor.data_type not in types():
        raise Refused(f"elements of type {TensorProto.DataType.Name(tensor.data_type)}")
    tensor.name = info.name
    return tensor


def bytes_of(array, dtype):
    """The elements; those of 4 and 2 bits several in a byte, the first in the lowest bits."""
    bits = {"s4": 4, "u4": 4, "f4_e2m1": 4, "s2": 2, "u2": 2}.get(dtype)
    if bits is None:
        return array.tobytes()
    flat = array.flatten()
    whole, each = 0, flat.view("u1") if dtype == "f4_e2m1" else flat
    for at, value in enumerate(each):
        whole |= (int(value) & (1 << bits) - 1) << bits * at
    return whole.to_bytes((bits * flat.size + 7) // 8, "little")


def write_tensor(path, tensor, case):
    from onnx import numpy_helper
    dtype = types()[tensor.data_type]
    relative = max(case.rtol, STEPS.get(dtype, 0))
    array = numpy_helper.to_array(tensor)
    words = [str(relative), str(max(case.atol, 1e-6)), dtype, *map(str, tensor.dims)]
    path.write_bytes(f"{tensor.name}\n{' '.join(words)}\n".encode() + bytes_of(array, dtype))


def model_with(case, tensors, constants):
    """The test's model with these inputs as constants."""
    import onnx
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    fixed = {tensors[i].name for i in constants}
    inputs = [info for info in model.graph.input if info.name not in fixed]
    del model.graph.input[:]
    model.graph.input.extend(inputs)
    model.graph.initializer.extend(tensors[i] for i in constants)
    return model


def write_case(folder, case):
    """The folders of a test's models."""
    inputs, outputs = case.data_sets[0]
    graph = case.model.graph
    sources = [tensor_of(value, info) for value, info in zip(inputs, graph.input)]
    results = [tensor_of(value, info) for value, info in zip(outputs, graph.output)]
    variants = {"": [], ".constants": list(range(1, len(sources))), ".folded": list(range(len(sources)))}
    seen, out = set(), []
    for ending, constants in variants.items():
        if tuple(constants) in seen:
            continue
        seen.add(tuple(constants))
        place = folder / (case.name + ending)
        (place / "tensors").mkdir(parents=True)
        (place / "model.onnx").write_bytes(model_with(case, sources, constants).SerializeToString())
        for i, tensor in enumerate(sources):
            write_tensor(place / "tensors" / f"{i}.in", tensor, case)
        for i, tensor in enumerate(results):
            write_tensor(place / "tensors" / f"{i}.out", tensor, case)
        out.append(place)
    return out


def reason_of(why):
    """A refusal's reason without the names and numbers of its test."""
    why = re.sub(r'^node "[^"]*" ', "", why)
    why = re.sub(r'^onnx: \w+ "[^"]*"', "onnx:", why)
    why = re.sub(r"; dims of .*", "", why)
    why = re.sub(r', which other operators contradict: .*', "", why)
    why = re.sub(r' "[^"]*" \(', " (", re.sub(r"the plan: propagate: onednn \S+ has no way to run ", "", why))
    return re.sub(r"(?<![a-zA-Z_\d.])\d+(\.\d+)?([x,]\d+)*\b", "N", why)


def table(title, counts):
    print(f"\n{title}")
    for reason, count in counts.most_common():
        print(f"  {count:5}  {reason}")


def load(only):
    from onnx.backend.test.loader import load_model_tests
    warnings.simplefilter("ignore")
    return [case for case in load_model_tests(kind="node") if only in case.name]


def run(cases, program, folder):
    """(verdict, why) of each model by its folder's name, and the refusals of tests that could not be written."""
    places, unwritten = [], {}
    for case in cases:
        try:
            places += write_case(folder, case)
        except Refused as why:
            unwritten[case.name] = str(why)
    done = subprocess.run([program], input="\n".join(map(str, places)), text=True, capture_output=True, check=False)
    verdicts = {}
    for line in done.stdout.splitlines():
        name, verdict, why = line.split("\t", 2)
        verdicts[name] = (verdict, why)
    for place in places:
        verdicts.setdefault(place.name, ("wrong", f"the program ended before it (exit code {done.returncode})"))
    return verdicts, unwritten


def report(cases, verdicts, unwritten):
    """Prints the counts; whether nothing is wrong. A test counts by the first of its models that is not refused."""
    best = {name: ("refused", why) for name, why in unwritten.items()}
    wrong = {name: why for name, (verdict, why) in verdicts.items() if verdict == "wrong"}
    for name, found in verdicts.items():
        test = name.split(".")[0]
        if test not in best or best[test][0] == "refused" != found[0]:
            best[test] = found
    counts = collections.Counter(verdict for verdict, _ in best.values())
    print(f"onnx_nodes: {len(cases)} tests in {len(verdicts)} models: {counts['passed']} passed, "
          f"{counts['reference']} by the reference alone, {counts['refused']} refused, {len(wrong)} models wrong")
    table("by the reference alone, as the backend has no primitive:",
          collections.Counter(reason_of(why) for verdict, why in best.values() if verdict == "reference"))
    refused = [why for verdict, why in best.values() if verdict == "refused"]
    table("refused:", collections.Counter(map(reason_of, refused)))
    operators = collections.Counter(found.group(1) for found in map(OPERATOR.search, refused) if found)
    print("\noperators that are refused: " + ", ".join(f"{name} {count}" for name, count in operators.most_common()))
    for name, why in sorted(wrong.items()):
        print(f"WRONG {name}: {why}")
    return not wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--only", default="")
    parser.add_argument("--keep")
    options = parser.parse_args()
    with_onnx("onnx.backend.test.loader")
    cases = load(options.only)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(options.keep or temporary)
        good = report(cases, *run(cases, options.program, folder))
    return 0 if good and cases else 1


if __name__ == "__main__":
    sys.exit(main())
