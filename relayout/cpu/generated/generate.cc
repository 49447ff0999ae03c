// Choosing how a destination is cut, by price, and keeping code in memory that is executed.
#include "relayout/cpu/generated/generate.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <numeric>

#include "relayout/cpu/generated/emitter.h"
#include "relayout/cpu/kernels/list.h"
#include "relayout/reorder/price.h"

namespace relayout::cpu {
namespace {

constexpr std::size_t kMostWindows = 10, kMostPatterns = 24, kMostLines = 400;

/// A way to cut, with what it takes.
struct Draft {
  Cut cut;
  double ns = 0;  // of all patches, if all were like the first one
};

/// Bytes of the destination that steps of its digits have, and all of it.
std::vector<int64_t> steps_of(const Origins& origins, const Layout& dst) {
  std::vector<int64_t> out{origins.bytes()};
  for (int d = 0; d < dst.ndims(); ++d) {
    for (const Digit& digit : dst.digits(d)) {
      const int64_t stride = std::abs(digit.stride) * origins.element;
      for (const int64_t bytes : {stride, stride * digit.extent}) {
        if (bytes > 0 && bytes < origins.bytes()) out.push_back(bytes);
      }
    }
  }
  std::ranges::sort(out);
  out.erase(std::ranges::unique(out).begin(), out.end());
  return out;
}

/// Ways to cut: patches of some steps that have some lines, or whole lines.
std::vector<Cut> cuts_of(const std::vector<int64_t>& steps) {
  static constexpr int64_t kPatches[] = {256, 1024}, kMostBytes = 4096;
  static constexpr std::size_t kMost = 128;
  std::vector<Cut> out;
  for (const int64_t period : steps) {
    if (period < kPatches[0] && period < steps.back()) continue;
    for (const int64_t step : steps) {
      if (step > period) break;
      const int64_t lines = std::lcm(step, kCacheLine);
      for (const int64_t least : kPatches) {
        for (const int64_t unit : {step, lines}) {
          const Cut cut{period, std::min(period, ceil_div(least, unit) * unit)};
          if (cut.patch > kMostBytes || std::ranges::find(out, cut) != out.end()) continue;
          if (out.size() == kMost) return out;
          out.push_back(cut);
        }
      }
    }
  }
  return out;
}

class Chooser {
 public:
  Chooser(const Origins& origins, int64_t src_bytes, double call_ns, double most_ns)
      : origins_(origins), src_bytes_(src_bytes), call_ns_(call_ns), best_ns_(most_ns) {}

  std::vector<ListedPattern> choose(const Layout& dst) {
    static constexpr std::size_t kTried = 3;
    std::vector<Draft> drafts;
    for (const Cut& cut : cuts_of(steps_of(origins_, dst))) add_draft(cut, drafts);
    std::ranges::stable_sort(drafts, {}, &Draft::ns);
    std::vector<ListedPattern> best;
    for (std::size_t k = 0; k < std::min(kTried, drafts.size()); ++k) consider(drafts[k].cut, best);
    return best;
  }
  double nanoseconds() const { return best_ns_; }

 private:
  /// Prices a cut by the first lines of its first patch.
  void add_draft(const Cut& cut, std::vector<Draft>& drafts) const {
    static constexpr int64_t kSample = 8 * kCacheLine;
    const int64_t bytes = std::min(cut.patch, kSample);
    const Instance first{first_origin(origins_, 0, bytes), 0};
    const auto lines =
        lines_of(origins_, first, bytes, {-first.src, src_bytes_ - kCacheLine - first.src}, kMostWindows);
    if (!lines) return;
    const double all = static_cast<double>(ceil_div(cut.period, cut.patch) * ceil_div(origins_.bytes(), cut.period)) *
                       static_cast<double>(ceil_div(cut.patch, kCacheLine));
    const double ns = instance_ns(*lines) * all / static_cast<double>(lines->lines.size());
    if (ns < best_ns_) drafts.push_back({cut, ns});
  }

  void consider(const Cut& cut, std::vector<ListedPattern>& best) {
    auto patterns = patterns_of(origins_, cut, src_bytes_, kMostPatterns);
    if (!patterns) return;
    std::vector<ListedPattern> made;
    double ns = call_ns_;
    std::size_t count = 0;
    for (Pattern& pattern : *patterns) {
      const Readable readable = readable_by(pattern, src_bytes_);
      auto lines = lines_of(origins_, pattern.instances[0], pattern.bytes, readable, kMostWindows);
      if (!lines) return;
      ns += price::kPattern + instance_ns(*lines) * static_cast<double>(pattern.instances.size());
      count += lines->lines.size();
      if (ns >= best_ns_ || count > kMostLines) return;
      made.push_back({std::move(pattern), std::move(*lines), readable});
    }
    best_ns_ = ns;
    best = std::move(made);
  }

  const Origins& origins_;
  int64_t src_bytes_;
  double call_ns_, best_ns_;
};

/// Nanoseconds of a call, and those that it waits for the second-level cache.
double waiting_ns(const PlanData& plan, const Origins& origins) {
  const int64_t beyond = plan.src_bytes() + origins.bytes() - plan.machine().l1 / 4 * 3;
  return price::kCodeCall + price::kCodeWait * static_cast<double>(std::max<int64_t>(0, beyond));
}

/// Code in pages that are executed and no longer written.
class MappedCode final : public Code {
 public:
  static std::shared_ptr<const Code> make(const std::vector<std::byte>& code, double ns) {
    auto out = std::make_shared<MappedCode>(code.size(), ns);
    void* const at = mmap(nullptr, code.size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) return nullptr;
    out->at_ = at;
    std::memcpy(at, code.data(), code.size());
    return mprotect(at, code.size(), PROT_READ | PROT_EXEC) == 0 ? out : nullptr;
  }

  /// Whether the system lets memory be executed that was written, which is tried once.
  static bool allowed() {
    static const bool value = make({std::byte{0xc3}}, 0) != nullptr;
    return value;
  }

  MappedCode(std::size_t size, double ns) : size_(size), ns_(ns) {}
  ~MappedCode() override {
    if (at_) munmap(at_, size_);
  }
  MappedCode(const MappedCode&) = delete;
  MappedCode& operator=(const MappedCode&) = delete;

  void run(const void* src, void* dst) const noexcept override {
    reinterpret_cast<void (*)(const void*, void*)>(at_)(src, dst);
  }
  double nanoseconds() const override { return ns_; }
  int64_t bytes() const override { return static_cast<int64_t>(size_); }

 private:
  void* at_ = nullptr;
  std::size_t size_;
  double ns_;
};

}  // namespace

std::string_view code_problem(const Machine& machine) {
  if (generated_code_left_out()) return kLeftOutByUser;
  if (machine.permuted_bytes != kGeneratedBytes) return "the instruction set in use is without AVX-512 VBMI";
  return MappedCode::allowed() ? "" : "this system lets no memory be executed that was written";
}

std::shared_ptr<const Code> generate_code(const PlanData& plan) {
  if (plan.src_bytes() < kCacheLine || !code_problem(plan.machine()).empty()) return nullptr;
  const auto origins = origins_of(plan, kMostGenerated);
  if (!origins) return nullptr;
  // Both prices are often some percent off, and to generate code takes time, so code must cost clearly less.
  constexpr double kWorth = 0.9;
  const double kernels = prices_of(plan.machine()).kernels;
  Chooser chooser(*origins, plan.src_bytes(), waiting_ns(plan, *origins), kWorth * plan.cost().nanoseconds / kernels);
  const std::vector<ListedPattern> patterns = chooser.choose(plan.dst().layout);
  if (patterns.empty()) return nullptr;
  const std::vector<std::byte> code = emit(patterns);
  return code.empty() ? nullptr : MappedCode::make(code, kernels * chooser.nanoseconds());
}

}  // namespace relayout::cpu
