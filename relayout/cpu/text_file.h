// Small text files that several processes read and write: what measuring has found on this machine.
//
//     const FileLock lock("found.txt");                            // until the end of the scope
//     std::optional<std::string> text = read_text("found.txt", 1 << 20);
//     replace_text("found.txt", merged(text));
//
// A file appears whole or not at all: a temporary file beside it, fsync, rename.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace relayout::cpu {

/// Nothing where there is no such file. Errors: io (also what is no regular file), limit (over `max_bytes`).
std::optional<std::string> read_text(const std::filesystem::path& path, int64_t max_bytes);

/// A file of entries: "MAGIC VERSION", an entry a line, "end COUNT".
struct EntryFile {
  /// In messages, e.g. "tuning file".
  std::string_view what, magic, version;
  std::size_t max_entries = 0;
};
/// Gives the text's entries to `add`, which says why one is wrong, or nothing (""). Errors: corrupt (with the line),
/// unsupported (another version), limit.
void read_entries(const EntryFile& file, const std::filesystem::path& path, std::string_view text,
                  const std::function<std::string(std::string_view line)>& add);
/// Whether a text begins as such a file does, as far as it goes: an empty or damaged one does, a stranger's does not.
bool begins_as(const EntryFile& file, std::string_view text);
/// The same as read_entries, but a stranger's file is unsupported: what is corrupt then is one's own, and may be
/// replaced.
void read_own_entries(const EntryFile& file, const std::filesystem::path& path, std::string_view text,
                      const std::function<std::string(std::string_view line)>& add);

/// Writes a file, readable by others. A link's target is replaced, not the link. Error{io}.
void replace_text(const std::filesystem::path& path, std::string_view text);

/// Holds a lock of that file's name, which one process at a time has: a file ".NAME.lock" beside it, which stays.
/// Errors: io (it cannot be made, or another process holds it for longer than `patience`).
class FileLock {
 public:
  explicit FileLock(const std::filesystem::path& path,
                    std::chrono::milliseconds patience = std::chrono::milliseconds(2000));
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  int descriptor_;
};

}  // namespace relayout::cpu
