#include "vx/Analysis/StrategyChoice.h"

namespace vx {

llvm::StringRef describe(LoopsReason reason) {
  switch (reason) {
  case LoopsReason::Layout:
    return "vectors run along the rows of its images, since a move of the channels takes longer";
  case LoopsReason::Narrow:
    return "one factor has few rows or columns, or none, so that packed factors are not read often enough";
  case LoopsReason::Neighbours:
    return "another op of its kernel reduces, moves elements of the product or may fail";
  case LoopsReason::Elements:
    return "no strategy for products has its element types";
  case LoopsReason::Groups:
    return "no strategy for products has its groups";
  case LoopsReason::Sizes:
    return "the sizes of its filter are not known";
  case LoopsReason::Dimensions:
    return "its columns or its sum run along several dimensions, or the result has others than the product";
  case LoopsReason::Packed:
    return "its results are packed into bytes";
  }
  llvm_unreachable("unknown reason");
}

} // namespace vx
