#include "vx/Driver/Compilation.h"

#include "KernelCache.h"
#include "vx/Analysis/KernelWork.h"
#include "vx/Codegen/Common/StrategyRemark.h"
#include "vx/Dialect/VX/IR/Constraints.h"
#include "vx/Dialect/VX/IR/SourceLocation.h"
#include "vx/Dialect/VX/IR/UserText.h"
#include "vx/Dialect/VXK/IR/VXKDialect.h"
#include "vx/Dialect/VXRT/IR/VXRTDialect.h"
#include "vx/Driver/RunPasses.h"
#include "vx/Memory/Expressions.h"
#include "vx/Transforms/FusionPasses.h"

#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/ThreadPool.h"
#include "llvm/Support/Threading.h"
#include <atomic>
#include <chrono>
#include <mutex>
#include <numeric>

using namespace mlir;

namespace vx {

//===-- Registry ------------------------------------------------------------------------------===//

void TargetRegistry::add(std::unique_ptr<TargetBackend> backend, void (*registerDialects)(DialectRegistry &)) {
  std::string name = backend->name().str();
  entries[name] = {std::move(backend), registerDialects};
}

const TargetBackend *TargetRegistry::lookup(StringRef name) const {
  auto it = entries.find(name.str());
  return it == entries.end() ? nullptr : it->second.backend.get();
}

std::vector<std::string> TargetRegistry::names() const {
  std::vector<std::string> result;
  for (auto &[name, entry] : entries)
    result.push_back(name);
  return result;
}

static void registerOwnDialects(DialectRegistry &registry) {
  registry.insert<VXDialect, vxk::VXKDialect, vxrt::VXRTDialect, func::FuncDialect>();
}

void TargetRegistry::registerDialects(DialectRegistry &registry) const {
  registerOwnDialects(registry);
  for (auto &[name, entry] : entries)
    entry.registerDialects(registry);
}

void TargetRegistry::registerDialects(DialectRegistry &registry, StringRef target) const {
  registerOwnDialects(registry);
  entries.at(target.str()).registerDialects(registry);
}

//===-- Phases --------------------------------------------------------------------------------===//

Compilation::Compilation(const TargetRegistry &targets, CompilationOptions settings)
    : registry(targets), options(std::move(settings)), cache(std::make_unique<KernelCache>(options.cacheFolder)) {
  results.assumptions = options.assumptions;
}

Compilation::~Compilation() = default;

bool Compilation::isCancelled() {
  std::lock_guard lock(cancellation);
  wasCancelled = wasCancelled || (options.isCancelled && options.isCancelled());
  return wasCancelled;
}

namespace {

std::string print(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  module.print(os, OpPrintingFlags().elideLargeElementsAttrs(64).elideLargeResourceString(64));
  return text;
}

std::string toBytecode(ModuleOp module) {
  std::string bytes;
  llvm::raw_string_ostream os(bytes);
  (void)writeBytecodeToFile(module, os); // only older forms than this compiler's can lack something
  return bytes;
}

SymbolOp lookupSymbol(ModuleOp module, StringRef name) {
  for (auto symbol : module.getOps<SymbolOp>())
    if (symbol.getName() == name)
      return symbol;
  return {};
}

/// Error about a `--dim`: what the model has instead.
LogicalResult reportUnknownDim(ModuleOp module, StringRef name) {
  std::string known;
  for (auto symbol : module.getOps<SymbolOp>())
    if (!symbol.getDataDependent())
      known += (known.empty() ? "" : ", ") + symbol.getName().str();
  return emitError(UnknownLoc::get(module.getContext())) << "--dim: expected a dimension of the model, got '" << name
                                                         << "'; it has: " << (known.empty() ? "none" : known);
}

} // namespace

/// A name of several inputs whose sizes may differ stands for all of them: "n", "n'", "n''". What is given for one of
/// them by itself counts for that one.
static void addNamesakes(ModuleOp module, std::vector<DimOption> &dims) {
  llvm::StringSet<> given;
  for (const DimOption &dim : dims)
    given.insert(dim.name);
  for (size_t i = 0, count = dims.size(); i < count; ++i) {
    dims[i].namesakes.clear();
    for (auto symbol : module.getOps<SymbolOp>()) {
      StringRef rest = symbol.getName();
      if (!rest.consume_front(dims[i].name) || rest.empty() || rest.find_first_not_of('\'') != StringRef::npos ||
          symbol.getDataDependent() || given.contains(symbol.getName()))
        continue;
      dims[i].namesakes.push_back(symbol.getName().str());
      if (dims[i].values.size() > 1)
        continue; // a version has one size for all of them
      DimOption own = dims[i];
      own.name = symbol.getName().str();
      own.namesakes.clear();
      dims.push_back(std::move(own));
    }
  }
}

Outcome Compilation::applyRanges(ModuleOp module) {
  addNamesakes(module, options.dims);
  for (const DimOption &dim : options.dims) {
    SymbolOp symbol = lookupSymbol(module, dim.name);
    if (!symbol || symbol.getDataDependent()) {
      (void)reportUnknownDim(module, dim.name);
      return Outcome::Usage;
    }
    auto isAllowed = [&](int64_t value) {
      return value >= symbol.getMinAttr().getInt() && value <= symbol.getMaxAttr().getInt() &&
             value % symbol.getMultipleAttr().getInt() == 0;
    };
    SmallVector<int64_t> values(dim.values.begin(), dim.values.end());
    if (dim.range)
      values = {std::max(dim.range->min, static_cast<int64_t>(symbol.getMin())), dim.range->max};
    if (dim.range && dim.range->multiple > 1 && dim.range->max <= static_cast<int64_t>(symbol.getMax())) {
      // Of both numbers; what does not fit 64 bits is above all sizes.
      int64_t own = symbol.getMultiple(), both;
      bool isTooLarge = llvm::MulOverflow(dim.range->multiple / std::gcd(dim.range->multiple, own), own, both);
      int64_t most = isTooLarge ? 0 : values[1] / both * both;
      if (isTooLarge || most < values[0]) {
        emitError(UnknownLoc::get(module.getContext()))
            << "--dim: '" << dim.name << "': expected a range with a multiple of " << dim.range->multiple
            << (own > 1 ? " and of " + std::to_string(own) : "") << ", got " << values[0] << " to " << values[1];
        return Outcome::Usage;
      }
      values = {static_cast<int64_t>(llvm::divideCeil(values[0], both)) * both, most};
      symbol.setMultiple(both);
    }
    for (int64_t value : values)
      if (!isAllowed(value)) {
        emitError(UnknownLoc::get(module.getContext()))
            << "--dim: '" << dim.name << "': expected a multiple of " << symbol.getMultiple() << " from "
            << symbol.getMin() << " to " << symbol.getMax() << ", got " << value;
        return Outcome::Usage;
      }
    if (dim.range) {
      symbol.setMin(values[0]);
      symbol.setMax(values[1]);
    }
  }
  return Outcome::Done;
}

namespace {

/// "n=3, m=5"
std::string describeDims(const std::vector<std::pair<std::string, int64_t>> &dims, StringRef is = "=") {
  std::string text;
  for (auto &[name, value] : dims)
    text += (text.empty() ? "" : ", ") + name + is.str() + std::to_string(value);
  return text;
}

/// What a node of the general version wants that never holds for these sizes: no call could choose a version for them.
std::optional<SkippedBucket> findContradiction(ModuleOp general,
                                               const std::vector<std::pair<std::string, int64_t>> &dims) {
  MLIRContext *context = general.getContext();
  llvm::StringMap<DimAttr> values;
  for (auto &[name, value] : dims)
    values[name] = DimAttr::constant(context, value);
  auto replace = [&](DimAttr dim) {
    return dim.substitute([&](StringAttr name) { return values.lookup(name.getValue()); });
  };
  SymbolRanges ranges(general);
  for (auto function : general.getOps<func::FuncOp>())
    for (auto op : function.getOps<ConstraintOp>()) {
      Constraint constraint{op.getKind(), replace(op.getLhs()), replace(op.getRhs())};
      if (decide(constraint, ranges) == false)
        return SkippedBucket{dims, describeSource(op.getLoc()),
                             "needs " + op.getWant().str() + ", got " + constraint.lhs.str() + " and " +
                                 constraint.rhs.str()};
    }
  return std::nullopt;
}

} // namespace

Outcome Compilation::normalise(ModuleOp module) {
  if (Outcome outcome = applyRanges(module); outcome != Outcome::Done)
    return outcome;
  GraphOptions graph;
  graph.strictMath = options.strictMath;
  for (const DimOption &dim : options.dims)
    if (dim.values.size() == 1)
      graph.dims.push_back(dim.name + "=" + std::to_string(dim.values[0]));
  graph.gradientOf = options.gradientOf;
  graph.gradientWrt = options.gradientWrt;
  graph.training = options.training;
  PassManager pm(module.getContext());
  buildGraphPipeline(pm, graph);
  const bool hasBudget = options.memory > 0 && options.training;
  GradOptions grad;
  grad.sizes = getPlannedSizes(module);
  grad.saved = &results.saved;
  if (options.stopAfter != Phase::Graph && !hasBudget)
    buildGradPipeline(pm, grad);
  if (failed(runPasses(pm, module)))
    return Outcome::Unsupported;
  return options.stopAfter != Phase::Graph && hasBudget ? fitMemory(module) : Outcome::Done;
}

Outcome Compilation::optimise(ModuleOp general, std::vector<Bucket> &buckets) {
  results.skipped.clear();
  results.sourceOps = 0;
  std::vector<Bucket::Dims> combinations = {{}};
  for (const DimOption &dim : options.dims) {
    if (dim.values.size() < 2)
      continue;
    std::vector<Bucket::Dims> extended;
    for (const auto &combination : combinations)
      for (int64_t value : dim.values) {
        extended.push_back(combination);
        extended.back().emplace_back(dim.name, value);
        for (const std::string &namesake : dim.namesakes)
          extended.back().emplace_back(namesake, value);
      }
    combinations = std::move(extended);
  }
  if (combinations.front().empty())
    combinations.clear();

  for (const auto &dims : combinations) {
    if (std::optional<SkippedBucket> skipped = findContradiction(general, dims)) {
      results.skipped.push_back(std::move(*skipped));
      continue;
    }
    if (isCancelled())
      return Outcome::Cancelled;
    Bucket bucket{dims, {}};
    if (failed(specialise(general, bucket)))
      return Outcome::Unsupported;
    buckets.push_back(std::move(bucket));
  }
  if (!combinations.empty() && buckets.empty()) {
    const SkippedBucket &first = results.skipped.front();
    emitError(UnknownLoc::get(general.getContext()))
        << "--dim: expected a combination of sizes that the model takes, got none; the first is "
        << describeDims(first.dims) << ": " << first.node << ": " << first.reason;
    return Outcome::Usage;
  }
  if (isCancelled())
    return Outcome::Cancelled;
  Bucket last; // the general version
  if (failed(specialise(general, last)))
    return Outcome::Unsupported;
  last.module->walk([&](Operation *op) { results.sourceOps += isa<VXDialect>(op->getDialect()); });
  buckets.push_back(std::move(last));
  return Outcome::Done;
}

LogicalResult Compilation::specialise(ModuleOp general, Bucket &bucket) {
  bucket.module = cast<ModuleOp>(general->clone());
  OptimisedOptions optimised;
  optimised.strictMath = options.strictMath;
  optimised.precision = options.precision;
  for (auto &[name, value] : bucket.constraints)
    optimised.dims.push_back(name + "=" + std::to_string(value));
  PassManager pm(general.getContext());
  buildOptimisedPipeline(pm, optimised);
  if (failed(runPasses(pm, *bucket.module)))
    return failure();
  // A version keeps the declarations of the symbols that it fixes, since all versions share one signature.
  OpBuilder builder(bucket.module->getBody(), bucket.module->getBody()->begin());
  for (auto symbol : general.getOps<SymbolOp>())
    if (SymbolOp kept = lookupSymbol(*bucket.module, symbol.getName()))
      builder.setInsertionPointAfter(kept);
    else
      builder.clone(*symbol);
  return success();
}

Outcome Compilation::check(ModuleOp module) {
  std::vector<Bucket> buckets;
  options.stopAfter = Phase::Module;
  OwningOpRef<ModuleOp> withoutGradient;
  if (!options.gradientOf.empty())
    withoutGradient = cast<ModuleOp>(module->clone());
  if (Outcome outcome = normalise(module); outcome != Outcome::Done) {
    // Beside the nodes without a gradient those that a target does not take are told.
    options.gradientOf.clear();
    if (outcome == Outcome::Unsupported && withoutGradient)
      (void)check(*withoutGradient);
    return outcome;
  }
  if (Outcome outcome = optimise(module, buckets); outcome != Outcome::Done)
    return outcome;
  bool isSupported = true;
  for (const std::string &name : options.targets) {
    const TargetBackend *backend = registry.lookup(name);
    std::string error;
    auto specs = backend->variants(options.variants[name], error);
    if (failed(specs)) {
      emitError(UnknownLoc::get(module.getContext())) << error;
      return Outcome::Usage;
    }
    buckets.back().module->walk([&](Operation *op) {
      if (isa<VXDialect>(op->getDialect()))
        isSupported &= succeeded(backend->checkSupported(op, specs->front()));
    });
  }
  return isSupported ? Outcome::Done : Outcome::Unsupported;
}

Outcome Compilation::scheduleFor(const TargetBackend &backend, const std::vector<TargetSpec> &specs,
                                 std::vector<Bucket> &buckets, std::vector<OwningOpRef<ModuleOp>> &scheduled,
                                 std::string &text) {
  bool isSupported = true;
  buckets.back().module->walk([&](Operation *op) {
    if (isa<VXDialect>(op->getDialect()))
      isSupported &= succeeded(backend.checkSupported(op, specs.front()));
  });
  if (!isSupported)
    return Outcome::Unsupported;
  for (Bucket &bucket : buckets) {
    if (isCancelled())
      return Outcome::Cancelled;
    OwningOpRef<ModuleOp> module = cast<ModuleOp>(bucket.module.get()->clone());
    PassManager pm(module->getContext());
    buildFusedPipeline(pm, backend, specs.front(), options.strictMath);
    if (options.stopAfter > Phase::Fused)
      buildKernelsPipeline(pm, backend);
    if (options.stopAfter > Phase::Kernels)
      buildSchedulePipeline(pm);
    if (failed(runPasses(pm, *module, Verification::AtTheEnd)))
      return Outcome::Unsupported;
    if (options.stopAfter < Phase::Target && options.toBytecode) {
      text = toBytecode(*module); // the general version comes last
    } else if (options.stopAfter < Phase::Target) {
      text += "// target " + backend.name().str();
      for (auto &[name, value] : bucket.constraints)
        text += ", " + name + " = " + std::to_string(value);
      text += "\n" + print(*module) + "\n";
    }
    scheduled.push_back(std::move(module));
  }
  return Outcome::Done;
}

namespace {

/// How the products of a kernel are computed on a GPU or CPU with these facts; empty where it has none.
std::string describeProducts(KernelOp kernel, const TargetSpec &spec) {
  Operation *anchor = kernel.getAnchor();
  if (!anchor || !anchor->hasTrait<OpTrait::Product>())
    return "";
  Type element = getElementTypeOrSelf(anchor->getOperand(0).getType());
  if (auto factors = anchor->getAttrOfType<TypeAttr>("factors"))
    element = factors.getValue();
  std::string text;
  llvm::raw_string_ostream os(text);
  bool isNarrow = isa<FloatTF32Type, Float16Type, BFloat16Type>(element);
  os << element;
  if (isNarrow && isa<MmaAttr>(kernel.getStrategy()) && spec.matrixUnit.depthOf(element) != 0)
    os << " in matrix units";
  else if (isNarrow)
    os << (element.isTF32() ? " computed as f32" : " widened to f32");
  return text;
}

/// How the schedule of a model uses a kernel.
struct KernelUse {
  uint64_t dispatches = 0, dispatchesAtLoad = 0, dispatchesOnChange = 0;
  SmallVector<DimAttr> callerValues; // of each of the kernel's symbols; null where dispatches differ, or it is data
};

/// Whether the program of a derived value reads variables, by itself or in another one.
bool readsVariables(vxrt::ProgramOp program) {
  return program
      .walk([&](Operation *op) {
        auto derived = dyn_cast<vxrt::DerivedOp>(op);
        return WalkResult(failure(isa<vxrt::VariableOp>(op) ||
                                  (derived && readsVariables(SymbolTable::lookupNearestSymbolFrom<vxrt::ProgramOp>(
                                                  op, derived.getSourceAttr())))));
      })
      .wasInterrupted();
}

llvm::StringMap<KernelUse> collectUses(ModuleOp schedule) {
  llvm::StringMap<KernelUse> uses;
  EntryExpressions expressions;
  schedule.walk([&](vxrt::DispatchOp dispatch) {
    auto kernel = SymbolTable::lookupNearestSymbolFrom<KernelOp>(dispatch, dispatch.getKernelAttr());
    KernelUse &use = uses[kernel.getKey()];
    if (auto program = dispatch->getParentOfType<vxrt::ProgramOp>(); program->hasAttr(vxrt::kDerivedAttr)) {
      ++(readsVariables(program) ? use.dispatchesOnChange : use.dispatchesAtLoad); // of static sizes
      return;
    }
    SmallVector<DimAttr> values;
    for (Value scalar : dispatch.getScalars())
      values.push_back(expressions.get(scalar));
    if (use.dispatches++ == 0)
      use.callerValues = values;
    for (auto [known, value] : llvm::zip(use.callerValues, values))
      if (known != value)
        known = {};
  });
  return uses;
}

std::string inCallerSymbols(DimAttr work, KernelOp kernel, const KernelUse &use) {
  auto rename = [&](StringAttr symbol) -> DimAttr {
    for (auto [own, value] : llvm::zip(kernel.getSymbols(), use.callerValues))
      if (own == symbol)
        return value;
    return {};
  };
  return work.substitute(rename).str();
}

/// Each version of a model is outlined alone, so that two may call different kernels by one name: `kernel` gets another
/// one where `names`, those of the target's kernels so far, has its own.
void nameUniquely(ModuleOp module, KernelOp kernel, llvm::StringSet<> &names) {
  SymbolTable table(module);
  std::string name = kernel.getSymName().str();
  StringRef base = kernel.getSymName().rtrim("0123456789"); // without the number that it got when it was outlined
  base = base.ends_with("_") ? base.drop_back() : kernel.getSymName();
  for (unsigned number = 1; names.contains(name) || (name != kernel.getSymName() && table.lookup(name)); ++number)
    name = (base + "_" + Twine(number)).str();
  if (name != kernel.getSymName())
    (void)table.rename(kernel, name); // the name is free
  names.insert(name);
}

} // namespace

//===-- Kernels -------------------------------------------------------------------------------===//

namespace {

/// One kernel for one variant: compiled on any thread, in a context of its own.
struct KernelJob {
  std::string bytecode;
  std::string key, name;
  const TargetSpec *spec;
  KernelBinary binary;
  std::string text;    // IR of the target phase, when asked for
  std::string errors;  // about the kernel
  std::string failure; // of the machine
  bool isDone = false;
  KernelReport report;
};

/// Notes the strategy that the code of a job follows, where it is another one than was asked for.
class StrategyListener final : public remark::detail::MLIRRemarkStreamerBase {
public:
  explicit StrategyListener(KernelReport &destination) : report(destination) {}

  void streamOptimizationRemark(const remark::detail::Remark &remark) override {
    for (const remark::detail::Remark::Arg &argument : remark.getArgs()) {
      if (argument.key == kTakenStrategy)
        report.takenStrategy = argument.val;
      if (argument.key == kDeclineReason)
        report.declineReason = argument.val;
    }
  }

private:
  KernelReport &report;
};

/// Contexts in which kernels are compiled, one at a time in each. To make one, with all dialects, takes longer than
/// many a kernel, so it serves for the next one.
class KernelContexts {
public:
  explicit KernelContexts(const DialectRegistry &dialects) : dialects(dialects) {}

  std::unique_ptr<MLIRContext> take() {
    {
      std::lock_guard lock(mutex);
      if (!idle.empty())
        return idle.pop_back_val();
    }
    auto context = std::make_unique<MLIRContext>(dialects, MLIRContext::Threading::DISABLED);
    context->loadAllAvailableDialects();
    return context;
  }

  void giveBack(std::unique_ptr<MLIRContext> context) {
    context->setRemarkEngine(nullptr); // it listens for the last kernel
    std::lock_guard lock(mutex);
    idle.push_back(std::move(context));
  }

private:
  const DialectRegistry &dialects;
  std::mutex mutex;
  SmallVector<std::unique_ptr<MLIRContext>> idle;
};

void runJob(KernelJob &job, const TargetBackend &backend, KernelContexts &contexts, KernelCache &cache,
            bool stopAtTarget) {
  auto begin = std::chrono::steady_clock::now();
  auto finish = [&] {
    job.isDone = true;
    job.report.milliseconds =
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
    job.report.binarySize = job.binary.code.size();
  };
  if (!stopAtTarget)
    if (auto cached = cache.load(job.key, *job.spec)) {
      job.binary = std::move(*cached);
      job.report.takenStrategy = job.binary.takenStrategy;
      job.report.declineReason = job.binary.declineReason;
      job.report.fromCache = true;
      return finish();
    }
  std::unique_ptr<MLIRContext> taken = contexts.take();
  llvm::scope_exit back([&] { contexts.giveBack(std::move(taken)); });
  MLIRContext &context = *taken;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error) {
      std::string source =
          getSourceNodes(diagnostic.getLocation()).empty() ? "" : describeSource(diagnostic.getLocation()) + ": ";
      job.errors += (job.errors.empty() ? "" : "\n") + source + describeDiagnostic(diagnostic);
    }
    return success();
  });
  remark::RemarkCategories categories;
  categories.missed = kStrategyRemark.str();
  if (failed(remark::enableOptimizationRemarks(context, std::make_unique<StrategyListener>(job.report),
                                               std::make_unique<remark::RemarkEmittingPolicyAll>(), categories))) {
    job.failure = "cannot listen to what code generation says";
    return;
  }
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(job.bytecode, ParserConfig(&context));
  PassManager pm(&context);
  backend.buildPipeline(pm, *job.spec);
  if (failed(runPasses(pm, *module, Verification::AtTheEnd)))
    return;
  if (stopAtTarget) {
    job.text = print(*module);
    return finish();
  }
  FailureOr<KernelBinary> binary = backend.serialize(*module, *job.spec, job.failure);
  if (failed(binary))
    return;
  job.binary = std::move(*binary);
  job.binary.takenStrategy = job.report.takenStrategy;
  job.binary.declineReason = job.report.declineReason;
  cache.store(job.key, *job.spec, job.binary);
  finish();
}

} // namespace

Outcome Compilation::compileKernels(const TargetBackend &backend, const std::vector<TargetSpec> &allSpecs,
                                    TargetContents &contents, std::string &text) {
  DialectRegistry dialects;
  registry.registerDialects(dialects, backend.name());
  std::vector<KernelJob> jobs;
  llvm::StringMap<KernelUse> uses;
  for (const ScheduledModule &schedule : llvm::reverse(contents.schedules)) // the general one decides
    for (auto &entry : collectUses(schedule.module))
      uses.try_emplace(entry.getKey(), std::move(entry.getValue()));
  std::vector<TargetSpec> specs = allSpecs;
  if (options.variants[backend.name().str()].empty())
    llvm::erase_if(specs, [&](const TargetSpec &spec) { return !backend.needsVariant(contents.kernels, spec); });
  for (const TargetSpec &spec : specs)
    for (KernelOp kernel : contents.kernels) {
      KernelJob job;
      job.key = kernel.getKey().str();
      job.name = kernel.getSymName().str();
      job.spec = &spec;
      job.report.target = spec.target;
      job.report.variant = spec.variant;
      job.report.name = job.name;
      job.report.key = job.key;
      job.report.strategy = describeStrategy(kernel.getStrategy());
      if (auto reason = kernel->getAttrOfType<StringAttr>(kLoopsReasonAttr))
        job.report.loopsReason = reason.str();
      job.report.products = describeProducts(kernel, spec);
      for (std::string &node : getSourceNodes(kernel.getLoc()))
        job.report.sources.push_back(std::move(node));
      const KernelUse &use = uses[job.key];
      KernelWork work = countWork(kernel);
      job.report.dispatches = use.dispatches;
      job.report.dispatchesAtLoad = use.dispatchesAtLoad;
      job.report.dispatchesOnChange = use.dispatchesOnChange;
      job.report.flops = inCallerSymbols(work.flops, kernel, use);
      job.report.bytes = inCallerSymbols(work.bytes, kernel, use);
      OwningOpRef<ModuleOp> single = ModuleOp::create(kernel.getLoc());
      OpBuilder builder(single->getBody(), single->getBody()->begin());
      auto clone = cast<KernelOp>(builder.clone(*kernel));
      clone.setSymName("vx_" + job.key.substr(0, 16));
      llvm::raw_string_ostream os(job.bytecode);
      (void)writeBytecodeToFile(*single, os); // only older forms than this compiler's can lack something
      jobs.push_back(std::move(job));
    }

  bool stopAtTarget = options.stopAfter == Phase::Target;
  std::atomic<size_t> done = 0;
  std::mutex progressMutex;
  {
    KernelContexts contexts(dialects);
    llvm::DefaultThreadPool pool(options.threads ? llvm::hardware_concurrency(options.threads)
                                                 : llvm::hardware_concurrency());
    for (KernelJob &job : jobs)
      pool.async([&] {
        if (isCancelled())
          return;
        runJob(job, backend, contexts, *cache, stopAtTarget);
        std::lock_guard lock(progressMutex);
        progress("compiled " + std::to_string(++done) + " of " + std::to_string(jobs.size()) + " kernels for " +
                 backend.name().str());
      });
    pool.wait();
  }
  if (isCancelled())
    return Outcome::Cancelled;
  bool hasErrors = false;
  for (KernelJob &job : jobs) {
    if (!job.isDone)
      emitError(UnknownLoc::get(contents.kernels.front().getContext()))
          << "kernel '" << job.name << "' (" << job.spec->target << " " << job.spec->variant << "): "
          << (!job.failure.empty()  ? job.failure
              : !job.errors.empty() ? job.errors
                                    : "the target's code was not made, and no reason was given");
    if (!job.failure.empty()) // the same for the others
      return Outcome::Failed;
    hasErrors |= !job.isDone;
    if (stopAtTarget)
      text += "// target " + job.spec->target + ", variant " + job.spec->variant + ", kernel " + job.name + "\n" +
              job.text + "\n";
    results.kernels.push_back(job.report);
  }
  if (hasErrors)
    return Outcome::Unsupported;
  if (stopAtTarget)
    return Outcome::Done;
  size_t next = 0;
  for (const TargetSpec &spec : specs) {
    TargetContents::Variant variant;
    variant.spec = spec;
    std::vector<KernelBinary> binaries;
    for (size_t i = 0; i < contents.kernels.size(); ++i, ++next) {
      variant.entries.push_back(jobs[next].binary.entry);
      binaries.push_back(std::move(jobs[next].binary));
    }
    std::string error;
    FailureOr<LinkedImage> image = backend.link(binaries, spec, error);
    if (failed(image)) {
      emitError(UnknownLoc::get(contents.schedules.front().module->getContext())) << error;
      return Outcome::Failed;
    }
    variant.image = std::move(*image);
    for (std::string &feature : variant.image.requires_)
      if (!llvm::is_contained(variant.spec.requires_, feature))
        variant.spec.requires_.push_back(std::move(feature));
    contents.variants.push_back(std::move(variant));
  }
  return Outcome::Done;
}

//===-- The whole -----------------------------------------------------------------------------===//

Outcome Compilation::run(ModuleOp module, StringRef output, std::string &text) {
  return run(module, output, text,
             [&](ArrayRef<TargetContents> targets, const ModuleWriterOptions &settings, std::string &error) {
               return writeModule(output, targets, settings, error);
             });
}

Outcome Compilation::run(ModuleOp module, ModuleBytes &output, std::string &text) {
  return run(module, "memory", text,
             [&](ArrayRef<TargetContents> targets, const ModuleWriterOptions &settings, std::string &error) {
               return writeModule(output, targets, settings, error);
             });
}

Outcome Compilation::run(ModuleOp module, StringRef destination, std::string &text, WriteFunction write) {
  if (isCancelled())
    return Outcome::Cancelled;
  auto render = [&](ModuleOp of) { return options.toBytecode ? toBytecode(of) : print(of); };
  if (options.stopAfter == Phase::Import) {
    text = render(module);
    return Outcome::Done;
  }
  progress("simplifying the graph");
  if (isCancelled())
    return Outcome::Cancelled;
  if (Outcome outcome = normalise(module); outcome != Outcome::Done)
    return outcome;
  if (options.stopAfter <= Phase::Grad) {
    text = render(module);
    return Outcome::Done;
  }
  std::optional<ExportSkeleton> skeleton;
  if (options.training && options.makeSkeleton && options.stopAfter == Phase::Module) {
    std::string reason;
    skeleton = options.makeSkeleton(module, reason);
    if (!skeleton)
      emitWarning(UnknownLoc::get(module.getContext())) << "the module cannot be exported to ONNX: " << reason;
  }
  std::vector<Bucket> buckets;
  if (Outcome outcome = optimise(module, buckets); outcome != Outcome::Done)
    return outcome;
  if (options.stopAfter == Phase::Optimised) {
    if (options.toBytecode) {
      text = toBytecode(*buckets.back().module);
      return Outcome::Done;
    }
    for (Bucket &bucket : buckets) {
      if (!bucket.constraints.empty())
        text += "// " + describeDims(bucket.constraints, " = ") + "\n";
      text += print(*bucket.module);
    }
    return Outcome::Done;
  }

  std::vector<TargetContents> targets;
  std::vector<std::vector<OwningOpRef<ModuleOp>>> scheduled(options.targets.size());
  std::vector<std::vector<TargetSpec>> allSpecs;
  for (auto [index, name] : llvm::enumerate(options.targets)) {
    const TargetBackend *backend = registry.lookup(name);
    std::string error;
    auto specs = backend->variants(options.variants[name], error);
    if (failed(specs)) {
      emitError(UnknownLoc::get(module.getContext())) << error;
      return Outcome::Usage;
    }
    allSpecs.push_back(std::move(*specs));
    progress("scheduling for " + name);
    if (Outcome outcome = scheduleFor(*backend, allSpecs.back(), buckets, scheduled[index], text);
        outcome != Outcome::Done)
      return outcome;
  }
  if (options.stopAfter < Phase::Target)
    return Outcome::Done;
  // The general version comes last; its constraints are the functions'.
  for (auto program : scheduled.front().back()->getOps<vxrt::ProgramOp>())
    if (auto constraints = program->getAttrOfType<ArrayAttr>(vxrt::kConstraintsAttr))
      for (auto constraint : constraints.getAsRange<DictionaryAttr>())
        results.constraints.push_back({program.getSymName().str(), constraint.getAs<StringAttr>("node").str(),
                                       constraint.getAs<StringAttr>("want").str()});

  for (auto [index, name] : llvm::enumerate(options.targets)) {
    const TargetBackend *backend = registry.lookup(name);
    TargetContents contents;
    contents.target = name;
    contents.triple = allSpecs[index].front().triple;
    llvm::StringSet<> known, names;
    for (auto [bucket, schedule] : llvm::zip(buckets, scheduled[index])) {
      contents.schedules.push_back({*schedule, bucket.constraints});
      for (auto kernel : llvm::make_early_inc_range(schedule->getOps<KernelOp>()))
        if (known.insert(kernel.getKey()).second) {
          nameUniquely(*schedule, kernel, names);
          contents.kernels.push_back(kernel);
        }
      ProgramReport report;
      report.target = name;
      report.constraints = bucket.constraints;
      schedule->walk([&](vxrt::ProgramOp program) {
        uint64_t dispatches = 0;
        program.walk([&](vxrt::DispatchOp) { ++dispatches; });
        if (program->hasAttr(vxrt::kDerivedAttr)) {
          auto type = cast<FunctionType>(program->getAttrOfType<TypeAttr>(vxrt::kFunctionTypeAttr).getValue());
          uint64_t bytes = getStaticSizeInBytes(cast<RankedTensorType>(type.getResult(0)));
          bool changes = readsVariables(program);
          (changes ? report.dispatchesOnChange : report.dispatchesAtLoad) += dispatches;
          (changes ? report.derivedOfVariables : report.derivedConstants) += 1;
          (changes ? report.derivedOfVariablesBytes : report.derivedBytes) += bytes;
          return;
        }
        report.dispatches += dispatches;
        FunctionReport &function = report.functions.emplace_back();
        function.name = program.getSymName().str();
        function.dispatches = dispatches;
        program.walk([&](vxrt::CopyOp) { ++function.copies; });
        program.walk([&](vxrt::SegmentOp) { ++function.segments; });
        // A maximum of many is told by vx-info, term by term.
        auto size = program->getAttrOfType<DimAttr>(vxrt::kArenaSizeAttr);
        report.arenaSize = function.arenaSize = size ? size.str() : "max(...)";
        if (auto bound = program->getAttrOfType<DimAttr>(vxrt::kArenaLowerBoundAttr))
          report.arenaLowerBound = function.arenaLowerBound = bound.str();
      });
      results.programs.push_back(std::move(report));
    }
    if (Outcome outcome = compileKernels(*backend, allSpecs[index], contents, text); outcome != Outcome::Done)
      return outcome;
    targets.push_back(std::move(contents));
  }
  if (std::string problem = cache->problem(); !problem.empty())
    emitWarning(UnknownLoc::get(module.getContext())) << problem;
  if (options.stopAfter == Phase::Target)
    return Outcome::Done;

  progress("writing " + destination.str());
  if (isCancelled())
    return Outcome::Cancelled;
  std::string error;
  bool refused = false;
  ModuleWriterOptions settings{options.modelName,
                               options.externalWeights,
                               options.referencedFiles,
                               skeleton ? &*skeleton : nullptr,
                               options.assets,
                               {},
                               {}};
  if (options.verify)
    settings.verify = [&](const std::string &path) {
      std::string reason = options.verify(path);
      refused = !reason.empty();
      return reason;
    };
  settings.confirm = [&](std::string &reason) {
    return !isCancelled() && (!options.confirm || options.confirm(reason));
  };
  if (failed(write(targets, settings, error))) {
    if (wasCancelled)
      return Outcome::Cancelled;
    emitError(UnknownLoc::get(module.getContext())) << error;
    return refused ? Outcome::Unsupported : Outcome::Failed;
  }
  return Outcome::Done;
}

} // namespace vx
