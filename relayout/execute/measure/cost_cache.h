// Cost cache: times that were measured on this machine, by key, in memory and, if asked, in a file.
//
//     CostCache cache;
//     cache.load(default_cost_file());                       // what earlier runs have found
//     cache.find(key);                                       // microseconds, or nothing
//     cache.save(default_cost_file());                       // joined with what is there by now
//
// The file is lines of text: "relayout-costs 1"; one line "KEY VALUE" for each entry, with 32 hexadecimal digits and a
// number that is not negative ("inf" for what cannot be made); "end COUNT". A key is made of everything that a time
// depends on, including the machine and the library's code. So a file may also have times of other machines and
// revisions: they are never found.
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
  /// Keeps the value, in place of one that the key had. False if the cache is full. Error{invalid_argument} if the
  /// value is negative or NaN.
  bool insert(const graph::CostKey& key, double value);
  /// Removes the entry, here and, by the next save(), from the file.
  void forget(const graph::CostKey& key);
  std::size_t size() const { return entries_.size(); }

  /// Adds a file's entries, as many as there is room for; entries in memory take precedence. False if there is no such
  /// file. If there is an error, nothing is added. Errors: corrupt (an empty or damaged file; names the line and what
  /// is wrong there), unsupported (not a file of costs, or another version of the format), limit, io.
  bool load(const std::filesystem::path& path);
  /// Writes the entries together with those that the file has, in all fewer than kMaxEntries of them; entries in memory
  /// take precedence. Makes missing folders. The file appears whole or not at all, and one process at a time writes it;
  /// each waits for the others as long as `patience` says (FileLock in io/text_file.h). A damaged file is replaced,
  /// but one that is not understood is left alone. Errors: unsupported, limit, io, as in load().
  void save(const std::filesystem::path& path,
            std::chrono::milliseconds patience = std::chrono::milliseconds(2000)) const;

 private:
  using Entries = std::unordered_map<graph::CostKey, double, graph::CostKeyHash>;
  static std::optional<Entries> read(const std::filesystem::path& path);

  Entries entries_;
  std::unordered_set<graph::CostKey, graph::CostKeyHash> forgotten_;
};

/// The environment's RELAYOUT_COST_FILE or, without it, relayout/costs.txt in the user's folder for caches
/// (XDG_CACHE_HOME, or .cache in HOME); empty if none of these is set.
std::filesystem::path default_cost_file();

/// The key of everything that all times depend on: the library's code, the processor's name and caches, the instruction
/// set in use, the backend with its settings, and the number of threads.
graph::CostKey environment_key(const graph::Backend& backend);

}  // namespace relayout::execute
