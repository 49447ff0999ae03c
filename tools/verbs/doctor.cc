// relayout doctor: what this build has, what this machine gives it, and what is missing.
#include <fmt/core.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <thread>

#include "relayout/cpu/kept_plan.h"
#include "relayout/cpu/machine.h"
#include "relayout/cpu/measure_speeds.h"
#include "relayout/cpu/reorder.h"
#include "relayout/cpu/speeds.h"
#include "tools/command/common.h"
#include "tools/imaging/opencl_device.h"
#include "tools/measuring/doctor_kernels.h"

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
    {"Xbyak", "code for small reorders", "libxbyak-dev", RELAYOUT_VERSION_XBYAK},
    {"libpng", "PNG input", "libpng-dev", RELAYOUT_VERSION_PNG},
    {"libjpeg", "JPEG input", "libjpeg-dev", RELAYOUT_VERSION_JPEG},
    {"libzip", "compressed .npz", "libzip-dev", RELAYOUT_VERSION_ZIP},
    {"ONNX", "reading models", "libonnx-dev", RELAYOUT_VERSION_ONNX},
    {"oneDNN", "running models", "libdnnl-dev", RELAYOUT_VERSION_ONEDNN},
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

/// What plans are made for (of a far last level, see Machine, only a part).
std::array<Cache, 3> caches() {
  const Machine& machine = cpu::machine();
  return {{{"L1d", machine.l1}, {"L2", machine.l2}, {"L3", machine.l3}}};
}

/// The measured speeds that plans are priced by, each with its unit.
struct Speed {
  std::string_view name, unit;
  double value;
};
std::vector<Speed> speeds_of(const Speeds& speeds) {
  return {
      {"write past the caches", "GB/s", speeds.write},          {"read from memory", "GB/s", speeds.read},
      {"read from the last level", "GB/s", speeds.read_l3},     {"wait beyond L1", "ns/KB", 1000 * speeds.beyond_first},
      {"more beyond L2", "ns/KB", 1000 * speeds.beyond_second}, {"more beyond 4 L2", "ns/KB", 1000 * speeds.far_beyond},
      {"kernels take", "times their price", speeds.kernels}};
}

std::string speeds_text(const Speeds& speeds) {
  std::string text;
  for (const Speed& speed : speeds_of(speeds)) {
    if (speed.value == 0) continue;  // not measured: the last level is larger than what is read
    text += labelled(text.empty() ? "speeds" : "", fmt::format("{} {:.2f} {}", speed.name, speed.value, speed.unit));
  }
  return text;
}

/// The speeds in use, or why there are none.
std::string known_speeds_text() {
  try {
    if (const auto speeds = cpu::load_speeds(cpu::speeds_file())) return speeds_text(*speeds);
  } catch (const Error& error) {
    return labelled("speeds", error.message());
  }
  return labelled("speeds", "not measured here: plans go by those of two known machines (doctor --measure)");
}

Json speeds_json(const Speeds& speeds) {
  if (speeds == Speeds{}) return nullptr;
  return {{"write_bytes_per_ns", speeds.write},
          {"read_bytes_per_ns", speeds.read},
          {"read_l3_bytes_per_ns", speeds.read_l3},
          {"beyond_l1_ns_per_byte", speeds.beyond_first},
          {"beyond_l2_ns_per_byte", speeds.beyond_second},
          {"far_beyond_l2_ns_per_byte", speeds.far_beyond},
          {"kernels", speeds.kernels}};
}

const std::string kJsonVersion =
    fmt::format("{}.{}.{}", NLOHMANN_JSON_VERSION_MAJOR, NLOHMANN_JSON_VERSION_MINOR, NLOHMANN_JSON_VERSION_PATCH);
const std::string kFmtVersion =
    fmt::format("{}.{}.{}", FMT_VERSION / 10000, FMT_VERSION / 100 % 100, FMT_VERSION % 100);

Json doctor_json(const std::string& problem) {
  const char* forced = std::getenv("RELAYOUT_ISA");
  Json out = {{"version", RELAYOUT_VERSION}, {"compiler", compiler()}};
  out["isa"] = cpu::isa();
  out["isa_problem"] = problem.empty() ? Json(nullptr) : Json(problem);
  out["available_isas"] = cpu::available_isas();
  out["RELAYOUT_ISA"] = forced ? Json(escaped(forced)) : Json(nullptr);
  out["RELAYOUT_KERNEL"] = left_out_json();
  const std::string_view no_code = cpu::generated_code_problem();
  out["generated_code"] = no_code.empty();
  out["generated_code_problem"] = no_code.empty() ? Json(nullptr) : Json(no_code);
  out["cores"] = std::thread::hardware_concurrency();
  out["threads"] = cpu::default_threads();
  out["caches"] = Json::object();
  for (const Cache& cache : caches()) out["caches"][std::string(cache.name)] = cache.bytes;
  out["speeds"] = speeds_json(cpu::machine().speeds);
  out["speeds_problem"] = Json(nullptr);
  try {
    cpu::load_speeds(cpu::speeds_file());
  } catch (const Error& error) {
    out["speeds_problem"] = error.message();
  }
  out["page_bytes"] = sysconf(_SC_PAGESIZE);
  out["libraries"] = Json::object();
  for (const Library& library : kLibraries) {
    out["libraries"][std::string(library.name)] = library.version.empty() ? Json(nullptr) : Json(library.version);
  }
  out["libraries"]["CLI11"] = std::string(command_line_version());
  out["libraries"]["fmt"] = kFmtVersion;
  out["libraries"]["nlohmann_json"] = kJsonVersion;
  out["missing_packages"] = Json::array();
  for (const Library& library : kLibraries) {
    if (library.version.empty()) out["missing_packages"].push_back(library.package);
  }
  const opencl::DeviceList& opencl = opencl::list_devices();
  Json devices = Json::array();
  for (const opencl::Device& device : opencl.devices) devices.push_back(json_of(device));
  out["opencl"] = {{"devices", std::move(devices)}};
  out["opencl"]["problem"] = opencl.problem.empty() ? Json(nullptr) : Json(opencl.problem);
  return out;
}

/// The OpenCL devices, each with what it allows, or why there are none.
std::string opencl_text() {
  const opencl::DeviceList& list = opencl::list_devices();
  std::string text;
  for (const opencl::Device& device : list.devices) {
    text += labelled(text.empty() ? "OpenCL" : "", "device " + device_text(device));
    text += labelled("", fmt::format("{}, driver {}", device.version, device.driver));
    text += labelled("", allowed_text(device));
    if (device.images)
      text += labelled("", fmt::format("texels of {}{}", channels_text(device),
                                       device.row_pitch_alignment > 0
                                           ? fmt::format("; an image made of a buffer has rows at multiples of {}",
                                                         counted(device.row_pitch_alignment, "texel"))
                                           : ""));
  }
  if (!list.problem.empty())
    text += labelled(text.empty() ? "OpenCL" : "", (text.empty() ? "none: " : "") + list.problem);
  return text;
}

std::string doctor_text(const std::string& problem) {
  const char* forced = std::getenv("RELAYOUT_ISA");
  std::string available;
  for (std::string_view isa : cpu::available_isas()) available += " " + std::string(isa);
  std::string text =
      bold(fmt::format("relayout {}", RELAYOUT_VERSION)) + fmt::format(", built with {}\n\n", compiler());
  text +=
      labelled("ISA", fmt::format("{}{}", cpu::isa(), forced && *forced && problem.empty() ? " (RELAYOUT_ISA)" : ""));
  text += labelled("", problem.empty() ? "this machine runs" + available : problem);
  text += left_out_text();
  const std::string_view no_code = cpu::generated_code_problem();
  text += labelled("code", no_code.empty() ? "generated for small plans that run often"
                                           : fmt::format("none is generated for small plans: {}", no_code));
  text +=
      labelled("threads", fmt::format("{} on {} cores{}", cpu::default_threads(), std::thread::hardware_concurrency(),
                                      cpu::has_threads() ? "" : "; this build lacks oneTBB and so has no thread pool"));
  std::string cache_text;
  for (const Cache& cache : caches()) {
    cache_text += fmt::format("{}{} {}", cache_text.empty() ? "" : ", ", cache.name, size_text(cache.bytes));
  }
  if (const Machine& machine = cpu::machine(); machine.slow_shared_l3())
    cache_text += fmt::format(" (plans count on {} of the last)", size_text(machine.l3_share()));
  text += labelled("caches", cache_text);
  text += known_speeds_text();
  text += opencl_text();
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
  text += fmt::format("  {:<15}{:<12}command line\n  {:<15}{:<12}text\n  {:<15}{:<12}JSON\n", "CLI11",
                      std::string(command_line_version()), "fmt", kFmtVersion, "nlohmann_json", kJsonVersion);
  if (!packages.empty()) text += "\n  To add what is missing, run apt-get install" + packages + ", and build again.\n";
  return text;
}

/// Measures the speeds and keeps them.
int measure(bool json) {
  const std::filesystem::path file = cpu::speeds_file();
  if (file.empty())
    throw Error(
        ErrorCode::invalid_argument,
        "doctor: there is no folder to keep speeds in: neither RELAYOUT_SPEEDS_FILE nor XDG_CACHE_HOME nor HOME "
        "is set",
        "RELAYOUT_SPEEDS_FILE");
  const Speeds speeds = cpu::measure_speeds();
  cpu::save_speeds(file, speeds);
  if (json)
    write_stdout(json_text({{"file", escaped(file.native())}, {"speeds", speeds_json(speeds)}}));
  else
    write_stdout(speeds_text(speeds) + labelled("", "kept in " + escaped(file.native())));
  return kOk;
}

int run_doctor(bool kernels, bool measures, bool json) {
  if (measures && kernels)
    throw Error(ErrorCode::invalid_argument, "doctor: --kernels and --measure are two questions: ask one of them",
                "--measure");
  if (measures) return measure(json);
  if (kernels) {
    write_stdout(json ? json_text(kernels_json()) : kernels_text());
    return kOk;
  }
  const std::optional<Error> error = isa_problem();
  const std::string problem = error ? error->message() : "";
  write_stdout(json ? json_text(doctor_json(problem)) : doctor_text(problem));
  return kOk;
}

}  // namespace

Verb add_doctor(CommandLine& line) {
  auto [command, json] =
      add_verb(line, "doctor",
               "Show the libraries of this build, and the instruction sets, cores, caches and OpenCL devices here",
               "  relayout doctor\n  RELAYOUT_ISA=scalar relayout doctor --json\n"
               "  relayout doctor --kernels                      which kernels each instruction set has\n"
               "  relayout doctor --measure                      half a second; plans are then priced by this machine\n"
               "  RELAYOUT_OPENCL_LIBRARY= relayout doctor       without OpenCL, whose drivers take a moment to load");
  auto kernels = std::make_shared<bool>(false);
  command.add_flag("--kernels", *kernels, "List the kernels, and which of them RELAYOUT_KERNEL may leave out");
  auto measures = std::make_shared<bool>(false);
  command.add_flag("--measure", *measures,
                   "Measure what memory and kernels take here, and keep it (RELAYOUT_SPEEDS_FILE, else speeds.txt in "
                   "~/.cache/relayout)");
  return {command, [kernels, measures, json = json] { return run_doctor(*kernels, *measures, *json); }, json};
}

}  // namespace relayout::tools
