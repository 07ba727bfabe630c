// Values of templates, which behave as Python's.
#ifndef VX_TEXT_JINJA_VALUE_H
#define VX_TEXT_JINJA_VALUE_H

#include "vx/text/chat_template.hpp"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace vx::text::jinja {

struct Value;
struct List;
struct Dict;
struct Namespace;
struct Macro;
struct Loop;
struct Function;

enum class Kind : uint8_t {
  undefined,
  none,
  boolean,
  integer,
  real,
  string,
  list,
  dict,
  namespaced,
  macro,
  loop,
  function
};

// Every value but a number points to memory of the arena, so values are copied freely and may form cycles.
struct Value {
  Kind kind = Kind::undefined;
  bool isSafe = false; // of a string: marked by `safe`
  union {
    bool boolean;
    int64_t integer = 0;
    double real;
    const std::string *string; // of undefined: its description, or null
    List *list;
    Dict *dict;
    Namespace *names;
    Macro *macro;
    Loop *loop;
    const Function *function;
  };

  static Value none();
  static Value of(bool value);
  static Value of(int64_t value);
  static Value of(double value);

  bool isUndefined() const { return kind == Kind::undefined; }
  bool isNone() const { return kind == Kind::none; }
  bool isString() const { return kind == Kind::string; }
  bool isDict() const { return kind == Kind::dict; }
  bool isNumber() const { return kind == Kind::integer || kind == Kind::real || kind == Kind::boolean; }
  // A whole number, which true and false are too.
  bool isInteger() const { return kind == Kind::integer || kind == Kind::boolean; }
  std::string_view text() const { return *string; }
};

// A list, or one of Python's things that are like a list.
struct List {
  enum class Form : uint8_t {
    list,
    tuple,
    range,
    view, // dict.keys() and the like: has a length and no elements by number
    lazy  // a generator: is used up by the first loop over it
  };
  std::vector<Value> items;
  Form form = Form::list;
  const char *name = "";                // of a view: "dict_keys"
  int64_t begin = 0, end = 0, step = 1; // of a range
  std::string error;                    // of a generator: the error that ends it
};

struct Dict {
  std::vector<std::pair<Value, Value>> items; // in order of insertion
  const Value *find(const Value &key) const;
  const Value *find(std::string_view key) const;
  void set(const Value &key, const Value &value);
};

struct Namespace {
  Dict attributes;
};

// The arguments of a call.
struct Arguments {
  std::vector<Value> positional;
  std::vector<std::pair<std::string_view, Value>> named;
};

class Run;

// Something that can be called: of a value, or of the environment.
struct Function {
  const char *name;
  Value (*call)(Run &run, const Value &self, const Arguments &arguments);
  Value self = {};
};

// The state of one rendering: memory and bounds.
class Run {
public:
  Run(const RenderLimits &limits, std::string &output) : limits(limits), output(output) {}

  // Throw Error::argument past the bounds.
  void step(uint64_t count = 1);
  void charge(uint64_t bytes);
  void write(std::string_view text);

  Value string(std::string text, bool isSafe = false);
  Value list(std::vector<Value> items, List::Form form = List::Form::list, const char *name = "");
  Value dict(Dict items = {});
  Value names();
  Value function(const char *name, Value (*call)(Run &, const Value &, const Arguments &), const Value &self);
  Value undefined(std::string description);

  // One level deeper while it lives.
  class Level {
  public:
    explicit Level(Run &run);
    ~Level() { --run.depth; }

  private:
    Run &run;
  };

  // Fails with the line of the node that is being carried out.
  [[noreturn]] void fail(const std::string &what) const;

  size_t line = 0;
  const RenderLimits limits;
  // Where output goes: the caller's text, or that of a block or macro.
  class Capture {
  public:
    explicit Capture(Run &run) : run(run), begin(run.output.size()) {}
    // The text written since; it is removed from the output.
    std::string take() {
      std::string text = run.output.substr(begin);
      run.output.resize(begin);
      return text;
    }

  private:
    Run &run;
    size_t begin;
  };

private:
  std::string &output;
  uint64_t steps = 0, bytes = 0, depth = 0;
  std::deque<std::string> strings;
  std::deque<List> lists;
  std::deque<Dict> dicts;
  std::deque<Namespace> namespaces;
  std::deque<Function> functions;
};

// "str", "int", "dict", as Python's error messages have it.
const char *typeName(const Value &value);
bool isTrue(const Value &value);
bool isEqual(Run &run, const Value &a, const Value &b);
// Less than 0, 0 or more than 0; fails where Python has no order.
int compare(Run &run, const Value &a, const Value &b);
// Null where there is none; fails where a value cannot be a key.
const Value *findKey(Run &run, const Dict &dict, const Value &key);
bool contains(Run &run, const Value &container, const Value &item);

// Sorts stably, by merges. `less` may throw, and may be no order at all, as with NaN among numbers.
template <typename Item, typename Less>
void mergeSort(std::vector<Item> &items, Less less) {
  std::vector<Item> merged(items.size());
  for (size_t width = 1; width < items.size(); width *= 2) {
    for (size_t begin = 0; begin < items.size(); begin += 2 * width) {
      const size_t middle = std::min(begin + width, items.size()), end = std::min(begin + 2 * width, items.size());
      size_t left = begin, right = middle;
      for (size_t to = begin; to < end; ++to)
        merged[to] = items[left >= middle || (right < end && less(items[right], items[left])) ? right++ : left++];
    }
    items.swap(merged);
  }
}

// str() and repr().
std::string toText(Run &run, const Value &value);
std::string toRepr(Run &run, const Value &value);
std::string realText(double value);

struct JsonOptions {
  bool isAscii = false, sortsKeys = false;
  int64_t indent = -1; // spaces a level; less than 0: on one line
  std::string itemSeparator = ", ", keySeparator = ": ", indentText;
};
// As Python's json.dumps.
std::string toJson(Run &run, const Value &value, const JsonOptions &options);
// The value of a JSON text. Throws Error::argument.
Value readJson(Run &run, std::string_view json);

// The elements that a loop over the value has; fails where it has none. A lazy list is used up.
std::vector<Value> iterate(Run &run, const Value &value);
// Calls `visit` for each item, until it returns false. The error of a generator comes after its items, and
// items that are not visited stay in it.
template <typename Visit>
void visitItems(Run &run, const Value &value, Visit visit) {
  if (value.kind != Kind::list || value.list->form != List::Form::lazy) {
    for (const Value &item : iterate(run, value))
      if (!visit(item))
        return;
    return;
  }
  run.step();
  List &generator = *value.list;
  const std::vector<Value> items = std::exchange(generator.items, {});
  for (size_t i = 0; i < items.size(); ++i)
    if (!visit(items[i])) {
      generator.items.assign(items.begin() + static_cast<std::ptrdiff_t>(i) + 1, items.end());
      return;
    }
  if (!generator.error.empty())
    throw Error(Error::Kind::argument, generator.error);
}
// Its length; fails where it has none.
int64_t lengthOf(Run &run, const Value &value);

// By `.name` and by `[key]`; undefined where there is none.
Value attributeOf(Run &run, const Value &value, std::string_view name);
Value itemOf(Run &run, const Value &value, const Value &key);
Value sliceOf(Run &run, const Value &value, const Value &begin, const Value &end, const Value &step);
// A method of a string, list or dict; undefined where Python has none.
Value methodOf(Run &run, const Value &value, std::string_view name);

// `left % right` of strings, and the filter `format`.
std::string formatPercent(Run &run, std::string_view format, const Value &arguments);
// `format.format(...)`.
std::string formatBraces(Run &run, std::string_view format, const Arguments &arguments);

// Arguments by position or name.
class ArgumentReader {
public:
  ArgumentReader(Run &run, const char *function, const Arguments &arguments)
      : run(run), function(function), arguments(arguments) {}
  // Null where it is missing.
  const Value *find(size_t position, std::string_view name);
  Value get(size_t position, std::string_view name); // fails where it is missing
  Value get(size_t position, std::string_view name, const Value &otherwise);
  int64_t integer(size_t position, std::string_view name, int64_t otherwise);
  bool boolean(size_t position, std::string_view name, bool otherwise);
  std::string_view text(size_t position, std::string_view name, std::string_view otherwise);
  // Fails where an argument was not asked for.
  void finish();

private:
  Run &run;
  const char *function;
  const Arguments &arguments;
  size_t positions = 0;
  std::vector<std::string_view> names;
};

using Filter = Value (*)(Run &run, const Value &value, const Arguments &arguments);
using Test = bool (*)(Run &run, const Value &value, const Arguments &arguments);
// Null where there is none.
Filter findFilter(std::string_view name);
Test findTest(std::string_view name);

Value callFunction(Run &run, const Value &callee, const Arguments &arguments);
// range, dict, namespace, ...; undefined where there is none.
Value globalOf(Run &run, std::string_view name);

} // namespace vx::text::jinja

#endif
