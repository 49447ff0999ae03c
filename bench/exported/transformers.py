"""Transformers: ViT-B, BERT-base, a Whisper-like encoder and a block of Llama. Each function takes a Net and the batch,
and fills the Net; `layers` is how many of the repeated layers there are."""
import numpy as np


def vit(net, batch, layers=12, length=197, count=12, width=64):
    """ViT-B/16 from the picture to the 1000 classes."""
    inner = count * width
    x = net.conv(net.input("image", [batch, 3, 224, 224]), 3, inner, kernel=16, stride=16, pads=[0] * 4)
    x = net.add("Transpose", net.add("Reshape", x, net.ints(batch, inner, length - 1)), perm=[0, 2, 1])
    token = net.add("Expand", net.weight(1, 1, inner, scale=0.02), net.ints(batch, 1, inner))
    x = net.add("Add", net.add("Concat", token, x, axis=1), net.weight(1, length, inner, scale=0.02))
    for _ in range(layers):
        x = net.transformer_layer(x, batch, length, count, width)
    first = net.add("Gather", net.layer_norm(x, inner), net.constant(0, np.int64), axis=1)
    logits = net.add("Gemm", first, net.weight(1000, inner), net.weight(1000, scale=0.02), transB=1)
    net.output(logits, [batch, 1000])


def bert(net, batch, layers=12, length=128, count=12, width=64, words=30522):
    """BERT-base from tokens and a mask of 0 and 1 to its last layer; types of tokens are all 0."""
    inner = count * width
    tokens = net.input("input_ids", [batch, length], 7)
    mask = net.input("attention_mask", [batch, length], 7)
    wide = net.add("Unsqueeze", net.add("Unsqueeze", mask, net.ints(1)), net.ints(2))
    open_ = net.add("Sub", net.constant(1.0), net.add("Cast", wide, to=net.element))
    hidden = net.add("Mul", open_, net.constant(-10000.0))
    x = net.add("Gather", net.weight(words, inner, scale=0.02), tokens)
    x = net.add("Add", x, net.weight(1, 1, inner, scale=0.02))
    x = net.layer_norm(net.add("Add", x, net.weight(1, length, inner, scale=0.02)), inner)
    for _ in range(layers):
        x = net.transformer_layer(x, batch, length, count, width, hidden, first=False)
    net.output(x, [batch, length, inner])


def whisper(net, batch, layers=4, frames=1000, count=6, width=64):
    """The encoder of Whisper-tiny: two convolutions along time, then transformer layers."""
    inner, length = count * width, frames // 2
    x = net.input("mel", [batch, 80, frames])
    x = net.gelu(net.conv(x, 80, inner, kernel=(3,)))
    x = net.gelu(net.conv(x, inner, inner, kernel=(3,), stride=2))
    x = net.add("Add", net.add("Transpose", x, perm=[0, 2, 1]), net.weight(length, inner, scale=0.02))
    for _ in range(layers):
        x = net.transformer_layer(x, batch, length, count, width)
    net.output(net.layer_norm(x, inner), [batch, length, inner])


def llama(net, batch, length=64, count=16, groups=4, width=64, hidden=2816):
    """One block of Llama with grouped queries; by the operators of opset 23, or composed before it."""
    inner = count * width
    x = net.input("hidden_states", [batch, length, inner])
    normed = net.rms_norm(x, inner)
    q, k, v = (net.linear(normed, inner, n * width, bias=False) for n in (count, groups, groups))
    angles = np.outer(np.arange(length), 10000.0 ** (-np.arange(0, width, 2) / width))
    attend = attention_operator if net.opset >= 23 else attention_composed
    mixed = attend(net, (q, k, v), angles, (batch, length, count, groups, width))
    x = net.add("Add", x, net.linear(mixed, inner, inner, bias=False))
    normed = net.rms_norm(x, inner)
    gate, up = (net.linear(normed, inner, hidden, bias=False) for _ in range(2))
    down = net.linear(net.add("Mul", net.silu(gate), up), hidden, inner, bias=False)
    net.output(net.add("Add", x, down), [batch, length, inner])


def attention_operator(net, qkv, angles, sizes):
    """RotaryEmbedding and Attention, which repeats the keys and values of a group itself."""
    batch, length, count, groups, width = sizes
    cosine, sine = (net.constant(f(angles)[None].repeat(batch, 0)) for f in (np.cos, np.sin))
    q = net.add("RotaryEmbedding", qkv[0], cosine, sine, num_heads=count)
    k = net.add("RotaryEmbedding", qkv[1], cosine, sine, num_heads=groups)
    return net.add("Attention", q, k, qkv[2], q_num_heads=count, kv_num_heads=groups, is_causal=1)


def attention_composed(net, qkv, angles, sizes):
    batch, length, count, groups, width = sizes
    both = np.concatenate([angles, angles], axis=1)[None, None]
    cosine, sine = net.constant(np.cos(both)), net.constant(np.sin(both))

    def rotated(x, heads):
        x = net.heads(x, batch, length, heads, width)
        half = width // 2
        low = net.add("Slice", x, net.ints(0), net.ints(half), net.ints(3), net.ints(1))
        high = net.add("Slice", x, net.ints(half), net.ints(2 ** 63 - 1), net.ints(3), net.ints(1))
        turned = net.add("Concat", net.add("Neg", high), low, axis=-1)
        return net.add("Add", net.add("Mul", x, cosine), net.add("Mul", turned, sine))

    def repeated(x):
        wide = net.add("Unsqueeze", x, net.ints(2))
        wide = net.add("Expand", wide, net.ints(batch, groups, count // groups, length, width))
        return net.add("Reshape", wide, net.ints(batch, count, length, width))

    q, k = rotated(qkv[0], count), repeated(rotated(qkv[1], groups))
    v = repeated(net.heads(qkv[2], batch, length, groups, width))
    scores = net.add("MatMul", q, net.add("Transpose", k, perm=[0, 1, 3, 2]))
    scores = net.add("Mul", scores, net.constant(width ** -0.5))
    mask = np.triu(np.full((length, length), -65504.0 if net.numpy is np.float16 else -3.4e38), 1)
    scores = net.add("Add", scores, net.constant(mask[None, None]))
    mixed = net.add("MatMul", net.add("Softmax", scores, axis=-1), v)
    joined = net.add("Transpose", mixed, perm=[0, 2, 1, 3])
    return net.add("Reshape", joined, net.ints(batch, length, count * width))
