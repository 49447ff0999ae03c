// ScaLAPACK: the descriptor of a matrix that goes in blocks round over a grid of processes, and the grid.
//
//     scalapack:m=100,n=30,mb=8,nb=4,p=2,q=3                  also rsrc=, csrc=, lld=, and order=c for a grid whose
//                                                             processes are numbered by columns (BLACS' "Col-major")
//     scalapack:desc(1,0,100,30,8,4,0,0,56),p=2,q=3           the nine numbers of DESC; LLD is a rank's own
//
// Local matrices are by columns, LLD elements apart; without lld= these follow each other.
//
// Source: ScaLAPACK Users' Guide, "Array descriptors" and "The two-dimensional block-cyclic distribution"; BLACS'
// BLACS_GRIDINIT.
#include <array>

#include "relayout/interop/placements/parts.h"

namespace relayout::placements {
namespace {

/// The numbers that a text has, by their names; 0 where one is not given.
struct Numbers {
  int64_t m = -1, n = -1, mb = 0, nb = 0, p = 0, q = 0, rsrc = 0, csrc = 0, lld = 0;
  bool by_columns = false;
};

void read_descriptor(Reader& text, Numbers& out) {
  const std::vector<int64_t> desc = text.numbers("number of a descriptor", 0);
  if (desc.size() != 9 || desc[0] != 1)
    text.fail("a descriptor of a dense matrix has nine numbers, the first of them 1");
  out.m = desc[2], out.n = desc[3], out.mb = desc[4], out.nb = desc[5];
  out.rsrc = desc[6], out.csrc = desc[7], out.lld = desc[8];
}

Numbers read_numbers(Reader& text) {
  Numbers out;
  struct Field {
    std::string_view name;
    int64_t* number;
    int64_t least;
  };
  const std::array<Field, 9> fields{{{"m", &out.m, 0},
                                     {"n", &out.n, 0},
                                     {"mb", &out.mb, 1},
                                     {"nb", &out.nb, 1},
                                     {"p", &out.p, 1},
                                     {"q", &out.q, 1},
                                     {"rsrc", &out.rsrc, 0},
                                     {"csrc", &out.csrc, 0},
                                     {"lld", &out.lld, 1}}};
  do {
    const std::size_t at = text.at();
    std::string name = text.name("m=, n=, mb=, nb=, p=, q=, rsrc=, csrc=, lld=, order= or desc(...)");
    for (char& ch : name) ch = ch >= 'A' && ch <= 'Z' ? static_cast<char>(ch - 'A' + 'a') : ch;
    if (name == "desc") {
      text.take('=');
      read_descriptor(text, out);
      continue;
    }
    text.expect('=');
    if (name == "order") {
      const std::string order = text.name("r or c");
      if (order != "r" && order != "c" && order != "R" && order != "C") text.fail("the order of a grid is r or c");
      out.by_columns = order == "c" || order == "C";
      continue;
    }
    bool found = false;
    for (const Field& field : fields) {
      if (field.name != name) continue;
      *field.number = text.number(name, field.least);
      found = true;
    }
    if (!found) text.fail(at, "there are m, n, mb, nb, p, q, rsrc, csrc, lld, order and desc");
  } while (text.take(','));
  if (!text.done()) text.fail("expected ',' and a further number");
  if (out.m < 0 || out.n < 0 || out.mb < 1 || out.nb < 1) text.fail("m, n, mb and nb are needed, or desc(...)");
  if (out.p < 1 || out.q < 1) text.fail("the grid is needed, p=rows,q=columns of processes");
  return out;
}

}  // namespace

PlacementText read_scalapack(Reader& text) {
  const Numbers numbers = read_numbers(text);
  PlacementText out;
  out.mesh = {{"p", numbers.p}, {"q", numbers.q}};
  number_by_rows(out);
  if (numbers.by_columns) {
    out.mesh[0].step = 1;
    out.mesh[1].step = numbers.p;
  }
  out.dims = {{{0}, numbers.mb, numbers.rsrc}, {{1}, numbers.nb, numbers.csrc}};
  out.all_dims = true;
  out.by_columns = true;
  out.extents = Dims{numbers.m, numbers.n};
  if (numbers.lld > 0) out.leading = numbers.lld;
  return out;
}

std::string write_scalapack(const Placement& placement) {
  if (placement.dims().size() != 2)
    refuse("ScaLAPACK has matrices: the tensor has " + std::to_string(placement.dims().size()) + " dims");
  if (placement.copy_count() > 1)
    refuse("ScaLAPACK's matrices have no copies: each element is at " + std::to_string(placement.copy_count()) +
           " places");
  for (int d = 0; d < 2; ++d) {
    if (placement.of_dims()[static_cast<std::size_t>(d)].places.size() > 1)
      refuse("ScaLAPACK's grid is one mixed radix of processes: dim " + std::to_string(d) +
             " goes over several axes that do not follow each other");
  }
  const DimPlaces &rows = placement.of_dims()[0], &columns = placement.of_dims()[1];
  const int64_t p = rows.count(), q = columns.count();
  const bool by_columns = p > 1 && q > 1 && rows.places[0].stride == 1;
  std::string out = "scalapack:m=" + std::to_string(placement.dims()[0]) + ",n=" + std::to_string(placement.dims()[1]) +
                    ",mb=" + std::to_string(rows.block) + ",nb=" + std::to_string(columns.block) +
                    ",p=" + std::to_string(p) + ",q=" + std::to_string(q);
  if (rows.first != 0) out += ",rsrc=" + std::to_string(rows.first);
  if (columns.first != 0) out += ",csrc=" + std::to_string(columns.first);
  return out + (by_columns ? ",order=c" : "");
}

}  // namespace relayout::placements
