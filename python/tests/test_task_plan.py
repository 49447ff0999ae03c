"""TaskPlan of relayout.redistribute: plans of tasks as values of Python, which NumPy runs here."""
import numpy as np
import pytest
import relayout
from relayout.redistribute import chunked_store, file_store, make_task_plan


def run(plan, x):
    """Each task copies its box; every element is written once."""
    arrays = [x] + [np.full(x.shape, -1) for _ in plan.stores[1:]]
    for step in plan.passes:
        for i in range(len(step)):
            box = step.task(i)
            assert (arrays[step.to_store][box] == -1).all()
            arrays[step.to_store][box] = arrays[step.from_store][box]
    return arrays[1]


@pytest.mark.parametrize("max_memory", [5e4, 1e5, 1e6])
def test_plans_are_complete(max_memory):
    x = np.arange(64 * 60 * 50).reshape(64, 60, 50)
    plan = make_task_plan(chunked_store(x.shape, "f32", (1, 60, 50)), chunked_store(x.shape, "f32", (64, 5, 5)),
                          max_memory=max_memory, read=(1e-3, 1e9), write=(1e-3, 1e9), chunked_intermediate=True)
    assert isinstance(plan, relayout.redistribute.TaskPlan)
    np.testing.assert_array_equal(run(plan, x), x)
    assert plan.errors() == []
    assert all(step.memory <= max_memory for step in plan.passes)
    assert len(plan.passes) == (2 if max_memory < 1e6 else 1)
    assert plan.least_bytes == 2 * 4 * x.size <= plan.bytes_read + plan.bytes_written
    assert plan.tasks == sum(len(step) for step in plan.passes) and plan.seconds > 0
    assert f"in {len(plan.passes)} pass" in plan.explain()
    assert [store.chunk for store in plan.stores[:2]] == [(1, 60, 50), (64, 5, 5)]


def test_what_a_scheduler_was_given_is_checked():
    plan = make_task_plan(file_store(relayout.layout("ab", (100, 100)), "f32"),
                          file_store(relayout.layout("ba", (100, 100)), "f32"), max_memory=5000)
    tasks = [[step.box(i) for i in range(len(step))] for step in plan.passes]
    assert plan.errors(tasks) == []
    dropped = tasks[-1].pop()
    assert "elements are written" in plan.errors(tasks)[0]
    tasks[-1] += [dropped, dropped]
    assert "in common" in plan.errors(tasks)[0]


def test_wrong_arguments():
    store = chunked_store((10, 10), "f32", (5, 5))
    assert store.chunk == store.unit == (5, 5) and store.bytes == 400 and store.access((10, 10)) == (4, 400)
    assert file_store(relayout.layout("ab", (10, 10)), "f32").chunk is None
    with pytest.raises(relayout.InvalidArgumentError):
        chunked_store((10, 10), "f32", (5,))
    with pytest.raises(relayout.LimitError, match="bytes of memory"):
        make_task_plan(store, store, max_memory=10)
    step = make_task_plan(store, store, max_memory=1000).passes[0]
    with pytest.raises(relayout.InvalidArgumentError, match="task 7"):
        step.task(7)
