"""Convolutions by Winograd's algorithm: in the cheapest plan, in its file, and left out where that is asked for."""
import copy
import json

from shared import expect

MODEL = "model:unet,image=64,channels=32"


class Planned:
    """The plan of a model whose 3x3 convolutions are faster by Winograd's algorithm, or why there is none."""

    def __init__(self, command):
        self.command = command
        made = command.run("plan", MODEL, "--threads", "1", "-o", "plan.json", "--json")
        self.skipped = "skipped: " + made.stderr.strip() if made.returncode == 5 else None
        if self.skipped:
            return
        expect(made.returncode, 0, made.stderr)
        self.plan = json.loads(made.stdout)
        self.by_winograd = [one for one in self.plan["primitives"] if one.get("rounds_more")]
        if not self.by_winograd:
            self.skipped = "skipped: no convolution is faster by Winograd's algorithm (oneDNN has it for AVX-512 alone)"

    def run(self, *args, threads=1):
        return self.command.run("run", MODEL, "--threads", str(threads), "--random-inputs", "1", *args)

    def refused(self, change):
        """What `check` and `run` say of the plan after `change(its copies in the format)`."""
        plan = copy.deepcopy(self.plan)
        change([one for one in plan["copies"] if one.get("opaque", {}).get("name") == "winograd"])
        with open(self.command.path("bad.json"), "w") as file:
            json.dump(plan, file)
        return self.command.run("check", "bad.json"), self.run("--plan", "bad.json")


def in_plans(command):
    """A plan shows the format, is proven, and runs from its file with outputs that are equal."""
    planned = Planned(command)
    if planned.skipped:
        return planned.skipped
    for one in planned.by_winograd:
        assert any(layout.startswith("opaque:winograd:") for layout in one["layouts"].values()), one
    assert planned.plan["optimal"], "proven"
    for reorder in planned.plan["reorders"]:
        assert "opaque" not in reorder["from"] + reorder["to"], "a reorder in each run: %s" % reorder
    assert any("winograd" in reorder["to"] for reorder in planned.plan["load_reorders"]), "reorders at load"
    for args in ((), ("--model", MODEL)):
        assert command.ok("check", "plan.json", *args).startswith("optimal: "), "check"
    text = command.ok("plan", MODEL, "--threads", "1")
    assert "opaque winograd (" in text and "--no-winograd leaves it out" in " ".join(text.split()), text
    result = planned.run("--plan", "plan.json", "--check", "--check-padding", "--json")
    expect(result.returncode, 0, result.stderr)
    answer = json.loads(result.stdout)
    expect(answer["rounding_more"], len(planned.by_winograd), "convolutions by Winograd's algorithm")
    assert answer["check"]["equal"] and answer["check"]["by_rounding"] == 0, answer["check"]
    # With two threads the details of the format may differ, so that it has another hash.
    other = planned.run("--plan", "plan.json", "--check", threads=2)
    expect(other.returncode, 0, other.stderr)
    assert "runs with 2" in other.stderr, other.stderr
    # A hundredth of the tolerance: the algorithm is not what uses it up.
    assert answer["check"]["largest_difference"] < 1e-5, answer["check"]


def left_out(command):
    """--no-winograd, and policies, give plans without it."""
    planned = Planned(command)
    if planned.skipped:
        return planned.skipped
    for args in (("--no-winograd",), ("--policy", "any"), ("--policy", "openvino")):
        plan = json.loads(command.ok("plan", MODEL, "--threads", "1", *args, "--json"))
        if "--policy" in args:  # plans of the other policies stand beside it
            del plan["policies"]
        assert "wino" not in json.dumps(plan), args
    result = planned.run("--plan", "plan.json", "--no-winograd")
    expect(result.returncode, 2, "a plan that is made already: " + result.stderr)
    args = ("any", "convolution", "--src", "1,64,14,14", "--weights", "64,64,3,3", "--attr", "pads=1",
            "--constant-weights", "--threads", "1", "--json")
    for more, expected in (((), True), (("--no-winograd",), False)):
        (one,) = json.loads(command.ok(*args, *more))["primitives"]
        expect(any(choice["rounds_more"] for choice in one["choices"]), expected, "listed by any %s" % (more,))
        assert not any(choice["rounds_more"] and choice["any"] for choice in one["choices"]), "taken by `any`"


def changed_tokens(command):
    """A format is refused where it is not the backend's; the refusal names the format and whose it is."""
    planned = Planned(command)
    if planned.skipped:
        return planned.skipped

    def other_hash(copies):
        for one in copies:
            old = one["opaque"]["hash"]
            one["opaque"]["hash"] = "%016x" % (int(old, 16) ^ 1)
            one["layout"] = one["layout"].replace(old, one["opaque"]["hash"])

    checked, run = planned.refused(other_hash)
    expect(checked.returncode, 3, "check: another hash: " + checked.stderr)
    expect(run.returncode, 5, "run: another hash: " + run.stderr)
    assert "the opaque format winograd (" in run.stderr, run.stderr

    def other_backend(copies):
        for one in copies:
            one["opaque"]["backend"] = "onednn 3.0"

    checked, run = planned.refused(other_backend)
    expect(checked.returncode, 3, "check: another backend: " + checked.stderr)
    assert "\"winograd\" of \"onednn 3.0\"" in checked.stderr, checked.stderr
    expect(run.returncode, 5, "run: another backend: " + run.stderr)
    assert "of onednn 3.0" in run.stderr, run.stderr
    for args in (("describe", "opaque:winograd:9437184:0123456789abcdef"),
                 ("convert", "a.npy", "b.npy", "--dst", "opaque:winograd:9437184:0123456789abcdef")):
        expect(command.run(*args).returncode, 2, "a layout expression: %s" % (args,))


ALL = [in_plans, left_out, changed_tokens]
