// A template as a tree.
#ifndef VX_TEXT_JINJA_SYNTAX_H
#define VX_TEXT_JINJA_SYNTAX_H

#include "text/jinja/value.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace vx::text::jinja {

struct Expression;
using ExpressionPointer = std::unique_ptr<Expression>;

struct Argument {
  std::string name; // empty: by position
  ExpressionPointer value;
};

enum class Operation : uint8_t {
  literal, // `value` or `text`
  name,    // `text`
  list,
  tuple,
  dict,      // `parts` are key, value, key, value, ...
  attribute, // parts[0].text
  item,      // parts[0][parts[1]]
  slice,     // parts[0][parts[1]:parts[2]:parts[3]], parts null where left out
  call,      // parts[0](arguments)
  filter,    // parts[0] | text(arguments); parts[0] null in a block of `filter` or `set`
  test,      // parts[0] is text(arguments), or is not where isNegated
  negative,
  positive,
  logicalNot,
  logicalAnd,
  logicalOr,
  conditional, // parts[0] if parts[1] else parts[2], which may be null
  concatenate,
  add,
  subtract,
  multiply,
  divide,
  floorDivide,
  remainder,
  power,
  compare // parts[0] comparisons[0] parts[1] comparisons[1] ...
};

enum class Comparison : uint8_t { equal, unequal, less, lessEqual, greater, greaterEqual, in, notIn };

struct Expression {
  Operation operation = Operation::literal;
  bool isNegated = false, isText = false; // of a literal: `text` holds it
  uint32_t line = 0;
  Value value;
  std::string text;
  Filter filter = nullptr;
  Test test = nullptr;
  std::vector<ExpressionPointer> parts;
  std::vector<Argument> arguments;
  std::vector<Comparison> comparisons;
};

struct Statement;
using Body = std::vector<std::unique_ptr<Statement>>;

enum class Action : uint8_t {
  data,   // `text`
  output, // `value`
  branch, // if `value` body else other; elif is an `if` in `other`
  loop,   // for `target` in `value` if `condition` body else other
  set,    // target = value
  block,  // target = body through `value`, which may be null
  macro,  // `text`(parameters) body
  filter, // body through `value`
  scope,  // with targets = values: body
  part,   // body, as generation marks it
  leave,
  proceed
};

struct Parameter {
  std::string name;
  ExpressionPointer otherwise; // null: none
};

struct Statement {
  Action action = Action::data;
  uint32_t line = 0;
  std::string text;
  ExpressionPointer target, value, condition;
  Body body, other;
  std::vector<Parameter> parameters; // of a macro and of `with`
};

struct Syntax {
  Body body;
};

// Throws Error::file with the line.
Syntax parseTemplate(std::string_view source);

} // namespace vx::text::jinja

#endif
