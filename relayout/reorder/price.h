// The facts that plans are priced by, each one number with its unit (internal to reorder). cached_price.h says what the
// blocks of a box take in the first-level cache, and cost.cc adds what memory takes.
//
// What memory and the caches take differs from machine to machine (Prices). It was found on two machines with AVX-512,
// a 4th-generation EPYC and an Intel Xeon whose last level is slow and shared; speeds that were measured on the machine
// at hand (Machine::speeds) take their place. What kernels take is that of the Xeon, found with reorders of random
// shapes; other machines differ by a factor that all kernels have in common. docs/lab/plan-cost.md has the figures.
#pragma once

#include <array>

#include "relayout/reorder/machine.h"

namespace relayout {

/// Nanoseconds that each byte of both sides waits if they exceed the first level, the second, and Machine::far().
struct Waits {
  double beyond_first, beyond_second, far_beyond;
};

/// What differs from machine to machine.
struct Prices {
  /// What the times of kernels are multiplied by.
  double kernels;
  /// Bytes a nanosecond that one thread writes past the caches, and reads from memory and from the last level.
  double write, read, read_l3;
  Waits waits;
};
/// The prices of the two machines: one with a fast last level, and one whose last level is slow and shared by many
/// cores.
inline constexpr Prices kFastL3{1, 25, 50, 130, {0.006, 0.005, 0.005}},
    kSlowSharedL3{1, 23, 23, 35, {0.008, 0.016, 0.012}};

/// The prices of a machine, by its measured speeds where it has some.
inline Prices prices_of(const Machine& machine) {
  Prices out = machine.slow_shared_l3() ? kSlowSharedL3 : kFastL3;
  const auto take = [](double& price, double measured) { price = measured > 0 ? measured : price; };
  const Speeds& speeds = machine.speeds;
  take(out.write, speeds.write);
  take(out.read, speeds.read);
  take(out.read_l3, speeds.read_l3);
  take(out.waits.beyond_first, speeds.beyond_first);
  take(out.waits.beyond_second, speeds.beyond_second);
  take(out.waits.far_beyond, speeds.far_beyond);
  take(out.kernels, speeds.kernels);
  return out;
}

/// Nanoseconds in the first level, and shares of memory's time past the caches.
namespace price {

/// To start a reorder, and a box.
inline constexpr double kRun = 3, kBox = 2;
/// To start a block of transposed squares of registers with strides or lists, of interleaved rows, of tiles of
/// registers, of copied pieces, of long runs, of single elements, and a chunk of stages.
inline constexpr double kEvenBlock = 42, kListedBlock = 40, kInterleavedBlock = 9, kRegisterBlock = 34, kCopyBlock = 22,
                        kLongBlock = 40, kGatherBlock = 20, kChunk = 30;
/// To list where a row or a column of several axes starts; and to read where a row or column of a tile starts.
inline constexpr double kListed = 0.3, kStart = 0.45;

/// By log2 of an element's bytes: to transpose a square of registers of 16 bytes, where both sides step evenly, where
/// one takes lists of where rows and columns start, and by tiles of registers whose runs lie anywhere; and a square of
/// whole lines, which has 16 registers a side, with lists.
using BySize = std::array<double, 5>;
inline constexpr BySize kEvenTile{6.2, 2.75, 0.97, 0.36, 0.36}, kListedTile{6, 2.7, 2.4, 0.4, 0.4},
    kRegisterTile{13, 4.4, 1.9, 1, 0.5}, kListedLines{136, 27, 20, 6, 6};
/// How many times as long a square with lists takes of which so few rows or columns are used.
inline constexpr double kFewInTile = 2;
/// To reach a line of a row or a column, of elements of less than 4 bytes and of larger ones, where rows and columns
/// lie pages apart and a block has more of them than the first level of the TLB has entries.
inline constexpr double kFarNarrow = 8, kFarWide = 2;
inline constexpr int64_t kTlbEntries = 64;
/// To interleave a line.
inline constexpr double kInterleavedLine = 1;

/// To start a row of pieces; to copy a piece of up to 32 bytes, and each 32 bytes of longer ones; to move an element
/// by itself.
inline constexpr double kRow = 0.5, kPiece = 0.45, kHalfLine = 0.2, kElement = 0.6;
/// To start a long run, and to copy a line of it.
inline constexpr double kRunStart = 16, kLine = 0.33;
/// To start a run that repeats one piece or fills padding, and to fill a line of it.
inline constexpr double kRepeated = 1, kFilledLine = 0.3;
/// To move a sub-byte element that is not joined to bytes, and to fill one.
inline constexpr double kSubByte = 0.5;

/// To start a block that is converted by way of a buffer, and to move a piece to it or from it; and to convert a piece
/// of whole lines straight to where it is written past the caches.
inline constexpr double kBufferedBlock = 180, kBufferedPiece = 1.5, kStreamedPiece = 5;
/// To start the conversion of a run; what a value adds whose neighbours have other attribute values.
inline constexpr double kConvertedRun = 3.5, kVaried = 0.45;
/// To convert a value: for each byte of the wider type; by a look into a table of bytes.
inline constexpr double kByte = 0.015, kLookedUp = 0.03;
/// What is added for types that have no instruction of their own: to make bf16 and the two types of a byte, to read
/// f8_e4m3, and for integers of 64 bits beside floating values.
inline constexpr double kToBf16 = 0.05, kToE5m2 = 0.16, kToE4m3 = 0.1, kFromE4m3 = 0.08, kWideInteger = 0.1;
/// What attributes add: in registers, and where values go through memory step by step.
inline constexpr double kComputed = 0.03, kBySteps = 0.3;
/// How many times as long conversions take in registers that are not those of AVX-512.
inline constexpr double kNarrowRegisters = 2;

/// To call the kernel of line programs, and to start a unit; to permute a window of 64 bytes, or one of 16, to start a
/// line of 16, and (estimated) to write a line that has no window.
inline constexpr double kCall = 0.4, kUnit = 0.55, kWindow = 0.84, kNarrowWindow = 0.5, kNarrowLine = 0.5,
                        kPaddingLine = 0.3;

/// Of generated code (cpu/generated): to call it, and to start the loop of a pattern; to store a line, and what is
/// added for a part of one; to load a window of 64 bytes as the first one of a line, and to load one to where its bytes
/// come to lie; to permute one by fours of bytes and by bytes; and what a byte of both sides waits beyond three
/// quarters of the first level.
inline constexpr double kCodeCall = 4, kPattern = 2.4, kCodeLine = 0.2, kCodePart = 0.06, kLoaded = 0.05,
                        kShifted = 0.3, kByFours = 0.23, kByBytes = 0.29, kCodeWait = 0.0104;

/// To start a stretch of a chunk of stages; and its bytes that are read or written a nanosecond.
inline constexpr double kStretch = 3, kBuffered = 16;

/// Past the caches: to start a block; to fetch a line for a single element; to write the parts of lines that a run
/// shares with others, and those at the ends of a region that a line program does.
inline constexpr double kPastBlock = 20, kFetched = 6, kSharedLine = 100, kRegionEnds = 300;
/// The share of memory's time past the caches that passes beside a kernel's; and the share of the read rate that is
/// left where nothing is fetched ahead.
inline constexpr double kBesideMemory = 0.3, kUnfetched = 0.6;
/// How many times as long as its bytes alone a box takes that is written past the caches; where what it writes together
/// starts anywhere in lines; where rows and columns lie pages apart; and where transposed elements have less than 4
/// bytes.
inline constexpr double kPastCache = 1.1, kAnywhere = 1.25, kFarApart = 1.15, kSmallElements = 1.1;
/// Bytes and gaps of the source together count at most so many times its bytes.
inline constexpr double kMostSpread = 4;

}  // namespace price

/// A count, to be multiplied by a price.
inline double number(int64_t count) { return static_cast<double>(count); }

}  // namespace relayout
