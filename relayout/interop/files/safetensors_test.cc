// Tests of .safetensors: headers that are wrong in every field, and layout headers written and read again.
#include "relayout/interop/files/safetensors.h"

#include <gtest/gtest.h>

#include <cstring>

#include "relayout/interop/files/tensor_file.h"
#include "tests/support/tensor_files.h"

namespace relayout {
namespace {

std::string with_length(uint64_t length, const std::string& rest) {
  std::string out(8, '\0');
  std::memcpy(out.data(), &length, 8);
  return out + rest;
}
std::string file(const std::string& json, std::size_t data_bytes) {
  return with_length(json.size(), json + std::string(data_bytes, 'd'));
}
/// The tensors of a file; throws the first problem of one.
std::vector<StoredTensor> checked(const SafeTensors& parsed) {
  for (const StoredTensor& tensor : parsed.tensors) {
    if (tensor.problem) throw Error(*tensor.problem);
  }
  return parsed.tensors;
}
std::vector<StoredTensor> in_file(const std::string& bytes, const FileLimits& limits = {}) {
  return checked(parse_safetensors(bytes_of(bytes), limits));
}
/// A tensor's entry; `offsets` as "0,8".
std::string entry(const std::string& name, const std::string& dtype, const std::string& shape,
                  const std::string& offsets) {
  return "\"" + name + "\":{\"dtype\":\"" + dtype + "\",\"shape\":[" + shape + "],\"data_offsets\":[" + offsets + "]}";
}

/// A file with a layout header; `inner` is its entry for tensor t.
std::string with_layout(const std::string& inner, const std::string& dtype, const std::string& shape, std::size_t bytes,
                        const std::string& version = "1") {
  std::string text = "{\"version\":" + version + ",\"tensors\":{\"t\":" + inner + "}}", escaped_text;
  for (char ch : text) escaped_text += ch == '"' ? "\\\"" : std::string(1, ch);
  return file("{\"__metadata__\":{\"relayout\":\"" + escaped_text + "\"}," +
                  entry("t", dtype, shape, "0," + std::to_string(bytes)) + "}",
              bytes);
}

TEST(Safetensors, Plain) {
  const std::string bytes = file("{\"__metadata__\":{\"format\":\"pt\"}," + entry("b", "F32", "2", "2,10") + "," +
                                     entry("a", "BF16", "", "0,2") + "," + entry("none", "I64", "0,3", "10,10") + "}  ",
                                 10);
  const SafeTensors parsed = parse_safetensors(bytes_of(bytes), {});
  ASSERT_EQ(parsed.tensors.size(), 3U);
  EXPECT_EQ(parsed.tensors[0].name, "b");
  EXPECT_EQ(parsed.tensors[0].dtype, DType::f32);
  EXPECT_EQ(parsed.tensors[0].shape, Dims{2});
  EXPECT_EQ(parsed.tensors[0].byte_size, 8);
  EXPECT_EQ(parsed.offsets[0], static_cast<int64_t>(bytes.size()) - 8);
  EXPECT_EQ(parsed.tensors[1].dtype, DType::bf16);
  EXPECT_EQ(parsed.tensors[1].shape, Dims{});
  EXPECT_EQ(parsed.tensors[2].byte_size, 0);
  EXPECT_FALSE(parsed.tensors[0].layout || parsed.tensors[0].dims);
  EXPECT_TRUE(in_file(file("{}", 0)).empty());
}

TEST(Safetensors, AllTypes) {
  for (const auto& [text, dtype] : std::vector<std::pair<std::string, DType>>{{"F64", DType::f64},
                                                                              {"F32", DType::f32},
                                                                              {"F16", DType::f16},
                                                                              {"BF16", DType::bf16},
                                                                              {"F8_E5M2", DType::f8_e5m2},
                                                                              {"F8_E4M3", DType::f8_e4m3},
                                                                              {"F8_E8M0", DType::f8_e8m0},
                                                                              {"F6_E3M2", DType::f6_e3m2},
                                                                              {"F6_E2M3", DType::f6_e2m3},
                                                                              {"F4", DType::f4_e2m1},
                                                                              {"I64", DType::s64},
                                                                              {"I32", DType::s32},
                                                                              {"I16", DType::s16},
                                                                              {"I8", DType::s8},
                                                                              {"U64", DType::u64},
                                                                              {"U32", DType::u32},
                                                                              {"U16", DType::u16},
                                                                              {"U8", DType::u8},
                                                                              {"BOOL", DType::boolean}}) {
    const int bytes = 4 * bits(dtype) / 8;
    const auto read =
        in_file(file("{" + entry("t", text, "4", "0," + std::to_string(bytes)) + "}", static_cast<std::size_t>(bytes)));
    EXPECT_EQ(read.at(0).dtype, dtype);
    const std::string head = safetensors_head({.name = "t", .dtype = dtype, .shape = {4}});
    EXPECT_EQ(head.size() % 8, 0U);
    EXPECT_NE(head.find("\"" + text + "\""), std::string::npos) << head;
    EXPECT_EQ(in_file(head + std::string(static_cast<std::size_t>(bytes), 'd')).at(0).dtype, dtype);
  }
  // Elements that do not fill their last byte are bytes to other readers.
  const std::string odd = safetensors_head({.name = "t", .dtype = DType::f4_e2m1, .shape = {3, 5}});
  EXPECT_NE(odd.find(R"("dtype":"U8","shape":[8])"), std::string::npos) << odd;
  EXPECT_EQ(in_file(odd + std::string(8, 'd')).at(0).dtype, DType::f4_e2m1);
}

/// Types that are not converted, and ones that nobody knew: their bytes, and their name.
TEST(Safetensors, TypesWithoutAConversion) {
  for (const auto& [type, shape, bytes, width] :
       std::vector<std::tuple<std::string, std::string, int, int>>{{"C64", "3", 24, 64},
                                                                   {"F8_E4M3FNUZ", "2,2", 4, 8},
                                                                   {"NEW", "3", 12, 32},
                                                                   {"NEW", "2,5", 11, 0},
                                                                   {"NEW", "0,5", 0, 0}}) {
    const std::string text =
        file("{" + entry("t", type, shape, "0," + std::to_string(bytes)) + "}", static_cast<std::size_t>(bytes));
    const StoredTensor t = in_file(text).at(0);
    EXPECT_EQ(t.dtype, std::nullopt);
    EXPECT_EQ(t.type_name, type);
    EXPECT_EQ(t.item_bits, width) << type;
    EXPECT_EQ(t.byte_size, bytes) << type;
    EXPECT_EQ(t.shape, parse_dims(shape)) << type;
  }
  EXPECT_ERROR(ErrorCode::corrupt, in_file(file("{" + entry("t", "C64", "3", "0,25") + "}", 25)));
  EXPECT_ERROR(ErrorCode::corrupt, in_file(file("{" + entry("t", "F4", "3", "0,3") + "}", 3)));
  EXPECT_ERROR(ErrorCode::corrupt, in_file(file("{" + entry("t", "", "3", "0,3") + "}", 3)));
}

/// Takes one type after the other out of the format. Whatever its width, its elements are then written as bytes and
/// read as what they are.
TEST(Safetensors, TypesThatTheFormatLacks) {
  for (const DType dtype : all_dtypes()) {
    std::vector<SafeTensorsType> others(kSafeTensorsTypes.begin(), kSafeTensorsTypes.end());
    std::erase_if(others, [&](const SafeTensorsType& type) { return type.dtype == dtype; });
    if (dtype == DType::u8) others.push_back({DType::u8, "U8"});  // the format that lacks types has bytes
    const bool lacks = dtype != DType::u8;
    const std::size_t bytes = static_cast<std::size_t>(*bytes_for(dtype, 15));
    const std::string head = safetensors_head({.name = "t", .dtype = dtype, .shape = {3, 5}}, others);
    EXPECT_EQ(head.find("\"dtype\":\"U8\",\"shape\":[" + std::to_string(bytes) + "]") != std::string::npos, lacks)
        << head;
    const auto read = [&](const std::string& text) {
      return checked(parse_safetensors(bytes_of(text), {}, {}, others)).at(0);
    };
    const StoredTensor tensor = read(head + std::string(bytes, 'd'));
    EXPECT_EQ(tensor.dtype, dtype);
    EXPECT_EQ(tensor.item_bits, bits(dtype)) << name(dtype);
    EXPECT_EQ(tensor.shape, (Dims{3, 5})) << name(dtype);
    // Without dims the bytes say how many elements there are. A part of an element is an error.
    const std::string inner = "{\"dtype\":\"" + std::string(name(dtype)) + "\"}";
    EXPECT_EQ(read(with_layout(inner, "U8", "24", 24)).shape, (Dims{24 * 8 / bits(dtype)})) << name(dtype);
    if (bits(dtype) > 8) {
      EXPECT_ERROR(ErrorCode::corrupt, read(with_layout(inner, "U8", "25", 25)));
    }
    // A format that has the type does not store it as bytes.
    others.push_back({dtype, "TYPE"});
    if (lacks) {
      EXPECT_ERROR(ErrorCode::corrupt, read(with_layout(inner, "U8", "24", 24)));
    }
  }
}

TEST(Safetensors, HeaderLength) {
  const std::string json = "{" + entry("t", "U8", "2", "0,2") + "}", rest = json + "dd";
  EXPECT_EQ(in_file(with_length(json.size(), rest)).size(), 1U);
  for (uint64_t length : {uint64_t{0}, uint64_t{1} << 63, uint64_t{rest.size() + 1}, UINT64_MAX, UINT64_MAX - 7}) {
    EXPECT_ERROR(ErrorCode::corrupt, in_file(with_length(length, rest)));
  }
  EXPECT_ERROR(ErrorCode::limit, in_file(with_length(json.size(), rest), {.safetensors_header_bytes = 10}));
  EXPECT_ERROR(ErrorCode::corrupt, in_file(""));
  EXPECT_ERROR(ErrorCode::corrupt, in_file("1234567"));
  const std::string good = with_length(json.size(), rest);
  for (std::size_t cut = 0; cut < good.size(); ++cut) EXPECT_ERROR(ErrorCode::corrupt, in_file(good.substr(0, cut)));
  EXPECT_ERROR(ErrorCode::corrupt, in_file(good + "d"));
}

TEST(Safetensors, EveryLieNamesItsTensor) {
  const std::string a = entry("first", "U8", "2", "0,2");
  for (const std::string& json : {
           "{" + a + "," + entry("the\\u001bone", "U8", "2", "3,5") + "}",   // a hole
           "{" + a + "," + entry("the\\u001bone", "U8", "4", "1,5") + "}",   // overlap
           "{" + a + "," + entry("the\\u001bone", "U8", "2", "0,2") + "}",   // twice the same bytes
           "{" + a + "," + entry("the\\u001bone", "U8", "2", "2,4") + "}",   // the last byte belongs to no tensor
           "{" + a + "," + entry("the\\u001bone", "U8", "3", "5,2") + "}",   // end before begin
           "{" + a + "," + entry("the\\u001bone", "U8", "4", "2,6") + "}",   // beyond the end
           "{" + a + "," + entry("the\\u001bone", "U8", "2", "2,5") + "}",   // wrong byte count
           "{" + a + "," + entry("the\\u001bone", "U16", "2", "2,5") + "}",  //
           "{" + a + "," + entry("the\\u001bone", "U8", "0", "2,5") + "}",   //
           "{" + a + "," + entry("the\\u001bone", "U8", "4294967296,4294967296", "2,5") + "}",
           "{" + a + "," + entry("the\\u001bone", "U8", "9223372036854775808", "2,5") + "}",
           "{" + a + "," + entry("the\\u001bone", "U8", "-3", "2,5") + "}",
           "{" + a + "," + entry("the\\u001bone", "U8", "3.0", "2,5") + "}",
           "{" + a + "," + entry("the\\u001bone", "U8", "\"3\"", "2,5") + "}",
           "{" + a + "," + entry("the\\u001bone", "U8", "[3]", "2,5") + "}",
           "{" + a + "," + entry("the\\u001bone", "U8", "3", "2") + "}",
           "{" + a + "," + entry("the\\u001bone", "U8", "3", "2,5,5") + "}",
           "{" + a + "," + entry("the\\u001bone", "U8", "3", "2,-5") + "}",
           "{" + a + ",\"the\\u001bone\":{\"shape\":[3],\"data_offsets\":[2,5]}}",
           "{" + a + ",\"the\\u001bone\":{\"dtype\":\"U8\",\"data_offsets\":[2,5]}}",
           "{" + a + ",\"the\\u001bone\":{\"dtype\":\"U8\",\"shape\":[3]}}",
           "{" + a + ",\"the\\u001bone\":{\"dtype\":\"U8\",\"shape\":3,\"data_offsets\":[2,5]}}",
           "{" + a + ",\"the\\u001bone\":{\"dtype\":8,\"shape\":[3],\"data_offsets\":[2,5]}}",
           "{" + a + ",\"the\\u001bone\":[]}",
           "{" + a + ",\"the\\u001bone\":null}",
           "{" + a + "," + entry("the\\u001bone", "U8", "3", "2,5") + "," + entry("the\\u001bone", "U8", "3", "2,5") +
               "}",
       }) {
    const Error error = error_of([&] { in_file(file(json, 5)); });
    EXPECT_NE(error.message().find("the\\x1bone"), std::string::npos) << json << error.message();
    EXPECT_EQ(error.code(), ErrorCode::corrupt) << json << error.message();
  }
  EXPECT_ERROR(ErrorCode::corrupt, in_file(file("{}", 1)));
  EXPECT_ERROR(ErrorCode::limit, in_file(file("{" + entry("t", "U8", "1,1,1,1,1,1,1,1,1,1,1,1,1", "0,1") + "}", 1)));
}

TEST(Safetensors, MoreDimsThanATensorHasHere) {
  const std::string deep = entry("deep", "U8", "1,1,1,1,1,1,1,1,1,1,1,1,1,1", "0,1");
  const SafeTensors parsed =
      parse_safetensors(bytes_of(file("{" + deep + "," + entry("flat", "U8", "2", "1,3") + "}", 3)), {});
  const Error problem = parsed.tensors.at(0).problem.value();
  EXPECT_EQ(problem.code(), ErrorCode::limit);
  EXPECT_EQ(problem.message(), "safetensors: tensor \"deep\" has 14 dims; at most 12 are read");
  EXPECT_EQ(problem.field() + " " + problem.value() + " " + problem.limit(), "shape 14 12");
  EXPECT_FALSE(parsed.tensors.at(1).problem);
}

/// What is wrong with one tensor hides no other, whether that one is asked for by name or not.
TEST(Safetensors, OneTensorHidesNoOther) {
  const std::string layouts = "{\\\"version\\\":1,\\\"tensors\\\":{\\\"bad\\\":{\\\"dims\\\":[1]}}}";
  const std::string bad_layout = "\"__metadata__\":{\"relayout\":\"" + layouts + "\"},";
  const std::string good = entry("a", "F32", "2", "8,16");
  for (const std::string& header :
       {bad_layout + entry("bad", "C64", "1", "0,8"), bad_layout + entry("bad", "F32", "2", "0,8"),
        entry("bad", "F32", "1,1,1,1,1,1,1,1,1,1,1,1,1", "0,8"), entry("bad", "F32", "3", "0,8"),
        entry("bad", "F32", "\"2\"", "0,8"), entry("bad", "F32", "2", "0,17"), entry("bad", "F32", "2", "8,0"),
        entry("bad", "F32", "2", "0"), std::string("\"bad\":7"), std::string("\"bad\":[[1]]"),
        std::string("\"bad\":{\"dtype\":[],\"shape\":{\"a\":1},\"data_offsets\":[0,8]}")}) {
    for (const char* wanted : {"", "a"}) {
      const std::string bytes = file("{" + header + "," + good + "}", 16);
      const SafeTensors parsed = parse_safetensors(bytes_of(bytes), {}, wanted);
      ASSERT_EQ(parsed.tensors.size(), 2U);
      if (*wanted == 0) {
        ASSERT_TRUE(parsed.tensors[0].problem) << header;
        EXPECT_NE(parsed.tensors[0].problem->message().find("\"bad\""), std::string::npos) << header;
      }
      EXPECT_FALSE(parsed.tensors[1].problem) << parsed.tensors[1].problem->message();
      EXPECT_EQ(parsed.tensors[1].shape, Dims{2});
      EXPECT_EQ(parsed.offsets[1], static_cast<int64_t>(bytes.size()) - 8);
    }
  }
  // A file that is cut short has the tensors that lie in what there is, but tensors that overlap are no file.
  EXPECT_ERROR(ErrorCode::corrupt,
               parse_safetensors(bytes_of(file("{" + entry("b", "F32", "2", "0,8") + "," +
                                                   entry("c", "F32", "2", "4,12") + "," + good + "}",
                                               16)),
                                 {}, "a"));
}

TEST(Safetensors, SeveralTensorsAndMetadata) {
  const TestFolder folder;
  const std::string one(3, '1'), two(16, '2'), four(5, '4');
  const std::vector<Metadata> metadata{{"format", "pt"}, {"\"\n", "\xc3\xbc"}};
  const NamedTensor tensors[] = {{{.name = "odd", .dtype = DType::u8, .shape = {3}}, bytes_of(one)},
                                 {{.name = "wide", .dtype = DType::f64, .shape = {2}}, bytes_of(two)},
                                 {{.name = "s4", .dtype = DType::s4, .shape = {3, 3}}, bytes_of(four)}};
  write_safetensors(folder / "x.safetensors", tensors, metadata);
  const TensorFile read = TensorFile::open(folder / "x.safetensors");
  EXPECT_EQ(std::vector(read.metadata().begin(), read.metadata().end()), metadata);
  ASSERT_EQ(read.tensors().size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(read.tensors()[i].name, tensors[i].spec.name);
    EXPECT_EQ(read.tensors()[i].dtype, tensors[i].spec.dtype);
    EXPECT_EQ(read.tensors()[i].shape, tensors[i].spec.shape);
    EXPECT_EQ(text_of(read.bytes(i)), text_of(tensors[i].elements.bytes()));
  }
  EXPECT_EQ(reinterpret_cast<uintptr_t>(read.bytes(1).data()) % 8, 0U);  // aligned, though three bytes come first
  EXPECT_ERROR(ErrorCode::io, write_safetensors(folder / "x.safetensors", tensors));
  write_safetensors(folder / "none.safetensors", {}, metadata);
  EXPECT_EQ(TensorFile::open(folder / "none.safetensors").metadata().size(), 2U);
  const NamedTensor twice[] = {tensors[0], tensors[0]};
  const NamedTensor short_one[] = {{{.name = "short", .shape = {3}}, bytes_of(one)}};
  const std::vector<Metadata> ours{{"relayout", "1"}}, same{{"a", "1"}, {"a", "2"}}, no_text{{"a", "\xff"}};
  EXPECT_ERROR(ErrorCode::invalid_argument, write_safetensors(folder / "y.safetensors", twice));
  EXPECT_ERROR(ErrorCode::buffer_too_small, write_safetensors(folder / "y.safetensors", short_one));
  const NamedTensor long_one[] = {{{.name = "long", .dtype = DType::u8, .shape = {2}}, bytes_of(one)}};
  EXPECT_ERROR(ErrorCode::invalid_argument, write_safetensors(folder / "y.safetensors", long_one));
  const std::vector<int32_t> integers(2);
  const NamedTensor other[] = {{{.name = "type", .dtype = DType::f32, .shape = {2}}, integers}};
  const Error type = error_of([&] { write_safetensors(folder / "y.safetensors", other); });
  EXPECT_EQ(type.code(), ErrorCode::invalid_argument);
  EXPECT_EQ(type.value() + " " + type.limit(), "s32 f32");
  for (const auto& wrong : {ours, same, no_text})
    EXPECT_ERROR(ErrorCode::invalid_argument, write_safetensors(folder / "y.safetensors", tensors, wrong));
  EXPECT_FALSE(std::filesystem::exists(folder / "y.safetensors"));
}

TEST(Safetensors, BadJson) {
  for (const char* json : {"{", "{]", "{\"a\"}", "{} {}", "{\"a\":1e999}", "{\"\xff\":{}}", "{\"__metadata__\":[]}",
                           "{\"__metadata__\":{\"a\":1}}", "{\"__metadata__\":{\"a\":\"1\",\"a\":\"2\"}}",
                           "{\"__metadata__\":{},\"__metadata__\":{}}", " {}", "[]", "1"}) {
    EXPECT_ERROR(ErrorCode::corrupt, in_file(file(json, 0)));
  }
  const std::string deep = "{\"t\":{\"more\":" + std::string(100'000, '[') + std::string(100'000, ']') + "}}";
  EXPECT_ERROR(ErrorCode::limit, in_file(file(deep, 0)));
  const std::string two = "{" + entry("a", "U8", "0", "0,0") + "," + entry("b", "U8", "0", "0,0") + "}";
  EXPECT_EQ(in_file(file(two, 0)).size(), 2U);
  EXPECT_ERROR(ErrorCode::limit, in_file(file(two, 0), {.tensors = 1}));
  // Unknown fields are skipped.
  EXPECT_EQ(
      in_file(file("{\"t\":{\"dtype\":\"U8\",\"more\":{\"shape\":[[{}]]},\"shape\":[2],\"data_offsets\":[0,2]}}", 2))
          .at(0)
          .shape,
      Dims{2});
}

TEST(Safetensors, LayoutHeader) {
  const auto t =
      in_file(with_layout(R"({"layout":"aBcd16b","dims":[2,17,5,4],"dtype":"f32"})", "F32", "2,2,5,4,16", 5120)).at(0);
  ASSERT_TRUE(t.layout && t.dims);
  EXPECT_EQ(t.layout->text(), "aBcd16b");
  EXPECT_EQ(*t.dims, (Dims{2, 17, 5, 4}));
  EXPECT_EQ(t.shape, (Dims{2, 2, 5, 4, 16}));
  EXPECT_EQ(t.layout->bind(*t.dims), Format::parse("nChw16c").bind({2, 17, 5, 4}));

  // A layout without physical axes is stored as a flat array as long as its span.
  EXPECT_TRUE(in_file(with_layout(R"({"layout":"strides:4,1","dims":[2,3]})", "U8", "7", 7)).at(0).layout);
  const auto s4 = in_file(with_layout(R"({"layout":"ab","dims":[3,3],"dtype":"s4"})", "U8", "5", 5)).at(0);
  EXPECT_EQ(s4.dtype, DType::s4);
  EXPECT_EQ(s4.item_bits, 4);
  EXPECT_EQ(s4.shape, (Dims{3, 3}));
  EXPECT_EQ(s4.byte_size, 5);
  EXPECT_EQ(in_file(with_layout(R"({"dtype":"u4"})", "U8", "5", 5)).at(0).shape, Dims{10});
  EXPECT_EQ(in_file(with_layout("{}", "U8", "5", 5)).at(0).shape, Dims{5});
}

TEST(Safetensors, LayoutHeaderThatContradicts) {
  for (const char* inner : {
           R"({"layout":"aBcd16b","dims":[2,17,5,4]})",  // the array has other extents
           R"({"layout":"ab","dims":[3,2]})",            //
           R"({"layout":"ab","dims":[6]})",              // rank
           R"({"layout":"ab","dims":[2,-3]})",           //
           R"({"layout":"ab","dims":[2,3,1]})",          //
           R"({"layout":"nonsense","dims":[2,3]})",      // no expression
           R"({"layout":"any","dims":[2,3]})",           // no layout
           R"({"layout":"strides:4,1","dims":[2,3]})",   // the span is flat
           R"({"layout":"strides:4611686018427387904,1","dims":[9,3]})", R"({"layout":"ab"})",
           R"({"dims":[2,3]})",  // one without the other
           R"({"layout":7,"dims":[2,3]})", R"({"layout":"ab","dims":6})", R"([])",
           R"({"layout":"ab","dims":[2,3],"dtype":"f32"})",  // the file has u8
           R"({"layout":"ab","dims":[2,3],"dtype":"s4"})",   // not flat
           R"({"layout":"ab","dims":[2,3],"dtype":"q3"})",   //
       }) {
    const Error error = error_of([&] { in_file(with_layout(inner, "U8", "2,3", 6)); });
    EXPECT_EQ(error.code(), ErrorCode::corrupt) << inner << error.message();
    EXPECT_NE(error.message().find("tensor \"t\""), std::string::npos) << inner << error.message();
  }
  EXPECT_ERROR(ErrorCode::corrupt, in_file(with_layout(R"({"layout":"ab","dims":[2,3],"dtype":"s4"})", "U8", "4", 4)));
  EXPECT_ERROR(ErrorCode::corrupt, in_file(with_layout(R"({},"other":{})", "U8", "5", 5)));
  EXPECT_ERROR(ErrorCode::unsupported, in_file(with_layout("{}", "U8", "5", 5, "2")));
  EXPECT_ERROR(ErrorCode::corrupt, in_file(with_layout("{}", "U8", "5", 5, "\"1\"")));
  EXPECT_ERROR(ErrorCode::corrupt, in_file(file("{\"__metadata__\":{\"relayout\":\"{}\"}}", 0)));
  EXPECT_ERROR(ErrorCode::corrupt, in_file(file("{\"__metadata__\":{\"relayout\":\"no json\"}}", 0)));
}

TEST(Safetensors, RoundTrip) {
  const TestFolder folder;
  for (DType dtype : all_dtypes()) {
    for (const char* layout :
         {"aBcd16b", "nhwc", "abcd", "ABcd4b16a4b", "nh|Cw4c", "contiguous", "strides:400,20,4,1"}) {
      const Dims dims{2, 17, 5, 4};
      TensorSpec spec{.name = "x/<\"y\">", .dtype = dtype, .layout = Format::parse(layout), .dims = dims};
      const auto shape = spec.layout->physical_shape(dims);
      spec.shape = shape ? *shape : Dims{spec.layout->bind(dims).span()};
      TensorWriter out = TensorWriter::create(folder / "x.safetensors", spec, true);
      std::ranges::fill(out.bytes(), std::byte{1});
      EXPECT_EQ(reinterpret_cast<uintptr_t>(out.bytes().data()) % 8, 0U);
      out.commit();
      const TensorFile read = TensorFile::open(folder / "x.safetensors");
      const StoredTensor& t = read.tensors()[read.find("x/<\"y\">")];
      EXPECT_EQ(t.dtype, dtype) << layout;
      EXPECT_EQ(t.shape, spec.shape) << layout;
      EXPECT_EQ(t.dims, dims);
      EXPECT_EQ(t.layout.value().text(), layout);
      EXPECT_EQ(read.bytes(0).size(), static_cast<std::size_t>(t.byte_size));
    }
    TensorWriter out = TensorWriter::create(folder / "x.safetensors", {.dtype = dtype, .shape = {3, 5}}, true);
    out.commit();
    const TensorFile plain = TensorFile::open(folder / "x.safetensors");
    EXPECT_EQ(plain.tensors()[0].name, "tensor");
    EXPECT_EQ(plain.tensors()[0].dtype, dtype);
    EXPECT_EQ(plain.tensors()[0].shape, (Dims{3, 5}));
  }
}

TEST(Safetensors, RefusesToWrite) {
  const auto layout = Format::parse("nhwc");
  EXPECT_ERROR(ErrorCode::invalid_argument, safetensors_head({.name = "__metadata__", .shape = {1}}));
  EXPECT_ERROR(ErrorCode::invalid_argument, safetensors_head({.name = "\xff", .shape = {1}}));
  EXPECT_ERROR(ErrorCode::invalid_argument, safetensors_head({.shape = {1, 2, 3, 4}, .layout = layout}));
  EXPECT_ERROR(ErrorCode::invalid_argument,
               safetensors_head({.shape = {1, 2, 3, 4}, .layout = layout, .dims = Dims{1, 2, 3, 4}}));
  EXPECT_ERROR(ErrorCode::invalid_argument, safetensors_head({.shape = {-1}}));
}

}  // namespace
}  // namespace relayout
