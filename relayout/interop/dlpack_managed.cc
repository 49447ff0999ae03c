// Shared tensors with owners: whose deleters run once, whatever fails.
#include "relayout/interop/dlpack.h"

namespace relayout::dlpack {
namespace {

/// What a deleter frees: the managed tensor, what it points to, and the function of the data's owner.
template <typename Managed>
struct ExportedTensor {
  Managed managed{};
  Tensor tensor;
  std::function<void()> release;
};

template <typename Managed>
void delete_exported(Managed* managed) noexcept {
  const std::unique_ptr<ExportedTensor<Managed>> owner(static_cast<ExportedTensor<Managed>*>(managed->manager_ctx));
  try {
    if (owner->release) owner->release();
  } catch (...) {  // a consumer in C could not catch it
  }
}

template <typename Managed>
std::unique_ptr<Managed, CallDeleter> export_tensor(const TensorDesc& desc, void* data, std::function<void()>&& release,
                                                    DLDevice device) {
  auto owner = std::make_unique<ExportedTensor<Managed>>();
  owner->tensor = to_dlpack(desc, data, device);
  owner->managed.dl_tensor = owner->tensor.dl_tensor();
  owner->managed.manager_ctx = owner.get();
  owner->managed.deleter = &delete_exported<Managed>;
  owner->release = std::move(release);
  return std::unique_ptr<Managed, CallDeleter>(&owner.release()->managed);
}

void check_not_null(const void* tensor) {
  if (tensor == nullptr)
    throw Error(ErrorCode::invalid_argument, "dlpack: the managed tensor is null", "tensor", "null", "a tensor");
}

}  // namespace

ManagedTensor exported(const TensorDesc& desc, void* data, std::function<void()> release, DLDevice device) {
  return export_tensor<DLManagedTensor>(desc, data, std::move(release), device);
}

VersionedTensor exported_versioned(const TensorDesc& desc, void* data, std::function<void()> release, uint64_t flags,
                                   DLDevice device) {
  if ((flags & ~(kFlagReadOnly | kFlagIsCopied)) != 0)
    throw Error(ErrorCode::invalid_argument,
                "dlpack: the flags are " + std::to_string(flags) +
                    ", and only those of read-only (1) and copied (2) "
                    "tensors can be exported",
                "flags", std::to_string(flags), "0 to 3");
  VersionedTensor out = export_tensor<DLManagedTensorVersioned>(desc, data, std::move(release), device);
  out->version = {kMajorVersion, kMinorVersion};
  out->flags = flags;
  return out;
}

Imported::Imported(DLManagedTensor* tensor, const ImportOptions& options) : legacy_(tensor) {
  check_not_null(tensor);
  view_ = from_dlpack(tensor->dl_tensor, options);
}

Imported::Imported(DLManagedTensorVersioned* tensor, const ImportOptions& options) : versioned_(tensor) {
  check_not_null(tensor);
  const DLPackVersion& version = tensor->version;
  if (version.major != kMajorVersion) {
    const std::string given = std::to_string(version.major) + "." + std::to_string(version.minor);
    throw Error(ErrorCode::unsupported,
                "dlpack: the tensor is of version " + given + ", whose fields lie elsewhere; version 1 is read",
                "version", given, "1");
  }
  ImportOptions own = options;
  own.flags |= tensor->flags;
  view_ = from_dlpack(tensor->dl_tensor, own);
}

}  // namespace relayout::dlpack
