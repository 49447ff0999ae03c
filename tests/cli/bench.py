"""bench and --tune."""
import json
import re
import math
import signal

import tensors
from shared import expect


def bench(command):
    """The fields of a measurement and what must hold between them, whatever the machine."""
    pairs = ((("nchw", "nhwc", "1,8,4,4"), 1024),
             (("nchw", "nChw16c", "2,17,9,9", "--threads", "2"), 4 * 162 * (17 + 32)),
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
    process = command.start_interruptible("bench", "--src", "ab", "--dst", "ba", "--dims", "512,512", "--repeat",
                                          "100000000")
    process.send_signal(signal.SIGINT)
    process.communicate()
    expect(process.returncode, 130, "exit code after SIGINT")


def random_cases(command):
    """--random: the same seed gives the same cases, results are right, and an interrupt leaves nothing."""
    def measured(*more):
        return json.loads(command.ok("bench", "--random", "3", "--kind", "cache", "--repeat", "1", "--json", *more))

    report = measured("--count", "6", "--verify", "--out", "random.json")
    with open(command.path("random.json")) as file:
        expect(json.load(file), report, "what --out wrote")
    results = report["results"]
    expect((report["seed"], len(results), report["all"]["cases"]), (3, 6, 6), "%s" % report["all"])
    ratios = [result["ratio"] for result in results]
    expect(report["all"]["worst"], max(ratios), "worst")
    assert math.isclose(report["all"]["geometric_mean"], math.prod(ratios) ** (1 / 6), rel_tol=1e-6), report["all"]
    for result in results:
        expect((result["kind"], result["verified"]), ("cache", True), "%s" % result)
        assert result["copy_bytes"] >= 64 and result["predicted_ns"] > 0, result
    names = [result["name"] for result in results]
    expect([result["name"] for result in measured("--count", "3")["results"]], names[:3], "fewer cases")

    text = command.ok("bench", "--random", "3", "--kind", "cache", "--count", "3", "--repeat", "1", "--slowest", "2")
    assert "the 2 slowest" in text and sum(name in text for name in names[:3]) == 2, text
    line = next(line for line in text.splitlines() if line.strip().startswith("relayout bench"))
    assert "blocks of" in command.ok(*line.split()[1:], "--repeat", "1"), line

    process = command.start_interruptible("bench", "--random", "1", "--count", "100000", "--kind", "cache", "--out",
                                          "interrupted.json")
    process.send_signal(signal.SIGINT)
    process.communicate()
    expect(process.returncode, 130, "exit code after SIGINT")
    expect(command.files(), ["random.json"], "files after SIGINT")


def tuning(command):
    """--tune of both verbs: what was found is remembered where asked; a file that is no tuning file is left alone."""
    def content(name):
        with open(command.path(name), "rb") as file:
            return file.read()

    pair = ("bench", "--src", "ab", "--dst", "ba", "--dims", "2048,2040", "--repeat", "1", "--json")
    assert "tuned_ns" not in json.loads(command.ok(*pair)), "tuned without --tune"
    about = json.loads(command.ok(*pair, "--tune"))
    assert about["tuned_ns"] > 0 and about["tuning"] and not about["tuning_remembered"], about
    expect(about["tuning_out_of_time"], not about["tuning_candidates"], "%s" % about)
    small = command.ok("bench", "--src", "ab", "--dst", "ba", "--dims", "8,4", "--repeat", "1", "--tune")
    assert "by default, as there was nothing to choose" in small, small
    expect(command.files(), [], "files of --tune alone")
    about = json.loads(command.ok(*pair, "--verify", "--tune=tune.txt"))
    expect((about["verified"], about["tuning_remembered"]), (True, False), "%s" % about)
    if about["tuning_candidates"]:  # on a busy machine the time may be too short for a decision
        again = json.loads(command.ok(*pair, "--tune", more_env={"RELAYOUT_TUNE_FILE": "tune.txt"}))
        expect((again["tuning"], again["tuning_remembered"]), (about["tuning"], True), "%s" % again)

    tensors.write_npy(command.path("x.npy"), (700, 900))
    command.ok("convert", "x.npy", "y.npy", "--from", "ab", "--to", "ba")
    for extra in (("--tune=of-convert.txt",), ("--tune=of-convert.txt",), ("--tune",)):
        command.ok("convert", *extra, "x.npy", "z.npy", "--from", "ab", "--to", "ba", "-f")
        expect(content("z.npy"), content("y.npy"), "convert %s" % (extra,))
    parts = command.run("convert", "--tune", "--max-memory", "1M", "x.npy", "z.npy", "--from", "ab", "--to", "ba", "-f")
    expect(parts.returncode, 2, "a plan for parts is timed")
    assert re.search("in [0-9]+ parts, and no plan is timed", parts.stderr), parts.stderr

    before = content("x.npy")
    result = command.run(*pair, "--tune=x.npy")
    expect(result.returncode, 0, "a tuning file that is none")
    assert "tuning file" in result.stderr, result.stderr
    expect(content("x.npy"), before, "a file that is no tuning file")
    assert not [name for name in command.files() if "relayout-" in name], command.files()


ALL = [bench, random_cases, tuning]
