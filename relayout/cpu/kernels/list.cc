// Kernels by name. See list.h.
#include "relayout/cpu/kernels/list.h"

#include <algorithm>
#include <cstdlib>

#include "relayout/core/error.h"

namespace relayout::cpu {
namespace {

constexpr const char* kVariable = "RELAYOUT_KERNEL";
constexpr std::string_view kGeneratedCode = "-generated_code";

std::string_view environment() noexcept {
  const char* items = std::getenv(kVariable);
  return items ? items : "";
}

/// Whether a name is that of a kernel, or of several among which it is.
bool names(std::string_view name, const KernelFamily& family, std::span<const KernelPlace> places) noexcept {
  // Takes a part of the name off its front, with the slash behind it.
  bool more = true;
  const auto take = [&](std::string_view part) {
    if (!name.starts_with(part)) return false;
    name.remove_prefix(part.size());
    more = name.starts_with('/');
    if (more) name.remove_prefix(1);
    return more || name.empty();
  };
  if (!take(family.name)) return false;
  for (std::size_t i = 0; i < places.size() && more; ++i) {
    if (!take(places[i].name)) return false;
  }
  return !more;
}

/// Calls visit(item) for the items of a list.
template <typename Visit>
void each_item(std::string_view items, Visit visit) {
  while (!items.empty()) {
    const std::size_t end = std::min(items.find(','), items.size());
    if (end > 0) visit(items.substr(0, end));
    items.remove_prefix(std::min(end + 1, items.size()));
  }
}

std::string problem_of(std::string_view item) {
  if (!item.starts_with('-')) return "a kernel is left out by a - before its name";
  if (item == kGeneratedCode) return "";
  bool known = false, optional = true;
  each_kernel(*scalar_kernels(), [&](const KernelFamily& family, auto&, std::span<const KernelPlace> places) {
    if (!names(item.substr(1), family, places)) return;
    known = true;
    optional = family.optional();
  });
  return !known ? "no kernel has this name" : !optional ? "reorders cannot do without this kernel" : "";
}

}  // namespace

void leave_out(Kernels& table, std::string_view items) noexcept {
  each_item(items, [&](std::string_view item) {
    if (!item.starts_with('-')) return;
    each_kernel(table, [&](const KernelFamily& family, auto& kernel, std::span<const KernelPlace> places) {
      if (family.optional() && names(item.substr(1), family, places)) kernel = nullptr;
    });
  });
}

void leave_out_by_environment(Kernels& table) noexcept { leave_out(table, environment()); }

std::string kernel_name(const KernelFamily& family, std::span<const KernelPlace> places) {
  std::string out(family.name);
  for (const KernelPlace& place : places) out.append("/").append(place.name);
  return out;
}

std::vector<ListedKernels> list_kernels() {
  std::vector<ListedKernels> out;
  for (const Kernels* table : all_kernels()) {
    std::size_t line = 0;
    each_family(*table, [&](const KernelFamily& family, const auto& member, auto members) {
      if (line == out.size()) out.push_back({family, {}});
      std::vector<std::string>& here = out[line++].names.emplace_back();
      members.each(member, [&](const auto& kernel, std::span<const KernelPlace> places) {
        if (kernel) here.push_back(kernel_name(family, places));
      });
    });
  }
  return out;
}

std::vector<LeftOut> left_out(std::string_view items) {
  std::vector<LeftOut> out;
  each_item(items, [&](std::string_view item) { out.push_back({escaped(item), problem_of(item)}); });
  return out;
}

bool generated_code_left_out() noexcept {
  static const bool value = [] {
    bool found = false;
    each_item(environment(), [&](std::string_view item) { found = found || item == kGeneratedCode; });
    return found;
  }();
  return value;
}

std::vector<LeftOut> left_out_by_environment() { return left_out(environment()); }

std::string kernels_in_use() {
  std::string out(kernels().isa);
  for (const LeftOut& item : left_out_by_environment()) {
    if (item.problem.empty()) out += item.item;
  }
  return out;
}

}  // namespace relayout::cpu
