// Checkpoints that torch.save() wrote: an archive with a pickle of what was saved and a member for each storage. The
// pickle is read as values (pickle.h) and never run.
//
// Dicts, lists and tuples inside each other become names joined by points: "model.layers.0.weight",
// "optimizer.state.7". Tensors are tensors; numbers, texts and None are metadata; anything else is listed under its
// name, with the name of the function or class that would make it, and refused.
#include "relayout/checkpoint/formats/pytorch.h"

#include <algorithm>
#include <unordered_map>

#include "relayout/checkpoint/formats/formats.h"
#include "relayout/interop/files/zip_members.h"

namespace relayout::checkpoint {
namespace {

using Kind = PickleKind;

constexpr std::string_view kPickleName = "data.pkl", kOrderName = "byteorder", kStorageFolder = "data/";
/// How files of torch.save() before PyTorch 1.6 begin: a pickle of a number.
constexpr std::string_view kLegacyStart("\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19", 14);

bool begins_as_legacy(std::span<const std::byte> bytes) {
  return bytes.size() >= kLegacyStart.size() &&
         std::ranges::equal(bytes.first(kLegacyStart.size()), std::as_bytes(std::span(kLegacyStart)));
}

/// The member NAME/data.pkl; nothing where there is none or more than one.
const ZipMember* pickle_in(std::span<const ZipMember> members) {
  const ZipMember* found = nullptr;
  for (const ZipMember& member : members) {
    const std::size_t slash = member.name.find('/');
    if (slash == std::string::npos || std::string_view(member.name).substr(slash + 1) != kPickleName) continue;
    if (found != nullptr) return nullptr;
    found = &member;
  }
  return found;
}

/// All of a member's bytes; `decoded` keeps them where they are compressed.
std::span<const std::byte> contents_of(std::span<const std::byte> archive, const ZipMember& member,
                                       std::vector<std::byte>& decoded) {
  if (member.problem) throw Error(*member.problem);
  if (!member.deflated)
    return archive.subspan(static_cast<std::size_t>(member.offset), static_cast<std::size_t>(member.bytes));
  decoded.resize(static_cast<std::size_t>(member.bytes));
  inflate_member(archive, member, 0, decoded);
  return decoded;
}

/// Walks what was saved, and adds tensors and metadata to the source.
class StateReader {
 public:
  StateReader(Source& source, std::span<const ZipMember> members, std::string prefix, const PickleValues& values,
              bool swapped)
      : source_(source), prefix_(std::move(prefix)), values_(values), swapped_(swapped) {
    for (const ZipMember& member : members) members_.emplace(member.name, &member);
  }

  void read() {
    const uint32_t root = values_.root();
    const bool readable = dict_parts(values_, root) || list_items(values_, root) || is_torch_tensor(values_, root);
    if (!readable)
      throw Error(ErrorCode::unsupported,
                  "pytorch: the file holds " + described(root) +
                      ", and not a dict of tensors; torch.save(model.state_dict(), path) saves one",
                  "pickle", described(root));
    walk("", root, 0);
  }

 private:
  /// What a value that is not read is, for a message.
  std::string described(uint32_t node) const {
    const std::string called = values_.name_of(node);
    if (!called.empty()) return escaped(called, 200);
    switch (values_[node].kind) {
      case Kind::persistent: return "a storage without a tensor";
      case Kind::bytes: return "bytes";
      case Kind::long_int: return "a number of more than 64 bits";
      default: return "a value";
    }
  }

  /// One of the values inside others, at most limits.tensors of them all together: the same value may be in many, so
  /// that a small pickle would be a large tree.
  void walk(const std::string& name, uint32_t node, int depth) {
    count(name.size());
    if (depth > source_.limits.json_depth)
      throw Error(ErrorCode::limit,
                  "pytorch: \"" + escaped(name, 200) + "\" is inside more than " +
                      std::to_string(source_.limits.json_depth) + " dicts and lists, or inside itself",
                  "depth", {}, std::to_string(source_.limits.json_depth));
    if (is_torch_tensor(values_, node)) return add_tensor(name, node);
    if (const auto dict = dict_parts(values_, node)) {
      for (const uint32_t pair : dict->pairs) {
        const auto both = list_items(values_, pair);
        if (both && both->size() == 2) {
          walk_entry(name, (*both)[0], (*both)[1], depth);
        } else {
          refuse(joined(name, "<" + described(pair) + ">"), "it stands in a dict and is no pair");
        }
      }
      for (std::size_t i = 0; i + 1 < dict->items.size(); i += 2)
        walk_entry(name, dict->items[i], dict->items[i + 1], depth);
    } else if (const auto list = list_items(values_, node)) {
      for (std::size_t i = 0; i < list->size(); ++i) walk(joined(name, std::to_string(i)), (*list)[i], depth + 1);
    } else {
      add_other(name, node);
    }
  }
  /// Counts a value, and bytes that are kept of it.
  void count(std::size_t bytes) {
    bytes_ += static_cast<int64_t>(bytes);
    if (++walked_ > source_.limits.tensors)
      throw Error(ErrorCode::limit, "pytorch: more than " + std::to_string(source_.limits.tensors) + " values",
                  "values", {}, std::to_string(source_.limits.tensors));
    if (bytes_ > source_.limits.safetensors_header_bytes)
      throw Error(
          ErrorCode::limit,
          "pytorch: more than " + std::to_string(source_.limits.safetensors_header_bytes) + " bytes of names and texts",
          "values", {}, std::to_string(source_.limits.safetensors_header_bytes));
  }
  void walk_entry(const std::string& name, uint32_t key, uint32_t value, int depth) {
    const PickleNode& at = values_[key];
    if (at.kind == Kind::text) return walk(joined(name, at.text), value, depth + 1);
    if (at.kind == Kind::integer) return walk(joined(name, std::to_string(at.number)), value, depth + 1);
    refuse(joined(name, "<" + described(key) + ">"),
           "its key is " + described(key) + ", and neither a text nor a number");
  }
  static std::string joined(const std::string& name, std::string_view more) {
    return name.empty() ? std::string(more) : name + "." + std::string(more);
  }

  void refuse(const std::string& name, const std::string& why) {
    count(name.size());
    CheckpointTensor out;
    out.name = name;
    out.problem =
        Error(ErrorCode::unsupported, "pytorch: \"" + escaped(name, 200) + "\": " + why, "entry", escaped(name, 200));
    source_.add(std::move(out));
  }

  void add_other(const std::string& name, uint32_t node) {
    const PickleNode& at = values_[node];
    const auto keep = [&](MetadataValue value) { source_.metadata.push_back({name, std::move(value)}); };
    switch (at.kind) {
      case Kind::none: return keep(MetadataValue::of(std::string("None")));
      case Kind::boolean: return keep(MetadataValue::of(at.number != 0));
      case Kind::integer: return keep(MetadataValue::of(at.number));
      case Kind::real: return keep(MetadataValue::of(at.real));
      case Kind::text: count(at.text.size()); return keep(MetadataValue::of(std::string(at.text)));
      case Kind::global:
        if (at.module == "torch") return keep(MetadataValue::of("torch." + std::string(at.text)));  // a type
        break;
      default: break;
    }
    refuse(name, "it is " + described(node) + ", which is neither a tensor nor a plain value, and nothing is run");
  }

  void add_tensor(const std::string& given, uint32_t node) {
    const std::string name = given.empty() ? "tensor" : given;
    try {
      TorchTensor read = torch_tensor(values_, node);
      read.tensor.name = name;
      read.tensor.byte_swapped = swapped_ && read.tensor.item_bits > 8;
      place(std::move(read));
    } catch (const Error& error) {
      CheckpointTensor bad;
      bad.name = name;
      bad.problem = Error(error.code(), "pytorch: tensor \"" + escaped(name, 200) + "\": " + error.message(),
                          error.field(), error.value(), error.limit());
      source_.add(std::move(bad));
    }
  }

  /// Finds the tensor's bytes in the member of its storage.
  void place(TorchTensor read) {
    CheckpointTensor& tensor = read.tensor;
    const std::string member_name = prefix_ + std::string(kStorageFolder) + read.storage;
    const auto found = members_.find(member_name);
    if (found == members_.end())
      throw Error(ErrorCode::corrupt, "the archive has no member \"" + escaped(member_name, 200) + "\"", "storage",
                  escaped(read.storage));
    const ZipMember& member = *found->second;
    if (member.problem) throw Error(*member.problem);
    const int64_t begin = tensor.offset, end = begin + tensor.byte_size;
    if (tensor.byte_size > 0 && end > member.bytes)
      throw Error(ErrorCode::corrupt,
                  "its elements are at bytes " + std::to_string(begin) + " to " + std::to_string(end) +
                      " of storage \"" + escaped(read.storage) + "\", which has " + std::to_string(member.bytes),
                  "offset", std::to_string(end), std::to_string(member.bytes));
    if (!member.deflated) {
      tensor.offset = tensor.byte_size > 0 ? member.offset + begin : 0;
      return source_.add(std::move(tensor));
    }
    tensor.offset = member.offset;
    const auto decode = [archive = source_.bytes(), member, begin, bytes = tensor.byte_size](const GoOn& go_on) {
      auto out = std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(bytes));
      if (bytes > 0) inflate_member(archive, member, begin, {out.get(), static_cast<std::size_t>(bytes)}, go_on);
      return out;
    };
    source_.add(std::move(tensor), decode);
  }

  Source& source_;
  std::string prefix_;
  const PickleValues& values_;
  bool swapped_;
  std::unordered_map<std::string_view, const ZipMember*> members_;
  int64_t walked_ = 0, bytes_ = 0;  // values, and bytes of their names and texts
};

}  // namespace

bool begins_as_pytorch(std::span<const std::byte> bytes) {
  if (begins_as_legacy(bytes)) return true;
  if (!begins_as_zip(bytes)) return false;
  try {
    return pickle_in(zip_members(bytes, {})) != nullptr;
  } catch (const Error&) {
    return false;
  }
}

void open_pytorch(Source& source) {
  const std::span<const std::byte> archive = source.bytes();
  if (begins_as_legacy(archive))
    throw Error(ErrorCode::unsupported,
                "pytorch: the format of torch.save() before PyTorch 1.6, which is not read; "
                "torch.save(torch.load(path), path) writes today's",
                "format");
  const std::vector<ZipMember> members = zip_members(archive, source.limits);
  const ZipMember* pickle = pickle_in(members);
  if (pickle == nullptr)
    throw Error(ErrorCode::corrupt, "pytorch: the archive has not one member NAME/data.pkl", "data.pkl");
  if (pickle->bytes > source.limits.safetensors_header_bytes)
    throw Error(ErrorCode::limit,
                "pytorch: a pickle of " + std::to_string(pickle->bytes) + " bytes; at most " +
                    std::to_string(source.limits.safetensors_header_bytes) + " are read",
                "data.pkl", std::to_string(pickle->bytes), std::to_string(source.limits.safetensors_header_bytes));
  const std::string prefix = pickle->name.substr(0, pickle->name.size() - kPickleName.size());
  bool swapped = false;
  for (const ZipMember& member : members) {
    std::vector<std::byte> decoded;
    if (member.name != prefix + std::string(kOrderName) || member.bytes > 64) continue;
    swapped =
        std::ranges::equal(contents_of(archive, member, decoded), std::as_bytes(std::span(std::string_view("big"))));
  }
  std::vector<std::byte> decoded;
  const auto most = static_cast<std::size_t>(source.limits.tensors) * 8;
  const PickleValues values = read_pickle(contents_of(archive, *pickle, decoded), most);
  StateReader(source, members, prefix, values, swapped).read();
}

}  // namespace relayout::checkpoint
