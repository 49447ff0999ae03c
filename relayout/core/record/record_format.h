// RecordFormat: a record as text, before the extents are known.
//
//     RecordFormat::parse("record{x:f32, y:f32, on:bool;aligned}").bind({100})     100 structs of 12 bytes
//     RecordFormat::parse("record{d:f16[a,b/32] = digits:(2,9)|(1,9), q:u4 = ...}").bind({2, 32})
//     RecordFormat::parse("ggml:q4_0").bind({4096, 11008})                         a packed format by its name
//
// Grammar (docs/packed-weights.md has it with examples):
//
//     record  = "record{" field { "," field } { ";" option } "}"  |  the name of a packed format (packed/packed.h)
//     field   = name ":" type [ "[" extent { "," extent } "]" ] [ "@" byte ] [ "=" layout ]
//     option  = "aligned" | "bytes=" number
//     extent  = number | letter [ "/" number ]
//
// Fields without "=" are the *members* of a struct, and the record is an array of such structs, in row-major order of
// the dims that bind() is given. Members follow each other, or stand at the byte of their struct that "@" says; the
// brackets have the extents of a member that is an array itself, in row-major order, which are the last dims of the
// field. With ";aligned" each member is at a multiple of its type's size and so is the struct's size, as C has it;
// "bytes=" is the size of one struct.
//
// Fields with "=" have a layout expression each (format.h), and all fields or none are written so. The brackets have
// the field's dims, in which a letter stands for a dim of bind() and "/n" for a division that rounds up; without
// brackets they are bind()'s own dims or, where it is given none, those that the layout fixes. "bytes=" is the size of
// the whole buffer.
//
// Law: parse(expression_of(record)).bind({}) == record.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "relayout/core/format.h"
#include "relayout/core/record/record.h"

namespace relayout {

/// A member of a struct: `dims` are its own, and `bit` is where it begins in the struct.
struct StructMember {
  std::string name;
  DType dtype = DType::u8;
  Dims dims{};
  int64_t bit = 0;
};

class RecordFormat {
 public:
  /// Reads the text. Error{parse}: the message shows the text with a caret under the position, as of layout
  /// expressions.
  static RecordFormat parse(std::string_view text);
  /// Whether a text begins with "record{".
  static bool looks_like(std::string_view text) { return text.starts_with("record{"); }

  /// The text as it was given.
  const std::string& text() const { return text_; }
  /// Whether the fields are members of a struct.
  bool is_struct() const { return !fields_.empty() && !fields_[0].layout; }
  /// The members of the struct, and the bytes of one, gaps included. Errors: invalid_argument where fields have layouts
  /// or a member is at no multiple of its type's size; overflow.
  std::vector<StructMember> members() const;
  int64_t struct_bytes() const;

  /// The record for these dims. Errors: those of Record::of() and Format::bind(), with the field's name before them;
  /// invalid_argument (a member that would not be at a multiple of its type's size, which names it and the member or
  /// the size that puts it there; a letter for a dim that is not given); overflow.
  Record bind(const Dims& dims) const;

 private:
  friend struct RecordParser;

  struct Extent {
    int dim = -1;  // of bind(), divided by `by`; -1: a number
    int64_t number = 0, by = 1;
  };
  struct FieldText {
    std::string name;
    DType dtype = DType::u8;
    std::optional<std::vector<Extent>> dims{};
    std::optional<int64_t> byte{};
    std::optional<Format> layout{};
  };
  struct Struct {
    std::vector<StructMember> members;
    int64_t bits = 0;
  };
  Struct as_struct() const;
  Record bind_struct(const Dims& dims) const;
  Record bind_layouts(const Dims& dims) const;

  std::string text_;
  const PackedFormat* packed_ = nullptr;  // one of the tables
  std::vector<FieldText> fields_;
  bool aligned_ = false;
  std::optional<int64_t> bytes_;
};

/// The record with every layout in digits: "record{d:f16[2,1] = digits:(2,9)|(1,9), q:u4[2,32] = ...;bytes=36}". The
/// size is left out where it is that of the fields.
std::string expression_of(const Record& record);

}  // namespace relayout
