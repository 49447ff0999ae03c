// BMP images as what they are: views of u8 in nhwc order, whose rows are padded to 4 bytes, mostly lie bottom up, and
// hold blue before red. No byte is copied; the strides say it all. For 24 bits a pixel, with R bytes a row:
//
//     dims 1,3,H,W   strides:R*H,-1,-R,3        channel 0 is red, row 0 is the top
//
// Read are uncompressed images of 24 and 32 bits a pixel. The fourth byte of 32 bits is unused or alpha; it lies in a
// gap. Fields and their sizes: Microsoft's BITMAPFILEHEADER, BITMAPINFOHEADER, BITMAPV4HEADER and BITMAPV5HEADER, and
// BITMAPCOREHEADER of OS/2.
#include "relayout/interop/files/bmp.h"

#include <algorithm>
#include <array>
#include <string>

#include "relayout/core/error.h"
#include "relayout/interop/files/formats.h"

namespace relayout {
namespace {

constexpr int64_t kMagic = 'B' | 'M' << 8, kFileHeader = 14, kCoreHeader = 12, kInfoHeader = 40, kOs2Header = 64;
constexpr std::array<int64_t, 7> kHeaders = {kCoreHeader, kInfoHeader, 52, 56, kOs2Header, 108, 124};
enum BmpCompression : int64_t {
  kRgb = 0,
  kRle8 = 1,
  kRle4 = 2,
  kBitFields = 3,
  kJpeg = 4,
  kPng = 5,
  kAlphaBitFields = 6
};

[[noreturn]] void corrupt_bmp(const std::string& what, const char* field, const std::string& value,
                              const std::string& limit = {}) {
  throw Error(ErrorCode::corrupt, "bmp: " + what, field, value, limit);
}
[[noreturn]] void unsupported_bmp(const std::string& what, const char* field, const std::string& value) {
  throw Error(ErrorCode::unsupported, "bmp: " + what + "; uncompressed images of 24 and 32 bits a pixel are read",
              field, value, "24 and 32 bits, uncompressed");
}

/// A little-endian field of the header.
int64_t header_field(std::span<const std::byte> file, int64_t at, int bytes, bool is_signed = false) {
  if (at + bytes > static_cast<int64_t>(file.size())) {
    corrupt_bmp("the header ends at byte " + std::to_string(at + bytes) + ", but the file has " +
                    std::to_string(file.size()) + " bytes",
                "size", std::to_string(file.size()), std::to_string(at + bytes));
  }
  uint64_t value = 0;
  for (int b = bytes; b-- > 0;) value = value << 8 | std::to_integer<uint64_t>(file[static_cast<std::size_t>(at + b)]);
  const uint64_t sign = uint64_t{1} << (8 * bytes - 1);
  return static_cast<int64_t>(value) - (is_signed && (value & sign) ? static_cast<int64_t>(sign) * 2 : 0);
}

struct BmpHeader {
  int64_t pixels = 0;  // where they begin in the file
  int64_t width = 0, height = 0, bits = 0;
  bool top_down = false;
  /// Bytes of red, green and blue in a pixel.
  std::array<int64_t, 3> channel{2, 1, 0};
};

/// The bytes of red, green and blue that the masks name.
std::array<int64_t, 3> channels_of(std::span<const std::byte> file) {
  std::array<int64_t, 3> out{};
  std::string masks;
  bool whole_bytes = true;
  for (std::size_t c = 0; c < out.size(); ++c) {
    const int64_t mask = header_field(file, kFileHeader + kInfoHeader + 4 * static_cast<int64_t>(c), 4);
    while (out[c] < 4 && mask != int64_t{0xff} << (8 * out[c])) ++out[c];
    whole_bytes = whole_bytes && out[c] < 4;
    masks += (c == 0 ? "" : ", ") + std::to_string(mask);
  }
  // Three channels are a dim of the view if they follow each other in steps of one byte, forwards or backwards.
  const int64_t step = out[1] - out[0];
  if (!whole_bytes || out[2] - out[1] != step || (step != 1 && step != -1))
    unsupported_bmp("the channel masks " + masks + " do not name three bytes side by side", "masks", masks);
  return out;
}

/// Refuses what is no plain array of pixels, by its name.
void check_bmp_encoding(int64_t bits, int64_t compression, bool os2) {
  const std::string bits_text = std::to_string(bits);
  if (bits == 1 || bits == 2 || bits == 4 || bits == 8)
    unsupported_bmp("an image with a palette (" + bits_text + " bits a pixel)", "bits", bits_text);
  if (bits == 16) unsupported_bmp("16 bits a pixel", "bits", bits_text);
  const bool fields = (compression == kBitFields || compression == kAlphaBitFields) && bits == 32 && !os2;
  if (compression != kRgb && !fields) {
    const char* name = compression == kRle8 || compression == kRle4 ? "run-length encoding"
                       : compression == kJpeg                       ? "JPEG inside a BMP"
                       : compression == kPng                        ? "PNG inside a BMP"
                                                                    : "compression";
    unsupported_bmp(std::string(name) + " (compression " + std::to_string(compression) + ")", "compression",
                    std::to_string(compression));
  }
  if (bits != 24 && bits != 32) corrupt_bmp(bits_text + " bits a pixel", "bits", bits_text, "24 or 32");
}

BmpHeader read_bmp_header(std::span<const std::byte> file) {
  if (header_field(file, 0, 2) != kMagic) corrupt_bmp("the file does not begin with BM", "magic", "");
  BmpHeader out;
  out.pixels = header_field(file, 10, 4);
  const int64_t header = header_field(file, kFileHeader, 4);
  if (std::ranges::find(kHeaders, header) == kHeaders.end()) {
    corrupt_bmp("a header of " + std::to_string(header) + " bytes; known are 12, 40, 52, 56, 64, 108 and 124", "header",
                std::to_string(header), "12, 40, 52, 56, 64, 108, 124");
  }
  const bool core = header == kCoreHeader;
  out.width = core ? header_field(file, 18, 2) : header_field(file, 18, 4, true);
  const int64_t height = core ? header_field(file, 20, 2) : header_field(file, 22, 4, true);
  out.top_down = height < 0;
  out.height = out.top_down ? -height : height;
  const int64_t planes = header_field(file, core ? 22 : 26, 2);
  out.bits = header_field(file, core ? 24 : 28, 2);
  const int64_t compression = core ? int64_t{kRgb} : header_field(file, 30, 4);
  if (planes != 1) corrupt_bmp(std::to_string(planes) + " planes", "planes", std::to_string(planes), "1");
  check_bmp_encoding(out.bits, compression, header == kOs2Header);
  if (out.width <= 0) corrupt_bmp("a width of " + std::to_string(out.width), "width", std::to_string(out.width), "1");
  if (out.height == 0) corrupt_bmp("a height of 0", "height", "0", "1");
  if (compression != kRgb) out.channel = channels_of(file);
  const int64_t masks = compression == kRgb || header > kInfoHeader ? 0 : compression == kBitFields ? 12 : 16;
  const int64_t end = kFileHeader + header + masks;
  if (out.pixels < end) {
    corrupt_bmp("the pixels begin at byte " + std::to_string(out.pixels) + ", inside the header of " +
                    std::to_string(end) + " bytes",
                "pixels", std::to_string(out.pixels), std::to_string(end));
  }
  return out;
}

}  // namespace

bool looks_like_bmp(std::span<const std::byte> file) {
  return file.size() >= 18 && header_field(file, 0, 2) == kMagic &&
         std::ranges::find(kHeaders, header_field(file, kFileHeader, 4)) != kHeaders.end();
}

BmpView parse_bmp(std::span<const std::byte> file) {
  const auto size = static_cast<int64_t>(file.size());
  const BmpHeader header = read_bmp_header(file);
  // Width and bits have 31 and 6 bits, so a row overflows nothing; all rows together may.
  const int64_t pixel = header.bits / 8, row = (header.width * pixel + 3) / 4 * 4;
  const auto [first, last] = std::ranges::minmax(header.channel);
  const auto rows = checked_mul(header.height - 1, row);
  const auto end = rows ? checked_add(*rows, header.pixels + (header.width - 1) * pixel + last + 1) : std::nullopt;
  if (!end || *end > size) {
    const std::string need = end ? std::to_string(*end) : "more than 2^63";
    corrupt_bmp("the pixels of " + std::to_string(header.width) + " x " + std::to_string(header.height) +
                    " end at byte " + need + ", but the file has " + std::to_string(size) + " bytes",
                "size", std::to_string(size), need);
  }
  StoredTensor tensor;
  tensor.dtype = DType::u8;
  tensor.item_bits = 8;
  tensor.byte_size = *end - header.pixels - first;
  tensor.shape = {tensor.byte_size};
  tensor.dims = Dims{1, 3, header.height, header.width};
  const Dims strides{*rows + row, header.channel[1] - header.channel[0], header.top_down ? row : -row, pixel};
  tensor.layout = Format::parse("strides:" + join(strides));
  return {std::move(tensor), header.pixels + first};
}

void open_bmp(TensorFile::Impl& impl) {
  BmpView view = parse_bmp(impl.file.bytes());
  const auto bytes =
      impl.file.bytes().subspan(static_cast<std::size_t>(view.begin), static_cast<std::size_t>(view.tensor.byte_size));
  impl.add(std::move(view.tensor), bytes);
}

}  // namespace relayout
