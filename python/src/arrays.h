// Arrays of Python as memory: where their elements lie, whichever library an array belongs to.
//
//     Array array(x);                      // a NumPy array, a PyTorch tensor or a relayout.Buffer
//     array.data, array.shape, array.strides, array.item_bytes
//
// Any other object is made a NumPy array or a Buffer by relayout/_arrays.py first. Nothing here reads an element.
#pragma once

#include <nanobind/nanobind.h>

#include <optional>
#include <string>

#include "relayout/core/layout.h"

namespace relayout::dlpack {
struct DLTensor;
}

namespace relayout::python {

/// Looks up what this file needs of NumPy; once a module, when it is loaded. Looking it up at the first call could stop
/// two threads that make their first calls at once, as an import lets other threads run in its middle.
void find_numpy();

/// A Py_buffer that is given back.
struct View : Py_buffer {
  View() : Py_buffer{} {}
  ~View() { PyBuffer_Release(this); }  // nothing where nothing was taken
  View(const View&) = delete;
  View& operator=(const View&) = delete;
};

/// What one call needs to know of an array, and what keeps its memory where it is meanwhile.
class Array {
 public:
  enum class Kind : uint8_t { numpy, torch, buffer };

  /// Errors: unsupported (elements that are objects of Python; a device that is not the CPU; a tensor that is sparse),
  /// invalid_argument (a tensor that needs a gradient, or whose conjugation or negation was not carried out yet), limit
  /// (over 12 dims). Throws TypeError where it is no array.
  explicit Array(nanobind::handle object) : Array(object, Known::nothing) {}
  /// The same for an array that relayout has just made, which needs no checks.
  static Array of_new(nanobind::handle object) { return Array(object, Known::all); }
  /// A tensor that empty_like() has just made.
  struct RowMajor {};
  Array(nanobind::handle object, const Array& like, RowMajor);
  /// The same beside another array of the same call, which has shown that PyTorch traces nothing.
  Array(nanobind::handle object, const Array& other)
      : Array(object, other.kind_ == Kind::torch ? Known::state : Known::nothing) {}
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;

  Kind kind() const { return kind_; }
  /// Whether the object is of the library's own class, and of none that is derived from it.
  bool exact() const { return exact_; }
  nanobind::handle object() const { return object_; }

  std::byte* data = nullptr;  // element (0, 0, ...)
  int64_t item_bytes = 1;     // of one element; 0 where two share a byte
  Dims shape, strides;        // strides in bytes; those of dims of extent 1 may be any
  bool read_only = false;
  /// Of a Buffer, whose layout may have blocks and whose elements four bits: then strides do not say where all elements
  /// lie.
  const TensorDesc* desc = nullptr;

  int64_t elements() const;
  int64_t bytes() const { return item_bytes == 0 && desc ? desc->logical_bytes() : elements() * item_bytes; }
  /// Whether the elements lie row-major without gaps.
  bool row_major() const;
  /// Likewise with the first dim innermost.
  bool column_major() const;
  /// The array as a tensor of this type, whose size is that of an element, and where offset 0 of its layout lies.
  /// Error{unsupported} where a stride is no multiple of an element, or two elements share a byte.
  std::pair<TensorDesc, std::byte*> tensor(DType dtype) const;
  /// The first byte of the elements and the one behind the last, from `data` on.
  std::pair<int64_t, int64_t> byte_range() const;

 private:
  /// What needs no check any more: that PyTorch traces nothing, or all that is said of the object.
  enum class Known : uint8_t { nothing, state, all };
  Array(nanobind::handle object, Known known);
  void read_numpy();
  void read_torch(Known known);
  bool read_torch_quickly(Known known);
  void read_torch_attributes();
  std::byte* torch_data() const;
  void read_dltensor(const dlpack::DLTensor& tensor);

  nanobind::handle object_;
  Kind kind_ = Kind::numpy;
  bool exact_ = true;
  View view_;
};

/// Whether an object is an array of which Array can be made.
bool is_array(nanobind::handle object);
bool is_numpy(nanobind::handle object);
bool is_torch(nanobind::handle object);
/// Whether it is of the class numpy.ndarray or torch.Tensor, and of none that is derived from it.
bool is_numpy_itself(nanobind::handle object);
bool is_torch_itself(nanobind::handle object);
bool is_buffer(nanobind::handle object);

/// Refuses a tensor of PyTorch that is traced (tracing.h), whose memory does not hold its values, or which stands in a
/// graph of gradients.
void check_values_are_stored(nanobind::handle tensor);

/// A new array of the same library, type of elements and shape as `like`, row-major or, for NumPy, with the first dim
/// innermost.
nanobind::object empty_like(const Array& like, bool first_innermost);

/// Tells PyTorch that the values of a tensor have changed, so that a gradient which needs the old ones is an error. For
/// the caller's tensors that are written to; PyTorch before 2.1 cannot be told.
void note_written(const Array& array);

/// Asks the system for huge pages under memory that was just allocated and holds nothing yet, from 4 MiB on. First
/// writing to memory takes several times as long as the copy itself where the system must give it in pages of 4 KiB.
/// NumPy asks for its own arrays.
void prefer_huge_pages(void* data, int64_t bytes);

/// An integer of Python. Error{overflow} where it has over 64 bits.
int64_t int64_of(nanobind::handle object);
/// Dims from a sequence of integers. TypeError where it is none.
Dims dims_of(nanobind::handle sequence, const char* what);
/// The type of elements that a text (parse_dtype), or a type of NumPy, ml_dtypes or PyTorch, means.
DType dtype_of(nanobind::handle said);
/// The same of an array's dtype, which is remembered; nothing for types that relayout does not convert.
std::optional<DType> known_dtype(nanobind::handle dtype);
/// The path of a str, bytes or os.PathLike, whose bytes need not be UTF-8.
std::string path_of(nanobind::handle path);
using Integers = nanobind::typed<nanobind::tuple, int64_t, nanobind::ellipsis>;  // tuple[int, ...] in the stubs
Integers tuple_of(std::span<const int64_t> numbers);

/// Work of fewer bytes keeps the GIL: it takes less time than giving the GIL away and getting it back.
inline constexpr int64_t kBytesWithGil = 32 << 10;

/// Lets other threads of Python run while it lives, if `bytes` are worth it.
class ReleasedGil {
 public:
  explicit ReleasedGil(int64_t bytes) : state_(bytes < kBytesWithGil ? nullptr : PyEval_SaveThread()) {}
  ~ReleasedGil() {
    if (state_ != nullptr) PyEval_RestoreThread(state_);
  }
  ReleasedGil(const ReleasedGil&) = delete;
  ReleasedGil& operator=(const ReleasedGil&) = delete;

 private:
  PyThreadState* state_;
};

}  // namespace relayout::python
