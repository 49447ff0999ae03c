// Finds where the elements of a tensor lie in a file, and reorders parts into its mapped pages (whole.h).
#include "relayout/checkpoint/whole.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <numeric>

#include "relayout/checkpoint/checkpoint.h"
#include "relayout/checkpoint/formats/formats.h"
#include "relayout/checkpoint/values_held.h"
#include "relayout/core/view.h"
#include "relayout/cpu/reorder.h"
#include "relayout/interop/files/npy.h"
#include "relayout/interop/files/zip_members.h"
#include "relayout/io/descriptor.h"

namespace relayout::checkpoint {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kWritten = ".npy .npz .safetensors .gguf .pt .raw .bin";

/// A tensor of a file, and where its bytes are.
struct Found {
  fs::path path;
  StoredTensor tensor;
  Dims strides;  // of the array, in elements
  int64_t offset = 0;
  bool archive = false;  // a zip, which has checksums
};

[[noreturn]] void refuse_write(ErrorCode code, const std::string& why, std::string field = "into",
                               std::string value = {}, std::string limit = {}) {
  throw Error(code, "write a part: " + why, std::move(field), std::move(value), std::move(limit));
}
std::string quoted(const fs::path& path) { return "\"" + escaped(path.native(), 200) + "\""; }

/// An array that is the whole file behind its header.
Found found_in_npy(const fs::path& path, const FileBytes& file) {
  const NpyHeader header = about(path, [&] { return parse_npy(file.bytes(), {}); });
  Found out{.path = path, .tensor = header.tensor, .strides = row_major_strides(header.tensor.shape)};
  out.offset = header.data_offset;
  if (!header.tensor.fortran_order) return out;
  Dims reversed(header.tensor.shape);
  std::ranges::reverse(reversed);
  out.strides = row_major_strides(reversed);
  std::ranges::reverse(out.strides);
  return out;
}

Found found_in_raw(const fs::path& path, const FileBytes& file) {
  Found out{.path = path};
  out.tensor.byte_size = static_cast<int64_t>(file.bytes().size());
  return out;
}

Found found_in_checkpoint(const fs::path& path, const std::string& name) {
  const Checkpoint model = Checkpoint::open(path);
  if (name.empty() && model.tensors().size() != 1)
    refuse_write(ErrorCode::invalid_argument,
                 quoted(path) + " has " + std::to_string(model.tensors().size()) + " tensors, and none was named",
                 "tensor");
  const CheckpointTensor& tensor = model.tensors()[name.empty() ? 0 : model.find(name)];
  if (tensor.problem) throw Error(*tensor.problem);
  const CheckpointFile& file = model.files()[tensor.file];
  if (!tensor.mapped)
    refuse_write(ErrorCode::unsupported,
                 "tensor \"" + escaped(tensor.name, 200) + "\" of " + quoted(file.path) +
                     " is compressed or big-endian, so that its elements are not written where they lie",
                 "tensor", escaped(tensor.name, 200));
  if (!tensor.notes.packed.empty())
    refuse_write(ErrorCode::unsupported,
                 "tensor \"" + escaped(tensor.name, 200) + "\" of " + quoted(file.path) + " holds blocks of " +
                     tensor.notes.packed + ", which values are not written into",
                 "tensor", escaped(tensor.name, 200), tensor.notes.packed);
  return {file.path, tensor, tensor.strides, tensor.offset,
          file.kind == FileKind::npz || file.kind == FileKind::pytorch};
}

Found find_tensor(const fs::path& path, const std::string& name) {
  std::error_code ignored;
  const auto by_path = format_of_path(path);
  if (fs::is_directory(path, ignored)) return found_in_checkpoint(path, name);
  if (fs::exists(path, ignored) && !fs::is_regular_file(path, ignored))
    refuse_write(ErrorCode::unsupported, quoted(path) + " is no regular file", "path", escaped(path.native(), 200));
  const FileBytes file = FileBytes::open(path, 0);
  const std::string_view start(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size());
  if (by_path == FileFormat::raw && !begins_as_pytorch(file.bytes())) return found_in_raw(path, file);
  if (start.starts_with(kNpyMagic)) return found_in_npy(path, file);
  const FileFormat format = by_path.value_or(FileFormat::raw);
  if (by_path && !can_be_written(format))
    refuse_write(ErrorCode::unsupported,
                 quoted(path) + " is a picture (" + std::string(relayout::name(format)) +
                     "), whose elements do not lie in it as a tensor's; parts are written into files of the kinds " +
                     std::string(kWritten),
                 "path", escaped(path.native(), 200), std::string(kWritten));
  return found_in_checkpoint(path, name);
}

DType type_of(const Found& found, const WholeOptions& options) {
  const StoredTensor& tensor = found.tensor;
  const auto fail = [&](const std::string& why) {
    refuse_write(ErrorCode::invalid_argument, quoted(found.path) + ": " + why, "dtype",
                 options.dtype ? std::string(name(*options.dtype)) : "", tensor.type_name);
  };
  if (!options.dtype) {
    if (!tensor.dtype)
      fail(tensor.type_name.empty()
               ? "it does not say what its elements are; give their type"
               : "its elements are " + escaped(tensor.type_name, 60) + ", which are not converted");
    return *tensor.dtype;
  }
  const bool free = !tensor.dtype || tensor.dtype_assumed;
  if (free ? tensor.item_bits != 0 && tensor.item_bits != bits(*options.dtype) : tensor.dtype != options.dtype)
    fail("its elements are " + (tensor.dtype ? std::string(name(*tensor.dtype)) : escaped(tensor.type_name, 60)) +
         ", and are not written as " + std::string(name(*options.dtype)));
  return *options.dtype;
}

/// The layout of all of it over its bytes, and the dims that it is bound to.
TensorDesc desc_of(const Found& found, const Format& format, const WholeOptions& options) {
  const DType dtype = type_of(found, options);
  const StoredTensor& tensor = found.tensor;
  const bool raw = tensor.item_bits == 0 && tensor.shape.empty() && tensor.type_name.empty() && !tensor.dtype;
  std::optional<Dims> dims = tensor.dims ? tensor.dims : options.dims;
  if (tensor.dims && options.dims && *options.dims != *tensor.dims)
    refuse_write(ErrorCode::invalid_argument,
                 quoted(found.path) + " says that its tensor is " + join(*tensor.dims, "x") +
                     ", and the dims given are " + join(*options.dims, "x"),
                 "dims", join(*options.dims), join(*tensor.dims));
  if (!dims) dims = format.fixed_dims();
  if (!dims && raw)
    refuse_write(ErrorCode::invalid_argument, quoted(found.path) + " does not say its dims; give them", "dims");
  if (!dims) dims = format.dims_from_physical(tensor.shape);
  const std::optional<Dims> physical = format.physical_shape(*dims);
  const Dims flat{format.buffer_span(*dims)};
  if (!raw && tensor.shape != physical.value_or(flat))
    refuse_write(ErrorCode::invalid_argument,
                 quoted(found.path) + ": shape (" + join(tensor.shape) + ") of the file is not the shape (" +
                     join(physical.value_or(flat)) + ") of " + escaped(format.text()) + " with dims " +
                     join(*dims, "x"),
                 "shape", join(tensor.shape), join(physical.value_or(flat)));
  const bool strided = !raw && found.strides != row_major_strides(tensor.shape);
  TensorDesc out(strided ? format.bind_physical(*dims, found.strides) : format.bind(*dims), dtype);
  const int64_t need = out.span_bytes();
  if (raw ? need != tensor.byte_size : need > tensor.byte_size)
    refuse_write(ErrorCode::invalid_argument,
                 quoted(found.path) + " has " + std::to_string(tensor.byte_size) + " bytes, and " +
                     escaped(format.text()) + " " + std::string(name(dtype)) + " with dims " + join(*dims, "x") +
                     " takes " + std::to_string(need),
                 "bytes", std::to_string(tensor.byte_size), std::to_string(need));
  return out;
}

/// Holes of a file take space once they are written, and without space a write to a mapping would be a signal. Bytes
/// that are there stay as they are; where the file system cannot reserve, nothing is done.
void reserve_holes(const TensorDesc& place, int file, int64_t offset, const std::filesystem::path& path) {
  const auto [low, high] = place.layout.offset_range();
  const int64_t first = low * bits(place.dtype) / 8, last = ((high + 1) * bits(place.dtype) + 7) / 8;
  int failed;
  do {
    failed = ::fallocate(file, FALLOC_FL_KEEP_SIZE, offset + first, last - first) == 0 ? 0 : errno;
  } while (failed == EINTR);
  if (failed != 0 && failed != EOPNOTSUPP && failed != ENOSYS) io::throw_io("write", path, failed);
}

}  // namespace

struct WholeTensor::Impl {
  Found found;
  Format format;
  TensorDesc desc;
  io::Descriptor file;
  int64_t file_bytes = 0;

  /// The part's place: a view where there is one, else the whole with a table of indices in front of a dim.
  TensorDesc place(const Dims& dims, const Dims& begin, Attributes& attributes) const;
  void renew_checksum(const GoOn& go_on) const;
};

TensorDesc WholeTensor::Impl::place(const Dims& dims, const Dims& begin, Attributes& attributes) const {
  Layout layout = desc.layout;
  for (int d = 0; d < dims.size(); ++d) {
    if (dims[d] == layout.dim(d)) continue;
    try {
      layout = narrow(layout, d, begin[d], dims[d]);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::needs_copy) throw;
      std::vector<int64_t> entries(static_cast<std::size_t>(dims[d]));
      std::iota(entries.begin(), entries.end(), begin[d]);
      attributes.dst_index.emplace_back(d, std::move(entries));
    }
  }
  attributes.padding = Padding::keep();
  return {layout, desc.dtype};
}

/// Of the archive's member that has the tensor.
void WholeTensor::Impl::renew_checksum(const GoOn& go_on) const {
  const FileBytes archive = FileBytes::open(found.path, 0);
  for (const ZipMember& member : zip_members(archive.bytes(), {})) {
    if (member.problem || found.offset < member.offset || found.offset >= member.offset + member.stored_bytes) continue;
    uint32_t crc = 0;
    for (int64_t at = 0; at < member.bytes; at += kAskedBytes) {
      const auto piece = archive.bytes().subspan(static_cast<std::size_t>(member.offset + at),
                                                 static_cast<std::size_t>(std::min(kAskedBytes, member.bytes - at)));
      crc = zip_crc(crc, piece);
      ask(go_on, at + static_cast<int64_t>(piece.size()), member.bytes);
    }
    for (const int64_t at : member.crc_at) {
      if (io::retry([&] { return ::pwrite(file.get(), &crc, sizeof crc, at); }) != sizeof crc)
        io::throw_io("write", found.path, errno);
    }
    return;
  }
}

WholeTensor::WholeTensor(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
WholeTensor::WholeTensor(WholeTensor&&) noexcept = default;
WholeTensor& WholeTensor::operator=(WholeTensor&&) noexcept = default;
WholeTensor::~WholeTensor() = default;

const Format& WholeTensor::format() const { return impl_->format; }
const TensorDesc& WholeTensor::desc() const { return impl_->desc; }
const fs::path& WholeTensor::path() const { return impl_->found.path; }

WholeTensor WholeTensor::open(const fs::path& path, const WholeOptions& options) {
  Found found = find_tensor(path, options.tensor);
  if (found.tensor.byte_swapped)
    refuse_write(ErrorCode::unsupported, quoted(found.path) + ": its elements are big-endian, and are not written",
                 "path");
  const Format format = options.layout ? *options.layout : found.tensor.layout.value_or(Format::parse("contiguous"));
  TensorDesc desc = desc_of(found, format, options);
  io::Descriptor file(io::retry([&] { return ::open(found.path.c_str(), O_RDWR | O_CLOEXEC); }));
  if (file.get() < 0) io::throw_io("open for writing", found.path, errno);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) io::throw_io("open for writing", found.path, errno);
  if (status.st_size - found.offset < desc.span_bytes())
    refuse_write(ErrorCode::io, quoted(found.path) + " changed while it was read", "path");
  return WholeTensor(std::make_unique<Impl>(
      Impl{std::move(found), format, std::move(desc), std::move(file), static_cast<int64_t>(status.st_size)}));
}

void WholeTensor::check(const TensorDesc& part, const Dims& begin, const WholeWrite& options) const {
  const Dims& dims = part.layout.dims();
  const Dims& all = impl_->desc.layout.dims();
  const std::string where = quoted(impl_->found.path);
  if (dims.size() != all.size() || begin.size() != all.size())
    refuse_write(ErrorCode::invalid_argument,
                 "the part has " + std::to_string(dims.size()) + " dims (" + join(dims, "x") + "), the first index " +
                     std::to_string(begin.size()) + " (" + join(begin) + "), and the tensor of " + where + " " +
                     std::to_string(all.size()) + " (" + join(all, "x") + ")",
                 "into", join(begin), join(all));
  for (int d = 0; d < all.size(); ++d) {
    if (begin[d] >= 0 && dims[d] <= all[d] && begin[d] <= all[d] - dims[d]) continue;
    refuse_write(ErrorCode::invalid_argument,
                 "a part of " + join(dims, "x") + " at index " + join(begin) + " does not fit the tensor of " + where +
                     ", which is " + join(all, "x") + ": dim " + std::to_string(d) + " would reach from " +
                     std::to_string(begin[d]) + " to " + std::to_string(begin[d] + dims[d]) + " of " +
                     std::to_string(all[d]),
                 "into", join(begin), join(all));
  }
  if (options.may_round || options.attributes.arithmetic() || holds_all(impl_->desc.dtype, part.dtype)) return;
  refuse_write(ErrorCode::invalid_argument,
               "the part is " + std::string(name(part.dtype)) + " and the tensor of " + where + " " +
                   std::string(name(impl_->desc.dtype)) +
                   ", which does not hold all of its values; say that type to have them rounded",
               "dtype", std::string(name(part.dtype)), std::string(name(impl_->desc.dtype)));
}

void WholeTensor::write(const cpu::SlabSource& part, const Dims& begin, const WholeWrite& options) {
  check(part.desc, begin, options);
  if (static_cast<int64_t>(part.bytes.size()) < part.desc.span_bytes())
    throw Error(ErrorCode::buffer_too_small,
                "write a part: it has " + std::to_string(part.bytes.size()) + " bytes, and its layout takes " +
                    std::to_string(part.desc.span_bytes()),
                "part", std::to_string(part.bytes.size()), std::to_string(part.desc.span_bytes()));
  Attributes attributes = options.attributes;
  const TensorDesc place = impl_->place(part.desc.layout.dims(), begin, attributes);
  if (part.gates && attributes.indexed())
    refuse_write(ErrorCode::unsupported, "gates in an order that is no layout cannot be written into a part of a block",
                 "into");
  (void)cpu::make_plan(part.desc, place, attributes);  // for its errors, before anything is written
  if (part.desc.layout.elements() == 0) return;
  const int64_t page = ::sysconf(_SC_PAGESIZE), from = impl_->found.offset / page * page;
  const int64_t need = impl_->desc.span_bytes(), ahead = impl_->found.offset - from;
  void* const pages = ::mmap(nullptr, static_cast<std::size_t>(ahead + need), PROT_READ | PROT_WRITE, MAP_SHARED,
                             impl_->file.get(), from);
  if (pages == MAP_FAILED) io::throw_io("map for writing", impl_->found.path, errno);
  const Pages mapped(pages, static_cast<std::size_t>(ahead + need));
  const std::span<std::byte> bytes = mapped.bytes().subspan(static_cast<std::size_t>(ahead));
  reserve_holes(place, impl_->file.get(), impl_->found.offset, impl_->found.path);
  const cpu::SlabDestination to{.desc = place, .bytes = bytes, .mapped = true, .gates = {}};
  const bool all =
      cpu::reorder_slabs(cpu::slab_grid(part, to), part, to, attributes, {.threads = options.threads},
                         [&](int64_t done, int64_t total) { return !options.go_on || options.go_on(done, total); });
  if (::msync(pages, static_cast<std::size_t>(ahead + need), MS_SYNC) != 0)
    io::throw_io("write", impl_->found.path, errno);
  if (impl_->found.archive) impl_->renew_checksum({});
  if (::fsync(impl_->file.get()) != 0) io::throw_io("write", impl_->found.path, errno);
  if (!all)
    throw Error(ErrorCode::interrupted,
                "write a part: it was ended, and " + quoted(impl_->found.path) + " has only some of its elements",
                "into");
}

}  // namespace relayout::checkpoint
