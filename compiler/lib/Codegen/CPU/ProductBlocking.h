// The sizes of the loops of a blocked matrix product.
#ifndef VX_CODEGEN_CPU_PRODUCTBLOCKING_H
#define VX_CODEGEN_CPU_PRODUCTBLOCKING_H

#include "MatchProduct.h"
#include "vx/Dialect/VX/IR/VXDialect.h"

namespace vx {

/// Rows that decode B as they load it: each step of B is decoded once for as many.
constexpr int64_t mostDecodedRows = 12;

/// Sizes of the loops, in elements; along k in steps, each of `Product::neighbours` elements.
struct Blocking {
  int64_t lanes;         // of a vector of sums
  int64_t rows, vectors; // of the accumulators that registers hold
  int64_t rowBlock;      // rows of A that are packed at once
  int64_t columnBlock;   // columns whose accumulators the stack holds beside them; whole groups of vectors
  int64_t depthBlock;    // of the packed A and B
  bool isOneDepthBlock = false;
  bool hasColumnsInA = false; // A is packed column by column
  bool decodesBlocks = false; // of a B that is packed and to be decoded: once for the rows of a block, on the stack
  bool readsRowsOfB = false;  // B is not packed: its vectors are evaluated where they are multiplied
  int64_t plainStride = 0;    // of A's rows where they are read as they lie in memory; 0: they are packed
  int64_t packLanes = 0;      // elements of A's rows that are packed at once
  int64_t columns() const { return vectors * lanes; }
};

/// The blocking of a product on a machine with vectors of `vectorBits` and so many registers. Drops a packed B that
/// does not fit it. `hasByteDots`: one instruction does a dot of unsigned and signed bytes.
Blocking chooseBlocking(Product &product, CPUProductAttr strategy, int64_t vectorBits, int64_t registers,
                        bool hasByteDots);

} // namespace vx

#endif
