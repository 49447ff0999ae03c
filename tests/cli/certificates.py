"""A plan with its certificate, made by hand, and what must be wrong with one that was changed."""
import copy
import json
import random


def small_plan():
    """x (nchw) -> conv -> y (nchw): in nchw 10 us; in nhwc 4 us, with reorders of 2 us and 3 us around it."""
    variables = [
        {"name": "x", "kind": "operation", "src": [], "dst": [3], "values": [{"us": 0, "src": [], "dst": [0]}]},
        {"name": "conv", "kind": "operation", "primitive": 0, "src": [3], "dst": [4],
         "values": [{"us": 10, "src": [[0]], "dst": [0], "implementation": "gemm"},
                    {"us": 4, "src": [[1]], "dst": [1], "implementation": "brgconv"}]},
        {"name": "y", "kind": "operation", "src": [4], "dst": [], "values": [{"us": 0, "src": [[0]], "dst": []}]},
        {"name": "x", "kind": "tensor", "places": ["abcd", "acdb"], "values": [{"wanted": [[0]]}, {"wanted": [[1]]}]},
        {"name": "y", "kind": "tensor", "places": ["abcd", "acdb"], "values": [{"wanted": [[0]]}]}]
    certificate = {
        "variables": variables,
        "tables": [{"scope": [1], "values": [10, 4]}, {"scope": [3], "values": [0, 2]},
                   {"scope": [1, 3], "values": [0, None, None, 0]}, {"scope": [1], "values": [0, 3]}],
        "cliques": [{"scope": [1, 3], "tables": [1, 2]}, {"scope": [1], "tables": [0, 3]}],
        "messages": [{"from": 0, "to": 1, "scope": [1], "values": [0, 2]}],
        "assignment": [0, 1, 0, 1, 0],
        "reorders": [{"tensor": 3, "from": 0, "to": 1, "us": 2}, {"tensor": 4, "from": 1, "to": 0, "us": 3}],
        "bound": 9}
    return {"layouts": {"x": "abcd", "y": "acdb"},
            "reorders": [{"tensor": "x", "from": "abcd", "to": "acdb", "bytes": 1, "reason": ""},
                         {"tensor": "y", "from": "acdb", "to": "abcd", "bytes": 1, "reason": ""}],
            "primitives": [{"name": "conv", "kind": "convolution", "implementation": "brgconv",
                            "layouts": {"x": "acdb", "y": "acdb"}, "src": [1], "dst": [2]}],
            "copies": [{"tensor": "x", "layout": "abcd"}, {"tensor": "x", "layout": "acdb", "from": 0},
                       {"tensor": "y", "layout": "acdb"}, {"tensor": "y", "layout": "abcd", "from": 2}],
            "predicted_us": 9, "optimal": True, "gap": 0, "certificate": certificate}


def changed(plan, path, value):
    """A copy with the value at a path replaced, or removed where `value` is `REMOVED`."""
    out = copy.deepcopy(plan)
    at = out
    for key in path[:-1]:
        at = at[key]
    if value is REMOVED:
        del at[path[-1]]
    else:
        at[path[-1]] = value
    return out


REMOVED = object()


def places_of(value, path=()):
    """The path of every value in a JSON document."""
    yield path
    if isinstance(value, (dict, list)):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from places_of(value[key], path + (key,))


def wrong_small_plans():
    """(what was done, plan, part of the message)"""
    plan = small_plan()
    cases = [
        (("predicted_us",), 8.9, "predicted_us: 8.9, but the assignment costs 9"),
        (("optimal",), False, "optimal: false, but the plan costs 9 us and 9 us are proven"),
        (("gap",), 0.1, "gap: 0.1, but the certificate leaves 0"),
        (("reorders", 0), REMOVED, 'reorders: "x" from "abcd" to "acdb" is missing'),
        (("reorders", 0, "to"), "abcd", "is missing"),
        (("reorders",), plan["reorders"] * 2, "is not in the certificate"),
        (("layouts", "y"), "abcd", 'layouts.y: "abcd", in the certificate "acdb"'),
        (("primitives", 0, "implementation"), "gemm", 'primitives[0].implementation: "gemm"'),
        (("primitives", 0, "name"), "convolution", 'primitives[0].name: "convolution"'),
        (("primitives", 0, "layouts", "x"), "abcd", '"x" in "abcd", in the certificate "acdb"'),
        (("primitives",), plan["primitives"] * 2, "primitives[1]: is not in the certificate"),
        (("primitives", 0, "src"), [0], 'primitives[0].src[0]: "x" in "abcd", in the certificate "x" in "acdb"'),
        (("primitives", 0, "dst"), [1], 'primitives[0].dst[0]: "x" in "acdb", in the certificate "y" in "acdb"'),
        (("primitives", 0, "src"), [1, 1], "primitives[0].src: has more copies than 1"),
        (("primitives", 0, "src"), [None], "primitives[0].src: has 0 copies, in the certificate 1"),
        (("primitives", 0, "src"), [4], "4 is not under 4"),
        (("copies", 2, "layout"), "abcd", 'primitives[0].dst[0]: "y" in "abcd", in the certificate "y" in "acdb"'),
        (("copies", 1, "from"), REMOVED, "reorders[0]: makes none of the plan's copies"),
        (("copies",), plan["copies"] + [plan["copies"][3]], "copies[4]: is made by no reorder that the plan lists"),
        (("copies", 2, "view_of"), 1, "is written over its source, in the certificate it is not"),
        (("certificate", "variables", 1, "values", 1, "in_place"), True, "copies[2]: is not written over its source"),
        (("copies",), REMOVED, 'has no "copies"'),
        (("certificate",), REMOVED, "certificate: "),
        (("certificate", "bound"), 9.1, "certificate.bound: 9.1, but the cliques together prove 9"),
        (("certificate", "assignment"), [0, 0, 0, 0, 0], "predicted_us: 9, but the assignment costs 10"),
        (("certificate", "assignment"), [0, 1, 0, 0, 0], "is impossible by the tables"),
        (("certificate", "assignment"), [0, 1, 0, 1], "has not one value a variable"),
        (("certificate", "assignment"), [0, 2, 0, 1, 0], "certificate.assignment[1]: 2 is not under 2"),
        (("certificate", "tables", 0, "values", 1), 3, "certificate.bound: 9, but the cliques together prove 8"),
        (("certificate", "tables", 0, "values"), [10], "has 1 values, 2 by its scope"),
        (("certificate", "tables", 0, "scope"), [1, 1], "has a variable twice"),
        (("certificate", "tables", 0, "scope"), [7], "7 is not under 5"),
        (("certificate", "cliques", 1, "tables"), [0], "table 3 stands in none"),
        (("certificate", "cliques", 1, "tables"), [0, 3, 3], "table 3 stands in two cliques"),
        (("certificate", "cliques", 1, "tables"), [0, 3, 1], "table 1 stands in two cliques"),
        (("certificate", "cliques", 0, "scope"), [1], "variable 3 is not in the clique"),
        (("certificate", "messages", 0, "values"), [0, None], "holds what is no number"),
        (("certificate", "messages", 0, "scope"), [3], "variable 3 is not in the clique"),
        (("certificate", "messages", 0, "to"), 0, "goes from a clique to itself"),
        (("certificate", "messages", 0, "to"), 2, "2 is not under 2"),
        (("certificate", "messages"), [], "the cliques together prove 7"),
        (("certificate", "reorders", 0), REMOVED, 'reorders[0]: "x" from "abcd" to "acdb" is not in the certificate'),
        (("certificate", "reorders", 0, "us"), 1, "the labels add up to 8 us, the tables to 9"),
        (("certificate", "reorders", 0, "from"), 1, "its source is not made before it"),
        (("certificate", "variables", 1, "values", 1, "us"), 5, "the labels add up to 10 us"),
        (("certificate", "variables", 1, "kind"), "thing", '"thing" is no kind'),
        (("certificate", "variables", 1, "dst"), [3], "is written twice"),
        (("certificate", "variables", 1, "src"), [0], "is no tensor"),
        (("certificate", "variables", 1, "primitive"), REMOVED, 'is not in the certificate: "conv"'),
        (("certificate", "variables", 0, "values"), [], "has no values"),
    ]
    for path, value, message in cases:
        yield path, changed(plan, path, value), message
    # A bound that is proven, but not the cost.
    low = changed(changed(plan, ("certificate", "messages"), []), ("certificate", "bound"), 7)
    yield "a weak certificate", low, "gap: 0, but the certificate leaves 0.222"
    yield "a weak certificate", changed(low, ("gap",), 2 / 9), "optimal: true, but the plan costs 9 us and 7 us are proven"
    # A reorder that both leave out.
    neither = changed(changed(plan, ("reorders", 0), REMOVED), ("certificate", "reorders", 0), REMOVED)
    yield "a reorder too few", neither, '"conv" reads "x" in a place that is not made'


def garbled(plan, seed):
    """The same with one value, anywhere, replaced by one of another type or size."""
    rng = random.Random(seed)
    path = rng.choice([path for path in places_of(plan) if path])
    value = rng.choice([None, -1, 2**31, 2**63, 2**64, -2**63, 1e308, 0.5, True, "", "abcd", [], {}, [[]], [0] * 100, REMOVED])
    return path, changed(plan, path, value)


def not_json():
    text = json.dumps(small_plan())
    yield from (("cut", text[:length]) for length in (0, 1, 40, len(text) // 2, len(text) - 1))
    yield "NaN", text.replace('"predicted_us": 9', '"predicted_us": NaN')
    yield "overflow", text.replace('"predicted_us": 9', '"predicted_us": 1e999')
    yield "deep", "[" * 100000 + "]" * 100000
    yield "deep and open", '{"a":' * 100000
    yield "bytes", "\x00\x01\xff"
