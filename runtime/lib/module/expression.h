// Size expressions over a function's symbols, in reverse Polish order.
#ifndef VX_RUNTIME_MODULE_EXPRESSION_H
#define VX_RUNTIME_MODULE_EXPRESSION_H

#include "base/status.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace vx {

enum class ExpressionOp : uint8_t { Constant, Symbol, Add, Mul, FloorDiv, CeilDiv, Mod, Max, Min };

class Expression {
public:
  struct Node {
    ExpressionOp op;
    int64_t value;
  };
  static constexpr size_t maxNodes = 1024;

  Expression() = default;
  // An expression of no nodes is the constant 0.
  explicit Expression(std::vector<Node> nodes) : nodes(std::move(nodes)) {}
  static Expression constant(int64_t value) { return Expression({{ExpressionOp::Constant, value}}); }
  static Expression symbol(int64_t index) { return Expression({{ExpressionOp::Symbol, index}}); }

  // The nodes leave exactly one value, use only known operations, and only symbols below `symbolCount`.
  Status check(size_t symbolCount) const;

  // Overflow and division by zero are errors that show the expression.
  Status evaluate(std::span<const int64_t> symbols, int64_t &result) const;

  // The value when it is a single constant; the index when it is a single symbol.
  std::optional<int64_t> asConstant() const;
  std::optional<uint32_t> asSymbol() const;

  // "past + 1"; a symbol without a name is "s3".
  std::string toString(std::span<const std::string> names) const;

  // Calls `use` with the index of every symbol in the expression.
  template <typename F>
  void forEachSymbol(F &&use) const {
    for (const Node &node : nodes)
      if (node.op == ExpressionOp::Symbol)
        use(static_cast<uint32_t>(node.value));
  }

private:
  std::vector<Node> nodes;
};

} // namespace vx

#endif
