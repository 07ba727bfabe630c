// Which constants of a model are its weights.
#ifndef VX_LIB_AUTODIFF_TRAINABLECONSTANTS_H
#define VX_LIB_AUTODIFF_TRAINABLECONSTANTS_H

#include "vx/Dialect/VX/IR/VXDialect.h"

namespace vx {

/// Attribute of a constant: the random values that are to be in its place (`#vx.init`).
inline constexpr llvm::StringLiteral kInitAttr = "vx.init";

/// What a constant is to the ops that read it.
struct ConstantUse {
  bool isWeight = false;
  std::string what; // "weight of a product", or what it is instead
  InitAttr start;   // of a weight: with what it starts where training starts from nothing
};

ConstantUse findUse(ConstantOp constant);

} // namespace vx

#endif
