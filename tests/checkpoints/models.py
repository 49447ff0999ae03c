#!/usr/bin/env python3
"""Small models of PyTorch whose weights go to another framework's layouts by rules: the outputs are the same there, and
the same bits after the way back.

    models.py RELAYOUT

What the other framework computes is written out here in NumPy: a convolution over NHWC with kernels hwio and a dense
layer with its inputs first, as in TensorFlow and Keras; Keras' LSTM, with transposed kernels and the gates i, f, c, o;
attention with q, k and v in one, as in JAX and MLX. Without PyTorch the test is skipped.
"""
import pathlib
import subprocess
import sys

import shared

torch, numpy = shared.skip_without("torch", "numpy")
from plain_files import load  # noqa: E402

RELAYOUT = sys.argv[1]


def run(*words, folder):
    result = subprocess.run([RELAYOUT, "checkpoint", "convert", *map(str, words)], capture_output=True, text=True,
                            cwd=folder)
    assert result.returncode == 0, "%s: %s%s" % (words, result.stdout, result.stderr)


def there_and_back(folder, model, x, rules, other):
    """`other` computes the output of the converted weights in NumPy."""
    model.eval()
    with torch.no_grad():
        want = model(x)
    torch.save(model.state_dict(), folder / "torch.pt")
    run("torch.pt", "other.safetensors", "--rules", rules, "--verify", folder=folder)
    got = other(load(folder / "other.safetensors"), x.numpy())
    numpy.testing.assert_allclose(got, want.numpy(), rtol=1e-4, atol=1e-5)
    # What is not converted gives other outputs or does not even fit, so that the comparison says something.
    run("torch.pt", "same.safetensors", folder=folder)
    try:
        wrong = other(load(folder / "same.safetensors"), x.numpy())
        assert wrong.shape != want.shape or not numpy.allclose(wrong, want.numpy(), rtol=1e-4, atol=1e-5)
    except (ValueError, KeyError):
        pass
    run("other.safetensors", "back.pt", "--rules", rules, "--invert", folder=folder)
    state = torch.load(folder / "back.pt")
    for name, tensor in model.state_dict().items():
        assert torch.equal(state[name], tensor), name
        state[name] = state[name].clone()
        tensor.zero_()
    model.load_state_dict(state)
    with torch.no_grad():
        assert torch.equal(model(x), want)


def sigmoid(x):
    return 1 / (1 + numpy.exp(-x))


class ConvNet(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Conv2d(3, 3, 3)  # all dims of the kernel are equal
        self.second = torch.nn.Conv2d(3, 6, (2, 3))
        self.dense = torch.nn.Linear(6, 6)

    def forward(self, x):
        x = torch.relu(self.second(torch.relu(self.first(x))))
        return self.dense(x.mean((2, 3)))


def conv_hwio(x, kernel, bias):
    """Of x in NHWC."""
    rows, columns = kernel.shape[:2]
    height, width = x.shape[1] - rows + 1, x.shape[2] - columns + 1
    out = numpy.zeros((x.shape[0], height, width, kernel.shape[3]), "f4") + bias
    for i in range(rows):
        for j in range(columns):
            out += x[:, i:i + height, j:j + width] @ kernel[i, j]
    return out


def keras_conv_net(weights, x):
    x = x.transpose(0, 2, 3, 1)
    for name in ("first", "second"):
        x = numpy.maximum(conv_hwio(x, weights[name + ".weight"], weights[name + ".bias"]), 0)
    return x.mean((1, 2)) @ weights["dense.weight"] + weights["dense.bias"]


def convolutions(folder):
    there_and_back(folder, ConvNet(), torch.randn(2, 3, 9, 8), "pytorch-keras", keras_conv_net)


class Recurrent(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = torch.nn.LSTM(4, 4, batch_first=True)  # both kernels have one shape
        self.head = torch.nn.Linear(4, 4)

    def forward(self, x):
        return self.head(self.lstm(x)[0])


def keras_lstm(weights, x):
    """x is (batch, time, features); a kernel is (features, 4 * units), its gates i, f, c, o."""
    units = weights["lstm.weight_hh_l0"].shape[0]
    hidden = cell = numpy.zeros((x.shape[0], units), "f4")
    out = []
    for t in range(x.shape[1]):
        gates = x[:, t] @ weights["lstm.weight_ih_l0"] + hidden @ weights["lstm.weight_hh_l0"]
        i, f, c, o = numpy.split(gates + weights["lstm.bias_ih_l0"] + weights["lstm.bias_hh_l0"], 4, -1)
        cell = sigmoid(f) * cell + sigmoid(i) * numpy.tanh(c)
        hidden = sigmoid(o) * numpy.tanh(cell)
        out.append(hidden)
    return numpy.stack(out, 1) @ weights["head.weight"] + weights["head.bias"]


def recurrences(folder):
    there_and_back(folder, Recurrent(), torch.randn(2, 5, 4), "pytorch-keras", keras_lstm)


class Attention(torch.nn.Module):
    HEADS = 2

    def __init__(self):
        super().__init__()
        self.q, self.k, self.v, self.out = (torch.nn.Linear(8, 8) for _ in range(4))

    def forward(self, x):
        batch, time, width = x.shape
        q, k, v = (f(x).view(batch, time, self.HEADS, -1).transpose(1, 2) for f in (self.q, self.k, self.v))
        scores = torch.softmax(q @ k.transpose(2, 3) / (width // self.HEADS) ** 0.5, -1)
        return self.out((scores @ v).transpose(1, 2).reshape(batch, time, width))


FUSED = """
[[rule]]
match = ["q.weight", "k.weight", "v.weight"]
rename = "qkv.kernel"
layout = "oi -> io"
merge = { dim = 0 }

[[rule]]
match = ["q.bias", "k.bias", "v.bias"]
rename = "qkv.bias"
merge = { dim = 0 }

[[rule]]
match = "out.weight"
rename = "out.kernel"
layout = "oi -> io"
"""


def fused_attention(weights, x):
    batch, time, width = x.shape
    qkv = (x @ weights["qkv.kernel"] + weights["qkv.bias"]).reshape(batch, time, 3, Attention.HEADS, -1)
    q, k, v = qkv.transpose(2, 0, 3, 1, 4)
    scores = numpy.exp(q @ k.transpose(0, 1, 3, 2) / (width // Attention.HEADS) ** 0.5)
    mixed = scores / scores.sum(-1, keepdims=True) @ v
    return mixed.transpose(0, 2, 1, 3).reshape(batch, time, width) @ weights["out.kernel"] + weights["out.bias"]


def attentions(folder):
    (folder / "fused.toml").write_text(FUSED)
    there_and_back(folder, Attention(), torch.randn(2, 5, 8), "fused.toml", fused_attention)


def channels_last(folder):
    """A model in channels_last: row-major in the file, which records the strides, and with them in PyTorch again."""
    model = ConvNet().to(memory_format=torch.channels_last)
    torch.save(model.state_dict(), folder / "torch.pt")
    run("torch.pt", "plain.safetensors", folder=folder)
    said = shared.listed(folder / "plain.safetensors")["tensors"]
    weights = load(folder / "plain.safetensors")
    for name, tensor in model.state_dict().items():
        assert (weights[name] == tensor.numpy()).all()
        row_major = torch.empty(tensor.shape).stride()
        assert said[name].get("saved_strides") == (list(tensor.stride()) if tensor.stride() != row_major else None)
    assert said["first.weight"]["saved_strides"] == [27, 1, 9, 3]


if __name__ == "__main__":
    torch.manual_seed(1)
    shared.main(convolutions, recurrences, attentions, channels_last)
