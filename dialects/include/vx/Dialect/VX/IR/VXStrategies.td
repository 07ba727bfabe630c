// How a kernel is generated: an attribute for each strategy.
#ifndef VX_DIALECT_VX_IR_VXSTRATEGIES
#define VX_DIALECT_VX_IR_VXSTRATEGIES

include "vx/Dialect/IntegerList.td"
include "vx/Dialect/VX/IR/VXBase.td"
include "vx/Dialect/VX/IR/VXStrategyInterface.td"

/// `tile` is the box of a workgroup in each strategy.
class VX_Strategy<string name, string attrMnemonic> : VX_Attr<name, attrMnemonic, [VX_StrategyAttrInterface]> {
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{ ::llvm::ArrayRef<int64_t> getWorkgroupTile() const { return getTile(); } }];
}

/// On a CPU one thread computes a tile.
class VX_CPUStrategy<string name, string attrMnemonic> : VX_Strategy<name, attrMnemonic> {
  let parameters = (ins IntegerListParameter<>:$tile);
  let extraClassDeclaration = [{
    ::llvm::ArrayRef<int64_t> getWorkgroupTile() const { return getTile(); }
    int64_t getThreads() const { return 1; }
  }];
}

//===-- Any target -------------------------------------------------------------------------------------------------===//

def VX_SerialAttr : VX_Attr<"Serial", "serial", [VX_StrategyAttrInterface]> {
  let summary = "one worker goes through all, in order";
  let extraClassDeclaration = [{
    ::llvm::ArrayRef<int64_t> getWorkgroupTile() const { return {}; }
    int64_t getThreads() const { return 1; }
  }];
}

def VX_LoopsAttr : VX_Strategy<"Loops", "loops"> {
  let summary = "plain loops over a tile, whose elements are shared out to threads: right for any kernel";
  let description = [{
    - C1: sizes are 0 or more, threads 1 or more.
  }];
  let parameters = (ins IntegerListParameter<>:$tile, DefaultValuedParameter<"int64_t", "1">:$threads);
}

//===-- GPUs -------------------------------------------------------------------------------------------------------===//

def VX_ElementwiseAttr : VX_Strategy<"Elementwise", "elementwise"> {
  let summary = "a thread takes `lanes` neighbours along the last dimension, which it reads and writes together";
  let description = [{
    - C1: sizes and lanes are 1 or more, threads too.
    - C2: the last size is a multiple of the lanes.
  }];
  let parameters = (ins IntegerListParameter<>:$tile, "int64_t":$lanes, "int64_t":$threads);
}

def VX_ThreadRowsAttr : VX_Strategy<"ThreadRows", "thread_rows"> {
  let summary = "a thread goes along a whole row: the dimensions that are not cut";
  let description = [{
    - C1: sizes are 0 or more, threads 1 or more.
  }];
  let parameters = (ins IntegerListParameter<>:$tile, "int64_t":$threads);
}

def VX_RowSharing : I32EnumAttr<"RowSharing", "which threads compute a row together", [
    I32EnumAttrCase<"workgroup", 0>, I32EnumAttrCase<"subgroup", 1>, I32EnumAttrCase<"columns", 2>]> {
  let cppNamespace = "::vx";
}

def VX_RowsAttr : VX_Strategy<"Rows", "rows"> {
  let summary = "threads reduce a row together";
  let description = [{
    A row runs along the dimensions that are not cut, and along those that are reduced. `sharing` says who computes one together: all of a
    workgroup, a subgroup, or those threads that are a multiple of the tile's columns apart. A thread holds `runs` groups of `lanes`
    neighbours of a row in registers; a longer row takes several rounds.

    - C1: sizes are 0 or more, runs and lanes 1 or more.
    - C2: the threads are whole subgroups of any size up to 128.
    - C3: at most one size is more than 1: none where a workgroup shares a row, one where a subgroup does.
    - C4: columns divide the threads.
  }];
  let parameters = (ins IntegerListParameter<>:$tile, EnumParameter<VX_RowSharing>:$sharing, "int64_t":$runs, "int64_t":$lanes,
                        "int64_t":$threads);
  let extraClassDeclaration = [{
    ::llvm::ArrayRef<int64_t> getWorkgroupTile() const { return getTile(); }
    /// The dimension of which a workgroup has several rows, if there is one.
    std::optional<unsigned> getTileDim() const;
  }];
}

def VX_TiledProductAttr : VX_Strategy<"TiledProduct", "tiled_product"> {
  let summary = "a contraction or convolution: a thread has a block of the tile, factors go through workgroup memory";
  let description = [{
    `step` places of the sum are in workgroup memory at once, and `slices` groups of threads share the sum. A block has `block_rows` x
    `block_columns` elements of the tile, whose rows and columns are those of one factor each; there is a thread for each block and slice.

    - C1: sizes, step and slices are 1 or more.
    - C2: rows and columns of a block are 1, 2 or a multiple of 4, up to 128.
    - C3: the tile has whole blocks.
    - C4: there are at most 1024 blocks and slices.
  }];
  let parameters = (ins IntegerListParameter<>:$tile, "int64_t":$block_rows, "int64_t":$block_columns, "int64_t":$step,
                        "int64_t":$slices);
  let extraClassDeclaration = [{
    ::llvm::ArrayRef<int64_t> getWorkgroupTile() const { return getTile(); }
    int64_t getThreads() const;
  }];
}

def VX_MmaAttr : VX_Strategy<"Mma", "mma"> {
  let summary = "a contraction or convolution by matrix fragments, of which a subgroup has a part of the tile";
  let description = [{
    `step` places of the sum come at once, in a ring of `stages` buffers. A variant without a matrix unit for the factors computes the same
    tile as `tiled_product`.

    - C1: sizes, step and threads are 1 or more.
    - C2: there are 2 or more stages.
  }];
  let parameters = (ins IntegerListParameter<>:$tile, "int64_t":$step, "int64_t":$stages, "int64_t":$threads);
}

def VX_FlashAttr : VX_Strategy<"Flash", "flash"> {
  let summary = "attention whose scores are never stored: a workgroup keeps some queries and goes through the keys in blocks";
  let description = [{
    - C1: sizes are 0 or more, keys and threads 1 or more.
  }];
  let parameters = (ins IntegerListParameter<>:$tile, "int64_t":$keys, "int64_t":$threads);
}

def VX_SortAttr : VX_Strategy<"Sort", "sort"> {
  let summary = "the first elements of rows: a workgroup sorts the best of one in its memory";
  let description = [{
    - C1: a workgroup has one row: sizes are 1, and 0 for the last dimension.
    - C2: threads are a power of two.
  }];
  let parameters = (ins IntegerListParameter<>:$tile, "int64_t":$threads);
}

//===-- CPUs -------------------------------------------------------------------------------------------------------===//

def VX_CPUProductAttr : VX_CPUStrategy<"CPUProduct", "cpu_product"> {
  let summary = "a contraction or convolution in packed blocks, whose sums are in registers";
  let description = [{
    - C1: sizes are 0 or more.
  }];
}

def VX_CPUDepthwiseAttr : VX_CPUStrategy<"CPUDepthwise", "cpu_depthwise"> {
  let summary = "a convolution with few filters a group, its channels last: vectors along the filters";
  let description = [{
    - C1: sizes are 0 or more.
  }];
}

def VX_CPUSortAttr : VX_CPUStrategy<"CPUSort", "cpu_sort"> {
  let summary = "the first elements of rows: the best of one are sorted on the stack";
  let description = [{
    - C1: sizes are 0 or more.
  }];
}

def VX_CPUFlashAttr : VX_CPUStrategy<"CPUFlash", "cpu_flash"> {
  let summary = "attention whose scores are never stored: vectors along the queries";
  let description = [{
    - C1: sizes are 0 or more.
  }];
}

//===-- Products ---------------------------------------------------------------------------------------------------===//

def VX_ProductFamily : I32EnumAttr<"ProductFamily", "the family of strategies that computes a product", [
    I32EnumAttrCase<"loops", 0>, I32EnumAttrCase<"rows", 1>, I32EnumAttrCase<"tiled_product", 2>, I32EnumAttrCase<"mma", 3>,
    I32EnumAttrCase<"cpu_product", 4>, I32EnumAttrCase<"cpu_depthwise", 5>]> {
  let cppNamespace = "::vx";
}

def VX_LoopsReason : I32EnumAttr<"LoopsReason", "why a product is computed in plain loops", [
    I32EnumAttrCase<"none", 0>, I32EnumAttrCase<"layout", 1>, I32EnumAttrCase<"narrow", 2>, I32EnumAttrCase<"elements", 3>,
    I32EnumAttrCase<"groups", 4>, I32EnumAttrCase<"sizes", 5>, I32EnumAttrCase<"dimensions", 6>]> {
  let cppNamespace = "::vx";
}

def VX_NoLoopsReason : EnumParameter<VX_LoopsReason> { let defaultValue = "::vx::LoopsReason::none"; }

def VX_ProductAttr : VX_Attr<"Product", "product"> {
  let summary = "how a target computes a contraction, a convolution or the gradient of a filter";
  let description = [{
    `vx-choose-products` gives it to each product, as the attribute `vx.product`. `family` is the name of the strategy, whose tile is chosen
    when the product's kernel is known. Images have their channels last where `channels_last` is set. With `packed` the second factor is
    packed before the product reads it, with `neighbours` of a column side by side. The kernel of the product may compute the operand with the
    number `prologue` from others, element for element; -1: none.

    - C1: `neighbours` is 1 or more.
    - C2: a product in plain loops, and no other one, has a reason.
    - C3: `prologue` is -1, 0 or 1.
  }];
  let parameters = (ins EnumParameter<VX_ProductFamily>:$family, VX_NoLoopsReason:$reason,
                        DefaultValuedParameter<"bool", "false">:$channels_last, DefaultValuedParameter<"bool", "false">:$packed,
                        DefaultValuedParameter<"int64_t", "1">:$neighbours, DefaultValuedParameter<"int64_t", "-1">:$prologue);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

#endif
