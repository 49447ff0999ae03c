#!/usr/bin/env python3
"""An array of zarr into other chunks and another order of axes on Dask's LocalCluster, in several ways, each once.

    redistribute.py FOLDER [GB] [WAY...]     makes FOLDER/in.zarr of so many GB if it is not there; docs/lab has results

Ways: relayout (relayout.dask), dask (dask.array's rechunk and transpose), cubed (its own rechunk and transpose),
relayout.cubed. Each writes FOLDER/WAY.zarr, some boxes of which are compared with the source. The peaks of memory are
those of processes, the workers among them.
"""
import os
import shutil
import sys
import threading
import time

import numpy as np
import psutil
import zarr

ORDER, SOURCE, WANTED = (2, 0, 1), (1, 1000, 1000), [20, 1000, 100]
WORKERS, LIMIT = 4, "512MB"


def make(path, shape):
    if os.path.exists(path):
        return
    array = zarr.create_array(path, shape=shape, dtype="f4", chunks=SOURCE, compressors=None)
    rng = np.random.default_rng(0)
    for t in range(0, shape[0], SOURCE[0]):
        array[t:t + SOURCE[0]] = rng.random((SOURCE[0], *shape[1:]), "f4")


class Watch(threading.Thread):
    """The largest resident memory of any process below this one, and how many bytes all of them read and wrote."""

    def __init__(self):
        super().__init__(daemon=True)
        self.peak, self.io, self.over = 0, {}, threading.Event()

    def run(self):
        while not self.over.wait(0.05):
            for process in psutil.Process().children(recursive=True):
                try:
                    self.peak = max(self.peak, process.memory_info().rss)
                    counters = process.io_counters()
                    self.io[process.pid] = (counters.read_chars, counters.write_chars)
                except psutil.Error:
                    pass


def by_relayout(source, target):
    import distributed
    import relayout.dask
    with cluster() as made, distributed.Client(made):
        done = relayout.dask.redistribute(source, target, order=ORDER, chunks=WANTED)
        print(done.explain())
        return done.tasks


def by_dask(source, target):
    import dask.array as da
    import distributed
    with cluster() as made, distributed.Client(made) as client:
        array = da.from_zarr(source).transpose(ORDER).rechunk(tuple(WANTED))
        stored = array.to_zarr(target, compute=False)
        tasks = len(stored.__dask_graph__())
        client.compute(stored).result()
        return tasks


def cluster():
    import distributed
    return distributed.LocalCluster(n_workers=WORKERS, threads_per_worker=1, memory_limit=LIMIT, dashboard_address=None)


def spec_of(target):
    import cubed
    return cubed.Spec(os.path.dirname(target) + "/cubed", allowed_mem=LIMIT, reserved_mem="150MB",
                      executor_name="processes", executor_options={"max_workers": WORKERS})


class Counted:
    """What cubed tells of its tasks."""
    tasks = 0

    def on_task_end(self, event):
        self.tasks += event.num_tasks

    def __getattr__(self, name):
        return lambda event: None


def by_cubed(source, target):
    import cubed
    import cubed.array_api as xp
    array = cubed.from_zarr(source, spec=spec_of(target))
    array = xp.permute_dims(array, ORDER).rechunk(tuple(WANTED))
    counted = Counted()
    cubed.to_zarr(array, target, callbacks=[counted])
    return counted.tasks


def by_relayout_cubed(source, target):
    import relayout.cubed
    return relayout.cubed.redistribute(source, target, order=ORDER, chunks=WANTED, spec=spec_of(target),
                                       max_memory="128MB").tasks


WAYS = {"relayout": by_relayout, "dask": by_dask, "cubed": by_cubed, "relayout.cubed": by_relayout_cubed}


def main():
    folder, gigabytes = sys.argv[1], float(sys.argv[2]) if len(sys.argv) > 2 else 1.0
    source = f"{folder}/in.zarr"
    shape = (int(gigabytes * 250), 1000, 1000)
    make(source, shape)
    WANTED[1] = min(WANTED[1], shape[0])
    for way in sys.argv[3:] or WAYS:
        target = f"{folder}/{way}.zarr"
        shutil.rmtree(target, ignore_errors=True)
        watch, begun = Watch(), time.monotonic()
        watch.start()
        try:
            tasks = WAYS[way](source, target)
        except Exception as error:
            watch.over.set()
            print(f"{way}: failed after {time.monotonic() - begun:.0f} s, {watch.peak / 1e6:.0f} MB: "
                  f"{type(error).__name__} {str(error)[:200]}", flush=True)
            continue
        seconds = time.monotonic() - begun
        watch.over.set()
        read, written = (sum(pair[k] for pair in watch.io.values()) / 1e9 for k in (0, 1))
        a, b = zarr.open_array(source, mode="r"), zarr.open_array(target, mode="r")
        for t, y, x in ((0, 0, 0), (a.shape[0] - 7, 900, 990), (a.shape[0] // 2, 500, 3)):
            np.testing.assert_array_equal(b[x:x + 5, t:t + 5, y:y + 5],
                                          a[t:t + 5, y:y + 5, x:x + 5].transpose(ORDER))
        print(f"{way}: {seconds:.1f} s, {tasks} tasks, most memory of a process {watch.peak / 1e6:.0f} MB, "
              f"read {read:.1f} GB, written {written:.1f} GB", flush=True)
        shutil.rmtree(target)


if __name__ == "__main__":
    main()
