// Reads, checks and writes the headers of .safetensors files: see safetensors.h.
#include "relayout/interop/files/safetensors.h"

#include <algorithm>
#include <numeric>
#include <string_view>
#include <unordered_map>

#include "relayout/core/error.h"
#include "relayout/interop/files/formats.h"
#include "relayout/interop/files/json_walk.h"

namespace relayout {
namespace {

using Kind = JsonEvent::Kind;

constexpr std::string_view kMetadata = "__metadata__", kLayoutKey = "relayout";

[[noreturn]] void fail_tensor(ErrorCode code, std::string_view tensor, const std::string& what,
                              std::string value = {}) {
  throw Error(code, "safetensors: tensor \"" + escaped(tensor) + "\": " + what, escaped(tensor), std::move(value));
}
[[noreturn]] void corrupt_tensor(std::string_view tensor, const std::string& what, std::string value = {}) {
  fail_tensor(ErrorCode::corrupt, tensor, what, std::move(value));
}

void push_extent(Dims& dims, std::string_view tensor, const JsonEvent& event, const char* field) {
  if (event.kind != Kind::number || event.number > uint64_t{INT64_MAX}) {
    corrupt_tensor(tensor, std::string(field) + " holds something that is not an extent");
  }
  if (dims.size() == kMaxDims) {
    throw Error(ErrorCode::limit,
                "safetensors: tensor \"" + escaped(tensor) + "\": " + field + " has more than " +
                    std::to_string(kMaxDims) + " dimensions",
                field, {}, std::to_string(kMaxDims));
  }
  dims.push_back(static_cast<int64_t>(event.number));
}

/// The entry of one tensor in the header, as far as it has been read.
struct HeaderEntry {
  StoredTensor tensor;
  bool has_shape = false;
  std::vector<uint64_t> offsets;
};

struct Header {
  std::vector<HeaderEntry> entries;
  std::string layout_text;  // the value of "relayout"
  bool has_layout_text = false;
};

/// Collects the tensors' entries from the events of the header's JSON.
class HeaderReader {
 public:
  HeaderReader(const FileLimits& limits, std::string_view wanted, SafeTensorsTypes types)
      : limits_(limits), wanted_(wanted), types_(types) {}

  void operator()(const JsonEvent& event) {
    if (event.depth == 0 && event.kind != Kind::object) {
      throw Error(ErrorCode::corrupt, "safetensors: the header is not a JSON object", "header");
    }
    if (event.keys.empty()) return;
    if (event.keys[0] == kMetadata) {
      metadata(event);
    } else {
      tensor(event);
    }
  }
  Header take() { return std::move(header_); }

 private:
  void metadata(const JsonEvent& event) {
    if (event.kind != (event.depth == 1 ? Kind::object : Kind::string)) {
      throw Error(ErrorCode::corrupt, "safetensors: __metadata__ is not an object of strings", "__metadata__");
    }
    if (event.depth == 2 && event.keys[1] == kLayoutKey) {
      header_.layout_text = event.text;
      header_.has_layout_text = true;
    }
  }

  void tensor(const JsonEvent& event) {
    const std::string& name = event.keys[0];
    if (event.depth == 1) {
      if (event.kind != Kind::object) corrupt_tensor(name, "its entry is not an object");
      if (static_cast<int64_t>(header_.entries.size()) == limits_.tensors) {
        throw Error(ErrorCode::limit, "safetensors: more than " + std::to_string(limits_.tensors) + " tensors",
                    "tensors", {}, std::to_string(limits_.tensors));
      }
      header_.entries.emplace_back().tensor.name = name;
      return;
    }
    HeaderEntry& entry = header_.entries.back();
    const std::string& field = event.keys[1];
    if (!is_wanted(name, wanted_) && field != "data_offsets") return;
    if (event.depth > 3) return;  // inside an unknown field: a known one would have failed at depth 3
    if (field == "dtype") {
      if (event.depth == 2) read_dtype(entry, event);
    } else if (field == "shape") {
      if (event.depth == 3) return push_extent(entry.tensor.shape, name, event, "shape");
      if (event.kind != Kind::array) corrupt_tensor(name, "shape is not an array");
      entry.has_shape = true;
    } else if (field == "data_offsets") {
      if (event.depth == 2 && event.kind != Kind::array) corrupt_tensor(name, "data_offsets is not an array");
      if (event.depth == 2) return;
      if (event.kind != Kind::number) corrupt_tensor(name, "data_offsets holds something that is not an offset");
      if (entry.offsets.size() == 2) corrupt_tensor(name, "data_offsets has more than two entries");
      entry.offsets.push_back(event.number);
    }
  }

  void read_dtype(HeaderEntry& entry, const JsonEvent& event) {
    const std::string& name = entry.tensor.name;
    if (event.kind != Kind::string) corrupt_tensor(name, "dtype is not a string");
    const auto type = std::ranges::find(types_, event.text, &SafeTensorsType::name);
    if (type == types_.end()) {
      fail_tensor(ErrorCode::unsupported, name, "unknown dtype \"" + escaped(event.text) + "\"", escaped(event.text));
    }
    entry.tensor.dtype = type->dtype;
    entry.tensor.item_bits = bits(type->dtype);
  }

  const FileLimits& limits_;
  std::string_view wanted_;
  SafeTensorsTypes types_;
  Header header_;
};

/// Checks one entry by itself: its range in the buffer and, if the tensor is wanted, that the entry is complete and
/// that its size is that of its shape.
void check_entry(HeaderEntry& entry, uint64_t buffer, bool wanted) {
  StoredTensor& tensor = entry.tensor;
  if (wanted && !(tensor.dtype && entry.has_shape)) corrupt_tensor(tensor.name, tensor.dtype ? "no shape" : "no dtype");
  if (entry.offsets.size() != 2) corrupt_tensor(tensor.name, "data_offsets does not have two entries");
  const auto [begin, end] = std::pair{entry.offsets[0], entry.offsets[1]};
  const std::string range = "[" + std::to_string(begin) + ", " + std::to_string(end) + "]";
  if (end < begin) corrupt_tensor(tensor.name, "data_offsets " + range + " end before they begin", range);
  if (end > buffer) {
    corrupt_tensor(tensor.name, "data_offsets " + range + " go beyond the " + std::to_string(buffer) + " bytes of data",
                   range);
  }
  if (!wanted) return;
  const auto elements = checked_product(tensor.shape);
  const auto bytes = elements ? bytes_for(*tensor.dtype, *elements) : std::nullopt;
  if (!bytes) corrupt_tensor(tensor.name, "the bytes of shape [" + join(tensor.shape) + "] overflow 64 bits");
  tensor.byte_size = static_cast<int64_t>(end - begin);
  if (*bytes != tensor.byte_size) {
    corrupt_tensor(tensor.name,
                   "shape [" + join(tensor.shape) + "] of " + std::string(name(*tensor.dtype)) + " needs " +
                       std::to_string(*bytes) + " bytes, data_offsets " + range + " give " +
                       std::to_string(tensor.byte_size),
                   range);
  }
}

/// Checks that all entries together cover each byte of the buffer exactly once.
void check_cover(const std::vector<HeaderEntry>& entries, uint64_t buffer) {
  std::vector<std::size_t> order(entries.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return entries[i].offsets; });
  uint64_t at = 0;
  for (std::size_t i : order) {
    const uint64_t begin = entries[i].offsets[0];
    if (begin != at) {
      corrupt_tensor(entries[i].tensor.name,
                     std::string(begin < at ? "overlaps the tensor before it" : "leaves a hole before it") +
                         " (begins at " + std::to_string(begin) + ", the last one ended at " + std::to_string(at) + ")",
                     std::to_string(begin));
    }
    at = entries[i].offsets[1];
  }
  if (at == buffer) return;
  const std::string last = entries.empty() ? "" : entries[order.back()].tensor.name;
  corrupt_tensor(last, std::to_string(buffer - at) + " bytes after the last tensor belong to no tensor",
                 std::to_string(buffer - at));
}

/// What the layout header says of one tensor.
struct LayoutEntry {
  std::string name;
  std::optional<std::string> layout, dtype;
  std::optional<Dims> dims;
};

std::vector<LayoutEntry> parse_layout_text(std::string_view text, const FileLimits& limits, std::string_view wanted) {
  std::vector<LayoutEntry> entries;
  bool version = false;
  walk_json(text, limits.json_depth, "safetensors: relayout's layout header", [&](const JsonEvent& event) {
    const auto keys = event.keys;
    const auto expect = [&](Kind kind, const std::string& tensor, const char* what) {
      if (event.kind != kind) corrupt_tensor(tensor, std::string("in the layout header: ") + what);
    };
    if (keys.empty()) return expect(Kind::object, "", "not an object");
    if (keys.size() == 1 && keys[0] == "version" && event.depth == 1) {
      expect(Kind::number, "", "version is not a number");
      if (event.number != 1) {
        throw Error(ErrorCode::unsupported,
                    "safetensors: layout header of version " + std::to_string(event.number) + "; 1 is read", "version",
                    std::to_string(event.number), "1");
      }
      version = true;
    }
    if (keys[0] != "tensors") return;
    if (event.depth == 1) return expect(Kind::object, "", "tensors is not an object");
    if (!is_wanted(keys[1], wanted)) return;
    if (event.depth == 2) {
      expect(Kind::object, keys[1], "its entry is not an object");
      entries.push_back({.name = keys[1], .layout = {}, .dtype = {}, .dims = {}});
      return;
    }
    LayoutEntry& entry = entries.back();
    if (keys.size() < 3 || event.depth > 4) return;
    if (keys[2] == "dims") {
      if (event.depth == 4) return push_extent(*entry.dims, entry.name, event, "dims");
      expect(Kind::array, entry.name, "dims is not an array");
      entry.dims.emplace();
    } else if ((keys[2] == "layout" || keys[2] == "dtype") && event.depth == 3) {
      expect(Kind::string, entry.name, "layout or dtype is not a string");
      (keys[2] == "layout" ? entry.layout : entry.dtype) = event.text;
    }
  });
  if (!version) throw Error(ErrorCode::corrupt, "safetensors: the layout header has no version", "version");
  return entries;
}

/// The shape of the array that holds a layout, before its views: its physical axes, or where it has none, one axis as
/// long as the span.
Dims physical_array(const Format& layout, const Dims& dims) {
  const int64_t span = layout.buffer_span(dims);  // an error where the dims do not fit
  if (auto shape = layout.physical_shape(dims)) return *shape;
  return Dims{span};
}

/// Gives a tensor what the layout header says of it. The stored array must agree. `types` are those of the format.
void apply_layout(StoredTensor& tensor, const LayoutEntry& entry, SafeTensorsTypes types) {
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
  const bool in_format = std::ranges::find(types, *dtype, &SafeTensorsType::dtype) != types.end();
  if (in_format || tensor.dtype != DType::u8 || tensor.shape.size() != 1) {
    corrupt_tensor(tensor.name, "layout header says " + std::string(name(*dtype)) + ", the file has " + stored,
                   escaped(*entry.dtype));
  }
  if (!entry.layout) {
    const auto stored_bits = checked_mul(tensor.byte_size, 8);
    if (!stored_bits) corrupt_tensor(tensor.name, "its elements overflow 64 bits");
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

void apply_layouts(std::vector<StoredTensor>& tensors, std::string_view text, const FileLimits& limits,
                   std::string_view wanted, SafeTensorsTypes types) {
  std::unordered_map<std::string_view, StoredTensor*> by_name;
  for (StoredTensor& tensor : tensors) by_name.emplace(tensor.name, &tensor);
  for (const LayoutEntry& entry : parse_layout_text(text, limits, wanted)) {
    const auto found = by_name.find(entry.name);
    if (found == by_name.end()) corrupt_tensor(entry.name, "is in the layout header but not in the file");
    apply_layout(*found->second, entry, types);
  }
}

uint64_t header_length(std::span<const std::byte> file) {
  uint64_t length = 0;
  for (std::size_t i = 8; i-- > 0;) length = length << 8 | std::to_integer<uint64_t>(file[i]);
  return length;
}

/// The text of the header, after its length has been checked against the file and the limits.
std::string_view header_text(std::span<const std::byte> file, const FileLimits& limits) {
  const auto header_error = [](ErrorCode code, const std::string& what, uint64_t length, std::string limit) {
    throw Error(code, "safetensors: " + what, "header", std::to_string(length), std::move(limit));
  };
  if (file.size() < 8) header_error(ErrorCode::corrupt, "the file ends in the header's length", file.size(), "8");
  const uint64_t length = header_length(file);
  if (length == 0 || length > file.size() - 8) {
    header_error(ErrorCode::corrupt,
                 "a header of " + std::to_string(length) + " bytes in a file of " + std::to_string(file.size()), length,
                 std::to_string(file.size() - 8));
  }
  if (length > static_cast<uint64_t>(limits.safetensors_header_bytes)) {
    header_error(ErrorCode::limit,
                 "a header of " + std::to_string(length) + " bytes; at most " +
                     std::to_string(limits.safetensors_header_bytes) + " are read",
                 length, std::to_string(limits.safetensors_header_bytes));
  }
  const std::string_view text(reinterpret_cast<const char*>(file.data()) + 8, length);
  if (text[0] != '{') header_error(ErrorCode::corrupt, "the header does not begin with {", length, {});
  return text;
}

}  // namespace

bool looks_like_safetensors(std::span<const std::byte> start, int64_t file_size) {
  if (start.size() < 9 || start[8] != std::byte{'{'}) return false;
  const uint64_t length = header_length(start);
  return length > 0 && length <= static_cast<uint64_t>(file_size) - 8;
}

SafeTensors parse_safetensors(std::span<const std::byte> file, const FileLimits& limits, std::string_view wanted,
                              SafeTensorsTypes types) {
  const std::string_view text = header_text(file, limits);
  const uint64_t data_begin = 8 + text.size(), buffer = file.size() - data_begin;
  HeaderReader reader(limits, wanted, types);
  walk_json(text, limits.json_depth, "safetensors", std::ref(reader));
  Header header = reader.take();
  for (HeaderEntry& entry : header.entries) check_entry(entry, buffer, is_wanted(entry.tensor.name, wanted));
  check_cover(header.entries, buffer);

  SafeTensors out;
  for (HeaderEntry& entry : header.entries) {
    out.offsets.push_back(static_cast<int64_t>(data_begin + entry.offsets[0]));
    out.tensors.push_back(std::move(entry.tensor));
  }
  if (header.has_layout_text) apply_layouts(out.tensors, header.layout_text, limits, wanted, types);
  return out;
}

std::string safetensors_head(const TensorSpec& spec, SafeTensorsTypes types) {
  const std::string tensor_name = spec.name.empty() ? "tensor" : spec.name;
  const auto refuse = [&](const std::string& what) { fail_tensor(ErrorCode::invalid_argument, tensor_name, what); };
  if (tensor_name == kMetadata) refuse("the format reserves this name");
  if (spec.layout.has_value() != spec.dims.has_value()) refuse("layout without dims, or dims without layout");
  if (spec.layout && physical_array(*spec.layout, *spec.dims) != spec.shape) {
    refuse("layout \"" + escaped(spec.layout->text()) + "\" of dims [" + join(*spec.dims) + "] is not an array [" +
           join(spec.shape) + "]");
  }
  const auto type = std::ranges::find(types, spec.dtype, &SafeTensorsType::dtype);
  const bool flat = type == types.end();
  const std::string quoted = json_quoted(tensor_name), bytes = std::to_string(spec_bytes(spec));

  std::string json = "{";
  if (spec.layout || flat) {
    // The entry of a type that the format lacks has no shape, so the layout header must have the dims.
    const std::string layout = spec.layout ? spec.layout->text() : "contiguous";
    const std::string text = "{\"version\":1,\"tensors\":{" + quoted + ":{\"layout\":" + json_quoted(layout) +
                             ",\"dims\":[" + join(spec.layout ? *spec.dims : spec.shape) + "],\"dtype\":\"" +
                             std::string(name(spec.dtype)) + "\"}}}";
    json += "\"__metadata__\":{\"relayout\":" + json_quoted(text) + "},";
  }
  json += quoted + ":{\"dtype\":\"" + std::string(flat ? "U8" : type->name) + "\",\"shape\":[" +
          (flat ? bytes : join(spec.shape)) + "],\"data_offsets\":[0," + bytes + "]}}";
  json.append((8 - json.size() % 8) % 8, ' ');

  std::string out;
  for (int byte = 0; byte < 8; ++byte) out += static_cast<char>(json.size() >> (8 * byte) & 0xff);
  return out + json;
}

void open_safetensors(TensorFile::Impl& impl) {
  SafeTensors parsed = parse_safetensors(impl.file.bytes(), impl.limits, impl.wanted);
  for (std::size_t i = 0; i < parsed.tensors.size(); ++i) {
    const auto bytes = impl.file.bytes().subspan(static_cast<std::size_t>(parsed.offsets[i]),
                                                 static_cast<std::size_t>(parsed.tensors[i].byte_size));
    impl.add(std::move(parsed.tensors[i]), bytes);
  }
}

FilePlan plan_safetensors(const TensorSpec& spec) { return {safetensors_head(spec), spec_bytes(spec), 0, {}}; }

}  // namespace relayout
