// The strategy of a fusion region, and the reason where a product has none of its own.
#ifndef VX_ANALYSIS_STRATEGYCHOICE_H
#define VX_ANALYSIS_STRATEGYCHOICE_H

#include "vx/Dialect/VX/IR/VXDialect.h"
#include <optional>

namespace vx {

/// Why a contraction or convolution is computed in plain loops, and not by a strategy for products.
enum class LoopsReason { Layout, Narrow, Neighbours, Elements, Groups, Sizes, Dimensions, Packed };

/// The reason as a sentence without its full stop, for reports.
llvm::StringRef describe(LoopsReason reason);

/// Attribute of a fusion region and of a kernel whose product is computed in plain loops: the reason, a string.
inline constexpr llvm::StringLiteral kLoopsReasonAttr = "vx.loops_reason";

/// A strategy, or the reason why a target has none for a product.
struct StrategyChoice {
  StrategyChoice() = default;
  template <typename Attr>
    requires std::is_convertible_v<Attr, StrategyAttrInterface>
  StrategyChoice(Attr strategy, std::optional<LoopsReason> reason = std::nullopt)
      : strategy(strategy), reason(reason) {}
  StrategyChoice(LoopsReason reason) : reason(reason) {}

  StrategyAttrInterface strategy;
  std::optional<LoopsReason> reason;
};

} // namespace vx

#endif
