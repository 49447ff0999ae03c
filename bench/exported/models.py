#!/usr/bin/env python3
"""Writes models of today as exporters write them, with random weights.

    models.py FOLDER [--only NAMES] [--opset N] [--batch N] [--type f32|f16] [--small]

Each becomes FOLDER/NAME.onnx. NAMES are joined by commas; without --only all models are written. The models are written
for opsets 11 to 23. Needs PyPI's onnx and NumPy; `scripts/install slow` puts both into build/onnx.
"""
import argparse
import pathlib

import onnx

import convolutional
import net
import recurrent
import transformers

# By name: the function, the opset where none is given, and the arguments that make it small enough for slow references.
MODELS = {
    "vit": (transformers.vit, 17, {"layers": 1, "count": 2, "width": 16}),
    "bert": (transformers.bert, 13, {"layers": 1, "length": 16, "count": 2, "width": 16, "words": 1000}),
    "whisper": (transformers.whisper, 17, {"layers": 1, "frames": 40, "count": 2, "width": 16}),
    "llama": (transformers.llama, 17, {"length": 8, "count": 4, "groups": 2, "width": 16, "hidden": 96}),
    "llama23": (transformers.llama, 23, {"length": 8, "count": 4, "groups": 2, "width": 16, "hidden": 96}),
    "convnext": (convolutional.convnext, 17, {"image": 32}),
    "mobilenet": (convolutional.mobilenet, 17, {"image": 32}),
    "unet": (convolutional.unet, 17, {"image": 32, "width": 8}),
    "yolo": (convolutional.yolo, 17, {"image": 64, "width": 8}),
    "diffusion": (convolutional.diffusion, 17, {"image": 8, "width": 32}),
    "qdq_mobilenet": (convolutional.quantised, 17, {"image": 32}),
    "lstm_gru": (recurrent.lstm_gru, 17, {"length": 5, "inner": 8, "hidden": 16, "words": 10}),
}


def made(name, opset=None, batch=1, dtype="f32", small=False, **changes):
    """The model of that name; `changes` go to its function."""
    build, usual, little = MODELS[name]
    out = net.Net(name, opset or usual, dtype)
    build(out, batch, **{**(little if small else {}), **changes})
    return out.model()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--only", default=",".join(MODELS))
    parser.add_argument("--opset", type=int)
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--type", default="f32", choices=sorted(net.TYPES))
    parser.add_argument("--small", action="store_true", help="few layers of few channels, for slow references")
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    for name in args.only.split(","):
        if name not in MODELS:
            parser.error("no model is called %r; there are %s" % (name, ", ".join(MODELS)))
        path = args.folder / (name + ".onnx")
        onnx.save(made(name, args.opset, args.batch, args.type, args.small), path)
        print("%s: %.1f MB" % (path, path.stat().st_size / 1e6))


if __name__ == "__main__":
    main()
