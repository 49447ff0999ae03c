// Fuzzes the C interface: calls with arguments that the input chooses, among them null pointers, handles of other kinds
// and sizes that do not fit. No call may crash, and one that fails must leave its results alone.
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "relayout/relayout_c.h"

namespace {

void require(bool law) {
  if (!law) std::abort();
}

/// The input, byte by byte; zeros behind its end.
class Input {
 public:
  Input(const uint8_t* data, std::size_t size) : data_(data), size_(size) {}
  bool empty() const { return at_ >= size_; }
  uint8_t byte() { return at_ < size_ ? data_[at_++] : uint8_t{0}; }
  int64_t number() {
    const uint8_t kind = byte();
    if (kind < 200) return kind % 9;
    int64_t out = 0;
    for (int k = 0; k < 8; ++k) out = static_cast<int64_t>(static_cast<uint64_t>(out) << 8 | byte());
    return out;
  }
  std::string text() {
    std::string out;
    for (std::size_t n = byte() % 40; n > 0 && !empty(); --n) out += static_cast<char>(byte());
    return out.substr(0, out.find('\0'));
  }

 private:
  const uint8_t* data_;
  std::size_t size_, at_ = 0;
};

/// Handles that calls made; a call may get any of them, whatever kind it asks for.
struct Handles {
  std::vector<relayout_desc*> descs;
  std::vector<relayout_plan*> plans;

  ~Handles() {
    for (relayout_desc* desc : descs) relayout_desc_free(desc);
    for (relayout_plan* plan : plans) relayout_plan_free(plan);
  }
  relayout_desc* desc(Input& in) {
    const uint8_t k = in.byte();
    if (k == 0) return nullptr;
    if (k == 1 && !plans.empty()) return reinterpret_cast<relayout_desc*>(plans[0]);
    return descs.empty() ? nullptr : descs[k % descs.size()];
  }
};

void make(Input& in, Handles& handles) {
  std::array<int64_t, RELAYOUT_MAX_DIMS + 1> dims{}, strides{};
  for (std::size_t d = 0; d < 4; ++d) dims[d] = in.number(), strides[d] = in.number();
  const auto ndims = static_cast<int32_t>(in.byte() % 8 == 7 ? in.number() : in.byte() % 5);
  if (ndims > RELAYOUT_MAX_DIMS + 1) return;  // more than the lists hold: the caller's own mistake
  relayout_desc* out = nullptr;
  const relayout_dtype dtype = in.byte() % 20;
  relayout_status status = RELAYOUT_OK;
  switch (in.byte() % 4) {
    case 0: status = relayout_desc_parse(in.text().c_str(), ndims, dims.data(), dtype, &out); break;
    case 1: status = relayout_desc_strided(ndims, dims.data(), strides.data(), in.number(), dtype, &out); break;
    case 2: status = relayout_desc_view(handles.desc(in), ("." + in.text()).c_str(), &out); break;
    default: status = relayout_desc_with_dtype(handles.desc(in), dtype, &out);
  }
  require((status == RELAYOUT_OK) == (out != nullptr));
  require(status == RELAYOUT_OK || *relayout_error_message() != '\0');
  if (out != nullptr) handles.descs.push_back(out);
}

void ask(Input& in, Handles& handles) {
  const relayout_desc* desc = handles.desc(in);
  std::array<int64_t, RELAYOUT_MAX_DIMS> numbers{};
  std::array<relayout_digit, 4> digits{};
  int32_t n = 0;
  int64_t number = 0;
  relayout_slot slot = RELAYOUT_ELEMENT;
  const int32_t capacity = in.byte() % (RELAYOUT_MAX_DIMS + 1);
  relayout_desc_dims(desc, numbers.data(), capacity, &n);
  relayout_desc_strides(desc, numbers.data(), capacity, &n);
  relayout_desc_digits(desc, in.byte() % 5, digits.data(), 4, &n);
  if (relayout_desc_index(desc, in.number(), numbers.data(), capacity, &slot) == RELAYOUT_OK && slot != RELAYOUT_GAP) {
    require(relayout_desc_ndims(desc, &n) == RELAYOUT_OK);
    require(relayout_desc_offset(desc, numbers.data(), n, &number) == RELAYOUT_OK);
  }
  for (int32_t d = 0; d < RELAYOUT_MAX_DIMS; ++d) numbers[static_cast<std::size_t>(d)] = in.number();
  relayout_desc_offset(desc, numbers.data(), capacity, &number);
  std::array<char, 64> text{};
  size_t length = 0;
  const relayout_status status = relayout_desc_text(desc, in.text().c_str(), text.data(), in.byte() % 65, &length);
  if (status == RELAYOUT_OK) require(std::strlen(text.data()) == length);
}

void move(Input& in, Handles& handles) {
  const relayout_desc *src = handles.desc(in), *dst = handles.desc(in);
  int64_t src_bytes = 0, dst_bytes = 0;
  relayout_desc_span_bytes(src, &src_bytes);
  relayout_desc_span_bytes(dst, &dst_bytes);
  relayout_plan* plan = nullptr;
  if (src_bytes > 1 << 16 || dst_bytes > 1 << 16) return;
  const relayout_status status = relayout_plan_make(src, dst, nullptr, &plan);
  require((status == RELAYOUT_OK) == (plan != nullptr));
  if (plan == nullptr) return;
  std::vector<char> from(static_cast<std::size_t>(src_bytes)), to(static_cast<std::size_t>(dst_bytes));
  const std::size_t less = in.byte() % 2;
  const std::size_t given = to.size() - (to.empty() ? 0 : less);
  const relayout_status ran = relayout_plan_run(plan, from.data(), from.size(), to.data(), given, nullptr);
  require(ran == (given == to.size() ? RELAYOUT_OK : RELAYOUT_BUFFER_TOO_SMALL));
  handles.plans.push_back(plan);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  Input in(data, size);
  Handles handles;
  for (int call = 0; call < 40 && !in.empty(); ++call) {
    switch (in.byte() % 4) {
      case 0:
      case 1: make(in, handles); break;
      case 2: ask(in, handles); break;
      default: move(in, handles);
    }
  }
  return 0;
}
