#include "vx/Dialect/VXRT/IR/VXRTDialect.h"

#include "vx/Dialect/DescribeEnd.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

#include "vx/Dialect/VXRT/IR/VXRTDialect.cpp.inc"
#include "vx/Dialect/VXRT/IR/VXRTEnums.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "vx/Dialect/VXRT/IR/VXRTTypes.cpp.inc"

#define GET_OP_CLASSES
#include "vx/Dialect/VXRT/IR/VXRTOps.cpp.inc"

namespace vxrt {

void VXRTDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "vx/Dialect/VXRT/IR/VXRTTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "vx/Dialect/VXRT/IR/VXRTOps.cpp.inc"
      >();
}

unsigned getStorageBits(Type elementType) {
  if (elementType.isInteger(1))
    return 8;
  return elementType.isIntOrFloat() ? elementType.getIntOrFloatBitWidth() : 0;
}

LogicalResult ProgramOp::verifyRegions() {
  Block &body = getBody().front();
  size_t symbols = getSymbols().size();
  if (body.getNumArguments() < symbols) // C1
    return emitOpError() << "expects an i64 for each symbol: " << symbols << " region arguments or more, got "
                         << body.getNumArguments();
  for (auto [index, type] : llvm::enumerate(body.getArgumentTypes())) { // C1
    if (index < symbols && !type.isInteger(64))
      return emitOpError() << "expects an i64 for each symbol, got " << type << " as region argument " << index;
    if (index >= symbols && !isa<BufferType, ObjectType>(type))
      return emitOpError() << "expects buffers and objects after the symbols, got " << type << " as region argument "
                           << index;
  }
  if (body.empty() || !isa<ReturnOp>(body.back())) // C2
    return emitOpError() << "expects to end with 'vxrt.return', got " << vx::describeEnd(body);
  auto aliases = (*this)->getAttrOfType<DenseI64ArrayAttr>(kAliasesAttr);
  if (aliases && aliases.size() % 2 != 0) // C3
    return emitOpError() << "expects an input and a result in each pair of 'aliases', got " << aliases.size()
                         << " numbers";
  int64_t inputs = body.getNumArguments() - symbols;
  int64_t results = cast<ReturnOp>(body.back()).getRanks().size();
  for (AliasPair pair : getAliases(*this)) { // C3
    if (pair.input < 0 || pair.input >= inputs || pair.result < 0 || pair.result >= results)
      return emitOpError() << "expects 'aliases' of " << inputs << " inputs and " << results << " results, got input "
                           << pair.input << " with result " << pair.result;
    if (!isa<BufferType>(getInput(*this, pair.input).getType()) ||
        cast<ReturnOp>(body.back()).getRanks()[pair.result] < 0)
      return emitOpError() << "expects 'aliases' of buffers, got input " << pair.input << " with result "
                           << pair.result;
  }
  return success();
}

LogicalResult ReturnOp::verify() {
  ValueRange rest = getValues();
  for (auto [index, rank] : llvm::enumerate(getRanks())) { // C1
    size_t count = rank < 0 ? 1 : 1 + rank;
    if (rest.size() < count)
      return emitOpError() << "expects " << count << " values for result " << index << " of rank " << rank << ", got "
                           << rest.size();
    for (auto [position, value] : llvm::enumerate(rest.take_front(count))) {
      Type want = position > 0 ? Type(IntegerType::get(getContext(), 64))
                  : rank < 0   ? Type(ObjectType::get(getContext()))
                               : Type(BufferType::get(getContext()));
      if (value.getType() != want)
        return emitOpError() << "expects " << want << " as value " << position << " of result " << index << " of rank "
                             << rank << ", got " << value.getType();
    }
    rest = rest.drop_front(count);
  }
  if (!rest.empty())
    return emitOpError() << "expects " << getValues().size() - rest.size() << " values for the results of 'ranks', got "
                         << getValues().size();
  return success();
}

SmallVector<AliasPair> getAliases(ProgramOp program) {
  SmallVector<AliasPair> pairs;
  auto numbers = program->getAttrOfType<DenseI64ArrayAttr>(kAliasesAttr);
  for (ArrayRef<int64_t> rest = numbers ? numbers.asArrayRef() : ArrayRef<int64_t>(); rest.size() >= 2;
       rest = rest.drop_front(2))
    pairs.push_back({rest[0], rest[1]});
  return pairs;
}

void setAliases(ProgramOp program, ArrayRef<AliasPair> pairs) {
  SmallVector<int64_t> numbers;
  for (AliasPair pair : pairs)
    numbers.append({pair.input, pair.result});
  if (!numbers.empty())
    program->setAttr(kAliasesAttr, DenseI64ArrayAttr::get(program.getContext(), numbers));
}

Value getInput(ProgramOp program, int64_t number) {
  return program.getBody().getArgument(program.getSymbols().size() + static_cast<unsigned>(number));
}

Value getResult(ProgramOp program, int64_t number) {
  auto result = cast<ReturnOp>(program.getBody().front().getTerminator());
  size_t place = 0;
  for (int64_t rank : result.getRanks().take_front(static_cast<size_t>(number)))
    place += 1 + static_cast<size_t>(std::max<int64_t>(rank, 0));
  return result.getValues()[place];
}

OperandRange getReadBuffers(Operation *command) {
  if (auto dispatch = dyn_cast<DispatchOp>(command))
    return dispatch.getInputs();
  return command->getOperands().take_front(isa<CopyOp>(command) ? 1 : 0);
}

OperandRange getWrittenBuffers(Operation *command) {
  if (auto dispatch = dyn_cast<DispatchOp>(command))
    return dispatch.getOutputs();
  return command->getOperands().take_back(isa<CopyOp>(command) ? 1 : 0);
}

bool writesVariable(Operation *command) {
  return llvm::any_of(getWrittenBuffers(command),
                      [](Value buffer) { return isa_and_present<VariableOp>(buffer.getDefiningOp()); });
}

LogicalResult SegmentOp::verifyRegions() {
  for (Operation &op : getBody().front())
    if (!isa<DispatchOp, CopyOp>(op)) // C1
      return emitOpError() << "expects 'vxrt.dispatch' and 'vxrt.copy' only, got '" << op.getName() << "'";
  return success();
}

static LogicalResult verifyHostElement(Operation *op, Type type) {
  if (!type.isInteger(1) && !type.isInteger(32) && !type.isInteger(64))
    return op->emitOpError() << "expects an element of i1, i32 or i64, got " << type;
  return success();
}

LogicalResult ReadI64Op::verify() { return verifyHostElement(*this, getElementType()); } // C1

LogicalResult ReadInputOp::verify() {
  auto program = (*this)->getParentOfType<ProgramOp>();
  Block::BlockArgListType inputs = program.getBody().getArguments().drop_front(program.getSymbols().size());
  if (getInput() >= inputs.size()) // C1
    return emitOpError() << "expects an input below " << inputs.size() << ", got " << getInput();
  if (!isa<BufferType>(inputs[getInput()].getType())) // C1
    return emitOpError() << "expects input " << getInput() << " to be a buffer, got " << inputs[getInput()].getType();
  if (StringAttr symbol = getSymbolAttr()) { // C3
    if (!llvm::is_contained(program.getSymbols(), symbol))
      return emitOpError() << "expects a symbol of the program, got " << symbol;
    for (auto other : program.getBody().front().getOps<ReadInputOp>())
      if (other != *this && other.getSymbolAttr() == symbol)
        return emitOpError() << "expects one op that gives " << symbol << ", got two";
  }
  return verifyHostElement(*this, getElementType()); // C2
}

static LogicalResult verifyYield(Operation *op, Block &block, TypeRange want, StringRef what) {
  auto yield = block.empty() ? YieldOp() : dyn_cast<YieldOp>(block.back());
  if (!yield)
    return op->emitOpError() << "expects " << what << " to end with 'vxrt.yield', got " << vx::describeEnd(block);
  if (TypeRange(yield.getValues()) != want)
    return op->emitOpError() << "expects " << what << " to yield (" << want << "), got ("
                             << yield.getValues().getTypes() << ")";
  return success();
}

LogicalResult IfOp::verifyRegions() {
  if (failed(verifyYield(*this, getThenRegion().front(), getResultTypes(), "the first region"))) // C1
    return failure();
  return verifyYield(*this, getElseRegion().front(), getResultTypes(), "the second region"); // C1
}

LogicalResult WhileOp::verifyRegions() {
  Block &body = getBody().front();
  TypeRange inits = getInits().getTypes();
  if (TypeRange(body.getArgumentTypes()) != inits) // C1
    return emitOpError() << "expects the region to take the initial values' types: (" << inits << "), got ("
                         << body.getArgumentTypes() << ")";
  if (TypeRange(getResultTypes()) != inits) // C1
    return emitOpError() << "expects results of the initial values' types: (" << inits << "), got (" << getResultTypes()
                         << ")";
  SmallVector<Type> want = {IntegerType::get(getContext(), 64)};
  llvm::append_range(want, inits);
  return verifyYield(*this, body, want, "the region"); // C2
}

} // namespace vxrt
