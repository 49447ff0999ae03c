// Fuzzes the readers of checkpoints, a format a target (FUZZ_KIND). What is read of a tensor must lie in the file and
// be as large as its shape and strides say; what is decoded must be of the size that was said; what GGUF and indices
// say is written and read again.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "relayout/checkpoint/formats/formats.h"
#include "relayout/checkpoint/shards.h"
#include "relayout/core/error.h"
#include "tests/support/zip_archive.h"

namespace {

using namespace relayout;
using checkpoint::CheckpointTensor;
using checkpoint::Source;

void require(bool law) {
  if (!law) std::abort();
}

void check_tensor(const Source& source, std::size_t i) {
  const CheckpointTensor& tensor = source.tensors[i];
  if (tensor.problem) return;
  require(tensor.byte_size >= 0 && tensor.offset >= 0 && tensor.array_bytes() >= 0);
  require(tensor.shape.size() == tensor.strides.size());
  if (tensor.item_bits % 8 == 0 && tensor.item_bits > 0)
    require(tensor.memory().span() * (tensor.item_bits / 8) == tensor.byte_size);
  const auto size = static_cast<int64_t>(source.bytes().size());
  if (tensor.mapped) {
    require(tensor.byte_size == 0 || tensor.offset <= size - tensor.byte_size);
  } else if (tensor.byte_size < 1 << 20) {
    try {
      require(source.decoders[i]({}) != nullptr);
    } catch (const Error& error) {
      require(error.code() != ErrorCode::internal);
    }
  }
}

/// A pickle in an archive with one storage.
std::string archive_of(std::string_view pickle) {
  return test::zip_archive({{"m/data.pkl", std::string(pickle)}, {"m/data/0", std::string(64, 's')}});
}

void read_file(const std::string& bytes, void (*open)(Source&)) {
  const auto raw = std::as_bytes(std::span(bytes));
  Source source{.file = FileBytes::of({raw.begin(), raw.end()}), .limits = {.decoded_bytes = 1 << 24}};
  open(source);
  for (std::size_t i = 0; i < source.tensors.size(); ++i) check_tensor(source, i);
  for (const auto& [key, value] : source.metadata) {
    require(!value.json(3).empty());
    std::size_t taken = 0;
    const std::string encoded = value.encoded();
    const auto again = checkpoint::MetadataValue::read(value.type(), std::as_bytes(std::span(encoded)), taken);
    require(again == value && taken == encoded.size());
  }
}

void gguf(const std::string& input) { read_file(input, checkpoint::open_gguf); }
void pytorch(const std::string& input) { read_file(input, checkpoint::open_pytorch); }
void pickle(const std::string& input) { read_file(archive_of(input), checkpoint::open_pytorch); }
void npz(const std::string& input) { read_file(input, checkpoint::open_npz); }
void index(const std::string& input) {
  const checkpoint::ShardIndex read = checkpoint::parse_index(input, {});
  for (const std::string& file : read.files) require(file.find('/') == std::string::npos && file != "..");
  const auto again = checkpoint::parse_index(checkpoint::index_text(read, 1), {});
  require(again.files == read.files && again.tensors == read.tensors);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  using Read = void (*)(const std::string&);
  [[maybe_unused]] constexpr Read kReaders[] = {gguf, pytorch, pickle, npz, index};
  try {
    FUZZ_KIND(std::string(reinterpret_cast<const char*>(data), size));
  } catch (const Error& error) {
    require(error.code() != ErrorCode::internal);
  }
  return 0;
}
