// The `vxk` dialect: the interface of a kernel to its dispatch. Everything else in a kernel is linalg, vector, scf,
// arith, memref.
#ifndef VX_DIALECT_VXK_IR_VXKOPS
#define VX_DIALECT_VXK_IR_VXKOPS

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/Interfaces/InferIntRangeInterface.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "vx/Dialect/IntegerList.td"

def VXK_Dialect : Dialect {
  let name = "vxk";
  let cppNamespace = "::vxk";
  let summary = "the inside of kernels: parameters, workgroups, faults";
  let description = [{
    A kernel is a `func.func` without arguments and results, with the attribute `vxk.kernel`, in a module of its own. It reads its
    buffers and scalars from the parameter block (runtime/include/vx/abi/kernel.h). Asynchronous copies come in stages: `vxk.async_copy`,
    `vxk.async_commit`, `vxk.async_wait`. Barriers with roles will be ops of this dialect.
  }];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1;
}

//===-- What linalg ops are ----------------------------------------------------------------------------------------===//

def VXK_AttentionPart : I32EnumAttr<"AttentionPart", "a part of attention", [
    I32EnumAttrCase<"dots", 0>, I32EnumAttrCase<"scores", 1>, I32EnumAttrCase<"max", 2>, I32EnumAttrCase<"sum", 3>,
    I32EnumAttrCase<"values", 4>, I32EnumAttrCase<"result", 5>, I32EnumAttrCase<"log_sum_exp", 6>]> {
  let cppNamespace = "::vxk";
  let genSpecializedAttr = 0;
}

def VXK_AttentionPartAttr : EnumAttr<VXK_Dialect, VXK_AttentionPart, "attention_part"> {
  let assemblyFormat = "`<` $value `>`";
}

def VXK_WindowAttr : AttrDef<VXK_Dialect, "Window"> {
  let mnemonic = "window";
  let summary = "the window of a convolution: what strategies for it need to know without reading the body";
  let parameters = (ins IntegerListParameter<>:$strides, IntegerListParameter<>:$dilations, IntegerListParameter<>:$pads_low,
                        IntegerListParameter<>:$pads_high, "int64_t":$groups, DefaultValuedParameter<"bool", "false">:$channels_last);
  let assemblyFormat = "`<` struct(params) `>`";
}

def VXK_UnpackingAttr : AttrDef<VXK_Dialect, "Unpacking"> {
  let mnemonic = "unpacking";
  let summary = "a packing that is undone: that of a vx.unpack";
  let description = "`of` is the type of elements that share a byte with others; absent where each has bytes of its own.";
  let parameters = (ins "int64_t":$dim, IntegerListParameter<>:$permutation, DefaultValuedParameter<"int64_t", "1">:$inner,
                        OptionalParameter<"::mlir::Type">:$of);
  let assemblyFormat = "`<` struct(params) `>`";
}

//===-- Parameters and workgroups ----------------------------------------------------------------------------------===//

/// An index with a known range, so that arithmetic on it may use fewer bits.
def VXK_KnownRange : DeclareOpInterfaceMethods<InferIntRangeInterface, ["inferResultRanges"]>;

class VXK_Op<string opMnemonic, list<Trait> traits = []> : Op<VXK_Dialect, opMnemonic, traits>;

def VXK_Access : I32EnumAttr<"Access", "how a kernel uses a buffer", [
    I32EnumAttrCase<"read", 0>, I32EnumAttrCase<"write", 1>, I32EnumAttrCase<"read_write", 2>]> {
  let cppNamespace = "::vxk";
}

def VXK_ScalarOp : VXK_Op<"scalar", [Pure, VXK_KnownRange]> {
  let summary = "a scalar of the parameter block: a size, 0 or more";
  let description = [{
    `range` is what is known of it: the least and the greatest value, and what it is a multiple of.

    - C1: `range` has three numbers, the first 0 or more, the second no less, the third 1 or more.
  }];
  let arguments = (ins I64Attr:$index, OptionalAttr<DenseI64ArrayAttr>:$range);
  let results = (outs Index:$result);
  let assemblyFormat = "$index (`range` $range^)? attr-dict";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// 1 where nothing more is known.
    int64_t getMultiple() { return getRange() ? (*getRange())[2] : 1; }
  }];
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

def VXK_PlacesOp : VXK_Op<"places", [Pure]> {
  let summary = "the elements of a buffer whose places data tells";
  let description = [{
    Stands for memory of the shape of what is written to it, one size for each `?` of the result; a `bufferization.materialize_in_destination`
    is its only user.

    With `slice` element i... is that of `buffer` at i..., plus `indices[k]` along `axes[k]`; none of a box that does not lie inside of the
    buffer is there. Without, the first dimensions are those of `indices` but its last: element i..., w... lies at `indices[i..., k]` along
    `axes[k]` and at w... along the others; it is not there where an index is not in the buffer.

    What is written to one place comes in row-major order of i.... With `add` it is added to what lies there.

    - C1: there is one operand for each `?`.
  }];
  let arguments = (ins AnyMemRef:$buffer, AnyRankedTensor:$indices, DenseI64ArrayAttr:$axes, UnitAttr:$slice, UnitAttr:$add,
                       Variadic<Index>:$sizes);
  let results = (outs AnyMemRef:$result);
  let assemblyFormat = [{
    $buffer `[` $indices `]` `axes` `=` $axes (`slice` $slice^)? (`add` $add^)? `(` $sizes `)` attr-dict
    `:` type($buffer) `,` type($indices) `->` type($result)
  }];
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
  let description = [{ 0 in a kernel with `vxk.guarded`, once a kernel of the call has reported a fault. }];
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

//===-- Sorts ------------------------------------------------------------------------------------------------------===//

def VXK_TopPlacesOp : VXK_Op<"top_places", []> {
  let summary = "writes the places of the first elements of each row in its order";
  let description = [{
    `codes` [rows, n] are signed numbers, of which the least one is first; equal ones stand in the order of their places. `places` is [rows, count],
    and n at least count.

    - C1: both have rank 2, and count is known.
  }];
  let arguments = (ins RankedTensorOf<[I32, I64]>:$codes, Arg<MemRefRankOf<[I64], [2]>, "", [MemWrite]>:$places);
  let assemblyFormat = "$codes `into` $places attr-dict `:` type($codes) `into` type($places)";
  let hasVerifier = 1;
}

def VXK_MergeRunsOp : VXK_Op<"merge_runs", []> {
  let summary = "writes places with neighbouring runs merged";
  let description = [{
    As vx.merge_runs, of `codes` [rows, n, members] in place of keys: signed numbers, of which the least one is first.

    - C1: `codes` have rank 3, `places` rank 2.
  }];
  let arguments = (ins RankedTensorOf<[I32, I64]>:$codes, RankedTensorOf<[I64]>:$places, Index:$level, Arg<MemRefRankOf<[I64], [2]>, "", [MemWrite]>:$merged);
  let assemblyFormat = "$codes `,` $places `level` $level `into` $merged attr-dict `:` type($codes) `,` type($places) `into` type($merged)";
  let hasVerifier = 1;
}

def VXK_SelectBoxesOp : VXK_Op<"select_boxes", []> {
  let summary = "writes the boxes with the best scores that overlap none with a better one";
  let description = [{
    As vx.select_boxes, of `codes` [images, classes, n] in place of scores: the least one is first, and boxes with the greatest i32 are none.

    - C1: `boxes` is [images, n, 4]; `codes` and `selected` have rank 3.
  }];
  let arguments = (ins RankedTensorOf<[F32]>:$boxes, RankedTensorOf<[I32]>:$codes, F32:$overlap, Arg<MemRefRankOf<[I64], [3]>, "", [MemWrite, MemRead]>:$selected);
  let assemblyFormat = "$boxes `,` $codes `overlap` $overlap `into` $selected attr-dict `:` type($boxes) `,` type($codes) `into` type($selected)";
  let hasVerifier = 1;
}

def VXK_CumulativeSumOp : VXK_Op<"cumulative_sum", []> {
  let summary = "writes the sum of all elements before each one";
  let description = [{
    As vx.cumulative_sum: along the middle of three dimensions.

    - C1: both have rank 3.
  }];
  let arguments = (ins AnyRankedTensor:$input, Arg<MemRefRankOf<[AnyType], [3]>, "", [MemWrite]>:$sums, UnitAttr:$exclusive, UnitAttr:$reverse);
  let assemblyFormat = [{
    $input `into` $sums (`exclusive` $exclusive^)? (`reverse` $reverse^)? attr-dict `:` type($input) `into` type($sums)
  }];
  let hasVerifier = 1;
}

def VXK_PagedAttentionOp : VXK_Op<"paged_attention", []> {
  let summary = "writes the attention of tokens over keys and values in pages";
  let description = [{
    As vx.paged_attention.

    - C1: `query` and `result` are [tokens, heads, depth], `keys` and `values` [pages, key heads, places, depth], `table` is [sequences, most pages].
  }];
  let arguments = (ins RankedTensorOf<[F32]>:$query, RankedTensorOf<[F32]>:$keys, RankedTensorOf<[F32]>:$values, RankedTensorOf<[I64]>:$table,
                       RankedTensorOf<[I64]>:$starts, RankedTensorOf<[I64]>:$lengths, Arg<MemRefRankOf<[AnyFloat], [3]>, "", [MemWrite]>:$result,
                       F64Attr:$scale, OptionalAttr<F64Attr>:$softcap, OptionalAttr<I64Attr>:$window);
  let assemblyFormat = [{
    $query `,` $keys `,` $values `table` `(` $table `)` `starts` `(` $starts `)` `lengths` `(` $lengths `)` `scale` `=` $scale
    (`softcap` `=` $softcap^)? (`window` `=` $window^)? `into` $result attr-dict
    `:` type($query) `,` type($keys) `,` type($values) `,` type($table) `,` type($starts) `,` type($lengths) `into` type($result)
  }];
  let hasVerifier = 1;
}

//===-- Matrix fragments -------------------------------------------------------------------------------------------===//

def VXK_FragmentRole : I32EnumAttr<"FragmentRole", "what a matrix fragment is in a product", [
    I32EnumAttrCase<"lhs", 0>, I32EnumAttrCase<"rhs", 1>, I32EnumAttrCase<"accumulator", 2>]> {
  let cppNamespace = "::vxk";
}

def VXK_FragmentType : TypeDef<VXK_Dialect, "Fragment"> {
  let mnemonic = "fragment";
  let summary = "a small matrix that the threads of a subgroup hold together";
  let description = [{
    `!vxk.fragment<lhs, 16x16x8, f16>` is the left factor of a product of 16 rows, 16 columns and a sum of 8: a matrix of 16 x 8. `rhs` is 8 x 16,
    `accumulator` 16 x 16. Which thread holds which element is the target's: its last lowering makes registers of a fragment, and what others need
    to know of an accumulator is a fact of the target (`MatrixUnit` of a TargetSpec).

    - C1: the sizes are at least 1.
    - C2: factors are f16, bf16 or tf32, accumulators f32.
  }];
  let parameters = (ins "::vxk::FragmentRole":$role, "int64_t":$rows, "int64_t":$columns, "int64_t":$depth, "::mlir::Type":$elementType);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def VXK_FillFragmentOp : VXK_Op<"fill_fragment", [Pure]> {
  let summary = "an accumulator whose elements are all one value";
  let description = [{
    - C1: the result is an accumulator, of the value's type.
  }];
  let arguments = (ins F32:$value);
  let results = (outs VXK_FragmentType:$result);
  let assemblyFormat = "$value attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def VXK_LoadFragmentOp : VXK_Op<"load_fragment", []> {
  let summary = "reads a factor from workgroup memory";
  let description = [{
    Element k along the sum of row (column, of the right factor) i is `memory[at + k * stride + i]`, or with `along_sum`
    `memory[at + i * stride + k]`. All threads of a subgroup take part, with the same place. Elements of tf32 lie in memory as f32 and are rounded to
    nearest, ties away from zero.

    - C1: the result is a factor; the memory has its element type, or f32 for tf32.
    - C2: `stride` is at least as large as what lies between two of its steps; `at` and `stride` are multiples of 16 bytes.
  }];
  let arguments = (ins Arg<MemRefRankOf<[F16, BF16, F32], [1]>, "", [MemRead]>:$memory, Index:$at, I64Attr:$stride, UnitAttr:$along_sum);
  let results = (outs VXK_FragmentType:$result);
  let assemblyFormat = [{
    $memory `[` $at `]` `stride` $stride (`along_sum` $along_sum^)? attr-dict `:` type($memory) `->` type($result)
  }];
  let hasVerifier = 1;
}

def VXK_MultiplyAccumulateOp : VXK_Op<"multiply_accumulate", [Pure, AllTypesMatch<["accumulator", "result"]>]> {
  let summary = "adds the product of two fragments to a third";
  let description = [{
    result = accumulator + lhs * rhs. All threads of a subgroup take part. How the products of one element are grouped and rounded on their way
    into the f32 is the device's.

    - C1: the operands are a `lhs`, a `rhs` and an `accumulator` of one shape, the factors of one element type.
  }];
  let arguments = (ins VXK_FragmentType:$lhs, VXK_FragmentType:$rhs, VXK_FragmentType:$accumulator);
  let results = (outs VXK_FragmentType:$result);
  let assemblyFormat = "$lhs `,` $rhs `,` $accumulator attr-dict `:` type($lhs) `,` type($rhs) `,` type($accumulator)";
  let hasVerifier = 1;
}

def VXK_FragmentElementsOp : VXK_Op<"fragment_elements", [Pure]> {
  let summary = "the elements of an accumulator that this thread holds";
  let description = [{
    In the order in which the target's `MatrixUnit` tells their rows and columns.

    - C1: the operand is an accumulator, whose elements a power of 2 of threads share evenly.
  }];
  let arguments = (ins VXK_FragmentType:$fragment);
  let results = (outs Variadic<F32>:$elements);
  let assemblyFormat = "$fragment attr-dict `:` type($fragment) `->` type($elements)";
  let hasVerifier = 1;
}

//===-- Integers and tables -----------------------------------------------------------------------------------------===//

def VXK_DotOp : VXK_Op<"dot", [Pure, AllTypesMatch<["sum", "result"]>, AllTypesMatch<["lhs", "rhs"]>]> {
  let summary = "adds the products of four neighbouring bytes to sums of 32 bits";
  let description = [{
    `result[i] = sum[i] + lhs[4 i] * rhs[4 i] + ... + lhs[4 i + 3] * rhs[4 i + 3]`, which wraps around. The bytes of a factor are signed with
    `lhs_signed` or `rhs_signed`, else unsigned.

    - C1: a factor has four elements for each element of `sum`.
    - C2: `sum` has 1, 4, 8 or 16 elements.
  }];
  let arguments = (ins VectorOfRankAndType<[1], [I32]>:$sum, VectorOfRankAndType<[1], [I8]>:$lhs, VectorOfRankAndType<[1], [I8]>:$rhs,
                       UnitAttr:$lhs_signed, UnitAttr:$rhs_signed);
  let results = (outs VectorOfRankAndType<[1], [I32]>:$result);
  let assemblyFormat = [{
    $sum `,` (`signed` $lhs_signed^)? $lhs `,` (`signed` $rhs_signed^)? $rhs attr-dict `:` type($sum) `,` type($lhs)
  }];
  let hasVerifier = 1;
}

def VXK_LookupOp : VXK_Op<"lookup", [Pure, AllTypesMatch<["table", "result"]>]> {
  let summary = "elements of a table by their numbers";
  let description = [{
    `result[i] = table[indices[i] mod N]`, N elements in each.

    - C1: the table and the indices have 8 or 16 elements, as many of each.
  }];
  let arguments = (ins VectorOfRankAndType<[1], [F32]>:$table, VectorOfRankAndType<[1], [I32]>:$indices);
  let results = (outs VectorOfRankAndType<[1], [F32]>:$result);
  let assemblyFormat = "$table `,` $indices attr-dict `:` type($table) `,` type($indices)";
  let hasVerifier = 1;
}

def VXK_ScaleOp : VXK_Op<"scale", [Pure, AllTypesMatch<["number", "exponent", "result"]>]> {
  let summary = "numbers times powers of two";
  let description = [{
    `result[i] = number[i] * 2^exponent[i]`, rounded once. The exponents are whole numbers; a NaN gives NaN.

    - C1: the vectors have 4, 8 or 16 elements.
  }];
  let arguments = (ins VectorOfRankAndType<[1], [F32]>:$number, VectorOfRankAndType<[1], [F32]>:$exponent);
  let results = (outs VectorOfRankAndType<[1], [F32]>:$result);
  let assemblyFormat = "$number `,` $exponent attr-dict `:` type($number)";
  let hasVerifier = 1;
}

//===-- Asynchronous stages ----------------------------------------------------------------------------------------===//

def VXK_AsyncCopyOp : VXK_Op<"async_copy", []> {
  let summary = "copies neighbouring elements from a buffer to workgroup memory, some time before a wait for it ends";
  let description = [{
    `count` elements, or as many zeros where `valid` is false; then nothing is read. Belongs to the stage that the next `vxk.async_commit` of this
    thread closes.

    - C1: both memrefs have one element type; the source is a buffer, the target one-dimensional workgroup memory.
    - C2: `count` elements take 4, 8 or 16 bytes, and both places are multiples of that.
    - C3: there is one index for each dimension of the source.
  }];
  let arguments = (ins Arg<AnyMemRef, "", [MemRead]>:$source, Variadic<Index>:$indices, Arg<MemRefRankOf<[AnyType], [1]>, "", [MemWrite]>:$target,
                       Index:$at, I64Attr:$count, I1:$valid);
  let assemblyFormat = [{
    $source `[` $indices `]` `to` $target `[` $at `]` `count` $count `if` $valid attr-dict `:` type($source) `to` type($target)
  }];
  let hasVerifier = 1;
}

def VXK_AsyncCommitOp : VXK_Op<"async_commit"> {
  let summary = "closes a stage: what this thread copied since the last one";
  let assemblyFormat = "attr-dict";
}

def VXK_AsyncWaitOp : VXK_Op<"async_wait"> {
  let summary = "waits until all but the last stages of this thread have arrived";
  let description = [{
    What other threads copied can be read after a `vxk.barrier` behind their waits.

    - C1: `stages` is 0 or more.
  }];
  let arguments = (ins I64Attr:$stages);
  let assemblyFormat = "$stages attr-dict";
  let hasVerifier = 1;
}

def VXK_ReportFaultOp : VXK_Op<"report_fault"> {
  let summary = "reports a value that is out of range";
  let description = [{
    When `condition` is true: adds 1 to the fault record's count atomically and, when that was 0, writes the site (the dispatch's
    first fault site plus `site`), the value, the range [lower, upper), and the value's place into it: its index in each dimension of
    the tensor that holds it, of the first `VX_FAULT_PLACES` dimensions.
  }];
  let arguments = (ins I1:$condition, I64:$value, I64:$lower, I64:$upper, Variadic<I64>:$place, I64Attr:$site);
  let assemblyFormat = "$condition `value` $value `range` $lower `,` $upper (`at` `[` $place^ `]`)? `site` $site attr-dict";
}

#endif
