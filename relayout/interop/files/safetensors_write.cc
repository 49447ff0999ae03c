// Writes .safetensors files: see safetensors.h.
#include <algorithm>
#include <numeric>
#include <unordered_set>

#include "relayout/interop/files/formats.h"
#include "relayout/interop/files/safetensors.h"
#include "relayout/interop/files/safetensors_layouts.h"

namespace relayout {
namespace {

std::string name_in_file(const TensorSpec& spec) { return spec.name.empty() ? "tensor" : spec.name; }

void check_spec(const TensorSpec& spec) {
  const std::string tensor = name_in_file(spec);
  const auto refuse = [&](const std::string& what) { fail_tensor(ErrorCode::invalid_argument, tensor, what); };
  if (tensor == kSafeTensorsMetadata) refuse("the format reserves this name");
  if (spec.layout.has_value() != spec.dims.has_value()) refuse("layout without dims, or dims without layout");
  if (spec.layout && physical_array(*spec.layout, *spec.dims) != spec.shape) {
    refuse("layout \"" + escaped(spec.layout->text()) + "\" of dims [" + join(*spec.dims) + "] is not an array [" +
           join(spec.shape) + "]");
  }
}

/// The format's name of a type that is not converted here.
std::string foreign_type(const TensorSpec& spec) {
  if (spec.type_name == "<c8") return "C64";
  if (!is_safetensors_type(spec.type_name)) {
    fail_tensor(ErrorCode::unsupported, name_in_file(spec),
                "the format has no type " + escaped(spec.type_name, 200) + "; .npy and .npz have NumPy's types",
                escaped(spec.type_name, 200));
  }
  if (spec.layout) {
    fail_tensor(ErrorCode::unsupported, name_in_file(spec),
                "elements of " + escaped(spec.type_name) + ", which relayout does not convert, have no layout here",
                escaped(spec.type_name));
  }
  return spec.type_name;
}

int bits_of(const TensorSpec& spec) { return spec.type_name.empty() ? bits(spec.dtype) : spec.item_bits; }

/// The entry of __metadata__, with a comma behind it; "" where there is none.
std::string metadata_entry(std::span<const Metadata> metadata, const std::string& layouts) {
  std::string out;
  std::unordered_set<std::string_view> seen;
  const auto refuse = [](const std::string& key, const std::string& what) {
    throw Error(ErrorCode::invalid_argument, "safetensors: metadata \"" + escaped(key) + "\": " + what, "metadata",
                escaped(key));
  };
  for (const auto& [key, value] : metadata) {
    if (key == kSafeTensorsLayoutKey) refuse(key, "relayout keeps the layouts under this key");
    if (!seen.insert(key).second) refuse(key, "the key is there twice");
    out += (out.empty() ? "" : ",") + json_quoted(key) + ":" + json_quoted(value);
  }
  if (!layouts.empty()) {
    const std::string text = "{\"version\":1,\"tensors\":{" + layouts + "}}";
    out += (out.empty() ? "" : ",") + json_quoted(kSafeTensorsLayoutKey) + ":" + json_quoted(text);
  }
  return out.empty() ? out : json_quoted(kSafeTensorsMetadata) + ":{" + out + "},";
}

}  // namespace

SafeTensorsHead safetensors_head(std::span<const TensorSpec> specs, std::span<const Metadata> metadata,
                                 SafeTensorsTypes types) {
  SafeTensorsHead out;
  out.order.resize(specs.size());
  std::iota(out.order.begin(), out.order.end(), std::size_t{0});
  std::ranges::stable_sort(out.order, std::ranges::greater{}, [&](std::size_t i) { return bits_of(specs[i]); });
  std::vector<int64_t> begins(specs.size());
  int64_t at = 0;
  for (std::size_t i : out.order) {
    begins[i] = at;
    const auto next = checked_add(at, spec_bytes(specs[i]));
    if (!next) {
      const TensorSpec& most = *std::ranges::max_element(specs, {}, spec_bytes);
      throw Error(ErrorCode::overflow,
                  "safetensors: the tensors' bytes overflow 64 bits; \"" + escaped(name_in_file(most)) + "\" (" +
                      std::to_string(spec_bytes(most)) + " bytes) is the largest",
                  "tensors", escaped(name_in_file(most)), std::to_string(std::numeric_limits<int64_t>::max()));
    }
    at = *next;
  }
  std::string layouts, entries;
  std::unordered_set<std::string> seen;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const TensorSpec& spec = specs[i];
    check_spec(spec);
    if (!seen.insert(name_in_file(spec)).second)
      fail_tensor(ErrorCode::invalid_argument, name_in_file(spec), "two tensors have this name");
    const auto type = std::ranges::find(types, spec.dtype, &SafeTensorsType::dtype);
    const bool converted = spec.type_name.empty();
    const bool flat = converted && !stores_as_its_own(types, spec.dtype, checked_product(spec.shape).value_or(0));
    const int64_t bytes = spec_bytes(spec);
    check_notes(name_in_file(spec), spec.notes, spec.shape, bytes, ErrorCode::invalid_argument);
    // The array of a type that the format lacks has no shape there, so its entry must have the dims.
    if (const std::string entry = layout_entry(spec, flat); !entry.empty())
      layouts += (layouts.empty() ? "" : ",") + json_quoted(name_in_file(spec)) + ":" + entry;
    entries += (i ? "," : "") + json_quoted(name_in_file(spec)) + ":{\"dtype\":\"" +
               (converted ? std::string(flat ? "U8" : type->name) : foreign_type(spec)) + "\",\"shape\":[" +
               (flat ? std::to_string(bytes) : join(spec.shape)) + "],\"data_offsets\":[" + std::to_string(begins[i]) +
               "," + std::to_string(begins[i] + bytes) + "]}";
  }
  std::string json = "{" + metadata_entry(metadata, layouts) + entries;
  if (json.ends_with(',')) json.pop_back();  // metadata alone
  json += '}';
  json.append((8 - json.size() % 8) % 8, ' ');
  for (int byte = 0; byte < 8; ++byte) out.text += static_cast<char>(json.size() >> (8 * byte) & 0xff);
  out.text += json;
  return out;
}

std::string safetensors_head(const TensorSpec& spec, SafeTensorsTypes types) {
  return safetensors_head({&spec, 1}, {}, types).text;
}

FilePlan plan_safetensors(const TensorSpec& spec) { return {safetensors_head(spec), spec_bytes(spec), 0, {}}; }

void write_safetensors(const std::filesystem::path& path, std::span<const NamedTensor> tensors,
                       std::span<const Metadata> metadata, bool overwrite, const GoOn& go_on) {
  std::vector<TensorSpec> specs;
  std::vector<std::span<const std::byte>> contents;
  for (const NamedTensor& tensor : tensors) {
    specs.push_back(tensor.spec);
    contents.push_back(checked_content(tensor, "safetensors: tensor"));
  }
  const SafeTensorsHead head = safetensors_head(specs, metadata);
  std::size_t size = head.text.size();
  for (const std::span<const std::byte> content : contents) size += content.size();
  OutputFile file = OutputFile::create(path, static_cast<int64_t>(size), overwrite);
  std::byte* to = file.bytes().data();
  to = std::ranges::copy(std::as_bytes(std::span(head.text)), to).out;
  const auto total = static_cast<int64_t>(size - head.text.size());
  int64_t done = 0;
  for (std::size_t i : head.order) {
    copy_asking(contents[i], to, go_on, done, total);
    done += static_cast<int64_t>(contents[i].size());
    to += contents[i].size();
  }
  file.commit(static_cast<int64_t>(size));
}

}  // namespace relayout
