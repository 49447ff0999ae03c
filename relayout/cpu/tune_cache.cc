// The memory of tuning results: keys, and the file's reader and writer.
#include "relayout/cpu/tune_cache.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <span>
#include <utility>

#include "relayout/cpu/kernels/list.h"
#include "relayout/cpu/reorder.h"
#include "relayout/cpu/revision.h"
#include "relayout/io/text_file.h"
#include "relayout/reorder/boxes/policy.h"

namespace relayout::cpu {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMagic = "relayout-tune", kVersion = "1";
constexpr std::string_view kStreams[] = {"by_size", "never", "always"};

[[noreturn]] void fail_limit(const fs::path& path, std::string_view what, std::size_t have, std::size_t limit) {
  throw Error(ErrorCode::limit,
              "tuning file \"" + escaped(path.native(), 200) + "\": " + std::to_string(have) + " " + std::string(what) +
                  ", " + std::to_string(limit) + " at most",
              std::string(what), std::to_string(have), std::to_string(limit));
}

/// Removes the first word and the space behind it from the line, and returns the word.
std::string_view take_word(std::string_view& line) {
  const std::size_t end = std::min(line.find(' '), line.size());
  const std::string_view word = line.substr(0, end);
  line.remove_prefix(std::min(end + 1, line.size()));
  return word;
}

std::optional<int64_t> number(std::string_view text, int64_t most) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0 || value > most) return std::nullopt;
  return value;
}

bool good_key(std::string_view key) {
  return !key.empty() && key.size() <= TuneCache::kMaxKey &&
         std::ranges::all_of(key, [](char c) { return c >= ' ' && c <= '~'; });
}

bool good(const Tuning& tuning) {
  const auto within = [](int64_t value, int64_t most) { return value >= 0 && value <= most; };
  return tuning.way == Tuning::Way::cheapest && within(static_cast<int64_t>(tuning.stream), 2) &&
         within(tuning.panel, kMaxBlockSide) && within(tuning.strip, kMaxTunedStrip) &&
         within(tuning.ahead, kMaxTunedAhead);
}

/// Parses a line "STREAM PANEL STRIP AHEAD KEY".
std::optional<std::pair<std::string, Tuning>> parse_entry(std::string_view line) {
  Tuning tuning;
  const auto stream = std::ranges::find(kStreams, take_word(line));
  if (stream == std::end(kStreams)) return std::nullopt;
  tuning.stream = static_cast<Tuning::Stream>(stream - std::begin(kStreams));
  for (const auto& [value, most] :
       {std::pair{&tuning.panel, kMaxBlockSide}, {&tuning.strip, kMaxTunedStrip}, {&tuning.ahead, kMaxTunedAhead}}) {
    const auto read = number(take_word(line), most);
    if (!read) return std::nullopt;
    *value = *read;
  }
  if (!good_key(line)) return std::nullopt;
  return std::pair{std::string(line), tuning};
}

std::string entry_text(std::string_view key, const Tuning& tuning) {
  return std::string(kStreams[static_cast<std::size_t>(tuning.stream)]) + " " + std::to_string(tuning.panel) + " " +
         std::to_string(tuning.strip) + " " + std::to_string(tuning.ahead) + " " + std::string(key) + "\n";
}

/// One side of a key: "f32 2x17x5x4 (1,480)(8,1;3,160)(5,32)(4,8) +0 @16".
std::string side_text(const TensorDesc& desc, const void* data) {
  const Layout layout = desc.layout.canonical();
  std::string out = std::string(name(desc.dtype)) + " " + join(layout.dims(), "x") + " ";
  for (int d = 0; d < layout.ndims(); ++d) {
    std::string digits;
    for (const Digit& digit : layout.digits_under_swizzle(d)) {
      digits += (digits.empty() ? "(" : ";") + std::to_string(digit.extent) + "," + std::to_string(digit.stride);
    }
    out += digits + ")";
  }
  if (layout.swizzled()) out += " " + layout.swizzle().text();
  return out + " +" + std::to_string(layout.offset0()) + " @" +
         std::to_string(reinterpret_cast<std::uintptr_t>(data) % 64);
}

/// The attributes that are given, each with its mask and groups: "ss2/1x32 dz0 keep".
std::string attributes_text(const Attributes& attributes) {
  std::string out;
  const auto add = [&](const char* label, const auto& values) {
    if (values.values.empty()) return;
    out += label + std::to_string(values.mask) + (values.groups.empty() ? "" : "/" + join(values.groups, "x")) + " ";
  };
  add("ss", attributes.src_scale);
  add("ds", attributes.dst_scale);
  add("sz", attributes.src_zero_point);
  add("dz", attributes.dst_zero_point);
  add("mn", attributes.mean);
  if (attributes.beta != 0) out += "sum ";
  return out + (attributes.padding.kind == Padding::Kind::keep ? "keep" : "pad");
}

/// The measured speeds by which plans are priced; "" where there are none.
std::string speeds_text(const Speeds& speeds) {
  std::string out;
  for (const double number : speeds.numbers()) out += (out.empty() ? " " : ",") + std::to_string(number);
  return speeds == Speeds{} ? "" : out;
}

}  // namespace

std::string tune_key(const TensorDesc& src, const TensorDesc& dst, const Attributes& attributes, const void* src_data,
                     const void* dst_data, int threads, const Machine& machine) {
  const int all = default_threads();
  return std::string(source_revision()) + " " + kernels_in_use() + " x" +
         std::to_string(threads <= 0 || threads > all ? all : threads) + " " + std::to_string(machine.l1) + "," +
         std::to_string(machine.l2) + "," + std::to_string(machine.l3) + speeds_text(machine.speeds) + " | " +
         side_text(src, src_data) + " | " + side_text(dst, dst_data) + " | " + attributes_text(attributes);
}

std::optional<Tuning> TuneCache::find(std::string_view key) const {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(key);
  return found == entries_.end() ? std::nullopt : std::optional(found->second);
}

bool TuneCache::insert(std::string_view key, const Tuning& tuning) {
  if (!good_key(key) || !good(tuning)) {
    throw Error(ErrorCode::invalid_argument, "tuning: a key or a value that no file can hold", "key", escaped(key));
  }
  const std::lock_guard lock(mutex_);
  if (const auto found = entries_.find(key); found != entries_.end()) {
    found->second = tuning;
    return true;
  }
  if (entries_.size() >= kMaxEntries) return false;
  entries_.emplace(key, tuning);
  return true;
}

std::size_t TuneCache::size() const {
  const std::lock_guard lock(mutex_);
  return entries_.size();
}

void TuneCache::clear() {
  const std::lock_guard lock(mutex_);
  entries_.clear();
}

std::optional<TuneCache::Entries> TuneCache::read(const fs::path& path) {
  const std::optional<std::string> text = io::read_text(path, kMaxFileBytes);
  if (!text) return std::nullopt;
  Entries out;
  io::read_entries({"tuning file", kMagic, kVersion, kMaxEntries}, path, *text, [&](std::string_view line) {
    auto entry = parse_entry(line);
    if (!entry) return "is no entry";
    return out.insert(std::move(*entry)).second ? "" : "repeats a key";
  });
  return out;
}

bool TuneCache::load(const fs::path& path) {
  std::optional<Entries> found = read(path);
  if (!found) return false;
  const std::lock_guard lock(mutex_);
  for (auto& [key, tuning] : *found) {
    if (entries_.size() >= kMaxEntries) break;
    entries_.emplace(key, tuning);
  }
  return true;
}

void TuneCache::save(const fs::path& path) const {
  Entries all;
  {
    const std::lock_guard lock(mutex_);
    all = entries_;
  }
  if (std::optional<Entries> there = read(path)) {
    for (auto& [key, tuning] : *there) {
      if (all.size() >= kMaxEntries) break;
      all.emplace(key, tuning);
    }
  }
  std::string text = std::string(kMagic) + " " + std::string(kVersion) + "\n";
  for (const auto& [key, tuning] : all) text += entry_text(key, tuning);
  text += "end " + std::to_string(all.size()) + "\n";
  if (text.size() > static_cast<std::size_t>(kMaxFileBytes)) {
    fail_limit(path, "bytes", text.size(), static_cast<std::size_t>(kMaxFileBytes));
  }
  io::replace_text(path, text);
}

TuneCache& TuneCache::shared() {
  static TuneCache cache;
  return cache;
}

}  // namespace relayout::cpu
