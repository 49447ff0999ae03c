"""What the tests of redistributions share: arrays whose elements say their own indices, and stores of them."""
import os
import subprocess
import sys

import numpy as np
import pytest

zarr = pytest.importorskip("zarr", minversion="3.1")

SHAPE = (30, 40, 50)


def counted(shape=SHAPE, dtype="i4"):
    """Every element is another one."""
    return np.arange(int(np.prod(shape))).astype(dtype).reshape(shape)


def stored(path, values, chunks, **options):
    array = zarr.create_array(str(path), shape=values.shape, dtype=values.dtype, chunks=chunks, **options)
    array[...] = values
    return array


def opened(path):
    return zarr.open_array(str(path), mode="r")


def is_no_array(path):
    try:
        zarr.open_array(str(path), mode="r")
    except (FileNotFoundError, KeyError, ValueError):
        return True
    return False


def run_python(code, *arguments, folder):
    """A process of its own, with the package that the tests have."""
    return subprocess.run([sys.executable, "-c", code, *map(str, arguments)], cwd=folder, capture_output=True,
                          text=True, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}, timeout=300)
