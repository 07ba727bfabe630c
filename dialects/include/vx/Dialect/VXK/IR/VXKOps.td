// The `vxk` dialect: what a kernel sees of the outside. Everything else in a kernel is linalg, vector, scf, arith, memref.
#ifndef VX_DIALECT_VXK_IR_VXKOPS
#define VX_DIALECT_VXK_IR_VXKOPS

include "mlir/IR/OpBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/Interfaces/InferIntRangeInterface.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def VXK_Dialect : Dialect {
  let name = "vxk";
  let cppNamespace = "::vxk";
  let summary = "the inside of kernels: parameters, workgroups, faults";
  let description = [{
    A kernel is a `func.func` without arguments and results, with the attribute `vxk.kernel`, in a module of its own. It reads its
    buffers and scalars from the parameter block (runtime/include/vx/abi/kernel.h). Producer and consumer stages, barriers
    with roles and matrix fragments will be ops and types of this dialect.
  }];
}

/// An index whose range is known, so that arithmetic on it may be done in fewer bits.
def VXK_KnownRange : DeclareOpInterfaceMethods<InferIntRangeInterface, ["inferResultRanges"]>;

class VXK_Op<string opMnemonic, list<Trait> traits = []> : Op<VXK_Dialect, opMnemonic, traits>;

def VXK_Access : I32EnumAttr<"Access", "how a kernel uses a buffer", [
    I32EnumAttrCase<"read", 0>, I32EnumAttrCase<"write", 1>, I32EnumAttrCase<"read_write", 2>]> {
  let cppNamespace = "::vxk";
}

def VXK_ScalarOp : VXK_Op<"scalar", [Pure, VXK_KnownRange]> {
  let summary = "a scalar of the parameter block: a size, 0 or more";
  let arguments = (ins I64Attr:$index);
  let results = (outs Index:$result);
  let assemblyFormat = "$index attr-dict";
}

def VXK_BufferOp : VXK_Op<"buffer", [Pure]> {
  let summary = "a buffer of the parameter block";
  let description = [{
    A row-major memref that begins at the buffer's address, which is aligned to 64 bytes. Buffers do not overlap, except that
    a `read` and a `write` buffer of one kernel may be the same when the schedule reuses memory in place, which it does only
    where each element is read no later than it is written.

    - C1: the memref has the identity layout, and one operand for each `?`.
  }];
  let arguments = (ins I64Attr:$index, VXK_Access:$access, Variadic<Index>:$sizes);
  let results = (outs AnyMemRef:$result);
  let assemblyFormat = "$index $access `(` $sizes `)` attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def VXK_WorkspaceOp : VXK_Op<"workspace", [Pure]> {
  let summary = "the dispatch's scratch memory, shared by all workgroups";
  let arguments = (ins Index:$size);
  let results = (outs MemRefRankOf<[I8], [1]>:$result);
  let assemblyFormat = "$size attr-dict `:` type($result)";
}

def VXK_WorkgroupIdOp : VXK_Op<"workgroup_id", [Pure, VXK_KnownRange]> {
  let summary = "the linear number of this workgroup";
  let description = [{ May be as large as the padded grid; a kernel does nothing when it is not below `vxk.workgroup_count`. }];
  let results = (outs Index:$result);
  let assemblyFormat = "attr-dict";
}

def VXK_WorkgroupCountOp : VXK_Op<"workgroup_count", [Pure, VXK_KnownRange]> {
  let summary = "the number of workgroups of this dispatch";
  let results = (outs Index:$result);
  let assemblyFormat = "attr-dict";
}

def VXK_ThreadIdOp : VXK_Op<"thread_id", [Pure, VXK_KnownRange]> {
  let summary = "the linear number of this thread in its workgroup";
  let description = [{ 0 to threads - 1, with the number of threads in the function's attribute `vxk.threads`; 0 on a CPU. }];
  let results = (outs Index:$result);
  let assemblyFormat = "attr-dict";
}

def VXK_BarrierOp : VXK_Op<"barrier"> {
  let summary = "waits for all threads of the workgroup, and makes their writes visible to each other";
  let assemblyFormat = "attr-dict";
}

def VXK_ReportFaultOp : VXK_Op<"report_fault"> {
  let summary = "reports a value that is out of range";
  let description = [{
    When `condition` is true: adds 1 to the fault record's count atomically and, when that was 0, writes the site (the dispatch's
    first fault site plus `site`), the value, and the range [lower, upper) into it.
  }];
  let arguments = (ins I1:$condition, I64:$value, I64:$lower, I64:$upper, I64Attr:$site);
  let assemblyFormat = "$condition `value` $value `range` $lower `,` $upper `site` $site attr-dict";
}

#endif
