// Running boxes by line programs (reorder/methods/line_program.h).
#include "relayout/reorder/methods/line_program.h"

#include "relayout/cpu/runners/methods.h"
#include "relayout/cpu/runners/steps.h"

namespace relayout::cpu {

void run_all(const RunContext& context, const Loops& box, const ProgrammedLines& method, const Tables& tables,
             int64_t begin, int64_t end) {
  const LineProgram& program = *method.program;
  const LineProgramKernel kernel = context.kernels.line_program[program.width == 64 ? 1 : 0];
  const Axis &row = box.along_src.axes[0], &col = box.along_dst.axes[0];
  const int64_t steps = program.steps;
  each_block(box, tables, begin, end, [&](const Odometer& at, const IndexRange& rows, const IndexRange& cols) {
    // The last strip may have fewer steps than a unit. Then the strip before it makes them.
    if (rows.count() < steps && rows.begin > 0) return;
    const int64_t last = rows.total - rows.end() < steps ? rows.total : rows.end();
    const std::byte* const src = context.src + at.offsets[kSrc] + cols.begin * col.stride[kSrc];
    std::byte* const dst = context.dst + at.offsets[kDst] + cols.begin * col.stride[kDst];
    const int64_t units = (last - rows.begin) / steps, rest = (last - rows.begin) % steps;
    const auto unit = [&](int64_t first, int64_t count, const Axis& along, int64_t apart) {
      kernel(src + first * row.stride[kSrc], dst + first * row.stride[kDst], program, count, apart * along.stride[kSrc],
             apart * along.stride[kDst]);
    };
    if (box.along_dst.count == 1) {
      unit(rows.begin, units, row, steps);
    } else {
      for (int64_t u = 0; u < units; ++u) unit(rows.begin + u * steps, cols.count(), col, 1);
    }
    if (rest > 0) unit(last - steps, cols.count(), col, 1);
  });
}

}  // namespace relayout::cpu
