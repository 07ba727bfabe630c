#include "SkeletonEncoder.h"

#include "vx/abi/onnx_skeleton.h"

namespace vx {

void SkeletonEncoder::encode(const ExportSkeleton &skeleton, const SharedTables &tables) {
  vx_skeleton_header header = {};
  memcpy(header.magic, VX_SKELETON_MAGIC, sizeof(header.magic));
  header.form = VX_SKELETON_FORM;
  header.model_pieces = static_cast<uint32_t>(skeleton.model.size());
  header.weights_pieces = static_cast<uint32_t>(skeleton.weights.size());
  table.assign(reinterpret_cast<const char *>(&header), sizeof(header));
  bytes.clear();
  size = 0;
  for (const ExportPiece &piece : skeleton.model)
    add(piece, tables);
  for (const ExportPiece &piece : skeleton.weights)
    add(piece, tables);
  size += table.size();
}

void SkeletonEncoder::add(const ExportPiece &piece, const SharedTables &tables) {
  vx_skeleton_piece entry = {};
  auto addBytes = [&] {
    entry.kind = VX_PIECE_BYTES;
    entry.size = piece.bytes.size();
    bytes.push_back(piece.bytes);
    size += piece.bytes.size();
  };
  switch (piece.kind) {
  case ExportPiece::Kind::Bytes:
    addBytes();
    break;
  case ExportPiece::Kind::Variable:
    entry.kind = VX_PIECE_VARIABLE;
    entry.number = tables.variables.lookup(piece.variable);
    entry.size = piece.size;
    break;
  case ExportPiece::Kind::Constant: {
    auto known = tables.constants.find(piece.constant);
    if (known == tables.constants.end()) { // folded, or read by nothing
      addBytes();
      break;
    }
    entry.kind = VX_PIECE_CONSTANT;
    entry.number = known->second.number;
    entry.size = piece.bytes.size();
    break;
  }
  case ExportPiece::Kind::Location:
    entry.kind = VX_PIECE_LOCATION;
    break;
  case ExportPiece::Kind::Length:
    entry.kind = VX_PIECE_LENGTH;
    entry.number = piece.count;
    break;
  case ExportPiece::Kind::Zeros:
    entry.kind = VX_PIECE_ZEROS;
    entry.size = piece.size;
    break;
  }
  table.append(reinterpret_cast<const char *>(&entry), sizeof(entry));
}

void SkeletonEncoder::emit(llvm::function_ref<void(llvm::StringRef)> sink) const {
  sink(table);
  for (llvm::StringRef part : bytes)
    sink(part);
}

} // namespace vx
