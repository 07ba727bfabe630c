// The `vxrt` dialect: the host program of a model for one target, as the runtime interprets it.
//
// Each op is one instruction of the module file (runtime/include/vx/abi/module.fbs), so that the schedule phase shows
// exactly what will run.
#ifndef VX_DIALECT_VXRT_IR_VXRTOPS
#define VX_DIALECT_VXRT_IR_VXRTOPS

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def VXRT_Dialect : Dialect {
  let name = "vxrt";
  let cppNamespace = "::vxrt";
  let summary = "schedules: sizes, buffers, dispatches, structured control flow";
  let description = [{
    No tensor values are left: a program computes on i64s, references to buffers and host objects. A value comes back from the device
    by `vxrt.read_i64` only, which ends a recorded segment; `vxrt.read_input` reads what the caller has.
  }];
  let useDefaultTypePrinterParser = 1;
}

class VXRT_Type<string name, string typeMnemonic> : TypeDef<VXRT_Dialect, name> { let mnemonic = typeMnemonic; }
def VXRT_BufferType : VXRT_Type<"Buffer", "buffer"> { let summary = "a view of device memory"; }
def VXRT_ObjectType : VXRT_Type<"Object", "object"> { let summary = "a list of tensors on the host: a sequence or an optional"; }
def VXRT_Value : AnyTypeOf<[I64, VXRT_BufferType, VXRT_ObjectType]>;

class VXRT_Op<string opMnemonic, list<Trait> traits = []> : Op<VXRT_Dialect, opMnemonic, traits>;

//===-- Programs ---------------------------------------------------------------------------------------------------===//

def VXRT_ProgramOp : VXRT_Op<"program", [Symbol, SingleBlock, IsolatedFromAbove, HasParent<"::mlir::ModuleOp">]> {
  let summary = "the schedule of a function";
  let description = [{
    The block's arguments are the function's symbols (i64, in the order of `symbols`; a data-dependent one is 0 on entry), then
    its inputs: a buffer for a tensor, an object for a sequence or optional.

    - C1: one i64 for each symbol, then buffers and objects only.
    - C2: the block ends with `vxrt.return`.
    - C3: `aliases`, where it is there, is pairs of an input's and a result's number, both of buffers.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrArrayAttr:$symbols, OptionalAttr<StrAttr>:$sym_visibility);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name `symbols` $symbols $body attr-dict";
  let hasRegionVerifier = 1;
}

def VXRT_ReturnOp : VXRT_Op<"return", [Terminator, HasParent<"ProgramOp">]> {
  let summary = "ends a program with its results";
  let description = [{
    For each result a buffer followed by its dims (`ranks[i]` i64s), or an object (rank -1).

    - C1: the values are what the ranks say.
  }];
  let arguments = (ins Variadic<VXRT_Value>:$values, DenseI64ArrayAttr:$ranks);
  let assemblyFormat = "($values^ `:` type($values))? `ranks` $ranks attr-dict";
  let hasVerifier = 1;
}

//===-- Sizes ------------------------------------------------------------------------------------------------------===//

def VXRT_ConstOp : VXRT_Op<"const", [Pure]> {
  let summary = "an i64 constant";
  let arguments = (ins I64Attr:$value);
  let results = (outs I64:$result);
  let assemblyFormat = "$value attr-dict";
}

def VXRT_CalcKind : I32EnumAttr<"CalcKind", "arithmetic on sizes", [
    I32EnumAttrCase<"add", 0>, I32EnumAttrCase<"sub", 1>, I32EnumAttrCase<"mul", 2>, I32EnumAttrCase<"floordiv", 3>,
    I32EnumAttrCase<"ceildiv", 4>, I32EnumAttrCase<"mod", 5>, I32EnumAttrCase<"max", 6>, I32EnumAttrCase<"min", 7>,
    I32EnumAttrCase<"eq", 8>, I32EnumAttrCase<"ne", 9>, I32EnumAttrCase<"lt", 10>, I32EnumAttrCase<"le", 11>]> {
  let cppNamespace = "::vxrt";
}

def VXRT_CalcOp : VXRT_Op<"calc", [Pure]> {
  let summary = "arithmetic or a comparison on i64s";
  let description = [{ Overflow and division by zero fail the call. Comparisons give 0 or 1. }];
  let arguments = (ins VXRT_CalcKind:$kind, I64:$lhs, I64:$rhs);
  let results = (outs I64:$result);
  let assemblyFormat = "$kind $lhs `,` $rhs attr-dict";
}

def VXRT_SelectOp : VXRT_Op<"select", [Pure]> {
  let summary = "one of two i64s: the second when the condition is 0";
  let arguments = (ins I64:$condition, I64:$on_true, I64:$on_false);
  let results = (outs I64:$result);
  let assemblyFormat = "$condition `,` $on_true `,` $on_false attr-dict";
}

//===-- Buffers ----------------------------------------------------------------------------------------------------===//

def VXRT_ArenaReserveOp : VXRT_Op<"arena_reserve"> {
  let summary = "makes the call's arena at least this many bytes large";
  let arguments = (ins I64:$size);
  let assemblyFormat = "$size attr-dict";
}

def VXRT_ArenaSliceOp : VXRT_Op<"arena_slice"> {
  let summary = "a view of the arena";
  let arguments = (ins I64:$offset, I64:$size);
  let results = (outs VXRT_BufferType:$result);
  let assemblyFormat = "$offset `,` $size attr-dict `:` type($result)";
}

def VXRT_SliceOp : VXRT_Op<"slice"> {
  let summary = "a view of a part of a buffer";
  let description = [{ What is written to it is in the buffer. }];
  let arguments = (ins VXRT_BufferType:$buffer, I64:$offset, I64:$size);
  let results = (outs VXRT_BufferType:$result);
  let assemblyFormat = "$buffer `,` $offset `,` $size attr-dict `:` type($result)";
}

def VXRT_AllocateOp : VXRT_Op<"allocate"> {
  let summary = "a fresh buffer, freed when nothing holds it";
  let description = [{ For results and sizes that are known late. `vx-plan-arena` turns the others into views of the arena. }];
  let arguments = (ins I64:$size);
  let results = (outs VXRT_BufferType:$result);
  let assemblyFormat = "$size attr-dict `:` type($result)";
}

def VXRT_ConstantOp : VXRT_Op<"constant", [Pure]> {
  let summary = "weights";
  let arguments = (ins ElementsAttr:$value, OptionalAttr<StrArrayAttr>:$names);
  let results = (outs VXRT_BufferType:$result);
  let assemblyFormat = "$value attr-dict `:` type($result)";
}

def VXRT_VariableOp : VXRT_Op<"variable", [Pure]> {
  let summary = "the storage of a variable";
  let arguments = (ins FlatSymbolRefAttr:$variable);
  let results = (outs VXRT_BufferType:$result);
  let assemblyFormat = "$variable attr-dict `:` type($result)";
}

def VXRT_DerivedOp : VXRT_Op<"derived", [Pure]> {
  let summary = "a derived value";
  let description = [{
    The result of the program `source`. The runtime runs it once, when it makes an instance, or where it names variables, before a call that reads the
    value for the first time, or for the first time since one of them was written.
  }];
  let arguments = (ins FlatSymbolRefAttr:$source);
  let results = (outs VXRT_BufferType:$result);
  let assemblyFormat = "$source attr-dict `:` type($result)";
}

//===-- Device work ------------------------------------------------------------------------------------------------===//

def VXRT_SegmentOp : VXRT_Op<"segment", [SingleBlock, NoRegionArguments, NoTerminator]> {
  let summary = "commands that a driver records once and replays";
  let description = [{ - C1: holds `vxrt.dispatch` and `vxrt.copy` only. }];
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$body attr-dict";
  let hasRegionVerifier = 1;
}

def VXRT_DispatchOp : VXRT_Op<"dispatch", [AttrSizedOperandSegments, HasParent<"SegmentOp">]> {
  let summary = "runs a kernel on a grid of workgroups";
  let description = [{ `barrier`: waits for the commands before it in the segment. The last `results` buffers are written. }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, I64:$workgroups, Variadic<VXRT_BufferType>:$inputs,
                       Variadic<VXRT_BufferType>:$outputs, Variadic<I64>:$scalars, UnitAttr:$barrier);
  let assemblyFormat = [{
    (`barrier` $barrier^)? $kernel `[` $workgroups `]` `(` $inputs `)` `->` `(` $outputs `)` `scalars` `(` $scalars `)` attr-dict
    `:` functional-type($inputs, $outputs)
  }];
}

def VXRT_CopyOp : VXRT_Op<"copy", [HasParent<"SegmentOp">]> {
  let summary = "copies a buffer to another of the same size";
  let arguments = (ins VXRT_BufferType:$source, VXRT_BufferType:$target, UnitAttr:$barrier);
  let assemblyFormat = "(`barrier` $barrier^)? $source `,` $target attr-dict `:` type($source)";
}

def VXRT_ReadI64Op : VXRT_Op<"read_i64"> {
  let summary = "reads an element back from the device";
  let description = [{
    Waits for the device and checks faults.

    - C1: `element_type` is i1 (one byte), i32 or i64.
  }];
  let arguments = (ins VXRT_BufferType:$buffer, I64:$offset, TypeAttr:$element_type);
  let results = (outs I64:$result);
  let assemblyFormat = "$element_type $buffer `[` $offset `]` attr-dict `:` type($buffer)";
  let hasVerifier = 1;
}

def VXRT_ReadInputOp : VXRT_Op<"read_input"> {
  let summary = "the first element of an input, as the caller gave it";
  let description = [{
    Waits for nothing where the caller gave it in host memory. Stands before all that a device does, so that nothing has written over it yet.
    With `symbol` it is the value of this symbol of the program, whose own argument nothing reads.

    - C1: the program has the input `input`, which is no object.
    - C2: `element_type` is i1 (one byte), i32 or i64.
    - C3: the program has the symbol `symbol`, and one op in its body gives it.

    Example: `%0 = vxrt.read_input 1 : i64 symbol "past"`
  }];
  let arguments = (ins I64Attr:$input, TypeAttr:$element_type, OptionalAttr<StrAttr>:$symbol);
  let results = (outs I64:$result);
  let assemblyFormat = "$input `:` $element_type (`symbol` $symbol^)? attr-dict";
  let hasVerifier = 1;
}

def VXRT_CheckFaultsOp : VXRT_Op<"check_faults"> {
  let summary = "waits for the device and fails the call when a kernel reported a fault";
  let assemblyFormat = "attr-dict";
}

def VXRT_CheckRangeOp : VXRT_Op<"check_range"> {
  let summary = "fails the call, with the source node's name, unless lower <= value < upper";
  let arguments = (ins I64:$value, I64:$lower, I64:$upper, StrAttr:$what);
  let assemblyFormat = "$value `range` $lower `,` $upper $what attr-dict";
}

def VXRT_CheckKind : I32EnumAttr<"CheckKind", "a predicate over two sizes", [
    I32EnumAttrCase<"equal", 0>, I32EnumAttrCase<"at_least", 1>, I32EnumAttrCase<"multiple", 2>,
    I32EnumAttrCase<"broadcast", 3>, I32EnumAttrCase<"repeat", 4>, I32EnumAttrCase<"differ", 5>]> {
  let cppNamespace = "::vxrt";
}

def VXRT_CheckOp : VXRT_Op<"check"> {
  let summary = "fails the call, with the source node's name, unless the predicate holds";
  let description = [{ The kinds are those of `vx.constraint`; `want` tells in words what the node wants. }];
  let arguments = (ins VXRT_CheckKind:$kind, I64:$lhs, I64:$rhs, StrAttr:$want);
  let assemblyFormat = "$kind $lhs `,` $rhs $want attr-dict";
}

//===-- Control flow -----------------------------------------------------------------------------------------------===//

def VXRT_YieldOp : VXRT_Op<"yield", [Pure, Terminator, ParentOneOf<["IfOp", "WhileOp"]>]> {
  let summary = "ends a region with its values";
  let arguments = (ins Variadic<VXRT_Value>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
}

def VXRT_IfOp : VXRT_Op<"if", [SingleBlock, NoRegionArguments]> {
  let summary = "runs the first region when the condition is not 0, else the second";
  let description = [{ - C1: both regions yield values of the results' types. }];
  let arguments = (ins I64:$condition);
  let results = (outs Variadic<VXRT_Value>:$results);
  let regions = (region SizedRegion<1>:$then_region, SizedRegion<1>:$else_region);
  let assemblyFormat = "$condition (`->` type($results)^)? $then_region `else` $else_region attr-dict";
  let hasRegionVerifier = 1;
}

def VXRT_WhileOp : VXRT_Op<"while", [SingleBlock]> {
  let summary = "runs its region while the condition is not 0";
  let description = [{
    The region takes the carried values and yields the next condition, then the next carried values. Where it `commits`, what an iteration
    that is done wrote to variables stays when the call fails, and the error says how many were done.

    - C1: the initial values, the region's arguments and the results have the same types.
    - C2: the region yields an i64 and values of those types.
  }];
  let arguments = (ins I64:$condition, Variadic<VXRT_Value>:$inits, UnitAttr:$commits);
  let results = (outs Variadic<VXRT_Value>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "(`commits` $commits^)? $condition (`inits` `(` $inits^ `:` type($inits) `)`)? (`->` type($results)^)? $body attr-dict";
  let hasRegionVerifier = 1;
}

//===-- Objects ----------------------------------------------------------------------------------------------------===//

def VXRT_ListEmptyOp : VXRT_Op<"list_empty", [Pure]> {
  let summary = "a list of no tensors";
  let arguments = (ins TypeAttr:$element_type);
  let results = (outs VXRT_ObjectType:$result);
  let assemblyFormat = "$element_type attr-dict `:` type($result)";
}

def VXRT_ListInsertOp : VXRT_Op<"list_insert", [Pure]> {
  let summary = "a list with one more tensor";
  let arguments = (ins VXRT_ObjectType:$list, I64:$position, VXRT_BufferType:$buffer, Variadic<I64>:$dims);
  let results = (outs VXRT_ObjectType:$result);
  let assemblyFormat = "$list `[` $position `]` `,` $buffer `dims` `(` $dims `)` attr-dict `:` type($list) `,` type($buffer) `->` type($result)";
}

def VXRT_ListEraseOp : VXRT_Op<"list_erase", [Pure]> {
  let summary = "a list without one of its tensors";
  let arguments = (ins VXRT_ObjectType:$list, I64:$position);
  let results = (outs VXRT_ObjectType:$result);
  let assemblyFormat = "$list `[` $position `]` attr-dict `:` type($list) `->` type($result)";
}

def VXRT_ListSizeOp : VXRT_Op<"list_size", [Pure]> {
  let summary = "the number of tensors of a list";
  let arguments = (ins VXRT_ObjectType:$list);
  let results = (outs I64:$result);
  let assemblyFormat = "$list attr-dict `:` type($list)";
}

def VXRT_ListGetOp : VXRT_Op<"list_get", [Pure]> {
  let summary = "one tensor of a list, with its sizes";
  let arguments = (ins VXRT_ObjectType:$list, I64:$position);
  let results = (outs VXRT_BufferType:$buffer, Variadic<I64>:$dims);
  let assemblyFormat = "$list `[` $position `]` attr-dict `:` type($list) `->` type($buffer) (`,` type($dims)^)?";
}

def VXRT_NoListOp : VXRT_Op<"no_list", [Pure]> {
  let summary = "what an optional sequence is that holds none";
  let arguments = (ins TypeAttr:$element_type);
  let results = (outs VXRT_ObjectType:$result);
  let assemblyFormat = "$element_type attr-dict `:` type($result)";
}

def VXRT_HasListOp : VXRT_Op<"has_list", [Pure]> {
  let summary = "whether an optional sequence holds one: 1, else 0";
  let arguments = (ins VXRT_ObjectType:$list);
  let results = (outs I64:$result);
  let assemblyFormat = "$list attr-dict `:` type($list)";
}

def VXRT_HostCallOp : VXRT_Op<"host_call"> {
  let summary = "the list of what a function of the host gives for the tensors of a list";
  let description = [{
    Waits for the device and checks faults. `function` is a kind of `vx.host_function`, which says what the tensors, `text` and `limit` are;
    `element_types` are those of the results.

    Example: `%1 = vxrt.host_call "string_match"("[a-z]+", -1) [i1] %0 : !vxrt.object`
  }];
  let arguments = (ins StrAttr:$function, StrAttr:$text, I64Attr:$limit, TypeArrayAttr:$element_types, VXRT_ObjectType:$list);
  let results = (outs VXRT_ObjectType:$result);
  let assemblyFormat = "$function `(` $text `,` $limit `)` $element_types $list attr-dict `:` type($list)";
}

#endif
