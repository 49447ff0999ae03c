"""What a report must say of the machine and of the versions that were measured."""
import datetime
import os
import platform
from pathlib import Path

import numpy as np

import systems


def _first(path, start):
    try:
        for line in Path(path).read_text(encoding="utf-8").splitlines():
            if line.startswith(start):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return None


def _caches():
    """Sizes of the data caches as Linux gives them, by level: {"L1d": "32K"}."""
    found = {}
    for folder in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        try:
            kind, level, size = ((folder / name).read_text().strip() for name in ("type", "level", "size"))
        except OSError:
            continue
        if kind != "Instruction":
            found[f"L{level}" + ("d" if kind == "Data" else "")] = size
    return found


def _huge_pages():
    try:
        text = Path("/sys/kernel/mm/transparent_hugepage/enabled").read_text(encoding="utf-8")
        return text.partition("[")[2].partition("]")[0]
    except OSError:
        return None


def describe():
    """The machine, as the report holds it."""
    return {
        "processor": _first("/proc/cpuinfo", "model name") or platform.processor() or "not known",
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "caches": _caches(),
        "transparent_huge_pages": _huge_pages(),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "load_before": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
    }


def versions():
    """Version of each system by name; None of one that is not installed."""
    def of(module):
        return None if module is None else str(getattr(module, "__version__", "without a version"))
    return {"Python": platform.python_version(), "relayout": of(systems.relayout), "NumPy": np.__version__,
            "PyTorch": of(systems.torch), "einops": of(systems.einops)}
