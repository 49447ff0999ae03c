// Fills a table of kernels, family by family; included by scalar.cc and, once for each target, by simd.cc.

/// Each of these functions enters the kernels of one family; it stands at the end of the family's file.
void add_copies(Kernels& k);
void add_transpositions(Kernels& k);
void add_pipelines(Kernels& k);
void add_byte_conversions(Kernels& k);
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
  add_byte_conversions(k);  // needs the conversions before it
  add_arithmetic(k);
  leave_out_by_environment(k);
  return k;
}
