// Reads and checks the headers of .safetensors files: see safetensors.h.
#include "relayout/interop/files/safetensors.h"

#include <algorithm>
#include <numeric>
#include <string_view>

#include "relayout/core/overflow.h"
#include "relayout/interop/files/formats.h"
#include "relayout/interop/files/safetensors_layouts.h"

namespace relayout {

namespace {

using Kind = JsonEvent::Kind;

/// The entry of one tensor in the header, as far as it has been read.
struct HeaderEntry {
  StoredTensor tensor;
  bool has_shape = false;
  int64_t ndims = 0;  // of the shape, which holds the first kMaxDims of them
  std::vector<uint64_t> offsets;
};

struct Header {
  std::vector<HeaderEntry> entries;
  std::vector<Metadata> metadata;
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
    if (event.keys[0] == kSafeTensorsMetadata) {
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
    if (event.depth != 2) return;
    if (event.keys[1] == kSafeTensorsLayoutKey) {
      header_.layout_text = event.text;
      header_.has_layout_text = true;
    } else {
      header_.metadata.emplace_back(event.keys[1], event.text);
    }
  }

  void tensor(const JsonEvent& event) {
    const std::string& name = event.keys[0];
    if (event.depth == 1) {
      if (static_cast<int64_t>(header_.entries.size()) == limits_.tensors) {
        throw Error(ErrorCode::limit, "safetensors: more than " + std::to_string(limits_.tensors) + " tensors",
                    "tensors", {}, std::to_string(limits_.tensors));
      }
      header_.entries.emplace_back().tensor.name = name;
    }
    HeaderEntry& entry = header_.entries.back();
    try {
      field(entry, event);
    } catch (const Error& error) {
      if (!entry.tensor.problem) entry.tensor.problem = error;
    }
  }

  /// Takes one value of a tensor's entry. Errors: those of the tensor.
  void field(HeaderEntry& entry, const JsonEvent& event) {
    const std::string& name = event.keys[0];
    if (event.depth == 1) {
      if (event.kind != Kind::object) corrupt_tensor(name, "its entry is not an object");
      return;
    }
    if (event.keys.size() < 2) return;  // inside an entry that is no object
    const std::string& field = event.keys[1];
    if (!is_wanted(name, wanted_) && field != "data_offsets") return;
    if (event.depth > 3) return;  // inside an unknown field: a known one would have failed at depth 3
    if (field == "dtype") {
      if (event.depth == 2) read_dtype(entry, event);
    } else if (field == "shape") {
      if (event.depth == 3) return push_extent(entry.tensor.shape, entry.ndims, name, event, "shape");
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
    StoredTensor& tensor = entry.tensor;
    if (event.kind != Kind::string) corrupt_tensor(tensor.name, "dtype is not a string");
    if (event.text.empty()) corrupt_tensor(tensor.name, "dtype is empty");
    tensor.type_name = event.text;
    const auto type = std::ranges::find(types_, event.text, &SafeTensorsType::name);
    const auto foreign = std::ranges::find(kForeignSafeTensorsTypes, event.text, &ForeignSafeTensorsType::name);
    if (type != types_.end()) {
      tensor.dtype = type->dtype;
      tensor.item_bits = bits(type->dtype);
    } else if (foreign != kForeignSafeTensorsTypes.end()) {
      tensor.item_bits = foreign->bits;
    }
  }

  const FileLimits& limits_;
  std::string_view wanted_;
  SafeTensorsTypes types_;
  Header header_;
};

/// Checks where one entry's bytes are: whether they lie in the buffer.
void check_range(const HeaderEntry& entry, uint64_t buffer) {
  const std::string& name = entry.tensor.name;
  if (entry.offsets.size() != 2) corrupt_tensor(name, "data_offsets does not have two entries");
  const auto [begin, end] = std::pair{entry.offsets[0], entry.offsets[1]};
  const std::string range = "[" + std::to_string(begin) + ", " + std::to_string(end) + "]";
  if (end < begin) corrupt_tensor(name, "data_offsets " + range + " end before they begin", range);
  if (end > buffer) {
    corrupt_tensor(name, "data_offsets " + range + " go beyond the " + std::to_string(buffer) + " bytes of data",
                   range);
  }
}

/// Checks that an entry is complete and that its size is that of its shape.
void check_size(StoredTensor& tensor, bool has_shape, uint64_t begin, uint64_t end) {
  if (tensor.type_name.empty() || !has_shape)
    corrupt_tensor(tensor.name, tensor.type_name.empty() ? "no dtype" : "no shape");
  const auto elements = checked_product(tensor.shape);
  const auto stored_bits = elements ? checked_mul(*elements, std::max(tensor.item_bits, 1)) : std::nullopt;
  if (!stored_bits) {
    corrupt_tensor(tensor.name, "the bytes of shape [" + join(tensor.shape) + "] overflow 64 bits; " +
                                    largest_dim_text(tensor.shape, tensor.shape));
  }
  tensor.byte_size = static_cast<int64_t>(end - begin);
  if (tensor.item_bits == 0) {
    // A type that nobody here knows is as wide as the file has bytes for each element.
    const int64_t each = *elements > 0 && tensor.byte_size % *elements == 0 ? tensor.byte_size / *elements : 0;
    if (each <= INT32_MAX / 8) tensor.item_bits = static_cast<int>(each * 8);
    return;
  }
  const int64_t bytes = *stored_bits / 8 + (*stored_bits % 8 != 0);
  if (bytes != tensor.byte_size) {
    const std::string range = "[" + std::to_string(begin) + ", " + std::to_string(end) + "]";
    corrupt_tensor(tensor.name,
                   "shape [" + join(tensor.shape) + "] of " +
                       (tensor.dtype ? std::string(name(*tensor.dtype)) : escaped(tensor.type_name)) + " needs " +
                       std::to_string(bytes) + " bytes, data_offsets " + range + " give " +
                       std::to_string(tensor.byte_size),
                   range);
  }
}

/// Checks each entry by itself. What is wrong with a tensor is its problem. Returns whether all have their place.
bool check_entries(std::vector<HeaderEntry>& entries, uint64_t buffer, std::string_view wanted) {
  bool all_placed = true;
  for (HeaderEntry& entry : entries) {
    StoredTensor& tensor = entry.tensor;
    try {
      check_range(entry, buffer);
    } catch (const Error& error) {
      all_placed = false;
      entry.offsets.clear();
      if (!tensor.problem) tensor.problem = error;
    }
    if (tensor.problem || !is_wanted(tensor.name, wanted)) continue;
    try {
      check_rank(tensor.name, entry.ndims, "shape");
      check_size(tensor, entry.has_shape, entry.offsets[0], entry.offsets[1]);
    } catch (const Error& error) {
      tensor.problem = error;
    }
  }
  return all_placed;
}

/// Checks that all entries together cover each byte of the buffer exactly once or, where some have no place in it, that
/// none lies on another.
void check_cover(const std::vector<HeaderEntry>& entries, uint64_t buffer, bool all_placed) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (entries[i].offsets.size() == 2) order.push_back(i);
  }
  std::ranges::sort(order, {}, [&](std::size_t i) { return entries[i].offsets; });
  uint64_t at = 0;
  for (std::size_t i : order) {
    const uint64_t begin = entries[i].offsets[0];
    if (begin < at || (begin > at && all_placed)) {
      corrupt_tensor(entries[i].tensor.name,
                     std::string(begin < at ? "overlaps the tensor before it" : "leaves a hole before it") +
                         " (begins at " + std::to_string(begin) + ", the last one ended at " + std::to_string(at) + ")",
                     std::to_string(begin));
    }
    at = entries[i].offsets[1];
  }
  if (at == buffer || !all_placed) return;
  const std::string last = entries.empty() ? "" : entries[order.back()].tensor.name;
  corrupt_tensor(last, std::to_string(buffer - at) + " bytes after the last tensor belong to no tensor",
                 std::to_string(buffer - at));
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
  const bool all_placed = check_entries(header.entries, buffer, wanted);
  check_cover(header.entries, buffer, all_placed);

  SafeTensors out;
  out.metadata = std::move(header.metadata);
  for (HeaderEntry& entry : header.entries) {
    out.offsets.push_back(entry.offsets.empty() ? 0 : static_cast<int64_t>(data_begin + entry.offsets[0]));
    out.tensors.push_back(std::move(entry.tensor));
  }
  if (header.has_layout_text) apply_layouts(out.tensors, header.layout_text, limits, wanted, types);
  return out;
}

void open_safetensors(TensorFile::Impl& impl) {
  SafeTensors parsed = parse_safetensors(impl.file.bytes(), impl.limits, impl.wanted);
  impl.metadata = std::move(parsed.metadata);
  for (std::size_t i = 0; i < parsed.tensors.size(); ++i) {
    if (parsed.tensors[i].problem) parsed.tensors[i].byte_size = 0;
    const auto bytes = impl.file.bytes().subspan(static_cast<std::size_t>(parsed.offsets[i]),
                                                 static_cast<std::size_t>(parsed.tensors[i].byte_size));
    impl.add(std::move(parsed.tensors[i]), bytes);
  }
}

}  // namespace relayout
