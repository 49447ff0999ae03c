#!/usr/bin/env python3
"""Tables of transformers, as JSON, read as rules: `relayout checkpoint convert --rules TABLE.json` against a few lines
that do to NumPy's arrays what transformers does to tensors, the way back, and what is refused.

    transformers.py RELAYOUT

The tables are those of models that people have; the package transformers is not needed. Without NumPy the test is
skipped.
"""
import json
import pathlib
import re
import subprocess
import sys

import shared

numpy = shared.skip_without("numpy")
from plain_files import expect, load, save  # noqa: E402

RELAYOUT = sys.argv[1]


def renaming(sources, target, **more):
    return dict(kind="WeightRenaming", sources=[sources] if isinstance(sources, str) else sources, targets=[target],
                **more)


def converter(sources, targets, *operations, **more):
    return dict(kind="WeightConverter", sources=sources, targets=targets, operations=list(operations), **more)


def op(kind, **said):
    return dict(kind=kind, **said)


MIXTRAL = [
    renaming(".block_sparse_moe.", ".mlp."),
    converter([".experts.*.w1.weight", ".experts.*.w3.weight"], [".experts.gate_up_proj"], op("MergeModulelist", dim=0),
              op("Concatenate", dim=1)),
    converter([".experts.*.w2.weight"], [".experts.down_proj"], op("MergeModulelist", dim=0))]
QWEN = [converter(["mlp.experts.*.gate_proj.weight", "mlp.experts.*.up_proj.weight"], ["mlp.experts.gate_up_proj"],
                  op("MergeModulelist", dim=0), op("Concatenate", dim=1)),
        converter(["mlp.experts.*.down_proj.weight"], ["mlp.experts.down_proj"], op("MergeModulelist", dim=0))]


def moe(names, layers=2, experts=11):
    """Experts' weights, in the order of the names' texts, so that 10 stands before 2."""
    rng = numpy.random.default_rng(1)
    out = {}
    for layer in range(layers):
        for expert in sorted(range(experts), key=str):
            for name, shape in names.items():
                out["model.layers.%d.%s" % (layer, name % expert)] = rng.random(shape, "f4")
        out["model.layers.%d.self_attn.q_proj.weight" % layer] = rng.random((4, 4), "f4")
    return out


def arrays(shapes):
    rng = numpy.random.default_rng(2)
    return {name: rng.random(shape, "f4") for name, shape in shapes.items()}


MIXTRAL_NAMES = {"block_sparse_moe.experts.%d.w1.weight": (3, 4), "block_sparse_moe.experts.%d.w2.weight": (4, 3),
                 "block_sparse_moe.experts.%d.w3.weight": (3, 4)}
QWEN_NAMES = {"mlp.experts.%d.gate_proj.weight": (3, 4), "mlp.experts.%d.down_proj.weight": (4, 3),
              "mlp.experts.%d.up_proj.weight": (3, 4)}
# Of each case: its table, tensors, and whether rules lead back.
CASES = {
    "mixtral": (MIXTRAL, moe(MIXTRAL_NAMES), True),
    "qwen2_moe": (QWEN, moe(QWEN_NAMES), True),
    "llava": ([renaming("^language_model.lm_head", "lm_head"), renaming("^language_model", "model.language_model"),
               renaming("^vision_tower", "model.vision_tower")],
              arrays({"language_model.lm_head.weight": (2, 3), "language_model.model.norm.weight": (3,),
                      "vision_tower.a.weight": (2,), "other.vision_tower.weight": (2,)}), True),
    "timm": ([renaming("(.+)", r"timm_model.\1")], arrays({"a.weight": (2,), "b": (3,)}), True),
    "not behind": ([renaming(r"^model(?!\.(language_model|vit))", "model.language_model")],
                   arrays({"model.norm.weight": (2,), "model.vit.norm.weight": (2,), "model.language_model.x": (3,)}),
                   False),
    "one after the other": ([renaming("attn.proj", "attention.o_proj"), renaming("attention", "attn2"),
                             renaming(r"blocks\.(\d+)\.", r"model.layer.\1."), renaming("LayerNorm.gamma",
                                                                                       "LayerNorm.weight")],
                            arrays({"blocks.3.attn.proj.weight": (2, 2), "blocks.12.LayerNorm.gamma": (2,),
                                    "blocks.0.attn.proj_out.weight": (2,)}), False),
    "a name ends": ([renaming("mlp.w1", "mlp.gate")], arrays({"mlp.w1.weight": (2,), "mlp.w10.weight": (2,),
                                                              "mlp.w1_scale": (2,)}), True),
    "scope": ([renaming("norm", "layer_norm", scope="vision", base="model"), renaming("^q", "query", scope="text")],
              arrays({"model.vision.norm.weight": (2,), "vision.norm.bias": (2,), "text.norm.weight": (2,),
                      "text.q.weight": (2,), "text.x.q.weight": (3,)}), True),
    "fused": ([converter(["qkv"], ["q_proj", "k_proj", "v_proj"], op("Chunk", dim=0)),
               converter([r"ffn\.w12\.weight"], ["mlp.gate_proj.weight", "mlp.up_proj.weight"], op("Chunk", dim=-1)),
               converter(["a.w", "b.w"], ["ab.w"], op("Concatenate", dim=1))],
              arrays({"l.0.qkv.weight": (6, 4), "l.0.qkv.bias": (6,), "l.1.ffn.w12.weight": (3, 4), "x.a.w": (2, 3),
                      "x.b.w": (2, 3)}), True),
    "interleaved": ([converter(["experts.w13"], ["experts.gate_up"], op("Interleave", dim=1)),
                     converter(["experts.w31"], ["experts.up_gate"], op("Interleave", dim=0, inverse=True)),
                     converter(["rope.weight"], ["q_proj.weight"], op("PermuteForRope", heads=2))],
                    arrays({"l.0.experts.w13": (2, 6, 3), "l.0.experts.w31": (6, 3), "l.1.rope.weight": (8, 3)}), True),
    "interleaved and cut": ([converter(["w13.weight"], ["gate.weight", "up.weight"], op("Interleave", dim=0),
                                       op("Chunk", dim=0))], arrays({"m.w13.weight": (6, 3)}), False),
    "experts apart": ([converter(["gate_up"], ["experts.*.gate.weight", "experts.*.up.weight"], op("Chunk", dim=1),
                                 op("SplitModulelist", dim=0)),
                       converter(["down"], ["experts.*.down.weight"], op("SplitModulelist", dim=0))],
                      arrays({"l.0.gate_up": (3, 4, 2), "l.0.down": (12, 2, 2)}), True),
    "transposed": ([converter(["proj.weight"], ["linear.weight"], op("Transpose", dim0=0, dim1=1)),
                    converter(["experts.w"], ["experts.v"], op("Transpose", dim0=1, dim1=2, check_dims=False))],
                   arrays({"a.proj.weight": (2, 3), "b.experts.w": (2, 3, 4)}), True),
}


def pattern_of(source):
    out = source.replace("*.", r".*\.")
    return out + r"(?!\w)" if re.search(r"[a-zA-Z0-9]$", out) else out


def renamed(entry, name):
    """What an entry makes of a name, and which of its sources matched; by its first target."""
    scope, base, before = entry.get("scope"), entry.get("base"), ""
    if scope:
        for prefix in ([base + "." + scope + "."] if base else []) + [scope + "."]:
            if name.startswith(prefix):
                before, name = prefix, name[len(prefix):]
                break
        else:
            return None
    for source in sorted(entry["sources"], key=len, reverse=True):
        found = re.search(pattern_of(source), name)
        if found:
            target = entry["targets"][0]
            if r"\1" in target:
                target = target.replace(r"\1", found.group(1))
            return before + name.replace(found.group(0), target, 1), source
    return None


def operated(entry, groups):
    """The tensors that operations make of lists of arrays, by sources at first and by targets at last."""
    for number, one in enumerate(entry["operations"]):
        kind, dim = one["kind"], one.get("dim", 0)
        last = number == len(entry["operations"]) - 1
        if kind == "MergeModulelist":
            groups = {entry["targets"][0] if len(groups) == 1 else source: [numpy.stack(parts, dim)]
                      for source, parts in groups.items()}
        elif kind == "Concatenate":
            parts = [part for source in entry["sources"] for part in groups[source]]
            groups = {entry["targets"][0]: [numpy.concatenate(parts, dim)]}
        elif kind == "Chunk":
            (parts,) = groups.values()
            groups = {target: [part] for target, part in
                      zip(entry["targets"], numpy.split(parts[0], len(entry["targets"]), dim))}
        elif kind == "SplitModulelist":
            if len(groups) == 1:
                groups = dict(zip(entry["targets"], groups.values()))
            groups = {target.replace("*", str(i)): [parts[0].take(i, dim)] for target, parts in groups.items()
                      for i in range(parts[0].shape[dim])}
        else:
            (parts,) = groups.values()
            x = parts[0]
            if kind == "Transpose":
                y = numpy.swapaxes(x, one["dim0"], one["dim1"])
            else:
                view = [2, -1] if one.get("inverse") else [-1, 2]
                if kind == "PermuteForRope":
                    view = [one["heads"], *view]
                axis = dim + len(view) - 2
                y = x.reshape(x.shape[:dim] + tuple(view) + x.shape[dim + 1:])
                y = numpy.swapaxes(y, axis, axis + 1).reshape(x.shape)
            groups = {entry["targets"][0] if last else source: [y] for source in groups}
    return {target: parts[0] for target, parts in groups.items()}


def natural(name):
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)]


def by_transformers(table, tensors):
    out, collected = {}, {}
    for name in sorted(tensors, key=natural):
        new = name
        for entry in table:
            if entry["kind"] == "WeightRenaming":
                new = (renamed(entry, new) or (new,))[0]
        for number, entry in enumerate(table):
            found = renamed(entry, new) if entry["kind"] == "WeightConverter" else None
            if found:
                target, source = found
                collected.setdefault((number, target), {}).setdefault(source, []).append(tensors[name])
                break
        else:
            out[new] = tensors[name]
    for (number, full), groups in collected.items():
        entry = table[number]
        for target, array in operated(entry, groups).items():
            first = entry["targets"][0]
            out[full.replace(first, target) if first != target else full] = array
    return out


def run(*words, code=0, folder):
    result = subprocess.run([RELAYOUT, "checkpoint", "convert", *map(str, words)], capture_output=True, text=True,
                            cwd=folder)
    assert result.returncode == code, "%s: %d\n%s%s" % (words, result.returncode, result.stdout, result.stderr)
    return result.stdout + result.stderr


def tables(folder):
    for name, (table, tensors, leads_back) in CASES.items():
        try:
            save(folder / "a.safetensors", tensors)
            (folder / "t.json").write_text(json.dumps({"weight_mapping": table}))
            run("a.safetensors", "b.safetensors", "-f", "--rules", "t.json", "--verify", folder=folder)
            want = by_transformers(table, tensors)
            expect(load(folder / "b.safetensors"), want)
            again = run("b.safetensors", "b.safetensors", "-f", "--rules", "t.json", folder=folder)
            assert "nothing to do" in again, again
            # The same rules in TOML.
            (folder / "t.toml").write_text(run("a.safetensors", "x", "--rules", "t.json", "--print-rules",
                                               folder=folder))
            run("a.safetensors", "c.safetensors", "-f", "--rules", "t.toml", folder=folder)
            expect(load(folder / "c.safetensors"), want)
            if leads_back:
                run("b.safetensors", "d.safetensors", "-f", "--rules", "t.json", "--invert", folder=folder)
                expect(load(folder / "d.safetensors"), tensors)
                run("d.safetensors", "e.safetensors", "-f", "--rules", "t.json", folder=folder)
                expect(load(folder / "e.safetensors"), want)
        except AssertionError as error:
            raise AssertionError("%s: %s" % (name, error)) from error


def refusals(folder):
    """What no rule says is named, with the entry."""
    save(folder / "a.safetensors", {"a": numpy.zeros(2, "f4")})
    for entry, said in (
            (dict(kind="LayerPairCollapse", sources=["a"], targets=["b"]), "entry 1 (LayerPairCollapse)"),
            (converter(["a"], ["b"], op("Inkling2UnpadVocab")), "no rule says the operations Inkling2UnpadVocab"),
            (converter(["a"], ["b", "c"], op("Split", dim=0)), "Split takes its sizes from the model"),
            (converter(["a"], ["b"], op("PermuteForRope")), "the number of heads"),
            (converter(["a"], ["b"], op("Transpose", dim0=1, dim1=2, check_dims=True)),
             "depends on the model's shapes"),
            (converter(["a"], ["b"], op("Transpose", dim0=0, dim1=1, rank=1)), "rank 1; it is 2 to 12"),
            (converter(["a"], ["b"], op("Transpose", dim0=0, dim1=1, rank=2000000000)), "it is 2 to 12"),
            (converter(["a"], ["b.*"], op("Chunk", dim=0, num_shards_attribute="n")), "num_shards_attribute"),
            (converter(["a"], ["q", "k"], op("Chunk"), op("PermuteForRope", permute_layer_names=["q"])),
             "permute_layer_names"),
            (converter(["a", "b"], ["c"], op("MergeModulelist")), "no rule says the operations MergeModulelist from 2"),
            (renaming("a|b", "c"), 'has "|b"'), (renaming("(a(b))", "c"), "a group inside a group"),
            (renaming("a*", "c"), 'has "*"'), (renaming("(?<!a)b", "c"), '"(?<!a)"'),
            (renaming("a", r"\1"), "its group"),
            (renaming("a", "b[0]"), 'has "["')):
        (folder / "t.json").write_text(json.dumps({"weight_mapping": [entry]}))
        text = run("a.safetensors", "x.safetensors", "--rules", "t.json", folder=folder, code=5)
        assert "t.json, entry 1" in text and said in text, (entry, text)
    for sizes in ([-1, 3], [1.5, 0.5]):
        entry = converter(["a"], ["b", "c"], op("Split", dim=0, sizes=sizes))
        (folder / "t.json").write_text(json.dumps({"weight_mapping": [entry]}))
        assert "no whole number" in run("a.safetensors", "x.safetensors", "--rules", "t.json", folder=folder, code=2)
    (folder / "t.json").write_text("{}")
    assert "weight_mapping" in run("a.safetensors", "x.safetensors", "--rules", "t.json", folder=folder, code=2)
    (folder / "t.json").write_text("{")
    assert "not JSON" in run("a.safetensors", "x.safetensors", "--rules", "t.json", folder=folder, code=3)


if __name__ == "__main__":
    shared.main(tables, refusals)
