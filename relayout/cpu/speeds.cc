// The file that keeps speeds: one line of numbers, then one line that says what they are for.
#include "relayout/cpu/speeds.h"

#include <algorithm>
#include <charconv>

#include "relayout/cpu/kernels/list.h"
#include "relayout/cpu/revision.h"
#include "relayout/io/text_file.h"
#include "relayout/io/user_cache.h"

namespace relayout::cpu {
namespace {

namespace fs = std::filesystem;

/// The most bytes that a speeds file has.
constexpr int64_t kMaxBytes = 4096;
constexpr io::EntryFile kFile{"speeds file", "relayout-speeds", "1", 2};
constexpr double Speeds::*kNumbers[] = {&Speeds::write,        &Speeds::read,          &Speeds::read_l3,
                                        &Speeds::beyond_first, &Speeds::beyond_second, &Speeds::far_beyond,
                                        &Speeds::kernels};

/// What speeds depend on, as one line.
std::string key() {
  std::string out = std::string(source_revision()) + " " + std::string(kernels_in_use()) + " " + io::processor();
  std::ranges::replace_if(
      out, [](char c) { return c < ' ' || c > '~'; }, ' ');
  return out;
}

/// Reads a line of numbers. False where it has others than there should be.
bool read_numbers(std::string_view line, Speeds& speeds) {
  constexpr double kMost = 1e6;
  for (double Speeds::*number : kNumbers) {
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), speeds.*number);
    if (error != std::errc() || !(speeds.*number >= 0 && speeds.*number < kMost)) return false;
    line.remove_prefix(static_cast<std::size_t>(end - line.data()));
    if (line.starts_with(' ')) line.remove_prefix(1);
  }
  return line.empty();
}

}  // namespace

fs::path speeds_file() { return io::cache_file("RELAYOUT_SPEEDS_FILE", "speeds.txt"); }

std::optional<Speeds> load_speeds(const fs::path& path) {
  const auto text = io::read_text(path, kMaxBytes);
  if (!text) return std::nullopt;
  Speeds speeds;
  bool known = false;
  int lines = 0;
  io::read_own_entries(kFile, path, *text, [&](std::string_view line) -> std::string {
    if (++lines == 2) known = line == key();
    return lines > 1 || read_numbers(line, speeds) ? "" : "is not seven numbers from 0 to a million";
  });
  return known ? std::optional(speeds) : std::nullopt;
}

void save_speeds(const fs::path& path, const Speeds& speeds) {
  if (const auto old = io::read_text(path, kMaxBytes); old && !old->empty() && !old->starts_with(kFile.magic))
    throw Error(ErrorCode::io, path.string() + " is no speeds file, and is not overwritten", "file", path.string(), "");
  std::string text = std::string(kFile.magic) + " " + std::string(kFile.version) + "\n";
  for (double Speeds::*number : kNumbers) {
    char digits[32];
    const auto end = std::to_chars(digits, digits + sizeof digits, speeds.*number, std::chars_format::general, 4).ptr;
    text.append(text.ends_with('\n') ? "" : " ").append(digits, end);
  }
  std::error_code error;
  fs::create_directories(path.parent_path(), error);  // writing says why, if this fails
  io::replace_text(path, text + "\n" + key() + "\nend 2\n");
}

}  // namespace relayout::cpu
