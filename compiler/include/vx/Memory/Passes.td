// Passes that decide where buffers lie.
#ifndef VX_MEMORY_PASSES
#define VX_MEMORY_PASSES

include "mlir/Pass/PassBase.td"

def ElideCopiesPass : Pass<"vx-elide-copies", "::vxrt::ProgramOp"> {
  let summary = "Copy nothing that is used no more";
  let description = [{
    A kernel that replaces some elements of a tensor (`vx.scatter`, `vx.update_slice`) writes to a copy of it. Where the copy is the last
    command that uses what is copied, and the first that uses the copy, both are one buffer and the copy goes: a chain of such kernels
    updates one. Stays a copy: that of an input, of a constant, of a variable (`vx-write-variables-in-place` is for those), and of what a
    list, loop or branch holds. Needs: the schedule, before the arena is planned. Numerics: none.
  }];
  let dependentDialects = ["::vxrt::VXRTDialect"];
}

def CarryInPlacePass : Pass<"vx-carry-in-place", "::vxrt::ProgramOp"> {
  let summary = "Let loops keep what they carry where it is";
  let description = [{
    What a loop carries lies in one memory in all iterations: one buffer before the loop, which gets a copy of what the loop begins with. The
    loop carries it no more. Each new value is made by a kernel whose result may lie in its operand's place (`vx.in_place`), by kernels that
    replace elements of the old one, or by one that reads nothing of it; all else that reads the old value does so before. So it is for
    loops wherever they stand. What goes through loops in loops and through branches is one memory in all of them, where that can be, and a
    branch that leaves it alone copies nothing. What a branch stores to a variable lies in one memory without a loop, too.

    A loop whose kernels may report a fault copies a variable when it begins, not in each iteration, and writes it when it is done.

    Stays: a value that is read behind the kernel that makes the next one, that two carried values hold in turn, that a list holds, or whose
    size changes. Needs: the schedule, before the arena is planned. Numerics: none.
  }];
  let dependentDialects = ["::vxrt::VXRTDialect"];
}

def UpdateLoopsInPlacePass : Pass<"vx-update-loops-in-place", "::vxrt::ProgramOp"> {
  let summary = "Let loops and branches update variables where the variables lie";
  let description = [{
    Memory that commands in loops and branches write, that begins as a copy of a variable and is stored to it at the end, is the variable's.
    `vx-carry-in-place` makes such memory. Whatever reads the variable reads it where that still is its old value, or its new one.

    A call that fails changes no variable: nothing may fail the call from the first command on that writes it. Memory and sizes that do not
    change from iteration to iteration go to before the loop. A wait is no such thing: behind kernels that may report a fault, those that
    write are `vx.guarded`, and have written nothing where it finds one.

    In a loop that `commits`, the same holds for what loops and branches in an iteration update, until the end of it.

    Stays a copy: what a loop stores that reports faults itself, or that checks sizes of its own. Needs: the schedule, before the arena is
    planned. Numerics: none.
  }];
  let dependentDialects = ["::vx::VXDialect", "::vxrt::VXRTDialect"];
}

def WriteVariablesInPlacePass : Pass<"vx-write-variables-in-place", "::vxrt::ProgramOp"> {
  let summary = "Let kernels write new values of variables where the variables lie";
  let description = [{
    A value that is stored at the end of the program and that one kernel computes is computed in the variable's memory, and the copy goes.
    The kernel may read the old value, where its result may lie in its operand's place (`vx.in_place`); all else that reads it runs before.
    So does all that may fail the call: a call that fails changes no variable. Where it stands later, the kernel moves behind it. A check
    for faults goes where no kernel since the last one reports any, and segments with nothing between them become one.

    What shares bytes with the variable is read as it is: before the write. A kernel that reads it, and at another place than it writes, and
    two stores of one byte stay copies.

    A copy of the variable itself that kernels replace elements of is updated where the variable lies, by one kernel or several.

    Kernels that may report a fault are not waited for: what writes a variable behind them is `vx.guarded`, and the check before the stores
    goes with the last copy. Guarded kernels come behind all that may report a fault.

    The same goes for what an iteration stores in a loop that `commits`, whose end is that of the loop's body; a check stays there, so that
    an iteration that is done is one without a fault.

    Stays a copy: a value that is returned too, that a loop or branch gives, or whose kernel reports faults itself. Needs: the schedule,
    before the arena is planned. Numerics: none.
  }];
  let dependentDialects = ["::vx::VXDialect", "::vxrt::VXRTDialect"];
}

def DeclareAliasesPass : Pass<"vx-declare-aliases", "::vxrt::ProgramOp"> {
  let summary = "Find inputs and results that may be the same memory";
  let description = [{
    Sets `aliases` on the program: pairs of an input and a result of one type that a caller may give the same memory for. Where he does, the
    copy of the input that kernels replace elements of (`vx.scatter`, `vx.update_slice`) is nothing, and a call costs what it replaces; where
    he does not, the copy is done. A pair is also an input that the first kernel to write the result reads element by element
    (`vx.in_place`). Each input and each result is in one pair at most.

    A pair is declared where all that reads the input stands before the first command that writes the result, where each writer is a
    command of the outermost block, and where nothing behind the first kernel that writes may fail the call: a call that fails leaves the
    input as it was. What writes behind a kernel that may report a fault becomes `vx.guarded`. Needs: the schedule, before barriers are
    set. Numerics: none.
  }];
  let dependentDialects = ["::vx::VXDialect", "::vxrt::VXRTDialect"];
}

def GuardKernelsPass : Pass<"vx-guard-kernels", "::mlir::ModuleOp"> {
  let summary = "Make the kernels of guarded dispatches";
  let description = [{
    A dispatch that is `vx.guarded` gets a kernel that is: a copy of its own with another key, which does nothing once a kernel of the call
    has reported a fault. Kernels without a dispatch go. Needs: the schedule.
  }];
  let dependentDialects = ["::vx::VXDialect", "::vxrt::VXRTDialect"];
}

def PlanArenaPass : Pass<"vx-plan-arena", "::vxrt::ProgramOp"> {
  let summary = "Place intermediates in the call's arena";
  let description = [{
    Each `vxrt.allocate` whose size is an expression of the program's symbols, and which nothing holds beyond the commands that use
    it, becomes a `vxrt.arena_slice` at an offset that is an expression too. Buffers whose lifetimes overlap never overlap in memory,
    for any value of the symbols: the buffers are placed at sample sizes, largest first, and of two that are in use at one time the one
    that lies higher there begins above the other at all sizes. A result takes over the memory of an operand that dies with it where
    the kernel allows that (`vx.in_place`). What a kernel puts one after another, and nothing else reads, is computed where it is to lie, where
    each begins at a multiple of the alignment, and that kernel is not called.

    Sets `arena_lower_bound` (the most bytes live at once) and, unless it is a maximum of many, `arena_size` on the program. Needs: the
    schedule. Numerics: none.
  }];
  let options = [Option<"inPlace", "in-place", "bool", "true", "Let results take over the memory of dying operands">];
  let dependentDialects = ["::vx::VXDialect", "::vxrt::VXRTDialect"];
}

def InsertBarriersPass : Pass<"vx-insert-barriers", "::vxrt::ProgramOp"> {
  let summary = "Mark the commands that must wait for those before them";
  let description = [{
    A command of a segment gets `barrier` when it reads what a command since the last barrier writes, or writes what one of those
    reads or writes; an input and a result that may be the same memory (`aliases`) are one, and so is the record of faults, which guarded
    kernels read. Two variables are one thing where they share bytes. Segments themselves run one after another. Needs: the arena planned.
  }];
  let dependentDialects = ["::vx::VXDialect", "::vxrt::VXRTDialect"];
}

#endif
