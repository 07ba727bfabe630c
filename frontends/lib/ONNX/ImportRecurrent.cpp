// LSTM, GRU and RNN: a loop over the positions of the sequence for each direction. One product before the loop
// multiplies the data of all positions with its weights.
#include "DimMath.h"
#include "IntegerParts.h"
#include "vx/Dialect/VX/Utils/Activations.h"

using namespace mlir;

namespace vx::onnx {

namespace {

/// An activation of the gates: its ONNX name, and the defaults of its two parameters, if it has them.
struct KnownActivation {
  StringLiteral name;
  std::optional<double> alpha, beta;
  Value (*emit)(NodeImporter &n, Value x, double alpha, double beta);
};

/// An activation with its parameters.
struct Activation {
  const KnownActivation *known;
  double alpha = 0, beta = 0;

  Value emit(NodeImporter &n, Value x) const { return known->emit(n, x, alpha, beta); }
};

} // namespace

static Value emitAffine(NodeImporter &n, Value x, double alpha, double beta) {
  return emitShifted(n, emitScaled(n, x, alpha), beta);
}
static Value emitScaledTanh(NodeImporter &n, Value x, double alpha, double beta) {
  return emitScaled(n, n.emit<TanhOp>(emitScaled(n, x, beta)), alpha);
}

static constexpr std::nullopt_t none = std::nullopt;
static constexpr KnownActivation knownActivations[] = {
    {"Affine", 1.0, 0.0, emitAffine},
    {"Elu", 1.0, none, [](NodeImporter &n, Value x, double alpha, double) { return emitElu(n, x, alpha); }},
    {"HardSigmoid", 0.2, 0.5,
     [](NodeImporter &n, Value x, double alpha, double beta) { return emitHardSigmoid(n, x, alpha, beta); }},
    {"LeakyRelu", 0.01, none,
     [](NodeImporter &n, Value x, double alpha, double) { return emitLeakyRelu(n, x, alpha); }},
    {"Relu", none, none, [](NodeImporter &n, Value x, double, double) { return emitRelu(n, x); }},
    {"ScaledTanh", 1.0, 1.0, emitScaledTanh},
    {"Sigmoid", none, none, [](NodeImporter &n, Value x, double, double) { return emitSigmoid(n, x); }},
    {"Softplus", none, none, [](NodeImporter &n, Value x, double, double) { return emitSoftplus(n, x); }},
    {"Softsign", none, none, [](NodeImporter &n, Value x, double, double) { return emitSoftsign(n, x); }},
    {"Tanh", none, none, [](NodeImporter &n, Value x, double, double) { return n.emit<TanhOp>(x); }},
    {"ThresholdedRelu", 1.0, none,
     [](NodeImporter &n, Value x, double alpha, double) { return emitThresholdedRelu(n, x, alpha); }},
};

namespace {

/// The differences between the three ops.
struct Cell {
  int64_t gates;                      // blocks of rows of the weights
  SmallVector<StringRef> activations; // of one direction
  unsigned states;                    // h, and c of an LSTM
  bool hasPeepholes = false;
};

/// One direction's parameters; a bias that is not there is null.
struct Weights {
  Value data;       // [gates * hidden, inputs]
  Value hidden;     // [gates * hidden, hidden], or of the gates that the state is multiplied with first
  Value lastHidden; // [hidden, hidden] of the last gate, where it is not among those
  Value dataBias, hiddenBias;
  Value peepholes; // [3 * hidden]: of the gates i, o, f
  ArrayRef<Activation> activations;
};

class Recurrence {
public:
  Recurrence(NodeImporter &n, Cell cell) : n(n), cell(std::move(cell)) {}
  virtual ~Recurrence() = default;

  void import() {
    readAttributes();
    readShapes();
    if (n.hasInput(4))
      lengths = n.getTensor(4);
    int64_t directions = direction == "bidirectional" ? 2 : 1;
    SmallVector<Value> sequences;
    SmallVector<SmallVector<Value>> finals(cell.states);
    for (int64_t d = 0; d < directions; ++d) {
      Weights weights = readWeights(d);
      SmallVector<Value> states = readStates(d);
      Value sequence = run(weights, states, direction == "reverse" || d == 1);
      if (sequence)
        sequences.push_back(n.reshape(sequence, {length, n.dim(1), batch, n.dim(hidden)}));
      for (auto [state, all] : llvm::zip(states, finals))
        all.push_back(n.reshape(state, {n.dim(1), batch, n.dim(hidden)}));
    }
    auto join = [&](ArrayRef<Value> values, int64_t axis) {
      return values.size() == 1 ? values.front() : n.emit<ConcatOp>(ValueRange(values), axis);
    };
    if (n.wantsOutput(0)) {
      Value all = join(sequences, 1); // [length, directions, batch, hidden]
      n.setOutput(0, isBatchFirst ? n.transpose(all, {2, 0, 1, 3}) : all);
    }
    for (unsigned state = 0; state < cell.states; ++state)
      if (n.wantsOutput(state + 1)) {
        Value all = join(finals[state], 0); // [directions, batch, hidden]
        n.setOutput(state + 1, isBatchFirst ? n.transpose(all, {1, 0, 2}) : all);
      }
  }

protected:
  /// Gates `from` up to `to` of a place of the sequence, [batch, (to - from) * hidden]: the products of the data, with
  /// the biases of both sides that may be added there.
  using DataOfGates = llvm::function_ref<Value(int64_t from, int64_t to)>;
  /// Returns the states after a position.
  virtual SmallVector<Value> step(const Weights &weights, DataOfGates data, ArrayRef<Value> states) = 0;
  virtual void prepare(Weights &weights) {}
  /// The weights of one direction at input 1 or 2: a row for each hidden place of each gate.
  virtual Value readRows(unsigned input, int64_t direction, DimAttr rows, DimAttr columns) {
    return take(input, direction, {rows, columns});
  }
  /// x [..., columns] times the result of `readRows`, for all gates.
  virtual Value multiplyAll(Value x, Value rows) { return multiply(x, rows); }
  /// The dimension of input 2 that has the size of the state.
  virtual int64_t getHiddenDim() const { return 2; }
  /// Throws unless input 1 or 2 has `rows` rows for each direction.
  virtual void checkRows(unsigned input, DimAttr directions, DimAttr rows, DimAttr columns) {
    n.requireShape(input, {directions, rows, columns});
  }
  /// True where the second bias of the last gate is added to its product alone.
  virtual bool keepsLastBias() const { return false; }

  Value bounded(Value x) {
    if (clip <= 0)
      return x;
    return n.emit<MaxOp>(n.emit<MinOp>(x, n.splatLike(clip, x)), n.splatLike(-clip, x));
  }
  Value activate(const Activation &activation, Value x) { return activation.emit(n, bounded(x)); }
  /// x [batch, ...] times the rows of one or more gates.
  Value multiply(Value x, Value rows) {
    return n.emit<ContractOp>(x, rows, ArrayRef<int64_t>(), ArrayRef<int64_t>(), ArrayRef<int64_t>(rank(x) - 1),
                              ArrayRef<int64_t>(1));
  }
  /// Gates `from` up to `to` along a dimension that holds the blocks of all.
  Value gates(Value value, int64_t axis, int64_t from, int64_t to) {
    Dims starts(rank(value), n.dim(0)), sizes = vx::getDims(typeOf(value));
    starts[axis] = n.dim(from * hidden);
    sizes[axis] = n.dim((to - from) * hidden);
    return n.slice(value, starts, sizes, SmallVector<int64_t>(rank(value), 1));
  }
  Value addVector(Value value, Value vector) {
    return n.emit<AddOp>(value, n.broadcast(vector, vx::getDims(typeOf(value))));
  }

  /// One direction's part of an input, without that dimension; null for an input that is not there.
  Value take(unsigned input, int64_t direction, ArrayRef<DimAttr> dims, int64_t axis = 0) {
    if (!n.hasInput(input))
      return {};
    Value value = n.getTensor(input);
    Dims starts(rank(value), n.dim(0)), sizes = vx::getDims(typeOf(value));
    starts[axis] = n.dim(direction);
    sizes[axis] = n.dim(1);
    return n.reshape(n.slice(value, starts, sizes, SmallVector<int64_t>(rank(value), 1)), dims);
  }

  static int64_t rank(Value value) { return typeOf(value).getRank(); }

  NodeImporter &n;
  int64_t hidden = 0;

private:
  void readAttributes() {
    direction = n.getString("direction", "forward");
    if (direction != "forward" && direction != "reverse" && direction != "bidirectional")
      throwInvalid("expects 'direction' to be 'forward', 'reverse' or 'bidirectional', got '" + direction + "'");
    clip = n.getFloat("clip", 0.0f);
    isBatchFirst = n.getFlag("layout", false);
    size_t directions = direction == "bidirectional" ? 2 : 1, count = cell.activations.size();
    SmallVector<StringRef> names = n.getStrings("activations");
    if (names.empty())
      for (size_t d = 0; d < directions; ++d)
        llvm::append_range(names, cell.activations);
    if (names.size() != directions * count)
      throwInvalid("expects " + Twine(directions * count) + " 'activations', got " + Twine(names.size()));
    SmallVector<float> alphas = n.getFloats("activation_alpha"), betas = n.getFloats("activation_beta");
    size_t nextAlpha = 0, nextBeta = 0;
    // A parameter is for the next activation that has one of its kind.
    auto take = [](ArrayRef<float> given, size_t &next, std::optional<double> otherwise) {
      if (!otherwise)
        return 0.0;
      return next < given.size() ? static_cast<double>(given[next++]) : *otherwise;
    };
    for (StringRef name : names) {
      const auto *known = llvm::find_if(
          knownActivations, [&](const KnownActivation &each) { return each.name.equals_insensitive(name); });
      if (known == std::end(knownActivations))
        throwInvalid("expects the names of functions as 'activations', got '" + name + "'");
      Activation activation{known};
      activation.alpha = take(alphas, nextAlpha, known->alpha);
      activation.beta = take(betas, nextBeta, known->beta);
      activations.push_back(activation);
    }
  }

  void readShapes() {
    data = n.getTensor(0);
    if (rank(data) != 3)
      throwInvalid("expects data of 3 dimensions, got " + describe(data.getType()));
    if (isBatchFirst)
      data = n.transpose(data, {1, 0, 2});
    Dims dims = vx::getDims(typeOf(data));
    length = dims[0];
    batch = dims[1];
    int64_t directions = direction == "bidirectional" ? 2 : 1;
    Value weight = n.getTensor(1), recurrent = n.getTensor(2);
    if (rank(weight) != 3 || rank(recurrent) != 3)
      throwInvalid("expects weights of 3 dimensions, got " + describe(weight.getType()) + " and " +
                   describe(recurrent.getType()));
    std::optional<int64_t> size = vx::getDims(typeOf(recurrent))[getHiddenDim()].asConstant();
    hidden = n.getInt("hidden_size", size.value_or(0));
    if (hidden <= 0 && !size)
      throwUnsupported(Advice::FixSizes,
                       "expects weights whose number of hidden places is known, got " + describe(recurrent.getType()));
    // So products with it do not overflow.
    if (hidden < 1 || hidden > maxElements / 8)
      throwInvalid("expects a 'hidden_size' from 1 to " + Twine(maxElements / 8) + ", got " + Twine(hidden));
    DimAttr rows = n.dim(cell.gates * hidden), count = n.dim(directions);
    checkRows(1, count, rows, dims[2]);
    checkRows(2, count, rows, n.dim(hidden));
    checkShape(3, {count, n.dim(2 * cell.gates * hidden)});
    if (n.hasInput(4) && !elementOf(n.getTensor(4)).isInteger(32))
      throwInvalid("expects lengths of i32, got " + describe(n.getTensorType(4)));
    checkShape(4, {batch});
    Dims states = isBatchFirst ? Dims{batch, count, n.dim(hidden)} : Dims{count, batch, n.dim(hidden)};
    for (unsigned state = 0; state < cell.states; ++state)
      checkShape(5 + state, states);
    if (cell.hasPeepholes)
      checkShape(7, {count, n.dim(3 * hidden)});
  }

  void checkShape(unsigned input, ArrayRef<DimAttr> want) {
    if (n.hasInput(input))
      n.requireShape(input, want);
  }

  Weights readWeights(int64_t d) {
    DimAttr rows = n.dim(cell.gates * hidden);
    Weights weights;
    weights.data = readRows(1, d, rows, vx::getDims(typeOf(data))[2]);
    weights.hidden = readRows(2, d, rows, n.dim(hidden));
    if (Value biases = take(3, d, {n.dim(2 * cell.gates * hidden)})) {
      weights.dataBias = gates(biases, 0, 0, cell.gates);
      weights.hiddenBias = gates(biases, 0, cell.gates, 2 * cell.gates);
    }
    if (cell.hasPeepholes)
      weights.peepholes = take(7, d, {n.dim(3 * hidden)});
    size_t count = cell.activations.size();
    weights.activations = ArrayRef(activations).slice(d * count, count);
    prepare(weights);
    return weights;
  }

  SmallVector<Value> readStates(int64_t d) {
    SmallVector<Value> states;
    for (unsigned state = 0; state < cell.states; ++state) {
      Value start = take(5 + state, d, {batch, n.dim(hidden)}, isBatchFirst ? 1 : 0);
      states.push_back(start ? start : n.splat(0, makeTensorType({batch, n.dim(hidden)}, elementOf(data))));
    }
    return states;
  }

  /// Returns the states of all positions; null if nothing reads them. Sets `states` to the last ones.
  Value run(Weights &weights, SmallVectorImpl<Value> &states, bool isReverse) {
    Value projected = multiplyAll(data, weights.data); // [length, batch, gates * hidden]
    if (weights.dataBias) {
      // The biases of both sides are one where nothing stands between them.
      int64_t shared = cell.gates - keepsLastBias();
      Value bias = weights.hiddenBias;
      if (shared < cell.gates) {
        Value none = n.splat(0, makeTensorType({n.dim(hidden)}, elementOf(bias)));
        bias = shared == 0 ? none : n.emit<ConcatOp>(ValueRange{gates(bias, 0, 0, shared), none}, 0);
      }
      projected = addVector(projected, n.emit<AddOp>(weights.dataBias, bias));
    }
    Value sequence;
    if (n.wantsOutput(0))
      sequence = n.splat(0, makeTensorType({length, batch, n.dim(hidden)}, elementOf(data)));
    SmallVector<Value> carried(states.begin(), states.end());
    if (sequence)
      carried.push_back(sequence);
    carried = emitCountedLoop(n, length, carried, [&](DimAttr iteration, ValueRange values) {
      SmallVector<Value> inner(values.take_front(cell.states));
      Value all = sequence ? values.back() : Value();
      advance(weights, projected, isReverse ? subDims(subDims(length, n.dim(1)), iteration) : iteration, inner, all);
      if (all)
        inner.push_back(all);
      return inner;
    });
    if (sequence)
      sequence = carried.pop_back_val();
    states.assign(carried.begin(), carried.end());
    return sequence;
  }

  /// One place of the sequence.
  void advance(const Weights &weights, Value projected, DimAttr place, SmallVectorImpl<Value> &states,
               Value &sequence) {
    auto here = [&](int64_t from, int64_t to) {
      DimAttr size = n.dim((to - from) * hidden);
      Value row = n.slice(projected, {place, n.dim(0), n.dim(from * hidden)}, {n.dim(1), batch, size}, {1, 1, 1});
      return n.reshape(row, {batch, size});
    };
    SmallVector<Value> next = step(weights, here, states);
    Value written = next.front();
    if (lengths) {
      // After the end of a sequence its states do not change, and the output is 0.
      Value number = n.broadcast(n.emitDim(place, elementOf(lengths)), {batch});
      Value isInside = n.emit<CompareOp>(ComparePredicate::lt, number, lengths);
      isInside = n.broadcastInDim(isInside, {batch, n.dim(hidden)}, {0});
      written = n.emit<SelectOp>(isInside, written, n.splatLike(0, written));
      for (auto [value, before] : llvm::zip(next, states))
        value = n.emit<SelectOp>(isInside, value, before);
    }
    if (sequence)
      sequence = n.emit<UpdateSliceOp>(sequence, n.emitList({place}),
                                       n.reshape(written, {n.dim(1), batch, n.dim(hidden)}), ArrayRef<int64_t>(0));
    states.assign(next.begin(), next.end());
  }

  Cell cell;
  std::string direction;
  double clip = 0; // 0: none
  bool isBatchFirst = false;
  SmallVector<Activation> activations;
  Value data; // [length, batch, inputs]
  DimAttr length, batch;
  Value lengths; // null: each sequence is as long as the data
};

/// Gates i, o, f, c.
class Lstm : public Recurrence {
public:
  explicit Lstm(NodeImporter &n)
      : Recurrence(n, {4, {"Sigmoid", "Tanh", "Tanh"}, 2, true}), joinsForget(n.getFlag("input_forget", false)) {}

private:
  SmallVector<Value> step(const Weights &weights, DataOfGates data, ArrayRef<Value> states) override {
    Value all = n.emit<AddOp>(data(0, 4), multiplyAll(states[0], weights.hidden)), cell = states[1];
    auto gate = [&](int64_t number, int64_t peephole, Value seen) {
      Value sum = gates(all, 1, number, number + 1);
      if (!weights.peepholes || peephole < 0)
        return sum;
      Value factor = n.broadcast(gates(weights.peepholes, 0, peephole, peephole + 1), vx::getDims(typeOf(seen)));
      return n.emit<AddOp>(sum, n.emit<MulOp>(factor, seen));
    };
    Value input = activate(weights.activations[0], gate(0, 0, cell));
    Value forget =
        joinsForget ? n.emit<SubOp>(n.splatLike(1, input), input) : activate(weights.activations[0], gate(2, 2, cell));
    Value candidate = activate(weights.activations[1], gate(3, -1, cell));
    Value next = n.emit<AddOp>(n.emit<MulOp>(forget, cell), n.emit<MulOp>(input, candidate));
    Value output = activate(weights.activations[0], gate(1, 1, next));
    return {n.emit<MulOp>(output, weights.activations[2].emit(n, next)), next};
  }

  bool joinsForget; // f is 1 - i
};

/// An LSTM with weights of bytes, which are transposed. Inputs 8 to 11 are their scales and zero points: one for each
/// direction, or one for each column. Data and states are quantised before the product, by the least and the greatest
/// of all values in the product.
class QuantizedLstm : public Lstm {
public:
  explicit QuantizedLstm(NodeImporter &n) : Lstm(n) {}

private:
  struct Factor {
    Bytes bytes;
    Value scale; // one, or one for each column
  };

  int64_t getHiddenDim() const override { return 1; }

  void checkRows(unsigned input, DimAttr directions, DimAttr rows, DimAttr columns) override {
    n.requireShape(input, {directions, columns, rows});
    if (!elementOf(n.getTensor(input)).isInteger(8))
      throwInvalid("expects weights of 8 bits, got " + describe(n.getTensorType(input)));
    for (unsigned parameter : {getScale(input), getScale(input) + 1}) {
      if (n.getTensorType(parameter).getRank() == 1)
        n.requireShape(parameter, {directions});
      else
        n.requireShape(parameter, {directions, rows});
    }
    if (n.getElementType(getScale(input) + 1) != n.getElementType(input))
      throwInvalid("expects a zero point of the elements' type: " + describe(n.getElementType(input)) + ", got " +
                   describe(n.getTensorType(getScale(input) + 1)));
  }

  Value readRows(unsigned input, int64_t direction, DimAttr rows, DimAttr columns) override {
    auto takeParameter = [&](unsigned index) {
      const bool isSingle = n.getTensorType(index).getRank() == 1;
      return take(index, direction, isSingle ? Dims() : Dims{rows});
    };
    Value elements = take(input, direction, {columns, rows}), zero = takeParameter(getScale(input) + 1);
    if (auto known = dyn_cast_or_null<DenseElementsAttr>(n.getEntry(getScale(input) + 1).constant))
      if (llvm::all_of(known.getValues<APInt>(), [](const APInt &value) { return value.isZero(); }))
        zero = {};
    factors[elements] = {{elements, zero}, takeParameter(getScale(input))};
    return elements;
  }

  Value multiplyAll(Value x, Value rows) override {
    const Factor &factor = factors.find(rows)->second;
    DynamicIntegers integers = quantizeDynamically(n, x);
    Value sums = emitBytesMatMul(n, {integers.elements, integers.zeroPoint}, factor.bytes);
    Dims dims = vx::getDims(typeOf(sums));
    Value scale = n.emit<MulOp>(factor.scale, n.broadcast(integers.scale, vx::getDims(typeOf(factor.scale))));
    return n.emit<MulOp>(n.cast(sums, elementOf(x)), n.broadcast(scale, dims));
  }

  static unsigned getScale(unsigned weights) { return weights == 1 ? 8 : 10; }

  llvm::DenseMap<Value, Factor> factors;
};

/// Gates z, r, h.
class Gru : public Recurrence {
public:
  explicit Gru(NodeImporter &n)
      : Recurrence(n, {3, {"Sigmoid", "Tanh"}, 1}), isLinearFirst(n.getFlag("linear_before_reset", false)) {}

private:
  void prepare(Weights &weights) override {
    if (isLinearFirst)
      return;
    weights.lastHidden = gates(weights.hidden, 0, 2, 3);
    weights.hidden = gates(weights.hidden, 0, 0, 2);
  }
  bool keepsLastBias() const override { return isLinearFirst; }

  SmallVector<Value> step(const Weights &weights, DataOfGates data, ArrayRef<Value> states) override {
    Value before = states[0], product = multiply(before, weights.hidden);
    auto gate = [&](int64_t number) {
      Value sum = n.emit<AddOp>(data(number, number + 1), gates(product, 1, number, number + 1));
      return activate(weights.activations[0], sum);
    };
    Value update = gate(0), reset = gate(1), own;
    if (isLinearFirst) {
      own = gates(product, 1, 2, 3);
      if (weights.hiddenBias)
        own = addVector(own, gates(weights.hiddenBias, 0, 2, 3));
      own = n.emit<MulOp>(reset, own);
    } else {
      own = multiply(n.emit<MulOp>(reset, before), weights.lastHidden);
    }
    Value candidate = activate(weights.activations[1], n.emit<AddOp>(data(2, 3), own));
    Value rest = n.emit<SubOp>(n.splatLike(1, update), update);
    return {n.emit<AddOp>(n.emit<MulOp>(rest, candidate), n.emit<MulOp>(update, before))};
  }

  bool isLinearFirst; // the product with h is multiplied by r, not h itself
};

class Rnn : public Recurrence {
public:
  explicit Rnn(NodeImporter &n) : Recurrence(n, {1, {"Tanh"}, 1}) {}

private:
  SmallVector<Value> step(const Weights &weights, DataOfGates data, ArrayRef<Value> states) override {
    return {activate(weights.activations[0], n.emit<AddOp>(data(0, 1), multiply(states[0], weights.hidden)))};
  }
};

} // namespace

static void importDynamicQuantizeLSTM(NodeImporter &n) { QuantizedLstm(n).import(); }
static void importGRU(NodeImporter &n) { Gru(n).import(); }
static void importLSTM(NodeImporter &n) { Lstm(n).import(); }
static void importRNN(NodeImporter &n) { Rnn(n).import(); }

static constexpr OpTableEntry recurrentTable[] = {
    {"GRU", 7, newestOpset, importGRU},
    {"LSTM", 7, newestOpset, importLSTM},
    {"RNN", 7, newestOpset, importRNN},
};
const llvm::ArrayRef<OpTableEntry> recurrentOps = recurrentTable;

static constexpr OpTableEntry quantizedRecurrentTable[] = {
    {"DynamicQuantizeLSTM", 1, newestMicrosoftOpset, importDynamicQuantizeLSTM},
};
const llvm::ArrayRef<OpTableEntry> quantizedRecurrentOps = quantizedRecurrentTable;

} // namespace vx::onnx
