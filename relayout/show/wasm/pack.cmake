# Writes a file, compressed by gzip, as bytes in C++: cmake -DWASM=core.wasm -DOUT=bytes.cc -P pack.cmake
file(ARCHIVE_CREATE OUTPUT ${WASM}.gz PATHS ${WASM} FORMAT raw COMPRESSION GZip COMPRESSION_LEVEL 9 MTIME "1970-01-01")
file(READ ${WASM}.gz digits HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${digits}")
# A line of a million letters would be more than some compilers take.
string(REGEX REPLACE "(................................................................................)" "\\1\n" bytes
  "${bytes}")
file(WRITE ${OUT} "// Made by pack.cmake.
#include \"relayout/show/page.h\"

namespace relayout::show {
namespace {

constexpr unsigned char kPackedCore[] = {
${bytes}};

}  // namespace

std::span<const unsigned char> packed_core() { return kPackedCore; }

}  // namespace relayout::show
")
