#!/usr/bin/env python3
"""Makes the samples of tests/explain anew, as far as the systems are here.

    make_samples.py pytorch                   by a Python that has PyTorch on oneDNN (Debian's python3-torch)
    make_samples.py onnxruntime openvino      by a Python that has onnx, onnxruntime and openvino
    make_samples.py program PROGRAM           the built onednn_program

Times and layouts are then those of this machine, so that the expected reports change: check.py --update. The samples of
TensorRT, ExecuTorch, TorchInductor and torch.profiler are written by hand.
"""
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

SAMPLES = Path(__file__).resolve().parent / "samples"
#: Of a profile's arguments those that are read, which do not tell of the machine.
KEPT = ("op_name", "provider", "input_type_shape", "output_type_shape", "node_index")

PYTORCH = """
import sys, torch
from torch import nn
net = nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 64, 3, padding=1, stride=2), nn.ReLU(),
                    nn.Conv2d(64, 64, 1)).eval()
x = torch.randn(1, 3, 112, 112)
if sys.argv[1] == "channels_last":
    net, x = net.to(memory_format=torch.channels_last), x.to(memory_format=torch.channels_last)
with torch.no_grad():
    for _ in range(3):
        net(x)
"""


def run(command, **variables):
    environment = {**os.environ, "OMP_NUM_THREADS": "1", **variables}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout


def pytorch():
    for name, verbose in (("nchw", "1"), ("channels_last", "2")):
        log = run([sys.executable, "-c", PYTORCH, name], ONEDNN_VERBOSE=verbose)
        (SAMPLES / f"pytorch_{name}.log").write_text(log)


def program(path):
    (SAMPLES / "onednn_program.log").write_text(run([path, "4"], ONEDNN_VERBOSE="1"))


def model(path):
    """Three convolutions, with a Softmax over channels between two transpositions."""
    import numpy as np
    import onnx
    from onnx import TensorProto, helper, numpy_helper
    random = np.random.default_rng(0)

    def weights(name, *dims):
        return numpy_helper.from_array((random.standard_normal(dims) * 0.1).astype(np.float32), name)

    nodes = [helper.make_node("Transpose", ["x"], ["x0"], perm=[0, 3, 1, 2], name="in_t"),
             helper.make_node("Conv", ["x0", "w1"], ["c1"], pads=[1, 1, 1, 1], name="conv1"),
             helper.make_node("Relu", ["c1"], ["r1"], name="relu1"),
             helper.make_node("Conv", ["r1", "w2"], ["c2"], pads=[1, 1, 1, 1], name="conv2"),
             helper.make_node("Transpose", ["c2"], ["t2"], perm=[0, 2, 3, 1], name="mid_t"),
             helper.make_node("Softmax", ["t2"], ["s"], axis=3, name="softmax"),
             helper.make_node("Transpose", ["s"], ["t3"], perm=[0, 3, 1, 2], name="back_t"),
             helper.make_node("Conv", ["t3", "w3"], ["y"], name="conv3")]
    graph = helper.make_graph(nodes, "net", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 112, 112, 3])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 16, 112, 112])],
                              [weights("w1", 32, 3, 3, 3), weights("w2", 32, 32, 3, 3), weights("w3", 16, 32, 1, 1)])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    made.ir_version = 8
    onnx.save(made, path)
    return random.standard_normal((1, 112, 112, 3)).astype(np.float32)


def onnxruntime():
    import onnxruntime as runtime
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "net.onnx"
        x = model(path)
        options = runtime.SessionOptions()
        options.enable_profiling, options.profile_file_prefix = True, str(Path(folder) / "profile")
        options.intra_op_num_threads = 1
        session = runtime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        for _ in range(3):
            session.run(None, {"x": x})
        events = json.loads(Path(session.end_profiling()).read_text())
    for event in events:
        event["pid"] = event["tid"] = 1
        event["args"] = {key: value for key, value in event["args"].items() if key in KEPT}
    lines = ",\n".join(json.dumps(event) for event in events)
    (SAMPLES / "onnxruntime.json").write_text(f"[\n{lines}\n]\n")


def openvino():
    import openvino as ov
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "net.onnx"
        x = model(path)
        compiled = ov.Core().compile_model(str(path), "CPU", {"PERF_COUNT": True, "INFERENCE_NUM_THREADS": 1})
        request = compiled.create_infer_request()
        for _ in range(3):
            request.infer({0: x})
        ov.serialize(compiled.get_runtime_model(), str(Path(folder) / "graph.xml"))
        (SAMPLES / "openvino.xml").write_text((Path(folder) / "graph.xml").read_text())


def openvino_log():
    log = run([sys.executable, __file__, "openvino"], ONEDNN_VERBOSE="2", ONEDNN_VERBOSE_TIMESTAMP="1")
    lines = [line for line in log.splitlines() if line.startswith("onednn_verbose")]
    (SAMPLES / "openvino_onednn.log").write_text("\n".join(lines) + "\n")


def main():
    wanted = sys.argv[1:]
    if not wanted:
        sys.exit(__doc__)
    if "pytorch" in wanted:
        pytorch()
    if "onnxruntime" in wanted:
        onnxruntime()
    if "openvino" in wanted:
        openvino()
        if "ONEDNN_VERBOSE" not in os.environ:
            openvino_log()
    if "program" in wanted:
        program(wanted[wanted.index("program") + 1])


if __name__ == "__main__":
    main()
