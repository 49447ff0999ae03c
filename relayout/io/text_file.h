// Small text files that several processes read and write. They keep what was measured on this machine.
//
//     const FileLock lock("found.txt");                            // until the end of the scope
//     std::optional<std::string> text = read_text("found.txt", 1 << 20);
//     replace_text("found.txt", merged(text));
//
// A file appears whole or not at all, also where the process is killed (relayout/io/new_file.h).
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace relayout::io {

/// The file's text, or nothing where there is no such file. Errors: io (also for anything but a regular file), limit
/// (more than `max_bytes`).
std::optional<std::string> read_text(const std::filesystem::path& path, int64_t max_bytes);

/// A kind of file that holds entries. Its first line is "MAGIC VERSION", then each entry has a line, and the last line
/// is "end COUNT", so that a file that was cut off is noticed.
struct EntryFile {
  /// What messages call it, for example "tuning file".
  std::string_view what, magic, version;
  std::size_t max_entries = 0;
};
/// Calls `add` with the line of each entry. `add` returns why the entry is wrong, or "" where it is right. Errors:
/// corrupt (it names the line), unsupported (another version), limit (more than `max_entries`).
void read_entries(const EntryFile& file, const std::filesystem::path& path, std::string_view text,
                  const std::function<std::string(std::string_view line)>& add);
/// Whether a text begins as such a file does. A text that ends within the first words begins like one, so a file that
/// is empty or was cut off counts as such a file, and a file of another program does not.
bool begins_as(const EntryFile& file, std::string_view text);
/// The same as read_entries, but a file of another program is Error{unsupported}. So Error{corrupt} means a damaged
/// file of our own, which the caller may replace.
void read_own_entries(const EntryFile& file, const std::filesystem::path& path, std::string_view text,
                      const std::function<std::string(std::string_view line)>& add);

/// Replaces a file by one with this text, of mode 0644. Where the path is a symbolic link, the file that it leads to is
/// replaced. Error{io}.
void replace_text(const std::filesystem::path& path, std::string_view text);

/// A lock that one process at a time holds while it reads and replaces a file. It is a lock on another file,
/// ".NAME.lock" in the same folder, because the file itself is replaced. That file stays. Error{io}: it cannot be made,
/// or another process holds the lock for longer than `patience`.
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

}  // namespace relayout::io
