// The layout header of .safetensors files: see safetensors_layouts.h.
#include "relayout/interop/files/safetensors_layouts.h"

#include <algorithm>
#include <unordered_map>

#include "relayout/interop/files/formats.h"

namespace relayout {

void fail_tensor(ErrorCode code, std::string_view tensor, const std::string& what, std::string value) {
  throw Error(code, "safetensors: tensor \"" + escaped(tensor) + "\": " + what, escaped(tensor), std::move(value));
}
void corrupt_tensor(std::string_view tensor, const std::string& what, std::string value) {
  fail_tensor(ErrorCode::corrupt, tensor, what, std::move(value));
}

void push_extent(Dims& dims, int64_t& count, std::string_view tensor, const JsonEvent& event, const char* field) {
  if (event.kind != JsonEvent::Kind::number || event.number > uint64_t{INT64_MAX}) {
    corrupt_tensor(tensor, std::string(field) + " holds something that is not an extent");
  }
  if (++count <= kMaxDims) dims.push_back(static_cast<int64_t>(event.number));
}

void check_rank(std::string_view tensor, int64_t count, const char* field) {
  if (count <= kMaxDims) return;
  const std::string given = std::to_string(count), most = std::to_string(kMaxDims);
  throw Error(ErrorCode::limit,
              "safetensors: tensor \"" + escaped(tensor) + "\" has " + given + " dims; at most " + most + " are read",
              field, given, most);
}

namespace {

using LayoutEvent = JsonEvent::Kind;

/// What the layout header says of one tensor.
struct LayoutEntry {
  std::string name;
  std::optional<std::string> layout, dtype;
  std::optional<Dims> dims;
  int64_t ndims = 0;
  std::optional<Error> problem;
};

/// Takes one event of a tensor's entry. Errors: those of the tensor.
void read_entry(LayoutEntry& entry, const JsonEvent& event) {
  const auto keys = event.keys;
  const auto expect = [&](LayoutEvent kind, const char* what) {
    if (event.kind != kind) corrupt_tensor(entry.name, std::string("in the layout header: ") + what);
  };
  if (event.depth == 2) return expect(LayoutEvent::object, "its entry is not an object");
  if (keys.size() < 3 || event.depth > 4) return;
  if (keys[2] == "dims") {
    if (event.depth == 4 && entry.dims) return push_extent(*entry.dims, entry.ndims, entry.name, event, "dims");
    expect(LayoutEvent::array, "dims is not an array");
    entry.dims.emplace();
  } else if ((keys[2] == "layout" || keys[2] == "dtype") && event.depth == 3) {
    expect(LayoutEvent::string, "layout or dtype is not a string");
    (keys[2] == "layout" ? entry.layout : entry.dtype) = event.text;
  }
}

std::vector<LayoutEntry> parse_layout_text(std::string_view text, const FileLimits& limits, std::string_view wanted) {
  std::vector<LayoutEntry> entries;
  bool version = false;
  walk_json(text, limits.json_depth, "safetensors: relayout's layout header", [&](const JsonEvent& event) {
    const auto keys = event.keys;
    const auto expect = [&](LayoutEvent kind, const char* what) {
      if (event.kind != kind) corrupt_tensor("", std::string("in the layout header: ") + what);
    };
    if (keys.empty()) return expect(LayoutEvent::object, "not an object");
    if (keys.size() == 1 && keys[0] == "version" && event.depth == 1) {
      expect(LayoutEvent::number, "version is not a number");
      if (event.number != 1) {
        throw Error(ErrorCode::unsupported,
                    "safetensors: layout header of version " + std::to_string(event.number) + "; 1 is read", "version",
                    std::to_string(event.number), "1");
      }
      version = true;
    }
    if (keys[0] != "tensors") return;
    if (event.depth == 1) return expect(LayoutEvent::object, "tensors is not an object");
    if (!is_wanted(keys[1], wanted)) return;
    if (event.depth == 2)
      entries.push_back({.name = keys[1], .layout = {}, .dtype = {}, .dims = {}, .ndims = 0, .problem = {}});
    if (entries.back().problem) return;
    try {
      read_entry(entries.back(), event);
    } catch (const Error& error) {
      entries.back().problem = error;
    }
  });
  if (!version) throw Error(ErrorCode::corrupt, "safetensors: the layout header has no version", "version");
  return entries;
}

/// Gives a tensor what the layout header says of it. The stored array must agree. `types` are those of the format.
void apply_layout(StoredTensor& tensor, const LayoutEntry& entry, SafeTensorsTypes types) {
  if (entry.problem) throw Error(*entry.problem);
  check_rank(entry.name, entry.ndims, "dims");
  if (!tensor.dtype) {
    fail_tensor(ErrorCode::unsupported, tensor.name,
                "elements of " + escaped(tensor.type_name) + ", which relayout does not convert, have no layout here",
                escaped(tensor.type_name));
  }
  if (entry.layout.has_value() != entry.dims.has_value())
    corrupt_tensor(tensor.name, "layout without dims, or dims without layout");
  Dims shape = tensor.shape;
  if (entry.layout) {
    try {
      tensor.layout = Format::parse(*entry.layout);
      tensor.dims = entry.dims;
      shape = physical_array(*tensor.layout, *tensor.dims);
    } catch (const Error& error) {
      corrupt_tensor(tensor.name, "layout \"" + escaped(*entry.layout) + "\": " + error.message(),
                     escaped(*entry.layout));
    }
  }
  const auto dtype = entry.dtype ? find_dtype(*entry.dtype) : tensor.dtype;
  if (!dtype)
    corrupt_tensor(tensor.name, "layout header: unknown dtype \"" + escaped(*entry.dtype) + "\"",
                   escaped(*entry.dtype));
  if (dtype == tensor.dtype) {
    if (shape == tensor.shape) return;
    corrupt_tensor(tensor.name,
                   "layout \"" + escaped(*entry.layout) + "\" of dims [" + join(*entry.dims) + "] is an array [" +
                       join(shape) + "], the file has [" + join(tensor.shape) + "]",
                   join(tensor.shape));
  }
  // Elements of a type that the format lacks are stored as a flat array of bytes.
  const std::string stored = std::string(name(*tensor.dtype)) + " [" + join(tensor.shape) + "]";
  const bool in_format = stores_as_its_own(types, *dtype, checked_product(shape).value_or(0));
  if (in_format || tensor.dtype != DType::u8 || tensor.shape.size() != 1) {
    corrupt_tensor(tensor.name, "layout header says " + std::string(name(*dtype)) + ", the file has " + stored,
                   escaped(*entry.dtype));
  }
  if (!entry.layout) {
    const auto stored_bits = checked_mul(tensor.byte_size, 8);
    if (!stored_bits)
      corrupt_tensor(tensor.name, "the bits of its " + std::to_string(tensor.byte_size) + " bytes overflow 64 bits");
    shape = Dims{*stored_bits / bits(*dtype)};
  }
  const auto elements = checked_product(shape);
  if (!elements || bytes_for(*dtype, *elements) != tensor.byte_size) {
    corrupt_tensor(tensor.name,
                   "layout header: [" + join(shape) + "] of " + std::string(name(*dtype)) + " does not fill " + stored,
                   stored);
  }
  tensor.dtype = dtype;
  tensor.item_bits = bits(*dtype);
  tensor.shape = shape;
}

}  // namespace

/// The shape of the array that holds a layout, before its views: its physical axes, or where it has none, one axis as
/// long as the span.
Dims physical_array(const Format& layout, const Dims& dims) {
  const int64_t span = layout.buffer_span(dims);  // an error where the dims do not fit
  if (auto shape = layout.physical_shape(dims)) return *shape;
  return Dims{span};
}

void apply_layouts(std::vector<StoredTensor>& tensors, std::string_view text, const FileLimits& limits,
                   std::string_view wanted, SafeTensorsTypes types) {
  std::unordered_map<std::string_view, StoredTensor*> by_name;
  for (StoredTensor& tensor : tensors) by_name.emplace(tensor.name, &tensor);
  for (const LayoutEntry& entry : parse_layout_text(text, limits, wanted)) {
    const auto found = by_name.find(entry.name);
    if (found == by_name.end()) corrupt_tensor(entry.name, "is in the layout header but not in the file");
    if (found->second->problem) continue;
    try {
      apply_layout(*found->second, entry, types);
    } catch (const Error& error) {
      found->second->problem = error;
    }
  }
}

}  // namespace relayout
