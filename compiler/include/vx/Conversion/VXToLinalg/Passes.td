#ifndef VX_CONVERSION_VXTOLINALG_PASSES
#define VX_CONVERSION_VXTOLINALG_PASSES

include "mlir/Pass/PassBase.td"

def ConvertToLinalgPass : Pass<"vx-convert-to-linalg", "::mlir::ModuleOp"> {
  let summary = "Convert each vx.kernel to a function of linalg operations on its buffers";
  let description = [{
    Each op has one lowering, shared by all targets:

        vx.kernel @k "key" symbols ["s0"] workgroups <s0> #vx.loops<tile = [1]> {
        ^bb0(%a: tensor<?xf32, #vx.enc<[s0]>>):
          %0 = vx.neg %a : tensor<?xf32, #vx.enc<[s0]>>
          vx.yield %0 : tensor<?xf32, #vx.enc<[s0]>>
        }

    becomes

        func.func @k() attributes {vxk.kernel, vxk.strategy = #vx.loops<tile = [1]>, vxk.threads = 1 : i64} {
          %s0 = vxk.scalar 0
          %a = vxk.buffer 0 read(%s0) : memref<?xf32>
          %r = vxk.buffer 1 write(%s0) : memref<?xf32>
          %t = bufferization.to_tensor %a restrict : memref<?xf32> to tensor<?xf32>
          %e = tensor.empty(%s0) : tensor<?xf32>
          %0 = linalg.generic ... ins(%t) outs(%e) { arith.negf }
          bufferization.materialize_in_destination %0 in restrict writable %r
        }

    Sizes are index arithmetic on the kernel's scalars; encodings are gone. Bools are bytes of 0 and 1 in buffers and i1 in bodies.
    Accesses that may leave their tensor (padding, concatenation, gathered indices) are a `tensor.extract` in the body inside of an
    `scf.if`, so that nothing is read from an empty tensor.

    Keeps: dynamic sizes, sizes of 0, rank 0. Numerics: floats narrower than f32 are computed in f32 and rounded after each op; products
    and sums of contractions may be contracted to fused multiply-adds (`fastmath<contract>`), nothing else may.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::bufferization::BufferizationDialect",
                           "::mlir::func::FuncDialect", "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect",
                           "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect",
                           "::vxk::VXKDialect"];
}

def VerifyNoEncodingPass : Pass<"vx-verify-no-encoding"> {
  let summary = "Refuse tensors with an encoding, and any vx op";
  let description = [{
    Tiling and bufferisation know nothing of encodings and would drop them in silence: below the conversion to linalg none is allowed.
  }];
}

#endif
