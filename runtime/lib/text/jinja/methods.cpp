// Attributes, elements and methods of values.
#include "text/jinja/unicode.h"
#include "text/jinja/value.h"

#include "text/characters.h"

#include <algorithm>
#include <array>

namespace vx::text::jinja {

namespace {

std::string_view selfText(const Value &self) { return self.text(); }

Value stripWith(Run &run, const Value &self, const Arguments &arguments, bool left, bool right, const char *name) {
  ArgumentReader reader(run, name, arguments);
  const Value *wanted = reader.find(0, "chars");
  reader.finish();
  if (wanted && !wanted->isNone() && !wanted->isString())
    run.fail(std::string(name) + ": expected characters or none, got '" + typeName(*wanted) + "'");
  const bool isSpace = !wanted || wanted->isNone();
  return run.string(
      std::string(stripText(selfText(self), isSpace ? std::string_view() : wanted->text(), isSpace, left, right)));
}

// Where a search by `start` and `end` looks: bytes of the text.
std::pair<size_t, size_t> rangeOf(Run &run, std::string_view text, ArgumentReader &reader, size_t position) {
  const int64_t count = static_cast<int64_t>(countCodePoints(text));
  const auto clamp = [&](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + count : at, 0, count); };
  const int64_t begin = clamp(reader.integer(position, "start", 0)),
                end = clamp(reader.integer(position + 1, "end", count));
  run.step(text.size() / 64);
  const size_t first = byteAt(text, static_cast<size_t>(begin));
  return {first, std::max(first, byteAt(text, static_cast<size_t>(end)))};
}

bool matchesEnd(Run &run, const Value &self, const Arguments &arguments, const char *name, bool atEnd) {
  ArgumentReader reader(run, name, arguments);
  const Value wanted = reader.get(0, "prefix");
  const auto [begin, end] = rangeOf(run, selfText(self), reader, 1);
  reader.finish();
  const std::string_view text = selfText(self).substr(begin, end - begin);
  const auto matches = [&](const Value &part) {
    if (!part.isString())
      run.fail(std::string(name) + ": expected a string or a tuple of strings, got '" + typeName(part) + "'");
    return atEnd ? text.ends_with(part.text()) : text.starts_with(part.text());
  };
  if (wanted.kind == Kind::list && wanted.list->form == List::Form::tuple)
    return std::ranges::any_of(wanted.list->items, matches);
  return matches(wanted);
}

Value splitWith(Run &run, const Value &self, const Arguments &arguments, bool fromRight) {
  ArgumentReader reader(run, fromRight ? "rsplit" : "split", arguments);
  const Value *by = reader.find(0, "sep");
  const int64_t limit = reader.integer(1, "maxsplit", -1);
  reader.finish();
  const std::string_view text = selfText(self);
  std::vector<std::string_view> parts;
  if (by && !by->isNone()) {
    if (!by->isString())
      run.fail(std::string("split: expected a string or none, got '") + typeName(*by) + "'");
    const std::string_view separator = by->text();
    if (separator.empty())
      run.fail("split: the separator is empty");
    run.step(text.size() / 16);
    std::string_view rest = text;
    while (limit < 0 || static_cast<int64_t>(parts.size()) < limit) {
      const size_t at = fromRight ? rest.rfind(separator) : rest.find(separator);
      if (at == rest.npos)
        break;
      parts.push_back(fromRight ? rest.substr(at + separator.size()) : rest.substr(0, at));
      rest = fromRight ? rest.substr(0, at) : rest.substr(at + separator.size());
    }
    parts.push_back(rest);
  } else {
    std::string_view rest = stripText(text, {}, true, true, true);
    while (!rest.empty()) {
      if (limit >= 0 && static_cast<int64_t>(parts.size()) == limit) {
        // The rest keeps the white space of its far end.
        const size_t begin = static_cast<size_t>(rest.data() - text.data());
        parts.push_back(fromRight ? text.substr(0, begin + rest.size()) : text.substr(begin));
        break;
      }
      const size_t at = fromRight ? spaceBehind(rest) : spaceIn(rest);
      parts.push_back(fromRight ? rest.substr(at) : rest.substr(0, at));
      rest = fromRight ? stripText(rest.substr(0, at), {}, true, false, true)
                       : stripText(rest.substr(at), {}, true, true, false);
    }
  }
  if (fromRight)
    std::ranges::reverse(parts);
  std::vector<Value> items;
  for (std::string_view part : parts)
    items.push_back(run.string(std::string(part)));
  return run.list(std::move(items));
}

Value findWith(Run &run, const Value &self, const Arguments &arguments, bool fromRight, bool mustExist) {
  ArgumentReader reader(run, fromRight ? "rfind" : "find", arguments);
  const Value wanted = reader.get(0, "sub");
  const std::string_view text = selfText(self);
  const auto [begin, end] = rangeOf(run, text, reader, 1);
  reader.finish();
  if (!wanted.isString())
    run.fail(std::string("find: expected a string, got '") + typeName(wanted) + "'");
  const std::string_view part = text.substr(begin, end - begin);
  run.step(part.size() / 16 * (1 + wanted.string->size() / 16));
  const size_t at = fromRight ? part.rfind(wanted.text()) : part.find(wanted.text());
  if (at == part.npos) {
    if (mustExist)
      run.fail("index: the string is not there");
    return Value::of(int64_t(-1));
  }
  return Value::of(static_cast<int64_t>(countCodePoints(text.substr(0, begin + at))));
}

Value predicate(Run &run, const Value &self, const Arguments &arguments, const char *name, bool (*holds)(char32_t)) {
  ArgumentReader(run, name, arguments).finish();
  const std::string_view text = selfText(self);
  for (size_t at = 0; at < text.size(); at += codePointAt(text, at).size)
    if (!holds(codePointAt(text, at).code))
      return Value::of(false);
  return Value::of(!text.empty());
}

Value caseTest(Run &run, const Value &self, const Arguments &arguments, const char *name, bool isUpperWanted) {
  ArgumentReader(run, name, arguments).finish();
  bool hasCase = false;
  const std::string_view text = selfText(self);
  for (size_t at = 0; at < text.size(); at += codePointAt(text, at).size) {
    const char32_t code = codePointAt(text, at).code;
    if (isUpperWanted ? isLower(code) : isUpper(code))
      return Value::of(false);
    hasCase |= isUpperWanted ? isUpper(code) : isLower(code);
  }
  return Value::of(hasCase);
}

Value changed(Run &run, const Value &self, const Arguments &arguments, const char *name,
              std::string (*change)(std::string_view)) {
  ArgumentReader(run, name, arguments).finish();
  return run.string(change(selfText(self)));
}

Value padded(Run &run, const Value &self, const Arguments &arguments, const char *name, int side) {
  ArgumentReader reader(run, name, arguments);
  const int64_t width = reader.integer(0, "width", 0);
  const std::string_view fill = reader.text(1, "fillchar", " ");
  reader.finish();
  if (countCodePoints(fill) != 1)
    run.fail(std::string(name) + ": expected one character to fill with");
  return run.string(padText(run, selfText(self), width, fill, side));
}

Value partitioned(Run &run, const Value &self, const Arguments &arguments, bool fromRight) {
  ArgumentReader reader(run, "partition", arguments);
  const std::string_view by =
      reader.get(0, "sep").kind == Kind::string ? reader.get(0, "sep").text() : std::string_view();
  reader.finish();
  if (by.empty())
    run.fail("partition: expected a separator that is not empty");
  const std::string_view text = selfText(self);
  const size_t at = fromRight ? text.rfind(by) : text.find(by);
  const auto part = [&](std::string_view piece) { return run.string(std::string(piece)); };
  if (at == text.npos)
    return run.list(fromRight ? std::vector<Value>{part(""), part(""), part(text)}
                              : std::vector<Value>{part(text), part(""), part("")},
                    List::Form::tuple);
  return run.list({part(text.substr(0, at)), part(by), part(text.substr(at + by.size()))}, List::Form::tuple);
}

using Call = Value (*)(Run &, const Value &, const Arguments &);
struct Method {
  std::string_view name;
  Call call; // null: Python has it, and it is not supported
};

constexpr auto StringMethods = std::to_array<Method>({
    {"strip", [](Run &run, const Value &self, const Arguments &a) { return stripWith(run, self, a, true, true, "strip"); }},
    {"lstrip", [](Run &run, const Value &self, const Arguments &a) { return stripWith(run, self, a, true, false, "lstrip"); }},
    {"rstrip", [](Run &run, const Value &self, const Arguments &a) { return stripWith(run, self, a, false, true, "rstrip"); }},
    {"split", [](Run &run, const Value &self, const Arguments &a) { return splitWith(run, self, a, false); }},
    {"rsplit", [](Run &run, const Value &self, const Arguments &a) { return splitWith(run, self, a, true); }},
    {"splitlines",
     [](Run &run, const Value &self, const Arguments &a) {
       ArgumentReader reader(run, "splitlines", a);
       const bool keeps = reader.boolean(0, "keepends", false);
       reader.finish();
       std::vector<Value> items;
       for (std::string_view line : splitLines(selfText(self), keeps))
         items.push_back(run.string(std::string(line)));
       return run.list(std::move(items));
     }},
    {"startswith", [](Run &run, const Value &self, const Arguments &a) { return Value::of(matchesEnd(run, self, a, "startswith", false)); }},
    {"endswith", [](Run &run, const Value &self, const Arguments &a) { return Value::of(matchesEnd(run, self, a, "endswith", true)); }},
    {"replace",
     [](Run &run, const Value &self, const Arguments &a) {
       ArgumentReader reader(run, "replace", a);
       const Value from = reader.get(0, "old"), to = reader.get(1, "new");
       const int64_t count = reader.integer(2, "count", -1);
       reader.finish();
       if (!from.isString() || !to.isString())
         run.fail("replace: expected two strings");
       return run.string(replaceText(run, selfText(self), from.text(), to.text(), count));
     }},
    {"upper", [](Run &run, const Value &self, const Arguments &a) { return changed(run, self, a, "upper", upperText); }},
    {"lower", [](Run &run, const Value &self, const Arguments &a) { return changed(run, self, a, "lower", lowerText); }},
    {"title", [](Run &run, const Value &self, const Arguments &a) { return changed(run, self, a, "title", titleText); }},
    {"capitalize", [](Run &run, const Value &self, const Arguments &a) { return changed(run, self, a, "capitalize", capitalText); }},
    {"format", [](Run &run, const Value &self, const Arguments &a) { return run.string(formatBraces(run, selfText(self), a)); }},
    {"join",
     [](Run &run, const Value &self, const Arguments &a) {
       ArgumentReader reader(run, "join", a);
       const Value items = reader.get(0, "iterable");
       reader.finish();
       std::string made;
       bool isFirst = true;
       for (const Value &item : iterate(run, items)) {
         if (!item.isString())
           run.fail(std::string("join: expected strings, got '") + typeName(item) + "'");
         made += (isFirst ? "" : *self.string) + *item.string;
         isFirst = false;
         run.charge(item.string->size() + self.string->size());
       }
       return run.string(std::move(made));
     }},
    {"find", [](Run &run, const Value &self, const Arguments &a) { return findWith(run, self, a, false, false); }},
    {"rfind", [](Run &run, const Value &self, const Arguments &a) { return findWith(run, self, a, true, false); }},
    {"index", [](Run &run, const Value &self, const Arguments &a) { return findWith(run, self, a, false, true); }},
    {"rindex", [](Run &run, const Value &self, const Arguments &a) { return findWith(run, self, a, true, true); }},
    {"count",
     [](Run &run, const Value &self, const Arguments &a) {
       ArgumentReader reader(run, "count", a);
       const Value wanted = reader.get(0, "sub");
       const auto [begin, end] = rangeOf(run, selfText(self), reader, 1);
       reader.finish();
       if (!wanted.isString())
         run.fail("count: expected a string");
       const std::string_view text = selfText(self).substr(begin, end - begin), part = wanted.text();
       if (part.empty())
         return Value::of(static_cast<int64_t>(countCodePoints(text)) + 1);
       int64_t count = 0;
       run.step(text.size() / 16 * (1 + part.size() / 16));
       for (size_t at = text.find(part); at != text.npos; at = text.find(part, at + part.size()))
         ++count;
       return Value::of(count);
     }},
    {"isdigit", [](Run &run, const Value &self, const Arguments &a) { return predicate(run, self, a, "isdigit", isDigit); }},
    {"isdecimal", [](Run &run, const Value &self, const Arguments &a) { return predicate(run, self, a, "isdecimal", isDecimal); }},
    {"isalpha", [](Run &run, const Value &self, const Arguments &a) { return predicate(run, self, a, "isalpha", isLetter); }},
    {"isalnum", [](Run &run, const Value &self, const Arguments &a) { return predicate(run, self, a, "isalnum", isLetterOrNumber); }},
    {"isspace", [](Run &run, const Value &self, const Arguments &a) { return predicate(run, self, a, "isspace", isPythonSpace); }},
    {"isupper", [](Run &run, const Value &self, const Arguments &a) { return caseTest(run, self, a, "isupper", true); }},
    {"islower", [](Run &run, const Value &self, const Arguments &a) { return caseTest(run, self, a, "islower", false); }},
    {"ljust", [](Run &run, const Value &self, const Arguments &a) { return padded(run, self, a, "ljust", -1); }},
    {"rjust", [](Run &run, const Value &self, const Arguments &a) { return padded(run, self, a, "rjust", 1); }},
    {"center", [](Run &run, const Value &self, const Arguments &a) { return padded(run, self, a, "center", 0); }},
    {"removeprefix",
     [](Run &run, const Value &self, const Arguments &a) {
       ArgumentReader reader(run, "removeprefix", a);
       const std::string_view part = reader.text(0, "prefix", "");
       reader.finish();
       return run.string(std::string(selfText(self).substr(selfText(self).starts_with(part) ? part.size() : 0)));
     }},
    {"removesuffix",
     [](Run &run, const Value &self, const Arguments &a) {
       ArgumentReader reader(run, "removesuffix", a);
       const std::string_view part = reader.text(0, "suffix", ""), text = selfText(self);
       reader.finish();
       return run.string(std::string(text.substr(0, text.size() - (text.ends_with(part) ? part.size() : 0))));
     }},
    {"partition", [](Run &run, const Value &self, const Arguments &a) { return partitioned(run, self, a, false); }},
    {"rpartition", [](Run &run, const Value &self, const Arguments &a) { return partitioned(run, self, a, true); }},
    {"casefold", nullptr},   {"encode", nullptr},     {"expandtabs", nullptr}, {"format_map", nullptr}, {"isascii", nullptr},
    {"isidentifier", nullptr}, {"isnumeric", nullptr}, {"isprintable", nullptr}, {"istitle", nullptr},  {"maketrans", nullptr},
    {"swapcase", nullptr},   {"translate", nullptr},  {"zfill", nullptr},
});

Value viewOf(Run &run, const Value &self, const Arguments &arguments, const char *name, int part) {
  ArgumentReader(run, name, arguments).finish();
  std::vector<Value> items;
  for (const auto &[key, value] : self.dict->items)
    items.push_back(part == 0 ? key : part == 1 ? value : run.list({key, value}, List::Form::tuple));
  return run.list(std::move(items), List::Form::view,
                  part == 0   ? "dict_keys"
                  : part == 1 ? "dict_values"
                              : "dict_items");
}

Value refuseChange(Run &run, const Value &self, const Arguments &) {
  run.fail(std::string("a method that changes a value of '") + typeName(self) + "' is not allowed in a template");
}

constexpr auto DictMethods = std::to_array<Method>({
    {"get",
     [](Run &run, const Value &self, const Arguments &a) {
       ArgumentReader reader(run, "get", a);
       const Value key = reader.get(0, "key"), otherwise = reader.get(1, "default", Value::none());
       reader.finish();
       run.step(self.dict->items.size() / 8);
       const Value *found = findKey(run, *self.dict, key);
       return found ? *found : otherwise;
     }},
    {"items", [](Run &run, const Value &self, const Arguments &a) { return viewOf(run, self, a, "items", 2); }},
    {"keys", [](Run &run, const Value &self, const Arguments &a) { return viewOf(run, self, a, "keys", 0); }},
    {"values", [](Run &run, const Value &self, const Arguments &a) { return viewOf(run, self, a, "values", 1); }},
    {"copy",
     [](Run &run, const Value &self, const Arguments &a) {
       ArgumentReader(run, "copy", a).finish();
       return run.dict(*self.dict);
     }},
    {"pop", refuseChange},
    {"popitem", refuseChange},
    {"update", refuseChange},
    {"clear", refuseChange},
    {"setdefault", refuseChange},
    {"fromkeys", nullptr},
});

constexpr auto ListMethods = std::to_array<Method>({
    {"index",
     [](Run &run, const Value &self, const Arguments &a) {
       ArgumentReader reader(run, "index", a);
       const Value wanted = reader.get(0, "value");
       reader.finish();
       for (size_t i = 0; i < self.list->items.size(); ++i)
         if (isEqual(run, self.list->items[i], wanted))
           return Value::of(static_cast<int64_t>(i));
       run.fail("index: the value is not in the list");
     }},
    {"count",
     [](Run &run, const Value &self, const Arguments &a) {
       ArgumentReader reader(run, "count", a);
       const Value wanted = reader.get(0, "value");
       reader.finish();
       int64_t count = 0;
       for (const Value &item : self.list->items)
         count += isEqual(run, item, wanted);
       return Value::of(count);
     }},
    {"append", refuseChange},
    {"extend", refuseChange},
    {"insert", refuseChange},
    {"pop", refuseChange},
    {"remove", refuseChange},
    {"clear", refuseChange},
    {"sort", refuseChange},
    {"reverse", refuseChange},
    {"copy",
     [](Run &run, const Value &self, const Arguments &a) {
       ArgumentReader(run, "copy", a).finish();
       return run.list(self.list->items);
     }},
});

} // namespace

Value methodOf(Run &run, const Value &value, std::string_view name) {
  std::span<const Method> methods;
  if (value.isString())
    methods = StringMethods;
  else if (value.isDict())
    methods = DictMethods;
  else if (value.kind == Kind::list && value.list->form <= List::Form::range)
    methods = value.list->form == List::Form::list ? std::span<const Method>(ListMethods)
                                                   : std::span<const Method>(ListMethods).first(2);
  const auto found = std::ranges::find(methods, name, &Method::name);
  if (found == methods.end())
    return {};
  if (!found->call)
    run.fail("the method '" + std::string(name) + "' of a '" + typeName(value) + "' is not supported");
  return run.function(found->name.data(), found->call, value);
}

Value itemOf(Run &run, const Value &value, const Value &key) {
  if (value.isDict()) {
    run.step(value.dict->items.size() / 8);
    if (key.kind >= Kind::list)
      return {};
    const Value *found = value.dict->find(key);
    return found ? *found : Value();
  }
  if (!key.isInteger())
    return {};
  int64_t index = key.kind == Kind::boolean ? key.boolean : key.integer;
  if (value.isString()) {
    const int64_t count = static_cast<int64_t>(countCodePoints(value.text()));
    run.step(value.string->size() / 64);
    index += index < 0 ? count : 0;
    if (index < 0 || index >= count)
      return {};
    const size_t at = byteAt(value.text(), static_cast<size_t>(index));
    return run.string(value.string->substr(at, codePointAt(value.text(), at).size));
  }
  if (value.kind == Kind::list && value.list->form <= List::Form::range) {
    const int64_t count = static_cast<int64_t>(value.list->items.size());
    index += index < 0 ? count : 0;
    return index < 0 || index >= count ? Value() : value.list->items[static_cast<size_t>(index)];
  }
  return {};
}

Value sliceOf(Run &run, const Value &value, const Value &begin, const Value &end, const Value &step) {
  const bool isList = value.kind == Kind::list && value.list->form <= List::Form::range;
  if (value.isUndefined())
    run.fail(value.string ? *value.string : "a value is undefined");
  if (!value.isString() && !isList)
    run.fail(std::string("a slice of a value of '") + typeName(value) + "' is not supported");
  const auto bound = [&](const Value &number, int64_t otherwise) {
    if (number.isNone())
      return otherwise;
    if (!number.isInteger())
      run.fail(std::string("a slice needs whole numbers, got '") + typeName(number) + "'");
    return number.kind == Kind::boolean ? int64_t(number.boolean) : number.integer;
  };
  const int64_t count = lengthOf(run, value), by = bound(step, 1);
  if (by == 0)
    run.fail("a slice with a step of 0");
  if (by == INT64_MIN)
    run.fail("a slice with a step that is too large");
  const auto clamp = [&](int64_t at) {
    at = at < 0 ? (at < -count ? -1 : at + count) : at;
    return by > 0 ? std::clamp<int64_t>(at, 0, count) : std::clamp<int64_t>(at, -1, count - 1);
  };
  const int64_t first = begin.isNone() ? (by > 0 ? 0 : count - 1) : clamp(bound(begin, 0));
  const int64_t last = end.isNone() ? (by > 0 ? count : -1) : clamp(bound(end, 0));
  if (isList) {
    std::vector<Value> items;
    for (int64_t at = first; by > 0 ? at < last : at > last; at += by) {
      run.step();
      items.push_back(value.list->items[static_cast<size_t>(at)]);
      if (by > 0 ? last - at <= by : at - last <= -by)
        break;
    }
    const Value made = run.list(std::move(items), value.list->form);
    if (value.list->form == List::Form::range) {
      const auto at = [&](int64_t index) { // of Python's text only, so it may wrap
        return static_cast<int64_t>(static_cast<uint64_t>(value.list->begin) +
                                    static_cast<uint64_t>(index) * static_cast<uint64_t>(value.list->step));
      };
      made.list->begin = at(first);
      made.list->end = at(last);
      made.list->step = static_cast<int64_t>(static_cast<uint64_t>(value.list->step) * static_cast<uint64_t>(by));
    }
    return made;
  }
  const std::string_view text = value.text();
  run.step(text.size() / 64);
  if (by == 1) {
    const size_t from = byteAt(text, static_cast<size_t>(first)),
                 to = byteAt(text, static_cast<size_t>(std::max(first, last)));
    return run.string(std::string(text.substr(from, to - from)), value.isSafe);
  }
  std::vector<std::string_view> characters;
  run.charge(text.size() * sizeof(std::string_view));
  for (size_t at = 0; at < text.size(); at += codePointAt(text, at).size)
    characters.push_back(text.substr(at, codePointAt(text, at).size));
  std::string made;
  for (int64_t at = first; by > 0 ? at < last : at > last; at += by) {
    made += characters[static_cast<size_t>(at)];
    if (by > 0 ? last - at <= by : at - last <= -by)
      break;
  }
  return run.string(std::move(made), value.isSafe);
}

const Value *ArgumentReader::find(size_t position, std::string_view name) {
  positions = std::max(positions, position + 1);
  names.push_back(name);
  if (position < arguments.positional.size())
    return &arguments.positional[position];
  for (const auto &[given, value] : arguments.named)
    if (given == name)
      return &value;
  return nullptr;
}
Value ArgumentReader::get(size_t position, std::string_view name) {
  const Value *found = find(position, name);
  if (!found)
    run.fail(std::string(function) + ": the argument '" + std::string(name) + "' is missing");
  return *found;
}
Value ArgumentReader::get(size_t position, std::string_view name, const Value &otherwise) {
  const Value *found = find(position, name);
  return found ? *found : otherwise;
}
int64_t ArgumentReader::integer(size_t position, std::string_view name, int64_t otherwise) {
  const Value *found = find(position, name);
  if (!found || (found->isNone() && position > 0))
    return otherwise;
  if (!found->isInteger())
    run.fail(std::string(function) + ": expected a whole number for '" + std::string(name) + "', got '" +
             typeName(*found) + "'");
  return found->kind == Kind::boolean ? found->boolean : found->integer;
}
bool ArgumentReader::boolean(size_t position, std::string_view name, bool otherwise) {
  const Value *found = find(position, name);
  return found ? isTrue(*found) : otherwise;
}
std::string_view ArgumentReader::text(size_t position, std::string_view name, std::string_view otherwise) {
  const Value *found = find(position, name);
  if (!found)
    return otherwise;
  if (!found->isString())
    run.fail(std::string(function) + ": expected a string for '" + std::string(name) + "', got '" + typeName(*found) +
             "'");
  return found->text();
}
void ArgumentReader::finish() {
  if (arguments.positional.size() > positions)
    run.fail(std::string(function) + ": expected at most " + std::to_string(positions) + " arguments, got " +
             std::to_string(arguments.positional.size()));
  for (const auto &[given, value] : arguments.named)
    if (std::ranges::find(names, given) == names.end())
      run.fail(std::string(function) + ": the argument '" + std::string(given) + "' is not known");
}

} // namespace vx::text::jinja
