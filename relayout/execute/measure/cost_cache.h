// Cost cache: times that were measured on this machine, by key, in memory and, if asked, in a file.
//
//     CostCache cache;
//     cache.load(default_cost_file());                       // what earlier runs have found
//     cache.find(key);                                       // microseconds, or nothing
//     cache.save(default_cost_file());                       // joined with what is there by now
//
// The file is lines of text: "relayout-costs 1", one "KEY VALUE" an entry (32 hexadecimal digits, a number that is not
// negative, "inf" for what cannot be made), "end COUNT". A key is made of everything that a time depends on, including
// the machine and the library's code. So a file may also have times of other machines and revisions: they are never
// found.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "relayout/graph/plan/cost_key.h"

namespace relayout::execute {

class CostCache {
 public:
  /// Limits of the entries in memory and of a file's size.
  static constexpr std::size_t kMaxEntries = std::size_t{1} << 20;
  static constexpr int64_t kMaxFileBytes = int64_t{64} << 20;

  std::optional<double> find(const graph::CostKey& key) const;
  /// Remembers the value, and replaces the one that the key had. False where the cache is full.
  /// Error{invalid_argument}: a value that is negative or no number.
  bool insert(const graph::CostKey& key, double value);
  /// Removes the entry, here and, by the next save(), from the file.
  void forget(const graph::CostKey& key);
  std::size_t size() const { return entries_.size(); }

  /// Adds a file's entries, as many as there is room for; those in memory win. False where there is no such file.
  /// Errors: corrupt (an empty or damaged file; names the line and what is wrong there), unsupported (no such file, or
  /// another version of the format), limit, io; then nothing is added.
  bool load(const std::filesystem::path& path);
  /// Writes the entries together with those that the file has, of which fewer than kMaxEntries are kept; those in
  /// memory win. Folders are made. The file appears whole or not at all, and one process at a time writes it; each
  /// waits for the others as long as `patience` says (FileLock in cpu/text_file.h). A damaged file is replaced. Errors:
  /// unsupported, limit, io, as in load(): a file that is not understood is left alone.
  void save(const std::filesystem::path& path,
            std::chrono::milliseconds patience = std::chrono::milliseconds(2000)) const;

 private:
  using Entries = std::unordered_map<graph::CostKey, double, graph::CostKeyHash>;
  static std::optional<Entries> read(const std::filesystem::path& path);

  Entries entries_;
  std::unordered_set<graph::CostKey, graph::CostKeyHash> forgotten_;
};

/// RELAYOUT_COST_FILE of the environment, else relayout/costs.txt in the user's folder for caches (XDG_CACHE_HOME, or
/// .cache in HOME); empty where neither is set.
std::filesystem::path default_cost_file();

/// The key of everything that all times depend on: the library's code, the processor's name and caches, the instruction
/// set in use, the backend with its settings, and the number of threads.
graph::CostKey environment_key(const graph::Backend& backend);

}  // namespace relayout::execute
