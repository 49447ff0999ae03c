// What the runners of all methods offer (internal to cpu); the files have the methods' names.
//
//     make(context, loops, method, block)           one block through the cache, or into an image in the cache
//     stream(context, loops, method, block)         one block straight past the cache, by kernels that write whole
//                                                   lines from registers; false, and nothing is done, where there is
//                                                   none
//     carry(context, loops, method, block, cols)    the same for rows that start anywhere in lines
//     run(context, loops, method, tables, begin, end)    whole ranges of blocks, for methods that have a way of their
//                                                   own; false, and nothing is done, where it does not suit the box
//     run_all(context, loops, method, tables, begin, end)    the same, for methods whose only way it is
//
// A new method needs make() or run_all(); without either, run_blocks.cc does not compile.
#pragma once

#include "relayout/cpu/runners/runner.h"

namespace relayout::cpu {

void make(const RunContext& context, const Loops& loops, const LongCopy& method, const Block& block);
void make(const RunContext& context, const Loops& loops, const RepeatedRuns& method, const Block& block);
void make(const RunContext& context, const Loops& loops, const CopiedPieces& method, const Block& block);
void make(const RunContext& context, const Loops& loops, const Transposition& method, const Block& block);
void make(const RunContext& context, const Loops& loops, const Gather& method, const Block& block);
void make(const RunContext& context, const Loops& loops, const RegisterTiles& method, const Block& block);
void make(const RunContext& context, const Loops& loops, const SubByte& method, const Block& block);
void make(const RunContext& context, const Loops& loops, const ConvertedRuns& method, const Block& block);
void make(const RunContext& context, const Loops& loops, const ConvertedTransposition& method, const Block& block);
void make(const RunContext& context, const Loops& loops, const ConvertedElements& method, const Block& block);
/// Fills a block that starts with column `first_col` of its region.
void fill(const RunContext& context, const Loops& loops, const Fill& method, const Block& block, int64_t first_col);

bool stream(const RunContext& context, const Loops& loops, const LongCopy& method, const Block& block);
bool stream(const RunContext& context, const Loops& loops, const RepeatedRuns& method, const Block& block);
bool stream(const RunContext& context, const Loops& loops, const CopiedPieces& method, const Block& block);
bool stream(const RunContext& context, const Loops& loops, const Transposition& method, const Block& block);
bool stream(const RunContext& context, const Loops& loops, const ConvertedRuns& method, const Block& block);
bool stream(const RunContext& context, const Loops& loops, const ConvertedTransposition& method, const Block& block);
bool stream(const RunContext& context, const Loops& loops, const ConvertedElements& method, const Block& block);
inline bool stream(const RunContext&, const Loops&, const auto&, const Block&) { return false; }

bool carry(const RunContext& context, const Loops& loops, const Transposition& method, const Block& block,
           const IndexRange& cols);
bool carry(const RunContext& context, const Loops& loops, const ConvertedTransposition& method, const Block& block,
           const IndexRange& cols);
inline bool carry(const RunContext&, const Loops&, const auto&, const Block&, const IndexRange&) { return false; }

bool run(const RunContext& context, const Loops& loops, const Transposition& method, const Tables& tables,
         int64_t begin, int64_t end);
void run_all(const RunContext& context, const Loops& loops, const ProgrammedLines& method, const Tables& tables,
             int64_t begin, int64_t end);
/// The same without Kernels::flush().
void run_program(const RunContext& context, const Loops& loops, const ProgrammedLines& method, const Tables& tables,
                 int64_t begin, int64_t end);
void run_all(const RunContext& context, const Loops& loops, const Stages& method, const Tables& tables, int64_t begin,
             int64_t end);
void run_all(const RunContext& context, const Loops& loops, const TileRuns& method, const Tables& tables, int64_t begin,
             int64_t end);
inline bool run(const RunContext&, const Loops&, const auto&, const Tables&, int64_t, int64_t) { return false; }

}  // namespace relayout::cpu
