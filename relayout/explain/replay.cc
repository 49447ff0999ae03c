// A reorder as a command that measures it here, and as a text for a bug report.
#include <cstdio>

#include "relayout/core/format.h"
#include "relayout/explain/report.h"

namespace relayout::explaining {
namespace {

std::string full_ms(double ms) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g ms", ms);
  return text;
}

/// The tensor's layout as an expression that the command takes; empty where there is none.
std::string expression(const Tensor& tensor) {
  if (!tensor.desc) return "";
  try {
    if (Format::parse(tensor.layout).bind(tensor.desc->layout.dims()) == tensor.desc->layout) return tensor.layout;
  } catch (const Error&) {  // a word of the source
  }
  if (const auto tag = tag_of(tensor.desc->layout)) return *tag;
  return digits_expression(tensor.desc->layout);
}

std::string braces(const Dims& dims) { return "{" + join(dims, ", ") + "}"; }

/// The descriptor of oneDNN's C++ interface: by its tag where it has one in letters, else by strides.
std::string onednn_desc(const Tensor& tensor) {
  const TensorDesc& desc = *tensor.desc;
  const std::string type = "memory::data_type::" + std::string(name(desc.dtype));
  const std::string start = "memory::desc(" + braces(desc.layout.dims()) + ", " + type + ", ";
  const auto tag = tag_of(desc.layout);
  if (tag) return start + "memory::format_tag::" + *tag + ")";
  Dims strides;
  for (int d = 0; d < desc.layout.ndims(); ++d) strides.push_back(desc.layout.outer_stride(d));
  return start + "memory::dims" + braces(strides) + ")";
}

std::string onednn_program(const Reorder& reorder) {
  return "    // c++ -std=c++17 reorder.cc -ldnnl && ONEDNN_VERBOSE=1 ./a.out\n"
         "    #include <oneapi/dnnl/dnnl.hpp>\n"
         "    #include <cstring>\n"
         "    using namespace dnnl;\n"
         "    int main() {\n"
         "      engine cpu(engine::kind::cpu, 0);\n"
         "      stream order(cpu);\n"
         "      memory src(" +
         onednn_desc(reorder.src) +
         ", cpu);\n"
         "      memory dst(" +
         onednn_desc(reorder.dst) +
         ", cpu);\n"
         "      std::memset(src.get_data_handle(), 0, src.get_desc().get_size());\n"
         "      reorder move(src, dst);\n"
         "      for (int i = 0; i < 20; ++i) move.execute(order, src, dst);\n"
         "      order.wait();\n"
         "    }\n";
}

/// NumPy's copy of the same elements, and the same in PyTorch: systems whose reorders cannot be called alone.
std::string python_program(const Reorder& reorder) {
  const TensorDesc &src = *reorder.src.desc, &dst = *reorder.dst.desc;
  const std::string dims = join(src.layout.dims(), ", ");
  return "    import time, numpy, relayout\n"
         "    src = relayout.layout(\"" +
         expression(reorder.src) + "\", (" + dims +
         ",))\n"
         "    x = relayout.convert(numpy.random.rand(" +
         dims + ").astype(\"float32\"), None, src, dtype=\"" + std::string(name(src.dtype)) +
         "\")\n"
         "    for _ in range(20):\n"
         "        start = time.perf_counter()\n"
         "        relayout.convert(x, src, \"" +
         expression(reorder.dst) + "\", dtype=\"" + std::string(name(dst.dtype)) +
         "\")\n"
         "        print(1e3 * (time.perf_counter() - start), \"ms\")\n";
}

}  // namespace

std::string bench_line(const Reorder& reorder) {
  const std::string src = expression(reorder.src), dst = expression(reorder.dst);
  if (src.empty() || dst.empty()) return "";
  const TensorDesc &from = *reorder.src.desc, &to = *reorder.dst.desc;
  if (!(from.layout.dims() == to.layout.dims()) || from.layout.ndims() == 0) return "";
  std::string out = "relayout bench --src " + src + " --dst " + dst + " --dims " + join(from.layout.dims());
  if (from.dtype != DType::f32 || to.dtype != DType::f32) out += " --dtype " + std::string(name(from.dtype));
  if (from.dtype != to.dtype) out += " --to-dtype " + std::string(name(to.dtype));
  return out;
}

namespace {

/// How the first sentence of a bug report ends.
std::string headline(Verdict verdict) {
  switch (verdict) {
    case Verdict::slow: return " takes longer than it should.\n\n";
    case Verdict::repeated: return " is done again in every run.\n\n";
    case Verdict::avoidable: return " need not be there.\n\n";
    case Verdict::padding_only: return " only changes padding.\n\n";
    case Verdict::needed: break;
  }
  return " takes time.\n\n";
}

}  // namespace

std::string bug_report(const Report& report, const Reorder& reorder) {
  const std::string bench = bench_line(reorder);
  std::string out = "A reorder from " + reorder.src.layout + " to " + reorder.dst.layout;
  if (reorder.src.dims) out += " of " + join(*reorder.src.dims, "x");
  out += headline(reorder.verdict);
  out += "System      " + report.system + (report.version.empty() ? "" : " " + report.version) + "\n";
  if (!reorder.implementation.empty()) out += "Kernel      " + reorder.implementation + "\n";
  if (!reorder.detail.empty()) out += "Attributes  " + reorder.detail + "\n";
  if (!report.machine.empty()) out += "Machine     " + report.machine + "\n";
  if (report.threads > 0) out += "Threads     " + std::to_string(report.threads) + "\n";
  if (const auto each = reorder.typical_ms)
    out += "Seen        " + full_ms(*each) + ", typical of " + std::to_string(reorder.times) + "\n";
  if (reorder.planned_ms)
    out += "Expected    " + full_ms(*reorder.planned_ms) + " on one thread, predicted by relayout\n";
  if (reorder.copy_ms) out += "A copy      " + full_ms(*reorder.copy_ms) + ", of as many bytes on this machine\n";
  out += "\nIt is there because: " + reorder.why + "\n";
  if (bench.empty()) return out + "\nIts layouts are not known, so that no program can be given.\n";
  const bool onednn = report.system == "oneDNN";
  out += std::string("\nA program that does it alone") + (onednn ? "" : ", by this project") + ":\n\n";
  out += onednn ? onednn_program(reorder) : python_program(reorder);
  return out + "\nThis project's time for it:\n\n    " + bench + " --verify\n";
}

}  // namespace relayout::explaining
