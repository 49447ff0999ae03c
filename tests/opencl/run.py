#!/usr/bin/env python3
"""Compares `relayout convert --via opencl` with `--via cpu`, byte by byte, on whatever device there is.

    run.py RELAYOUT          exit code 77, with the reason, where there is no device

Images and buffers, all types that a device converts, each way; then what a device does not take, whose errors must
name both numbers, and what the verbs `image` and `doctor` say of it. Needs the standard library alone.
"""
import itertools
import json
import math
import os
import pathlib
import random
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
import tensors

SKIPPED = 77
# The driver compiles kernels for seconds, so the ordinary tests have fewer cases.
SLOW = os.environ.get("RELAYOUT_SLOW_TESTS", "0") not in ("", "0")
HUNG = 600  # seconds

DESCR = {"f64": "<f8", "f32": "<f4", "f16": "<f2", "s64": "<i8", "u64": "<u8", "s32": "<i4", "u32": "<u4",
         "s16": "<i2", "u16": "<u2", "s8": "|i1", "u8": "|u1"}
CONVERTED = [("f32", "f16"), ("f16", "f32"), ("u8", "u32"), ("u32", "u8")]
IMAGES = ["mace:in_out_channel", "mace:in_out_height", "mace:in_out_width", "mace:conv2d_filter",
          "mace:weight_height", "mace:weight_width", "nh|Cw4c;pitch=64", "cn|hW4w;align=8", "n|CHw2c2h"]
PLAIN = ["nhwc", "nChw8c", "nchw.transpose(1,3)", "strides:1000,100,10,1", "ABcd4b2a", "hwcn@3"]


class Command:
    def __init__(self, binary, folder):
        self.binary, self.folder = str(binary), folder
        self.env = {key: value for key, value in os.environ.items() if not key.startswith("RELAYOUT_")
                    or key in ("RELAYOUT_OPENCL_LIBRARY", "RELAYOUT_ISA")}
        self.env["NO_COLOR"] = "1"

    def run(self, *args):
        return subprocess.run([self.binary, *map(str, args)], cwd=self.folder, env=self.env, timeout=HUNG, text=True,
                              capture_output=True)

    def ok(self, *args):
        result = self.run(*args)
        assert result.returncode == 0, "%s: exit code %d: %s" % (args, result.returncode, result.stderr)
        return result.stdout

    def error(self, exit_code, *args):
        result = self.run(*args, "--json")
        assert result.returncode == exit_code, "%s: exit code %d: %s" % (args, result.returncode, result.stderr)
        return json.loads(result.stderr)["error"]

    def bytes(self, name):
        return (self.folder / name).read_bytes()


def values_of(dtype, count, seed):
    """Random numbers of the whole range, and the special ones that both sides keep. No NaN: images need not keep
    their bits."""
    chance = random.Random(seed)
    if dtype in ("f64", "f32", "f16"):
        special = [0.0, -0.0, math.inf, -math.inf, 1e-7, 65504.0, 5.96e-8]
        return [chance.choice(special) if chance.random() < 0.2 else
                chance.uniform(-1, 1) * 2.0 ** chance.randint(-14, 15) for _ in range(count)]
    bits = int(dtype[1:])
    low = -(1 << bits - 1) if dtype[0] == "s" else 0
    return [chance.randint(low, low + (1 << bits) - 1) for _ in range(count)]


def compare(command, dims, dtype, source, *to, expect=()):
    """Both ways to convert `source`; all of `expect` must be in what --explain says."""
    cpu = [arg for arg in to if arg not in ("--way", "mapped", "kernel", "staged", "--fallback", "buffer")]
    text = command.ok("convert", source, "device.npy", "-f", "--dims", dims, *to, "--via", "opencl", "--explain")
    command.ok("convert", source, "cpu.npy", "-f", "--dims", dims, *cpu)
    assert command.bytes("device.npy") == command.bytes("cpu.npy"), "%s %s: other bytes\n%s" % (dtype, to, text)
    for part in expect:
        assert part in text, "%s %s: no %r in\n%s" % (dtype, to, part, text)


def write(command, dtype, shape, seed=1):
    tensors.write_npy(command.folder / "x.npy", shape, DESCR[dtype], values_of(dtype, math.prod(shape), seed))


def images(command, device):
    """Into each image, out of it, and from one into another."""
    for number, (image, dtype) in enumerate(itertools.product(IMAGES, ("f32", "f16", "s32", "u32", "u8"))):
        if number % 5 not in (number // 5 % 5, number // 5 * 2 % 5 if SLOW else -1):  # one or two types an image
            continue
        if {"u8": "u32"}.get(dtype, dtype) not in device["channels"]:
            continue
        dims, shape = "2,9,5,7", (2, 9, 5, 7)
        way = ("mapped", "kernel", "staged")[number % 3]
        write(command, dtype, shape, number)
        compare(command, dims, dtype, "x.npy", "--from", "nchw", "--to", image, "--way", way,
                expect=("an image of", "by the way " + way))
        (command.folder / "cpu.npy").replace(command.folder / "image.npy")
        compare(command, dims, dtype, "image.npy", "--from", image, "--to", "nhwc", "--way", way,
                expect=("an image of",))
        if number % 2 == 0:
            other = IMAGES[(number // 5 + 1) % len(IMAGES)]
            compare(command, dims, dtype, "image.npy", "--from", image, "--to", other, expect=("on the device",))


def buffers(command, device):
    del device
    for number, (layout, dtype) in enumerate(itertools.product(PLAIN, DESCR)):
        if number % (3 if SLOW else 7) == 0:
            write(command, dtype, (2, 9, 5, 7), number)
            compare(command, "2,9,5,7", dtype, "x.npy", "--from", "nchw", "--to", layout,
                    expect=("by the way kernel, to a buffer",))


def types(command, device):
    """Conversions, in buffers and in images of either side's type."""
    for number, (src, dst) in enumerate(CONVERTED):
        write(command, src, (2, 6, 5, 3), number)
        for way in ("mapped", "kernel"):
            compare(command, "2,6,5,3", src, "x.npy", "--from", "nchw", "--to", "nChw4c", "--to-dtype", dst,
                    "--way", way)
        if {"u8": "u32"}.get(dst, dst) in device["channels"]:
            for way in ("mapped", "kernel", "staged"):
                compare(command, "2,6,5,3", src, "x.npy", "--from", "nchw", "--to", "mace:in_out_channel", "--to-dtype",
                        dst, "--way", way)
        if "f32" in device["channels"] and "f16" in device["channels"] and src[0] == "f":
            command.ok("convert", "x.npy", "image.npy", "-f", "--from", "nchw", "--to", "mace:in_out_width")
            compare(command, "2,6,5,3", src, "image.npy", "--from", "mace:in_out_width", "--to", "mace:in_out_height",
                    "--to-dtype", dst)


def small_ones(command, device):
    """A scalar, no element, one element."""
    del device
    for shape, layout in (((), "strides:"), ((0, 3), "ba"), ((1, 1), "ba"), ((3,), "strides:5")):
        write(command, "f32", shape)
        dims = [] if not shape else ["--dims", ",".join(map(str, shape))]
        for via in ("cpu", "opencl"):
            command.ok("convert", "x.npy", via + ".npy", "-f", "--from", "contiguous", "--to", layout, *dims,
                       "--via", via)
        assert command.bytes("cpu.npy") == command.bytes("opencl.npy"), "%s: other bytes" % (shape,)


def too_large(command, device):
    """An image that is higher than the device allows: an error with both numbers, or a buffer."""
    height = device["max_image_height"] + 1
    dims = "%d,1,1,2" % height
    write(command, "u8", (height, 1, 1, 2))
    args = ("x.npy", "--from", "nchw", "--dims", dims, "--to", "mace:in_out_channel", "--via", "opencl")
    error = command.error(5, "convert", args[0], "y.npy", *args[1:])
    asked, allowed = "2 x %d" % height, "%d x %d" % (device["max_image_width"], device["max_image_height"])
    assert error["code"] == "limit" and error["value"] == asked and error["limit"] == allowed, error
    assert asked in error["message"] and allowed in error["message"], error
    assert not (command.folder / "y.npy").exists(), "an output in spite of the error"
    compare(command, dims, "u8", "x.npy", "--from", "nchw", "--to", "mace:in_out_channel", "--fallback", "buffer",
            expect=("a buffer in place of an image of " + asked,))

    result = command.run("image", "mace:in_out_channel", "--dims", dims, "--dtype", "u8", "--json")
    about = json.loads(result.stdout)
    assert result.returncode == 1 and about["fits"] is False, result.stdout
    assert asked in about["problem"] and allowed in about["problem"], about["problem"]
    result = command.run("image", "mace:in_out_channel", "--plan", "--dims", dims, "--dtype", "u8", "--json")
    about = json.loads(result.stdout)
    assert result.returncode == 1 and about["fits"] is False, result.stdout
    assert sum(part["height"] for part in about["split"]["parts"]) == height, about["split"]


def refusals(command, device):
    """What no image holds; a device that is not there."""
    del device
    write(command, "s16", (1, 5, 2, 3))
    to = ("--from", "nchw", "--to", "mace:in_out_channel")
    error = command.error(5, "convert", "x.npy", "y.npy", *to, "--via", "opencl")
    assert error["code"] == "unsupported" and "s16" in error["message"] and "--fallback" in error["message"], error
    compare(command, "1,5,2,3", "s16", "x.npy", *to, "--fallback", "buffer", expect=("to a buffer",))
    error = command.error(2, "convert", "x.npy", "y.npy", *to, "--via", "opencl", "--device", 1000, "--to-dtype", "s16")
    assert "1000" in error["message"], error
    error = command.error(2, "image", "mace:argument", "--dims", 4, "--device", 1000)
    assert "1000" in error["message"], error


def verbs(command, device):
    """What is said of the device."""
    about = json.loads(command.ok("image", "mace:in_out_channel", "--dims", "1,9,4,5", "--device", 0, "--json"))
    assert about["device"]["name"] == device["name"] and about["fits"] == ("f32" in device["channels"]), about
    assert about["limits"]["max_width"] == device["max_image_width"], about
    for text in (command.ok("image", "mace:in_out_channel", "--dims", "1,9,4,5"), command.ok("doctor")):
        flat = " ".join(text.split())
        assert device["name"] in flat, text
        assert "%d x %d texels" % (device["max_image_width"], device["max_image_height"]) in flat, text
    write(command, "f32", (1, 9, 4, 5))
    done = json.loads(command.ok("convert", "x.npy", "y.npy", "-f", "--from", "nchw", "--to", "mace:in_out_channel",
                                 "--via", "opencl", "--json"))
    assert done["opencl"]["device"]["name"] == device["name"], done
    assert done["opencl"]["upload"] in ("mapped", "kernel", "staged"), done
    memory = {"kind": "image", "bytes": 960, "width": 15, "height": 4, "channel": "f32"}
    assert done["opencl"]["memory"] == [memory], done


def main():
    binary = pathlib.Path(sys.argv[1]).resolve(strict=True)
    failed = []
    with tempfile.TemporaryDirectory(prefix="relayout-opencl-") as folder:
        command = Command(binary, pathlib.Path(folder))
        opencl = json.loads(command.ok("doctor", "--json"))["opencl"]
        if not opencl["devices"]:
            print("skipped: no OpenCL device: %s" % opencl["problem"])
            sys.exit(SKIPPED)
        device = opencl["devices"][0]
        tests = [buffers, types, small_ones]
        if device["images"]:
            tests += [images, too_large, refusals, verbs]
        else:
            print("images are skipped: %s has none" % device["name"])
        for test in tests:
            try:
                test(command, device)
                print("ok %s" % test.__name__)
            except (AssertionError, subprocess.SubprocessError) as error:
                failed.append(test.__name__)
                print("FAILED %s: %s" % (test.__name__, error))
    print("on %s: %s" % (device["name"], "FAILED: " + ", ".join(failed) if failed else "all passed"))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
