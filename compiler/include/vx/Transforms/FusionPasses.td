// Passes of the `fused` and `kernels` phases.
#ifndef VX_TRANSFORMS_FUSIONPASSES
#define VX_TRANSFORMS_FUSIONPASSES

include "mlir/Pass/PassBase.td"

def BindSequenceLengthsPass : Pass<"vx-bind-sequence-lengths", "::mlir::ModuleOp"> {
  let summary = "Give the length of a sequence a symbol where a kernel reads it";
  let description = [{
    The host knows the length of a sequence. Where it is read as memory (a result, an operand of a kernel), the length becomes a data-dependent
    symbol, and its uses a `vx.dim_value`, which a kernel takes as a scalar:

        %n = vx.sequence_length %s          %n = vx.sequence_length %s
        %m = vx.add %n, %one          ->    vx.bind_symbol "length.0" = %n
                                            %v = vx.dim_value <"length.0">
                                            %m = vx.add %v, %one

    Leaves alone a length that only the host reads. Needs: nothing. Keeps: dynamic shapes. Numerics: none.
  }];
  let dependentDialects = ["::vx::VXDialect"];
}

def FormFusionsPass : Pass<"vx-form-fusions", "::mlir::func::FuncOp"> {
  let summary = "Group ops into fusion regions";
  let description = [{
    After it, every op that a device runs stands in a `vx.fusion`: one anchor (contraction, convolution, reduction, norm, gather,
    movement) with the elementwise ops before and after it. What stays outside is the host's: control flow, symbols, variables,
    sequences, constants and reshapes, which are views of memory.

        %0 = vx.conv %x, %w ...                     %0 = vx.fusion(%x, %w, %b) ... {
        %1 = vx.broadcast %b, [1]            ->       vx.conv, vx.broadcast, vx.add, vx.max
        %2 = vx.add %0, %1                          }
        %3 = vx.max %2, %zeros

    Leaves apart a producer that something outside of the group also reads, a second anchor, and what an anchor would compute
    several times. Needs: the graph phase. Keeps: dynamic shapes. Numerics: none.
  }];
  let dependentDialects = ["::vx::VXDialect"];
}

def OutlineKernelsPass : Pass<"vx-outline-kernels", "::mlir::ModuleOp"> {
  let summary = "Turn fusion regions into kernels with canonical keys";
  let description = [{
    Replaces each `vx.fusion` by a `vx.dispatch` of a `vx.kernel`. Symbols are renamed s0, s1, ... in order of first appearance and the
    text, without locations, is hashed together with the strategy and the target's name: equal keys are one kernel, which keeps
    the source nodes of all its dispatches.

    Needs: strategies chosen. Keeps: dynamic shapes. Numerics: none.
  }];
  let options = [Option<"target", "target", "std::string", "\"\"", "Name of the target, a part of the key">];
  let dependentDialects = ["::vx::VXDialect"];
}

#endif
