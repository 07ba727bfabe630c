// Code generation of kernels for CPUs.
#ifndef VX_CODEGEN_CPU_H
#define VX_CODEGEN_CPU_H

#include "mlir/Pass/PassManager.h"

namespace vx {

struct TargetSpec;

/// Appends the passes from a module with one `vx.kernel` to one with a function of memref, vector, scf and arith ops
/// that knows its workgroup. Vectors have the native number of lanes of `spec`.
void buildCPUCodegenPipeline(mlir::OpPassManager &pm, const TargetSpec &spec);

/// Registers the passes of this component and the pipeline `vx-cpu-codegen` (option `vector-bits`) with the tools.
/// Thread-compatible.
void registerCPUCodegenPasses();

} // namespace vx

#endif
