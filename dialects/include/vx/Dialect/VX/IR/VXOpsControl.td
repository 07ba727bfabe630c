// Symbols, control flow on the host, state, and sequences.
#ifndef VX_DIALECT_VX_IR_VXOPSCONTROL
#define VX_DIALECT_VX_IR_VXOPSCONTROL

include "vx/Dialect/VX/IR/VXBase.td"
include "vx/Dialect/VX/IR/VXStrategies.td"

//===-- Symbols ----------------------------------------------------------------------------------------------------===//

def VX_SymbolOp : VX_Op<"symbol", [VX_NonDifferentiable, HasParent<"::mlir::ModuleOp">, VX_HostOp, VX_Unconstrained]> {
  let summary = "declares a dimension symbol";
  let description = [{
    Values allowed are the multiples of `multiple` in [`min`, `max`]. A symbol is bound at the call by the shapes of the inputs, or, when
    it is of the `instance`, before any call when an instance is made (the pages of a cache), or, when
    `data_dependent`, by exactly one op while the program runs: `vx.bind_symbol`, `vx.loop`, `vx.if` or `vx.sequence_at`. These
    ops stay when nothing reads their results: types and sizes may still name what they bind.

    - C1: 0 <= min <= max, and multiple >= 1.
    - C2: no other `vx.symbol` of the module has this name.
    - C3: it is not both of the instance and data-dependent.

    Example: `vx.symbol "batch" min = 1 max = 4096 multiple = 1`
  }];
  let arguments = (ins StrAttr:$name, DefaultValuedAttr<I64Attr, "0">:$min, DefaultValuedAttr<I64Attr, "INT64_MAX">:$max,
                       DefaultValuedAttr<I64Attr, "1">:$multiple, UnitAttr:$data_dependent, UnitAttr:$instance);
  let assemblyFormat = [{
    (`data_dependent` $data_dependent^)? (`instance` $instance^)? $name (`min` `=` $min^)? (`max` `=` $max^)? (`multiple` `=` $multiple^)? attr-dict
  }];
  let hasVerifier = 1;
}

def VX_BindSymbolOp : VX_Op<"bind_symbol", [VX_NonDifferentiable, VX_HostOp, VX_HostScalarOpInterface, VX_Unconstrained]> {
  let summary = "reads a scalar back to the host and binds a data-dependent symbol to it";
  let description = [{
    Ends a recorded segment. A value outside of the symbol's range fails the call with the source node's name. Types that name
    the symbol stand after this op.

    - C1: `symbol` is declared as data-dependent.
  }];
  let arguments = (ins VX_I64Scalar:$value, StrAttr:$symbol);
  let assemblyFormat = "$symbol `=` $value attr-dict";
}

def VX_ConstraintKind : I32EnumAttr<"ConstraintKind", "a predicate over two sizes", [
    I32EnumAttrCase<"equal", 0>, I32EnumAttrCase<"at_least", 1>, I32EnumAttrCase<"multiple", 2>,
    I32EnumAttrCase<"broadcast", 3>, I32EnumAttrCase<"repeat", 4>, I32EnumAttrCase<"differ", 5>]> {
  let cppNamespace = "::vx";
}

def VX_ConstraintOp : VX_Op<"constraint", [VX_NonDifferentiable, VX_HostOp, VX_Unconstrained]> {
  let summary = "a predicate over sizes that what follows relies on";
  let description = [{
        equal      lhs = rhs
        at_least   lhs >= rhs
        multiple   lhs is a multiple of rhs, of 0 only 0
        broadcast  lhs = rhs, or one of them is 1
        repeat     lhs = rhs, or lhs is 1
        differ     lhs is not rhs

    Made by `vx-record-constraints` where shape inference takes two sizes for equal, and by frontends. Nothing moves across it: it stands
    before the op that relies on it and has its location. Over symbols that the inputs bind, and in a function's own block, it is checked
    when a call binds its inputs, else by the program. A call that breaks it fails with the source node's name, `want` and both values.

    Example: `vx.constraint equal <n>, <m> "sizes 'n' and 'm' equal"`
  }];
  let arguments = (ins VX_ConstraintKind:$kind, VX_DimAttr:$lhs, VX_DimAttr:$rhs, StrAttr:$want);
  let assemblyFormat = "$kind $lhs `,` $rhs $want attr-dict";
}

//===-- Control flow -----------------------------------------------------------------------------------------------===//

def VX_YieldOp : VX_Op<"yield", [VX_NonDifferentiable, Pure, Terminator, ReturnLike, VX_HostOp, VX_Constrained]> {
  let summary = "ends a region with its values";
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
  let builders = [OpBuilder<(ins), [{ build($_builder, $_state, ::mlir::ValueRange()); }]>];
}

def VX_IfOp : VX_Op<"if", [VX_Differentiable, SingleBlock, NoRegionArguments, VX_HostOp, VX_HostScalarOpInterface, VX_BindsResultSizes, VX_Unconstrained]> {
  let summary = "runs one of two regions";
  let description = [{
    The host decides. A result whose type names a data-dependent symbol that is declared for it binds that symbol to the
    size that the taken branch yields.

    - C1: both regions yield values of the results' types, up to dimensions.
  }];
  let arguments = (ins VX_BoolScalar:$condition);
  let results = (outs Variadic<VX_Value>:$results);
  let regions = (region SizedRegion<1>:$then_region, SizedRegion<1>:$else_region);
  let assemblyFormat = "$condition (`->` type($results)^)? $then_region `else` $else_region attr-dict";
  let hasVerifier = 1;
}

def VX_LoopOp : VX_Op<"loop", [VX_Differentiable, SingleBlock, AttrSizedOperandSegments,
                               VX_HostOp, VX_ChoosesHostScalars, VX_BindsResultSizes, VX_Constrained]> {
  let summary = "repeats a region with carried values";
  let description = [{
    As ONNX's Loop without scan outputs. The region's arguments are the carried values; it yields the next condition
    (tensor<i1>) and the next carried values. The loop ends when `trip_count` iterations are done (no trip count: never) or when the
    condition is false (an absent `condition` starts as true). The iteration number is the symbol `iteration`, to be read
    with `vx.dim_value`.

    A dimension of a region argument or result that is a data-dependent symbol declared for it is bound at each
    iteration to the size of the value that comes in; so a carried value may change its size.

    Where it `commits`, each iteration is a unit as a call is one: what it stores stays when a later iteration, or what follows the loop,
    fails the call, and the error says how many iterations were done. An iteration that fails changes no variable.

    - C1: the region has one argument for each carried value, of its type up to dimensions.
    - C2: the region yields a tensor<i1> and one value for each carried value, of its type up to dimensions.
    - C3: `iteration` is declared as data-dependent.
    - C4: a loop that commits stands in a function's own block, and no store before it there is of a variable that shares bytes with one
      that the loop stores.
  }];
  let arguments = (ins Optional<VX_I64Scalar>:$trip_count, Optional<VX_BoolScalar>:$condition, Variadic<VX_Value>:$inits,
                       StrAttr:$iteration, UnitAttr:$commits);
  let results = (outs Variadic<VX_Value>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    (`commits` $commits^)? $iteration (`trip_count` `(` $trip_count^ `)`)? (`condition` `(` $condition^ `)`)?
    (`inits` `(` $inits^ `:` type($inits) `)`)? (`->` type($results)^)? $body attr-dict
  }];
  let hasVerifier = 1;
}

def VX_CallOp : VX_Op<"call", [VX_NonDifferentiable, DeclareOpInterfaceMethods<SymbolUserOpInterface>, VX_HostOp, VX_BindsResultSizes, VX_Unconstrained]> {
  let summary = "calls a function of the module";
  let description = [{
    The function's symbols are its own: those that its inputs bind take the sizes of the operands, which its declarations and types must
    allow; those that it binds while it runs are others in each call. `vx-inline-calls` puts the function's ops in the place of the call.

        vx.symbol "n"
        func.func private @double(%x: tensor<?xf32, #vx.enc<[n]>>) -> tensor<?xf32, #vx.enc<[n]>>
        %0 = vx.call @double(%a) : (tensor<?xf32, #vx.enc<[m + 1]>>) -> tensor<?xf32, #vx.enc<[m + 1]>>
        %1 = vx.call @double(%b) : (tensor<4xf32>) -> tensor<4xf32>

    - C1: `callee` is a function of the module with a body.
    - C2: there is an operand for each of the function's inputs and a result for each of its results.
    - C3: they are of its types up to dimensions, of which two numbers are equal.
  }];
  let arguments = (ins FlatSymbolRefAttr:$callee, Variadic<VX_Value>:$inputs);
  let results = (outs Variadic<VX_Value>:$results);
  let assemblyFormat = "$callee `(` $inputs `)` attr-dict `:` functional-type($inputs, $results)";
}

//===-- State ------------------------------------------------------------------------------------------------------===//

// The numbers are those of the module file.
def VX_VariableRole : I32EnumAttr<"VariableRole", "what a variable is for", [
    I32EnumAttrCase<"state", 0>, I32EnumAttrCase<"parameter", 1>, I32EnumAttrCase<"optimizer", 2>,
    I32EnumAttrCase<"statistic", 3>, I32EnumAttrCase<"counter", 4>, I32EnumAttrCase<"gradient", 5>,
    I32EnumAttrCase<"shadow", 6>, I32EnumAttrCase<"cache", 7>]> {
  let cppNamespace = "::vx";
}

// The numbers are those of the module file.
def VX_InitKind : I32EnumAttr<"InitKind", "how a variable starts that starts with random values", [
    I32EnumAttrCase<"uniform", 2>, I32EnumAttrCase<"normal", 3>, I32EnumAttrCase<"orthogonal", 4>]> {
  let cppNamespace = "::vx";
}

def VX_InitAttr : VX_Attr<"Init", "init"> {
  let summary = "random values that a variable starts with";
  let description = [{
    `uniform(a, b)` between a and b, `normal(a, b)` with mean a and deviation b, `orthogonal(a)`: a times a matrix, of the first dimension and
    all others, whose rows or, where there are more of them, columns are orthonormal. Drawn from the seed of an instance and the variable's
    name, the same bits on every device; docs/module-format.md has the formulas.
  }];
  let parameters = (ins "::vx::InitKind":$kind, "::mlir::FloatAttr":$a, "::mlir::FloatAttr":$b);
  let hasCustomAssemblyFormat = 1;
}

def VX_VariableOp : VX_Op<"variable", [VX_NonDifferentiable, Symbol, HasParent<"::mlir::ModuleOp">, DeclareOpInterfaceMethods<SymbolUserOpInterface>,
                                       VX_HostOp, VX_Unconstrained]> {
  let summary = "state of an instance that lives across calls";
  let description = [{
    Parameters and statistics may be shared by instances. `source` is what the model calls the variable, where that is not its name.

    A variable may lie in another one, its `pool`, from the byte `offset` on: a kernel updates all that lies in a pool by updating the pool.
    Variables that share bytes are one memory under several names: a load gives what the last store of any of them left
    (`vx-resolve-overlaps`).

    - C1: each dimension of `type` is a number, or an expression over symbols of the instance.
    - C2: `initial`, where given, has that type, which is static; else the variable starts as `init` says, or as zeros.
    - C3: there is one of `initial` and `init` at most.
    - C4: with `init` the type is a static one of f16, bf16, f32 or f64, with `orthogonal` of rank 2 or more; its numbers are finite, a
      uniform one's first is at most its second, and a deviation is at least 0.
    - C5: `pool` is a variable of the module that lies in no other, of one dimension and the same element type, and both types are static.
    - C6: `offset` is a multiple of 64 (`VX_BUFFER_ALIGNMENT` of the module file), and the variable ends where the pool does or before.
    - C7: instances share both the variable and its pool, or neither, as their roles tell.
    - C8: of variables that share bytes one has an `initial` or an `init`.

    Examples:

        vx.variable @k_0 role = cache : tensor<?x8xf32, #vx.enc<[pages, 8]>>
        vx.variable @w role = parameter init = <uniform(-0.1, 0.1)> : tensor<4x8xf32>
        vx.variable @parameters role = parameter : tensor<48xf32>
        vx.variable @fc1_weight role = parameter in @parameters at 64 : tensor<8x3xf32>
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<VX_Tensor>:$type, OptionalAttr<ElementsAttr>:$initial,
                       DefaultValuedAttr<VX_VariableRole, "::vx::VariableRole::state">:$role, OptionalAttr<StrAttr>:$source,
                       OptionalAttr<VX_InitAttr>:$init, OptionalAttr<FlatSymbolRefAttr>:$pool, OptionalAttr<I64Attr>:$offset);
  let assemblyFormat = [{
    $sym_name (`role` `=` $role^)? (`source` `=` $source^)? (`init` `=` $init^)? (`in` $pool^ `at` $offset)? `:` $type
    (`=` $initial^)? attr-dict
  }];
  let hasVerifier = 1;
}

def VX_VariableLoadOp : VX_Op<"variable_load", [VX_NonDifferentiable, DeclareOpInterfaceMethods<SymbolUserOpInterface>, VX_HostOp, VX_Constrained]> {
  let summary = "the value of a variable at this point of the program";
  let description = [{
    - C1: the variable exists and has the result's type.
  }];
  let arguments = (ins FlatSymbolRefAttr:$variable);
  let results = (outs VX_Tensor:$result);
  let assemblyFormat = "$variable attr-dict `:` type($result)";
}

def VX_VariableStoreOp : VX_Op<"variable_store", [VX_NonDifferentiable, DeclareOpInterfaceMethods<SymbolUserOpInterface>, VX_HostOp, VX_Constrained]> {
  let summary = "sets a variable";
  let description = [{
    Takes effect for loads after it in the program, of this variable and of those that share bytes with it; other calls see it when this
    call has succeeded. A call that fails changes no variable, but in a `vx.loop` that `commits`.

    - C1: the variable exists and has the value's type.
  }];
  let arguments = (ins VX_Tensor:$value, FlatSymbolRefAttr:$variable);
  let assemblyFormat = "$value `,` $variable attr-dict `:` type($value)";
}

//===-- Sequences --------------------------------------------------------------------------------------------------===//

def VX_SequenceConstructOp : VX_Op<"sequence_construct", [VX_Differentiable, Pure, VX_HostOp, VX_Constrained]> {
  let summary = "a sequence of the given tensors";
  let description = [{
    - C1: every input has the sequence's element type.
  }];
  let arguments = (ins Variadic<VX_Tensor>:$inputs);
  let results = (outs VX_SequenceType:$result);
  let assemblyFormat = "$inputs attr-dict `:` functional-type($inputs, $result)";
  let hasVerifier = 1;
}

def VX_SequenceInsertOp : VX_Op<"sequence_insert", [VX_Differentiable, Pure,
                                                    VX_HostOp, VX_ChoosesHostScalars, VX_Constrained]> {
  let summary = "a sequence with one more tensor";
  let description = [{
    `position` lies in [-n, n] with n the length; without it the tensor is appended. Another position fails the call.

    - C1: `value` has the element type of the result, and so have the tensors of the sequence.
  }];
  let arguments = (ins VX_SequenceType:$sequence, VX_Tensor:$value, Optional<VX_I64Scalar>:$position);
  let results = (outs VX_SequenceType:$result);
  let assemblyFormat = "$sequence `,` $value (`at` $position^)? attr-dict `:` type($sequence) `,` type($value) `->` type($result)";
  let hasVerifier = 1;
}

def VX_SequenceAtOp : VX_Op<"sequence_at", [VX_Differentiable, VX_HostOp, VX_HostScalarOpInterface, VX_BindsResultSizes, VX_Unconstrained]> {
  let summary = "one tensor of a sequence";
  let description = [{
    `position` lies in [-n, n) with n the length; another fails the call. Data-dependent symbols of the result's type are bound to
    the tensor's sizes. An optional is a sequence of one tensor at most.

    - C1: the result has the sequence's element type.
  }];
  let arguments = (ins VX_SequenceOrOptional:$sequence, VX_I64Scalar:$position);
  let results = (outs VX_Tensor:$result);
  let assemblyFormat = "$sequence `,` $position attr-dict `:` type($sequence) `->` type($result)";
  let hasVerifier = 1;
}

def VX_SequenceEraseOp : VX_Op<"sequence_erase", [VX_Differentiable, Pure, AllTypesMatch<["sequence", "result"]>,
                                                  VX_HostOp, VX_HostScalarOpInterface, VX_Unconstrained]> {
  let summary = "a sequence without one of its tensors";
  let description = [{ `position` lies in [-n, n) with n the length; without it the last tensor is removed. Another position fails the call. }];
  let arguments = (ins VX_SequenceType:$sequence, Optional<VX_I64Scalar>:$position);
  let results = (outs VX_SequenceType:$result);
  let assemblyFormat = "$sequence (`at` $position^)? attr-dict `:` type($sequence)";
}

def VX_SequenceLengthOp : VX_Op<"sequence_length", [VX_NonDifferentiable, Pure, VX_HostOp, VX_Unconstrained]> {
  let summary = "the number of tensors of a sequence";
  let description = [{ Of an optional 1 where it holds a value, else 0. }];
  let arguments = (ins VX_SequenceOrOptional:$sequence);
  let results = (outs VX_I64Scalar:$result);
  let assemblyFormat = "$sequence attr-dict `:` type($sequence)";
}

//===-- Optionals --------------------------------------------------------------------------------------------------===//

def VX_OptionalOp : VX_Op<"optional", [VX_Differentiable, Pure, VX_HostOp, VX_Unconstrained]> {
  let summary = "an optional that holds a value, or none";
  let description = [{
    No gradient passes through it.

    - C1: `value` has the type that the optional holds.

    Example: `%none = vx.optional -> !vx.optional<!vx.sequence<tensor<5xf32>>>`
  }];
  let arguments = (ins Optional<VX_TensorOrSequence>:$value);
  let results = (outs VX_OptionalType:$result);
  let assemblyFormat = "($value^ `:` type($value))? attr-dict `->` type($result)";
  let hasVerifier = 1;
}

def VX_OptionalValueOp : VX_Op<"optional_value", [VX_Differentiable, VX_HostOp, VX_Unconstrained]> {
  let summary = "the sequence that an optional holds";
  let description = [{
    Of an optional that holds none the call fails. A tensor that one holds is its `vx.sequence_at` 0.

    - C1: the optional holds a sequence, which the result has the type of.

    Example: `%s = vx.optional_value %o : !vx.optional<!vx.sequence<tensor<5xf32>>> -> !vx.sequence<tensor<5xf32>>`
  }];
  let arguments = (ins VX_OptionalType:$optional);
  let results = (outs VX_SequenceType:$result);
  let assemblyFormat = "$optional attr-dict `:` type($optional) `->` type($result)";
  let hasVerifier = 1;
}

//===-- Fusion and kernels -----------------------------------------------------------------------------------------===//

/// An op that contains the ops of one kernel.
class VX_KernelBodyOp<string opMnemonic, list<Trait> traits>
    : VX_Op<opMnemonic, [SingleBlock, IsolatedFromAbove, VX_Container, VX_NonDifferentiable, VX_Unconstrained] # traits> {
  let regions = (region SizedRegion<1>:$body);
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The op that decides how the kernel is generated, which is marked `vx.anchor`; null where all are pointwise.
    ::mlir::Operation *getAnchor() { return ::vx::getAnchor(getBody().front()); }
  }];
}

def VX_FusionOp : VX_KernelBodyOp<"fusion", [Pure]> {
  let summary = "ops that one target computes with one kernel";
  let description = [{
    Made at the `fused` phase. The region's arguments are the operands; one anchor op and its prologue and epilogue stand in it. The anchor is
    marked by the unit attribute `vx.anchor` where it is chosen.

    - C1: the region's arguments have the operands' types, and it yields the results' types.
    - C2: one op is marked as the anchor where an op has that role, and that one has it; none where none has.
    - C3: the strategy has at most one tile size for each dimension that is visited.
  }];
  let arguments = (ins Variadic<VX_Tensor>:$inputs, VX_StrategyAttrInterface:$strategy);
  let results = (outs Variadic<VX_Tensor>:$results);
  let assemblyFormat = "`(` $inputs `)` `:` functional-type($inputs, $results) $strategy $body attr-dict";
}

def VX_KernelOp : VX_KernelBodyOp<"kernel", [Symbol, HasParent<"::mlir::ModuleOp">]> {
  let summary = "an outlined kernel";
  let description = [{
    Made at the `kernels` phase. `key` is the hash of its canonical text (locations dropped, symbols renamed s0, s1, ... in order of first
    appearance), target and strategy: equal keys are one kernel. `symbols` are its scalars, in order. `workgroups` is the size of its grid.

    - C1: every symbol that the body names is in `symbols`.
    - C2: one op is marked as the anchor where an op has that role, and that one has it; none where none has.
    - C3: the strategy has at most one tile size for each dimension that is visited.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrAttr:$key, StrArrayAttr:$symbols, VX_DimAttr:$workgroups,
                       VX_StrategyAttrInterface:$strategy, OptionalAttr<StrAttr>:$sym_visibility);
  let assemblyFormat = "$sym_name $key `symbols` $symbols `workgroups` $workgroups $strategy attr-dict-with-keyword $body";
}

def VX_DispatchOp : VX_Op<"dispatch", [VX_NonDifferentiable, Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>, VX_Container, VX_Unconstrained]> {
  let summary = "runs a kernel";
  let description = [{
    `symbols` gives the value of each of the kernel's symbols in terms of the caller's.

    - C1: the kernel exists; operands and results have its types up to dimensions; there is one entry for each symbol.
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, Variadic<VX_Tensor>:$inputs, VX_DimArrayAttr:$symbols);
  let results = (outs Variadic<VX_Tensor>:$results);
  let assemblyFormat = "$kernel `(` $inputs `)` `symbols` $symbols attr-dict `:` functional-type($inputs, $results)";
}

#endif
