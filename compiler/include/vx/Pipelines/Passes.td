// Passes that belong to the phases themselves: choosing strategies, and the check of the promise of each phase.
#ifndef VX_PIPELINES_PASSES
#define VX_PIPELINES_PASSES

include "mlir/Pass/PassBase.td"

def SetInputRangesPass : Pass<"vx-set-input-ranges", "::mlir::ModuleOp"> {
  let summary = "State the range of each input with elements that index something";
  let description = [{
    Gives an argument the attribute `vx.range`: the values [lower, upper) that cause no fault. Without `upper` they depend on values that
    only a call knows.

        func.func @f(%i: tensor<2xi64>, ...)    ->    func.func @f(%i: tensor<2xi64> {vx.range = {lower = -5, upper = #vx.dim<5>}}, ...)

    Leaves alone inputs that index nothing. Needs: the graph phase; stated at the end of `optimised`. Keeps: everything.
  }];
}

def FindIndependentRowsPass : Pass<"vx-find-independent-rows", "::mlir::ModuleOp"> {
  let summary = "State which outputs have rows that depend on their own row of the inputs alone";
  let description = [{
    Gives a function the attribute `vx.batch` if dimension 0 of some input is a symbol: the symbol, the numbers of the inputs that have it
    there, and for each output `rows`, `same` (it does not depend on these inputs) or the reason why nothing is known. Calls with equal
    other inputs can then be one call, with all their rows in sequence, and each gets its rows of the result.

        func.func @f(%x: tensor<?x4xf32, #vx.enc<[n, 4]>>, %w: tensor<4x8xf32>) -> tensor<?x8xf32, #vx.enc<[n, 8]>>
            attributes {vx.batch = {inputs = array<i64: 0>, outputs = ["rows"], symbol = "n"}}

    Rows are followed through transpositions and reshapes, as one or as several elements of a dimension. These ops mix rows: a reduction,
    norm, sum or sort along them; a move of them (a slice, a concatenation, a gather); an op that counts them or uses the position of one
    among them; a condition or a size that depends on them; a store to a variable; and an op without a rule. Needs: the graph phase; stated
    at the end of `optimised`. Keeps: everything.
  }];
}

def VerifyFusedPass : Pass<"vx-verify-fused", "::mlir::ModuleOp"> {
  let summary = "Check the promise of the `fused` phase";
  let description = [{
    Every op that a device runs stands in a `vx.fusion`; the rest is the host's. A product that is the anchor of a region has `vx.product`,
    and the strategy of the region is of its family.
  }];
}

def VerifyKernelsPass : Pass<"vx-verify-kernels", "::mlir::ModuleOp"> {
  let summary = "Check the promise of the `kernels` phase";
  let description = [{ No `vx.fusion` is left; keys of kernels are unique; every kernel is dispatched. }];
}

def VerifySchedulePass : Pass<"vx-verify-schedule", "::mlir::ModuleOp"> {
  let summary = "Check the promise of the `schedule` phase";
  let description = [{ Programs hold `vxrt` ops only, and no tensor value is left outside of kernels. From the first
    command on that writes a variable nothing may fail the call: no check, no read back, no memory is asked for, no kernel reports a
    fault. So a call that fails changes no variable. `vxrt.read_input` stands before all commands. }];
}

#endif
