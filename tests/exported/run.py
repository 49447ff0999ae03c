#!/usr/bin/env python3
"""Runs small models as exporters write them (bench/exported) by the command.

    run.py RELAYOUT [--only TEXT]

Each model, in the opsets that change how it is written and at batches of 1 and 2, is compared with the command's own
float64 reference; transformers and the U-Net with ONNX's reference too, which is too slow for the others or lacks
operators of theirs. A test of the slow tier: without RELAYOUT_SLOW_TESTS=1, or without the package onnx, it exits with
77 and says so.
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "support"), str(HERE.parents[1] / "bench" / "exported")]

import with_onnx  # noqa: E402

# Where another opset writes the model otherwise.
OPSETS = {"vit": (13, 17, 20), "bert": (13, 17), "whisper": (17, 20), "llama": (13, 17), "convnext": (13, 20),
          "mobilenet": (13, 17), "yolo": (13, 17), "lstm_gru": (11, 17), "diffusion": (17, 20)}
BY_ONNX = ("vit", "bert", "whisper", "llama", "llama23", "unet")
TOLERANCE = 1e-4  # of the largest value


def random_inputs(model, numpy):
    rng, out = numpy.random.default_rng(1), {}
    for one in model.graph.input:
        dims = [dim.dim_value for dim in one.type.tensor_type.shape.dim]
        whole = one.type.tensor_type.elem_type == 7
        out[one.name] = rng.integers(0, 2, dims) if whole else rng.standard_normal(dims).astype(numpy.float32)
    return out


def run(relayout, model, by_onnx, folder):
    """What is wrong with the command's outputs, or ""."""
    import numpy
    import onnx
    onnx.save(model, folder / "model.onnx")
    inputs, given = random_inputs(model, numpy), []
    for name, array in inputs.items():
        numpy.save(folder / (name + ".npy"), array)
        given += ["--input", "%s=%s" % (name, folder / (name + ".npy"))]
    result = subprocess.run([relayout, "run", folder / "model.onnx", *given, "--check", "-f", "-o", folder / "y.npy"],
                            capture_output=True, text=True, check=False)
    if result.returncode != 0:
        return (result.stderr or result.stdout).strip()
    if not by_onnx:
        return ""
    from onnx.reference import ReferenceEvaluator
    want = ReferenceEvaluator(model).run(None, inputs)[0]
    difference = numpy.max(numpy.abs(numpy.load(folder / "y.npy") - want)) / numpy.max(numpy.abs(want))
    return "" if difference <= TOLERANCE else "differs by %g of its largest value from ONNX's reference" % difference


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("relayout", type=pathlib.Path)
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    with_onnx.with_onnx("onnx.reference")
    import models
    count, wrong = 0, 0
    for name, (_, usual, _) in models.MODELS.items():
        if args.only not in name:
            continue
        for opset in OPSETS.get(name, (usual,)):
            for batch in (1, 2):
                with tempfile.TemporaryDirectory() as folder:
                    why = run(args.relayout, models.made(name, opset, batch, small=True), name in BY_ONNX,
                              pathlib.Path(folder))
                count, wrong = count + 1, wrong + bool(why)
                print("%s, opset %d, batch %d: %s" % (name, opset, batch, why or "ok"), flush=True)
    print("%d models, %d wrong" % (count, wrong))
    return 1 if wrong or not count else 0


if __name__ == "__main__":
    sys.exit(main())
