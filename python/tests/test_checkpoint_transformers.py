"""relayout.checkpoint.transformers_rules(): objects like those of transformers, as rules. The package is not needed."""
import json

import numpy as np
import pytest
import relayout
import relayout.checkpoint


class WeightRenaming:
    __slots__ = ("source_patterns", "target_patterns", "scope_prefix", "base_model_prefix")

    def __init__(self, source, target, scope=None):
        self.source_patterns, self.target_patterns, self.scope_prefix = [source], [target], scope


class WeightConverter:
    def __init__(self, sources, targets, operations):
        self.source_patterns, self.target_patterns, self.operations = sources, targets, operations


class MergeModulelist:
    def __init__(self, dim=0):
        self.dim = dim


class Concatenate:
    def __init__(self, dim=0, num_shards_attribute=None):
        self.dim, self.num_shards_attribute = dim, num_shards_attribute


class PermuteForRope:
    def __init__(self, subconfig_key=None):
        self.subconfig_key, self.permute_layer_names, self.inverse = subconfig_key, None, False


class Odd:
    def __init__(self):
        self.what = object()


MAPPING = [WeightRenaming(".block_sparse_moe.", ".mlp."),
           WeightConverter([".experts.*.w1.weight", ".experts.*.w3.weight"], [".experts.gate_up_proj"],
                           [MergeModulelist(0), Concatenate(1)])]


def test_a_table_converts(tmp_path):
    old = {f"l.0.block_sparse_moe.experts.{e}.{w}.weight": np.random.default_rng(e).random((2, 3), "f4")
           for e in range(3) for w in ("w1", "w3")}
    relayout.save(tmp_path / "a.safetensors", old)
    (tmp_path / "t.json").write_text(relayout.checkpoint.transformers_rules(MAPPING))
    relayout.checkpoint.convert(tmp_path / "a.safetensors", tmp_path / "b.safetensors", tmp_path / "t.json")
    new = relayout.load(tmp_path / "b.safetensors")
    want = [np.stack([old[f"l.0.block_sparse_moe.experts.{e}.{w}.weight"] for e in range(3)]) for w in ("w1", "w3")]
    assert list(new) == ["l.0.mlp.experts.gate_up_proj"]
    np.testing.assert_array_equal(new["l.0.mlp.experts.gate_up_proj"], np.concatenate(want, 1))
    relayout.checkpoint.convert(tmp_path / "b.safetensors", tmp_path / "c.safetensors", tmp_path / "t.json",
                                invert=True)
    back = relayout.load(tmp_path / "c.safetensors")
    assert set(back) == set(old) and all(np.array_equal(back[name], old[name]) for name in old)


@pytest.mark.parametrize("config", [{"vision_config": {"num_attention_heads": 4}, "num_attention_heads": 2},
                                    type("Config", (), {"vision_config": type("V", (), {"num_attention_heads": 4})})])
def test_what_the_configuration_says(config):
    table = [WeightConverter(["a"], ["b"], [PermuteForRope("vision_config")])]
    said = json.loads(relayout.checkpoint.transformers_rules(table, config))["weight_mapping"][0]["operations"]
    assert said == [{"kind": "PermuteForRope", "inverse": False, "heads": 4}]
    said = json.loads(relayout.checkpoint.transformers_rules(table))["weight_mapping"][0]["operations"]
    assert said == [{"kind": "PermuteForRope", "inverse": False, "subconfig_key": "vision_config"}]


def test_what_is_kept_and_what_is_none(tmp_path):
    said = json.loads(relayout.checkpoint.transformers_rules([WeightRenaming("a", "b", scope="vision")]))
    assert said["weight_mapping"] == [{"kind": "WeightRenaming", "sources": ["a"], "targets": ["b"], "scope": "vision"}]
    with pytest.raises(relayout.InvalidArgumentError, match="source_patterns"):
        relayout.checkpoint.transformers_rules([3])
    (tmp_path / "t.json").write_text(relayout.checkpoint.transformers_rules([WeightConverter(["a"], ["b"], [Odd()])]))
    relayout.save(tmp_path / "a.safetensors", {"a": np.ones(2)})
    with pytest.raises(relayout.UnsupportedError, match="Odd"):
        relayout.checkpoint.convert(tmp_path / "a.safetensors", tmp_path / "b.safetensors", tmp_path / "t.json")
