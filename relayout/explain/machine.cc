// What this machine would take: copies that are timed, and plans that are priced. See report.h.
#include <algorithm>
#include <bit>
#include <chrono>
#include <cstring>
#include <memory>

#include "relayout/cpu/reorder.h"
#include "relayout/explain/report.h"
#include "relayout/io/user_cache.h"

namespace relayout::explaining {
namespace {

constexpr int64_t kLargestCopy = int64_t{256} << 20;
constexpr int kCopies = 5;

/// The fastest of a few copies of half as many bytes, which reads and writes that many.
double time_copy(int64_t bytes) {
  const auto half = static_cast<std::size_t>(bytes / 2);
  const std::vector<char> src(half, 1);
  std::vector<char> dst(half, 0);
  double best = 0;
  for (int i = 0; i < kCopies; ++i) {
    const auto start = std::chrono::steady_clock::now();
    std::memcpy(dst.data(), src.data(), half);
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
    if (i == 0 || took.count() < best) best = took.count();
  }
  // The copy's result is looked at, so that it is not left out.
  if (dst.back() != 1) return 0;
  return best;
}

/// Times of copies, each power of two once. Between two of them a time is interpolated; past the largest it grows with
/// the bytes.
class CopyTimes {
 public:
  double operator()(int64_t bytes) {
    if (bytes >= kLargestCopy)
      return at(kLargestCopy) * (static_cast<double>(bytes) / static_cast<double>(kLargestCopy));
    const auto below = std::max<int64_t>(2, static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(bytes))));
    const double part = std::max(0.0, static_cast<double>(bytes - below) / static_cast<double>(below));
    return at(below) + (part > 0 ? part * (at(2 * below) - at(below)) : 0);
  }

 private:
  double at(int64_t bytes) {
    const auto [found, added] = known_.try_emplace(bytes, 0);
    if (added) found->second = time_copy(bytes);
    return found->second;
  }

  std::map<int64_t, double> known_;
};

/// The last of the fields of io::processor(), which is the model's name on x86 processors.
std::string processor_name() {
  std::string out = io::processor();
  while (!out.empty() && out.back() == ' ') out.pop_back();
  const std::size_t colon = out.rfind(": ");
  return colon == std::string::npos ? out : out.substr(colon + 2);
}

}  // namespace

MachineTimes this_machine() {
  auto times = std::make_shared<CopyTimes>();
  MachineTimes out{.name = processor_name()};
  out.copy_ms = [times](int64_t bytes) -> std::optional<double> { return (*times)(bytes); };
  out.planned_ms = [](const TensorDesc& src, const TensorDesc& dst) -> std::optional<double> {
    try {
      return cpu::make_plan(src, dst).cost().nanoseconds / 1e6;
    } catch (const Error&) {  // a destination that overlaps itself, tables that are too large
      return std::nullopt;
    }
  };
  return out;
}

}  // namespace relayout::explaining
