// Layouts of random expressions of every kind, through their digits and through each system that can say them, and
// back: what is read is the same layout, or there was an error that says why not.
//
//     RELAYOUT_SEED=7 RELAYOUT_CASES=100000 interop_round_trips_test
#include <gtest/gtest.h>

#include <cstdio>
#include <map>

#include "relayout/interop/directml.h"
#include "relayout/interop/mdspan.h"
#include "relayout/interop/names_elsewhere.h"
#include "relayout/interop/spelling.h"
#include "tests/interop/random_expressions.h"
#include "tests/interop/there_and_back.h"
#include "tests/support/mdspan.h"
#include "tests/support/slow_tests.h"

namespace relayout {
namespace {

using test::Expression;

uint64_t seed() { return static_cast<uint64_t>(test::number_from("RELAYOUT_SEED", 20270311)); }
int64_t cases() { return test::number_from("RELAYOUT_CASES", test::slow_tests() ? 200'000 : 6'400); }

/// Calls f(tensor, numbers) for the cases. Each has the trace of its seed, its expression and its dims.
template <typename F>
void each_case(F&& f) {
  std::printf("seed %llu, %lld cases\n", static_cast<unsigned long long>(seed()), static_cast<long long>(cases()));
  test::RandomExpressions random(seed());
  for (int64_t k = 0; k < cases() && !testing::Test::HasFailure(); ++k) {
    const Expression expression = random.next();
    const DType dtype = random.numbers().one_of(kDTypeRows).dtype;
    SCOPED_TRACE("seed " + std::to_string(seed()) + ", case " + std::to_string(k) + ": " + expression.text +
                 " of dims " + join(expression.dims) + ", " + std::string(name(dtype)));
    f(expression, TensorDesc(Format::parse(expression.text).bind(expression.dims), dtype), random.numbers());
  }
}

/// Both have the same dims and the same offset at a few indices, the last among them.
void expect_same_offsets(const Layout& a, const Layout& b, test::RandomNumbers& numbers) {
  ASSERT_EQ(a.dims(), b.dims());
  for (int step = 0; step < 8 && !a.empty(); ++step) {
    Dims index;
    for (int d = 0; d < a.ndims(); ++d) index.push_back(step == 0 ? a.dim(d) - 1 : numbers.pick(0, a.dim(d) - 1));
    ASSERT_EQ(a.offset(index), b.offset(index)) << join(index);
  }
}

TEST(RoundTrips, DigitsOfEveryKind) {
  std::map<std::string_view, int64_t> kinds;
  each_case([&](const Expression& expression, const TensorDesc& desc, test::RandomNumbers& numbers) {
    ++kinds[expression.kind];
    const Format format = Format::parse(expression.text);
    EXPECT_EQ(format.text(), expression.text);
    const std::string text = digits_expression(desc.layout);
    const Layout again = Format::parse(text).bind(desc.layout.dims());
    EXPECT_EQ(again, desc.layout) << text;
    EXPECT_EQ(digits_expression(again), text);
    expect_same_offsets(again, desc.layout, numbers);
    // Without dims, the digits' own capacities are the dims.
    const Layout whole = Format::parse(text).bind(*Format::parse(text).default_dims());
    EXPECT_EQ(whole.dims(), desc.layout.padded_dims());
  });
  const std::vector<std::string_view> all = test::RandomExpressions::kinds();
  for (const std::string_view kind : all)
    EXPECT_GE(kinds[kind], cases() / static_cast<int64_t>(all.size())) << kind << ": too few cases";
}

// --- what a system certainly has, so that a refusal is wrong ------------------------------------------------------

/// A layout whose dims have one stride each, and no padding.
bool strided(const Layout& layout) {
  if (layout.swizzled()) return false;
  const Layout simple = layout.canonical();
  for (int d = 0; d < layout.ndims(); ++d) {
    if (simple.digits(d).size() != 1 || layout.capacity(d) != layout.dim(d)) return false;
  }
  return !layout.empty();
}

bool strides_from(const Layout& layout, int64_t least) {
  if (layout.swizzled()) return false;
  const Layout simple = layout.canonical();
  for (int d = 0; d < layout.ndims(); ++d) {
    if (layout.dim(d) > 1 && simple.outer_stride(d) < least) return false;
  }
  return true;
}

bool numpy_has(const TensorDesc& desc) { return strided(desc.layout) && bits(desc.dtype) >= 8; }
bool buffer_has(const TensorDesc& desc) {
  const bool small = is_floating(desc.dtype) && bits(desc.dtype) <= 16 && desc.dtype != DType::f16;
  return numpy_has(desc) && !small;
}
bool pytorch_has(const TensorDesc& desc) { return numpy_has(desc) && strides_from(desc.layout, 0); }
bool directml_has(const TensorDesc& desc) {
  const int rank = desc.layout.ndims();
  return pytorch_has(desc) && rank >= 1 && rank <= directml::kMaxDimensions &&
         std::ranges::find(directml::types(), desc.dtype, &directml::TypeName::dtype) != directml::types().end();
}
bool cute_has(const TensorDesc& desc) {
  const Layout under = desc.layout.plain().canonical();
  for (int d = 0; d < under.ndims(); ++d) {  // CuTe's pointer stands at the first element; an offset leads there alone
    if (desc.layout.swizzled() && std::ranges::any_of(under.digits(d), [](const Digit& k) { return k.stride < 0; }))
      return false;
  }
  return desc.layout.padded_dims() == desc.layout.dims() && (desc.layout.offset0() == 0 || desc.layout.swizzled());
}
/// Every layout without gaps that begins at offset 0.
bool xla_has(const TensorDesc& desc) {
  if (desc.layout.swizzled() || bits(desc.dtype) == 6) return false;
  return !desc.layout.empty() && desc.layout.packed() && desc.layout.offset0() == 0 && strides_from(desc.layout, 1);
}

struct Expected {
  std::string_view name;
  /// The least shares of the cases, in thousandths, that must be said and that must be refused.
  int64_t least_said, least_refused;
  /// Null where no simple rule says what the system has.
  bool (*has)(const TensorDesc& desc);
};
constexpr Expected kExpected[] = {
    {"tag", 250, 100, nullptr},         {"numpy", 250, 100, numpy_has},       {"buffer", 200, 100, buffer_has},
    {"pytorch", 250, 100, pytorch_has}, {"directml", 200, 100, directml_has}, {"dlpack", 250, 100, numpy_has},
    {"onednn", 250, 50, nullptr},       {"cute", 250, 100, cute_has},         {"xla", 250, 100, xla_has},
    {"tvm", 200, 100, nullptr},         {"cudnn", 150, 100, nullptr},         {"mace", 10, 100, nullptr},
    {"mdspan", 200, 100, nullptr},      {"triton", 40, 100, nullptr},
};

TEST(RoundTrips, EverySystem) {
  ASSERT_EQ(std::size(kExpected), test::systems_there_and_back().size());
  struct Counts {
    int64_t said = 0, refused = 0;
  };
  std::map<std::string_view, Counts> counts;
  each_case([&](const Expression&, const TensorDesc& desc, test::RandomNumbers& numbers) {
    for (const Expected& system : kExpected) {
      try {
        const TensorDesc back = test::there_and_back(system.name, desc);
        EXPECT_EQ(back.dtype, desc.dtype) << system.name;
        EXPECT_EQ(back.layout, desc.layout)
            << system.name << " gives " << digits_expression(back.layout) << " of " << digits_expression(desc.layout);
        expect_same_offsets(back.layout, desc.layout, numbers);
        ++counts[system.name].said;
      } catch (const Error& error) {
        EXPECT_NE(error.code(), ErrorCode::internal) << system.name << ": " << error.message();
        EXPECT_FALSE(error.message().empty()) << system.name;
        EXPECT_FALSE(system.has != nullptr && system.has(desc)) << system.name << " refused: " << error.message();
        ++counts[system.name].refused;
      }
    }
  });
  for (const Expected& system : kExpected) {
    const Counts& c = counts[system.name];
    std::printf("%-9s said %6lld, refused %6lld\n", std::string(system.name).c_str(), static_cast<long long>(c.said),
                static_cast<long long>(c.refused));
    EXPECT_GE(c.said * 1000, cases() * system.least_said) << system.name;
    EXPECT_GE(c.refused * 1000, cases() * system.least_refused) << system.name;
  }
}

/// Each system's text, or its refusal; never both, and never neither.
TEST(RoundTrips, Spellings) {
  std::map<std::string_view, std::pair<int64_t, int64_t>> counts;
  each_case([&](const Expression&, const TensorDesc& desc, test::RandomNumbers&) {
    for (const std::string_view system : systems()) {
      const Spelling s = spelling(system, desc);
      EXPECT_NE(s.text.empty(), s.refusal.empty()) << system;
      ++(s.text.empty() ? counts[system].second : counts[system].first);
    }
  });
  for (const std::string_view system : systems()) {
    const auto [said, refused] = counts[system];
    std::printf("%-9s said %6lld, refused %6lld\n", std::string(system).c_str(), static_cast<long long>(said),
                static_cast<long long>(refused));
    EXPECT_GE(said * 1000, cases() * (system == "mace" ? 1 : system == "triton" ? 40 : 100)) << system;
    const bool says_all = system == "c" || system == "mdspan";
    EXPECT_GE(refused * 1000, says_all ? 0 : cases() * 50) << system;
  }
}

/// The mapping of any layout gives its offsets.
TEST(RoundTrips, MappingsOfMdspan) {
  int64_t compared = 0;
  each_case([&](const Expression&, const TensorDesc& desc, test::RandomNumbers& numbers) {
    if (desc.layout.ndims() != 3) return;
    const mapping<test::reference_mdspan::dextents<int64_t, 3>> map(desc.layout);
    EXPECT_EQ(layout_of_mapping(map), desc.layout);
    for (int step = 0; step < 8 && !desc.layout.empty(); ++step) {
      const auto i = [&](int d) { return numbers.pick(0, desc.layout.dim(d) - 1); };
      const Dims index{i(0), i(1), i(2)};
      ASSERT_EQ(map(index[0], index[1], index[2]), desc.layout.offset(index)) << join(index);
      ASSERT_LT(map(index[0], index[1], index[2]), map.required_span_size());
    }
    ++compared;
  });
  EXPECT_GE(compared, cases() / 20);
}

/// Each name that a layout has in other systems is that layout.
TEST(RoundTrips, NamesElsewhere) {
  int64_t names = 0;
  each_case([&](const Expression&, const TensorDesc& desc, test::RandomNumbers& numbers) {
    if (!numbers.one_in(8)) return;
    for (const std::string& name : names_of(desc.layout)) {
      EXPECT_EQ(Format::parse(name).bind(desc.layout.dims()), desc.layout) << name;
      ++names;
    }
  });
  EXPECT_GE(names, cases() / 20);
}

}  // namespace
}  // namespace relayout
