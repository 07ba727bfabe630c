#include "vx/Dialect/VX/Gradient/Expression.h"
#include "vx/Dialect/VX/IR/SourceLocation.h"
#include "vx/Dialect/VX/IR/UserText.h"
#include "vx/Dialect/VX/Utils/Activations.h"
#include "vx/Frontend/Parts/EmbeddingFunctions.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/DialectResourceBlobManager.h"

using namespace mlir;

namespace vx {

namespace {

constexpr llvm::StringLiteral kName = "vx.name";

StringRef getArgumentName(func::FuncOp function, unsigned number) {
  auto name = function.getArgAttrOfType<StringAttr>(number, kName);
  return name ? name.getValue() : "";
}

std::string describeTensor(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? describeType(tensor) : "no tensor";
}

/// The inputs of a model, and the output with the vectors of tokens, or with the logits of a cross-encoder.
struct Model {
  func::FuncOp function;
  unsigned mask = 0, output = 0;
  std::optional<int64_t> width;
};

class ModelCheck {
public:
  ModelCheck(const EmbeddingFolder &folder, std::string &error) : folder(folder), error(error) {}

  std::optional<Model> run(ModuleOp module) {
    Model model;
    for (auto function : module.getOps<func::FuncOp>())
      if (function.isPublic())
        model.function = function;
    if (!model.function)
      return fail("the model has no function");
    if (!checkInputs(model) || !(folder.scores ? findLogits(model) : findHidden(model)))
      return std::nullopt;
    return model;
  }

private:
  std::nullopt_t fail(const llvm::Twine &message) {
    error = (folder.modelPath + ": " + message).str();
    return std::nullopt;
  }

  bool checkInputs(Model &model) {
    static constexpr llvm::StringLiteral wanted =
        "expected inputs input_ids, attention_mask and, where it has them, token_type_ids, got ";
    std::string names;
    bool hasIds = false, hasMask = false, isKnown = true;
    for (unsigned i = 0; i < model.function.getNumArguments(); ++i) {
      StringRef name = getArgumentName(model.function, i);
      names += (names.empty() ? "'" : ", '") + name.str() + "'";
      if (name == "attention_mask")
        model.mask = i;
      hasMask |= name == "attention_mask";
      hasIds |= name == "input_ids";
      isKnown &= name == "attention_mask" || name == "input_ids" || name == "token_type_ids";
    }
    if (!hasIds || !hasMask || !isKnown)
      return fail(wanted + (names.empty() ? "none" : names)), false;
    ArrayRef<Type> types = model.function.getArgumentTypes();
    for (unsigned i = 0; i < types.size(); ++i) {
      auto type = dyn_cast<RankedTensorType>(types[i]);
      SmallVector<DimAttr> dims = type ? getDims(type) : SmallVector<DimAttr>();
      bool isFree = dims.size() == 2 && !dims[0].asConstant() && !dims[1].asConstant() && dims[0] != dims[1];
      if (!isFree || !(type.getElementType().isInteger(64) || type.getElementType().isInteger(32)) || type != types[0])
        return fail("input '" + getArgumentName(model.function, i) +
                    "': expected i64 or i32 with two free sizes, batch and sequence, the same for each input, got " +
                    describeTensor(types[i])),
               false;
    }
    return true;
  }

  /// The only output of rank 3, or of several the one with a name that exporters give it.
  bool findHidden(Model &model) {
    std::string outputs;
    std::optional<unsigned> found;
    unsigned count = 0;
    for (unsigned i = 0; i < model.function.getNumResults(); ++i) {
      auto name = model.function.getResultAttrOfType<StringAttr>(i, kName);
      auto type = dyn_cast<RankedTensorType>(model.function.getResultTypes()[i]);
      outputs += (outputs.empty() ? "'" : ", '") + (name ? name.getValue().str() : "") + "' " +
                 describeTensor(model.function.getResultTypes()[i]);
      if (!type || type.getRank() != 3 || !isa<FloatType>(type.getElementType()))
        continue;
      bool isNamed = name && (name.getValue() == "last_hidden_state" || name.getValue() == "token_embeddings");
      if (isNamed || !found) {
        count = isNamed ? 1 : count + 1;
        found = i;
        if (isNamed)
          break;
      } else {
        ++count;
      }
    }
    if (!found || count != 1)
      return fail("expected one output of batch, sequence and vector, or one named last_hidden_state or "
                  "token_embeddings, "
                  "got " +
                  (outputs.empty() ? "none" : outputs)),
             false;
    model.output = *found;
    auto type = cast<RankedTensorType>(model.function.getResultTypes()[*found]);
    auto name = model.function.getResultAttrOfType<StringAttr>(*found, kName);
    SmallVector<DimAttr> dims = getDims(type),
                         inputs = getDims(cast<RankedTensorType>(model.function.getArgumentTypes()[0]));
    if (dims[0] != inputs[0] || dims[1] != inputs[1] || !dims[2].asConstant())
      return fail("output '" + (name ? name.getValue() : "") + "': expected [" + inputs[0].str() + "," +
                  inputs[1].str() + ",N], got " + describeTensor(type)),
             false;
    model.width = dims[2].asConstant();
    if (folder.wordDimension && *folder.wordDimension != *model.width) {
      error = folder.wordDimensionSource + ": expected " + std::to_string(*model.width) + ", as output '" +
              (name ? name.getValue().str() : "") + "' of " + folder.modelPath + " has, got " +
              std::to_string(*folder.wordDimension);
      return false;
    }
    return true;
  }

  /// The only output, or of several the one named logits: a number for each text of the batch.
  bool findLogits(Model &model) {
    std::string outputs;
    std::optional<unsigned> found;
    for (unsigned i = 0; i < model.function.getNumResults(); ++i) {
      auto name = model.function.getResultAttrOfType<StringAttr>(i, kName);
      outputs += (outputs.empty() ? "'" : ", '") + (name ? name.getValue().str() : "") + "' " +
                 describeTensor(model.function.getResultTypes()[i]);
      if (model.function.getNumResults() == 1 || (name && name.getValue() == "logits"))
        found = i;
    }
    auto batch = getDims(cast<RankedTensorType>(model.function.getArgumentTypes()[0]))[0];
    auto type = found ? dyn_cast<RankedTensorType>(model.function.getResultTypes()[*found]) : RankedTensorType();
    SmallVector<DimAttr> dims = type ? getDims(type) : SmallVector<DimAttr>();
    bool isScore = type && isa<FloatType>(type.getElementType()) && (dims.size() == 1 || dims.size() == 2) &&
                   dims[0] == batch && (dims.size() == 1 || dims[1].asConstant() == 1);
    if (!isScore)
      return fail("expected one output, or one named logits, of floats [" + batch.str() + ",1], got " +
                  (outputs.empty() ? "none" : outputs)),
             false;
    model.output = *found;
    model.width = 1;
    return true;
  }

  const EmbeddingFolder &folder;
  std::string &error;
};

class FunctionBuilder {
public:
  FunctionBuilder(const EmbeddingFolder &folder, const Model &model) : folder(folder), model(model) {}

  bool add(StringRef pooling) {
    OpBuilder builder(model.function);
    builder.setInsertionPointAfter(model.function);
    auto function = cast<func::FuncOp>(builder.clone(*model.function));
    function.setName(("embed_" + pooling).str());
    Operation *end = function.getBody().front().getTerminator();
    builder.setInsertionPoint(end);
    GraphBuilder g(builder,
                   getSourceLocation(builder.getContext(), ("pooling_" + pooling).str(), "Pooling", folder.path));
    Expression hidden{&g, g.cast(end->getOperand(model.output), g.builder.getF32Type())};
    Expression vector = pool(pooling, hidden, {&g, function.getArgument(model.mask)});
    for (auto [number, step] : llvm::enumerate(folder.steps))
      vector = step.dense ? apply(*step.dense, number, vector) : unitNorm(vector);
    Expression unit = unitNorm(vector);
    if (g.hasRefused())
      return false;
    Value results[] = {vector, unit};
    end->setOperands(results);
    DictionaryAttr attributes[] = {
        builder.getDictionaryAttr(builder.getNamedAttr(kName, builder.getStringAttr("embedding"))),
        builder.getDictionaryAttr(builder.getNamedAttr(kName, builder.getStringAttr("unit_embedding")))};
    function.setType(builder.getFunctionType(function.getArgumentTypes(), ValueRange(results).getTypes()));
    function.setAllResultAttrs(attributes);
    return true;
  }

  bool addScore() {
    OpBuilder builder(model.function);
    builder.setInsertionPointAfter(model.function);
    auto function = cast<func::FuncOp>(builder.clone(*model.function));
    function.setName("score");
    Operation *end = function.getBody().front().getTerminator();
    builder.setInsertionPoint(end);
    GraphBuilder g(builder, getSourceLocation(builder.getContext(), "score", "Score", folder.path));
    Expression logits{&g, g.cast(end->getOperand(model.output), g.builder.getF32Type())};
    Value logit = g.hasRefused() ? Value() : g.reshape(logits, {getSizes(logits)[0], g.dim(1)});
    if (g.hasRefused())
      return false;
    end->setOperands(logit);
    DictionaryAttr attributes[] = {
        builder.getDictionaryAttr(builder.getNamedAttr(kName, builder.getStringAttr("logit")))};
    function.setType(builder.getFunctionType(function.getArgumentTypes(), logit.getType()));
    function.setAllResultAttrs(attributes);
    return true;
  }

private:
  static SmallVector<DimAttr> getSizes(Expression value) {
    return getDims(cast<RankedTensorType>(value.value.getType()));
  }
  static Expression repeat(Expression value, Expression like, ArrayRef<int64_t> axes) {
    return {value.g, value.g->broadcastAlong(value, getSizes(like), axes)};
  }
  static Expression reduce(ReduceKind kind, Expression value, ArrayRef<int64_t> axes) {
    return {value.g, value.g->reduce(kind, value, axes)};
  }

  /// [batch, sequence, width] -> [batch, width]. Where a row of the mask has no 1, its mean is 0, and its last token
  /// the first one.
  static Expression pool(StringRef pooling, Expression hidden, Expression mask) {
    GraphBuilder &g = *hidden.g;
    SmallVector<DimAttr> sizes = getSizes(hidden);
    if (pooling == "cls") {
      DimAttr zero = g.dim(0), one = g.dim(1);
      Value first = g.slice(hidden, {zero, zero, zero}, {sizes[0], one, sizes[2]}, {1, 1, 1});
      return {&g, first ? g.reshape(first, {sizes[0], sizes[2]}) : first};
    }
    if (pooling == "mean") {
      Expression weights{&g, g.cast(mask, g.builder.getF32Type())};
      Expression sum = reduce(ReduceKind::sum, hidden * repeat(weights, hidden, {2}), {1});
      Expression count = reduce(ReduceKind::sum, weights, {1});
      count = vx::apply<MaxOp>(count, fill(1e-9, count));
      return sum / repeat(count, sum, {1});
    }
    // The last position with a mask of 1. All others are deselected and not multiplied by 0, so no value there reaches
    // the vector.
    Expression places{&g, g.emitAs<IotaOp>(cast<RankedTensorType>(mask.value.getType()), int64_t(1))};
    Expression last = reduce(ReduceKind::max, places * mask, {1});
    Expression isLast = compare(ComparePredicate::eq, places, repeat(last, places, {1}));
    return reduce(ReduceKind::sum, selectOrZero(repeat(isLast, hidden, {2}), hidden), {1});
  }

  static Expression unitNorm(Expression vector) {
    Expression length = vx::apply<SqrtOp>(reduce(ReduceKind::sum, vector * vector, {1}));
    length = vx::apply<MaxOp>(length, fill(1e-12, length));
    return vector / repeat(length, vector, {1});
  }

  static Value makeConstant(GraphBuilder &g, ArrayRef<int64_t> dims, const std::vector<float> &values,
                            const std::string &name) {
    auto type = RankedTensorType::get(dims, g.builder.getF32Type());
    AsmResourceBlob blob = HeapAsmResourceBlob::allocateAndCopyInferAlign(ArrayRef(values));
    Value constant = g.emitConstant(DenseResourceElementsAttr::get(type, name, std::move(blob)));
    if (constant)
      constant.getDefiningOp<ConstantOp>().setNamesAttr(g.builder.getStrArrayAttr({name}));
    return constant;
  }

  static Expression apply(const DenseLayer &layer, size_t number, Expression vector) {
    GraphBuilder &g = *vector.g;
    std::string name = "dense_" + std::to_string(number);
    Value weight = makeConstant(g, {layer.outputs, layer.inputs}, layer.weight, name + ".weight");
    Expression result{&g, g.emit<ContractOp>(vector.value, weight, ArrayRef<int64_t>{}, ArrayRef<int64_t>{},
                                             ArrayRef<int64_t>{1}, ArrayRef<int64_t>{1})};
    if (!layer.bias.empty())
      result = result + repeat({&g, makeConstant(g, {layer.outputs}, layer.bias, name + ".bias")}, result, {0});
    switch (layer.activation) {
    case DenseLayer::Activation::Identity:
      return result;
    case DenseLayer::Activation::Tanh:
      return vx::apply<TanhOp>(result);
    case DenseLayer::Activation::Relu:
      return {&g, emitRelu(g, result)};
    case DenseLayer::Activation::Sigmoid:
      return {&g, emitSigmoid(g, result)};
    case DenseLayer::Activation::Gelu:
      return {&g, emitGelu(g, result)};
    }
    return result;
  }

  const EmbeddingFolder &folder;
  const Model &model;
};

} // namespace

std::optional<int64_t> addEmbeddingFunctions(ModuleOp module, const EmbeddingFolder &folder, std::string &error) {
  std::optional<Model> model = ModelCheck(folder, error).run(module);
  if (!model)
    return std::nullopt;
  FunctionBuilder functions(folder, *model);
  if (folder.scores) {
    if (functions.addScore())
      return model->width;
    error = folder.path + ": the logits cannot be scores";
    return std::nullopt;
  }
  int64_t width = *model->width;
  std::string source = folder.modelPath;
  for (const EmbeddingStep &step : folder.steps) {
    if (!step.dense)
      continue;
    if (step.dense->inputs != width) {
      error = step.dense->inFeatures + ": expected " + std::to_string(width) + ", the size of the vectors of " +
              source + ", got " + std::to_string(step.dense->inputs);
      return std::nullopt;
    }
    width = step.dense->outputs;
    source = step.dense->path;
  }
  for (StringRef pooling : {"last", "mean", "cls"}) // each goes before the one that was added first
    if (!functions.add(pooling)) {
      error = folder.path + ": the vectors of tokens cannot be pooled";
      return std::nullopt;
    }
  return width;
}

} // namespace vx
