// Passes of the `import` and `graph` phases.
#ifndef VX_TRANSFORMS_PASSES
#define VX_TRANSFORMS_PASSES

include "mlir/Pass/PassBase.td"

def InferShapesPass : Pass<"vx-infer-shapes", "::mlir::ModuleOp"> {
  let summary = "Give every value the best-known sizes";
  let description = [{
    Infers the result types of each op again from its operands. Each dimension gets the most exact known size: a constant before an
    expression before nothing. Regions of fusions are refined from their operands, function results from the returned values.

        %0 = vx.neg %a : tensor<2x3xf32>                        %0 = vx.neg %a : tensor<2x3xf32>
        // %0 had the type tensor<?x3xf32, #vx.enc<[n, 3]>>      // %0 has the type tensor<2x3xf32>

    Leaves alone the results of `vx.if`, `vx.loop` and `vx.sequence_at`: their symbols are bound while the program runs. Needs: nothing.
    Keeps: dynamic shapes. Numerics: none.
  }];
  let dependentDialects = ["::vx::VXDialect"];
}

def RecordConstraintsPass : Pass<"vx-record-constraints", "::mlir::ModuleOp"> {
  let summary = "State the conditions on sizes that ops rely on and that may not hold";
  let description = [{
    Puts a `vx.constraint` before each op that relies on equal sizes with different expressions, or on a size that may be too small, once in
    each region. A divisor of a size must be 1 or more. A constraint on a size of a value that a loop carries comes before the loop, unless
    the loop's body binds the size. A condition that is proved, by the expressions or by the ranges and multiples of the symbols, is not
    stated, and constraints that are proved by now are removed. A constraint that fails for all values of the symbols is an error in a
    function's own block; in a region it may never be reached.

        %0 = vx.broadcast %m, [0]                                vx.constraint equal <m>, <n> "sizes 'm' and 'n' equal"
            : tensor<?xf32, #vx.enc<[m]>> -> ...<[n]>        ->   %0 = vx.broadcast %m, [0] ...

    Runs before anything merges symbols or drops ops that are needed; ops that nothing reads are dropped first. Needs: nothing. Keeps:
    dynamic shapes. Numerics: none.
  }];
  let dependentDialects = ["::vx::VXDialect"];
}

def InlineCallsPass : Pass<"vx-inline-calls", "::mlir::ModuleOp"> {
  let summary = "Put functions in the place of their calls";
  let description = [{
    Replaces each `vx.call` by the function's ops. The function's symbols that its inputs bind become the sizes of the operands; each that
    its ops bind is declared anew for the call. A condition on sizes in the function's types and declarations becomes a `vx.constraint` at
    the call, unless it always holds. A private function that is not called any more is erased.

        %0 = vx.call @double(%a) : (tensor<?xf32, #vx.enc<[m]>>) -> tensor<?xf32, #vx.enc<[m]>>
        ->
        %0 = vx.add %a, %a : tensor<?xf32, #vx.enc<[m]>>, tensor<?xf32, #vx.enc<[m]>>

    Fails on a function that calls itself. Numerics: none.
  }];
  let dependentDialects = ["::vx::VXDialect"];
}

def ResolveOverlapsPass : Pass<"vx-resolve-overlaps", "::mlir::ModuleOp"> {
  let summary = "Access one variable of those that share bytes";
  let description = [{
    A function may store a variable and then access another one of the same pool that shares bytes with it, or do both in a loop. Then all
    its accesses of members of the pool become accesses of the pool: a load of a member is a slice of the pool's value, a store replaces
    that slice. So the result of a load follows from values, even if ops are moved later.

        vx.variable_store %p, @pool : tensor<48xf32>             vx.variable_store %p, @pool : tensor<48xf32>
        %w = vx.variable_load @w : tensor<8x3xf32>          ->   %0 = vx.variable_load @pool : tensor<48xf32>
                                                                 %1 = vx.slice %0 starts [#vx.dim<16>] strides [1] : ... -> tensor<24xf32>
                                                                 %w = vx.reshape %1 : tensor<24xf32> -> tensor<8x3xf32>

    Leaves alone functions that store members that share no bytes, or load members that they store later: those are updated in place. Needs:
    no calls (`vx-inline-calls`). Numerics: none.
  }];
  let dependentDialects = ["::vx::VXDialect"];
}

def SpecializeDimsPass : Pass<"vx-specialize-dims", "::mlir::ModuleOp"> {
  let summary = "Replace dimension symbols by constants";
  let description = [{
    Substitutes each symbol of `dims` in all types and attributes of the module, and removes its declaration.

        // dims="batch=1"
        vx.symbol "batch" min = 1
        func.func @main(%x: tensor<?x8xf32, #vx.enc<[batch, 8]>>)   ->   func.func @main(%x: tensor<1x8xf32>)

    Fails on a name that is not declared, on a data-dependent symbol, on a value that the declaration does not allow, and when a
    dimension becomes negative. Needs: no kernels yet. Numerics: none.
  }];
  let options = [ListOption<"dims", "dims", "std::string", "Symbols and their values: name=value,name=value">];
  let dependentDialects = ["::vx::VXDialect"];
}

def FoldConstantsPass : Pass<"vx-fold-constants", "::mlir::func::FuncOp"> {
  let summary = "Compute ops of constants at compile time";
  let description = [{
    Evaluates, with the reference evaluator, each op with only constant operands. Small results become inline constants, larger ones
    resources.

        %0 = vx.constant dense<[1.0, 2.0]> : tensor<2xf32>
        %1 = vx.exp %0 : tensor<2xf32>                        ->   %1 = vx.constant dense<[2.71828175, 7.38905621]>

    Leaves alone an op with a result of more than `max-elements` elements. So it does with a result that is larger than the operands and has
    more than `max-growth` elements, which would only make the module larger (its readers are folded through it). It also leaves alone an op
    with far more work than its result is large, and an op that fails, which then fails at the call. A `vx.dequantize` stays, so that
    `vx-integer-products` sees the integers. Needs: nothing. Keeps: dynamic shapes.
    Numerics: a folded value is rounded once; a device may round intermediate results.
  }];
  let options = [
    Option<"maxElements", "max-elements", "int64_t", /*default=*/"1048576", "Elements of the largest result that is folded">,
    Option<"maxGrowth", "max-growth", "int64_t", /*default=*/"1024", "Elements of the largest result that is folded though it is larger than the operands">,
    Option<"maxInline", "max-inline", "int64_t", /*default=*/"64", "Elements of the largest result that is written inline">];
  let dependentDialects = ["::vx::VXDialect"];
}

def CanonicalizeGraphPass : Pass<"vx-canonicalize-graph", "::mlir::func::FuncOp"> {
  let summary = "Remove ops that compute nothing";
  let description = [{
    Rewrites that keep every bit of every result, NaN and the sign of zero included:

    - two transposes in a row are one, two broadcasts are one;
    - x * 1, x / 1, x - 0 and, of floats, x + (-0) are x; of integers also x + 0, x | 0, x ^ 0 (`x + 0` of floats is not: it turns -0 into +0);
    - the negation of a negation, the complement of a complement, a cast to a type that holds all values and back;
    - a selection by a constant; a concatenation of one; a padding by nothing; a reduction over nothing; a condition and true;
    - a comparison of positions (`vx.iota`) and sizes that their bounds decide for every element;
    - a loop carries nothing that only its own next value reads.

    Leaves alone rewrites that would change the type of a value. Needs: nothing. Keeps: dynamic shapes. Numerics: none.
  }];
  let dependentDialects = ["::vx::VXDialect"];
}

def FoldBatchNormPass : Pass<"vx-fold-batch-norm", "::mlir::func::FuncOp"> {
  let summary = "Fold per-channel scaling and shifting into the convolution before";
  let description = [{
    Moves constant factors of the output channels into the filter, and combines constant offsets. Variables of the roles parameter and
    statistic that the function does not store count as constants:

        %0 = vx.conv %x, %w ...
        %1 = vx.mul %0, broadcast(%f, [1])        ->   %0 = vx.conv %x, (%w * broadcast(%f, [0])) ...
        %2 = vx.add %1, broadcast(%o, [1])             %1 = vx.add %0, broadcast(%o, [1])

    so (conv + a) * f + o becomes conv' + (a * f + o). The arithmetic on constants is left for `vx-fold-constants`, that on variables for
    `vx-hoist-derived-values`. Leaves a convolution alone when another op also reads it, since it would then run twice. Leaves alone factors
    or filters that are not constant. Needs: nothing. Keeps: dynamic shapes. Numerics: reassociates one product and one sum per element;
    `strict-math` switches the pass off.
  }];
  let options = [Option<"strictMath", "strict-math", "bool", /*default=*/"false",
                        "Keep every rounding step, so do not fold">];
  let dependentDialects = ["::vx::VXDialect"];
}

def SimplifyViewsPass : Pass<"vx-simplify-views", "::mlir::func::FuncOp"> {
  let summary = "Make chains of transpositions and slices short, and fold them into contractions";
  let description = [{
    Rewrites that keep every bit of every result:

    - a chain of reshapes, transpositions and slices is one reshape, slice, transposition and reshape, if that moves elements less often;
    - a gather of one element by a constant index is a slice; a slice of a concatenation that is one of its operands is that operand;
    - contract(transpose(x), y) is a contraction of x with other dimensions; if free dimensions change their order, or if a transposition
      after the contraction cancels one before it, the transposition moves over the contraction;
    - f(transpose(x), broadcast(c)) is transpose(f(x, broadcast(c))), so that the ops after a contraction are its epilogue;
    - contract(reshape(x), y) in front of a reshape is a contraction with the dimensions of x;
    - scatter(transpose(x), i, u) is transpose(scatter(x, i, u)) if another op transposes it back, so that it may replace elements of x in
      place.

        %1 = vx.transpose %0, [0, 2, 1]
        %2 = vx.contract %q, %1 batch = [0] x [0] contracting = [2] x [1]     ->   %2 = vx.contract %q, %0 batch = [0] x [0] contracting = [2] x [2]

    With `chains-only` the first of these alone, which changes no layout that a product has been given.

    Leaves alone values of unknown sizes. Needs: nothing. Keeps: dynamic shapes. Numerics: none.
  }];
  let options = [Option<"chainsOnly", "chains-only", "bool", /*default=*/"false", "Only shorten chains of views">];
  let dependentDialects = ["::vx::VXDialect"];
}

def SinkBroadcastsPass : Pass<"vx-sink-broadcasts", "::mlir::func::FuncOp"> {
  let summary = "Compute before repeating";
  let description = [{
    If all operands of an elementwise op are repeated along a dimension, it is computed once there, and its result is repeated:

        %1 = vx.broadcast %m, [0, 1] : tensor<1x5xi1> -> tensor<7x5xi1>
        %2 = vx.not %1                                                     ->   %1 = vx.not %m
                                                                                %2 = vx.broadcast %1, [0, 1]

    Needs: nothing. Keeps: dynamic shapes. Numerics: none.
  }];
  let dependentDialects = ["::vx::VXDialect"];
}

def HoistGathersPass : Pass<"vx-hoist-gathers", "::mlir::ModuleOp"> {
  let summary = "Pick rows before computing them";
  let description = [{
    If elementwise ops compute a table from constants (a table of embeddings that is stored in small integers with scales), rows are picked
    from the constants instead. So a call does not compute the whole table:

        %1 = vx.cast %table : tensor<100x4xi8> -> tensor<100x4xf32>       ->   %1 = vx.gather %table, %rows axis = 0
        %2 = vx.gather %1, %rows axis = 0                                      %2 = vx.cast %1

    Numbers in blocks (`vx.decode_blocks`) likewise. Leaves alone a table that another op reads too, one of blocks that a product of any function
    reads, more than eight ops, and rows that are picked by tuples. Needs: `vx-fold-constants` before, which computes small tables once. Keeps: dynamic shapes. Numerics: none.
  }];
  let dependentDialects = ["::vx::VXDialect"];
}

def IntegerProductsPass : Pass<"vx-integer-products", "::mlir::func::FuncOp"> {
  let summary = "Multiply quantised factors as integers";
  let description = [{
    A contraction or convolution of floats whose factors are both a `vx.dequantize` of bytes becomes a product of the bytes that is summed in i32.
    With scales s, t and zero points u, v

        sum of s (a - u) * t (b - v)  =  s t (sum of a * b  -  u * sum of b  -  v * sum of a  +  u v * count)

    The sums of constants are computed once. A scale or zero point is one number, or one for each place of a dimension of the result; for a
    convolution's input it is one number. The left factor becomes unsigned bytes and the right factor signed bytes, the form that processors
    multiply: a factor of the other sign and its zero point are shifted by 128.

    Leaves alone other factors, convolutions with their channels last, sums of so many products that i32 might not hold them, filters with a zero point that is not known to be 0 (or
    128 of unsigned ones), and, with `strict-math`, all. Needs: the grad phase or later. Keeps: dynamic shapes.
    Numerics: sums are exact. The result differs from the result of floats by their rounding. After another `vx.quantize` an element may differ
    by 1, at a tie.
  }];
  let options = [Option<"strictMath", "strict-math", "bool", /*default=*/"false", "Keep floats">];
  let dependentDialects = ["::vx::VXDialect"];
}

def HoistWeightScalesPass : Pass<"vx-hoist-weight-scales", "::mlir::func::FuncOp"> {
  let summary = "Scale sums instead of weights of few bits";
  let description = [{
    A contraction of f32 whose right factor is a weight of integers of 8 or 4 bits times a scale multiplies its sums by the scale. The scale is one
    number, or one for each place of dimensions of the result:

        sum of a * (w s)  =  (sum of a * w) s

    The kernel of the product then converts the integers and does nothing else with them.

    Leaves alone scales that differ along a dimension that is summed, other element types and, with `strict-math`, all. Needs: the grad phase
    or later, and `vx-decompose` for `vx.dequantize`. Keeps: dynamic shapes. Numerics: rounds once for a sum instead of once for a weight.
  }];
  let options = [Option<"strictMath", "strict-math", "bool", /*default=*/"false", "Keep every rounding step, so scale the weights">];
  let dependentDialects = ["::vx::VXDialect"];
}

def RecognizeNormsPass : Pass<"vx-recognize-norms", "::mlir::func::FuncOp"> {
  let summary = "Find normalisations that were exported in parts";
  let description = [{
    (x - mean(x)) / sqrt(mean((x - mean(x))^2) + epsilon) along the innermost dimensions becomes `vx.layer_norm`, the same without the mean
    `vx.rms_norm`; a row that scales or shifts the result becomes its operand. x^2 and x^3 as powers become products.

    Leaves alone means over dimensions of unknown size, and norms with `scale` or `bias` already. Needs: `vx-canonicalize-graph` before, which makes equal
    parts one (with `cse`). Keeps: dynamic shapes. Numerics: rounds between the parts less often or in another order; `strict-math` switches the
    pass off.
  }];
  let options = [Option<"strictMath", "strict-math", "bool", /*default=*/"false",
                        "Keep every rounding step, so leave the parts">];
  let dependentDialects = ["::vx::VXDialect"];
}

def RecognizeAttentionPass : Pass<"vx-recognize-attention", "::mlir::func::FuncOp"> {
  let summary = "Find attention that was exported in parts";
  let description = [{
    Two contractions around a softmax become one `vx.attention`, together with the ops between and around them:

    - constant factors of the query, the key or the scores become part of `scale`; c * tanh(x / c) is `softcap`;
    - a sum with a value that is no contraction is `bias`; a choice of -inf is `mask`, or `causal` with `past` if the condition compares the
      key's position with the query's;
    - a choice of 0 for a softmax that is NaN is `zero_invalid`;
    - heads of keys and values that are repeated for groups of the query's heads;
    - transpositions of the operands and of the result, and slices of the operands by whole heads, which become slices of the untransposed
      tensor.

    Leaves alone scores or weights that another op reads, and contractions of other forms. Needs: `vx-simplify-views`. Keeps: dynamic
    shapes. Numerics: the scores are scaled once instead of their factors, and divided by the sum after the last contraction; a row without
    a valid weight is 0 even if `value` is not finite. `strict-math` switches the pass off.
  }];
  let options = [Option<"strictMath", "strict-math", "bool", /*default=*/"false",
                        "Keep every rounding step, so leave the parts">];
  let dependentDialects = ["::vx::VXDialect"];
}

def ApplyPrecisionPass : Pass<"vx-apply-precision", "::mlir::func::FuncOp"> {
  let summary = "Multiply in the precision that the user chose";
  let description = [{
    For contractions and convolutions of f32. With f16 and bf16 their operands are rounded to that type, and the sums stay f32; constants are
    then cast once, at compile time or at load:

        %r = vx.contract %x, %w ...   ->    %a = vx.cast %x : tensor<7x16xf32> -> tensor<7x16xf16>
                                            %b = vx.cast %w : tensor<16x5xf32> -> tensor<16x5xf16>
                                            %r = vx.contract %a, %b ... sums = f32

    With tf32 the operands stay f32, and a device with products of tf32 may use them:

        %r = vx.contract %x, %w ... factors = tf32

    Leaves alone `vx.attention`, which has products of f32, and ops of other types. Needs: `vx-simplify-views` and `vx-recognize-attention`
    before, since the casts would hide their forms. Keeps: dynamic shapes. Idempotent. Numerics: rounds each factor once, to 11 (f16, tf32)
    or 8 (bf16) bits; f16 ends at 65504. `precision=f32` switches the pass off.
  }];
  let options = [Option<"precision", "precision", "std::string", /*default=*/"\"f32\"", "f32, tf32, f16 or bf16">];
  let dependentDialects = ["::vx::VXDialect"];
}

def DecomposePass : Pass<"vx-decompose", "::mlir::func::FuncOp"> {
  let summary = "Expand composite ops into reductions and elementwise ops";
  let description = [{
    For targets that have no kernel of their own for them. Floats narrower than f32 are computed in f32 and rounded at the end.

        vx.softmax       exp(x - max) / sum, or with `log` x - max - log(sum)
        vx.layer_norm    (x - mean) / sqrt(mean((x - mean)^2) + epsilon) * scale + bias
        vx.rms_norm      x * scale / sqrt(mean(x^2) + epsilon)
        vx.attention     contract(softmax(contract(query, key) * scale + bias), value), with the mask as -inf

    Leaves alone the ops that `ops` does not name. Needs: every dimension has an expression. Keeps: dynamic shapes. Numerics: the same formulas;
    sums are rounded to f32 (f64 for f64) between the ops.
  }];
  let options = [ListOption<"ops", "ops", "std::string", "Names of ops that say how they are decomposed, without the dialect's">];
  let dependentDialects = ["::vx::VXDialect"];
}

def VerifyImportPass : Pass<"vx-verify-import", "::mlir::ModuleOp"> {
  let summary = "Check the promise of the import phase";
  let description = [{
    - C1: a module of functions, each of one block, with ops of the `vx` dialect and none of the later phases (`vx.fusion`, `vx.kernel`,
      `vx.dispatch`).
    - C2: every dimension symbol is declared, and every symbol that `vx.bind_symbol` names is data-dependent.
    - C3: the location of every op names its source.
    - C4: inputs and results are tensors, sequences and optionals of element types of vx; a function has a name, and so have its inputs and
      its results, each another one.
    - C5: 64 bits count the bytes of every static tensor.
    - C6: every constant of numbers or bools is inline, or an existing resource with the bytes of its type.

    Changes nothing.
  }];
  let dependentDialects = ["::vx::VXDialect"];
}

def NumberStringsPass : Pass<"vx-number-strings", "::mlir::ModuleOp"> {
  let summary = "Turn tensors of strings into tensors of their numbers";
  let description = [{
    A tensor of strings becomes one of i32. The call has the string of each number: 0 is the empty string, the strings of constants follow,
    in `vx.strings` of the module, and after them come those of the inputs and those that the host makes. Equal strings have one number, so
    kernels move, choose and compare strings as numbers, on any device. Inputs and results that are strings to the caller are marked
    `vx.is_string`.

        %0 = vx.constant dense<["a", "b"]> : tensor<2x!vx.string>
    becomes
        %0 = vx.constant dense<[1, 2]> : tensor<2xi32>              // of a module with vx.strings = ["", "a", "b"]

    Refuses variables of strings, and an order of strings, by the source node. Needs: the import phase. Keeps: dynamic shapes.
  }];
  let dependentDialects = ["::vx::VXDialect"];
}

def VerifyGraphPass : Pass<"vx-verify-graph", "::mlir::ModuleOp"> {
  let summary = "Check the promise of the graph phase";
  let description = [{
    The checks of `vx-verify-import` on ops and symbols (C1, C2), and:

    - C3: every dynamic dimension of a tensor value has an expression. Elements of sequences may have unknown sizes.
    - C4: every symbol that is not data-dependent is the whole size of a dimension of an input, by which a call binds it.

    Changes nothing.
  }];
  let dependentDialects = ["::vx::VXDialect"];
}

def VerifyGradPass : Pass<"vx-verify-grad", "::mlir::ModuleOp"> {
  let summary = "Check the promise of the grad phase";
  let description = [{ The checks of `vx-verify-graph` (C1 to C4) hold for the ops of gradients too. Changes nothing. }];
  let dependentDialects = ["::vx::VXDialect"];
}

def VerifyOptimisedPass : Pass<"vx-verify-optimised", "::mlir::ModuleOp"> {
  let summary = "Check the promise of the optimised phase";
  let description = [{
    The checks of `vx-verify-graph` (C1 to C4; so no type names a symbol that was specialised), and:

    - C5: every contraction and convolution of f32 multiplies in `precision`.
    - C6: every input has the `vx.range` that the graph accepts, and none if its elements index nothing.

    Changes nothing.
  }];
  let options = [Option<"precision", "precision", "std::string", /*default=*/"\"f32\"", "f32, tf32, f16 or bf16">];
  let dependentDialects = ["::vx::VXDialect"];
}

def HoistIndexChecksPass : Pass<"vx-hoist-index-checks", "::mlir::func::FuncOp"> {
  let summary = "Check the indices of reads of new state before the state is updated";
  let description = [{
    A kernel that may report a fault must not come after the update of a variable in place: a call that fails changes no variable, so the
    update would need a copy. If a `vx.gather` reads a stored value, or one that depends on it, a `vx.check_indices` checks its indices and
    depends on nothing else; the gather is then `in_range`. It is `in_range` too if the indices are already checked or constant. Ops that
    may fault and do not depend on new state move before it.

        %new = vx.scatter set %cache, %at, %rows         ->    %ok = vx.check_indices %pages below [#vx.dim<9>]
        vx.variable_store %new, @cache                         %new = vx.scatter set %cache, %at, %rows
        %y = vx.gather %new, %pages axis = 0                   vx.variable_store %new, @cache
                                                               %y = vx.gather %new, %ok axis = 0 in_range

    Indices that are read from the new state do not change. Neither do gathers with a result that may be empty while the indices are not:
    these read no index. Needs: the graph phase. Keeps: dynamic shapes. Numerics: none.
  }];
  let dependentDialects = ["::vx::VXDialect"];
}

#endif
