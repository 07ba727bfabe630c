// Formats of numbers of few bits in blocks of bytes, as GGUF files have them: one row for each format in one table.
//
// The formats are those of ggml's ggml-common.h and of the Python package gguf. The reference decodes with the same
// table.
#ifndef VX_DIALECT_VX_IR_BLOCKFORMATS_H
#define VX_DIALECT_VX_IR_BLOCKFORMATS_H

#include "vx/Dialect/VX/IR/VXDialect.h"

namespace vx {

/// A part of the bits of several numbers. Bytes lie in runs. The numbers are those of the lowest bits of a whole run,
/// then those of the next bits of the same run, and so on:
///
///     number (g * perByte + c) * run + r = (byte[offset + g * run + r] >> (shift + c * bits)) & (2^bits - 1)
struct BlockBits {
  int64_t offset; // in the block
  int64_t bytes, run;
  unsigned bits, shift = 0;
  int64_t perByte = 1;

  int64_t count() const { return bytes * perByte; }
};

/// Numbers of a block: those of its parts, in sequence. A number of a part has the bits of its fields together, the
/// lowest first.
struct BlockNumbers {
  llvm::SmallVector<llvm::SmallVector<BlockBits, 2>, 2> parts;
  int64_t bias = 0;                    // is subtracted
  bool isSigned = false;               // of one field of 8 bits
  llvm::ArrayRef<int8_t> meaning = {}; // of each number; empty: the number itself

  int64_t count() const;
};

enum class BlockScale { Half, Exponent };

struct BlockLayout {
  BlockFormat format;
  int64_t elements, bytes; // of a block
  /// The integers, and the type that holds them: of 4 or 8 bits.
  BlockNumbers integers;
  unsigned width;
  bool isUnsigned;
  /// An f16, or the exponent of half of a power of 2 as a byte.
  BlockScale scaleKind;
  int64_t scale;
  /// The block has this many equal parts, and each part multiplies the scale by its own number. Without numbers the
  /// whole block has one scale.
  BlockNumbers scales = {};
  /// An f16 that is added, or without a value none.
  std::optional<int64_t> minimum = std::nullopt;
  /// The factors of the minimum, one for each part. With them the minimum is subtracted.
  BlockNumbers minimums = {};
};

const BlockLayout &getBlockLayout(BlockFormat format);

/// The numbers of one block: `elements` values from `bytes` bytes.
void decodeBlock(const BlockLayout &layout, llvm::ArrayRef<uint8_t> block, llvm::MutableArrayRef<float> result);

} // namespace vx

#endif
