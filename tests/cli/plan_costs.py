"""plan: its files of costs and ways, interrupts, other threads, and what its tables hold."""
import json
import os
import re
import signal
import subprocess
import time

from shared import expect


def entries(path):
    with open(path) as file:
        return sum(line[0] in "0123456789abcdef" and line[:3] != "end" for line in file)


def told(result):
    """Lines of standard error, but for what other work on the machine is to blame for."""
    return [line for line in result.stderr.splitlines() if "could not be measured well" not in line]


def plan_files(command):
    """Files of costs and ways: what is wrong with them is said once, and they are of one set of kernels."""
    model = "model:small_cnn,image=32,channels=16"
    costs = {"RELAYOUT_COST_FILE": command.path("costs.txt")}
    measured = ("plan", model, "--threads", "1", "--cost", "measured", "--json")
    result = command.run(*measured, more_env=costs)
    if result.returncode == 5:
        return "skipped: " + result.stderr.strip()
    expect(result.returncode, 0, result.stderr)
    expect(told(result), [], "standard error")
    known, ways = entries(command.path("costs.txt")), entries(command.path("ways.txt"))
    for _ in range(10):  # the price of a step is kept once it could be measured
        result = command.run(*measured, more_env=costs)
        expect(result.returncode, 0, result.stderr)
        if not result.stderr:
            break
    else:
        return "skipped: too much else runs here"
    known = entries(command.path("costs.txt"))
    command.ok(*measured, more_env=costs)
    expect(entries(command.path("costs.txt")), known, "times that are known")
    # Other kernels: their times and ways are others.
    for setting in ({"ONEDNN_MAX_CPU_ISA": "SSE41"}, {"ONEDNN_DEFAULT_FPMATH_MODE": "ANY"}, {"RELAYOUT_ISA": "scalar"}):
        command.ok(*measured, more_env=dict(costs, **setting))
        more, more_ways = entries(command.path("costs.txt")), entries(command.path("ways.txt"))
        assert more > known and more_ways > ways, "%s: %d times, %d ways" % (setting, more, more_ways)
        known, ways = more, more_ways
    # A warning each, in text and as a field; files that are none stay.
    for name in ("costs.txt", "ways.txt"):
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
        # Damaged ones are replaced.
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
    # Ways that the file has, and the backend has not: their plans are left out, with the reason.
    def used(policy):
        text = command.ok("plan", model, "--threads", "1", "--policy", policy, "--json", more_env=costs)
        return {one["implementation"] for one in json.loads(text)["primitives"]}
    best = used("optimal")
    if all(used(policy) <= best for policy in ("nchw", "nhwc", "8c")):
        return "skipped: every policy has the implementations of the cheapest plan"
    with open(command.path("ways.txt")) as file:
        lines = file.read()
    name = re.compile(" [a-z][a-z0-9_+]*:[a-z0-9_:+]+(?= )")
    with open(command.path("ways.txt"), "w") as file:
        file.write(name.sub(lambda found: found[0] if found[0][1:] in best else " relayout:magic", lines))
    tuned = json.loads(command.ok("plan", model, "--threads", "1", "--tune", "--json", more_env=costs))
    failed = [one for one in tuned["policies"].values() if "magic" in one.get("problem", "")]
    assert failed and all("measured_us" not in one for one in failed) and tuned["measured_us"] > 0, tuned["policies"]
    assert "magic" in command.ok("plan", model, "--threads", "1", "--tune", more_env=costs), "the reason as text"
    # By measured costs they have no time either.
    policies = json.loads(command.ok(*measured, more_env=costs))["policies"]
    timeless = [one for one in policies.values() if one.get("predicted_us", 0) is None]
    assert timeless and all("cannot be run as relayout:magic" in one["problem"] for one in timeless), policies
    assert not re.search(r"\binf\b", command.ok(*measured[:-1], more_env=costs)), "infinity"
    with open(command.path("ways.txt"), "w") as file:
        file.write(name.sub(" relayout:magic", lines))
    result = command.run("plan", model, "--threads", "1", "--tune", more_env=costs)
    expect(result.returncode, 5, "no plan runs: " + result.stderr)


def plan_remeasured(command):
    """Times that are wrong are measured again on purpose; what is no time is named with its line."""
    env = {"RELAYOUT_COST_FILE": command.path("costs.txt")}
    for cost in ("measured", "analytic"):
        args = ("plan", "model:small_cnn,image=32,channels=8", "--threads", "1", "--cost", cost, "--json")
        result = command.run(*args, more_env=env)
        if result.returncode == 5:
            return "skipped: " + result.stderr.strip()
        good = json.loads(result.stdout)["predicted_us"]
        if not os.path.exists(command.path("costs.txt")):  # nothing is sure here
            return "skipped: " + result.stderr.strip()
        with open(command.path("costs.txt")) as file:
            lines = file.read().splitlines()
        # Times are long then, and speeds high: which, the keys do not say.
        wrong = [line if line[:3] in ("rel", "end") else line.split()[0] + " 1e7" for line in lines]
        with open(command.path("costs.txt"), "w") as file:
            file.write("\n".join(wrong) + "\n")
        far_off = json.loads(command.ok(*args, more_env=env))["predicted_us"]
        assert not good / 20 < far_off < good * 20, (cost, good, far_off)
        again = json.loads(command.ok(*args, "--remeasure", more_env=env))["predicted_us"]
        assert good / 20 < again < good * 20, (cost, good, again)
        result = command.run(*args, more_env=env)
        if not result.stderr:
            kept = json.loads(result.stdout)["predicted_us"]
            assert good / 20 < kept < good * 20, (cost, good, kept)
        os.remove(command.path("costs.txt"))
    for value in ("nan", "-3", "-inf"):
        with open(command.path("costs.txt"), "w") as file:
            file.write("relayout-costs 1\n%s %s\nend 1\n" % ("0" * 32, value))
        result = command.run(*args, more_env=env)
        expect(result.returncode, 0, result.stderr)
        assert 'line 2 has the value "%s"' % value in result.stderr, result.stderr
    return None


def interrupt(command, seconds, *args):
    """The exit code, standard output and error after Ctrl-C, and how long that took. What is printed before is read as
    it comes, so that no command waits to be read."""
    process = command.start(*args)
    try:
        out, err = process.communicate(timeout=seconds)
        return process.returncode, out, err, 0
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)
    start = time.monotonic()
    out, err = process.communicate(timeout=60)
    return process.returncode, out, err, time.monotonic() - start


def plan_interrupted_early(command):
    """Ctrl-C while ways are listed ends the command at once, with a JSON object where that was asked for; --tune that
    is interrupted gives the cheapest plan."""
    command.env = dict(command.env, RELAYOUT_COST_FILE=command.path("costs.txt"))
    model = "model:shufflenet,image=64,channels=16"
    result = command.run("plan", "model:small_cnn", "--threads", "1")  # speeds are known then
    if result.returncode == 5:
        return "skipped: " + result.stderr.strip()
    listed = 0
    for seconds in (0.1, 0.15, 0.2, 0.3, 0.6, 0.9):  # the machine may be slow or fast
        code, out, err, took = interrupt(command, seconds, "plan", model, "--training", "--threads", "1", "--json")
        assert took < 5, took
        if code == -signal.SIGINT:  # it came before the command had begun
            continue
        if code == 130:
            if out:  # it came while the plan was being written
                assert out.startswith('{\n  "model": '), out[:100]
                continue
            error = json.loads(err.splitlines()[-1])["error"]
            expect(error["code"], "interrupted", "the code")
            listed += "the backend offers" in error["message"]
        else:
            expect(code, 0, err)
    command.ok("plan", model, "--threads", "1")
    # It may come before there is a plan, or after all is done, on a machine that is slow or fast.
    tuned = 0
    for seconds in (3, 1.5, 1, 0.7, 0.5, 0.35):
        code, out, err, took = interrupt(command, seconds, "plan", model, "--threads", "1", "--tune", "--json")
        assert took < 10, took
        if code == 130:
            expect(json.loads(err.splitlines()[-1])["error"]["code"], "interrupted", "the code")
            continue
        expect(code, 0, err)
        plan = json.loads(out)
        assert plan["predicted_us"] > 0, plan["predicted_us"]
        tuned += any("interrupted" in warning for warning in plan.get("warnings", []))
    # Any verb: the handler says it.
    code, out, err, _ = interrupt(command, 0.5, "run", "model:unet,image=512,channels=64", "--threads", "1",
                                  "--random-inputs", "1", "--repeat", "100000", "--policy", "nchw", "--json")
    expect((code, out), (130, ""), err)
    expect(json.loads(err.splitlines()[-1])["error"]["code"], "interrupted", "the code")
    return None if listed and tuned else "skipped: the interrupts came before or after ways were listed or plans run"


def plan_interrupted(command):
    """Ctrl-C while costs are measured: one line, and what was measured stays."""
    command.env = dict(command.env, RELAYOUT_COST_FILE=command.path("costs.txt"))
    model = "model:inception,image=640,channels=64"
    wanted = "relayout: interrupted; what was measured so far, [0-9]+ times?, is kept in .*costs.txt, .*"
    for seconds in (4, 8, 2, 16):  # the machine may be slow or fast
        code, out, err, _ = interrupt(command, seconds, "plan", model, "--threads", "1", "--cost", "measured")
        if code == 5:
            return "skipped: " + err.strip()
        if code == 0:
            os.remove(command.path("costs.txt"))
            continue
        expect(code, 130, "exit code: " + err)
        expect(out, "", "standard output")
        last = err.splitlines()[-1]
        if re.fullmatch("relayout: interrupted; what the backend offers .*, [0-9]+ answers?, is kept in .*", last):
            continue
        assert re.fullmatch(wanted, last), err
        times = int(re.search("[0-9]+", last).group())
        if times == 0:  # it came before the first
            continue
        assert entries(command.path("costs.txt")) >= times, err
        return None
    return "skipped: the interrupts came before or after costs were measured"


def plan_threads(command):
    """A plan for another number of threads says so."""
    env = {"RELAYOUT_COST_FILE": command.path("costs.txt")}
    model = "model:unet,image=32,channels=16"
    result = command.run("plan", model, "--threads", "1", "--policy", "nchw", "-o", "plan.json", more_env=env)
    if result.returncode == 5:
        return "skipped: " + result.stderr.strip()
    args = ("run", model, "--plan", "plan.json", "--random-inputs", "1", "--json", "--threads")
    same = command.run(*args, "1", more_env=env)
    assert same.returncode == 0 and not told(same) and "plan_threads" not in json.loads(same.stdout), same.stderr
    other = command.run(*args, "2", more_env=env)
    expect(other.returncode, 0, other.stderr)
    assert "note: plan.json is for --threads 1 and runs with 2" in other.stderr, other.stderr
    expect([json.loads(other.stdout)[key] for key in ("threads", "plan_threads")], [2, 1], "threads")


def plan_widths(command):
    """Layouts without a short name stand below the tables."""
    env = {"RELAYOUT_COST_FILE": command.path("costs.txt")}
    found = 0
    for name, channels in (("unet", 8), ("unet", 16), ("densenet", 12), ("densenet", 8)):
        result = command.run("plan", "model:%s,image=64,channels=%d" % (name, channels), "--threads", "1", more_env=env)
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


ALL = [plan_files, plan_remeasured, plan_interrupted_early, plan_interrupted, plan_threads, plan_widths]
