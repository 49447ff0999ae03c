// The types of a kernel and how they become each other: see kernel_values.h.
#include "relayout/opencl/kernel_values.h"

#include "relayout/opencl/ways.h"

namespace relayout::opencl {
namespace {

// The result of core/float.h by integers alone, because devices may take denormal numbers for 0 and round otherwise.
// There are no branches, so that drivers vectorize it.
constexpr const char* kToHalf = R"(
ushort float_to_half(float value) {
  const uint bits = as_uint(value), magnitude = bits & 0x7fffffffu, sign = (bits ^ magnitude) >> 16;
  const uint nan = 0x7e00u | ((magnitude >> 13) & 0x3ffu);
  const uint normal = (magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
  const uint shift = min(126u - min(magnitude >> 23, 112u), 31u), mantissa = (magnitude & 0x7fffffu) | 0x800000u;
  const uint denormal = (mantissa + (1u << (shift - 1u)) - 1u + ((mantissa >> shift) & 1u)) >> shift;
  const uint number = magnitude >= 0x477ff000u ? 0x7c00u : magnitude >= 0x38800000u ? normal : denormal;
  return (ushort)(sign | (magnitude > 0x7f800000u ? nan : number));
}
)";

// f32 that f16 holds: what an image of halves keeps of it as it is. A denormal number of f16 is a multiple of 2^-24.
constexpr const char* kRounded = R"(
float half_to_float(uint bits) {
  const uint magnitude = bits & 0x7fffu, sign = (bits & 0x8000u) << 16;
  const uint infinite = 0x7f800000u | (magnitude > 0x7c00u ? 0x400000u : 0u) | ((magnitude & 0x3ffu) << 13);
  const uint denormal = as_uint((float)magnitude * 5.9604644775390625e-8f);
  const uint finite = magnitude < 0x400u ? denormal : (magnitude << 13) + 0x38000000u;
  return as_float(sign | (magnitude >= 0x7c00u ? infinite : finite));
}
float4 rounded(float4 v) {
  return (float4)(half_to_float(float_to_half(v.s0)), half_to_float(float_to_half(v.s1)),
                  half_to_float(float_to_half(v.s2)), half_to_float(float_to_half(v.s3)));
}
)";

constexpr const char* kSampler =
    "__constant sampler_t kTexels = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_NONE | CLK_FILTER_NEAREST;\n";

/// OpenCL's type of a buffer's elements where values are computed with.
std::string element_type(DType dtype) {
  switch (dtype) {
    case DType::f32: return "float";
    case DType::f16: return "half";
    case DType::s32: return "int";
    case DType::u32: return "uint";
    case DType::u8: return "uchar";
    case DType::s8: return "char";
    default: return "";
  }
}

/// The type of the same width where bits are moved.
std::string bits_type(DType dtype) {
  switch (bits(dtype)) {
    case 8: return "uchar";
    case 16: return "ushort";
    case 32: return "uint";
    default: return "ulong";
  }
}

std::string value_type(DType dtype) {
  if (is_floating(dtype)) return "float";
  return kind(dtype) == DTypeKind::signed_integer ? "int" : "uint";
}

bool normalized(const Operand& operand) {
  return operand.image &&
         (operand.image->channel() == ChannelType::unorm8 || operand.image->channel() == ChannelType::snorm8);
}

/// How a buffer's elements become values, and values its elements. `scale` is that of a normalized image, or nothing.
void plan_load(ValuePlan& plan, DType dtype, const std::string& scale) {
  plan.src_type = element_type(dtype);
  plan.plain_src = plan.src_type == plan.type;
  if (!scale.empty()) {
    plan.load_before = dtype == DType::s8 ? "fmax((float)" : "(float)";
    plan.load_after = " / " + scale + (dtype == DType::s8 ? ", -1.0f)" : "");
  } else if (dtype == DType::f16) {
    plan.load_before = "vload_half(0, &";  // exact
    plan.load_after = ")";
  }
}
void plan_store(ValuePlan& plan, DType dtype, const std::string& scale) {
  plan.dst_type = dtype == DType::f16 ? "ushort" : element_type(dtype);
  plan.plain_dst = plan.dst_type == plan.type;
  if (!scale.empty()) {
    plan.store_before = "convert_" + plan.dst_type + "_sat_rte(";
    plan.store_after = " * " + scale + ")";
  } else if (dtype == DType::f16) {
    plan.store_before = "float_to_half(";
    plan.store_after = ")";
  } else if (!plan.plain_dst) {
    plan.store_before = "convert_" + plan.dst_type + "_sat(";
    plan.store_after = ")";
  }
}

void refuse(const Operand& src, const Operand& dst) {
  const std::string what = std::string(name(src.desc.dtype)) + " to " + std::string(name(dst.desc.dtype));
  throw Error(ErrorCode::unsupported,
              "opencl: a device does not convert " + what +
                  "; it moves equal types of 8 to 64 bits, and converts f32 and f16, and u8 and u32. The CPU converts "
                  "all types",
              "dtype", what, "equal types, f32 and f16, u8 and u32");
}

}  // namespace

void check_values(const Operand& src, const Operand& dst) {
  if (!device_converts(src.desc.dtype, dst.desc.dtype)) refuse(src, dst);
  // The numbers of normalized texels are fractions: in other images and types they would be other numbers.
  const bool normal = normalized(src) || normalized(dst), both_images = src.image && dst.image;
  if (!normal || (src.desc.dtype == dst.desc.dtype && (!both_images || normalized(src) == normalized(dst)))) return;
  const auto what = [](const Operand& one) {
    return one.image ? "an image of " + std::string(name(one.image->channel()))
                     : "a buffer of " + std::string(name(one.desc.dtype));
  };
  throw Error(ErrorCode::unsupported,
              "opencl: a device does not copy " + what(src) + " to " + what(dst) +
                  ", as the numbers of normalized texels are fractions of their bytes",
              "channel", what(src), what(dst));
}

ValuePlan value_plan(const Operand& src, const Operand& dst) {
  const DType from = src.desc.dtype, to = dst.desc.dtype;
  check_values(src, dst);
  ValuePlan out;
  if (!src.image && !dst.image && from == to) {
    out.type = out.src_type = out.dst_type = bits_type(from);
    out.plain_src = out.plain_dst = true;
    return out;
  }
  const bool scaled = normalized(src) || normalized(dst);
  out.type = scaled ? "float" : value_type(to);
  const std::string scale = !scaled ? "" : to == DType::u8 ? "255.0f" : "127.0f";
  if (!src.image) plan_load(out, from, scale);
  if (!dst.image) plan_store(out, to, scale);
  out.suffix = out.type == "float" ? "f" : out.type == "int" ? "i" : "ui";
  if (to == DType::f16 && (!dst.image || from == DType::f32)) out.prelude += kToHalf;
  if (src.image)
    out.prelude += kSampler + out.type + " lane_of(" + out.type +
                   "4 texel, int lane) {\n  return lane == 0 ? texel.s0 : lane == 1 ? texel.s1 : lane == 2 ? texel.s2 "
                   ": texel.s3;\n}\n";
  if (dst.image && from == DType::f32 && to == DType::f16) {
    out.prelude += kRounded;
    out.texel_before = "rounded(";
    out.texel_after = ")";
  }
  return out;
}

}  // namespace relayout::opencl
