// The fuzzer's calls of the C interface that make plans and move data.
#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "tests/fuzz/c_calls.h"

namespace relayout::fuzz {
namespace {

/// The most bytes of a buffer. A layout that takes more gets a buffer that is too small.
constexpr int64_t kMostBytes = 1 << 16;

/// A struct of options in memory of its own that has just as many bytes as its first field says.
template <typename Options>
class Sized {
 public:
  Sized(Input& in, const Options& options) {
    std::size_t size = sizeof(Options);
    if (in.rarely()) size = in.byte() % 2 == 0 ? in.byte() * std::size_t{2} : static_cast<std::size_t>(in.number());
    // Below 8 bytes there is no size to read, and above 4096 the library reads nothing else.
    bytes_.resize(size > 4096 ? sizeof size : std::max(size, sizeof size), static_cast<char>(in.rarely()));
    std::memcpy(bytes_.data(), &options, std::min(bytes_.size(), sizeof options));
    std::memcpy(bytes_.data(), &size, sizeof size);
  }
  const Options* get() const { return reinterpret_cast<const Options*>(bytes_.data()); }

 private:
  std::vector<char> bytes_;
};

/// A list of scales, zero points or means.
void fill(Input& in, std::vector<double>& values, const double*& list, std::size_t& count, uint32_t& mask) {
  if (in.byte() < 160) return;
  mask = in.rarely() ? static_cast<uint32_t>(in.number()) : in.byte() % 8;
  values.resize(in.below(13));
  for (double& value : values) {
    // All bits may come: infinities, NaN, numbers that f32 does not hold.
    const int64_t bits = in.rarely() ? in.number() << in.byte() % 32 : 0;
    std::memcpy(&value, &bits, sizeof value);
    if (bits == 0) value = in.byte() % 5;
  }
  list = values.data();
  count = in.rarely() ? static_cast<std::size_t>(in.number()) : values.size();
  if (count > values.size()) list = nullptr;  // what the caller says of memory is believed, so that this must fail
}

/// Attributes with lists that they own.
class SomeAttributes {
 public:
  explicit SomeAttributes(Input& in) : none_(in.byte() < 128) {
    if (none_) return;
    relayout_attributes all = RELAYOUT_ATTRIBUTES_INIT;
    fill(in, src_scale_, all.src_scale, all.src_scale_count, all.src_scale_mask);
    fill(in, dst_scale_, all.dst_scale, all.dst_scale_count, all.dst_scale_mask);
    fill(in, src_zero_point_, all.src_zero_point, all.src_zero_point_count, all.src_zero_point_mask);
    fill(in, dst_zero_point_, all.dst_zero_point, all.dst_zero_point_count, all.dst_zero_point_mask);
    fill(in, mean_, all.mean, all.mean_count, all.mean_mask);
    if (in.byte() < 64) {
      for (int64_t& group : groups_) group = in.rarely() ? in.number() : in.byte() % 5;
      all.ndims = in.byte() % 14;
      all.src_scale_groups = all.dst_zero_point_groups = groups_.data();
      if (in.byte() < 64) all.dst_scale_groups = all.src_zero_point_groups = all.mean_groups = groups_.data();
    }
    all.beta = in.byte() < 128 ? 0 : static_cast<double>(in.number());
    all.padding = static_cast<relayout_padding>(in.rarely() ? in.number() : in.byte() % 4);
    all.padding_value = static_cast<double>(in.number());
    all.padding_integer = in.number();
    if (in.rarely()) all.padding_value = 0.0 / all.beta;
    sized_.emplace_back(in, all);
  }
  const relayout_attributes* get() const { return none_ ? nullptr : sized_[0].get(); }

 private:
  bool none_;
  std::vector<double> src_scale_, dst_scale_, src_zero_point_, dst_zero_point_, mean_;
  std::array<int64_t, 12> groups_{};
  std::vector<Sized<relayout_attributes>> sized_;
};

/// What a buffer of a layout takes, -1 where there is no layout.
int64_t span_of(const relayout_desc* desc) {
  int64_t bytes = -1;
  check(relayout_desc_span_bytes(desc, &bytes), true);
  return bytes;
}

/// A buffer for so many bytes, or for fewer if the input wants it or they are too many.
std::vector<char> buffer_of(Input& in, int64_t bytes) {
  int64_t size = std::clamp<int64_t>(bytes, 0, kMostBytes);
  if (in.rarely()) size = std::max<int64_t>(0, size - 1 - static_cast<int64_t>(in.below(4)));
  std::vector<char> out(static_cast<std::size_t>(size));
  for (std::size_t k = 0; k < out.size(); ++k) out[k] = static_cast<char>(k * 37);
  return out;
}

}  // namespace

void make_plan(Input& in, Handles& handles) {
  const relayout_desc *src = handles.any<relayout_desc>(in), *dst = handles.any<relayout_desc>(in);
  const SomeAttributes attributes(in);
  const relayout_run_options init = {sizeof init, in.rarely() ? in.number32() : static_cast<int32_t>(in.below(3)),
                                     nullptr, nullptr};
  const Sized<relayout_run_options> options(in, init);
  relayout_plan* plan = nullptr;
  const relayout_status made = relayout_plan_make(src, dst, attributes.get(), in.rarely() ? nullptr : &plan);
  check(made, (made == RELAYOUT_OK) == (plan != nullptr));
  if (plan != nullptr) handles.add(plan);

  const int64_t src_bytes = span_of(src), dst_bytes = span_of(dst);
  const std::vector<char> from = buffer_of(in, src_bytes);
  std::vector<char> to = buffer_of(in, dst_bytes), again = to;
  const relayout_status both =
      relayout_reorder(src, from.data(), from.size(), dst, to.data(), to.size(), attributes.get(), options.get());
  check(both, both == RELAYOUT_OK || to == again);
  if (plan == nullptr) return;
  const bool fits = static_cast<int64_t>(from.size()) >= src_bytes && static_cast<int64_t>(to.size()) >= dst_bytes;
  require(fits ? both != RELAYOUT_BUFFER_TOO_SMALL : both != RELAYOUT_OK);
  // One after the other does the same.
  const relayout_status ran =
      relayout_plan_run(plan, from.data(), from.size(), again.data(), again.size(), options.get());
  check(ran, ran == both && again == to);
  if (ran != RELAYOUT_OK || src_bytes == 0 || dst_bytes == 0 || static_cast<int64_t>(to.size()) < src_bytes) return;
  require(relayout_plan_run(plan, to.data(), to.size(), to.data(), to.size(), nullptr) == RELAYOUT_OVERLAP);
  require(relayout_reorder(src, to.data(), to.size(), dst, to.data(), to.size(), attributes.get(), nullptr) ==
          RELAYOUT_OVERLAP);
}

/// Any plan with memory that need not fit, and may be one buffer for both sides.
void run_plan(Input& in, Handles& handles) {
  const relayout_plan* const plan = handles.any<relayout_plan>(in);
  std::vector<char> from(in.byte() * std::size_t{16}), to(in.byte() * std::size_t{16});
  const std::vector<char> before = to;
  const char* const src = in.rarely() ? nullptr : in.rarely() ? to.data() : from.data();
  const std::size_t src_bytes = src == to.data() ? to.size() : from.size();
  char* const dst = in.rarely() ? nullptr : to.data();
  const relayout_run_options init = {sizeof init, in.number32(), nullptr, nullptr};
  const relayout_status ran =
      relayout_plan_run(plan, src, src_bytes, dst, to.size(), Sized<relayout_run_options>(in, init).get());
  check(ran, ran == RELAYOUT_OK || to == before);
}

void reorder_in_place(Input& in, Handles& handles) {
  const relayout_desc *src = handles.any<relayout_desc>(in), *dst = handles.any<relayout_desc>(in);
  const SomeAttributes attributes(in);
  const int64_t bytes = std::max(span_of(src), span_of(dst));
  std::vector<char> buffer = buffer_of(in, bytes);
  const std::vector<char> before = buffer;
  const relayout_status status =
      relayout_reorder_in_place(src, dst, buffer.data(), buffer.size(), attributes.get(), nullptr);
  check(status, status == RELAYOUT_OK ? static_cast<int64_t>(buffer.size()) >= bytes : buffer == before);
}

/// Orders that fit each other or not, along a dim that may have as many gates.
void permute_gates(Input& in, Handles& handles) {
  const relayout_desc *src = handles.any<relayout_desc>(in), *dst = in.rarely() ? handles.any<relayout_desc>(in) : src;
  const std::string from = in.rarely() ? in.text() : std::string("iofc").substr(0, in.below(5));
  const std::string to = in.rarely() ? in.text() : std::string(from.rbegin(), from.rend());
  std::vector<int64_t> places(in.below(5));
  int32_t gates = -77;
  const relayout_status placed =
      relayout_gate_places(from.c_str(), to.c_str(), places.data(), static_cast<int32_t>(places.size()), &gates);
  check(placed, placed == RELAYOUT_OK ? gates <= static_cast<int32_t>(places.size()) : gates == -77);
  const std::vector<char> source = buffer_of(in, span_of(src));
  std::vector<char> destination = buffer_of(in, span_of(dst));
  const std::vector<char> before = destination;
  const auto dim = in.rarely() ? in.number32() : static_cast<int32_t>(in.below(6)) - 1;
  const relayout_status status = relayout_permute_gates(src, source.data(), source.size(), dst, destination.data(),
                                                        destination.size(), dim, from.c_str(), to.c_str(), nullptr);
  check(status, status == RELAYOUT_OK || destination == before);
}

}  // namespace relayout::fuzz
