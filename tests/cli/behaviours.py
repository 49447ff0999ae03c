"""What golden files cannot show: signals, closed pipes, memory, terminals, and values by the thousand.

Each function returns nothing where all is well, "skipped: why", or says what is wrong."""
import json
import math
import os
import pty
import random
import re
import signal
import struct
import subprocess
import time

import certificates
import model
import tensors


class Command:
    """The command under test, in its own empty directory."""

    def __init__(self, binary, env, directory):
        self.binary, self.env, self.directory = str(binary), env, directory

    def path(self, name):
        return str(self.directory / name)

    def run(self, *args, **options):
        options.setdefault("capture_output", True)
        env = dict(self.env, **options.pop("more_env", {}))
        return subprocess.run([self.binary, *map(str, args)], cwd=self.directory, env=env, timeout=240, text=True,
                              **options)

    def ok(self, *args, **options):
        result = self.run(*args, **options)
        assert result.returncode == 0, "%s: exit code %d: %s" % (args, result.returncode, result.stderr)
        return result.stdout

    def start(self, *args):
        # A shell in the background ignores SIGINT, and would hand that on.
        return subprocess.Popen([self.binary, *args], cwd=self.directory, env=self.env, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True,
                                preexec_fn=lambda: [signal.signal(s, signal.SIG_DFL)
                                                    for s in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)])

    def files(self):
        return sorted(entry.name for entry in self.directory.iterdir())


def expect(actual, wanted, what):
    assert actual == wanted, "%s: %r, expected %r" % (what, actual, wanted)


def comma(values):
    return ",".join(map(str, values))


def closed_pipe(command):
    reader, writer = os.pipe()
    os.close(reader)
    result = command.run("tags", capture_output=False, stdout=writer, stderr=subprocess.PIPE)
    os.close(writer)
    expect(result.returncode, -signal.SIGPIPE, "exit code")
    expect(result.stderr, "", "standard error")


def full_device(command):
    if not os.path.exists("/dev/full"):
        return "skipped: no /dev/full"
    with open("/dev/full", "w") as full:
        result = command.run("describe", "nchw", "--dims", "1,2,3,4", capture_output=False, stdout=full,
                             stderr=subprocess.PIPE)
    expect(result.returncode, 4, "describe")
    assert "No space left" in result.stderr, result.stderr
    tensors.write_npy(command.path("x.npy"), (2, 3))
    result = command.run("convert", "x.npy", "/dev/full", "--to", "ba", "-f")
    expect(result.returncode, 4, "convert")
    assert "No space left" in result.stderr, result.stderr
    expect(command.files(), ["x.npy"], "files")


def closed_standard_output(command):
    tensors.write_npy(command.path("x.npy"), (2, 3))
    result = subprocess.run('exec "%s" convert x.npy y.npy --to ba --explain >&-' % command.binary, shell=True,
                            cwd=command.directory, env=command.env, capture_output=True, text=True)
    expect(result.returncode, 4, "exit code")
    expect(tensors.read_npy(command.path("y.npy"))[3], [0, 3, 1, 4, 2, 5], "the file, written before the text")


def sparse_npy(path, shape, descr="<f4"):
    """A large .npy of zeros that takes no space. Returns the offset of its data."""
    head = tensors.npy_bytes((1,), descr)
    head = head[:10] + head[10:].replace(b"(1,)", str(tuple(shape)).encode())
    text = head[10:head.index(b"\n") + 1].rstrip(b"\n").rstrip()
    text += b" " * ((64 - (10 + len(text) + 1) % 64) % 64) + b"\n"
    with open(path, "wb") as file:
        file.write(head[:8] + struct.pack("<H", len(text)) + text)
        start = file.tell()
        file.truncate(start + math.prod(shape) * int(descr[2:]))
    return start


def interrupt(command):
    sparse_npy(command.path("big.npy"), (4096, 8192))
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        process = command.start("convert", "big.npy", "out.npy", "--from", "ab", "--to", "ba", "--max-memory", "2M")
        deadline = time.monotonic() + 60
        while command.files() == ["big.npy"] and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.001)
        time.sleep(0.05)
        process.send_signal(number)
        _, stderr = process.communicate(timeout=60)
        expect(process.returncode, 130, "exit code after %s" % number.name)
        expect(stderr, "", "standard error")
        expect(command.files(), ["big.npy"], "files after %s" % number.name)


def check_peak(command, cap, *args):
    """Peak memory under a cap in MiB, with 40 MiB for the program itself."""
    process = subprocess.Popen([command.binary, *args, "--max-memory", "%dM" % cap], cwd=command.directory,
                               env=command.env, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    expect(process.returncode, 0, "exit code of %s" % args[0])
    peak = usage.ru_maxrss / 1024
    assert peak < cap + 40, "%s: peak memory %.0f MiB under a cap of %d MiB" % (args, peak, cap)


def cached_pages(command):
    """A file that the system has in its cache in large pages, of which more is mapped than was touched."""
    sparse_npy(command.path("big.npy"), (4096, 16384))
    with open(command.path("big.npy"), "rb") as file:
        while file.read(1 << 20):
            pass
    check_peak(command, 4, "compare", "big.npy", "big.npy")
    check_peak(command, 4, "compare", "big.npy", "big.npy", "--from-a", "ba", "--from-b", "ba")


def peak_memory(command):
    """A 512 MiB transposition under 64 MiB."""
    rows, columns, cap = 8192, 16384, 64
    space = os.statvfs(command.directory)
    if space.f_bavail * space.f_frsize < 2 << 30:
        return "skipped: under 2 GiB of disk"
    start = sparse_npy(command.path("big.npy"), (rows, columns))
    rng = random.Random(1)
    marks = {(rng.randrange(rows), rng.randrange(columns)): i + 1 for i in range(2000)}
    with open(command.path("big.npy"), "r+b") as file:
        for (row, column), value in marks.items():
            os.pwrite(file.fileno(), struct.pack("<f", value), start + 4 * (row * columns + column))
    check_peak(command, cap, "convert", "big.npy", "out.npy", "--from", "ab", "--to", "ba")
    check_peak(command, 16, "compare", "big.npy", "out.npy", "--from-a", "ab", "--from-b", "ba")
    with open(command.path("out.npy"), "rb") as file:
        out_start = os.fstat(file.fileno()).st_size - 4 * rows * columns
        for (row, column), value in marks.items():
            (found,) = struct.unpack("<f", os.pread(file.fileno(), 4, out_start + 4 * (column * rows + row)))
            expect(found, value, "element (%d,%d)" % (row, column))
        zero = bytes(1 << 20)
        nonzero = 0
        os.lseek(file.fileno(), out_start, os.SEEK_SET)
        while chunk := file.read(1 << 20):
            if chunk != zero[:len(chunk)]:
                nonzero += sum(1 for i in range(0, len(chunk), 4) if chunk[i:i + 4] != b"\0\0\0\0")
        expect(nonzero, len(marks), "elements that are not zero")


def large_blocks(command):
    """Without a cap, no block is too large: neither for compare, nor where swapped bytes are moved in parts."""
    sparse_npy(command.path("x.npy"), (2, 4194304), "|u1")
    expect(command.ok("compare", "x.npy", "x.npy", "--from-a", "A4194304a", "--from-b", "A4194304a"),
           "equal: 8388608 elements\n", "compare")
    result = command.run("compare", "x.npy", "x.npy", "--from-a", "A4194304a", "--from-b", "A4194304a", "--max-memory",
                         "2M")
    expect(result.returncode, 2, "compare under a cap")
    dims = (1, 100, 520, 520)
    start = sparse_npy(command.path("swapped.npy"), dims, ">f4")
    with open(command.path("swapped.npy"), "r+b") as file:
        for i in range(0, math.prod(dims), 99991):
            os.pwrite(file.fileno(), struct.pack(">f", i), start + 4 * i)
    command.ok("convert", "swapped.npy", "y.npy", "--to", "nChw16c")
    command.ok("compare", "swapped.npy", "y.npy", "--from-b", "nChw16c", "--dims", comma(dims))


def threads(command):
    """compare says the same with any number of threads, also where it is cut into ranges."""
    dims = (40, 3000, 7)
    values = [0.0] * math.prod(dims)
    tensors.write_npy(command.path("x.npy"), dims, values=values)
    for i in (130003, 130004, 400000, 839999):
        values[i] = i
    tensors.write_npy(command.path("y.npy"), dims, values=values)
    found = {command.run("compare", "x.npy", "y.npy", "--threads", count, *cap).stdout
             for count in (1, 2, 7) for cap in ((), ("--max-memory", "2M"))}
    expect(found, {"4 of 840000 elements differ\nfirst at 6,571,6: 0 and 130003\n"
                   "largest absolute difference 839999\n"}, "compare")


TAGS = [("abcd", 4), ("acdb", 4), ("bcda", 4), ("aBcd8b", 4), ("aBcd16b", 4), ("ABcd4b16a4b", 4), ("BA16a64b", 2),
        ("ba", 2), ("abc", 3), ("aCb3c", 3), ("AbC2a3c2a", 3), ("aBCde4c8b2c", 5), ("Acdb16a", 4), ("dcba", 4),
        ("ABcd16b16a2b", 4), ("abcdefghijkl", 12), ("lkjihgfedcba", 12), ("a", 1), ("A4a", 1)]


def offsets(command):
    """offset and index over whole small tensors, against model.py."""
    rng = random.Random(2)
    for tag, rank in TAGS:
        dims = [rng.choice((1, 2, 3) if rank > 5 else (1, 2, 5, 17, 3)) for _ in range(rank)]
        every = list(model.indices(dims))
        chosen = rng.sample(every, min(len(every), 200))
        arguments = [part for index in chosen for part in ("--index", comma(index))]
        found = [int(line) for line in command.ok("offset", tag, "--dims", comma(dims), *arguments).split()]
        expect(found, [model.offset(tag, dims, index) for index in chosen], "offset %s %s" % (tag, dims))
        back = {model.offset(tag, dims, index): comma(index) for index in every}
        size = math.prod(model.physical_shape(tag, dims))
        asked = rng.sample(range(size), min(size, 200)) + [size, -1]
        arguments = [part for one in asked for part in ("--offset", str(one))]
        lines = command.ok("index", tag, "--dims", comma(dims), *arguments).splitlines()
        wanted = [back.get(one, "padding") for one in asked[:-2]] + ["gap", "gap"]
        expect(lines, wanted, "index %s %s" % (tag, dims))


def descriptions(command):
    """describe --json against model.py."""
    rng = random.Random(3)
    for tag, rank in TAGS:
        dims = [rng.choice((2, 3) if rank > 5 else (2, 5, 17, 3)) for _ in range(rank)]
        about = json.loads(command.ok("describe", tag, "--dims", comma(dims), "--dtype", "f16", "--json"))
        outer, blocks = model.parse(tag)
        shape = model.physical_shape(tag, dims)
        padded = [shape[outer.index(d)] * math.prod(s for e, s in blocks if e == d) for d in range(rank)]
        strides = [math.prod(shape[outer.index(d) + 1:]) for d in range(rank)]
        total = math.prod(shape)
        expect(about["dims"], dims, tag)
        expect(about["padded_dims"], padded, tag + " padded_dims")
        expect(about["strides"], strides, tag + " strides")
        expect(about["inner_blocks"], [{"dim": d, "size": s} for d, s in blocks], tag + " inner_blocks")
        expect(about["size_bytes"], 2 * total, tag + " size_bytes")
        expect(about["span_elements"], total, tag + " span_elements")
        expect(about["logical_bytes"], 2 * math.prod(dims), tag + " logical_bytes")
        expect(about["padding_elements"], total - math.prod(dims), tag + " padding_elements")
        expect((about["injective"], about["dense"], about["offset0"]), (True, total == math.prod(dims), 0), tag)
        assert about["tag"] is not None, tag
        same = [model.offset(about["tag"], dims, i) for i in list(model.indices(dims))[:300]]
        expect(same, [model.offset(tag, dims, i) for i in list(model.indices(dims))[:300]], tag + " " + about["tag"])


def images(command):
    """Every element of MACE's images, against the published formulas, and files of them."""
    for name, (extent, pixel) in model.IMAGES.items():
        dims = (1, 5, 3, 6) if "dw" in name else (2, 5, 3, 6)
        width, height = extent(*dims)
        about = json.loads(command.ok("describe", name, "--dims", comma(dims), "--json"))
        expect((about["image"]["width"], about["image"]["height"]), (width, height), name)
        every = list(model.indices(dims))
        for pitch in (width, width + 3):
            layout = name if pitch == width else "%s;pitch=%d" % (name, pitch)
            arguments = [part for index in every for part in ("--index", comma(index))]
            found = [int(line) for line in command.ok("offset", layout, "--dims", comma(dims), *arguments).split()]
            wanted = [(lambda x, y, k: (y * pitch + x) * 4 + k)(*pixel(*dims, *index)) for index in every]
            expect(found, wanted, layout)
        tensors.write_npy(command.path("x.npy"), dims, values=range(1, 1 + len(every)))
        command.ok("convert", "x.npy", "image.npy", "--to", name, "-f")
        _, _, shape, values = tensors.read_npy(command.path("image.npy"))
        expect(shape, (height, width, 4), name + " shape")
        flat = [0.0] * (height * width * 4)
        for number, where in enumerate(command.ok("offset", name, "--dims", comma(dims), *arguments).split()):
            flat[int(where)] = number + 1.0
        expect(values, flat, name + " values")


def conversions(command):
    """Files between layouts, values and padding, against model.py."""
    rng = random.Random(4)
    for rank in (2, 3, 4, 5):
        names = [tag for tag, r in TAGS if r == rank]
        for src in names:
            for dst in names:
                dims = [rng.choice((1, 2, 3, 5, 17)) for _ in range(rank)]
                every = list(model.indices(dims))
                stored = [-7.0] * math.prod(model.physical_shape(src, dims))  # dirty padding
                wanted = [0.0] * math.prod(model.physical_shape(dst, dims))
                for index in every:
                    value = 1.0 + model.flat_index(dims, index)
                    stored[model.offset(src, dims, index)] = value
                    wanted[model.offset(dst, dims, index)] = value
                tensors.write_npy(command.path("x.npy"), model.physical_shape(src, dims), values=stored)
                command.ok("convert", "x.npy", "y.npy", "--from", src, "--to", dst, "--dims", comma(dims), "-f")
                _, _, shape, values = tensors.read_npy(command.path("y.npy"))
                expect(shape, model.physical_shape(dst, dims), "shape %s -> %s %s" % (src, dst, dims))
                expect(values, wanted, "values %s -> %s %s" % (src, dst, dims))
                command.ok("compare", "x.npy", "y.npy", "--from-a", src, "--from-b", dst, "--dims", comma(dims))


def parts(command):
    """A conversion in parts gives the bytes of one at once: blocks that do not divide, tails, swapped bytes."""
    dims = (3, 1000, 37, 29)
    count = math.prod(dims)
    values = struct.pack(">%df" % count, *range(count))
    head = tensors.npy_bytes((1,), ">f4")
    with open(command.path("x.npy"), "wb") as file:
        text = ("{'descr': '>f4', 'fortran_order': False, 'shape': %s, }" % (dims,)).encode()
        text += b" " * ((64 - (10 + len(text) + 1) % 64) % 64) + b"\n"
        file.write(head[:8] + struct.pack("<H", len(text)) + text + values)
    for to in ("aBcd48b", "nhwc", "BAcd32a3b"):
        command.ok("convert", "x.npy", "whole.npy", "--to", to, "-f")
        summary = json.loads(command.ok("convert", "x.npy", "parts.npy", "--to", to, "-f", "--max-memory", "2M",
                                        "--json"))
        assert summary["parts"] > 1, summary
        with open(command.path("whole.npy"), "rb") as whole, open(command.path("parts.npy"), "rb") as cut:
            assert whole.read() == cut.read(), to
    command.ok("convert", "whole.npy", "48.npy", "--from", "BAcd32a3b", "--dims", comma(dims), "--to", "aBcd48b",
               "--max-memory", "2M")
    command.ok("compare", "48.npy", "x.npy", "--from-a", "aBcd48b", "--from-b", "abcd", "--dims", comma(dims),
               "--max-memory", "3M")


def safe_in_place(command):
    """Output == input, and an output that exists stays whole when the conversion fails."""
    tensors.write_npy(command.path("x.npy"), (2, 3))
    expect(command.run("convert", "x.npy", "x.npy", "--to", "ba").returncode, 4, "without -f")
    expect(tensors.read_npy(command.path("x.npy"))[3], [0, 1, 2, 3, 4, 5], "untouched")
    command.ok("convert", "x.npy", "x.npy", "--to", "ba", "-f")
    expect(tensors.read_npy(command.path("x.npy"))[2:], ((3, 2), [0, 3, 1, 4, 2, 5]), "in place")
    expect(command.files(), ["x.npy"], "files")


def terminal(command):
    """Colour on a terminal, none with NO_COLOR, none in a pipe."""
    def on_terminal(more_env):
        parent, child = pty.openpty()
        process = subprocess.Popen([command.binary, "describe", "nchw", "--dims", "1,2,3,4"], stdout=child,
                                   env=dict(command.env, **more_env))
        process.wait(timeout=30)
        os.close(child)
        out = b""
        try:
            while chunk := os.read(parent, 4096):
                out += chunk
        except OSError:
            pass  # Linux's way to say that the other end is closed
        os.close(parent)
        return out
    assert b"\x1b[" in on_terminal({}), "no colour on a terminal"
    assert b"\x1b[" not in on_terminal({"NO_COLOR": "1"}), "colour in spite of NO_COLOR"
    assert "\x1b[" not in command.ok("describe", "nchw", "--dims", "1,2,3,4"), "colour in a pipe"


def doctor(command):
    about = json.loads(command.ok("doctor", "--json"))
    for field in ("version", "compiler", "isa", "available_isas", "cores", "threads", "caches", "libraries"):
        assert field in about, field
    assert about["isa"] in about["available_isas"], about["isa"]
    text = command.ok("doctor")
    for word in ("ISA", "threads", "caches", "CLI11"):
        assert word in text, word
    forced = json.loads(command.ok("doctor", "--json", more_env={"RELAYOUT_ISA": "scalar"}))
    expect(forced["isa"], "scalar", "RELAYOUT_ISA=scalar")
    bogus = {"RELAYOUT_ISA": "bogus"}
    assert 'does not run "bogus"' in command.ok("doctor", more_env=bogus)
    tensors.write_npy(command.path("x.npy"), (2, 3))
    for args in (("convert", "x.npy", "y.npy", "--to", "ba"), ("compare", "x.npy", "x.npy")):
        result = command.run(*args, "--json", more_env=bogus)
        expect(result.returncode, 5, "%s with a bogus RELAYOUT_ISA" % args[0])
        expect(json.loads(result.stderr)["error"]["value"], "bogus", args[0])
    expect(command.files(), ["x.npy"], "files")


def bench(command):
    """The fields of a measurement and what must hold between them, whatever the machine."""
    pairs = ((("nchw", "nhwc", "1,8,4,4"), 1024), (("nchw", "nChw16c", "2,17,9,9", "--threads", "2"), 4 * 162 * (17 + 32)),
             (("nchw", "nhwc", "1,3,64,64", "--to-dtype", "u8", "--scale", "255"), 5 * 3 * 64 * 64),
             (("ab", "ba", "1024,1100"), 8 * 1024 * 1100),
             (("strides:0,1", "ab", "128,64"), 4 * 64 + 4 * 128 * 64))
    for (src, dst, dims, *more), moved in pairs:
        about = json.loads(command.ok("bench", "--src", src, "--dst", dst, "--dims", dims, "--repeat", "3", "--verify",
                                      "--json", *more))
        expect((about["bytes"], about["repeat"], about["verified"]), (moved, 3, True), "%s" % about)
        for field in ("median_ns", "min_ns", "gbps", "copy_ns", "memcpy_ns", "ratio", "min_ratio", "plan_ns",
                      "predicted_ns"):
            assert about[field] > 0, (field, about)
        assert about["kernel"] and about["isa"], about
        assert about["min_ns"] <= about["median_ns"], about
        expect(about["copy_ns"], min(about["memcpy_ns"], about["nt_copy_ns"] or math.inf), "copy_ns")
        assert math.isclose(about["ratio"], about["median_ns"] / about["copy_ns"], rel_tol=1e-6), about
        assert math.isclose(about["gbps"], moved / about["median_ns"], rel_tol=1e-6), about
    assert "ratio" in command.ok("bench", "--src", "ab", "--dst", "ba", "--dims", "8,8", "--repeat", "1")
    result = command.run("bench", "--src", "abc", "--dst", "cba", "--dims", "99999,99999,999", "--json")
    expect(result.returncode, 2, "more memory than there is")
    error = json.loads(result.stderr)["error"]
    expect((error["code"], error["value"]), ("limit", str(2 * 4 * 99999 * 99999 * 999)), "more memory than there is")
    result = command.run("bench", "--src", "ab", "--dst", "ba", "--dims", "8,8", more_env={"RELAYOUT_ISA": "bogus"})
    expect(result.returncode, 5, "a bogus RELAYOUT_ISA")
    text = command.ok("bench", "--suite", "--filter", "tiny: ", "--repeat", "1", "--verify", "--out", "suite.json")
    with open(command.path("suite.json")) as file:
        suite = json.load(file)
    for field in ("processor", "caches", "compiler", "flags", "date"):
        assert field in suite["machine"], field
    assert len(suite["results"]) >= 3, suite
    for result in suite["results"]:
        expect((result["row"], result["goal"], result["verified"]), ("tiny", 25, True), "%s" % result)
        expect(result["met"], result["median_ns"] <= result["goal"], "%s" % result)
        assert result["name"] in text, text
    (row,) = [row for row in suite["rows"] if row["row"] == "tiny"]
    expect(row["by_threads"][0]["cases"], len(suite["results"]), "cases of the row")
    expect(row["by_threads"][0]["worst"], max(result["median_ns"] for result in suite["results"]), "worst")
    (plans,) = [row for row in suite["rows"] if row["row"] == "plan"]
    expect(plans["by_threads"][0]["worst"], max(result["plan_ns"] for result in suite["results"]), "worst plan")
    sweep = json.loads(command.ok("bench", "--sweep", "--quick", "--filter", "ab -> ba", "--repeat", "1", "--json"))
    expect([point["src_bytes"] for point in sweep["sweeps"][0]["points"]], [4096 << i for i in range(9)], "sizes")
    process = command.start("bench", "--src", "ab", "--dst", "ba", "--dims", "512,512", "--repeat", "1000000")
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    expect(process.returncode, 130, "exit code after SIGINT")


def tuning(command):
    """--tune of both verbs: what was found is remembered where asked, and a file that is no tuning file is left alone."""
    def content(name):
        with open(command.path(name), "rb") as file:
            return file.read()

    pair = ("bench", "--src", "ab", "--dst", "ba", "--dims", "2048,2040", "--repeat", "1", "--json")
    assert "tuned_ns" not in json.loads(command.ok(*pair)), "tuned without --tune"
    about = json.loads(command.ok(*pair, "--tune"))
    assert about["tuned_ns"] > 0 and about["tuning"] and not about["tuning_remembered"], about
    expect(command.files(), [], "files of --tune alone")
    about = json.loads(command.ok(*pair, "--verify", "--tune=tune.txt"))
    expect((about["verified"], about["tuning_remembered"]), (True, False), "%s" % about)
    if about["tuning_candidates"] > 0:  # A busy machine may need all the time for less than a decision.
        again = json.loads(command.ok(*pair, "--tune", more_env={"RELAYOUT_TUNE_FILE": "tune.txt"}))
        expect((again["tuning"], again["tuning_remembered"]), (about["tuning"], True), "%s" % again)

    tensors.write_npy(command.path("x.npy"), (700, 900))
    command.ok("convert", "x.npy", "y.npy", "--from", "ab", "--to", "ba")
    for extra in (("--tune=of-convert.txt",), ("--tune=of-convert.txt",), ("--tune",), ("--tune", "--max-memory", "1M")):
        command.ok("convert", *extra, "x.npy", "z.npy", "--from", "ab", "--to", "ba", "-f")
        expect(content("z.npy"), content("y.npy"), "convert %s" % (extra,))

    before = content("x.npy")
    result = command.run(*pair, "--tune=x.npy")
    expect(result.returncode, 0, "a tuning file that is none")
    assert "tuning file" in result.stderr, result.stderr
    expect(content("x.npy"), before, "a file that is no tuning file")
    assert not [name for name in command.files() if "relayout-" in name], command.files()


def json_everywhere(command):
    tensors.write_npy(command.path("x.npy"), (2, 3))
    for args in (("describe", "ab", "--dims", "2,3"), ("offset", "ab", "--dims", "2,3", "--index", "1,1"),
                 ("index", "ab", "--dims", "2,3", "--offset", "1"), ("tags",), ("doctor",),
                 ("convert", "x.npy", "y.npy", "--to", "ba"), ("compare", "x.npy", "x.npy"),
                 ("bench", "--src", "ab", "--dst", "ba", "--dims", "8,8")):
        json.loads(command.ok(*args, "--json"))
    for code, args in ((2, ("describe", "nhcw", "--dims", "1,2,3,4")), (2, ("describe",)), (2, ("bogus",)),
                       (4, ("compare", "x.npy", "missing.npy")),
                       (3, ("convert", "x.npy", "z.npy", "--from", "abc", "--to", "abc"))):
        result = command.run(*args, "--json")
        expect(result.returncode, code, "%s" % (args,))
        error = json.loads(result.stderr)["error"]
        expect(sorted(error), ["code", "field", "limit", "message", "value"], "%s" % (args,))
        expect(result.stdout, "", "%s" % (args,))


def explain(command):
    tensors.write_npy(command.path("x.npy"), (2, 17, 5, 4))
    text = command.ok("convert", "x.npy", "y.npy", "--to", "nChw16c", "--explain")
    assert len(text) > 40, text
    expect(tensors.read_npy(command.path("y.npy"))[2], (2, 2, 5, 4, 16), "still converts")


def check(command):
    def save(content):
        with open(command.path("plan.json"), "w") as file:
            file.write(content if isinstance(content, str) else json.dumps(content))

    plan = certificates.small_plan()
    save(plan)
    expect(command.ok("check", "plan.json"), "optimal: 9 us proven\n", "a plan that is proven")
    expect(json.loads(command.ok("check", "plan.json", "--json")),
           {"valid": True, "optimal": True, "cost_us": 9, "bound_us": 9, "gap": 0}, "the same as JSON")
    for what, wrong, message in certificates.wrong_small_plans():
        save(wrong)
        result = command.run("check", "plan.json")
        assert result.returncode == 3 and message in result.stderr, "%s: %d, %r, expected %r" % (
            what, result.returncode, result.stderr, message)
    for seed in range(200):
        what, garbled = certificates.garbled(plan, seed)
        save(garbled)
        result = command.run("check", "plan.json")
        assert result.returncode in (0, 3), "%s: %d, %s" % (what, result.returncode, result.stderr)
    for what, text in certificates.not_json():
        save(text)
        result = command.run("check", "plan.json")
        assert result.returncode == 3 and result.stderr.count("\n") == 1, "%s: %s" % (what, result.stderr)
    expect(command.run("check", "missing.json").returncode, 4, "no file")


def plans(command):
    """Plans by every policy, saved, proven, run, and refused where they are of another model."""
    env = {"RELAYOUT_COST_FILE": command.path("costs.txt")}
    model = "model:shufflenet,image=32,channels=16"
    result = command.run("plan", model, "--threads", "1", "-o", "plan.json", "--json", more_env=env)
    if result.returncode == 5:
        return "skipped: " + result.stderr.strip()
    expect(result.returncode, 0, result.stderr)
    plan = json.loads(result.stdout)
    expect(plan["policy"], "optimal", "the policy")
    assert plan["optimal"] and plan["gap"] == 0, "proven"
    assert plan["predicted_us"] > 0 and plan["planning_ms"] > 0, "times"
    names = {"optimal", "any", "nchw", "nhwc", "blocked", "8c", "16c", "openvino", "ort"}
    expect(set(plan["policies"]), names, "policies")
    for name, one in plan["policies"].items():
        assert "error" in one or one["predicted_us"] >= plan["predicted_us"] * (1 - 1e-9), (name, one)
    assert "proven" in command.ok("check", "plan.json"), "check"
    for policy in sorted(names):
        text = command.ok("plan", model, "--threads", "1", "--policy", policy, more_env=env)
        assert policy + " *" in text, text
        assert "equal" in command.ok("run", model, "--threads", "1", "--policy", policy, "--random-inputs", "1", "--check",
                                     more_env=env), policy
    # The saved plan runs, and only on its model.
    command.ok("run", model, "--threads", "1", "--plan", "plan.json", "--random-inputs", "1", "--check", more_env=env)
    for wrong, message in (("model:shufflenet,image=64,channels=16", "dims"), ("model:small_cnn,image=32", "another model"),
                           ("model:shufflenet,image=32,channels=32", "dims")):
        result = command.run("run", wrong, "--plan", "plan.json", "--random-inputs", "1", more_env=env)
        expect(result.returncode, 3, "%s by another model's plan: %s" % (wrong, result.stderr))
        assert message in result.stderr, result.stderr
    result = command.run("run", model, "--batch", "2", "--plan", "plan.json", "--random-inputs", "1", more_env=env)
    expect(result.returncode, 3, "another batch size")

    def tampered(change, code, message):
        copy = json.loads(json.dumps(plan))
        change(copy)
        with open(command.path("bad.json"), "w") as file:
            json.dump(copy, file)
        result = command.run("run", model, "--threads", "1", "--plan", "bad.json", "--random-inputs", "1", more_env=env)
        expect(result.returncode, code, "%s: %s" % (message, result.stderr))
        assert message in result.stderr, result.stderr
    tampered(lambda p: p.pop("copies"), 3, 'no "copies"')
    tampered(lambda p: p["copies"][0].pop("digits"), 3, 'no "digits"')
    tampered(lambda p: p["copies"][0].update(tensor="none"), 3, "of no tensor")
    tampered(lambda p: p["copies"][0].update(view_of=99999), 3, "refers to copy")
    tampered(lambda p: p["copies"][0].update(offset=1 << 40), 3, "plan")
    tampered(lambda p: p["primitives"].pop(), 3, "primitives")
    tampered(lambda p: p["primitives"][0].update(implementation="magic"), 5, "magic")
    tampered(lambda p: p["primitives"][0].update(src=["x"]), 3, "whole number")
    tampered(lambda p: p.update(inputs=[]), 3, "inputs")
    with open(command.path("bad.json"), "w") as file:
        file.write("[" * 100)
    expect(command.run("run", model, "--plan", "bad.json", "--random-inputs", "1").returncode, 3, "deep JSON")
    expect(command.run("run", model, "--plan", "missing.json", "--random-inputs", "1").returncode, 4, "no file")


def plan_options(command):
    env = {"RELAYOUT_COST_FILE": command.path("costs.txt")}
    model = "model:small_cnn,image=32,channels=8"
    result = command.run("plan", model, "--threads", "1", "--tune", "--json", more_env=env)
    if result.returncode == 5:
        return "skipped: " + result.stderr.strip()
    expect(result.returncode, 0, result.stderr)
    tuned = json.loads(result.stdout)
    fastest = min(one["measured_us"] for one in tuned["policies"].values() if "error" not in one)
    assert tuned["measured_us"] <= 1.02 * fastest, "the fastest is kept, within noise: %s" % tuned["policies"]
    plan = json.loads(command.ok("plan", model, "--threads", "1", "--json", more_env=env))
    tensor = next(p for p in plan["primitives"] if p["kind"] == "convolution")["name"]
    for layout in ("nchw", "nhwc", "nChw16c"):
        wished = json.loads(command.ok("plan", model, "--threads", "1", "--what-if", "%s=%s" % (tensor, layout), "--json",
                                       more_env=env))["what_if"]
        assert wished["difference_us"] >= -1e-6, wished
        assert abs(wished["predicted_us"] - plan["predicted_us"] - wished["difference_us"]) < 1e-3, wished
    measured = json.loads(command.ok("plan", model, "--threads", "1", "--cost", "measured", "--json", more_env=env))
    expect(measured["cost"], "measured", "costs")
    training = json.loads(command.ok("plan", model, "--threads", "1", "--training", "--json", more_env=env))
    assert training["optimal"] and any(p["pass"].startswith("backward") for p in training["primitives"]), "training"
    for args, what in ((("--policy", "fast"), "--policy"), (("--cost", "guessed"), "--cost"),
                       (("--what-if", "nothing=nchw"), "--what-if"), (("--what-if", tensor + "=nhcw"), "nhcw"),
                       (("--what-if", tensor), "TENSOR=LAYOUT"), (("--what-if", "image=nhwc"), "is given"),
                       (("--tune", "--policy", "nhwc"), "--tune"), (("--threads", "100000"), "1024")):
        result = command.run("plan", model, *args)
        expect(result.returncode, 2, "%s: %s" % (args, result.stderr))
        assert what in result.stderr, result.stderr
    for bad in ("model:nothing", "model:unet,size=3", "model:unet,image=x", "model:unet,image=8"):
        expect(command.run("plan", bad).returncode, 2, bad)


def entries(path):
    with open(path) as file:
        return sum(line[0] in "0123456789abcdef" and line[:3] != "end" for line in file)


def plan_files(command):
    """Files of costs and ways: what is wrong with them is said once, and they are of one set of kernels."""
    model = "model:small_cnn,image=32,channels=16"
    costs = {"RELAYOUT_COST_FILE": command.path("costs.txt")}
    measured = ("plan", model, "--threads", "1", "--cost", "measured", "--json")
    result = command.run(*measured, more_env=costs)
    if result.returncode == 5:
        return "skipped: " + result.stderr.strip()
    expect(result.returncode, 0, result.stderr)
    assert "warnings" not in json.loads(result.stdout) and not result.stderr, result.stderr
    known, ways = entries(command.path("costs.txt")), entries(command.path("ways.txt"))
    command.ok(*measured, more_env=costs)
    expect(entries(command.path("costs.txt")), known, "times that are known")
    # Other kernels: their times and ways are others.
    for setting in ({"ONEDNN_MAX_CPU_ISA": "SSE41"}, {"ONEDNN_DEFAULT_FPMATH_MODE": "ANY"}, {"RELAYOUT_ISA": "scalar"}):
        command.ok(*measured, more_env=dict(costs, **setting))
        more, more_ways = entries(command.path("costs.txt")), entries(command.path("ways.txt"))
        assert more > known and more_ways > ways, "%s: %d times, %d ways" % (setting, more, more_ways)
        known, ways = more, more_ways
    # A warning each, in text and as a field; files that are none stay.
    for name in ("costs.txt", "ways.txt"):
        kept = open(command.path(name)).read()
        with open(command.path(name), "w") as file:
            file.write("something else")
        result = command.run(*measured, more_env=costs)
        expect(result.returncode, 0, result.stderr)
        expect(result.stderr.count("\n"), 1, "lines: " + result.stderr)
        assert result.stderr.startswith("relayout: warning: ") and name in result.stderr, result.stderr
        assert name in json.loads(result.stdout)["warnings"][0], result.stdout
        result = command.run("run", model, "--threads", "1", "--cost", "measured", "--random-inputs", "1", more_env=costs)
        expect((result.returncode, result.stderr.count("warning")), (0, 1), result.stderr)
        expect(open(command.path(name)).read(), "something else", name)
        with open(command.path(name), "w") as file:
            file.write(kept)
    os.mkdir(command.path("folder"))
    os.mkdir(command.path("folder/.costs.txt.lock"))
    result = command.run(*measured, more_env={"RELAYOUT_COST_FILE": command.path("folder/costs.txt")})
    expect((result.returncode, result.stderr.count("warning")), (0, 1), "a file that cannot be written: " + result.stderr)
    # Ways that the file has, and the backend has not: their plans are left out, with the reason.
    plan = json.loads(command.ok("plan", model, "--threads", "1", "--json", more_env=costs))
    used = {one["implementation"] for one in plan["primitives"]}
    with open(command.path("ways.txt")) as file:
        lines = file.read()
    name = re.compile(" [a-z][a-z0-9_+]*:[a-z0-9_:+]+(?= )")
    with open(command.path("ways.txt"), "w") as file:
        file.write(name.sub(lambda found: found[0] if found[0][1:] in used else " relayout:magic", lines))
    tuned = json.loads(command.ok("plan", model, "--threads", "1", "--tune", "--json", more_env=costs))
    failed = [one for one in tuned["policies"].values() if "magic" in one.get("problem", "")]
    assert failed and all("measured_us" not in one for one in failed) and tuned["measured_us"] > 0, tuned["policies"]
    assert "magic" in command.ok("plan", model, "--threads", "1", "--tune", more_env=costs), "the reason as text"
    with open(command.path("ways.txt"), "w") as file:
        file.write(name.sub(" relayout:magic", lines))
    result = command.run("plan", model, "--threads", "1", "--tune", more_env=costs)
    expect(result.returncode, 5, "no plan runs: " + result.stderr)


def plan_interrupted(command):
    """Ctrl-C while costs are measured: one line, and what was measured stays."""
    env = dict(command.env, RELAYOUT_COST_FILE=command.path("costs.txt"))
    command.env = env
    process = command.start("plan", "model:inception,image=224,channels=32", "--threads", "1", "--cost", "measured")
    time.sleep(2)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    if process.returncode == 5:
        return "skipped: " + err.strip()
    expect(process.returncode, 130, "exit code: " + err)
    expect(out, "", "standard output")
    assert re.fullmatch(r"relayout: interrupted: [0-9]+ times were measured; they are kept in .*costs.txt, .*\n", err), err
    assert entries(command.path("costs.txt")) >= int(re.search("[0-9]+", err).group()) > 0, err


def plan_threads(command):
    """A plan for another number of threads says so."""
    env = {"RELAYOUT_COST_FILE": command.path("costs.txt")}
    model = "model:unet,image=32,channels=16"
    result = command.run("plan", model, "--threads", "1", "--policy", "nchw", "-o", "plan.json", more_env=env)
    if result.returncode == 5:
        return "skipped: " + result.stderr.strip()
    args = ("run", model, "--plan", "plan.json", "--random-inputs", "1", "--json", "--threads")
    same = command.run(*args, "1", more_env=env)
    assert same.returncode == 0 and not same.stderr and "plan_threads" not in json.loads(same.stdout), same.stderr
    other = command.run(*args, "2", more_env=env)
    expect(other.returncode, 0, other.stderr)
    assert "note: plan.json is for --threads 1 and runs with 2" in other.stderr, other.stderr
    expect([json.loads(other.stdout)[key] for key in ("threads", "plan_threads")], [2, 1], "threads")


def plan_widths(command):
    """Layouts without a short name stand below the tables."""
    env = {"RELAYOUT_COST_FILE": command.path("costs.txt")}
    result = command.run("plan", "model:unet,image=64,channels=8", "--threads", "1", more_env=env)
    if result.returncode == 5:
        return "skipped: " + result.stderr.strip()
    primitives = result.stdout.split("Reorders\n")[0].split("\n")[1:]
    widest = max(primitives, key=len)
    assert len(widest) <= 160, widest
    assert any("layout(1)" in line for line in primitives), result.stdout
    assert re.search(r"^Layouts\n  layout\([0-9]+\)  a = ", result.stdout, re.M), result.stdout


ALL = [closed_pipe, full_device, closed_standard_output, interrupt, cached_pages, peak_memory, large_blocks, threads,
       offsets, descriptions, images, conversions, parts, safe_in_place, terminal, doctor, bench, tuning, json_everywhere,
       explain, check, plans, plan_options,
       plan_files, plan_interrupted, plan_threads, plan_widths]
