// Carries out a template.
#ifndef VX_TEXT_JINJA_EVALUATE_H
#define VX_TEXT_JINJA_EVALUATE_H

#include "text/jinja/syntax.h"

#include <unordered_map>

namespace vx::text::jinja {

// Variables of a part of a template, and those around it.
struct Scope {
  std::unordered_map<std::string_view, Value> variables;
  Scope *outer = nullptr;
};

struct Macro {
  const Statement *statement;
  Scope *scope; // where it was defined
};

struct Loop {
  const std::vector<Value> *items;
  size_t index = 0, depth = 1;
  Value lastChanged = {}; // of changed(), a list of its arguments
  bool hasChanged = false;
};

void evaluate(Run &run, const Syntax &syntax, const Value &variables);

} // namespace vx::text::jinja

#endif
