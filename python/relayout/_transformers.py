"""Tables of Hugging Face's transformers as JSON that rules are read from (docs/checkpoints.md).

    from transformers.conversion_mapping import get_checkpoint_conversion_mapping
    text = relayout.checkpoint.transformers_rules(get_checkpoint_conversion_mapping("mixtral"), config)
    open("mixtral.json", "w").write(text)          # for --rules mixtral.json, or rules="mixtral.json"

The package transformers is not imported: an object is read by its class's name and its attributes.
"""
from __future__ import annotations

import json
from typing import Any, Dict, Iterable, List, Optional

from ._errors import InvalidArgumentError

#: Classes that differ from WeightRenaming only in how their patterns are made.
_RENAMINGS = ("WeightRenaming", "PrefixChange")


def _texts(patterns: Any) -> List[str]:
    return [patterns] if isinstance(patterns, str) else [str(pattern) for pattern in patterns]


def _plain(value: Any) -> Any:
    """A value that JSON has; the name of its class for all others."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return type(value).__name__


def _configured(config: Any, names: Iterable[Optional[str]]) -> Any:
    """A configuration, or the part of it that these names lead to."""
    for name in names:
        if config is None or name is None:
            continue
        config = config.get(name, config) if isinstance(config, dict) else getattr(config, name, config)
    return config


def _number(config: Any, key: str) -> Optional[int]:
    found = config.get(key) if isinstance(config, dict) else getattr(config, key, None)
    return found if isinstance(found, int) else None


def _operation(operation: Any, config: Any) -> Dict[str, Any]:
    kind = type(operation).__name__
    slots = [name for each in type(operation).__mro__ for name in getattr(each, "__slots__", ())]
    names = [*getattr(operation, "__dict__", {}), *slots]
    out: Dict[str, Any] = {"kind": kind}
    for name in names:
        value = _plain(getattr(operation, name, None))
        if value is not None and not name.startswith("_"):
            out[name] = value
    if kind == "PermuteForRope":
        heads = _number(_configured(config, [out.get("subconfig_key")]), "num_attention_heads")
        if heads is not None:
            out.pop("subconfig_key", None)
            out["heads"] = heads
    return out


def transformers_rules(mapping: Iterable[Any], config: Any = None) -> str:
    """A table of transformers, a list of WeightRenaming and WeightConverter objects, as JSON for `rules=`, `--rules`.

    config: the model's configuration, an object or a dict, where an operation needs it, as PermuteForRope does for the
    number of heads. What no rule can say is in the JSON too, and named when it is read as rules.
    """
    out = []
    for entry in mapping:
        kind = type(entry).__name__
        if not hasattr(entry, "source_patterns") or not hasattr(entry, "target_patterns"):
            raise InvalidArgumentError(f"an entry of a table has source_patterns and target_patterns, and {entry!r} "
                                       "has not", "mapping", kind)
        said: Dict[str, Any] = {"kind": "WeightRenaming" if kind in _RENAMINGS else kind,
                                "sources": _texts(entry.source_patterns), "targets": _texts(entry.target_patterns)}
        for key, name in (("scope", "scope_prefix"), ("base", "base_model_prefix")):
            if getattr(entry, name, None):
                said[key] = getattr(entry, name)
        if hasattr(entry, "operations"):
            said["operations"] = [_operation(operation, config) for operation in entry.operations]
        out.append(said)
    return json.dumps({"weight_mapping": out}, indent=1)
