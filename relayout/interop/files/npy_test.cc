// Tests of .npy: the grammar of headers on files made by hand; reading what NumPy writes, and the reverse.
#include "relayout/interop/files/npy.h"

#include <gtest/gtest.h>

#include <cstring>
#include <sstream>

#include "relayout/interop/files/formats.h"
#include "relayout/interop/files/tensor_file.h"
#include "tests/support/tensor_files.h"

namespace relayout {
namespace {

/// A file with that text as header and that data. It lacks NumPy's padding: headers of any length can be read.
std::string npy(const std::string& dict, const std::string& data = "", int version = 1) {
  std::string out(kNpyMagic);
  out += static_cast<char>(version);
  out += '\0';
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i) out += static_cast<char>(dict.size() >> (8 * i) & 0xff);
  return out + dict + data;
}
std::string dict(const std::string& descr, const std::string& shape, const std::string& order = "False") {
  return "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + "}\n";
}
StoredTensor parse(const std::string& file) { return parse_npy(bytes_of(file), {}).tensor; }

TEST(Npy, Header) {
  const StoredTensor t = parse(npy(dict("<f4", "(2, 3)", "True"), std::string(24, 'x')));
  EXPECT_EQ(t.dtype, DType::f32);
  EXPECT_EQ(t.item_bits, 32);
  EXPECT_EQ(t.shape, (Dims{2, 3}));
  EXPECT_TRUE(t.fortran_order);
  EXPECT_FALSE(t.byte_swapped);
  EXPECT_EQ(t.byte_size, 24);
}

TEST(Npy, GrammarVariants) {
  const std::string data(12, 'x');
  for (const char* text : {
           "{'shape':(3,),'fortran_order':False,'descr':'<i4'}",
           "{ \"descr\" : \"<i4\" , \"fortran_order\":False,\n'shape': ( 3 , ) , } \n\n",
           "{'descr': '<i4', 'fortran_order': False, 'shape': (3L,), }",
           "{'descr': '=i4', 'fortran_order': False, 'shape': (3,)}",
           "{'descr': 'i4', 'fortran_order': False, 'shape': (1, 3)}",
           "{'descr': '|i4', 'fortran_order': False, 'shape': (1, 3,)}",
       }) {
    for (int version : {1, 2, 3}) {
      if (version == 3 && std::strchr(text, 'L')) continue;
      EXPECT_EQ(parse(npy(text, data, version)).dtype, DType::s32) << text;
    }
  }
  EXPECT_ERROR(ErrorCode::corrupt, parse(npy("{'descr': '<i4', 'fortran_order': False, 'shape': (3L,), }", data, 3)));
}

TEST(Npy, ElementTypes) {
  for (const auto& [descr, dtype, bits] :
       std::vector<std::tuple<std::string, std::optional<DType>, int>>{{"<f8", DType::f64, 64},
                                                                       {"<f2", DType::f16, 16},
                                                                       {"|b1", DType::boolean, 8},
                                                                       {"|u1", DType::u8, 8},
                                                                       {"<u8", DType::u64, 64},
                                                                       {"|V1", std::nullopt, 8},
                                                                       {"|V2", std::nullopt, 16},
                                                                       {"|V4", std::nullopt, 32},
                                                                       {"|V8", std::nullopt, 64}}) {
    const StoredTensor t = parse(npy(dict(descr, "(2,)"), std::string(static_cast<std::size_t>(bits) / 4, 'x')));
    EXPECT_EQ(t.dtype, dtype) << descr;
    EXPECT_EQ(t.item_bits, bits) << descr;
  }
  EXPECT_TRUE(parse(npy(dict(">f4", "()"), "abcd")).byte_swapped);
  EXPECT_FALSE(parse(npy(dict(">i1", "()"), "a")).byte_swapped);
  EXPECT_FALSE(parse(npy(dict(">V1", "()"), "a")).byte_swapped);
  for (const char* descr : {"|O", "O8", "|V", "V0", "S0", "<U0"}) {
    EXPECT_ERROR(ErrorCode::unsupported, parse(npy(dict(descr, "(2,)"), "")));
  }
  for (const char* descr : {"", "<", "4f", "\\x", "<<f4", "#", "<f4 ", "U4611686018427387904"}) {
    EXPECT_ERROR(ErrorCode::corrupt, parse(npy(dict(descr, "(2,)"), "")));
  }
}

/// Types that are not converted: their elements are bytes of a known number, and their name is kept.
TEST(Npy, TypesWithoutAConversion) {
  const auto expect_raw = [](const std::string& descr, int bytes) {
    const std::string text = "{'descr': " + descr + ", 'fortran_order': False, 'shape': (2,)}";
    const StoredTensor t = parse(npy(text, std::string(static_cast<std::size_t>(2 * bytes), 'x')));
    EXPECT_EQ(t.dtype, std::nullopt) << descr;
    EXPECT_EQ(t.item_bits, 8 * bytes) << descr;
    EXPECT_EQ(t.byte_size, 2 * bytes) << descr;
    EXPECT_FALSE(t.byte_swapped && descr.find('V') == std::string::npos) << descr;
    EXPECT_EQ(t.type_name, descr.front() == '\'' ? descr.substr(1, descr.size() - 2) : descr);
  };
  expect_raw("'<U3'", 12);
  expect_raw("'|S7'", 7);
  expect_raw("'<M8[ns]'", 8);
  expect_raw("'<m8[25s]'", 8);
  expect_raw("'<c8'", 8);
  expect_raw("'>c16'", 16);
  expect_raw("'<f16'", 16);
  expect_raw("'|V3'", 3);
  expect_raw("'|V2'", 2);
  expect_raw("'>V8'", 8);
  expect_raw("'<W4'", 4);              // ml_dtypes.complex32
  expect_raw("'float8_e4m3fnuz'", 1);  // a name shows no width, but the file's size does
  expect_raw("'complex128'", 16);
  expect_raw("[('a', '<f4')]", 4);
  expect_raw("[('a', '<f4'), ('', '|V4'), ('it\\'s', '>i2', (2, 3)), (('title', 'n'), '|u1', 2)]", 22);
  expect_raw("[('a', [('b', '<f4'), ('c', 'bfloat16')]), ('d', ('<f2', (3,)))]", 12);
  expect_raw("('<f4', (2,))", 8);
  for (const char* descr : {"[('a', '|O')]", "[('a', [('b', 'O')])]", "[]", "[('a', '|V0')]"}) {
    const std::string text = std::string("{'descr': ") + descr + ", 'fortran_order': False, 'shape': (1,)}";
    EXPECT_ERROR(ErrorCode::unsupported, parse(npy(text, "abcd")));
  }
  for (const char* descr : {"[('a', 'strange')]", "[('a')]", "[('a', '<f4', -1)]", "['<f4']", "[('a', '<f4'",
                            "('<f4',)", "[('a', '<f4', (4611686018427387904, 4))]", "[('a\n', '<f4')]"}) {
    const std::string text = std::string("{'descr': ") + descr + ", 'fortran_order': False, 'shape': (1,)}";
    EXPECT_ERROR(ErrorCode::corrupt, parse(npy(text, "abcd")));
  }
  const std::string deep = "{'descr': " + std::string(10'000, '(') + ", 'fortran_order': False, 'shape': (1,)}";
  EXPECT_ERROR(ErrorCode::limit, parse(npy(deep, "abcd")));
}

/// What NumPy writes for arrays of the package ml_dtypes, and names in place of codes, as other programs write them.
TEST(Npy, TypesOfMlDtypes) {
  const auto read = [](const std::string& descr, std::size_t bytes) {
    return parse(npy(dict(descr, "(3, 4)"), std::string(12 * bytes, 'x')));
  };
  for (const char* descr : {"<V2", ">V2", "=V2", "bfloat16"}) {
    const StoredTensor t = read(descr, 2);
    EXPECT_EQ(t.dtype, DType::bf16) << descr;
    EXPECT_EQ(t.item_bits, 16) << descr;
    EXPECT_EQ(t.shape, (Dims{3, 4})) << descr;
    EXPECT_EQ(t.dtype_assumed, descr[1] == 'V') << descr;
    EXPECT_EQ(t.byte_swapped, descr[0] == '>') << descr;
  }
  EXPECT_EQ(read("<f1", 1).dtype, DType::f8_e5m2);
  EXPECT_EQ(read("float8_e5m2", 1).dtype, DType::f8_e5m2);
  EXPECT_EQ(read("float8_e4m3fn", 1).dtype, DType::f8_e4m3);
  EXPECT_EQ(read("float32", 4).dtype, DType::f32);
  EXPECT_EQ(read("bool", 1).dtype, DType::boolean);
  EXPECT_EQ(read("?", 1).dtype, DType::boolean);
  EXPECT_EQ(read("<V1", 1).dtype, std::nullopt);  // any of several types
}

TEST(Npy, CodeIsNeverRun) {
  for (const char* text : {
           "{'descr': __import__('os').system('false'), 'fortran_order': False, 'shape': (1,)}",
           "{'descr': '<f4', 'fortran_order': exit(), 'shape': (1,)}",
           "{'descr': '<f4', 'fortran_order': Falsehood, 'shape': (1,)}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (len(x),)}",
           "dict(descr='<f4', fortran_order=False, shape=())",
       }) {
    EXPECT_ERROR(ErrorCode::unsupported, parse(npy(text, "abcd")));
  }
}

TEST(Npy, BadHeaders) {
  const std::string data(4, 'x');
  for (const char* text : {
           "",
           "{",
           "{}",
           "{'descr'",
           "{'descr': '<f4'",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)",
           "{'descr': '<f4', 'fortran_order': False}",
           "{'descr': '<f4', 'shape': (1,)}",
           "{'fortran_order': False, 'shape': (1,)}",
           "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (1,)}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'more': '1'}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} + {}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)}}",
           "{'descr': '<f4' 'fortran_order': False, 'shape': (1,)}",
           "{,'descr': '<f4', 'fortran_order': False, 'shape': (1,)}",
           "{'descr': '<f4', 'fortran_order': 0, 'shape': (1,)}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (1)}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': 1}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': [1]}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (1,,)}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (,)}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (1.0,)}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (0x1,)}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4)}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904,)}",
           "{'descr': '<f\n4', 'fortran_order': False, 'shape': (1,)}",
       }) {
    EXPECT_ERROR(ErrorCode::corrupt, parse(npy(text, data)));
  }
  EXPECT_ERROR(ErrorCode::corrupt,
               parse(npy(std::string("{'descr': '\0', 'fortran_order': False, 'shape': (1,)}", 51), data)));
  const Error deep = error_of([&] { parse(npy(dict("<f4", "(1,1,1,1,1,1,1,1,1,1,1,1,1)"), data)); });
  EXPECT_EQ(deep.code(), ErrorCode::limit);
  EXPECT_EQ(deep.message(), "npy: the array has 13 dims; at most 12 are read");
  EXPECT_EQ(deep.value() + " " + deep.limit(), "13 12");
  EXPECT_EQ(parse(npy(dict("<f4", "(1,1,1,1,1,1,1,1,1,1,1,1)"), data)).shape.size(), 12);
  EXPECT_EQ(parse(npy(dict("<f4", "(1,1,1,1,1,1,1,1,1,1,1,1)"), data)).shape.size(), 12);
}

TEST(Npy, Sizes) {
  EXPECT_ERROR(ErrorCode::corrupt, parse(npy(dict("<f4", "(2,)"), std::string(7, 'x'))));
  EXPECT_ERROR(ErrorCode::corrupt, parse(npy(dict("<f4", "(2,)"), std::string(9, 'x'))));
  EXPECT_EQ(parse(npy(dict("<f4", "()"), "abcd")).byte_size, 4);
  EXPECT_EQ(parse(npy(dict("<f4", "(0,)"))).byte_size, 0);
  EXPECT_EQ(parse(npy(dict("<f4", "(4611686018427387904, 0, 4611686018427387904)"))).byte_size, 0);

  // Each prefix of a good file gives an Error, and never a crash.
  const std::string good = npy(dict("<f4", "(2, 3)"), std::string(24, 'x'), 2);
  for (std::size_t length = 0; length < good.size(); ++length) {
    EXPECT_ERROR(ErrorCode::corrupt, parse(good.substr(0, length)));
  }
}

TEST(Npy, HeaderLength) {
  const std::string magic(kNpyMagic);
  EXPECT_ERROR(ErrorCode::corrupt, parse(magic + std::string("\2\0\xf0\xff\xff\xff", 6)));
  EXPECT_ERROR(ErrorCode::corrupt, parse(magic + std::string("\1\0\xff\xff", 4)));
  EXPECT_ERROR(ErrorCode::unsupported, parse(magic + std::string("\4\0\0\0\0\0", 6)));
  EXPECT_ERROR(ErrorCode::unsupported, parse(magic + std::string("\1\1\0\0\0\0", 6)));
  const std::string large = npy(dict("<f4", "()") + std::string(100'000, ' '), "abcd", 2);
  EXPECT_ERROR(ErrorCode::limit, parse(large));
  EXPECT_EQ(parse_npy(bytes_of(large), {.npy_header_bytes = 1'000'000}).tensor.byte_size, 4);
}

TEST(Npy, ErrorsAreEscapedAndNameTheFile) {
  const TestFolder folder;
  write_file(folder / "bad.npy", npy("{'\x1b[31m</script>': 1}"));
  const Error error = error_of([&] { TensorFile::open(folder / "bad.npy"); });
  EXPECT_EQ(error.code(), ErrorCode::corrupt);
  EXPECT_NE(error.message().find("bad.npy"), std::string::npos) << error.message();
  EXPECT_EQ(error.message().find('\x1b'), std::string::npos) << error.message();
}

/// The types of which NumPy's descr says the width alone are in a comment, which NumPy passes over.
TEST(Npy, WritesTypesThatNumpyLacks) {
  const auto descr_of = [](DType dtype, Dims shape) {
    const std::string head = npy_head({.dtype = dtype, .shape = shape});
    EXPECT_EQ(head.size() % 64, 0U);
    const auto bytes = static_cast<std::size_t>(*bytes_for(dtype, *checked_product(shape)));
    const StoredTensor t = parse(head + std::string(bytes, 'x'));
    EXPECT_EQ(t.dtype, dtype);
    EXPECT_EQ(t.item_bits, bits(dtype));
    EXPECT_EQ(t.shape, shape);
    EXPECT_EQ(t.byte_size, static_cast<int64_t>(bytes));
    const std::size_t begin = head.find("'shape': (") + 10;
    return std::pair{head.substr(21, 3), parse_dims(head.substr(begin, head.find_first_of(",)", begin) - begin))[0]};
  };
  EXPECT_EQ(descr_of(DType::bf16, {2, 3}), std::pair(std::string("<V2"), int64_t{2}));
  EXPECT_EQ(descr_of(DType::f8_e5m2, {2, 3}), std::pair(std::string("|V1"), int64_t{2}));
  EXPECT_EQ(descr_of(DType::f8_e4m3, {2, 3}), std::pair(std::string("|V1"), int64_t{2}));
  EXPECT_EQ(descr_of(DType::s4, {3, 3}), std::pair(std::string("|V1"), int64_t{5}));
  EXPECT_EQ(descr_of(DType::u4, {0}), std::pair(std::string("|V1"), int64_t{0}));
  const auto commented = [](const std::string& comment, std::size_t bytes = 6) {
    return parse(npy(dict("|V1", "(2, 3)").substr(0, 62) + " # " + comment, std::string(bytes, 'x')));
  };
  EXPECT_EQ(commented("f8_e4m3 (2, 3)").dtype, DType::f8_e4m3);
  EXPECT_EQ(commented("s4 (3, 4)").shape, (Dims{3, 4}));
  EXPECT_EQ(commented("of somebody else").dtype, std::nullopt);
  EXPECT_EQ(commented("s8 or so").dtype, std::nullopt);
  EXPECT_EQ(commented("f32 (2, 3)").dtype, std::nullopt);
  for (const char* lie : {"f8_e4m3 (2, 4)", "s4 (3, 5)", "s4 (3", "u8 (6,)", "s4 (9223372036854775807, 4)"}) {
    EXPECT_ERROR(ErrorCode::corrupt, commented(lie));
  }
  const TensorSpec negative{.shape = {-1}}, huge{.shape = {int64_t{1} << 40, int64_t{1} << 40}};
  EXPECT_ERROR(ErrorCode::invalid_argument, TensorWriter::create("never.npy", negative));
  EXPECT_ERROR(ErrorCode::overflow, TensorWriter::create("never.npy", huge));
}

/// All element types, orders, byte orders, versions and some shapes, written by NumPy. Each file has
/// its bytes beside it and a line in the manifest.
constexpr const char* kReadScript = R"(
import itertools, numpy as np, warnings
warnings.simplefilter('ignore')
rng = np.random.default_rng(1)
manifest, count = open('manifest', 'w'), 0
types = 'f8 f4 f2 i8 i4 i2 i1 u8 u4 u2 u1 b1'.split()
shapes = [(), (0,), (1,), (7,), (2, 3), (3, 0, 2), (2, 3, 5, 4), (1,) * 12]
for code, order, version, shape, fortran in itertools.product(types, '<>', [(1, 0), (2, 0), (3, 0)], shapes, (0, 1)):
    bytes_ = rng.integers(0, 2 if code == 'b1' else 256, size=int(np.prod(shape)) * int(code[1]), dtype='u1').tobytes()
    array = np.frombuffer(bytes_, dtype=order + code).reshape(shape, order='F' if fortran else 'C')
    name = '%d.npy' % count
    with open(name, 'wb') as out:
        np.lib.format.write_array(out, array, version=version)
    is_fortran = array.flags.f_contiguous and not array.flags.c_contiguous
    open('%d.bytes' % count, 'wb').write(array.tobytes('F' if is_fortran else 'C'))
    swapped = order == '>' and code[1] != '1'
    print(name, code, int(is_fortran), int(swapped), ','.join(map(str, shape)) or '-', file=manifest)
    count += 1
for name, array in {'utf8': np.zeros(2, [('\u00fc\u65e5', 'f4')]), 'object': np.array([None]), 'text': np.array(['a']),
                    'bytes': np.array([b'a']), 'complex': np.zeros(2, 'c8'), 'time': np.zeros(2, 'M8[s]')}.items():
    np.save('foreign-' + name + '.npy', array, allow_pickle=True)
)";

DType dtype_of(const std::string& code) {
  if (code == "b1") return DType::boolean;
  const std::string kind = code[0] == 'i' ? "s" : code.substr(0, 1);
  return parse_dtype(kind + std::to_string(std::stoi(code.substr(1)) * 8));
}

/// Types that are not converted are written as they were read.
TEST(Npy, WritesTypesWithoutAConversion) {
  const std::pair<const char*, int> types[] = {
      {"<c8", 64}, {">c16", 128}, {"|S3", 24}, {"<U2", 64}, {"[('a', '<i2'), ('b', '<f8', (2,))]", 144}, {"|V3", 24}};
  for (const auto& [type, bits] : types) {
    const TensorSpec spec{.shape = {2, 3}, .type_name = type, .item_bits = bits};
    const StoredTensor read = parse(npy_head(spec) + std::string(static_cast<std::size_t>(6 * bits / 8), 'x'));
    EXPECT_EQ(read.type_name, type);
    EXPECT_EQ(read.item_bits, bits);
    EXPECT_EQ(read.shape, (Dims{2, 3}));
    EXPECT_EQ(spec_bytes(spec), 6 * bits / 8);
  }
  for (const auto& [type, bits] : {std::pair{"F8_E8M0", 8}, {"F4", 4}, {"<c8", 32}, {"x'", 8}, {"[('a', '<i2')", 16}}) {
    EXPECT_ERROR(ErrorCode::unsupported, npy_head({.shape = {2}, .type_name = type, .item_bits = bits}));
  }
  EXPECT_NE(npy_head({.shape = {2}, .type_name = "C64", .item_bits = 64}).find("'<c8'"), std::string::npos);
}

TEST(Npy, ReadsWhatNumpyWrites) {
  SKIP_WITHOUT_NUMPY();
  const TestFolder folder;
  run_python(folder, kReadScript);
  std::ifstream manifest(folder / "manifest");
  std::string file, code, shape;
  bool fortran, swapped;
  int count = 0;
  for (; manifest >> file >> code >> fortran >> swapped >> shape; ++count) {
    const TensorFile open = TensorFile::open(folder / file);
    ASSERT_EQ(open.tensors().size(), 1U);
    EXPECT_EQ(open.format(), FileFormat::npy);
    const StoredTensor& t = open.tensors()[0];
    EXPECT_EQ(t.dtype, dtype_of(code)) << file;
    EXPECT_EQ(t.fortran_order, fortran) << file;
    EXPECT_EQ(t.byte_swapped, swapped) << file;
    EXPECT_EQ(t.shape, shape == "-" ? Dims{} : parse_dims(shape)) << file;
    EXPECT_EQ(text_of(open.bytes(0)), read_file((folder / file).replace_extension(".bytes"))) << file;
    EXPECT_TRUE(open.mapped(0));
  }
  std::cout << count << " files of NumPy read" << std::endl;
  EXPECT_EQ(count, 12 * 2 * 3 * 8 * 2);
  EXPECT_ERROR(ErrorCode::unsupported, TensorFile::open(folder / "foreign-object.npy"));
  for (const char* each : {"utf8", "text", "bytes", "complex", "time"}) {
    const TensorFile open = TensorFile::open(folder / ("foreign-" + std::string(each) + ".npy"));
    const StoredTensor& t = open.tensors()[0];
    EXPECT_EQ(t.dtype, std::nullopt) << each;
    EXPECT_EQ(t.byte_size, *checked_product(t.shape) * t.item_bits / 8) << each;
  }
}

TEST(Npy, WritesWhatNumpyWrites) {
  SKIP_WITHOUT_NUMPY();
  const TestFolder folder;
  const std::vector<std::string> codes{"f8", "f4", "f2", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1", "b1"};
  const std::vector<Dims> shapes{{},
                                 {0},
                                 {1},
                                 {7},
                                 {2, 3},
                                 {3, 0, 2},
                                 {2, 17, 5, 4},
                                 Dims(12, 1),
                                 Dims(12, 2),
                                 {0, 9223372036854775},
                                 {1, 2, 3, 4, 5, 6},
                                 {10, 1, 10, 1},
                                 {0, 123456789, 123456789, 12},
                                 {0, 123456789, 123456789, 12, 5}};
  std::string script =
      "import numpy as np\ndef w(f, d, s, n): np.save(f, np.frombuffer(bytes(i * 7 % 251 % (2 if d == 'b1' else 256) "
      "for i in range(n)), '<' + d).reshape(s))\n";
  int count = 0;
  for (const std::string& code : codes) {
    for (const Dims& shape : shapes) {
      const std::string stem = std::to_string(count++);
      TensorWriter out = TensorWriter::create(folder / (stem + "-ours.npy"), {.dtype = dtype_of(code), .shape = shape});
      const auto bytes = out.bytes();
      for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = std::byte(i * 7 % 251 % (code == "b1" ? 2 : 256));
      const std::size_t size = bytes.size();
      out.commit();
      script += "w('" + stem + "-numpy.npy', '" + code + "', (" + join(shape, ", ") + (shape.size() == 1 ? ",)" : ")") +
                ", " + std::to_string(size) + ")\n";
    }
  }
  run_python(folder, script);
  for (int i = 0; i < count; ++i) {
    const std::string stem = std::to_string(i);
    ASSERT_EQ(read_file(folder / (stem + "-ours.npy")), read_file(folder / (stem + "-numpy.npy"))) << stem;
  }
  std::cout << count << " files equal NumPy's byte for byte" << std::endl;
}

}  // namespace
}  // namespace relayout
