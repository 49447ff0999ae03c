// Files without a name, their temporary names, and the removal of those that killed writers left.
#include "relayout/io/new_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string_view>
#include <system_error>
#include <utility>

#include "relayout/core/system_error.h"

namespace relayout::io {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kMark = ".relayout-tmp-";
constexpr std::size_t kDigits = 16;

fs::path folder_of(const fs::path& path) { return path.has_parent_path() ? path.parent_path() : fs::path("."); }

/// A name that no other file has. The target's name is cut, so that the whole stays below the 255 bytes that a folder
/// usually takes.
std::string temporary_name(const fs::path& path) {
  std::random_device random;
  std::string name = "." + path.filename().native().substr(0, 200);
  name += kMark;
  for (std::size_t i = 0; i < kDigits; ++i) name += "0123456789abcdef"[random() % 16];
  return (path.parent_path() / name).native();
}

bool is_temporary_name(std::string_view name) {
  if (name.size() < 1 + kMark.size() + kDigits || name.front() != '.') return false;
  const std::string_view digits = name.substr(name.size() - kDigits);
  name.remove_suffix(kDigits);
  return name.ends_with(kMark) && digits.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

/// Whether a name in a folder leads to the open file.
bool leads_to(int folder, const char* name, int file) {
  struct stat by_name {
  }, opened{};
  return ::fstatat(folder, name, &by_name, AT_SYMLINK_NOFOLLOW) == 0 && ::fstat(file, &opened) == 0 &&
         by_name.st_dev == opened.st_dev && by_name.st_ino == opened.st_ino;
}

/// The lock tells whether a process still writes the file. Only its holder may remove the name, so a name that still
/// leads to the locked file is nobody's.
void remove_if_abandoned(int folder, const char* name) {
  const auto open_for = [&](int access) {
    return ::openat(folder, name, access | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
  };
  int opened = open_for(O_RDWR);  // some network file systems lock only what is open for writing
  if (opened < 0) opened = open_for(O_RDONLY);
  const Descriptor file(opened);
  struct stat about {};
  if (file.get() < 0 || ::fstat(file.get(), &about) != 0 || !S_ISREG(about.st_mode)) return;
  if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) return;
  if (leads_to(folder, name, file.get())) ::unlinkat(folder, name, 0);
}

/// The errors by which file systems and old kernels say that they have no files without a name.
bool means_no_nameless_files(int error_number) {
  return error_number == EOPNOTSUPP || error_number == EISDIR || error_number == EINVAL || error_number == ENOSYS;
}

/// A nameless file is linked through its entry in /proc.
std::string proc_path(int descriptor) { return "/proc/self/fd/" + std::to_string(descriptor); }

/// Renames, unless a file of the new name has appeared meanwhile: the kernel refuses to replace it, or link() does
/// where the file system has no RENAME_NOREPLACE.
void rename_to_new(const std::string& from, const fs::path& to) {
  if (::syscall(SYS_renameat2, AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return;
  if (errno == EEXIST) throw_exists(to);
  if (errno != EINVAL && errno != ENOSYS) throw_io("rename to", to, errno);
  if (::link(from.c_str(), to.c_str()) == 0) {
    ::unlink(from.c_str());
    return;
  }
  if (errno == EEXIST) throw_exists(to);
  struct stat found {};
  if (::lstat(to.c_str(), &found) == 0) throw_exists(to);
  if (::rename(from.c_str(), to.c_str()) != 0) throw_io("rename to", to, errno);
}

/// A name must survive a power failure too. Not every file system can sync a folder.
void sync_folder(const fs::path& path) {
  const Descriptor folder(::open(folder_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.get() >= 0 && ::fsync(folder.get()) != 0 && errno == EIO) throw_io("sync", path, errno);
}

}  // namespace

void throw_io(std::string_view operation, const fs::path& path, int error_number) {
  const std::string shown = escaped(path.native());
  throw SystemError(error_number,
                    std::string(operation) + " \"" + shown + "\": " + std::generic_category().message(error_number),
                    "path", shown);
}

void throw_exists(const fs::path& path) {
  const std::string shown = escaped(path.native());
  throw SystemError(EEXIST, "create \"" + shown + "\": the file exists and is not to be overwritten", "overwrite",
                    shown);
}

int open_nameless(const char* folder, mode_t mode) {
  return retry([&] { return ::open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, mode); });
}

fs::path follow_links(const fs::path& path) {
  static constexpr int kMostLinks = 40;  // as many as Linux follows
  fs::path at = path;
  for (int links = 0; links <= kMostLinks; ++links) {
    std::error_code none;
    const fs::path next = fs::read_symlink(at, none);
    if (none) return at;
    at = at.parent_path() / next;  // `next` alone where it is absolute
  }
  throw_io("follow the links of", path, ELOOP);
}

NewFile NewFile::make(const fs::path& given, OpenNameless open_nameless) {
  const fs::path path = follow_links(given);
  remove_abandoned_files(folder_of(path));
  NewFile out;
  out.path_ = path;
  out.temporary_ = temporary_name(path);
  out.file_ = Descriptor(open_nameless(folder_of(path).c_str(), 0666));
  if (out.file_.get() < 0 && !means_no_nameless_files(errno)) throw_io("create", path, errno);
  // Without /proc there would be no way to give the file its name later.
  if (out.file_.get() >= 0 && ::access(proc_path(out.file_.get()).c_str(), F_OK) == 0) {
    out.lock();
    return out;
  }
  while (!out.open_named()) out.temporary_ = temporary_name(path);
  return out;
}

NewFile NewFile::resume(const fs::path& given) {
  NewFile out;
  out.path_ = follow_links(given);
  out.temporary_ = resumed_path(given).native();
  out.stays_ = true;
  for (;;) {
    constexpr int kFlags = O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW;
    out.file_ = Descriptor(retry([&] { return ::open(out.temporary_.c_str(), kFlags, 0666); }));
    if (out.file_.get() < 0) throw_io("create", out.temporary_, errno);
    if (retry([&] { return ::flock(out.file_.get(), LOCK_EX | LOCK_NB); }) != 0 && errno == EWOULDBLOCK)
      throw_io("go on with", out.temporary_, EBUSY);
    // The writer that held the lock until now may have given the file its name, or removed it.
    out.named_ = leads_to(AT_FDCWD, out.temporary_.c_str(), out.file_.get());
    if (out.named_) return out;
  }
}

/// Creates the file under its temporary name. False where the name is taken, or where another process took the file
/// for an abandoned one between its creation and its lock.
bool NewFile::open_named() {
  constexpr int kFlags = O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC;
  file_ = Descriptor(retry([&] { return ::open(temporary_.c_str(), kFlags, 0666); }));
  if (file_.get() < 0) {
    if (errno == EEXIST) return false;
    throw_io("create", path_, errno);
  }
  lock();
  named_ = leads_to(AT_FDCWD, temporary_.c_str(), file_.get());
  return named_;
}

/// Where there are no locks, nobody can lock the file to remove it either.
void NewFile::lock() const {
  retry([&] { return ::flock(file_.get(), LOCK_EX); });
}

NewFile::NewFile(NewFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::move(other.temporary_)),
      file_(std::move(other.file_)),
      named_(std::exchange(other.named_, false)),
      stays_(other.stays_) {}

NewFile& NewFile::operator=(NewFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(temporary_, other.temporary_);
  std::swap(file_, other.file_);
  std::swap(named_, other.named_);
  std::swap(stays_, other.stays_);
  return *this;
}

NewFile::~NewFile() {
  if (!stays_) remove_temporary();
}

void NewFile::remove_temporary() noexcept {
  if (std::exchange(named_, false)) ::unlink(temporary_.c_str());
}

void NewFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const std::size_t count = std::min<std::size_t>(bytes.size(), 1 << 30);
    const ssize_t done = retry([&] { return ::write(file_.get(), bytes.data(), count); });
    if (done < 0) throw_io("write", path_, errno);
    bytes = bytes.subspan(static_cast<std::size_t>(done));
  }
}

void NewFile::write_at(int64_t offset, std::span<const std::byte> bytes) const {
  while (!bytes.empty()) {
    const std::size_t count = std::min<std::size_t>(bytes.size(), 1 << 30);
    const ssize_t done = retry([&] { return ::pwrite(file_.get(), bytes.data(), count, offset); });
    if (done < 0) throw_io("write", path_, errno);
    bytes = bytes.subspan(static_cast<std::size_t>(done));
    offset += done;
  }
}

std::size_t NewFile::read_at(int64_t offset, std::span<std::byte> bytes) const {
  std::size_t have = 0;
  while (have < bytes.size()) {
    const ssize_t done = retry([&] {
      return ::pread(file_.get(), bytes.data() + have, bytes.size() - have, offset + static_cast<int64_t>(have));
    });
    if (done < 0) throw_io("read", path_, errno);
    if (done == 0) break;
    have += static_cast<std::size_t>(done);
  }
  return have;
}

int64_t NewFile::size() const {
  struct stat about {};
  if (::fstat(file_.get(), &about) != 0) throw_io("read", path_, errno);
  return about.st_size;
}

void NewFile::resize(int64_t size) const {
  if (retry([&] { return ::ftruncate(file_.get(), size); }) != 0) throw_io("write", path_, errno);
}

void NewFile::reserve(int64_t size) const {
  // Without this question, reserving would first fill the disk and then fail.
  struct statvfs disk {};
  struct stat now {};
  uint64_t have;
  if (::fstatvfs(file_.get(), &disk) == 0 && ::fstat(file_.get(), &now) == 0 && disk.f_blocks != 0 &&
      !__builtin_mul_overflow(uint64_t{disk.f_bavail}, uint64_t{disk.f_frsize}, &have) &&
      static_cast<uint64_t>(size) > have + static_cast<uint64_t>(now.st_blocks) * 512) {
    throw Error(ErrorCode::io,
                "create \"" + escaped(path_.native()) + "\": the file needs " + std::to_string(size) +
                    " bytes, but the disk has only " + std::to_string(have),
                "path", escaped(path_.native()), std::to_string(have));
  }
  if (size == 0) return;
  int error;
  do {
    error = ::posix_fallocate(file_.get(), 0, size);
  } while (error == EINTR);
  if (error != 0) throw_io("reserve " + std::to_string(size) + " bytes for", path_, error);
}

void NewFile::sync() const {
  if (retry([&] { return ::fsync(file_.get()); }) != 0) throw_io("write", path_, errno);
}

void NewFile::publish(bool overwrite) {
  sync();
  if (!named_) {
    const std::string nameless = proc_path(file_.get());
    const auto link_to = [&](const char* name) {
      return ::linkat(AT_FDCWD, nameless.c_str(), AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0;
    };
    if (link_to(path_.c_str())) return sync_folder(path_);
    if (errno != EEXIST) throw_io("link to", path_, errno);
    if (!overwrite) throw_exists(path_);
    if (!link_to(temporary_.c_str())) throw_io("link beside", path_, errno);
    named_ = true;
  }
  if (!overwrite) {
    rename_to_new(temporary_, path_);
  } else if (::rename(temporary_.c_str(), path_.c_str()) != 0) {
    const int error_number = errno;
    if (!stays_) remove_temporary();
    throw_io("rename to", path_, error_number);
  }
  named_ = false;
  sync_folder(path_);
}

fs::path resumed_path(const fs::path& path) {
  const fs::path target = follow_links(path);
  return target.parent_path() / ("." + target.filename().native().substr(0, 200) + ".relayout-part");
}

void remove_abandoned_files(const fs::path& folder) noexcept {
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(::opendir(folder.c_str()), &::closedir);
  if (!entries) return;
  while (const dirent* entry = ::readdir(entries.get())) {
    if (is_temporary_name(entry->d_name)) remove_if_abandoned(::dirfd(entries.get()), entry->d_name);
  }
}

}  // namespace relayout::io
