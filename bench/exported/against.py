#!/usr/bin/env python3
"""Times models beside ONNX Runtime and OpenVINO, and compares the values.

    against.py RELAYOUT MODEL.onnx... [--threads N] [--rounds N] [--seconds S] [--json FILE]

RELAYOUT is the command. In each round every engine runs the model for S seconds in a process of its own, one behind the
other, so that none has a quieter machine; the median of a round's runs counts, and of rounds the median again. Inputs
are random, the same for all. The last column is this library's time over the faster of the others. Needs PyPI's
onnxruntime, and openvino for its column, and NumPy. Measure on a machine that does nothing else.
"""
import argparse
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np


def inputs_of(path):
    """Random inputs by name, as ONNX Runtime describes the model's."""
    import onnxruntime as ort
    session = ort.InferenceSession(path, providers=["CPUExecutionProvider"])
    rng = np.random.default_rng(1)
    out = {}
    for one in session.get_inputs():
        dims = [d if isinstance(d, int) else 1 for d in one.shape]
        if one.type == "tensor(int64)":
            out[one.name] = np.ones(dims, np.int64) if "mask" in one.name else rng.integers(0, 1000, dims)
        else:
            out[one.name] = rng.standard_normal(dims).astype(np.float16 if "16" in one.type else np.float32)
    return out


def timed(call, seconds):
    """The median of a call's times in milliseconds, after one that does not count."""
    call()
    times, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < 3:
        start = time.perf_counter()
        call()
        times.append((time.perf_counter() - start) * 1e3)
    return statistics.median(times)


def run_onnxruntime(path, inputs, threads, seconds):
    import onnxruntime as ort
    options = ort.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return session.run(None, inputs), timed(lambda: session.run(None, inputs), seconds)


def run_openvino(path, inputs, threads, seconds):
    import openvino as ov
    config = {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32"}
    model = ov.Core().compile_model(path, "CPU", config)
    request = model.create_infer_request()
    result = request.infer(inputs)
    return [np.array(result[i]) for i in range(len(model.outputs))], timed(lambda: request.infer(inputs), seconds)


OTHERS = {"onnxruntime": run_onnxruntime, "openvino": run_openvino}


def run_child(engine, path, folder, threads, seconds):
    """In the child process: runs, leaves the outputs in the folder and prints the time."""
    inputs = dict(np.load(folder / "inputs.npz"))
    outputs, ms = OTHERS[engine](path, inputs, threads, seconds)
    np.savez(folder / (engine + ".npz"), *outputs)
    print(json.dumps(ms))


def other_engine(engine, path, folder, args):
    command = [sys.executable, __file__, "--child", engine, path, folder, args.threads, args.seconds]
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    return float(result.stdout.splitlines()[-1]) if result.returncode == 0 else None


def file_name(name):
    """A file's name for an input's, which may hold a slash."""
    return name.replace("/", "_")


def relayout(path, folder, args, repeat):
    given = [text for name in np.load(folder / "inputs.npz").files
             for text in ("--input", "%s=%s" % (name, folder / (file_name(name) + ".npy")))]
    command = [args.relayout, "run", path, *given, "--threads", args.threads, "--repeat", repeat, "--json", "-f",
               "-o", folder / "relayout.npz"]
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    if result.returncode != 0:
        return None, json.loads(result.stderr.splitlines()[-1])["error"]["message"]
    return json.loads(result.stdout)["median_ns"] * 1e-6, ""


def difference(folder, engine):
    """The largest difference of any output, of its largest value."""
    ours, theirs = np.load(folder / "relayout.npz"), np.load(folder / (engine + ".npz"))
    worst = 0.0
    for a, b in zip(ours.files, theirs.files):
        x, y = ours[a].astype(np.float64), theirs[b].astype(np.float64)
        if x.shape != y.shape:
            return math.inf
        if x.size:
            worst = max(worst, float(np.max(np.abs(x - y)) / max(1e-30, float(np.max(np.abs(y))))))
    return worst


def compare(path, args):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        inputs = inputs_of(str(path))
        np.savez(folder / "inputs.npz", **inputs)
        for key, array in inputs.items():
            np.save(folder / (file_name(key) + ".npy"), array)
        times = {engine: [] for engine in ["relayout", *args.engines]}
        first, why = relayout(path, folder, args, 3)
        if first is None:
            return {"model": path.stem, "refused": why}
        repeat = max(3, min(1000, int(args.seconds * 1e3 / first)))
        for _ in range(args.rounds):
            times["relayout"].append(relayout(path, folder, args, repeat)[0])
            for engine in args.engines:
                times[engine].append(other_engine(engine, path, folder, args))
        out = {"model": path.stem}
        for engine, rounds in times.items():
            out[engine] = None if None in rounds else statistics.median(rounds)
        rivals = [out[engine] for engine in args.engines if out[engine] is not None]
        out["ratio"] = out["relayout"] / min(rivals) if rivals else None
        right = next((engine for engine in args.engines if out[engine] is not None), None)
        out["difference"] = difference(folder, right) if right else None
        return out


def shown(value, form):
    return "-" if value is None else form % value


def main():
    if sys.argv[1:2] == ["--child"]:
        engine, path, folder, threads, seconds = sys.argv[2:]
        return run_child(engine, path, pathlib.Path(folder), int(threads), float(seconds))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("relayout")
    parser.add_argument("models", nargs="+", type=pathlib.Path)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1)
    parser.add_argument("--engines", default="onnxruntime,openvino", type=lambda text: text.split(","))
    parser.add_argument("--json", type=pathlib.Path)
    args = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = str(args.threads)
    print("%-16s %10s %s %7s %11s" % ("model", "relayout", " ".join("%12s" % e for e in args.engines), "ratio",
                                      "difference"))
    results = []
    for path in args.models:
        one = compare(path, args)
        results.append(one)
        if "refused" in one:
            print("%-16s refused: %s" % (one["model"], one["refused"]), flush=True)
            continue
        print("%-16s %7.2f ms %s %7s %11s" % (one["model"], one["relayout"], " ".join(
            "%9s ms" % shown(one[e], "%.2f") for e in args.engines), shown(one["ratio"], "%.2f"),
            shown(one["difference"], "%.1e")), flush=True)
    ratios = [one["ratio"] for one in results if one.get("ratio")]
    if ratios:
        print("geometric mean of ratios: %.2f over %d models" % (statistics.geometric_mean(ratios), len(ratios)))
    if args.json:
        args.json.write_text(json.dumps(results, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
