// Reads GGUF files, versions 2 and 3: see gguf.h.
#include "relayout/checkpoint/formats/gguf.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <unordered_set>

#include "relayout/checkpoint/formats/formats.h"
#include "relayout/core/overflow.h"

namespace relayout::checkpoint {
namespace {

[[noreturn]] void fail_gguf(ErrorCode code, const std::string& what, std::string field, std::string value = {},
                            std::string limit = {}) {
  throw Error(code, "gguf: " + what, std::move(field), std::move(value), std::move(limit));
}

/// The file from front to back.
class GgufReader {
 public:
  explicit GgufReader(std::span<const std::byte> file) : file_(file) {}
  std::size_t at() const { return at_; }
  std::size_t left() const { return file_.size() - at_; }
  std::span<const std::byte> rest() const { return file_.subspan(at_); }
  void skip(std::size_t bytes) { at_ += bytes; }

  template <typename T>
  T number(const char* field) {
    if (left() < sizeof(T)) fail_gguf(ErrorCode::corrupt, std::string("the file ends in ") + field, field);
    T out;
    std::memcpy(&out, file_.data() + at_, sizeof out);
    at_ += sizeof out;
    return out;
  }
  std::string text(const char* field) {
    const auto length = number<uint64_t>(field);
    if (length > left())
      fail_gguf(ErrorCode::corrupt,
                std::string(field) + " of " + std::to_string(length) + " bytes at byte " + std::to_string(at_) +
                    ", behind which the file has " + std::to_string(left()),
                field, std::to_string(length), std::to_string(left()));
    std::string out(reinterpret_cast<const char*>(file_.data()) + at_, length);
    at_ += length;
    return out;
  }
  /// How many entries follow, of at least so many bytes each.
  uint64_t count(const char* field, std::size_t least, int64_t most) {
    const auto out = number<uint64_t>(field);
    if (out > static_cast<uint64_t>(most))
      fail_gguf(ErrorCode::limit,
                "the " + std::string(field) + " is " + std::to_string(out) + "; at most " + std::to_string(most) +
                    " are read",
                field, std::to_string(out), std::to_string(most));
    if (out > left() / least)
      fail_gguf(ErrorCode::corrupt,
                "the " + std::string(field) + " is " + std::to_string(out) + ", for which a file of " +
                    std::to_string(file_.size()) + " bytes has no room",
                field, std::to_string(out), std::to_string(left() / least));
    return out;
  }

 private:
  std::span<const std::byte> file_;
  std::size_t at_ = 0;
};

void check_version(uint32_t version) {
  if (version == 2 || version == 3) return;
  const uint32_t swapped = std::rotl(version & 0xff00ff00U, 8) | std::rotr(version & 0x00ff00ffU, 8);
  if (swapped == 2 || swapped == 3)
    fail_gguf(ErrorCode::unsupported, "a big-endian file; little-endian ones are read", "version",
              std::to_string(version));
  fail_gguf(ErrorCode::unsupported, "version " + std::to_string(version) + "; 2 and 3 are read", "version",
            std::to_string(version), "2, 3");
}

/// The keys and their values. Those that record layouts go to source.recorded.
void read_metadata(GgufReader& in, uint64_t count, Source& source) {
  std::unordered_set<std::string> seen;
  const std::size_t begin = in.at();
  const auto most = static_cast<std::size_t>(source.limits.safetensors_header_bytes);
  for (uint64_t i = 0; i < count; ++i) {
    std::string key = in.text("key");
    const std::string shown = escaped(key, 200);
    if (!seen.insert(key).second)
      fail_gguf(ErrorCode::corrupt, "the key \"" + shown + "\" is there twice", "key", shown);
    const auto type = in.number<uint32_t>("type of a key's value");
    if (type >= kValueTypes)
      fail_gguf(ErrorCode::corrupt, "key \"" + shown + "\": there is no type " + std::to_string(type), "type",
                std::to_string(type), std::to_string(kValueTypes - 1));
    MetadataValue value;
    try {
      std::size_t taken = 0;
      value = MetadataValue::read(static_cast<ValueType>(type), in.rest(), taken);
      in.skip(taken);
    } catch (const Error& error) {
      fail_gguf(error.code(), "key \"" + shown + "\": " + error.message(), shown, error.value(), error.limit());
    }
    if (in.at() - begin > most)
      fail_gguf(ErrorCode::limit, "more than " + std::to_string(most) + " bytes of metadata", shown,
                std::to_string(in.at() - begin), std::to_string(most));
    if (key.starts_with(kGgufLayoutKey) && value.type() == ValueType::text) {
      source.recorded.emplace_back(key.substr(kGgufLayoutKey.size()), value.text());
    } else {
      source.metadata.push_back({std::move(key), std::move(value)});
    }
  }
}

uint64_t alignment_of(const Source& source) {
  const auto found = std::ranges::find(source.metadata, kGgufAlignmentKey, &MetadataEntry::key);
  if (found == source.metadata.end()) return kGgufAlignment;
  const auto value = found->value.integer();
  constexpr int64_t kMostAlignment = int64_t{1} << 30;
  if (value && *value > 0 && *value <= kMostAlignment && std::has_single_bit(static_cast<uint64_t>(*value)))
    return static_cast<uint64_t>(*value);
  fail_gguf(ErrorCode::corrupt,
            std::string(kGgufAlignmentKey) + " is " + found->value.json(4) + ", which is no power of two up to 2^30",
            std::string(kGgufAlignmentKey), found->value.json(4));
}

/// The type and the shape of a tensor, from its dims, the innermost first. Errors are the tensor's.
void take_type(CheckpointTensor& tensor, uint32_t number, std::span<const uint64_t> extents) {
  const auto fail = [&](ErrorCode code, const std::string& what, std::string field, std::string value) {
    fail_gguf(code, "tensor \"" + escaped(tensor.name, 200) + "\": " + what, std::move(field), std::move(value));
  };
  if (extents.size() > static_cast<std::size_t>(kMaxDims))
    fail(ErrorCode::limit, std::to_string(extents.size()) + " dims; at most " + std::to_string(kMaxDims) + " are read",
         "dims", std::to_string(extents.size()));
  for (const uint64_t extent : extents) {
    if (extent > uint64_t{INT64_MAX})
      fail(ErrorCode::corrupt, "a dim of " + std::to_string(extent), "dims", std::to_string(extent));
    tensor.shape.insert(0, static_cast<int64_t>(extent));
  }
  const GgufType* type = gguf_type(number);
  tensor.type_name = type ? std::string(type->name) : "type " + std::to_string(number);
  if (type == nullptr)
    fail(ErrorCode::unsupported, "type " + std::to_string(number) + " is not known; read are " + gguf_type_names(),
         "type", std::to_string(number));
  tensor.dtype = type->dtype;
  tensor.item_bits = 8;
  if (type->dtype) {
    tensor.item_bits = bits(*type->dtype);
  } else {
    const Dims values = tensor.shape;
    if (values.empty() || values[values.size() - 1] % type->values != 0)
      fail(ErrorCode::corrupt,
           "rows of [" + join(values) + "] are no whole blocks of " + std::to_string(type->values) + " values of " +
               std::string(type->name),
           "dims", join(values));
    int64_t& row = tensor.shape[tensor.shape.size() - 1];
    row = checked_mul(row / type->values, type->bytes).value_or(INT64_MAX);
    if (const PackedFormat* packed = packed_of(*type)) {
      tensor.dtype = DType::u8;
      tensor.notes.packed = packed->name;
      tensor.notes.packed_dims = values;
    }
  }
  const auto elements = checked_product(tensor.shape);
  const auto bytes = elements ? checked_mul(*elements, tensor.item_bits / 8) : std::nullopt;
  if (!bytes)
    fail(ErrorCode::corrupt, "the bytes of [" + join(tensor.shape) + "] overflow 64 bits", "dims", join(tensor.shape));
  tensor.byte_size = *bytes;
}

/// One entry of the list of tensors. `offset` is set as the file has it, from the begin of the data.
CheckpointTensor read_tensor(GgufReader& in, uint64_t& offset) {
  CheckpointTensor tensor;
  tensor.name = in.text("name of a tensor");
  const auto ndims = in.number<uint32_t>("number of a tensor's dims");
  if (ndims > in.left() / 8)
    fail_gguf(ErrorCode::corrupt, "tensor \"" + escaped(tensor.name, 200) + "\" has " + std::to_string(ndims) + " dims",
              "dims", std::to_string(ndims));
  std::vector<uint64_t> extents;
  for (uint32_t d = 0; d < ndims; ++d) extents.push_back(in.number<uint64_t>("dims of a tensor"));
  const auto type = in.number<uint32_t>("type of a tensor");
  offset = in.number<uint64_t>("offset of a tensor");
  try {
    take_type(tensor, type, extents);
  } catch (const Error& error) {
    tensor.problem = error;
  }
  return tensor;
}

/// Gives a tensor its place, or says that it has none in the file.
void place(CheckpointTensor& tensor, uint64_t offset, uint64_t data_begin, uint64_t file_size) {
  const uint64_t data = file_size - std::min(data_begin, file_size);
  if (tensor.problem) return;
  const auto size = static_cast<uint64_t>(tensor.byte_size);
  if (offset <= data && size <= data - offset) {
    tensor.offset = static_cast<int64_t>(data_begin + offset);
    if (size == 0) tensor.offset = 0;
    return;
  }
  tensor.problem =
      Error(ErrorCode::corrupt,
            "gguf: tensor \"" + escaped(tensor.name, 200) + "\": " + std::to_string(size) + " bytes at offset " +
                std::to_string(offset) + " go beyond the " + std::to_string(data) + " bytes of data",
            "offset", std::to_string(offset), std::to_string(data));
}

void check_overlaps(std::span<const CheckpointTensor> tensors) {
  std::vector<const CheckpointTensor*> placed;
  for (const CheckpointTensor& tensor : tensors) {
    if (!tensor.problem && tensor.byte_size > 0) placed.push_back(&tensor);
  }
  std::ranges::sort(placed, {}, &CheckpointTensor::offset);
  for (std::size_t i = 1; i < placed.size(); ++i) {
    const CheckpointTensor &before = *placed[i - 1], &tensor = *placed[i];
    if (before.offset + before.byte_size <= tensor.offset) continue;
    fail_gguf(ErrorCode::corrupt,
              "tensor \"" + escaped(tensor.name, 200) + "\" at byte " + std::to_string(tensor.offset) + " overlaps \"" +
                  escaped(before.name, 200) + "\", which ends at " + std::to_string(before.offset + before.byte_size),
              "offset", std::to_string(tensor.offset));
  }
}

}  // namespace

bool begins_as_gguf(std::span<const std::byte> bytes) {
  return std::ranges::equal(bytes.first(std::min(bytes.size(), kGgufMagic.size())),
                            std::as_bytes(std::span(kGgufMagic)));
}

void open_gguf(Source& source) {
  GgufReader in(source.bytes());
  if (!begins_as_gguf(source.bytes())) fail_gguf(ErrorCode::corrupt, "the file does not begin with GGUF", "magic");
  in.skip(kGgufMagic.size());
  check_version(in.number<uint32_t>("version"));
  // An entry of a tensor has at least 24 bytes, a key with a value of one byte 13.
  const auto tensors = in.count("number of tensors", 24, source.limits.tensors);
  const auto keys = in.count("number of keys", 13, source.limits.tensors);
  read_metadata(in, keys, source);
  const uint64_t alignment = alignment_of(source);
  std::vector<uint64_t> offsets(tensors);
  std::vector<CheckpointTensor> read;
  for (uint64_t& offset : offsets) read.push_back(read_tensor(in, offset));
  const uint64_t data_begin = (in.at() + alignment - 1) / alignment * alignment;
  for (std::size_t i = 0; i < read.size(); ++i) place(read[i], offsets[i], data_begin, source.bytes().size());
  check_overlaps(read);
  for (CheckpointTensor& tensor : read) {
    tensor.strides = row_major_strides(tensor.shape);
    source.add(std::move(tensor));
  }
}

}  // namespace relayout::checkpoint
