// The check of a file's padding: see check_padding.h.
#include "tools/check_padding.h"

#include <fmt/format.h>

#include <array>
#include <vector>

#include "relayout/cpu/reorder.h"
#include "relayout/reorder/padding.h"
#include "tools/common.h"
#include "tools/values.h"

namespace relayout::tools {
namespace {

/// The value that padding must hold.
Padding wanted(const PaddingOptions& options) {
  const Padding out = options.value ? padding_argument(*options.value) : Padding::zero();
  if (out.kind == Padding::Kind::keep)
    usage_error("--pad keep: there is nothing to check where padding may hold anything", "--pad", "keep");
  return out;
}

double value_at(const TensorDesc& desc, const void* data, int64_t offset) {
  double out = 0;
  const TensorDesc element(Layout::strided({}, {}, offset), desc.dtype);
  cpu::run(cpu::make_plan(element, TensorDesc(Layout(), DType::f64)), data, &out);
  return out;
}

/// The value as the type holds it, saturated and rounded: what padding that was filled with it holds.
double as_held(double value, DType dtype) {
  std::array<std::byte, sizeof(double)> held{};
  cpu::run(cpu::make_plan(TensorDesc(Layout(), DType::f64), TensorDesc(Layout(), dtype)), &value, held.data());
  return value_at(TensorDesc(Layout(), dtype), held.data(), 0);
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
  const Padding padding = wanted(options);
  const TensorInput input = open_tensor({.path = path,
                                         .tensor = options.tensor,
                                         .layout = options.layout,
                                         .dims = options.dims,
                                         .dtype = options.dtype,
                                         .raw = options.raw,
                                         .layout_flag = "--layout"});
  std::span<const std::byte> bytes = input.bytes;
  std::vector<std::byte> swapped;
  if (input.swap_item_bytes > 1) {
    swapped.assign(bytes.begin(), bytes.end());
    swap_bytes(swapped, input.swap_item_bytes);
    bytes = swapped;
  }
  const auto dirty = from_data([&] { return first_dirty_padding(input.desc, bytes, padding); });
  const double expected = as_held(padding.value, input.desc.dtype);
  const int64_t count = input.desc.layout.padded_elements() - input.desc.layout.elements();
  const std::string shown = path == "-" ? "standard input" : escaped(path);
  if (json) {
    Json out = {{"clean", !dirty}, {"padding_elements", count}, {"expected", expected}};
    if (dirty) {
      out["index"] = json_of(dirty->index);
      out["offset"] = dirty->offset;
      out["value"] = value_at(input.desc, bytes.data(), dirty->offset);
    }
    write_stdout(json_text(out));
  } else if (dirty) {
    write_stdout(fmt::format("{}: padding holds {} at index {}, offset {}, where {} is expected\n", shown,
                             value_at(input.desc, bytes.data(), dirty->offset), join(dirty->index), dirty->offset,
                             expected));
  } else {
    write_stdout(count == 0 ? shown + ": no padding\n"
                            : fmt::format("{}: {} of padding, all {}\n", shown,
                                          count == 1 ? "1 element" : std::to_string(count) + " elements", expected));
  }
  return dirty ? kDiffers : kOk;
}

}  // namespace relayout::tools
