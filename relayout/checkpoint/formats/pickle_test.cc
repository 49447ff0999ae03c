// Tests of the reader of pickles: opcodes byte by byte, and pickles that are wrong or would run something.
#include "relayout/checkpoint/formats/pickle.h"

#include <gtest/gtest.h>

#include "tests/support/tensor_files.h"

namespace relayout::checkpoint {
namespace {

using std::string_literals::operator""s;

/// A value as text: calls as name(arguments), with what was added to them behind.
std::string shown(const PickleValues& values, uint32_t node, int depth = 0) {
  if (depth > 5) return "...";
  const PickleNode& at = values[node];
  const auto listed = [&](std::size_t from) {
    std::string out;
    for (std::size_t i = from; i < at.items.size(); ++i)
      out += (i == from ? "" : ", ") + shown(values, at.items[i], depth + 1);
    return out;
  };
  switch (at.kind) {
    case PickleKind::none: return "None";
    case PickleKind::boolean: return at.number != 0 ? "True" : "False";
    case PickleKind::integer: return std::to_string(at.number);
    case PickleKind::long_int: return "long of " + std::to_string(at.text.size());
    case PickleKind::real: return std::to_string(at.real);
    case PickleKind::text: return "'" + std::string(at.text) + "'";
    case PickleKind::bytes: return "b'" + std::string(at.text) + "'";
    case PickleKind::tuple: return "(" + listed(0) + ")";
    case PickleKind::list: return "[" + listed(0) + "]";
    case PickleKind::dict: return "{" + listed(0) + "}";
    case PickleKind::global: return std::string(at.module) + "." + std::string(at.text);
    case PickleKind::call: return "call(" + listed(0) + ")";
    case PickleKind::persistent: return "id(" + listed(0) + ")";
  }
  return "";
}
std::string read_shown(const std::string& pickle) {
  const PickleValues values = read_pickle(bytes_of(pickle), 1000);
  return shown(values, values.root());
}

TEST(Pickle, ReadsPlainValues) {
  EXPECT_EQ(read_shown("\x80\x02N."s), "None");
  EXPECT_EQ(read_shown("\x88."), "True");
  EXPECT_EQ(read_shown("\x89."), "False");
  EXPECT_EQ(read_shown("J\xfe\xff\xff\xff."), "-2");
  EXPECT_EQ(read_shown("K\xff."), "255");
  EXPECT_EQ(read_shown("M\x01\x02."), "513");
  EXPECT_EQ(read_shown("\x8a\0."s), "0");
  EXPECT_EQ(read_shown("\x8a\x02\0\xff."s), "-256");
  EXPECT_EQ(read_shown("\x8b\x05\0\0\0\0\0\0\0\x01."s), "4294967296");
  EXPECT_EQ(read_shown("\x8a\x09"
                       "123456789."),
            "long of 9");
  EXPECT_EQ(read_shown("G\x3f\xf8\0\0\0\0\0\0."s), "1.500000");
  EXPECT_EQ(read_shown("X\2\0\0\0ab."s), "'ab'");
  EXPECT_EQ(read_shown("\x95\4\0\0\0\0\0\0\0\x8c\2ab."s), "'ab'");
  EXPECT_EQ(read_shown("\x8d\2\0\0\0\0\0\0\0ab."s), "'ab'");
  EXPECT_EQ(read_shown("C\2ab."), "b'ab'");
  EXPECT_EQ(read_shown("U\2ab."), "'ab'");
}

TEST(Pickle, ReadsContainers) {
  EXPECT_EQ(read_shown(")."), "()");
  EXPECT_EQ(read_shown("(NK\1t."), "(None, 1)");
  EXPECT_EQ(read_shown("K\1K\2K\3\x87."), "(1, 2, 3)");
  EXPECT_EQ(read_shown("]K\1a(K\2K\3e."), "[1, 2, 3]");
  EXPECT_EQ(read_shown("}U\1aK\1s(U\1bK\2U\1cK\3u."), "{'a', 1, 'b', 2, 'c', 3}");
  EXPECT_EQ(read_shown("\x8f(K\1K\2\x90."), "[1, 2]");
  EXPECT_EQ(read_shown("K\1(K\2K\3"
                       "1."),
            "1");
  EXPECT_EQ(read_shown("K\1K\2"
                       "0."),
            "1");
  EXPECT_EQ(read_shown("K\1"
                       "2\x86."),
            "(1, 1)");
  EXPECT_EQ(read_shown("]q\5h\5h\5\x86r\1\0\1\0j\1\0\1\0\x85."s), "(([], []))");
  EXPECT_EQ(read_shown("]\x94K\1\x94h\1h\0\x86."s), "(1, [])");
  EXPECT_EQ(read_shown("]q\0h\0a."s), "[[[[[[...]]]]]]");
}

TEST(Pickle, KeepsCallsAsNames) {
  EXPECT_EQ(read_shown("cos\nsystem\nX\2\0\0\0ls\x85R."s), "call(os.system, ('ls'))");
  EXPECT_EQ(read_shown("\x8c\2os\x8c\6system\x93\x8c\2ls\x85R."), "call(os.system, ('ls'))");
  EXPECT_EQ(read_shown("ca\nB\n)\x81}b."), "call(a.B, ())");
  EXPECT_EQ(read_shown("ca\nB\n)}\x92."), "call(a.B, ())");
  EXPECT_EQ(read_shown("(ca\nB\nK\1o."), "call(a.B, (1))");
  EXPECT_EQ(read_shown("(K\1ia\nB\n."), "call(a.B, (1))");
  EXPECT_EQ(read_shown("ccollections\nOrderedDict\n)RU\1aK\1s."), "call(collections.OrderedDict, (), 'a', 1)");
  EXPECT_EQ(read_shown("U\1aQ."), "id('a')");
  const std::string call = "ca\nB\n)R)R.";
  const PickleValues values = read_pickle(bytes_of(call), 10);
  EXPECT_EQ(values.name_of(values.root()), "a.B");
}

TEST(Pickle, RefusesWhatIsWrong) {
  const auto refused = [](const std::string& pickle) {
    return error_of([&] { (void)read_pickle(bytes_of(pickle), 5); });
  };
  for (const std::string& wrong :
       {""s,      "."s,     "N"s,     "0."s,     "1."s,      "t."s,   "(."s,    "K"s,    "X\5\0\0\0ab."s,
        "h\1."s,  "\x86."s, "NR."s,   "N\x93."s, "NN\x93."s, "cab"s,  "(o."s,   "}Ns."s, "(0N0."s,
        "}(Nu."s, "(Nd."s,  "(N0a."s, "b."s,     "Nb."s,     "q\0."s, "(\x94."s})
    EXPECT_EQ(refused(wrong).code(), ErrorCode::corrupt) << wrong;
  for (const std::string& unknown : {"I1\n."s, "\x82\1."s, "\x97."s, "\x98."s, "\xff."s, "p0\n."s, "F1.5\n."s})
    EXPECT_EQ(refused(unknown).code(), ErrorCode::unsupported) << unknown;
  EXPECT_NE(refused("N\x82\1.").message().find("at byte 1: opcode 0x82"), std::string::npos);
  EXPECT_EQ(refused("NNNNNN.").code(), ErrorCode::limit);
}

}  // namespace
}  // namespace relayout::checkpoint
