// Whether a file is what it was when work on it began, so that what is made of it is not of two versions of it.
//
//     const FileVersion before(path);
//     ... read the file, for hours ...
//     before.check("convert");              // Error{corrupt} where somebody wrote to it meanwhile
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>

namespace relayout::io {

/// The length and the time of writing of a regular file. A path with anything else behind it, or with nothing, has no
/// version, and is always unchanged. A file that another one replaced under its name is unchanged too: who has it open
/// reads the old one.
class FileVersion {
 public:
  explicit FileVersion(std::filesystem::path path);
  /// Error{corrupt}: the file was written, or cut, since. A clock that stands still for a tick of the system's, some
  /// milliseconds, hides a change within the first of them.
  void check(const char* operation) const;

 private:
  struct Facts {
    bool regular = false;
    dev_t device = 0;
    ino_t number = 0;
    int64_t size = 0, seconds = 0, nanoseconds = 0;
  };
  static Facts facts(const std::filesystem::path& path);

  std::filesystem::path path_;
  Facts before_;
};

}  // namespace relayout::io
