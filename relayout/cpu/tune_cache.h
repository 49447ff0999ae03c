// TuneCache: remembers which Tuning was measured to be best for a reorder on this machine, in memory and, if asked, in
// a file.
//
//     TuneCache cache;
//     cache.load("tune.txt");                                          // what earlier runs have found
//     cache.find(tune_key(src, dst, {}, x, y, 1, cpu::machine()));     // a Tuning, or nothing
//     cache.save("tune.txt");                                          // joined with what is there by now
//
// The file is lines of text: "relayout-tune 1", one "STREAM PANEL STRIP AHEAD KEY" an entry, "end COUNT".
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "relayout/reorder/plan.h"

namespace relayout::cpu {

/// The most rows of a strip, and the most bytes fetched ahead, that are tried or accepted from a file. With more, a
/// block would not stay in the caches that it is made for.
inline constexpr int64_t kMaxTunedStrip = 256, kMaxTunedAhead = int64_t{1} << 20;

/// Everything that the best Tuning depends on, as one line: the library's code, the instruction set in use, threads (0:
/// all), cache sizes and speeds, both sides' canonical digits, types and alignments (address modulo 64), and which
/// attributes there are, not their values. Equal layouts have equal keys.
std::string tune_key(const TensorDesc& src, const TensorDesc& dst, const Attributes& attributes, const void* src_data,
                     const void* dst_data, int threads, const Machine& machine);

/// All calls may come from any thread.
class TuneCache {
 public:
  /// Limits of the memory and of a file.
  static constexpr std::size_t kMaxEntries = 65536, kMaxKey = 8192;
  static constexpr int64_t kMaxFileBytes = int64_t{64} << 20;

  std::optional<Tuning> find(std::string_view key) const;
  /// Remembers a Tuning, in place of an earlier one of the same key. False where the cache is full.
  /// Error{invalid_argument}: a key that is empty, over kMaxKey or has other bytes than printable ASCII; a Tuning with
  /// a value below 0 or over kMaxBlockSide (panel), kMaxTunedStrip, kMaxTunedAhead.
  bool insert(std::string_view key, const Tuning& tuning);
  std::size_t size() const;
  void clear();

  /// Adds a file's entries, as many as there is room for; those in memory win. False where there is no such file.
  /// Errors: corrupt (names the line), unsupported (another version of the format), limit, io; then nothing is added.
  bool load(const std::filesystem::path& path);
  /// Writes the entries together with those that the file has, of which fewer than kMaxEntries are kept; those in
  /// memory win. The file appears whole or not at all: a temporary file beside it, fsync, rename. If two processes save
  /// at the same time, the additions of one of them may be lost. Errors as in load(): a file that is not understood is
  /// left alone.
  void save(const std::filesystem::path& path) const;

  /// The cache of the process.
  static TuneCache& shared();

 private:
  using Entries = std::map<std::string, Tuning, std::less<>>;
  static std::optional<Entries> read(const std::filesystem::path& path);

  mutable std::mutex mutex_;
  Entries entries_;
};

}  // namespace relayout::cpu
