// How the members of a table of kernels are made of the lines of kernels.inc, and how to walk them.
//
// A line gives a kernel's *signature*, e.g. InterleaveKernel(FewLines, Bytes<4>): a type of function, and the *axes*
// in which its kernels differ. The member is then an array of arrays of pointers, table.interleave[columns][bytes].
// Each place of an axis has a name, so that every kernel of a table has one, e.g. "interleave/3/4".
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string_view>

#include "relayout/core/dtype.h"

namespace relayout::cpu {

inline constexpr int kElementSizes = 4;  // 1, 2, 4, 8 bytes, by log2
inline constexpr int kMostInterleaved = 9;
inline constexpr int kComputeTypes = 2;  // by ComputeType; none is needed for i128

/// The bytes of an element, by log2.
template <int kSizes>
struct Bytes {
  static constexpr std::size_t kCount = kSizes;
  static constexpr std::string_view kBy = "bytes";
  static std::string_view name(std::size_t place) {
    constexpr std::string_view kNames[] = {"1", "2", "4", "8", "16"};
    return kNames[place];
  }
};

/// The number of columns (rows), less 2.
struct FewLines {
  static constexpr std::size_t kCount = kMostInterleaved - 1;
  static constexpr std::string_view kBy = "columns";
  static std::string_view name(std::size_t place) {
    constexpr std::string_view kNames[] = {"2", "3", "4", "5", "6", "7", "8", "9"};
    return kNames[place];
  }
};

/// The type of an element, by DType, of those that have a kernel for each pair.
inline constexpr std::size_t kPairedTypes = static_cast<std::size_t>(DType::boolean) + 1;
struct Types {
  static constexpr std::size_t kCount = kPairedTypes;
  static constexpr std::string_view kBy = "type";
  static std::string_view name(std::size_t place) { return relayout::name(static_cast<DType>(place)); }
};

/// The other types, which have kernels of their own, and none for a pair.
struct SmallTypes {
  static constexpr std::size_t kCount = kDTypeCount - kPairedTypes;
  static constexpr std::string_view kBy = "type";
  static constexpr std::size_t place(DType dtype) { return static_cast<std::size_t>(dtype) - kPairedTypes; }
  static constexpr DType dtype(std::size_t place) { return static_cast<DType>(place + kPairedTypes); }
  static std::string_view name(std::size_t place) { return relayout::name(dtype(place)); }
};

/// The types of 8 bytes.
struct WideTypes {
  static constexpr std::size_t kCount = 3;
  static constexpr std::string_view kBy = "type";
  static constexpr DType kTypes[] = {DType::f64, DType::s64, DType::u64};
  static constexpr std::size_t place(DType dtype) { return dtype == DType::f64 ? 0 : dtype == DType::s64 ? 1 : 2; }
  static std::string_view name(std::size_t place) { return relayout::name(kTypes[place]); }
};

/// The bits of a sub-byte element.
struct PackedBits {
  static constexpr std::size_t kCount = 4;
  static constexpr std::string_view kBy = "bits";
  static constexpr int kBits[] = {1, 2, 4, 6};
  static constexpr std::size_t place(int bits) { return static_cast<std::size_t>(bits) / 2; }
  static std::string_view name(std::size_t place) {
    constexpr std::string_view kNames[] = {"1", "2", "4", "6"};
    return kNames[place];
  }
};

/// The first compute types, by ComputeType.
template <int kTypes>
struct ComputeTypes {
  static constexpr std::size_t kCount = kTypes;
  static constexpr std::string_view kBy = "compute";
  static std::string_view name(std::size_t place) {
    constexpr std::string_view kNames[kComputeTypes] = {"f32", "f64"};
    return kNames[place];
  }
};

/// The bytes of a line, which are permuted at once.
struct LineWidths {
  static constexpr std::size_t kCount = 2;
  static constexpr std::string_view kBy = "width";
  static std::string_view name(std::size_t place) { return place == 0 ? "16" : "64"; }
};

struct Signs {
  static constexpr std::size_t kCount = 2;
  static constexpr std::string_view kBy = "sign";
  static std::string_view name(std::size_t place) { return place == 0 ? "unsigned" : "signed"; }
};

/// A place on one axis.
struct KernelPlace {
  std::size_t index;
  std::string_view name;
};
inline constexpr std::size_t kMostKernelAxes = 2;

template <class Signature>
struct KernelMembers;

template <class Kernel>
struct KernelMembers<Kernel()> {
  using Type = Kernel;
  static constexpr std::array<std::string_view, 0> kBy{};

  /// Calls visit(kernel, places) for every kernel of a member; those that the table lacks are null.
  template <class Member, class Visit>
  static void each(Member& member, Visit&& visit) {
    std::array<KernelPlace, kMostKernelAxes> places;
    walk(member, visit, places, 0);
  }
  template <class Member, class Visit>
  static void walk(Member& kernel, Visit&& visit, std::array<KernelPlace, kMostKernelAxes>& places, std::size_t have) {
    visit(kernel, std::span<const KernelPlace>(places).first(have));
  }
};

template <class Kernel, class Axis, class... More>
struct KernelMembers<Kernel(Axis, More...)> {
  using Inner = KernelMembers<Kernel(More...)>;
  using Type = std::array<typename Inner::Type, Axis::kCount>;
  static constexpr std::array<std::string_view, 1 + sizeof...(More)> kBy{Axis::kBy, More::kBy...};

  template <class Member, class Visit>
  static void each(Member& member, Visit&& visit) {
    std::array<KernelPlace, kMostKernelAxes> places;
    walk(member, visit, places, 0);
  }
  template <class Member, class Visit>
  static void walk(Member& member, Visit&& visit, std::array<KernelPlace, kMostKernelAxes>& places, std::size_t have) {
    for (std::size_t i = 0; i < Axis::kCount; ++i) {
      places[have] = {i, Axis::name(i)};
      Inner::walk(member[i], visit, places, have + 1);
    }
  }
};

}  // namespace relayout::cpu
