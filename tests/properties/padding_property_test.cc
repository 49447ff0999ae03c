// Runs and padding against loops over every index, over random layouts of every kind: what for_each_run() visits, what
// fill_padding() writes and what first_dirty_padding() finds. Buffers end or begin at a forbidden page, and every byte
// is compared, so that a touch of memory before, behind or between the elements crashes or shows.
//
// RELAYOUT_SEED repeats a run, RELAYOUT_CASES sets the number of layouts.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <vector>

#include "random_case.h"
#include "relayout/core/runs.h"
#include "relayout/reorder/padding.h"
#include "relayout/reorder/reference.h"
#include "tests/support/guarded.h"
#include "tests/support/testing.h"

namespace relayout::test {
namespace {

constexpr Guarded::Side kSides[] = {Guarded::Side::start, Guarded::Side::end};

/// A value from the environment, or the given one.
uint64_t setting(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

Dims random_dims(std::mt19937_64& rng) {
  Dims dims;
  int64_t left = 500;
  for (int64_t d = pick(rng, 0, 5); d > 0; --d) {
    const int64_t extent = pick(rng, 0, 80) == 0 ? 0 : pick(rng, 1, std::min<int64_t>(left, 19));
    dims.push_back(extent);
    left /= std::max<int64_t>(1, extent);
  }
  return dims;
}

/// What lies at each offset of the span, and whether an element lies at one twice other than by a stride of 0.
struct Slots {
  std::vector<Slot> at;
  bool overlaps = false;
};

/// Fills the slots by a loop over every index, padding before elements.
Slots slots_of(const Layout& layout) {
  Slots out;
  out.at.assign(static_cast<std::size_t>(layout.span()), Slot::gap);
  if (layout.empty()) return out;
  each_index(layout.padded_dims(),
             [&](const Dims& index) { out.at[static_cast<std::size_t>(layout.offset(index))] = Slot::padding; });
  std::vector<Dims> seen(out.at.size());
  std::vector<bool> taken(out.at.size());
  each_index(layout.dims(), [&](const Dims& index) {
    // The index without what strides of 0 add to it.
    Dims once = index;
    for (int d = 0; d < layout.ndims(); ++d) {
      int64_t place = 1, rest = index[d];
      for (const Digit& digit : layout.digits(d)) {
        if (digit.stride == 0) once[d] -= rest % digit.extent * place;
        rest /= digit.extent;
        place *= digit.extent;
      }
    }
    const auto offset = static_cast<std::size_t>(layout.offset(index));
    out.at[offset] = Slot::element;
    if (taken[offset] && seen[offset] != once) out.overlaps = true;
    seen[offset] = once;
    taken[offset] = true;
  });
  return out;
}

/// The bits of an element.
uint64_t get(DType dtype, std::span<const std::byte> data, int64_t offset) {
  const auto at = static_cast<std::size_t>(offset), width = static_cast<std::size_t>(bits(dtype));
  if (width < 8) {  // bit by bit, the lowest first
    uint64_t out = 0;
    for (std::size_t b = 0; b < width; ++b) {
      const std::size_t bit = at * width + b;
      out |= (std::to_integer<uint64_t>(data[bit / 8]) >> bit % 8 & 1) << b;
    }
    return out;
  }
  const auto size = static_cast<std::size_t>(bits(dtype) / 8);
  uint64_t out = 0;
  std::memcpy(&out, data.data() + at * size, size);
  return out;
}
/// Writes an element's bits.
void put(DType dtype, std::span<std::byte> data, int64_t offset, uint64_t value) {
  const auto at = static_cast<std::size_t>(offset), width = static_cast<std::size_t>(bits(dtype));
  if (width < 8) {
    for (std::size_t b = 0; b < width; ++b) {
      const std::size_t bit = at * width + b;
      const auto one = std::byte{1} << bit % 8;
      data[bit / 8] = (data[bit / 8] & ~one) | ((value >> b & 1) != 0 ? one : std::byte{0});
    }
    return;
  }
  const auto size = static_cast<std::size_t>(bits(dtype) / 8);
  std::memcpy(data.data() + at * size, &value, size);
}

/// A value as the type stores it, and an element's value, by the reference.
uint64_t stored(DType dtype, double value) {
  uint64_t out = 0;
  reference_reorder({Layout(), DType::f64}, &value, {Layout(), dtype}, &out);
  return bits(dtype) < 8 ? out & ((uint64_t{1} << bits(dtype)) - 1) : out;
}
double value_of(DType dtype, uint64_t element) {
  double out = 0;
  reference_reorder({Layout(), dtype}, &element, {Layout(), DType::f64}, &out);
  return out;
}

/// The layout with some strides changed to 0 or to small ones, so that indices share offsets: of elements, of padding,
/// or of both.
Layout overlapping(std::mt19937_64& rng, const Layout& layout) {
  std::vector<Digits> digits;
  for (int d = 0; d < layout.ndims(); ++d) {
    digits.push_back(layout.digits_of(d));
    for (Digit& digit : digits.back()) {
      if (digit.stride > 0 && pick(rng, 0, 2) == 0) digit.stride = pick(rng, 0, 3);
    }
  }
  return Layout::from_digits(layout.dims(), digits, layout.offset0());
}

class PaddingProperty : public ::testing::Test {
 protected:
  /// Calls f(desc, text) for random layouts and types until enough of them had what f asks for, which it returns.
  template <typename F>
  void for_random(int64_t count, F f) {
    const uint64_t seed = setting("RELAYOUT_SEED", 20);
    count = static_cast<int64_t>(setting("RELAYOUT_CASES", static_cast<uint64_t>(count)));
    for (uint64_t i = 0; count > 0; ++i) {
      std::mt19937_64 rng(seed + i);
      std::string text;
      Layout layout = random_layout(rng, random_dims(rng), i % 3 == 0, &text);
      if (i % 4 == 0) {
        layout = overlapping(rng, layout);
        text += " with changed strides";
      }
      const DType dtype = all_dtypes()[i % static_cast<uint64_t>(kDTypeCount)];
      text += ", dims " + join(layout.dims()) + ", " + std::string(name(dtype)) + ", seed " + std::to_string(seed + i);
      if (f(TensorDesc(layout, dtype), text, rng)) --count;
      if (HasFatalFailure()) return;
    }
  }
};

TEST_F(PaddingProperty, RunsVisitEachElementOnceAndNothingElse) {
  for_random(5000, [](const TensorDesc& desc, const std::string& text, std::mt19937_64& rng) {
    const Slots slots = slots_of(desc.layout);
    EXPECT_EQ(gap_count(desc.layout),
              std::ranges::count(slots.at, Slot::gap) - (desc.layout.empty() ? 0 : desc.layout.offset_range().first))
        << text;
    if (slots.overlaps) {
      EXPECT_EQ(code_of([&] { for_each_run(desc.layout, [](int64_t, int64_t) {}); }), ErrorCode::not_injective) << text;
      return false;
    }
    const auto before = random_bytes(rng, DType::u8, desc.span_bytes());
    auto expected = before;
    for (std::size_t i = 0; i < slots.at.size(); ++i) {
      const auto offset = static_cast<int64_t>(i);
      if (slots.at[i] == Slot::element) put(desc.dtype, expected, offset, ~get(desc.dtype, before, offset));
    }
    for (Guarded::Side side : kSides) {
      Guarded buffer(desc.span_bytes(), side);
      std::ranges::copy(before, buffer.data());
      for_each_run(desc.layout, [&](int64_t offset, int64_t length, const Dims& index) {
        EXPECT_EQ(desc.layout.offset(index), offset) << text;
        for (int64_t i = offset; i < offset + length; ++i) {
          put(desc.dtype, buffer.bytes(), i, ~get(desc.dtype, buffer.bytes(), i));
        }
      });
      EXPECT_TRUE(buffer.intact() && std::ranges::equal(buffer.bytes(), expected)) << text;
    }
    return true;
  });
}

TEST_F(PaddingProperty, FillWritesPaddingAndNothingElse) {
  for_random(3000, [](const TensorDesc& desc, const std::string& text, std::mt19937_64& rng) {
    if (!desc.layout.padded() || desc.layout.empty()) return false;
    const Slots slots = slots_of(desc.layout);
    const bool floating = is_floating(desc.dtype), power = desc.dtype == DType::f8_e8m0;
    const double value = power      ? static_cast<double>(int64_t{1} << pick(rng, 0, 5))
                         : floating ? static_cast<double>(pick(rng, -2, bits(desc.dtype) < 8 ? 2 : 5)) * 1.25
                                    : static_cast<double>(pick(rng, 0, 1));
    const uint64_t padding = stored(desc.dtype, value);
    const auto before = random_bytes(rng, DType::u8, desc.span_bytes());
    auto expected = before;
    for (std::size_t i = 0; i < slots.at.size(); ++i) {
      if (slots.at[i] == Slot::padding) put(desc.dtype, expected, static_cast<int64_t>(i), padding);
    }
    for (Guarded::Side side : kSides) {
      Guarded buffer(desc.span_bytes(), side);
      std::ranges::copy(before, buffer.data());
      fill_padding(desc, buffer.bytes(), Padding::of(value));
      EXPECT_TRUE(buffer.intact() && std::ranges::equal(buffer.bytes(), expected)) << text;
      EXPECT_FALSE(first_dirty_padding(desc, buffer.bytes(), Padding::of(value))) << text;
    }
    return true;
  });
}

TEST_F(PaddingProperty, TheFirstDirtyElementIsThatOfALoop) {
  int64_t dirty = 0, clean = 0, shared = 0;
  for_random(5000, [&](const TensorDesc& desc, const std::string& text, std::mt19937_64& rng) {
    if (!desc.layout.padded() || desc.layout.empty()) return false;
    const Slots slots = slots_of(desc.layout);
    const double other = desc.dtype == DType::f8_e8m0 ? 2 : 0;  // which has no 0
    const double value = pick(rng, 0, 2) == 0 ? 1 : other;
    Guarded buffer(desc.span_bytes(), kSides[pick(rng, 0, 1)]);
    std::ranges::copy(random_bytes(rng, desc.dtype, desc.span_bytes()), buffer.data());
    fill_padding(desc, buffer.bytes(), Padding::of(value));
    // Some places of the buffer are made dirty: elements, padding or gaps.
    for (int64_t k = pick(rng, 0, 3); k > 0; --k) {
      const int64_t offset = pick(rng, 0, desc.layout.span() - 1);
      if (bits(desc.dtype) >= 8 || slots.at[static_cast<std::size_t>(offset)] != Slot::gap)
        put(desc.dtype, buffer.bytes(), offset, get(desc.dtype, random_bytes(rng, desc.dtype, 8), 0));
    }
    std::optional<int64_t> want;
    for (std::size_t i = 0; i < slots.at.size() && !want; ++i) {
      const auto offset = static_cast<int64_t>(i);
      if (slots.at[i] == Slot::padding && value_of(desc.dtype, get(desc.dtype, buffer.bytes(), offset)) != value)
        want = offset;
    }
    const auto found = first_dirty_padding(desc, buffer.bytes(), Padding::of(value));
    EXPECT_EQ(found.has_value(), want.has_value()) << text;
    if (found && want) {
      EXPECT_EQ(found->offset, *want) << text;
      EXPECT_EQ(desc.layout.offset(found->index), *want) << text;
      EXPECT_FALSE(std::ranges::equal(found->index, desc.layout.dims(), std::less<>())) << text;
    }
    ++(want ? dirty : clean);
    shared += slots.overlaps;
    return true;
  });
  EXPECT_GT(dirty, clean / 10);
  EXPECT_GT(clean, dirty / 10);
  EXPECT_GT(shared, 0);
  std::printf("%lld dirty, %lld clean, %lld of them with overlapping elements\n", static_cast<long long>(dirty),
              static_cast<long long>(clean), static_cast<long long>(shared));
}

}  // namespace
}  // namespace relayout::test
