// DLPack: shared tensors as layouts and back, with owners that free each tensor once.
//
//     dlpack::Imported in(managed);                      // takes a DLManagedTensor* or DLManagedTensorVersioned*
//     const TensorDesc& desc = in.view().desc;           // offsets count from in.data()
//     cpu::run(cpu::make_plan(desc, wanted), in.data(), out.data());
//
//     dlpack::VersionedTensor mine = dlpack::exported_versioned(desc, pointer, [keep] {});   // keep: the data's owner
//     consumer(mine.release());                          // who calls its deleter, which calls the function, once
//
// Strides count elements. What DLPack's header does not say is taken so:
//  - Negative strides are neither allowed nor forbidden. NumPy exports them; PyTorch and others refuse them. Both
//    directions here have them: byte_offset leads to element (0, 0, ...), from which a negative stride leads backwards.
//  - Strides of dims of extent 1, and of tensors without elements, may be any and mean nothing.
//  - Null strides mean row-major. Since 1.2 they are not allowed (where ndim is not 0), but older exporters have them,
//    so that they are refused only where ImportOptions says so.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "relayout/core/layout.h"
#include "relayout/interop/dlpack_abi.h"

namespace relayout::dlpack {

/// "kDLCUDA"; "device type 99" for a number that DLPack 1.3 does not have.
std::string name(DLDeviceType device);
/// "kDLFloat, 32 bits, 1 lane".
std::string name(DLDataType type);

/// One lane of this type. All types here have one.
DLDataType data_type(DType dtype);
/// The type of one lane. Error{unsupported} names a type that does not exist here: complex numbers, handles, other
/// types of 8, 6 and 4 bits, other widths.
DType dtype_of(DLDataType type);

/// What a DLTensor says.
struct View {
  /// Offset o of the layout lies bits * o / 8 bytes behind `data` + `byte_offset`. offset0 is 0 but for negative
  /// strides, which lead back to offset 0 or, for sub-byte elements, to one of the next that fill its first bytes.
  TensorDesc desc;
  /// As given: a pointer, or a handle on some devices.
  void* data = nullptr;
  int64_t byte_offset = 0;
  DLDevice device{kDLCPU, 0};
  /// Nothing may be written: the tensor is marked so, or its bytes hold more than the elements (kFlagSubbytePadded).
  bool read_only = false;
};

struct ImportOptions {
  /// Null strides are an error unless ndim is 0, as DLPack 1.2 demands of exporters.
  bool require_strides = false;
  /// Vectors (lanes over 1) become a last dim of stride 1. Two lanes of 4 bits, which fill a byte, always do.
  bool lanes_as_dim = false;
  /// Of the managed tensor. Imported reads them itself.
  uint64_t flags = 0;
};

/// The tensor's layout, on any device; nothing is read but the description. Errors: unsupported (a type; vectors;
/// vectors whose elements are padded), invalid_argument (a field that contradicts another one, named; strides that are
/// required), limit (over 12 dims), overflow.
/// With kFlagSubbytePadded a sub-byte element has a byte of its own, whose lowest bits are the element: its strides are
/// doubled here.
View from_dlpack(const DLTensor& tensor, const ImportOptions& options = {});

/// Where offset 0 of the layout lies, for devices whose memory the CPU reads: kDLCPU, and kDLCUDAHost and kDLROCMHost,
/// which is pinned memory. Errors: unsupported (another device, named), invalid_argument (null, but there are
/// elements), overflow (the tensor would begin or end beyond all addresses).
std::byte* cpu_pointer(const View& view);

/// A DLTensor that owns its sizes and strides.
struct Tensor {
  std::array<int64_t, kMaxDims> shape{}, strides{};
  int32_t ndim = 0;
  DLDataType dtype{};
  DLDevice device{kDLCPU, 0};
  void* data = nullptr;
  uint64_t byte_offset = 0;

  /// Points into this object.
  DLTensor dl_tensor();
};

/// `data` is where offset 0 of the layout lies; without elements it is left out, as DLPack wants it. Strides are always
/// given. Errors: unsupported (the dim that is blocked or padded; sub-byte elements of which the first lies inside a
/// byte), overflow. Law: from_dlpack() of it has the same elements at the same places.
Tensor to_dlpack(const TensorDesc& desc, void* data, DLDevice device = {kDLCPU, 0});

/// Calls a managed tensor's own deleter, where it has one.
struct CallDeleter {
  template <typename Managed>
  void operator()(Managed* tensor) const noexcept {
    if (tensor->deleter != nullptr) tensor->deleter(tensor);
  }
};
using ManagedTensor = std::unique_ptr<DLManagedTensor, CallDeleter>;
using VersionedTensor = std::unique_ptr<DLManagedTensorVersioned, CallDeleter>;

/// Tensors for a consumer, who gets them by release(). Whoever has one in the end calls its deleter, which frees the
/// description and calls `release` once; what that throws is lost, since it is called from C. `release` is not called
/// where the export itself fails. Errors: those of to_dlpack(), and invalid_argument (kFlagSubbytePadded, which no
/// tensor here is, or a flag that 1.3 does not have).
ManagedTensor exported(const TensorDesc& desc, void* data, std::function<void()> release,
                       DLDevice device = {kDLCPU, 0});
VersionedTensor exported_versioned(const TensorDesc& desc, void* data, std::function<void()> release,
                                   uint64_t flags = 0, DLDevice device = {kDLCPU, 0});

/// A tensor that came from another library. It is consumed whatever happens: its deleter is called once, when the last
/// owner goes, or at once where the constructor fails.
class Imported {
 public:
  /// Errors: invalid_argument (null), those of from_dlpack(); of a versioned tensor unsupported, where its major
  /// version is another one: then nothing of it is read but the deleter.
  explicit Imported(DLManagedTensor* tensor, const ImportOptions& options = {});
  explicit Imported(DLManagedTensorVersioned* tensor, const ImportOptions& options = {});

  const View& view() const { return view_; }
  /// cpu_pointer(view()), with its errors.
  std::byte* data() const { return cpu_pointer(view_); }
  /// 0 for tensors without a version.
  uint64_t flags() const { return versioned_ ? versioned_->flags : 0; }
  /// 0.0 for tensors without a version.
  DLPackVersion version() const { return versioned_ ? versioned_->version : DLPackVersion{0, 0}; }

 private:
  ManagedTensor legacy_;
  VersionedTensor versioned_;
  View view_;
};

/// The newest table of a chain whose major version is known here; null where there is none.
const DLPackExchangeAPI* known_version(const DLPackExchangeAPIHeader* newest);

/// A declaration in C (since C99) of a DLTensor `tensor` with this layout, over a pointer `data` to offset 0. Names are
/// those of dlpack.h. Errors as in to_dlpack().
std::string code(const TensorDesc& desc);

}  // namespace relayout::dlpack
