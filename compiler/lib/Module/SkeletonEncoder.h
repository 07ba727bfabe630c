// The asset that an export completes, from its pieces.
#ifndef VX_MODULE_SKELETONENCODER_H
#define VX_MODULE_SKELETONENCODER_H

#include "ProgramEncoder.h"
#include "vx/Dialect/VX/IR/ExportSkeleton.h"

namespace vx {

class SkeletonEncoder {
public:
  /// Takes what the module has of it anyway from there: `tables` are whole. Refers to the skeleton.
  void encode(const ExportSkeleton &skeleton, const SharedTables &tables);
  uint64_t getSize() const { return size; }
  void emit(llvm::function_ref<void(llvm::StringRef)> sink) const;

private:
  void add(const ExportPiece &piece, const SharedTables &tables);

  std::string table; // with the header
  std::vector<llvm::StringRef> bytes;
  uint64_t size = 0;
};

} // namespace vx

#endif
