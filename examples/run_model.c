/* Runs a model in C: an .onnx file, or one of the project's own networks.
 *
 *     example_run_model_c net.onnx batch=3 seq=5
 *
 * Dims that the file leaves open are given by their names. Every input holds small whole numbers. Prints the inputs and
 * outputs with their dims, and the sum of each output. The speeds of the machine, which take up to a second to measure,
 * are kept in the file that RELAYOUT_COST_FILE names. */
#include <relayout/relayout_models_c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kMost = 16 }; /* dims, inputs and outputs of this example */

static void check(relayout_status status) {
  if (status == RELAYOUT_OK) return;
  fprintf(stderr, "%s: %s\n", relayout_status_name(status), relayout_error_message());
  exit(1);
}

static void *allocated(size_t bytes) {
  void *memory = malloc(bytes == 0 ? 1 : bytes);
  if (memory == NULL) exit(1);
  return memory;
}

/* The text "batch=3" as a dim. */
static relayout_model_dim dim_of(char *text) {
  char *equals = strchr(text, '=');
  if (equals == NULL) {
    fprintf(stderr, "%s: it must be NAME=N\n", text);
    exit(1);
  }
  *equals = '\0';
  const relayout_model_dim dim = {text, strtoll(equals + 1, NULL, 10)};
  return dim;
}

/* Prints a tensor's name and dims, and describes it as elements of f64, which the model converts from and to. */
static relayout_desc *plain(const char *what, const char *name, relayout_desc *own, size_t *elements) {
  int64_t dims[RELAYOUT_MAX_DIMS], count;
  int32_t ndims, d;
  relayout_dtype dtype;
  relayout_desc *desc;
  check(relayout_desc_dims(own, dims, RELAYOUT_MAX_DIMS, &ndims));
  check(relayout_desc_dtype(own, &dtype));
  printf("%s %s: %s", what, name, relayout_dtype_name(dtype));
  for (d = 0; d < ndims; ++d) printf("%s%d", d == 0 ? " " : "x", (int)dims[d]);
  check(relayout_desc_strided(ndims, dims, NULL, 0, RELAYOUT_F64, &desc));
  check(relayout_desc_elements(desc, &count));
  *elements = (size_t)count;
  relayout_desc_free(own);
  return desc;
}

int main(int argc, char **argv) {
  relayout_model_options options = RELAYOUT_MODEL_OPTIONS_INIT;
  relayout_model_dim dims[kMost];
  relayout_model_source sources[kMost];
  relayout_model_destination destinations[kMost];
  relayout_desc *descs[2 * kMost], *own;
  double *values[2 * kMost];
  size_t elements[2 * kMost], inputs, outputs, i, k;
  char name[256];
  relayout_model *model;

  if (argc < 2 || argc - 2 > kMost) {
    fprintf(stderr, "example_run_model_c MODEL [NAME=N...]\n");
    return 2;
  }
  for (i = 2; i < (size_t)argc; ++i) dims[i - 2] = dim_of(argv[i]);
  options.dims = dims;
  options.dim_count = (size_t)argc - 2;
  options.cost_file = getenv("RELAYOUT_COST_FILE");
  const relayout_status loaded = relayout_model_load(argv[1], &options, &model);
  if (loaded == RELAYOUT_UNSUPPORTED && strstr(relayout_error_message(), "this build lacks") != NULL) {
    printf("%s: nothing to run\n", relayout_error_message());
    return 0;
  }
  check(loaded);

  check(relayout_model_input_count(model, &inputs));
  check(relayout_model_output_count(model, &outputs));
  if (inputs > kMost || outputs > kMost) return 2;
  for (i = 0; i < inputs; ++i) {
    check(relayout_model_input_name(model, i, name, sizeof name, NULL));
    check(relayout_model_input_desc(model, i, &own));
    descs[i] = plain("input", name, own, &elements[i]);
    printf("\n");
    values[i] = allocated(elements[i] * sizeof(double));
    for (k = 0; k < elements[i]; ++k) values[i][k] = (double)(k % 7) + 1;
    /* Without names, the sources stand in the model's order. */
    const relayout_model_source source = {NULL, descs[i], values[i], elements[i] * sizeof(double)};
    sources[i] = source;
  }
  for (i = 0; i < outputs; ++i) {
    const size_t at = inputs + i;
    check(relayout_model_output_desc(model, i, &own));
    check(relayout_model_output_name(model, i, name, sizeof name, NULL));
    descs[at] = plain("output", name, own, &elements[at]);
    printf("\n");
    values[at] = allocated(elements[at] * sizeof(double));
    const relayout_model_destination destination = {NULL, descs[at], values[at], elements[at] * sizeof(double)};
    destinations[i] = destination;
  }

  check(relayout_model_run(model, sources, inputs, destinations, outputs, NULL));
  for (i = 0; i < outputs; ++i) {
    double sum = 0;
    for (k = 0; k < elements[inputs + i]; ++k) sum += values[inputs + i][k];
    printf("sum of output %d: %.6g\n", (int)i, sum);
  }

  for (i = 0; i < inputs + outputs; ++i) {
    relayout_desc_free(descs[i]);
    free(values[i]);
  }
  relayout_model_free(model);
  return 0;
}
