#include "vx/Dialect/VXK/IR/VXKDialect.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

#include "vx/Dialect/VXK/IR/VXKDialect.cpp.inc"
#include "vx/Dialect/VXK/IR/VXKEnums.cpp.inc"

#define GET_OP_CLASSES
#include "vx/Dialect/VXK/IR/VXKOps.cpp.inc"

namespace vxk {

void VXKDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "vx/Dialect/VXK/IR/VXKOps.cpp.inc"
      >();
}

LogicalResult BufferOp::verify() {
  auto type = cast<MemRefType>(getResult().getType());
  if (!type.getLayout().isIdentity()) // C1
    return emitOpError() << "expects a memref of identity layout, got " << type;
  if (static_cast<size_t>(type.getNumDynamicDims()) != getSizes().size()) // C1
    return emitOpError() << "expects one size for each '?' of " << type << ": want " << type.getNumDynamicDims()
                         << ", got " << getSizes().size();
  return success();
}

static void setRange(Value value, uint64_t last, SetIntRangeFn setResultRange) {
  unsigned width = IndexType::kInternalStorageBitWidth;
  setResultRange(value, ConstantIntRanges::fromUnsigned(APInt(width, 0), APInt(width, last)));
}

void ScalarOp::inferResultRanges(ArrayRef<ConstantIntRanges>, SetIntRangeFn setResultRange) {
  setRange(getResult(), INT64_MAX, setResultRange);
}

// The runtime refuses a dispatch of 2^31 - 65536 workgroups or more (runtime/include/vx/abi/kernel.h).
void WorkgroupIdOp::inferResultRanges(ArrayRef<ConstantIntRanges>, SetIntRangeFn setResultRange) {
  setRange(getResult(), INT32_MAX, setResultRange);
}

void WorkgroupCountOp::inferResultRanges(ArrayRef<ConstantIntRanges>, SetIntRangeFn setResultRange) {
  setRange(getResult(), INT32_MAX, setResultRange);
}

void ThreadIdOp::inferResultRanges(ArrayRef<ConstantIntRanges>, SetIntRangeFn setResultRange) {
  Operation *function = (*this)->getParentOp();
  while (function && !function->hasAttr(kKernelAttr))
    function = function->getParentOp();
  auto threads = function ? function->getAttrOfType<IntegerAttr>(kThreadsAttr) : nullptr;
  setRange(getResult(), threads ? threads.getInt() - 1 : INT32_MAX, setResultRange);
}

} // namespace vxk
