// Plans of images: see image_plan.h.
#include "tools/imaging/image_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "relayout/opencl/image_planner.h"

namespace relayout::tools {
namespace {

/// Several images that hold the tensor together.
struct Split {
  std::string name;
  std::vector<opencl::ImagePart> parts;
};

struct PlannedImages {
  std::vector<opencl::ImageChoice> choices;  // those that fit first
  bool fits = false;                         // one of them, as a whole
  std::optional<Split> split;                // where none does, but parts do
  std::string no_split{};                    // why no parts do either
};

opencl::ImageLimits limits_of(const ImageTarget& target) { return target.limits.value_or(opencl::ImageLimits{}); }

std::vector<opencl::ImageChoice> choices_for(const PlanQuestion& question, const ImageTarget& target) {
  if (!question.format) {
    std::vector<opencl::ImageChoice> out =
        opencl::plan_images(question.dims, question.channel, limits_of(target), target.pitch_alignment);
    if (out.empty()) {
      usage_error(fmt::format("--dims {}: no image of MACE has {}; give a LAYOUT", join(question.dims),
                              counted(question.dims.size(), "dim")),
                  "--dims", join(question.dims));
    }
    return out;
  }
  const opencl::Image image = target.with_pitch(
      from_command_line([&] { return opencl::Image::make(*question.format, question.dims, question.channel); }));
  const std::optional<Error> refusal = target.refusal(image);
  return {{question.format->text(), image, refusal ? refusal->message() : ""}};
}

/// Finds the layout that needs the fewest parts, the first of several, or why the first one has none.
void find_split(const PlanQuestion& question, const ImageTarget& target, PlannedImages& out) {
  std::optional<Split>& best = out.split;
  for (const opencl::ImageChoice& choice : out.choices) {
    if (!choice.image) continue;
    try {
      std::vector<opencl::ImagePart> parts = opencl::split_image(
          choice.image->format(), question.dims, question.channel, limits_of(target), target.pitch_alignment);
      if (!best || parts.size() < best->parts.size()) best = Split{choice.name, std::move(parts)};
    } catch (const Error& error) {
      if (error.code() != ErrorCode::limit) throw;  // a single block is too large, or there are too many parts
      if (out.no_split.empty()) out.no_split = error.message();
    }
  }
}

PlannedImages planned(const PlanQuestion& question, const ImageTarget& target) {
  PlannedImages out{choices_for(question, target)};
  // A device that has no such texels takes no part either.
  const std::optional<Error> no_texels = target.refusal(question.channel);
  for (opencl::ImageChoice& choice : out.choices) {
    if (no_texels && choice.image) choice.refusal = no_texels->message();
    out.fits = out.fits || choice.refusal.empty();
  }
  if (!out.fits && !no_texels) find_split(question, target, out);
  return out;
}

/// "n 0, h 16 to 31": the indices of each dim that is cut.
std::string part_text(const opencl::ImagePart& part, const Dims& whole, std::string_view letters) {
  std::string out;
  for (int d = 0; d < whole.size(); ++d) {
    const int64_t extent = part.image.dims()[d];
    if (extent == whole[d]) continue;
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", letters[static_cast<std::size_t>(d)], part.begin[d]);
    if (extent > 1) out += fmt::format(" to {}", part.begin[d] + extent - 1);
  }
  return out;
}

std::string split_text(const Split& split) {
  static constexpr std::size_t kShown = 12;
  const opencl::Image& last = split.parts.back().image;
  Dims whole = last.dims();
  for (int d = 0; d < whole.size(); ++d) whole[d] += split.parts.back().begin[d];
  const std::string letters = last.format().dim_names(whole.size());
  std::string out = fmt::format("  {} in {}:\n", split.name, counted(std::ssize(split.parts), "image"));
  for (std::size_t i = 0; i < std::min(kShown, split.parts.size()); ++i) {
    const opencl::Image& image = split.parts[i].image;
    out += fmt::format("    {:>7} x {:<7}  {}\n", image.width(), image.height(),
                       part_text(split.parts[i], whole, letters));
  }
  if (split.parts.size() > kShown) out += fmt::format("    and {} more\n", split.parts.size() - kShown);
  return out;
}

std::string planned_text(const PlanQuestion& question, const ImageTarget& target, const PlannedImages& plan) {
  std::string out =
      bold(fmt::format("{} as {}  {}", name(question.dtype), cl_name(question.channel), dims_text(question.dims))) +
      "\n\n";
  std::size_t width = 6;
  for (const opencl::ImageChoice& choice : plan.choices) width = std::max(width, choice.name.size());
  out +=
      bold(fmt::format("  {:<{}}  {:>17}  {:>10}  {:>7}  fits", "layout", width, "texels", "memory", "waste")) + "\n";
  for (const opencl::ImageChoice& choice : plan.choices) {
    out += fmt::format("  {:<{}}", choice.name, width);
    if (choice.image) {
      const opencl::Image& image = *choice.image;
      out += fmt::format("  {:>17}  {:>10}  {:>5.1f} %  {}\n", fmt::format("{} x {}", image.width(), image.height()),
                         size_text(image.bytes()), 100 * image.waste(),
                         !target.limits           ? "?"
                         : choice.refusal.empty() ? "yes"
                                                  : "no");
    } else {
      out += "  none: " + choice.refusal + "\n";
    }
  }
  out += "\n" + target_text(target);
  if (plan.fits) return out;
  if (!plan.split) {
    out += labelled("fits", "no: " + plan.choices.front().refusal);
    return plan.no_split.empty() ? out : out + labelled("split", "no: " + plan.no_split);
  }
  return out + "\n" + split_text(*plan.split);
}

Json planned_json(const PlanQuestion& question, const ImageTarget& target, const PlannedImages& plan) {
  Json out = {{"dims", json_of(question.dims)}, {"dtype", name(question.dtype)}, {"channel", name(question.channel)}};
  out["choices"] = Json::array();
  for (const opencl::ImageChoice& choice : plan.choices) {
    Json one = {{"layout", choice.name}};
    if (choice.image) {
      one["width"] = choice.image->width();
      one["height"] = choice.image->height();
      one["row_pitch_bytes"] = choice.image->row_pitch_bytes();
      one["bytes"] = choice.image->bytes();
      one["waste"] = choice.image->waste();
    }
    one["fits"] = target.limits || !choice.image ? Json(choice.refusal.empty()) : Json(nullptr);
    one["problem"] = choice.refusal.empty() ? Json(nullptr) : Json(choice.refusal);
    out["choices"].push_back(std::move(one));
  }
  out["split"] = nullptr;
  out["no_split"] = plan.split || plan.no_split.empty() ? Json(nullptr) : Json(plan.no_split);
  if (plan.split) {
    Json parts = Json::array();
    for (const opencl::ImagePart& part : plan.split->parts) {
      parts.push_back({{"begin", json_of(part.begin)},
                       {"dims", json_of(part.image.dims())},
                       {"width", part.image.width()},
                       {"height", part.image.height()}});
    }
    out["split"] = {{"layout", plan.split->name}, {"parts", std::move(parts)}};
  }
  add_target(out, target);
  out["fits"] = target.limits ? Json(plan.fits) : Json(nullptr);
  return out;
}

}  // namespace

int plan_image(const PlanQuestion& question, const ImageTarget& target, bool json) {
  const PlannedImages plan = planned(question, target);
  write_stdout(json ? json_text(planned_json(question, target, plan)) : planned_text(question, target, plan));
  return plan.fits ? kOk : kDiffers;
}

}  // namespace relayout::tools
