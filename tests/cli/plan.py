"""plan, and run with a saved plan."""
import copy
import json
import random
import re

import certificates
from shared import expect


def plans(command):
    """Plans by every policy, saved, proven, run, and refused where they are of another model."""
    model = "model:shufflenet,image=32,channels=16"
    result = command.run("plan", model, "--threads", "1", "-o", "plan.json", "--json")
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
        assert "error" in one or one["cost_us"] >= plan["cost_us"] * (1 - 1e-9), (name, one)
    assert "proven" in command.ok("check", "plan.json"), "check"
    once = json.loads(command.ok("plan", model, "--threads", "1", "--runs", "1", "--json"))
    assert once["cost_us"] > plan["cost_us"], "reorders at load"
    for name, one in once["policies"].items():
        assert "error" in one or one["cost_us"] >= once["cost_us"] * (1 - 1e-9), (name, one)
    for policy in sorted(names):
        text = command.ok("plan", model, "--threads", "1", "--policy", policy)
        assert policy + " *" in text, text
        text = command.ok("run", model, "--threads", "1", "--policy", policy, "--random-inputs", "1", "--check")
        assert "equal" in text, policy
    # The saved plan runs, and only on its model.
    command.ok("run", model, "--threads", "1", "--plan", "plan.json", "--random-inputs", "1", "--check")
    assert "the model's" in command.ok("check", "plan.json", "--model", model), "check --model"
    for wrong, message in (("model:shufflenet,image=64,channels=16", "dims"),
                           ("model:small_cnn,image=32", "another model"),
                           ("model:shufflenet,image=32,channels=32", "dims")):
        for args in (("run", wrong, "--plan", "plan.json", "--random-inputs", "1"),
                     ("check", "plan.json", "--model", wrong)):
            result = command.run(*args)
            expect(result.returncode, 3, "%s by another model's plan: %s" % (args, result.stderr))
            assert message in result.stderr, result.stderr
    for args in (("run", model, "--batch", "2", "--plan", "plan.json", "--random-inputs", "1"),
                 ("check", "plan.json", "--model", model, "--batch", "2")):
        expect(command.run(*args).returncode, 3, "another batch size")


class SavedPlan:
    """A plan of a model with convolutions, batch normalization, in-place eltwise and a concat that moves nothing."""

    def __init__(self, command, *options):
        self.command = command
        self.model = "model:densenet,image=32,channels=16"
        self.made = command.run("plan", self.model, "--threads", "1", "--json", *options)
        self.plan = json.loads(self.made.stdout) if self.made.returncode == 0 else None

    def run(self, plan):
        with open(self.command.path("bad.json"), "w") as file:
            file.write(plan if isinstance(plan, str) else json.dumps(plan))
        return self.command.run("run", self.model, "--threads", "1", "--plan", "bad.json", "--random-inputs", "1",
                                "--check", "--check-padding")

    def expect_refused(self, change, code, message):
        plan = copy.deepcopy(self.plan)
        plan.pop("certificate", None)
        change(plan)
        result = self.run(plan)
        expect(result.returncode, code, "%s: %s" % (message, result.stderr))
        assert message in result.stderr, "%r, expected %r" % (result.stderr, message)

    def primitive(self, kind, in_place=False):
        """The first of a kind that reads a copy which is no constant's, with its number; written over that, or not.
        None where the plan has no such primitive."""
        for i, one in enumerate(self.plan["primitives"]):
            over = self.plan["copies"][one["dst"][0]].get("view_of") == one["src"][0]
            if one["kind"] == kind and over == in_place:
                return i, one
        return None


def refuse_fields(saved):
    """Fields that are missing, of another type, or refer to nothing; and primitives that are not the model's."""
    copies = saved.plan["copies"]
    c, conv = saved.primitive("convolution")
    other = next(i for i, one in enumerate(copies) if one["tensor"] != copies[conv["src"][0]]["tensor"])
    refused = saved.expect_refused
    refused(lambda p: p.pop("copies"), 3, 'no "copies"')
    refused(lambda p: p["copies"][0].pop("digits"), 3, 'copies[0]: has no "digits"')
    refused(lambda p: p["copies"][0].update(tensor="none"), 3, 'the model has no tensor "none"')
    refused(lambda p: p["copies"][0].update(view_of=99999), 3, "refers to copy")
    refused(lambda p: p["copies"][0].update(view_of=0), 3, "or of itself")
    refused(lambda p: p["copies"][0].update(offset=1 << 40), 3, 'copies[0]: of "%s"' % copies[0]["tensor"])
    refused(lambda p: p["copies"][0].update(offset=-1), 3, 'copies[0]: of "%s"' % copies[0]["tensor"])
    refused(lambda p: p["primitives"].pop(), 3, "primitives")
    refused(lambda p: p["primitives"].reverse(), 3, "another model")
    refused(lambda p: p["primitives"][c].update(name="other"), 3,
            'the name "other", but "%s" in the model' % conv["name"])
    refused(lambda p: p["primitives"][c].update(implementation="magic"), 5, 'magic for "%s"' % conv["name"])
    refused(lambda p: p["primitives"][c].update(implementation="view"), 3, 'convolution "%s" is no view' % conv["name"])
    refused(lambda p: p["primitives"][c].update(src=["x"]), 3, "primitives[%d].src[0]: is not a whole number" % c)
    refused(lambda p: p["primitives"][c]["src"].pop(), 3, 'sources of convolution "%s"' % conv["name"])
    refused(lambda p: p["primitives"][c]["src"].__setitem__(0, other), 3, 'sources of convolution "%s"' % conv["name"])
    refused(lambda p: p["primitives"][c]["src"].__setitem__(0, None), 3, 'sources of convolution "%s"' % conv["name"])
    refused(lambda p: p["primitives"][c]["dst"].__setitem__(0, 99999), 3,
            'destinations of convolution "%s"' % conv["name"])


def refuse_missing_reorder(saved):
    """A copy that is read and that nothing writes. How the cheapest plan moves tensors depends on the machine's speeds,
    so this is a plan by a policy that has reorders on all machines."""
    reorder = next(i for i, one in enumerate(saved.plan["copies"]) if "from" in one)
    saved.expect_refused(lambda p: p["copies"][reorder].pop("from"), 3, 'copy %d of ' % reorder)


def refuse_layouts(saved):
    """Layouts that a primitive has not."""
    copies = saved.plan["copies"]
    refused = saved.expect_refused

    def give(i, j):
        """One copy the layout of another."""
        return lambda p: p["copies"][i].update({key: copies[j][key] for key in ("layout", "digits", "offset")})

    # The primitive has no implementation in these layouts.
    shared_memory = {one.get("view_of") for one in copies} | {i for i, one in enumerate(copies) if "view_of" in one}
    alone = next(one for one in saved.plan["primitives"] if one["dst"][0] not in shared_memory
                 and len(copies[one["dst"][0]]["digits"]) == 4 and one["kind"] != "concat")
    dims = saved.plan["tensors"][copies[alone["dst"][0]]["tensor"]]["dims"]
    strides = [1, dims[0], dims[0] * dims[1], dims[0] * dims[1] * dims[2]]
    dcba = {"layout": "dcba", "offset": 0, "digits": [[[extent, stride]] for extent, stride in zip(dims, strides)]}
    refused(lambda p: p["copies"][alone["dst"][0]].update(dcba), 5, 'for "%s" in these layouts' % alone["name"])
    # Whether the cheapest plan has something in place depends on the processor: where arithmetic takes the time, that
    # is no faster.
    in_place = saved.primitive("eltwise", in_place=True)
    if in_place:
        written = in_place[1]["dst"][0]
        other = next(i for i, one in enumerate(copies) if one["digits"] != copies[written]["digits"])
        refused(give(written, other), 3, copies[written]["tensor"])


def refuse_memory_and_tensors(saved):
    """Memory that is shared where it must not be, or is not where it must be; inputs, outputs and tensors of others."""
    copies = saved.plan["copies"]
    concat = next(one for one in saved.plan["primitives"]
                  if one["kind"] == "concat" and one["implementation"] == "view")
    joined = copies[concat["dst"][0]]["tensor"]
    refused = saved.expect_refused
    # Memory: a source that is overwritten must not be read again, a part must lie in its place, and nothing else may
    # share memory.
    refused(lambda p: p["copies"][concat["src"][0]].pop("view_of"), 3, 'is no part of concat "%s"' % concat["name"])
    over = next(one for one in saved.plan["primitives"] if one["kind"] == "pooling")
    refused(lambda p: p["copies"][over["dst"][0]].update(view_of=over["src"][0]), 3,
            'pooling "%s" cannot write over its source' % over["name"])
    refused(lambda p: p["inputs"].clear(), 3, "inputs")
    refused(lambda p: p.update(outputs=p["inputs"]), 3, "the outputs")
    refused(lambda p: p["tensors"].update(more={"dims": [1], "dtype": "f32"}), 3, "another model")
    refused(lambda p: p["tensors"][joined].update(dtype="bf16"), 3, "is bf16 in the plan and f32 in the model")


def saved_plans(command):
    """Saved plans that were changed by hand are refused before anything runs, with what is wrong and where."""
    saved = SavedPlan(command)
    if saved.made.returncode == 5:
        return "skipped: " + saved.made.stderr.strip()
    expect(saved.run(saved.plan).returncode, 0, "as it was")
    refuse_fields(saved)
    refuse_missing_reorder(SavedPlan(command, "--policy", "nhwc"))
    refuse_layouts(saved)
    refuse_memory_and_tensors(saved)
    text = json.dumps(saved.plan)
    for length in (0, 1, len(text) // 3, len(text) - 1):
        expect(saved.run(text[:length]).returncode, 3, "cut at %d" % length)
    expect(saved.run("[" * 100).returncode, 3, "deep JSON")
    expect(command.run("run", saved.model, "--plan", "missing.json", "--random-inputs", "1").returncode, 4, "no file")


def random_saved_plans(command):
    """Fields of a saved plan, changed at random: refused, or what runs equals the reference, with padding kept."""
    saved = SavedPlan(command)
    if saved.made.returncode == 5:
        return "skipped: " + saved.made.stderr.strip()
    plan = {key: saved.plan[key]
            for key in ("policy", "threads", "tensors", "copies", "primitives", "inputs", "outputs")}
    links = [path for path in certificates.paths_of(plan)
             if path and (path[-1] in ("from", "view_of", "offset", "implementation")
                          or path[-2:-1] in (("src",), ("dst",)))]
    rng, refused = random.Random(1), 0
    for _ in range(80):
        path = rng.choice(links)
        value = rng.randrange(len(plan["copies"]))
        if path[-1] == "implementation":
            value = rng.choice(plan["primitives"])["implementation"]
        result = saved.run(certificates.changed(plan, path, value))
        what = "%s = %r: %d, %s" % (path, value, result.returncode, result.stderr)
        assert result.returncode in (0, 3, 5), what
        assert result.returncode == 0 or result.stderr.startswith("relayout: plan"), what
        refused += result.returncode != 0
    assert refused > 40, refused


def plan_options(command):
    model = "model:small_cnn,image=32,channels=8"
    result = command.run("plan", model, "--threads", "1", "--tune", "--json")
    if result.returncode == 5:
        return "skipped: " + result.stderr.strip()
    expect(result.returncode, 0, result.stderr)
    tuned = json.loads(result.stdout)
    fastest = min(one["measured_us"] for one in tuned["policies"].values() if "error" not in one)
    assert tuned["measured_us"] <= 1.02 * fastest, "the fastest is kept, within noise: %s" % tuned["policies"]
    plan = json.loads(command.ok("plan", model, "--threads", "1", "--json"))
    tensor = next(p for p in plan["primitives"] if p["kind"] == "convolution")["name"]
    for layout in ("nchw", "nhwc", "nChw16c"):
        plan = json.loads(command.ok("plan", model, "--threads", "1", "--what-if", "%s=%s" % (tensor, layout),
                                     "--json"))
        wished = plan["what_if"]
        assert wished["cost_difference_us"] >= -1e-6, wished
        for key, difference in (("predicted_us", "difference_us"), ("cost_us", "cost_difference_us")):
            assert abs(wished[key] - plan[key] - wished[difference]) < 1e-3, wished
    measured = json.loads(command.ok("plan", model, "--threads", "1", "--cost", "measured", "--json"))
    expect(measured["cost"], "measured", "costs")
    training = json.loads(command.ok("plan", model, "--threads", "1", "--training", "--json"))
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


def plan_training(command):
    """Plans say of which kind of training they are, and run as that; gradients that cancel to nothing are equal."""
    model = "model:small_cnn,image=32,channels=8"
    kinds = {False: (), "step": ("--training",), "forward": ("--training=forward",)}
    for kind, flags in kinds.items():
        result = command.run("plan", model, *flags, "--threads", "1", "-o", "%s.json" % kind)
        if result.returncode == 5:
            return "skipped: " + result.stderr.strip()
        expect(result.returncode, 0, result.stderr)
        with open(command.path("%s.json" % kind)) as file:
            plan = json.load(file)
        expect(plan["training"], kind, "training")
        assert "the model's" in command.ok("check", "%s.json" % kind, "--model", model), "check --model"
        for other, wrong in kinds.items():
            args = ("run", model, *wrong, "--plan", "%s.json" % kind, "--random-inputs", "1", "--check")
            result = command.run(*args, "--threads", "1")
            if other == kind:
                expect(result.returncode, 0, "%s: %s%s" % (args, result.stdout, result.stderr))
                continue
            expect(result.returncode, 3, "%s: %s" % (args, result.stderr))
            wanted = "run it with --training=%s" % kind if kind else "run it without --training"
            assert wanted in result.stderr, result.stderr
        # Plans that were saved before there were two kinds of training have `true` here.
        if kind:
            plan["training"] = True
            with open(command.path("old.json"), "w") as file:
                json.dump(plan, file)
            assert "the model's" in command.ok("check", "old.json", "--model", model), "an older plan"
            command.ok("run", model, *flags, "--plan", "old.json", "--threads", "1", "--random-inputs", "1")
    # The gradient of a convolution's bias, or of a shift, right before another normalization is zero.
    text = command.ok("run", "model:mobilenet_v2,image=64,channels=8", "--training", "--threads", "1",
                      "--random-inputs", "1", "--check")
    assert "equal" in text, text


def plan_on_standard_output(command, model, result):
    """A plan as standard output holds only the plan, and numbers of one agree with their nouns. Returns the plan."""
    plan = json.loads(result.stdout)
    assert "Primitives" in result.stderr and "certificate" in plan, result.stderr
    assert "-" not in command.files(), command.files()
    assert not re.search(r"\b1 reorders|\b1 slow reference primitives", result.stderr), result.stderr
    both = command.run("plan", model, "--threads", "1", "-o", "-", "--json")
    assert both.stdout.count('"certificate"') == 1 and json.loads(both.stdout)["policy"] == "optimal", both.stdout[:80]
    for policy in ("nchw", "nhwc", "8c", "any"):
        text = command.ok("run", model, "--threads", "1", "--policy", policy, "--random-inputs", "1")
        assert not re.search(r"\b1 reorders|\b1 slow reference primitives", text), text
    return plan


def messages_about_arguments(command, model):
    """Names that end in a comma, dims without numbers, inputs that the model has not, wishes that cannot be had."""
    result = command.run("plan", "model:small_cnn,")
    assert result.returncode == 2 and "ends with a comma" in result.stderr, result.stderr
    result = command.run("describe", "nhwc", "--dims", "")
    assert result.returncode == 2 and 'dims "" has 0' in result.stderr, result.stderr
    result = command.run("run", model, "--input", "foo=x.npy")
    expect(result.returncode, 2, "an input that the model has not")
    said = "--input foo=x.npy: the model has no input foo; its inputs are image (f32 1x3x32x32)\n"
    expect(result.stderr, "relayout: " + said, "an input that the model has not")
    # If wishes cannot be fulfilled, the command prints the plan and what is wrong.
    result = command.run("plan", model, "--threads", "1", "--what-if", "convolution_0=nhwc", "--what-if",
                         "convolution_0=nchw")
    expect(result.returncode, 5, "wishes that contradict each other")
    assert "no plan costs less by these prices" in " ".join(result.stdout.split()), result.stdout
    said = "relayout: --what-if convolution_0=nhwc, convolution_0=nchw: "
    assert result.stderr.splitlines()[-1].startswith(said), result.stderr


def messages_about_files_without_plan(command, model):
    """Files that are no JSON, or JSON that is no plan."""
    # Text that is not JSON, with or without an end, and a number. The error cuts what it quotes.
    for name, text in (("none.json", "none"), ("long.json", '"' + "\x7f" * 1000000), ("long.json", "1" * 1000000)):
        with open(command.path(name), "w") as file:
            file.write(text)
        for args in (("check", name), ("run", model, "--plan", name, "--random-inputs", "1")):
            result = command.run(*args)
            assert result.returncode == 3 and name + ": is not JSON: " in result.stderr, result.stderr[:400]
            assert "\x7f" not in result.stderr and len(result.stderr) < 1500, result.stderr[:400]
    for text, what in (("[]", "is not a JSON object"), ("{}", "has no "), ("1", "is not a JSON object")):
        with open(command.path("none.json"), "w") as file:
            file.write(text)
        for args in (("check", "none.json"), ("run", model, "--plan", "none.json", "--random-inputs", "1")):
            result = command.run(*args)
            said = "relayout: none.json: is not a plan as relayout plan -o writes it: it " + what
            assert result.returncode == 3 and result.stderr.startswith(said), result.stderr


def messages_of_check(command, model, plan):
    """What the planner left out, options that only a model has, and operations by other names than the model's."""
    plan["left_out"] = 5
    with open(command.path("plan.json"), "w") as file:
        json.dump(plan, file)
    assert "left out 5" in command.ok("check", "plan.json"), "what was left out"
    expect(json.loads(command.ok("check", "plan.json", "--json"))["left_out"], 5, "left_out")
    for flag, value in (("--batch", "2"), ("--random-weights", "2"), ("--dim", "batch=2")):
        result = command.run("check", "plan.json", flag, value)
        assert result.returncode == 2 and "goes only with --model" in result.stderr, result.stderr
    command.ok("check", "plan.json", "--model", model)
    operations = plan["certificate"]["operations"]
    for i in (0, len(operations) - 1):
        kept, operations[i]["name"] = operations[i]["name"], "another"
        with open(command.path("named.json"), "w") as file:
            json.dump(plan, file)
        result = command.run("check", "named.json", "--model", model)
        assert result.returncode == 3 and "another" in result.stderr, "%d: %s" % (i, result.stderr)
        operations[i]["name"] = kept


def plan_messages(command):
    """What is said of small things: standard output as the file, names that end in a comma, what is no JSON."""
    model = "model:small_cnn,image=32,channels=8"
    result = command.run("plan", model, "--threads", "1", "-o", "-")
    if result.returncode == 5:
        return "skipped: " + result.stderr.strip()
    expect(result.returncode, 0, result.stderr)
    plan = plan_on_standard_output(command, model, result)
    messages_about_arguments(command, model)
    messages_about_files_without_plan(command, model)
    # plan and check print the same time in the same form.
    text = command.ok("plan", model, "--threads", "1", "-o", "times.json")
    cost = re.search(r", cost ([0-9.]+ [mu]?s) \(", text).group(1)  # that of the plan; reorders have theirs
    assert command.ok("check", "times.json").startswith("optimal: %s proven" % cost), (text, cost)
    # Text from a file must not reach the terminal unescaped.
    with open(command.path("policy.json"), "w") as file:
        json.dump(dict(plan, policy="\x1b[31m"), file)
    text = command.ok("run", model, "--threads", "1", "--plan", "policy.json", "--random-inputs", "1")
    assert "policy \\x1b[31m: " in text, text
    messages_of_check(command, model, plan)


ALL = [plans, saved_plans, random_saved_plans, plan_options, plan_training, plan_messages]
