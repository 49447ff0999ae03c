// Names of packed weights' tensors: see names.h.
#include "relayout/checkpoint/packed/names.h"

#include <algorithm>
#include <ranges>

#include "relayout/checkpoint/packed/group.h"
#include "relayout/cpu/dequantize.h"

namespace relayout::checkpoint {
namespace {

constexpr std::string_view kSingle = ".weight";

/// The names of all tensors of a format, each with the buffer that it is.
std::vector<std::pair<std::string_view, std::string_view>> all_names(const PackedFormat& format) {
  std::vector<std::pair<std::string_view, std::string_view>> out;
  for (const std::string_view buffer : buffers_of(format))
    for (const std::string_view name : names_of_buffer(format, buffer)) out.emplace_back(name, buffer);
  if (!format.dims_buffer.empty()) out.emplace_back(format.dims_buffer, format.dims_buffer);
  // Where the format's groups are its own, there is no table of them. Of two names that end alike, the longer one
  // first.
  for (const std::string_view table : kGroupTables | std::views::reverse)
    if (format.group > 0) out.emplace_back(table, table);
  return out;
}

}  // namespace

std::optional<PackedName> packed_name(const PackedFormat& format, std::string_view tensor) {
  for (const auto& [name, buffer] : all_names(format)) {
    if (tensor == name) return PackedName{"", "", std::string(buffer)};
    if (tensor.size() <= name.size() || !tensor.ends_with(name)) continue;
    const std::string_view before = tensor.substr(0, tensor.size() - name.size());
    if (before.back() != '.' && before.back() != '_') continue;
    return PackedName{std::string(before.substr(0, before.size() - 1)), std::string(1, before.back()),
                      std::string(buffer)};
  }
  return std::nullopt;
}

std::optional<std::size_t> find_buffer(const Checkpoint& model, const PackedFormat& format, const PackedName& name,
                                       std::string_view buffer) {
  for (const std::string_view each : names_of_buffer(format, buffer))
    if (const auto at = model.lookup(name.with(each))) return at;
  return std::nullopt;
}

std::vector<std::string> stored_buffers(const PackedFormat& format) {
  std::vector<std::string> out;
  for (const std::string_view buffer : cpu::value_buffers(format)) out.emplace_back(buffer);
  if (!format.dims_buffer.empty()) out.emplace_back(format.dims_buffer);
  if (format.name.starts_with("gptq")) out.emplace_back(kGroupTables[0]);
  return out;
}

std::string_view codes_buffer(const PackedFormat& format) {
  for (const PackedField& field : format.fields)
    if (field.group == std::array<int64_t, 2>{1, 1}) return field.buffer;
  return format.fields[0].buffer;
}

std::string single_name(const PackedName& name) {
  if (name.separator == "_") return name.prefix;
  return name.prefix.empty() ? "weight" : name.prefix + std::string(kSingle);
}

PackedName name_of_single(std::string_view tensor) {
  if (tensor == kSingle.substr(1)) return {"", "", ""};
  const bool ends = tensor.ends_with(kSingle);
  return {std::string(ends ? tensor.substr(0, tensor.size() - kSingle.size()) : tensor), ".", ""};
}

}  // namespace relayout::checkpoint
