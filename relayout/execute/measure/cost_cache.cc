// Measured times by key, and the reader and writer of their file.
#include "relayout/execute/measure/cost_cache.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>

#include "relayout/cpu/kernels/list.h"
#include "relayout/cpu/machine.h"
#include "relayout/cpu/reorder.h"
#include "relayout/execute/measure/revision.h"
#include "relayout/io/text_file.h"
#include "relayout/io/user_cache.h"

namespace relayout::execute {

using graph::CostKey;

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMagic = "relayout-costs", kVersion = "1";
constexpr std::size_t kWordDigits = 16, kKeyDigits = 2 * kWordDigits;

bool good(double value) { return value >= 0; }  // false for NaN

template <typename T, typename... Base>
std::optional<T> number(std::string_view text, Base... base) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base...);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// What is wrong with the line, or "".
std::string parse_entry(std::string_view line, std::pair<CostKey, double>& out) {
  if (line.size() <= kKeyDigits || line[kKeyDigits] != ' ') return "is no entry";
  const auto high = number<uint64_t>(line.substr(0, kWordDigits), 16);
  const auto low = number<uint64_t>(line.substr(kWordDigits, kWordDigits), 16);
  if (!high || !low) return "is no entry";
  const std::string_view text = line.substr(kKeyDigits + 1);
  const auto value = number<double>(text);
  if (!value || !good(*value)) return "has the value \"" + escaped(text) + "\", which is no time";
  out = {CostKey{*high, *low}, *value};
  return "";
}

void append_word(std::string& text, uint64_t word) {
  char digits[kWordDigits];
  const auto count = static_cast<std::size_t>(std::to_chars(digits, digits + kWordDigits, word, 16).ptr - digits);
  text.append(kWordDigits - count, '0').append(digits, count);
}

void append_entry(std::string& text, const CostKey& key, double value) {
  append_word(text, key.high);
  append_word(text, key.low);
  char digits[32];
  const auto count = static_cast<std::size_t>(std::to_chars(digits, digits + sizeof digits, value).ptr - digits);
  text.append(" ").append(digits, count).append("\n");
}

}  // namespace

std::optional<double> CostCache::find(const CostKey& key) const {
  const auto found = entries_.find(key);
  return found == entries_.end() ? std::nullopt : std::optional(found->second);
}

bool CostCache::insert(const CostKey& key, double value) {
  if (!good(value)) {
    throw Error(ErrorCode::invalid_argument, "cost cache: " + std::to_string(value) + " is no time", "value",
                std::to_string(value), "0 or more");
  }
  forgotten_.erase(key);
  if (const auto found = entries_.find(key); found != entries_.end()) {
    found->second = value;
    return true;
  }
  if (entries_.size() >= kMaxEntries) return false;
  entries_.emplace(key, value);
  return true;
}

std::optional<CostCache::Entries> CostCache::read(const fs::path& path) {
  const std::optional<std::string> text = io::read_text(path, kMaxFileBytes);
  if (!text) return std::nullopt;
  Entries out;
  out.reserve(std::min(kMaxEntries, text->size() / (kKeyDigits + 2)));
  io::read_own_entries({"file of costs", kMagic, kVersion, kMaxEntries}, path, *text, [&](std::string_view line) {
    std::pair<CostKey, double> entry;
    const std::string wrong = parse_entry(line, entry);
    return !wrong.empty() || out.insert(entry).second ? wrong : "repeats a key";
  });
  return out;
}

void CostCache::forget(const CostKey& key) {
  entries_.erase(key);
  forgotten_.insert(key);
}

bool CostCache::load(const fs::path& path) {
  std::optional<Entries> found = read(path);
  if (!found) return false;
  for (const CostKey& key : forgotten_) found->erase(key);
  if (entries_.empty()) {
    entries_ = std::move(*found);
    return true;
  }
  for (const auto& [key, value] : *found) {
    if (entries_.size() >= kMaxEntries) break;
    entries_.emplace(key, value);
  }
  return true;
}

void CostCache::save(const fs::path& path, std::chrono::milliseconds patience) const {
  std::error_code error;
  if (path.has_parent_path()) fs::create_directories(path.parent_path(), error);  // the lock says what is wrong
  const io::FileLock lock(path, patience);
  CostCache all = *this;
  try {
    all.load(path);
  } catch (const Error& wrong) {
    if (wrong.code() != ErrorCode::corrupt) throw;
  }
  std::string text(kMagic);
  text.append(" ").append(kVersion).append("\n");
  for (const auto& [key, value] : all.entries_) append_entry(text, key, value);
  text += "end " + std::to_string(all.size()) + "\n";
  io::replace_text(path, text);
}

fs::path default_cost_file() { return io::cache_file("RELAYOUT_COST_FILE", "costs.txt"); }

CostKey environment_key(const graph::Backend& backend) {
  const Machine& machine = cpu::machine();
  graph::KeyMaker maker;
  maker.add(source_revision()).add(io::processor()).add(cpu::kernels_in_use());
  maker.add(backend.name()).add(backend.settings());
  for (const int64_t value : {machine.l1, machine.l2, machine.l3, int64_t{backend.threads()}})
    maker.add(static_cast<uint64_t>(value));
  for (const double number : machine.speeds.numbers()) maker.add(std::bit_cast<uint64_t>(number));
  return maker.key();
}

}  // namespace relayout::execute
