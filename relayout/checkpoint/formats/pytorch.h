// PyTorch's tensors in pickles: a call of a function of torch that names a storage, which is a member of the archive,
// and says offset, sizes and strides.
//
//     torch._utils._rebuild_tensor_v2(<storage FloatStorage "0" of 6>, 0, (2, 3), (3, 1), False, OrderedDict())
//
// Known are that function, its forms of other versions, and the ones that make parameters; nothing is ever called.
// Source: torch/_utils.py and torch/serialization.py of PyTorch 1.6 to 2.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "relayout/checkpoint/formats/pickle.h"
#include "relayout/checkpoint/tensor.h"

namespace relayout::checkpoint {

/// A tensor of a pickle. `offset` counts bytes from the begin of its storage.
struct TorchTensor {
  CheckpointTensor tensor;
  std::string storage;  // its key: a member DATA/KEY
};

/// Whether a value is made by one of the known calls.
bool is_torch_tensor(const PickleValues& values, uint32_t node);
/// The tensor that such a call makes. Errors: corrupt (arguments that are none of such a call, offsets that overflow),
/// unsupported (a type that is not known), limit (dims).
TorchTensor torch_tensor(const PickleValues& values, uint32_t node);

/// "float32" of f32 and "complex64" of "<c8": the name of a spec's type behind "torch.". Error{unsupported} names the
/// type that PyTorch does not have.
std::string torch_type_name(const TensorSpec& spec);
/// "FloatStorage" of "float32"; "" for types that have no such class.
std::string_view storage_name(std::string_view type);

/// A dict or an OrderedDict: the pairs that it was made with, each a list or a tuple of two, and what was added, as
/// key, value, key, value, ...
struct DictParts {
  std::span<const uint32_t> pairs, items;
};
/// The parts of a dict; nothing for all other values.
std::optional<DictParts> dict_parts(const PickleValues& values, uint32_t node);
/// The elements of a list, a tuple or a torch.Size; nothing for all others.
std::optional<std::span<const uint32_t>> list_items(const PickleValues& values, uint32_t node);

}  // namespace relayout::checkpoint
