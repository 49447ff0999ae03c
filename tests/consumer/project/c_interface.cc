// A program that knows the C interface alone, and links its shared library.
#include <relayout/relayout_c.h>

#include <cstdio>

int main() {
  const int64_t dims[] = {2, 17, 5, 4}, index[] = {0, 16, 2, 3};
  relayout_desc* desc = nullptr;
  int64_t offset = 0;
  if (relayout_desc_parse("nChw8c", 4, dims, RELAYOUT_F32, &desc) != RELAYOUT_OK ||
      relayout_desc_offset(desc, index, 4, &offset) != RELAYOUT_OK) {
    std::fprintf(stderr, "%s\n", relayout_error_message());
    return 1;
  }
  relayout_desc_free(desc);
  return offset == 408 ? 0 : 1;
}
