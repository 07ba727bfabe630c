// Chooses what a training step recomputes by what its arena takes on each target.
#include "vx/Driver/Compilation.h"

#include "vx/Dialect/VX/IR/UserText.h"
#include "vx/Dialect/VXRT/IR/VXRTDialect.h"
#include "vx/Driver/RunPasses.h"
#include "vx/Memory/Expressions.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/ScopeExit.h"

using namespace mlir;

namespace vx {

std::vector<std::string> Compilation::getPlannedSizes(ModuleOp module) const {
  constexpr int64_t kLargestEnd = 1 << 16; // a larger one is a formality, as for the plan of an arena
  auto training = module->getAttrOfType<TrainingAttr>(kTrainingAttr);
  auto step = training && training.getTrainStep() ? module.lookupSymbol<func::FuncOp>(training.getTrainStep().getAttr())
                                                  : func::FuncOp();
  StringAttr batch;
  if (step && step.getNumArguments() > 0)
    if (auto type = dyn_cast<RankedTensorType>(step.getArgumentTypes().front()); type && type.getRank() > 0)
      if (DimAttr rows = getDim(type, 0))
        batch = rows.asSymbol();
  std::vector<std::string> sizes;
  for (auto symbol : module.getOps<SymbolOp>()) {
    int64_t size = 8;
    if (symbol.getNameAttr() == batch && options.plannedBatch > 0)
      size = options.plannedBatch;
    else if (static_cast<int64_t>(symbol.getMax()) <= kLargestEnd)
      size = symbol.getMax();
    for (const DimOption &dim : options.dims)
      if (dim.name == symbol.getName() && !dim.values.empty())
        size = *llvm::max_element(dim.values);
    sizes.push_back(symbol.getName().str() + "=" + std::to_string(size));
  }
  return sizes;
}

namespace {

/// The bytes of a program's arena at these sizes; nothing where only the run tells them.
std::optional<uint64_t> getArenaBytes(vxrt::ProgramOp program, const llvm::StringMap<int64_t> &sizes) {
  DimAttr size = program->getAttrOfType<DimAttr>(vxrt::kArenaSizeAttr);
  if (!size)
    program.walk([&](vxrt::ArenaReserveOp reserve) { size = EntryExpressions().get(reserve.getSize()); });
  if (!size)
    return std::nullopt;
  std::optional<int64_t> bytes = size.evaluate([&](StringRef name) -> std::optional<int64_t> {
    auto known = sizes.find(name);
    return known == sizes.end() ? std::nullopt : std::optional(known->second);
  });
  return bytes && *bytes >= 0 ? std::optional<uint64_t>(*bytes) : std::nullopt;
}

} // namespace

Outcome Compilation::measureArena(ModuleOp module, ArenaNeed &need) {
  need = {};
  llvm::StringMap<int64_t> sizes;
  for (const std::string &text : getPlannedSizes(module)) {
    auto [name, number] = StringRef(text).rsplit('=');
    number.getAsInteger(10, sizes[name]);
  }
  auto training = module->getAttrOfType<TrainingAttr>(kTrainingAttr);
  std::vector<Bucket> buckets;
  if (Outcome outcome = optimise(module, buckets); outcome != Outcome::Done)
    return outcome;
  const Phase stop = std::exchange(options.stopAfter, Phase::Target); // no text of what is only tried
  const llvm::scope_exit restore([&] { options.stopAfter = stop; });
  for (const std::string &name : options.targets) {
    const TargetBackend *backend = registry.lookup(name);
    std::string error, text;
    auto specs = backend->variants(options.variants[name], error);
    if (failed(specs)) {
      emitError(UnknownLoc::get(module.getContext())) << error;
      return Outcome::Usage;
    }
    std::vector<OwningOpRef<ModuleOp>> scheduled;
    if (Outcome outcome = scheduleFor(*backend, *specs, buckets, scheduled, text); outcome != Outcome::Done)
      return outcome;
    for (auto [bucket, schedule] : llvm::zip(buckets, scheduled))
      for (auto program : schedule->getOps<vxrt::ProgramOp>()) {
        if (!llvm::is_contained({training.getTrainStep(), training.getBackward()},
                                FlatSymbolRefAttr::get(program.getSymNameAttr())))
          continue;
        std::optional<uint64_t> bytes = getArenaBytes(program, sizes);
        if (!bytes) {
          emitError(UnknownLoc::get(module.getContext()))
              << "--memory: expected an arena of known size, got one of '" << program.getSymName()
              << "' with a size that depends on the data of a run";
          return Outcome::Unsupported;
        }
        if (*bytes > need.bytes || need.function.empty())
          need = {*bytes, program.getSymName().str(), name};
      }
  }
  return Outcome::Done;
}

Outcome Compilation::fitMemory(ModuleOp module) {
  // Each try estimates less, whatever the budget is, so that the least that is told works when it is asked for.
  constexpr double kStep = 0.93;
  const auto budget = static_cast<uint64_t>(options.memory);
  OwningOpRef<ModuleOp> before = cast<ModuleOp>(module->clone());
  int64_t estimate = 0;
  ArenaNeed need, first, least;
  for (int tries = 0;; ++tries) {
    if (tries > 0) {
      OwningOpRef<ModuleOp> again = cast<ModuleOp>(before.get()->clone());
      module.getBodyRegion().takeBody(again->getBodyRegion());
    }
    results.saved = {};
    GradOptions grad;
    grad.memory = estimate;
    grad.sizes = getPlannedSizes(module);
    grad.saved = &results.saved;
    PassManager pm(module.getContext());
    buildGradPipeline(pm, grad);
    if (failed(runPasses(pm, module)))
      return Outcome::Unsupported;
    if (isCancelled())
      return Outcome::Cancelled;
    if (Outcome outcome = measureArena(module, need); outcome != Outcome::Done)
      return outcome;
    if (tries == 0)
      first = need;
    if (tries == 0 || need.bytes < least.bytes)
      least = need;
    if (need.bytes <= budget)
      break;
    if (tries > 0 && results.saved.isLeast) {
      emitError(UnknownLoc::get(module.getContext()))
          << "--memory: expected at least " << least.bytes << " bytes for the arena of '" << least.function << "' on "
          << least.target << ", got " << budget;
      return Outcome::Usage;
    }
    auto reached = static_cast<double>(results.saved.estimate);
    estimate = std::max<int64_t>(
        1, static_cast<int64_t>(kStep * (tries == 0 ? reached : std::min<double>(reached, estimate))));
  }
  uint64_t recomputed = 0, flops = 0;
  for (const SavedValue &value : results.saved.values) {
    recomputed += value.isRecomputed && !value.isCheap;
    flops += value.flops;
  }
  std::string sizes;
  for (const std::string &size : getPlannedSizes(module))
    sizes += (sizes.empty() ? ", at " : ", ") + size;
  emitNote(UnknownLoc::get(module.getContext()),
           "the arena of '" + Twine(need.function) + "' takes " + Twine(need.bytes) + " bytes, " + Twine(first.bytes) +
               " without --memory" + sizes + "; " + Twine(recomputed) + " values are computed again for it, by " +
               Twine(flops) + " flops");
  return Outcome::Done;
}

} // namespace vx
