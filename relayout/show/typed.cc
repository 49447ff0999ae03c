// From what people type to scenes: see typed.h.
#include "relayout/show/typed.h"

#include "relayout/core/packed/packed.h"
#include "relayout/core/record/record_format.h"
#include "relayout/interop/tensor_text.h"

namespace relayout::show {
namespace {

/// A side whose text has been read.
struct ReadSide {
  Format format;
  std::optional<Dims> dims;
  std::optional<DType> dtype;
};

ReadSide read_side(const TypedSide& typed) {
  ReadSide out;
  if (is_tensor_text(typed.text)) {
    const TextTensor said = tensor_in_text(typed.text);
    out = {Format::parse(said.expression), said.dims, said.dtype};
  } else {
    out.format = Format::parse(typed.text);
    out.dims = out.format.fixed_dims();
    out.dtype = out.format.element_type();
  }
  if (!out.dims && !typed.dims.empty()) out.dims = parse_dims(typed.dims);
  if (!out.dtype && !typed.dtype.empty()) out.dtype = parse_dtype(typed.dtype);
  return out;
}

/// Dims of a side, which may say none: see typed.h.
Dims dims_of(const ReadSide& side, const ReadSide* other) {
  // Views make other dims; where both sides have some, "the same" are those before them.
  const bool before_views = other && (other->format.views().empty() || !side.format.views().empty());
  const ReadSide* from = before_views ? other : nullptr;
  if (side.dims) return *side.dims;
  if (from && from->dims) return *from->dims;
  if (const auto own = side.format.default_dims()) return *own;
  if (const auto others = from ? from->format.default_dims() : std::nullopt) return *others;
  if (side.format.rank() == 0) return {};
  throw Error(ErrorCode::invalid_argument,
              "dims are needed, such as 2,17,5,4: " + escaped(side.format.text()) + " does not say the extents",
              "dims");
}

View view_of_side(const ReadSide& side, const ReadSide* other, TypedSide& typed) {
  const Dims dims = dims_of(side, other);
  const DType dtype = side.dtype.value_or(other && other->dtype ? *other->dtype : DType::f32);
  View out = view_of(side.format, dims, dtype);
  if (is_tensor_text(typed.text)) {
    typed.dims = join(dims);
    typed.dtype = std::string(name(dtype));
  }
  return out;
}

bool is_record(const std::string& text) {
  const PackedFormat* packed = find_packed(text);
  return RecordFormat::looks_like(text) || (packed && packed->alone.empty());
}

Scene record_scene(std::span<const TypedSide> sides) {
  const TypedSide& side = sides[0];
  const Dims dims = parse_dims(side.dims);
  const Record record = RecordFormat::parse(side.text).bind(dims);
  Scene out = scene_of(record, side.text + "  " + (dims.empty() ? "scalar" : join(dims, "x")));
  out.typed = {{side.text, side.dims, ""}};
  return out;
}

Scene scene_of_sides(std::span<const TypedSide> sides, std::size_t& at) {
  for (at = 0; at < sides.size(); ++at) {
    if (!is_record(sides[at].text)) continue;
    if (sides.size() == 1) return record_scene(sides);
    throw Error(ErrorCode::invalid_argument,
                escaped(sides[at].text) +
                    " is a record of several fields, which has no other side; two layouts can be "
                    "compared, such as " +
                    escaped(sides[at].text) + ".NAME of one field",
                "layout", escaped(sides[at].text));
  }
  std::vector<ReadSide> read;
  for (at = 0; at < sides.size(); ++at) read.push_back(read_side(sides[at]));
  std::vector<TypedSide> typed(sides.begin(), sides.end());
  std::vector<View> views;
  for (at = 0; at < sides.size(); ++at)
    views.push_back(view_of_side(read[at], sides.size() == 2 ? &read[1 - at] : nullptr, typed[at]));
  at = sides.size() - 1;
  Scene out = scene_of(std::move(views));
  out.typed = std::move(typed);
  return out;
}

}  // namespace

TypedScene typed_scene(std::span<const TypedSide> sides) {
  TypedScene out;
  try {
    out.scene = scene_of_sides(sides, out.side);
  } catch (const Error& error) {
    out.problem = error;
  }
  return out;
}

}  // namespace relayout::show
