// MACE's images: each name is tried, with the pitch that the layout's rows have: see mace.h.
#include "relayout/interop/mace.h"

#include <algorithm>

#include "relayout/core/view.h"

namespace relayout::mace {
namespace {

constexpr int64_t kLanes = 4;
constexpr std::string_view kPrefix = "mace:";

/// Pixels from one row to the next in a layout that may be this image: by the step of the innermost dim of the rows
/// that has one. 0 where there is a single row.
int64_t pitch_of(const Layout& layout, std::string_view tag) {
  const std::string_view rows = tag.substr(0, tag.find('|'));
  const std::string letters = Format::parse(tag).dim_names(layout.ndims());
  int64_t inside = 1;  // rows that the dims further in make
  for (std::size_t k = rows.size(); k-- > 0;) {
    const bool blocked = rows[k] >= 'A' && rows[k] <= 'Z';
    const char letter = blocked ? static_cast<char>(rows[k] - 'A' + 'a') : rows[k];
    const auto d = static_cast<int>(letters.find(letter));
    const int64_t block = blocked ? kLanes : 1, rows_here = ceil_div(layout.dim(d), block);
    if (rows_here > 1) return layout.dim_offset(d, block) / (kLanes * inside);
    inside *= rows_here;
  }
  return 0;
}

/// The image that the layout is by this name, or nothing.
std::optional<Image> as_image(const Layout& layout, std::string_view name, std::string_view tag) {
  const Format plain = Format::parse(name);
  if (plain.rank() != layout.ndims() || layout.empty()) return std::nullopt;
  try {
    const ImageExtent extent = plain.image(layout.dims());
    const int64_t pitch = std::max(pitch_of(layout, tag), extent.width);
    const Format format = Format::parse(std::string(name) + ";pitch=" + std::to_string(pitch));
    if (format.bind(layout.dims()) != layout) return std::nullopt;
    return Image{name.substr(kPrefix.size()), format.image(layout.dims())};
  } catch (const Error&) {  // a multiplier other than 1, or a size that overflows
    return std::nullopt;
  }
}

std::string in_capitals(std::string_view name) {
  std::string out(name);
  std::ranges::transform(out, out.begin(),
                         [](char ch) { return ch >= 'a' && ch <= 'z' ? static_cast<char>(ch - 'a' + 'A') : ch; });
  return out;
}

}  // namespace

Layout from_mace(std::string_view name, const Dims& dims, int64_t pitch) {
  std::string known;
  for (const auto& [text, tag] : mace_names()) {
    const std::string_view word = text.substr(kPrefix.size());
    known += (known.empty() ? "" : ", ") + std::string(word);
    if (word != name) continue;
    return Format::parse(std::string(text) + (pitch != 0 ? ";pitch=" + std::to_string(pitch) : "")).bind(dims);
  }
  throw Error(ErrorCode::parse, "from_mace: \"" + escaped(name) + "\" is no image of MACE; there are " + known, "name",
              escaped(name), known);
}

Layout promote(const Format& format, const Layout& layout) {
  const std::string_view text = format.text(), name = text.substr(0, text.find(';'));
  const int rank = layout.ndims();
  if (name == "mace:in_out_channel" && rank < 3) {
    Layout out = rank < 2 ? unsqueeze(layout, 0) : layout;  // before the channels, or a scalar's first dim
    while (out.ndims() < 4) out = unsqueeze(out, out.ndims());
    return out;
  }
  if ((name == "mace:in_out_height" || name == "mace:in_out_width") && rank == 3) return unsqueeze(layout, 1);
  if (name == "mace:argument" && rank > 1) {
    Layout out = layout;
    while (out.ndims() > 1 && out.dim(out.ndims() - 1) == 1) out = squeeze(out, out.ndims() - 1);
    return out;
  }
  return layout;
}

Dims promoted_dims(const Format& format, const Dims& dims) { return promote(format, Layout::contiguous(dims)).dims(); }

std::vector<Image> images_of(const Layout& layout) {
  std::vector<Image> out;
  for (const auto& [name, tag] : mace_names()) {
    if (const auto image = as_image(layout, name, tag)) out.push_back(*image);
  }
  return out;
}

Image to_mace(const Layout& layout) {
  const std::vector<Image> images = images_of(layout);
  if (!images.empty()) return images.front();
  for (int d = 0; d < layout.ndims(); ++d) {
    if (layout.dim(d) != 0) continue;
    throw Error(ErrorCode::unsupported,
                "to_mace: dim " + std::to_string(d) + " has no elements, and an image has one pixel or more",
                "dims[" + std::to_string(d) + "]", "0", "1 or more");
  }
  std::string demands;
  for (const auto& [name, tag] : mace_names()) {
    if (Format::parse(name).rank() != layout.ndims()) continue;
    demands += (demands.empty() ? "" : ", ") + std::string(name.substr(kPrefix.size())) + " is " + std::string(tag);
    if (tag.find('m') != std::string_view::npos && layout.dim(0) != 1)
      demands += " (of multiplier 1, and dim 0 has " + std::to_string(layout.dim(0)) + ")";
  }
  throw Error(
      ErrorCode::unsupported,
      "to_mace: " + (layout.ndims() == 0 ? "a scalar" : digits_expression(layout) + " of dims " + join(layout.dims())) +
          " is no image of MACE: " +
          (demands.empty() ? "its images have 1 or 4 dims, and this layout has " + std::to_string(layout.ndims())
                           : "of " + std::to_string(layout.ndims()) + " dims, " + demands),
      "layout", digits_expression(layout), demands.empty() ? "1 or 4 dims" : demands);
}

std::string_view channel_type(DType dtype) {
  switch (dtype) {
    case DType::f32: return "CL_FLOAT";
    case DType::f16: return "CL_HALF_FLOAT";
    case DType::s32: return "CL_SIGNED_INT32";
    case DType::u32: return "CL_UNSIGNED_INT32";
    default: break;
  }
  throw Error(ErrorCode::unsupported,
              "mace: there are no pixels of " + std::string(name(dtype)) + "; there are f32, f16, s32 and u32" +
                  (dtype == DType::u8 ? ". MACE keeps u8 in lanes of 32 bits: convert it to u32" : ""),
              "dtype", std::string(name(dtype)), "f32, f16, s32, u32");
}

void check_size(const Image& image, int64_t max_width, int64_t max_height) {
  const bool wide = image.extent.width > max_width;
  if (!wide && image.extent.height <= max_height) return;
  const std::string size = std::to_string(image.extent.width) + " x " + std::to_string(image.extent.height);
  const std::string most = std::to_string(max_width) + " x " + std::to_string(max_height);
  throw Error(
      ErrorCode::limit,
      "mace: the image " + std::string(image.name) + " has " + size + " pixels, and the device's end at " + most,
      wide ? "width" : "height", size, most);
}

std::string code(const TensorDesc& desc) {
  const std::vector<Image> images = images_of(desc.layout);
  const Image image = images.empty() ? to_mace(desc.layout) : images.front();
  const std::string_view type = channel_type(desc.dtype);
  std::string names;
  for (const Image& one : images) {
    names += (names.empty() ? "" : ", ") + in_capitals(one.name);
    if (one.extent.width != image.extent.width || one.extent.height != image.extent.height)
      names += " as " + std::to_string(one.extent.width) + " x " + std::to_string(one.extent.height);
  }
  const bool apart = image.extent.pitch != image.extent.width;
  std::string out = std::string("cl::Image2D image(context, CL_MEM_READ_WRITE") +
                    (apart ? " | CL_MEM_USE_HOST_PTR" : "") + ", cl::ImageFormat(CL_RGBA, " + std::string(type) +
                    "), " + std::to_string(image.extent.width) + ", " + std::to_string(image.extent.height);
  if (apart) out += ", " + std::to_string(image.extent.pitch * kLanes * bits(desc.dtype) / 8) + ", host_ptr";
  return out + ");  // mace::OpenCLBufferType: " + names;
}

}  // namespace relayout::mace
