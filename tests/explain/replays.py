#!/usr/bin/env python3
"""Runs the programs of `relayout explain --replay` of those systems that this Python has, on counted elements, and
compares what they do with NumPy's or PyTorch's own indexing. Skips (77) where it has none of them.

    replays.py RELAYOUT
"""
import contextlib
import importlib.util
import io
import json
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
SAMPLES = HERE / "samples"


def program_of(relayout, source, row, *more):
    """The Python program of a row's report."""
    text = subprocess.run([relayout, "explain", str(source), "--elsewhere", "--replay", str(row), *more],
                          capture_output=True, text=True, check=True).stdout
    lines = text[text.index("    # python"):text.index("\nThis project's time")].splitlines()
    return "\n".join(line[4:] for line in lines) + "\n"


def reorders(relayout, source, *more):
    out = subprocess.run([relayout, "explain", str(source), "--elsewhere", "--json", *more],
                         capture_output=True, text=True, check=True).stdout
    return json.loads(out)["reorders"]


def run(program):
    """The program's variables, with elements that are counted where it makes zeros; it prints twenty times."""
    import numpy
    zeros = numpy.zeros
    numpy.zeros = lambda dims, dtype: numpy.arange(numpy.prod(dims)).reshape(dims).astype(dtype)
    variables, printed = {}, io.StringIO()
    try:
        with contextlib.redirect_stdout(printed):
            exec(compile(program, "reorder.py", "exec"), variables)
    finally:
        numpy.zeros = zeros
    lines = printed.getvalue().splitlines()
    assert len(lines) == 20 and all(line.endswith(" ms") for line in lines), lines
    return variables


def event(kind, name, src, dst):
    shapes = {"input_type_shape": [{"float": src}], "output_type_shape": [{"float": dst}]}
    return {"cat": "Node", "name": name + "_kernel_time", "dur": 10, "ts": 0,
            "args": {"op_name": kind, "provider": "CPUExecutionProvider", **shapes}}


def blocked(numpy, x, block):
    """N, C, H, W as NCHWc."""
    n, c, h, w = x.shape
    return x.reshape(n, c // block, block, h, w).transpose(0, 1, 3, 4, 2).ravel()


def onnxruntime_replays(relayout, folder):
    import numpy
    events = [event("ReorderInput", "a", [2, 32, 5, 6], [2, 32, 5, 6]),
              event("ReorderInput", "b", [2, 5, 6, 32], [2, 32, 5, 6]),
              event("ReorderOutput", "c", [2, 32, 5, 6], [2, 32, 5, 6]),
              event("ReorderOutput", "d", [2, 32, 5, 6], [2, 5, 6, 32]),
              event("Transpose", "e", [2, 3, 5, 6], [2, 5, 6, 3])]
    source = folder / "profile.json"
    source.write_text(json.dumps(events))
    rows = reorders(relayout, source)
    assert sorted(row["name"] for row in rows) == list("abcde"), rows
    for number, row in enumerate(rows, 1):
        made = run(program_of(relayout, source, number))
        x = made["x"]
        y = made["session"].run(None, {"x": x})[0]
        if row["kind"] == "Transpose":
            assert row["dst"] == "acdb" and numpy.array_equal(y, x.transpose(0, 2, 3, 1)), row
            continue
        plain, other = (x, y) if row["kind"] == "ReorderInput" else (y, x)
        assert row["dims"] == [2, 32, 5, 6], row
        last = "acdb" in (row["src"], row["dst"])
        assert list(plain.shape) == ([2, 5, 6, 32] if last else [2, 32, 5, 6]), row
        nchw = plain.transpose(0, 3, 1, 2) if last else plain
        assert any(numpy.array_equal(blocked(numpy, nchw, block), other.ravel()) for block in (8, 16)), row


def openvino_replays(relayout, folder):
    import numpy
    import openvino
    from openvino import opset13
    x = opset13.parameter([1, 3, 8, 10], openvino.Type.f32)
    model = openvino.Model([opset13.transpose(opset13.relu(x), [0, 2, 3, 1])], [x])
    compiled = openvino.Core().compile_model(model, "CPU", {"PERF_COUNT": True})
    compiled.create_infer_request().infer({0: numpy.zeros([1, 3, 8, 10], "float32")})
    source = folder / "graph.xml"
    openvino.serialize(compiled.get_runtime_model(), str(source))
    rows = reorders(relayout, source)
    assert [row["kind"] for row in rows] == ["Transpose"] and rows[0]["dst"] == "acdb", rows
    made = run(program_of(relayout, source, 1))
    result = next(iter(made["request"].infer({0: made["data"]}).values()))
    assert numpy.array_equal(result, made["data"].transpose(0, 2, 3, 1))


def torch_replays(relayout, _):
    import torch
    rows = reorders(relayout, SAMPLES / "torch_trace.json")
    assert rows
    for number, row in enumerate(rows, 1):
        made = run(program_of(relayout, SAMPLES / "torch_trace.json", number))
        src, dst = made["src"], made["dst"]
        assert list(src.shape) == row["dims"] and src.stride() != dst.stride()
        src.copy_(torch.arange(src.numel()).reshape(src.shape))
        dst.copy_(src)
        assert torch.equal(src, dst)


def main():
    relayout = str(Path(sys.argv[1]).resolve())
    ran = []
    for needs, replay in ((("onnx", "onnxruntime"), onnxruntime_replays), (("openvino",), openvino_replays),
                          (("torch",), torch_replays)):
        if any(importlib.util.find_spec(each) is None for each in (*needs, "numpy")):
            continue
        with tempfile.TemporaryDirectory() as folder:
            replay(relayout, Path(folder))
        ran.append(needs[-1])
    print("ran:", ", ".join(ran) or "none; this Python has none of the systems")
    sys.exit(0 if ran else 77)


if __name__ == "__main__":
    main()
