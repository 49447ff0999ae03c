// Views of random shapes, layouts and attributes: the elements that a view sees are those of the reference, and padding
// of the view is zero if that of its source is.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <random>

#include "relayout/core/view.h"
#include "relayout/graph/ir/ops.h"
#include "relayout/graph/reference/reference.h"
#include "tests/support/testing.h"

namespace relayout::graph {
namespace {

using test::error_of;

struct Random {
  std::mt19937 engine;
  int64_t operator()(int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(engine);
  }
};

/// A layout whose digits are randomly ordered, with up to three blocks, gaps in between, and sometimes a reversed dim.
Layout random_layout(Random& random, const Dims& dims) {
  std::vector<int> order(static_cast<std::size_t>(dims.size()));
  std::iota(order.begin(), order.end(), 0);
  if (random(0, 2) > 0) std::shuffle(order.begin(), order.end(), random.engine);
  std::vector<Digits> digits(order.size());
  Dims left = dims;
  int64_t stride = 1;
  for (int64_t blocks = random(0, 3); blocks > 0 && !dims.empty(); --blocks) {
    const int d = static_cast<int>(random(0, dims.size() - 1));
    const int64_t block = random(2, 4);
    digits[static_cast<std::size_t>(d)].push_back({block, stride});
    left[d] = ceil_div(left[d], block);
    stride *= block;
  }
  for (auto at = order.rbegin(); at != order.rend(); ++at) {
    if (random(0, 9) == 0) stride += random(1, 3);
    digits[static_cast<std::size_t>(*at)].push_back({left[*at], stride});
    stride *= std::max<int64_t>(left[*at], 1);
  }
  Layout out = Layout::from_digits(dims, digits, random(0, 5));
  for (int d = 0; d < dims.size(); ++d) {
    if (random(0, 5) == 0 && out.capacity(d) == dims[d]) out = flip(out, d);
  }
  return out;
}

/// A buffer in which the elements of `layout` count from 1 in row-major order; padding is 0 and gaps -1.
std::vector<double> filled_buffer(const Layout& layout) {
  std::vector<double> out(static_cast<std::size_t>(layout.span()), -1);
  if (layout.empty()) return out;
  test::each_index(layout.padded_dims(), [&](const Dims& i) { out[static_cast<std::size_t>(layout.offset(i))] = 0; });
  double value = 0;
  test::each_index(layout.dims(), [&](const Dims& i) { out[static_cast<std::size_t>(layout.offset(i))] = ++value; });
  return out;
}

NodeAttributes random_reshape(Random& random, const Dims& dims) {
  std::vector<int64_t> parts;
  for (int64_t extent : dims) {  // primes, joined at random
    for (int64_t p = 2; extent > 1; p += extent % p != 0) {
      if (extent % p == 0) parts.push_back(p), extent /= p;
    }
  }
  Dims out;
  for (int64_t part : parts) {
    if (random(0, 3) == 0) out.push_back(1);
    if (out.empty() || random(0, 2) == 0) out.push_back(1);
    out.back() *= part;
  }
  if (random(0, 2) == 0) out.push_back(1);
  if (*checked_product(dims) == 0) out = {random(0, 3), 0};
  return ReshapeAttributes{out};
}

NodeAttributes random_slice(Random& random, const Dims& dims) {
  SliceAttributes out;
  for (int64_t extent : dims) {
    const bool back = random(0, 2) == 0, whole = random(0, 1) == 0;
    const int64_t low = whole ? 0 : random(0, extent), high = whole ? extent : random(low, extent);
    out.starts.push_back(back ? high - 1 : low);
    out.stops.push_back(back ? low - 1 : high);
    out.steps.push_back((back ? -1 : 1) * (random(0, 1) == 0 ? 1 : random(2, 4)));
  }
  return out;
}

NodeAttributes random_attributes(Random& random, Kind kind, const Dims& dims) {
  if (kind == Kind::reshape) return random_reshape(random, dims);
  if (kind == Kind::slice) return random_slice(random, dims);
  if (kind == Kind::transpose) {
    std::vector<int> order(static_cast<std::size_t>(dims.size()));
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random.engine);
    return TransposeAttributes{order};
  }
  Dims out = dims;
  for (int64_t& extent : out) {
    if (extent == 1) extent = random(0, 4);
  }
  for (int64_t more = random(0, 2); more > 0; --more) out.insert(0, random(1, 3));
  return BroadcastAttributes{out};
}

/// Whether these offsets of one dim can be written by digits that fill their capacity.
bool has_digits(std::span<const int64_t> offsets) {
  if (offsets.size() <= 2) return true;
  for (std::size_t inner = 2; inner <= offsets.size(); ++inner) {
    if (offsets[inner - 1] - offsets[0] != static_cast<int64_t>(inner - 1) * (offsets[1] - offsets[0])) return false;
    if (offsets.size() % inner != 0) continue;
    std::vector<int64_t> outer;
    bool same = true;
    for (std::size_t i = 0; i < offsets.size(); ++i) {
      if (i % inner == 0) outer.push_back(offsets[i]);
      same = same && offsets[i] - outer.back() == offsets[i % inner] - offsets[0];
    }
    if (same && has_digits(outer)) return true;
  }
  return false;
}

/// Whether some layout without padding has these offsets, in row-major order. The search knows nothing of views.
bool is_layout(const std::vector<int64_t>& offsets, const Dims& dims) {
  const Dims row_major = Layout::contiguous(dims).outer_strides();
  bool out = true;
  for (int d = 0; d < dims.size(); ++d) {
    std::vector<int64_t> along;
    for (int64_t i = 0; i < dims[d]; ++i) along.push_back(offsets[static_cast<std::size_t>(i * row_major[d])]);
    out = out && has_digits(along);
  }
  std::size_t at = 0;
  test::each_index(dims, [&](const Dims& i) {  // each dim must add an offset of its own
    int64_t sum = offsets[0];
    for (int d = 0; d < dims.size(); ++d) sum += offsets[static_cast<std::size_t>(i[d] * row_major[d])] - offsets[0];
    out = out && sum == offsets[at++];
  });
  return out;
}

struct Counts {
  int views = 0, copies = 0, missed = 0;
};

void check_view(const Graph& graph, const Layout& layout, const Layout& view, const Values& expected) {
  const std::vector<double> buffer = filled_buffer(layout);
  ASSERT_EQ(view.dims(), graph.tensor(graph.nodes[0].dst[0]).dims);
  std::size_t at = 0;
  test::each_index(view.dims(), [&](const Dims& i) {
    ASSERT_EQ(buffer.at(static_cast<std::size_t>(view.offset(i))), expected.at(at++)) << join(i);
  });
  if (view.empty()) return;
  test::each_index(view.padded_dims(), [&](const Dims& i) {
    for (int d = 0; d < i.size(); ++d) {
      if (i[d] < view.dim(d)) continue;
      ASSERT_EQ(buffer.at(static_cast<std::size_t>(view.offset(i))), 0) << "padding " << join(i);
      return;
    }
  });
}

void check_random(Random& random, Kind kind, Counts* counts) {
  Dims dims;
  for (int64_t rank = random(0, 4); rank > 0; --rank) dims.push_back(random(0, 12) == 0 ? 0 : random(1, 9));
  for (int64_t& extent : dims) extent = random(0, 4) == 0 ? 1 : extent;
  Graph g;
  const TensorId x = g.input("x", dims, DType::s32);
  g.add(kind, random_attributes(random, kind, dims), {x});
  const Layout layout = random_layout(random, dims);
  Values values(static_cast<std::size_t>(layout.elements()));
  std::iota(values.begin(), values.end(), 1.0);
  const Values* src[] = {&values};
  const Values expected = evaluate_node(g, g.nodes[0], src)[0];
  try {
    const Layout view = view_of(g, g.nodes[0], layout);
    ++counts->views;
    check_view(g, layout, view, expected);
  } catch (const Error& error) {
    ASSERT_EQ(error.code(), ErrorCode::needs_copy) << error.message();
    ++counts->copies;
    std::vector<int64_t> offsets, result;
    test::each_index(dims, [&](const Dims& i) { offsets.push_back(layout.offset(i)); });
    for (double value : expected) result.push_back(offsets[static_cast<std::size_t>(value) - 1]);
    const Dims& made = g.tensor(g.nodes[0].dst[0]).dims;
    // Two indices can always be written as one digit. slice() does not try that.
    const bool pair = kind == Kind::slice && std::find(made.begin(), made.end(), 2) != made.end();
    if (!pair && is_layout(result, made)) ++counts->missed;
  }
}

TEST(OpsView, ValuesThroughAViewAreThoseOfTheReference) {
  Random random{std::mt19937(7)};
  std::map<Kind, Counts> counts;
  for (int i = 0; i < 40000; ++i) {
    const Kind kind = static_cast<Kind>(static_cast<int>(Kind::reshape) + i % 4);
    check_random(random, kind, &counts[kind]);
    if (testing::Test::HasFailure()) FAIL() << name(kind) << ", round " << i;
  }
  for (const auto& [kind, count] : counts) {
    SCOPED_TRACE(name(kind));
    const bool always = kind == Kind::transpose || kind == Kind::broadcast;
    EXPECT_GT(count.views, 9000);
    EXPECT_EQ(count.copies == 0, always);
    // slice() does not find some views that start in one block and end in another, or that step unevenly over blocks.
    EXPECT_LE(count.missed, kind == Kind::slice ? 20 : 0);
  }
}

Layout reshaped(std::string_view format, const Dims& from, const Dims& to) {
  Graph g;
  g.reshape(g.input("x", from), to);
  return view_of(g, g.nodes[0], Format::parse(format).bind(from));
}

TEST(OpsView, FlattenIsFreeWhereOneImagesChannelsAreOneRun) {
  EXPECT_EQ(reshaped("nChw16c", {2, 32, 1, 1}, {2, 32}), Layout::contiguous({2, 32}));
  EXPECT_EQ(reshaped("nhwc", {2, 20, 1, 1}, {2, 20}), Layout::contiguous({2, 20}));
  EXPECT_EQ(reshaped("nchw", {2, 3, 4, 5}, {2, 60}), Layout::contiguous({2, 60}));
  EXPECT_EQ(reshaped("nChw16c", {2, 20, 1, 1}, {2, 20}), Format::parse("aB16b").bind({2, 20}));
  EXPECT_EQ(reshaped("nChw16c", {2, 1, 4, 5}, {2, 1, 20}), Format::parse("nCw16c").bind({2, 1, 20}));
  EXPECT_EQ(reshaped("aB16b", {2, 20}, {2, 20, 1, 1}), Format::parse("nChw16c").bind({2, 20, 1, 1}));
}

TEST(OpsView, WhatNeedsACopyNamesTheNode) {
  const Error error = error_of([] { reshaped("nChw16c", {2, 20, 4, 4}, {40, 4, 4}); });
  EXPECT_EQ(error.code(), ErrorCode::needs_copy);
  EXPECT_EQ(error.message().rfind("reshape 'reshape_0' of dims 2,20,4,4 is no view: ", 0), 0u) << error.message();
}

TEST(OpsView, RefusesLayoutsOfOtherDimsAndKindsWithoutViews) {
  Graph g;
  const TensorId x = g.input("x", {2, 3});
  g.transpose(x, {1, 0});
  g.softmax(x);
  EXPECT_EQ(error_of([&] { view_of(g, g.nodes[0], Layout::contiguous({3, 2})); }).field(), "layout of src");
  EXPECT_EQ(error_of([&] { view_of(g, g.nodes[1], Layout::contiguous({2, 3})); }).field(), "kind");
}

TEST(OpsView, StepsOfTheWholeRangeOf64BitsAreOnePlace) {
  for (const int64_t step : {std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()}) {
    Graph g;
    const SliceAttributes a{{step < 0 ? 8 : 0}, {step < 0 ? -1 : 9}, {step}};
    g.add(Kind::slice, a, {g.input("x", {9})});
    EXPECT_EQ(view_of(g, g.nodes[0], Layout::contiguous({9})), Layout::strided({1}, {1}, step < 0 ? 8 : 0));
  }
}

TEST(OpsView, TwelveDimsMayAllComeAndGo) {
  const Dims twos(12, 2), joined{4, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1}, ones(12, 1);
  EXPECT_EQ(reshaped("contiguous", twos, joined), Layout::contiguous(joined));
  EXPECT_EQ(reshaped("contiguous", joined, {1, 8, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1}),
            Layout::contiguous({1, 8, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1}));
  EXPECT_EQ(reshaped("contiguous", ones, {}), Layout());
}

}  // namespace
}  // namespace relayout::graph
