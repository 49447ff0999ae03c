"""Plans of made models, as `relayout plan -o` writes them, for the tests of pages: of any size, without a planner."""
import json
import random

FORMS = ("nchw", "nhwc", "nChw16c", "nChw8c")
HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"


class Made:
    """A model of `count` nodes in blocks of branches that are joined, with one plan for each policy."""

    def __init__(self, count, seed=1, names=None):
        self.random = random.Random(seed)
        self.names = names or (lambda n: f"stage{n // 40}/block{n // 5}/node{n}")
        self.kinds, self.reads = [], []
        before = -1  # the input
        while len(self.kinds) < count:
            width = min(self.random.randint(1, 4), count - len(self.kinds))
            ends = []
            for _ in range(width):
                if len(self.kinds) == count:
                    break
                self.kinds.append(self.random.choice(["convolution", "pooling", "eltwise"]))
                self.reads.append([before])
                ends.append(len(self.kinds) - 1)
                if len(self.kinds) < count and self.random.random() < 0.5:
                    self.kinds.append("convolution")
                    self.reads.append([ends.pop()])
                    ends.append(len(self.kinds) - 1)
            if len(ends) > 1 and len(self.kinds) < count:
                self.kinds.append("concat")
                self.reads.append(ends)
                ends = [len(self.kinds) - 1]
            before = ends[-1]

    def tensor(self, node):
        return "input" if node < 0 else f"t{node}"

    def plan(self, policy):
        """copies and primitives: each node writes its form, and what it wants otherwise is reordered."""
        form = []
        for reads in self.reads:
            kept = form[reads[0]] if reads[0] >= 0 and self.random.random() < 0.8 else self.random.choice(FORMS)
            form.append(kept if policy == "optimal" else policy)
        copies = [{"tensor": "input", "form": "nchw", "layout": "abcd"}]
        made = {}
        for n, written in enumerate(form):
            made[n] = len(copies)
            copies.append({"tensor": self.tensor(n), "form": written, "layout": written})
        copies.append({"tensor": "weights", "form": "oihw", "layout": "abcd"})
        weights = len(copies) - 1
        copies.append({"tensor": "weights", "form": "OIhw16i16o", "layout": "ABcd16b16a", "from": weights, "bytes": 512,
                       "reason": "once at load"})
        made[-1] = 0
        known, primitives = {}, []
        for n, kind in enumerate(self.kinds):
            src = []
            for read in self.reads[n]:
                source = made[read]
                if copies[source]["form"] != form[n]:
                    if (source, form[n]) not in known:
                        known[source, form[n]] = len(copies)
                        copies.append({"tensor": self.tensor(read), "form": form[n], "layout": form[n], "from": source,
                                       "bytes": self.random.randint(1000, 10**7),
                                       "predicted_us": round(self.random.uniform(1, 500), 3),
                                       "reason": f"{kind} {self.names(n)} takes {form[n]}"})
                    source = known[source, form[n]]
                src.append(source)
            if kind == "convolution":
                src.append(weights + 1)
            primitives.append({"implementation": f"jit:{self.random.choice(['avx2', 'avx512_core'])}", "ref": False,
                               "src": src, "dst": [made[n]], "predicted_us": round(self.random.uniform(1, 900), 3)})
        return {"copies": copies, "primitives": primitives, "inputs": [0], "outputs": [made[len(self.kinds) - 1]]}

    def file(self, model="made.onnx", policies=("optimal", "nhwc", "nChw16c")):
        plans = {policy: self.plan(policy) for policy in policies}
        tensors = {name: {"dims": [1, 64, 28, 28], "dtype": "f32"}
                   for name in ["input", "weights", *map(self.tensor, range(len(self.kinds)))]}
        chosen = plans[policies[0]]
        totals = {}
        for policy, plan in plans.items():
            moved = [copy for copy in plan["copies"] if "predicted_us" in copy]
            time = sum(one["predicted_us"] for one in plan["primitives"] + moved)
            totals[policy] = {"predicted_us": time, "cost_us": time + sum(copy["predicted_us"] for copy in moved),
                              "reorders": len(moved), "reorder_bytes": sum(copy["bytes"] for copy in moved),
                              "load_reorders": 1, "ref_primitives": 0, "plan": plan}
        totals["ort"] = {"error": "no implementation"}
        primitives = [{"name": self.names(n), "kind": kind, "pass": "forward_inference", "layouts": {}, **one}
                      for n, (kind, one) in enumerate(zip(self.kinds, chosen["primitives"]))]
        return {"model": model, "policy": policies[0], "backend": "made", "threads": 1, "training": False,
                "cost": "analytic", "optimal": True, "gap": 0, "policies": totals, "tensors": tensors,
                "copies": chosen["copies"], "primitives": primitives, "inputs": chosen["inputs"],
                "outputs": chosen["outputs"]}

    def write(self, path, **options):
        file = self.file(**options)
        path.write_text(json.dumps(file), encoding="utf-8")
        return file
