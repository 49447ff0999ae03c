// relayout doctor: what this build has, what this machine gives it, and what is missing.
#include <fmt/core.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <thread>

#include "relayout/cpu/reorder.h"
#include "tools/common.h"

namespace relayout::tools {
namespace {

struct Library {
  std::string_view name, purpose, package;
  std::string_view version;  // "" where the build is without it
};

// Versions come from the build: tools/CMakeLists.txt asks the targets what they link.
constexpr Library kLibraries[] = {
    {"oneTBB", "threads", "libtbb-dev", RELAYOUT_VERSION_TBB},
    {"Highway", "SIMD kernels", "libhwy-dev", RELAYOUT_VERSION_HWY},
    {"libpng", "PNG input", "libpng-dev", RELAYOUT_VERSION_PNG},
    {"libjpeg", "JPEG input", "libjpeg-dev", RELAYOUT_VERSION_JPEG},
    {"libzip", "compressed .npz", "libzip-dev", RELAYOUT_VERSION_ZIP},
};

std::string compiler() {
#if defined(__clang__)
  return fmt::format("clang {}.{}.{}", __clang_major__, __clang_minor__, __clang_patchlevel__);
#elif defined(__GNUC__)
  return fmt::format("g++ {}.{}.{}", __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__);
#else
  return "unknown";
#endif
}

struct Cache {
  std::string_view name;
  int64_t bytes;
};

std::vector<Cache> caches() {
  std::vector<Cache> out;
#if defined(_SC_LEVEL1_DCACHE_SIZE)
  for (const auto& [name, key] : {std::pair<std::string_view, int>{"L1d", _SC_LEVEL1_DCACHE_SIZE},
                                  {"L2", _SC_LEVEL2_CACHE_SIZE},
                                  {"L3", _SC_LEVEL3_CACHE_SIZE}}) {
    if (const long bytes = sysconf(key); bytes > 0) out.push_back({name, bytes});
  }
#endif
  return out;
}

/// The instruction set in use, or why there is none.
std::pair<std::string, std::string> isa_in_use() {
  try {
    return {std::string(cpu::isa()), ""};
  } catch (const Error& error) {
    return {"", error.message()};
  }
}

int run(bool json) {
  const auto [isa, isa_problem] = isa_in_use();
  std::string available;
  Json available_list = Json::array();
  for (std::string_view one : cpu::available_isas()) {
    available += (available.empty() ? "" : " ") + std::string(one);
    available_list.push_back(one);
  }
  const char* forced = std::getenv("RELAYOUT_ISA");
  const std::string cli11 = CLI11_VERSION;
  const std::string json_version = fmt::format("{}.{}.{}", NLOHMANN_JSON_VERSION_MAJOR, NLOHMANN_JSON_VERSION_MINOR,
                                               NLOHMANN_JSON_VERSION_PATCH);
  const std::string fmt_version =
      fmt::format("{}.{}.{}", FMT_VERSION / 10000, FMT_VERSION / 100 % 100, FMT_VERSION % 100);
  if (json) {
    Json out = {{"version", RELAYOUT_VERSION}, {"compiler", compiler()}};
    out["isa"] = isa_problem.empty() ? Json(isa) : Json(nullptr);
    out["isa_problem"] = isa_problem.empty() ? Json(nullptr) : Json(isa_problem);
    out["available_isas"] = available_list;
    out["RELAYOUT_ISA"] = forced ? Json(escaped(forced)) : Json(nullptr);
    out["cores"] = std::thread::hardware_concurrency();
    out["threads"] = cpu::default_threads();
    out["caches"] = Json::object();
    for (const Cache& cache : caches()) out["caches"][std::string(cache.name)] = cache.bytes;
    out["page_bytes"] = sysconf(_SC_PAGESIZE);
    out["libraries"] = Json::object();
    for (const Library& library : kLibraries) {
      out["libraries"][std::string(library.name)] = library.version.empty() ? Json(nullptr) : Json(library.version);
    }
    out["libraries"]["CLI11"] = cli11;
    out["libraries"]["fmt"] = fmt_version;
    out["libraries"]["nlohmann_json"] = json_version;
    out["missing_packages"] = Json::array();
    for (const Library& library : kLibraries) {
      if (library.version.empty()) out["missing_packages"].push_back(library.package);
    }
    write_stdout(json_text(out));
    return kOk;
  }
  std::string text = bold(fmt::format("relayout {}", RELAYOUT_VERSION)) + fmt::format(", built with {}\n\n", compiler());
  text += labelled("ISA", isa_problem.empty() ? isa + (forced && *forced ? " (RELAYOUT_ISA)" : "") : isa_problem);
  text += labelled("", "this machine can run: " + available);
  text += labelled("threads", fmt::format("{} on {} cores{}", cpu::default_threads(), std::thread::hardware_concurrency(),
                                          cpu::has_threads() ? "" : "; this build has no thread pool"));
  std::string cache_text;
  for (const Cache& cache : caches()) {
    cache_text += fmt::format("{}{} {}", cache_text.empty() ? "" : ", ", cache.name, size_text(cache.bytes));
  }
  text += labelled("caches", cache_text.empty() ? "unknown" : cache_text);
  text += "\n";
  std::string packages;
  for (const Library& library : kLibraries) {
    if (!library.version.empty()) {
      text += fmt::format("  {:<15}{:<12}{}\n", library.name, library.version, library.purpose);
    } else {
      text += fmt::format("  {:<15}{:<12}no {}\n", library.name, "missing", library.purpose);
      packages += " " + std::string(library.package);
    }
  }
  text += fmt::format("  {:<15}{:<12}command line\n  {:<15}{:<12}text\n  {:<15}{:<12}JSON\n", "CLI11", cli11, "fmt",
                      fmt_version, "nlohmann_json", json_version);
  if (!packages.empty()) text += "\n  To add what is missing: apt-get install" + packages + ", and build again.\n";
  write_stdout(text);
  return kOk;
}

}  // namespace

Verb add_doctor(CLI::App& app) {
  auto [command, json] = add_verb(app, "doctor", "Show what this build has and what this machine gives it",
                                  "  relayout doctor\n  RELAYOUT_ISA=scalar relayout doctor --json");
  return {command, [json = json] { return run(*json); }, json};
}

}  // namespace relayout::tools
