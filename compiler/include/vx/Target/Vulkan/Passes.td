// Passes of Target/Vulkan.
#ifndef VX_TARGET_VULKAN_PASSES
#define VX_TARGET_VULKAN_PASSES

include "mlir/Pass/PassBase.td"

def ConvertToSPIRVPass : Pass<"vx-convert-to-spirv", "::mlir::ModuleOp"> {
  let summary = "Turn a kernel into a SPIR-V shader";
  let description = [{
    The module's one function with `vxk.kernel`, whose memrefs are one-dimensional (`vx-flatten-memrefs`), becomes a
    `spirv.module` with one compute entry point of the same name and `vxk.threads` threads per workgroup.

    Buffers are addressed by physical pointers (buffer device addresses): the one push constant is the address of the parameter
    block of runtime/include/vx/abi/kernel.h.

    Numerics: no float operation is contracted, and NaN, infinity and the sign of zero are preserved. Division and square root, which
    Vulkan allows to be 2.5 ulp and more off, get one Newton step whose residual is exact without a fused
    multiply-add; so do the rounding errors of products. A remainder is divided out exactly. Constant zeros are hidden from
    drivers that would fold their products and quotients, and so is that a number is rounded only to be widened again. Products with a factor of two values become choices, and
    64-bit divisions are done in 32 bits where their operands fit, since a driver takes such products, and sums of such quotients
    and remainders, for others that stand before them. Denormals may flush. Needs: `vx-expand-math` before it. Keeps: dynamic shapes.
  }];
  let dependentDialects = ["::mlir::spirv::SPIRVDialect", "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::mlir::scf::SCFDialect"];
}

def StoreBF16AsBitsPass : Pass<"vx-store-bf16-as-bits", "::mlir::func::FuncOp"> {
  let summary = "Keep bf16 as integers of 16 bits";
  let description = [{
    No shader of Vulkan 1.3 knows bf16. What computes with it has been made f32 before this (`arith-emulate-unsupported-floats`), and what
    widens and rounds it arithmetic of integers (`arith-expand=include-bf16`); this gives memory, constants and what moves values i16 in its
    place.

        %x = memref.load %m[%i] : memref<8xbf16>        %x = memref.load %m[%i] : memref<8xi16>
        %b = arith.bitcast %x : bf16 to i16      ->
        %w = arith.extui %b : i16 to i32                %w = arith.extui %x : i16 to i32

    Fails where arithmetic of bf16 is left. Keeps: dynamic shapes. Numerics: none.
  }];
}

#endif
