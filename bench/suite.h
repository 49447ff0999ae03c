// The suite: the project's goals for speed as data, and a function that measures them.
//
//     for (const Case& c : all_cases()) ...                  row, layouts, dims, types, goal
//     run_suite({.filter = "transpose"}, [](const CaseResult& r) { ... });
//
// A row is a class of conversions with one kind of goal; a case is one conversion of it. Ratios are to the copy in
// the same run (measure.h).
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/measure.h"

namespace relayout::bench {

/// What a goal is about.
enum class Metric { ratio, run_ns, plan_ns };
/// "x", "ns", "us": plan_ns is shown in microseconds.
std::string_view unit(Metric metric);

struct Row {
  std::string_view name;   // a word, for filters and files
  std::string_view title;  // for people
  Metric metric = Metric::ratio;
};

/// One conversion and its goal.
struct Case {
  std::string_view row;  // Row::name
  std::string_view src, dst, dims;
  DType dtype = DType::f32, to_dtype = DType::f32;
  float scale = 0;  // 0: none
  double goal = 0;  // the most, in the row's metric (ns for both times)
  /// A description in words, where the names of the layouts do not say it; otherwise "".
  std::string_view label = "";
  /// Belongs to the short form of the suite.
  bool quick = false;
  /// See MeasureOptions.
  int64_t misalign = 0;
};

std::span<const Row> all_rows();
/// In the order of the rows.
std::span<const Case> all_cases();
const Row& row_of(const Case& c);
/// "f32 nchw -> u8 nhwc 32x64x56x56", or its label with types and dims; and "scaled", "+16" where it is misaligned.
std::string name_of(const Case& c);

struct CaseResult {
  const Case* about = nullptr;
  Measurement measured;
  std::string error;  // why it was not measured; else ""

  /// In the row's metric.
  double value() const;
  bool wrong() const { return error.empty() && measured.wrong(); }
  bool met() const { return error.empty() && !wrong() && value() <= about->goal; }
};

struct SuiteOptions {
  std::string filter;           // part of "row: name"; "" for all
  bool quick = false;           // only the cases of the short form
  std::vector<int> threads{1};  // each case with each of them
  MeasureOptions measure;       // its threads and misalign are not used
};

/// Measures the cases that the options choose, row by row; `done` is called with each result as it comes. A case that
/// cannot be measured, for want of memory for instance, gives a result with an error.
std::vector<CaseResult> run_suite(const SuiteOptions& options, const std::function<void(const CaseResult&)>& done);

/// A conversion at sizes from 4 KiB to 1 GiB of source.
struct Sweep {
  std::string name;
  struct Point {
    int64_t src_bytes = 0;
    Measurement measured;
  };
  std::vector<Point> points;

  bool wrong() const;
};

/// Sizes that do not fit into memory are left out, and so are conversions whose name does not contain `filter`.
std::vector<Sweep> run_sweep(const MeasureOptions& options, const std::string& filter, int64_t largest_bytes,
                             const std::function<void(const Sweep&)>& point_done);

/// Of positive numbers; 0 where there are none.
double geometric_mean(std::span<const double> values);

}  // namespace relayout::bench
