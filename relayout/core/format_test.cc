// The expression grammar: published formulas, names, images, errors, and the way back from a layout.
#include "relayout/core/format.h"

#include <gtest/gtest.h>

#include "relayout/core/print.h"
#include "tests/support/testing.h"

namespace relayout {
namespace {

using test::each_index;

using test::bound;

std::string error_of(std::string_view text) {
  try {
    Format::parse(text);
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::parse);
    return e.message();
  }
  return "no error";
}

std::string bind_error(std::string_view text, const Dims& dims) {
  try {
    bound(text, dims);
  } catch (const Error& e) {
    return e.message();
  }
  return "no error";
}

// oneDNN, "Understanding memory formats": the offset formulas, with the batch stride of nChw8c corrected to
// the padded channel count.
TEST(Format, PublishedFormulas) {
  const Dims dims{2, 17, 5, 4};
  const int64_t C = 17, H = 5, W = 4;
  each_index(dims, [&](const Dims& i) {
    const auto [n, c, h, w] = std::tuple(i[0], i[1], i[2], i[3]);
    EXPECT_EQ(bound("nchw", dims).offset(i), n * C * H * W + c * H * W + h * W + w);
    EXPECT_EQ(bound("nhwc", dims).offset(i), n * H * W * C + h * W * C + w * C + c);
    EXPECT_EQ(bound("chwn", dims).offset(i), c * H * W * 2 + h * W * 2 + w * 2 + n);
    EXPECT_EQ(bound("nChw8c", dims).offset(i), n * 24 * H * W + c / 8 * H * W * 8 + h * W * 8 + w * 8 + c % 8);
  });
}

// DirectML, "Using strides to express padding and memory layout".
TEST(Format, DirectMlTables) {
  const Layout packed = Layout::contiguous({2, 2, 3});
  EXPECT_EQ(packed.outer_strides(), (Dims{6, 3, 1}));
  std::string letters;
  each_index(packed.dims(), [&](const Dims& i) { letters += static_cast<char>('A' + packed.offset(i)); });
  EXPECT_EQ(letters, "ABCDEFGHIJKL");
  EXPECT_EQ(packed.offset(Dims{1, 0, 1}), 7);
  EXPECT_EQ(bound("nhwc", {1, 2, 3, 5}).outer_strides(), (Dims{30, 1, 10, 2}));
  EXPECT_EQ(bound("strides:15,1,5,1", {1, 1, 3, 5}).offset(Dims{0, 0, 2, 4}), 14);
}

// PyTorch: channels_last is a permutation of strides; the storage order of a 1x3x2x2 tensor.
TEST(Format, PyTorchStorageOrder) {
  const Layout l = bound("channels_last", {1, 3, 2, 2});
  EXPECT_EQ(l.outer_strides(), (Dims{12, 1, 6, 3}));
  std::vector<int64_t> order(12);
  each_index(l.dims(), [&](const Dims& i) {
    order[static_cast<std::size_t>(l.offset(i))] = Layout::contiguous(l.dims()).offset(i);
  });
  EXPECT_EQ(order, (std::vector<int64_t>{0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11}));
}

// XLA's tiled layout F32[3,5]{1,0:T(2,2)}: element (2,3) is at 17.
TEST(Format, XlaTile) { EXPECT_EQ(bound("AB2a2b", {3, 5}).offset(Dims{2, 3}), 17); }

struct Pixel {
  int64_t x, y, k;
};

/// One of MACE's images: its size and, for the element of index i within extents e, its pixel (x, y) and lane k.
struct MaceImage {
  const char* name;
  Dims dims;
  int64_t width, height;
  Pixel (*pixel)(const Dims& i, const Dims& e);
};

const Dims kMaceActivation{2, 6, 5, 3};

/// The images by the formulas of MACE's documentation.
std::vector<MaceImage> mace_images() {
  const auto up = [](int64_t v) { return (v + 3) / 4; };
  const Dims act = kMaceActivation, filter{6, 5, 3, 2}, depthwise{1, 6, 3, 2};
  return {
      {"mace:in_out_channel", act, 3 * up(6), 2 * 5,
       [](const Dims& i, const Dims& e) {
         return Pixel{i[1] / 4 * e[3] + i[3], i[0] * e[2] + i[2], i[1] % 4};
       }},
      {"mace:in_out_height", act, 3 * 6, 2 * up(5),
       [](const Dims& i, const Dims& e) {
         return Pixel{i[1] * e[3] + i[3], i[0] * ((e[2] + 3) / 4) + i[2] / 4, i[2] % 4};
       }},
      {"mace:in_out_width", act, up(3) * 6, 2 * 5,
       [](const Dims& i, const Dims& e) {
         return Pixel{i[1] * ((e[3] + 3) / 4) + i[3] / 4, i[0] * e[2] + i[2], i[3] % 4};
       }},
      {"mace:conv2d_filter", filter, 5, 3 * 2 * up(6),
       [](const Dims& i, const Dims& e) {
         return Pixel{i[1], i[0] / 4 * e[2] * e[3] + i[2] * e[3] + i[3], i[0] % 4};
       }},
      {"mace:dw_conv2d_filter", depthwise, 3 * 2, up(6),
       [](const Dims& i, const Dims& e) {
         return Pixel{i[2] * e[3] + i[3], i[1] / 4, i[1] % 4};
       }},
      {"mace:argument",
       {7},
       up(7),
       1,
       [](const Dims& i, const Dims&) {
         return Pixel{i[0] / 4, 0, i[0] % 4};
       }},
      {"mace:weight_height", filter, 5 * 3 * 2, up(6),
       [](const Dims& i, const Dims& e) {
         return Pixel{(i[2] * e[3] + i[3]) * e[1] + i[1], i[0] / 4, i[0] % 4};
       }},
      {"mace:weight_width", filter, up(5) * 3 * 2, 6,
       [](const Dims& i, const Dims& e) {
         return Pixel{(i[2] * e[3] + i[3]) * ((e[1] + 3) / 4) + i[1] / 4, i[0], i[1] % 4};
       }},
  };
}

TEST(Format, MaceImages) {
  for (const MaceImage& c : mace_images()) {
    for (const char* pitch : {"", ";pitch=64"}) {
      const Format format = Format::parse(std::string(c.name) + pitch);
      const ImageExtent image = format.image(c.dims);
      EXPECT_EQ(image.width, c.width) << c.name;
      EXPECT_EQ(image.height, c.height) << c.name;
      EXPECT_EQ(image.pitch, *pitch ? 64 : c.width);
      const Layout layout = format.bind(c.dims);
      EXPECT_TRUE(layout.injective_with_padding());
      each_index(c.dims, [&](const Dims& i) {
        const Pixel p = c.pixel(i, c.dims);
        EXPECT_EQ(layout.offset(i), (p.y * image.pitch + p.x) * 4 + p.k) << c.name << " " << join(i);
      });
    }
  }
  EXPECT_EQ(bound("mace:in_out_channel", kMaceActivation), bound("nh|Cw4c", kMaceActivation));
  EXPECT_NE(bind_error("mace:dw_conv2d_filter", {2, 6, 3, 2}).find("M = 2"), std::string::npos);
  EXPECT_NE(bind_error("nh|Cw4c;pitch=5", kMaceActivation).find("pitch"), std::string::npos);
}

TEST(Format, DomainNamesMeanTheirLetters) {
  const auto generic = [](std::string_view name) {
    return *Format::parse(name).generic_tag(*Format::parse(name).rank());
  };
  const std::pair<const char*, const char*> names[] = {{"nchw", "abcd"},
                                                       {"nhwc", "acdb"},
                                                       {"chwn", "bcda"},
                                                       {"ncdhw", "abcde"},
                                                       {"ndhwc", "acdeb"},
                                                       {"nc", "ab"},
                                                       {"cn", "ba"},
                                                       {"tn", "ab"},
                                                       {"nt", "ba"},
                                                       {"ncw", "abc"},
                                                       {"nwc", "acb"},
                                                       {"oi", "ab"},
                                                       {"io", "ba"},
                                                       {"oihw", "abcd"},
                                                       {"hwio", "cdba"},
                                                       {"goihw", "abcde"},
                                                       {"giodhw", "acbdef"},
                                                       {"goidhw", "abcdef"},
                                                       {"giohw", "acbde"},
                                                       {"hwigo", "decab"},
                                                       {"dhwigo", "defcab"},
                                                       {"tnc", "abc"},
                                                       {"ntc", "bac"},
                                                       {"ldnc", "abcd"},
                                                       {"ldigo", "abcde"},
                                                       {"ldgoi", "abdec"},
                                                       {"ldio", "abcd"},
                                                       {"ldoi", "abdc"},
                                                       {"ldgo", "abcd"},
                                                       {"nChw16c", "aBcd16b"},
                                                       {"OIhw4i16o4i", "ABcd4b16a4b"},
                                                       {"gOIhw16i16o", "aBCde16c16b"},
                                                       {"NCdhw16n16c", "ABcde16a16b"},
                                                       {"Owhi16o", "Adcb16a"},
                                                       {"OhwI32o", "Acdb32a"},
                                                       {"x", "a"}};
  for (const auto& [name, tag] : names) EXPECT_EQ(generic(name), tag) << name;
  EXPECT_EQ(bound("BA16a64b", {33, 70}).padded_dims(), (Dims{48, 128}));
  EXPECT_EQ(bound("abx", {2, 3, 4, 5}), bound("nchw", {2, 3, 4, 5}));
  EXPECT_EQ(bound("axb", {2, 3, 4, 5}), bound("nhwc", {2, 3, 4, 5}));
  EXPECT_EQ(bound("xba", {2, 3, 4, 5}), bound("cdba", {2, 3, 4, 5}));
  EXPECT_EQ(bound("aBx16b", {2, 17, 4, 5, 3}), bound("aBcde16b", {2, 17, 4, 5, 3}));
  EXPECT_EQ(bound("axb", {2, 3}), bound("ab", {2, 3}));
  EXPECT_EQ(bound("abcdefghijkl", Dims(12, 2)), Layout::contiguous(Dims(12, 2)));
}

TEST(Format, StridesAndOffsets) {
  EXPECT_EQ(bound("strides:-5,1", {3, 5}).offset(Dims{0, 0}), 10);
  EXPECT_EQ(bound("strides:-5,1@12", {3, 5}).offset(Dims{2, 0}), 2);
  EXPECT_EQ(bound("nchw@16", {1, 1, 2, 2}).offset(Dims{0, 0, 1, 1}), 19);
  EXPECT_EQ(bound("strides:", {}).elements(), 1);
  EXPECT_NE(bind_error("strides:-5,1@3", {3, 5}), "no error");
  EXPECT_NE(bind_error("strides:9223372036854775807,-9223372036854775808", {3, 3}), "no error");
}

TEST(Format, PhysicalShapes) {
  const auto shape = [](std::string_view text, const Dims& dims) { return *Format::parse(text).physical_shape(dims); };
  EXPECT_EQ(shape("nhwc", {2, 3, 4, 5}), (Dims{2, 4, 5, 3}));
  EXPECT_EQ(shape("nChw16c", {2, 17, 5, 4}), (Dims{2, 2, 5, 4, 16}));
  EXPECT_EQ(shape("nh|Cw4c", {2, 6, 5, 3}), (Dims{10, 6, 4}));
  EXPECT_EQ(shape("nh|Cw4c;pitch=64", {2, 6, 5, 3}), (Dims{10, 64, 4}));
  EXPECT_EQ(shape("channels_last", {2, 3, 4, 5}), (Dims{2, 4, 5, 3}));
  EXPECT_FALSE(Format::parse("strides:1,2").physical_shape({2, 1}).has_value());
  EXPECT_FALSE(Format::parse("ab@3").physical_shape({2, 1}).has_value());
  EXPECT_EQ(Format::parse("nChw16c").dims_from_physical({2, 2, 5, 4, 16}), (Dims{2, 32, 5, 4}));
  EXPECT_EQ(Format::parse("nhwc").dims_from_physical({2, 4, 5, 3}), (Dims{2, 3, 4, 5}));
  EXPECT_EQ(Format::parse("axb").dims_from_physical({2, 4, 5, 3}), (Dims{2, 3, 4, 5}));
  EXPECT_EQ(Format::parse("aBx16b").dims_from_physical({2, 4, 5, 16}), (Dims{2, 64, 5}));
  EXPECT_EQ(Format::parse("mace:argument").dims_from_physical({1, 2, 4}), (Dims{8}));
  for (const Dims& wrong : {Dims{2, 2, 5, 4, 8}, Dims{2, 2, 5, 4}, Dims{}})
    EXPECT_THROW(Format::parse("nChw16c").dims_from_physical(wrong), Error);
  EXPECT_THROW(Format::parse("nh|Cw4c").dims_from_physical({10, 6, 4}), Error);
  // Column-major storage of the physical array (N,H,W,C).
  EXPECT_EQ(Format::parse("nhwc").bind_physical({2, 3, 4, 5}, {1, 2, 8, 40}).outer_strides(), (Dims{1, 40, 2, 8}));
}

TEST(Format, ErrorsPointAtThePlace) {
  const std::pair<std::string, std::string> cases[] = {{"", "empty"},
                                                       {"aa", "second time"},
                                                       {"ac", "without dim 'b'"},
                                                       {"aBc", "no block"},
                                                       {"nChw", "no block"},
                                                       {"ABc8a", "no block"},
                                                       {"abc8b", "must be a capital"},
                                                       {"aBc0b", "1 or more"},
                                                       {"aBc99999999999999999b", "over"},
                                                       {std::string(1 << 20, 'a'), "over 4096"},
                                                       {std::string("ab\0c", 4), "expected a letter"},
                                                       {"ab\x1b[31m", "expected a letter"},
                                                       {"aB16", "letter is missing"},
                                                       {"aB16c", "no dim of this tag"},
                                                       {"a|b|c", "second row break"},
                                                       {"nh|Cw8c", "multiply to 4"},
                                                       {"nhcw", "stand together"},
                                                       {"strides:1,,2", "not a whole number"},
                                                       {"strides:1,99999999999999999999", "does not fit"},
                                                       {"ab;pitch=3", "only an image"},
                                                       {"nh|Cw4c;pitch=30;pitch=50", "only once"},
                                                       {"nchw;align=64;align=32", "only once"},
                                                       {"ab;p=3", "pitch=TEXELS"},
                                                       {"nh|Cw4c;pitch=0", "1 texel"},
                                                       {"ab@-1", "0 or more"},
                                                       {"any@3", "no offset"},
                                                       {"mace:nope", "no such image"},
                                                       {"zq", "names no dim"},
                                                       {"axB", "no block"},
                                                       {"Xab", "no blocks"},
                                                       {"aB16b4", "letter is missing"},
                                                       {"1a", "begins with letters"},
                                                       {"tcn", "c comes last"},
                                                       {"dlnc", "come first"}};
  for (const auto& [text, why] : cases) {
    const std::string message = error_of(text);
    EXPECT_NE(message.find(why), std::string::npos) << message;
    EXPECT_NE(message.find('^'), std::string::npos) << message;
    EXPECT_LT(message.size(), 1000u);
    for (char ch : message) EXPECT_TRUE(ch == '\n' || (ch >= ' ' && ch <= '~')) << message;
  }
  EXPECT_EQ(error_of("aBc").find("\n  aBc\n   ^") != std::string::npos, true) << error_of("aBc");
  EXPECT_NE(error_of("nhcw").find("did you mean nhwc, nchw?"), std::string::npos) << error_of("nhcw");
  EXPECT_NE(error_of("chanels_last").find("channels_last"), std::string::npos) << error_of("chanels_last");
  EXPECT_NE(bind_error("nchw", {1, 2, 3}).find("nwc"), std::string::npos) << bind_error("nchw", {1, 2, 3});
  EXPECT_NE(bind_error("any", {1}).find("placeholder"), std::string::npos);
  EXPECT_NE(bind_error("undef", {1}), "no error");
  EXPECT_NE(bind_error("channels_last", {1, 2, 3}), "no error");
  EXPECT_NE(bind_error("nchw", {1, 2, -1, 3}).find("dim 2"), std::string::npos);
}

TEST(Format, RecoveredTagBindsBack) {
  const Dims shapes[] = {{2, 17, 5, 4}, {1, 1, 1, 1}, {1, 17, 1, 4},    {3, 16, 1, 1},
                         {2, 3, 4, 5},  {0, 3, 4, 5}, {1, 3, 224, 224}, {2, 1, 5, 4}};
  for (const char* tag : {"abcd", "acdb", "bcda", "cdba", "dcba", "badc", "aBcd16b", "aBcd4b", "ABcd16a16b",
                          "ABcd4b16a4b", "Abcd8a", "aBcd2b2b", "bAcd4a", "abCd4c", "ABcd16b16a2b", "acBd4b"}) {
    for (const Dims& dims : shapes) {
      const Layout layout = bound(tag, dims);
      for (const Layout& l : {layout, layout.canonical()}) {
        const auto found = tag_of(l);
        ASSERT_TRUE(found) << tag << " " << join(dims);
        EXPECT_EQ(bound(*found, dims), layout) << tag << " " << *found;
      }
      if (dims == shapes[0]) {
        EXPECT_EQ(*tag_of(layout), tag);
      }
    }
  }
  EXPECT_EQ(*tag_of(bound("nhwc", {1, 1, 5, 5})), "acdb");
  EXPECT_FALSE(tag_of(bound("strides:100,20,5,1", {2, 3, 4, 5})));
  EXPECT_FALSE(tag_of(bound("abcd@4", {2, 3, 4, 5})));
}

TEST(Format, TagsTooLongToSpellAreNone) {
  std::vector<Digits> many(1);
  Dims dims{int64_t{1} << 40};
  for (int k = 0; k < 40; ++k) many[0].push_back({2, int64_t{1} << (k ^ 1)});
  EXPECT_FALSE(tag_of(Layout::from_digits(dims, many)));
  const std::vector<Digits> large{{{int64_t{1} << 32, 2}, {2, 1}}};
  EXPECT_FALSE(tag_of(Layout::from_digits({int64_t{1} << 33}, large)));
}

TEST(Format, ExtremesAreErrorsNotOverflows) {
  EXPECT_NE(bind_error("strides:-9223372036854775808", {2}), "no error");
  EXPECT_NE(bind_error("nChw16c", {1, std::numeric_limits<int64_t>::max(), 1, 1}).find("dim 1"), std::string::npos);
  EXPECT_NE(bind_error("|W4w;pitch=1", {100}).find("less than the image's width, 25"), std::string::npos);
  EXPECT_THROW(Format::parse("|W4w;pitch=1").physical_shape({100}), Error);
  EXPECT_THROW(Format::parse("mace:dw_conv2d_filter").image({2, 6, 3, 2}), Error);
  EXPECT_THROW(Format::parse("h|W4w").dims_from_physical({0, int64_t{1} << 62, 4}), Error);
  const Layout empty = bound("strides:9223372036854775807,-9223372036854775808", {5, 0});
  EXPECT_EQ(offset_formula(empty, "ab"), "0");
  EXPECT_THROW(empty.offset({4, 0}), Error);
}

TEST(Print, Formula) {
  EXPECT_EQ(offset_formula(bound("nChw8c", {2, 17, 5, 4}), "nchw"), "480*n + 160*(c/8) + 32*h + 8*w + c%8");
  EXPECT_EQ(offset_formula(bound("strides:-5,1", {3, 5}), "ab"), "10 - 5*a + b");
  EXPECT_EQ(offset_formula(Layout(), ""), "0");
  EXPECT_EQ(digits_text(bound("nChw8c", {2, 17, 5, 4}), "nchw"),
            "n = (2,480)  c = (8,1)(3,160)  h = (5,32)  w = (4,8)");
}

}  // namespace
}  // namespace relayout
