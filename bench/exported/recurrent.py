"""A recurrent net: an LSTM in both directions, then a GRU as PyTorch has it (linear_before_reset)."""


def lstm_gru(net, batch, length=64, inner=128, hidden=256, words=1000):
    x = net.input("x", [length, batch, inner])
    lstm = net.add("LSTM", x, net.weight(2, 4 * hidden, inner, scale=0.05),
                   net.weight(2, 4 * hidden, hidden, scale=0.05), net.weight(2, 8 * hidden, scale=0.05), count=3,
                   hidden_size=hidden, direction="bidirectional")[0]
    joined = net.add("Reshape", net.add("Transpose", lstm, perm=[0, 2, 1, 3]), net.ints(length, batch, 2 * hidden))
    gru = net.add("GRU", joined, net.weight(1, 3 * hidden, 2 * hidden, scale=0.05),
                  net.weight(1, 3 * hidden, hidden, scale=0.05), net.weight(1, 6 * hidden, scale=0.05), count=2,
                  hidden_size=hidden, linear_before_reset=1)[0]
    y = net.add("Squeeze", gru, net.ints(1)) if net.opset >= 13 else net.add("Squeeze", gru, axes=[1])
    net.output(net.linear(y, hidden, words), [length, batch, words])
