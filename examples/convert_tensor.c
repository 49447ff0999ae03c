/* From nchw to blocks of 8 channels and back, in C: with a plan that is made once, and without. */
#include <relayout/relayout_c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(relayout_status status) {
  if (status == RELAYOUT_OK) return;
  fprintf(stderr, "%s: %s\n", relayout_status_name(status), relayout_error_message());
  exit(1);
}

int main(void) {
  const int64_t dims[] = {2, 17, 5, 4}, index[] = {0, 16, 2, 3};
  relayout_desc *nchw, *blocked;
  check(relayout_desc_parse("nchw", 4, dims, RELAYOUT_F32, &nchw));
  check(relayout_desc_parse("nChw8c", 4, dims, RELAYOUT_F32, &blocked));

  int64_t bytes, blocked_bytes, offset;
  check(relayout_desc_span_bytes(nchw, &bytes));
  check(relayout_desc_span_bytes(blocked, &blocked_bytes));
  check(relayout_desc_offset(blocked, index, 4, &offset));
  printf("(0,16,2,3) lies at %d of nChw8c, which takes %d bytes for %d\n", (int)offset, (int)blocked_bytes, (int)bytes);

  float *in = malloc((size_t)bytes), *blocks = malloc((size_t)blocked_bytes), *back = malloc((size_t)bytes);
  if (in == NULL || blocks == NULL || back == NULL) return 1;
  for (int64_t i = 0; i < bytes / 4; ++i) in[i] = (float)i;

  relayout_plan *plan;
  check(relayout_plan_make(nchw, blocked, NULL, &plan));
  check(relayout_plan_run(plan, in, (size_t)bytes, blocks, (size_t)blocked_bytes, NULL));
  check(relayout_reorder(blocked, blocks, (size_t)blocked_bytes, nchw, back, (size_t)bytes, NULL, NULL));
  const int equal = memcmp(in, back, (size_t)bytes) == 0;
  printf("element (0,16,2,3) is %g, and back again all are %s\n", (double)blocks[offset], equal ? "equal" : "different");

  char text[256];
  check(relayout_desc_text(nchw, "pytorch", text, sizeof text, NULL));
  printf("%s\n", text);

  free(in);
  free(blocks);
  free(back);
  relayout_plan_free(plan);
  relayout_desc_free(blocked);
  relayout_desc_free(nchw);
  return equal ? 0 : 1;
}
