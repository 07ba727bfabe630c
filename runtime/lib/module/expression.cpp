#include "module/expression.h"

#include "base/arithmetic.h"

#include <algorithm>
#include <array>

namespace vx {

static bool isLeaf(ExpressionOp op) { return op == ExpressionOp::Constant || op == ExpressionOp::Symbol; }

Status Expression::check(size_t symbolCount) const {
  if (nodes.size() > maxNodes)
    return failure(VX_INVALID_MODULE, "expression has {} nodes, allowed are {}", nodes.size(), maxNodes);
  for (size_t i = 0; i < nodes.size(); ++i) {
    const Node &node = nodes[i];
    switch (node.op) {
    case ExpressionOp::Symbol:
      if (node.value < 0 || static_cast<uint64_t>(node.value) >= symbolCount)
        return failure(VX_INVALID_MODULE, "expression uses symbol {}, there are {}", node.value, symbolCount);
      continue;
    case ExpressionOp::Constant:
      continue;
    case ExpressionOp::Add:
    case ExpressionOp::Mul:
    case ExpressionOp::FloorDiv:
    case ExpressionOp::CeilDiv:
    case ExpressionOp::Mod:
    case ExpressionOp::Max:
    case ExpressionOp::Min:
    case ExpressionOp::Broadcast:
      if (uint32_t operand = std::max(node.lhs, node.rhs); operand >= i)
        return failure(VX_INVALID_MODULE, "expression node {} has node {} for an operand, allowed are those before it",
                       i, operand);
      continue;
    }
    return failure(VX_INVALID_MODULE, "expression node {} has the unknown operation {}", i, static_cast<int>(node.op));
  }
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
  case ExpressionOp::Broadcast:
    return "broadcast";
  default:
    return "?";
  }
}

Status Expression::evaluate(std::span<const int64_t> symbols, int64_t &result) const {
  // Sizes of tensors are small; only a large expression allocates.
  std::array<int64_t, 64> few;
  std::vector<int64_t> many(nodes.size() > few.size() ? nodes.size() : 0);
  int64_t *values = many.empty() ? few.data() : many.data();
  for (size_t i = 0; i < nodes.size(); ++i) {
    const Node &node = nodes[i];
    if (isLeaf(node.op)) {
      values[i] = node.op == ExpressionOp::Constant ? node.value : symbols[static_cast<size_t>(node.value)];
      continue;
    }
    int64_t a = values[node.lhs], b = values[node.rhs], value = 0;
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
    case ExpressionOp::Broadcast:
      value = a == 1 ? b : a;
      break;
    default:
      ok = false;
      break;
    }
    if (!ok) {
      std::string text = many.empty() ? "'" + toString({}) + "'" : fmt::format("of {} nodes", nodes.size());
      return failure(VX_FAULT, "size expression {}: {} {} {} is no 64-bit number", text, a, operatorText(node.op), b);
    }
    values[i] = value;
  }
  result = nodes.empty() ? 0 : values[nodes.size() - 1];
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
  // How often each node is used, and how many nodes it is when nothing is shared.
  constexpr uint64_t large = 200;
  constexpr size_t maxCharacters = 64 * 1024;
  std::vector<uint32_t> uses(nodes.size());
  std::vector<uint64_t> unfolded(nodes.size(), 1);
  uses.back() = 1;
  for (size_t i = nodes.size(); i-- > 0;)
    if (uses[i] > 0 && !isLeaf(nodes[i].op)) {
      ++uses[nodes[i].lhs];
      ++uses[nodes[i].rhs];
    }
  for (size_t i = 0; i < nodes.size(); ++i)
    if (!isLeaf(nodes[i].op))
      unfolded[i] = std::min(1 + unfolded[nodes[i].lhs] + unfolded[nodes[i].rhs], large + 1);
  bool isLarge = unfolded.back() > large;

  struct Part {
    std::string text;
    int precedence; // 3 atom, 2 product, 1 sum
  };
  std::vector<Part> parts(nodes.size());
  std::string definitions;
  size_t definitionCount = 0;
  auto parenthesised = [](const Part &part, int needed) {
    return part.precedence < needed ? "(" + part.text + ")" : part.text;
  };
  size_t characters = 0; // a file's names may be as long as it likes
  for (size_t i = 0; i < nodes.size(); ++i) {
    const Node &node = nodes[i];
    if (uses[i] == 0)
      continue;
    if (i > 0)
      characters += parts[i - 1].text.size();
    if (characters > maxCharacters)
      return fmt::format("an expression of {} nodes", nodes.size());
    if (node.op == ExpressionOp::Constant) {
      parts[i] = {fmt::format("{}", node.value), 3};
      continue;
    }
    if (node.op == ExpressionOp::Symbol) {
      auto index = static_cast<size_t>(node.value);
      parts[i] = {index < names.size() && !names[index].empty() ? names[index] : fmt::format("s{}", index), 3};
      continue;
    }
    const Part &a = parts[node.lhs], &b = parts[node.rhs];
    if (node.op == ExpressionOp::Max || node.op == ExpressionOp::Min || node.op == ExpressionOp::Broadcast) {
      parts[i] = {fmt::format("{}({}, {})", operatorText(node.op), a.text, b.text), 3};
    } else {
      int precedence = node.op == ExpressionOp::Add ? 1 : 2;
      parts[i] = {fmt::format("{} {} {}", parenthesised(a, precedence), operatorText(node.op),
                              parenthesised(b, precedence + 1)),
                  precedence};
    }
    // A long text is named too: a chain would be copied once for each of its links.
    if (isLarge && i + 1 < nodes.size() && (uses[i] > 1 || parts[i].text.size() > large)) {
      std::string term = fmt::format("t{}", definitionCount++);
      definitions += fmt::format("{}{} = {}", definitions.empty() ? " with " : ", ", term, parts[i].text);
      parts[i] = {term, 3};
    }
  }
  return parts.back().text + definitions;
}

} // namespace vx
