// Reorders through index tables against loops over all indices, in memory between forbidden pages.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "relayout/core/format.h"
#include "relayout/core/print.h"
#include "relayout/cpu/gathered_parts.h"
#include "relayout/cpu/parts.h"
#include "relayout/cpu/reorder.h"
#include "relayout/reorder/reference.h"
#include "relayout/reorder/refine/nest.h"
#include "tests/support/guarded.h"
#include "tests/support/scoped_isa.h"
#include "tests/support/swizzled_layouts.h"
#include "tests/support/testing.h"

namespace relayout::cpu {
namespace {

using test::Guarded;

/// The bits of an element, and an element of other bits in its place.
uint64_t element_bits(const std::vector<std::byte>& memory, DType dtype, int64_t at) {
  uint64_t out = 0;
  for (int64_t b = bits(dtype) * (at + 1); b-- > bits(dtype) * at;)
    out = out << 1 | (static_cast<uint64_t>(memory[static_cast<std::size_t>(b / 8)]) >> (b % 8) & 1);
  return out;
}
void put(std::vector<std::byte>& memory, DType dtype, int64_t at, uint64_t value) {
  for (int64_t b = bits(dtype) * at; b < bits(dtype) * (at + 1); ++b, value >>= 1) {
    std::byte& byte = memory[static_cast<std::size_t>(b / 8)];
    byte = (byte & ~(std::byte{1} << (b % 8))) | static_cast<std::byte>((value & 1) << (b % 8));
  }
}

/// Where the indices of a dim stand, by the definition.
std::vector<int64_t> listed(const std::vector<IndexTable>& tables, int dim, int64_t count) {
  std::vector<int64_t> out(static_cast<std::size_t>(count));
  std::iota(out.begin(), out.end(), 0);
  for (const IndexTable& table : tables) {
    if (table.dim() != dim) continue;
    for (int64_t i = 0; i < count; ++i) {
      const int64_t entry = table.entries()[static_cast<std::size_t>(i / table.block())];
      out[static_cast<std::size_t>(i)] = entry < 0 ? -1 : entry * table.block() + i % table.block();
    }
  }
  return out;
}

struct Case {
  TensorDesc src, dst;
  Attributes attributes;
  Dims dims;
  std::string text;
};

/// The destination: the elements that are read are put side by side, converted by the reference without tables, and
/// written one by one.
std::vector<std::byte> expected_of(const Case& c, const std::vector<std::byte>& in, std::vector<std::byte> out) {
  std::vector<std::vector<int64_t>> from, to;
  for (int d = 0; d < c.dims.size(); ++d) {
    from.push_back(listed(c.attributes.src_index, d, c.dims[d]));
    to.push_back(listed(c.attributes.dst_index, d, c.dims[d]));
  }
  const auto at = [](const auto& tables, const Dims& index) {
    Dims place = index;
    for (int d = 0; d < index.size(); ++d)
      place[d] = tables[static_cast<std::size_t>(d)][static_cast<std::size_t>(index[d])];
    return place;
  };
  const auto nowhere = [](const Dims& place) { return std::ranges::find(place, -1) != place.end(); };
  const bool pads = c.attributes.padding.kind == Padding::Kind::value;
  const uint64_t padding = pads ? padding_bits(c.attributes.padding.value, c.dst.dtype) : 0;
  if (pads && c.attributes.dst_index.empty()) {
    test::each_index(c.dst.layout.padded_dims(), [&](const Dims& index) {
      bool inside = true;
      for (int d = 0; d < index.size(); ++d) inside = inside && index[d] < c.dst.layout.dim(d);
      if (!inside) put(out, c.dst.dtype, c.dst.layout.offset(index), padding);
    });
  }
  const TensorDesc dense_src(Layout::contiguous(c.dims), c.src.dtype),
      dense_dst(Layout::contiguous(c.dims), c.dst.dtype);
  std::vector<std::byte> read(static_cast<std::size_t>(dense_src.span_bytes())),
      made(static_cast<std::size_t>(dense_dst.span_bytes()));
  int64_t n = 0;
  test::each_index(c.dims, [&](const Dims& index) {
    const Dims src = at(from, index), dst = at(to, index);
    if (!nowhere(src)) put(read, c.src.dtype, n, element_bits(in, c.src.dtype, c.src.layout.offset(src)));
    if (!nowhere(dst)) put(made, c.dst.dtype, n, element_bits(out, c.dst.dtype, c.dst.layout.offset(dst)));
    ++n;
  });
  Attributes plain = c.attributes;
  plain.src_index = plain.dst_index = {};
  reference_reorder(dense_src, read.data(), dense_dst, made.data(), plain);
  n = 0;
  test::each_index(c.dims, [&](const Dims& index) {
    const Dims src = at(from, index), dst = at(to, index);
    if (!nowhere(dst) && !(nowhere(src) && !pads))
      put(out, c.dst.dtype, c.dst.layout.offset(dst), nowhere(src) ? padding : element_bits(made, c.dst.dtype, n));
    ++n;
  });
  return out;
}

void check_case(const Case& c, const Tuning& tuning, bool with_reference) {
  const auto in = test::counting(c.src.span_bytes()), old = test::counting(c.dst.span_bytes() + 3);
  const std::vector<std::byte> before(old.begin() + 3, old.end());
  const auto expected = expected_of(c, in, before);
  const Plan plan = make_plan(c.src, c.dst, c.attributes, tuning);
  for (const auto side : {Guarded::Side::start, Guarded::Side::end}) {
    Guarded src(static_cast<int64_t>(in.size()), side), dst(static_cast<int64_t>(before.size()), side);
    std::ranges::copy(in, src.data());
    std::ranges::copy(before, dst.data());
    run(plan, src.data(), dst.data(), {.threads = 2, .grain_bytes = 1});
    ASSERT_TRUE(dst.intact() && src.intact()) << c.text << "\n" << plan.explain();
    ASSERT_TRUE(std::ranges::equal(dst.bytes(), expected)) << c.text << "\n" << plan.explain();
  }
  if (!with_reference) return;
  auto by_reference = before;
  reference_reorder(c.src, in.data(), c.dst, by_reference.data(), c.attributes);
  ASSERT_EQ(by_reference, expected) << c.text;
}

class RandomCases {
 public:
  explicit RandomCases(uint32_t seed) : random_(seed) {}

  Case next(int64_t most) {
    static constexpr DType kTypes[] = {DType::f32, DType::f16, DType::u8,      DType::s8,      DType::f64,
                                       DType::u4,  DType::s4,  DType::f6_e2m3, DType::boolean, DType::s64};
    Case c;
    c.dims = random_.dims(most);
    Dims src_dims = c.dims, dst_dims = c.dims;
    for (int d = 0; d < c.dims.size(); ++d) {
      const int64_t which = random_.pick(0, 4);
      if (which == 0 || which == 2) add(c, kSrc, d, src_dims[d]);
      if (which == 1 || which == 2) add(c, kDst, d, dst_dims[d]);
      // Behind tables on both sides the reorder has as many indices as the shorter one.
      if (which == 2)
        c.dims[d] = std::min(c.attributes.src_index.back().indices(), c.attributes.dst_index.back().indices());
    }
    Layout a = random_.layout(src_dims), b = random_.layout(dst_dims);
    if (random_.pick(0, 7) == 0) a = a.with_swizzle(random_.swizzle());
    if (random_.pick(0, 7) == 0) b = b.with_swizzle(random_.swizzle());
    const DType from = kTypes[random_.pick(0, std::size(kTypes) - 1)];
    const DType to = random_.pick(0, 2) ? from : kTypes[random_.pick(0, std::size(kTypes) - 1)];
    c.src = TensorDesc(a, from);
    c.dst = TensorDesc(b, to);
    if (random_.pick(0, 3) == 0) c.attributes.padding = Padding::keep();
    if (random_.pick(0, 5) == 0) add_scales(c);
    if (random_.pick(0, 9) == 0) c.attributes.beta = 1;
    c.text = std::string(name(from)) + " " + digits_expression(a) + " -> " + std::string(name(to)) + " " +
             digits_expression(b) + " of " + join(c.dims);
    return c;
  }

 private:
  /// A table of a dim on one side, of which c.dims says how many indices it is for; sets the extent of that side.
  void add(Case& c, Operand side, int d, int64_t& extent) {
    const int64_t block = random_.pick(0, 1)   ? 1
                          : random_.pick(0, 1) ? int64_t{1} << random_.pick(1, 4)
                                               : random_.pick(2, 6);
    const int64_t count = ceil_div(c.dims[d], block), blocks = count + random_.pick(0, 5);
    std::vector<int64_t> entries(static_cast<std::size_t>(blocks));
    std::iota(entries.begin(), entries.end(), 0);
    const int64_t order = random_.pick(0, 4);
    if (order == 1) std::ranges::reverse(entries);
    if (order >= 2) std::ranges::shuffle(entries, shuffles_);
    entries.resize(static_cast<std::size_t>(count));
    if (side == kSrc && order == 3) {
      for (int64_t& entry : entries) entry = random_.pick(0, blocks - 1);
    }
    if (random_.pick(0, 3) == 0) {
      for (int64_t& entry : entries) entry = random_.pick(0, 3) ? entry : IndexTable::kNone;
    }
    extent = blocks * block;
    if (std::ranges::find(entries, blocks - 1) == entries.end()) extent -= random_.pick(0, block - 1);
    auto& tables = side == kSrc ? c.attributes.src_index : c.attributes.dst_index;
    tables.emplace_back(d, std::move(entries), block);
  }

  void add_scales(Case& c) {
    PerMask& scale = c.attributes.src_scale;
    scale.mask = static_cast<uint32_t>(random_.pick(1, (1 << c.dims.size()) - 1));
    scale.groups = Dims(c.dims.size(), 1);
    int64_t count = 1;
    for (int d = 0; d < c.dims.size(); ++d) {
      if (scale.has(d) && random_.pick(0, 1)) scale.groups[d] = random_.pick(1, 8);
      count *= scale.count(d, c.dims[d]);
    }
    for (int64_t i = 0; i < count; ++i) scale.values.push_back(static_cast<double>(i % 5 + 1));
  }

  test::SwizzledLayouts random_;
  std::mt19937 shuffles_{17};
};

TEST(IndexedReorder, EqualsALoopOverAllIndices) {
  RandomCases random(21);
  const auto isas = available_isas();
  for (int turn = 0; turn < 4000; ++turn) {
    const Case c = random.next(turn % 8 ? 24 : 70);
    const test::ScopedIsa isa_scope(isas[static_cast<std::size_t>(turn) % isas.size()]);
    Tuning tuning;
    if (turn % 4 == 1) tuning.stream = Tuning::Stream::always;
    if (turn % 4 == 2) tuning.way = Tuning::Way::stages;
    if (turn % 8 == 3) tuning.way = Tuning::Way::lines;
    check_case(c, tuning, turn % 4 == 0);
    if (testing::Test::HasFatalFailure()) return;
  }
}

/// Rows of every length are gathered and scattered, past the cache and through it; and single elements of rows.
TEST(IndexedReorder, RowsAndColumnsOfAllSizes) {
  std::mt19937 random(5);
  const auto isas = available_isas();
  int turn = 0;
  for (const DType dtype : {DType::u8, DType::f16, DType::f32, DType::f64, DType::u4}) {
    for (const int64_t row : {1, 2, 3, 8, 16, 24, 64, 128, 200, 1024, 5000}) {
      for (const int64_t entries : {1, 2, 70, 1300}) {
        if (row * entries > 200000) continue;
        std::vector<int64_t> table(static_cast<std::size_t>(entries + 9));
        std::iota(table.begin(), table.end(), 0);
        std::ranges::shuffle(table, random);
        table.resize(static_cast<std::size_t>(entries));
        for (const int dim : {0, 1}) {
          for (const bool scatters : {false, true}) {
            Dims small{entries, row}, large{entries + 9, row};
            if (dim == 1) std::swap(small[0], small[1]), std::swap(large[0], large[1]);
            Case c{{Layout::contiguous(scatters ? small : large), dtype},
                   {Layout::contiguous(scatters ? large : small), dtype},
                   {},
                   small,
                   std::string(name(dtype)) + " " + join(small) + " dim " + std::to_string(dim)};
            auto& tables = scatters ? c.attributes.dst_index : c.attributes.src_index;
            tables.emplace_back(dim, table);
            const test::ScopedIsa isa_scope(isas[static_cast<std::size_t>(turn) % isas.size()]);
            Tuning tuning;
            if (++turn % 2) tuning.stream = Tuning::Stream::always;
            check_case(c, tuning, false);
            if (testing::Test::HasFatalFailure()) return;
          }
        }
      }
    }
  }
}

TEST(IndexedReorder, RefusesWhatDoesNotFit) {
  const TensorDesc src = test::desc("ab", {10, 4}), dst = test::desc("ab", {3, 4});
  const auto message = [&](std::vector<IndexTable> from, std::vector<IndexTable> to) {
    Attributes a;
    a.src_index = std::move(from);
    a.dst_index = std::move(to);
    return test::error_of([&] { make_plan(src, dst, a); }).message();
  };
  EXPECT_EQ(message({}, {}), "reorder: dims differ: source 10,4, destination 3,4");
  EXPECT_EQ(message({IndexTable(1, {0, 1, 2, 3})}, {}),
            "reorder: dims differ: source 10,4, destination 3,4; only dims with an index table may");
  EXPECT_EQ(message({IndexTable(0, {0, 1})}, {}),
            "reorder: src_index of dim 0 has 2 entries, and the other side has 3 indices there, which need 3");
  EXPECT_EQ(
      message({IndexTable(0, {0, 1}, 3)}, {}),
      "reorder: src_index of dim 0 has 2 entries of 3 indices each, and the other side has 3 indices there, which "
      "need 1");
  EXPECT_EQ(message({IndexTable(0, {0, 1, 10})}, {}),
            "reorder: entry 2 of src_index of dim 0 is index 10; the layout has 0 to 9, and -1 stands for none");
  EXPECT_EQ(message({IndexTable(0, {0, 1, 2}), IndexTable(0, {0, 1, 2})}, {}),
            "reorder: there are two tables, each the src_index of dim 0");
  EXPECT_EQ(message({IndexTable(2, {0, 1, 2})}, {}), "reorder: src_index of dim 2: the tensors have rank 2");
  EXPECT_EQ(message({}, {IndexTable(0, {0, 1, 2, -1, -1, -1, -1, -1, -1, 1})}),
            "reorder: entries 1 and 9 of dst_index of dim 0 are both 1; those of a destination must differ");
}

TEST(IndexedReorder, ExplainNamesTheTables) {
  Attributes a;
  a.src_index = {IndexTable(0, {5, 3}, 16)};
  const std::string text = make_plan(test::desc("ab", {100, 64}), test::desc("ab", {30, 64}), a).explain();
  EXPECT_NE(text.find("reorder of 30x64 (1920 elements)"), std::string::npos) << text;
  EXPECT_NE(text.find("dim a is read through a table of 2 entries, each for 16 indices"), std::string::npos) << text;
}

TEST(IndexedReorder, RunsInParts) {
  std::vector<int64_t> table(5000);
  for (std::size_t i = 0; i < table.size(); ++i) table[i] = static_cast<int64_t>(i * 7919 % 6000);
  Case c{test::desc("ab", {6000, 40}), test::desc("ab", {5000, 40}), {}, {5000, 40}, "parts"};
  c.attributes.src_index = {IndexTable(0, table)};
  const auto in = test::counting(c.src.span_bytes());
  std::vector<std::byte> out(static_cast<std::size_t>(c.dst.span_bytes()));
  const auto expected = expected_of(c, in, out);
  int calls = 0;
  EXPECT_TRUE(
      run_in_parts(make_plan(c.src, c.dst, c.attributes), in, out, {}, {.bytes = 1 << 16}, [&](int64_t, int64_t) {
        ++calls;
        return true;
      }));
  EXPECT_EQ(out, expected);
  EXPECT_GT(calls, 5);
}

// A table of very many entries is gathered a part at a time: rows, columns, blocks of which the last is short, and -1.
TEST(IndexedReorder, LongTablesGoInParts) {
  std::mt19937_64 random(5);
  for (const auto& [rows, cols, dim, block] :
       {std::tuple{int64_t{50}, int64_t{3}, 0, int64_t{1}}, {2, 40, 1, 1}, {60, 2, 0, 4}}) {
    const int64_t count = 70000, all = dim == 0 ? rows : cols;
    std::vector<int64_t> entries(static_cast<std::size_t>(count));
    for (int64_t& entry : entries) entry = static_cast<int64_t>(random() % static_cast<uint64_t>(all / block + 1)) - 1;
    const int64_t indices = count * block - (block - 1);
    const Dims dims = dim == 0 ? Dims{indices, cols} : Dims{rows, indices};
    const TensorDesc src(Layout::contiguous({rows, cols}), DType::u16), dst(Layout::contiguous(dims), DType::u16);
    std::vector<uint16_t> in(static_cast<std::size_t>(rows * cols)), out(static_cast<std::size_t>(dims[0] * dims[1]));
    std::iota(in.begin(), in.end(), uint16_t{1});
    std::ranges::fill(out, uint16_t{9999});
    Attributes attributes;
    attributes.src_index.emplace_back(dim, entries, block);
    ASSERT_TRUE(gathers_in_parts(src, dst, attributes));
    reorder(src, in, dst, out, attributes);
    for (int64_t r = 0; r < dims[0]; ++r) {
      for (int64_t c = 0; c < dims[1]; ++c) {
        const int64_t i = dim == 0 ? r : c, entry = entries[static_cast<std::size_t>(i / block)];
        const int64_t at = entry * block + i % block, from = dim == 0 ? at * cols + c : r * cols + at;
        const int want = entry < 0 ? 0 : in[static_cast<std::size_t>(from)];
        ASSERT_EQ(out[static_cast<std::size_t>(r * dims[1] + c)], want) << dim << ": " << r << "," << c;
      }
    }
    entries[69000] = all;
    attributes.src_index = {IndexTable(dim, entries, block)};
    try {
      reorder(src, in, dst, out, attributes);
      FAIL();
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("entry 69000 of src_index"), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace relayout::cpu
