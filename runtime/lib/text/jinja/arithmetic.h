// Operators between values, and access to their parts.
#ifndef VX_TEXT_JINJA_ARITHMETIC_H
#define VX_TEXT_JINJA_ARITHMETIC_H

#include "text/jinja/syntax.h"

namespace vx::text::jinja {

// Fail where Python does, and where a whole number leaves 64 bits.
Value compute(Run &run, Operation operation, const Value &left, const Value &right);
Value negate(Run &run, const Value &value, bool isNegative);
bool isOrdered(Run &run, const Value &left, const Value &right, Comparison comparison);
// `value[key]`.
Value subscript(Run &run, const Value &value, const Value &key);

std::string escapeHtml(std::string_view text);

} // namespace vx::text::jinja

#endif
