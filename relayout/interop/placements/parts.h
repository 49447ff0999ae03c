// What the files of this folder share: a text that is read without its spaces, meshes in it, and what a placement is to
// systems that know a mesh of ranks (not for users).
#pragma once

#include "relayout/core/notations/notation.h"
#include "relayout/interop/placements/placement_text.h"

namespace relayout::placements {

/// Texts of placements, read from left to right; whatever is taken, the spaces behind it are too.
class Reader {
 public:
  Reader(std::string_view text, std::size_t at);
  bool done() const { return text_.done(); }
  std::size_t at() const { return text_.at(); }
  char peek() const { return text_.peek(); }
  bool take(char ch);
  /// Takes a word, which no letter, digit or underscore may follow.
  bool take_word(std::string_view word);
  void expect(char ch);
  int64_t number(const std::string& what, int64_t least);
  /// A name: letters, digits, underscores, or anything between quotes.
  std::string name(const std::string& what);
  /// "(4, 2)" or "[4, 2]": numbers of at least `least`; a comma may stand behind the last.
  std::vector<int64_t> numbers(const std::string& what, int64_t least);
  /// Skips all up to the bracket that closes one already taken, or a comma outside further brackets.
  void skip_value();
  [[noreturn]] void fail(const std::string& why) const { text_.fail(why); }
  [[noreturn]] void fail(std::size_t at, const std::string& why) const { text_.fail(at, why); }

 private:
  void skip_spaces();
  NotationText text_;
};

/// Gives axes without a step those of a mesh whose last axis is the innermost, and says how many places there are.
void number_by_rows(PlacementText& out);

/// The mesh of a placement, outermost axis first: its digits and those of its copies, cut where an axis of `given`
/// begins; each dim's axes are the outermost first. An axis has the name of the given one that it is, or else none.
struct Mesh {
  std::vector<MeshAxis> axes;
  std::vector<std::vector<std::size_t>> of_dims;
};
Mesh mesh_of(const Placement& placement, std::span<const MeshAxis> given);

/// A name between quotes, and without them where it is a word.
std::string quoted(const std::string& name);
std::string as_word(const std::string& name);

/// Error{unsupported}: why a system cannot say a placement.
[[noreturn]] void refuse(const std::string& why);
/// Refuses a placement where some dim is not in one block a place from the first one on, as the system needs it.
void need_one_block(const Placement& placement, const std::string& system);

PlacementText read_jax(Reader& text);
PlacementText read_dtensor(Reader& text);
PlacementText read_scalapack(Reader& text);
PlacementText read_chunk_grid(Reader& text);
PlacementText read_places(Reader& text);

std::string write_jax(const Placement& placement, std::span<const MeshAxis> given);
std::string write_dtensor(const Placement& placement, std::span<const MeshAxis> given);
std::string write_scalapack(const Placement& placement);
/// The chunks behind "zarr:" or "hdf5:".
std::string write_chunk_grid(const Placement& placement);
std::string write_places(const Placement& placement);

}  // namespace relayout::placements
