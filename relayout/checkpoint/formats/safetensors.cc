// Checkpoints in .safetensors files, by the reader and the writer of interop/files/safetensors.h.
#include "relayout/interop/files/safetensors.h"

#include "relayout/checkpoint/formats/formats.h"

namespace relayout::checkpoint {

bool begins_as_safetensors(std::span<const std::byte> bytes) {
  return looks_like_safetensors(bytes, static_cast<int64_t>(bytes.size()));
}

void open_safetensors(Source& source) {
  SafeTensors parsed = parse_safetensors(source.bytes(), source.limits);
  for (auto& [key, value] : parsed.metadata)
    source.metadata.push_back({std::move(key), MetadataValue::of(std::move(value))});
  for (std::size_t i = 0; i < parsed.tensors.size(); ++i) {
    CheckpointTensor tensor{std::move(parsed.tensors[i])};
    tensor.strides = row_major_strides(tensor.shape);
    tensor.offset = parsed.offsets[i];
    // What is not converted has NumPy's spelling in every kind of file, so that it can be copied from one to another.
    if (tensor.type_name == "C64") tensor.type_name = "<c8";
    source.add(std::move(tensor));
  }
}

FileImage plan_safetensors(std::span<const TensorSpec> specs, std::span<const MetadataEntry> metadata) {
  std::vector<Metadata> texts;
  for (const auto& [key, value] : metadata)
    texts.emplace_back(key, value.type() == ValueType::text ? value.text() : value.json());
  SafeTensorsHead head = safetensors_head(specs, texts);
  FileImage out;
  out.size = static_cast<int64_t>(head.text.size());
  out.texts.emplace_back(0, std::move(head.text));
  out.offsets.resize(specs.size());
  for (const std::size_t i : head.order) {
    out.offsets[i] = out.size;
    out.size += spec_bytes(specs[i]);
  }
  out.order = std::move(head.order);
  return out;
}

}  // namespace relayout::checkpoint
