// A reader of pickles that runs nothing: it knows the opcodes of protocols 2 to 5, builds plain values, and keeps every
// call as what it is, the name of a function or a class and its arguments. Who reads the values decides which calls he
// knows; all others are names.
//
//     PickleValues values = read_pickle(bytes, limits);
//     values[values.root()].kind            // dict
//
// Source: pickletools of Python's standard library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace relayout::checkpoint {

enum class PickleKind : uint8_t {
  none,
  boolean,     // number
  integer,     // number
  long_int,    // of more than 64 bits: text, its bytes
  real,        // real
  text,        // text
  bytes,       // text
  tuple,       // items
  list,        // items; sets too
  dict,        // items: key, value, key, value, ...
  global,      // module and text: a function or a class by its name
  call,        // items: what is called, its arguments (a tuple), and what was added to the result
  persistent,  // items: the id, which stands for something outside the pickle
};

struct PickleNode {
  PickleKind kind = PickleKind::none;
  int64_t number = 0;
  double real = 0;
  std::string_view module, text;  // parts of the pickle
  std::vector<uint32_t> items;    // other nodes, which may be this one
};

/// The values of a pickle. They refer to its bytes.
class PickleValues {
 public:
  const PickleNode& operator[](uint32_t node) const { return nodes_[node]; }
  uint32_t root() const { return root_; }
  /// "module.name" of a global, and of what a call calls; "" for all others.
  std::string name_of(uint32_t node) const;

 private:
  friend class PickleReader;
  std::vector<PickleNode> nodes_;
  uint32_t root_ = 0;
};

/// Reads one pickle. Errors: corrupt (it is cut off, takes more from the stack than there is, refers to what it did not
/// keep), unsupported (an opcode of protocols 0 and 1 that writers of 2 to 5 do not use, registered extensions, buffers
/// outside the pickle), limit (more values than `most`). Each names the byte. Cost: some steps and some 100 bytes of
/// memory for each byte of the pickle at most.
PickleValues read_pickle(std::span<const std::byte> bytes, std::size_t most);

}  // namespace relayout::checkpoint
