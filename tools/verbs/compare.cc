// relayout compare: whether two files hold the same logical tensor, whatever their layouts and types.
//
// Values are compared exactly. Each side is converted to f64, or to s64 or u64 where it holds 64-bit integers, and two
// such values are compared as real numbers. NaN equals NaN, and -0 equals 0.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cfloat>
#include <cmath>
#include <cstdlib>

#include "relayout/cpu/reorder.h"
#include "relayout/io/pages.h"
#include "tools/command/common.h"
#include "tools/command/progress.h"
#include "tools/input/slabs.h"
#include "tools/input/tensor_input.h"

namespace relayout::tools {
namespace {

static_assert(LDBL_MANT_DIG >= 64, "long double holds every s64 and u64, which mixed comparisons rest on");

struct CompareOptions {
  std::string a, b, tensor_a, tensor_b;
  std::optional<std::string> from_a, from_b, dims, dims_a, dims_b, dtype_a, dtype_b, max_memory;
  RawOptions raw_a, raw_b;
  int threads = 0;
};

/// The wider type that a side is converted to, without loss.
DType carrier(DType dtype) {
  if (dtype == DType::s64 || dtype == DType::u64) return dtype;
  return DType::f64;
}

/// Texts of one value; each is at least as exact as the one before.
using Spellings = std::array<std::string, 3>;

struct FilesDifference {
  int64_t count = 0;
  std::optional<Dims> first;   // in row-major order of the logical index
  Spellings value_a, value_b;  // at the first
  double largest = 0;          // of the absolute differences of numbers
  bool nan = false;            // somewhere NaN stands against a number
};

template <typename T>
Spellings spellings(T value, DType dtype) {
  const auto all = [](const std::string& text) { return Spellings{text, text, text}; };
  if constexpr (std::is_integral_v<T>) {
    return all(fmt::format("{}", value));
  } else {
    if (std::isnan(value)) return all("nan");
    if (!is_floating(dtype)) return all(fmt::format("{}", static_cast<int64_t>(value)));
    // Narrow types are exact in f32, whose shortest form is the one people know.
    const std::string wide = fmt::format("{}", value);
    const std::string narrow = dtype == DType::f64 ? wide : fmt::format("{}", static_cast<float>(value));
    const bool whole = std::isfinite(value) && std::fabs(value) >= 0x1p53;
    return {narrow, wide, whole ? fmt::format("{:.0f}", value) : wide};
  }
}

/// The first spellings that read as two numbers: f32 0.1 and f64 0.1 differ, and so must their texts.
std::pair<std::string, std::string> distinct(const Spellings& a, const Spellings& b) {
  std::size_t level = 0;
  while (level + 1 < a.size() && std::strtold(a[level].c_str(), nullptr) == std::strtold(b[level].c_str(), nullptr)) {
    ++level;
  }
  return {a[level], b[level]};
}

template <typename T>
bool is_nan(T value) {
  if constexpr (std::is_floating_point_v<T>) return std::isnan(value);
  return false;
}

bool before(const Dims& a, const Dims& b) {
  return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end());
}

/// The logical index of element i of a part, which is row-major.
Dims index_in(const Slab& slab, int64_t i) {
  Dims index = slab.offsets;
  for (int d = index.size(); d-- > 0;) {
    index[d] += i % slab.dims[d];
    i /= slab.dims[d];
  }
  return index;
}

/// Elements [begin, end) of a part.
template <typename A, typename B>
FilesDifference compare_range(const A* a, const B* b, int64_t begin, int64_t end, const Slab& slab, DType type_a,
                              DType type_b) {
  // The type in which both are exact.
  using Wide = std::conditional_t<std::is_same_v<A, B>, A, long double>;
  FilesDifference out;
  for (int64_t i = begin; i < end; ++i) {
    if (static_cast<Wide>(a[i]) == static_cast<Wide>(b[i])) continue;
    const bool nan_a = is_nan(a[i]), nan_b = is_nan(b[i]);
    if (nan_a && nan_b) continue;
    if (nan_a || nan_b) {
      out.nan = true;
    } else {
      const long double apart = std::fabs(static_cast<long double>(a[i]) - static_cast<long double>(b[i]));
      out.largest = std::max(out.largest, static_cast<double>(apart));
    }
    if (out.count++ > 0) continue;
    out.first = index_in(slab, i);
    out.value_a = spellings(a[i], type_a);
    out.value_b = spellings(b[i], type_b);
  }
  return out;
}

void add(FilesDifference& to, const FilesDifference& from) {
  if (from.count == 0) return;
  if (!to.first || before(*from.first, *to.first)) {
    to.first = from.first;
    to.value_a = from.value_a;
    to.value_b = from.value_b;
  }
  to.count += from.count;
  to.largest = std::max(to.largest, from.largest);
  to.nan |= from.nan;
}

/// Compares one part. Each thread compares one range of it.
template <typename A, typename B>
void compare_slab(const A* a, const B* b, const Slab& slab, DType type_a, DType type_b, int threads,
                  FilesDifference& out) {
  static constexpr int64_t kLeastRange = 1 << 16;  // under which a thread costs more than it brings
  int64_t count = 1;
  for (int64_t extent : slab.dims) count *= extent;
  const int64_t ranges = std::clamp<int64_t>(count / kLeastRange, 1, threads);
  std::vector<FilesDifference> found(static_cast<std::size_t>(ranges));
  auto work = [&](int64_t range) {
    const int64_t begin = count / ranges * range, end = range + 1 == ranges ? count : begin + count / ranges;
    found[static_cast<std::size_t>(range)] = compare_range(a, b, begin, end, slab, type_a, type_b);
  };
  const auto body = [](void* state, int64_t begin, int64_t end) {
    for (int64_t range = begin; range < end; ++range) (*static_cast<decltype(work)*>(state))(range);
  };
  cpu::parallel_for({.threads = threads}, ranges, 1, body, &work);
  for (const FilesDifference& one : found) add(out, one);
}

/// One of the two files. load() gives its part in the wider type, in row-major order.
class ComparedFile {
 public:
  ComparedFile(TensorInput input, int threads) : input_(std::move(input)), threads_(threads) {}

  const TensorInput& input() const { return input_; }
  DType dtype() const { return input_.desc.dtype; }
  int threads() const { return threads_; }
  /// Bytes that load() takes for each element.
  int64_t scratch() const { return 8 + (input_.swap_item_bytes > 1 ? input_.swap_item_bytes : 0); }
  int64_t held() const { return input_.mapped ? 0 : static_cast<int64_t>(input_.bytes.size()); }
  const void* load(const Slab& slab) {
    const TensorDesc wide(Layout::contiguous(slab.dims), carrier(dtype()));
    values_.resize(static_cast<std::size_t>(wide.span_bytes()));
    cpu::reorder_slab(slab_source(input_), slab, wide, values_, {}, {.threads = threads_}, scratch_);
    if (input_.mapped) io::release_slab(slab_view(input_.desc, slab), input_.bytes);
    return values_.data();
  }

 private:
  TensorInput input_;
  int threads_;
  std::vector<std::byte> values_, scratch_;
};

/// Calls f with the values as the type they were widened to.
template <typename F>
void with_type(DType dtype, const void* values, F&& f) {
  switch (carrier(dtype)) {
    case DType::s64: return f(static_cast<const int64_t*>(values));
    case DType::u64: return f(static_cast<const uint64_t*>(values));
    default: return f(static_cast<const double*>(values));
  }
}

FilesDifference differences(ComparedFile& a, ComparedFile& b, int64_t max_memory) {
  static constexpr int64_t kDefaultMemory = int64_t{64} << 20;
  const SlabSide sides[] = {{&a.input().desc, a.input().mapped ? io::kReadGranule : 0},
                            {&b.input().desc, b.input().mapped ? io::kReadGranule : 0}};
  const int64_t held = a.held() + b.held();
  const int64_t room = max_memory > 0 ? max_memory - held : kDefaultMemory;
  const SlabGrid grid = make_slabs(a.input().desc.layout.dims(), sides, a.scratch() + b.scratch(), room);
  if (max_memory > 0) check_cap(grid, max_memory, held);
  const int threads = a.threads() > 0 ? a.threads() : cpu::default_threads();
  for (const ComparedFile* side : {&a, &b}) {
    if (side->input().mapped) io::map_small_pages(side->input().bytes, false);
  }
  FilesDifference out;
  Progress progress("comparing");
  for (int64_t i = 0; i < grid.count(); ++i) {
    const Slab slab = grid.slab(i);
    const void* values_a = a.load(slab);
    const void* values_b = b.load(slab);
    with_type(a.dtype(), values_a, [&](const auto* pa) {
      with_type(b.dtype(), values_b,
                [&](const auto* pb) { compare_slab(pa, pb, slab, a.dtype(), b.dtype(), threads, out); });
    });
    progress.update(static_cast<double>(i + 1), static_cast<double>(grid.count()));
  }
  return out;
}

/// JSON has no number for infinity and NaN, so they are written as strings.
Json json_number(const std::string& text) {
  return text.ends_with("inf") || text == "nan" ? Json(text) : Json::parse(text);
}

int report_dims(const Dims& a, const Dims& b, bool json) {
  if (json) {
    write_stdout(json_text({{"equal", false}, {"reason", "dims"}, {"dims_a", json_of(a)}, {"dims_b", json_of(b)}}));
  } else {
    write_stdout(fmt::format("dims differ: {} and {}\n", dims_text(a), dims_text(b)));
  }
  return kDiffers;
}

int report(const FilesDifference& difference, const ComparedFile& a, const ComparedFile& b, bool json) {
  const int64_t elements = a.input().desc.layout.elements();
  const bool equal = difference.count == 0;
  const auto [value_a, value_b] = distinct(difference.value_a, difference.value_b);
  if (json) {
    Json out = {{"equal", equal}};
    if (!equal) out["reason"] = "values";
    out["dims"] = json_of(a.input().desc.layout.dims());
    out["dtype_a"] = name(a.dtype());
    out["dtype_b"] = name(b.dtype());
    out["elements"] = elements;
    out["differing"] = difference.count;
    if (!equal) {
      out["first"] = {{"index", json_of(*difference.first)}, {"a", json_number(value_a)}, {"b", json_number(value_b)}};
      out["max_abs_difference"] = std::isfinite(difference.largest) ? Json(difference.largest) : Json("inf");
      out["nan_against_number"] = difference.nan;
    }
    write_stdout(json_text(out));
    return equal ? kOk : kDiffers;
  }
  if (equal) {
    write_stdout(fmt::format("equal: {} elements\n", elements));
    return kOk;
  }
  write_stdout(fmt::format("{} of {} elements differ\nfirst at {}: {} and {}\nlargest absolute difference {}{}\n",
                           difference.count, elements, join(*difference.first), value_a, value_b, difference.largest,
                           difference.nan ? ", and NaN against a number" : ""));
  return kDiffers;
}

/// Refuses --dims that are those of neither file, because both fix others.
void check_dims_are_of_one(const CompareOptions& options, const TensorInput& a, const TensorInput& b) {
  if (!options.dims) return;
  if (options.dims_a && options.dims_b) {
    usage_error("--dims: --dims-a and --dims-b say those of both files already", "--dims", escaped(*options.dims), "");
  }
  if ((!options.dims_a && a.dims_given) || (!options.dims_b && b.dims_given)) return;
  const std::string given = dims_text(dims_argument(*options.dims));
  std::string fixed = options.dims_a ? "" : "A is " + dims_text(a.buffer_dims);
  if (!options.dims_b) fixed += (fixed.empty() ? "" : " and ") + std::string("B is ") + dims_text(b.buffer_dims);
  throw Failure(kBadData,
                Error(ErrorCode::invalid_argument,
                      fmt::format("--dims {}: {}, as the files themselves say", given, fixed), "--dims", given, fixed));
}

int run_compare(const CompareOptions& options, bool json) {
  require_isa();
  if (options.a == "-" && options.b == "-") {
    usage_error("compare: A and B are both -, and standard input can be read only once; give a file for one of them",
                "B", "-", "a file");
  }
  const int64_t max_memory = max_memory_argument(options.max_memory);
  const bool own_dims = options.dims_a || options.dims_b;
  const auto open = [&](const std::string& path, const std::string& tensor, const auto& from, const auto& dims,
                        const auto& dtype, const RawOptions& raw, const std::string& suffix) {
    return ComparedFile(open_tensor({.path = path,
                                     .tensor = tensor,
                                     .layout = from,
                                     .dims = dims ? dims : options.dims,
                                     .dims_shared = !dims && options.dims,
                                     .dtype = dtype,
                                     .max_memory = max_memory,
                                     .raw = raw,
                                     .layout_flag = "--from-" + suffix,
                                     .dims_flag = dims || (own_dims && !options.dims) ? "--dims-" + suffix : "--dims",
                                     .dtype_flag = "--dtype-" + suffix,
                                     .flag_suffix = "-" + suffix}),
                        options.threads);
  };
  ComparedFile a =
      open(options.a, options.tensor_a, options.from_a, options.dims_a, options.dtype_a, options.raw_a, "a");
  ComparedFile b =
      open(options.b, options.tensor_b, options.from_b, options.dims_b, options.dtype_b, options.raw_b, "b");
  check_dims_are_of_one(options, a.input(), b.input());
  const Dims& dims_a = a.input().desc.layout.dims();
  const Dims& dims_b = b.input().desc.layout.dims();
  if (dims_a != dims_b) return report_dims(dims_a, dims_b, json);
  FilesDifference difference;
  if (!a.input().desc.layout.empty()) difference = differences(a, b, max_memory);
  return report(difference, a, b, json);
}

}  // namespace

Verb add_compare(CommandLine& line) {
  auto [command, json] =
      add_verb(line, "compare", "Compare the tensors of two files, whatever their layouts and types are",
               "  relayout compare x.npy y.npy --from-a nchw --from-b nhwc\n"
               "  relayout compare x.npy y.npy --from-a nchw --from-b nChw16c --dims 2,17,5,4\n"
               "  relayout compare x.npy x.bin --from-a nchw --from-b nchw --dims 2,3,5,4 --dtype-b f32\n"
               "  relayout compare x.bin part.npy --from-a \"nchw.narrow(1,8,8)\" --dims 2,16,5,4 --dtype-a f32\n"
               "The exit code is 0 where the tensors are equal and 1 where they differ. Values are compared exactly;\n"
               "NaN equals NaN, and -0 equals 0.");
  auto options = std::make_shared<CompareOptions>();
  command.add_option("A", options->a, "First file; - is standard input").required();
  command.add_option("B", options->b, "Second file; - is standard input").required();
  command.add_option("--from-a", options->from_a, "Layout of A; needed where the file does not record it");
  command.add_option("--from-b", options->from_b, "Layout of B, likewise");
  command.add_option("--dims", options->dims,
                     "Logical extents, before any views, of each tensor whose file does not fix them");
  command.add_option("--dims-a", options->dims_a, "Those of A, where B has others");
  command.add_option("--dims-b", options->dims_b, "Those of B, likewise");
  command.add_option("--dtype-a", options->dtype_a, "Element type of A; needed where the file does not record it");
  command.add_option("--dtype-b", options->dtype_b, "Element type of B, likewise");
  add_raw_options(command, options->raw_a, "-a");
  add_raw_options(command, options->raw_b, "-b");
  command.add_option("--tensor-a", options->tensor_a, "Name of the tensor in A");
  command.add_option("--tensor-b", options->tensor_b, "Name of the tensor in B");
  command.add_option("--threads", options->threads, kThreadRange, "Number of threads; 0, the default, is all");
  command.add_option("--max-memory", options->max_memory,
                     "Compare in parts that take about this much memory, for example 64M; at least 1M");
  return {command, [options, json = json] { return run_compare(*options, *json); }, json};
}

}  // namespace relayout::tools
