// Tests, by the documentation of Jinja 3.1, and the functions of a template.
#include "text/jinja/arithmetic.h"
#include "text/jinja/evaluate.h"

#include <algorithm>
#include <array>
#include <ctime>

namespace vx::text::jinja {

namespace {

Value argumentOf(Run &run, const Arguments &arguments) {
  if (arguments.positional.size() != 1 || !arguments.named.empty())
    run.fail("the test needs one argument, got " +
             std::to_string(arguments.positional.size() + arguments.named.size()));
  return arguments.positional[0];
}

bool isOdd(Run &run, const Value &value) {
  return isEqual(run, compute(run, Operation::remainder, value, Value::of(int64_t(2))), Value::of(int64_t(1)));
}
bool isEven(Run &run, const Value &value) {
  return isEqual(run, compute(run, Operation::remainder, value, Value::of(int64_t(2))), Value::of(int64_t(0)));
}

bool hasCase(Run &run, const Value &value, std::string_view method) {
  return isTrue(callFunction(run, methodOf(run, run.string(toText(run, value)), method), {}));
}

bool isLike(const Value &value, bool needsNumbers) {
  switch (value.kind) {
  case Kind::string:
  case Kind::dict:
  case Kind::undefined: // it has no elements
    return true;
  case Kind::list:
    return !needsNumbers || value.list->form <= List::Form::range;
  case Kind::loop:
    return !needsNumbers;
  default:
    return false;
  }
}

template <Comparison comparison>
bool ordered(Run &run, const Value &value, const Arguments &arguments) {
  return isOrdered(run, value, argumentOf(run, arguments), comparison);
}
bool equalTest(Run &run, const Value &value, const Arguments &arguments) {
  return isEqual(run, value, argumentOf(run, arguments));
}
bool unequalTest(Run &run, const Value &value, const Arguments &arguments) {
  return !isEqual(run, value, argumentOf(run, arguments));
}

/// One without an argument.
template <bool (*test)(Run &, const Value &)>
bool bare(Run &run, const Value &value, const Arguments &arguments) {
  ArgumentReader(run, "the test", arguments).finish();
  return test(run, value);
}

struct NamedTest {
  std::string_view name;
  Test test;
};

constexpr auto Tests = std::to_array<NamedTest>({
    {"!=", unequalTest},
    {"<", ordered<Comparison::less>},
    {"<=", ordered<Comparison::lessEqual>},
    {"==", equalTest},
    {">", ordered<Comparison::greater>},
    {">=", ordered<Comparison::greaterEqual>},
    {"boolean", bare<+[](Run &, const Value &value) { return value.kind == Kind::boolean; }>},
    {"callable", bare<+[](Run &, const Value &value) {
       return value.kind == Kind::macro || value.kind == Kind::function || value.kind == Kind::undefined;
     }>},
    {"defined", bare<+[](Run &, const Value &value) { return !value.isUndefined(); }>},
    {"divisibleby",
     [](Run &run, const Value &value, const Arguments &a) {
       return !isTrue(compute(run, Operation::remainder, value, argumentOf(run, a)));
     }},
    {"eq", equalTest},
    {"equalto", equalTest},
    {"even", bare<+[](Run &run, const Value &value) { return isEven(run, value); }>},
    {"false", bare<+[](Run &, const Value &value) { return value.kind == Kind::boolean && !value.boolean; }>},
    {"filter", [](Run &, const Value &value,
                  const Arguments &) { return value.isString() && findFilter(value.text()) != nullptr; }},
    {"float", bare<+[](Run &, const Value &value) { return value.kind == Kind::real; }>},
    {"ge", ordered<Comparison::greaterEqual>},
    {"greaterthan", ordered<Comparison::greater>},
    {"gt", ordered<Comparison::greater>},
    {"in", [](Run &run, const Value &value, const Arguments &a) { return contains(run, argumentOf(run, a), value); }},
    {"integer", bare<+[](Run &, const Value &value) { return value.kind == Kind::integer; }>},
    {"iterable", bare<+[](Run &, const Value &value) { return isLike(value, false); }>},
    {"le", ordered<Comparison::lessEqual>},
    {"lessthan", ordered<Comparison::less>},
    {"lower", bare<+[](Run &run, const Value &value) { return hasCase(run, value, "islower"); }>},
    {"lt", ordered<Comparison::less>},
    {"mapping", bare<+[](Run &, const Value &value) { return value.isDict(); }>},
    {"ne", unequalTest},
    {"none", bare<+[](Run &, const Value &value) { return value.isNone(); }>},
    {"number", bare<+[](Run &, const Value &value) { return value.isNumber(); }>},
    {"odd", bare<+[](Run &run, const Value &value) { return isOdd(run, value); }>},
    {"sequence", bare<+[](Run &, const Value &value) { return isLike(value, true); }>},
    {"string", bare<+[](Run &, const Value &value) { return value.isString(); }>},
    {"test", [](Run &, const Value &value,
                const Arguments &) { return value.isString() && findTest(value.text()) != nullptr; }},
    {"true", bare<+[](Run &, const Value &value) { return value.kind == Kind::boolean && value.boolean; }>},
    {"undefined", bare<+[](Run &, const Value &value) { return value.isUndefined(); }>},
    {"upper", bare<+[](Run &run, const Value &value) { return hasCase(run, value, "isupper"); }>},
});

constexpr int64_t MostRange = 100'000; // of Jinja's sandbox

Value rangeFunction(Run &run, const Value &, const Arguments &arguments) {
  const size_t count = arguments.positional.size();
  if (count < 1 || count > 3 || !arguments.named.empty())
    run.fail("range: expected 1 to 3 arguments, got " + std::to_string(count + arguments.named.size()));
  int64_t numbers[3];
  for (size_t i = 0; i < count; ++i) {
    const Value &value = arguments.positional[i];
    if (!value.isInteger())
      run.fail(std::string("range: expected a whole number, got '") + typeName(value) + "'");
    numbers[i] = value.kind == Kind::boolean ? int64_t(value.boolean) : value.integer;
  }
  const int64_t begin = count == 1 ? 0 : numbers[0], end = count == 1 ? numbers[0] : numbers[1],
                step = count == 3 ? numbers[2] : 1;
  if (step == 0)
    run.fail("range: the step is 0");
  std::vector<Value> items;
  for (__int128 at = begin; step > 0 ? at < end : at > end; at += step) {
    if (static_cast<int64_t>(items.size()) == MostRange)
      run.fail("range: expected at most " + std::to_string(MostRange) + " numbers");
    items.push_back(Value::of(static_cast<int64_t>(at)));
  }
  Value made = run.list(std::move(items), List::Form::range);
  made.list->begin = begin;
  made.list->end = end;
  made.list->step = step;
  return made;
}

/// A dict of another dict or of pairs, and of arguments by name.
Dict dictOf(Run &run, const Arguments &arguments, const char *name) {
  Dict dict;
  if (arguments.positional.size() > 1)
    run.fail(std::string(name) + ": expected at most 1 argument by position, got " +
             std::to_string(arguments.positional.size()));
  for (const Value &from : arguments.positional) {
    if (from.isDict()) {
      dict = *from.dict;
      continue;
    }
    for (const Value &pair : iterate(run, from)) {
      const std::vector<Value> parts = iterate(run, pair);
      if (parts.size() != 2 || parts[0].kind >= Kind::list)
        run.fail(std::string(name) + ": expected pairs of a key and a value");
      run.step(dict.items.size() / 8);
      dict.set(parts[0], parts[1]);
    }
  }
  for (const auto &[key, value] : arguments.named)
    dict.set(run.string(std::string(key)), value);
  return dict;
}

struct NamedFunction {
  std::string_view name;
  Value (*call)(Run &, const Value &, const Arguments &);
};

constexpr auto Functions = std::to_array<NamedFunction>({
    {"range", rangeFunction},
    {"dict", [](Run &run, const Value &, const Arguments &a) { return run.dict(dictOf(run, a, "dict")); }},
    {"namespace",
     [](Run &run, const Value &, const Arguments &a) {
       Value made = run.names();
       made.names->attributes = dictOf(run, a, "namespace");
       return made;
     }},
    {"raise_exception",
     [](Run &run, const Value &, const Arguments &a) -> Value {
       ArgumentReader reader(run, "raise_exception", a);
       const std::string message = toText(run, reader.get(0, "message"));
       reader.finish();
       run.fail("the template refuses the messages: " + message);
     }},
    {"strftime_now",
     [](Run &run, const Value &, const Arguments &a) {
       ArgumentReader reader(run, "strftime_now", a);
       const std::string format(reader.text(0, "format", ""));
       reader.finish();
       const std::time_t now = run.limits.now.value_or(std::time(nullptr));
       std::tm parts{};
       localtime_r(&now, &parts);
       if (format.size() > 1000)
         run.fail("strftime_now: expected a format of at most 1000 bytes");
       char text[8192];
       // 0 for an empty text as for one that is too long; a mark tells them apart.
       const size_t size = std::strftime(text, sizeof text, (format + " ").c_str(), &parts);
       if (size == 0)
         run.fail("strftime_now: the text is too long");
       return run.string(std::string(text, size - 1));
     }},
});

} // namespace

Test findTest(std::string_view name) {
  const auto found = std::ranges::find(Tests, name, &NamedTest::name);
  return found == Tests.end() ? nullptr : found->test;
}

Value globalOf(Run &run, std::string_view name) {
  const auto found = std::ranges::find(Functions, name, &NamedFunction::name);
  return found == Functions.end() ? Value() : run.function(found->name.data(), found->call, {});
}

Value callFunction(Run &run, const Value &callee, const Arguments &arguments) {
  if (callee.kind == Kind::function)
    return callee.function->call(run, callee.function->self, arguments);
  if (callee.isUndefined())
    run.fail(callee.string ? *callee.string : "a value is undefined");
  run.fail(std::string("a value of '") + typeName(callee) + "' cannot be called");
}

} // namespace vx::text::jinja
