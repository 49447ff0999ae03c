// The elements of files by their C++ type: what is checked before a file's bytes are taken for them.
#include <algorithm>
#include <cstring>
#include <utility>

#include "relayout/core/error.h"
#include "relayout/interop/files/formats.h"
#include "relayout/interop/files/tensor_file.h"

namespace relayout {
namespace {

bool starts_aligned(const void* data, std::size_t alignment) {
  return reinterpret_cast<uintptr_t>(data) % alignment == 0;
}

/// Error{unsupported} about elements that cannot be used in their place.
[[noreturn]] void refuse_place(const std::string& what, const std::string& why, const std::string& instead) {
  throw Error(ErrorCode::unsupported, what + " " + why + "; " + instead, "tensor");
}

/// How an error calls a tensor of a file.
std::string called(const std::string& path, const StoredTensor& tensor) {
  return "\"" + path + "\": " + (tensor.name.empty() ? "the tensor" : "tensor \"" + escaped(tensor.name) + "\"");
}

/// What a tensor's elements may be taken for where no type is converted: the unsigned integer of their width.
std::optional<DType> bits_of_unknown(const StoredTensor& tensor) {
  for (const DType dtype : {DType::u8, DType::u16, DType::u32, DType::u64}) {
    if (bits(dtype) == tensor.item_bits) return dtype;
  }
  return std::nullopt;
}

/// Error unless a tensor's elements are of this type.
void check_type(const std::string& path, const StoredTensor& tensor, DType dtype) {
  const std::string given(name(dtype)), what = called(path, tensor);
  if (tensor.dtype ? holds_elements(dtype, *tensor.dtype) : bits_of_unknown(tensor) == dtype) return;
  if (!tensor.dtype && tensor.type_name.empty()) {
    const int64_t item = bits(dtype) / 8;
    if (tensor.byte_size % item == 0) return;
    throw Error(ErrorCode::invalid_argument,
                what + " has " + std::to_string(tensor.byte_size) + " bytes, no whole number of " + given + "s",
                "dtype", given, "a type whose size divides " + std::to_string(tensor.byte_size));
  }
  const std::string stored = tensor.dtype ? std::string(name(*tensor.dtype)) : escaped(tensor.type_name);
  throw Error(ErrorCode::invalid_argument, what + " holds elements of type " + stored + ", not " + given, "dtype",
              given, stored);
}

}  // namespace

std::span<const std::byte> TensorFile::checked_elements(std::size_t tensor, DType dtype, std::size_t alignment,
                                                        const GoOn& go_on) const {
  const std::span<const std::byte> found = bytes(tensor, go_on);
  const StoredTensor& stored = impl_->tensors[tensor];
  check_type(impl_->path, stored, dtype);
  const std::string instead = "read() copies the elements";
  if (stored.byte_swapped && stored.item_bits > 8)
    refuse_place(called(impl_->path, stored), "is big-endian", instead + " and turns them");
  if (!found.empty() && !starts_aligned(found.data(), alignment)) {
    refuse_place(called(impl_->path, stored),
                 "lies at an address that is no multiple of " + std::to_string(alignment) + ", the alignment of " +
                     std::string(name(dtype)),
                 instead);
  }
  return found;
}

void TensorFile::read(std::size_t tensor, const Elements& to, const GoOn& go_on) const {
  const std::span<const std::byte> found = bytes(tensor, go_on);
  const StoredTensor& stored = impl_->tensors[tensor];
  if (to.dtype()) check_type(impl_->path, stored, *to.dtype());
  const bool turned = stored.byte_swapped && stored.item_bits > 8;
  // The type was compared with what the file says, which may be less than a type.
  const std::span<std::byte> out = checked_bytes(Elements(to.bytes()), DType::u8, static_cast<int64_t>(found.size()),
                                                 "read \"" + impl_->path + "\"", "destination");
  if (!found.empty()) std::memcpy(out.data(), found.data(), found.size());
  if (turned) swap_bytes(out.first(found.size()), stored.item_bits / 8);
  if (to.dtype() == DType::boolean) {
    for (std::byte& each : out.first(found.size())) each = each == std::byte{0} ? std::byte{0} : std::byte{1};
  }
}

std::span<std::byte> TensorWriter::checked_elements(DType dtype, std::size_t alignment) {
  const std::span<std::byte> all = bytes();
  if (!holds_elements(dtype, this->dtype())) {
    const std::string given(name(dtype)), wanted(name(this->dtype()));
    throw Error(ErrorCode::invalid_argument,
                "write tensor: the file is to hold elements of type " + wanted + ", not " + given, "dtype", given,
                wanted);
  }
  if (!all.empty() && !starts_aligned(all.data(), alignment)) {
    refuse_place("write tensor: the file's elements",
                 "lie at an address that is no multiple of " + std::to_string(alignment) + ", the alignment of " +
                     std::string(name(dtype)),
                 "write() copies elements there");
  }
  return all;
}

void TensorWriter::write(const ConstElements& from) {
  const std::span<std::byte> to = bytes();
  const auto given = checked_bytes(from, dtype(), static_cast<int64_t>(to.size()), "write tensor", "source");
  if (!to.empty()) std::memcpy(to.data(), given.data(), to.size());
}

std::span<const std::byte> checked_content(const NamedTensor& tensor, std::string_view what) {
  check_layout(tensor.spec);
  const int64_t need = spec_bytes(tensor.spec);
  const std::string operation = std::string(what) + " \"" + escaped(tensor.spec.name) + "\"";
  const auto given = checked_bytes(tensor.elements, tensor.spec.dtype, need, operation, "source");
  if (static_cast<int64_t>(given.size()) == need) return given;
  throw Error(ErrorCode::invalid_argument,
              operation + " needs " + std::to_string(need) + " bytes, given are " + std::to_string(given.size()),
              "source", std::to_string(given.size()), std::to_string(need));
}

}  // namespace relayout
