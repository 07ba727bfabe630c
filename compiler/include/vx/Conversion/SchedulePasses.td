// Passes of the `schedule` phase.
#ifndef VX_CONVERSION_SCHEDULEPASSES
#define VX_CONVERSION_SCHEDULEPASSES

include "mlir/Pass/PassBase.td"

def ConvertToSchedulePass : Pass<"vx-convert-to-schedule", "::mlir::ModuleOp"> {
  let summary = "Turn functions over dispatches into vxrt programs";
  let description = [{
    Replaces each function by a `vxrt.program`: sizes become arithmetic on i64s, tensors buffers, reshapes the same buffer. Values that the
    host needs (conditions, trip counts, sequence positions, data-dependent sizes) are read back if the program does not know them already.
    A variable's new value is copied to its storage at the end, after a check for faults, so that a call that fails changes no variable;
    `vx-write-variables-in-place` removes these copies if it can. A function with the attribute `vx.derived` becomes a program with the
    attribute `derived`, without symbols, and a call of it a `vxrt.derived`.

    A `vx.constraint` in a function's own block over symbols that inputs bind goes into the program's attribute `constraints`, which is the
    function's in the module; any other one becomes a `vxrt.check`, before all ops that rely on it.

    Every intermediate is a `vxrt.allocate` of its own; `vx-plan-arena` comes next. Needs: the kernels phase. Numerics: none.
  }];
  let dependentDialects = ["::vx::VXDialect", "::vxrt::VXRTDialect"];
}

#endif
