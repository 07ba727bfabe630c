// Passes of the `fused` and `kernels` phases.
#ifndef VX_TRANSFORMS_FUSIONPASSES
#define VX_TRANSFORMS_FUSIONPASSES

include "mlir/Pass/PassBase.td"

def BindSequenceLengthsPass : Pass<"vx-bind-sequence-lengths", "::mlir::ModuleOp"> {
  let summary = "Give the length of a sequence a symbol where a kernel reads it";
  let description = [{
    The host knows the length of a sequence. Where it is read as memory (a result, an operand of a kernel), the length becomes a data-dependent
    symbol, and its uses a `vx.dim_value`, which a kernel takes as a scalar:

        %n = vx.sequence_length %s          %n = vx.sequence_length %s
        %m = vx.add %n, %one          ->    vx.bind_symbol "length.0" = %n
                                            %v = vx.dim_value <"length.0">
                                            %m = vx.add %v, %one

    Leaves alone a length that only the host reads. Needs: nothing. Keeps: dynamic shapes. Numerics: none.
  }];
  let dependentDialects = ["::vx::VXDialect"];
}

def FormFusionsPass : Pass<"vx-form-fusions", "::mlir::func::FuncOp"> {
  let summary = "Group ops into fusion regions";
  let description = [{
    After it, every op that a device runs stands in a `vx.fusion`: one anchor (contraction, convolution, reduction, norm, gather,
    movement) with the elementwise ops before and after it. The anchor is marked `vx.anchor`, and whoever asks for it later reads that mark:
    target, report and, as `vxk.anchor` of what it became, code generation. What stays outside is the host's: control flow, symbols, variables,
    sequences, constants and reshapes, which are views of memory.

        %0 = vx.conv %x, %w ...                     %0 = vx.fusion(%x, %w, %b) ... {
        %1 = vx.broadcast %b, [1]            ->       vx.conv ... {vx.anchor}, vx.broadcast, vx.add, vx.max
        %2 = vx.add %0, %1                          }
        %3 = vx.max %2, %zeros

    What constants and weights alone decide, and `vx-hoist-derived-values` will move, is not fused to what else there is.

    A group has several results of one shape where others read, too, what meets the root element for element: a producer's result
    leaves beside the root's, what is computed from the same elements joins, and reductions along the same axes read a tensor once.
    What reads such a result moves behind the group; accesses of one variable, and what binds a symbol, keep their order.

        %1 = vx.max %0, %zeros                      %1:2 = vx.fusion(%x, %w) ... {
        %2 = vx.compare gt %0, %zeros        ->       vx.contract, vx.max, vx.compare
                                                    }

    Single numbers of a function, reductions to one too, are made by one kernel where nothing between them waits for one and the host reads none.

    Leaves apart what an element of is read at another place than the root's and by others too, a second anchor, and what an anchor
    would compute several times. Needs: the graph phase. Keeps: dynamic shapes. Numerics: none.
  }];
  let dependentDialects = ["::vx::VXDialect"];
}

def UseChannelsLastPass : Pass<"vx-use-channels-last", "::mlir::func::FuncOp"> {
  let summary = "Compute convolutions with their channels innermost";
  let description = [{
    Gives every `vx.conv` the attribute `channels_last`, with transposes around it, and moves the transposes behind it through elementwise ops,
    windows, reductions, concatenations and pads, until two meet and cancel or a reshape takes their place:

        %0 = vx.conv %x, %w ...                        %t = vx.transpose %x, [0, 2, 3, 1]
        %1 = vx.max %0, %zeros                   ->    %0 = vx.conv %t, %w ... channels_last
        %2 = vx.conv %1, %v ...                        %1 = vx.max %0, %zeros'
                                                       %u = vx.transpose (vx.transpose %1, [0, 3, 1, 2]), [0, 2, 3, 1]
                                                       %2 = vx.conv %u, %v ... channels_last

    `vx-canonicalize-graph` then joins what meets. Leaves alone ops with an operand that would have to be moved in memory, and with
    `factors` a function without a convolution whose factors have one of these types. Needs: the graph phase; for targets that read so
    faster. Keeps: dynamic shapes. Numerics: none.
  }];
  let options = [ListOption<"factors", "factors", "std::string", "Element types of factors that make it worth while; empty: all">];
  let dependentDialects = ["::vx::VXDialect"];
}

def PackWeightsPass : Pass<"vx-pack-weights", "::mlir::func::FuncOp"> {
  let summary = "Put weights into the order in which kernels read them";
  let description = [{
    A second operand of a contraction, and a filter of a convolution with its channels last, that is a constant or a variable of the role
    parameter or statistic which the function does not store, or one of these moved, rounded or scaled, is cut into tiles of output columns; a
    kernel reads a tile row by row. The packing runs once, when a module is loaded or the variable has changed. A large operand of another kind is
    packed in each call when there are so many rows that each tile of them would do it again.

        %0 = vx.contract %x, %w ...        ->    %p = vx.pack %w ...
                                                 %0 = vx.contract %x, (vx.unpack %p ...) ...

    Filters of groups that do not fill tiles have one tile, with room for a vector beyond the last filter.

    With tiles of 0 bytes only filters are packed: into the order of their convolution's sum, tiles of one element.

    Leaves alone other operands, and those that have batch dimensions. Needs: the graph phase, and `vx-use-channels-last` for
    convolutions. Keeps: dynamic shapes of the other operand. Numerics: none.
  }];
  let options = [Option<"tileBytes", "tile-bytes", "int64_t", /*default=*/"64", "Bytes of one row of a tile; 0: filters only, without tiles">];
  let dependentDialects = ["::vx::VXDialect"];
}

def SplitReductionsPass : Pass<"vx-split-reductions", "::mlir::func::FuncOp"> {
  let summary = "Reduce few long rows in two stages";
  let description = [{
    A reduction to at most 32 elements of 65,536 or more each (a dimension that only the call knows counts for 128) keeps few workgroups
    busy. Each row is cut into slices, of which the first stage makes one element each, and the second stage the whole:

        %0 = vx.reduce sum %x axes = [0] : tensor<1048576xf32>    ->    %1 = vx.reshape %x : ... -> tensor<1024x1024xf32>
                                                                        %2 = vx.reduce sum %1 axes = [1]
                                                                        %0 = vx.reduce sum %2 axes = [0]

    The number of slices is a divisor of the part of the length that is known, 1024 for all rows together at most; where there is none the row is
    filled up by `vx.pad` with what the reduction gives over no element. It follows from the sizes alone, so that results do not depend on
    the machine. Elementwise ops that only the reduction reads move behind the reshape.

    Leaves alone what reduces dimensions that are not neighbours. Needs: the graph phase, an expression for each dimension. Keeps: dynamic shapes.
    Numerics: another order of sums; floats narrower than f32 stay f32 between the stages.
  }];
  let dependentDialects = ["::vx::VXDialect"];
}

def SplitConcatsPass : Pass<"vx-split-concats", "::mlir::func::FuncOp"> {
  let summary = "Concatenate very many pieces in stages";
  let description = [{
    A kernel has a buffer for each piece of a concatenation, and a branch of its own. Of more than 64 pieces neighbours are joined first, as many in each
    group, so that an RNN that is written step by step has two kernels or three for its sequence, and not one of thousands of branches:

        %0 = vx.concat axis = 0(%a, ..., %z)    ->    %1 = vx.concat axis = 0(%a, ..., %m)
                                                      %2 = vx.concat axis = 0(%n, ..., %z)
                                                      %0 = vx.concat axis = 0(%1, %2)

    Each stage moves all elements once. Needs: the graph phase. Keeps: dynamic shapes. Numerics: none.
  }];
  let dependentDialects = ["::vx::VXDialect"];
}

def SplitTopPlacesPass : Pass<"vx-split-top-places", "::mlir::func::FuncOp"> {
  let summary = "Find the best elements of few long rows in two stages";
  let description = [{
    A row is one workgroup's. Of at most 128 rows that are long each is cut into blocks, of 4096 elements or 16 times as many as are wanted:

        %0 = vx.top_places %x count = 5 : tensor<1x20000xf32>    ->    the best 5 of each of 5 blocks, and of these 25 the best 5

    The last block is filled up with what stands behind all numbers; the second stage is cut in turn where it is long. Leaves alone rows whose
    length is not known. Needs: the graph phase. Keeps: a number of rows that is not known.
    Numerics: none; equal elements stay in the order of their places.
  }];
  let dependentDialects = ["::vx::VXDialect"];
}

def JoinColumnSumsPass : Pass<"vx-join-column-sums", "::mlir::func::FuncOp"> {
  let summary = "Make one sum of sums of columns that are concatenated";
  let description = [{
    Neighbours in a concatenation of vectors that are sums over the rows of matrices with as many rows, and zeros between them, become the sum of the matrices side by
    side:

        %0 = vx.reduce sum %a axes = [0] : tensor<128x256xf32>
        %1 = vx.reduce sum %b axes = [0] : tensor<128x10xf32>
        %2 = vx.concat %weights, %0, %1, %zeros axis = 0 : ... tensor<256xf32>, tensor<10xf32>, tensor<6xf32>
        ->
        %3 = vx.concat %a, %b, %zeros_of_rows axis = 1 : ... -> tensor<128x272xf32>
        %4 = vx.reduce sum %3 axes = [0] : tensor<128x272xf32>
        %2 = vx.concat %weights, %4 axis = 0 : ... tensor<272xf32>

    The gradients of biases are such sums, and a small one is over before the next kernel has begun. At most 4 pieces with 1024 columns and, where that is known, 4096
    rows: each column of the joined matrix looks for its part, and all matrices are kept until then. Needs: the graph phase. Keeps: dynamic numbers of rows. Numerics: the order of
    a sum may be another one.
  }];
  let dependentDialects = ["::vx::VXDialect"];
}

def JoinSummedDimsPass : Pass<"vx-join-summed-dims", "::mlir::func::FuncOp"> {
  let summary = "Make one dimension of neighbours that a contraction sums";
  let description = [{
    Dimensions that a contraction sums and that are neighbours in both operands, in the same order, become one by a reshape of each:

        %0 = vx.contract %a, %b batch = [] x [] contracting = [0, 1] x [0, 1] : tensor<8x512x768xf32>, tensor<8x512x64xf32>
        ->
        %1 = vx.reshape %a : ... -> tensor<4096x768xf32>
        %2 = vx.reshape %b : ... -> tensor<4096x64xf32>
        %0 = vx.contract %1, %2 batch = [] x [] contracting = [0] x [0] : tensor<4096x768xf32>, tensor<4096x64xf32>

    Strategies know sums along one dimension best; the gradient of a weight by all rows of all sequences is such a sum. Needs: the graph phase,
    an expression for each dimension. Keeps: dynamic shapes. Numerics: none.
  }];
  let dependentDialects = ["::vx::VXDialect"];
}

def JoinRowsPass : Pass<"vx-join-rows", "::mlir::func::FuncOp"> {
  let summary = "Make one dimension of the rows of a contraction";
  let description = [{
    Dimensions that only the left side of a fusion's contraction has, and that are neighbours, become one by a reshape before and behind the fusion:

        %0 = vx.fusion(%x, %w) : (tensor<?x?x384xf32, #vx.enc<[batch, sequence, 384]>>, ...
        ->
        %1 = vx.reshape %x : ... -> tensor<?x384xf32, #vx.enc<[batch * sequence, 384]>>
        %2 = vx.fusion(%1, %w) : (tensor<?x384xf32, #vx.enc<[batch * sequence, 384]>>, ...
        %0 = vx.reshape %2 : ... -> tensor<?x?x384xf32, #vx.enc<[batch, sequence, 384]>>

    Strategies cut one dimension into tiles; those of many short sequences would be all but empty. Leaves alone fusions where something has but
    some of the rows' dimensions (a bias for each sequence), or has them at another place. Needs: fusions, an expression for each dimension.
    Keeps: dynamic shapes. Numerics: none.
  }];
  let dependentDialects = ["::vx::VXDialect"];
}

def SplitContractionsPass : Pass<"vx-split-contractions", "::mlir::func::FuncOp"> {
  let summary = "Sum few long products in two stages";
  let description = [{
    A contraction whose result is fewer than 132 tiles of 128 x 128 elements, each a sum of 3,072 products or more, as the gradient of a weight by
    many rows, keeps few workgroups busy. Its sums are cut into parts of 512 products or more, until there are 264 tiles; a second kernel adds them:

        %0 = vx.contract %a, %b batch = [] x [] contracting = [0] x [0] : tensor<4096x768xf32>, tensor<4096x64xf32>
        ->
        %1 = vx.reshape %a : ... -> tensor<8x512x768xf32>
        %2 = vx.reshape %b : ... -> tensor<8x512x64xf32>
        %3 = vx.contract %1, %2 batch = [0] x [0] contracting = [1] x [1] : tensor<8x512x768xf32>, tensor<8x512x64xf32>
        %0 = vx.reduce sum %3 axes = [0] : tensor<8x768x64xf32>

    The number of parts is a divisor of summed dimensions that are known, the longest first. It follows from the sizes alone, so that results do not
    depend on the machine. Leaves alone results of fewer than 16 rows or columns, and integers. Needs: the graph phase, an expression for each dimension.
    Keeps: dynamic shapes. Numerics: another order of sums; parts are f32 where the factors are narrower.
  }];
  let dependentDialects = ["::vx::VXDialect"];
}

def OutlineKernelsPass : Pass<"vx-outline-kernels", "::mlir::ModuleOp"> {
  let summary = "Turn fusion regions into kernels with canonical keys";
  let description = [{
    Replaces each `vx.fusion` by a `vx.dispatch` of a `vx.kernel`. Symbols are renamed s0, s1, ... in order of first appearance and the
    text, without locations, is hashed together with the strategy and the target's name: equal keys are one kernel, which keeps
    the source nodes of all its dispatches.

    A kernel does not know how its sizes came about: where it has a symbol as n + 3 and n + 5 only, s0 is n + 3. More than 4 kernels that differ in the
    constants at which slices begin, and in nothing else, are one, of which these are parameters with a range:

        vx.slice %x starts [#vx.dim<0>, ...]                          vx.dispatch @slice(%x) symbols [#vx.dim<0>]
        vx.slice %x starts [#vx.dim<8>, ...]    ->                    vx.dispatch @slice(%x) symbols [#vx.dim<8>]
        ...                                                           vx.kernel @slice ... {vx.symbol_ranges = array<i64: 0, 792, 8>}

    Needs: strategies chosen. Keeps: dynamic shapes. Numerics: none.
  }];
  let options = [Option<"target", "target", "std::string", "\"\"", "Name of the target, a part of the key">];
  let dependentDialects = ["::vx::VXDialect"];
}

def HoistDerivedValuesPass : Pass<"vx-hoist-derived-values", "::mlir::ModuleOp"> {
  let summary = "Compute what depends on constants and weights alone once";
  let description = [{
    A dispatch whose operands are all constants or weights, or results of such dispatches, moves into a private function with the
    attribute `vx.derived`, and a call of it takes its place. The runtime runs these functions once, when it makes an instance, and
    keeps their results in device memory:

        %w = vx.constant dense_resource<w>           func.func private @derived_transpose() attributes {vx.derived = "5f..."} {
        %t = vx.dispatch @transpose(%w)                %w = vx.constant dense_resource<w>
        %y = vx.dispatch @contract(%x, %t)    ->       %t = vx.dispatch @transpose(%w)
                                                       return %t
                                                     }
                                                     %t = call @derived_transpose()
                                                     %y = vx.dispatch @contract(%x, %t)

    Weights are variables of the roles parameter and statistic that the function does not store. What is derived from one is computed when a
    call first reads it, and again when the variable has changed since; a chain of such dispatches is one function where nobody else reads what
    is between.

    The attribute's value is a key over the kernel and its operands: equal derived values are one function, and the versions of a model
    for different sizes share them too. Regions of `vx.if` and `vx.loop` are no obstacle.

    Leaves alone a dispatch that may fail a call, one with a result of dynamic size, and one whose result is larger than both 1 MB and
    twice its operands, which would cost more memory than it saves time. Needs: the kernels phase. Keeps: dynamic shapes.
    Numerics: none.
  }];
  let dependentDialects = ["::vx::VXDialect", "::mlir::func::FuncDialect"];
}

def WidenElementsPass : Pass<"vx-widen-elements", "::mlir::func::FuncOp"> {
  let summary = "Compute with narrow elements in wider ones";
  let description = [{
    Kernels move and convert floats of 8 bits and less, and integers of less than 8. What computes with them gets f32, or an integer of 8
    bits, and its result is rounded, or keeps the low bits.

        %r = vx.add %a, %b : tensor<8xf8E5M2>    ->    %r = cast(vx.add cast(%a), cast(%b) : tensor<8xf32>) : tensor<8xf8E5M2>

    Leaves alone what takes elements as they are: moves, choices, casts of values and of bits, and the host's ops. Needs: nothing. Keeps: dynamic
    shapes. Numerics: as the ops document for narrow elements, one rounding at the end.
  }];
  let dependentDialects = ["::vx::VXDialect"];
}

#endif
