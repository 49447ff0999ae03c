// relayout_chart: draws a report of the suite or of the sweep.
//
//     relayout_chart suite.json suite.svg --threads 2
//     relayout_chart sweep.json sweep.svg
#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <span>

#include "bench/chart.h"
#include "relayout/interop/files/tensor_file.h"

namespace relayout::bench {
namespace {

int run(const std::string& in, const std::string& out, int threads) {
  std::ifstream file(in);
  if (!file) throw Error(ErrorCode::io, "cannot read " + in);
  const Json report = Json::parse(file);
  const std::string picture = report.contains("sweeps") ? sweep_chart(report) : suite_chart(report, threads);
  write_file(out, std::as_bytes(std::span(picture)), /*overwrite=*/true);
  return 0;
}

}  // namespace
}  // namespace relayout::bench

int main(int argc, char** argv) {
  std::string in, out;
  int threads = 1;
  CLI::App app("Draws a report of relayout_suite as SVG", "relayout_chart");
  app.add_option("IN", in, "JSON of the suite or of the sweep")->required();
  app.add_option("OUT", out, "SVG to write")->required();
  app.add_option("--threads", threads, "Of the suite: the cases on so many threads (1)");
  CLI11_PARSE(app, argc, argv);
  try {
    return relayout::bench::run(in, out, threads);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "relayout_chart: %s\n", error.what());
    return 1;
  }
}
