// Views, computed on digits alone.
#include "relayout/core/view.h"

#include <numeric>

#include "relayout/core/reach.h"
#include "relayout/core/view_parts.h"

namespace relayout {
namespace {

std::vector<int> checked_order(const char* view, std::span<const int> order, int ndims) {
  std::vector<int> out;
  std::vector<bool> seen(static_cast<std::size_t>(ndims), false);
  for (int d : order) {
    const int checked = checked_dim(view, d, ndims);
    if (seen[static_cast<std::size_t>(checked)])
      throw Error(ErrorCode::invalid_argument,
                  std::string(view) + ": dim " + std::to_string(d) + " stands twice in the order", "order",
                  std::to_string(d), "each dim once");
    seen[static_cast<std::size_t>(checked)] = true;
    out.push_back(checked);
  }
  if (static_cast<int>(out.size()) != ndims)
    throw Error(ErrorCode::invalid_argument,
                std::string(view) + ": the order names " + std::to_string(out.size()) + " of " + std::to_string(ndims) +
                    " dims",
                "order", std::to_string(out.size()), std::to_string(ndims));
  return out;
}

/// The digits of the indices start, start + 1, ... (`length` of them) of a dim of extent `extent`. Adds the offset of
/// start to `base`. Nothing if no digits count these indices, because the range begins or ends inside a block.
std::optional<Digits> range_digits(Digits digits, int64_t extent, int64_t start, int64_t length, int64_t* base) {
  if (digits.size() == 1) {
    *base += start * digits[0].stride;
    return Digits{{length, digits[0].stride}};
  }
  const Digit inner = digits[0];
  if (start / inner.extent == (start + length - 1) / inner.extent) {  // inside one inner digit
    *base += digits_offset(digits, start);
    return Digits{{length, inner.stride}};
  }
  const bool to_border = start + length == extent;
  if (start % inner.extent != 0 || (!to_border && length % inner.extent != 0)) return std::nullopt;
  digits.erase(0);
  auto outer =
      range_digits(digits, ceil_div(extent, inner.extent), start / inner.extent, ceil_div(length, inner.extent), base);
  if (outer) outer->insert(0, inner);
  return outer;
}

}  // namespace

Layout permute(const Layout& layout, std::span<const int> order) {
  const LayoutParts in(layout);
  LayoutParts out(layout);
  const auto checked = checked_order("permute", order, layout.ndims());
  for (std::size_t i = 0; i < checked.size(); ++i) {
    out.dims[static_cast<int>(i)] = in.dims[checked[i]];
    out.digits[i] = in.digits[static_cast<std::size_t>(checked[i])];
  }
  return out.layout();
}

Layout permute_axes(const Layout& layout, std::span<const int> perm) {
  const auto checked = checked_order("permute_axes", perm, layout.ndims());
  std::vector<int> order(checked.size());
  for (std::size_t i = 0; i < checked.size(); ++i) order[static_cast<std::size_t>(checked[i])] = static_cast<int>(i);
  return permute(layout, order);
}

Layout transpose(const Layout& layout, int d0, int d1) {
  d0 = checked_dim("transpose", d0, layout.ndims());
  d1 = checked_dim("transpose", d1, layout.ndims());
  std::vector<int> order(static_cast<std::size_t>(layout.ndims()));
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[static_cast<std::size_t>(d0)], order[static_cast<std::size_t>(d1)]);
  return permute(layout, order);
}

namespace {

/// The indices start, start + step, ... below stop of dim d, all of which it has. `what` names the view and the indices
/// in errors: "slice: 4:12:1 of dim 1".
Layout sliced(const Layout& layout, int d, int64_t start, int64_t stop, int64_t step, const std::string& what) {
  const int64_t extent = layout.dim(d);
  LayoutParts out(layout);
  const int64_t length = ceil_div(stop - start, step);
  out.dims[d] = length;
  Digits& digits = out.digits[static_cast<std::size_t>(d)];
  if (length == 0) {
    digits = {{0, 0}};
    return out.layout();
  }
  if (start == 0 && stop == extent && step == 1) return layout;
  // All indices of the slice have the same digits below the step: those of `start`, which add a constant to the offset.
  Digits below, above;
  const Digits simple = layout.plain().canonical().digits_of(d);
  std::optional<Digits> result;
  int64_t base = 0;
  if (length == 1) {
    base = digits_offset(simple, start);
    result = Digits{{1, 0}};
  } else if (simple.size() == 1) {  // one digit, which any step can walk
    base = start * simple[0].stride;
    const auto stride = checked_mul(simple[0].stride, step);
    if (!stride)
      throw Error(ErrorCode::overflow, what + " has a stride that does not fit 64 bits",
                  "dims[" + std::to_string(d) + "]", std::to_string(step), "64 bits");
    result = Digits{{length, *stride}};
  } else if (cut(simple, step, &below, &above, true) && !above.empty()) {
    base = below.empty() ? 0 : digits_offset(below, start % step);
    result = range_digits(above, ceil_div(extent - start % step, step), start / step, length, &base);
  }
  if (!result) needs_copy(what + " cuts its blocks; copy it first", std::to_string(d));
  digits = *result;
  out.offset0 += base;
  return out.layout();
}

}  // namespace

Layout slice(const Layout& layout, int d, int64_t start, int64_t stop, int64_t step) {
  d = checked_dim("slice", d, layout.ndims());
  const int64_t extent = layout.dim(d);
  const std::string range = std::to_string(start) + ":" + std::to_string(stop) + ":" + std::to_string(step);
  const std::string of_dim = " of dim " + std::to_string(d);
  const auto refuse_range = [&](const std::string& why) {
    refuse("slice: " + why, d, range, "0:" + std::to_string(extent));
  };
  if (step < 1) refuse_range("the step " + std::to_string(step) + of_dim + " is below 1");
  if (start < 0) refuse_range("the start " + std::to_string(start) + of_dim + " is below 0");
  if (stop > extent) {
    refuse_range("the end " + std::to_string(stop) + " is over the extent " + std::to_string(extent) + of_dim);
  }
  if (start > stop)
    refuse_range("the start " + std::to_string(start) + of_dim + " is behind the end " + std::to_string(stop));
  return sliced(layout, d, start, stop, step, "slice: " + range + of_dim);
}

Layout narrow(const Layout& layout, int d, int64_t start, int64_t length) {
  d = checked_dim("narrow", d, layout.ndims());
  const int64_t extent = layout.dim(d);
  const std::string range = std::to_string(start) + " + " + std::to_string(length);
  const std::string of_dim = " of dim " + std::to_string(d);
  const auto refuse_range = [&](const std::string& why) {
    refuse("narrow: " + why, d, range, "0 + " + std::to_string(extent));
  };
  if (start < 0) refuse_range("the start " + std::to_string(start) + of_dim + " is below 0");
  if (length < 0) refuse_range("the length " + std::to_string(length) + of_dim + " is below 0");
  if (start > extent || length > extent - start)
    refuse_range(range + " is over the extent " + std::to_string(extent) + of_dim);
  return sliced(layout, d, start, start + length, 1, "narrow: " + range + of_dim);
}

Layout select(const Layout& layout, int d, int64_t index) {
  d = checked_dim("select", d, layout.ndims());
  if (index < 0 || index >= layout.dim(d)) {
    refuse("select: index " + std::to_string(index) + " of dim " + std::to_string(d) + ", whose extent is " +
               std::to_string(layout.dim(d)),
           d, index, layout.dim(d) - 1);
  }
  return squeeze(slice(layout, d, index, index + 1), d);
}

Layout submemory(const Layout& layout, const Dims& dims, const Dims& offsets) {
  if (dims.size() != layout.ndims() || offsets.size() != layout.ndims()) {
    throw Error(ErrorCode::invalid_argument,
                "submemory: dims and offsets need " + std::to_string(layout.ndims()) + " entries", "dims", join(dims),
                std::to_string(layout.ndims()));
  }
  LayoutParts out(layout);
  for (int d = 0; d < layout.ndims(); ++d) {
    Digits& digits = out.digits[static_cast<std::size_t>(d)];
    const std::string which = "submemory: dim " + std::to_string(d) + ": ";
    const int64_t block = layout.block(d);
    if (dims[d] < 0 || offsets[d] < 0 || offsets[d] > layout.dim(d) || dims[d] > layout.dim(d) - offsets[d]) {
      refuse(which + "offset " + std::to_string(offsets[d]) + " and extent " + std::to_string(dims[d]) +
                 " leave the extent " + std::to_string(layout.dim(d)),
             d, dims[d], layout.dim(d));
    }
    if (offsets[d] % block != 0)
      refuse(which + "offset " + std::to_string(offsets[d]) + " is no multiple of the block " + std::to_string(block),
             d, offsets[d], block);
    const bool border = offsets[d] + dims[d] == layout.dim(d);
    const int64_t start = layout.empty() ? 0 : digits_offset(digits, offsets[d]);
    if (!border && dims[d] % block != 0) {
      // A part of one block must have a single stride. Otherwise the submemory would keep the whole block, and the
      // elements in its rest would count as padding.
      int64_t base = 0;
      const auto part =
          dims[d] < block ? range_digits(digits, layout.dim(d), offsets[d], dims[d], &base) : std::nullopt;
      if (!part)
        refuse(which + "extent " + std::to_string(dims[d]) + " ends inside a block of " + std::to_string(block), d,
               dims[d], block);
      digits = *part;
    } else {
      // As in oneDNN, the padding behind the tensor's right border belongs to the submemory.
      digits.back().extent = border ? digits.back().extent - offsets[d] / block : dims[d] / block;
    }
    out.dims[d] = dims[d];
    out.offset0 += start;
  }
  return out.layout();
}

Layout expand(const Layout& layout, const Dims& dims) {
  const int added = dims.size() - layout.ndims();
  if (added < 0)
    throw Error(
        ErrorCode::invalid_argument,
        "expand: rank " + std::to_string(layout.ndims()) + " does not expand to rank " + std::to_string(dims.size()),
        "dims", join(dims), std::to_string(layout.ndims()) + " or more");
  LayoutParts out(layout);
  for (int d = 0; d < added; ++d) out.insert(0, 1, {{1, 0}});
  for (int d = 0; d < dims.size(); ++d) {
    if (d >= added && (dims[d] == -1 || dims[d] == out.dims[d])) continue;
    if (out.dims[d] != 1 || dims[d] < 0) {
      refuse("expand: dim " + std::to_string(d) + " has extent " + std::to_string(out.dims[d]) +
                 " and does not expand to " + std::to_string(dims[d]),
             d, dims[d], out.dims[d]);
    }
    out.dims[d] = dims[d];
    out.digits[static_cast<std::size_t>(d)] = {{dims[d], 0}};
  }
  return out.layout();
}

Layout squeeze(const Layout& layout, int d) {
  d = checked_dim("squeeze", d, layout.ndims());
  if (layout.dim(d) != 1)
    refuse("squeeze: dim " + std::to_string(d) + " has extent " + std::to_string(layout.dim(d)), d, layout.dim(d), 1);
  LayoutParts out(layout);
  out.erase(d);
  return out.layout();
}

Layout squeeze(const Layout& layout) {
  Layout out = layout;
  for (int d = layout.ndims() - 1; d >= 0; --d) {
    if (layout.dim(d) == 1) out = squeeze(out, d);
  }
  return out;
}

Layout unsqueeze(const Layout& layout, int d) {
  d = d == layout.ndims() ? d : checked_dim("unsqueeze", d < 0 ? d + 1 + layout.ndims() : d, layout.ndims() + 1);
  if (layout.ndims() == 0) return layout.as_vector();
  LayoutParts out(layout);
  const bool inner = d == layout.ndims() || layout.empty();
  // Any stride is right for one index, so 1 will do where 64 bits do not hold the usual one.
  const Digit outer = inner ? Digit{} : out.digits[static_cast<std::size_t>(d)].back();
  const int64_t stride = inner ? 1 : checked_mul(outer.stride, outer.extent).value_or(1);
  out.insert(d, 1, {{1, stride}});
  return out.layout();
}

Layout flip(const Layout& layout, int d) {
  d = checked_dim("flip", d, layout.ndims());
  if (layout.capacity(d) != layout.dim(d)) {
    needs_copy("flip: dim " + std::to_string(d) + " is padded from " + std::to_string(layout.dim(d)) + " to " +
                   std::to_string(layout.capacity(d)) + "; copy it first",
               std::to_string(d));
  }
  LayoutParts out(layout);
  if (layout.empty()) return layout;
  for (Digit& digit : out.digits[static_cast<std::size_t>(d)]) {
    out.offset0 += reach(digit);
    digit.stride = -digit.stride;
  }
  return out.layout();
}

}  // namespace relayout
