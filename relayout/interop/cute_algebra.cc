// CuTe's algebra: coalesce, compose, complement and the inverses, over lists of modes: see cute.h.
#include <algorithm>
#include <numeric>

#include "relayout/interop/cute.h"
#include "relayout/interop/cute_modes.h"

namespace relayout::cute {
namespace {

/// One composition: the modes of a, and how far the digits of b so far reach together along each of them.
struct Composition {
  Modes a;
  std::vector<int64_t> reached;

  explicit Composition(const Layout& layout) : a(coalesced(layout)), reached(a.size(), 0) {}

  /// The digits of a after one digit of b, which is split where modes of a end.
  void add(const Digit& b, int d, Modes& out) {
    if (b.extent == 1) return;
    if (b.stride == 0) {
      out.push_back(b);
      return;
    }
    Digit rest = b;
    for (std::size_t k = 0; k + 1 < a.size() && rest.extent > 1; ++k) {
      const int64_t extent = a[k].extent;
      const auto last = checked_mul(rest.extent - 1, rest.stride);
      if (last && *last < extent) {  // all that is left fits into this mode
        take(k, rest, rest.extent, out);
        return;
      }
      if (rest.stride % extent == 0) {
        rest.stride /= extent;
        continue;
      }
      if (extent % rest.stride != 0) no_stride(b, d, rest, a[k]);
      const int64_t part = extent / rest.stride;
      if (rest.extent % part != 0) no_shape(b, d, rest, part, a[k]);
      take(k, rest, part, out);
      rest = {rest.extent / part, 1};
    }
    if (rest.extent > 1) out.push_back({rest.extent, product_of(rest.stride, a.back().stride, "compose")});
  }

  void take(std::size_t k, const Digit& rest, int64_t part, Modes& out) {
    out.push_back({part, product_of(rest.stride, a[k].stride, "compose")});
    reached[k] = checked_add(reached[k], (part - 1) * rest.stride).value_or(std::numeric_limits<int64_t>::max());
  }

  /// A step of b adds the same everywhere only if no digit of b carries what others add up to into the next mode of a.
  void check_carries() const {
    for (std::size_t k = 0; k + 1 < a.size(); ++k) {
      if (reached[k] < a[k].extent) continue;
      refuse("compose",
             "the modes of b together reach " + std::to_string(reached[k]) + " in mode " + std::to_string(k) + " (" +
                 mode_text(a[k]) + ") of coalesce(a), which ends at " + std::to_string(a[k].extent - 1) +
                 ", so that a(b(i)) is no sum over the modes of b",
             "b", std::to_string(reached[k]), std::to_string(a[k].extent - 1));
    }
  }

  [[noreturn]] static void no_stride(const Digit& b, int d, const Digit& rest, const Digit& mode) {
    refuse("compose",
           "stride divisibility: mode " + std::to_string(d) + " of b has " + mode_text(b) + ", whose step is " +
               std::to_string(rest.stride) + " in the mode " + mode_text(mode) + " of coalesce(a); neither of " +
               std::to_string(rest.stride) + " and " + std::to_string(mode.extent) + " divides the other",
           "b[" + std::to_string(d) + "]", std::to_string(rest.stride), std::to_string(mode.extent));
  }

  [[noreturn]] static void no_shape(const Digit& b, int d, const Digit& rest, int64_t part, const Digit& mode) {
    refuse("compose",
           "shape divisibility: mode " + std::to_string(d) + " of b has " + mode_text(b) + ", of which " +
               std::to_string(part) + " steps fill the mode " + mode_text(mode) + " of coalesce(a), and " +
               std::to_string(part) + " does not divide the " + std::to_string(rest.extent) + " that are left",
           "b[" + std::to_string(d) + "]", std::to_string(rest.extent), std::to_string(part));
  }
};

/// Modes in the order of their strides, those of one stride in their own order; each with its place among all indices.
struct Placed {
  Digit mode;
  int64_t place;
};
std::vector<Placed> by_stride(const Modes& modes) {
  std::vector<Placed> out;
  int64_t place = 1;
  for (const Digit& mode : modes) {
    out.push_back({mode, place});
    place *= mode.extent;
  }
  std::ranges::stable_sort(out, {}, [](const Placed& placed) { return placed.mode.stride; });
  return out;
}

}  // namespace

void check_operand(const Layout& layout, const std::string& operation, const std::string& which) {
  check_no_padding(layout, operation, false);
  for (int d = 0; d < layout.ndims(); ++d) {
    if (layout.dim(d) > 0) continue;
    refuse(operation, "dim " + std::to_string(d) + " of " + which + " has no elements",
           "dims[" + std::to_string(d) + "]", "0", "1 or more");
  }
}

int64_t product_of(int64_t a, int64_t b, const std::string& operation) {
  if (const auto out = checked_mul(a, b)) return *out;
  throw Error(ErrorCode::overflow,
              "cute: " + operation + ": " + std::to_string(a) + " * " + std::to_string(b) + " does not fit 63 bits",
              "stride", std::to_string(a) + " * " + std::to_string(b),
              std::to_string(std::numeric_limits<int64_t>::max()));
}

std::vector<Modes> dims_of(const Layout& layout) {
  std::vector<Modes> out(static_cast<std::size_t>(layout.ndims()));
  for (int d = 0; d < layout.ndims(); ++d) {
    for (const Digit& digit : layout.digits(d)) {
      if (digit.extent > 1) out[static_cast<std::size_t>(d)].push_back(digit);
    }
  }
  return out;
}

Modes joined(const std::vector<Modes>& parts) {
  Modes out;
  for (const Modes& part : parts) out.insert(out.end(), part.begin(), part.end());
  return out;
}

Modes coalesced(Modes modes) {
  Modes out;
  for (const Digit& mode : modes) {
    if (mode.extent == 1) continue;
    // A Layout's strides times its extents fit 64 bits.
    if (!out.empty() && out.back().extent * out.back().stride == mode.stride) {
      out.back().extent *= mode.extent;
    } else {
      out.push_back(mode);
    }
  }
  if (out.empty()) out.push_back({1, 0});
  return out;
}

Modes coalesced(const Layout& layout) { return coalesced(joined(dims_of(layout))); }

Layout layout_of_modes(const std::vector<Modes>& dims, const std::string& operation) {
  std::size_t digits = 0;
  for (const Modes& modes : dims) digits += std::max<std::size_t>(modes.size(), 1);
  if (dims.size() > static_cast<std::size_t>(kMaxDims) || digits > static_cast<std::size_t>(kMaxDigits)) {
    throw Error(ErrorCode::limit,
                "cute: " + operation + ": the result has " + std::to_string(dims.size()) + " modes and " +
                    std::to_string(digits) + " integers in them; a layout has at most " + std::to_string(kMaxDims) +
                    " dims and " + std::to_string(kMaxDigits) + " digits",
                "dims", std::to_string(dims.size()), std::to_string(kMaxDims));
  }
  Dims extents;
  std::vector<Digits> out;
  for (const Modes& modes : dims) {
    Digits list;
    int64_t extent = 1;
    for (const Digit& mode : modes) {
      list.push_back(mode);
      extent = product_of(extent, mode.extent, operation);
    }
    if (list.empty()) list.push_back({1, 0});
    extents.push_back(extent);
    out.push_back(list);
  }
  return Layout::from_digits(extents, out);
}

Layout layout_of_dims(const Modes& modes, const std::string& operation) {
  std::vector<Modes> dims;
  for (const Digit& mode : modes) dims.push_back({mode});
  return layout_of_modes(dims, operation);
}

int64_t size(const Layout& layout) { return layout.elements(); }

int64_t cosize(const Layout& layout) {
  check_operand(layout, "cosize", "the layout");
  return layout.span();
}

int64_t apply(const Layout& layout, int64_t i) {
  check_operand(layout, "apply", "the layout");
  if (i < 0) {
    throw Error(ErrorCode::invalid_argument, "cute: apply: i is " + std::to_string(i), "i", std::to_string(i),
                "0 or more");
  }
  const Modes modes = coalesced(layout);
  const int64_t given = i;
  int64_t out = 0;
  for (std::size_t k = 0; k + 1 < modes.size(); ++k) {
    out += i % modes[k].extent * modes[k].stride;
    i /= modes[k].extent;
  }
  const int64_t outer = product_of(i, modes.back().stride, "apply");
  const auto sum = checked_add(out, outer);
  if (!sum) {
    throw Error(ErrorCode::overflow,
                "cute: apply: the offset of " + std::to_string(given) + ", " + std::to_string(out) + " + " +
                    std::to_string(outer) + ", does not fit 63 bits",
                "i", std::to_string(given), std::to_string(std::numeric_limits<int64_t>::max()));
  }
  return *sum;
}

Layout coalesce(const Layout& layout) {
  check_operand(layout, "coalesce", "the layout");
  return layout_of_dims(coalesced(layout), "coalesce");
}

std::vector<Modes> composed(const Layout& a, const std::vector<Modes>& b) {
  Composition composition(a);
  std::vector<Modes> out(b.size());
  for (std::size_t d = 0; d < b.size(); ++d) {
    for (const Digit& digit : b[d]) composition.add(digit, static_cast<int>(d), out[d]);
  }
  composition.check_carries();
  return out;
}

Layout compose(const Layout& a, const Layout& b) {
  check_operand(a, "compose", "a");
  check_operand(b, "compose", "b");
  return layout_of_modes(composed(a, dims_of(b)), "compose");
}

Modes complement_of(const Layout& a, int64_t cosize) {
  if (cosize < 1) {
    throw Error(ErrorCode::invalid_argument, "cute: complement: the cosize is " + std::to_string(cosize), "cosize",
                std::to_string(cosize), "1 or more");
  }
  Modes out;
  int64_t covered = 1;
  for (const auto& [mode, place] : by_stride(coalesced(a))) {
    if (mode.stride == 0) continue;
    if (mode.stride < covered) {
      refuse("complement",
             "the mode " + mode_text(mode) + " of coalesce(a) lies within the " + std::to_string(covered) +
                 " offsets that the modes of smaller strides cover",
             "a", std::to_string(mode.stride), std::to_string(covered));
    }
    out.push_back({mode.stride / covered, covered});
    covered = product_of(mode.stride, mode.extent, "complement");
  }
  out.push_back({ceil_div(cosize, covered), covered});
  return coalesced(out);
}

Layout complement(const Layout& a, int64_t cosize) {
  check_operand(a, "complement", "a");
  return layout_of_dims(complement_of(a, cosize), "complement");
}

Layout right_inverse(const Layout& layout) {
  check_operand(layout, "right_inverse", "the layout");
  Modes out;
  int64_t next = 1;
  for (const auto& [mode, place] : by_stride(coalesced(layout))) {
    if (mode.stride != next || mode.extent == 1) continue;
    out.push_back({mode.extent, place});
    next = mode.stride * mode.extent;
  }
  return layout_of_dims(coalesced(out), "right_inverse");
}

Layout left_inverse(const Layout& layout) {
  check_operand(layout, "left_inverse", "the layout");
  Modes out;
  int64_t place_before = 0;  // the gaps before the first mode lead nowhere
  Digit before{1, 1};
  for (const auto& [mode, place] : by_stride(coalesced(layout))) {
    if (mode.stride == 0) continue;
    if (mode.stride % before.stride != 0 || mode.stride / before.stride < before.extent) {
      refuse("left_inverse",
             "the stride " + std::to_string(mode.stride) + " of the mode " + mode_text(mode) +
                 " must be a multiple of " + std::to_string(before.stride) + ", and at least the " +
                 std::to_string(before.stride * before.extent) + " offsets that the mode " + mode_text(before) +
                 " covers",
             "layout", std::to_string(mode.stride), std::to_string(before.stride * before.extent));
    }
    out.push_back({mode.stride / before.stride, place_before});
    place_before = place;
    before = mode;
  }
  // Where all strides are 0, every offset is 0 and so is every index.
  if (out.empty()) return layout_of_dims({{layout.elements(), 0}}, "left_inverse");
  out.push_back({before.extent, place_before});
  return layout_of_dims(coalesced(out), "left_inverse");
}

}  // namespace relayout::cute
