// The layout header of .safetensors files: see safetensors_layouts.h.
#include "relayout/interop/files/safetensors_layouts.h"

#include <algorithm>
#include <unordered_map>

#include "relayout/core/overflow.h"
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
  TensorNotes notes;
  int64_t ndims = 0;  // the most extents that a list has
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
  const std::string& field = keys[2];
  const auto extents = [&](Dims& dims) {
    if (event.depth == 3) return expect(LayoutEvent::array, "a list of extents is not an array");
    int64_t count = dims.size() == kMaxDims ? kMaxDims : dims.size();
    push_extent(dims, count, entry.name, event, field.c_str());
    entry.ndims = std::max(entry.ndims, count);
  };
  if (field == "dims") {
    if (event.depth == 3) entry.dims.emplace();
    if (entry.dims) extents(*entry.dims);
  } else if (field == "strides") {
    if (event.depth == 3) entry.notes.strides.emplace();
    if (entry.notes.strides) extents(*entry.notes.strides);
  } else if (field == "packed_dims") {
    extents(entry.notes.packed_dims);
  } else if (event.depth == 3 && (field == "layout" || field == "dtype" || field == "from" || field == "packed")) {
    expect(LayoutEvent::string, "layout, dtype, from or packed is not a string");
    if (field == "layout") entry.layout = event.text;
    if (field == "dtype") entry.dtype = event.text;
    if (field == "from") entry.notes.from = event.text;
    if (field == "packed") entry.notes.packed = event.text;
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
    if (event.depth == 2) entries.push_back({.name = keys[1]});
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

/// Gives a tensor what the layout header says of its layout and type. The stored array must agree. `types` are those of
/// the format.
void apply_layout(StoredTensor& tensor, const LayoutEntry& entry, SafeTensorsTypes types) {
  if (!entry.layout && !entry.dims && !entry.dtype) return;
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

void apply_entry(StoredTensor& tensor, const LayoutEntry& entry, SafeTensorsTypes types) {
  if (tensor.problem) return;
  try {
    if (entry.problem) throw Error(*entry.problem);
    check_rank(entry.name, entry.ndims, "dims");
    check_notes(tensor.name, entry.notes, tensor.shape, tensor.byte_size, ErrorCode::corrupt);
    apply_layout(tensor, entry, types);
    tensor.notes = entry.notes;
  } catch (const Error& error) {
    tensor.problem = error;
  }
}

}  // namespace

std::optional<int64_t> packed_bytes(const PackedFormat& format, const Dims& values) {
  if (values.empty()) return std::nullopt;
  const PackedField& field = format.fields[0];
  const PackedItem item = item_of(format, field);
  Dims blocks = values;
  for (int back = 0; back < 2; ++back) {
    // Of a vector there is one row.
    const int at = values.size() - 1 - back, dim = 1 - back;
    const int64_t block = item.block(dim) * field.group[static_cast<std::size_t>(dim)];
    if ((at < 0 ? 1 : values[at]) % block != 0) return std::nullopt;
    if (at >= 0) blocks[at] = values[at] / block;
  }
  const auto count = checked_product(blocks);
  return count ? checked_mul(*count, format.block_bytes) : std::nullopt;
}

void check_notes(std::string_view tensor, const TensorNotes& notes, const Dims& shape, int64_t byte_size,
                 ErrorCode wrong) {
  if (notes.strides && notes.strides->size() != shape.size()) {
    fail_tensor(wrong, tensor,
                "strides [" + join(*notes.strides) + "] are recorded for an array [" + join(shape) +
                    "], which has another number of axes",
                join(*notes.strides));
  }
  if (notes.packed.empty()) return;
  const PackedFormat* format = find_packed(notes.packed);
  if (format == nullptr)
    fail_tensor(ErrorCode::unsupported, tensor, "the packed format \"" + escaped(notes.packed) + "\" is not known here",
                escaped(notes.packed));
  // One of several tensors of a matrix: which, its name says.
  if (!format->one_buffer() && notes.packed_dims.size() == 2) return;
  const auto bytes = format->one_buffer() ? packed_bytes(*format, notes.packed_dims) : std::nullopt;
  if (bytes == byte_size) return;
  fail_tensor(wrong, tensor,
              notes.packed + " of dims [" + join(notes.packed_dims) + "] has " +
                  (bytes ? std::to_string(*bytes) + " bytes" : "no whole blocks") + ", the file has " +
                  std::to_string(byte_size) + " bytes",
              std::to_string(byte_size));
}

/// The shape of the array that holds a layout, before its views: its physical axes, or where it has none, one axis as
/// long as the span.
Dims physical_array(const Format& layout, const Dims& dims) {
  const int64_t span = layout.buffer_span(dims);  // an error where the dims do not fit
  if (auto shape = layout.physical_shape(dims)) return *shape;
  return Dims{span};
}

void apply_layouts(std::span<StoredTensor> tensors, std::string_view text, const FileLimits& limits,
                   std::string_view wanted, SafeTensorsTypes types) {
  std::unordered_map<std::string_view, StoredTensor*> by_name;
  for (StoredTensor& tensor : tensors) by_name.emplace(tensor.name, &tensor);
  for (const LayoutEntry& entry : parse_layout_text(text, limits, wanted)) {
    const auto found = by_name.find(entry.name);
    if (found == by_name.end()) corrupt_tensor(entry.name, "is in the layout header but not in the file");
    apply_entry(*found->second, entry, types);
  }
}

void apply_layout_entry(StoredTensor& tensor, std::string_view text, const FileLimits& limits, SafeTensorsTypes types) {
  LayoutEntry entry{.name = tensor.name};
  std::vector<std::string> keys{"", ""};
  try {
    walk_json(text, limits.json_depth, "the recorded layout", [&](const JsonEvent& event) {
      keys.resize(2);
      keys.insert(keys.end(), event.keys.begin(), event.keys.end());
      read_entry(entry, {event.kind, event.depth + 2, keys, event.text, event.number});
    });
  } catch (const Error& error) {
    entry.problem = error;
  }
  apply_entry(tensor, entry, types);
}

std::string layout_entry(const TensorSpec& spec, bool flat) {
  std::string out;
  const auto add = [&](const char* field, const std::string& value) {
    out += std::string(out.empty() ? "{" : ",") + "\"" + field + "\":" + value;
  };
  if (spec.layout || flat) {
    add("layout", json_quoted(spec.layout ? spec.layout->text() : "contiguous"));
    add("dims", "[" + join(spec.layout ? *spec.dims : spec.shape) + "]");
    add("dtype", json_quoted(name(spec.dtype)));
  }
  if (!spec.notes.from.empty()) add("from", json_quoted(spec.notes.from));
  if (spec.notes.strides) add("strides", "[" + join(*spec.notes.strides) + "]");
  if (!spec.notes.packed.empty()) {
    add("packed", json_quoted(spec.notes.packed));
    add("packed_dims", "[" + join(spec.notes.packed_dims) + "]");
  }
  return out.empty() ? out : out + "}";
}

}  // namespace relayout
