// Writes .npz files: a stored member for each array.
#include <numeric>

#include "relayout/checkpoint/formats/zip_write.h"
#include "relayout/interop/files/npy.h"

namespace relayout::checkpoint {

FileImage plan_npz(std::span<const TensorSpec> specs, std::span<const MetadataEntry> metadata) {
  if (!metadata.empty())
    throw Error(ErrorCode::unsupported,
                "write npz: the format keeps no metadata, and \"" + escaped(metadata[0].key, 200) + "\" is given",
                "metadata", escaped(metadata[0].key, 200));
  std::vector<NewZipMember> members;
  for (const TensorSpec& spec : specs) {
    check_layout(spec);
    members.push_back({spec.name + ".npy", npy_head(spec), spec_bytes(spec)});
  }
  FileImage out = plan_zip(members);
  out.order.resize(specs.size());
  std::iota(out.order.begin(), out.order.end(), std::size_t{0});
  return out;
}

}  // namespace relayout::checkpoint
