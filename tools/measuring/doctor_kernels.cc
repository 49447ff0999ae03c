// The kernels as relayout doctor lists them. See doctor_kernels.h.
#include "tools/measuring/doctor_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "relayout/cpu/kernels/list.h"
#include "relayout/cpu/reorder.h"

namespace relayout::tools {
namespace {

/// The name of a family's kernels as one writes it, e.g. "interleave/COLUMNS/BYTES".
std::string pattern(const cpu::KernelFamily& family) {
  std::string out(family.name);
  for (std::string_view by : family.by) {
    out += '/';
    for (const char letter : by) out += static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
  }
  return out;
}

std::string purpose(const cpu::KernelFamily& family) {
  return std::string(family.does) + (family.past_cache() && family.optional() ? ", past the cache" : "");
}

}  // namespace

std::string kernels_text() {
  const std::vector<cpu::ListedKernels> all = cpu::list_kernels();
  const std::vector<std::string_view> isas = cpu::available_isas();
  std::size_t width = 0;
  for (const cpu::ListedKernels& kernel : all) width = std::max(width, pattern(kernel.family).size());
  std::string text = fmt::format("  {:<{}}", "kernel", width);
  for (std::string_view isa : isas) text += "  " + std::string(isa);
  text = bold(text) + "\n";
  for (const auto& [family, names] : all) {
    text += fmt::format("{} {:<{}}", family.optional() ? '*' : ' ', pattern(family), width);
    for (std::size_t i = 0; i < isas.size(); ++i)
      text += fmt::format("  {:>{}}", names[i].empty() ? "-" : std::to_string(names[i].size()), isas[i].size());
    text += "  " + purpose(family) + "\n";
  }
  text +=
      "\nA number says how many kernels an instruction set has of a kind; --json names them all.\n"
      "Those with * may be left out, with the same results: "
      "RELAYOUT_KERNEL=-copy_stream,-interleave/3,-deinterleave/3/4\n"
      "-generated_code leaves out the machine code that is generated for small plans that run often.\n";
  return text + left_out_text();
}

Json kernels_json() {
  const std::vector<std::string_view> isas = cpu::available_isas();
  Json list = Json::array();
  for (const auto& [family, names] : cpu::list_kernels()) {
    Json kernel = {{"name", family.name}, {"does", family.does}, {"by", family.by}};
    kernel["optional"] = family.optional();
    kernel["past_cache"] = family.past_cache();
    for (std::size_t i = 0; i < isas.size(); ++i) kernel["kernels"][std::string(isas[i])] = names[i];
    list.push_back(std::move(kernel));
  }
  return {{"kernels", std::move(list)}, {"left_out", left_out_json()}};
}

std::string left_out_text() {
  std::string without, ignored;
  for (const auto& [item, problem] : cpu::left_out_by_environment()) {
    if (problem.empty())
      without += (without.empty() ? "" : ", ") + item.substr(1);
    else
      ignored += labelled("", fmt::format("{} is ignored: {}", item, problem));
  }
  if (without.empty() && ignored.empty()) return "";
  return labelled("kernels", without.empty() ? "RELAYOUT_KERNEL leaves none out"
                                             : fmt::format("without {} (RELAYOUT_KERNEL)", without)) +
         ignored;
}

Json left_out_json() {
  Json out = nullptr;
  for (const auto& [item, problem] : cpu::left_out_by_environment())
    out.push_back({{"item", item}, {"problem", problem.empty() ? Json(nullptr) : Json(problem)}});
  return out;
}

}  // namespace relayout::tools
