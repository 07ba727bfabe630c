// Passes of Target/Vulkan.
#ifndef VX_TARGET_VULKAN_PASSES
#define VX_TARGET_VULKAN_PASSES

include "mlir/Pass/PassBase.td"

def ConvertToSPIRVPass : Pass<"vx-convert-to-spirv", "::mlir::ModuleOp"> {
  let summary = "Turn a kernel into a SPIR-V shader";
  let description = [{
    The module's one function with `vxk.kernel` and one-dimensional memrefs (`vx-flatten-memrefs`) becomes a `spirv.module` with one compute
    entry point of the same name and `vxk.threads` threads per workgroup.

    Buffers are addressed by physical pointers (buffer device addresses): the one push constant is the address of the parameter
    block of runtime/include/vx/abi/kernel.h.

    Numerics: no float operation is contracted, and NaN, infinity and the sign of zero are preserved. Division and square root, which Vulkan
    allows to be 2.5 ulp and more off, get one Newton step with a residual that is exact without a fused multiply-add; so do the rounding
    errors of products. A remainder is divided out exactly. Constant zeros are hidden from drivers that would fold their products and
    quotients. A rounding directly before a widening is hidden too. Products with a factor of two values become choices, and 64-bit
    divisions are done in 32 bits if their operands fit: a driver confuses such products, and sums of such quotients and remainders, with
    earlier ones. Denormals may flush. Needs: `vx-expand-math` before it. Keeps: dynamic shapes.
  }];
  let dependentDialects = ["::mlir::spirv::SPIRVDialect", "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::mlir::scf::SCFDialect"];
}

def StoreBF16AsBitsPass : Pass<"vx-store-bf16-as-bits", "::mlir::func::FuncOp"> {
  let summary = "Store bf16 as integers of 16 bits";
  let description = [{
    No shader of Vulkan 1.3 knows bf16. Before this pass, ops that compute with it became f32 (`arith-emulate-unsupported-floats`), and ops
    that widen and round it became arithmetic of integers (`arith-expand=include-bf16`). This pass replaces it by i16 in memory, constants
    and ops that move values.

        %x = memref.load %m[%i] : memref<8xbf16>        %x = memref.load %m[%i] : memref<8xi16>
        %b = arith.bitcast %x : bf16 to i16      ->
        %w = arith.extui %b : i16 to i32                %w = arith.extui %x : i16 to i32

    Fails if arithmetic of bf16 is left. Keeps: dynamic shapes. Numerics: none.
  }];
}

#endif
