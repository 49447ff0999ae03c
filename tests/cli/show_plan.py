"""Plans and models as pictures: every number of a plan's file is in what is shown, and damaged files are refused."""
import json
import random

import certificates
from shared import expect

MODEL = "model:densenet,image=32,channels=16"


def planned(command):
    """The plan's file as JSON; None and why where there is no planner."""
    result = command.run("plan", MODEL, "--threads", "1", "-o", "plan.json")
    if result.returncode == 5:
        return None, "skipped: " + result.stderr.strip()
    expect(result.returncode, 0, result.stderr)
    with open(command.path("plan.json")) as file:
        return json.load(file), None


def plans_of(file):
    """Each policy's plan, whose numbers stand with the first policy that has it."""
    policies = file["policies"]
    return {name: policies[one.get("same_plan_as", name)]["plan"]
            for name, one in policies.items() if "error" not in one}


def check_scene(scene, file):
    names = [tensor[0] for tensor in scene["tensors"]]
    for tensor in scene["tensors"]:
        expect({"dims": tensor[1], "dtype": tensor[2]}, file["tensors"][tensor[0]], tensor[0])
    expect([[node[0], node[1]] for node in scene["nodes"]], [[p["name"], p["kind"]] for p in file["primitives"]],
           "nodes")
    expect({plan["policy"] for plan in scene["plans"]}, set(file["policies"]), "policies")
    plans = plans_of(file)
    for shown in scene["plans"]:
        totals = file["policies"][shown["policy"]]
        for key in ("predicted_us", "cost_us", "reorders", "reorder_bytes", "load_reorders"):
            expect(shown[key], totals.get(key), "%s of %s" % (key, shown["policy"]))
        if "error" in totals:
            expect("steps" in shown, False, "a plan that there is not")
            continue
        plan = plans[shown["policy"]]
        expect([[step[0], step[1], step[2], step[3]] for step in shown["steps"]],
               [[p["implementation"], [-1 if c is None else c for c in p["src"]],
                 [-1 if c is None else c for c in p["dst"]], p.get("predicted_us")] for p in plan["primitives"]],
               "steps")
        expect([[names[c[0]], scene["forms"][c[1]], c[3], c[4], c[5], c[6], c[7]] for c in shown["copies"]],
               [[c["tensor"], c["form"], c.get("from", -1), c.get("view_of", -1), c.get("reason", ""), c.get("bytes"),
                 c.get("predicted_us")] for c in plan["copies"]], "copies")
        made_at_run = [c for c in plan["copies"] if "from" in c and "predicted_us" in c]
        expect(len(made_at_run), totals["reorders"], "reorders of " + shown["policy"])
        expect(sum(c["bytes"] for c in made_at_run), totals["reorder_bytes"], "their bytes")
        time = sum(p.get("predicted_us", 0) for p in plan["primitives"]) + sum(c["predicted_us"] for c in made_at_run)
        assert abs(time - totals["predicted_us"]) < 1e-6 * time, "the times add up"


def plan_scenes(command):
    """The file of a plan, and the model itself, as JSON, a page, SVG and text."""
    file, skipped = planned(command)
    if file is None:
        return skipped
    scene = json.loads(command.ok("show", "plan.json", "--json"))
    check_scene(scene, file)
    expect(scene["plans"][scene["chosen"]]["policy"], "optimal", "the first")
    other = json.loads(command.ok("show", "plan.json", "--json", "--policy", "nhwc"))
    expect(other["plans"][other["chosen"]]["policy"], "nhwc", "--policy")
    model = json.loads(command.ok("show", MODEL, "--threads", "1", "--json"))
    for key in ("nodes", "outputs", "title", "backend"):
        expect(model[key], scene[key], key)
    expect(sorted(model["tensors"]), sorted(scene["tensors"]), "tensors")
    expect([plan["policy"] for plan in model["plans"]], [plan["policy"] for plan in scene["plans"]], "policies")
    text = command.ok("show", "plan.json")
    for primitive in file["primitives"]:
        assert primitive["name"] in text and primitive["implementation"][:20] in text, primitive
    command.ok("show", "plan.json", "-o", "plan.html")
    command.ok("show", "plan.json", "-o", "plan.svg", "--policy", "nhwc")
    with open(command.path("plan.svg")) as svg:
        expect(svg.read().count("<title>reorder of "), file["policies"]["nhwc"]["reorders"], "diamonds")
    # Files of older relayouts have the plan that was chosen alone.
    for policy in file["policies"].values():
        policy.pop("plan", None)
        policy.pop("same_plan_as", None)
    with open(command.path("old.json"), "w") as old:
        json.dump(file, old)
    scene = json.loads(command.ok("show", "old.json", "--json"))
    expect([plan["policy"] for plan in scene["plans"] if "steps" in plan], ["optimal"], "plans of an older file")
    expect([step[0] for step in scene["plans"][0]["steps"]], [p["implementation"] for p in file["primitives"]], "steps")


def check_graph(graph, plan, primitives):
    """One graph against the documented format: graph_builder.py of github.com/google-ai-edge/model-explorer."""
    expect(set(graph), {"id", "nodes", "groupNodeAttributes"}, "a graph's keys")
    nodes = {node["id"]: node for node in graph["nodes"]}
    expect(len(nodes), len(graph["nodes"]), "identifiers")
    optional = {"style"}
    for node in graph["nodes"]:
        expect(set(node) - optional, {"id", "label", "namespace", "attrs", "incomingEdges", "inputsMetadata",
                                      "outputsMetadata"}, "a node's keys")
        assert isinstance(node["label"], str) and isinstance(node["namespace"], str)
        assert not node["namespace"].startswith("/") and "//" not in node["namespace"], node["namespace"]
        for attribute in node["attrs"]:
            expect(set(attribute), {"key", "value"}, "an attribute's keys")
            assert isinstance(attribute["value"], str), attribute
        for edge in node["incomingEdges"]:
            outputs = {item["id"] for item in nodes[edge["sourceNodeId"]]["outputsMetadata"]}
            assert edge["sourceNodeOutputId"] in outputs, edge
            assert edge["targetNodeInputId"] in {item["id"] for item in node["inputsMetadata"]}, edge
    moved = [c for c in plan["copies"] if "from" in c and "predicted_us" in c]
    expect(len(nodes), len(primitives) + len(plan["inputs"]) + len(plan["outputs"]) + len(moved), "nodes")
    for n, primitive in enumerate(primitives):
        node = nodes["n%d" % n]
        expect("/".join(filter(None, [node["namespace"], node["label"]])), primitive["name"].strip("/"), "a name")


def model_explorer(command):
    """A graph for each policy, in the format that Model Explorer documents; its own classes take them where it is."""
    file, skipped = planned(command)
    if file is None:
        return skipped
    command.ok("show", "plan.json", "--as", "model-explorer", "-o", "graph.json")
    with open(command.path("graph.json")) as out:
        collection = json.load(out)
    expect(set(collection), {"label", "graphs"}, "keys")
    plans = plans_of(file)
    expect([graph["id"] for graph in collection["graphs"]][0], "optimal", "the first graph")
    expect({graph["id"] for graph in collection["graphs"]}, set(plans), "graphs")
    for graph in collection["graphs"]:
        check_graph(graph, plans[graph["id"]], file["primitives"])
    try:
        from model_explorer import graph_builder
    except ImportError:
        return None
    for graph in collection["graphs"]:
        graph_builder.Graph(**{**graph, "nodes": [graph_builder.GraphNode(**node) for node in graph["nodes"]]})


def damaged_plans(command):
    """Whatever number of a plan's file is changed, it is shown or refused, and what is refused says where."""
    file, skipped = planned(command)
    if file is None:
        return skipped
    keys = ("model", "policy", "backend", "threads", "cost", "optimal", "gap", "policies", "tensors", "copies",
            "primitives", "inputs", "outputs")
    plan = {key: file[key] for key in keys}
    links = [path for path in certificates.paths_of(plan)
             if path and (path[-1] in ("from", "view_of", "tensor", "form", "bytes", "same_plan_as", "policy",
                                       "threads")
                          or path[-2:-1] in (("src",), ("dst",), ("inputs",), ("outputs",)))]
    rng, refused = random.Random(1), 0
    for _ in range(60):
        path = rng.choice(links)
        value = rng.choice([rng.randrange(-2, 2 * len(plan["copies"])), "nothing", None, 10 ** 30, [], 0.5])
        with open(command.path("bad.json"), "w") as bad:
            json.dump(certificates.changed(plan, path, value), bad)
        result = command.run("show", "bad.json", "-f", "-o", "bad.html")
        what = "%s = %r: %d, %s" % (path, value, result.returncode, result.stderr)
        assert result.returncode in (0, 2, 3), what
        assert result.returncode == 0 or result.stderr.startswith("relayout: "), what
        refused += result.returncode != 0
    assert refused > 30, refused
    for text, code in (("{}", 3), ("[]", 3), ("no JSON", 3), ('{"tensors": {}}', 3)):
        with open(command.path("bad.json"), "w") as bad:
            bad.write(text)
        expect(command.run("show", "bad.json").returncode, code, text)
    for arguments, code, words in ((("plan.json", "--policy", "none"), 2, "optimal, 16c"),
                                   (("plan.json", "--as", "dot"), 2, "model-explorer"),
                                   (("nchw", "--dims", "1,2,3,4", "--as", "model-explorer"), 2, "for plans and models"),
                                   (("plan.json", "--explain"), 2, "two layouts"), (("none.json",), 4, "none.json"),
                                   (("plan.json", "-o", "plan.png"), 2, ".svg")):
        result = command.run("show", *arguments)
        expect(result.returncode, code, "%s: %s" % (arguments, result.stderr))
        assert words in result.stderr, result.stderr


ALL = [plan_scenes, model_explorer, damaged_plans]
