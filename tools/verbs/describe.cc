// relayout describe: one layout, as a picture for people or as JSON.
#include <fmt/format.h>

#include <algorithm>

#include "relayout/core/print.h"
#include "relayout/core/runs.h"
#include "relayout/interop/directml.h"
#include "tools/command/common.h"
#include "tools/input/record_argument.h"
#include "tools/input/tabled.h"
#include "tools/input/tensor_text_argument.h"
#include "tools/placing/placement_argument.h"
#include "tools/showing/column_table.h"
#include "tools/showing/describe_as.h"

namespace relayout::tools {
namespace {

struct DescribeOptions {
  std::string layout;
  std::optional<std::string> dtype;
  std::optional<std::string> dims, names, as;
  std::vector<std::string> tables;
};

struct InnerBlock {
  int dim;
  int64_t size, stride;
};

/// Everything that describe reports of a layout, gathered once for its text and its JSON.
struct Description {
  Format format;
  TensorDesc desc;
  std::string letters;
  std::vector<InnerBlock> inner_blocks;  // outermost first
  std::vector<std::string> memory_formats;
  std::optional<std::string> tag;
  std::vector<std::string> aliases;
  std::optional<ImageExtent> image;
  std::optional<int64_t> buffer_span;  // elements of the layout before the views, where there are views
  std::optional<std::pair<Dims, Dims>> collision;
  std::optional<directml::BufferSize> directml;  // of DirectML's descriptions
  std::optional<int64_t> gaps;    // offsets between the first and the last that hold nothing, where they can be counted
  bool views_are_whole = false;   // the views leave no element of the buffer out
  bool padding_overlaps = false;  // padding lies where other indices do, of which no two elements share an offset

  const Layout& layout() const { return desc.layout; }
  int64_t padding_elements() const { return layout().padded_elements() - layout().elements(); }
};

std::vector<InnerBlock> inner_blocks_of(const Layout& layout) {
  std::vector<InnerBlock> out;
  for (int d = 0; d < layout.ndims(); ++d) {
    const auto digits = layout.digits_under_swizzle(d);
    // Outermost first already here, so that the stable sort keeps that order between equal strides.
    for (std::size_t k = digits.size() - 1; k-- > 0;) out.push_back({d, digits[k].extent, digits[k].stride});
  }
  std::ranges::stable_sort(out, std::ranges::greater{}, &InnerBlock::stride);
  return out;
}

/// The layout's tag in letters a to l. An image keeps its row break, which the layout alone does not show.
std::optional<std::string> tag_for(const Format& format, const Layout& layout) {
  if (format.is_image()) {
    const auto tag = format.generic_tag(layout.ndims());
    if (tag && Format::parse(*tag).bind(layout.dims()) == layout) return tag;
  }
  return tag_of(layout);
}

/// The layout, with the letters of --names for its dims.
Format format_of(const DescribeOptions& options) {
  const Format format = layout_argument(options.layout);
  if (!options.names) return format;
  return from_command_line([&] { return format.with_names(*options.names); });
}

/// The buffer of a DirectML description, whose sizes and strides are those of the expression.
directml::BufferSize directml_size(const Format& format, const TensorDesc& desc) {
  std::vector<uint32_t> sizes, strides;
  for (int d = 0; d < desc.layout.ndims(); ++d) {
    sizes.push_back(static_cast<uint32_t>(desc.layout.dim(d)));
    if (format.kind() == Format::Kind::strides) strides.push_back(static_cast<uint32_t>(desc.layout.outer_stride(d)));
  }
  return from_command_line([&] { return directml::buffer_size(directml::data_type(desc.dtype), sizes, strides); });
}

/// How many elements have a place of their own, that is without those which digits of stride 0 repeat.
int64_t places(const Layout& layout) {
  int64_t out = 1;
  for (int d = 0; d < layout.ndims(); ++d) {
    int64_t distinct = 1;
    for (const Digit& digit : layout.digits_under_swizzle(d)) distinct *= digit.stride == 0 ? 1 : digit.extent;
    out *= std::min(distinct, layout.dim(d));
  }
  return out;
}

/// What the command line says: an expression, the dims that it was bound to, and the tensor.
struct Bound {
  Format format;
  Dims dims;
  TensorDesc desc;
};

Bound bind(const DescribeOptions& options) {
  const Format format = format_of(options);
  const Dims dims = dims_for(format, options.dims);
  if (options.names && static_cast<int>(options.names->size()) != dims.size()) {
    usage_error(fmt::format("--names {}: dims {} take {}", escaped(*options.names), dims_text(dims),
                            counted(dims.size(), "letter")),
                "--names", escaped(*options.names), std::to_string(dims.size()));
  }
  const DType dtype = options.dtype ? dtype_argument(*options.dtype) : DType::f32;
  return {format, dims, from_command_line([&] { return bind_tensor(format, dims, dtype); })};
}

/// The names of a tag that are this layout. A name may be a tag's and refuse the extents (a filter's multiplier).
std::vector<std::string> aliases_for(const std::string& tag, const Layout& layout) {
  std::vector<std::string> out = aliases_of(tag);
  std::erase_if(out, [&](const std::string& alias) {
    try {
      return !(Format::parse(alias).bind(layout.dims()) == layout);
    } catch (const Error&) {
      return true;
    }
  });
  return out;
}

Description describe(const Bound& given) {
  const auto& [format, dims, desc] = given;
  Description out{.format = format, .desc = desc};
  const Layout& bound = out.layout();
  out.letters = format.dim_names(bound.ndims());
  if (format.kind() == Format::Kind::tag) out.inner_blocks = inner_blocks_of(bound);
  for (MemoryFormat memory_format :
       {MemoryFormat::contiguous, MemoryFormat::channels_last, MemoryFormat::channels_last_3d}) {
    if (bound.contiguous_in(memory_format)) out.memory_formats.emplace_back(name(memory_format));
  }
  out.tag = tag_for(format, bound);
  if (out.tag) out.aliases = aliases_for(*out.tag, bound);
  if (!format.views().empty()) {
    const Layout buffer = format.before_views(dims);
    out.buffer_span = buffer.span();
    out.views_are_whole = places(bound) >= places(buffer);
  }
  if (format.is_image()) out.image = from_command_line([&] { return format.image(dims); });
  out.collision = from_command_line([&] { return bound.collision(); });
  if (format.notation() == "dml" && format.views().empty()) out.directml = directml_size(format, out.desc);
  out.gaps = from_command_line([&] { return gap_count(bound); });
  out.padding_overlaps =
      !out.collision && bound.padded() && !from_command_line([&] { return bound.injective_with_padding(); });
  return out;
}

Json description_json(const Description& about) {
  const Layout& layout = about.layout();
  Json blocks = Json::array();
  for (const InnerBlock& block : about.inner_blocks) blocks.push_back({{"dim", block.dim}, {"size", block.size}});
  Json out;
  out["layout"] = about.format.text();
  out["dtype"] = name(about.desc.dtype);
  out["dims"] = json_of(layout.dims());
  out["padded_dims"] = json_of(layout.padded_dims());
  out["strides"] = layout.swizzled() ? Json(nullptr) : json_of(layout.outer_strides());
  if (layout.swizzled()) {
    const Swizzle& swizzle = layout.swizzle();
    out["swizzle"] = {swizzle.bits(), swizzle.base(), swizzle.shift()};
  }
  out["inner_blocks"] = std::move(blocks);
  out["offset0"] = layout.offset0();
  out["elements"] = layout.elements();
  out["padding_elements"] = about.padding_elements();
  out["gap_elements"] = about.gaps ? Json(*about.gaps) : Json(nullptr);
  out["span_elements"] = layout.span();
  if (about.buffer_span) out["buffer_elements"] = *about.buffer_span;
  out["span_bytes"] = about.desc.span_bytes();
  out["size_bytes"] = about.desc.size_bytes();
  out["logical_bytes"] = about.desc.logical_bytes();
  if (about.directml) {
    out["directml"] = {{"bytes", about.directml->bytes},
                       {"helper_bytes", about.directml->helper_bytes},
                       {"helper_wraps", about.directml->helper_wraps}};
  }
  out["injective"] = !about.collision.has_value();
  if (about.collision) out["collision"] = {json_of(about.collision->first), json_of(about.collision->second)};
  out["dense"] = layout.dense();
  out["packed"] = layout.packed();
  out["broadcast"] = layout.broadcast();
  out["padded"] = layout.padded();
  out["memory_formats"] = about.memory_formats;
  out["tag"] = about.tag ? Json(*about.tag) : Json(nullptr);
  out["aliases"] = about.aliases;
  if (about.image) {
    out["image"] = {{"width", about.image->width}, {"height", about.image->height}, {"pitch", about.image->pitch}};
  }
  out["formula"] = offset_formula(layout, about.letters);
  out["digits"] = digits_expression(layout);
  return out;
}

/// A table with a column for each dim: its letter, extent, padded extent, stride and blocks.
std::string dim_table(const Description& about) {
  const Layout& layout = about.layout();
  std::vector<std::string> labels{"", "extent", "padded", "stride", "blocks"};
  std::vector<std::vector<std::string>> columns;
  for (int d = 0; d < layout.ndims(); ++d) {
    std::string blocks;
    for (const InnerBlock& block : about.inner_blocks) {
      if (block.dim == d) blocks += (blocks.empty() ? "" : "x") + std::to_string(block.size);
    }
    // Of a swizzled layout, the stride under the swizzle, which the formula below the table shows.
    columns.push_back({std::string(1, about.letters[static_cast<std::size_t>(d)]), std::to_string(layout.dim(d)),
                       layout.padded() ? std::to_string(layout.capacity(d)) : "",
                       std::to_string(layout.digits_under_swizzle(d).back().stride), blocks});
  }
  return column_table(labels, columns);
}

std::string predicates_text(const Description& about) {
  const Layout& layout = about.layout();
  const std::pair<bool, std::string_view> facts[] = {{!about.collision, "injective"},
                                                     {layout.dense(), "dense"},
                                                     {layout.packed(), "packed"},
                                                     {layout.padded(), "padded"},
                                                     {layout.broadcast(), "broadcast"}};
  std::string yes, no;
  for (const auto& [holds, fact] : facts) {
    std::string& list = holds ? yes : no;
    list += (list.empty() ? "" : ", ") + std::string(fact);
  }
  return yes.empty() ? "not " + no : no.empty() ? yes : yes + "; not " + no;
}

/// The places that hold neither an element nor padding; "" where there are none.
std::string gaps_text(const Description& about) {
  const Layout& layout = about.layout();
  if (layout.empty()) return "";
  const int64_t onednn_size = layout.swizzled() ? layout.span() : layout.footprint();
  const int64_t before = layout.offset_range().first, behind = onednn_size - layout.span();
  std::string out = about.gaps ? "" : "not counted, because indices share offsets";
  const auto add = [&](int64_t count, std::string_view where) {
    if (count > 0) out += fmt::format("{}{} {}", out.empty() ? "" : ", ", count, where);
  };
  add(before, "before the first");
  add(about.gaps.value_or(0), "between elements");
  add(behind, "behind the last in oneDNN's size");
  return out;
}

std::string elements_text(const Description& about) {
  const Layout& layout = about.layout();
  const int64_t padding = about.padding_elements();
  if (padding == 0) return std::to_string(layout.elements());
  if (about.padding_overlaps) {
    return fmt::format("{}; {} of padding share offsets with other indices, so this is a source only",
                       layout.elements(), padding);
  }
  return fmt::format("{} + {} padding ({:.1f} %) = {}", layout.elements(), padding,
                     100.0 * static_cast<double>(padding) / static_cast<double>(layout.padded_elements()),
                     layout.padded_elements());
}

/// What a buffer must have, and oneDNN's size where that is another one.
std::string bytes_text(const TensorDesc& desc) {
  const int64_t need = desc.span_bytes();
  return fmt::format("{}{} in memory, {} logical; span {}{}", need,
                     need >= 1024 ? fmt::format(" ({})", size_text(need)) : "", desc.logical_bytes(),
                     counted(desc.layout.span(), "element"),
                     desc.size_bytes() == need ? "" : fmt::format("; oneDNN's size {}", desc.size_bytes()));
}

/// What the views of the expression are of; "" where it has none but an order of gates.
std::string buffer_text(const Description& about) {
  const Format& format = about.format;
  if (format.without_gates().views().empty()) return "";
  return fmt::format("a view of {} {} elements, which {} spans before its views",
                     about.views_are_whole ? "all" : "a part of", *about.buffer_span,
                     format.text().substr(0, format.text().find('.')));
}

std::string description_text(const Description& about, const TabledLayout& tabled) {
  const Layout& layout = about.layout();
  const TensorDesc& desc = about.desc;
  std::string out = bold(fmt::format("{}  {}  {}", about.format.text(), name(desc.dtype), dims_text(layout.dims()))) +
                    "\n\n" + dim_table(about);
  out += labelled("offset", unbroken(offset_formula(layout, about.letters), "+ "));
  if (layout.ndims() > 0) out += labelled("digits", unbroken(digits_text(layout, about.letters), " = "));
  out += labelled("paste", digits_expression(layout));
  if (about.image) {
    out += labelled("image", fmt::format("{} x {} RGBA texels, row pitch {}", about.image->width, about.image->height,
                                         about.image->pitch));
  }
  out += "\n";
  out += labelled("elements", elements_text(about));
  if (const std::string gaps = gaps_text(about); !gaps.empty()) out += labelled("gaps", gaps);
  out += labelled("bytes", bytes_text(desc));
  if (const std::string buffer = buffer_text(about); !buffer.empty()) out += labelled("buffer", buffer);
  if (about.directml) {
    const std::optional<std::string> warning = directml::helper_warning(*about.directml);
    out += labelled("directml", fmt::format("a buffer of {} bytes, a multiple of 4{}", about.directml->bytes,
                                            warning ? "; " + *warning : ""));
  }
  for (const std::string& table : tabled.texts(about.letters)) out += labelled("table", table);
  out += labelled("is", predicates_text(about));
  if (about.collision) {
    out += labelled("collision", fmt::format("({}) and ({}) share offset {}", join(about.collision->first),
                                             join(about.collision->second), layout.offset(about.collision->first)));
  }
  if (!about.memory_formats.empty())
    out += labelled("formats", fmt::format("{}", fmt::join(about.memory_formats, ", ")));
  out += labelled("tag", about.tag.value_or("none"));
  if (!about.aliases.empty()) out += labelled("aliases", fmt::format("{}", fmt::join(about.aliases, ", ")));
  if (const std::string picture = show::memory_text(layout, about.letters, {.gaps = about.gaps.value_or(1) > 0});
      !picture.empty())
    out += "\n" + picture;
  if (out.back() != '\n') out += '\n';
  return out;
}

int run_describe(DescribeOptions options, bool json) {
  if (PlacementText::is(options.layout)) {
    const std::string flag = options.tables.empty() ? "" : "--table";
    return describe_placement({options.layout, options.dims, options.dtype, options.names, options.as, flag}, json);
  }
  read_tensor_text(options.layout, options.dims, options.dtype);
  if (is_record(options.layout)) {
    const char* flag = options.dtype            ? "--dtype"
                       : options.names          ? "--names"
                       : options.as             ? "--as"
                       : options.tables.empty() ? ""
                                                : "--table";
    return describe_record(options.layout, options.dims, flag, json);
  }
  if (options.as && !options.tables.empty()) usage_error("--as: no system has words for tables", "--table");
  const Bound given = bind(options);
  // Before all that describe() looks for, some of which takes long for contrived strides.
  if (options.as) return describe_as(given.desc, given.format.dim_names(given.desc.layout.ndims()), *options.as, json);
  const Description about = describe(given);
  const TabledLayout tabled(given.format, given.desc.layout, options.tables);
  if (!json) {
    write_stdout(description_text(about, tabled));
    return kOk;
  }
  Json out = description_json(about);
  if (!options.tables.empty()) out["tables"] = tabled.json();
  write_stdout(json_text(out));
  return kOk;
}

}  // namespace

Verb add_describe(CommandLine& line) {
  auto [command, json] =
      add_verb(line, "describe", "Show a layout: its strides, blocks, padding, size, offsets and memory",
               "  relayout describe nChw8c --dims 2,17,5,4\n"
               "  relayout describe mace:in_out_channel --dims 1,9,4,5 --dtype f16 --json\n"
               "  relayout describe \"nchw.narrow(1,8,8)\" --dims 2,16,5,4\n"
               "  relayout describe \"dml:{1,1,3,5},{15,1,5,1}\"\n"
               "  relayout describe strides:15,1,5,1 --dims 2,3,5,1\n"
               "  relayout describe \"torch (1,64,5,4) strides (1280,1,256,64)\"\n"
               "  relayout describe \"jax:P('x',None) mesh(x=4,y=2)\" --dims 100,30");
  auto options = std::make_shared<DescribeOptions>();
  command
      .add_option(
          "LAYOUT", options->layout,
          "Layout expression, a tensor as PyTorch, NumPy or oneDNN print it, or a placement over ranks or chunks")
      .required();
  command.add_option("--dims", options->dims,
                     "Logical extents before any views, for example 2,17,5,4; needed unless the layout fixes them");
  add_table_option(command, options->tables);
  command.add_option("--names", options->names,
                     "A letter for each dim (before any views), for example nchw; for layouts that name none");
  command.add_option("--dtype", options->dtype, "Element type; f32 unless given");
  command.add_option(
      "--as", options->as,
      "Print the layout in the words of a system, to be pasted there (" + systems_text() + "), or in those of all");
  return {command, [options, json = json] { return run_describe(*options, *json); }, json};
}

}  // namespace relayout::tools
