// Passes that decide the positions of buffers.
#ifndef VX_MEMORY_PASSES
#define VX_MEMORY_PASSES

include "mlir/Pass/PassBase.td"

def ElideCopiesPass : Pass<"vx-elide-copies", "::vxrt::ProgramOp"> {
  let summary = "Remove copies of buffers that are not used any more";
  let description = [{
    A kernel that replaces some elements of a tensor (`vx.scatter`, `vx.update_slice`) writes to a copy of it. If the copy is the last
    command that uses its source, and the first that uses its destination, both are one buffer and the copy is removed: a chain of such
    kernels updates one. These stay copies: of an input, of a constant, of a variable (`vx-write-variables-in-place` is for those), and of a
    buffer that a list, loop or branch holds. Needs: the schedule, before the arena is planned. Numerics: none.
  }];
  let dependentDialects = ["::vxrt::VXRTDialect"];
}

def CarryInPlacePass : Pass<"vx-carry-in-place", "::vxrt::ProgramOp"> {
  let summary = "Let loops carry values in place";
  let description = [{
    A carried value has one memory in all iterations: one buffer before the loop, which gets a copy of the loop's first value. The loop does
    not carry it any more. Each new value is made by a kernel with a result that may overwrite its operand (`vx.in_place`), by kernels that
    replace elements of the old one, or by one that does not read it. All other reads of the old value come before. This holds for loops at
    any position. A value that goes through nested loops and through branches has one memory in all of them, if possible, and a branch that
    does not change it copies nothing. A value that a branch stores to a variable has one memory without a loop, too.

    A loop with kernels that may report a fault copies a variable when it begins, not in each iteration, and writes it when it is done.

    These stay: a value that is read after the kernel that makes the next one, that two carried values hold alternately, that a list holds,
    or that changes its size. Needs: the schedule, before the arena is planned. Numerics: none.
  }];
  let dependentDialects = ["::vxrt::VXRTDialect"];
}

def UpdateLoopsInPlacePass : Pass<"vx-update-loops-in-place", "::vxrt::ProgramOp"> {
  let summary = "Let loops and branches update variables in place";
  let description = [{
    Memory that commands in loops and branches write, that begins as a copy of a variable and is stored to it at the end, becomes the
    variable's. `vx-carry-in-place` makes such memory. A command that reads the variable must come while that is still its old value, or
    already its new one.

    A call that fails changes no variable: nothing may fail the call from the first command on that writes it. Memory and sizes that do not
    change from iteration to iteration move to before the loop. A wait may come later: after kernels that may report a fault, those that
    write are `vx.guarded`, and have written nothing if the wait finds a fault.

    In a loop that `commits`, the same holds for updates by loops and branches in an iteration, until the end of it.

    These stay copies: values that a loop stores that reports faults itself, or that checks sizes of its own. Needs: the schedule, before
    the arena is planned. Numerics: none.
  }];
  let dependentDialects = ["::vx::VXDialect", "::vxrt::VXRTDialect"];
}

def WriteVariablesInPlacePass : Pass<"vx-write-variables-in-place", "::vxrt::ProgramOp"> {
  let summary = "Let kernels write new values of variables in place";
  let description = [{
    A value that is stored at the end of the program and that one kernel computes is computed in the variable's memory, and the copy is
    removed. The kernel may read the old value, if its result may overwrite its operand (`vx.in_place`). All other reads of it come before.
    So do all commands that may fail the call: a call that fails changes no variable. If such a command comes later, the kernel moves after
    it. A check for faults is removed if no kernel since the last one reports any, and segments with nothing between them become one.

    A variable that shares bytes with it is read before the write. A kernel that reads such bytes at another position than it writes stays a
    copy, and so do two stores of one byte.

    If kernels replace elements of a copy of the variable itself, they update the variable in place, one kernel or several.

    There is no wait for kernels that may report a fault: kernels that write a variable after them are `vx.guarded`, and the check before
    the stores is removed with the last copy. Guarded kernels come after all that may report a fault.

    The same holds for stores of an iteration in a loop that `commits`: these end with the loop's body. A check stays there, so that a
    completed iteration is one without a fault.

    These stay copies: a value that is returned too, that is the result of a loop or branch, or of a kernel that reports faults itself.
    Needs: the schedule, before the arena is planned. Numerics: none.
  }];
  let dependentDialects = ["::vx::VXDialect", "::vxrt::VXRTDialect"];
}

def DeclareAliasesPass : Pass<"vx-declare-aliases", "::vxrt::ProgramOp"> {
  let summary = "Find inputs and results that may be the same memory";
  let description = [{
    Sets `aliases` on the program: pairs of an input and a result of one type that may be the same memory of the caller. If they are, the
    copy of the input in which kernels replace elements (`vx.scatter`, `vx.update_slice`) is not done, and a call costs only the replaced
    elements; if they are not, the copy is done. A pair is also an input that the first kernel to write the result reads element by element
    (`vx.in_place`). Each input and each result is in one pair at most.

    A pair is declared if three conditions hold: all reads of the input come before the first command that writes the result; each writer is
    a command of the outermost block; and nothing after the first kernel that writes may fail the call, so a call that fails leaves the
    input as it was. A kernel that writes after one that may report a fault becomes `vx.guarded`. Needs: the schedule, before barriers are
    set. Numerics: none.
  }];
  let dependentDialects = ["::vx::VXDialect", "::vxrt::VXRTDialect"];
}

def GuardKernelsPass : Pass<"vx-guard-kernels", "::mlir::ModuleOp"> {
  let summary = "Make the kernels of guarded dispatches";
  let description = [{
    A dispatch that is `vx.guarded` gets a guarded kernel: a copy of its own with another key, which does nothing once a kernel of the call
    has reported a fault. Kernels without a dispatch are removed. Needs: the schedule.
  }];
  let dependentDialects = ["::vx::VXDialect", "::vxrt::VXRTDialect"];
}

def PlanArenaPass : Pass<"vx-plan-arena", "::vxrt::ProgramOp"> {
  let summary = "Place intermediates in the call's arena";
  let description = [{
    Each `vxrt.allocate` with a size that is an expression of the program's symbols, and which nothing holds beyond the commands that use
    it, becomes a `vxrt.arena_slice` at an offset that is an expression too. Buffers with overlapping lifetimes never overlap in memory, for
    any value of the symbols. The buffers are placed at sample sizes, largest first. Of two that are in use at one time, the one that is
    higher there begins above the other at all sizes. A result takes over the memory of an operand that dies with it if the kernel allows
    that (`vx.in_place`). Values that a kernel only concatenates, and that nothing else reads, are computed in their final position, if each
    begins at a multiple of the alignment, and that kernel is not called.

    Sets `arena_lower_bound` (the most bytes live at once) and, unless it is a maximum of many, `arena_size` on the program. Needs: the
    schedule. Numerics: none.
  }];
  let options = [Option<"inPlace", "in-place", "bool", "true", "Let results take over the memory of dying operands">];
  let dependentDialects = ["::vx::VXDialect", "::vxrt::VXRTDialect"];
}

def InsertBarriersPass : Pass<"vx-insert-barriers", "::vxrt::ProgramOp"> {
  let summary = "Mark the commands that must wait for those before them";
  let description = [{
    A command of a segment gets `barrier` when it reads memory that a command since the last barrier writes, or writes memory that one of
    those reads or writes. An input and a result that may be the same memory (`aliases`) count as one. So does the record of faults, which
    guarded kernels read. Two variables count as one if they share bytes. Segments themselves run in sequence. Needs: the arena planned.
  }];
  let dependentDialects = ["::vx::VXDialect", "::vxrt::VXRTDialect"];
}

#endif
