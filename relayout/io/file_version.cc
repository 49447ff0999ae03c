// stat() before and after.
#include "relayout/io/file_version.h"

#include <sys/stat.h>

#include <string>
#include <utility>

#include "relayout/core/error.h"

namespace relayout::io {

FileVersion::Facts FileVersion::facts(const std::filesystem::path& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
  return {true, status.st_dev, status.st_ino, status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
}

FileVersion::FileVersion(std::filesystem::path path) : path_(std::move(path)), before_(facts(path_)) {}

void FileVersion::check(const char* operation) const {
  const Facts now = facts(path_);
  if (!before_.regular || !now.regular || now.device != before_.device || now.number != before_.number) return;
  if (now.size == before_.size && now.seconds == before_.seconds && now.nanoseconds == before_.nanoseconds) return;
  throw Error(ErrorCode::corrupt,
              std::string(operation) + ": " + escaped(path_.string()) +
                  " was written while it was read, so that a part of the output would be old and a part new; nothing "
                  "was made of it",
              "input", escaped(path_.string()));
}

}  // namespace relayout::io
