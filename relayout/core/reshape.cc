// Splitting and merging dims, and the reshape that frameworks call view: where it exists, and the copy where it does
// not.
#include <algorithm>
#include <cstdlib>
#include <limits>

#include "relayout/core/decide.h"
#include "relayout/core/view.h"
#include "relayout/core/view_parts.h"

namespace relayout {
namespace {

/// `dims` with a -1 replaced so that the product is `elements`.
Dims inferred(const char* view, Dims dims, int64_t elements) {
  int unknown = -1;
  Dims known;
  for (int d = 0; d < dims.size(); ++d) {
    if (dims[d] == -1 && unknown < 0) {
      unknown = d;
    } else if (dims[d] < 0) {
      throw Error(ErrorCode::invalid_argument,
                  std::string(view) + ": dim " + std::to_string(d) + " is " + std::to_string(dims[d]),
                  "dims[" + std::to_string(d) + "]", std::to_string(dims[d]), "0 or more, or one -1");
    } else {
      known.push_back(dims[d]);
    }
  }
  const auto product = checked_product(known);
  const bool fits = product && (unknown < 0 ? *product == elements : *product != 0 && elements % *product == 0);
  if (!fits)
    throw Error(ErrorCode::invalid_argument,
                std::string(view) + ": dims " + join(dims) + " do not hold " + std::to_string(elements) + " elements",
                "dims", join(dims), std::to_string(elements));
  if (unknown >= 0) dims[unknown] = elements / *product;
  return dims;
}

}  // namespace

Layout split(const Layout& layout, int d, const Dims& parts) {
  d = checked_dim("split", d, layout.ndims());
  if (parts.empty()) throw Error(ErrorCode::invalid_argument, "split: no parts", "parts", "", "1 or more");
  const Dims extents = inferred("split", parts, layout.dim(d));
  LayoutParts out(layout);
  Digits rest = out.digits[static_cast<std::size_t>(d)];
  out.erase(d);
  for (int k = extents.size() - 1; k >= 0; --k) {
    Digits below, above;
    if (layout.dim(d) == 0) {
      below = {{extents[k], 0}};
    } else if (k == 0) {
      below = rest;
    } else if (!cut(rest, extents[k], &below, &above)) {
      needs_copy("split: parts " + join(extents) + " of dim " + std::to_string(d) + " cut a digit; copy it first",
                 std::to_string(d));
    }
    if (below.empty()) below = {{1, 0}};
    if (above.empty()) above = {{1, 0}};
    out.insert(d, extents[k], below);
    rest = above;
  }
  return out.layout();
}

Layout merge(const Layout& layout, int first, int last) {
  first = checked_dim("merge", first, layout.ndims());
  last = checked_dim("merge", last, layout.ndims());
  if (first > last)
    throw Error(ErrorCode::invalid_argument, "merge: dims " + std::to_string(first) + ".." + std::to_string(last),
                "dims", std::to_string(first), std::to_string(last));
  LayoutParts out(layout);
  Digits digits;
  int64_t extent = 1;
  for (int d = last; d >= first; --d) {
    if (d > first && layout.capacity(d) != layout.dim(d)) {
      needs_copy("merge: dim " + std::to_string(d) + " is padded from " + std::to_string(layout.dim(d)) + " to " +
                     std::to_string(layout.capacity(d)) + "; copy it first",
                 std::to_string(d));
    }
    for (const Digit& digit : out.digits[static_cast<std::size_t>(d)]) {
      if (digit.extent != 1 || d == first) digits.push_back(digit);
    }
    const auto next = checked_mul(extent, layout.dim(d));
    if (!next)
      throw Error(ErrorCode::overflow,
                  "merge: dims " + std::to_string(first) + ".." + std::to_string(last) + " together overflow 64 bits",
                  "dims[" + std::to_string(d) + "]", std::to_string(layout.dim(d)), "9223372036854775807");
    extent = *next;
    if (d > first) out.erase(d);
  }
  if (layout.empty()) digits = {{extent, 0}};
  out.dims[first] = extent;
  out.digits[static_cast<std::size_t>(first)] = digits;
  return out.layout();
}

namespace {

/// A run of old dims and a run of new dims with the same number of elements.
struct DimGroup {
  int old_begin, old_end, new_begin, new_end;
};

/// Says for an error message which old dims of a group cannot be viewed as the new ones, such as "1 and 2, 3
/// (blocked)"; empty if all can. A dim with blocks or padding cannot. Neither can two neighbouring dims that do not
/// continue each other in memory, unless a new dim ends between them. Dims of extent 1 never stand in the way.
std::string blocking_axes(const Layout& simple, const Dims& want, const DimGroup& group) {
  std::string out;
  const auto add = [&](const std::string& what) { out += (out.empty() ? "" : ", ") + what; };
  int64_t inner = 1;  // elements of the old dims inside d
  int64_t next = 0;   // the stride with which dim d would continue run_dim in memory
  int run_dim = -1;
  for (int d = group.old_end - 1; d >= group.old_begin; --d) {
    if (simple.dim(d) == 1) continue;
    const auto digits = simple.digits(d);
    if (digits.size() > 1 || simple.capacity(d) != simple.dim(d)) {
      add(std::to_string(d) + (digits.size() > 1 ? " (blocked)" : " (padded)"));
    } else if (run_dim >= 0 && digits[0].stride != next) {
      int64_t tail = 1;
      for (int k = group.new_end; k > group.new_begin && tail < inner;) tail *= want[--k];
      if (tail != inner) add(std::to_string(d) + " and " + std::to_string(run_dim));
    }
    // Nothing continues memory behind the largest offset, so a product that overflows is no dim's stride.
    next = checked_mul(digits[0].stride, digits[0].extent).value_or(std::numeric_limits<int64_t>::min());
    run_dim = d;
    inner *= simple.dim(d);
  }
  return out;
}

/// The digits of a group's old dims, innermost first, where those that continue each other in memory are one. Nothing
/// where a dim is padded.
std::optional<Digits> group_digits(const Layout& simple, const DimGroup& group) {
  Digits out;
  for (int d = group.old_end - 1; d >= group.old_begin; --d) {
    if (simple.dim(d) == 1) continue;
    if (simple.capacity(d) != simple.dim(d)) return std::nullopt;
    for (const Digit& digit : simple.digits(d)) {
      if (!out.empty() && digit.stride == checked_mul(out.back().stride, out.back().extent)) {
        out.back().extent *= digit.extent;
      } else {
        out.push_back(digit);
      }
    }
  }
  return out;
}

/// Adds the new dims of a group, each of which gets one stride. False where one of them would need several.
bool split_group(const Layout& simple, const Dims& want, const DimGroup& group, LayoutParts& out) {
  std::optional<Digits> digits = group_digits(simple, group);
  if (!digits) return false;
  const int at = out.dims.size();
  for (int k = group.new_end - 1; k >= group.new_begin; --k) {
    Digits below, above;
    if (want[k] == 1) {
      out.insert(at, 1, {{1, digits->empty() ? 1 : (*digits)[0].stride}});
    } else if (cut(*digits, want[k], &below, &above) && below.size() == 1) {
      out.insert(at, want[k], below);
      digits = above;
    } else {
      return false;
    }
  }
  return true;
}

/// The groups of a view, first to last. Dims of extent 1 outside of them are groups with one dim or none on either
/// side.
std::vector<DimGroup> groups_of(const Layout& layout, const Dims& want) {
  std::vector<DimGroup> out;
  const auto old_is = [&](int d, bool unit) { return d < layout.ndims() && (layout.dim(d) == 1) == unit; };
  const auto new_is = [&](int k, bool unit) { return k < want.size() && (want[k] == 1) == unit; };
  for (int from = 0, to = 0; from < layout.ndims() || to < want.size();) {
    DimGroup group{from, from, to, to};
    if (new_is(to, true)) {  // a new dim of 1 replaces an old dim of 1 if that is next; else it is added
      group.old_end += old_is(from, true);
      group.new_end += 1;
    } else if (old_is(from, true)) {
      group.old_end += 1;
    } else {
      int64_t old_size = 1, new_size = 1;
      do {
        if (new_size <= old_size) {
          new_size *= want[group.new_end++];
        } else {
          old_size *= layout.dim(group.old_end++);
        }
      } while (old_size != new_size);
    }
    out.push_back(group);
    from = group.old_end, to = group.new_end;
  }
  return out;
}

/// The merges and splits that give the new dims several digits each, as views of an expression are written:
/// "merge(0,1)" or "merge(0,1).split(0,4,8)"; empty where these need a copy, too.
std::string merges_and_splits(const Layout& layout, const Dims& want, const std::vector<DimGroup>& groups) {
  std::string out;
  const auto add = [&](const std::string& step) { out += (out.empty() ? "" : ".") + step; };
  Layout view = layout;
  try {
    // From the last group to the first, so that the dims of those before keep their numbers.
    for (std::size_t g = groups.size(); g-- > 0;) {
      const DimGroup& group = groups[g];
      const int old_dims = group.old_end - group.old_begin, new_dims = group.new_end - group.new_begin;
      const std::string first = std::to_string(group.old_begin);
      if (old_dims > 1) {
        view = merge(view, group.old_begin, group.old_end - 1);
        add("merge(" + first + "," + std::to_string(group.old_end - 1) + ")");
      }
      if (new_dims > 1) {
        Dims parts;
        for (int k = group.new_begin; k < group.new_end; ++k) parts.push_back(want[k]);
        view = split(view, group.old_begin, parts);
        add("split(" + first + "," + join(parts) + ")");
      }
      if (old_dims == 0) view = unsqueeze(view, group.old_begin), add("unsqueeze(" + first + ")");
      if (new_dims == 0) view = squeeze(view, group.old_begin), add("squeeze(" + first + ")");
    }
  } catch (const Error&) {
    return "";
  }
  return out;
}

/// Says why a view needs a copy.
[[noreturn]] void refuse_view(const Layout& layout, const Layout& simple, const Dims& want,
                              const std::vector<DimGroup>& groups, const DimGroup& group) {
  const std::string blocking = blocking_axes(simple, want, group);
  const std::string steps = merges_and_splits(layout, want, groups);
  needs_copy("view: dims " + join(layout.dims()) + " do not become " + join(want) + " without a copy: " +
                 (blocking.empty() ? "the new ones cut a stride" : "axes " + blocking + " stand in the way") +
                 (steps.empty() ? "" : "; " + steps + " gives these dims, with several strides a dim"),
             blocking);
}

}  // namespace

Layout view(const Layout& layout, const Dims& dims) {
  if (layout.swizzled()) return under_swizzle(layout, [&](const Layout& plain) { return view(plain, dims); });
  const Dims want = inferred("view", dims, layout.elements());
  if (layout.empty()) return Layout::strided(want, Dims(want.size(), 0), layout.offset0());
  const Layout simple = layout.canonical();
  LayoutParts out(layout);
  out.dims = {};
  out.digits.clear();
  const std::vector<DimGroup> groups = groups_of(layout, want);
  for (const DimGroup& group : groups) {
    const int old_dims = group.old_end - group.old_begin, new_dims = group.new_end - group.new_begin;
    if (new_dims == 0) continue;
    if (old_dims == 0) {
      out.insert(out.dims.size(), 1, Digits{{1, 1}});
    } else if (old_dims == 1 && new_dims == 1) {  // the same dim: blocks and padding may stay
      out.insert(out.dims.size(), want[group.new_begin], layout.digits_of(group.old_begin));
    } else if (!split_group(simple, want, group, out)) {
      refuse_view(layout, simple, want, groups, group);
    }
  }
  return out.layout();
}

Layout flatten(const Layout& layout, int first, int last) {
  if (layout.ndims() == 0) return view(layout, {1});
  first = checked_dim("flatten", first, layout.ndims());
  last = checked_dim("flatten", last, layout.ndims());
  if (first > last)
    throw Error(ErrorCode::invalid_argument,
                "flatten: dim " + std::to_string(first) + " stands behind dim " + std::to_string(last), "dims",
                std::to_string(first), std::to_string(last));
  if (first == last) return layout;
  Dims dims = layout.dims();
  const auto joined = checked_product(std::span<const int64_t>(dims).subspan(
      static_cast<std::size_t>(first), static_cast<std::size_t>(last - first + 1)));
  if (!joined)
    throw Error(ErrorCode::overflow,
                "flatten: dims " + std::to_string(first) + ".." + std::to_string(last) + " together overflow 64 bits",
                "dims[" + std::to_string(first) + "]", std::to_string(dims[first]), "9223372036854775807");
  dims[first] = *joined;
  for (int d = last; d > first; --d) dims.erase(d);
  return view(layout, dims);
}

Viewable viewable(const Layout& layout, const Dims& dims) {
  Viewable out;
  try {
    out.view = view(layout, dims);
    return out;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::needs_copy) throw;
  }
  const Dims want = inferred("view", dims, layout.elements());
  const Layout simple = layout.plain().canonical();
  // Within a group the copy is row-major. The groups keep the order that their smallest strides have in memory.
  std::vector<std::pair<int64_t, DimGroup>> by_stride;
  for (const DimGroup& group : groups_of(layout, want)) {
    const bool same_dim = group.old_end - group.old_begin == 1 && group.new_end - group.new_begin == 1;
    const std::string axes = same_dim ? "" : blocking_axes(simple, want, group);
    if (!axes.empty()) out.axes += (out.axes.empty() ? "" : ", ") + axes;
    int64_t stride = std::numeric_limits<int64_t>::max();
    for (int d = group.old_begin; d < group.old_end; ++d) {
      for (const Digit& digit : simple.digits(d)) {
        if (digit.extent > 1) stride = std::min(stride, std::abs(digit.stride));
      }
    }
    by_stride.emplace_back(stride, group);
  }
  if (out.axes.empty()) out.axes = "the new dims cut a stride";
  std::ranges::stable_sort(by_stride, std::ranges::less{}, &std::pair<int64_t, DimGroup>::first);
  Dims strides(layout.ndims(), 1);
  int64_t next = 1;
  for (const auto& [stride, group] : by_stride) {
    for (int d = group.old_end - 1; d >= group.old_begin; --d) {
      strides[d] = next;
      next *= layout.dim(d);
    }
  }
  out.copy = Layout::strided(layout.dims(), strides);
  return out;
}

}  // namespace relayout
