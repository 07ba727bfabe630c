#include "vx/Reference/Evaluate.h"

#include "OpEvaluators.h"
#include "mlir/IR/TypeUtilities.h"
#include "vx/Dialect/VX/IR/SourceLocation.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace vx::reference {

//===-- Shared by the families
//-------------------------------------------------------------------------------------===//

llvm::Error callError(Operation *op, const llvm::Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                 message + " in '" + describeSource(op->getLoc()) + "'");
}

std::string describeShape(llvm::ArrayRef<int64_t> shape) {
  std::string text = "[";
  llvm::raw_string_ostream os(text);
  llvm::interleaveComma(shape, os);
  return text + "]";
}

ElementType elementTypeOf(Value value) { return *getElementType(getElementTypeOrSelf(value.getType())); }

Shape getStrides(llvm::ArrayRef<int64_t> shape) {
  Shape strides(shape.size());
  int64_t step = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    strides[d] = step;
    step *= shape[d];
  }
  return strides;
}

std::vector<double> toFloats(const HostTensor &tensor) {
  std::vector<double> values(tensor.getNumElements());
  for (int64_t i = 0; i < tensor.getNumElements(); ++i)
    values[i] = tensor.getFloat(i);
  return values;
}

//===-- Dimensions
//-------------------------------------------------------------------------------------------------===//

static llvm::Error dimError(const llvm::Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

llvm::Expected<int64_t> evaluateDim(DimAttr dim, const SymbolValues &symbols) {
  llvm::SetVector<StringAttr> names;
  dim.collectSymbols(names);
  for (StringAttr name : names)
    if (!symbols.contains(name.getValue()))
      return dimError("symbol '" + name.getValue() + "' has no value yet in '" + dim.str() + "'");
  std::optional<int64_t> value =
      dim.evaluate([&](llvm::StringRef name) -> std::optional<int64_t> { return symbols.lookup(name); });
  if (!value)
    return dimError("dimension '" + dim.str() + "' divides by zero or does not fit 64 bits");
  return *value;
}

llvm::Expected<Shape> evaluateShape(RankedTensorType type, const SymbolValues &symbols) {
  Shape shape;
  for (auto [index, dim] : llvm::enumerate(getDims(type))) {
    if (!dim)
      return dimError("dimension " + llvm::Twine(index) + " has no size in its type");
    llvm::Expected<int64_t> size = evaluateDim(dim, symbols);
    if (!size)
      return size.takeError();
    if (*size < 0)
      return dimError("dimension '" + dim.str() + "' is " + llvm::Twine(*size) + ", below 0");
    shape.push_back(*size);
  }
  // In bytes of the widest element, so that offsets fit too.
  int64_t bytes = 8;
  for (int64_t size : shape)
    if (llvm::MulOverflow(bytes, size, bytes))
      return dimError("a tensor of the shape " + describeShape(shape) + " has more bytes than 64 bits count");
  return shape;
}

//===-- Ops
//--------------------------------------------------------------------------------------------------------===//

static bool isElementwise(Operation *op) { return op->hasTrait<OpTrait::Elementwise>(); }

static bool isSequenceOp(Operation *op) {
  return llvm::isa<SequenceConstructOp, SequenceInsertOp, SequenceAtOp, SequenceEraseOp, SequenceLengthOp>(op);
}

bool canEvaluate(Operation *op) {
  return isElementwise(op) || isSequenceOp(op) ||
         llvm::isa<ConstantOp, IotaOp, DimValueOp, ReshapeOp, TransposeOp, PackOp, UnpackOp, BroadcastOp, SliceOp,
                   ConcatOp, PadOp, ContractOp, ConvOp, ReduceOp, ArgReduceOp, ReduceWindowOp, SoftmaxOp, LayerNormOp,
                   RmsNormOp, AttentionOp, GatherOp, CountNonzeroOp, NonzeroOp>(op);
}

static llvm::Expected<int64_t> evaluateDimOf(Operation *op, DimAttr dim, const SymbolValues &symbols) {
  llvm::Expected<int64_t> value = evaluateDim(dim, symbols);
  if (!value)
    return callError(op, llvm::toString(value.takeError()));
  return value;
}

static llvm::Expected<Shape> evaluateDimsOf(Operation *op, ArrayAttr dims, const SymbolValues &symbols) {
  Shape values;
  for (auto dim : dims.getAsRange<DimAttr>()) {
    llvm::Expected<int64_t> value = evaluateDimOf(op, dim, symbols);
    if (!value)
      return value.takeError();
    values.push_back(*value);
  }
  return values;
}

namespace {

/// Evaluates one op whose operands are tensors.
class TensorOpEvaluator {
public:
  TensorOpEvaluator(Operation *op, llvm::ArrayRef<HostTensor> operands, const SymbolValues &symbols)
      : op(op), operands(operands), symbols(symbols) {}

  Result run() {
    if (isElementwise(op))
      return evaluateElementwise(op, operands);
    return llvm::TypeSwitch<Operation *, Result>(op)
        .Case([&](ConstantOp o) -> Result {
          Result value = getHostTensor(o.getValue());
          if (!value)
            return callError(o, llvm::toString(value.takeError()));
          return value;
        })
        .Case([&](DimValueOp o) -> Result {
          llvm::Expected<int64_t> value = evaluateDimOf(o, o.getValue(), symbols);
          if (!value)
            return value.takeError();
          return HostTensor::scalar(*value);
        })
        .Case([&](IotaOp o) {
          return withResultShape([&](llvm::ArrayRef<int64_t> shape) { return evaluateIota(o, shape); });
        })
        .Case([&](ReshapeOp o) {
          return withResultShape([&](llvm::ArrayRef<int64_t> shape) { return evaluateReshape(o, operands[0], shape); });
        })
        .Case([&](BroadcastOp o) {
          return withResultShape(
              [&](llvm::ArrayRef<int64_t> shape) { return evaluateBroadcast(o, operands[0], shape); });
        })
        .Case([&](NonzeroOp o) {
          return withResultShape([&](llvm::ArrayRef<int64_t> shape) { return evaluateNonzero(o, operands[0], shape); });
        })
        .Case([&](SliceOp o) {
          return withResultShape([&](llvm::ArrayRef<int64_t> shape) -> Result {
            llvm::Expected<Shape> starts = evaluateDimsOf(o, o.getStarts(), symbols);
            if (!starts)
              return starts.takeError();
            return evaluateSlice(o, operands[0], *starts, shape);
          });
        })
        .Case([&](PadOp o) -> Result {
          llvm::Expected<Shape> low = evaluateDimsOf(o, o.getLow(), symbols);
          if (!low)
            return low.takeError();
          llvm::Expected<Shape> high = evaluateDimsOf(o, o.getHigh(), symbols);
          if (!high)
            return high.takeError();
          return evaluatePad(o, operands[0], operands[1], *low, *high);
        })
        .Case([&](PackOp o) { return evaluatePack(o, operands[0]); })
        .Case([&](UnpackOp o) {
          return withResultShape([&](llvm::ArrayRef<int64_t> shape) { return evaluateUnpack(o, operands[0], shape); });
        })
        .Case([&](TransposeOp o) { return evaluateTranspose(o, operands[0]); })
        .Case([&](ConcatOp o) { return evaluateConcat(o, operands); })
        .Case([&](ContractOp o) { return evaluateContract(o, operands[0], operands[1]); })
        .Case([&](ConvOp o) { return evaluateConv(o, operands[0], operands[1]); })
        .Case([&](ReduceOp o) { return evaluateReduce(o, operands[0]); })
        .Case([&](ArgReduceOp o) { return evaluateArgReduce(o, operands[0]); })
        .Case([&](ReduceWindowOp o) { return evaluateReduceWindow(o, operands[0]); })
        .Case([&](SoftmaxOp o) { return evaluateSoftmax(o, operands[0]); })
        .Case([&](LayerNormOp o) { return evaluateLayerNorm(o, operands[0], operands[1], operands[2]); })
        .Case([&](RmsNormOp o) { return evaluateRmsNorm(o, operands[0], operands[1]); })
        .Case([&](GatherOp o) { return evaluateGather(o, operands[0], operands[1]); })
        // What else `canEvaluate` knows.
        .Default([&](Operation *o) { return evaluateCountNonzero(llvm::cast<CountNonzeroOp>(o), operands[0]); });
  }

private:
  Result withResultShape(llvm::function_ref<Result(llvm::ArrayRef<int64_t>)> compute) {
    llvm::Expected<Shape> shape = evaluateShape(llvm::cast<RankedTensorType>(op->getResult(0).getType()), symbols);
    if (!shape)
      return callError(op, llvm::toString(shape.takeError()));
    return compute(*shape);
  }

  Operation *op;
  llvm::ArrayRef<HostTensor> operands;
  const SymbolValues &symbols;
};

} // namespace

llvm::Expected<llvm::SmallVector<HostValue>> evaluate(Operation *op, llvm::ArrayRef<HostValue> operands,
                                                      const SymbolValues &symbols) {
  if (!canEvaluate(op))
    return callError(op, "the reference evaluator does not know '" + op->getName().getStringRef() + "'");
  for (Type type : llvm::concat<Type>(llvm::to_vector(op->getOperandTypes()), llvm::to_vector(op->getResultTypes()))) {
    auto tensor = llvm::dyn_cast<TensorType>(type);
    if (tensor && !getElementType(tensor.getElementType())) {
      std::string text;
      llvm::raw_string_ostream(text) << type;
      return callError(op, "the reference evaluator computes with numbers and bools, got '" + text + "'");
    }
  }
  if (isSequenceOp(op)) {
    llvm::Expected<HostValue> result = evaluateSequence(op, operands);
    if (!result)
      return result.takeError();
    return llvm::SmallVector<HostValue>{std::move(*result)};
  }
  llvm::SmallVector<HostTensor> tensors;
  for (const HostValue &operand : operands)
    tensors.push_back(std::get<HostTensor>(operand));
  if (auto attention = llvm::dyn_cast<AttentionOp>(op)) {
    llvm::Expected<int64_t> past = evaluateDimOf(op, attention.getPastOrZero(), symbols);
    if (!past)
      return past.takeError();
    const HostTensor *mask = attention.getMask() ? &tensors[3] : nullptr;
    const HostTensor *bias = attention.getBias() ? &tensors.back() : nullptr;
    auto results = evaluateAttention(attention, tensors[0], tensors[1], tensors[2], mask, bias, *past);
    if (!results)
      return results.takeError();
    return llvm::SmallVector<HostValue>(results->begin(), results->end());
  }
  Result result = TensorOpEvaluator(op, tensors, symbols).run();
  if (!result)
    return result.takeError();
  return llvm::SmallVector<HostValue>{std::move(*result)};
}

} // namespace vx::reference
