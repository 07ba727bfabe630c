// The last op of a block, for messages of verifiers.
#ifndef VX_DIALECT_DESCRIBEEND_H
#define VX_DIALECT_DESCRIBEEND_H

#include "mlir/IR/Block.h"
#include "mlir/IR/Operation.h"
#include <string>

namespace vx {

/// Returns the quoted name of the block's last op, or "an empty block".
inline std::string describeEnd(mlir::Block &block) {
  return block.empty() ? "an empty block" : "'" + block.back().getName().getStringRef().str() + "'";
}

} // namespace vx

#endif
