#!/usr/bin/env python3
"""A plan of tasks on a cluster that exists on paper: a discrete-event model of Dask's rules, with workers that fail and
workers that are slow. docs/lab/larger-than-memory.md has results, and what the model leaves out.

    simulate_cluster.py [--workers 1024] [--runs 5] [--small]     prints a table of scenarios
    simulate_cluster.py --calibrate FOLDER GB                     a real run on LocalCluster beside the model

The rules, of Dask 2026.8 with relayout.dask: tasks are independent, and the next pass begins when one is complete. The
client has four tasks a worker under way; the scheduler hands them to workers one at a time, each of which has one task
that runs and one that waits. Where the scheduler has no more, a worker without a task gets the waiting one of another
(work stealing), of any, since the scheduler does not know who is slow; a task that runs is never started a second time
elsewhere. A worker that is lost is noticed after `notice` seconds, its tasks begin anew elsewhere, and a new worker
comes `restart` seconds later. A task that has lost four workers ends the whole run, as Dask's allowed-failures does.
"""
import argparse
import dataclasses
import heapq
import math
import random
import time


@dataclasses.dataclass(frozen=True)
class Cluster:
    """Rates in bytes a second, times in seconds."""
    workers: int = 1024
    rate: float = 1e8             # of a worker that reads or writes
    chunk_seconds: float = 0.03   # of a chunk beside its bytes, as of an object store
    task_seconds: float = 0.05    # of a task beside its chunks
    dispatch: float = 2e-3        # of the scheduler for each task, one after the other
    store_rate: float = math.inf  # what the stores give all workers together
    slow_share: float = 0.0       # of the workers
    slowness: float = 3.0         # how much longer they take
    fail_hours: float = math.inf  # mean time between failures of one worker
    notice: float = 60.0
    restart: float = 30.0
    task_failure: float = 0.0     # chance that a task fails at its end and is tried again
    steal: bool = True


@dataclasses.dataclass
class Outcome:
    seconds: float = 0.0
    bound: float = 0.0          # no schedule of this plan on these workers, without failures, is faster
    bytes_moved: float = 0.0    # those of work that was lost among them
    bytes_planned: float = 0.0
    tasks: int = 0
    again: int = 0              # tasks that were begun more than once
    lost_workers: int = 0
    tails: list = dataclasses.field(default_factory=list)  # of each pass: from 95 % of its tasks to the last one
    stragglers: int = 0         # tasks that took twice as long as the middle one of their pass


class Killed(Exception):
    """A task lost too many workers."""


class Worker:
    def __init__(self, speed):
        self.speed, self.alive, self.epoch = speed, True, 0
        self.running, self.waiting = None, None
        self.began = 0.0  # in work, not in time
        self.back_at = 0.0


class PassRun:
    """One pass. Time goes on in two clocks: seconds, and the work that a worker of speed 1 has done since the begin,
    which is slower where the stores cannot serve all."""

    def __init__(self, count, work, task_bytes, cluster, workers, rng, start):
        self.count, self.work, self.task_bytes, self.cluster = count, work, task_bytes, cluster
        self.workers, self.rng, self.now, self.start = workers, rng, start, start
        self.progress, self.running = 0.0, 0
        self.pending = list(range(count - 1, -1, -1))
        self.losses, self.tries = [0] * count, [0] * count
        self.done_at, self.took, self.begun = [], [], {}
        self.ends, self.events = [], []  # heaps: by work, by time
        self.scheduler_free = start
        self.bytes_moved, self.again, self.lost = 0.0, 0, 0
        self.order = 0

    def share(self):
        """Work a second of a worker of speed 1."""
        wanted = self.running * self.cluster.rate
        return min(1.0, self.cluster.store_rate / wanted) if wanted else 1.0

    def at(self, when, what, *more):
        self.order += 1
        heapq.heappush(self.events, (when, self.order, what, more))

    def begin(self, worker, task):
        worker.running, worker.began = task, self.progress
        self.running += 1
        self.tries[task] += 1
        self.again += self.tries[task] == 2
        self.begun[task] = self.now
        self.order += 1
        heapq.heappush(self.ends, (self.progress + self.work / worker.speed, self.order, worker, worker.epoch))

    def hand_out(self):
        """The scheduler sends what it may to the workers that have the fewest tasks."""
        if self.pending:
            for wanted in (0, 1):
                for worker in self.workers:
                    if not worker.alive or (worker.running is not None) + (worker.waiting is not None) != wanted:
                        continue
                    if not self.pending:
                        return
                    self.give(worker, self.pending.pop())

    def give(self, worker, task):
        """A task is on its way to a worker until the scheduler has got to it."""
        self.scheduler_free = max(self.now, self.scheduler_free) + self.cluster.dispatch
        if worker.running is None:
            worker.running = -1  # taken
            self.at(self.scheduler_free, "arrive", worker, worker.epoch, task)
        else:
            worker.waiting = task

    def next_of(self, worker):
        worker.running = None
        if worker.waiting is not None:
            task, worker.waiting = worker.waiting, None
            self.begin(worker, task)
            if self.pending:
                self.give(worker, self.pending.pop())
        elif self.pending:
            self.give(worker, self.pending.pop())
        elif self.cluster.steal:
            holders = [w for w in self.workers if w.alive and w.waiting is not None]
            if holders:
                victim = self.rng.choice(holders)
                task, victim.waiting = victim.waiting, None
                self.give(worker, task)

    def finish(self, worker):
        task = worker.running
        self.running -= 1
        self.bytes_moved += self.task_bytes
        if self.rng.random() < self.cluster.task_failure:
            self.pending.append(task)
        else:
            self.done_at.append(self.now)
            self.took.append(self.now - self.begun[task])
        self.next_of(worker)

    def lose(self, worker):
        if not worker.alive:
            return
        self.lost += 1
        worker.alive = False
        worker.epoch += 1
        tasks = [task for task in (worker.running, worker.waiting) if task is not None and task >= 0]
        if worker.running is not None and worker.running >= 0:
            self.running -= 1
            self.bytes_moved += self.task_bytes * min(1.0, (self.progress - worker.began) * worker.speed / self.work)
            self.losses[worker.running] += 1
            if self.losses[worker.running] > 3:
                raise Killed(f"task {worker.running} lost {self.losses[worker.running]} workers")
        worker.running = worker.waiting = None
        self.at(self.now + self.cluster.notice, "noticed", tasks)
        worker.back_at = self.now + self.cluster.notice + self.cluster.restart
        self.at(worker.back_at, "back", worker)

    def next_failure(self):
        if math.isfinite(self.cluster.fail_hours):
            rate = len(self.workers) / (self.cluster.fail_hours * 3600)
            self.at(self.now + self.rng.expovariate(rate), "failure")

    def happen(self, what, more):
        if what == "arrive":
            worker, epoch, task = more
            if worker.epoch == epoch:
                self.begin(worker, task)
            else:
                self.pending.append(task)
                self.hand_out()
        elif what == "failure":
            self.lose(self.rng.choice(self.workers))
            self.next_failure()
        elif what == "noticed":
            self.pending.extend(more[0])
            self.hand_out()
        elif what == "back":
            more[0].alive = True
            self.hand_out()

    def run(self):
        for worker in self.workers:
            worker.running = worker.waiting = None
            worker.epoch += 1
            if not worker.alive:
                self.at(max(self.now, worker.back_at), "back", worker)
        self.next_failure()
        self.hand_out()
        while len(self.done_at) < self.count:
            while self.ends and self.ends[0][2].epoch != self.ends[0][3]:
                heapq.heappop(self.ends)
            share = self.share()
            end = self.now + (self.ends[0][0] - self.progress) / share if self.ends else math.inf
            event = self.events[0][0] if self.events else math.inf
            when = min(end, event)
            self.progress += (when - self.now) * share
            self.now = when
            if end <= event:
                _, _, worker, _ = heapq.heappop(self.ends)
                self.finish(worker)
            else:
                _, _, what, more = heapq.heappop(self.events)
                self.happen(what, more)
        return self.now


def seconds_of_task(one_pass, cluster):
    """What a task takes at speed 1, all of them taken as equal."""
    count = len(one_pass)
    chunks, moved = one_pass.read[0] + one_pass.written[0], one_pass.read[1] + one_pass.written[1]
    return cluster.task_seconds + (chunks * cluster.chunk_seconds + moved / cluster.rate) / count


def simulate(plan, cluster, seed=0):
    """One run of a TaskPlan of relayout.redistribute. Raises Killed."""
    rng = random.Random(seed)
    slow = round(cluster.workers * cluster.slow_share)
    workers = [Worker(1 / cluster.slowness if i < slow else 1.0) for i in range(cluster.workers)]
    rng.shuffle(workers)
    speeds = sorted((worker.speed for worker in workers), reverse=True)
    out, now = Outcome(), 0.0
    for one_pass in plan.passes:
        count = len(one_pass)
        work, moved = seconds_of_task(one_pass, cluster), one_pass.read[1] + one_pass.written[1]
        one = PassRun(count, work, moved / count, cluster, workers, rng, now)
        end = one.run()
        out.tails.append(end - sorted(one.done_at)[max(0, math.ceil(0.95 * count) - 1)])
        middle = sorted(one.took)[count // 2]
        out.stragglers += sum(took > 2 * middle for took in one.took)
        # All workers busy all the time, the scheduler always quick enough, and the stores' bytes.
        out.bound += max(count * work / sum(speeds), work / speeds[0], moved / cluster.store_rate)
        out.bytes_moved += one.bytes_moved
        out.bytes_planned += moved
        out.tasks += count
        out.again += one.again
        out.lost_workers += one.lost
        now = end
    out.seconds = now
    return out


def example(bound, small=False, terabytes=1):
    """Some terabytes of f32: an hour a chunk, to all hours on a few places, chunks of 100 MB both."""
    from relayout.redistribute import chunked_store, make_task_plan
    all_hours = 10000 * terabytes
    dims, hours, places = (all_hours, 5000, 5000), (1, 5000, 5000), (all_hours, 50, 50 // terabytes)
    if small:
        dims, hours, places = (400, 100, 100), (1, 100, 100), (400, 5, 5)
    return make_task_plan(chunked_store(dims, "f32", hours), chunked_store(dims, "f32", places), max_memory=bound,
                          read=(Cluster.chunk_seconds, Cluster.rate), write=(Cluster.chunk_seconds, Cluster.rate),
                          chunked_intermediate=True)


SCENARIOS = [
    ("all well", {}),
    ("1 in 20 workers at a third of the speed", {"slow_share": 0.05}),
    ("the same, no stealing", {"slow_share": 0.05, "steal": False}),
    ("a worker fails every 24 h", {"fail_hours": 24}),
    ("a worker fails every 2 h", {"fail_hours": 2}),
    ("the same, noticed after 5 min (worker-ttl)", {"fail_hours": 2, "notice": 300}),
    ("slow ones, failures every 2 h, 1 % of tasks fail", {"slow_share": 0.05, "fail_hours": 2, "task_failure": 0.01}),
    ("the same, stores give 50 GB/s", {"slow_share": 0.05, "fail_hours": 2, "task_failure": 0.01,
                                       "store_rate": 5e10}),
]


def table(plan, workers, runs):
    print(f"{plan.tasks} tasks in {len(plan.passes)} passes, {plan.bytes_read / 1e12:.2f} + "
          f"{plan.bytes_written / 1e12:.2f} TB, least {plan.least_bytes / 1e12:.2f} TB; {workers} workers")
    print("| scenario | seconds (least, middle, most) | bound | middle / bound | moved / planned | begun again | "
          "workers lost | stragglers | tails |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name, scenario in SCENARIOS:
        cluster = Cluster(workers=workers, **scenario)
        try:
            done = sorted((simulate(plan, cluster, seed) for seed in range(runs)), key=lambda o: o.seconds)
        except Killed as killed:
            print(f"| {name} | {killed} | | | | | | | |")
            continue
        middle = done[len(done) // 2]
        print(f"| {name} | {done[0].seconds:.0f}, {middle.seconds:.0f}, {done[-1].seconds:.0f} | {middle.bound:.0f} | "
              f"{middle.seconds / middle.bound:.2f} | {middle.bytes_moved / middle.bytes_planned:.3f} | "
              f"{middle.again} | {middle.lost_workers} | {middle.stragglers} | "
              f"{', '.join(f'{t:.0f} s' for t in middle.tails)} |")


def calibrate(folder, gigabytes):
    """What this machine's LocalCluster of 4 workers takes: the time of a task without work, and three redistributions
    under different bounds. From two of them comes a worker's rate, and the model is asked for the third."""
    import os
    import shutil

    import distributed
    import numpy
    import zarr

    import relayout.dask
    from relayout.redistribute import prepare
    shape, chunks = (int(250 * gigabytes), 1000, 1000), (1, 1000, 1000)
    source, target = os.path.join(folder, "calibrate.zarr"), os.path.join(folder, "calibrated.zarr")
    array = zarr.create_array(source, shape=shape, dtype="f4", chunks=chunks, compressors=None, overwrite=True,
                              config={"write_empty_chunks": True})
    for t in range(shape[0]):
        array[t] = numpy.float32(t)
    found = []
    with distributed.LocalCluster(n_workers=4, threads_per_worker=1, memory_limit="512MB",
                                  dashboard_address=None) as made, distributed.Client(made) as client:
        client.gather(client.map(_nothing, range(8), pure=False))
        begin = time.perf_counter()
        client.gather([client.submit(_nothing, i, pure=False) for i in range(2000)])
        dispatch = (time.perf_counter() - begin) / 2000
        print(f"a task without work: {dispatch * 1e3:.2f} ms")
        for bound in ("24MB", "96MB", "48MB"):
            how = {"order": (2, 0, 1), "chunks": (20, min(1000, shape[0]), 100), "max_memory": bound}
            plan = prepare(source, target, **how).plan
            begin = time.perf_counter()
            relayout.dask.redistribute(source, target, **how)
            seconds = time.perf_counter() - begin
            moved = plan.bytes_read + plan.bytes_written
            found.append((plan, seconds, moved))
            print(f"{bound}: {seconds:.1f} s for {plan.tasks} tasks, {moved / 1e9:.2f} GB in {len(plan.passes)} passes")
            shutil.rmtree(target)
    shutil.rmtree(source)
    (asked, seconds, _), known = found[-1], found[:-1]
    rate = sum(moved for _, _, moved in known) / (4 * sum(took for _, took, _ in known))
    cluster = Cluster(workers=4, rate=rate, chunk_seconds=0, task_seconds=0, dispatch=dispatch)
    print(f"a worker moves {rate / 1e6:.0f} MB/s; the last run: {simulate(asked, cluster).seconds:.1f} s by the model, "
          f"{seconds:.1f} s measured")


def _nothing(number):
    return number


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, default=1024)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--small", action="store_true", help="a small array and few workers")
    parser.add_argument("--calibrate", nargs=2, metavar=("FOLDER", "GB"))
    arguments = parser.parse_args()
    if arguments.calibrate:
        calibrate(arguments.calibrate[0], float(arguments.calibrate[1]))
        return
    for bound, terabytes in ((3e5, 1), (2e6, 1)) if arguments.small else ((1e9, 1), (4e9, 1), (4e9, 10)):
        print(f"\n{bound / 1e6:g} MB a task")
        table(example(bound, arguments.small, terabytes), 16 if arguments.small else arguments.workers, arguments.runs)


if __name__ == "__main__":
    main()
