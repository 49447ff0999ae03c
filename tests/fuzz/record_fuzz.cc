// Fuzzes records and value expressions. A record that parses must bind or say why it cannot, be the same after it is
// written and read again, and have each byte in at most one field; a value that parses has a number for its fields.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "relayout/core/error.h"
#include "relayout/core/record/record_format.h"
#include "relayout/core/record/value.h"
#include "relayout/interop/numpy_record.h"

namespace {

using relayout::Dims;
using relayout::Record;
using relayout::RecordFormat;
using relayout::ValueExpression;

void require(bool law) {
  if (!law) std::abort();
}

void check_record(const Record& record) {
  require(RecordFormat::parse(relayout::expression_of(record)).bind({}) == record);
  for (int64_t byte = 0; byte < record.bytes() && byte < 64; ++byte) {
    int used = 0;
    for (const Record::Place& place : record.at_byte(byte)) used += place.bits;
    require(used <= 8);
  }
}

template <typename F>
void allow_errors(F&& f) {
  try {
    f();
  } catch (const relayout::Error&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  if (size > 300) return 0;
  const std::string text(reinterpret_cast<const char*>(data), size);
  allow_errors([&] {
    const RecordFormat format = RecordFormat::parse(text);
    for (const Dims& dims : {Dims{}, Dims{3}, Dims{2, 64}, Dims{256, 256}})
      allow_errors([&] { check_record(format.bind(dims)); });
  });
  allow_errors([&] {
    const ValueExpression value = ValueExpression::parse(text);
    (void)value.value([](std::string_view) { return 1.0F; });
    (void)value.affine([](std::string_view name) { return name == "q"; });
  });
  allow_errors([&] { check_record(relayout::numpy::record_of(relayout::numpy::record_type(text), {2})); });
  return 0;
}
