// Reads the arguments of the calls that make PyTorch's tensors: see pytorch.h.
#include <algorithm>
#include <array>

#include "relayout/checkpoint/formats/pytorch.h"
#include "relayout/core/overflow.h"
#include "relayout/interop/pytorch.h"

namespace relayout::checkpoint {
namespace {

using Kind = PickleKind;

constexpr std::string_view kTorch = "torch.";

/// What the first arguments of a function are.
enum class Form { tensor, wrapped, rebuilt };
struct TorchFunction {
  std::string_view name;
  Form form;
  std::size_t dtype_at = 0;  // which argument is the type, where one is
};
constexpr std::array<TorchFunction, 6> kFunctions{{
    {"torch._utils._rebuild_tensor", Form::tensor},
    {"torch._utils._rebuild_tensor_v2", Form::tensor},
    {"torch._utils._rebuild_tensor_v3", Form::tensor, 6},
    {"torch._utils._rebuild_parameter", Form::wrapped},
    {"torch._utils._rebuild_parameter_with_state", Form::wrapped},
    {"torch._tensor._rebuild_from_type_v2", Form::rebuilt},
}};

/// Types of storages that are called otherwise than the types of their elements.
constexpr std::array<std::pair<std::string_view, std::string_view>, 13> kStorages{
    {{"DoubleStorage", "float64"},
     {"FloatStorage", "float32"},
     {"HalfStorage", "float16"},
     {"BFloat16Storage", "bfloat16"},
     {"LongStorage", "int64"},
     {"IntStorage", "int32"},
     {"ShortStorage", "int16"},
     {"CharStorage", "int8"},
     {"ByteStorage", "uint8"},
     {"BoolStorage", "bool"},
     {"ComplexFloatStorage", "complex64"},
     {"ComplexDoubleStorage", "complex128"},
     {"UntypedStorage", ""}}};
/// Types that are not converted, with the name by which .npy or .safetensors keeps them, and the bits of an element.
struct OtherType {
  std::string_view name, kept_as;
  int bits;
};
constexpr std::array<OtherType, 5> kOtherTypes{{{"complex32", "torch.complex32", 32},
                                                {"complex64", "<c8", 64},
                                                {"complex128", "<c16", 128},
                                                {"float8_e4m3fnuz", "F8_E4M3FNUZ", 8},
                                                {"float8_e5m2fnuz", "F8_E5M2FNUZ", 8}}};

[[noreturn]] void fail_torch(ErrorCode code, const std::string& what, std::string field, std::string value = {}) {
  throw Error(code, what, std::move(field), std::move(value));
}

const TorchFunction* function_of(const PickleValues& values, uint32_t node) {
  if (values[node].kind != Kind::call) return nullptr;
  const PickleNode& called = values[values[node].items[0]];
  if (called.kind != Kind::global) return nullptr;
  const std::string name = std::string(called.module) + "." + std::string(called.text);
  const auto found = std::ranges::find(kFunctions, name, &TorchFunction::name);
  return found == kFunctions.end() ? nullptr : &*found;
}

std::span<const uint32_t> items_of(const PickleValues& values, uint32_t tuple, std::string_view function,
                                   std::size_t least) {
  if (values[tuple].kind == Kind::tuple && values[tuple].items.size() >= least) return values[tuple].items;
  fail_torch(ErrorCode::corrupt, std::string(function) + " with other arguments than it has", "arguments");
}

int64_t integer(const PickleValues& values, uint32_t node, const char* field) {
  if (values[node].kind == Kind::integer && values[node].number >= 0) return values[node].number;
  fail_torch(ErrorCode::corrupt, std::string("the ") + field + " is no number from 0 to 2^63 - 1", field);
}

Dims dims_of(const PickleValues& values, uint32_t node, const char* field) {
  const auto items = list_items(values, node);
  if (!items) fail_torch(ErrorCode::corrupt, std::string("the ") + field + " is no tuple", field);
  if (items->size() > static_cast<std::size_t>(kMaxDims))
    fail_torch(ErrorCode::limit,
               std::to_string(items->size()) + " dims; at most " + std::to_string(kMaxDims) + " are read", field,
               std::to_string(items->size()));
  Dims out;
  for (const uint32_t item : *items) out.push_back(integer(values, item, field));
  return out;
}

/// Sets the type by the name that torch has for it, without "torch.".
void take_dtype(CheckpointTensor& tensor, std::string_view name) {
  tensor.type_name = "torch." + std::string(name);
  const auto other = std::ranges::find(kOtherTypes, name, &OtherType::name);
  if (other != kOtherTypes.end()) {
    tensor.type_name = other->kept_as;
    tensor.item_bits = other->bits;
    return;
  }
  tensor.dtype = pytorch::dtype_of(tensor.type_name);
  tensor.item_bits = bits(*tensor.dtype);
}

/// The key of a storage, and the name of the type of its elements; "" where the storage is of bytes.
std::pair<std::string, std::string> storage_of(const PickleValues& values, uint32_t node) {
  if (values[node].kind != Kind::persistent) fail_torch(ErrorCode::corrupt, "a tensor without a storage", "storage");
  const PickleNode& id = values[values[node].items[0]];
  if (id.kind != Kind::tuple || id.items.size() < 5 || values[id.items[0]].text != "storage" ||
      values[id.items[2]].kind != Kind::text)
    fail_torch(ErrorCode::corrupt, "what stands for a storage is none", "storage");
  const PickleNode& type = values[id.items[1]];
  const auto found = std::ranges::find(kStorages, type.text, &std::pair<std::string_view, std::string_view>::first);
  if (type.kind != Kind::global || found == kStorages.end() || !type.module.starts_with("torch"))
    fail_torch(ErrorCode::unsupported, "a storage of " + escaped(values.name_of(id.items[1])) + " is not read",
               "storage", escaped(values.name_of(id.items[1])));
  return {std::string(values[id.items[2]].text), std::string(found->second)};
}

/// Sets how many bytes the tensor reaches over, and checks that nothing overflows.
void take_span(CheckpointTensor& tensor, int64_t offset) {
  const int64_t span = Layout::strided(tensor.shape, tensor.strides).span();
  const auto bytes = checked_mul(span, tensor.item_bits / 8), begin = checked_mul(offset, tensor.item_bits / 8);
  // A stride of 0 makes many elements of few bytes; what all of them would take is counted too.
  const auto elements = checked_product(tensor.shape);
  const bool countable = elements && checked_mul(*elements, tensor.item_bits);
  if (!bytes || !begin || !countable || !checked_add(*bytes, *begin))
    fail_torch(ErrorCode::corrupt, "its bytes overflow 63 bits", "offset", std::to_string(offset));
  tensor.byte_size = *bytes;
  tensor.offset = *begin;
}

/// The tensor that a function of the form `tensor` makes of these arguments.
TorchTensor plain_tensor(const PickleValues& values, uint32_t tuple, const TorchFunction& function) {
  const auto arguments = items_of(values, tuple, function.name, std::max<std::size_t>(4, function.dtype_at + 1));
  TorchTensor out;
  auto [key, type] = storage_of(values, arguments[0]);
  out.storage = std::move(key);
  if (function.dtype_at != 0) {
    const PickleNode& dtype = values[arguments[function.dtype_at]];
    if (dtype.kind != Kind::global || dtype.module != "torch")
      fail_torch(ErrorCode::corrupt, "the type of the elements is none of torch", "dtype");
    type = dtype.text;
  }
  if (type.empty()) fail_torch(ErrorCode::corrupt, "the storage does not say the type of its elements", "storage");
  take_dtype(out.tensor, type);
  out.tensor.shape = dims_of(values, arguments[2], "size");
  out.tensor.strides = dims_of(values, arguments[3], "stride");
  take_span(out.tensor, integer(values, arguments[1], "offset"));
  return out;
}

}  // namespace

bool is_torch_tensor(const PickleValues& values, uint32_t node) { return function_of(values, node) != nullptr; }

TorchTensor torch_tensor(const PickleValues& values, uint32_t node) {
  constexpr int kMostWrappers = 8;
  for (int depth = 0; depth < kMostWrappers; ++depth) {
    const TorchFunction* function = function_of(values, node);
    if (function == nullptr)
      fail_torch(ErrorCode::unsupported, "it wraps " + escaped(values.name_of(node)) + ", which is not read", "tensor",
                 escaped(values.name_of(node)));
    const uint32_t tuple = values[node].items[1];
    if (function->form == Form::tensor) return plain_tensor(values, tuple, *function);
    const auto arguments = items_of(values, tuple, function->name, function->form == Form::wrapped ? 1 : 3);
    if (function->form == Form::wrapped) {
      node = arguments[0];
      continue;
    }
    // The function, the type of the result, and the function's arguments.
    const PickleNode& called = values[arguments[0]];
    const std::string name = values.name_of(arguments[0]);
    const auto found = std::ranges::find(kFunctions, name, &TorchFunction::name);
    if (called.kind != Kind::global || found == kFunctions.end() || found->form != Form::tensor)
      fail_torch(ErrorCode::unsupported, "it is made by " + escaped(name) + ", which is not read", "tensor",
                 escaped(name));
    return plain_tensor(values, arguments[2], *found);
  }
  fail_torch(ErrorCode::limit, "a parameter inside a parameter, more than 8 deep", "tensor");
}

std::string torch_type_name(const TensorSpec& spec) {
  if (spec.type_name.empty()) return std::string(pytorch::dtype_name(spec.dtype).substr(kTorch.size()));
  const auto other = std::ranges::find(kOtherTypes, spec.type_name, &OtherType::kept_as);
  if (other != kOtherTypes.end()) return std::string(other->name);
  fail_torch(
      ErrorCode::unsupported,
      "write pytorch: tensor \"" + escaped(spec.name, 200) + "\": PyTorch has no type " + escaped(spec.type_name),
      "type", escaped(spec.type_name));
}

std::string_view storage_name(std::string_view type) {
  const auto found = std::ranges::find(kStorages, type, &std::pair<std::string_view, std::string_view>::second);
  return found == kStorages.end() ? "" : found->first;
}

std::optional<DictParts> dict_parts(const PickleValues& values, uint32_t node) {
  const PickleNode& at = values[node];
  if (at.kind == Kind::dict) return DictParts{{}, at.items};
  if (at.kind != Kind::call || values.name_of(at.items[0]) != "collections.OrderedDict") return std::nullopt;
  DictParts out{{}, std::span(at.items).subspan(2)};
  const PickleNode& arguments = values[at.items[1]];
  if (arguments.items.empty()) return out;
  const auto pairs = list_items(values, arguments.items[0]);
  if (!pairs) return std::nullopt;
  out.pairs = *pairs;
  return out;
}

std::optional<std::span<const uint32_t>> list_items(const PickleValues& values, uint32_t node) {
  const PickleNode& at = values[node];
  if (at.kind == Kind::list || at.kind == Kind::tuple) return at.items;
  if (at.kind != Kind::call || values.name_of(at.items[0]) != "torch.Size") return std::nullopt;
  const PickleNode& arguments = values[at.items[1]];
  if (arguments.kind != Kind::tuple || arguments.items.size() != 1) return std::nullopt;
  const PickleNode& inner = values[arguments.items[0]];
  if (inner.kind != Kind::tuple && inner.kind != Kind::list) return std::nullopt;
  return inner.items;
}

}  // namespace relayout::checkpoint
