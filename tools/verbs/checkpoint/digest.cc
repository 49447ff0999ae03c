// SHA-256 by OpenSSL's libcrypto.
#include "tools/verbs/checkpoint/digest.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <vector>

#include "relayout/cpu/reorder.h"
#include "relayout/io/pages.h"
#ifdef RELAYOUT_HAVE_OPENSSL
#include <openssl/evp.h>
#endif

namespace relayout::tools {
namespace {

#ifdef RELAYOUT_HAVE_OPENSSL
std::string hexadecimal_sha256(std::span<const std::byte> bytes, bool mapped) {
  struct Free {
    void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
  };
  const std::unique_ptr<EVP_MD_CTX, Free> context(EVP_MD_CTX_new());
  bool good = context != nullptr && EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr) == 1;
  constexpr std::size_t kPart = 16 << 20;  // what is read of a mapped file before its pages are given back
  for (std::size_t at = 0; good && at < bytes.size(); at += kPart) {
    const auto part = bytes.subspan(at, std::min(kPart, bytes.size() - at));
    good = EVP_DigestUpdate(context.get(), part.data(), part.size()) == 1;
    if (mapped) io::release_pages(part);
  }
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int count = 0;
  if (!good || EVP_DigestFinal_ex(context.get(), digest.data(), &count) != 1)
    throw Error(ErrorCode::unsupported, "SHA-256: OpenSSL does not offer it here", "sha256");
  std::string out;
  for (unsigned int i = 0; i < count; ++i) out += fmt::format("{:02x}", digest[i]);
  return out;
}
#else
std::string hexadecimal_sha256(std::span<const std::byte>, bool) {
  throw Error(ErrorCode::unsupported, "SHA-256: this command was built without OpenSSL (Debian's libssl-dev)",
              "sha256");
}
#endif

}  // namespace

std::string tensor_sha256(const checkpoint::Checkpoint& model, std::size_t tensor) {
  const checkpoint::CheckpointTensor& one = model.tensors()[tensor];
  const checkpoint::Contents contents = model.contents(tensor);
  if (one.row_major() || !one.dtype) return hexadecimal_sha256(contents.bytes, !contents.owner);
  const TensorDesc plain(Layout::contiguous(one.shape), *one.dtype);
  std::vector<std::byte> elements(static_cast<std::size_t>(plain.span_bytes()));
  cpu::run(Plan::make({one.memory(), *one.dtype}, plain), contents.bytes.data(), elements.data());
  return hexadecimal_sha256(elements, false);
}

}  // namespace relayout::tools
