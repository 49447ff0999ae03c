"""The same conversions by the C++ command, `relayout bench`: what the way through Python costs."""
import json
import subprocess

# Below this a call from Python is mostly the call, and the ratio says nothing of the conversion.
LEAST_BYTES = 64 << 10


def _layouts(case):
    """Source, destination and extents; where the case has no layouts, with a letter for each dim of the source."""
    if case.layouts and not case.to_dtype:
        return *case.layouts, ",".join(map(str, case.shape))
    dims = case.split or case.shape
    letters = "abcdefghijkl"[:len(dims)]
    return letters, "".join(letters[axis] for axis in case.axes), ",".join(map(str, dims))


def measure(command, case, threads, rounds):
    """Median nanoseconds of the conversion in C++; None and why where there is no time."""
    if case.bytes // 2 < LEAST_BYTES:
        return None, "under 64 KiB"
    src, dst, dims = _layouts(case)
    line = [command, "bench", "--src", src, "--dst", dst, "--dims", dims, "--dtype", case.dtype, "--threads",
            str(threads), "--repeat", str(rounds), "--json"]
    if case.to_dtype:
        line += ["--to-dtype", case.to_dtype, "--scale", repr(case.scale)]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    try:
        return float(json.loads(done.stdout)["median_ns"]), None
    except (ValueError, KeyError):
        said = (done.stderr or done.stdout).strip().splitlines()
        return None, said[-1] if said else "no output"
