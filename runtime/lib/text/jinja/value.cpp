#include "text/jinja/value.h"

#include "text/characters.h"
#include "vx/base/printable.h"
#include "vx/base/utf8.h"

#include <nlohmann/json.hpp>
#include <utf8proc.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace vx::text::jinja {

Value Value::none() {
  Value value;
  value.kind = Kind::none;
  return value;
}
Value Value::of(bool boolean) {
  Value value;
  value.kind = Kind::boolean;
  value.boolean = boolean;
  return value;
}
Value Value::of(int64_t integer) {
  Value value;
  value.kind = Kind::integer;
  value.integer = integer;
  return value;
}
Value Value::of(double real) {
  Value value;
  value.kind = Kind::real;
  value.real = real;
  return value;
}

namespace {

/// Whether two keys of a dict are one: numbers by their value, else of one kind.
bool isSameKey(const Value &a, const Value &b) {
  if (a.isString() && b.isString())
    return *a.string == *b.string;
  if (a.isInteger() && b.isInteger())
    return (a.kind == Kind::boolean ? a.boolean : a.integer) == (b.kind == Kind::boolean ? b.boolean : b.integer);
  if (a.isNumber() && b.isNumber()) {
    const auto number = [](const Value &value) {
      return value.kind == Kind::real
                 ? value.real
                 : static_cast<double>(value.kind == Kind::boolean ? value.boolean : value.integer);
    };
    return number(a) == number(b);
  }
  return a.kind == b.kind && a.isNone();
}

double numberOf(const Value &value) {
  return value.kind == Kind::real      ? value.real
         : value.kind == Kind::boolean ? static_cast<double>(value.boolean)
                                       : static_cast<double>(value.integer);
}

} // namespace

const Value *Dict::find(const Value &key) const {
  const auto found = std::ranges::find_if(items, [&](const auto &item) { return isSameKey(item.first, key); });
  return found == items.end() ? nullptr : &found->second;
}
const Value *Dict::find(std::string_view key) const {
  const auto found =
      std::ranges::find_if(items, [&](const auto &item) { return item.first.isString() && item.first.text() == key; });
  return found == items.end() ? nullptr : &found->second;
}
void Dict::set(const Value &key, const Value &value) {
  if (const Value *found = find(key))
    *const_cast<Value *>(found) = value;
  else
    items.emplace_back(key, value);
}

void Run::fail(const std::string &what) const {
  throw Error(Error::Kind::argument, "line " + std::to_string(line) + ": " + printableLine(what));
}

void Run::step(uint64_t count) {
  steps += count;
  if (steps > limits.most_steps)
    fail("the template takes more than " + std::to_string(limits.most_steps) + " steps");
}

void Run::charge(uint64_t more) {
  bytes += more;
  if (bytes > limits.most_memory)
    fail("the template makes values of more than " + std::to_string(limits.most_memory) + " bytes");
  step(more / 256);
}

void Run::write(std::string_view text) {
  if (output.size() + text.size() > limits.most_output)
    fail("the template writes more than " + std::to_string(limits.most_output) + " bytes");
  output += text;
}

Run::Level::Level(Run &run) : run(run) {
  if (++run.depth > run.limits.most_depth) {
    --run.depth;
    run.fail("the template nests deeper than " + std::to_string(run.limits.most_depth) + " levels");
  }
}

Value Run::string(std::string text, bool isSafe) {
  charge(text.size() + sizeof(std::string));
  Value value;
  value.kind = Kind::string;
  value.isSafe = isSafe;
  value.string = &strings.emplace_back(std::move(text));
  return value;
}
Value Run::list(std::vector<Value> items, List::Form form, const char *name) {
  charge(items.size() * sizeof(Value) + sizeof(List));
  Value value;
  value.kind = Kind::list;
  value.list = &lists.emplace_back();
  value.list->items = std::move(items);
  value.list->form = form;
  value.list->name = name;
  return value;
}
Value Run::dict(Dict items) {
  charge(items.items.size() * 2 * sizeof(Value) + sizeof(Dict));
  Value value;
  value.kind = Kind::dict;
  value.dict = &dicts.emplace_back(std::move(items));
  return value;
}
Value Run::names() {
  charge(sizeof(Namespace));
  Value value;
  value.kind = Kind::namespaced;
  value.names = &namespaces.emplace_back();
  return value;
}
Value Run::function(const char *name, Value (*call)(Run &, const Value &, const Arguments &), const Value &self) {
  charge(sizeof(Function));
  Value value;
  value.kind = Kind::function;
  value.function = &functions.emplace_back(Function{name, call, self});
  return value;
}
Value Run::undefined(std::string description) {
  charge(description.size() + sizeof(std::string));
  Value value;
  value.string = &strings.emplace_back(std::move(description));
  return value;
}

const char *typeName(const Value &value) {
  switch (value.kind) {
  case Kind::undefined:
    return "Undefined";
  case Kind::none:
    return "NoneType";
  case Kind::boolean:
    return "bool";
  case Kind::integer:
    return "int";
  case Kind::real:
    return "float";
  case Kind::string:
    return "str";
  case Kind::list:
    switch (value.list->form) {
    case List::Form::list:
      return "list";
    case List::Form::tuple:
      return "tuple";
    case List::Form::range:
      return "range";
    case List::Form::view:
      return value.list->name;
    case List::Form::lazy:
      return "generator";
    }
    return "list";
  case Kind::dict:
    return "dict";
  case Kind::namespaced:
    return "Namespace";
  case Kind::macro:
    return "Macro";
  case Kind::loop:
    return "LoopContext";
  case Kind::function:
    return "function";
  }
  return "value";
}

bool isTrue(const Value &value) {
  switch (value.kind) {
  case Kind::undefined:
  case Kind::none:
    return false;
  case Kind::boolean:
    return value.boolean;
  case Kind::integer:
    return value.integer != 0;
  case Kind::real:
    return value.real != 0;
  case Kind::string:
    return !value.string->empty();
  case Kind::list:
    return value.list->form == List::Form::lazy || !value.list->items.empty();
  case Kind::dict:
    return !value.dict->items.empty();
  default:
    return true;
  }
}

bool isEqual(Run &run, const Value &a, const Value &b) {
  const Run::Level level(run);
  run.step();
  if (a.isNumber() && b.isNumber())
    return a.isInteger() && b.isInteger() ? isSameKey(a, b) : numberOf(a) == numberOf(b);
  if (a.kind != b.kind)
    return false;
  switch (a.kind) {
  case Kind::string:
    run.step(std::min(a.string->size(), b.string->size()) / 64);
    return *a.string == *b.string;
  case Kind::list:
    if (a.list == b.list)
      return true;
    if (a.list->form != b.list->form || a.list->form == List::Form::lazy || a.list->form == List::Form::view)
      return false;
    return std::ranges::equal(a.list->items, b.list->items,
                              [&](const Value &x, const Value &y) { return isEqual(run, x, y); });
  case Kind::dict:
    if (a.dict == b.dict)
      return true;
    if (a.dict->items.size() != b.dict->items.size())
      return false;
    run.step(a.dict->items.size());
    for (const auto &[key, value] : a.dict->items) {
      const Value *other = b.dict->find(key);
      if (!other || !isEqual(run, value, *other))
        return false;
    }
    return true;
  case Kind::undefined:
  case Kind::none:
    return true;
  case Kind::namespaced:
    return a.names == b.names;
  case Kind::function:
    return a.function == b.function;
  default:
    return a.loop == b.loop;
  }
}

int compare(Run &run, const Value &a, const Value &b) {
  const Run::Level level(run);
  run.step();
  if (a.isInteger() && b.isInteger()) {
    const int64_t x = a.kind == Kind::boolean ? a.boolean : a.integer,
                  y = b.kind == Kind::boolean ? b.boolean : b.integer;
    return x < y ? -1 : x > y;
  }
  if (a.isNumber() && b.isNumber()) {
    const double x = numberOf(a), y = numberOf(b);
    return x < y ? -1 : x > y;
  }
  if (a.isString() && b.isString()) {
    run.step(std::min(a.string->size(), b.string->size()) / 64);
    return a.string->compare(*b.string); // UTF-8 keeps the order of code points
  }
  if (a.kind == Kind::list && b.kind == Kind::list && a.list->form == b.list->form &&
      a.list->form <= List::Form::tuple) {
    for (size_t i = 0; i < a.list->items.size() && i < b.list->items.size(); ++i)
      if (!isEqual(run, a.list->items[i], b.list->items[i]))
        return compare(run, a.list->items[i], b.list->items[i]);
    return a.list->items.size() < b.list->items.size() ? -1 : a.list->items.size() > b.list->items.size();
  }
  if (a.isUndefined() || b.isUndefined()) {
    const Value &missing = a.isUndefined() ? a : b;
    run.fail(missing.string ? *missing.string : "a value is undefined");
  }
  run.fail(std::string("values of '") + typeName(a) + "' and '" + typeName(b) + "' have no order");
}

const Value *findKey(Run &run, const Dict &dict, const Value &key) {
  const Run::Level level(run);
  if (key.isDict() || (key.kind == Kind::list && key.list->form == List::Form::list))
    run.fail(std::string("a value of '") + typeName(key) + "' is no key of a dict");
  if (key.kind == Kind::list)
    for (const Value &part : key.list->items)
      findKey(run, dict, part);
  return key.kind < Kind::list ? dict.find(key) : nullptr;
}

bool contains(Run &run, const Value &container, const Value &item) {
  run.step();
  switch (container.kind) {
  case Kind::string:
    if (!item.isString())
      run.fail(std::string("'in <string>' needs a string on its left, got '") + typeName(item) + "'");
    run.step(container.string->size() / 16 * (1 + item.string->size() / 16));
    return container.string->find(*item.string) != std::string::npos;
  case Kind::dict:
    run.step(container.dict->items.size() / 8);
    return findKey(run, *container.dict, item) != nullptr;
  default:
    bool isFound = false;
    visitItems(run, container, [&](const Value &one) { return !(isFound = isEqual(run, one, item)); });
    return isFound;
  }
}

std::string realText(double value) {
  if (std::isnan(value))
    return "nan";
  if (std::isinf(value))
    return value < 0 ? "-inf" : "inf";
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific).ptr;
  std::string_view text(buffer, static_cast<size_t>(end - buffer));
  const bool isNegative = text.starts_with('-');
  text.remove_prefix(isNegative);
  const size_t mark = text.find('e');
  std::string digits(1, text[0]);
  if (mark > 2)
    digits += text.substr(2, mark - 2);
  int exponent = std::atoi(std::string(text.substr(mark + 1)).c_str());
  std::string made;
  if (exponent < -4 || exponent >= 16) {
    made = digits.substr(0, 1) + (digits.size() > 1 ? "." + digits.substr(1) : "") + "e" + (exponent < 0 ? "-" : "+") +
           (std::abs(exponent) < 10 ? "0" : "") + std::to_string(std::abs(exponent));
  } else if (exponent < 0) {
    made = "0." + std::string(static_cast<size_t>(-exponent - 1), '0') + digits;
  } else {
    const size_t whole = static_cast<size_t>(exponent) + 1;
    if (digits.size() < whole)
      digits.resize(whole, '0');
    made = digits.substr(0, whole) + "." + (digits.size() > whole ? digits.substr(whole) : "0");
  }
  return (isNegative ? "-" : "") + made;
}

namespace {

/// What str.isprintable() says of a character.
bool isPrintable(char32_t code) {
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(code))) {
  case UTF8PROC_CATEGORY_CC:
  case UTF8PROC_CATEGORY_CF:
  case UTF8PROC_CATEGORY_CS:
  case UTF8PROC_CATEGORY_CO:
  case UTF8PROC_CATEGORY_CN:
  case UTF8PROC_CATEGORY_ZL:
  case UTF8PROC_CATEGORY_ZP:
    return false;
  case UTF8PROC_CATEGORY_ZS:
    return code == ' ';
  default:
    return true;
  }
}

std::string hexText(char32_t code, int digits) {
  static constexpr char letters[] = "0123456789abcdef";
  std::string text;
  for (int i = digits - 1; i >= 0; --i)
    text += letters[code >> 4 * i & 15];
  return text;
}

std::string stringRepr(std::string_view text) {
  const char quote = text.find('\'') != text.npos && text.find('"') == text.npos ? '"' : '\'';
  std::string made(1, quote);
  for (size_t at = 0; at < text.size();) {
    const CodePoint point = codePointAt(text, at);
    if (point.code == '\\' || point.code == static_cast<char32_t>(quote))
      (made += '\\') += static_cast<char>(point.code);
    else if (point.code == '\n' || point.code == '\r' || point.code == '\t')
      made += point.code == '\n' ? "\\n" : point.code == '\r' ? "\\r" : "\\t";
    else if (isPrintable(point.code))
      made += text.substr(at, point.size);
    else
      made += point.code < 0x100     ? "\\x" + hexText(point.code, 2)
              : point.code < 0x10000 ? "\\u" + hexText(point.code, 4)
                                     : "\\U" + hexText(point.code, 8);
    at += point.size;
  }
  return made + quote;
}

void joinReprs(Run &run, std::string &text, std::span<const Value> items) {
  for (size_t i = 0; i < items.size(); ++i)
    (text += i ? ", " : "") += toRepr(run, items[i]);
}

} // namespace

std::string toRepr(Run &run, const Value &value) {
  const Run::Level level(run);
  run.step();
  std::string text;
  switch (value.kind) {
  case Kind::undefined:
    return "Undefined";
  case Kind::none:
    return "None";
  case Kind::boolean:
    return value.boolean ? "True" : "False";
  case Kind::integer:
    return std::to_string(value.integer);
  case Kind::real:
    return realText(value.real);
  case Kind::string:
    text = stringRepr(value.text());
    if (value.isSafe)
      text = "Markup(" + text + ")";
    break;
  case Kind::list: {
    const List &list = *value.list;
    if (list.form == List::Form::lazy)
      run.fail("the text of a generator is not supported; make a list of it with the filter 'list'");
    if (list.form == List::Form::range) {
      text = "range(" + std::to_string(list.begin) + ", " + std::to_string(list.end) +
             (list.step == 1 ? "" : ", " + std::to_string(list.step)) + ")";
      break;
    }
    const bool isTuple = list.form == List::Form::tuple;
    text = list.form == List::Form::view ? list.name + std::string("([") : isTuple ? "(" : "[";
    joinReprs(run, text, list.items);
    text += list.form == List::Form::view ? "])" : isTuple ? (list.items.size() == 1 ? ",)" : ")") : "]";
    break;
  }
  case Kind::dict:
    text = "{";
    for (size_t i = 0; i < value.dict->items.size(); ++i) {
      const auto &[key, item] = value.dict->items[i];
      text += (i ? ", " : "") + toRepr(run, key) + ": " + toRepr(run, item);
    }
    text += "}";
    break;
  case Kind::namespaced: {
    Value attributes;
    attributes.kind = Kind::dict;
    attributes.dict = &value.names->attributes;
    text = "<Namespace " + toRepr(run, attributes) + ">";
    break;
  }
  default:
    run.fail(std::string("the text of a value of '") + typeName(value) + "' is not supported");
  }
  run.charge(text.size());
  return text;
}

std::string toText(Run &run, const Value &value) {
  if (value.isString())
    return *value.string;
  return value.isUndefined() ? "" : toRepr(run, value);
}

namespace {

std::string jsonString(std::string_view text, bool isAscii) {
  std::string made = "\"";
  for (size_t at = 0; at < text.size();) {
    const CodePoint point = codePointAt(text, at);
    const char32_t code = point.code;
    static constexpr char controls[] = "\b\t\n\f\r", letters[] = "btnfr";
    if (code == '"' || code == '\\')
      (made += '\\') += static_cast<char>(code);
    else if (const char *found =
                 code > 0 && code < 32 ? std::char_traits<char>::find(controls, 5, static_cast<char>(code)) : nullptr)
      (made += '\\') += letters[found - controls];
    else if (code < 32 || (isAscii && code >= 127 && code < 0x10000))
      made += "\\u" + hexText(code, 4);
    else if (isAscii && code >= 0x10000)
      made += "\\u" + hexText(0xd800 + ((code - 0x10000) >> 10), 4) + "\\u" +
              hexText(0xdc00 + ((code - 0x10000) & 0x3ff), 4);
    else
      made += text.substr(at, point.size);
    at += point.size;
  }
  return made + "\"";
}

class JsonWriter {
public:
  JsonWriter(Run &run, const JsonOptions &options) : run(run), options(options) {}
  std::string text;

  void write(const Value &value) {
    const Run::Level level(run);
    const size_t begin = text.size();
    run.step();
    switch (value.kind) {
    case Kind::none:
      text += "null";
      break;
    case Kind::boolean:
      text += value.boolean ? "true" : "false";
      break;
    case Kind::integer:
      text += std::to_string(value.integer);
      break;
    case Kind::real:
      text += std::isnan(value.real)   ? "NaN"
              : std::isinf(value.real) ? (value.real < 0 ? "-Infinity" : "Infinity")
                                       : realText(value.real);
      break;
    case Kind::string:
      text += jsonString(value.text(), options.isAscii);
      break;
    case Kind::list:
      if (value.list->form > List::Form::tuple)
        refuse(value);
      writeAll(value.list->items.size(), '[', ']', [&](size_t i) { write(value.list->items[i]); });
      return; // the elements are charged
    case Kind::dict:
      writeDict(*value.dict);
      return;
    default:
      refuse(value);
    }
    run.charge(text.size() - begin);
  }

private:
  [[noreturn]] void refuse(const Value &value) const {
    run.fail(std::string("a value of '") + typeName(value) + "' has no JSON" +
             (value.isUndefined() && value.string ? ": " + *value.string : ""));
  }
  template <typename F>
  void writeAll(size_t count, char open, char close, F &&writeOne) {
    text += open;
    ++nesting;
    const std::string &separator = options.itemSeparator;
    for (size_t i = 0; i < count; ++i) {
      if (i)
        text += separator;
      newLine();
      writeOne(i);
    }
    --nesting;
    if (count)
      newLine();
    text += close;
  }
  void newLine() {
    if (options.indent < 0)
      return;
    run.charge(1 + nesting *
                       (options.indentText.empty() ? static_cast<size_t>(options.indent) : options.indentText.size()));
    text += '\n';
    for (size_t i = 0; i < nesting; ++i)
      text += options.indentText.empty() ? std::string(static_cast<size_t>(options.indent), ' ') : options.indentText;
  }
  void writeDict(const Dict &dict) {
    std::vector<const std::pair<Value, Value> *> items;
    for (const auto &item : dict.items)
      items.push_back(&item);
    if (options.sortsKeys)
      mergeSort(items, [&](const auto *a, const auto *b) { return compare(run, a->first, b->first) < 0; });
    writeAll(items.size(), '{', '}', [&](size_t i) {
      const Value &key = items[i]->first;
      if (key.isString())
        text += jsonString(key.text(), options.isAscii);
      else if (key.isNone() || key.kind == Kind::boolean)
        text += key.isNone() ? "\"null\"" : key.boolean ? "\"true\"" : "\"false\"";
      else
        text += '"' + toRepr(run, key) + '"';
      text += options.keySeparator;
      write(items[i]->second);
    });
  }

  Run &run;
  const JsonOptions &options;
  size_t nesting = 0;
};

using Json = nlohmann::ordered_json;

Value fromJson(Run &run, const Json &json) {
  const Run::Level level(run);
  run.step();
  switch (json.type()) {
  case Json::value_t::boolean:
    return Value::of(json.get<bool>());
  case Json::value_t::number_integer:
    return Value::of(json.get<int64_t>());
  case Json::value_t::number_unsigned:
    if (json.get<uint64_t>() > static_cast<uint64_t>(INT64_MAX))
      run.fail("the variables have the number " + json.dump() + ", expected less than 2^63");
    return Value::of(json.get<int64_t>());
  case Json::value_t::number_float:
    return Value::of(json.get<double>());
  case Json::value_t::string:
    return run.string(json.get<std::string>());
  case Json::value_t::array: {
    std::vector<Value> items;
    for (const Json &item : json)
      items.push_back(fromJson(run, item));
    return run.list(std::move(items));
  }
  case Json::value_t::object: {
    Dict dict;
    for (const auto &[key, item] : json.items())
      dict.items.emplace_back(run.string(key), fromJson(run, item));
    return run.dict(std::move(dict));
  }
  default:
    return Value::none();
  }
}

} // namespace

std::string toJson(Run &run, const Value &value, const JsonOptions &options) {
  JsonWriter writer(run, options);
  writer.write(value);
  return std::move(writer.text);
}

Value readJson(Run &run, std::string_view json) {
  Json parsed;
  try {
    parsed = Json::parse(json);
  } catch (const Json::exception &error) {
    throw Error(Error::Kind::argument, "the variables are no JSON: " + printableLine(error.what()));
  }
  if (!parsed.is_object())
    throw Error(Error::Kind::argument,
                std::string("the variables are a JSON ") + parsed.type_name() + ", expected an object");
  return fromJson(run, parsed);
}

std::vector<Value> iterate(Run &run, const Value &value) {
  run.step();
  switch (value.kind) {
  case Kind::undefined:
    return {};
  case Kind::string: {
    std::vector<Value> items;
    for (size_t at = 0; at < value.string->size();) {
      const uint32_t size = codePointAt(*value.string, at).size;
      items.push_back(run.string(value.string->substr(at, size)));
      at += size;
    }
    return items;
  }
  case Kind::list: {
    run.charge(value.list->items.size() * sizeof(Value));
    if (value.list->form != List::Form::lazy)
      return value.list->items;
    if (!value.list->error.empty())
      throw Error(Error::Kind::argument, value.list->error);
    return std::exchange(value.list->items, {});
  }
  case Kind::dict: {
    std::vector<Value> items;
    run.charge(value.dict->items.size() * sizeof(Value));
    for (const auto &[key, item] : value.dict->items)
      items.push_back(key);
    return items;
  }
  default:
    run.fail(std::string("a loop cannot go over a value of '") + typeName(value) + "'");
  }
}

int64_t lengthOf(Run &run, const Value &value) {
  switch (value.kind) {
  case Kind::undefined:
    return 0;
  case Kind::string:
    return static_cast<int64_t>(countCodePoints(value.text()));
  case Kind::dict:
    return static_cast<int64_t>(value.dict->items.size());
  case Kind::list:
    if (value.list->form != List::Form::lazy)
      return static_cast<int64_t>(value.list->items.size());
    [[fallthrough]];
  default:
    run.fail(std::string("a value of '") + typeName(value) + "' has no length");
  }
}

} // namespace vx::text::jinja
