#include "module/expression.h"

#include "base/arithmetic.h"

#include <algorithm>
#include <array>

namespace vx {

Status Expression::check(size_t symbolCount) const {
  if (nodes.size() > maxNodes)
    return failure(VX_INVALID_MODULE, "expression has {} nodes, allowed are {}", nodes.size(), maxNodes);
  size_t depth = 0;
  for (size_t i = 0; i < nodes.size(); ++i) {
    const Node &node = nodes[i];
    switch (node.op) {
    case ExpressionOp::Symbol:
      if (node.value < 0 || static_cast<uint64_t>(node.value) >= symbolCount)
        return failure(VX_INVALID_MODULE, "expression uses symbol {}, there are {}", node.value, symbolCount);
      [[fallthrough]];
    case ExpressionOp::Constant:
      ++depth;
      continue;
    case ExpressionOp::Add:
    case ExpressionOp::Mul:
    case ExpressionOp::FloorDiv:
    case ExpressionOp::CeilDiv:
    case ExpressionOp::Mod:
    case ExpressionOp::Max:
    case ExpressionOp::Min:
      if (depth < 2)
        return failure(VX_INVALID_MODULE, "expression node {} needs 2 operands, there are {}", i, depth);
      --depth;
      continue;
    }
    return failure(VX_INVALID_MODULE, "expression node {} has the unknown operation {}", i, static_cast<int>(node.op));
  }
  if (!nodes.empty() && depth != 1)
    return failure(VX_INVALID_MODULE, "expression leaves {} values, wanted is 1", depth);
  return okStatus();
}

static const char *operatorText(ExpressionOp op) {
  switch (op) {
  case ExpressionOp::Add:
    return "+";
  case ExpressionOp::Mul:
    return "*";
  case ExpressionOp::FloorDiv:
    return "floordiv";
  case ExpressionOp::CeilDiv:
    return "ceildiv";
  case ExpressionOp::Mod:
    return "mod";
  case ExpressionOp::Max:
    return "max";
  case ExpressionOp::Min:
    return "min";
  default:
    return "?";
  }
}

Status Expression::evaluate(std::span<const int64_t> symbols, int64_t &result) const {
  // `check` bounded the depth by the number of nodes.
  std::array<int64_t, maxNodes> stack;
  size_t depth = 0;
  for (const Node &node : nodes) {
    if (node.op == ExpressionOp::Constant) {
      stack[depth++] = node.value;
      continue;
    }
    if (node.op == ExpressionOp::Symbol) {
      stack[depth++] = symbols[static_cast<size_t>(node.value)];
      continue;
    }
    int64_t a = stack[depth - 2], b = stack[depth - 1], value = 0;
    bool ok = true;
    switch (node.op) {
    case ExpressionOp::Add:
      ok = checkedAdd(a, b, value);
      break;
    case ExpressionOp::Mul:
      ok = checkedMul(a, b, value);
      break;
    case ExpressionOp::FloorDiv:
      ok = checkedFloorDiv(a, b, value);
      break;
    case ExpressionOp::CeilDiv:
      ok = checkedCeilDiv(a, b, value);
      break;
    case ExpressionOp::Mod:
      ok = checkedMod(a, b, value);
      break;
    case ExpressionOp::Max:
      value = std::max(a, b);
      break;
    case ExpressionOp::Min:
      value = std::min(a, b);
      break;
    default:
      ok = false;
      break;
    }
    if (!ok)
      return failure(VX_FAULT, "size expression '{}': {} {} {} is no 64-bit number", toString({}), a,
                     operatorText(node.op), b);
    stack[depth - 2] = value;
    --depth;
  }
  result = depth ? stack[0] : 0;
  return okStatus();
}

std::optional<int64_t> Expression::asConstant() const {
  if (nodes.empty())
    return 0;
  if (nodes.size() == 1 && nodes[0].op == ExpressionOp::Constant)
    return nodes[0].value;
  return std::nullopt;
}

std::optional<uint32_t> Expression::asSymbol() const {
  if (nodes.size() == 1 && nodes[0].op == ExpressionOp::Symbol)
    return static_cast<uint32_t>(nodes[0].value);
  return std::nullopt;
}

std::string Expression::toString(std::span<const std::string> names) const {
  if (nodes.empty())
    return "0";
  struct Part {
    std::string text;
    int precedence; // 3 atom, 2 product, 1 sum
  };
  std::vector<Part> stack;
  auto parenthesised = [](const Part &part, int needed) {
    return part.precedence < needed ? "(" + part.text + ")" : part.text;
  };
  for (const Node &node : nodes) {
    if (node.op == ExpressionOp::Constant) {
      stack.push_back({fmt::format("{}", node.value), 3});
    } else if (node.op == ExpressionOp::Symbol) {
      auto index = static_cast<size_t>(node.value);
      stack.push_back({index < names.size() && !names[index].empty() ? names[index] : fmt::format("s{}", index), 3});
    } else {
      if (stack.size() < 2)
        return "?";
      Part b = std::move(stack.back());
      stack.pop_back();
      Part a = std::move(stack.back());
      stack.pop_back();
      if (node.op == ExpressionOp::Max || node.op == ExpressionOp::Min) {
        stack.push_back({fmt::format("{}({}, {})", operatorText(node.op), a.text, b.text), 3});
      } else {
        int precedence = node.op == ExpressionOp::Add ? 1 : 2;
        stack.push_back({fmt::format("{} {} {}", parenthesised(a, precedence), operatorText(node.op),
                                     parenthesised(b, precedence + 1)),
                         precedence});
      }
    }
  }
  return stack.back().text;
}

} // namespace vx
