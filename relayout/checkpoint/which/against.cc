// The order of dims in which a tensor has the values of another one: see which.h.
#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>

#include "relayout/checkpoint/values_held.h"
#include "relayout/checkpoint/which/which.h"
#include "relayout/core/print.h"
#include "relayout/core/view.h"
#include "relayout/cpu/reorder.h"

namespace relayout::checkpoint {
namespace {

constexpr int kMostRank = 6;  // of which there are 720 orders

/// A tensor's elements.
struct Side {
  Layout layout;
  DType dtype;
  Contents contents;
};

bool has_numbers(const CheckpointTensor& t) {
  return !t.problem && t.dtype && t.notes.packed.empty() && !t.byte_swapped;
}

/// Whether a box of both sides has the same values in a type.
bool equal_box(const Side& a, const Side& b, DType dtype, const Dims& extents, std::optional<int64_t> row = {}) {
  const auto cut = [&](Layout layout) {
    for (int d = 0; d < extents.size(); ++d) layout = narrow(layout, d, d == 0 && row ? *row : 0, extents[d]);
    return layout;
  };
  const TensorDesc dense(Layout::contiguous(extents), dtype);
  std::vector<std::byte> left(static_cast<std::size_t>(dense.span_bytes())), right(left.size());
  cpu::reorder({cut(a.layout), a.dtype}, a.contents.bytes, dense, left);
  cpu::reorder({cut(b.layout), b.dtype}, b.contents.bytes, dense, right);
  return left == right;
}

/// Whether all values are equal: those of a corner first, where most orders differ.
bool same_values(const Side& a, const Side& b, DType dtype) {
  constexpr int64_t kCorner = 4, kBox = 1 << 20;
  const Dims& dims = b.layout.dims();
  Dims corner = dims, rows = dims;
  for (int d = 0; d < dims.size(); ++d) corner[d] = std::min(dims[d], kCorner);
  if (!equal_box(a, b, dtype, corner)) return false;
  if (dims.empty()) return true;
  const int64_t step =
      std::max<int64_t>(1, kBox / std::max<int64_t>(1, b.layout.elements() / std::max<int64_t>(dims[0], 1)));
  for (int64_t row = 0; row < dims[0]; row += step) {
    rows[0] = std::min(step, dims[0] - row);
    if (!equal_box(a, b, dtype, rows, row)) return false;
  }
  return true;
}

/// The orders in which the dims of `a` are those of `b`, and the values equal.
std::vector<std::vector<int>> equal_orders(const Side& a, const Side& b) {
  std::vector<int> order(static_cast<std::size_t>(a.layout.ndims()));
  std::iota(order.begin(), order.end(), 0);
  // Values that were rounded to a smaller floating type are still the same weights; to whole numbers they are not.
  const bool rounded = is_floating(a.dtype) && is_floating(b.dtype);
  if (!rounded && !holds_all(a.dtype, b.dtype) && !holds_all(b.dtype, a.dtype)) return {};
  const DType wider = holds_all(a.dtype, b.dtype) ? a.dtype : b.dtype;
  const DType dtype = !rounded ? wider : bits(a.dtype) < bits(b.dtype) ? a.dtype : b.dtype;
  std::vector<std::vector<int>> out;
  do {
    const Layout turned = permute(a.layout, order);
    if (turned.dims() == b.layout.dims() && same_values({turned, a.dtype, a.contents}, b, dtype)) out.push_back(order);
  } while (std::ranges::next_permutation(order).found);
  return out;
}

std::string letters_of(const std::vector<int>& order) {
  std::string out;
  for (const int d : order) out += static_cast<char>('a' + d);
  return out;
}

/// "oihw there is ohwi here".
std::string example_of(const std::vector<int>& order) {
  constexpr std::string_view kUsual[] = {"", "", "oi", "oiw", "oihw", "oidhw"};
  if (order.size() < 2 || order.size() >= std::size(kUsual)) return "";
  std::string here(order.size(), ' ');
  for (std::size_t k = 0; k < order.size(); ++k) here[static_cast<std::size_t>(order[k])] = kUsual[order.size()][k];
  return ": " + std::string(kUsual[order.size()]) + " there is " + here + " here";
}

Dims sorted(Dims dims) {
  std::sort(dims.begin(), dims.end());
  return dims;
}

/// Compares one tensor with those of another checkpoint.
class Comparer {
 public:
  Comparer(const Checkpoint& model, const Checkpoint& other) : model_(model), other_(other) {}

  Finding finding(std::size_t i) const {
    const CheckpointTensor& t = model_.tensors()[i];
    Finding out{.name = t.name};
    std::vector<std::size_t> candidates;
    const auto same = other_.lookup(t.name);
    if (same && has_numbers(other_.tensors()[*same])) candidates.push_back(*same);
    for (std::size_t k = 0; k < other_.tensors().size() && !same; ++k)
      if (has_numbers(other_.tensors()[k]) && sorted(other_.tensors()[k].shape) == sorted(t.shape))
        candidates.push_back(k);
    if (t.shape.size() > kMostRank) {
      out.evidence.push_back({"other", "of over " + std::to_string(kMostRank) + " dims no orders are tried", {}});
      return out;
    }
    const Side own{t.memory(), *t.dtype, model_.contents(i)};
    for (const std::size_t k : candidates) {
      const CheckpointTensor& o = other_.tensors()[k];
      if (sorted(o.shape) != sorted(t.shape)) continue;
      const auto orders = equal_orders(own, {o.memory(), *o.dtype, other_.contents(k)});
      if (!orders.empty()) return found(std::move(out), t, o, orders);
    }
    out.certainty = Certainty::certain;
    const std::string of =
        same ? "\"" + escaped(t.name, 200) + "\", which is " + join(other_.tensors()[*same].shape, "x") + " there,"
             : "any tensor of those extents";
    out.evidence.push_back({"other", "in no order of dims it has the values of " + of, {}});
    if (!same) out.evidence.back().text = "in no order of dims it has the values of any tensor of its extents there";
    return out;
  }

 private:
  static Finding found(Finding out, const CheckpointTensor& t, const CheckpointTensor& o,
                       const std::vector<std::vector<int>>& orders) {
    const std::string there = "\"" + escaped(o.name, 200) + "\"";
    const std::string types =
        t.dtype == o.dtype || !is_floating(*t.dtype) || !is_floating(*o.dtype)
            ? ""
            : ", rounded to " + std::string(name(bits(*t.dtype) < bits(*o.dtype) ? *t.dtype : *o.dtype));
    for (const std::vector<int>& order : orders) out.layouts.push_back(letters_of(order));
    const std::string one = out.layouts[0];
    if (orders.size() == 1) {
      out.certainty = Certainty::certain;
      const bool as_it_is = std::ranges::is_sorted(orders[0]);
      out.evidence.push_back({"other",
                              as_it_is
                                  ? "it is " + there + " as it is" + types
                                  : "its dims in the order " + one + " are " + there + types + example_of(orders[0]),
                              out.layouts});
      return out;
    }
    out.evidence.push_back(
        {"other", "it is " + there + types + " in " + std::to_string(orders.size()) + " orders of dims", out.layouts});
    return out;
  }

  const Checkpoint& model_;
  const Checkpoint& other_;
};

}  // namespace

std::vector<Finding> which(const Checkpoint& model, const Checkpoint& other, const GoOn& go_on) {
  std::vector<Finding> out;
  const Comparer comparer(model, other);
  const auto total = static_cast<int64_t>(model.tensors().size());
  for (int64_t i = 0; i < total; ++i) {
    if (go_on && !go_on(i, total)) throw Error(ErrorCode::interrupted, "which: interrupted");
    if (has_numbers(model.tensors()[static_cast<std::size_t>(i)]))
      out.push_back(comparer.finding(static_cast<std::size_t>(i)));
  }
  return out;
}

}  // namespace relayout::checkpoint
