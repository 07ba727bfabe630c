#include "DeclineStrategy.h"

#include "mlir/IR/Remarks.h"
#include "vx/Codegen/Common/StrategyRemark.h"

using namespace mlir;

namespace vx {

void declineStrategy(Location loc, StrategyAttrInterface asked, StringRef taken, StringRef reason) {
  remark::missed(loc, remark::RemarkOpts::name(asked.getStrategyName()).category(kStrategyRemark))
      << remark::metric(kTakenStrategy, taken.str()) << remark::metric(kDeclineReason, reason.str());
}

void declineStrategy(Location loc, StrategyAttrInterface asked, StringRef reason) {
  declineStrategy(loc, asked, LoopsAttr::getMnemonic(), reason);
}

} // namespace vx
