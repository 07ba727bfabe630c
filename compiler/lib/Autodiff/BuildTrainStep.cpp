#include "LossScale.h"
#include "MetricCounts.h"
#include "ModelOutput.h"
#include "Optimizers.h"
#include "vx/Autodiff/Losses.h"
#include "vx/Autodiff/Passes.h"
#include "vx/Dialect/VX/Gradient/ReverseMode.h"
#include "vx/Dialect/VX/IR/SourceLocation.h"
#include "vx/Dialect/VX/IR/UserText.h"
#include "vx/Dialect/VX/IR/VariablePlaces.h"

using namespace mlir;

namespace vx {

#define GEN_PASS_DEF_BUILDTRAINSTEPPASS
#include "vx/Autodiff/Passes.h.inc"

namespace {

constexpr llvm::StringLiteral kTrainStep = "train_step", kEvaluate = "evaluate", kPredict = "predict";
constexpr llvm::StringLiteral kBackward = "backward", kUpdate = "update";
constexpr llvm::StringLiteral kRate = "rate", kSeed = "seed", kKeep = "keep", kGradients = "grad";

/// Elements that the places in a pool are multiples of.
constexpr int64_t kSlot = kVariableAlignment / 4;
/// See Parameter::part.
constexpr unsigned kPoolParts = 3;

/// A parameter and its place in the pools, in elements.
struct Parameter {
  VariableOp variable;
  int64_t start = 0, size = 0;

  bool fillsSlots() const { return size % kSlot == 0; }
  /// Which part of the pool it lies in: what is computed there, then vectors, many of whose gradients are sums of
  /// columns and may be one kernel's, then what leaves gaps behind it.
  unsigned part() { return !fillsSlots() ? 2 : variable.getType().getRank() > 1 ? 0 : 1; }
};

struct BuildTrainStepPass : impl::BuildTrainStepPassBase<BuildTrainStepPass> {
  using BuildTrainStepPassBase::BuildTrainStepPassBase;

  void runOnOperation() override {
    if (failed(run()))
      signalPassFailure();
  }

  LogicalResult run() {
    ModuleOp module = getOperation();
    parameters.clear();
    poolSize = 0;
    hasSeed = false;
    backward = predict = {};
    metrics.clear();
    counts.clear();
    std::string error;
    std::optional<OptimizerSpec> parsedOptimizer = OptimizerSpec::parse(optimizer, error);
    if (!parsedOptimizer)
      return module.emitError() << error;
    spec = *parsedOptimizer;
    if (clipNorm > 0)
      spec.clipNorm = clipNorm;
    if (clipValue > 0)
      spec.clipValue = clipValue;
    if (failed(evaluateName.empty() ? makeEvaluate() : takeEvaluate()))
      return failure();
    OpBuilder builder(module.getContext());
    builder.setInsertionPointAfter(evaluate);
    IRMapping mapping;
    step = cast<func::FuncOp>(builder.clone(*evaluate, mapping));
    step.setName(kTrainStep);
    rows = mapping.lookup(rows);
    if (failed(findParameters()))
      return failure();
    if (parameters.empty())
      return module.emitError() << "expected a trained weight that the loss of "
                                << (evaluateName.empty() ? "output '" + lossSpec.output : "'" + kTrainStep)
                                << "' depends on, got none; train more weights or freeze fewer";
    makePool();
    if (failed(addHalves()))
      return failure();
    for (func::FuncOp function : {step, backward}) {
      if (!function)
        continue;
      drawDropouts(function);
      collectStatistics(function);
    }
    setTraining();
    return success();
  }

private:
  /// `evaluate` of a copy of the model, whose function is called `predict` from then on.
  LogicalResult makeEvaluate() {
    ModuleOp module = getOperation();
    std::string error;
    std::optional<LossSpec> parsed = LossSpec::parse(loss, error);
    if (!parsed)
      return module.emitError() << error;
    lossSpec = *parsed;
    FailureOr<ModelOutput> output = findOutput(module, lossSpec.output);
    if (failed(output))
      return failure();
    lossSpec.output = getResultName(output->function, output->number);
    if (failed(checkModel(*output)))
      return failure();
    OpBuilder builder(module.getContext());
    builder.setInsertionPointAfter(output->function);
    evaluate = cast<func::FuncOp>(builder.clone(*output->function));
    evaluate.setName(kEvaluate);
    if (failed(addLoss(output->number)))
      return failure();
    predict = output->function;
    if (predict.getName() == kPredict)
      return success();
    if (failed(SymbolTable::replaceAllSymbolUses(predict, builder.getStringAttr(kPredict), module)))
      return module.emitError() << "the function '" << predict.getName() << "' cannot be called '" << kPredict << "'";
    predict.setName(kPredict);
    return success();
  }

  /// `evaluate` as the model has it. The loss is taken to be the mean over the rows of its first input that has some.
  LogicalResult takeEvaluate() {
    ModuleOp module = getOperation();
    evaluate = module.lookupSymbol<func::FuncOp>(evaluateName);
    if (!predictName.empty())
      predict = module.lookupSymbol<func::FuncOp>(predictName);
    if (!evaluate || (!predictName.empty() && !predict))
      return module.emitError() << "expected a function '" << (evaluate ? predictName : evaluateName)
                                << "' in the model, got none";
    lossSpec.name = "none";
    for (unsigned i = 0; i < evaluate.getNumResults(); ++i) {
      metrics.push_back(getResultName(evaluate, i));
      auto type = dyn_cast<RankedTensorType>(evaluate.getResultTypes()[i]);
      if (!type || type.getRank() != 0 || !type.getElementType().isF32())
        return module.emitError() << "function '" << evaluateName
                                  << "': expected a scalar of f32 for the loss and each metric, got "
                                  << describeType(evaluate.getResultTypes()[i]) << " for '" << metrics.back() << "'";
    }
    if (failed(checkModel({evaluate, 0})))
      return failure();
    OpBuilder builder(evaluate.getBody().front().getTerminator());
    GraphBuilder g(builder, nameLocation(&getContext(), "loss", lossSpec.name));
    rows = buildCountOfMean(g, evaluate.getBody().front().getTerminator()->getOperand(0));
    counts = addMetricCounts(evaluate, metrics, g.location);
    return success(rows != nullptr);
  }

  /// Tells all at once.
  LogicalResult checkModel(ModelOutput output) {
    ModuleOp module = getOperation();
    bool isRight = true;
    auto refuse = [&](const Twine &message) {
      module.emitError() << message;
      isRight = false;
    };
    if (scaleLoss)
      for (StringRef name : {kLossScale, kGoodSteps, kSkippedSteps})
        if (module.lookupSymbol(name))
          refuse("expected no '" + name +
                 "' in the model, got one: the scale of the loss is added as a variable of this name; rename it");
    SmallVector<StringRef> functions = {kTrainStep, kEvaluate, kPredict};
    if (keepGradients)
      functions.append({kBackward, kUpdate});
    for (StringRef name : functions)
      if (Operation *known = module.lookupSymbol(name);
          known && known != output.function && (evaluateName.empty() || name != kPredict))
        refuse("expected no '" + name + "' in the model, got one: training adds a function of this name; rename it");
    bool comparesData = lossSpec.name != "none";
    StringRef data = lossSpec.takesLabels() ? "label" : "target";
    bool takesSeed =
        output.function.walk([](DropoutOp op) { return drops(op) ? WalkResult::interrupt() : WalkResult::advance(); })
            .wasInterrupted();
    for (unsigned i = 0; i < output.function.getNumArguments(); ++i) {
      std::string name = getInputName(output.function, i);
      if (name == kRate || (comparesData && name == data) || (keepGradients && name == kKeep) ||
          (takesSeed && name == kSeed))
        refuse("expected no input '" + name +
               "' in the model, got one: the training step adds an input of this name; rename it");
    }
    func::FuncOp function = output.function;
    function.walk([&](VariableStoreOp store) {
      refuse("training: expected a model that stores no variables, got function '" + function.getName() +
             "', which stores '" + store.getVariable() + "'");
      return WalkResult::interrupt();
    });
    function.walk([&](DropoutOp op) {
      if (drops(op) && op->getParentOfType<LoopOp>())
        refuse(
            "--dropout: expected no dropout in a loop, where each iteration would drop the same elements, got node '" +
            describeSource(op.getLoc()) + "'; use --dropout=frozen");
    });
    auto type = dyn_cast<RankedTensorType>(output.getValue().getType());
    if (!type || !isDifferentiable(type)) {
      refuse("--loss: expected output '" + lossSpec.output + "' to be a tensor of floats, got " +
             describeType(output.getValue().getType()));
      return failure();
    }
    for (auto [number, dim] : llvm::enumerate(vx::getDims(type))) {
      llvm::SetVector<StringAttr> symbols;
      if (dim)
        dim.collectSymbols(symbols);
      bool isKnown = dim && llvm::none_of(symbols, [&](StringAttr name) {
                       return llvm::any_of(module.getOps<SymbolOp>(), [&](SymbolOp symbol) {
                         return symbol.getNameAttr() == name && symbol.getDataDependent();
                       });
                     });
      if (!isKnown)
        refuse("--loss: expected output '" + lossSpec.output +
               "' to have sizes that are known when a step begins, got " + describeType(type) + " with a dimension " +
               Twine(number) + " that depends on data");
    }
    return success(isRight);
  }

  static Location nameLocation(MLIRContext *context, StringRef node, StringRef type) {
    return getSourceLocation(context, node, type, "");
  }

  static Value addInput(func::FuncOp function, StringRef name, Type type, Location location) {
    unsigned number = function.getNumArguments();
    auto attributes =
        DictionaryAttr::get(function.getContext(), NamedAttribute(StringAttr::get(function.getContext(), kNameAttr),
                                                                  StringAttr::get(function.getContext(), name)));
    if (failed(function.insertArgument(number, type, attributes, location)))
      return {};
    return function.getArgument(number);
  }

  /// Makes of the copy of the model what gives the loss and the metrics.
  LogicalResult addLoss(unsigned number) {
    MLIRContext *context = &getContext();
    Operation *end = evaluate.getBody().front().getTerminator();
    OpBuilder builder(end);
    GraphBuilder g(builder, nameLocation(context, "loss", lossSpec.name));
    LossResults results = buildLoss(g, lossSpec, end->getOperand(number), [&](StringRef name, RankedTensorType type) {
      for (unsigned i = 0; name == kSampleWeightInput && i < evaluate.getNumArguments(); ++i)
        if (getInputName(evaluate, i) == name) {
          emitError(UnknownLoc::get(context)) << "--loss: " << lossSpec.name << ": expected no input '" << name
                                              << "' in the model, got one: the loss adds an input of this name; "
                                                 "rename it";
          return Value();
        }
      return type ? addInput(evaluate, name, type, g.location) : Value();
    });
    if (g.hasRefused() || !results.loss)
      return failure();
    rows = results.rows;
    SmallVector<Value> values = {results.loss};
    metrics = {"loss"};
    for (auto &[name, value] : results.metrics) {
      metrics.push_back(name);
      values.push_back(value);
    }
    end->setOperands(values);
    SmallVector<DictionaryAttr> attributes;
    for (const std::string &name : metrics)
      attributes.push_back(builder.getDictionaryAttr(builder.getNamedAttr(kNameAttr, builder.getStringAttr(name))));
    evaluate.setType(builder.getFunctionType(evaluate.getArgumentTypes(), ValueRange(values).getTypes()));
    evaluate.setAllResultAttrs(attributes);
    counts = addMetricCounts(evaluate, metrics, g.location);
    return success();
  }

  /// The variables that the loss depends on, each in slots of its own.
  LogicalResult findParameters() {
    std::string error;
    std::optional<NamePatterns> frozen = NamePatterns::parse({freeze.begin(), freeze.end()}, error);
    if (!frozen)
      return getOperation().emitError() << "--freeze: expected names of parameters, got " << error;
    Value value = step.getBody().front().getTerminator()->getOperand(0);
    llvm::DenseSet<Value> reached = findFloatDependences(value);
    llvm::DenseSet<StringAttr> loaded;
    step.walk([&](VariableLoadOp load) {
      if (reached.contains(load.getResult()))
        loaded.insert(load.getVariableAttr().getAttr());
    });
    for (auto variable : getOperation().getOps<VariableOp>()) {
      auto type = cast<RankedTensorType>(variable.getType());
      if (variable.getRole() == VariableRole::parameter && frozen->match(variable.getSymName()))
        continue;
      if (variable.getRole() != VariableRole::parameter || !loaded.contains(variable.getSymNameAttr()) ||
          !type.getElementType().isF32() || !type.hasStaticShape() || variable.getPool())
        continue;
      parameters.push_back({variable, 0, type.getNumElements()});
    }
    for (unsigned part = 0; part < kPoolParts; ++part)
      for (Parameter &parameter : parameters)
        if (parameter.part() == part) {
          parameter.start = poolSize;
          poolSize += static_cast<int64_t>(llvm::alignTo(parameter.size, kSlot));
        }
    if (std::vector<std::string> unused = frozen->getUnused(); !unused.empty())
      return getOperation().emitError() << "--freeze: expected the name of a parameter of the model, got '"
                                        << unused.front() << "'";
    return success();
  }

  VariableOp addVariable(OpBuilder &builder, const Twine &name, RankedTensorType type, VariableRole role,
                         InitAttr init = {}, VariableOp pool = {}, int64_t start = 0) {
    std::string symbol = name.str();
    while (getOperation().lookupSymbol(symbol))
      symbol += '_';
    return VariableOp::create(builder, UnknownLoc::get(&getContext()), builder.getStringAttr(symbol),
                              TypeAttr::get(type), ElementsAttr(), VariableRoleAttr::get(&getContext(), role),
                              StringAttr(), init,
                              pool ? FlatSymbolRefAttr::get(pool.getSymNameAttr()) : FlatSymbolRefAttr(),
                              pool ? builder.getI64IntegerAttr(start * 4) : IntegerAttr());
  }

  /// A pool with a member NAME/PARAMETER in the place of each parameter.
  VariableOp addPoolOfAll(OpBuilder &builder, StringRef name, VariableRole role, InitAttr init = {}) {
    VariableOp all = addVariable(builder, name, cast<RankedTensorType>(pool.getType()), role, init);
    for (Parameter &parameter : parameters)
      addVariable(builder, name + "/" + parameter.variable.getSymName(),
                  cast<RankedTensorType>(parameter.variable.getType()), role, {}, all, parameter.start);
    return all;
  }

  /// Lays the parameters into one variable, and what the optimizer keeps of each into others, at the same places.
  void makePool() {
    OpBuilder builder(parameters.front().variable);
    auto type = RankedTensorType::get({poolSize}, builder.getF32Type());
    pool = addVariable(builder, "parameters", type, VariableRole::parameter);
    for (Parameter &parameter : parameters) {
      parameter.variable.setPoolAttr(FlatSymbolRefAttr::get(pool.getSymNameAttr()));
      parameter.variable.setOffsetAttr(builder.getI64IntegerAttr(parameter.start * 4));
    }
    builder.setInsertionPointAfter(parameters.back().variable);
    FloatAttr initial = builder.getF64FloatAttr(getInitialState(spec));
    InitAttr init =
        getInitialState(spec) == 0 ? InitAttr() : InitAttr::get(&getContext(), InitKind::uniform, initial, initial);
    states.clear();
    for (StringRef name : getOptimizerState(spec))
      states.push_back(addPoolOfAll(builder, spec.name + "." + name.str(), VariableRole::optimizer, init));
    if (keepGradients) {
      kept = addPoolOfAll(builder, kGradients, VariableRole::gradient);
      keptRows = addVariable(builder, Twine(kGradients) + ".rows", RankedTensorType::get({}, builder.getF32Type()),
                             VariableRole::gradient);
    }
    auto count = RankedTensorType::get({}, builder.getI64Type());
    counter = addVariable(builder, "step", count, VariableRole::counter);
    if (!scaleLoss)
      return;
    auto number = RankedTensorType::get({}, builder.getF32Type());
    scale = addVariable(builder, kLossScale, number, VariableRole::optimizer);
    scale.setInitialAttr(DenseElementsAttr::get(number, static_cast<float>(kFirstLossScale)));
    good = addVariable(builder, kGoodSteps, count, VariableRole::counter);
    skipped = addVariable(builder, kSkippedSteps, count, VariableRole::counter);
  }

  /// One load of each parameter, where all regions see it, as what gradients are taken with respect to.
  SmallVector<Value> watchParameters() {
    SmallVector<Value> watched;
    SmallVector<VariableLoadOp> replaced; // the first op of the function may be one of them
    OpBuilder builder(&step.getBody().front(), step.getBody().front().begin());
    for (Parameter &parameter : parameters) {
      SmallVector<VariableLoadOp> loads;
      step.walk([&](VariableLoadOp load) {
        if (load.getVariable() == parameter.variable.getSymName())
          loads.push_back(load);
      });
      Location location = loads.front().getLoc();
      auto load =
          VariableLoadOp::create(builder, location, parameter.variable.getType(), parameter.variable.getSymName());
      watched.push_back(WatchOp::create(builder, location, load.getType(), load));
      for (VariableLoadOp old : loads)
        old.getResult().replaceAllUsesWith(watched.back());
      llvm::append_range(replaced, loads);
    }
    for (VariableLoadOp old : replaced)
      old.erase();
    return watched;
  }

  /// The gradients and what is done with them: in one function, and in two where they are kept.
  LogicalResult addHalves() {
    Value gradients = addGradients();
    if (keepGradients) {
      OpBuilder builder(&getContext());
      builder.setInsertionPointAfter(step);
      IRMapping mapping;
      backward = cast<func::FuncOp>(builder.clone(*step, mapping));
      backward.setName(kBackward);
      if (failed(storeGradients(mapping.lookup(gradients), mapping.lookup(rows))))
        return failure();
      builder.setInsertionPointAfter(backward);
      update = func::FuncOp::create(builder, step.getLoc(), kUpdate, builder.getFunctionType({}, {}));
      builder.setInsertionPointToEnd(update.addEntryBlock());
      auto end = func::ReturnOp::create(builder, step.getLoc());
      builder.setInsertionPoint(end);
      auto load = VariableLoadOp::create(builder, optimizerLocation(), kept.getType(), kept.getSymName());
      if (failed(addUpdate(update, load, /*areScaled=*/false)))
        return failure();
    }
    return addUpdate(step, gradients, /*areScaled=*/scaleLoss);
  }

  Location optimizerLocation() { return nameLocation(&getContext(), "optimizer", spec.name); }

  Expression load(GraphBuilder &g, VariableOp variable) {
    return {&g, g.emitAs<VariableLoadOp>(variable.getType(), variable.getSymName())};
  }

  /// A scalar in every place of the pool.
  Expression repeat(Expression scalar) {
    return {scalar.g, scalar.g->broadcastInDim(scalar, vx::getDims(cast<RankedTensorType>(pool.getType())), {})};
  }

  /// Of the loss by all parameters, in their places in the pool; multiplied by the scale of the loss, where it has one.
  Value addGradients() {
    SmallVector<Value> watched = watchParameters();
    Operation *end = step.getBody().front().getTerminator();
    OpBuilder builder(end);
    Location location = optimizerLocation();
    GraphBuilder g(builder, location);
    Value seed = scaleLoss ? Value(load(g, scale)) : Value();
    auto gradient = GradientOp::create(builder, location, end->getOperand(0), watched, seed, /*zero_unreached=*/false);
    return joinGradients(g, gradient.getResults());
  }

  /// Ends `backward`: the kept gradients become those of this batch, or with `keep` those of the mean over its `rows`
  /// and all rows before. A number that is none does not survive where it is not kept, which a product would let it. A
  /// batch of which nothing counts has no gradients: 0, whatever its mean of nothing is.
  LogicalResult storeGradients(Value gradients, Value rows) {
    OpBuilder builder(backward.getBody().front().getTerminator());
    Location location = optimizerLocation();
    GraphBuilder g(builder, location);
    Expression keep{&g, addInput(backward, kKeep, RankedTensorType::get({}, builder.getI1Type()), location)};
    Expression old = load(g, kept), own{&g, gradients}, oldRows = load(g, keptRows);
    if (scaleLoss) {
      Expression factor = load(g, scale);
      own = own * repeat(fill(1, factor) / factor);
    }
    Expression ownRows{&g, rows}, all = selectOrZero(keep, oldRows) + ownRows;
    // The sum of weights may be below 1.
    Expression isCounted = compare(ComparePredicate::gt, ownRows, 0);
    Expression share = ownRows / select(isCounted, all, fill(1, all));
    own = selectOrZero(repeat(isCounted), own);
    Expression next = select(repeat(keep), old + (own - old) * repeat(share), own);
    if (g.hasRefused())
      return failure();
    store(builder, next, kept);
    store(builder, all, keptRows);
    return success();
  }

  void store(OpBuilder &builder, Value value, VariableOp variable) {
    VariableStoreOp::create(builder, optimizerLocation(), value, FlatSymbolRefAttr::get(variable.getSymNameAttr()));
  }

  /// Ends `function`: a step of the optimizer by the gradients, which `areScaled` as the loss is. Where the loss has a
  /// scale, gradients that are not all finite change nothing but that.
  LogicalResult addUpdate(func::FuncOp function, Value gradientPool, bool areScaled) {
    OpBuilder builder(function.getBody().front().getTerminator());
    Location location = optimizerLocation();
    GraphBuilder g(builder, location);
    Expression gradients{&g, gradientPool};
    std::optional<Expression> norm, divisor, isFinite;
    std::optional<LossScale> lossScale;
    if (scaleLoss) {
      norm = buildNorm(gradients);
      isFinite = buildIsFinite(*norm);
      lossScale = LossScale{load(g, scale), load(g, good), load(g, skipped)};
      if (areScaled)
        divisor = lossScale->scale;
    }
    gradients = buildClip(spec, gradients, norm, divisor);
    Expression rate{&g, addInput(function, kRate, RankedTensorType::get({}, builder.getF32Type()), location)};
    Expression oldCount = load(g, counter), count = oldCount + 1.0;
    Expression number{&g, g.cast(count, builder.getF32Type())};
    SmallVector<Expression> state = llvm::map_to_vector(states, [&](VariableOp variable) { return load(g, variable); });
    Expression parameters = load(g, pool);
    OptimizerUpdate next = buildOptimizer(spec, parameters, gradients, state, rate, number);
    if (scaleLoss) {
      Expression isChanged = repeat(*isFinite);
      for (auto [value, old] : llvm::zip_equal(next.state, state))
        value = select(isChanged, value, old);
      next.parameters = select(isChanged, next.parameters, parameters);
      count = select(*isFinite, count, oldCount);
      lossScale = buildNextLossScale(*lossScale, *isFinite);
    }
    if (g.hasRefused())
      return failure();
    for (auto [value, variable] : llvm::zip_equal(next.state, states))
      store(builder, value, variable);
    store(builder, next.parameters, pool);
    store(builder, count, counter);
    if (scaleLoss)
      for (auto [value, variable] :
           {std::pair(lossScale->scale, scale), {lossScale->good, good}, {lossScale->skipped, skipped}})
        store(builder, value, variable);
    return success();
  }

  /// All gradients in their places in the pool; what lies between is 0, and stays that. Those with gaps behind them are
  /// put together apart, so that the others need not be.
  Value joinGradients(GraphBuilder &g, ValueRange gradients) {
    SmallVector<Value> parts, rest;
    for (unsigned part = 0; part < kPoolParts; ++part)
      for (auto [parameter, gradient] : llvm::zip_equal(parameters, gradients)) {
        if (parameter.part() != part)
          continue;
        Value flat = g.reshape(gradient, {g.dim(parameter.size)});
        (parameter.fillsSlots() ? parts : rest).push_back(flat);
        if (int64_t gap = llvm::alignTo(parameter.size, kSlot) - parameter.size; gap > 0)
          rest.push_back(g.splat(0, RankedTensorType::get({gap}, g.builder.getF32Type())));
      }
    auto join = [&](ArrayRef<Value> tensors) {
      return tensors.size() == 1 ? tensors.front() : g.emit<ConcatOp>(ValueRange(tensors), 0);
    };
    if (!rest.empty())
      parts.push_back(join(rest));
    return join(parts);
  }

  static bool drops(DropoutOp op) { return !op.getKey() && !op.getRatio().isZero(); }

  /// Each dropout of a step draws numbers of its own, under a seed that is an input where there is one of them.
  void drawDropouts(func::FuncOp function) {
    SmallVector<DropoutOp> dropouts;
    function.walk([&](DropoutOp op) {
      if (drops(op))
        dropouts.push_back(op);
    });
    if (dropouts.empty())
      return;
    Value seed = addInput(function, kSeed, RankedTensorType::get({}, IntegerType::get(&getContext(), 64)),
                          nameLocation(&getContext(), kSeed, "Dropout"));
    for (auto [number, op] : llvm::enumerate(dropouts)) {
      op.getKeyMutable().assign(seed);
      op.setNumber(number);
    }
    hasSeed = true;
  }

  /// Batch norms of a step are of the batch, and what they collect is stored at its end. Where the loss has a scale, a
  /// number that is not finite is not collected: it would stay for ever.
  void collectStatistics(func::FuncOp function) {
    OpBuilder builder(function.getBody().front().getTerminator());
    function.walk([&](BatchNormOp norm) {
      norm.setOfBatch(true);
      for (auto [before, after] :
           {std::pair<Value, Value>(norm.getMean(), norm.getNewMean()), {norm.getVariance(), norm.getNewVariance()}})
        if (auto load = before.getDefiningOp<VariableLoadOp>()) {
          GraphBuilder g(builder, norm.getLoc());
          Expression value{&g, after};
          if (scaleLoss)
            value = select(buildIsFinite(value), value, {&g, before});
          VariableStoreOp::create(builder, norm.getLoc(), value, load.getVariableAttr());
        }
    });
  }

  void setTraining() {
    Builder builder(&getContext());
    SmallVector<Attribute> inputs, names;
    for (unsigned i = 0; i < evaluate.getNumArguments(); ++i)
      inputs.push_back(builder.getStringAttr(getInputName(evaluate, i)));
    for (const std::string &name : metrics)
      names.push_back(builder.getStringAttr(name));
    SmallVector<NamedAttribute> hypers = {
        builder.getNamedAttr(stringifyHyperKind(HyperKind::rate), builder.getStringAttr(kRate))};
    if (hasSeed)
      hypers.push_back(builder.getNamedAttr(stringifyHyperKind(HyperKind::seed), builder.getStringAttr(kSeed)));
    auto function = [&](StringRef name) { return FlatSymbolRefAttr::get(&getContext(), name); };
    auto strings =
        llvm::map_to_vector(counts, [&](const std::string &name) -> Attribute { return builder.getStringAttr(name); });
    std::string text = evaluateName.empty() ? loss : metrics.front();
    getOperation()->setAttr(kTrainingAttr,
                            TrainingAttr::get(&getContext(), function(kTrainStep), function(kEvaluate),
                                              predict ? function(predict.getName()) : FlatSymbolRefAttr(),
                                              keepGradients ? function(kBackward) : FlatSymbolRefAttr(),
                                              keepGradients ? function(kUpdate) : FlatSymbolRefAttr(),
                                              builder.getArrayAttr(inputs), builder.getDictionaryAttr(hypers),
                                              builder.getArrayAttr(names), builder.getStringAttr(spec.describe()),
                                              builder.getStringAttr(text),
                                              usualRate > 0 ? builder.getF64FloatAttr(usualRate) : FloatAttr(),
                                              strings.empty() ? ArrayAttr() : builder.getArrayAttr(strings)));
  }

  LossSpec lossSpec;
  OptimizerSpec spec;
  func::FuncOp evaluate, predict, step, backward, update;
  Value rows;                       // of `evaluate`, and then of `step`: what its loss is the mean over
  SmallVector<std::string> metrics; // results of both, the loss first
  SmallVector<std::string> counts;  // results of both, one for each metric, "" where that is a mean over rows; or none
  SmallVector<Parameter> parameters;
  int64_t poolSize = 0; // in elements
  bool hasSeed = false;
  VariableOp pool, counter, kept, keptRows;
  VariableOp scale, good, skipped; // with `scaleLoss`
  SmallVector<VariableOp> states;
};

} // namespace
} // namespace vx
