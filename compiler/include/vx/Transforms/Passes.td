// Passes of the `import` and `graph` phases.
#ifndef VX_TRANSFORMS_PASSES
#define VX_TRANSFORMS_PASSES

include "mlir/Pass/PassBase.td"

def InferShapesPass : Pass<"vx-infer-shapes", "::mlir::ModuleOp"> {
  let summary = "Give every value the best-known sizes";
  let description = [{
    Infers the result types of each op again from its operands and keeps, for each dimension, what is known best: a constant before an
    expression before nothing. Regions of fusions are refined from their operands, function results from what is returned.

        %0 = vx.neg %a : tensor<2x3xf32>                        %0 = vx.neg %a : tensor<2x3xf32>
        // %0 had the type tensor<?x3xf32, #vx.enc<[n, 3]>>      // %0 has the type tensor<2x3xf32>

    Leaves alone the results of `vx.if`, `vx.loop` and `vx.sequence_at`, whose symbols are bound while the program runs. Needs: nothing.
    Keeps: dynamic shapes. Numerics: none.
  }];
  let dependentDialects = ["::vx::VXDialect"];
}

def RecordConstraintsPass : Pass<"vx-record-constraints", "::mlir::ModuleOp"> {
  let summary = "State what ops rely on where two sizes only may be equal";
  let description = [{
    Puts a `vx.constraint` before each op that takes sizes for equal whose expressions differ, or a size for large enough that may be too
    small, once in each region. What a size is divided by is 1 or more. That a size is one of what a loop carries stands before the
    loop, but where its body binds it. What is proved, by the expressions or by the ranges and multiples of the symbols, is not stated, and
    constraints that are proved by now go. One that fails for all values of the symbols is an error where it stands in a function's own
    block; in a region it may never be reached.

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
    its ops bind is declared anew for the call. What the function's types and declarations want of the sizes becomes a `vx.constraint` at
    the call, where it does not hold always. A private function that was called and no more is, is erased.

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
    Where a function stores a variable and accesses another one of the same pool behind it, or in a loop around both, and they share bytes,
    all its accesses of what lies in the pool become accesses of the pool: a load of a member is a slice of the pool's value, a store
    replaces that slice. So what a load gives follows from values, whatever is moved later.

        vx.variable_store %p, @pool : tensor<48xf32>             vx.variable_store %p, @pool : tensor<48xf32>
        %w = vx.variable_load @w : tensor<8x3xf32>          ->   %0 = vx.variable_load @pool : tensor<48xf32>
                                                                 %1 = vx.slice %0 starts [#vx.dim<16>] strides [1] : ... -> tensor<24xf32>
                                                                 %w = vx.reshape %1 : tensor<24xf32> -> tensor<8x3xf32>

    Leaves alone functions that store members that share no bytes, or load what they store later: those are updated where they lie.
    Needs: no calls (`vx-inline-calls`). Numerics: none.
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
  let summary = "Compute at compile time what is known then";
  let description = [{
    Evaluates, with the reference evaluator, each op whose operands are constants. Small results become inline constants, larger ones
    resources.

        %0 = vx.constant dense<[1.0, 2.0]> : tensor<2xf32>
        %1 = vx.exp %0 : tensor<2xf32>                        ->   %1 = vx.constant dense<[2.71828175, 7.38905621]>

    Leaves alone an op whose result has more than `max-elements` elements; one whose result is larger than its operands and has more than
    `max-growth` elements, which would only make the module larger (its readers are folded through it); one whose work is far above
    its result; and one that fails, which is left to fail at the call. Needs: nothing. Keeps: dynamic shapes. Numerics: a folded value is
    rounded once, where a device may round intermediate results.
  }];
  let options = [
    Option<"maxElements", "max-elements", "int64_t", /*default=*/"1048576", "Elements of the largest result that is folded">,
    Option<"maxGrowth", "max-growth", "int64_t", /*default=*/"1024", "Elements of the largest result that is folded though it is larger than the operands">,
    Option<"maxInline", "max-inline", "int64_t", /*default=*/"64", "Elements of the largest result that is written inline">];
  let dependentDialects = ["::vx::VXDialect"];
}

def CanonicalizeGraphPass : Pass<"vx-canonicalize-graph", "::mlir::func::FuncOp"> {
  let summary = "Remove what computes nothing";
  let description = [{
    Rewrites that keep every bit of every result, NaN and the sign of zero included:

    - two transposes in a row are one, two broadcasts are one;
    - x * 1, x / 1, x - 0 and, of floats, x + (-0) are x; of integers also x + 0, x | 0, x ^ 0 (`x + 0` of floats is not: it turns -0 into +0);
    - the negation of a negation, the complement of a complement, a cast to a type that holds all values and back;
    - a selection by a constant; a concatenation of one; a padding by nothing; a reduction over nothing; a condition and true;
    - a comparison of places (`vx.iota`) and sizes whose bounds decide it for every element;
    - a loop carries nothing that only its own next value reads.

    Leaves alone what would change the type of a value. Needs: nothing. Keeps: dynamic shapes. Numerics: none.
  }];
  let dependentDialects = ["::vx::VXDialect"];
}

def FoldBatchNormPass : Pass<"vx-fold-batch-norm", "::mlir::func::FuncOp"> {
  let summary = "Fold per-channel scaling and shifting into the convolution before";
  let description = [{
    Moves constant factors of the output channels into the filter, and joins constant offsets; variables of the roles parameter and statistic
    that the function does not store are taken for constants:

        %0 = vx.conv %x, %w ...
        %1 = vx.mul %0, broadcast(%f, [1])        ->   %0 = vx.conv %x, (%w * broadcast(%f, [0])) ...
        %2 = vx.add %1, broadcast(%o, [1])             %1 = vx.add %0, broadcast(%o, [1])

    so (conv + a) * f + o becomes conv' + (a * f + o). The arithmetic on constants is left for `vx-fold-constants`, that on
    variables for `vx-hoist-derived-values`. Leaves a convolution alone when
    something else also reads it, since it would then run twice, and factors or filters that are not constant. Needs: nothing.
    Keeps: dynamic shapes. Numerics: reassociates one product and one sum per element; `strict-math` switches the pass off.
  }];
  let options = [Option<"strictMath", "strict-math", "bool", /*default=*/"false",
                        "Keep every rounding step, so do not fold">];
  let dependentDialects = ["::vx::VXDialect"];
}

def SimplifyViewsPass : Pass<"vx-simplify-views", "::mlir::func::FuncOp"> {
  let summary = "Make chains of transpositions and slices short, and fold them into contractions";
  let description = [{
    Rewrites that keep every bit of every result:

    - a chain of reshapes, transpositions and slices is one reshape, slice, transposition and reshape, where that moves elements less often;
    - a gather of one element by a constant index is a slice; a slice of a concatenation that is one of its operands is that operand;
    - contract(transpose(x), y) is a contraction of x with other dimensions; where free dimensions change their order, or where a transposition
      behind the contraction cancels one before it, the transposition moves over the contraction;
    - f(transpose(x), broadcast(c)) is transpose(f(x, broadcast(c))), so that what follows a contraction is its epilogue;
    - contract(reshape(x), y) in front of a reshape is a contraction with the dimensions of x;
    - scatter(transpose(x), i, u) is transpose(scatter(x, i, u)) where something transposes it back, so that it may replace elements where x lies.

        %1 = vx.transpose %0, [0, 2, 1]
        %2 = vx.contract %q, %1 batch = [0] x [0] contracting = [2] x [1]     ->   %2 = vx.contract %q, %0 batch = [0] x [0] contracting = [2] x [2]

    Leaves alone values whose sizes are not known. Needs: nothing. Keeps: dynamic shapes. Numerics: none.
  }];
  let dependentDialects = ["::vx::VXDialect"];
}

def SinkBroadcastsPass : Pass<"vx-sink-broadcasts", "::mlir::func::FuncOp"> {
  let summary = "Compute before repeating";
  let description = [{
    An elementwise op whose operands are all repeated along a dimension is computed once there, and its result repeated:

        %1 = vx.broadcast %m, [0, 1] : tensor<1x5xi1> -> tensor<7x5xi1>
        %2 = vx.not %1                                                     ->   %1 = vx.not %m
                                                                                %2 = vx.broadcast %1, [0, 1]

    Needs: nothing. Keeps: dynamic shapes. Numerics: none.
  }];
  let dependentDialects = ["::vx::VXDialect"];
}

def HoistGathersPass : Pass<"vx-hoist-gathers", "::mlir::func::FuncOp"> {
  let summary = "Pick rows before computing them";
  let description = [{
    Rows that are picked of what elementwise ops make of constants (a table of embeddings that is stored in small integers with scales) are picked of the
    constants, so that a call does not compute the whole table:

        %1 = vx.cast %table : tensor<100x4xi8> -> tensor<100x4xf32>       ->   %1 = vx.gather %table, %rows axis = 0
        %2 = vx.gather %1, %rows axis = 0                                      %2 = vx.cast %1

    Leaves alone a table that something else reads too, more than eight ops, and rows that are picked by tuples. Needs: `vx-fold-constants` before, which
    computes small tables once. Keeps: dynamic shapes. Numerics: none.
  }];
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
    Two contractions around a softmax become one `vx.attention`, together with what stands between and around them:

    - constant factors of the query, the key or the scores join `scale`; c * tanh(x / c) is `softcap`;
    - a sum with something that is no contraction is `bias`; a choice of -inf is `mask`, or `causal` with `past` where the condition compares the key's
      place with the query's;
    - a choice of 0 where the softmax is NaN is `zero_invalid`;
    - heads of keys and values that are repeated for groups of the query's heads;
    - transpositions of the operands and of the result, and slices of the operands that keep whole heads, which become slices of the untransposed tensor.

    Leaves alone scores or weights that something else reads, and contractions of other forms. Needs: `vx-simplify-views`. Keeps: dynamic shapes.
    Numerics: the scores are scaled once instead of their factors, and divided by the sum after the last contraction; a row without a valid weight is 0
    even where `value` is not finite. `strict-math` switches the pass off.
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

    With tf32 the operands stay f32, and a device that has products of tf32 may take them:

        %r = vx.contract %x, %w ... factors = tf32

    Leaves alone `vx.attention`, whose products stay f32, and what is not f32. Needs: `vx-simplify-views` and `vx-recognize-attention` before,
    whose forms the casts would hide. Keeps: dynamic shapes. Idempotent. Numerics: rounds each factor once, to 11 (f16, tf32) or 8 (bf16) bits;
    f16 ends at 65504. `precision=f32` switches the pass off.
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
    - C4: inputs and results are tensors, sequences and optionals of what vx computes with; a function has a name, and so have its inputs and
      its results, each another one.
    - C5: 64 bits count the bytes of every static tensor.
    - C6: every constant of numbers or bools is inline, or a resource that is there with as many bytes as its type has.

    Changes nothing.
  }];
  let dependentDialects = ["::vx::VXDialect"];
}

def NumberStringsPass : Pass<"vx-number-strings", "::mlir::ModuleOp"> {
  let summary = "Turn tensors of strings into tensors of their numbers";
  let description = [{
    A tensor of strings becomes one of i32. What a number stands for, the call knows: 0 is the empty string, the strings of constants
    follow, in `vx.strings` of the module, and behind them come those of the inputs and those that the host makes. Equal strings have
    one number, so that to move, choose and compare strings is to do so with numbers, on any device. Inputs and results that are
    strings to the caller are marked `vx.is_string`.

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
    What `vx-verify-import` checks of ops and symbols (C1, C2), and:

    - C3: every dynamic dimension of a tensor value has an expression. Elements of sequences may have unknown sizes.
    - C4: every symbol that is not data-dependent is the whole size of a dimension of an input, by which a call binds it.

    Changes nothing.
  }];
  let dependentDialects = ["::vx::VXDialect"];
}

def VerifyGradPass : Pass<"vx-verify-grad", "::mlir::ModuleOp"> {
  let summary = "Check the promise of the grad phase";
  let description = [{ What `vx-verify-graph` checks (C1 to C4) holds of the ops of gradients too. Changes nothing. }];
  let dependentDialects = ["::vx::VXDialect"];
}

def VerifyOptimisedPass : Pass<"vx-verify-optimised", "::mlir::ModuleOp"> {
  let summary = "Check the promise of the optimised phase";
  let description = [{
    What `vx-verify-graph` checks (C1 to C4; so a symbol that was specialised is named by nothing), and:

    - C5: every contraction and convolution of f32 multiplies in `precision`.
    - C6: every input has the `vx.range` that the graph takes, and none where its elements index nothing.

    Changes nothing.
  }];
  let options = [Option<"precision", "precision", "std::string", /*default=*/"\"f32\"", "f32, tf32, f16 or bf16">];
  let dependentDialects = ["::vx::VXDialect"];
}

def HoistIndexChecksPass : Pass<"vx-hoist-index-checks", "::mlir::func::FuncOp"> {
  let summary = "Check the indices of what reads new state before the state is updated";
  let description = [{
    A kernel that may report a fault may not stand behind the update of a variable in place: a call that fails changes no variable, so the
    update would go to a copy. Where a `vx.gather` reads what is stored, or what follows from it, its indices are checked by a
    `vx.check_indices`, which waits for nothing but them, and the gather is `in_range`. It is, too, where the indices are checked or constant.
    What may fault and does not wait for new state comes to stand before it.

        %new = vx.scatter set %cache, %at, %rows         ->    %ok = vx.check_indices %pages below [#vx.dim<9>]
        vx.variable_store %new, @cache                         %new = vx.scatter set %cache, %at, %rows
        %y = vx.gather %new, %pages axis = 0                   vx.variable_store %new, @cache
                                                               %y = vx.gather %new, %ok axis = 0 in_range

    Indices that are read from the new state stay as they are, and so do gathers whose result may be empty while indices are not: these read
    none. Needs: the graph phase. Keeps: dynamic shapes. Numerics: none.
  }];
  let dependentDialects = ["::vx::VXDialect"];
}

#endif
