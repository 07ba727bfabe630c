// What programs do not read: assets, and how the module is trained.
#include "module/decoder.h"

#include <cmath>

namespace vx {

Status Decoder::assets(const format::Module &module) {
  VX_RETURN_IF_ERROR(
      decodeEach(module.assets(), data.assets, [&](const format::Asset &source, Asset &out, uint32_t i) -> Status {
        VX_RETURN_IF_ERROR(spend(sizeof(Asset)));
        VX_RETURN_IF_ERROR(name(source.name(), fmt::format("asset {}", i), out.name));
        auto decodeOne = [&]() -> Status {
          VX_RETURN_IF_ERROR(text(source.kind(), out.kind));
          out.section = source.section();
          out.offset = source.offset();
          out.size = source.size();
          return insideSection(out.section, SectionKind::Assets, out.offset, out.size);
        };
        return decodeOne().addContext(fmt::format("asset '{}'", out.name));
      }));
  return checkUnique(data.assets, "assets");
}

Status Decoder::training(const format::Training &source, Training &result) {
  auto index = [&](std::string_view what, int64_t number, size_t count, std::string_view of,
                   std::optional<uint32_t> &out) -> Status {
    if (number == -1)
      return okStatus();
    if (number < -1 || static_cast<uint64_t>(number) >= count)
      return failure(VX_INVALID_MODULE, "{}: {} {} does not exist, there are {}", what, of, number, count);
    out = static_cast<uint32_t>(number);
    return okStatus();
  };
  const size_t functions = data.functions.size();
  VX_RETURN_IF_ERROR(index("train step", source.train_step(), functions, "function", result.trainStep));
  VX_RETURN_IF_ERROR(index("evaluate", source.evaluate(), functions, "function", result.evaluate));
  VX_RETURN_IF_ERROR(index("predict", source.predict(), functions, "function", result.predict));
  VX_RETURN_IF_ERROR(index("backward", source.backward(), functions, "function", result.backward));
  VX_RETURN_IF_ERROR(index("step", source.step(), functions, "function", result.step));
  VX_RETURN_IF_ERROR(index("skeleton", source.skeleton(), data.assets.size(), "asset", result.skeleton));
  VX_RETURN_IF_ERROR(text(source.optimizer(), result.optimizer));
  VX_RETURN_IF_ERROR(text(source.loss(), result.loss));
  if (!(source.rate() >= 0) || std::isinf(source.rate()))
    return failure(VX_INVALID_MODULE, "the learning rate is {}, expected a number of 0 or more", source.rate());
  result.rate = source.rate();

  const Function *step = result.trainStep ? &data.functions[*result.trainStep] : nullptr;
  std::vector<bool> seen(step ? step->inputs.size() : 0);
  // An input is fed by one: the user's data, or a hyperparameter.
  auto input = [&](uint32_t number) -> Status {
    VX_RETURN_IF_ERROR(spend(sizeof(Hyper)));
    if (number >= seen.size())
      return failure(VX_INVALID_MODULE, "input {} of the train step does not exist, there are {}", number, seen.size());
    if (seen[number])
      return failure(VX_INVALID_MODULE, "input {} of the train step is named twice", number);
    seen[number] = true;
    return okStatus();
  };
  if (source.inputs())
    for (uint32_t number : *source.inputs()) {
      VX_RETURN_IF_ERROR(input(number));
      result.inputs.push_back(number);
    }
  if (source.hypers())
    for (const format::Hyper *hyper : *source.hypers()) {
      if (hyper->kind() > format::HyperKind::Scale)
        return failure(VX_INVALID_MODULE, "kind of hyperparameter has the unknown number {}",
                       static_cast<int>(hyper->kind()));
      VX_RETURN_IF_ERROR(input(hyper->input()));
      result.hypers.push_back({static_cast<HyperKind>(hyper->kind()), hyper->input()});
    }
  if (source.metrics())
    for (uint32_t number : *source.metrics()) {
      VX_RETURN_IF_ERROR(spend(sizeof(uint32_t)));
      if (!step || number >= step->outputs.size())
        return failure(VX_INVALID_MODULE, "metric: output {} of the train step does not exist, there are {}", number,
                       step ? step->outputs.size() : 0);
      result.metrics.push_back(number);
    }
  if (const auto *counts = source.counts(); counts && counts->size() > 0) {
    if (counts->size() != result.metrics.size())
      return failure(VX_INVALID_MODULE, "the train step has {} metrics and {} counts of them, expected equal numbers",
                     result.metrics.size(), counts->size());
    for (int32_t number : *counts) {
      VX_RETURN_IF_ERROR(spend(sizeof(int32_t)));
      VX_RETURN_IF_ERROR(
          index("count of a metric", number, step->outputs.size(), "output", result.counts.emplace_back()));
    }
  }
  return okStatus();
}

const char *hyperKindName(HyperKind kind) {
  static const char *const names[] = {"rate", "seed", "scale"};
  return names[static_cast<size_t>(kind)];
}

} // namespace vx
