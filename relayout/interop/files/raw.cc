// Raw binary files: the bytes of one tensor without a header.
#include "relayout/interop/files/formats.h"

namespace relayout {

void open_raw(TensorFile::Impl& impl) {
  StoredTensor tensor;
  tensor.byte_size = static_cast<int64_t>(impl.file.bytes().size());
  tensor.shape = Dims{tensor.byte_size};
  impl.add(std::move(tensor), impl.file.bytes());
}

FilePlan plan_raw(const TensorSpec& spec) { return {{}, spec_bytes(spec), 0, {}}; }

}  // namespace relayout
