// Passes of the `fused` and `kernels` phases.
#ifndef VX_TRANSFORMS_FUSIONPASSES
#define VX_TRANSFORMS_FUSIONPASSES

include "mlir/Pass/PassBase.td"

def BindSequenceLengthsPass : Pass<"vx-bind-sequence-lengths", "::mlir::ModuleOp"> {
  let summary = "Give the length of a sequence a symbol if a kernel reads it";
  let description = [{
    The host knows the length of a sequence. If it is read as memory (a result, an operand of a kernel), the length becomes a data-dependent
    symbol, and its uses a `vx.dim_value`, which is a scalar of a kernel:

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
    After it, every op that a device runs is in a `vx.fusion`: one anchor (contraction, convolution, reduction, norm, gather, movement) with
    the elementwise ops before and after it. The anchor is marked `vx.anchor`. Target and report read that mark, and so does code
    generation, as `vxk.anchor` of the lowered op. The host runs the rest: control flow, symbols, variables, sequences, constants and
    reshapes, which are views of memory.

        %0 = vx.conv %x, %w ...                     %0 = vx.fusion(%x, %w, %b) ... {
        %1 = vx.broadcast %b, [1]            ->       vx.conv ... {vx.anchor}, vx.broadcast, vx.add, vx.max
        %2 = vx.add %0, %1                          }
        %3 = vx.max %2, %zeros

    Values that depend on constants and weights alone, which `vx-hoist-derived-values` will move, are not fused with other ops.

    A group has several results of one shape if other ops read values that correspond to the root element for element. The result of a
    producer is then a result beside the root's, ops on the same elements become part of the group, and reductions along the same axes read
    a tensor once. Readers of such a result move after the group. Accesses of one variable, and ops that bind a symbol, stay in order.

        %1 = vx.max %0, %zeros                      %1:2 = vx.fusion(%x, %w) ... {
        %2 = vx.compare gt %0, %zeros        ->       vx.contract, vx.max, vx.compare
                                                    }

    One kernel computes the scalars of a function, reductions to one too, if no op between them depends on one and the host reads none.

    Does not fuse a value that is read at another position than the root's and by other ops too, a second anchor, and a value that an anchor
    would compute several times. Needs: the graph phase. Keeps: dynamic shapes. Numerics: none.
  }];
  let dependentDialects = ["::vx::VXDialect"];
}

def ChooseProductsPass : Pass<"vx-choose-products", "::mlir::func::FuncOp"> {
  let summary = "Choose the family of strategies, the layout and the packing of each product";
  let description = [{
    Gives each contraction, convolution and gradient of a filter the attribute `vx.product`. The target lists the ways in which it can
    compute one product, with estimates of their times. A contraction gets the fastest way. A convolution is in a region: convolutions and
    what computes in their layout between them. A region has its channels last where its products and the moves at its borders take less
    time so; each of its convolutions then gets the fastest way for this layout.

        %0 = vx.conv %x, %w ...    ->    %0 = vx.conv %x, %w ... {vx.product = #vx.product<family = cpu_product, channels_last = true, packed = true>}

    `vx-use-channels-last` and `vx-pack-weights` carry the choice out, `vx-form-fusions` reads which ops the kernel of a product takes, and
    the strategy that a region gets is one of the family. Needs: a target, the graph phase, and products as they are to be computed.
    Keeps: everything. Numerics: none.
  }];
}

def UseChannelsLastPass : Pass<"vx-use-channels-last", "::mlir::func::FuncOp"> {
  let summary = "Compute convolutions with their channels innermost";
  let description = [{
    Gives each product whose `vx.product` says so the attribute `channels_last`, with transposes around it. The transposes after it move
    through elementwise ops, windows, reductions, concatenations and pads, until two meet and cancel or a reshape replaces them:

        %0 = vx.conv %x, %w ...                        %t = vx.transpose %x, [0, 2, 3, 1]
        %1 = vx.max %0, %zeros                   ->    %0 = vx.conv %t, %w ... channels_last
        %2 = vx.conv %1, %v ...                        %1 = vx.max %0, %zeros'
                                                       %u = vx.transpose (vx.transpose %1, [0, 3, 1, 2]), [0, 2, 3, 1]
                                                       %2 = vx.conv %u, %v ... channels_last

    `vx-canonicalize-graph` then combines transposes that meet. Leaves alone ops with an operand that would have to be moved in memory.
    Needs: `vx-choose-products`. Keeps: dynamic shapes. Numerics: none.
  }];
  let dependentDialects = ["::vx::VXDialect"];
}

def PackWeightsPass : Pass<"vx-pack-weights", "::mlir::func::FuncOp"> {
  let summary = "Put weights into the order in which kernels read them";
  let description = [{
    Cuts the second operand of each product whose `vx.product` is `packed` into tiles of output columns. Of a weight that is computed from
    integers of 8 or 4 bits the integers are packed, and the product decodes what it reads. A kernel reads a tile row by row. A constant or
    a variable is packed once, when the module is loaded or the variable has changed, another operand in each call.

        %0 = vx.contract %x, %w ...        ->    %p = vx.pack %w ...
                                                 %0 = vx.contract %x, (vx.unpack %p ...) ...

    Filters of groups that do not fill tiles have one tile, with room for a vector beyond the last filter. Of a weight in blocks a gather
    picks rows in the layout of products, which read the same memory.

    `neighbours` of `vx.product` along the sum lie together, as one instruction multiplies and sums them.

    With tiles of 0 bytes a filter is put into the order of its convolution's sum, tiles of one element.

    Needs: `vx-choose-products`, and `vx-use-channels-last` for convolutions. Keeps: dynamic shapes of the other operand. Numerics: none.
  }];
  let options = [Option<"tileBytes", "tile-bytes", "int64_t", /*default=*/"64", "Bytes of one row of a tile; 0: no tiles">];
  let dependentDialects = ["::vx::VXDialect"];
}

def SplitWeightBlocksPass : Pass<"vx-split-weight-blocks", "::mlir::func::FuncOp"> {
  let summary = "Sum products of quantised weights block by block";
  let description = [{
    A weight of integers of 8 or 4 bits may have a scale, and a zero point, for each block of neighbours along the sum. A product sums such a
    weight over its blocks, and over the places of a block, so that the numbers of a block are read once for all of its places:

        %s = vx.broadcast %scales, [0, 1, 2] : tensor<64x1x512xf32> -> tensor<64x32x512xf32>
        %w = vx.mul (vx.cast %integers), (vx.reshape %s) : tensor<2048x512xf32>
        %0 = vx.contract %x, %w batch = [] x [] contracting = [1] x [0] : tensor<8x2048xf32>, tensor<2048x512xf32>
        ->
        %w = vx.mul (vx.cast (vx.reshape %integers)), %s : tensor<64x32x512xf32>
        %0 = vx.contract (vx.reshape %x), %w batch = [] x [] contracting = [1, 2] x [0, 1] : tensor<8x64x32xf32>, tensor<64x32x512xf32>

    If blocks have numbers that are computed from those of groups of blocks, there are three dimensions: groups, blocks of one, and places. A
    gather of rows of such a weight picks them from the form that a product reads. Leaves alone blocks along another dimension, and blocks
    of several sizes. Needs: the graph phase. Keeps: dynamic shapes of the other operand. Numerics: none; but the product is marked
    `vx.block_sums`, without `strict-math`: a kernel may apply the numbers of a block to the block's sum, which then is rounded once.
  }];
  let options = [Option<"strictMath", "strict-math", "bool", /*default=*/"false", "Mark no product">];
  let dependentDialects = ["::vx::VXDialect"];
}

def SplitReductionsPass : Pass<"vx-split-reductions", "::mlir::func::FuncOp"> {
  let summary = "Reduce few long rows in two stages";
  let description = [{
    A reduction to at most 32 elements of 65,536 or more each (a dimension that only the call knows counts for 128) keeps few workgroups
    busy. Each row is cut into slices. The first stage makes one element of each, and the second stage reduces these:

        %0 = vx.reduce sum %x axes = [0] : tensor<1048576xf32>    ->    %1 = vx.reshape %x : ... -> tensor<1024x1024xf32>
                                                                        %2 = vx.reduce sum %1 axes = [1]
                                                                        %0 = vx.reduce sum %2 axes = [0]

    The number of slices is a divisor of the known part of the length, at most 1024 for all rows together. If there is none, `vx.pad` fills
    up the row with the reduction's value for no elements. The number follows from the sizes alone, so results do not depend on the machine.
    Elementwise ops that only the reduction reads move after the reshape.

    Leaves alone reductions of dimensions that are not neighbours. Needs: the graph phase, an expression for each dimension. Keeps: dynamic
    shapes. Numerics: another order of sums; floats narrower than f32 stay f32 between the stages.
  }];
  let dependentDialects = ["::vx::VXDialect"];
}

def SplitWindowsPass : Pass<"vx-split-windows", "::mlir::func::FuncOp"> {
  let summary = "Reduce wide windows dimension by dimension";
  let description = [{
    A maximum, minimum or sum over a window of 16 elements or more, in several dimensions, becomes one over each dimension in turn.
    Neighbouring windows share the results of the first ones. Where windows that cross the borders of the last dimension need masks,
    9 elements are enough, since fewer of them are read with a mask:

        %1 = vx.reduce_window max %0 window = [1, 1, 5, 5] ...     ->   %1 = vx.reduce_window max %0 window = [1, 1, 5, 1] ...
                                                                        %2 = vx.reduce_window max %1 window = [1, 1, 1, 5] ...

    Leaves alone sums of floats narrower than f32, whose parts would be rounded. Needs: the layout of images. Keeps: dynamic shapes.
    Numerics: another order of sums; a NaN of a window stays one.
  }];
  let dependentDialects = ["::vx::VXDialect"];
  let options = [Option<"masks", "masks", "bool", /*default=*/"false", "Elements beside the borders of the last dimension need masks">];
}

def SplitConcatsPass : Pass<"vx-split-concats", "::mlir::func::FuncOp"> {
  let summary = "Concatenate very many pieces in stages";
  let description = [{
    A kernel has a buffer for each piece of a concatenation, and a branch of its own. If there are more than 64 pieces, neighbours are
    concatenated first, in groups of equal size. So an RNN that is written step by step has two or three kernels for its sequence, and not
    one of thousands of branches:

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
    A row is one workgroup's. If there are at most 128 rows that are long, each is cut into blocks, of 4096 elements or 16 times `count`:

        %0 = vx.top_places %x count = 5 : tensor<1x20000xf32>    ->    the best 5 of each of 5 blocks, and of these 25 the best 5

    The last block is filled up with the value that sorts last; a long second stage is cut again. Leaves alone rows of unknown length.
    Needs: the graph phase. Keeps: an unknown number of rows. Numerics: none; equal elements stay in the order of their positions.
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

    The gradients of biases are such sums, and a small one is over before the next kernel has begun. At most 4 pieces with 1024 columns and,
    if that is known, 4096 rows: each column of the concatenated matrix searches for its part, and all matrices stay in memory until then.
    Needs: the graph phase. Keeps: dynamic numbers of rows. Numerics: the order of a sum may be another one.
  }];
  let dependentDialects = ["::vx::VXDialect"];
}

def JoinContractDimsPass : Pass<"vx-join-contract-dims", "::mlir::func::FuncOp"> {
  let summary = "Make one dimension of neighbours that a contraction sums, or that are its columns";
  let description = [{
    Dimensions that a contraction sums and that are neighbours in both operands, in the same order, become one by a reshape of each:

        %0 = vx.contract %a, %b batch = [] x [] contracting = [0, 1] x [0, 1] : tensor<8x512x768xf32>, tensor<8x512x64xf32>
        ->
        %1 = vx.reshape %a : ... -> tensor<4096x768xf32>
        %2 = vx.reshape %b : ... -> tensor<4096x64xf32>
        %0 = vx.contract %1, %2 batch = [] x [] contracting = [0] x [0] : tensor<4096x768xf32>, tensor<4096x64xf32>

    So do the dimensions that the right factor alone has, where they are neighbours: the columns of the product. Its result is reshaped then.

    In a convolution of bytes with fewer than four channels the last dimension of the window joins the channels: slices of the input, one for
    each position of the window, are concatenated to them. Products of bytes are added four channels at a time.

    Strategies know sums and columns along one dimension best; the gradient of a weight by all rows of all sequences is such a sum. Needs: the graph
    phase, an expression for each dimension. Keeps: dynamic shapes. Numerics: none.
  }];
  let dependentDialects = ["::vx::VXDialect"];
}

def JoinReducedDimsPass : Pass<"vx-join-reduced-dims", "::mlir::func::FuncOp"> {
  let summary = "Make one dimension of neighbours that a reduction reduces";
  let description = [{
    Neighbouring axes of a reduction become one by a reshape of its operand, through elementwise ops that nothing else reads, if all that
    they read lies in memory or is one number:

        %0 = vx.reduce sum %x axes = [1, 2] : tensor<8x7x7x64xf32>
        ->
        %1 = vx.reshape %x : tensor<8x7x7x64xf32> -> tensor<8x49x64xf32>
        %0 = vx.reduce sum %1 axes = [1] : tensor<8x49x64xf32>

    Strategies know reductions along one dimension best. Needs: the graph phase, an expression for each dimension. Keeps: dynamic shapes.
    Numerics: none.
  }];
  let dependentDialects = ["::vx::VXDialect"];
}

def JoinRowsPass : Pass<"vx-join-rows", "::mlir::func::FuncOp"> {
  let summary = "Make one dimension of the rows of a contraction";
  let description = [{
    Dimensions that only the left side of a fusion's contraction has, and that are neighbours, become one by a reshape before and after the
    fusion:

        %0 = vx.fusion(%x, %w) : (tensor<?x?x384xf32, #vx.enc<[batch, sequence, 384]>>, ...
        ->
        %1 = vx.reshape %x : ... -> tensor<?x384xf32, #vx.enc<[batch * sequence, 384]>>
        %2 = vx.fusion(%1, %w) : (tensor<?x384xf32, #vx.enc<[batch * sequence, 384]>>, ...
        %0 = vx.reshape %2 : ... -> tensor<?x?x384xf32, #vx.enc<[batch, sequence, 384]>>

    Strategies cut one dimension into tiles; those of many short sequences would be all but empty. Leaves alone fusions in which a value has
    only some of the rows' dimensions (a bias for each sequence), or has them at another position. Needs: fusions, an expression for each
    dimension. Keeps: dynamic shapes. Numerics: none.
  }];
  let dependentDialects = ["::vx::VXDialect"];
}

def SplitContractionsPass : Pass<"vx-split-contractions", "::mlir::func::FuncOp"> {
  let summary = "Sum few long products in two stages";
  let description = [{
    A contraction with a result of fewer than 132 tiles of 128 x 128 elements, each a sum of 3,072 products or more, keeps few workgroups
    busy. An example is the gradient of a weight by many rows. Its sums are cut into parts of 512 products or more, until there are 264
    tiles; a second kernel adds them:

        %0 = vx.contract %a, %b batch = [] x [] contracting = [0] x [0] : tensor<4096x768xf32>, tensor<4096x64xf32>
        ->
        %1 = vx.reshape %a : ... -> tensor<8x512x768xf32>
        %2 = vx.reshape %b : ... -> tensor<8x512x64xf32>
        %3 = vx.contract %1, %2 batch = [0] x [0] contracting = [1] x [1] : tensor<8x512x768xf32>, tensor<8x512x64xf32>
        %0 = vx.reduce sum %3 axes = [0] : tensor<8x768x64xf32>

    The number of parts is a divisor of summed dimensions that are known, the longest first. It follows from the sizes alone, so that
    results do not depend on the machine. Leaves alone results of fewer than 16 rows or columns, and integers. Needs: the graph phase, an
    expression for each dimension. Keeps: dynamic shapes. Numerics: another order of sums; parts are f32 if the factors are narrower.
  }];
  let dependentDialects = ["::vx::VXDialect"];
}

def OutlineKernelsPass : Pass<"vx-outline-kernels", "::mlir::ModuleOp"> {
  let summary = "Turn fusion regions into kernels with canonical keys";
  let description = [{
    Replaces each `vx.fusion` by a `vx.dispatch` of a `vx.kernel`. Symbols are renamed s0, s1, ... in order of first appearance and the
    text, without locations, is hashed together with the strategy and the target's name: equal keys are one kernel, which has the source
    nodes of all its dispatches.

    A kernel does not know the expressions of its sizes: if it has a symbol only as n + 3 and n + 5, s0 is n + 3. More than 4 kernels that
    differ only in the constants at which slices begin are one, and these constants are parameters with a range:

        vx.slice %x starts [#vx.dim<0>, ...]                          vx.dispatch @slice(%x) symbols [#vx.dim<0>]
        vx.slice %x starts [#vx.dim<8>, ...]    ->                    vx.dispatch @slice(%x) symbols [#vx.dim<8>]
        ...                                                           vx.kernel @slice ... {vx.symbol_ranges = array<i64: 0, 792, 8>}

    Needs: strategies chosen. Keeps: dynamic shapes. Numerics: none.
  }];
  let options = [Option<"target", "target", "std::string", "\"\"", "Name of the target, a part of the key">];
  let dependentDialects = ["::vx::VXDialect"];
}

def HoistDerivedValuesPass : Pass<"vx-hoist-derived-values", "::mlir::ModuleOp"> {
  let summary = "Compute values that depend on constants and weights alone once";
  let description = [{
    A dispatch with only constants or weights as operands, or results of such dispatches, moves into a private function with the attribute
    `vx.derived`, and a call of it replaces the dispatch. The runtime runs these functions once, when it makes an instance, and holds their
    results in device memory:

        %w = vx.constant dense_resource<w>           func.func private @derived_transpose() attributes {vx.derived = "5f..."} {
        %t = vx.dispatch @transpose(%w)                %w = vx.constant dense_resource<w>
        %y = vx.dispatch @contract(%x, %t)    ->       %t = vx.dispatch @transpose(%w)
                                                       return %t
                                                     }
                                                     %t = call @derived_transpose()
                                                     %y = vx.dispatch @contract(%x, %t)

    Weights are variables of the roles parameter and statistic that the function does not store. A value that is derived from one is
    computed when a call first reads it, and again when the variable has changed since. A chain of such dispatches is one function if no
    other op reads a value inside of it.

    The attribute's value is a key over the kernel and its operands: equal derived values are one function, and the versions of a model
    for different sizes share them too. Regions of `vx.if` and `vx.loop` are no obstacle.

    Leaves alone a dispatch that may fail a call, one with a result of dynamic size, and one with a result larger than both 1 MB and twice
    the constants and variables that decide it, which would cost more memory than it saves time. Needs: the kernels phase. Keeps: dynamic
    shapes. Numerics: none.
  }];
  let dependentDialects = ["::vx::VXDialect", "::mlir::func::FuncDialect"];
}

def WidenElementsPass : Pass<"vx-widen-elements", "::mlir::func::FuncOp"> {
  let summary = "Compute with narrow elements in wider ones";
  let description = [{
    Kernels move and convert floats of 8 bits and less, and integers of less than 8. Ops that compute with them get f32, or an integer of 8
    bits, and their result is rounded, or cut to the low bits.

        %r = vx.add %a, %b : tensor<8xf8E5M2>    ->    %r = cast(vx.add cast(%a), cast(%b) : tensor<8xf32>) : tensor<8xf8E5M2>

    Leaves alone ops that do not compute with elements: moves, choices, casts of values and of bits, and the host's ops. Needs: nothing.
    Keeps: dynamic shapes. Numerics: as the ops document for narrow elements, one rounding at the end.
  }];
  let dependentDialects = ["::vx::VXDialect"];
}

#endif
