// Size expressions over a function's symbols: graphs whose nodes name earlier nodes, so that terms are shared.
#ifndef VX_RUNTIME_MODULE_EXPRESSION_H
#define VX_RUNTIME_MODULE_EXPRESSION_H

#include "base/status.h"
#include "vx/abi/limits.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace vx {

enum class ExpressionOp : uint8_t { Constant, Symbol, Add, Mul, FloorDiv, CeilDiv, Mod, Max, Min, Broadcast };

class Expression {
public:
  struct Node {
    ExpressionOp op;
    int64_t value;    // Constant; the number of a Symbol
    uint32_t lhs = 0; // of the others: earlier nodes
    uint32_t rhs = 0;
  };
  static constexpr size_t maxNodes = VX_MAX_EXPRESSION_NODES;

  Expression() = default;
  // The last node is the result. An expression of no nodes is the constant 0.
  explicit Expression(std::vector<Node> nodes) : nodes(std::move(nodes)) {}
  static Expression constant(int64_t value) { return Expression(std::vector<Node>{{ExpressionOp::Constant, value}}); }
  static Expression symbol(int64_t index) { return Expression(std::vector<Node>{{ExpressionOp::Symbol, index}}); }

  // The nodes use only known operations, earlier nodes, and symbols below `symbolCount`.
  Status check(size_t symbolCount) const;

  // Computes each node once. Overflow and division by zero are errors that show the expression.
  Status evaluate(std::span<const int64_t> symbols, int64_t &result) const;

  // The value when it is a single constant; the index when it is a single symbol.
  std::optional<int64_t> asConstant() const;
  std::optional<uint32_t> asSymbol() const;

  // "past + 1"; a symbol without a name is "s3". A large expression names the terms that it uses more than once, so
  // that the text is as long as the graph is: "max(t0, t1) with t0 = ..., t1 = ...". One of more than 64 KiB is only
  // counted: "an expression of 9000 nodes".
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
