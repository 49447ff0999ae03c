/* relayout in C: layouts, reorders, files and DLPack, for C99 and for every language that calls C. Models are in
 * relayout_models_c.h.
 *
 *     int64_t dims[] = {2, 17, 5, 4};
 *     relayout_desc *src, *dst;
 *     relayout_desc_parse("nchw", 4, dims, RELAYOUT_F32, &src);
 *     relayout_desc_parse("nChw8c", 4, dims, RELAYOUT_F32, &dst);
 *     if (relayout_reorder(src, in, in_bytes, dst, out, out_bytes, NULL, NULL) != RELAYOUT_OK)
 *       fprintf(stderr, "%s\n", relayout_error_message());
 *
 * Rules:
 *  - A function that can fail returns a status and gives its result through the last pointers. On failure results are
 *    left alone, and the thread's last error says what was wrong. Nothing is thrown, printed or aborted.
 *  - A null pointer, a handle of another kind and a handle that was freed before are RELAYOUT_INVALID_ARGUMENT (the
 *    last one as long as nothing else has taken its memory). _free and _close functions ignore them.
 *  - Handles never change after they were made, so that any number of threads may use one at once. Freeing is the
 *    exception.
 *  - Extents, strides and offsets count elements; sizes of memory count bytes, as their names say.
 *  - Texts are UTF-8 and end in a null byte. One that is returned into a buffer takes *length + 1 bytes: with a null
 *    buffer of capacity 0 only the length is given. A buffer that is too small is RELAYOUT_BUFFER_TOO_SMALL, and the
 *    length is given all the same.
 *  - A struct of options begins with its size, as the caller knows it, so that later versions can add fields.
 *  - Statuses, types and other choices are 32-bit numbers. One that is none of those listed is an error as an argument.
 */
#ifndef RELAYOUT_RELAYOUT_C_H
#define RELAYOUT_RELAYOUT_C_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define RELAYOUT_API __attribute__((visibility("default")))
#else
#define RELAYOUT_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define RELAYOUT_VERSION_MAJOR 0
#define RELAYOUT_VERSION_MINOR 1
#define RELAYOUT_VERSION_PATCH 0

/* The most dims of a layout, and the most digits of all its dims together. */
#define RELAYOUT_MAX_DIMS 12
#define RELAYOUT_MAX_DIGITS 48

/* The version of the library that runs: major << 16 | minor << 8 | patch. */
RELAYOUT_API uint32_t relayout_version(void);

/* ---- Errors ------------------------------------------------------------------------------------------------------ */

typedef int32_t relayout_status;
enum {
  RELAYOUT_OK = 0,
  RELAYOUT_INVALID_ARGUMENT = 1, /* what was asked for has no meaning */
  RELAYOUT_PARSE = 2,            /* a text is malformed */
  RELAYOUT_OVERFLOW = 3,         /* a size does not fit 64 bits */
  RELAYOUT_NEEDS_COPY = 4,       /* a view does not exist; a reorder can do it */
  RELAYOUT_NOT_INJECTIVE = 5,    /* two indices of a destination share an element */
  RELAYOUT_BUFFER_TOO_SMALL = 6, /* the error's value and limit are the sizes given and needed */
  RELAYOUT_OVERLAP = 7,          /* source and destination share memory */
  RELAYOUT_CORRUPT = 8,          /* a file contradicts itself or its format */
  RELAYOUT_IO = 9,               /* the operating system refused */
  RELAYOUT_LIMIT = 10,           /* over a limit, which is named */
  RELAYOUT_UNSUPPORTED = 11,     /* well-formed, but this build or system cannot do it */
  RELAYOUT_INTERNAL = 12,        /* a bug of the library */
  RELAYOUT_INTERRUPTED = 13,     /* the caller's progress() asked to stop */
  RELAYOUT_OUT_OF_MEMORY = 14
};

/* "buffer_too_small"; "unknown" for a number that is no status. */
RELAYOUT_API const char* relayout_status_name(relayout_status status);

/* The last error of the calling thread: one sentence, and apart from it what was wrong ("dims[1]"), its value and what
 * was allowed. Each is empty where there is none, and cut where it is very long. They stay valid until the thread's
 * next call that fails. Calls that succeed do not clear them. */
RELAYOUT_API const char* relayout_error_message(void);
RELAYOUT_API const char* relayout_error_field(void);
RELAYOUT_API const char* relayout_error_value(void);
RELAYOUT_API const char* relayout_error_limit(void);
/* Makes this the thread's last error, for libraries on top of this one, as that of relayout_models_c.h. Null texts are
 * empty. */
RELAYOUT_API void relayout_error_set(const char* message, const char* field, const char* value, const char* limit);

/* ---- Element types ----------------------------------------------------------------------------------------------- */

typedef int32_t relayout_dtype;
enum {
  RELAYOUT_F64 = 0,
  RELAYOUT_F32 = 1,
  RELAYOUT_F16 = 2,
  RELAYOUT_BF16 = 3,
  RELAYOUT_F8_E5M2 = 4,
  RELAYOUT_F8_E4M3 = 5,
  RELAYOUT_S64 = 6,
  RELAYOUT_S32 = 7,
  RELAYOUT_S16 = 8,
  RELAYOUT_S8 = 9,
  RELAYOUT_U64 = 10,
  RELAYOUT_U32 = 11,
  RELAYOUT_U16 = 12,
  RELAYOUT_U8 = 13,
  RELAYOUT_BOOL = 14,
  RELAYOUT_S4 = 15, /* two elements a byte, the even one in the low half */
  RELAYOUT_U4 = 16,
  RELAYOUT_F8_E8M0 = 17, /* a power of two from 2^-127 to 2^127, or NaN */
  RELAYOUT_F6_E3M2 = 18, /* four elements in three bytes, the first in the lowest bits */
  RELAYOUT_F6_E2M3 = 19,
  RELAYOUT_F4_E2M1 = 20, /* as S4 */
  RELAYOUT_S2 = 21,      /* four elements a byte, the first in the lowest bits */
  RELAYOUT_U2 = 22,
  RELAYOUT_U1 = 23 /* eight elements a byte */
};

/* "f32"; "unknown" for a number that is no type. */
RELAYOUT_API const char* relayout_dtype_name(relayout_dtype dtype);
/* The type of a name: these ("f32"), and those of NumPy, PyTorch, JAX and C ("float32", "torch.half", "<f4"), by the
 * rules of parse_dtype() in relayout/core/dtype.h. RELAYOUT_PARSE suggests a name that is near. */
RELAYOUT_API relayout_status relayout_dtype_parse(const char* name, relayout_dtype* dtype);
RELAYOUT_API relayout_status relayout_dtype_bits(relayout_dtype dtype, int32_t* bits);

/* ---- Descriptors: a layout and an element type ------------------------------------------------------------------- */

typedef struct relayout_desc relayout_desc;

/* The layout that an expression gives to a tensor of these dims: a tag ("nChw16c"), strides ("strides:5,1@3"), another
 * system's text ("cute:(4,2):(1,4)"), with views at its end (".narrow(1,8,8)"). `ndims` is -1 and `dims` null where the
 * expression says the extents itself. Errors: parse (with a caret, and names that are near), invalid_argument,
 * overflow, limit (over 4096 characters), needs_copy (a view that does not exist). */
RELAYOUT_API relayout_status relayout_desc_parse(const char* expression, int32_t ndims, const int64_t* dims,
                                                 relayout_dtype dtype, relayout_desc** desc);
/* One stride a dim, or row-major where `strides` is null. Element (0, 0, ...) lies at `offset0`, and no element before
 * 0. Errors: invalid_argument, overflow. */
RELAYOUT_API relayout_status relayout_desc_strided(int32_t ndims, const int64_t* dims, const int64_t* strides,
                                                   int64_t offset0, relayout_dtype dtype, relayout_desc** desc);
/* The same memory, read through views as expressions have them: ".transpose(0,2).narrow(1,8,8)". Errors: parse,
 * invalid_argument, needs_copy. */
RELAYOUT_API relayout_status relayout_desc_view(const relayout_desc* desc, const char* views, relayout_desc** view);
/* The same layout with elements of another type. */
RELAYOUT_API relayout_status relayout_desc_with_dtype(const relayout_desc* desc, relayout_dtype dtype,
                                                      relayout_desc** out);
RELAYOUT_API void relayout_desc_free(relayout_desc* desc);

RELAYOUT_API relayout_status relayout_desc_dtype(const relayout_desc* desc, relayout_dtype* dtype);
RELAYOUT_API relayout_status relayout_desc_ndims(const relayout_desc* desc, int32_t* ndims);
/* One number a dim, into room for `capacity` of them; `ndims` may be null. Padded dims are the capacities of dims with
 * blocks. Strides are in elements, and 0 where a dim has one index, since nothing steps along it then:
 * RELAYOUT_UNSUPPORTED names a dim that has blocks, whose digits say more, or a swizzle. */
RELAYOUT_API relayout_status relayout_desc_dims(const relayout_desc* desc, int64_t* dims, int32_t capacity,
                                                int32_t* ndims);
RELAYOUT_API relayout_status relayout_desc_padded_dims(const relayout_desc* desc, int64_t* dims, int32_t capacity,
                                                       int32_t* ndims);
RELAYOUT_API relayout_status relayout_desc_strides(const relayout_desc* desc, int64_t* strides, int32_t capacity,
                                                   int32_t* ndims);

/* A dim's index in a mixed radix, innermost place first: an index i adds (i / extents before it % extent) * stride to
 * the offset. */
typedef struct relayout_digit {
  int64_t extent, stride;
} relayout_digit;
/* `*count` is given with a null list of capacity 0 too, and where the list is too small. RELAYOUT_UNSUPPORTED where the
 * layout has a swizzle, which no digits say. */
RELAYOUT_API relayout_status relayout_desc_digits(const relayout_desc* desc, int32_t dim, relayout_digit* digits,
                                                  int32_t capacity, int32_t* count);

RELAYOUT_API relayout_status relayout_desc_elements(const relayout_desc* desc, int64_t* elements);
/* The offset of element (0, 0, ...) in elements; with a swizzle, what is added before it. */
RELAYOUT_API relayout_status relayout_desc_offset0(const relayout_desc* desc, int64_t* offset0);
/* The exclusive or at the end of the offsets, CuTe's Swizzle<bits, base, shift>; three times 0 where there is none. */
RELAYOUT_API relayout_status relayout_desc_swizzle(const relayout_desc* desc, int32_t* bits, int32_t* base,
                                                   int32_t* shift);
/* Bytes that a buffer must have: up to the last element and its padding, whatever lies before the first one. */
RELAYOUT_API relayout_status relayout_desc_span_bytes(const relayout_desc* desc, int64_t* bytes);

/* The offset in elements of an index, which may lie in the padding; RELAYOUT_INVALID_ARGUMENT beyond it. */
RELAYOUT_API relayout_status relayout_desc_offset(const relayout_desc* desc, const int64_t* index, int32_t ndims,
                                                  int64_t* offset);
typedef int32_t relayout_slot;
enum {
  RELAYOUT_ELEMENT = 0,
  RELAYOUT_PADDING = 1, /* an index between a dim's extent and its capacity */
  RELAYOUT_GAP = 2      /* no index at all; `index` is left alone */
};
/* The index that lies at an offset. Where several do (broadcasts), it is any of them. */
RELAYOUT_API relayout_status relayout_desc_index(const relayout_desc* desc, int64_t offset, int64_t* index,
                                                 int32_t capacity, relayout_slot* slot);

typedef int32_t relayout_property;
enum {
  RELAYOUT_INJECTIVE = 0, /* no two elements share an offset */
  RELAYOUT_DENSE = 1,     /* elements fill one run of memory, without padding and gaps */
  RELAYOUT_PADDED = 2,    /* some dim's capacity exceeds its extent */
  RELAYOUT_BROADCAST = 3  /* some dim of several indices has a stride of 0 */
};
/* *holds is 1 or 0. RELAYOUT_LIMIT where a contrived layout would take too long. */
RELAYOUT_API relayout_status relayout_desc_has(const relayout_desc* desc, relayout_property property, int* holds);
/* Whether both are the same function from indices to offsets, with the same capacities and type. */
RELAYOUT_API relayout_status relayout_desc_equal(const relayout_desc* a, const relayout_desc* b, int* equal);
/* Whether two layouts over one buffer share an element; padding does not count. *shared is 1 or 0. Their elements have
 * the same number of bits, in which offsets are counted: else RELAYOUT_INVALID_ARGUMENT. RELAYOUT_LIMIT where contrived
 * layouts would take too long. */
RELAYOUT_API relayout_status relayout_desc_overlaps(const relayout_desc* a, const relayout_desc* b, int* shared);

/* The layout as text: "digits" (an expression that any layout has), "tag" (RELAYOUT_UNSUPPORTED where it has none), or
 * the words of another system ("pytorch", "numpy", "onednn", "c", ...), with RELAYOUT_UNSUPPORTED and the reason where
 * that system cannot say it. RELAYOUT_INVALID_ARGUMENT lists the systems, and suggests one that is near. */
RELAYOUT_API relayout_status relayout_desc_text(const relayout_desc* desc, const char* as, char* text, size_t capacity,
                                                size_t* length);

/* ---- Reorders ---------------------------------------------------------------------------------------------------- */

typedef int32_t relayout_padding;
enum {
  RELAYOUT_PADDING_VALUE = 0,   /* padding_value, a value of the destination's type; 0 unless set */
  RELAYOUT_PADDING_KEEP = 1,    /* padding keeps what it holds */
  RELAYOUT_PADDING_INTEGER = 2, /* padding_integer, for whole numbers that no double holds */
  RELAYOUT_PADDING_UNSIGNED = 3 /* the bits of padding_integer as a uint64_t */
};

/* An index table in front of a dim (docs/tables.md): index i of the reorder stands at index entries[i / block] * block
 * + i % block of the layout's dim; an entry of -1 stands nowhere. With a table of the source the reorder gathers, and
 * with one of the destination it scatters, and leaves all that the table does not name as it is. */
typedef struct relayout_index_table {
  int32_t dim;
  int64_t block; /* 1 or more */
  const int64_t* entries;
  size_t count;
} relayout_index_table;

/* dst = saturate_round((src_scale * (src - src_zero_point) - mean + beta * dst_old) / dst_scale + dst_zero_point),
 * computed in f32 or f64 by the types (docs/conversions.md). A mask has a bit for each dim of which every index has a
 * value of its own, and the values are row-major over these dims; mask 0 stands for one value. A null list is left out.
 * A standard deviation to divide by is a dst_scale.
 *
 * Groups of indices may share a value, as in quantised weights: `*_groups` has `ndims` numbers, one for each dim of the
 * tensors, which say how many indices in a row share one (1 for dims that are not in the mask); a dim then has
 * ceil(extent / group) values. Null is 1 for all dims. Begin with RELAYOUT_ATTRIBUTES_INIT. */
typedef struct relayout_attributes {
  size_t struct_size;
  const double* src_scale;
  size_t src_scale_count;
  const double* dst_scale;
  size_t dst_scale_count;
  const double* src_zero_point; /* within the range of an integer type; may have a fraction */
  size_t src_zero_point_count;
  const double* dst_zero_point;
  size_t dst_zero_point_count;
  uint32_t src_scale_mask, dst_scale_mask, src_zero_point_mask, dst_zero_point_mask;
  uint32_t mean_mask;
  relayout_padding padding;
  double beta;
  double padding_value;
  int64_t padding_integer;
  const double* mean;
  size_t mean_count;
  int32_t ndims; /* of each list of groups that is given */
  const int64_t* src_scale_groups;
  const int64_t* dst_scale_groups;
  const int64_t* src_zero_point_groups;
  const int64_t* dst_zero_point_groups;
  const int64_t* mean_groups;
  const relayout_index_table* src_index; /* at most one for each dim; the entries are copied */
  size_t src_index_count;
  const relayout_index_table* dst_index;
  size_t dst_index_count;
} relayout_attributes;
#define RELAYOUT_ATTRIBUTES_INIT                                                                                      \
  {                                                                                                                   \
    sizeof(relayout_attributes), NULL, 0, NULL, 0, NULL, 0, NULL, 0, 0, 0, 0, 0, 0, 0, 0.0, 0.0, 0, NULL, 0, 0, NULL, \
        NULL, NULL, NULL, NULL, NULL, 0, NULL, 0                                                                      \
  }

/* Begin with RELAYOUT_RUN_OPTIONS_INIT. */
typedef struct relayout_run_options {
  size_t struct_size;
  int32_t threads; /* the most threads to use; 0 or less stands for all cores */
  /* Where it is not null, it is called with `context` after each part of some 32 MiB, on the calling thread while no
   * other works: with the bytes of source and destination that were moved, and with all of them. The last call has
   * done == total. It answers 0 to go on. Any other answer ends the call with RELAYOUT_INTERRUPTED, at the last part
   * too: the destination then holds new elements in some places, and what it held before in others. */
  int (*progress)(void* context, int64_t done, int64_t total);
  void* context;
} relayout_run_options;
#define RELAYOUT_RUN_OPTIONS_INIT \
  { sizeof(relayout_run_options), 0, NULL, NULL }

typedef struct relayout_plan relayout_plan;

/* How to reorder between two layouts of the same dims, but for those that have index tables. Attributes may be null.
 * Errors: invalid_argument, not_injective, limit. Cost: some microseconds. */
RELAYOUT_API relayout_status relayout_plan_make(const relayout_desc* src, const relayout_desc* dst,
                                                const relayout_attributes* attributes, relayout_plan** plan);
/* The same for a plan that will run some hundred times: where it moves bits of at most 128 KiB, it may have machine
 * code of its own, if that is expected to be faster and can be had here (docs/kernels.md). Elsewhere it is as
 * relayout_plan_make. Cost: 0.1 ms in the median, 0.4 ms for one plan in ten. */
RELAYOUT_API relayout_status relayout_plan_make_compiled(const relayout_desc* src, const relayout_desc* dst,
                                                         const relayout_attributes* attributes, relayout_plan** plan);
RELAYOUT_API void relayout_plan_free(relayout_plan* plan);
/* The plan in words, several lines. */
RELAYOUT_API relayout_status relayout_plan_explain(const relayout_plan* plan, char* text, size_t capacity,
                                                   size_t* length);
/* Moves the data. Each pointer is where offset 0 of its layout lies, and has at least that layout's span in bytes
 * behind it. The buffers must not overlap. Options may be null. Errors: buffer_too_small, overlap, interrupted. */
RELAYOUT_API relayout_status relayout_plan_run(const relayout_plan* plan, const void* src, size_t src_bytes, void* dst,
                                               size_t dst_bytes, const relayout_run_options* options);
/* Both steps at once. Plans of recent calls are kept, so that calling this in a loop does not plan again. */
RELAYOUT_API relayout_status relayout_reorder(const relayout_desc* src_desc, const void* src, size_t src_bytes,
                                              const relayout_desc* dst_desc, void* dst, size_t dst_bytes,
                                              const relayout_attributes* attributes,
                                              const relayout_run_options* options);
/* Within one buffer, which has room for the larger of both layouts. RELAYOUT_UNSUPPORTED where there is no plan with a
 * small scratch memory, and where the options have a progress(): this reorder cannot be ended halfway, as its source
 * would be gone. */
RELAYOUT_API relayout_status relayout_reorder_in_place(const relayout_desc* src_desc, const relayout_desc* dst_desc,
                                                       void* buffer, size_t bytes,
                                                       const relayout_attributes* attributes,
                                                       const relayout_run_options* options);

/* ---- Gates of recurrent weights ---------------------------------------------------------------------------------- */

/* An order of gates is a letter a gate: "iofc" is ONNX's of an LSTM, "ifco" PyTorch's and Keras's in oneDNN's letters
 * (docs/layout-expressions.md has a table). Where a change of order is a layout, an expression says it, too:
 * "ldigo;gates:zrh->rzh". */

/* For each gate of `to`, where it stands in `from`: 1, 0, 2 for "zrh" and "rzh". `gates` may be null.
 * RELAYOUT_INVALID_ARGUMENT where a letter stands twice, or the two do not have the same letters. */
RELAYOUT_API relayout_status relayout_gate_places(const char* from, const char* to, int64_t* places, int32_t capacity,
                                                  int32_t* gates);
/* Reorders, with the gates of the source, which are in the order `from` along dim `gate_dim`, in the order `to` in the
 * destination. Both layouts have the same dims, and `gate_dim` counts from the end where it is negative. Types may
 * differ. Buffers and options as for relayout_plan_run. Errors: those of relayout_gate_places, of a plan and its run;
 * invalid_argument (other dims; orders with another number of gates than the dim has), needs_copy (blocks of gates).
 * Nothing is moved where there is an error, but for interrupted. Cost: a plan and a copy for each gate. */
RELAYOUT_API relayout_status relayout_permute_gates(const relayout_desc* src_desc, const void* src, size_t src_bytes,
                                                    const relayout_desc* dst_desc, void* dst, size_t dst_bytes,
                                                    int32_t gate_dim, const char* from, const char* to,
                                                    const relayout_run_options* options);

/* ---- Files ------------------------------------------------------------------------------------------------------- */

typedef struct relayout_file relayout_file;

/* .npy, .npz, .safetensors, .png, .jpeg, .bmp; any other file is one tensor of raw bytes. Errors: io, corrupt,
 * unsupported, limit. */
RELAYOUT_API relayout_status relayout_file_open(const char* path, relayout_file** file);
RELAYOUT_API void relayout_file_close(relayout_file* file);
RELAYOUT_API relayout_status relayout_file_count(const relayout_file* file, size_t* tensors);
/* Empty where the format has no names. A name may hold null bytes, of which none but the last is its end. */
RELAYOUT_API relayout_status relayout_file_name(const relayout_file* file, size_t tensor, char* name, size_t capacity,
                                                size_t* length);
/* The number of the tensor of that name; "" is the only tensor. RELAYOUT_INVALID_ARGUMENT suggests names that are near,
 * and lists the file's. */
RELAYOUT_API relayout_status relayout_file_find(const relayout_file* file, const char* name, size_t* tensor);
/* What the file says of the tensor. RELAYOUT_UNSUPPORTED for raw bytes, which say nothing, for elements of the other
 * byte order, and for types that the format has no name for (bf16 and smaller floats in .npy and .npz). */
RELAYOUT_API relayout_status relayout_file_desc(const relayout_file* file, size_t tensor, relayout_desc** desc);
/* The tensor's bytes, which live as long as the file is open. */
RELAYOUT_API relayout_status relayout_file_data(const relayout_file* file, size_t tensor, const void** data,
                                                size_t* bytes);
/* Writes one tensor to .npy, .npz, .safetensors, .bin or .raw; the file appears whole or not at all. Formats without
 * metadata keep the array as it lies in memory, outermost axis first. RELAYOUT_UNSUPPORTED for a layout that no tag
 * says (gaps, an offset, broadcasts, other orders of digits): reorder it first. */
RELAYOUT_API relayout_status relayout_file_write(const char* path, const relayout_desc* desc, const void* data,
                                                 size_t bytes, int overwrite);

/* ---- DLPack ------------------------------------------------------------------------------------------------------ */

/* DLPack's own structs, of version 1.x; dlpack/dlpack.h declares them. */
struct DLTensor;
struct DLManagedTensorVersioned;

/* The layout of a tensor in the CPU's memory, and where its offset 0 lies. The tensor stays its owner's. Errors:
 * unsupported (a type, another device), invalid_argument, limit (over 12 dims), overflow. */
RELAYOUT_API relayout_status relayout_desc_from_dlpack(const struct DLTensor* tensor, relayout_desc** desc,
                                                       void** data);
/* A tensor over `data`, where offset 0 of the layout lies, for a consumer, who calls its deleter once. The deleter
 * calls release(context), unless `release` is null. RELAYOUT_UNSUPPORTED where DLPack cannot say the layout; then
 * nothing is called. */
RELAYOUT_API relayout_status relayout_desc_to_dlpack(const relayout_desc* desc, void* data,
                                                     void (*release)(void* context), void* context,
                                                     struct DLManagedTensorVersioned** tensor);

#ifdef __cplusplus
}
#endif

#endif
