#!/usr/bin/env python3
"""Tests of `relayout explain`: its reports of logs, profiles and graphs that were made by the systems themselves.

    check.py RELAYOUT [PROGRAM]     PROGRAM is onednn_program, which is run with ONEDNN_VERBOSE=1
    check.py --update RELAYOUT      writes the expected reports anew; read the diff

samples/ has what each system wrote (make_samples.py says how), or, of TensorRT, ExecuTorch, TorchInductor and
torch.profiler, small texts of their documented forms. expected/ has the report of each. Standard library only.
"""
import json
import math
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
SAMPLES, EXPECTED = HERE / "samples", HERE / "expected"
MORE = {"tensorrt_layers.json": ["--profile", str(SAMPLES / "tensorrt_profile.json")]}
failures = []


def check(condition, message):
    if not condition:
        failures.append(message)
        print("FAILED:", message)


def explain(relayout, source, *more):
    result = subprocess.run([relayout, "explain", str(source), *more], capture_output=True, text=True, timeout=120)
    check(result.returncode == 0, f"explain {source}: {result.stderr}")
    return result.stdout


def report(relayout, source, *more):
    return json.loads(explain(relayout, source, "--elsewhere", "--json", *more))


def golden(relayout, update):
    """The reports as people see them, and as JSON."""
    for sample in sorted(SAMPLES.iterdir()):
        if sample.name == "tensorrt_profile.json":
            continue
        text = explain(relayout, sample, "--elsewhere", *MORE.get(sample.name, []))
        check(max(map(len, text.splitlines())) <= 100 or "Reformatting" in text, f"{sample.name}: over 100 columns")
        expected = EXPECTED / (sample.stem + ".txt")
        if update:
            expected.write_text(text)
        else:
            check(text == expected.read_text(), f"{sample.name}: the report differs from {expected.name}")


def lines_of(log):
    """Lines of oneDNN that were run, as fields, by the commas alone."""
    return [line.split(",") for line in log.splitlines() if "dnn" in line.split(",")[0] and ",exec," in line]


def against_log(relayout, name, log):
    """Each reorder of a log is in the report, none is invented, and the times are the log's."""
    lines = lines_of(log)
    reorders = [line for line in lines if "reorder" in line]
    found = report(relayout, SAMPLES / name) if isinstance(name, str) else report(relayout, name)
    check(found["events"] == len(lines), f"{name}: {found['events']} of {len(lines)} operations")
    check(sum(r["times"] for r in found["reorders"]) == len(reorders), f"{name}: reorders are missing or invented")
    places = sorted(place for r in found["reorders"] for place in r["places"])
    numbers = [k + 1 for k, line in enumerate(log.splitlines()) if ",exec," in line and ",reorder," in line]
    check(places == numbers, f"{name}: the lines are {places}, and should be {numbers}")
    time = sum(float(line[-1]) for line in reorders)
    check(math.isclose(found["reorder_ms"], time, rel_tol=1e-9), f"{name}: {found['reorder_ms']} ms of {time}")
    check(math.isclose(found["ms"], sum(float(line[-1]) for line in lines), rel_tol=1e-9), f"{name}: all times")
    for reorder in found["reorders"]:
        tags = {(re.search(r":blocked:(\w+):", d[0]).group(1), re.search(r":blocked:(\w+):", d[1]).group(1))
                for d in (line[-5].split(" ") for line in reorders)
                if len(d) == 2}
        check((reorder["src"], reorder["dst"]) in tags, f"{name}: {reorder['src']} -> {reorder['dst']} is invented")
    return found


def verdict(found, src, dst, dims):
    return [r["verdict"] for r in found["reorders"] if (r["src"], r["dst"], r["dims"]) == (src, dst, dims)]


def samples_of_onednn(relayout):
    found = {}
    for sample in sorted(SAMPLES.glob("*.log")):
        found[sample.name] = against_log(relayout, sample.name, sample.read_text())
    plain = found["pytorch_nchw.log"]
    check(plain["runs"] == 3, "pytorch_nchw.log: runs")
    check(verdict(plain, "aBcd16b", "abcd", [1, 32, 112, 112]) == ["avoidable"], "the format that PyTorch loses")
    check(verdict(plain, "abcd", "Acdb16a", [32, 3, 3, 3]) == ["repeated"], "PyTorch's weights in each run")
    check(found["openvino_onednn.log"]["runs"] == 3, "openvino_onednn.log: reorders in front are no run")
    program(found["onednn_program.log"], 4)


def program(found, runs):
    """What is wrong with onednn_program.cc, and nothing else is."""
    check(found["runs"] == runs, f"program: {found['runs']} runs of {runs}")
    check(verdict(found, "aBcd8b", "abcd", [1, 32, 64, 64]) == ["avoidable"], "program: the reorder before pooling")
    check(verdict(found, "abcd", "aBcd8b", [1, 32, 32, 32]) == ["avoidable"], "program: the reorder behind pooling")
    check(verdict(found, "abcd", "ABcd8b8a", [32, 16, 3, 3]) == ["repeated"], "program: weights in each run")
    rest = [r["verdict"] for r in found["reorders"]]
    check(rest.count("needed") == 2 and len(rest) == 5, f"program: {rest}")


def live(relayout, binary):
    """The program as it runs here."""
    environment = {**os.environ, "ONEDNN_VERBOSE": "1", "OMP_NUM_THREADS": "1"}
    log = subprocess.run([binary, "5"], env=environment, capture_output=True, text=True, timeout=120).stdout
    if "onednn_verbose" not in log:
        print("skipped: this oneDNN prints nothing")
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.txt"
        path.write_text(log)
        program(against_log(relayout, path, log), 5)
        piped = subprocess.run([relayout, "explain", "-", "--elsewhere"], input=log, capture_output=True, text=True)
        check(piped.stdout == explain(relayout, path, "--elsewhere"), "standard input is read as a file is")


def others(relayout):
    found = report(relayout, SAMPLES / "onnxruntime.json")
    profile = json.loads((SAMPLES / "onnxruntime.json").read_text())
    moved = [e for e in profile if e.get("args", {}).get("op_name") in ("ReorderInput", "ReorderOutput", "Transpose")]
    check(sum(r["times"] for r in found["reorders"]) == len(moved), "ONNX Runtime: reorders")
    check(math.isclose(found["reorder_ms"], sum(e["dur"] for e in moved) / 1e3, rel_tol=1e-9), "ONNX Runtime: times")
    check(found["runs"] == 3, "ONNX Runtime: runs")
    text = (SAMPLES / "openvino.xml").read_text()
    times = re.findall(r'type="Reorder">\s*<data[^>]*execTimeMcs="(\d+)"', text)
    found = report(relayout, SAMPLES / "openvino.xml")
    check(len(found["reorders"]) == len(times), "OpenVINO: reorders")
    check(math.isclose(found["reorder_ms"], sum(map(int, times)) / 1e3, rel_tol=1e-9), "OpenVINO: times")
    found = report(relayout, SAMPLES / "tensorrt_layers.json", *MORE["tensorrt_layers.json"])
    check(math.isclose(found["reorder_ms"], 0.041 + 0.062 + 0.06), "TensorRT: times")
    check([r["verdict"] for r in found["reorders"]] == ["avoidable", "avoidable", "needed"], "TensorRT: verdicts")
    for name, count in (("executorch.txt", 3), ("inductor_code.txt", 3), ("torch_trace.json", 2)):
        check(len(report(relayout, SAMPLES / name)["reorders"]) == count, f"{name}: reorders")


def forms_of_lines(relayout):
    """The forms of a line that versions of oneDNN have: one reorder each."""
    reorder = "cpu,reorder,jit:uni,undef"
    old = "src_f32::blocked:abcd:f0 dst_f32::blocked:aBcd8b:f0"
    middle = "src_f32::blocked:abcd::f0 dst_f32::blocked:aBcd8b::f0"
    new = "src:f32::blocked:abcd::f0 dst:f32::blocked:aBcd8b::f0"
    lines = [f"dnnl_verbose,exec,{reorder},{old},,,2x16x4x4,0.5",
             f"dnnl_verbose,1234.5,exec,{reorder},{old},,,2x16x4x4,0.5",
             f"onednn_verbose,exec,{reorder},{old},attr-scratchpad:user ,,2x16x4x4,0.5",
             f"onednn_verbose,primitive,exec,{reorder},{middle},,,2x16x4x4,0.5",
             f"onednn_verbose,v1,primitive,exec,{reorder},{new},,,2x16x4x4,0.5",
             f"onednn_verbose,v1,99.25,primitive,exec,{reorder},{new},,,2x16x4x4,0.5"]
    others = ["onednn_verbose,info,oneDNN v2.6.3 (commit N/A)",
              "onednn_verbose,v1,primitive,create:cache_miss," + f"{reorder},{new},,,2x16x4x4,0.7",
              "onednn_verbose,create_nested:cache_hit," + f"{reorder},{old},,,2x16x4x4,0.7",
              "onednn_verbose,v1,primitive,create:dispatch,convolution,cpu,convolution,brgconv:avx512_core,"
              "unsupported datatype,src/x.cpp:10",
              "onednn_verbose,v1,graph,exec,cpu,1,conv_post_ops,,in0_f32:0:strided,fpm:strict,0.3",
              "the program's own words, exec, reorder"]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.txt"
        for line in lines:
            path.write_text("\n".join([*others, line]) + "\n")
            found = report(relayout, path)
            check(found["events"] == 1 and found["reorder_ms"] == 0.5 and found["reorders"][0]["dims"] == [2, 16, 4, 4],
                  f"form: {line}")


def odd_logs(relayout):
    """Logs as they come: with prefixes, without a line break, from Windows, cut off, with numbers that cannot be."""
    log = (SAMPLES / "onednn_program.log").read_bytes()
    lines = log.splitlines()
    half = b"onednn_verbose,exec,cpu,reorder,jit:blk,undef,src_f32::blocked:abcd:f0,,,2x3x4x5,1\n"
    whole = {"events": 29, "runs": 4, "reorders": 5}
    forms = {"line ends of Windows": (b"\r\n".join(lines), whole),
             "prefixes": (b"\n".join(b"[rank 0] 12:00:01.5, info: " + line for line in lines), whole),
             "no breaks between lines": (b"epoch 1 " + b"".join(lines), whole),
             "UTF-16": (log.decode().encode("utf-16"), whole),
             "a mark of UTF-8": (b"\xef\xbb\xbf" + log, whole),
             "bytes that are no UTF-8": (log.replace(b"jit:blk", b"jit:\xff\x1b[31m"), whole),
             "no destination": (log + half, {"events": 29}),
             "a cut line": (log[:-20], {"events": 28})}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.txt"
        for name, (text, expected) in forms.items():
            path.write_bytes(text)
            found = report(relayout, path)
            found["reorders"] = len(found["reorders"])
            check({key: found[key] for key in expected} == expected, f"{name}: {[found[key] for key in expected]}")
            shown = explain(relayout, path, "--elsewhere") + explain(relayout, path, "--elsewhere", "--replay", "1")
            check("\x1b" not in shown, f"{name}: a terminal would act on what is shown")
        for time in ("-1", "nan", "inf", "1e400", "99999999999999999999", ""):
            untimed = [line[:line.rindex(b",") + 1] for line in lines if b",exec," in line]
            path.write_bytes(b"\n".join(line + time.encode() for line in untimed))
            check(report(relayout, path)["ms"] == 0, f"a time of {time}")
        events = json.loads((SAMPLES / "onnxruntime.json").read_text())
        text = "[\n" + ",\n".join(map(json.dumps, events))
        whole = sum(event["name"].endswith("_kernel_time") for event in events)
        inside = text.rindex("_kernel_time") + 20  # the last operation's entry is cut
        for name, cut, kept in (("open", text, whole), ("open behind a comma", text + ",\n", whole),
                                ("cut", text[:inside], whole - 1)):
            path.write_text(cut)
            check(report(relayout, path)["events"] == kept, f"a profile that is {name}")
        path.write_text(json.dumps([{**event, "dur": -5} for event in events]))
        check(report(relayout, path)["ms"] in (0, None), "a profile with times below zero")


def replays(relayout):
    """Bench lines run; the program of a bug report compiles where oneDNN is."""
    source = SAMPLES / "onednn_program.log"
    bench = report(relayout, source)["reorders"][0]["bench"].split(" ")
    done = subprocess.run([relayout, *bench[1:], "--verify", "--json", "--repeat", "1"], capture_output=True, text=True)
    check(done.returncode == 0 and json.loads(done.stdout)["verified"] is True, f"bench: {done.stderr}")
    text = explain(relayout, source, "--elsewhere", "--replay", "1")
    check("memory::format_tag::aBcd8b" in text and "oneDNN 2.6.3" in text, "the bug report")
    if not Path("/usr/include/oneapi/dnnl/dnnl.hpp").exists():
        return
    code = "\n".join(line[4:] for line in text.splitlines() if line.startswith("    "))
    code = code[:code.index("relayout bench")]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "reorder.cc"
        path.write_text(code)
        compiled = subprocess.run(["c++", "-std=c++17", "-fsyntax-only", str(path)], capture_output=True, text=True)
        check(compiled.returncode == 0, f"the bug report's program: {compiled.stderr}")


def every_replay(relayout):
    """Each row of each sample has a program of its system, or the reason why it has none."""
    without = set()
    for sample in sorted(SAMPLES.iterdir()):
        if sample.name == "tensorrt_profile.json":
            continue
        for number in range(1, 1 + len(report(relayout, sample)["reorders"])):
            text = explain(relayout, sample, "--elsewhere", "--replay", str(number))
            has = "A program that does it alone:" in text
            reason = re.search(r"There is no program of .* that does it alone: .+", text)
            check(has or reason, f"{sample.name} {number}: neither a program nor a reason")
            if not has:
                without.add(sample.name)
    check(without == {"onnxruntime.json"}, f"samples without programs: {without}")


def channels_last_of_onnxruntime(relayout):
    """A transposition that ONNX Runtime has made a part of its reorders; where dims do not tell, nothing is said."""
    def node(kind, name, src, dst):
        shapes = {"input_type_shape": [{"float": src}], "output_type_shape": [{"float": dst}]}
        return {"cat": "Node", "name": name + "_kernel_time", "dur": 10, "ts": 0, "args": {"op_name": kind, **shapes}}

    events = [node("ReorderInput", "a", [1, 6, 5, 30], [1, 32, 6, 5]), node("Conv", "b", [1, 32, 6, 5], [1, 32, 6, 5]),
              node("ReorderOutput", "c", [1, 32, 6, 5], [1, 6, 5, 30]),
              node("ReorderOutput", "d", [1, 16, 16, 16], [1, 16, 16, 16])]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "profile.json"
        path.write_text(json.dumps(events))
        rows = {row["name"]: row for row in report(relayout, path)["reorders"]}
    moves = {name: (row["src"], row["dst"], row["dims"]) for name, row in rows.items()}
    check(moves == {"a": ("acdb", "aBcd16b", [1, 30, 6, 5]), "c": ("aBcd16b", "acdb", [1, 30, 6, 5]),
                    "d": ("aBcd16b", "", [1, 16, 16, 16])}, f"channels last of ONNX Runtime: {moves}")


def typical_runs(relayout):
    """A slow first run moves neither the times of a run nor its shares."""
    line = ("onednn_verbose,exec,cpu,{0},jit,forward_inference,src_f32::blocked:{1}:f0 dst_f32::blocked:{2}:f0,,,"
            "2x16x4x4,{3}\n")
    log = ""
    for factor in (100, 1, 1, 2):
        log += line.format("reorder", "abcd", "aBcd8b", factor) + line.format("lrn", "aBcd8b", "aBcd8b", 3 * factor)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.txt"
        path.write_text(log)
        found = report(relayout, path)
        check("Reorders take 1.00 of 4.00 ms in a typical run, 25 %." in explain(relayout, path, "--elsewhere"),
              "typical runs: the head")
    check((found["run_ms"], found["run_reorder_ms"], found["ms"]) == (4, 1, 416), f"typical runs: {found['run_ms']}")


def pages(relayout):
    source = SAMPLES / "onednn_program.log"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "report.html"
        explain(relayout, source, "--elsewhere", "--html", str(path))
        html = path.read_text()
        check(html.count("<details") == 5 and "<script" not in html, "the page")
        again = subprocess.run([relayout, "explain", str(source), "--html", str(path)], capture_output=True, text=True)
        check(again.returncode == 4 and "-f replaces it" in again.stderr, "a page that exists")


def errors(relayout):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "text"
        for text, words in (("hello\n", "none of the forms"), ("onednn_verbose,info,x\n", "no line of a primitive"),
                            ('[{"name": "a_kernel_time"', "no JSON"), ("[" * 100 + '"_kernel_time"', "no JSON|nested")):
            path.write_text(text)
            result = subprocess.run([relayout, "explain", str(path)], capture_output=True, text=True)
            check(result.returncode == 3 and re.search(words, result.stderr), f"error of {text!r}: {result.stderr}")
        result = subprocess.run([relayout, "explain", str(Path(folder) / "none")], capture_output=True, text=True)
        check(result.returncode == 4, "a file that is not there")


def main():
    update = sys.argv[1] == "--update"
    arguments = sys.argv[1 + update:]
    relayout = str(Path(arguments[0]).resolve())
    golden(relayout, update)
    samples_of_onednn(relayout)
    others(relayout)
    forms_of_lines(relayout)
    odd_logs(relayout)
    replays(relayout)
    every_replay(relayout)
    channels_last_of_onnxruntime(relayout)
    typical_runs(relayout)
    pages(relayout)
    errors(relayout)
    if len(arguments) > 1:
        live(relayout, arguments[1])
    print(f"explain: {len(failures)} failures")
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
