"""any: what a backend offers for one primitive, and what the layout `any` takes of it."""
import json

from shared import expect

CONVOLUTION = ("convolution", "--src", "1,16,14,14", "--weights", "32,16,3,3", "--attr", "pads=1")


def checked(command, *args):
    """The primitives that are listed, each checked; or why there are none."""
    result = command.run("any", *args, "--threads", "1", "--json")
    if result.returncode == 5:
        return None, "skipped: " + result.stderr.strip()
    expect(result.returncode, 0, result.stderr)
    answer = json.loads(result.stdout)
    for one in answer["primitives"]:
        taken = [choice for choice in one["choices"] if choice["any"]]
        expect(len(taken), 1, "choices that `any` takes of %s" % one["pass"])
        times = [choice["us"] for choice in one["choices"]]
        assert times == sorted(times) and min(times) > 0, times
        expect(taken[0]["layouts"], [operand["any"] for operand in one["operands"]], "what the operands get")
        for choice in one["choices"]:
            expect(len(choice["layouts"]), len(one["operands"]), "layouts of " + choice["implementation"])
    return answer["primitives"], None


def asked(primitive):
    return " ".join("%s:%s" % (operand["name"], operand["asked"]) for operand in primitive["operands"])


def one_convolution(command):
    primitives, skipped = checked(command, *CONVOLUTION)
    if skipped:
        return skipped
    (one,) = primitives
    expect(asked(one), "src:any weights:any dst:any", "the table")
    expect(one["operands"][2]["dims"], [1, 32, 14, 14], "dims of the destination")
    layouts = {tuple(choice["layouts"]) for choice in one["choices"]}
    assert len(layouts) > 1, "there is one choice of layouts: %s" % layouts


def training(command):
    primitives, skipped = checked(command, *CONVOLUTION, "--bias", "--training")
    if skipped:
        return skipped
    expect([one["pass"] for one in primitives], ["forward_training", "backward_weights", "backward_data"], "passes")
    expect(asked(primitives[1]), "src:any diff_dst:any diff_weights:any diff_bias:any", "the table")
    expect(asked(primitives[2]), "diff_dst:any weights:any diff_src:any", "the table")
    primitives, _ = checked(command, "eltwise", "--src", "2,16,8,8", "--src-layout", "nChw8c", "--training")
    expect(asked(primitives[0]), "src:actual dst:any", "the table")
    expect(asked(primitives[1]), "src:actual diff_dst:any diff_src:any", "the table")
    expect([one["operands"][0]["any"] for one in primitives], ["aBcd8b", "aBcd8b"], "the source as it is")


def every_kind(command):
    """Each kind has its operands, its attributes, and something that runs it."""
    kinds = {
        ("deconvolution", "--weights", "8,16,2,2", "--attr", "strides=2"): "src:any weights:any dst:any",
        ("matmul", "--weights", "1,16,14,5"): "a:any b:any dst:any",
        ("inner_product", "--weights", "10,16,14,14", "--bias"): "src:any weights:any bias:any dst:any",
        ("pooling", "--attr", "kernel=2", "--attr", "algorithm=average_exclude_padding"): "src:actual dst:any",
        ("batch_normalization",): "src:actual scale:actual shift:actual mean:actual variance:actual dst:any",
        ("layer_normalization", "--attr", "epsilon=0.001"): "src:actual dst:any",
        ("lrn", "--attr", "size=3"): "src:actual dst:any",
        ("eltwise", "--attr", "algorithm=gelu_erf"): "src:actual dst:any",
        ("prelu", "--weights", "1,16,1,1"): "src:actual weights:actual dst:any",
        ("shuffle", "--attr", "groups=4"): "src:actual dst:any",
        ("softmax", "--attr", "axis=1"): "src:actual dst:any",
        ("resampling", "--dst", "1,16,28,28"): "src:actual dst:any",
        ("reduction", "--attr", "axes=2,3"): "src:actual dst:any",
        ("concat", "--src", "1,16,14,14", "--attr", "axis=1"): "src:actual src:actual dst:any",
        ("sum", "--src", "1,16,14,14"): "src:actual src:actual dst:any",
        ("binary", "--src", "1,16,1,1", "--attr", "algorithm=mul"): "a:actual b:actual dst:any",
        ("reorder", "--dst-layout", "nhwc"): "src:actual dst:given",
    }
    for (kind, *args), table in kinds.items():
        primitives, skipped = checked(command, kind, "--src", "1,16,14,14", *args)
        if skipped:
            return skipped
        expect(asked(primitives[0]), table, kind)
    primitives, _ = checked(command, "rnn", "--src", "5,2,8", "--weights", "1,1,8,4,16", "--bias")
    expect(asked(primitives[0]), "src_layer:any weights_layer:any weights_iter:any bias:any dst_layer:any", "rnn")
    primitives, _ = checked(command, "rnn", "--src", "5,2,8", "--weights", "1,1,8,4,16", "--projection", "12",
                            "--training")
    expect([one["pass"] for one in primitives], ["forward_training", "backward"], "passes of a projected lstm")
    expect([(operand["name"], operand["dims"]) for operand in primitives[0]["operands"][2:]],
           [("weights_iter", [1, 1, 12, 4, 16]), ("weights_projection", [1, 1, 16, 12]), ("dst_layer", [5, 2, 12])],
           "operands of a projected lstm")


def constant_weights(command):
    """Opaque formats are listed for constant weights alone, as only constants are stored in them."""
    inputs = ("convolution", "--src", "1,64,14,14", "--weights", "64,64,3,3", "--attr", "pads=1", "--dtype", "s8")
    primitives, skipped = checked(command, *inputs)
    if skipped:
        return skipped
    layouts = [layout for choice in primitives[0]["choices"] for layout in choice["layouts"]]
    assert not any(layout.startswith("opaque") for layout in layouts), "an opaque format of an input"
    (one,), _ = checked(command, *inputs, "--constant-weights")
    opaque = [choice["layouts"][1] for choice in one["choices"] if choice["layouts"][1].startswith("opaque:")]
    if not opaque:
        return "skipped: this processor multiplies no signed bytes exactly"
    _, name, size, token = opaque[0].split(":")
    assert name and int(size) >= 64 * 64 * 9 and len(token) == 16, opaque[0]
    others = [choice["layouts"][k] for choice in one["choices"] for k in (0, 2)]
    assert not any(layout.startswith("opaque") for layout in others), "an opaque format beside the weights"


def mixed_types(command):
    """Weights and destinations may have types of their own, as 8-bit convolutions have."""
    inputs = ("convolution", "--src", "1,64,14,14", "--weights", "64,64,3,3", "--bias", "--dtype", "u8",
              "--weights-dtype", "s8")
    for args, dst in (((), "f32"), (("--dst-dtype", "s8"), "s8"), (("--dst-dtype", "u8"), "u8")):
        primitives, skipped = checked(command, *inputs, *args)
        if skipped:
            return skipped
        expect([one["dtype"] for one in primitives[0]["operands"]], ["u8", "s8", "f32", dst], "types of operands")
    return None


def differing_layouts(command):
    """The verdict says in which layouts a faster implementation differs from what `any` takes."""
    result = command.run("any", "pooling", "--src", "1,32,56,56", "--src-layout", "strides:102400,1,1792,32", "--attr",
                         "kernel=2", "--threads", "1")
    if result.returncode == 5:
        return "skipped: " + result.stderr.strip()
    expect(result.returncode, 0, result.stderr)
    verdict = result.stdout[result.stdout.index("`any` takes", result.stdout.index("implementation")):]
    # Dim n has one index: its stride is shown as it was given, and not as 0, which repeats.
    assert "strides:0," not in result.stdout, result.stdout
    if "would take" in verdict:
        assert "(src " in verdict and "100 %" not in verdict, verdict
    return None


ALL = [one_convolution, training, every_kind, constant_weights, mixed_types, differing_layouts]
