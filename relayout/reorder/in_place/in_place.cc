// The choice of methods for an in-place reorder, and its description.
#include "relayout/reorder/in_place.h"

#include <limits>
#include <string>

#include "relayout/core/format.h"
#include "relayout/reorder/cast.h"
#include "relayout/reorder/in_place/steps.h"
#include "relayout/reorder/refine/refine.h"

namespace relayout {
namespace {

constexpr int64_t kDefaultScratch = 1 << 20;
constexpr int64_t kNone = std::numeric_limits<int64_t>::max();

template <typename... F>
struct Overloaded : F... {
  using F::operator()...;
};
// Clang deduces aggregates only from version 17 on.
template <typename... F>
Overloaded(F...) -> Overloaded<F...>;

/// Whether every element has the same place in the source and in the destination.
bool same_places(const TensorDesc& src, const TensorDesc& dst) {
  Tables tables;
  const Dims zero(src.layout.ndims(), 0);
  for (const Box& box :
       refine(src.layout, dst.layout, no_attributes(src.layout.ndims()), zero, src.layout.dims(), tables)) {
    if (box.offset[kSrc] != box.offset[kDst]) return false;
    for (const Axis& axis : box.axes) {
      if (axis.table >= 0 || axis.stride[kSrc] != axis.stride[kDst]) return false;
    }
  }
  return true;
}

/// A plan for each region of the padding, which broadcasts one element to it. Nothing where a region needs a table.
std::optional<std::vector<Plan>> make_fills(const TensorDesc& dst) {
  std::vector<Plan> out;
  Tables tables;
  for (Box& box : refine_padding(dst.layout, 0, tables)) {
    if (!tables.empty()) return std::nullopt;
    simplify(box);
    Digits digits;
    int64_t extent = 1;
    for (std::size_t k = box.axes.size(); k-- > 0;) {
      digits.push_back({box.axes[k].extent, box.axes[k].stride[kDst]});
      extent *= box.axes[k].extent;
    }
    if (digits.empty()) digits.push_back({1, 0});
    Attributes keep;
    keep.padding = Padding::keep();
    const Layout region = Layout::from_digits(Dims{extent}, std::span(&digits, 1), box.offset[kDst]);
    out.push_back(Plan::make({Layout::strided(Dims{extent}, Dims{0}), dst.dtype}, {region, dst.dtype}, keep));
  }
  return out;
}

std::string text_of(const TensorDesc& desc) {
  const auto tag = tag_of(desc.layout);
  return std::string(name(desc.dtype)) + " " + (tag ? *tag : "strided");
}

std::string shape_text(const Dims& dims) { return dims.empty() ? "a scalar" : join(dims, "x"); }

[[noreturn]] void refuse_in_place(const TensorDesc& src, const TensorDesc& dst, bool converts, int64_t need,
                                  int64_t allowed) {
  std::string message = "in-place reorder of " + shape_text(src.layout.dims()) + ", " + text_of(src) + " -> " +
                        text_of(dst) + ": no plan with " + std::to_string(allowed) + " bytes of scratch: ";
  message += converts ? "values are converted, and parts of the tensor that lie apart on both sides are too large"
                      : "no parts of the tensor that lie apart on both sides are small enough, and it is no one "
                        "permutation of equal runs";
  message += need == kNone ? "" : "; " + std::to_string(need) + " bytes would do";
  throw Error(ErrorCode::unsupported, message, "max_scratch_bytes", std::to_string(allowed),
              need == kNone ? "" : std::to_string(need));
}

/// Chooses the steps. The first of these methods that is possible is taken: staging parts that fit the second-level
/// cache, exchanging pairs of tiles, staging parts that fit the scratch, and cycles.
std::vector<InPlaceStep> choose_steps(const TensorDesc& src, const TensorDesc& dst, const Attributes& attributes,
                                      bool converts, int64_t max_scratch_bytes) {
  const int64_t staged_limit = max_scratch_bytes > 0 ? max_scratch_bytes : kDefaultScratch;
  const int64_t bytes = std::max(src.span_bytes(), dst.span_bytes());
  const int64_t cycles_limit = max_scratch_bytes > 0 ? max_scratch_bytes : std::max(kDefaultScratch, bytes / 8 + 64);
  int64_t need = kNone;
  std::vector<InPlaceStep> out;
  auto staged = make_staged(src, dst, attributes, staged_limit, need);
  if (staged && scratch_bytes(*staged) <= kStagedTarget) {
    out.emplace_back(std::move(*staged));
    return out;
  }
  const auto box = converts ? std::nullopt : byte_box(src, dst);
  if (auto swap = box ? make_swap(*box, staged_limit) : std::nullopt) {
    out.emplace_back(std::move(*swap));
  } else if (staged) {
    out.emplace_back(std::move(*staged));
  } else if (box) {
    out = make_cycles(*box, staged_limit, cycles_limit, need);
  }
  if (out.empty()) refuse_in_place(src, dst, converts, need, converts ? staged_limit : cycles_limit);
  return out;
}

}  // namespace

InPlacePlan::InPlacePlan() {
  static const auto kNothing = std::make_shared<const InPlaceData>();
  data_ = kNothing;
}

InPlacePlan InPlacePlan::make(const TensorDesc& src, const TensorDesc& dst, const Attributes& attributes,
                              const InPlaceOptions& options) {
  if (attributes.indexed()) {
    throw Error(ErrorCode::unsupported,
                "in-place reorder: a reorder through index tables needs a destination of its own", "attributes",
                "src_index or dst_index", "none");
  }
  if (attributes.beta != 0) {
    throw Error(ErrorCode::invalid_argument, "in-place reorder: beta is not 0, but there is no old destination to add",
                "beta", std::to_string(attributes.beta), "0");
  }
  if (dst.layout.ndims() == 0 && (src.layout.padded() || dst.layout.padded())) {
    return make({src.layout.as_vector(), src.dtype}, {dst.layout.as_vector(), dst.dtype}, attributes, options);
  }
  const bool converts = Plan::make(src, dst, attributes).converts();  // and its errors
  auto made = std::make_shared<InPlaceData>();
  InPlaceData& plan = *made;
  plan.src = src;
  plan.dst = dst;
  if (dst.layout.empty()) return InPlacePlan(std::move(made));
  const bool fills = attributes.padding.kind == Padding::Kind::value && dst.layout.padded();
  const bool whole_bytes = bits(dst.dtype) >= 8;
  if (!converts && (whole_bytes || !fills) && same_places(src, dst)) {
    // Nothing moves.
  } else {
    plan.steps = choose_steps(src, dst, attributes, converts, options.max_scratch_bytes);
    const auto* staged = std::get_if<StagedStep>(&plan.steps[0]);
    if (staged && staged->pads) return InPlacePlan(std::move(made));
  }
  if (!fills) return InPlacePlan(std::move(made));
  plan.fill_bits = padding_bits(attributes.padding.value, dst.dtype);
  auto regions = make_fills(dst);
  if (!regions) {
    throw Error(ErrorCode::unsupported, "in-place reorder: the padding of " + text_of(dst) + " is in too many pieces");
  }
  plan.fills = std::move(*regions);
  return InPlacePlan(std::move(made));
}

int64_t turns(std::span<const InPlaceLoop> loops) {
  int64_t out = 1;
  for (const InPlaceLoop& loop : loops) out *= loop.count;
  return out;
}

int64_t scratch_bytes(const InPlaceStep& step) {
  const auto of_plans = [](std::span<const Plan> plans) {
    int64_t most = 0;
    for (const Plan& plan : plans) most = std::max(most, plan.src().span_bytes());
    return most;
  };
  const auto of_saves = [](std::span<const Plan> plans) {
    int64_t most = 0;
    for (const Plan& plan : plans) most = std::max(most, plan.dst().span_bytes());
    return most;
  };
  return std::visit(Overloaded{[&](const StagedStep& s) { return of_plans(s.plans); },
                               [&](const SwapStep& s) { return of_saves(s.save); },
                               [](const CycleStep& s) { return ceil_div(s.units, 64) * 8 + s.unit; },
                               [](const MergeStep& s) { return s.rows * s.tail_bytes; }},
                    step);
}

int64_t parallel_parts(const InPlaceStep& step) {
  return std::visit(Overloaded{[](const StagedStep& s) { return s.independent ? turns(s.loops) : int64_t{1}; },
                               [](const SwapStep& s) { return turns(s.loops) * (s.tiles() * (s.tiles() + 1) / 2); },
                               [](const auto& s) { return turns(s.loops); }},
                    step);
}

const TensorDesc& InPlacePlan::src() const { return data_->src; }
const TensorDesc& InPlacePlan::dst() const { return data_->dst; }
int64_t InPlacePlan::buffer_bytes() const { return std::max(src().span_bytes(), dst().span_bytes()); }

int64_t InPlacePlan::scratch_bytes(int threads) const {
  int64_t most = 0;
  for (const InPlaceStep& step : data_->steps) {
    const int64_t at_once = std::clamp<int64_t>(threads, 1, parallel_parts(step));
    most = std::max(most, relayout::scratch_bytes(step) * at_once);
  }
  return most;
}

std::string InPlacePlan::method() const {
  std::string out;
  for (const InPlaceStep& step : data_->steps) {
    static constexpr const char* kNames[] = {"staged", "swap", "cycles", "merge"};
    out += (out.empty() ? "" : ", ") + std::string(kNames[step.index()]);
  }
  return out.empty() ? "nothing" : out;
}

std::string InPlacePlan::explain() const {
  std::string out = "in-place reorder of " + shape_text(src().layout.dims()) + "\n  from  " + text_of(src()) +
                    "\n  to    " + text_of(dst()) + "\n";
  const auto number = [](int64_t n) { return std::to_string(n); };
  const auto parts = [&](std::span<const InPlaceLoop> loops) {
    return number(turns(loops)) + (turns(loops) == 1 ? " part" : " parts");
  };
  for (const InPlaceStep& step : data_->steps) {
    const std::string bytes = number(relayout::scratch_bytes(step));
    out += std::visit(Overloaded{[&](const StagedStep& s) {
                                   const char* order = s.independent || turns(s.loops) == 1 ? ""
                                                       : s.backwards                        ? ", the last part first"
                                                                                            : ", the first part first";
                                   return "  staged: " + parts(s.loops) + " of up to " + bytes + " bytes" + order;
                                 },
                                 [&](const SwapStep& s) {
                                   return "  swap: " + parts(s.loops) + " of " + number(s.extent) + " x " +
                                          number(s.extent) + ", tiles of " + number(s.tile) + " x " + number(s.tile);
                                 },
                                 [&](const CycleStep& s) {
                                   return "  cycles: " + parts(s.loops) + " of " + number(s.units) + " runs of " +
                                          number(s.unit) + " bytes";
                                 },
                                 [&](const MergeStep& s) {
                                   return "  merge: " + parts(s.loops) + " of " + number(s.rows) + " rows of " +
                                          number(s.row_bytes) + " and " + number(s.tail_bytes) +
                                          (s.split ? " bytes, taken apart" : " bytes, put together");
                                 }},
                      step);
    out += "; scratch " + bytes + " bytes a thread\n";
  }
  if (data_->steps.empty()) out += "  nothing moves\n";
  if (!data_->fills.empty()) out += "  padding is set last\n";
  return out + "  buffer " + number(buffer_bytes()) + " bytes, scratch " + number(scratch_bytes());
}

}  // namespace relayout
