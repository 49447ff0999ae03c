/* Models in C: an .onnx file is planned in the layouts that cost the least on this machine, and run.
 *
 *     const relayout_model_dim batch = {"batch", 3};
 *     relayout_model_options options = RELAYOUT_MODEL_OPTIONS_INIT;
 *     options.dims = &batch;
 *     options.dim_count = 1;
 *     relayout_model* model;
 *     relayout_desc *x, *y;
 *     if (relayout_model_load("net.onnx", &options, &model) != RELAYOUT_OK ||
 *         relayout_model_input_desc(model, 0, &x) != RELAYOUT_OK ||
 *         relayout_model_output_desc(model, 0, &y) != RELAYOUT_OK)
 *       fprintf(stderr, "%s\n", relayout_error_message());
 *     const relayout_model_source in = {NULL, x, pixels, pixels_bytes};
 *     const relayout_model_destination out = {NULL, y, scores, scores_bytes};
 *     if (relayout_model_run(model, &in, 1, &out, 1, NULL) != RELAYOUT_OK) ...
 *
 * The rules of relayout_c.h hold here, too; threads that run one model at the same time wait for each other. The
 * functions are in a shared library of their own, librelayout_models, so that programs without models need neither
 * oneDNN nor ONNX: `pkg-config relayout-models`, or relayout::c_models of CMake. It and librelayout have to be of one
 * version. In a build without oneDNN relayout_model_load() is RELAYOUT_UNSUPPORTED and says so; without ONNX only files
 * are.
 */
#ifndef RELAYOUT_RELAYOUT_MODELS_C_H
#define RELAYOUT_RELAYOUT_MODELS_C_H

#include "relayout/relayout_c.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- What a model is given --------------------------------------------------------------------------------------- */

/* The extent of a dim that the file leaves open: by its name ("batch"), or by its place as in "x[2]". Dims of one name
 * are equal. */
typedef struct relayout_model_dim {
  const char* name;
  int64_t extent;
} relayout_model_dim;

/* An input or output in the caller's memory: in any layout and type, with `data` where offset 0 of the layout lies, and
 * at least its span in bytes behind it. In a list either all have names and stand in any order, or none has one (null)
 * and they stand in the model's order. */
typedef struct relayout_model_source {
  const char* name;
  const relayout_desc* desc;
  const void* data;
  size_t bytes;
} relayout_model_source;
typedef struct relayout_model_destination {
  const char* name;
  const relayout_desc* desc;
  void* data;
  size_t bytes;
} relayout_model_destination;

/* ---- Loading and planning ---------------------------------------------------------------------------------------- */

/* Where the times come from by which a plan is chosen (docs/models.md). */
typedef int32_t relayout_cost;
enum {
  RELAYOUT_COST_ANALYTIC = 0, /* computed from the speeds of this machine */
  RELAYOUT_COST_MEASURED = 1  /* every primitive and reorder is run in every layout: seconds to minutes */
};

/* The speeds of a machine, from which analytic costs are computed. */
typedef struct relayout_speeds {
  double flops_per_us;
  double near_bytes_per_us, cache_bytes_per_us, memory_bytes_per_us; /* copies in the second cache, the last, memory */
  double call_us, step_us; /* what calling a primitive takes, and what a step of a model takes beside it */
  double narrow_share;     /* of flops_per_us, in narrower vectors than the widest, up to 1; 0 stands for 1 */
} relayout_speeds;

/* Begin with RELAYOUT_MODEL_OPTIONS_INIT. */
typedef struct relayout_model_options {
  size_t struct_size;
  /* Extents of dims that the file leaves open. */
  const relayout_model_dim* dims;
  size_t dim_count;
  /* What the model will be run with: the dims of these descriptors say what `dims` leaves open, and are refused where
   * they contradict the file. With names, some inputs may be left out. Data is not read, and may be null. */
  const relayout_model_source* sources;
  size_t source_count;
  int64_t batch;   /* the first dim of all inputs, in place of the file's; 0 keeps that */
  int32_t threads; /* that run the model; 0 stands for all cores */
  relayout_cost cost;
  /* Speeds that are known, as relayout_model_speeds() gave them. Null: they are measured, in less than a second on a
   * quiet machine, unless `cost_file` has them. Not with measured costs. */
  const relayout_speeds* speeds;
  /* A file that keeps measured speeds and times, and has those of earlier calls; null keeps nothing. */
  const char* cost_file;
  double input_scale; /* the values of all inputs are multiplied by it */
  /* Where it is not null, it is called with `context` between two measurements and during the search, on the calling
   * thread. It answers 0 to go on; any other answer ends the call with RELAYOUT_INTERRUPTED. */
  int (*stop)(void* context);
  void* context;
} relayout_model_options;
#define RELAYOUT_MODEL_OPTIONS_INIT \
  { sizeof(relayout_model_options), NULL, 0, NULL, 0, 0, 0, RELAYOUT_COST_ANALYTIC, NULL, NULL, 1.0, NULL, NULL }

typedef struct relayout_model relayout_model;

/* Reads a model, plans it and makes what runs it. `path` is an .onnx file, or one of the project's own networks with
 * random weights, "model:NAME[,image=N][,channels=N]", as the command takes them. Inputs and outputs count as row-major
 * in the plan. The search for the cheapest plan ends after 30 seconds with the best that was found. Options may be
 * null. Errors: io; corrupt; unsupported (an operator; a build without ONNX or oneDNN); invalid_argument (a dim that
 * nothing says, where the error's value is what `dims` calls it; names that the model does not have; dims that
 * contradict each other); interrupted; limit. */
RELAYOUT_API relayout_status relayout_model_load(const char* path, const relayout_model_options* options,
                                                 relayout_model** model);
/* No thread may run it then. */
RELAYOUT_API void relayout_model_free(relayout_model* model);

/* ---- What a model says ------------------------------------------------------------------------------------------- */

RELAYOUT_API relayout_status relayout_model_input_count(const relayout_model* model, size_t* inputs);
RELAYOUT_API relayout_status relayout_model_output_count(const relayout_model* model, size_t* outputs);
RELAYOUT_API relayout_status relayout_model_input_name(const relayout_model* model, size_t input, char* name,
                                                       size_t capacity, size_t* length);
RELAYOUT_API relayout_status relayout_model_output_name(const relayout_model* model, size_t output, char* name,
                                                        size_t capacity, size_t* length);
/* Its dims and type, row-major: the caller's own may have any other layout and type. */
RELAYOUT_API relayout_status relayout_model_input_desc(const relayout_model* model, size_t input, relayout_desc** desc);
RELAYOUT_API relayout_status relayout_model_output_desc(const relayout_model* model, size_t output,
                                                        relayout_desc** desc);

/* The plan in words: each primitive with its layouts, each reorder with its reason, and what is predicted. */
RELAYOUT_API relayout_status relayout_model_explain(const relayout_model* model, char* text, size_t capacity,
                                                    size_t* length);
/* What a user should know, one line each; empty where there is nothing: what the file left open, operators that are not
 * known, a machine whose speeds could not be measured well. */
RELAYOUT_API relayout_status relayout_model_warnings(const relayout_model* model, char* text, size_t capacity,
                                                     size_t* length);
/* The speeds by which it was planned, for relayout_model_options.speeds. RELAYOUT_UNSUPPORTED for measured costs. */
RELAYOUT_API relayout_status relayout_model_speeds(const relayout_model* model, relayout_speeds* speeds);

/* ---- Running ----------------------------------------------------------------------------------------------------- */

/* Begin with RELAYOUT_MODEL_RUN_OPTIONS_INIT. */
typedef struct relayout_model_run_options {
  size_t struct_size;
  /* Where it is not null, it is called with `context` before each primitive and reorder, on the calling thread: with
   * how many are done, and how many there are at most; done == total in the last call. It answers 0 to go on. Any other
   * answer ends the call with RELAYOUT_INTERRUPTED; the destinations then hold anything. It must not run the model, nor
   * free it. */
  int (*progress)(void* context, int64_t done, int64_t total);
  void* context;
} relayout_model_run_options;
#define RELAYOUT_MODEL_RUN_OPTIONS_INIT \
  { sizeof(relayout_model_run_options), NULL, NULL }

/* Runs the model: a source for each input, a destination for each output. Those that are row-major in the model's type
 * are read and written where they are, others are converted. Destinations share no memory with each other and with
 * sources. Options may be null. Errors: invalid_argument (a name or number of inputs or outputs that is not the
 * model's; other dims), buffer_too_small, overlap, not_injective, with which nothing is written; interrupted. */
RELAYOUT_API relayout_status relayout_model_run(const relayout_model* model, const relayout_model_source* sources,
                                                size_t source_count, const relayout_model_destination* destinations,
                                                size_t destination_count, const relayout_model_run_options* options);

#ifdef __cplusplus
}
#endif

#endif
