// The fuzzer's calls of the C interface that read and write files, and that pass tensors by DLPack.
#include <unistd.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "relayout/interop/dlpack_abi.h"
#include "tests/fuzz/c_calls.h"

namespace relayout::fuzz {
namespace {

namespace fs = std::filesystem;

/// The most bytes that are decoded here. Images and archives may claim many more, up to the library's own limit.
constexpr int64_t kMostDecoded = 1 << 20;

/// A folder of this process's own, where TMPDIR says.
class Folder {
 public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "relayout-c-fuzz-XXXXXX").string();
    require(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  std::string path(Input& in) const {
    static constexpr std::array kNames{"x.npy", "x.npz", "x.safetensors", "x.png", "x.jpg", "x.bmp", "x.raw",
                                       "x",     "",      "no/x",          "no.npy"};
    return (path_ / kNames[in.below(kNames.size())]).string();
  }
  void clear() const {
    for (const fs::directory_entry& entry : fs::directory_iterator(path_)) fs::remove(entry.path());
  }

 private:
  fs::path path_;
};
const Folder& folder() {
  static const Folder own;
  return own;
}

/// The bytes of a tensor if they are few.
std::vector<char> contents(const relayout_file* file, size_t tensor, int64_t most) {
  if (most > kMostDecoded) return {};
  const void* data = nullptr;
  size_t bytes = 0;
  const relayout_status status = relayout_file_data(file, tensor, &data, &bytes);
  check(status, status == RELAYOUT_OK || (data == nullptr && bytes == 0));
  const auto* first = static_cast<const char*>(data);
  return bytes == 0 ? std::vector<char>() : std::vector<char>(first, first + bytes);
}

/// What the file says of a tensor. Its bytes lie in the file, so that the layout never takes more of them.
void ask_file(Input& in, Handles& handles, const relayout_file* file) {
  size_t count = 0;
  const relayout_status counted = relayout_file_count(file, in.rarely() ? nullptr : &count);
  check(counted, counted == RELAYOUT_OK || count == 0);
  const size_t tensor = in.rarely() ? static_cast<size_t>(in.number()) : count == 0 ? 0 : in.byte() % count;
  read_text(in, [&](char* name, size_t capacity, size_t* length) {
    return relayout_file_name(file, tensor, name, capacity, length);
  });
  size_t found = SIZE_MAX;
  const relayout_status by_name = relayout_file_find(file, in.text().c_str(), in.rarely() ? nullptr : &found);
  check(by_name, (by_name == RELAYOUT_OK) == (found != SIZE_MAX));
  relayout_desc* desc = nullptr;
  const relayout_status status = relayout_file_desc(file, tensor, in.rarely() ? nullptr : &desc);
  check(status, (status == RELAYOUT_OK) == (desc != nullptr));
  if (desc == nullptr) return;
  handles.add(desc);
  int64_t needed = 0;
  require(relayout_desc_span_bytes(desc, &needed) == RELAYOUT_OK);
  const std::vector<char> bytes = contents(file, tensor, needed);
  require(bytes.empty() || static_cast<int64_t>(bytes.size()) >= needed);
}

using ManagedTensor = dlpack::DLManagedTensorVersioned;

/// A tensor whose fields contradict each other or not. Shape and strides have as many numbers as it says, where that is
/// no more than the library reads.
void take_dlpack(Input& in, Handles& handles) {
  std::array<char, 64> memory{};
  const int32_t ndim = in.rarely() ? in.number32() : static_cast<int32_t>(in.below(5));
  std::vector<int64_t> shape(ndim < 0 || ndim > RELAYOUT_MAX_DIMS ? 0 : static_cast<std::size_t>(ndim));
  std::vector<int64_t> strides = shape;
  for (int64_t& extent : shape) extent = in.number();
  for (int64_t& stride : strides) stride = in.number();
  dlpack::DLTensor tensor{};
  tensor.data = in.rarely() ? nullptr : memory.data();
  const int32_t device = in.rarely() ? in.number32() : dlpack::kDLCPU;
  std::memcpy(&tensor.device.device_type, &device, sizeof device);
  tensor.ndim = ndim;
  static constexpr std::array<uint8_t, 6> kBits{8, 16, 32, 64, 4, 1};
  tensor.dtype = {static_cast<uint8_t>(in.rarely() ? in.byte() : in.below(8)),
                  in.rarely() ? in.byte() : kBits[in.below(kBits.size())],
                  static_cast<uint16_t>(in.rarely() ? in.number() : 1)};
  tensor.shape = in.rarely() ? nullptr : shape.data();
  tensor.strides = in.byte() >= 192 ? nullptr : strides.data();
  tensor.byte_offset = in.byte() < 128 ? 0 : static_cast<uint64_t>(in.number());
  relayout_desc* desc = nullptr;
  void* data = &memory;
  const auto* given = in.rarely() ? nullptr : reinterpret_cast<const struct ::DLTensor*>(&tensor);
  const relayout_status status =
      relayout_desc_from_dlpack(given, in.rarely() ? nullptr : &desc, in.rarely() ? nullptr : &data);
  check(status, (status == RELAYOUT_OK) == (desc != nullptr) && (status == RELAYOUT_OK || data == &memory));
  if (desc != nullptr) handles.add(desc);
}

/// What DLPack can say comes back, and is let go once.
void give_dlpack(Input& in, Handles& handles) {
  const relayout_desc* const desc = handles.any<relayout_desc>(in);
  int released = 0;
  char memory = 0;
  struct ::DLManagedTensorVersioned* opaque = nullptr;
  const relayout_status status = relayout_desc_to_dlpack(
      desc, in.rarely() ? nullptr : &memory, [](void* count) { ++*static_cast<int*>(count); }, &released,
      in.rarely() ? nullptr : &opaque);
  check(status, (status == RELAYOUT_OK) == (opaque != nullptr) && released == 0);
  if (opaque == nullptr) return;
  auto* const managed = reinterpret_cast<ManagedTensor*>(opaque);
  const auto* tensor = reinterpret_cast<const struct ::DLTensor*>(&managed->dl_tensor);
  relayout_desc* again = nullptr;
  void* data = nullptr;
  const relayout_status taken = relayout_desc_from_dlpack(tensor, &again, &data);
  check(taken, (taken == RELAYOUT_OK) == (again != nullptr));
  managed->deleter(managed);
  require(released == 1);
  if (again == nullptr) return;
  handles.add(again);
  int64_t elements = 0, same = 0;
  require(relayout_desc_elements(desc, &elements) == RELAYOUT_OK);
  require(relayout_desc_elements(again, &same) == RELAYOUT_OK && same == elements);
}

}  // namespace

void read_file(Input& in, Handles& handles) {
  if (in.rarely()) return ask_file(in, handles, handles.any<relayout_file>(in));
  const std::string path = folder().path(in);
  if (const std::size_t size = in.byte() * std::size_t{256} + in.byte(); size != 0) {
    const std::string_view bytes = in.bytes(size);
    std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }
  relayout_file* file = nullptr;
  const relayout_status status = relayout_file_open(path.c_str(), in.rarely() ? nullptr : &file);
  check(status, (status == RELAYOUT_OK) == (file != nullptr));
  // What is open stays readable without its name.
  folder().clear();
  if (file == nullptr) return;
  handles.add(file);
  ask_file(in, handles, file);
}

/// What was written is read again.
void write_file(Input& in, Handles& handles) {
  const relayout_desc* const desc = handles.any<relayout_desc>(in);
  const std::string path = folder().path(in);
  int64_t span = 0;
  check(relayout_desc_span_bytes(desc, &span), true);
  std::vector<char> data(static_cast<std::size_t>(std::min<int64_t>(span, kMostDecoded)));
  if (in.rarely() && !data.empty()) data.pop_back();
  for (std::size_t k = 0; k < data.size(); ++k) data[k] = static_cast<char>(k * 37);
  const relayout_status status =
      relayout_file_write(path.c_str(), desc, in.rarely() ? nullptr : data.data(), data.size(), in.byte() % 2);
  check(status, status != RELAYOUT_OK || static_cast<int64_t>(data.size()) >= span);
  if (status == RELAYOUT_OK) {
    relayout_file* file = nullptr;
    require(relayout_file_open(path.c_str(), &file) == RELAYOUT_OK);
    handles.add(file);
    require(contents(file, 0, span) == data);
    if (in.rarely()) {
      require(relayout_file_write(path.c_str(), desc, data.data(), data.size(), 0) == RELAYOUT_IO);
    }
    ask_file(in, handles, file);
  }
  folder().clear();
}

void pass_dlpack(Input& in, Handles& handles) {
  if (in.byte() % 2 == 0)
    take_dlpack(in, handles);
  else
    give_dlpack(in, handles);
}

}  // namespace relayout::fuzz
