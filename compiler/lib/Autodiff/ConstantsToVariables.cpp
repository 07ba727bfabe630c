#include "ModelOutput.h"
#include "TrainableConstants.h"
#include "vx/Autodiff/Passes.h"
#include "vx/Autodiff/Training.h"
#include "vx/Dialect/VX/IR/SourceLocation.h"
#include "vx/Dialect/VX/IR/UserText.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace vx {

#define GEN_PASS_DEF_CONSTANTSTOVARIABLESPASS
#include "vx/Autodiff/Passes.h.inc"

namespace {

/// One initializer of the model.
struct Initializer {
  SmallVector<ConstantOp> constants; // in all functions; the model's own first
  bool isChosen = false;             // by name
  bool isTrained = false;
  bool isStatistic = false; // which a training step collects
  InitAttr start;           // random numbers that are to be in its place; null: what the model has
  std::string reason;

  bool isVariable() const { return isTrained || isStatistic; }
};

struct ConstantsToVariablesPass : impl::ConstantsToVariablesPassBase<ConstantsToVariablesPass> {
  using ConstantsToVariablesPassBase::ConstantsToVariablesPassBase;

  void runOnOperation() override {
    if (failed(run()))
      signalPassFailure();
  }

  LogicalResult run() {
    initializers.clear();
    if (init != "file" && init != "random")
      return getOperation().emitError() << "--init: expected file or random, got '" << init << "'";
    FailureOr<ModelOutput> output = findOutput(getOperation(), of);
    if (failed(output) || failed(parsePatterns()))
      return failure();
    collect(output->function);
    choose(*output);
    if (failed(findStatistics(output->function)) || failed(checkPatterns()))
      return failure();
    report();
    for (auto &[name, initializer] : initializers)
      if (initializer.isVariable())
        convert(name, initializer);
    return success();
  }

private:
  LogicalResult parsePatterns() {
    std::vector<std::string> names;
    for (const std::string &pattern : train)
      if (pattern != "auto")
        names.push_back(pattern);
    isAuto = names.size() < train.size();
    for (auto [patterns, list, option] : {std::tuple(&chosen, names, "--train"),
                                          std::tuple(&frozen, std::vector(freeze.begin(), freeze.end()), "--freeze")}) {
      std::string error;
      *patterns = NamePatterns::parse(list, error);
      if (!*patterns)
        return getOperation().emitError() << option << ": expected names of initializers, got " << error;
    }
    return success();
  }

  void collect(func::FuncOp model) {
    auto add = [&](ConstantOp constant) {
      if (constant.getNames())
        initializers[*constant.getNames()->getAsValueRange<StringAttr>().begin()].constants.push_back(constant);
    };
    model.walk(add);
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (function != model)
        function.walk([&](ConstantOp constant) {
          if (constant.getNames() && initializers.contains(*constant.getNames()->getAsValueRange<StringAttr>().begin()))
            add(constant);
        });
  }

  void choose(ModelOutput output) {
    llvm::DenseSet<Value> reached = findFloatDependences(output.getValue());
    for (auto &[name, initializer] : initializers) {
      initializer.isChosen = chosen->match(name);
      bool isFrozen = frozen->match(name);
      ConstantOp constant = initializer.constants.front();
      Type element = constant.getType().getElementType();
      ConstantUse use;
      bool isWeight = false;
      for (ConstantOp each : initializer.constants) {
        ConstantUse own = findUse(each);
        if (use.what.empty() || (own.isWeight && !use.isWeight))
          use = own;
        isWeight |= own.isWeight;
      }
      bool differs = llvm::any_of(initializer.constants,
                                  [&](ConstantOp other) { return other.getValue() != constant.getValue(); });
      bool isReached =
          llvm::any_of(initializer.constants, [&](ConstantOp each) { return reached.contains(each.getResult()); });
      initializer.reason = use.what;
      if (!isa<FloatType>(element))
        initializer.reason = "no floats";
      else if (!element.isF32())
        initializer.reason = "of " + describeType(element) + ", only f32 is trained";
      else if (differs)
        initializer.reason = "several constants of this name differ";
      else if (isFrozen)
        initializer.reason = "by --freeze";
      else if (!isReached)
        initializer.reason = "the loss does not depend on it";
      else if (isWeight ? isAuto || initializer.isChosen : initializer.isChosen)
        initializer.isTrained = true;
      else if (isWeight)
        initializer.reason = "not in --train";
      initializer.start = constant->getAttrOfType<InitAttr>(kInitAttr);
      if (init == "random" && initializer.isTrained && !initializer.start)
        initializer.start = use.start;
    }
  }

  /// The mean and variance of each batch norm, which is to be alone in updating them.
  LogicalResult findStatistics(func::FuncOp model) {
    bool isRight = true;
    llvm::DenseSet<Value> known;
    model.walk([&](BatchNormOp norm) {
      for (auto [what, value] :
           {std::pair<StringRef, Value>("mean", norm.getMean()), {"variance", norm.getVariance()}}) {
        auto refuse = [&](const Twine &message) {
          getOperation().emitError() << "--batch-norm: expected the " << what << " of node '"
                                     << describeSource(norm.getLoc())
                                     << "' to be an initializer for this use alone, got " << message
                                     << "; use --batch-norm=frozen";
          isRight = false;
        };
        auto load = value.getDefiningOp<VariableLoadOp>();
        auto constant = value.getDefiningOp<ConstantOp>();
        if (norm->getParentOp() != model)
          refuse("one in a loop or a branch, where it is not collected");
        else if (!load && !(constant && constant.getNames()))
          refuse("a value that is no initializer");
        else if (!known.insert(value).second)
          refuse("one of another batch norm or another statistic, too");
        else if (constant) {
          StringRef name = *constant.getNames()->getAsValueRange<StringAttr>().begin();
          Initializer &initializer = initializers[name];
          if (frozen->match(name))
            continue;
          initializer.isTrained = false;
          initializer.isStatistic = true;
          FloatAttr number = Builder(&getContext()).getF64FloatAttr(what == "mean" ? 0 : 1);
          if (init == "random")
            initializer.start = InitAttr::get(&getContext(), InitKind::uniform, number, number);
          initializer.reason = "collected by a batch norm";
        }
      }
    });
    return success(isRight);
  }

  /// Each name that was given is to mean something.
  LogicalResult checkPatterns() {
    bool isRight = true;
    for (auto [patterns, option] : {std::pair(&chosen, "--train"), std::pair(&frozen, "--freeze")})
      for (const std::string &pattern : (*patterns)->getUnused()) {
        getOperation().emitError() << option << ": expected the name of an initializer, got '" << pattern
                                   << "'; the model has: " << getNames();
        isRight = false;
      }
    // A pattern may meet more than it means; a name does not.
    for (const std::string &name : train) {
      auto it = initializers.find(name);
      if (it != initializers.end() && !it->second.isTrained && !frozen->match(name)) {
        getOperation().emitError() << "--train: expected an initializer that can be trained, got '" << name
                                   << "': " << it->second.reason;
        isRight = false;
      }
    }
    for (auto &[name, initializer] : initializers)
      if (initializer.constants.front()->hasAttr(kInitAttr) && !initializer.isTrained) {
        getOperation().emitError() << "--classes: expected '" << name
                                   << "' to be trained, since it starts with random numbers, got a frozen one: "
                                   << initializer.reason;
        isRight = false;
      }
    return success(isRight);
  }

  std::string getNames() const {
    std::string names;
    for (auto &[name, initializer] : initializers)
      names += (names.empty() ? "'" : ", '") + name.str() + "'";
    return names.empty() ? "none" : names;
  }

  /// A line for each initializer of floats.
  void report() {
    size_t width = 0, trained = 0;
    int64_t elements = 0;
    auto isShown = [](Initializer &initializer) {
      return initializer.isChosen || isa<FloatType>(initializer.constants.front().getType().getElementType());
    };
    for (auto &[name, initializer] : initializers)
      if (isShown(initializer))
        width = std::max(width, name.size());
    for (auto &[name, initializer] : initializers) {
      ConstantOp constant = initializer.constants.front();
      if (initializer.isTrained) {
        ++trained;
        elements += cast<RankedTensorType>(constant.getType()).getNumElements();
      }
      if (isShown(initializer))
        say((name + std::string(width - name.size(), ' ') +
             (initializer.isTrained     ? "  trained  "
              : initializer.isStatistic ? "  updated  "
                                        : "  frozen   ") +
             describeType(constant.getType()) + ": " + initializer.reason)
                .str() +
            describeStart(initializer.start));
    }
    say(std::to_string(trained) + " of " + std::to_string(initializers.size()) + " initializers are trained, " +
        std::to_string(elements) + " numbers");
  }

  static std::string describeStart(InitAttr start) {
    if (!start)
      return "";
    if (start.getA() != start.getB() || start.getKind() != InitKind::uniform)
      return ", starts with random numbers";
    return ", starts as " + std::to_string(static_cast<int>(start.getA().getValueAsDouble()));
  }

  void say(const std::string &text) { emitNote(UnknownLoc::get(&getContext()), text); }

  void convert(StringRef name, Initializer &initializer) {
    ModuleOp module = getOperation();
    std::string symbol = name.str();
    while (module.lookupSymbol(symbol) || symbol.empty())
      symbol += '_';
    ConstantOp constant = initializer.constants.front();
    VariableRole role = initializer.isTrained ? VariableRole::parameter : VariableRole::statistic;
    OpBuilder builder(module.getBody(), module.getBody()->begin());
    for (auto variable : module.getOps<VariableOp>())
      builder.setInsertionPointAfter(variable);
    VariableOp::create(builder, constant.getLoc(), builder.getStringAttr(symbol), TypeAttr::get(constant.getType()),
                       initializer.start ? ElementsAttr() : constant.getValue(),
                       VariableRoleAttr::get(&getContext(), role),
                       symbol == name ? StringAttr() : builder.getStringAttr(name), initializer.start,
                       FlatSymbolRefAttr(), IntegerAttr());
    llvm::DenseMap<Operation *, Value> loads; // one for each function, where all its regions see it
    for (ConstantOp each : initializer.constants) {
      auto function = each->getParentOfType<func::FuncOp>();
      Value &load = loads[function];
      if (!load) {
        builder.setInsertionPointToStart(&function.getBody().front());
        load = VariableLoadOp::create(builder, each.getLoc(), each.getType(), symbol);
      }
      each.replaceAllUsesWith(load);
      each.erase();
    }
  }

  llvm::MapVector<StringRef, Initializer> initializers; // in the order of the program; the attributes hold the names
  std::optional<NamePatterns> chosen, frozen;
  bool isAuto = false;
};

} // namespace
} // namespace vx
