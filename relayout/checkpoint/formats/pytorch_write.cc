// Writes archives that torch.load() reads, also with weights_only: an OrderedDict of row-major tensors, each in a
// storage of its own.
#include <cstring>
#include <numeric>

#include "relayout/checkpoint/formats/pytorch.h"
#include "relayout/checkpoint/formats/zip_write.h"

namespace relayout::checkpoint {
namespace {

// Opcodes of protocol 2. Nothing is kept in the memo, as no value stands in two places.
template <typename T>
std::string bytes_of_number(T number) {
  std::string out(sizeof number, '\0');
  std::memcpy(out.data(), &number, sizeof number);
  return out;
}
std::string pickled(std::string_view text) {
  return "X" + bytes_of_number(static_cast<uint32_t>(text.size())) + std::string(text);
}
std::string pickled(int64_t number) {
  if (number == static_cast<int32_t>(number)) return "J" + bytes_of_number(static_cast<int32_t>(number));
  return "\x8a\x08" + bytes_of_number(number);
}
std::string pickled(const Dims& dims) {
  std::string out = "(";
  for (const int64_t dim : dims) out += pickled(dim);
  return out + "t";
}
std::string global(const std::string& module, std::string_view name) {
  return "c" + module + "\n" + std::string(name) + "\n";
}

constexpr std::string_view kFalse = "\x89";

/// The call that makes a tensor of storage `key`.
std::string pickled_tensor(const TensorSpec& spec, const std::string& key) {
  const std::string type = torch_type_name(spec), no_hooks = global("collections", "OrderedDict") + ")R";
  const std::string_view storage = storage_name(type);
  // Types without a storage of their own are read from one of bytes, and named by an argument more.
  const bool untyped = storage.empty();
  const int64_t bytes = spec_bytes(spec);
  const int64_t elements = untyped ? bytes : checked_product(spec.shape).value_or(0);
  std::string out = global("torch._utils", untyped ? "_rebuild_tensor_v3" : "_rebuild_tensor_v2") + "((" +
                    pickled("storage") +
                    (untyped ? global("torch.storage", "UntypedStorage") : global("torch", storage)) +
                    pickled(std::string_view(key)) + pickled("cpu") + pickled(elements) + "tQ" + pickled(int64_t{0}) +
                    pickled(spec.shape) + pickled(row_major_strides(spec.shape)) + std::string(kFalse) + no_hooks;
  if (untyped) out += global("torch", type);
  return out + "tR";
}

}  // namespace

FileImage plan_pytorch(std::span<const TensorSpec> specs, std::span<const MetadataEntry> metadata) {
  if (!metadata.empty())
    throw Error(
        ErrorCode::unsupported,
        "write pytorch: a dict of tensors keeps no metadata, and \"" + escaped(metadata[0].key, 200) + "\" is given",
        "metadata", escaped(metadata[0].key, 200));
  const std::string folder = "archive/";
  std::string pickle = "\x80\x02" + global("collections", "OrderedDict") + ")R(";
  std::vector<NewZipMember> members{{}, {folder + "byteorder", "little"}};
  for (std::size_t i = 0; i < specs.size(); ++i) {
    check_layout(specs[i]);
    const std::string key = std::to_string(i);
    pickle += pickled(std::string_view(specs[i].name)) + pickled_tensor(specs[i], key);
    members.push_back({folder + "data/" + key, "", spec_bytes(specs[i])});
  }
  constexpr std::ptrdiff_t kBefore = 2;  // members that are no tensors
  members[0] = {folder + "data.pkl", pickle + "u."};
  members.push_back({folder + "version", "3\n"});
  FileImage out = plan_zip(members);
  out.seen = [seen = std::move(out.seen)](std::size_t i, int64_t at, std::span<const std::byte> bytes) {
    seen(i + static_cast<std::size_t>(kBefore), at, bytes);
  };
  out.offsets = {out.offsets.begin() + kBefore, out.offsets.end() - 1};
  out.order.resize(specs.size());
  std::iota(out.order.begin(), out.order.end(), std::size_t{0});
  return out;
}

}  // namespace relayout::checkpoint
