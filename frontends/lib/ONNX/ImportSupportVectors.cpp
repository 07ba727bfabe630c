// SVMClassifier and SVMRegressor: kernels between rows and support vectors, and decisions by their sums.
#include "OpFunctions.h"
#include "Scores.h"
#include "vx/Dialect/VX/Utils/Activations.h"

using namespace mlir;

namespace vx::onnx {

/// The kernel of each row and vector, f32 of [rows, vectors]. `vectors` are concatenated.
static Value emitKernels(NodeImporter &n, Value rows, ArrayRef<float> vectors, int64_t count, StringRef kernel) {
  Dims dims = vx::getDims(typeOf(rows));
  int64_t all = vectors.size();
  if (all == 0 || all % count != 0)
    throwInvalid("expects vectors of one length, got " + Twine(all) + " elements of " + Twine(count) + " vectors");
  DimAttr features = n.dim(all / count);
  if (!mayBeEqual(dims[1], features))
    throwInvalid("expects rows of " + features.str() + " features, got " + describe(rows.getType()));
  n.require(ConstraintKind::equal, dims[1], features);
  Value values = n.reshape(n.cast(rows, n.builder.getF32Type()), {dims[0], features});
  Value table = emitFloats(n, vectors, {count, all / count});
  SmallVector<float> parameters = n.getFloats("kernel_params");
  if (parameters.size() != 3 && !parameters.empty())
    throwInvalid("expects three 'kernel_params', got " + Twine(parameters.size()));
  parameters.resize(3, 0);
  if (kernel == "RBF") {
    Dims triples = {dims[0], n.dim(count), features};
    Value distance = n.emit<SubOp>(n.broadcastInDim(values, triples, {0, 2}), n.broadcastInDim(table, triples, {1, 2}));
    Value square = n.reduce(ReduceKind::sum, n.emit<MulOp>(distance, distance), 2);
    return n.emit<ExpOp>(emitScaled(n, square, -parameters[0]));
  }
  Value product = emitMatMul(n, values, n.transpose(table, {1, 0}));
  if (kernel == "LINEAR")
    return product;
  Value scaled = emitShifted(n, emitScaled(n, product, parameters[0]), parameters[1]);
  if (kernel == "SIGMOID")
    return n.emit<TanhOp>(scaled);
  if (kernel != "POLY")
    throwInvalid("expects 'kernel_type' to be LINEAR, POLY, RBF or SIGMOID, got '" + kernel + "'");
  if (parameters[2] == 2 || parameters[2] == 3) {
    Value square = n.emit<MulOp>(scaled, scaled);
    return parameters[2] == 2 ? square : n.emit<MulOp>(square, scaled);
  }
  return n.emit<PowOp>(scaled, n.splatLike(parameters[2], scaled));
}

static float readRho(NodeImporter &n) {
  SmallVector<float> rho = n.getFloats("rho");
  if (rho.empty())
    throwInvalid("expects a number in 'rho', got none");
  return rho[0];
}

static void importSvmRegressor(NodeImporter &n) {
  Value rows = getRows(n);
  SmallVector<float> coefficients = n.getFloats("coefficients");
  int64_t supports = n.getInt("n_supports", 0), count = coefficients.size();
  Value sum;
  if (supports > 0) {
    if (count != supports)
      throwInvalid("expects one of 'coefficients' for each of " + Twine(supports) + " support vectors, got " +
                   Twine(count));
    Value kernels =
        emitKernels(n, rows, n.getFloats("support_vectors"), supports, n.getString("kernel_type", "LINEAR"));
    sum = emitMatMul(n, kernels, emitFloats(n, coefficients, {count, 1}));
  } else {
    sum = emitKernels(n, rows, coefficients, 1, "LINEAR");
  }
  Value score = emitShifted(n, sum, readRho(n));
  if (n.getFlag("one_class", false)) {
    Value one = n.splatLike(1, score);
    Value isInside = n.emit<CompareOp>(ComparePredicate::gt, score, n.splatLike(0, score));
    score = n.emit<SelectOp>(isInside, one, n.emit<NegOp>(one));
  }
  n.setOutput(0, transformScores(n, score, readTransform(n)));
}

namespace {

/// Classes by pairs: each pair of classes has a sum over the vectors of both, and a vote.
class SvmClassifier {
public:
  explicit SvmClassifier(NodeImporter &n) : n(n), transform(readTransform(n)) {}

  void import() {
    labels = readClassLabels(n, "classlabels_ints");
    classes = labels.getNumElements();
    perClass = n.getInts("vectors_per_class").value_or(SmallVector<int64_t>());
    coefficients = n.getFloats("coefficients");
    for (int64_t count : perClass) {
      if (count < 0 || count > INT32_MAX - vectors)
        throwInvalid("expects 'vectors_per_class' of 0 to 2147483647 vectors in all, got " + Twine(count));
      vectors += count;
    }
    rows = getRows(n);
    if (vectors == 0)
      return importLinear();
    if (static_cast<int64_t>(perClass.size()) != classes || classes < 2)
      throwInvalid("expects one of 'vectors_per_class' for each of two or more classes, got " + Twine(perClass.size()) +
                   " for " + Twine(classes));
    if (static_cast<int64_t>(coefficients.size()) / vectors != classes - 1 || coefficients.size() % vectors != 0)
      throwInvalid("expects " + Twine(classes - 1) + " 'coefficients' for each of " + Twine(vectors) +
                   " support vectors, got " + Twine(coefficients.size()));
    if (int64_t count = classes * (classes - 1) / 2; count > maxTable / vectors)
      throwUnsupported(Advice::SplitModel, "expects at most " + Twine(maxTable) + " vectors of pairs of classes, got " +
                                               Twine(vectors) + " of " + Twine(count));
    for (int64_t i = 0; i < classes; ++i)
      for (int64_t j = i + 1; j < classes; ++j)
        pairs.push_back({i, j});
    Value kernels = emitKernels(n, rows, n.getFloats("support_vectors"), vectors, n.getString("kernel_type", "LINEAR"));
    Value sums = sumPairs(kernels);
    n.setOutput(0, labelGreatest(n, labels, countVotes(sums)));
    if (n.hasAttribute("prob_a") || n.hasAttribute("prob_b"))
      n.setOutput(1, transformScores(n, estimateShares(sums), transform));
    else if (classes > 2)
      n.setOutput(1, transformScores(n, sums, transform));
    else
      n.setOutput(1, scoreBothClasses(n, sums, /*isShare=*/transform != ScoreTransform::none, transform));
  }

private:
  /// Each class has weights of its own.
  void importLinear() {
    Value scores = emitShifted(n, emitKernels(n, rows, coefficients, classes, "LINEAR"), readRho(n));
    n.setOutput(0, labelGreatest(n, labels, scores));
    n.setOutput(1, transformScores(n, scores, transform));
  }

  SmallVector<float> readOfPairs(StringRef name) {
    SmallVector<float> values = n.getFloats(name);
    if (values.size() != pairs.size())
      throwInvalid("expects one of '" + name + "' for each of " + Twine(pairs.size()) + " pairs of classes, got " +
                   Twine(values.size()));
    return values;
  }
  int64_t getPairs() const { return static_cast<int64_t>(pairs.size()); }
  Value spread(ArrayRef<float> values) {
    return n.broadcastInDim(emitFloats(n, values, {int64_t(values.size())}),
                            {vx::getDim(typeOf(rows), 0), n.dim(values.size())}, {1});
  }

  /// Of pair (i, j) vectors of class i count by row j - 1 of the coefficients, and those of class j by row i.
  Value sumPairs(Value kernels) {
    SmallVector<int64_t> starts = {0};
    for (int64_t count : perClass)
      starts.push_back(starts.back() + count);
    SmallVector<float> weights(vectors * getPairs(), 0);
    for (auto [pair, both] : llvm::enumerate(pairs)) {
      auto [i, j] = both;
      for (auto [of, by] : {std::pair(i, j - 1), std::pair(j, i)})
        for (int64_t vector = starts[of]; vector < starts[of + 1]; ++vector)
          weights[vector * getPairs() + pair] = coefficients[by * vectors + vector];
    }
    Value sums = emitMatMul(n, kernels, emitFloats(n, weights, {vectors, getPairs()}));
    return n.emit<AddOp>(sums, spread(readOfPairs("rho")));
  }

  /// How many of its pairs each class has won, as whole f32s.
  Value countVotes(Value sums) {
    SmallVector<float> ofFirst(getPairs() * classes, 0), ofSecond = ofFirst;
    for (auto [pair, both] : llvm::enumerate(pairs)) {
      ofFirst[pair * classes + both.first] = 1;
      ofSecond[pair * classes + both.second] = 1;
    }
    Value isFirst = n.emit<CompareOp>(ComparePredicate::gt, sums, n.splatLike(0, sums));
    Type f32 = n.builder.getF32Type();
    Value first = emitMatMul(n, n.cast(isFirst, f32), emitFloats(n, ofFirst, {getPairs(), classes}));
    Value second = emitMatMul(n, n.cast(n.emit<NotOp>(isFirst), f32), emitFloats(n, ofSecond, {getPairs(), classes}));
    return n.emit<AddOp>(first, second);
  }

  /// The shares of classes that agree best with those of pairs: the second method of Wu, Lin and Weng, "Probability
  /// estimates for multi-class classification by pairwise coupling", as libsvm iterates it.
  Value estimateShares(Value sums) {
    if (classes > mostShared)
      throwUnsupported(Advice::SplitModel,
                       "expects probabilities of at most " + Twine(mostShared) + " classes, got " + Twine(classes));
    Dims dims = vx::getDims(typeOf(rows));
    DimAttr one = n.dim(1), count = n.dim(classes);
    Value logits = n.emit<AddOp>(n.emit<MulOp>(sums, spread(readOfPairs("prob_a"))), spread(readOfPairs("prob_b")));
    Value shares = emitSigmoid(n, n.emit<NegOp>(logits));
    Value least = n.splatLike(1e-7, shares), most = n.splatLike(1 - 1e-7f, shares);
    shares = n.emit<MinOp>(n.emit<MaxOp>(shares, least), most);
    auto column = [&](Value of, int64_t place) {
      return n.slice(of, {n.dim(0), n.dim(place)}, {dims[0], one}, {1, 1});
    };
    // r[i][j], the share of class i in its pair with j, and q[i], the rows of the form that is made least.
    SmallVector<SmallVector<Value>> r(classes, SmallVector<Value>(classes)), q = r;
    for (auto [pair, both] : llvm::enumerate(pairs)) {
      auto [i, j] = both;
      r[i][j] = column(shares, pair);
      r[j][i] = n.emit<SubOp>(n.splatLike(1, r[i][j]), r[i][j]);
    }
    SmallVector<Value> rowsOfQ, diagonal;
    for (int64_t i = 0; i < classes; ++i) {
      for (int64_t j = 0; j < classes; ++j) {
        if (i == j)
          continue;
        Value square = n.emit<MulOp>(r[j][i], r[j][i]);
        q[i][i] = q[i][i] ? n.emit<AddOp>(q[i][i], square) : square;
        q[i][j] = n.emit<NegOp>(n.emit<MulOp>(r[j][i], r[i][j]));
      }
      rowsOfQ.push_back(n.emit<ConcatOp>(q[i], 1));
      diagonal.push_back(q[i][i]);
    }
    Value matrix = n.reshape(n.emit<ConcatOp>(rowsOfQ, 1), {dims[0], count, count});
    Value start = n.splat(1.0 / classes, makeTensorType({dims[0], count}, n.builder.getF32Type()));
    return iterate(start, matrix, rowsOfQ, diagonal);
  }

  /// Rounds until each row is exact to 0.005 / classes; rows that are stay. At most 100.
  Value iterate(Value start, Value matrix, ArrayRef<Value> rowsOfQ, ArrayRef<Value> diagonal) {
    Dims dims = vx::getDims(typeOf(start)), cube = {dims[0], dims[1], dims[1]};
    DimAttr iteration = n.model.declareSymbol("round", true);
    Value trips = n.emitDim(n.dim(100), n.builder.getI64Type());
    auto broadcast = [&](Value column) { return n.broadcast(column, dims); };
    auto column = [&](Value of, int64_t place) {
      return n.slice(of, {n.dim(0), n.dim(place)}, {dims[0], n.dim(1)}, {1, 1});
    };
    Region body;
    {
      OpBuilder::InsertionGuard guard(n.builder);
      Block *block = n.builder.createBlock(&body, {}, start.getType(), n.location);
      Value p = block->getArgument(0), old = p;
      Value qp = n.reduce(ReduceKind::sum, n.emit<MulOp>(matrix, n.broadcastInDim(p, cube, {0, 2})), 2);
      Value pqp = n.reshape(n.reduce(ReduceKind::sum, n.emit<MulOp>(p, qp), 1), {dims[0], n.dim(1)});
      Value error = n.emit<AbsOp>(n.emit<SubOp>(qp, broadcast(pqp)));
      Value isFar = n.emit<CompareOp>(ComparePredicate::ge, error, n.splatLike(0.005f / float(classes), error));
      Value goesOn = n.reshape(n.reduce(ReduceKind::or_, isFar, 1), {dims[0], n.dim(1)});
      for (int64_t i = 0; i < classes; ++i) {
        Value own = diagonal[i];
        Value step = n.emit<DivOp>(n.emit<SubOp>(pqp, column(qp, i)), own);
        Value grown = emitShifted(n, step, 1);
        Value inner = n.emit<AddOp>(n.emit<MulOp>(step, own), emitScaled(n, column(qp, i), 2));
        pqp = n.emit<DivOp>(n.emit<DivOp>(n.emit<AddOp>(pqp, n.emit<MulOp>(step, inner)), grown), grown);
        qp = n.emit<DivOp>(n.emit<AddOp>(qp, n.emit<MulOp>(broadcast(step), rowsOfQ[i])), broadcast(grown));
        SmallVector<float> unit(classes, 0);
        unit[i] = 1;
        p = n.emit<DivOp>(n.emit<AddOp>(p, n.emit<MulOp>(broadcast(step), spread(unit))), broadcast(grown));
      }
      Value next = n.emit<SelectOp>(broadcast(goesOn), p, old);
      Value any = n.reduce(ReduceKind::or_, n.reshape(goesOn, dims[0]), int64_t(0));
      YieldOp::create(n.builder, n.location, ValueRange{any, next});
    }
    OperationState state(n.location, LoopOp::getOperationName());
    LoopOp::build(n.builder, state, TypeRange(start.getType()), trips, Value(), start,
                  iteration.getSymbol().getValue());
    state.regions[0]->takeBody(body);
    return n.finish(state)->getResult(0);
  }

  static constexpr int64_t maxTable = int64_t(1) << 26;
  /// Each pair of classes has ops of its own there.
  static constexpr int64_t mostShared = 100;

  NodeImporter &n;
  ScoreTransform transform;
  DenseElementsAttr labels;
  int64_t classes = 0, vectors = 0;
  SmallVector<int64_t> perClass;
  SmallVector<float> coefficients;
  Value rows;
  SmallVector<std::pair<int64_t, int64_t>> pairs;
};

} // namespace

static void importSvmClassifier(NodeImporter &n) { SvmClassifier(n).import(); }

static constexpr OpTableEntry supportVectorsTable[] = {
    {"SVMClassifier", 1, newestMlOpset, importSvmClassifier},
    {"SVMRegressor", 1, newestMlOpset, importSvmRegressor},
};
const llvm::ArrayRef<OpTableEntry> supportVectorsOps = supportVectorsTable;

} // namespace vx::onnx
