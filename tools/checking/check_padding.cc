// The check of a file's padding: see check_padding.h.
#include "tools/checking/check_padding.h"

#include <fmt/format.h>

#include <vector>

#include "relayout/cpu/reorder.h"
#include "relayout/reorder/padding.h"
#include "tools/command/common.h"
#include "tools/input/values.h"

namespace relayout::tools {
namespace {

ElementValue value_at(const TensorDesc& desc, const void* data, int64_t offset) {
  const TensorDesc element(Layout::strided({}, {}, offset), desc.dtype), alone(Layout(), desc.dtype);
  uint64_t held = 0;
  cpu::run(cpu::make_plan(element, alone), data, &held);
  return value_of(held, desc.dtype);
}

/// Whole numbers as such, which a double may not hold.
Json json_value(const ElementValue& value) {
  if (!value.whole()) return value.real();
  return Json::parse(value.text());
}

std::string shown_value(const ElementValue& value) {
  return value.whole() ? value.text() : fmt::format("{}", value.real());
}

}  // namespace

void add_padding_options(Command& command, PaddingOptions& options) {
  command.add_flag("--padding", options.given, "Check the padding of a tensor's file");
  command.add_option("--layout", options.layout, "Its layout; needed where the file does not record it");
  command.add_option("--dims", options.dims, "Its logical extents, likewise");
  command.add_option("--dtype", options.dtype, "Its element type, likewise");
  command.add_option("--tensor", options.tensor, "Name of the tensor in the file");
  command.add_option("--pad", options.value, "The value that its padding must hold; 0 unless given");
  add_raw_options(command, options.raw);
}

void refuse_padding_flags(const PaddingOptions& options) {
  if (options.given) return;
  const char* flag = options.layout            ? "--layout"
                     : options.dims            ? "--dims"
                     : options.dtype           ? "--dtype"
                     : !options.tensor.empty() ? "--tensor"
                     : options.value           ? "--pad"
                     : options.raw.file_offset ? "--file-offset"
                     : options.raw.slack       ? "--slack"
                                               : nullptr;
  if (flag != nullptr)
    usage_error(std::string(flag) + ": it describes a tensor's file, so it goes only with --padding", flag, "",
                "--padding");
}

int check_padding(const std::string& path, const PaddingOptions& options, bool json) {
  require_isa();
  if (options.value && *options.value == "keep")
    usage_error("--pad keep: there is nothing to check where padding may hold anything", "--pad", "keep");
  const TensorInput input = open_tensor({.path = path,
                                         .tensor = options.tensor,
                                         .layout = options.layout,
                                         .dims = options.dims,
                                         .dtype = options.dtype,
                                         .raw = options.raw,
                                         .layout_flag = "--layout"});
  const Padding padding = padding_argument(options.value.value_or("zero"), input.desc.dtype);
  std::span<const std::byte> bytes = input.bytes;
  std::vector<std::byte> swapped;
  if (input.swap_item_bytes > 1) {
    swapped.assign(bytes.begin(), bytes.end());
    swap_bytes(swapped, input.swap_item_bytes);
    bytes = swapped;
  }
  const auto dirty = from_data([&] { return first_dirty_padding(input.desc, bytes, padding); });
  // As the type holds it, which may be rounded.
  const ElementValue expected = value_of(element_bits(padding.value, input.desc.dtype, "--pad"), input.desc.dtype);
  const int64_t count = input.desc.layout.padded_elements() - input.desc.layout.elements();
  const std::string shown = path == "-" ? "standard input" : escaped(path);
  if (json) {
    Json out = {{"clean", !dirty}, {"padding_elements", count}, {"expected", json_value(expected)}};
    if (dirty) {
      out["index"] = json_of(dirty->index);
      out["offset"] = dirty->offset;
      out["value"] = json_value(value_at(input.desc, bytes.data(), dirty->offset));
    }
    write_stdout(json_text(out));
  } else if (dirty) {
    write_stdout(fmt::format("{}: padding holds {} at index {}, offset {}, where {} is expected\n", shown,
                             shown_value(value_at(input.desc, bytes.data(), dirty->offset)), join(dirty->index),
                             dirty->offset, shown_value(expected)));
  } else {
    write_stdout(count == 0 ? shown + ": no padding\n"
                            : fmt::format("{}: {} of padding, all {}\n", shown,
                                          count == 1 ? "1 element" : std::to_string(count) + " elements",
                                          shown_value(expected)));
  }
  return dirty ? kDiffers : kOk;
}

}  // namespace relayout::tools
