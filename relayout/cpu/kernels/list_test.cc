// The list of kernels says of every table what is so, and leaving kernels out goes by their names.
#include "relayout/cpu/kernels/list.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace relayout::cpu {
namespace {

using Since = KernelFamily::Since;

/// The names of the kernels that a table has.
std::set<std::string> names_of(const Kernels& table) {
  std::set<std::string> out;
  each_kernel(table, [&](const KernelFamily& family, const auto& kernel, std::span<const KernelPlace> places) {
    if (kernel) out.insert(kernel_name(family, places));
  });
  return out;
}

Since level(const Kernels& table) {
  return &table == scalar_kernels() ? Since::plain : table.isa.starts_with("avx512") ? Since::avx512 : Since::simd;
}

// A family is in the tables of the instruction sets from `since` on, and in no others. What is needed is in each of
// them wherever it is in the plain table.
TEST(KernelList, SaysWhichTablesHaveAKernel) {
  for (const Kernels* table : all_kernels()) {
    each_family(*table, [&](const KernelFamily& family, const auto& member, auto members) {
      int64_t count = 0;
      members.each(member, [&](const auto& kernel, auto) { count += kernel != nullptr; });
      EXPECT_EQ(count > 0, level(*table) >= family.since) << family.name << " of " << table->isa;
    });
    const std::set<std::string> here = names_of(*table);
    each_kernel(*scalar_kernels(), [&](const KernelFamily& family, const auto& kernel, auto places) {
      if (family.optional() || !kernel) return;
      EXPECT_TRUE(here.contains(kernel_name(family, places))) << kernel_name(family, places) << " of " << table->isa;
    });
  }
}

TEST(KernelList, NamesEachKernelOnce) {
  std::set<std::string> names;
  each_kernel(*scalar_kernels(), [&](const KernelFamily& family, const auto&, std::span<const KernelPlace> places) {
    EXPECT_TRUE(names.insert(kernel_name(family, places)).second) << kernel_name(family, places);
    EXPECT_EQ(places.size(), family.by.size());
  });
  for (const char* name : {"copy", "transpose/8", "interleave/3/4", "tiles/16", "unpack/4/signed", "pack/6",
                           "decode/f4_e2m1", "encode/u1", "line_program/64", "convert/f32/bf16", "arithmetic/f64"})
    EXPECT_TRUE(names.contains(name)) << name;
}

TEST(KernelList, ListsWhatTheTablesHave) {
  const std::vector<ListedKernels> listed = list_kernels();
  for (std::size_t t = 0; t < all_kernels().size(); ++t) {
    std::set<std::string> names;
    for (const ListedKernels& line : listed) names.insert(line.names[t].begin(), line.names[t].end());
    EXPECT_EQ(names, names_of(*all_kernels()[t]));
  }
}

/// What is missing in the best table without some kernels.
std::set<std::string> missing(std::string_view items) {
  Kernels table = *all_kernels().back();
  const std::set<std::string> before = names_of(table);
  leave_out(table, items);
  const std::set<std::string> after = names_of(table);
  std::set<std::string> out;
  std::ranges::set_difference(before, after, std::inserter(out, out.end()));
  return out;
}

TEST(KernelList, LeavesOutByName) {
  using Names = std::set<std::string>;
  EXPECT_EQ(missing("-interleave/3/4"), Names{"interleave/3/4"});
  EXPECT_EQ(missing("-interleave/3"), (Names{"interleave/3/1", "interleave/3/2", "interleave/3/4", "interleave/3/8"}));
  EXPECT_EQ(missing("-interleave/3/4,-deinterleave/2/8"), (Names{"interleave/3/4", "deinterleave/2/8"}));
  for (const std::string& name : missing("-interleave")) EXPECT_TRUE(name.starts_with("interleave/")) << name;
  EXPECT_GE(missing("-interleave").size(), 12u);
  // What is needed stays, and so does everything where a name is none.
  for (const char* none : {"", ",", "-copy", "-tiles/16", "interleave", "-interleav", "-interleave/", "-interleave/3/",
                           "-interleave/3/4/1", "-interleave/3/16", "-/3", "-", "-convert/f32/f31"})
    EXPECT_EQ(missing(none), Names{}) << none;
}

TEST(KernelList, SaysWhatIsWrongWithNames) {
  const auto problem = [](std::string_view items) {
    const std::vector<LeftOut> all = left_out(items);
    return all.size() == 1 ? all[0].problem : "not one item";
  };
  EXPECT_EQ(problem("-interleave/3"), "");
  EXPECT_EQ(problem("-interleave/3/4"), "");
  EXPECT_EQ(problem("-copy"), "reorders cannot do without this kernel");
  EXPECT_EQ(problem("-convert/f32"), "reorders cannot do without this kernel");
  EXPECT_EQ(problem("-coppy"), "no kernel has this name");
  EXPECT_EQ(problem("-convert/f32/"), "no kernel has this name");
  EXPECT_EQ(problem("convert"), "a kernel is left out by a - before its name");
  EXPECT_TRUE(left_out("").empty() && left_out(",,").empty());
  EXPECT_EQ(left_out("-copy,,-convert").size(), 2u);
  EXPECT_EQ(left_out("-\x1b[31m")[0].item, "-\\x1b[31m");
}

}  // namespace
}  // namespace relayout::cpu
