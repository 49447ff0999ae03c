"""plan: its files of costs and implementations, interrupts, other threads, and what its tables hold."""
import functools
import json
import os
import re
import signal
import threading

import outputs
from shared import expect, wait_until

# All moments of an interrupt for every kind of plan, or some for each.
SLOW = os.environ.get("RELAYOUT_SLOW_TESTS", "0") not in ("", "0")


def entries(path):
    with open(path) as file:
        return sum(line[0] in "0123456789abcdef" and line[:3] != "end" for line in file)


def told(result):
    """Lines of standard error."""
    return result.stderr.splitlines()


def write_relu(command):
    """A model of one operation, for which few times are measured: each takes seconds where other work disturbs it."""
    with open(command.path("relu.onnx"), "wb") as file:
        file.write(outputs.model([outputs.node("Relu", "x", "y")], ["y"]))
    return "relu.onnx"


def other_kernels(command):
    """Settings of the environment with which other kernels are used than without."""
    capped = "SSE41" in (os.environ.get("ONEDNN_MAX_CPU_ISA"), os.environ.get("DNNL_MAX_CPU_ISA"))
    yield {"ONEDNN_MAX_CPU_ISA": "AVX" if capped else "SSE41"}
    yield {"ONEDNN_DEFAULT_FPMATH_MODE": "ANY"}
    about = json.loads(command.ok("doctor", "--json"))
    for isa in about["available_isas"]:
        if isa != about["isa"]:
            yield {"RELAYOUT_ISA": isa}
            break


def plan_files(command):
    """Files of costs and implementations: what is wrong with them is said once, and they are of one set of kernels."""
    model = write_relu(command)
    costs = {"RELAYOUT_COST_FILE": command.path("costs.txt")}
    measured = ("plan", model, "--threads", "1", "--cost", "measured", "--json")
    result = command.run(*measured, more_env=costs)
    if result.returncode == 5:
        return "skipped: " + result.stderr.strip()
    expect(result.returncode, 0, result.stderr)
    expect(told(result), [], "standard error")
    known, offered = entries(command.path("costs.txt")), entries(command.path("implementations.txt"))
    # Times that other work on the machine disturbed were not kept, and are measured again.
    command.ok(*measured, more_env=costs)
    before, known = known, entries(command.path("costs.txt"))
    assert known >= before, "%d times, then %d" % (before, known)
    # With other kernels, other times and implementations are kept.
    for setting in other_kernels(command):
        command.ok(*measured, more_env=dict(costs, **setting))
        more, more_offered = entries(command.path("costs.txt")), entries(command.path("implementations.txt"))
        # Disturbed times are not kept, so only the number of implementations must grow.
        counts = "%s: %d times, %d implementations" % (setting, more, more_offered)
        assert more >= known and more_offered > offered, counts
        known, offered = more, more_offered
    # For each file there is one warning, as text and as a field. A file of another kind stays as it is.
    for name in ("costs.txt", "implementations.txt"):
        kept = open(command.path(name)).read()
        with open(command.path(name), "w") as file:
            file.write("something else")
        result = command.run(*measured, more_env=costs)
        expect(result.returncode, 0, result.stderr)
        expect(len(told(result)), 1, "lines: " + result.stderr)
        assert told(result)[0].startswith("relayout: warning: ") and name in told(result)[0], result.stderr
        assert name in json.loads(result.stdout)["warnings"][0], result.stdout
        result = command.run("run", model, "--threads", "1", "--cost", "measured", "--random-inputs", "1",
                             more_env=costs)
        expect((result.returncode, len(told(result))), (0, 1), result.stderr)
        expect(open(command.path(name)).read(), "something else", name)
        # Damaged files are replaced.
        for text in ("", kept[:len(kept) // 2]):
            with open(command.path(name), "w") as file:
                file.write(text)
            result = command.run(*measured, more_env=costs)
            expect((result.returncode, len(told(result))), (0, 1), "a damaged file: " + result.stderr)
            assert name in told(result)[0] and "may be deleted" in told(result)[0], result.stderr
            result = command.run(*measured, more_env=costs)
            expect((result.returncode, told(result)), (0, []), "replaced")
        with open(command.path(name), "w") as file:
            file.write(kept)
    os.mkdir(command.path("folder"))
    os.mkdir(command.path("folder/.costs.txt.lock"))
    result = command.run(*measured, more_env={"RELAYOUT_COST_FILE": command.path("folder/costs.txt")})
    expect((result.returncode, len(told(result))), (0, 1), "a file that cannot be written: " + result.stderr)
    return plan_unknown_implementations(command, costs)


def plan_unknown_implementations(command, costs):
    """Ways that the file has and the backend has not: their plans are left out, with the reason."""
    model = "model:small_cnn,image=32,channels=16"
    measured = ("plan", model, "--threads", "1", "--cost", "measured", "--json")

    def used(policy):
        result = command.run("plan", model, "--threads", "1", "--policy", policy, "--json", more_env=costs)
        expect(result.returncode, 0, result.stderr)
        return None if result.disturbed else {one["implementation"] for one in json.loads(result.stdout)["primitives"]}
    best = used("optimal")
    if best is None:  # the next plan goes by other speeds
        return "skipped: other work disturbs how the machine's speeds are measured"
    if all((used(policy) or set()) <= best for policy in ("nchw", "nhwc", "8c")):
        return "skipped: every policy has the implementations of the cheapest plan"
    with open(command.path("implementations.txt")) as file:
        lines = file.read()
    name = re.compile(" [a-z][a-z0-9_+]*:[a-z0-9_:+]+(?= )")
    with open(command.path("implementations.txt"), "w") as file:
        # Analytic prices go by how a name begins, so that it does so still.
        file.write(name.sub(lambda found: found[0] + ("" if found[0][1:] in best else ":magic"), lines))
    tuned = json.loads(command.ok("plan", model, "--threads", "1", "--tune", "--json", more_env=costs))
    failed = [one for one in tuned["policies"].values() if "magic" in one.get("problem", "")]
    assert failed and all("measured_us" not in one for one in failed) and tuned["measured_us"] > 0, tuned["policies"]
    assert "magic" in command.ok("plan", model, "--threads", "1", "--tune", more_env=costs), "the reason as text"
    # With measured costs these policies have no time either.
    policies = json.loads(command.ok(*measured, more_env=costs))["policies"]
    timeless = [one for one in policies.values() if one.get("predicted_us", 0) is None]
    unknown = re.compile("cannot be run as .*:magic")
    assert timeless and all(unknown.search(one["problem"]) for one in timeless), policies
    assert not re.search(r"\binf\b", command.ok(*measured[:-1], more_env=costs)), "infinity"
    with open(command.path("implementations.txt"), "w") as file:
        file.write(name.sub(lambda found: found[0] + ":magic", lines))
    result = command.run("plan", model, "--threads", "1", "--tune", more_env=costs)
    expect(result.returncode, 5, "no plan runs: " + result.stderr)


def plan_remeasured(command):
    """Times in the cost file are believed, however wrong, until --remeasure replaces each of them, unless no machine
    can have them; what is no time is named with its line."""
    env = {"RELAYOUT_COST_FILE": command.path("costs.txt")}
    # Ten seconds for a step of microseconds: no other work on the machine explains that. A call, which is one of the
    # machine's speeds, may take a millisecond at most.
    for cost, wrong in (("measured", "1e7"), ("analytic", "900")):
        args = ("plan", write_relu(command), "--threads", "1", "--cost", cost, "--json")
        result = command.run(*args, more_env=env)
        if result.returncode == 5:
            return "skipped: " + result.stderr.strip()
        good = json.loads(result.stdout)["predicted_us"]
        if not os.path.exists(command.path("costs.txt")):  # other work disturbed every measurement
            assert result.disturbed, result.stderr
            continue
        with open(command.path("costs.txt")) as file:
            lines = file.read().splitlines()

        def write(value):
            """Every value becomes this one, as keys do not tell which values are times and which are speeds."""
            with open(command.path("costs.txt"), "w") as file:
                for line in lines:
                    file.write((line if line[:3] in ("rel", "end") else line.split()[0] + " " + value) + "\n")
        write(wrong)
        believed = json.loads(command.ok(*args, more_env=env))["predicted_us"]
        assert believed > 10 * good, (cost, good, believed)
        again = json.loads(command.ok(*args, "--remeasure", more_env=env))["predicted_us"]
        assert again < believed / 10, (cost, believed, again)
        if os.path.exists(command.path("costs.txt")):
            with open(command.path("costs.txt")) as file:
                kept = [line for line in file.read().splitlines() if line.endswith(" " + wrong)]
            assert not kept, (cost, kept)
            os.remove(command.path("costs.txt"))
        if cost == "analytic":
            write("1e7")  # no call takes ten seconds, so the speeds are measured again
            again = json.loads(command.ok(*args, more_env=env))["predicted_us"]
            assert again < believed / 10, (cost, believed, again)
    args = ("plan", "relu.onnx", "--threads", "1", "--cost", "measured")
    for value in ("nan", "-3", "-inf"):
        with open(command.path("costs.txt"), "w") as file:
            file.write("relayout-costs 1\n%s %s\nend 1\n" % ("0" * 32, value))
        result = command.run(*args, more_env=env)
        expect(result.returncode, 0, result.stderr)
        assert 'line 2 has the value "%s"' % value in result.stderr, result.stderr
    return None


def interrupt(command, happened, *args):
    """The exit code, standard output and error after Ctrl-C, which comes once something has happened. What is printed
    before is read as it comes, so that no command waits to be read."""
    process = command.start_interruptible(*args)
    out_and_err = []
    reader = threading.Thread(target=lambda: out_and_err.extend(process.communicate()))
    reader.start()
    wait_until(process, happened)
    process.send_signal(signal.SIGINT)
    reader.join()
    return process.returncode, *out_and_err


def moments(command):
    """What the test waits for: nothing, or that a file appears which the command writes between its steps."""
    yield lambda: True
    for name in (".costs.txt.lock", "costs.txt", ".implementations.txt.lock", "implementations.txt"):
        yield functools.partial(os.path.exists, command.path(name))


def forget(command):
    for name in command.files():
        os.remove(command.path(name))


def plan_interrupted(command):
    """Ctrl-C at any moment of planning ends the command with an error, as JSON where that was asked for, or the plan is
    there. --tune that is interrupted gives the cheapest plan. What was measured stays."""
    command.env = dict(command.env, RELAYOUT_COST_FILE=command.path("costs.txt"))
    small, large = "model:small_cnn,image=64,channels=16", "model:shufflenet,image=64,channels=16"
    result = command.run("plan", small, "--threads", "1")
    if result.returncode == 5:
        return "skipped: " + result.stderr.strip()
    for i, args in enumerate(((large, "--training"), (small, "--tune"), (small, "--cost", "measured"))):
        for happened in list(moments(command))[0 if SLOW else i % 2::1 if SLOW else 2]:
            forget(command)
            code, out, err = interrupt(command, happened, "plan", *args, "--threads", "1", "--json")
            if code == 130:
                assert not out or out.startswith('{\n  "model": '), out[:100]  # it came during the output
                expect(json.loads(err.splitlines()[-1])["error"]["code"], "interrupted", "the code")
                kept = re.search("what was measured so far, ([0-9]+) times?, is kept in .*costs.txt", err)
                assert not kept or entries(command.path("costs.txt")) >= int(kept[1]), err
            else:
                expect(code, 0, err)
                assert json.loads(out)["predicted_us"] > 0, out[:100]
    # Every other verb reports the interruption from the signal handler.
    code, out, err = interrupt(command, lambda: True, "run", "model:unet,image=512,channels=64", "--threads", "1",
                               "--random-inputs", "1", "--repeat", "100000", "--policy", "nchw", "--json")
    expect((code, out), (130, ""), err)
    expect(json.loads(err.splitlines()[-1])["error"]["code"], "interrupted", "the code")


def plan_threads(command):
    """A plan for another number of threads says so."""
    model = "model:unet,image=32,channels=16"
    result = command.run("plan", model, "--threads", "1", "--policy", "nchw", "-o", "plan.json")
    if result.returncode == 5:
        return "skipped: " + result.stderr.strip()
    args = ("run", model, "--plan", "plan.json", "--random-inputs", "1", "--json", "--threads")
    same = command.run(*args, "1")
    assert same.returncode == 0 and "note: " not in same.stderr, same.stderr
    assert "plan_threads" not in json.loads(same.stdout), same.stdout
    other = command.run(*args, "2")
    expect(other.returncode, 0, other.stderr)
    assert "note: plan.json is for --threads 1 and runs with 2" in other.stderr, other.stderr
    expect([json.loads(other.stdout)[key] for key in ("threads", "plan_threads")], [2, 1], "threads")


def plan_widths(command):
    """Layouts without a short name stand below the tables."""
    found = 0
    for name, channels in (("unet", 8), ("unet", 16), ("densenet", 12), ("densenet", 8)):
        result = command.run("plan", "model:%s,image=64,channels=%d" % (name, channels), "--threads", "1")
        if result.returncode == 5:
            return "skipped: " + result.stderr.strip()
        tables, _, legend = result.stdout.partition("Layouts\n")
        found += bool(legend)
        expect(bool(legend), "layout(" in tables, "layouts below the tables")
        assert " = (" not in tables, tables
        rows = tables.split("Reorders\n")[0].split("\n")
        assert max(map(len, rows)) <= 160, max(rows, key=len)
        for short in set(re.findall(r"layout\([0-9]+\)", tables)):
            assert "\n  %s  " % short in "\n" + legend, short
    return None if found else "skipped: no plan has a layout without a short name"


ALL = [plan_files, plan_remeasured, plan_interrupted, plan_threads, plan_widths]
