// A table of kernels, joined from the parts of the families; included by scalar.cc and, once a target, by simd.cc.

/// Each is the end of a family's file.
void add_copies(Kernels& k);
void add_transpositions(Kernels& k);
void add_pipelines(Kernels& k);
#ifndef RELAYOUT_FAMILIES_OF_AVX3
void add_tiles(Kernels& k);
void add_conversions(Kernels& k);
void add_arithmetic(Kernels& k);
#endif

inline Kernels make_kernels(std::string_view isa) {
  Kernels k{};
  k.isa = isa;
  add_copies(k);
  add_tiles(k);
  add_transpositions(k);
  add_pipelines(k);
  add_conversions(k);
  add_arithmetic(k);
  return k;
}
