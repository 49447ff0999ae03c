// Fuzzes the C interface: calls whose arguments the input chooses, among them null pointers, handles of other kinds and
// freed ones, numbers that no choice has, sizes that do not fit, damaged DLPack tensors and files. No call may crash,
// hang, or touch memory beyond what it was given; one that fails says why and leaves its results alone.
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "tests/fuzz/c_calls.h"

namespace relayout::fuzz {
namespace {

bool is_utf8(std::string_view text) {
  std::size_t follow = 0;
  for (const char ch : text) {
    const auto byte = static_cast<uint8_t>(ch);
    if ((byte & 0xc0) == 0x80) {
      if (follow-- == 0) return false;
    } else {
      if (follow != 0 || byte >= 0xf8) return false;
      follow = byte >= 0xf0 ? 3 : byte >= 0xe0 ? 2 : byte >= 0xc0 ? 1 : 0;
    }
  }
  return follow == 0;
}

/// A list of dims or an index, and how long the call says it is.
struct Numbers {
  explicit Numbers(Input& in) {
    ndims = in.rarely() ? in.number32() : static_cast<int32_t>(in.below(5));
    // A list has as many numbers as it says, and the library refuses to read one that says more than a layout has.
    dims.resize(ndims < 0 || ndims > RELAYOUT_MAX_DIMS ? 0 : static_cast<std::size_t>(ndims));
    for (int64_t& dim : dims) dim = in.number();
  }
  const int64_t* data(Input& in) const { return in.rarely() ? nullptr : dims.data(); }
  int32_t ndims;
  std::vector<int64_t> dims;
};

void make_desc(Input& in, Handles& handles) {
  relayout_desc* made = nullptr;
  relayout_desc** const place = in.rarely() ? nullptr : &made;
  const auto dtype = static_cast<relayout_dtype>(in.rarely() ? in.number() : in.byte() % 17);
  relayout_status status = RELAYOUT_OK;
  switch (in.below(5)) {
    case 0: {
      const std::string expression = in.text();
      const Numbers dims(in);
      status = relayout_desc_parse(expression.c_str(), dims.ndims, dims.data(in), dtype, place);
      break;
    }
    case 1: status = relayout_desc_parse(in.text().c_str(), -1, nullptr, dtype, place); break;
    case 2: {
      const Numbers dims(in);
      std::vector<int64_t> strides(dims.dims.size());
      for (int64_t& stride : strides) stride = in.number();
      const int64_t* const all = in.rarely() ? nullptr : strides.data();
      status = relayout_desc_strided(dims.ndims, dims.data(in), all, in.number(), dtype, place);
      break;
    }
    case 3: {
      const relayout_desc* const from = handles.any<relayout_desc>(in);
      status = relayout_desc_view(from, in.text().c_str(), place);
      break;
    }
    default: status = relayout_desc_with_dtype(handles.any<relayout_desc>(in), dtype, place);
  }
  check(status, (status == RELAYOUT_OK) == (made != nullptr));
  if (made != nullptr) handles.add(made);
}

/// One number: given where the call succeeds, left alone where it fails.
template <typename T, typename Function>
void ask_number(Input& in, const relayout_desc* desc, Function function) {
  constexpr T kBefore = -77;
  T number = kBefore;
  const relayout_status status = function(desc, in.rarely() ? nullptr : &number);
  check(status, (status == RELAYOUT_OK) == (number != kBefore));
}

void ask_numbers(Input& in, Handles& handles) {
  const relayout_desc* const desc = handles.any<relayout_desc>(in);
  ask_number<relayout_dtype>(in, desc, relayout_desc_dtype);
  ask_number<int32_t>(in, desc, relayout_desc_ndims);
  ask_number<int64_t>(in, desc, relayout_desc_elements);
  ask_number<int64_t>(in, desc, relayout_desc_offset0);
  ask_number<int64_t>(in, desc, relayout_desc_span_bytes);
  const auto property = static_cast<relayout_property>(in.rarely() ? in.number() : in.byte() % 4);
  ask_number<int>(in, desc,
                  [&](const relayout_desc* of, int* holds) { return relayout_desc_has(of, property, holds); });
  const relayout_desc* const other = handles.any<relayout_desc>(in);
  ask_number<int>(in, desc, [&](const relayout_desc* of, int* equal) { return relayout_desc_equal(of, other, equal); });
  ask_number<int>(in, desc,
                  [&](const relayout_desc* of, int* shared) { return relayout_desc_overlaps(of, other, shared); });
}

void ask_lists(Input& in, Handles& handles) {
  const relayout_desc* const desc = handles.any<relayout_desc>(in);
  for (const auto function : {relayout_desc_dims, relayout_desc_padded_dims, relayout_desc_strides}) {
    const int32_t capacity = in.rarely() ? -1 : static_cast<int32_t>(in.below(RELAYOUT_MAX_DIMS + 1));
    std::vector<int64_t> list(static_cast<std::size_t>(std::max(capacity, 0)));
    int32_t count = -77;
    const relayout_status status =
        function(desc, in.rarely() ? nullptr : list.data(), capacity, in.rarely() ? nullptr : &count);
    check(status, status == RELAYOUT_OK || count == -77);
  }
  const int32_t dim = in.rarely() ? in.number32() : static_cast<int32_t>(in.below(5));
  const int32_t capacity = in.rarely() ? -1 : static_cast<int32_t>(in.below(8));
  std::vector<relayout_digit> digits(static_cast<std::size_t>(std::max(capacity, 0)));
  int32_t count = -77;
  const relayout_status status =
      relayout_desc_digits(desc, dim, in.rarely() ? nullptr : digits.data(), capacity, in.rarely() ? nullptr : &count);
  check(status, status == RELAYOUT_OK || status == RELAYOUT_BUFFER_TOO_SMALL || count == -77);
}

/// An index that lies at an offset leads to this offset, and is in the layout's capacities.
void ask_offsets(Input& in, Handles& handles) {
  const relayout_desc* const desc = handles.any<relayout_desc>(in);
  const int64_t wanted = in.number();
  const auto capacity = static_cast<int32_t>(in.rarely() ? in.below(3) : RELAYOUT_MAX_DIMS);
  std::vector<int64_t> index(static_cast<std::size_t>(capacity));
  relayout_slot slot = -77;
  const relayout_status status =
      relayout_desc_index(desc, wanted, in.rarely() ? nullptr : index.data(), capacity, in.rarely() ? nullptr : &slot);
  check(status, (status == RELAYOUT_OK) == (slot != -77));
  if (status == RELAYOUT_OK && slot != RELAYOUT_GAP) {
    int32_t ndims = 0;
    int64_t offset = 0;
    require(relayout_desc_ndims(desc, &ndims) == RELAYOUT_OK);
    require(relayout_desc_offset(desc, index.data(), ndims, &offset) == RELAYOUT_OK);
    require(offset == wanted);
  }
  const Numbers at(in);
  ask_number<int64_t>(in, desc, [&](const relayout_desc* of, int64_t* offset) {
    return relayout_desc_offset(of, at.data(in), at.ndims, offset);
  });
}

void ask_texts(Input& in, Handles& handles) {
  const relayout_desc* const desc = handles.any<relayout_desc>(in);
  const std::string as = in.text();
  read_text(in, [&](char* text, size_t capacity, size_t* length) {
    return relayout_desc_text(desc, as.c_str(), text, capacity, length);
  });
  const relayout_plan* const plan = handles.any<relayout_plan>(in);
  read_text(in, [&](char* text, size_t capacity, size_t* length) {
    return relayout_plan_explain(plan, text, capacity, length);
  });
}

void ask_names(Input& in) {
  const int32_t number = in.number32();
  require(*relayout_status_name(number) != '\0' && *relayout_dtype_name(number) != '\0');
  int32_t bits = -77;
  const relayout_status has_bits = relayout_dtype_bits(number, in.rarely() ? nullptr : &bits);
  check(has_bits, (has_bits == RELAYOUT_OK) == (bits != -77));
  relayout_dtype dtype = -77;
  const relayout_status parsed = relayout_dtype_parse(in.text().c_str(), &dtype);
  check(parsed, (parsed == RELAYOUT_OK) == (dtype != -77));
}

void free_any(Input& in, Handles& handles) {
  switch (in.below(3)) {
    case 0: handles.free(in, relayout_desc_free); break;
    case 1: handles.free(in, relayout_plan_free); break;
    default: handles.free(in, relayout_file_close);
  }
}

}  // namespace

void check(relayout_status status, bool results_as_promised) {
  require(results_as_promised);
  require(status >= RELAYOUT_OK && status < RELAYOUT_OUT_OF_MEMORY && status != RELAYOUT_INTERNAL);
  if (status == RELAYOUT_OK) return;
  require(*relayout_error_message() != '\0');
  for (const char* text :
       {relayout_error_message(), relayout_error_field(), relayout_error_value(), relayout_error_limit()})
    require(is_utf8(text));
}

void read_text(Input& in, const ReadText& read) {
  size_t length = 0;
  const relayout_status status = read(nullptr, 0, &length);
  check(status, status == RELAYOUT_OK || length == 0);
  const size_t capacity = in.rarely() ? in.below(40) : length + 1;
  std::vector<char> text(capacity, 'x');
  size_t again = 0;
  const relayout_status second = read(text.data(), capacity, in.rarely() ? nullptr : &again);
  require(status != RELAYOUT_OK || second == (capacity > length ? RELAYOUT_OK : RELAYOUT_BUFFER_TOO_SMALL) ||
          (capacity == 0 && second == RELAYOUT_OK) || second == RELAYOUT_INVALID_ARGUMENT);
  check(second, second != RELAYOUT_OK || capacity == 0 || text[length] == '\0');
  if (second == RELAYOUT_OK && capacity != 0) require(is_utf8({text.data(), length}));
}

}  // namespace relayout::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  using namespace relayout::fuzz;
  Input in({reinterpret_cast<const char*>(data), size});
  Handles handles;
  for (int call = 0; call < 40 && !in.empty(); ++call) {
    switch (in.below(17)) {
      case 0:
      case 1:
      case 2: make_desc(in, handles); break;
      case 3: ask_numbers(in, handles); break;
      case 4: ask_lists(in, handles); break;
      case 5: ask_offsets(in, handles); break;
      case 6: ask_texts(in, handles); break;
      case 7: ask_names(in); break;
      case 8: free_any(in, handles); break;
      case 9:
      case 10: make_plan(in, handles); break;
      case 11: run_plan(in, handles); break;
      case 12: reorder_in_place(in, handles); break;
      case 13: read_file(in, handles); break;
      case 14: write_file(in, handles); break;
      case 15: permute_gates(in, handles); break;
      default: pass_dlpack(in, handles);
    }
  }
  return 0;
}
