// Tests of zip archives that were made byte by byte: where members are, decoding, and archives that are wrong.
#include "relayout/interop/files/zip_members.h"

#include <gtest/gtest.h>

#include "tests/support/tensor_files.h"
#include "tests/support/zip_archive.h"

namespace relayout {
namespace {

using test::ArchiveMember;
using test::zip_archive;

const std::string kLong(200'000, 'x');

std::string decoded(const std::string& archive, const ZipMember& member, int64_t skip, int64_t count) {
  std::string out(static_cast<std::size_t>(count), '\0');
  inflate_member(bytes_of(archive), member, skip, std::as_writable_bytes(std::span(out)));
  return out;
}

TEST(ZipMembers, FindsStoredAndDeflatedMembers) {
  for (const bool zip64 : {false, true}) {
    const std::string archive =
        zip_archive({{"a", "abc"}, {"folder/", ""}, {"b/c", kLong + "end", true}, {"empty", ""}}, zip64);
    const std::vector<ZipMember> members = zip_members(bytes_of(archive), {});
    ASSERT_EQ(members.size(), 3U);
    EXPECT_EQ(members[0].name, "a");
    EXPECT_EQ(archive.substr(static_cast<std::size_t>(members[0].offset), 3), "abc");
    EXPECT_EQ(members[1].name, "b/c");
    EXPECT_TRUE(members[1].deflated);
    EXPECT_EQ(members[1].bytes, 200'003);
    EXPECT_EQ(decoded(archive, members[1], 0, 200'003), kLong + "end");
    EXPECT_EQ(decoded(archive, members[1], 199'999, 4), "xend");
    EXPECT_EQ(decoded(archive, members[1], 10, 3), "xxx");
    EXPECT_EQ(members[2].bytes, 0);
  }
}

TEST(ZipMembers, HasACommentBehindTheEnd) {
  std::string archive = zip_archive({{"a", "abc"}}) + "PK\5\6 is a comment";
  archive[archive.size() - 19] = 17;
  EXPECT_EQ(zip_members(bytes_of(archive), {}).size(), 1U);
}

TEST(ZipMembers, RefusesAMemberAlone) {
  const std::string archive = zip_archive({{"lzma", "abc", false, 14},
                                           {"secret", "abc", false, 0xffff, 1},
                                           {"longer", "abc", false, 0xffff, 0, 4},
                                           {"bomb", "abc", true, 0xffff, 0, 1'000'000},
                                           {"beyond", "abc", false, 0xffff, 0, 1'000'000, 1'000'000},
                                           {"fine", "abc"}});
  const std::vector<ZipMember> members = zip_members(bytes_of(archive), {});
  ASSERT_EQ(members.size(), 6U);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_TRUE(members[i].problem) << members[i].name;
  EXPECT_FALSE(members[5].problem);
  const FileLimits small{.decoded_bytes = 2};
  const std::string deflate = zip_archive({{"a", "abc", true}});
  ASSERT_TRUE(zip_members(bytes_of(deflate), small)[0].problem);
  EXPECT_EQ(zip_members(bytes_of(deflate), small)[0].problem->code(), ErrorCode::limit);
}

TEST(ZipMembers, FindsDamageWhereItDecodes) {
  std::string archive = zip_archive({{"a", kLong, true, 0xffff, 0, -1, -1, true}});
  const ZipMember wrong = zip_members(bytes_of(archive), {})[0];
  EXPECT_ERROR(ErrorCode::corrupt, (void)decoded(archive, wrong, 0, wrong.bytes));
  EXPECT_EQ(decoded(archive, wrong, 0, 5), "xxxxx");
  archive = zip_archive({{"a", kLong, true, 0xffff, 0, 200'001}});
  const ZipMember shorter = zip_members(bytes_of(archive), {})[0];
  EXPECT_ERROR(ErrorCode::corrupt, (void)decoded(archive, shorter, 0, shorter.bytes));
  archive = zip_archive({{"a", std::string(1000, '\7'), false, 8}});
  const ZipMember noise = zip_members(bytes_of(archive), {})[0];
  EXPECT_ERROR(ErrorCode::corrupt, (void)decoded(archive, noise, 0, noise.bytes));
}

TEST(ZipMembers, RefusesArchivesThatAreWrong) {
  for (const bool zip64 : {false, true}) {
    const std::string whole = zip_archive({{"a", "abc"}, {"b", "defg", true}}, zip64);
    for (std::size_t size = 0; size < whole.size(); ++size) {
      EXPECT_ERROR(ErrorCode::corrupt, (void)zip_members(bytes_of(whole.substr(0, size)), {}));
    }
    // Any byte may be wrong: what is read is inside the file, or it is an error.
    for (std::size_t at = 0; at < whole.size(); ++at) {
      for (const int value : {0, 1, 127, 255}) {
        std::string damaged = whole;
        damaged[at] = static_cast<char>(value);
        try {
          for (const ZipMember& member : zip_members(bytes_of(damaged), {})) {
            EXPECT_TRUE(member.problem || member.offset + member.stored_bytes <= static_cast<int64_t>(whole.size()));
          }
        } catch (const Error& error) {
          EXPECT_TRUE(error.code() == ErrorCode::corrupt || error.code() == ErrorCode::limit) << error.message();
        }
      }
    }
  }
  const FileLimits one{.tensors = 1};
  EXPECT_ERROR(ErrorCode::limit, (void)zip_members(bytes_of(zip_archive({{"a", ""}, {"b", ""}})), one));
}

TEST(ZipMembers, RefusesMembersThatShareBytes) {
  // The directory lists the first member twice: the second entry leads to its header.
  std::string archive = zip_archive({{"a", "abc"}, {"a", "abc"}});
  const std::size_t second = archive.rfind("PK\1\2");
  archive.replace(second + 42, 4, std::string(4, '\0'));
  const Error error = error_of([&] { (void)zip_members(bytes_of(archive), {}); });
  EXPECT_EQ(error.code(), ErrorCode::corrupt);
  EXPECT_NE(error.message().find("its bytes are those of member"), std::string::npos) << error.message();
}

}  // namespace
}  // namespace relayout
