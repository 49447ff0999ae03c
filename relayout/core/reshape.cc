// Splitting and merging dims, and the reshape that frameworks call view: where it exists, and the copy where it does not.
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
    for (const Digit& digit : layout.digits(d)) {
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

/// Adds the new dims of a group. Nothing must stand in their way. Each gets one stride.
void split_group(const Layout& simple, const Dims& want, const DimGroup& group, LayoutParts& out) {
  Digits digits;  // of the whole group, innermost first
  for (int d = group.old_end - 1; d >= group.old_begin; --d) {
    const Digit digit = simple.digits(d)[0];
    if (simple.dim(d) == 1) continue;
    if (!digits.empty() && digit.stride == checked_mul(digits.back().stride, digits.back().extent)) {
      digits.back().extent *= digit.extent;
    } else {
      digits.push_back(digit);
    }
  }
  const int at = out.dims.size();
  for (int k = group.new_end - 1; k >= group.new_begin; --k) {
    Digits below, above;
    if (want[k] == 1) {
      out.insert(at, 1, {{1, digits.empty() ? 1 : digits[0].stride}});
    } else if (cut(digits, want[k], &below, &above) && below.size() == 1) {
      out.insert(at, want[k], below);
      digits = above;
    } else {
      needs_copy("view: new dim " + std::to_string(k) + " cuts a stride; copy first", std::to_string(k));
    }
  }
}

/// The groups of old and new dims in their order. Dims of extent 1 are in none, but stand between them: `unit` is called
/// for each new one with the old one that it replaces, or -1.
template <typename OnUnit, typename OnGroup>
void for_each_group(const Layout& layout, const Dims& want, OnUnit&& unit, OnGroup&& on_group) {
  const auto old_is = [&](int d, bool one) { return d < layout.ndims() && (layout.dim(d) == 1) == one; };
  const auto new_is = [&](int k, bool one) { return k < want.size() && (want[k] == 1) == one; };
  for (int from = 0, to = 0; from < layout.ndims() || to < want.size();) {
    if (new_is(to, true)) {  // a new dim of 1 replaces an old dim of 1 if that is next; else it is added
      const bool stays = old_is(from, true);
      unit(stays ? from : -1);
      from += stays, ++to;
      continue;
    }
    if (old_is(from, true)) {
      ++from;
      continue;
    }
    DimGroup group{from, from, to, to};
    int64_t old_size = 1, new_size = 1;
    do {
      if (new_size <= old_size) {
        new_size *= want[group.new_end++];
      } else {
        old_size *= layout.dim(group.old_end++);
      }
    } while (old_size != new_size);
    on_group(group);
    from = group.old_end, to = group.new_end;
  }
}

/// What stands in the way of a group; of a dim that stays as it is nothing does, whatever its digits are.
std::string blocking_of(const Layout& simple, const Dims& want, const DimGroup& group) {
  if (group.old_end == group.old_begin + 1 && group.new_end == group.new_begin + 1) return "";
  return blocking_axes(simple, want, group);
}

}  // namespace

Layout view(const Layout& layout, const Dims& dims) {
  const Dims want = inferred("view", dims, layout.elements());
  if (layout.empty()) return Layout::strided(want, Dims(want.size(), 0), layout.offset0());
  const Layout simple = layout.canonical();
  LayoutParts out(layout);
  out.dims = {};
  out.digits.clear();
  const auto unit = [&](int from) {
    out.insert(out.dims.size(), 1, from >= 0 ? layout.digits_of(from) : Digits{{1, 1}});
  };
  for_each_group(layout, want, unit, [&](const DimGroup& group) {
    if (group.old_end == group.old_begin + 1 && group.new_end == group.new_begin + 1) {  // blocks, padding may stay
      out.insert(out.dims.size(), want[group.new_begin], layout.digits_of(group.old_begin));
      return;
    }
    const std::string blocking = blocking_of(simple, want, group);
    if (!blocking.empty()) {
      needs_copy("view: dims " + join(layout.dims()) + " do not become " + join(want) + " without a copy: axes " +
                     blocking + " stand in the way",
                 blocking);
    }
    split_group(simple, want, group, out);
  });
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
    out.axes = error.value();
  }
  const Dims want = inferred("view", dims, layout.elements());
  const Layout simple = layout.canonical();
  // Within a group the copy is row-major. The groups keep the order that their smallest strides have in memory.
  struct Placed {
    DimGroup group;
    int64_t stride;
  };
  std::vector<Placed> groups;
  std::string axes;
  for_each_group(layout, want, [](int) {}, [&](const DimGroup& group) {
    if (const std::string more = blocking_of(simple, want, group); !more.empty())
      axes += (axes.empty() ? "" : ", ") + more;
    int64_t stride = std::numeric_limits<int64_t>::max();
    for (int d = group.old_begin; d < group.old_end; ++d) {
      for (const Digit& digit : simple.digits(d)) {
        if (digit.extent > 1) stride = std::min(stride, std::abs(digit.stride));
      }
    }
    groups.push_back({group, stride});
  });
  std::ranges::stable_sort(groups, std::ranges::less{}, &Placed::stride);
  Dims strides(layout.ndims(), 1);
  int64_t next = 1;
  for (const Placed& placed : groups) {
    for (int d = placed.group.old_end - 1; d >= placed.group.old_begin; --d) {
      strides[d] = next;
      next *= layout.dim(d);
    }
  }
  if (!axes.empty()) out.axes = axes;
  out.copy = Layout::strided(layout.dims(), strides);
  return out;
}

}  // namespace relayout
