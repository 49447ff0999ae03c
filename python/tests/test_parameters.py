"""Parameters of PyTorch: tensors that need gradients, and are arrays like others where no gradient is recorded."""
import numpy as np
import pytest
import relayout


def test_parameters_of_torch(tmp_path):
    torch = pytest.importorskip("torch")
    parameter = torch.nn.Parameter(torch.arange(24, dtype=torch.float32).reshape(2, 3, 4))
    expected = parameter.detach().numpy().transpose(0, 2, 1)
    calls = {
        "contiguous": lambda: relayout.contiguous(parameter.permute(0, 2, 1)),
        "transpose": lambda: relayout.transpose(parameter, (0, 2, 1)),
        "convert": lambda: relayout.convert(parameter, "abc", "acb"),
        "rearrange": lambda: relayout.rearrange("a b c -> a c b", parameter),
    }
    for name, call in calls.items():
        with pytest.raises(relayout.InvalidArgumentError, match="no_grad"):
            call()
        with torch.no_grad():
            got = call()
        assert isinstance(got, torch.Tensor) and not got.requires_grad, name
        assert np.array_equal(got.numpy(), expected), name
    with torch.no_grad():
        assert relayout.contiguous(parameter) is parameter and relayout.layout_of(parameter).dims == (2, 3, 4)
        relayout.save(tmp_path / "x.npy", parameter)
        into = np.zeros((2, 3, 4))
        relayout.copy(into, parameter)
        assert np.array_equal(into, parameter.numpy())
        relayout.copy(parameter, into + 1)
        relayout.copy(parameter, parameter.flip(0))
        assert relayout.empty((2,), like=parameter).shape == (2,)
    assert parameter.requires_grad and np.array_equal(parameter.detach().numpy(), into[::-1] + 1)
    assert np.array_equal(relayout.load(tmp_path / "x.npy"), into)
    with pytest.raises(relayout.InvalidArgumentError, match="no_grad"):
        relayout.save(tmp_path / "y.npy", parameter)
