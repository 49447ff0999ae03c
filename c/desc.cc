// Descriptors in C: made from expressions, strides and DLPack; asked for their numbers; written as text.
#include "c/handles.h"
#include "relayout/core/decide.h"
#include "relayout/interop/dlpack.h"
#include "relayout/interop/spelling.h"

namespace c = relayout::c;
using relayout::Dims;
using relayout::Error;
using relayout::ErrorCode;
using relayout::Format;
using relayout::Layout;
using relayout::TensorDesc;

namespace {

/// Makes a handle where its place and everything else is right.
void give_desc(const TensorDesc& desc, std::string letters, relayout_desc** out) {
  relayout_desc*& place = c::result(out, "desc");  // before there is a handle, which nothing would free
  place = new relayout_desc(desc, std::move(letters));
}

Format parsed(const std::string& expression) {
  if (expression.size() > Format::kMaxText) {
    throw Error(ErrorCode::limit, "a layout has at most " + std::to_string(Format::kMaxText) + " characters",
                "expression", std::to_string(expression.size()), std::to_string(Format::kMaxText));
  }
  return Format::parse(expression);
}

Dims dims_of(const Format& format, int32_t ndims, const int64_t* dims) {
  if (ndims != -1) return c::checked_dims(ndims, dims, "dims");
  const std::optional<Dims> fixed = format.default_dims();
  if (!fixed) c::refuse("ndims", "is -1, but \"" + relayout::escaped(format.text()) + "\" does not say the extents");
  return *fixed;
}

/// The dim's index or Error.
int checked_dim(const Layout& layout, int32_t dim) {
  if (dim < 0 || dim >= layout.ndims())
    c::refuse("dim", "is " + std::to_string(dim) + "; the layout has " + std::to_string(layout.ndims()) + " dims");
  return dim;
}

bool holds(const Layout& layout, relayout_property property) {
  switch (property) {
    case RELAYOUT_INJECTIVE: return layout.injective();
    case RELAYOUT_DENSE: return layout.dense();
    case RELAYOUT_PADDED: return layout.padded();
    case RELAYOUT_BROADCAST: return layout.broadcast();
  }
  c::refuse("property", "is " + std::to_string(property) + ", which is no relayout_property");
}

std::string text_of(const relayout_desc& handle, std::string_view as) {
  const Layout& layout = handle.desc.layout;
  if (as == "digits") return relayout::digits_expression(layout);
  if (as == "tag") {
    if (std::optional<std::string> tag = relayout::tag_of(layout)) return *tag;
    throw Error(ErrorCode::unsupported, "no tag is this layout, " + relayout::digits_expression(layout), "as", "tag");
  }
  relayout::Spelling said = relayout::spelling(as, handle.desc, handle.letters);
  if (!said.refusal.empty()) throw Error(ErrorCode::unsupported, said.refusal, "as", std::string(as));
  return std::move(said.text);
}

}  // namespace

extern "C" {

relayout_status relayout_desc_parse(const char* expression, int32_t ndims, const int64_t* dims, relayout_dtype dtype,
                                    relayout_desc** desc) {
  return c::guarded([&] {
    const Format format = parsed(c::checked_text(expression, "expression"));
    const relayout::DType type = c::checked_dtype(dtype);
    const Layout layout = format.bind(dims_of(format, ndims, dims));
    give_desc({layout, type}, format.dim_names(layout.ndims()), desc);
  });
}

relayout_status relayout_desc_strided(int32_t ndims, const int64_t* dims, const int64_t* strides, int64_t offset0,
                                      relayout_dtype dtype, relayout_desc** desc) {
  return c::guarded([&] {
    const Dims extents = c::checked_dims(ndims, dims, "dims");
    const relayout::DType type = c::checked_dtype(dtype);
    const Dims steps =
        strides == nullptr ? Layout::contiguous(extents).outer_strides() : c::checked_dims(ndims, strides, "strides");
    give_desc({Layout::strided(extents, steps, offset0), type}, "", desc);
  });
}

relayout_status relayout_desc_view(const relayout_desc* desc, const char* views, relayout_desc** view) {
  return c::guarded([&] {
    const relayout_desc& from = c::checked(desc, "desc");
    const std::string steps = c::checked_text(views, "views");
    if (!steps.empty() && steps[0] != '.') c::refuse("views", "begin with a dot, as in \".transpose(0,1)\"");
    const Format digits = parsed(relayout::digits_expression(from.desc.layout) + steps);
    const Format format = from.letters.empty() ? digits : digits.with_names(from.letters);
    const Layout layout = format.bind(from.desc.layout.dims());
    give_desc({layout, from.desc.dtype}, format.dim_names(layout.ndims()), view);
  });
}

relayout_status relayout_desc_with_dtype(const relayout_desc* desc, relayout_dtype dtype, relayout_desc** out) {
  return c::guarded([&] {
    const relayout_desc& from = c::checked(desc, "desc");
    give_desc({from.desc.layout, c::checked_dtype(dtype)}, from.letters, out);
  });
}

void relayout_desc_free(relayout_desc* desc) { c::free_handle(desc); }

relayout_status relayout_desc_dtype(const relayout_desc* desc, relayout_dtype* dtype) {
  return c::guarded(
      [&] { c::result(dtype, "dtype") = static_cast<relayout_dtype>(c::checked(desc, "desc").desc.dtype); });
}

relayout_status relayout_desc_ndims(const relayout_desc* desc, int32_t* ndims) {
  return c::guarded([&] { c::result(ndims, "ndims") = c::checked(desc, "desc").desc.layout.ndims(); });
}

relayout_status relayout_desc_dims(const relayout_desc* desc, int64_t* dims, int32_t capacity, int32_t* ndims) {
  return c::guarded([&] { c::give_numbers(c::checked(desc, "desc").desc.layout.dims(), dims, capacity, ndims); });
}

relayout_status relayout_desc_padded_dims(const relayout_desc* desc, int64_t* dims, int32_t capacity, int32_t* ndims) {
  return c::guarded(
      [&] { c::give_numbers(c::checked(desc, "desc").desc.layout.padded_dims(), dims, capacity, ndims); });
}

relayout_status relayout_desc_strides(const relayout_desc* desc, int64_t* strides, int32_t capacity, int32_t* ndims) {
  return c::guarded([&] {
    const Layout layout = c::checked(desc, "desc").desc.layout.canonical();
    for (int d = 0; d < layout.ndims(); ++d) {
      if (layout.digits(d).size() == 1) continue;
      throw Error(ErrorCode::unsupported,
                  "dim " + std::to_string(d) +
                      " is blocked, so that no single stride leads along it: " + relayout::digits_expression(layout),
                  "dims[" + std::to_string(d) + "]");
    }
    c::give_numbers(layout.outer_strides(), strides, capacity, ndims);
  });
}

relayout_status relayout_desc_digits(const relayout_desc* desc, int32_t dim, relayout_digit* digits, int32_t capacity,
                                     int32_t* count) {
  return c::guarded([&] {
    const Layout& layout = c::checked(desc, "desc").desc.layout;
    const std::span<const relayout::Digit> own = layout.digits(checked_dim(layout, dim));
    const auto n = static_cast<int32_t>(own.size());
    int32_t& told = c::result(count, "count");
    if (digits != nullptr || capacity != 0) c::result(digits, "digits");
    told = n;
    if (digits == nullptr) return;
    if (n > capacity) {
      throw Error(ErrorCode::buffer_too_small,
                  "there are " + std::to_string(n) + " digits, and room for " + std::to_string(capacity), "capacity",
                  std::to_string(capacity), std::to_string(n));
    }
    for (std::size_t k = 0; k < own.size(); ++k) digits[k] = {own[k].extent, own[k].stride};
  });
}

relayout_status relayout_desc_elements(const relayout_desc* desc, int64_t* elements) {
  return c::guarded([&] { c::result(elements, "elements") = c::checked(desc, "desc").desc.layout.elements(); });
}

relayout_status relayout_desc_offset0(const relayout_desc* desc, int64_t* offset0) {
  return c::guarded([&] { c::result(offset0, "offset0") = c::checked(desc, "desc").desc.layout.offset0(); });
}

relayout_status relayout_desc_swizzle(const relayout_desc* desc, int32_t* bits, int32_t* base, int32_t* shift) {
  return c::guarded([&] {
    const relayout::Swizzle& swizzle = c::checked(desc, "desc").desc.layout.swizzle();
    int32_t& of_bits = c::result(bits, "bits");
    int32_t& of_base = c::result(base, "base");
    c::result(shift, "shift") = swizzle.shift();
    of_bits = swizzle.bits();
    of_base = swizzle.base();
  });
}

relayout_status relayout_desc_span_bytes(const relayout_desc* desc, int64_t* bytes) {
  return c::guarded([&] { c::result(bytes, "bytes") = c::checked(desc, "desc").desc.span_bytes(); });
}

relayout_status relayout_desc_offset(const relayout_desc* desc, const int64_t* index, int32_t ndims, int64_t* offset) {
  return c::guarded([&] {
    const Layout& layout = c::checked(desc, "desc").desc.layout;
    const Dims at = c::checked_dims(ndims, index, "index");
    if (at.size() != layout.ndims())
      c::refuse("ndims", "is " + std::to_string(ndims) + ", and the layout has " + std::to_string(layout.ndims()));
    for (int d = 0; d < layout.ndims(); ++d) {
      if (at[d] >= 0 && at[d] < layout.capacity(d)) continue;
      throw Error(ErrorCode::invalid_argument,
                  "index[" + std::to_string(d) + "] is " + std::to_string(at[d]) + ", and dim " + std::to_string(d) +
                      " has a capacity of " + std::to_string(layout.capacity(d)),
                  "index[" + std::to_string(d) + "]", std::to_string(at[d]), std::to_string(layout.capacity(d)));
    }
    c::result(offset, "offset") = layout.offset(at);
  });
}

relayout_status relayout_desc_index(const relayout_desc* desc, int64_t offset, int64_t* index, int32_t capacity,
                                    relayout_slot* slot) {
  return c::guarded([&] {
    const Layout& layout = c::checked(desc, "desc").desc.layout;
    relayout_slot& kind = c::result(slot, "slot");
    Dims found;
    const relayout::Slot there = layout.inverse(offset, &found);
    if (there != relayout::Slot::gap) c::give_numbers(found, index, capacity, nullptr);
    kind = static_cast<relayout_slot>(there);
  });
}

relayout_status relayout_desc_has(const relayout_desc* desc, relayout_property property, int* answer) {
  return c::guarded(
      [&] { c::result(answer, "holds") = holds(c::checked(desc, "desc").desc.layout, property) ? 1 : 0; });
}

relayout_status relayout_desc_equal(const relayout_desc* a, const relayout_desc* b, int* equal) {
  return c::guarded([&] { c::result(equal, "equal") = c::checked(a, "a").desc == c::checked(b, "b").desc ? 1 : 0; });
}

relayout_status relayout_desc_overlaps(const relayout_desc* a, const relayout_desc* b, int* shared) {
  return c::guarded([&] {
    const TensorDesc &one = c::checked(a, "a").desc, &other = c::checked(b, "b").desc;
    int& out = c::result(shared, "shared");
    if (relayout::bits(one.dtype) != relayout::bits(other.dtype)) {
      const auto of = [](const TensorDesc& desc) { return std::to_string(relayout::bits(desc.dtype)); };
      throw Error(ErrorCode::invalid_argument,
                  "elements of a have " + of(one) + " bits and those of b " + of(other) + "; offsets count elements",
                  "b", of(other), of(one));
    }
    const relayout::Answer answer = relayout::overlap(one.layout, other.layout).answer;
    if (answer == relayout::Answer::undecided) {
      const std::string steps = std::to_string(relayout::kDecisionSteps);
      throw Error(ErrorCode::limit, "whether the layouts share an element was not found in " + steps + " steps", "a",
                  {}, steps);
    }
    out = answer == relayout::Answer::yes ? 1 : 0;
  });
}

relayout_status relayout_desc_text(const relayout_desc* desc, const char* as, char* text, size_t capacity,
                                   size_t* length) {
  return c::guarded(
      [&] { c::give_text(text_of(c::checked(desc, "desc"), c::checked_text(as, "as")), text, capacity, length); });
}

relayout_status relayout_desc_from_dlpack(const struct DLTensor* tensor, relayout_desc** desc, void** data) {
  return c::guarded([&] {
    if (tensor == nullptr) c::refuse("tensor", "is null");
    const auto& dl = *reinterpret_cast<const relayout::dlpack::DLTensor*>(tensor);
    const relayout::dlpack::View view = relayout::dlpack::from_dlpack(dl);
    void*& begin = c::result(data, "data");
    void* const pointer = relayout::dlpack::cpu_pointer(view);
    give_desc(view.desc, "", desc);
    begin = pointer;
  });
}

relayout_status relayout_desc_to_dlpack(const relayout_desc* desc, void* data, void (*release)(void* context),
                                        void* context, struct DLManagedTensorVersioned** tensor) {
  return c::guarded([&] {
    const relayout_desc& from = c::checked(desc, "desc");
    auto& out = c::result(tensor, "tensor");
    const auto let_go = [release, context] {
      if (release != nullptr) release(context);
    };
    out = reinterpret_cast<struct DLManagedTensorVersioned*>(
        relayout::dlpack::exported_versioned(from.desc, data, let_go).release());
  });
}

}  // extern "C"
