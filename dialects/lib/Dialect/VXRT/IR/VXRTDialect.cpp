#include "vx/Dialect/VXRT/IR/VXRTDialect.h"

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

} // namespace vxrt
