// PNG images as u8 nhwc tensors, through libpng.
//
// libpng reports errors by longjmp, which skips destructors. So a function that calls libpng in a way that may fail has
// no local variables with destructors; what owns memory belongs to its callers.
#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "relayout/core/error.h"
#include "relayout/interop/files/formats.h"

#if RELAYOUT_HAVE_PNG
#include <png.h>
#endif

namespace relayout {

#if RELAYOUT_HAVE_PNG
namespace {

/// What is left of the file to be read, and the text of the last error.
struct Reader {
  std::span<const std::byte> file;
  char message[128] = "";
};

void on_error(png_structp png, png_const_charp message) {
  auto* reader = static_cast<Reader*>(png_get_error_ptr(png));
  std::strncpy(reader->message, message, sizeof reader->message - 1);
  png_longjmp(png, 1);
}
void on_warning(png_structp, png_const_charp) {}

void on_read(png_structp png, png_bytep out, png_size_t size) {
  auto* reader = static_cast<Reader*>(png_get_io_ptr(png));
  if (size > reader->file.size()) png_error(png, "the file is truncated");
  std::memcpy(out, reader->file.data(), size);
  reader->file = reader->file.subspan(size);
}

struct Size {
  png_uint_32 width = 0, height = 0;
  int channels = 0;
  png_size_t row_bytes = 0;
  int passes = 1;  // over an interlaced image
};

/// The two structs of libpng that a reader needs; destroyed together.
struct Handles {
  png_structp png = nullptr;
  png_infop info = nullptr;
  explicit Handles(Reader& reader) {
    png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &reader, on_error, on_warning);
    if (png) info = png_create_info_struct(png);
    if (!info) {
      png_destroy_read_struct(&png, nullptr, nullptr);
      throw Error(ErrorCode::internal, "png: libpng cannot be started");
    }
    png_set_read_fn(png, &reader, on_read);
  }
  Handles(const Handles&) = delete;
  ~Handles() { png_destroy_read_struct(&png, &info, nullptr); }
};

/// Reads everything before the pixels and asks for channels of 8 bits. False on error.
bool read_png_header(png_structp png, png_infop info, Size* size) {
  if (setjmp(png_jmpbuf(png))) return false;
  png_read_info(png, info);
  png_set_expand(png);    // palettes, 1 to 4 bits, and transparency as a channel
  png_set_scale_16(png);  // 16 to 8 bits, rounded
  size->passes = png_set_interlace_handling(png);
  png_read_update_info(png, info);
  size->width = png_get_image_width(png, info);
  size->height = png_get_image_height(png, info);
  size->channels = png_get_channels(png, info);
  size->row_bytes = png_get_rowbytes(png, info);
  return true;
}

/// Reads so many rows of one pass over the image. False on error.
bool read_png_rows(png_structp png, png_bytep* rows, std::size_t count) {
  if (setjmp(png_jmpbuf(png))) return false;
  for (std::size_t y = 0; y < count; ++y) png_read_row(png, rows[y], nullptr);
  return true;
}

bool read_png_end(png_structp png) {
  if (setjmp(png_jmpbuf(png))) return false;
  png_read_end(png, nullptr);
  return true;
}

[[noreturn]] void corrupt_png(const Reader& reader) {
  throw Error(ErrorCode::corrupt, "png: " + escaped(reader.message, 120), "png");
}

Size header(const Handles& handles, const Reader& reader) {
  Size size;
  if (!read_png_header(handles.png, handles.info, &size)) corrupt_png(reader);
  return size;
}

/// Reads rows from the first to the last, for each pass of an interlaced image. No exception may pass through libpng's
/// own functions, so what `go_on` answers or throws is looked at between calls of them.
void read_png_pixels(const Handles& handles, const Reader& reader, const Size& size, std::span<png_bytep> rows,
                     const GoOn& go_on) {
  const auto bytes = static_cast<int64_t>(size.row_bytes * rows.size()), total = bytes * size.passes;
  const std::size_t part = std::max<std::size_t>(1, kAskedBytes / std::max<std::size_t>(1, size.row_bytes));
  for (int pass = 0; pass < size.passes; ++pass) {
    for (std::size_t y = 0; y < rows.size();) {
      const std::size_t count = std::min(part, rows.size() - y);
      if (!read_png_rows(handles.png, rows.data() + y, count)) corrupt_png(reader);
      y += count;
      ask(go_on, bytes * pass + static_cast<int64_t>(size.row_bytes * y), total);
    }
  }
  if (!read_png_end(handles.png)) corrupt_png(reader);
}

std::unique_ptr<std::byte[]> decode_png(std::span<const std::byte> file, int64_t bytes, const GoOn& go_on) {
  Reader reader{file};
  const Handles handles(reader);
  const Size size = header(handles, reader);
  if (static_cast<int64_t>(size.row_bytes) * size.height != bytes)
    throw Error(ErrorCode::corrupt, "png: the size of the image has changed since the file was opened");
  auto pixels = std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(bytes));
  std::vector<png_bytep> rows(size.height);
  for (std::size_t y = 0; y < rows.size(); ++y)
    rows[y] = reinterpret_cast<png_bytep>(pixels.get() + y * size.row_bytes);
  read_png_pixels(handles, reader, size, rows, go_on);
  return pixels;
}

}  // namespace

void open_png(TensorFile::Impl& impl) {
  const auto file = impl.file.bytes();
  Reader reader{file};
  const Handles handles(reader);
  const Size size = header(handles, reader);
  StoredTensor tensor = image_tensor(size.width, size.height, size.channels, impl.limits);
  const int64_t bytes = tensor.byte_size;
  impl.add(std::move(tensor), [file, bytes](const GoOn& go_on) { return decode_png(file, bytes, go_on); });
}

#else

void open_png(TensorFile::Impl&) { throw_missing_library("png", "libpng"); }

#endif

}  // namespace relayout
