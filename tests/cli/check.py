"""check: plans that are proven, and what must be wrong with ones that were changed."""
import itertools
import json
import math
import random
import signal

import certificates
import cheapest
from shared import expect

# Fields of a plan that inform people and that no proof covers: changing one changes no run and no cost.
REPORT = {"model", "policy", "backend", "threads", "training", "cost", "measured_us", "planning_ms",
          "policies", "what_if",
          "left_out", "problem", "warnings"}
REPORT_OF = {"reorders": {"bytes", "reason"}, "load_reorders": {"bytes", "reason"}, "copies": {"reason"},
             "primitives": {"kind", "pass", "ref"}}


def save(command, content, name="plan.json"):
    with open(command.path(name), "w") as file:
        file.write(content if isinstance(content, str) else json.dumps(content))


def near(a, b):
    return math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9)


def offsets(digits, offset0, dims):
    """What a layout's digits say, element by element."""
    out = []
    for index in itertools.product(*map(range, dims)):
        at = offset0
        for of_dim, i in zip(digits, index):
            for extent, stride in of_dim:
                at += i % extent * stride
                i //= extent
        out.append(at)
    return out


def same_value(a, b):
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same_value(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same_value, a, b))
    if isinstance(a, (int, float)) and isinstance(b, (int, float)) and type(a) is not bool and type(b) is not bool:
        return near(a, b)
    return type(a) is type(b) and a == b


def what_runs(plan):
    """A plan without its certificate and what only informs. Copies have their offsets in place of digits."""
    out = {}
    for key, value in plan.items():
        if key in REPORT_OF:
            out[key] = [{k: v for k, v in item.items() if k in KNOWN[key] - REPORT_OF[key]} for item in value]
        elif key in {"cost_us", "optimal", "gap", "layouts", "tensors", "inputs", "outputs"}:
            out[key] = value
    # Reorders may be listed in any order.
    out["reorders"] = sorted(out["reorders"] + out.pop("load_reorders"), key=json.dumps)
    for copy in out["copies"]:
        copy["digits"] = offsets(copy["digits"], copy.pop("offset"), plan["tensors"][copy["tensor"]]["dims"])
    out["tensors"] = {name: tensor["dims"] for name, tensor in out["tensors"].items()}
    return out


KNOWN = {"reorders": {"tensor", "from", "to"}, "load_reorders": {"tensor", "from", "to"},
         "copies": {"tensor", "layout", "digits", "offset", "from", "view_of"},
         "primitives": {"name", "implementation", "layouts", "src", "dst"}}


def harmless(plan, changed):
    """Whether a changed file that is accepted says what is true: it runs what the plan runs, and what it claims to be
    the least cost is that of its own problem, as cheapest.py finds it."""
    return (same_value(what_runs(plan), what_runs(changed))
            and near(cheapest.cheapest(changed["certificate"]), changed["cost_us"]))


def expect_refused_or_harmless(command, plan, path, value):
    changed = certificates.changed(plan, path, value)
    save(command, changed)
    result = command.run("check", "plan.json")
    what = "%s = %s" % (path, "removed" if value is certificates.REMOVED else repr(value))
    assert result.returncode in (0, 3), "%s: %d, %s" % (what, result.returncode, result.stderr)
    if result.returncode == 3:
        assert result.stderr.count("\n") == 1, "%s: %s" % (what, result.stderr)
        return False
    try:
        fine = harmless(plan, changed)
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        fine = "%s: %s" % (type(error).__name__, error)
    assert fine is True, "%s is accepted: %s, %s" % (what, result.stdout, fine)
    return True


def mutate(command, plan, paths, count, seed):
    """Changes each of these fields in some ways (all where count is None). Returns how many were refused, accepted."""
    rng, counts = random.Random(seed), [0, 0]
    for path in paths:
        values = list(certificates.mutations(plan, path))
        for value in values if count is None else rng.sample(values, min(count, len(values))):
            counts[expect_refused_or_harmless(command, plan, path, value)] += 1
    return counts


def check(command):
    plan = certificates.small_plan()
    save(command, plan)
    expect(command.ok("check", "plan.json"), "optimal: 9 us proven\n", "a plan that is proven")
    verdict = {"valid": True, "optimal": True, "cost_us": 9, "bound_us": 9, "gap": 0, "left_out": 0, "model": False}
    assert same_value(json.loads(command.ok("check", "plan.json", "--json")), verdict), "the same as JSON"
    expect(cheapest.cheapest(plan["certificate"]), 9, "the cheapest")
    for what, wrong, message in certificates.wrong_small_plans():
        save(command, wrong)
        result = command.run("check", "plan.json")
        assert result.returncode == 3 and message in result.stderr, "%s: %d, %r, expected %r" % (
            what, result.returncode, result.stderr, message)
    for what, text in certificates.not_json():
        save(command, text)
        result = command.run("check", "plan.json")
        assert result.returncode == 3 and result.stderr.count("\n") == 1, "%s: %s" % (what, result.stderr)
    expect(command.run("check", "missing.json").returncode, 4, "no file")
    expect(command.run("check", "/dev/zero").returncode, 4, "an endless file")


def check_limits(command):
    """What is too large is refused by a limit; and Ctrl-C ends the command."""
    for what, text in certificates.too_much():
        save(command, text)
        result = command.run("check", "plan.json", "--json")
        expect(result.returncode, 3, "too many %s: %s" % (what, result.stderr))
        if what != "keys":
            expect(json.loads(result.stderr)["error"]["code"], "limit", "too many %s: %s" % (what, result.stderr))
    process = command.start_interruptible("check", "plan.json")
    process.send_signal(signal.SIGINT)
    process.communicate()
    assert process.returncode in (130, 3), process.returncode  # 3: the verdict was out before the signal came


def check_mutations(command):
    """Every field of a small plan, and some of a real one, changed: refused, or harmless."""
    plan = certificates.small_plan()
    paths = [path for path in certificates.paths_of(plan) if path and path[0] not in REPORT]
    refused, accepted = mutate(command, plan, paths, 3, 1)
    assert refused > 3 * accepted > 0, (refused, accepted)
    result = command.run("plan", "model:small_cnn,image=32,channels=8", "--threads", "1", "-o", "real.json")
    if result.returncode == 5:
        return "skipped: " + result.stderr.strip()
    expect(result.returncode, 0, result.stderr)
    with open(command.path("real.json")) as file:
        real = json.load(file)
    assert near(cheapest.cheapest(real["certificate"]), real["cost_us"]), "the cheapest of a real plan"
    paths = [path for path in certificates.paths_of(real) if path and path[0] not in REPORT]
    mutate(command, real, random.Random(2).sample(paths, 200), 1, 2)


ALL = [check, check_limits, check_mutations]
