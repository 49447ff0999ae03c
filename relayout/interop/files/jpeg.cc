// JPEG images as u8 nhwc tensors, through libjpeg(-turbo): gray or RGB, as stored (an orientation in
// the metadata is not applied).
//
// libjpeg reports errors through a handler that must not return. The handler here jumps (longjmp), which
// skips destructors. So a function that calls libjpeg has no local variables with destructors; what owns
// memory belongs to its callers.
#include <algorithm>
#include <csetjmp>
#include <cstdio>
#include <exception>
#include <string>

#include "relayout/core/error.h"
#include "relayout/interop/files/formats.h"

#if RELAYOUT_HAVE_JPEG
#include <jerror.h>
#include <jpeglib.h>
#endif

namespace relayout {

#if RELAYOUT_HAVE_JPEG
namespace {

/// libjpeg's error handlers and where they jump to. `base` is the first member, so the pointer to it
/// that libjpeg passes to handlers is a pointer to the whole struct as well.
struct ErrorManager {
  jpeg_error_mgr base;
  std::jmp_buf jump;
  char message[JMSG_LENGTH_MAX];
};

void on_exit(j_common_ptr info) {
  auto* manager = reinterpret_cast<ErrorManager*>(info->err);
  manager->base.format_message(info, manager->message);
  std::longjmp(manager->jump, 1);
}

/// Where a file is damaged, libjpeg only warns and goes on. Here that is an error, except for warnings
/// that do not concern pixels.
void on_message(j_common_ptr info, int level) {
  if (level >= 0) return;
  switch (info->err->msg_code) {
    case JWRN_EXTRANEOUS_DATA:
    case JWRN_JFIF_MAJOR:
    case JWRN_ADOBE_XFORM:
    case JWRN_BOGUS_PROGRESSION: return;
    default: on_exit(info);
  }
}
void on_output(j_common_ptr) {}

/// Whether to go on, asked now and then from inside libjpeg, through which no exception may pass. `base` is the first
/// member, as in ErrorManager.
struct Progress {
  jpeg_progress_mgr base;
  const GoOn* go_on = nullptr;
  int64_t bytes = 0;  // of the pixels
  int64_t done = 0, asked = 0;
  int calls = 0;
  std::exception_ptr ended{};

  /// False where the work is to end; `ended` says why. All passes over the image count alike. How many there are is
  /// estimated, so the share that is done may shrink, which is not said.
  bool goes_on() noexcept {
    const double passes = std::max(base.total_passes, 1), part = static_cast<double>(std::max(base.pass_limit, 1L));
    const double share = (base.completed_passes + static_cast<double>(base.pass_counter) / part) / passes;
    const auto now = static_cast<int64_t>(static_cast<double>(bytes) * std::clamp(share, 0.0, 1.0));
    done = std::max(done, std::min(now, bytes - 1));
    if (go_on == nullptr || (done - asked < kAskedBytes && ++calls < kMostCalls)) return true;
    asked = done;
    calls = 0;
    try {
      ask(*go_on, done, bytes);
    } catch (...) {
      ended = std::current_exception();
    }
    return ended == nullptr;
  }

 private:
  static constexpr int kMostCalls = 256;
};

/// Limits the scans: a small file can ask for very many passes over a large image.
void on_progress(j_common_ptr info) {
  constexpr int kMostScans = 500;
  auto* decoder = reinterpret_cast<j_decompress_ptr>(info);
  auto* errors = reinterpret_cast<ErrorManager*>(info->err);
  if (!reinterpret_cast<Progress*>(info->progress)->goes_on()) std::longjmp(errors->jump, 1);
  if (decoder->input_scan_number <= kMostScans) return;
  std::snprintf(errors->message, JMSG_LENGTH_MAX, "more than %d scans", kMostScans);
  std::longjmp(errors->jump, 1);
}

/// The decoder. It cannot be copied or moved, because libjpeg keeps pointers into it.
struct Decoder {
  jpeg_decompress_struct info{};
  ErrorManager errors{};
  Progress progress{};

  Decoder() {
    info.err = jpeg_std_error(&errors.base);
    errors.base.error_exit = on_exit;
    errors.base.emit_message = on_message;
    errors.base.output_message = on_output;
    progress.base.progress_monitor = on_progress;
  }
  Decoder(const Decoder&) = delete;
  ~Decoder() { jpeg_destroy_decompress(&info); }
};

/// Reads everything before the pixels. False on error.
bool read_jpeg_header(Decoder* decoder, const unsigned char* data, std::size_t size) {
  if (setjmp(decoder->errors.jump)) return false;
  jpeg_create_decompress(&decoder->info);
  decoder->info.progress = &decoder->progress.base;
  jpeg_mem_src(&decoder->info, data, size);
  jpeg_read_header(&decoder->info, TRUE);
  return true;
}

bool read_jpeg_pixels(Decoder* decoder, unsigned char* pixels, std::size_t row_bytes) {
  if (setjmp(decoder->errors.jump)) return false;
  jpeg_start_decompress(&decoder->info);
  while (decoder->info.output_scanline < decoder->info.output_height) {
    JSAMPROW row = pixels + decoder->info.output_scanline * row_bytes;
    jpeg_read_scanlines(&decoder->info, &row, 1);
  }
  jpeg_finish_decompress(&decoder->info);
  return true;
}

[[noreturn]] void throw_error(const Decoder& decoder) {
  if (decoder.progress.ended) std::rethrow_exception(decoder.progress.ended);
  const int code = decoder.errors.base.msg_code;
  const bool unsupported = code == JERR_BAD_PRECISION || code == JERR_SOF_UNSUPPORTED || code == JERR_ARITH_NOTIMPL ||
                           code == JERR_CONVERSION_NOTIMPL;
  throw Error(unsupported ? ErrorCode::unsupported : ErrorCode::corrupt,
              "jpeg: " + escaped(decoder.errors.message, 160), "jpeg");
}

/// Reads the header, chooses gray or RGB, and returns the number of channels of the decoded image.
int read_header_or_throw(Decoder& decoder, std::span<const std::byte> file) {
  if (!read_jpeg_header(&decoder, reinterpret_cast<const unsigned char*>(file.data()), file.size()))
    throw_error(decoder);
  switch (decoder.info.jpeg_color_space) {
    case JCS_GRAYSCALE: decoder.info.out_color_space = JCS_GRAYSCALE; return 1;
    case JCS_RGB:
    case JCS_YCbCr: decoder.info.out_color_space = JCS_RGB; return 3;
    default:
      throw Error(
          ErrorCode::unsupported,
          "jpeg: " + std::to_string(decoder.info.num_components) + " components that are neither gray nor RGB (CMYK?)",
          "jpeg", std::to_string(decoder.info.num_components), "gray, RGB");
  }
}

std::unique_ptr<std::byte[]> decode_jpeg(std::span<const std::byte> file, int64_t bytes, const GoOn& go_on) {
  Decoder decoder;
  const int channels = read_header_or_throw(decoder, file);
  const std::size_t row_bytes = std::size_t{decoder.info.image_width} * static_cast<std::size_t>(channels);
  if (static_cast<int64_t>(row_bytes) * decoder.info.image_height != bytes) {
    throw Error(ErrorCode::corrupt, "jpeg: the size of the image has changed since the file was opened");
  }
  decoder.progress.go_on = &go_on;
  decoder.progress.bytes = bytes;
  auto pixels = std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(bytes));
  if (!read_jpeg_pixels(&decoder, reinterpret_cast<unsigned char*>(pixels.get()), row_bytes)) throw_error(decoder);
  ask(go_on, bytes, bytes);
  return pixels;
}

}  // namespace

void open_jpeg(TensorFile::Impl& impl) {
  const auto file = impl.file.bytes();
  Decoder decoder;
  const int channels = read_header_or_throw(decoder, file);
  StoredTensor tensor = image_tensor(decoder.info.image_width, decoder.info.image_height, channels, impl.limits);
  const int64_t bytes = tensor.byte_size;
  impl.add(std::move(tensor), [file, bytes](const GoOn& go_on) { return decode_jpeg(file, bytes, go_on); });
}

#else

void open_jpeg(TensorFile::Impl&) { throw_missing_library("jpeg", "libjpeg"); }

#endif

}  // namespace relayout
