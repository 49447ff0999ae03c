// The kernels by name: which there are, which each instruction set has, and leaving some out to find one that is wrong
// or slow.
//
//     RELAYOUT_KERNEL=-transpose_stream,-interleave/3/4 relayout bench ...
//
// A name is that of a line of kernels/kernels.inc, or it goes on to one kernel of that line: "interleave" are all that
// interleave, "interleave/3" those of three columns, "interleave/3/4" is the one for elements of 4 bytes. Only kernels
// that are optional can be left out: reorders then go another way, with the same result. "generated_code" is no kernel
// of a table: it is the machine code that is generated for plans that run often (generated/generate.h), and can be left
// out, too.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "relayout/cpu/kernels/kernels.h"

namespace relayout::cpu {

/// What is the same for all kernels of a line of kernels.inc.
struct KernelFamily {
  enum class Since : uint8_t { plain, simd, avx512 };
  enum class Presence : uint8_t { needed, optional };
  enum class Stores : uint8_t { through, past };

  std::string_view name, does;
  Since since;
  Presence presence;
  Stores stores;
  /// What its kernels differ in.
  std::span<const std::string_view> by;

  bool optional() const { return presence == Presence::optional; }
  bool past_cache() const { return stores == Stores::past; }
};

/// Calls visit(family, member, members) for every member of a table, where `members` is the KernelMembers that walks
/// the kernels of `member`.
template <class Table, class Visit>
void each_family(Table& table, Visit&& visit) {
#define RELAYOUT_KERNEL(name, signature, since, presence, stores, does)                         \
  visit(KernelFamily{#name, does, KernelFamily::Since::since, KernelFamily::Presence::presence, \
                     KernelFamily::Stores::stores, KernelMembers<signature>::kBy},              \
        table.name, KernelMembers<signature>());
#include "relayout/cpu/kernels/kernels.inc"
#undef RELAYOUT_KERNEL
}

/// Calls visit(family, kernel, places) for every kernel of a table; those that it lacks are null.
template <class Table, class Visit>
void each_kernel(Table& table, Visit&& visit) {
  each_family(table, [&](const KernelFamily& family, auto& member, auto members) {
    members.each(member, [&](auto& kernel, std::span<const KernelPlace> places) { visit(family, kernel, places); });
  });
}

/// The whole name of a kernel, e.g. "interleave/3/4".
std::string kernel_name(const KernelFamily& family, std::span<const KernelPlace> places);

/// A line of kernels.inc and the kernels of it that the tables have (all_kernels()).
struct ListedKernels {
  KernelFamily family;
  /// By table: the names of its kernels.
  std::vector<std::vector<std::string>> names;
};
std::vector<ListedKernels> list_kernels();

/// An item of RELAYOUT_KERNEL. `problem` says why it is ignored; empty where it is not.
struct LeftOut {
  std::string item, problem;
};
/// What a list of items as in RELAYOUT_KERNEL means.
std::vector<LeftOut> left_out(std::string_view items);
/// The same for the variable itself; nothing where it is not set.
std::vector<LeftOut> left_out_by_environment();

/// Whether RELAYOUT_KERNEL leaves generated code out; read once.
bool generated_code_left_out() noexcept;

/// The instruction set and what is left out of it: a part of the key under which measured times are remembered.
std::string kernels_in_use();

}  // namespace relayout::cpu
