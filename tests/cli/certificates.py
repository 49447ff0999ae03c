"""A plan with its certificate, made by hand, and what must be wrong with one that was changed."""
import copy
import json
import random


def small_plan():
    """x (nchw) -> conv -> y (nchw): in nchw 10 us; in nhwc 4 us, with reorders of 2 us and 3 us around it."""
    nchw = {"layout": "abcd", "digits": [[[1, 32]], [[8, 4]], [[2, 2]], [[2, 1]]], "offset": 0}
    nhwc = {"layout": "acdb", "digits": [[[1, 32]], [[8, 1]], [[2, 16]], [[2, 8]]], "offset": 0}
    operations = [
        {"name": "x", "src": [], "dst": [0], "choices": [{"us": 0, "src": [], "dst": [0]}]},
        {"name": "conv", "primitive": 0, "src": [0], "dst": [1],
         "choices": [{"us": 10, "src": [[0]], "dst": [0], "implementation": "gemm"},
                     {"us": 4, "src": [[1]], "dst": [1], "implementation": "brgconv"}]},
        {"name": "y", "src": [1], "dst": [], "choices": [{"us": 0, "src": [[0]], "dst": []}]}]
    certificate = {
        "operations": operations,
        "tensors": [{"name": "x", "places": ["abcd", "acdb"], "reorder_us": [[0, 2], [2, 0]]},
                    {"name": "y", "places": ["abcd", "acdb"], "reorder_us": [[0, 3], [3, 0]]}],
        "choices": [0, 1, 0],
        "reorders": [{"tensor": 0, "from": 0, "to": 1}, {"tensor": 1, "from": 1, "to": 0}],
        # Variables: the three operations, then the tensors x (its readers want nchw or nhwc) and y (they only want
        # nchw).
        "cliques": [{"scope": [1, 3], "tables": [[0, 3], [1, 3]]}, {"scope": [1], "tables": [[1], [1, 4]]}],
        "messages": [{"from": 0, "to": 1, "scope": [1], "values": [0, 2]}],
        "bound": 9}
    tensor = {"dims": [1, 8, 2, 2], "dtype": "f32"}
    return {"policy": "optimal", "training": False, "cost_us": 9, "optimal": True, "gap": 0,
            "layouts": {"x": "abcd", "y": "acdb"},
            "reorders": [{"tensor": "x", "from": "abcd", "to": "acdb", "bytes": 1, "reason": ""},
                         {"tensor": "y", "from": "acdb", "to": "abcd", "bytes": 1, "reason": ""}],
            "load_reorders": [],
            "primitives": [{"name": "conv", "kind": "convolution", "pass": "forward_inference",
                            "implementation": "brgconv", "ref": False,
                            "layouts": {"x": "acdb", "y": "acdb"}, "src": [1], "dst": [2]}],
            "tensors": {"x": dict(tensor), "y": dict(tensor)},
            "copies": [dict(nchw, tensor="x"), dict(nhwc, tensor="x", **{"from": 0}), dict(nhwc, tensor="y"),
                       dict(nchw, tensor="y", **{"from": 2})],
            "inputs": [0], "outputs": [3],
            "certificate": certificate}


REMOVED = object()


def changed(plan, path, value):
    """A copy with the value at a path replaced, or removed where `value` is REMOVED."""
    out = copy.deepcopy(plan)
    at = out
    for key in path[:-1]:
        at = at[key]
    if value is REMOVED:
        del at[path[-1]]
    else:
        at[path[-1]] = value
    return out


def paths_of(value, path=()):
    """The path of every value in a JSON document."""
    yield path
    if isinstance(value, (dict, list)):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from paths_of(value[key], path + (key,))


def value_at(plan, path):
    for key in path:
        plan = plan[key]
    return plan


# The path to the operation "conv" in small_plan().
CONV = ("certificate", "operations", 1)


def wrong_summaries(plan):
    """(path, value, part of the message): costs, reorders and layouts that are not those of what is chosen."""
    return [
        (("cost_us",), 8.9, "cost_us: 8.9, but what is chosen costs 9"),
        (("optimal",), False, "optimal: false, but the plan costs 9 us and the proven lower bound is 9 us"),
        (("gap",), 0.1, "gap: 0.1, but the certificate leaves a gap of 0"),
        (("reorders", 0), REMOVED, 'reorders: "x" from "abcd" to "acdb" is missing'),
        (("reorders", 0, "to"), "abcd", "is missing"),
        (("reorders",), plan["reorders"] * 2, "is not in the certificate"),
        (("layouts", "y"), "abcd", 'layouts.y: "abcd", but the copy is in "acdb"'),
        (("layouts", "z"), "abcd", "names tensors that are not in the certificate"),
    ]


def wrong_steps(plan):
    """(path, value, part of the message): primitives and copies that are not those of the certificate."""
    return [
        (("primitives", 0, "implementation"), "gemm", 'primitives[0].implementation: "gemm"'),
        (("primitives", 0, "name"), "convolution", 'primitives[0].name: "convolution"'),
        (("primitives", 0, "layouts", "x"), "abcd", 'primitives[0].layouts.x: "abcd", but the copy is in "acdb"'),
        (("primitives",), plan["primitives"] * 2, "primitives[1]: is not in the certificate"),
        (("primitives", 0, "src"), [0],
         'primitives[0].src[0]: "conv" has copy 0, "x" in "abcd", but in the certificate copy 1'),
        (("primitives", 0, "dst"), [1],
         'primitives[0].dst[0]: "conv" has copy 1, "x" in "acdb", but in the certificate copy 2'),
        (("primitives", 0, "src"), [1, 1], "primitives[0].src: has 2 copies, but 1 in the certificate"),
        (("primitives", 0, "src"), [None], "primitives[0].src: has 0 copies, but 1 in the certificate"),
        (("primitives", 0, "src"), [4], "4 must be at least 0 and less than 4"),
        (("copies", 2, "layout"), "abcd", 'copies[2]: of "y": the layout is called "abcd", but its digits are acdb'),
        (("copies", 2, "digits"), plan["copies"][0]["digits"], 'is called "acdb", but its digits are abcd'),
        (("copies", 2), dict(plan["copies"][0], tensor="y"),
         'copies[2].layout: "y" in "abcd", but in "acdb" in the certificate'),
        (("copies", 1, "from"), REMOVED,
         'copies[1]: "x" in "acdb" is the second copy of its tensor that no reorder makes'),
        (("copies", 1, "from"), 2, 'is made from "y" in "acdb", a copy of another tensor'),
        (("copies",), plan["copies"] + [plan["copies"][3]], "made by a reorder that is not in the certificate"),
        (("copies", 2, "view_of"), 1, "lies in another copy's memory, but not in the certificate"),
        ((*CONV, "choices", 1, "in_place"), True, "copies[2]: \"y\" in \"acdb\" is not written over the source"),
        ((*CONV, "choices", 1, "implementation"), "view", 'primitives[0].implementation: "brgconv"'),
        (("copies",), REMOVED, 'has no "copies"'),
        (("inputs",), [], 'inputs: "x" in "abcd" is missing'),
        (("inputs",), [0, 0], "is no input of the certificate, or is listed twice"),
        (("outputs",), [2], 'outputs[0]: "the output" has copy 2'),
        (("outputs",), [3, 3], "outputs: there are 2, but the certificate has 1"),
    ]


def wrong_certificates():
    """(path, value, part of the message): tensors, a bound and choices that do not fit the certificate."""
    return [
        (("tensors", "x", "dims"), [1, 8, 2, 3], "the digits of dim 3 reach 2 of 3"),
        (("tensors", "x"), REMOVED, "tensors: there are 1, but the certificate has 2"),
        (("certificate",), REMOVED, "certificate: "),
        (("certificate", "bound"), 9.1, "certificate.bound: 9.1, but the cliques together prove 9"),
        (("certificate", "choices"), [0, 0, 0], "certificate.reorders[1]: nothing makes its source before it"),
        (("certificate", "choices"), [0, 1], "has 2 elements, but there are 3 operations"),
        (("certificate", "choices"), [0, 2, 0], "certificate.choices[1]: 2 must be at least 0 and less than 2"),
        (("certificate", "tables"), [], 'has "tables", which is not a known key'),
    ]


def wrong_problems():
    """(path, value, part of the message): operations and tensors of the certificate that are impossible or others."""
    return [
        ((*CONV, "choices", 1, "us"), 3, "cost_us: 9, but what is chosen costs 8"),
        ((*CONV, "choices", 0, "us"), 8, "certificate.bound: 9, but the cliques together prove 8"),
        ((*CONV, "choices", 0, "us"), -1, "is a cost below 0"),
        ((*CONV, "choices", 0, "src"), [], "has 0 elements, but there are 1 sources"),
        ((*CONV, "choices", 0, "src"), [[0, 0]], "names a place twice"),
        ((*CONV, "choices", 0, "dst"), [2], "2 must be at least 0 and less than 2"),
        ((*CONV, "choices", 0, "with_hint"), [0], "the operation has no hint"),
        ((*CONV, "choices"), [], "certificate.operations[1]: has no choices"),
        ((*CONV, "hint"), 1, "1 must be at least 0 and less than 1"),
        ((*CONV, "dst"), [0], '"x" is written twice'),
        ((*CONV, "src"), [1], 'no earlier operation writes "y"'),
        ((*CONV, "primitive"), REMOVED, 'has "implementation", which is not a known key'),
        ((*CONV, "primitive"), 1, "1 must be at least 0 and less than 1"),
        (("certificate", "operations", 0, "constant"), True, "is no input of the certificate, or is listed twice"),
        (("certificate", "tensors", 1, "name"), "x", 'certificate.tensors[1]: the name "x" occurs twice'),
        (("certificate", "tensors", 0, "reorder_us", 0, 1), 1, "cost_us: 9, but what is chosen costs 8"),
        (("certificate", "tensors", 0, "reorder_us", 0, 1), None,
         "certificate.choices: something that is chosen costs infinity"),
        (("certificate", "tensors", 0, "reorder_us", 0, 0), 1, "a reorder from a place to itself has a cost"),
        (("certificate", "tensors", 0, "reorder_us", 1), [2], "has 1 elements, but there are 2 places"),
        (("certificate", "tensors", 0, "places"), ["abcd"] * 40, "has 40 elements; at most 32 are allowed"),
    ]


def wrong_proofs():
    """(path, value, part of the message): cliques, messages and reorders that prove less, or nothing."""
    return [
        (("certificate", "cliques", 1, "tables"), [[1]], "the cliques together prove 6"),
        (("certificate", "cliques", 1, "tables"), [[1], [1, 4], [1, 4]], "has a table that was dealt before"),
        (("certificate", "cliques", 1, "tables"), [[1], [1, 4], [1, 3]],
         "cliques[1]: has a table that was dealt before"),
        (("certificate", "cliques", 1, "tables"), [[1], [1, 4], [3, 1]], "names a table that does not exist"),
        (("certificate", "cliques", 1, "tables"), [[1], [1, 4], [0, 1]], "names a table that does not exist"),
        (("certificate", "cliques", 1, "tables"), [[1], [1, 4], []], "names a table that does not exist"),
        (("certificate", "cliques", 1, "tables"), [[1], [1, 1]], "names a variable twice"),
        (("certificate", "cliques", 0, "scope"), [1], "its scope lacks variable 3"),
        (("certificate", "cliques", 0, "scope"), [1, 5], "5 must be at least 0 and less than 5"),
        (("certificate", "messages", 0, "values"), [0, None], "holds null"),
        (("certificate", "messages", 0, "values"), [0, 2, 0], "a message has 3 values, but its scope has 2"),
        (("certificate", "messages", 0, "values"), [1e300, 1e300], "the cliques together prove"),
        (("certificate", "messages", 0, "scope"), [3], "its scope lacks variable 3"),
        (("certificate", "messages", 0, "to"), 0, "goes from a clique to itself"),
        (("certificate", "messages", 0, "to"), 2, "2 must be at least 0 and less than 2"),
        (("certificate", "messages"), [], "the cliques together prove 7"),
        (("certificate", "reorders", 0), REMOVED, 'reads tensor 0 in places that nothing makes'),
        (("certificate", "reorders", 0, "from"), 1, "nothing makes its source before it"),
    ]


def wrong_small_plans():
    """(what was done, plan, part of the message)"""
    plan = small_plan()
    cases = wrong_summaries(plan) + wrong_steps(plan) + wrong_certificates() + wrong_problems() + wrong_proofs()
    for path, value, message in cases:
        yield path, changed(plan, path, value), message
    # The certificate proves a bound, but one below the cost.
    low = changed(changed(plan, ("certificate", "messages"), []), ("certificate", "bound"), 7)
    yield "a weak certificate", low, "gap: 0, but the certificate leaves a gap of 0.222"
    yield "a weak certificate", changed(low, ("gap",), 2 / 9), \
        "optimal: true, but the plan costs 9 us and the proven lower bound is 7 us"
    # Rounding must not prove anything. At 1e17, subtracting a message from one clique and adding it to another gains
    # 16.
    large = changed(plan, ("certificate", "messages", 0, "values"), [-1e17 - 9, -1e17 - 9])
    large = changed(large, ("certificate", "bound"), 25)
    yield "rounding", large, "the cliques together prove"


VALUES = [None, -1, -0.0, 0, 1, 2, 2**31, 2**63, 2**64, -2**63, 1e308, -1e308, 1e-300, 0.5, True, False, "",
          "abcd", "acdb", "x",
          "view", [], {}, [[]], [0], [1], [0] * 100, REMOVED]


def mutations(plan, path):
    """What one field is changed to: other types, sizes and signs, its neighbours, a number twice, another name."""
    value = value_at(plan, path)
    near = []
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        near = [value + 1, value - 1, -value, value * (1 + 1e-6), value * 2]
    if isinstance(value, list):
        near = [value[::-1], value + value, value[1:], value[:-1]]
    if isinstance(value, dict):
        near = [dict(value, unknown=1)]
    if isinstance(value, str):
        near = [value + "b", value[:-1]]
    for other in VALUES + near:
        if other is REMOVED or json.dumps(other) != json.dumps(value):
            yield other


def not_json():
    text = json.dumps(small_plan())
    yield from (("cut", text[:length]) for length in (0, 1, 40, len(text) // 2, len(text) - 1))
    yield "NaN", text.replace('"cost_us": 9', '"cost_us": NaN')
    yield "overflow", text.replace('"cost_us": 9', '"cost_us": 1e999')
    yield "a key twice", text.replace('"cost_us": 9', '"cost_us": 8, "cost_us": 9')
    yield "a key twice, deep", text.replace('"bound": 9', '"bound": 9, "bound": 9')
    yield "deep", "[" * 100000 + "]" * 100000
    yield "deep and open", '{"a":' * 100000
    yield "bytes", "\x00\x01\xff"


def wanting(tensors, readers):
    """A plan with tensors whose readers want any set of their places."""
    plan, places = small_plan(), 30
    certificate = plan["certificate"]
    reorders = [[float(i != j) for i in range(places)] for j in range(places)]
    for t in range(2, 2 + tensors):
        certificate["tensors"].append({"name": str(t), "places": ["a"] * places, "reorder_us": reorders})
        choices = [{"us": 0, "src": [], "dst": [0]}]
        certificate["operations"].append({"name": "", "src": [], "dst": [t], "choices": choices})
        certificate["operations"] += [
            {"name": "", "src": [t], "dst": [],
             "choices": [{"us": 0, "src": [[r]], "dst": []}, {"us": 0, "src": [[0]], "dst": []}]}
            for r in range(readers)]
        certificate["choices"] += [0] + [1] * readers
    return plan


def too_much():
    """(what there is too much of, text): ends soon, by a limit."""
    yield "values", "[" + "[]," * (1 << 24) + "[]]"
    yield "objects", "[" + "{}," * (3 << 22) + "{}" + ",[]" * (1 << 22) + "]"
    yield "keys", "{" + ",".join('"%d":0' % i for i in range(1 << 20)) + "}"
    plan = small_plan()
    plan["certificate"]["tensors"] += [{"name": str(i), "places": ["a"], "reorder_us": [[0]]} for i in range(10)]
    plan["certificate"]["operations"] += [
        {"name": str(i), "src": [], "dst": [2 + i], "choices": [{"us": 0, "src": [], "dst": [0]}] * 30}
        for i in range(10)]
    plan["certificate"]["choices"] += [0] * 10
    yield "entries", json.dumps(changed(plan, ("certificate", "cliques", 0, "scope"), list(range(3, 13))))
    yield "sets", json.dumps(wanting(1, 30))
    plan = wanting(3, 16)
    plan["certificate"]["messages"] = []
    first = len(plan["certificate"]["operations"]) + 2
    plan["certificate"]["cliques"] = [{"scope": [first + i], "tables": [[3 + 17 * i, first + i]]} for i in range(3)]
    yield "trees", json.dumps(plan)
