// The types of a kernel and how they become each other: see kernel_values.h.
#include "relayout/opencl/kernel_values.h"

namespace relayout::opencl {
namespace {

// The same arithmetic as in core/float.h, in the form that needs no floating-point operation on denormal numbers, which
// GPUs may take for 0.
constexpr const char* kHalf = R"(
ushort float_to_half(float value) {
  const uint bits = as_uint(value), magnitude = bits & 0x7fffffffu, sign = (bits ^ magnitude) >> 16;
  if (magnitude > 0x7f800000u) return (ushort)(sign | 0x7e00u | ((magnitude >> 13) & 0x3ffu));
  if (magnitude >= 0x477ff000u) return (ushort)(sign | 0x7c00u);
  if (magnitude >= 0x38800000u)
    return (ushort)(sign | ((magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1u)) >> 13));
  if (magnitude < 0x33000000u) return (ushort)sign;
  const uint shift = 126u - (magnitude >> 23), mantissa = (magnitude & 0x7fffffu) | 0x800000u;
  const uint kept = mantissa >> shift, rest = mantissa & ((1u << shift) - 1u), tie = 1u << (shift - 1u);
  return (ushort)(sign | (kept + (rest > tie || (rest == tie && (kept & 1u)) ? 1u : 0u)));
}
float half_to_float(ushort bits) {
  const uint magnitude = bits & 0x7fffu, sign = (uint)(bits & 0x8000u) << 16;
  if (magnitude >= 0x7c00u) {
    const uint quiet = magnitude > 0x7c00u ? 0x400000u : 0u;
    return as_float(sign | 0x7f800000u | quiet | ((magnitude & 0x3ffu) << 13));
  }
  if (magnitude < 0x400u) return as_float(sign | as_uint((float)magnitude * 5.9604644775390625e-8f));
  return as_float(sign | ((magnitude << 13) + 0x38000000u));
}
)";

constexpr const char* kSampler =
    "__constant sampler_t kTexels = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_NONE | CLK_FILTER_NEAREST;\n";

/// OpenCL's type of a buffer's elements where values are computed with.
std::string element_type(DType dtype) {
  switch (dtype) {
    case DType::f32: return "float";
    case DType::f16: return "ushort";
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
    plan.load_before = "half_to_float(";
    plan.load_after = ")";
  }
}
void plan_store(ValuePlan& plan, DType dtype, const std::string& scale) {
  plan.dst_type = element_type(dtype);
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

bool device_converts(DType src, DType dst) {
  if (src == dst) return bits(src) >= 8;
  const auto pair = [&](DType a, DType b) { return (src == a && dst == b) || (src == b && dst == a); };
  return pair(DType::f32, DType::f16) || pair(DType::u8, DType::u32);
}

ValuePlan value_plan(const Operand& src, const Operand& dst) {
  const DType from = src.desc.dtype, to = dst.desc.dtype;
  if (!device_converts(from, to)) refuse(src, dst);
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
  if (from == DType::f16 || to == DType::f16) out.prelude += kHalf;
  if (src.image)
    out.prelude += kSampler + out.type + " lane_of(" + out.type +
                   "4 texel, int lane) {\n  return lane == 0 ? texel.s0 : lane == 1 ? texel.s1 : lane == 2 ? texel.s2 "
                   ": texel.s3;\n}\n";
  if (dst.image && from == DType::f32 && to == DType::f16) {
    out.prelude +=
        "float4 to_halves(float4 v) {\n  return (float4)(half_to_float(float_to_half(v.s0)), "
        "half_to_float(float_to_half(v.s1)),\n                  half_to_float(float_to_half(v.s2)), "
        "half_to_float(float_to_half(v.s3)));\n}\n";
    out.texel_before = "to_halves(";
    out.texel_after = ")";
  }
  return out;
}

}  // namespace relayout::opencl
