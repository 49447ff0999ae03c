// Swizzle and swizzled layouts, against loops over the bits of the offset.
#include "relayout/core/swizzle.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "relayout/core/decide.h"
#include "relayout/core/format.h"
#include "relayout/core/inverse.h"
#include "relayout/core/print.h"
#include "relayout/core/runs.h"
#include "relayout/core/view.h"

namespace relayout {
namespace {

/// The definition, a bit after the other.
int64_t by_bits(int64_t x, int bits, int base, int shift) {
  int64_t out = x;
  for (int k = 0; k < bits; ++k) {
    const int from = shift > 0 ? base + k + shift : base + k, into = shift > 0 ? base + k : base + k - shift;
    if (x >> from & 1) out ^= int64_t{1} << into;
  }
  return out;
}

template <typename F>
void each_index(const Dims& dims, const F& f) {
  int64_t count = 1;
  for (int64_t extent : dims) count *= extent;
  for (int64_t n = 0; n < count; ++n) {
    Dims index(dims.size(), 0);
    int64_t rest = n;
    for (int d = dims.size(); d-- > 0; rest /= dims[d]) index[d] = rest % dims[d];
    f(index);
  }
}

std::string error_text(const auto& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.message();
  }
  return "";
}

TEST(Swizzle, IsCuTesFormula) {
  for (int bits = 0; bits <= 4; ++bits) {
    for (int base = 0; base <= 4; ++base) {
      for (int shift = -6; shift <= 6; ++shift) {
        if (std::abs(shift) < bits) {
          EXPECT_THROW(Swizzle::make(bits, base, shift), Error);
          continue;
        }
        const Swizzle s = Swizzle::make(bits, base, shift);
        EXPECT_EQ(s.identity(), bits == 0);
        for (int64_t x = 0; x < 1 << 13; ++x) {
          ASSERT_EQ(s.apply(x), by_bits(x, bits, base, shift)) << s.text() << " of " << x;
          ASSERT_EQ(s.apply(s.apply(x)), x);
          ASSERT_EQ(s.apply(x) / s.atom(), x / s.atom());
          ASSERT_EQ(s.apply(x) % s.run(), x % s.run());
          ASSERT_EQ(s.apply(x + s.period()) - s.apply(x), s.period());
        }
      }
    }
  }
  EXPECT_EQ(Swizzle::make(3, 3, 3).text(), "Sw<3,3,3>");
}

TEST(Swizzle, SaysWhatIsAllowed) {
  EXPECT_EQ(error_text([] { Swizzle::make(3, 3, 2); }),
            "swizzle: Sw<3,3,2> XORs bits into bits that overlap with them; the third number is 3 to 34 or -34 to -3");
  EXPECT_EQ(error_text([] { Swizzle::make(-1, 3, 3); }),
            "swizzle: Sw<-1,3,3> has -1 bits; the first number is 0 to 40");
  EXPECT_EQ(error_text([] { Swizzle::make(3, -1, 3); }),
            "swizzle: Sw<3,-1,3> begins at bit -1; the second number is 0 to 40");
  EXPECT_EQ(error_text([] { Swizzle::make(3, 30, 20); }),
            "swizzle: Sw<3,30,20> XORs bits that lie too far off, beyond bit 39; the third number is 3 to 7 or "
            "-7 to -3");
  EXPECT_EQ(error_text([] { Swizzle::make(3, 36, 3); }),
            "swizzle: Sw<3,36,3> has no bits below bit 40 that it could XOR into 3 bits from bit 36 on");
  EXPECT_NO_THROW(Swizzle::make(3, 30, -7));
  EXPECT_NO_THROW(Swizzle::make(3, 3, 34));
}

/// Random digits, tiles and others, with a swizzle that may reach beyond them.
Layout random_strides(std::mt19937& random, bool positive = false) {
  const auto pick = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  Dims dims;
  std::vector<Digits> digits;
  int64_t before = 0, next = 1;
  for (int d = static_cast<int>(pick(1, 3)); d > 0; --d) {
    Digits own;
    int64_t capacity = 1;
    for (int k = static_cast<int>(pick(1, 2)); k > 0; --k) {
      const int64_t extent = pick(0, 1) ? int64_t{1} << pick(0, 3) : pick(1, 6);
      int64_t stride = pick(0, 3) ? next : pick(0, 40);
      if (pick(0, 5) == 0 && !positive) stride = -stride;
      next = std::max(next, std::abs(stride) * extent);
      before += stride < 0 ? (extent - 1) * -stride : 0;
      own.push_back({extent, stride});
      capacity *= extent;
    }
    digits.push_back(own);
    dims.push_back(pick(0, 3) ? capacity : pick(1, capacity));
  }
  const int bits = static_cast<int>(pick(1, 3)), base = static_cast<int>(pick(0, 4));
  const int64_t shift = pick(bits, bits + 2) * (pick(0, 3) ? 1 : -1);
  const Layout plain = Layout::from_digits(dims, digits, before + (pick(0, 2) ? 0 : pick(1, 70)));
  return plain.with_swizzle(Swizzle::make(bits, base, shift));
}

TEST(SwizzledLayout, AgreesWithALoop) {
  std::mt19937 random(7);
  for (int turn = 0; turn < 3000; ++turn) {
    const Layout layout = random_strides(random);
    const std::string text = digits_expression(layout);
    const Swizzle& s = layout.swizzle();
    std::map<int64_t, int> elements, all;
    each_index(layout.padded_dims(), [&](const Dims& index) {
      int64_t offset = layout.offset0();
      bool element = true;
      for (int d = 0; d < index.size(); ++d) {
        int64_t rest = index[d];
        for (const Digit& digit : layout.plain().digits(d)) {
          offset += rest % digit.extent * digit.stride;
          rest /= digit.extent;
        }
        element = element && index[d] < layout.dim(d);
      }
      offset = by_bits(offset, s.bits(), s.base(), s.shift());
      ASSERT_EQ(layout.offset(index), offset) << text;
      ++all[offset];
      if (element) ++elements[offset];
    });
    ASSERT_EQ(layout.offset_range(), std::pair(all.begin()->first, all.rbegin()->first)) << text;
    ASSERT_EQ(layout.span(), all.rbegin()->first + 1) << text;
    const auto twice = [](const auto& map) {
      return std::ranges::any_of(map, [](const auto& e) { return e.second > 1; });
    };
    ASSERT_EQ(layout.injective(), !twice(elements)) << text;
    ASSERT_EQ(layout.injective_with_padding(), !twice(all)) << text;
    const int64_t range = all.rbegin()->first - all.begin()->first + 1;
    ASSERT_EQ(layout.dense(), !layout.padded() && !twice(elements) && range == layout.elements()) << text;
    ASSERT_EQ(not_dense(layout).has_value(), !layout.dense()) << text;
    for (int64_t at = std::max<int64_t>(0, all.begin()->first - 2); at < layout.span() + 2; ++at) {
      Dims index;
      const Slot slot = layout.inverse(at, &index);
      ASSERT_EQ(slot, elements.contains(at) ? Slot::element : all.contains(at) ? Slot::padding : Slot::gap) << text;
      if (slot != Slot::gap) {
        ASSERT_EQ(layout.offset(index), at) << text;
      }
    }
    if (!twice(elements)) {
      std::set<int64_t> visited;
      for_each_run(layout, [&](int64_t offset, int64_t length, const Dims& index) {
        EXPECT_EQ(layout.offset(index), offset) << text;
        for (int64_t i = offset; i < offset + length; ++i) EXPECT_TRUE(visited.insert(i).second);
      });
      ASSERT_EQ(visited.size(), elements.size()) << text;
      for (const auto& [offset, times] : elements) ASSERT_TRUE(visited.contains(offset)) << text;
      if (!twice(all)) {
        ASSERT_EQ(gap_count(layout), range - static_cast<int64_t>(all.size())) << text;
      }
    }
    // The text reads back, and a simpler spelling is the same function.
    ASSERT_EQ(Format::parse(text).bind(layout.dims()), layout) << text;
    ASSERT_EQ(layout.canonical(), layout) << text;
    ASSERT_EQ(layout.plain().with_swizzle(s), layout) << text;
    ASSERT_EQ(layout.with_swizzle(s), layout.plain()) << text;
  }
}

TEST(SwizzledLayout, EqualityAndDifferencesAreThoseOfTheFunctions) {
  std::mt19937 random(8);
  int equal = 0;
  for (int turn = 0; turn < 20000; ++turn) {
    const Layout a = random_strides(random, true);
    const int bits = 1 + turn % 3;
    const Layout b = turn % 2 ? a.plain() : a.plain().with_swizzle(Swizzle::make(bits, turn / 3 % 5, bits + turn % 2));
    std::optional<Dims> first;
    int64_t count = 0;
    bool same = true;
    each_index(a.padded_dims(), [&](const Dims& index) {
      if (a.offset(index) == b.offset(index)) return;
      same = false;
      for (int d = 0; d < index.size(); ++d) {
        if (index[d] >= a.dim(d)) return;
      }
      if (!first) first = index;
      ++count;
    });
    ASSERT_EQ(a == b, same) << digits_expression(a) << " " << digits_expression(b);
    equal += same;
    const auto found = difference(a, b);
    ASSERT_EQ(found.has_value(), first.has_value());
    if (found) {
      ASSERT_EQ(found->index, *first);
      ASSERT_EQ(found->count, count);
      ASSERT_EQ(found->offset_b, b.offset(*first));
    }
    std::set<int64_t> offsets;
    bool meet = false;
    each_index(a.dims(), [&](const Dims& index) { offsets.insert(a.offset(index)); });
    each_index(b.dims(), [&](const Dims& index) { meet = meet || offsets.contains(b.offset(index)); });
    const Overlap shared = overlap(a, b);
    ASSERT_EQ(shared.answer, meet ? Answer::yes : Answer::no);
    if (meet) {
      ASSERT_EQ(a.offset(shared.index_a), b.offset(shared.index_b));
    }
    if (meet) {
      ASSERT_EQ(a.offset(shared.index_a), shared.offset);
    }
  }
  EXPECT_GT(equal, 100);
}

TEST(SwizzledLayout, ViewsKeepTheSwizzle) {
  const Layout tile = Format::parse("cute:Sw<3,3,3>o0o(8,64):(64,1)").bind({8, 64});
  const auto agrees = [&](const Layout& view, const auto& index_of) {
    EXPECT_TRUE(view.swizzled());
    each_index(view.dims(), [&](const Dims& index) { ASSERT_EQ(view.offset(index), tile.offset(index_of(index))); });
  };
  agrees(transpose(tile, 0, 1), [](const Dims& i) { return Dims{i[1], i[0]}; });
  agrees(slice(tile, 0, 3, 8, 2), [](const Dims& i) { return Dims{3 + 2 * i[0], i[1]}; });
  agrees(slice(tile, 1, 5, 64), [](const Dims& i) { return Dims{i[0], 5 + i[1]}; });
  agrees(select(tile, 0, 5), [](const Dims& i) { return Dims{5, i[0]}; });
  agrees(flip(tile, 1), [](const Dims& i) { return Dims{i[0], 63 - i[1]}; });
  agrees(split(tile, 1, {8, 8}), [](const Dims& i) { return Dims{i[0], i[1] * 8 + i[2]}; });
  agrees(merge(tile, 0, 1), [](const Dims& i) { return Dims{i[0] / 64, i[0] % 64}; });
  agrees(view(tile, {4, 128}), [](const Dims& i) { return Dims{i[0] * 2 + i[1] / 64, i[1] % 64}; });
  agrees(unsqueeze(tile, 1), [](const Dims& i) { return Dims{i[0], i[2]}; });
  agrees(submemory(tile, {4, 32}, {4, 32}), [](const Dims& i) { return Dims{i[0] + 4, i[1] + 32}; });
  agrees(unfold(tile, 1, 16, 8), [](const Dims& i) { return Dims{i[0], i[1] * 8 + i[2]}; });
  agrees(diagonal(tile, 2, 0, 1), [](const Dims& i) { return Dims{i[0], i[0] + 2}; });
  agrees(expand(slice(tile, 0, 5, 6), {3, 64}), [](const Dims& i) { return Dims{5, i[1]}; });
  const std::vector<int64_t> order{2, 3, 0, 1, 6, 7, 4, 5};
  EXPECT_THROW(reindex(tile, 0, std::vector<int64_t>{2, 3, 1, 0, 6, 7, 4, 5}), Error);
  agrees(reindex(tile, 0, std::vector<int64_t>{4, 5, 6, 7, 0, 1, 2, 3}), [](const Dims& i) {
    return Dims{i[0] ^ 4, i[1]};
  });
  EXPECT_THROW(as_strided(tile, {4}, {1}), Error);
}

TEST(SwizzledLayout, NothingForgetsTheSwizzle) {
  const Layout tile = Format::parse("cute:Sw<3,3,3>o0o(8,64):(64,1)").bind({8, 64});
  for (const auto& ask : std::initializer_list<void (*)(const Layout&)>{
           [](const Layout& l) { (void)l.digits(0); }, [](const Layout& l) { (void)l.digits_of(1); },
           [](const Layout& l) { (void)l.outer_stride(0); }, [](const Layout& l) { (void)l.outer_strides(); },
           [](const Layout& l) { (void)l.dim_offset(0, 1); }, [](const Layout& l) { (void)l.footprint(); },
           [](const Layout& l) { (void)inverse_layout(l); }, [](const Layout& l) { require_plain(l, "x"); }}) {
    try {
      ask(tile);
      ADD_FAILURE() << "nothing was thrown";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::unsupported);
      EXPECT_NE(error.message().find("Sw<3,3,3>"), std::string::npos) << error.message();
    }
  }
  EXPECT_FALSE(tag_of(tile));
  EXPECT_FALSE(tile.contiguous_in(MemoryFormat::contiguous));
  EXPECT_FALSE(tile == tile.plain());
  EXPECT_EQ(TensorDesc(tile, DType::f16).span_bytes(), 1024);
  EXPECT_EQ(TensorDesc(tile, DType::f16).size_bytes(), 1024);
  EXPECT_THROW((void)tile.with_swizzle(Swizzle::make(2, 3, 3)), Error);
  // A swizzle that reads above all offsets changes nothing, and is dropped.
  const Layout small = Layout::contiguous({8, 8}).with_swizzle(Swizzle::make(3, 3, 3));
  EXPECT_EQ(small, Layout::contiguous({8, 8}));
  EXPECT_FALSE(small.swizzled());
  EXPECT_TRUE(small.contiguous_in(MemoryFormat::contiguous));
}

TEST(SwizzledLayout, Expressions) {
  const Layout tile = Format::parse("cute:Sw<3,3,3>o0o(8,64):(64,1)").bind({8, 64});
  EXPECT_EQ(tile, Layout::contiguous({8, 64}).with_swizzle(Swizzle::make(3, 3, 3)));
  for (const char* text : {"cute:Sw<3,3,3> o 0 o (8,64):(64,1)", "cute:Sw<3,3,3> o _0 o (_8,_64):(_64,_1)",
                           "cute:Sw<3,3,3>\u22180\u2218(8,64):(64,1)", "cute:S<3,3,3> o (8,64):(64,1)",
                           "ab;swizzle=3,3,3", "strides:64,1;swizzle=3,3,3", "contiguous;swizzle=3,3,3",
                           "ba;swizzle=3,3,3.transpose(0,1)", "digits:(8,64)|(64,1);swizzle=3,3,3"}) {
    const Format format = Format::parse(text);
    EXPECT_EQ(format.bind(std::string_view(text).starts_with("ba") ? Dims{64, 8} : Dims{8, 64}), tile) << text;
    EXPECT_FALSE(format.physical_shape({8, 64})) << text;
    EXPECT_THROW((void)format.bind_physical({8, 64}, {64, 1}), Error) << text;
    EXPECT_THROW((void)format.dims_from_physical({8, 64}), Error) << text;
    EXPECT_FALSE(format.generic_tag(2)) << text;
  }
  const Layout moved = Format::parse("cute:Sw<3,3,3>o8o(8,64):(64,1)").bind({8, 64});
  EXPECT_EQ(moved.offset({1, 0}), 64 + (8 ^ 8));
  EXPECT_EQ(offset_formula(moved, "mk"), "Sw<3,3,3>(8 + 64*m + k)");
  EXPECT_EQ(digits_text(tile, "mk"), "Sw<3,3,3> of m = (8,64)  k = (64,1)");
  const auto fails = [](const char* text, const char* why) {
    const std::string message = error_text([&] { Format::parse(text); });
    EXPECT_NE(message.find(why), std::string::npos) << message;
  };
  fails("cute:Sw<3,3,3>", "expected o, CuTe's sign of a composition");
  fails("cute:Sw<3,3>o0o(8,64)", "expected");
  fails("cute:Sw<3,3,2>o0o(8,64)", "overlap");
  fails("cute:Sw<3,3,3>o1o(8,64)@1", "there is an offset in front");
  fails("nhwc;swizzle=3,3", "a swizzle has three numbers");
  fails("nhwc;swizzle=3,3,3,3", "a swizzle has three numbers");
  fails("nhwc;swizzle=3,3,3;swizzle=3,3,3", "only once");
  fails("nh|Cw4c;swizzle=3,3,3", "neither an image");
  fails("any;swizzle=3,3,3", "neither an image");
  fails("nhwc;swizzle=3,x,3", "swizzle");
}

}  // namespace
}  // namespace relayout
