// Sound: c channels of t samples each. Interleaved frames are what WAV files and devices have, planes what filters and
// networks take.
//
//     audio:planar        [C][T]
//     audio:interleaved   [T][C]
//
// Source: FFmpeg, libavutil/samplefmt.h (planar formats are those whose name ends in p).
#include "relayout/core/notations/systems/system.h"

namespace relayout::systems {
namespace {

constexpr SystemName kAudio[] = {{"planar", "ab", "ct"}, {"interleaved", "ba", "ct"}};

}  // namespace

const NamedSystem& audio() {
  static constexpr NamedSystem kSystem{"audio", "Audio", kAudio};
  return kSystem;
}

}  // namespace relayout::systems
