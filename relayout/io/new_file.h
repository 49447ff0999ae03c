// A file under construction that nobody sees before it is complete: its path leads to the old file, or to nothing,
// until publish(), and to the whole new file from then on. That holds whenever the process is killed.
//
//     NewFile file = NewFile::make("x.npy");
//     file.write(bytes);                        // or through file.descriptor()
//     file.publish(/*overwrite=*/true);
//
// The file has no name at first (O_TMPFILE), so the system drops it when the process ends, however it ends. publish()
// links it to its path. A link cannot replace a file, so where the path exists already the file is linked to a
// temporary name in the same folder first and renamed from there. A file system without nameless files (some network
// and FUSE file systems) gives the file its temporary name from the start.
//
// In these two cases a process that is killed with SIGKILL may leave a temporary file: in the first if it dies between
// the two calls, in the second at any time before publish(). The next NewFile in that folder, of any path and process,
// removes it. A file that a living process is still writing is never removed: its writer holds a lock on it (flock),
// which the system drops when the process ends. Where the file system has no locks, nothing is removed.
//
// Where the path is a symbolic link, all this is said of the file that it leads to, and the link stays.
//
// A temporary name is ".NAME.relayout-tmp-" and 16 hexadecimal digits; nothing else is ever removed.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

#include "relayout/io/descriptor.h"

namespace relayout::io {

/// Opens a file without a name in a folder: its descriptor, or -1 and errno. The umask applies to `mode`.
int open_nameless(const char* folder, mode_t mode);
/// The type of that function, for tests that need a file system without nameless files.
using OpenNameless = int (*)(const char* folder, mode_t mode);

class NewFile {
 public:
  /// An empty file, readable and writable, of mode 0666 without the bits of the umask, in the folder of the file that
  /// follow_links(path) names, whose place it will take. First removes what killed writers left in that folder.
  /// Error{io}.
  static NewFile make(const std::filesystem::path& path, OpenNameless open_nameless = io::open_nameless);
  /// A file that outlives its writer: it has the name resumed_path(path) from the start and keeps it where publish() is
  /// not reached, so that a later call for the same path goes on with the bytes that are there. Its size tells whether
  /// there are any. Error{io}, also where another process writes it now.
  static NewFile resume(const std::filesystem::path& path);

  NewFile(NewFile&& other) noexcept;
  NewFile& operator=(NewFile&& other) noexcept;
  /// Without publish() nothing is left behind, unless the file was opened by resume().
  ~NewFile();

  /// Whether a file that was opened by resume() stays without publish(): it does, unless forget() was called last.
  void forget() { stays_ = false; }
  void keep() { stays_ = true; }

  int descriptor() const { return file_.get(); }
  /// Appends to the file. Error{io}.
  void write(std::span<const std::byte> bytes);
  /// Writes from an offset on. Safe to call from several threads. Error{io}.
  void write_at(int64_t offset, std::span<const std::byte> bytes) const;
  /// Reads from an offset on, and returns how many bytes the file had there; fewer than asked for only at its end.
  /// Error{io}.
  std::size_t read_at(int64_t offset, std::span<std::byte> bytes) const;
  int64_t size() const;
  /// Cuts the file, or makes it longer by zeros. Error{io}.
  void resize(int64_t size) const;
  /// Reserves the space of a file of so many bytes, which is its size then; what is new are zeros. Error{io} where the
  /// disk has no room, before any of it is taken.
  void reserve(int64_t size) const;
  /// The temporary name, with its folder. The file has this name only at times, as said above; a handler of a signal
  /// that ends the process may unlink it in any case.
  const std::string& temporary_path() const { return temporary_; }

  /// Writes the file to the disk, without its name. Error{io}.
  void sync() const;
  /// Writes the file and its name to the disk: the path leads to it, also after a power failure. What exists there is
  /// replaced with `overwrite`; without it that is Error{io} with the field "overwrite". Error{io}: nothing has
  /// changed, unless the disk fails when the folder is written.
  void publish(bool overwrite);

 private:
  NewFile() = default;
  bool open_named();
  void lock() const;
  void remove_temporary() noexcept;

  std::filesystem::path path_;
  std::string temporary_;
  Descriptor file_;
  bool named_ = false;  // the file has its temporary name
  bool stays_ = false;  // with that name, where publish() is not reached
};

/// Where NewFile::resume() keeps the bytes of an unfinished file: ".NAME.relayout-part", in the folder of the file that
/// the path leads to.
std::filesystem::path resumed_path(const std::filesystem::path& path);

/// The file that a path leads to, which need not exist: where the path is a symbolic link, what that link and those
/// that it leads to end at; otherwise the path itself. So a writer keeps the links, also one to a file that does not
/// exist yet. Error{io}: links in a circle.
std::filesystem::path follow_links(const std::filesystem::path& path);

/// Throws the Error{io} of an output that exists and may not be replaced; its field is "overwrite".
[[noreturn]] void throw_exists(const std::filesystem::path& path);

/// Removes the temporary files in a folder that no living process writes any more. What cannot be removed stays; that
/// is no error.
void remove_abandoned_files(const std::filesystem::path& folder) noexcept;

}  // namespace relayout::io
