// Random views at the end of layout expressions: see random_expressions.h.
#include <numeric>

#include "tests/interop/random_expressions.h"

namespace relayout::test {
namespace {

using Random = RandomNumbers;

std::string call(std::string_view name, std::initializer_list<int64_t> arguments) {
  return "." + std::string(name) + "(" + join(std::span(arguments.begin(), arguments.size())) + ")";
}

/// A dim of the layout, now and then counted from the end.
int64_t some_dim(Random& random, const Layout& layout) {
  const int64_t dim = random.pick(0, layout.ndims() - 1);
  return random.one_in(5) ? dim - layout.ndims() : dim;
}

std::string part(Random& random, const Layout& layout) {
  const int64_t dim = random.pick(0, layout.ndims() - 1), extent = layout.dim(static_cast<int>(dim));
  if (extent == 0) return call("flip", {dim});
  switch (random.pick(0, 3)) {
    case 0: {
      const int64_t start = random.pick(0, extent);
      return call("narrow", {dim, start, random.pick(0, extent - start)});
    }
    case 1: {
      const int64_t start = random.pick(0, extent - 1);
      return call("slice", {dim, start, random.pick(start, extent), random.pick(1, 3)});
    }
    case 2: return call("select", {dim, random.pick(0, extent - 1)});
    default: {
      const int64_t size = random.pick(1, extent);
      return call("unfold", {dim, size, random.pick(1, 3)});
    }
  }
}

/// A part whose begin is a multiple of each dim's blocks, as oneDNN wants it.
std::string submemory(Random& random, const Layout& layout) {
  Dims offsets, extents;
  for (int d = 0; d < layout.ndims(); ++d) {
    const int64_t block = layout.block(d), whole = layout.dim(d) / std::max<int64_t>(block, 1);
    offsets.push_back(random.one_in(2) ? 0 : random.pick(0, whole) * block);
    extents.push_back(random.pick(0, std::max<int64_t>(layout.dim(d) - offsets[d], 0)));
  }
  return ".submemory(" + join(offsets) + ":" + join(extents) + ")";
}

std::string order_of_dims(Random& random, const Layout& layout) {
  std::vector<int64_t> order(static_cast<std::size_t>(layout.ndims()));
  std::iota(order.begin(), order.end(), 0);
  random.shuffle(order);
  return (random.one_in(2) ? ".permute(" : ".permute_axes(") + join(order) + ")";
}

/// Other dims of the same elements.
std::string other_dims(Random& random, const Layout& layout) {
  const int64_t dim = random.pick(0, layout.ndims() - 1), extent = layout.dim(static_cast<int>(dim));
  switch (random.pick(0, 4)) {
    case 0: {
      int64_t inner = random.pick(1, 6);
      while (extent % inner != 0) --inner;
      return call("split", {dim, extent / inner, inner});
    }
    case 1: return dim + 1 < layout.ndims() ? call("merge", {dim, dim + 1}) : ".flatten()";
    case 2: return random.one_in(2) ? call("reshape", {-1}) : call("view", {extent, -1});
    case 3: return call("unsqueeze", {random.pick(0, layout.ndims())});
    default: return ".squeeze()";
  }
}

/// Extents of 1 repeat, the others stay.
std::string expand(Random& random, const Layout& layout) {
  Dims to;
  for (int d = 0; d < layout.ndims(); ++d) to.push_back(layout.dim(d) == 1 ? random.pick(1, 4) : -1);
  return ".expand(" + join(to) + ")";
}

}  // namespace

std::string random_view(RandomNumbers& random, const Layout& layout) {
  if (layout.ndims() == 0) return random.one_in(2) ? call("unsqueeze", {0}) : ".squeeze()";
  switch (random.pick(0, 8)) {
    case 0: return call("transpose", {some_dim(random, layout), some_dim(random, layout)});
    case 1: return order_of_dims(random, layout);
    case 2: return call("flip", {some_dim(random, layout)});
    case 3:
    case 4: return part(random, layout);
    case 5: return submemory(random, layout);
    case 6: return expand(random, layout);
    case 7: return layout.ndims() > 1 ? call("diagonal", {random.pick(-1, 1), 0, 1}) : expand(random, layout);
    default: return other_dims(random, layout);
  }
}

}  // namespace relayout::test
