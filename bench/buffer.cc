// Memory for measurements, from mmap.
#include "bench/buffer.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <limits>
#include <string>
#include <utility>

#include "relayout/core/error.h"

namespace relayout::bench {
namespace {

FloatBits float_bits(DType dtype) {
  switch (dtype) {
    case DType::f64: return {52, 11};
    case DType::f32: return {23, 8};
    case DType::bf16: return {7, 8};
    case DType::f16: return {10, 5};
    case DType::f8_e5m2: return {2, 5};
    case DType::f8_e4m3: return {3, 4};
    case DType::f8_e8m0: return {0, 8};
    default: throw Error(ErrorCode::internal, "bench: float_bits() has no line for " + std::string(name(dtype)));
  }
}

class Random {
 public:
  /// splitmix64
  uint64_t operator()() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }

 private:
  uint64_t state_ = 1;
};

}  // namespace

uint64_t random_float(const FloatBits& type, uint64_t random) {
  // At most half of the type's exponents occur, so that none means denormals or infinity. Their number is a power of
  // two, as some of the random bits choose among them.
  const int powers = std::min(16, 1 << (type.exponent_bits - 1));
  const int lowest = type.bias() + (powers == 16 ? -7 : -powers / 2);
  const uint64_t mantissa = random & ((uint64_t{1} << type.mantissa_bits) - 1);
  const uint64_t sign = random >> 63;
  const uint64_t spread = (random >> 53) & static_cast<uint64_t>(powers - 1);
  const uint64_t exponent = static_cast<uint64_t>(lowest) + spread;
  return mantissa | exponent << type.mantissa_bits | sign << (type.mantissa_bits + type.exponent_bits);
}

uint64_t whole_float(const FloatBits& type, uint64_t number) {
  if (number == 0) return 0;
  const int power = std::bit_width(number) - 1;
  const uint64_t mantissa = (number - (uint64_t{1} << power)) << type.mantissa_bits >> power;
  return static_cast<uint64_t>(type.bias() + power) << type.mantissa_bits | mantissa;
}

PageBuffer::PageBuffer(int64_t bytes) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t size = (static_cast<std::size_t>(std::max<int64_t>(bytes, 1)) + page - 1) / page * page;
  void* found = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (found == MAP_FAILED) {
    const std::string reason = std::strerror(errno);
    throw Error(ErrorCode::io, "bench: no memory for " + std::to_string(bytes) + " bytes: " + reason, "memory",
                std::to_string(bytes));
  }
  data_ = static_cast<std::byte*>(found);
  size_ = size;
  std::memset(data_, 1, size_);
}

PageBuffer::~PageBuffer() {
  if (data_) munmap(data_, size_);
}

PageBuffer::PageBuffer(PageBuffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

PageBuffer& PageBuffer::operator=(PageBuffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

int64_t available_memory() {
  std::ifstream file("/proc/meminfo");
  std::string key;
  int64_t kibibytes = 0;
  while (file >> key) {
    if (key == "MemAvailable:" && file >> kibibytes) return kibibytes * 1024;
    file.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  return pages > 0 && page > 0 ? int64_t{pages} * page : std::numeric_limits<int64_t>::max();
}

void require_memory(int64_t bytes, const char* operation) {
  const int64_t available = available_memory();
  if (bytes <= available) return;
  throw Error(ErrorCode::limit,
              std::string(operation) + ": the buffers take " + std::to_string(bytes) + " bytes, of which " +
                  std::to_string(available) + " are available",
              "memory", std::to_string(bytes), std::to_string(available));
}

void fill_values(DType dtype, std::span<std::byte> bytes) {
  Random random;
  const int item = std::max(bits(dtype) / 8, 1);
  // All bits of a float of fewer than 8 bits are a finite number.
  const bool floats = is_floating(dtype) && bits(dtype) >= 8;
  const FloatBits type = floats ? float_bits(dtype) : FloatBits{};
  const uint64_t mask = ~uint64_t{0} >> (64 - 8 * item);  // f8_e8m0 has no sign
  for (std::size_t at = 0; at < bytes.size(); at += 8) {
    uint64_t word = 0;
    if (floats) {
      for (int i = 0; i < 8; i += item) word |= (random_float(type, random()) & mask) << (8 * i);
    } else {
      word = random();
      if (dtype == DType::boolean) word &= 0x0101010101010101;
    }
    std::memcpy(bytes.data() + at, &word, std::min<std::size_t>(8, bytes.size() - at));
  }
}

void fill_whole_numbers(DType dtype, std::span<std::byte> bytes) {
  if (dtype == DType::boolean || dtype == DType::f8_e8m0 || bits(dtype) < 8) return fill_values(dtype, bytes);
  Random random;
  const auto item = static_cast<std::size_t>(bits(dtype) / 8);
  for (std::size_t at = 0; at + item <= bytes.size(); at += item) {
    const uint64_t number = random() >> 61;
    const uint64_t value = is_floating(dtype) ? whole_float(float_bits(dtype), number) : number;
    std::memcpy(bytes.data() + at, &value, item);
  }
}

}  // namespace relayout::bench
