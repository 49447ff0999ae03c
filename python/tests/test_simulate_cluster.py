"""The model of a cluster (bench/python/simulate_cluster.py): small runs against what can be said without it."""
import importlib.util
import math
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "bench" / "python" / "simulate_cluster.py"
if not SCRIPT.exists():
    pytest.skip("the sources of the benchmarks are not here", allow_module_level=True)
SPEC = importlib.util.spec_from_file_location("simulate_cluster", SCRIPT)
model = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(model)


class OnePass:
    """A pass of equal tasks, which move so many bytes each and no chunks."""
    def __init__(self, count, task_bytes):
        self.count, self.read, self.written = count, (0, count * task_bytes / 2), (0, count * task_bytes / 2)

    def __len__(self):
        return self.count


class Plan:
    def __init__(self, *passes):
        self.passes = passes


#: A task of 100 MB takes a second, the scheduler none.
QUICK = {"rate": 1e8, "chunk_seconds": 0, "task_seconds": 0, "dispatch": 0}


def test_equal_workers_go_in_waves():
    for workers, tasks in [(4, 8), (4, 9), (7, 3), (16, 100)]:
        done = model.simulate(Plan(OnePass(tasks, 1e8)), model.Cluster(workers=workers, **QUICK))
        assert done.seconds == pytest.approx(math.ceil(tasks / workers))
        assert done.bytes_moved == pytest.approx(1e8 * tasks) and done.again == done.lost_workers == 0
    two = model.simulate(Plan(OnePass(9, 1e8), OnePass(4, 2e8)), model.Cluster(workers=4, **QUICK))
    assert two.seconds == pytest.approx(3 + 2) and two.bound == pytest.approx(9 / 4 + 2)


def test_the_scheduler_and_the_stores_are_bounds():
    done = model.simulate(Plan(OnePass(100, 1e8)), model.Cluster(workers=100, **{**QUICK, "dispatch": 0.5}))
    assert done.seconds == pytest.approx(100 * 0.5 + 1)
    done = model.simulate(Plan(OnePass(100, 1e8)), model.Cluster(workers=50, store_rate=1e9, **QUICK))
    assert done.seconds == pytest.approx(100 * 1e8 / 1e9) and done.bound == pytest.approx(10)


def test_slow_workers_are_stragglers():
    """One worker of two at a third of the speed: 7 tasks are 5 and 2 of them, or 6 s."""
    done = model.simulate(Plan(OnePass(7, 1e8)), model.Cluster(workers=2, slow_share=0.5, **QUICK))
    assert done.seconds == pytest.approx(6) and done.stragglers == 2
    assert done.bound == pytest.approx(7 / (1 + 1 / 3))
    kept = model.simulate(Plan(OnePass(4, 1e8)), model.Cluster(workers=2, slow_share=0.5, steal=False, **QUICK))
    assert kept.seconds == pytest.approx(6)  # the second task of the slow one waits for its first
    assert model.simulate(Plan(OnePass(4, 1e8)),
                          model.Cluster(workers=2, slow_share=0.5, **QUICK)).seconds == pytest.approx(3)


def test_failures_cost_time_and_bytes():
    plan = Plan(OnePass(200, 1e10))  # 100 s each
    well = model.simulate(plan, model.Cluster(workers=20, **QUICK))
    bad = model.simulate(plan, model.Cluster(workers=20, fail_hours=1, notice=10, restart=10, **QUICK), seed=1)
    assert bad.lost_workers > 0 and 0 < bad.again <= bad.lost_workers
    assert bad.seconds > well.seconds and well.bytes_planned < bad.bytes_moved
    assert bad.bytes_moved <= bad.bytes_planned + 1e10 * bad.lost_workers
    again = model.simulate(plan, model.Cluster(workers=20, fail_hours=1, notice=10, restart=10, **QUICK), seed=1)
    assert again.seconds == bad.seconds  # the seed decides
    tried = model.simulate(plan, model.Cluster(workers=20, task_failure=0.1, **QUICK), seed=3)
    assert tried.again > 0 and tried.bytes_moved > tried.bytes_planned
    with pytest.raises(model.Killed, match="lost 4 workers"):
        model.simulate(plan, model.Cluster(workers=20, fail_hours=0.01, notice=1, restart=1, **QUICK))


def test_the_example_is_a_plan_of_two_passes():
    plan = model.example(3e5, small=True)
    assert len(plan.passes) == 2 and plan.errors() == []
    done = model.simulate(plan, model.Cluster(workers=8, slow_share=0.25, fail_hours=1))
    assert done.tasks == plan.tasks and done.seconds >= done.bound
    assert done.bytes_planned == pytest.approx(plan.bytes_read + plan.bytes_written)
