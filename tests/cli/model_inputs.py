"""run's inputs: dims that a model leaves open, pictures that are resized and normalised, and other types than f32."""
import itertools
import json
import struct

import tensors
from outputs import field, node
from shared import expect

FLOAT, HALF = 1, 10
LAST = "nhwc.permute(0,2,3,1)"  # a picture whose channels are the last dim of the model's input


def value(name, dims, dtype=FLOAT):
    """A ValueInfoProto, whose dims are numbers or, left open, names; "" is a dim without a name."""
    shape = b"".join(field(1, b"" if dim == "" else field(2 if isinstance(dim, str) else 1, dim)) for dim in dims)
    return field(1, name) + field(2, field(1, field(1, dtype) + field(2, shape)))


def model(command, path, inputs, nodes):
    """Writes an ONNX model of opset 13. The outputs are those of the nodes, (operation, source, destination) each."""
    parts = [field(1, node(*n)) for n in nodes] + [field(2, "graph")]
    graph = b"".join(parts + [field(11, value(*item)) for item in inputs] +
                     [field(12, field(1, n[2])) for n in nodes])
    length = bytes([len(graph) & 127 | 128, len(graph) >> 7])  # up to 16 KiB
    with open(command.path(path), "wb") as file:
        file.write(field(1, 7) + bytes([7 << 3 | 2]) + length + graph + field(8, field(2, 13)))


def run(command, *args):
    """(shape, values) of the model's output."""
    command.ok("run", *args, "--threads", "1", "-o", "y.npy", "-f")
    _, _, shape, values = tensors.read_npy(command.path("y.npy"))
    return tuple(shape), values


def refused(command, code, message, *args):
    threads = () if args[0] == "check" else ("--threads", "1")
    result = command.run(*args, *threads)
    expect(result.returncode, code, "%s: %s" % (args, result.stderr))
    assert message in result.stderr, "%s: %r, expected %r" % (args, result.stderr, message)


def dims_in_runs(command):
    """Inputs say the dims, in their shapes; --dim and --batch say them otherwise."""
    for rows, columns in ((3, 2), (1, 4)):
        numbers = list(range(-1, rows * columns - 1))
        tensors.write_npy(command.path("x.npy"), (rows, columns), values=numbers)
        positive = [max(x, 0) for x in numbers]
        expect(run(command, "open.onnx", "--input", "x.npy"), ((rows, columns), positive), "dims of an array")
        expect(run(command, "open.onnx", "--input", "x=x.npy", "--dim", "rows=%d" % rows),
               ((rows, columns), positive), "the array and --dim")
        with open(command.path("x.bin"), "wb") as file:
            file.write(struct.pack("<%df" % len(numbers), *numbers))
        for flags in (("--dim", "rows=%d" % rows, "--dim", "columns=%d" % columns),
                      ("--batch", rows, "--dim", "x[1]=%d" % columns)):
            expect(run(command, "open.onnx", "--input", "x.bin", *flags), ((rows, columns), positive), "raw bytes")
            shape, _ = run(command, "open.onnx", "--random-inputs", "1", *flags)
            expect(shape, (rows, columns), "random inputs")
    # Standard input is read once, in .npy format.
    with open(command.path("x.npy"), "rb") as file:
        command.ok("run", "open.onnx", "--input", "-", "--threads", "1", "-o", "y.npy", "-f", stdin=file)
    expect(tensors.read_npy(command.path("y.npy"))[3], positive, "standard input")
    # A layout whose array does not show the dims that are fixed: 3 channels in a block of 4.
    tensors.write_npy(command.path("b.npy"), (2, 1, 4), values=[1, 2, 3, 0, 4, 5, 6, 0])
    expect(run(command, "three.onnx", "--input", "b.npy", "--input-layout", "aB4b"), ((2, 3), [1, 2, 3, 4, 5, 6]),
           "blocks")


def several_inputs_of_a_plan(command):
    """A file says the dims of one input, the plan those of another."""
    model(command, "two.onnx", [("x", ["rows", "columns"]), ("z", ["rows", "depth"])],
          [("Relu", "x", "y"), ("Relu", "z", "v")])
    command.ok("plan", "two.onnx", "--threads", "1", "--dim", "rows=3", "--dim", "columns=2", "--dim", "depth=5", "-o",
               "two.json")
    tensors.write_npy(command.path("x2.npy"), (3, 2))
    planned = ("run", "two.onnx", "--plan", "two.json", "--threads", "1", "--random-inputs", "1")
    command.ok(*planned, "--input", "x=x2.npy")
    command.ok(*planned, "--input", "x=x2.npy", "--dim", "depth=5")
    refused(command, 2, 'dim "depth" is 6 as given, and 5 in the plan', *planned[:-4], "--random-inputs", "1",
            "--input", "x=x2.npy", "--dim", "depth=6")
    tensors.write_npy(command.path("x2.npy"), (3, 4))
    refused(command, 2, 'dim "columns" is 4 in input "x", and 2 in the plan', *planned[:-4], "--random-inputs", "1",
            "--input", "x=x2.npy")


def open_dims(command):
    """plan, check and run of a model that leaves dims open."""
    model(command, "open.onnx", [("x", ["rows", "columns"])], [("Relu", "x", "y")])
    model(command, "three.onnx", [("x", ["rows", 3])], [("Relu", "x", "y")])
    result = command.run("plan", "open.onnx", "--threads", "1", "--dim", "rows=3", "--dim", "columns=2", "-o",
                         "plan.json")
    if result.returncode == 5:
        return "skipped: " + result.stderr.strip()
    expect((result.returncode, result.stderr), (0, ""), "plan --dim")
    with open(command.path("plan.json")) as file:
        expect(json.load(file)["tensors"]["x"]["dims"], [3, 2], "dims in the plan")
    same = ("--dim", "rows=3", "--dim", "columns=2")
    command.ok("check", "plan.json", "--model", "open.onnx", *same)
    # Where nothing says the dims, they are the plan's.
    command.ok("check", "plan.json", "--model", "open.onnx")
    shape, _ = run(command, "open.onnx", "--plan", "plan.json", "--random-inputs", "1")
    expect(shape, (3, 2), "dims of the plan")
    # Where something says some of them, the others are the plan's; what says another value than the plan is named.
    for flags in (("--dim", "rows=3"), ("--dim", "columns=2"), ("--batch", "3"), same):
        command.ok("check", "plan.json", "--model", "open.onnx", *flags)
        shape, _ = run(command, "open.onnx", "--plan", "plan.json", "--random-inputs", "1", *flags)
        expect(shape, (3, 2), "dims of flags and of the plan")
    only = "in the plan, which is for that size alone"
    tensors.write_npy(command.path("x.npy"), (2, 2))
    planned = ("run", "open.onnx", "--plan", "plan.json")
    refused(command, 2, 'dim "rows" is 2 in input "x", and 3 ' + only, *planned, "--input", "x.npy")
    refused(command, 2, 'dim "columns" is 4 as given, and 2 ' + only, *planned, "--random-inputs", "1", "--dim",
            "columns=4")
    refused(command, 2, 'dim "rows" is 4 by the batch size, and 3 ' + only, *planned, "--random-inputs", "1",
            "--batch", "4")
    several_inputs_of_a_plan(command)
    model(command, "other.onnx", [("z", ["rows", "columns"])], [("Relu", "z", "y")])
    refused(command, 3, 'made for another model: it has no tensor "z"', "check", "plan.json", "--model", "other.onnx")
    model(command, "more.onnx", [("x", ["rows", "columns", 1])], [("Relu", "x", "y")])
    refused(command, 3, 'tensor "x" has 2 dims, and 3 in the model', "check", "plan.json", "--model", "more.onnx")
    refused(command, 2, 'dim "rows" is 4 by the batch size, and 3 ' + only, "check", "plan.json", "--model",
            "open.onnx", "--batch", "4", "--dim", "columns=2")
    tensors.write_npy(command.path("x.npy"), (3, 2))
    run(command, "open.onnx", "--plan", "plan.json", "--input", "x.npy")
    dims_in_runs(command)
    return None


def open_dims_refused(command):
    """Dims that nothing says, that contradict each other, or that the model does not have."""
    model(command, "open.onnx", [("x", ["rows", "columns"]), ("z", ["rows", ""])],
          [("Relu", "x", "y"), ("Relu", "z", "v")])
    result = command.run("plan", "open.onnx", "--threads", "1", "--dim", "columns=2", "--dim", "z[1]=2")
    if result.returncode == 5:
        return "skipped: " + result.stderr.strip()
    expect(result.returncode, 0, result.stderr)
    expect(result.stderr, 'relayout: warning: dim 0 of input "x" ("rows") has no value, and is taken as 1\n', "a batch")
    tensors.write_npy(command.path("x.npy"), (3, 2))
    tensors.write_npy(command.path("z.npy"), (4, 2))
    both = ("run", "open.onnx", "--input", "x.npy", "--input", "z.npy")
    refused(command, 2, 'dim 1 of input "x" ("columns") has no value; give --dim columns=N\n', "plan", "open.onnx")
    refused(command, 2, "give --dim columns=N, or an --input whose shape shows it\n", "run", "open.onnx")
    refused(command, 2, "has no value; give --dim 'z[1]=N'", "plan", "open.onnx", "--dim", "columns=2")
    refused(command, 2, "did you mean columns?", "plan", "open.onnx", "--dim", "colums=2")
    refused(command, 2, "those without a value are rows, columns, z[1]\n", "plan", "open.onnx", "--dim", "channels=2")
    refused(command, 2, 'dim "rows" is 3 in input "x", and 4 in input "z"', *both)
    refused(command, 2, 'dim "rows" is 2 as given, and 3 in input "x"', *both, "--dim", "rows=2")
    refused(command, 2, "is 3 as given, and 4 by the batch size", *both, "--dim", "rows=3", "--batch", "4")
    refused(command, 4, 'relayout: open "absent.npy": No such file or directory\n', "run", "open.onnx", "--input",
            "absent.npy", "--input", "z.npy")
    tensors.write_npy(command.path("x.npy"), (3, 2, 1))
    refused(command, 3, 'input "x" has 2 dims, and its array has 3', *both)
    for text in ("rows", "=3", "rows=", "rows=x", "rows=0", "rows=-1"):
        refused(command, 2, "--dim", "plan", "open.onnx", "--dim", text)
    refused(command, 2, "--dim", "plan", "model:small_cnn", "--dim", "batch=2")
    expect(command.run("check", "plan.json", "--dim", "rows=2").returncode, 2, "--dim without --model")
    return None


def mean_around(picture, width, height, new_width, new_height):
    """A picture of (y, x, c) -> value by the definition of its resizing, each pixel by itself."""
    def weights(at, old, new):
        scale = old / new
        reach = max(scale, 1)
        all_of = [max(0, 1 - abs((s + 0.5) - (at + 0.5) * scale) / reach) for s in range(old)]
        return [w / sum(all_of) for w in all_of]
    out = {}
    for y, x, c in itertools.product(range(new_height), range(new_width), range(3)):
        rows, columns = weights(y, height, new_height), weights(x, width, new_width)
        out[y, x, c] = sum(rows[i] * columns[j] * picture[i, j, c] for i in range(height) for j in range(width))
    return out


def pixels_of(command, path):
    """(y, x, c) -> value of a picture, by relayout convert."""
    command.ok("convert", path, "pixels.npy", "--to", "nhwc", "-f")
    _, _, (_, height, width, _), values = tensors.read_npy(command.path("pixels.npy"))
    places = itertools.product(range(height), range(width), range(3))
    return dict(zip(places, values))


def check_picture(values, wanted, height, width, what, per_level=1.0):
    for c, y, x in itertools.product(range(3), range(height), range(width)):
        got = values[(c * height + y) * width + x]
        assert abs(got - wanted[y, x, c]) <= 0.51 * per_level, "%s: %r at %r, expected %r" % (
            what, got, (y, x, c), wanted[y, x, c])


def pictures(command):
    """--resize, --mean and --std, and what is said of pictures that do not fit."""
    model(command, "net.onnx", [("x", [1, 3, 4, 5])], [("Relu", "x", "y")])
    for name, data in (("p.png", tensors.png_bytes(9, 7)), ("p.bmp", tensors.bmp_bytes(9, 7)),
                       ("small.png", tensors.png_bytes(3, 2))):
        with open(command.path(name), "wb") as file:
            file.write(data)
    result = command.run("run", "net.onnx", "--threads", "1", "--input", "p.png", "--resize", "5x4")
    if result.returncode == 5:
        return "skipped: " + result.stderr.strip()
    for name, width, height in (("p.png", 9, 7), ("p.bmp", 9, 7), ("small.png", 3, 2)):
        picture = pixels_of(command, name)
        shape, values = run(command, "net.onnx", "--input", name, "--resize", "5x4")
        expect(shape, (1, 3, 4, 5), "dims")
        check_picture(values, mean_around(picture, width, height, 5, 4), 4, 5, name)
    # The shorter side, 7, becomes 6, the longer one 7; the middle is taken.
    picture = pixels_of(command, "p.png")
    whole = mean_around(picture, 9, 7, 7, 6)
    _, values = run(command, "net.onnx", "--input", "p.png", "--resize", "6")
    check_picture(values, {(y, x, c): whole[y + 1, x + 1, c] for y in range(4) for x in range(5) for c in range(3)}, 4,
                  5, "the middle")
    # Values are (scale * value - mean) / std, of one number or one a channel.
    small = mean_around(picture, 9, 7, 5, 4)
    for scale, mean, std in ((1, (100, 50, 20), (2, 4, 8)), (0.5, (10,) * 3, (1,) * 3)):
        flags = [text for name, numbers in (("--mean", mean), ("--std", std))
                 for text in (name, ",".join(map(str, numbers[:1] if len(set(numbers)) == 1 else numbers)))]
        _, values = run(command, "net.onnx", "--input", "p.png", "--resize", "5x4", "--input-scale", scale, *flags)
        normal = {(y, x, c): max(0, (scale * v - mean[c]) / std[c]) for (y, x, c), v in small.items()}
        check_picture(values, normal, 4, 5, flags, scale / min(std))
    refused(command, 3, "the dims are 1x3x7x9, but those of the model's input x are 1x3x4x5; --resize 5x4 resizes it",
            "run", "net.onnx", "--input", "p.png")
    refused(command, 3, "the dims are 1x3x4x4", "run", "net.onnx", "--input", "p.png", "--resize", "4x4")
    refused(command, 2, "2 numbers for the 3 indices", "run", "net.onnx", "--input", "p.png", "--resize", "5x4",
            "--mean", "1,2")
    for size in ("x", "5x", "x4", "0x4", "5x4x3", "-1", "five", "70000"):
        refused(command, 2, "--resize", "run", "net.onnx", "--input", "p.png", "--resize=" + size)
    return None


def pictures_of_open_models(command):
    """A picture says the dims that are open, after it was resized; channels may be the last dim."""
    model(command, "open.onnx", [("x", ["n", 3, "h", "w"])], [("Relu", "x", "y")])
    model(command, "last.onnx", [("x", [1, 4, 5, 3])], [("Relu", "x", "y")])
    with open(command.path("p.png"), "wb") as file:
        file.write(tensors.png_bytes(9, 7))
    result = command.run("run", "open.onnx", "--threads", "1", "--input", "p.png")
    if result.returncode == 5:
        return "skipped: " + result.stderr.strip()
    picture = pixels_of(command, "p.png")
    shape, values = run(command, "open.onnx", "--input", "p.png")
    expect(shape, (1, 3, 7, 9), "as it is")
    check_picture(values, picture, 7, 9, "as it is")
    expect(run(command, "open.onnx", "--input", "p.png", "--resize", "5x4")[0], (1, 3, 4, 5), "both sides")
    expect(run(command, "open.onnx", "--input", "p.png", "--resize", "14")[0], (1, 3, 14, 18), "the shorter side")
    shape, values = run(command, "last.onnx", "--input", "p.png", "--input-layout", LAST, "--resize", "5x4",
                        "--mean", "1,2,3")
    small = mean_around(picture, 9, 7, 5, 4)
    expect(shape, (1, 4, 5, 3), "channels last")
    moved = [values[(y * 5 + x) * 3 + c] for c, y, x in itertools.product(range(3), range(4), range(5))]
    check_picture(moved, {(y, x, c): max(0, v - 1 - c) for (y, x, c), v in small.items()}, 4, 5, "channels last")
    refused(command, 3, "--input-layout '%s'" % LAST, "run", "last.onnx", "--input", "p.png")
    return None


def types_and_prices(command):
    """What a plan says of types that the backend lacks, of its prices, and of slow implementations."""
    model(command, "half.onnx", [("x", [2, 3], HALF)], [("Softmax", "x", "y")])
    result = command.run("plan", "half.onnx", "--threads", "1")
    if result.returncode == 5:
        return "skipped: " + result.stderr.strip()
    expect(result.returncode, 0, result.stderr)
    text = " ".join(result.stdout.split())
    assert "prices analytic: " in text and "proof proven that no plan costs less by these prices" in text, text
    plan = json.loads(command.ok("plan", "half.onnx", "--threads", "1", "--json"))
    expect("computed in f32" in text, "computed_in_f32" in plan, "what is said of types")
    if "computed_in_f32" in plan:
        expect(plan["computed_in_f32"], {"primitives": 1, "types": ["f16"]}, "what is computed in f32")
    tensors.write_npy(command.path("x.npy"), (2, 3), "<f2", [0, 0, 0, 1, 1, 1])
    command.ok("run", "half.onnx", "--input", "x.npy", "--check", "--threads", "1", "-o", "y.npy", "-f")
    descr, _, _, values = tensors.read_npy(command.path("y.npy"))
    expect((descr, [round(x, 3) for x in values]), ("<f2", [0.333] * 6), "the output")
    # The warning about reference implementations says what the times say.
    for operation in ("ReduceProd", "LogSoftmax", "Relu"):
        model(command, "slow.onnx", [("x", [64, 120])], [(operation, "x", "y")])
        result = command.run("plan", "slow.onnx", "--threads", "1", "--json")
        plan = json.loads(result.stdout)
        slow = plan["reference_us"] > 0.1 * plan["predicted_us"]
        expect(slow, any(one["ref"] for one in plan["primitives"]), operation)
        for said in (result.stderr, command.run("run", "slow.onnx", "--threads", "1", "--random-inputs", "1").stderr):
            expect("slow reference implementations take" in said, slow, operation)
    return None


ALL = [open_dims, open_dims_refused, pictures, pictures_of_open_models, types_and_prices]
