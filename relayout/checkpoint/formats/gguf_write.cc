// Writes GGUF files, version 3: see gguf.h.
#include <algorithm>
#include <bit>
#include <cstring>
#include <unordered_set>

#include "relayout/checkpoint/formats/formats.h"
#include "relayout/checkpoint/formats/gguf.h"
#include "relayout/core/overflow.h"
#include "relayout/interop/files/safetensors_layouts.h"

namespace relayout::checkpoint {
namespace {

[[noreturn]] void refuse_gguf(ErrorCode code, const std::string& what, std::string field, std::string value = {},
                              std::string limit = {}) {
  throw Error(code, "write gguf: " + what, std::move(field), std::move(value), std::move(limit));
}

template <typename T>
void append(std::string& out, T number) {
  char bytes[sizeof number];
  std::memcpy(bytes, &number, sizeof number);
  out.append(bytes, sizeof number);
}
void append_text(std::string& out, std::string_view text) {
  append(out, uint64_t{text.size()});
  out += text;
}

/// The type of a spec, and its dims as GGUF counts them: in values.
std::pair<const GgufType*, Dims> type_and_dims(const TensorSpec& spec) {
  const std::string shown = "tensor \"" + escaped(spec.name, 200) + "\"";
  if (!spec.notes.packed.empty()) {
    check_notes(spec.name, spec.notes, spec.shape, spec_bytes(spec), ErrorCode::invalid_argument);
    if (const GgufType* type = gguf_type(packed_format(spec.notes.packed))) return {type, spec.notes.packed_dims};
    refuse_gguf(ErrorCode::unsupported, shown + ": the format has no type for " + escaped(spec.notes.packed), "packed",
                escaped(spec.notes.packed), gguf_type_names());
  }
  const GgufType* type = spec.type_name.empty() ? gguf_type(spec.dtype) : gguf_type(spec.type_name);
  if (type == nullptr)
    refuse_gguf(ErrorCode::unsupported,
                shown + ": the format has no type " +
                    (spec.type_name.empty() ? std::string(name(spec.dtype)) : escaped(spec.type_name)) + "; it has " +
                    gguf_type_names(),
                "type", spec.type_name.empty() ? std::string(name(spec.dtype)) : escaped(spec.type_name),
                gguf_type_names());
  if (type->dtype) return {type, spec.shape};
  Dims values = spec.shape;
  if (values.empty() || spec.item_bits != 8 || values[values.size() - 1] % type->bytes != 0)
    refuse_gguf(ErrorCode::invalid_argument,
                shown + ": rows of [" + join(spec.shape) + "] are no whole blocks of " + std::to_string(type->bytes) +
                    " bytes of " + std::string(type->name),
                "shape", join(spec.shape));
  int64_t& row = values[values.size() - 1];
  row = row / type->bytes * type->values;
  return {type, values};
}

/// What stands in the list of tensors before the offset.
std::string tensor_entry(const TensorSpec& spec) {
  constexpr std::size_t kMostName = 64;
  constexpr int kMostAxes = 4;
  const auto [type, dims] = type_and_dims(spec);
  if (spec.name.size() > kMostName)
    refuse_gguf(ErrorCode::unsupported,
                "the name \"" + escaped(spec.name, 200) + "\" has " + std::to_string(spec.name.size()) +
                    " bytes; the format allows 64",
                "name", escaped(spec.name, 200), "64");
  if (dims.size() > kMostAxes)
    refuse_gguf(
        ErrorCode::unsupported,
        "tensor \"" + escaped(spec.name, 200) + "\" has " + std::to_string(dims.size()) + " dims; the format allows 4",
        "dims", join(dims), "4");
  std::string out;
  append_text(out, spec.name);
  append(out, static_cast<uint32_t>(dims.size()));
  for (int d = dims.size(); d-- > 0;) append(out, static_cast<uint64_t>(dims[d]));
  append(out, type->number);
  return out;
}

uint64_t alignment_in(std::span<const MetadataEntry> metadata) {
  const auto found = std::ranges::find(metadata, kGgufAlignmentKey, &MetadataEntry::key);
  if (found == metadata.end()) return kGgufAlignment;
  const auto value = found->value.integer();
  if (found->value.type() == ValueType::u32 && value && std::has_single_bit(static_cast<uint64_t>(*value)) &&
      *value <= int64_t{1} << 30)
    return static_cast<uint64_t>(*value);
  refuse_gguf(
      ErrorCode::invalid_argument,
      std::string(kGgufAlignmentKey) + " is " + found->value.json(4) + "; a u32 is needed that is a power of two",
      std::string(kGgufAlignmentKey), found->value.json(4));
}

/// All keys with their values, and how many there are.
std::pair<std::string, uint64_t> keys_of(std::span<const TensorSpec> specs, std::span<const MetadataEntry> metadata) {
  std::string out;
  uint64_t count = 0;
  std::unordered_set<std::string_view> seen;
  for (const auto& [key, value] : metadata) {
    if (key.starts_with(kGgufLayoutKey) || !seen.insert(key).second || key.size() > 65535)
      refuse_gguf(ErrorCode::invalid_argument,
                  "key \"" + escaped(key, 200) + "\" " +
                      (key.size() > 65535                ? "is longer than 65535 bytes"
                       : key.starts_with(kGgufLayoutKey) ? "is where layouts are recorded"
                                                         : "is there twice"),
                  "key", escaped(key, 200));
    append_text(out, key);
    append(out, static_cast<uint32_t>(value.type()));
    out += value.encoded();
    ++count;
  }
  for (const TensorSpec& spec : specs) {
    TensorSpec recorded = spec;
    recorded.notes.packed.clear();  // the type says it
    const std::string text = layout_entry(recorded, false);
    if (text.empty()) continue;
    append_text(out, std::string(kGgufLayoutKey) + spec.name);
    append(out, static_cast<uint32_t>(ValueType::text));
    append_text(out, text);
    ++count;
  }
  return {out, count};
}

}  // namespace

FileImage plan_gguf(std::span<const TensorSpec> specs, std::span<const MetadataEntry> metadata) {
  const uint64_t alignment = alignment_in(metadata);
  const auto aligned = [&](uint64_t at) { return (at + alignment - 1) / alignment * alignment; };
  const auto [keys, key_count] = keys_of(specs, metadata);
  std::string text(kGgufMagic);
  append(text, uint32_t{3});
  append(text, uint64_t{specs.size()});
  append(text, key_count);
  text += keys;
  FileImage out;
  uint64_t at = 0;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    check_layout(specs[i]);
    text += tensor_entry(specs[i]);
    append(text, at);
    out.offsets.push_back(static_cast<int64_t>(at));
    out.order.push_back(i);
    const auto size = static_cast<uint64_t>(spec_bytes(specs[i]));
    at = aligned(at + size);
    if (at > uint64_t{INT64_MAX} / 2)
      refuse_gguf(ErrorCode::overflow, "the tensors' bytes overflow 63 bits", "tensors", escaped(specs[i].name, 200));
  }
  text.resize(aligned(text.size()));
  for (int64_t& offset : out.offsets) offset += static_cast<int64_t>(text.size());
  out.size = static_cast<int64_t>(text.size() + at);
  out.texts.emplace_back(0, std::move(text));
  return out;
}

}  // namespace relayout::checkpoint
