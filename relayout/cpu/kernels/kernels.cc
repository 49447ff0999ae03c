// Which kernels there are, and which are in use.
#include "relayout/cpu/kernels/kernels.h"

#include <atomic>
#include <cstdlib>
#include <string>

#include "relayout/core/error.h"
#include "relayout/cpu/isa.h"

namespace relayout::cpu {
namespace {

struct Tables {
  std::array<const Kernels*, 16> list{};
  std::size_t count = 0;

  Tables() noexcept {
    list[count++] = scalar_kernels();
#if RELAYOUT_HAVE_HIGHWAY
    count += static_cast<std::size_t>(simd_kernels(std::span(list).subspan(1)));
#endif
  }
};

const Kernels* find(std::string_view isa) {
  for (const Kernels* k : all_kernels()) {
    if (k->isa == isa) return k;
  }
  return nullptr;
}

const Kernels* initial() {
  const char* forced = std::getenv("RELAYOUT_ISA");
  const Kernels* named = forced ? find(forced) : nullptr;
  return named ? named : all_kernels().back();
}

std::atomic<const Kernels*>& current() {
  static std::atomic<const Kernels*> table{initial()};
  return table;
}

}  // namespace

std::span<const Kernels* const> all_kernels() noexcept {
  static const Tables tables;
  return {tables.list.data(), tables.count};
}

const Kernels& kernels() noexcept { return *current().load(std::memory_order_relaxed); }

void use_kernels(const Kernels& table) noexcept { current().store(&table, std::memory_order_relaxed); }

std::string_view isa() { return kernels().isa; }

std::vector<std::string_view> available_isas() {
  std::vector<std::string_view> out;
  for (const Kernels* k : all_kernels()) out.push_back(k->isa);
  return out;
}

void set_isa(std::string_view name) {
  const Kernels* table = name.empty() ? all_kernels().back() : find(name);
  if (!table) {
    std::string names;
    for (std::string_view isa : available_isas()) names += (names.empty() ? "" : ", ") + std::string(isa);
    throw Error(ErrorCode::unsupported, "isa: \"" + escaped(name) + "\" is not one that this machine runs: " + names,
                "isa", escaped(name), names);
  }
  use_kernels(*table);
}

}  // namespace relayout::cpu
