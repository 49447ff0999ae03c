// Timing every pair of a list of layouts beside a copy (walk.cc has the method).
#pragma once

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "bench/buffer.h"
#include "bench/copy.h"
#include "bench/timing.h"
#include "relayout/cpu/reorder.h"

namespace relayout::bench {

using Json = nlohmann::ordered_json;

struct NamedLayout {
  std::string tag;
  Layout layout;
};

/// What to walk and how.
struct WalkOptions {
  /// "SRC:DST": only tags whose names contain these; either may be empty.
  std::string filter;
  int threads = 1;
  /// Pairs to list.
  int top = 10;
  /// Over 0: pairs are taken at random, by the seed, until so many seconds have passed.
  double limit_s = 0;
  uint64_t seed = 0;
  /// Compare each result with the reference.
  bool verify = false;
};

/// The limit for a number of bytes: the time of the faster of two copies (bench/copy.h), in the memory that the
/// reorders use. It is measured when it is first asked for and again every kUses times, as the machine's speed drifts.
class Yardstick {
 public:
  Yardstick(const PageBuffer& src, const PageBuffer& dst, int threads) : src_(src), dst_(dst), copies_(threads) {}

  /// The copies of so many bytes that may be the faster one, to be timed.
  std::vector<Work> works(int64_t bytes) const;
  double limit_ns(int64_t bytes);

 private:
  static constexpr int kUses = 32;
  struct Entry {
    double ns = 0;
    int uses = 0;
  };
  const PageBuffer &src_, &dst_;
  Copies copies_;
  std::map<int64_t, Entry> entries_;
};

/// All pairs at one source and destination type.
class Walk {
 public:
  /// `from` and `to` hold every layout of `layouts` in these types. All references must outlive the walk.
  Walk(const std::vector<NamedLayout>& layouts, DType src, DType dst, const WalkOptions& options,
       const PageBuffer& from, const PageBuffer& to);

  /// Measures all pairs and writes its progress to stderr. Returns counts, the distribution of the ratios, the pairs by
  /// the kernel that moves most of each, and the slowest pairs.
  Json run();
  /// Pairs whose result was not the reference's.
  int wrong() const { return wrong_; }

 private:
  struct Measured {
    int src = 0, dst = 0;  // indices of the layouts
    double ns = 0, copy_ns = 0;
    bool confirmed = false;
    double ratio() const { return ns / copy_ns; }
  };

  std::string types() const;
  TensorDesc src_desc(int i) const { return {layouts_[static_cast<std::size_t>(i)].layout, src_}; }
  TensorDesc dst_desc(int i) const { return {layouts_[static_cast<std::size_t>(i)].layout, dst_}; }
  const std::string& tag(int i) const { return layouts_[static_cast<std::size_t>(i)].tag; }
  std::size_t listed() const { return std::min(measured_.size(), static_cast<std::size_t>(options_.top)); }

  std::vector<std::pair<int, int>> wanted_pairs() const;
  double once_ns(const Plan& plan);
  Measured quick(int s, int d);
  void confirm(Measured& pair);
  void confirm_slowest();
  void verify(const Plan& plan, int s, int d);
  double quantile(double q) const;
  Json pair_json(const Measured& m) const;
  Json by_kernel() const;
  Json report(std::size_t total, double seconds) const;

  const std::vector<NamedLayout>& layouts_;
  DType src_, dst_;
  const WalkOptions& options_;
  const PageBuffer &from_, &to_;
  Yardstick yardstick_;
  std::vector<Measured> measured_;
  int wrong_ = 0;
};

}  // namespace relayout::bench
