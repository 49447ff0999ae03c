// A record as C: a struct where its fields are members of one, and a function a field that says where an element lies.
//
//     c_record::code(RecordFormat::parse("record{a:u8, b:f32;aligned}"), {10})
//
//     #include <stdint.h>
//
//     /* 10 structs of 8 bytes. */
//     struct record {
//       uint8_t a;
//       uint8_t gap0[3];
//       float b;
//     };
//     /* Bytes of the whole buffer. */
//     static const int64_t record_bytes = 80;
//     /* The offset in elements of (i0) in 10 elements of f32. */
//     static inline int64_t offset_b(int64_t i0) { ... }
//
// Offsets count elements of the field from the begin of the buffer, those of 4 bits nibbles, of which the even one is
// in the low half of its byte. The text is C99 and C++, needs nothing but <stdint.h>, and does not warn with -Wall
// -Wextra.
#pragma once

#include <string>

#include "relayout/core/record/record_format.h"

namespace relayout::c_record {

/// Points in names become underscores. Types that C has no type for are unsigned integers of their width; members of
/// less than a byte have no struct, and then there are functions alone. Errors: those of RecordFormat::bind().
std::string code(const RecordFormat& format, const Dims& dims);

}  // namespace relayout::c_record
