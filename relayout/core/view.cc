// Views: digit arithmetic only.
#include "relayout/core/view.h"

#include <numeric>

namespace relayout {
namespace {

/// A layout taken apart: dims and each dim's digits.
struct Parts {
  Dims dims;
  std::vector<Digits> digits;
  int64_t offset0 = 0;

  explicit Parts(const Layout& layout) : dims(layout.dims()), offset0(layout.offset0()) {
    for (int d = 0; d < layout.ndims(); ++d) digits.push_back(layout.digits_of(d));
  }
  void erase(int d) {
    dims.erase(d);
    digits.erase(digits.begin() + d);
  }
  void insert(int d, int64_t extent, const Digits& list) {
    dims.insert(d, extent);
    digits.insert(digits.begin() + d, list);
  }
  Layout layout() const { return Layout::from_digits(dims, digits, offset0); }
};

int checked_dim(const char* view, int d, int ndims) {
  const int out = d < 0 ? d + ndims : d;
  if (out < 0 || out >= ndims) {
    throw Error(ErrorCode::invalid_argument, std::string(view) + ": dim " + std::to_string(d) + " of a layout of rank " + std::to_string(ndims), "dim", std::to_string(d), std::to_string(ndims - 1));
  }
  return out;
}

[[noreturn]] void needs_copy(const std::string& message, const std::string& axes) {
  throw Error(ErrorCode::needs_copy, message, "dims", axes, "a view");
}

std::vector<int> checked_order(const char* view, std::span<const int> order, int ndims) {
  std::vector<int> out;
  std::vector<bool> seen(static_cast<std::size_t>(ndims), false);
  for (int d : order) {
    const int checked = checked_dim(view, d, ndims);
    if (seen[static_cast<std::size_t>(checked)]) throw Error(ErrorCode::invalid_argument, std::string(view) + ": dim " + std::to_string(d) + " stands twice in the order", "order", std::to_string(d), "each dim once");
    seen[static_cast<std::size_t>(checked)] = true;
    out.push_back(checked);
  }
  if (static_cast<int>(out.size()) != ndims) throw Error(ErrorCode::invalid_argument, std::string(view) + ": the order names " + std::to_string(out.size()) + " of " + std::to_string(ndims) + " dims", "order", std::to_string(out.size()), std::to_string(ndims));
  return out;
}

/// Splits digits so that a digit border lies at place value `at`: the digits below and from there on. False
/// where that would cut a digit unevenly; the outermost may be cut so if `ragged`.
bool cut(const Digits& digits, int64_t at, Digits* below, Digits* above, bool ragged = false) {
  int64_t place = 1;
  for (const Digit& digit : digits) {
    const bool outermost = &digit == digits.end() - 1;
    if (place >= at) {
      above->push_back(digit);
    } else if (place * digit.extent <= at) {
      if (at % (place * digit.extent) != 0 && !outermost) return false;
      below->push_back(digit);
    } else {
      if (at % place != 0 || (digit.extent % (at / place) != 0 && !(ragged && outermost))) return false;
      below->push_back({at / place, digit.stride});
      above->push_back({ceil_div(digit.extent, at / place), digit.stride * (at / place)});
    }
    place *= digit.extent;
  }
  return place >= at;
}

int64_t value_at(const Digits& digits, int64_t i) {
  int64_t sum = 0;
  for (int k = 0; k < digits.size(); ++k) {
    const bool outermost = k + 1 == digits.size();
    sum += (outermost ? i : i % digits[k].extent) * digits[k].stride;
    i /= digits[k].extent;
  }
  return sum;
}

/// Digits of indices start, start + 1, ... (`length` of them) of a dim whose extent is `extent`; `base`
/// grows by the offset of start. Nothing where they are no mixed radix of their own.
std::optional<Digits> range_digits(Digits digits, int64_t extent, int64_t start, int64_t length, int64_t* base) {
  if (digits.size() == 1) {
    *base += start * digits[0].stride;
    return Digits{{length, digits[0].stride}};
  }
  const Digit inner = digits[0];
  if (start / inner.extent == (start + length - 1) / inner.extent) {  // inside one inner run
    *base += value_at(digits, start);
    return Digits{{length, inner.stride}};
  }
  const bool to_border = start + length == extent;
  if (start % inner.extent != 0 || (!to_border && length % inner.extent != 0)) return std::nullopt;
  digits.erase(0);
  auto outer = range_digits(digits, ceil_div(extent, inner.extent), start / inner.extent, ceil_div(length, inner.extent), base);
  if (outer) outer->insert(0, inner);
  return outer;
}

}  // namespace

Layout permute(const Layout& layout, std::span<const int> order) {
  const Parts in(layout);
  Parts out(layout);
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

Layout slice(const Layout& layout, int d, int64_t start, int64_t stop, int64_t step) {
  d = checked_dim("slice", d, layout.ndims());
  const int64_t extent = layout.dim(d);
  if (start < 0 || start > stop || stop > extent || step < 1) {
    throw Error(ErrorCode::invalid_argument, "slice: " + std::to_string(start) + ":" + std::to_string(stop) + ":" + std::to_string(step) + " of dim " + std::to_string(d) + ", whose extent is " + std::to_string(extent),
                "dims[" + std::to_string(d) + "]", std::to_string(start) + ":" + std::to_string(stop) + ":" + std::to_string(step), "0:" + std::to_string(extent));
  }
  Parts out(layout);
  const int64_t length = ceil_div(stop - start, step);
  out.dims[d] = length;
  Digits& digits = out.digits[static_cast<std::size_t>(d)];
  if (length == 0) {
    digits = {{0, 0}};
    return out.layout();
  }
  if (start == 0 && stop == extent && step == 1) return layout;
  // Split off the places below the step; the start fixes them.
  Digits below, above;
  const Digits simple = layout.canonical().digits_of(d);
  const std::string where = "slice: " + std::to_string(start) + ":" + std::to_string(stop) + ":" + std::to_string(step) + " of dim " + std::to_string(d) + " cuts its blocks; copy it first";
  std::optional<Digits> result;
  int64_t base = 0;
  if (length == 1) {
    base = value_at(simple, start);
    result = Digits{{1, 0}};
  } else if (simple.size() == 1) {  // nothing can be cut
    base = start * simple[0].stride;
    const auto stride = checked_mul(simple[0].stride, step);
    if (!stride) throw Error(ErrorCode::overflow, where, "dims[" + std::to_string(d) + "]", std::to_string(step), "64 bits");
    result = Digits{{length, *stride}};
  } else if (cut(simple, step, &below, &above, true) && !above.empty()) {
    base = below.empty() ? 0 : value_at(below, start % step);
    result = range_digits(above, ceil_div(extent - start % step, step), start / step, length, &base);
  }
  if (!result) needs_copy(where, std::to_string(d));
  digits = *result;
  out.offset0 += base;
  return out.layout();
}

Layout narrow(const Layout& layout, int d, int64_t start, int64_t length) {
  const auto stop = checked_add(start, length);
  return slice(layout, d, start, length < 0 || !stop ? -1 : *stop);
}

Layout select(const Layout& layout, int d, int64_t index) {
  d = checked_dim("select", d, layout.ndims());
  if (index < 0 || index >= layout.dim(d)) throw Error(ErrorCode::invalid_argument, "select: index " + std::to_string(index) + " of dim " + std::to_string(d) + ", whose extent is " + std::to_string(layout.dim(d)), "index", std::to_string(index), std::to_string(layout.dim(d) - 1));
  return squeeze(slice(layout, d, index, index + 1), d);
}

Layout submemory(const Layout& layout, const Dims& dims, const Dims& offsets) {
  if (dims.size() != layout.ndims() || offsets.size() != layout.ndims()) {
    throw Error(ErrorCode::invalid_argument, "submemory: dims and offsets need " + std::to_string(layout.ndims()) + " entries", "dims", join(dims), std::to_string(layout.ndims()));
  }
  Parts out(layout);
  for (int d = 0; d < layout.ndims(); ++d) {
    Digits& digits = out.digits[static_cast<std::size_t>(d)];
    const std::string which = "submemory: dim " + std::to_string(d) + ": ";
    const auto refuse = [&](const std::string& why, int64_t value, int64_t limit) {
      throw Error(ErrorCode::invalid_argument, which + why, "dims[" + std::to_string(d) + "]", std::to_string(value), std::to_string(limit));
    };
    const int64_t block = digits.back().extent == 0 ? 1 : layout.capacity(d) / digits.back().extent;
    if (dims[d] < 0 || offsets[d] < 0 || offsets[d] > layout.dim(d) || dims[d] > layout.dim(d) - offsets[d]) {
      refuse("offset " + std::to_string(offsets[d]) + " and extent " + std::to_string(dims[d]) + " leave the extent " + std::to_string(layout.dim(d)), dims[d], layout.dim(d));
    }
    if (offsets[d] % block != 0) refuse("offset " + std::to_string(offsets[d]) + " is no multiple of the block " + std::to_string(block), offsets[d], block);
    if (offsets[d] + dims[d] != layout.dim(d) && dims[d] % block != 0) refuse("extent " + std::to_string(dims[d]) + " ends inside a block of " + std::to_string(block), dims[d], block);
    if (!layout.empty()) out.offset0 += value_at(digits, offsets[d]);
    out.dims[d] = dims[d];
    digits.back().extent = ceil_div(dims[d], block);
  }
  return out.layout();
}

Layout expand(const Layout& layout, const Dims& dims) {
  const int added = dims.size() - layout.ndims();
  if (added < 0) throw Error(ErrorCode::invalid_argument, "expand: rank " + std::to_string(layout.ndims()) + " does not expand to rank " + std::to_string(dims.size()), "dims", join(dims), std::to_string(layout.ndims()) + " or more");
  Parts out(layout);
  for (int d = 0; d < added; ++d) out.insert(0, 1, {{1, 0}});
  for (int d = 0; d < dims.size(); ++d) {
    if (d >= added && (dims[d] == -1 || dims[d] == out.dims[d])) continue;
    if (out.dims[d] != 1 || dims[d] < 0) throw Error(ErrorCode::invalid_argument, "expand: dim " + std::to_string(d) + " has extent " + std::to_string(out.dims[d]) + " and does not expand to " + std::to_string(dims[d]), "dims[" + std::to_string(d) + "]", std::to_string(dims[d]), std::to_string(out.dims[d]));
    out.dims[d] = dims[d];
    out.digits[static_cast<std::size_t>(d)] = {{dims[d], 0}};
  }
  return out.layout();
}

Layout squeeze(const Layout& layout, int d) {
  d = checked_dim("squeeze", d, layout.ndims());
  if (layout.dim(d) != 1) throw Error(ErrorCode::invalid_argument, "squeeze: dim " + std::to_string(d) + " has extent " + std::to_string(layout.dim(d)), "dims[" + std::to_string(d) + "]", std::to_string(layout.dim(d)), "1");
  Parts out(layout);
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
  Parts out(layout);
  const int64_t stride = d < layout.ndims() && layout.dim(d) > 0 ? layout.outer_stride(d) * layout.digits(d).back().extent : 1;
  out.insert(d, 1, {{1, stride}});
  return out.layout();
}

Layout flip(const Layout& layout, int d) {
  d = checked_dim("flip", d, layout.ndims());
  if (layout.capacity(d) != layout.dim(d)) {
    needs_copy("flip: dim " + std::to_string(d) + " is padded from " + std::to_string(layout.dim(d)) + " to " + std::to_string(layout.capacity(d)) + "; copy it first", std::to_string(d));
  }
  Parts out(layout);
  if (layout.empty()) return layout;
  for (Digit& digit : out.digits[static_cast<std::size_t>(d)]) {
    out.offset0 += (digit.extent - 1) * digit.stride;
    digit.stride = -digit.stride;
  }
  return out.layout();
}

namespace {

/// `dims` with a -1 replaced so that the product is `elements`.
Dims inferred(const char* view, Dims dims, int64_t elements) {
  int unknown = -1;
  Dims known;
  for (int d = 0; d < dims.size(); ++d) {
    if (dims[d] == -1 && unknown < 0) {
      unknown = d;
    } else if (dims[d] < 0) {
      throw Error(ErrorCode::invalid_argument, std::string(view) + ": dim " + std::to_string(d) + " is " + std::to_string(dims[d]), "dims[" + std::to_string(d) + "]", std::to_string(dims[d]), "0 or more, or one -1");
    } else {
      known.push_back(dims[d]);
    }
  }
  const auto product = checked_product(known);
  const bool fits = product && (unknown < 0 ? *product == elements : *product != 0 && elements % *product == 0);
  if (!fits) throw Error(ErrorCode::invalid_argument, std::string(view) + ": dims " + join(dims) + " do not hold " + std::to_string(elements) + " elements", "dims", join(dims), std::to_string(elements));
  if (unknown >= 0) dims[unknown] = elements / *product;
  return dims;
}

}  // namespace

Layout split(const Layout& layout, int d, const Dims& parts) {
  d = checked_dim("split", d, layout.ndims());
  if (parts.empty()) throw Error(ErrorCode::invalid_argument, "split: no parts", "parts", "", "1 or more");
  const Dims extents = inferred("split", parts, layout.dim(d));
  Parts out(layout);
  Digits rest = out.digits[static_cast<std::size_t>(d)];
  out.erase(d);
  for (int k = extents.size() - 1; k >= 0; --k) {
    Digits below, above;
    if (layout.dim(d) == 0) {
      below = {{extents[k], 0}};
    } else if (k == 0) {
      below = rest;
    } else if (!cut(rest, extents[k], &below, &above)) {
      needs_copy("split: parts " + join(extents) + " of dim " + std::to_string(d) + " cut a digit; copy it first", std::to_string(d));
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
  if (first > last) throw Error(ErrorCode::invalid_argument, "merge: dims " + std::to_string(first) + ".." + std::to_string(last), "dims", std::to_string(first), std::to_string(last));
  Parts out(layout);
  Digits digits;
  int64_t extent = 1;
  for (int d = last; d >= first; --d) {
    if (d > first && layout.capacity(d) != layout.dim(d)) {
      needs_copy("merge: dim " + std::to_string(d) + " is padded from " + std::to_string(layout.dim(d)) + " to " + std::to_string(layout.capacity(d)) + "; copy it first", std::to_string(d));
    }
    for (const Digit& digit : layout.digits(d)) {
      if (digit.extent != 1 || d == first) digits.push_back(digit);
    }
    extent = checked_mul(extent, layout.dim(d)).value_or(0);
    if (d > first) out.erase(d);
  }
  if (layout.empty()) digits = {{extent, 0}};
  out.dims[first] = extent;
  out.digits[static_cast<std::size_t>(first)] = digits;
  return out.layout();
}

Layout view(const Layout& layout, const Dims& dims) {
  const Dims want = inferred("view", dims, layout.elements());
  if (layout.empty()) return Layout::strided(want, Dims(want.size(), 0), layout.offset0());
  const Layout simple = layout.canonical();
  Parts out(layout);
  out.dims = {};
  out.digits.clear();
  int from = 0, to = 0;
  while (from < layout.ndims() || to < want.size()) {
    // The smallest group of old dims and of new dims with the same product.
    int old_end = from, new_end = to;
    int64_t old_size = 1, new_size = 1;
    do {
      if (new_end < want.size() && (old_end == layout.ndims() || new_size <= old_size)) {
        new_size *= want[new_end++];
      } else {
        old_size *= layout.dim(old_end++);
      }
    } while (old_size != new_size);
    if (old_end == from + 1 && new_end == to + 1) {  // the same dim: blocks and padding may stay
      out.dims.push_back(want[to]);
      out.digits.push_back(layout.digits_of(from));
    } else {
      std::string blocking;
      Digit run{1, 1};
      int run_dim = -1;
      for (int d = old_end - 1; d >= from; --d) {
        const auto list = simple.digits(d);
        if (list.size() > 1 || simple.capacity(d) != simple.dim(d)) {
          blocking += (blocking.empty() ? "" : ", ") + std::to_string(d) + (list.size() > 1 ? " (blocked)" : " (padded)");
        } else if (list[0].extent > 1 && run_dim >= 0 && list[0].stride != run.stride * run.extent) {
          // Strides break here. A border of the new dims at the same place would make it fine.
          int64_t inner = 1;
          for (int k = old_end - 1; k > d; --k) inner *= simple.dim(k);
          int64_t tail = 1;
          int k = new_end;
          while (k > to && tail < inner) tail *= want[--k];
          if (tail != inner) blocking += (blocking.empty() ? "" : ", ") + std::to_string(d) + " and " + std::to_string(run_dim);
          run = list[0], run_dim = d;
        } else if (list[0].extent > 1) {
          if (run_dim < 0) run = list[0]; else run.extent *= list[0].extent;
          run_dim = d;
        }
      }
      if (!blocking.empty()) needs_copy("view: dims " + join(layout.dims()) + " do not become " + join(want) + " without a copy: axes " + blocking + " stand in the way", blocking);
      // Every border of strides is a border of the new dims: walk both from the inside.
      Digits digits;
      for (int d = old_end - 1; d >= from; --d) {
        const Digit digit = simple.digits(d)[0];
        if (digit.extent == 1) continue;
        if (!digits.empty() && digit.stride == digits.back().stride * digits.back().extent) {
          digits.back().extent *= digit.extent;
        } else {
          digits.push_back(digit);
        }
      }
      const int at = out.dims.size();
      for (int k = new_end - 1; k >= to; --k) {
        Digits below, above;
        if (want[k] > 1 && !cut(digits, want[k], &below, &above)) needs_copy("view: new dim " + std::to_string(k) + " cuts a stride", std::to_string(k));
        if (want[k] > 1) digits = above;
        out.dims.insert(at, want[k]);
        out.digits.insert(out.digits.begin() + at, want[k] > 1 ? Digits{{want[k], below[0].stride}} : Digits{{1, digits.empty() ? 1 : digits[0].stride}});
      }
    }
    from = old_end, to = new_end;
  }
  return out.layout();
}

}  // namespace relayout
