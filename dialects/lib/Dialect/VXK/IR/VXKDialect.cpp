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
    return emitOpError() << "expects a memref of identity layout, got '" << type << "'";
  if (static_cast<size_t>(type.getNumDynamicDims()) != getSizes().size()) // C1
    return emitOpError() << "expects one size for each '?' of '" << type << "': want " << type.getNumDynamicDims()
                         << ", got " << getSizes().size();
  return success();
}

} // namespace vxk
