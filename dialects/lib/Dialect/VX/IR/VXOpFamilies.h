// One function per family of ops, beside the definitions of the family's ops: registers them with the dialect. (One
// source with all ops would be by far the slowest of the build.)
#ifndef VX_LIB_DIALECT_VX_IR_VXOPFAMILIES_H
#define VX_LIB_DIALECT_VX_IR_VXOPFAMILIES_H

#include "vx/Dialect/VX/IR/VXDialect.h"

namespace vx {

void registerAttentionOps(VXDialect &dialect);
void registerContractionOps(VXDialect &dialect);
void registerControlOps(VXDialect &dialect);
void registerElementwiseOps(VXDialect &dialect);
void registerGradientOps(VXDialect &dialect);
void registerHostOps(VXDialect &dialect);
void registerIndexingOps(VXDialect &dialect);
void registerNormOps(VXDialect &dialect);
void registerQuantizationOps(VXDialect &dialect);
void registerReductionOps(VXDialect &dialect);
void registerShapeOps(VXDialect &dialect);

template <typename Op>
constexpr int countRoles() {
  return Op::template hasTrait<OpTrait::Pointwise>() + Op::template hasTrait<OpTrait::Anchor>() +
         Op::template hasTrait<OpTrait::HostOp>() + Op::template hasTrait<OpTrait::Layout>() +
         Op::template hasTrait<OpTrait::Container>() + Op::template hasTrait<OpTrait::Directive>();
}

template <typename Op>
constexpr bool saysItsSizesOnce() {
  return Op::template hasTrait<ConstrainedOpInterface::Trait>() != Op::template hasTrait<OpTrait::Unconstrained>();
}

template <typename Op>
constexpr bool saysItsGradientOnce() {
  return Op::template hasTrait<DifferentiableOpInterface::Trait>() !=
         Op::template hasTrait<OpTrait::NonDifferentiable>();
}

template <typename... Ops>
void registerOps(VXDialect &dialect) {
  static_assert(((countRoles<Ops>() == 1) && ...), "each op has one role: see VXBase.td");
  static_assert((saysItsSizesOnce<Ops>() && ...), "each op is VX_Constrained or VX_Unconstrained: see VXBase.td");
  static_assert((saysItsGradientOnce<Ops>() && ...),
                "each op is VX_Differentiable or VX_NonDifferentiable: see VXBase.td");
  (mlir::RegisteredOperationName::insert<Ops>(dialect), ...);
}

} // namespace vx

#endif
