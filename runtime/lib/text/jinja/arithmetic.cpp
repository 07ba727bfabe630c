#include "text/jinja/arithmetic.h"

#include "text/jinja/evaluate.h"

#include <cmath>

namespace vx::text::jinja {

namespace {

double realOf(const Value &value) {
  return value.kind == Kind::real      ? value.real
         : value.kind == Kind::boolean ? static_cast<double>(value.boolean)
                                       : static_cast<double>(value.integer);
}
int64_t wholeOf(const Value &value) { return value.kind == Kind::boolean ? value.boolean : value.integer; }

[[noreturn]] void failUndefined(Run &run, const Value &value) {
  run.fail(value.string ? *value.string : "a value is undefined");
}

Value repeat(Run &run, const Value &value, int64_t count) {
  count = std::max<int64_t>(count, 0);
  const uint64_t size = value.isString() ? value.string->size() : value.list->items.size() * sizeof(Value);
  if (size && static_cast<uint64_t>(count) > run.limits.most_memory / size)
    run.fail("the template makes values of more than " + std::to_string(run.limits.most_memory) + " bytes");
  run.charge(size * static_cast<uint64_t>(count));
  if (!size)
    count = std::min<int64_t>(count, 1);
  if (value.isString()) {
    std::string text;
    text.reserve(size * static_cast<uint64_t>(count));
    for (int64_t i = 0; i < count; ++i)
      text += *value.string;
    return run.string(std::move(text), value.isSafe);
  }
  std::vector<Value> items;
  for (int64_t i = 0; i < count; ++i)
    items.insert(items.end(), value.list->items.begin(), value.list->items.end());
  return run.list(std::move(items), value.list->form);
}

bool isSequence(const Value &value) {
  return value.isString() || (value.kind == Kind::list && value.list->form <= List::Form::tuple);
}

int64_t power(Run &run, int64_t base, int64_t exponent) {
  int64_t made = 1;
  while (true) {
    if (exponent & 1 && __builtin_mul_overflow(made, base, &made))
      run.fail("a whole number is too large, expected less than 2^63");
    exponent >>= 1;
    if (!exponent)
      return made;
    if (__builtin_mul_overflow(base, base, &base))
      run.fail("a whole number is too large, expected less than 2^63");
  }
}

Value computeWhole(Run &run, Operation operation, int64_t a, int64_t b) {
  int64_t made = 0;
  bool isTooLarge = false;
  switch (operation) {
  case Operation::add:
    isTooLarge = __builtin_add_overflow(a, b, &made);
    break;
  case Operation::subtract:
    isTooLarge = __builtin_sub_overflow(a, b, &made);
    break;
  case Operation::multiply:
    isTooLarge = __builtin_mul_overflow(a, b, &made);
    break;
  case Operation::power:
    if (b < 0)
      return a == 0 ? (run.fail("division by zero"), Value())
                    : Value::of(std::pow(static_cast<double>(a), static_cast<double>(b)));
    made = power(run, a, b);
    break;
  default: // floorDivide, remainder
    if (b == 0)
      run.fail("division by zero");
    if (b == -1) {
      isTooLarge = operation == Operation::floorDivide && a == INT64_MIN;
      made = operation == Operation::floorDivide && !isTooLarge ? -a : 0;
    } else {
      const int64_t rest = a % b, adjusts = rest != 0 && (rest < 0) != (b < 0);
      made = operation == Operation::floorDivide ? a / b - adjusts : rest + (adjusts ? b : 0);
    }
  }
  if (isTooLarge)
    run.fail("a whole number is too large, expected less than 2^63");
  return Value::of(made);
}

Value computeReal(Run &run, Operation operation, double a, double b) {
  switch (operation) {
  case Operation::add:
    return Value::of(a + b);
  case Operation::subtract:
    return Value::of(a - b);
  case Operation::multiply:
    return Value::of(a * b);
  case Operation::power: {
    if ((a == 0 && b < 0) || (a < 0 && std::isfinite(b) && b != std::floor(b)))
      run.fail("a power has no real value");
    const double made = std::pow(a, b);
    if (std::isinf(made) && std::isfinite(a) && std::isfinite(b))
      run.fail("a power is too large");
    return Value::of(made);
  }
  default:
    break;
  }
  if (b == 0)
    run.fail("division by zero");
  if (operation == Operation::divide)
    return Value::of(a / b);
  double rest = std::fmod(a, b);
  if (rest != 0 ? (rest < 0) != (b < 0) : false)
    rest += b;
  else if (rest == 0)
    rest = std::copysign(0.0, b);
  if (operation == Operation::remainder)
    return Value::of(rest);
  double quotient = (a - rest) / b;
  if (quotient != 0) {
    const double floored = std::floor(quotient);
    quotient = quotient - floored > 0.5 ? floored + 1 : floored;
  } else {
    quotient = std::copysign(0.0, a / b);
  }
  return Value::of(quotient);
}

} // namespace

std::string escapeHtml(std::string_view text) {
  std::string made;
  for (char c : text)
    switch (c) {
    case '&':
      made += "&amp;";
      break;
    case '<':
      made += "&lt;";
      break;
    case '>':
      made += "&gt;";
      break;
    case '\'':
      made += "&#39;";
      break;
    case '"':
      made += "&#34;";
      break;
    default:
      made += c;
    }
  return made;
}

Value compute(Run &run, Operation operation, const Value &left, const Value &right) {
  if (operation == Operation::remainder && left.isString())
    return run.string(formatPercent(run, left.text(), right));
  if (left.isUndefined() || right.isUndefined())
    failUndefined(run, left.isUndefined() ? left : right);
  if (left.isNumber() && right.isNumber())
    return left.isInteger() && right.isInteger() && operation != Operation::divide
               ? computeWhole(run, operation, wholeOf(left), wholeOf(right))
               : computeReal(run, operation, realOf(left), realOf(right));
  if (operation == Operation::add && left.isString() && right.isString()) {
    const bool isSafe = left.isSafe || right.isSafe;
    const auto part = [&](const Value &value) {
      return isSafe && !value.isSafe ? escapeHtml(value.text()) : *value.string;
    };
    return run.string(part(left) + part(right), isSafe);
  }
  if (operation == Operation::add && left.kind == Kind::list && right.kind == Kind::list && isSequence(left) &&
      left.list->form == right.list->form) {
    std::vector<Value> items = left.list->items;
    items.insert(items.end(), right.list->items.begin(), right.list->items.end());
    return run.list(std::move(items), left.list->form);
  }
  if (operation == Operation::multiply && isSequence(left) && right.isInteger())
    return repeat(run, left, wholeOf(right));
  if (operation == Operation::multiply && isSequence(right) && left.isInteger())
    return repeat(run, right, wholeOf(left));
  const bool isKeysOrItems = left.kind == Kind::list && left.list->form == List::Form::view &&
                             left.list->name != std::string_view("dict_values");
  if (operation == Operation::subtract && isKeysOrItems && right.kind >= Kind::string)
    run.fail("a set, which the difference of keys or items of a dict is, is not supported");
  static constexpr const char *marks[] = {"+", "-", "*", "/", "//", "%", "**"};
  run.fail(std::string("'") + marks[static_cast<int>(operation) - static_cast<int>(Operation::add)] +
           "' is not defined between '" + typeName(left) + "' and '" + typeName(right) + "'");
}

Value negate(Run &run, const Value &value, bool isNegative) {
  if (value.isUndefined())
    failUndefined(run, value);
  if (!value.isNumber())
    run.fail(std::string("a sign is not defined for a value of '") + typeName(value) + "'");
  if (value.kind == Kind::real)
    return Value::of(isNegative ? -value.real : value.real);
  return isNegative ? computeWhole(run, Operation::subtract, 0, wholeOf(value)) : Value::of(wholeOf(value));
}

bool isOrdered(Run &run, const Value &left, const Value &right, Comparison comparison) {
  // Nothing is less or greater than NaN.
  if (left.isNumber() && right.isNumber() && (std::isnan(realOf(left)) || std::isnan(realOf(right))))
    return false;
  const int order = compare(run, left, right);
  return comparison == Comparison::less        ? order < 0
         : comparison == Comparison::lessEqual ? order <= 0
         : comparison == Comparison::greater   ? order > 0
                                               : order >= 0;
}

namespace {

Value loopAttribute(Run &run, const Value &value, std::string_view name) {
  const Loop &loop = *value.loop;
  const size_t count = loop.items->size();
  const auto whole = [](size_t number) { return Value::of(static_cast<int64_t>(number)); };
  if (name == "index")
    return whole(loop.index + 1);
  if (name == "index0")
    return whole(loop.index);
  if (name == "revindex")
    return whole(count - loop.index);
  if (name == "revindex0")
    return whole(count - loop.index - 1);
  if (name == "first")
    return Value::of(loop.index == 0);
  if (name == "last")
    return Value::of(loop.index + 1 == count);
  if (name == "length")
    return whole(count);
  if (name == "depth")
    return whole(loop.depth);
  if (name == "depth0")
    return whole(loop.depth - 1);
  if (name == "previtem")
    return loop.index > 0 ? (*loop.items)[loop.index - 1] : run.undefined("there is no previous item");
  if (name == "nextitem")
    return loop.index + 1 < count ? (*loop.items)[loop.index + 1] : run.undefined("there is no next item");
  if (name == "cycle")
    return run.function(
        "cycle",
        [](Run &run, const Value &self, const Arguments &arguments) {
          if (arguments.positional.empty())
            run.fail("cycle: no items for cycling given");
          return arguments.positional[self.loop->index % arguments.positional.size()];
        },
        value);
  if (name == "changed")
    return run.function(
        "changed",
        [](Run &run, const Value &self, const Arguments &arguments) {
          const Value now = run.list(arguments.positional, List::Form::tuple);
          const bool isChanged = !self.loop->hasChanged || !isEqual(run, self.loop->lastChanged, now);
          self.loop->lastChanged = now;
          self.loop->hasChanged = true;
          return Value::of(isChanged);
        },
        value);
  return run.undefined("'loop' has no attribute '" + std::string(name) + "'");
}

Value missing(Run &run, const Value &value, std::string_view name) {
  return run.undefined(std::string("'") + typeName(value) + "' object has no attribute '" + std::string(name) + "'");
}

} // namespace

Value attributeOf(Run &run, const Value &value, std::string_view name) {
  if (value.isUndefined())
    failUndefined(run, value);
  if (value.kind == Kind::loop)
    return loopAttribute(run, value, name);
  if (value.kind == Kind::namespaced) {
    const Value *found = value.names->attributes.find(name);
    return found ? *found : missing(run, value, name);
  }
  if (value.kind == Kind::macro)
    return name == "name" ? run.string(value.macro->statement->text) : missing(run, value, name);
  const Value method = methodOf(run, value, name);
  if (!method.isUndefined())
    return method;
  if (value.isDict()) {
    run.step(value.dict->items.size() / 8);
    if (const Value *found = value.dict->find(name))
      return *found;
  }
  return missing(run, value, name);
}

Value subscript(Run &run, const Value &value, const Value &key) {
  if (value.isUndefined())
    failUndefined(run, value);
  const Value item = itemOf(run, value, key);
  // A dict may hold what is undefined.
  if (!item.isUndefined() || item.string)
    return item;
  if (key.isString())
    return attributeOf(run, value, key.text());
  return run.undefined(std::string("'") + typeName(value) + "' object has no such element");
}

} // namespace vx::text::jinja
