// What is known of an index at compile time.
#ifndef VX_CODEGEN_COMMON_INDEXFACTS_H
#define VX_CODEGEN_COMMON_INDEXFACTS_H

#include "mlir/IR/Value.h"

namespace vx {

/// True when `value` is known to be a multiple of `factor`, a power of two. A null value is a multiple of nothing.
bool isMultipleOf(mlir::Value value, int64_t factor);

} // namespace vx

#endif
