// CuTe's text both ways, and its algebra by its laws over whole domains: see cute.h.
#include "relayout/interop/cute.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <vector>

#include "relayout/core/format.h"
#include "relayout/core/view.h"
#include "tests/support/testing.h"

namespace relayout {
namespace {

using cute::apply;
using cute::from_cute;
using cute::to_cute;
using test::code_of;
using test::error_of;

std::string message_of(const std::function<void()>& call) { return error_of(call).message(); }

void expect_message(const std::function<void()>& call, std::string_view part) {
  const std::string message = message_of(call);
  EXPECT_NE(message.find(part), std::string::npos) << message;
}

// --- text ------------------------------------------------------------------------------------------------------------

TEST(Cute, TextBothWays) {
  for (const char* text : {"8:2", "(4,8):(8,1)", "((8,3),4):((1,32),8)", "((2,2),(3,2)):((1,4),(2,12))",
                           "((4,2)):((1,8))", "(1,1):(0,0)", "():()", "(3,(2,2,2)):(0,(1,3,6))", "(0,4):(1,0)"}) {
    EXPECT_EQ(to_cute(from_cute(text)), text);
  }
  EXPECT_EQ(to_cute(from_cute("(_128,_64)")), "(128,64):(1,128)") << "CuTe's default strides";
  EXPECT_EQ(to_cute(from_cute("((2,(2,2)),5):((1,(6,3)),40)")), "((2,2,2),5):((1,6,3),40)") << "flattened";
  EXPECT_EQ(to_cute(from_cute("(8,):(2,)")), "8:2") << "as Python prints a tuple of one";
  const Layout blocked = Format::parse("nChw8c").bind({2, 16, 5, 4});
  EXPECT_EQ(to_cute(blocked), "(2,(8,2),5,4):(320,(1,160),32,8)");
  EXPECT_EQ(from_cute(to_cute(blocked)), blocked);
}

TEST(Cute, TextRefusals) {
  const Layout padded = Format::parse("nChw8c").bind({2, 17, 5, 4});
  expect_message([&] { to_cute(padded); }, "dim 1 has 17 elements and a capacity of 24");
  EXPECT_EQ(code_of([&] { to_cute(padded); }), ErrorCode::unsupported);
  EXPECT_EQ(to_cute(padded, {.capacities = true}), "(2,(8,3),5,4):(480,(1,160),32,8)");
  expect_message([&] { to_cute(Layout::strided({4}, {1}, 7)); },
                 "offset 7, and CuTe's begin at 0: add it to the pointer");
  expect_message([&] { from_cute("(4,2):(1,-4)"); },
                 "dim 1 has the stride -4: the elements would begin 4 before the pointer");
  expect_message([&] { from_cute("Sw<3,4,3> o S<3,4,3> o 0 o (8,8):(8,1)"); }, "offset");
  const Layout tile = from_cute("Sw<3,3,3> o 0 o (8,64):(64,1)");
  expect_message([&] { cute::coalesce(tile); }, "Sw<3,3,3>, an exclusive or of bits of the offset");
  expect_message([&] { from_cute("8:1@3"); }, "has '@' behind the strides");
  expect_message([&] { from_cute("8:1.flip(0)"); }, "has '.' behind");
  expect_message([&] { from_cute("(8,4):(1@0,1@1)"); }, "coordinates");
  expect_message([&] { from_cute("(8,4):(1)"); }, "different forms");
  expect_message([&] { from_cute("(4611686018427387904,4)"); }, "does not fit 64 bits");
}

TEST(Cute, SwizzledText) {
  const Layout tile = Layout::contiguous({8, 64}).with_swizzle(Swizzle::make(3, 3, 3));
  EXPECT_EQ(to_cute(tile), "Sw<3,3,3> o 0 o (8,64):(64,1)");
  EXPECT_EQ(from_cute(to_cute(tile)), tile);
  const Layout part = slice(tile, 0, 3, 8);
  EXPECT_EQ(to_cute(part), "Sw<3,3,3> o 192 o (5,64):(64,1)");
  EXPECT_EQ(from_cute(to_cute(part)), part);
  EXPECT_EQ(cute::code({part, DType::f16}),
            "const auto layout = cute::make_composed_layout(cute::Swizzle<3, 3, 3>{}, 192, "
            "cute::make_layout(cute::make_shape(5, 64), cute::make_stride(64, 1)));  "
            "// Sw<3,3,3> o 192 o (5,64):(64,1)");
  expect_message([&] { to_cute(flip(tile, 0)); }, "stride -64");
}

TEST(Cute, Code) {
  const TensorDesc desc(Format::parse("nChw8c").bind({2, 16, 5, 4}), DType::f32);
  EXPECT_EQ(cute::code(desc),
            "const auto layout = cute::make_layout(cute::make_shape(2, cute::make_shape(8, 2), 5, 4), "
            "cute::make_stride(320, cute::make_stride(1, 160), 32, 8));  // (2,(8,2),5,4):(320,(1,160),32,8)");
  EXPECT_EQ(cute::code({Layout::contiguous({7}), DType::f32}),
            "const auto layout = cute::make_layout(cute::make_shape(7), cute::make_stride(1));  // 7:1");
}

// --- the documentation's examples ------------------------------------------------------------------------------------

std::string composed(std::string_view a, std::string_view b) {
  return to_cute(cute::compose(from_cute(a), from_cute(b)));
}

TEST(Cute, DocumentedExamples) {
  EXPECT_EQ(to_cute(cute::coalesce(from_cute("(2,(1,6)):(1,(6,2))"))), "12:1");
  EXPECT_EQ(composed("(6,2):(8,2)", "(4,3):(3,1)"), "((2,2),3):((24,2),8)");
  EXPECT_EQ(composed("20:2", "(5,4):(4,1)"), "(5,4):(8,2)");
  EXPECT_EQ(composed("(10,2):(16,4)", "(5,4):(1,5)"), "(5,(2,2)):(16,(80,4))");
  EXPECT_EQ(composed("(3,6,2,8):(1,10,100,1000)", "16:9"), "((2,2,4)):((30,100,1000))");
  const Layout a = from_cute("(12,(4,8)):(59,(13,1))");
  EXPECT_EQ(to_cute(cute::compose(a, std::vector{from_cute("3:4"), from_cute("8:2")})), "(3,(2,4)):(236,(26,1))");
  EXPECT_EQ(to_cute(cute::compose(a, std::vector{from_cute("3:1"), from_cute("8:1")})), "(3,(4,2)):(59,(13,1))");
  const std::pair<const char*, const char*> complements[] = {{"4:1", "6:4"},         {"6:4", "4:1"},
                                                             {"(4,6):(1,4)", "1:0"}, {"4:2", "(2,3):(1,8)"},
                                                             {"(2,4):(1,6)", "3:2"}, {"(2,2):(1,6)", "(3,2):(2,12)"}};
  for (const auto& [layout, rest] : complements)
    EXPECT_EQ(to_cute(cute::complement(from_cute(layout), 24)), rest) << layout;
  EXPECT_EQ(to_cute(cute::logical_divide(from_cute("(4,2,3):(2,1,8)"), from_cute("4:2"))),
            "((2,2),(2,3)):((4,1),(2,8))");
  const Layout matrix = from_cute("(9,(4,8)):(59,(13,1))");
  const std::vector tiler{from_cute("3:3"), from_cute("(2,4):(1,8)")};
  EXPECT_EQ(to_cute(cute::logical_divide(matrix, tiler)), "((3,3),(2,4,2,2)):((177,59),(13,2,26,1))");
  EXPECT_EQ(to_cute(cute::zipped_divide(matrix, tiler)), "((3,2,4),(3,2,2)):((177,13,2),(59,26,1))");
  EXPECT_EQ(to_cute(cute::tiled_divide(matrix, tiler)), "((3,2,4),3,(2,2)):((177,13,2),59,(26,1))");
  EXPECT_EQ(to_cute(cute::flat_divide(matrix, tiler)), "(3,(2,4),3,(2,2)):(177,(13,2),59,(26,1))");
  EXPECT_EQ(to_cute(cute::logical_product(from_cute("(2,2):(4,1)"), from_cute("6:1"))), "((2,2),(2,3)):((4,1),(2,8))");
  EXPECT_EQ(to_cute(cute::blocked_product(from_cute("(2,5):(5,1)"), from_cute("(3,4):(1,3)"))),
            "((2,3),(5,4)):((5,10),(1,30))");
  EXPECT_EQ(to_cute(cute::raked_product(from_cute("(2,5):(5,1)"), from_cute("(3,4):(1,3)"))),
            "((3,2),(4,5)):((10,5),(30,1))");
}

// --- laws ------------------------------------------------------------------------------------------------------------

class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}
  int64_t number(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(engine_); }

  /// A layout of up to 4 dims with up to 2 digits each: strides that nest, in any order, or any strides.
  Layout layout(int64_t most = 300) {
    const int64_t ndims = number(1, 4);
    std::vector<Digits> digits(static_cast<std::size_t>(ndims));
    std::vector<Digit*> all;
    int64_t elements = 1;
    for (Digits& list : digits) {
      for (int64_t k = number(1, 2); k-- > 0;) {
        const int64_t extent = number(1, elements > most ? 1 : 6);
        elements *= extent;
        list.push_back({extent, 0});
      }
    }
    for (Digits& list : digits) {
      for (Digit& digit : list) all.push_back(&digit);
    }
    std::ranges::shuffle(all, engine_);
    const bool nested = number(0, 3) > 0;
    int64_t stride = number(0, 5) == 0 ? 2 : 1;
    for (Digit* digit : all) {
      digit->stride = nested ? stride : number(0, 12);
      stride *= digit->extent * (number(0, 5) == 0 ? 2 : 1);
      if (number(0, 15) == 0) digit->stride = 0;
    }
    Dims dims;
    for (const Digits& list : digits) {
      int64_t extent = 1;
      for (const Digit& digit : list) extent *= digit.extent;
      dims.push_back(extent);
    }
    return Layout::from_digits(dims, digits);
  }

 private:
  std::mt19937 engine_;
};

/// The result where there is one; refusals must say why.
template <typename Call>
std::optional<Layout> result_of(const Call& call, int& refused) {
  try {
    return call();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unsupported) << error.message();
    ++refused;
    return std::nullopt;
  }
}

/// Whether each stride is a multiple of what the modes of smaller strides cover.
bool strides_divide(const Layout& layout) {
  std::vector<Digit> modes;
  for (int d = 0; d < layout.ndims(); ++d) {
    for (const Digit& digit : layout.digits(d)) {
      if (digit.extent > 1 && digit.stride > 0) modes.push_back(digit);
    }
  }
  std::ranges::sort(modes, {}, &Digit::stride);
  int64_t covered = 1;
  for (const Digit& mode : modes) {
    if (mode.stride % covered != 0) return false;
    covered = mode.stride * mode.extent;
  }
  return true;
}

constexpr int kRandomCases = 1000;

TEST(CuteLaws, CoalesceIsTheSameFunction) {
  Random random(1);
  for (int n = 0; n < kRandomCases; ++n) {
    const Layout a = random.layout(), c = cute::coalesce(a);
    for (int64_t i = 0; i < 2 * cute::size(a); ++i) ASSERT_EQ(apply(c, i), apply(a, i)) << to_cute(a);
    // Colexicographic coordinates.
    Dims index(a.ndims(), 0);
    for (int64_t i = 0; i < cute::size(a); ++i) {
      ASSERT_EQ(apply(a, i), a.offset(index)) << to_cute(a);
      for (int d = 0; d < a.ndims() && ++index[d] == a.dim(d); ++d) index[d] = 0;
    }
  }
}

TEST(CuteLaws, Compose) {
  Random random(2);
  int refused = 0, made = 0;
  for (int n = 0; n < kRandomCases; ++n) {
    const Layout a = random.layout(), b = random.layout();
    const auto r = result_of([&] { return cute::compose(a, b); }, refused);
    if (!r) continue;
    ++made;
    EXPECT_EQ(r->dims(), b.dims());
    for (int64_t i = 0; i < cute::size(b); ++i)
      ASSERT_EQ(apply(*r, i), apply(a, apply(b, i))) << to_cute(a) << " o " << to_cute(b);
  }
  EXPECT_GT(made, kRandomCases / 10);
  EXPECT_GT(refused, kRandomCases / 10);
}

TEST(CuteLaws, ComplementIsIncreasingAndDisjoint) {
  Random random(3);
  int refused = 0, made = 0;
  for (int n = 0; n < kRandomCases; ++n) {
    const Layout a = random.layout();
    const int64_t target = random.number(1, 200);
    const auto r = result_of([&] { return cute::complement(a, target); }, refused);
    if (!r) continue;
    ++made;
    std::set<int64_t> reached;
    for (int64_t i = 0; i < cute::size(a); ++i) reached.insert(apply(a, i));
    for (int64_t i = 1; i < cute::size(*r); ++i) {
      ASSERT_GT(apply(*r, i), apply(*r, i - 1)) << to_cute(a);
      ASSERT_FALSE(reached.contains(apply(*r, i))) << to_cute(a);
    }
    if (strides_divide(a)) {
      ASSERT_GE(cute::cosize(a) + cute::cosize(*r) - 1, target) << to_cute(a);
    }
  }
  EXPECT_GT(made, kRandomCases / 2);
  EXPECT_GT(refused, kRandomCases / 20);
}

TEST(CuteLaws, LogicalDivideAndProduct) {
  Random random(4);
  int refused = 0, divided = 0, multiplied = 0;
  for (int n = 0; n < kRandomCases; ++n) {
    const Layout a = random.layout(12), b = random.layout(6);
    if (const auto r = result_of([&] { return cute::logical_divide(a, b); }, refused)) {
      ++divided;
      const Layout rest = cute::complement(b, cute::size(a));
      ASSERT_EQ(r->dims(), (Dims{cute::size(b), cute::size(rest)}));
      for (int64_t j = 0; j < cute::size(rest); ++j) {
        for (int64_t i = 0; i < cute::size(b); ++i)
          ASSERT_EQ(apply(*r, i + cute::size(b) * j), apply(a, apply(b, i) + apply(rest, j))) << to_cute(a);
      }
    }
    if (const auto r = result_of([&] { return cute::logical_product(a, b); }, refused)) {
      ++multiplied;
      const Layout repeat = cute::complement(a, cute::size(a) * cute::cosize(b));
      for (int64_t j = 0; j < cute::size(b); ++j) {
        for (int64_t i = 0; i < cute::size(a); ++i)
          ASSERT_EQ(apply(*r, i + cute::size(a) * j), apply(a, i) + apply(repeat, apply(b, j))) << to_cute(a);
      }
    }
  }
  EXPECT_GT(divided, kRandomCases / 20);
  EXPECT_GT(multiplied, kRandomCases / 20);
}

TEST(CuteLaws, DividesByModeHoldTheSameElements) {
  Random random(5);
  int refused = 0, made = 0;
  for (int n = 0; n < kRandomCases; ++n) {
    const Layout a = random.layout();
    std::vector<Layout> tiler;
    for (int d = 0; d < a.ndims() && random.number(0, 5) > 0; ++d) {
      int64_t tile = random.number(1, a.dim(d));
      while (a.dim(d) % tile != 0) --tile;
      tiler.push_back(Layout::strided({tile}, {random.number(0, 3) == 0 ? a.dim(d) / tile : 1}));
    }
    const auto logical = result_of([&] { return cute::logical_divide(a, tiler); }, refused);
    if (!logical) continue;
    ++made;
    EXPECT_EQ(logical->dims(), a.dims());
    const Layout tile = cute::compose(a, tiler);
    const Layout zipped = cute::zipped_divide(a, tiler), tiled = cute::tiled_divide(a, tiler);
    const Layout flat = cute::flat_divide(a, tiler);
    const auto t = static_cast<int>(tiler.size());
    EXPECT_EQ(zipped.dim(0), cute::size(tile));
    EXPECT_EQ(tiled.ndims(), 1 + a.ndims());
    EXPECT_EQ(flat.ndims(), t + a.ndims());
    for (int64_t i = 0; i < cute::size(tile); ++i) ASSERT_EQ(apply(zipped, i), apply(tile, i)) << to_cute(a);
    for (int64_t i = 0; i < cute::size(a); ++i) {
      ASSERT_EQ(apply(zipped, i), apply(tiled, i));
      ASSERT_EQ(apply(zipped, i), apply(flat, i));
    }
  }
  EXPECT_GT(made, kRandomCases / 4);
}

TEST(CuteLaws, Inverses) {
  Random random(6);
  int refused = 0, left = 0;
  for (int n = 0; n < kRandomCases; ++n) {
    const Layout a = random.layout();
    const Layout right = cute::right_inverse(a);
    for (int64_t i = 0; i < cute::size(right); ++i) ASSERT_EQ(apply(a, apply(right, i)), i) << to_cute(a);
    const auto r = result_of([&] { return cute::left_inverse(a); }, refused);
    if (!r) continue;
    ++left;
    for (int64_t i = 0; i < cute::size(a); ++i) {
      ASSERT_EQ(apply(a, apply(*r, apply(a, i))), apply(a, i)) << to_cute(a);
      if (!a.broadcast()) {
        ASSERT_EQ(apply(*r, apply(a, i)), i) << to_cute(a);
      }
    }
  }
  EXPECT_GT(left, kRandomCases / 2);
}

TEST(Cute, AlgebraRefusals) {
  const auto compose = [](const char* a, const char* b) { composed(a, b); };
  expect_message([&] { compose("(6,2):(8,2)", "4:4"); }, "stride divisibility: mode 0 of b has 4:4");
  expect_message([&] { compose("(6,2):(8,2)", "4:4"); }, "neither of 4 and 6 divides the other");
  expect_message([&] { compose("(4,6):(1,100)", "6:1"); }, "shape divisibility");
  expect_message([&] { compose("(4,6):(1,100)", "6:1"); }, "4 does not divide the 6");
  EXPECT_EQ(composed("(6,2):(8,2)", "2:4"), "2:32") << "all of it fits into the mode";
  // 3:1 and 2:2 divide by themselves; together they reach index 4, which is in the next mode.
  expect_message([&] { compose("(4,4):(1,100)", "(3,2):(1,2)"); }, "together reach 4 in mode 0 (4:1)");
  const Layout overlapping = from_cute("(4,4):(1,2)");
  expect_message([&] { cute::complement(overlapping, 16); }, "the mode 4:2 of coalesce(a) lies within the 4 offsets");
  expect_message([&] { cute::left_inverse(overlapping); }, "the stride 2 of the mode 4:2");
  const Layout padded = Format::parse("aB4b").bind({2, 3});
  expect_message([&] { cute::coalesce(padded); }, "dim 1 has 3 elements and a capacity of 4");
  expect_message([&] { cute::compose(from_cute("8:1"), Layout::strided({2}, {1}, 3)); }, "offset 3");
  expect_message([&] { cute::compose(from_cute("8:1"), Layout::contiguous({2, 0})); }, "dim 1 of b has no elements");
  const std::vector three(3, from_cute("2:1"));
  EXPECT_EQ(code_of([&] { cute::zipped_divide(from_cute("(4,4):(1,4)"), three); }), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of([] { cute::complement(from_cute("2:1"), 0); }), ErrorCode::invalid_argument);
  std::string shape = "2", stride = "1";
  for (int64_t k = 1, s = 3; k < 13; ++k, s *= 3) shape += ",2", stride += "," + std::to_string(s);
  const Layout many = from_cute("((" + shape + ")):((" + stride + "))");
  expect_message([&] { cute::coalesce(many); }, "the result has 13 modes");
  EXPECT_EQ(code_of([&] { cute::coalesce(many); }), ErrorCode::limit);
}

}  // namespace
}  // namespace relayout
