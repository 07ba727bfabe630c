// Filters, by the documentation of Jinja 3.1.
#include "text/jinja/arithmetic.h"
#include "text/jinja/unicode.h"

#include "text/characters.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace vx::text::jinja {

namespace {

std::string softText(Run &run, const Value &value) { return toText(run, value); }

Value keepText(Run &run, const Value &value, const Arguments &arguments, const char *name,
               std::string (*change)(std::string_view)) {
  ArgumentReader(run, name, arguments).finish();
  return run.string(change(softText(run, value)));
}

/// Attribute "a.b.0" of a value, as map, sort and others take it.
Value deepAttribute(Run &run, Value value, const Value &path) {
  if (path.isInteger())
    return subscript(run, value, path);
  if (!path.isString())
    run.fail(std::string("an attribute is a string or a whole number, got '") + typeName(path) + "'");
  std::string_view rest = path.text();
  while (true) {
    const size_t dot = rest.find('.');
    const std::string_view part = rest.substr(0, dot);
    const bool isNumber = !part.empty() && part.size() < 18 && part.find_first_not_of("0123456789") == part.npos;
    value = subscript(run, value,
                      isNumber ? Value::of(int64_t(std::stoll(std::string(part)))) : run.string(std::string(part)));
    if (dot == rest.npos)
      return value;
    rest.remove_prefix(dot + 1);
  }
}

Value lowered(Run &run, const Value &value) { return value.isString() ? run.string(lowerText(value.text())) : value; }

/// Sorts stably by keys.
template <typename Item, typename Key>
void sortBy(Run &run, std::vector<Item> &items, bool isReversed, Key key) {
  std::vector<std::pair<Value, size_t>> keys;
  for (size_t i = 0; i < items.size(); ++i)
    keys.emplace_back(key(items[i]), i);
  mergeSort(keys, [&](const auto &a, const auto &b) {
    return isReversed ? compare(run, a.first, b.first) > 0 : compare(run, a.first, b.first) < 0;
  });
  std::vector<Item> sorted;
  for (const auto &[unused, i] : keys)
    sorted.push_back(items[i]);
  items = std::move(sorted);
}

Value sortFilter(Run &run, const Value &value, const Arguments &arguments) {
  ArgumentReader reader(run, "sort", arguments);
  const bool isReversed = reader.boolean(0, "reverse", false), isCased = reader.boolean(1, "case_sensitive", false);
  const Value attribute = reader.get(2, "attribute", Value::none());
  reader.finish();
  std::vector<Value> items = iterate(run, value);
  sortBy(run, items, isReversed, [&](const Value &item) {
    const Value key = attribute.isNone() ? item : deepAttribute(run, item, attribute);
    return isCased ? key : lowered(run, key);
  });
  return run.list(std::move(items));
}

Value dictsortFilter(Run &run, const Value &value, const Arguments &arguments) {
  ArgumentReader reader(run, "dictsort", arguments);
  const bool isCased = reader.boolean(0, "case_sensitive", false);
  const std::string_view by = reader.text(1, "by", "key");
  const bool isReversed = reader.boolean(2, "reverse", false);
  reader.finish();
  if (!value.isDict())
    run.fail(std::string("dictsort: expected a dict, got '") + typeName(value) + "'");
  if (by != "key" && by != "value")
    run.fail("dictsort: expected 'key' or 'value' for 'by', got '" + std::string(by) + "'");
  std::vector<std::pair<Value, Value>> items = value.dict->items;
  sortBy(run, items, isReversed, [&](const std::pair<Value, Value> &item) {
    const Value &key = by == "key" ? item.first : item.second;
    return isCased ? key : lowered(run, key);
  });
  std::vector<Value> made;
  for (const auto &[key, item] : items)
    made.push_back(run.list({key, item}, List::Form::tuple));
  return run.list(std::move(made));
}

/// min, max: the first of the best.
Value extreme(Run &run, const Value &value, const Arguments &arguments, const char *name, bool isLargest) {
  ArgumentReader reader(run, name, arguments);
  const bool isCased = reader.boolean(0, "case_sensitive", false);
  const Value attribute = reader.get(1, "attribute", Value::none());
  reader.finish();
  Value best = run.undefined("No aggregated item, sequence was empty."), bestKey;
  bool isFirst = true;
  for (const Value &item : iterate(run, value)) {
    Value key = attribute.isNone() ? item : deepAttribute(run, item, attribute);
    key = isCased ? key : lowered(run, key);
    const int order = isFirst ? 1 : isLargest ? compare(run, key, bestKey) : compare(run, bestKey, key);
    if (order > 0) {
      best = item;
      bestKey = key;
    }
    isFirst = false;
  }
  return best;
}

/// A generator: what fails in it fails where a loop goes over it.
template <typename Make>
Value lazily(Run &run, Make make) {
  Value made = run.list({}, List::Form::lazy);
  try {
    make(made.list->items);
  } catch (const Error &error) {
    made.list->error = error.what();
  }
  return made;
}

/// select, reject, selectattr, rejectattr.
Value selected(Run &run, const Value &value, const Arguments &arguments, bool hasAttribute, bool rejects) {
  return lazily(run, [&](std::vector<Value> &kept) {
    if (!isTrue(value))
      return; // also where it is no list
    Arguments rest = arguments;
    const auto take = [&rest] {
      const Value first = rest.positional.front();
      rest.positional.erase(rest.positional.begin());
      return first;
    };
    Value attribute;
    if (hasAttribute) {
      if (rest.positional.empty())
        run.fail("selectattr: the argument 'attribute' is missing");
      attribute = take();
    }
    Test test = nullptr;
    if (!rest.positional.empty()) {
      const Value name = take();
      test = name.isString() ? findTest(name.text()) : nullptr;
      if (!test)
        run.fail("select: the test '" + toText(run, name) + "' is not supported");
    }
    visitItems(run, value, [&](const Value &item) {
      const Value tested = hasAttribute ? deepAttribute(run, item, attribute) : item;
      if ((test ? test(run, tested, rest) : isTrue(tested)) != rejects)
        kept.push_back(item);
      return true;
    });
  });
}

Value mapFilter(Run &run, const Value &value, const Arguments &arguments) {
  return lazily(run, [&](std::vector<Value> &made) {
    if (!isTrue(value))
      return;
    if (arguments.positional.empty()) {
      ArgumentReader reader(run, "map", arguments);
      const Value attribute = reader.get(SIZE_MAX - 1, "attribute");
      const Value *otherwise = reader.find(SIZE_MAX - 1, "default");
      reader.finish();
      visitItems(run, value, [&](const Value &item) {
        const Value part = deepAttribute(run, item, attribute);
        made.push_back(part.isUndefined() && otherwise ? *otherwise : part);
        return true;
      });
      return;
    }
    Arguments rest = arguments;
    const Value name = rest.positional.front();
    rest.positional.erase(rest.positional.begin());
    const Filter filter = name.isString() ? findFilter(name.text()) : nullptr;
    if (!filter)
      run.fail("map: the filter '" + toText(run, name) + "' is not supported");
    visitItems(run, value, [&](const Value &item) {
      made.push_back(filter(run, item, rest));
      return true;
    });
  });
}

Value joinFilter(Run &run, const Value &value, const Arguments &arguments) {
  ArgumentReader reader(run, "join", arguments);
  const std::string by = toText(run, reader.get(0, "d", run.string("")));
  const Value attribute = reader.get(1, "attribute", Value::none());
  reader.finish();
  std::string made;
  bool isFirst = true;
  for (const Value &item : iterate(run, value)) {
    const std::string part = toText(run, attribute.isNone() ? item : deepAttribute(run, item, attribute));
    run.charge(part.size() + by.size());
    made += (isFirst ? "" : by) + part;
    isFirst = false;
  }
  return run.string(std::move(made));
}

Value indentFilter(Run &run, const Value &value, const Arguments &arguments) {
  ArgumentReader reader(run, "indent", arguments);
  const Value width = reader.get(0, "width", Value::of(int64_t(4)));
  const bool first = reader.boolean(1, "first", false), blank = reader.boolean(2, "blank", false);
  reader.finish();
  std::string space;
  if (width.isString())
    space = width.text();
  else if (width.isInteger() && width.integer <= 100'000)
    space.assign(static_cast<size_t>(std::max<int64_t>(width.integer, 0)), ' ');
  else
    run.fail("indent: expected a string or a whole number of at most 100000 for 'width'");
  if (!value.isString())
    run.fail(std::string("indent: expected a string, got '") + typeName(value) + "'");
  const std::string text = *value.string + "\n";
  std::string made = first ? space : "";
  if (blank) {
    std::string_view rest(text);
    rest.remove_suffix(1);
    std::vector<std::string_view> lines = splitLines(text, false);
    for (size_t i = 0; i < lines.size(); ++i) {
      run.charge(lines[i].size() + space.size());
      made += (i ? "\n" + space : "") + std::string(lines[i]);
    }
    return run.string(std::move(made));
  }
  const std::vector<std::string_view> lines = splitLines(text, false);
  for (size_t i = 0; i < lines.size(); ++i) {
    run.charge(lines[i].size() + space.size());
    if (i)
      made += "\n";
    if (i && !lines[i].empty())
      made += space;
    made += lines[i];
  }
  return run.string(std::move(made));
}

Value tojsonFilter(Run &run, const Value &value, const Arguments &arguments) {
  // The signature of transformers.
  ArgumentReader reader(run, "tojson", arguments);
  JsonOptions options;
  options.isAscii = reader.boolean(0, "ensure_ascii", false);
  const Value indent = reader.get(1, "indent", Value::none()), separators = reader.get(2, "separators", Value::none());
  options.sortsKeys = reader.boolean(3, "sort_keys", false);
  reader.finish();
  if (indent.isInteger()) {
    if (indent.integer > 100)
      run.fail("tojson: expected an indent of at most 100");
    options.indent = std::max<int64_t>(indent.kind == Kind::boolean ? indent.boolean : indent.integer, 0);
  } else if (indent.isString()) {
    options.indent = 0;
    options.indentText = indent.text();
  } else if (!indent.isNone()) {
    run.fail(std::string("tojson: expected a whole number or a string for 'indent', got '") + typeName(indent) + "'");
  }
  if (options.indent >= 0)
    options.itemSeparator = ",";
  if (separators.kind == Kind::list && separators.list->items.size() == 2 && separators.list->items[0].isString() &&
      separators.list->items[1].isString()) {
    options.itemSeparator = separators.list->items[0].text();
    options.keySeparator = separators.list->items[1].text();
  } else if (!separators.isNone()) {
    run.fail("tojson: expected two strings for 'separators'");
  }
  return run.string(toJson(run, value, options));
}

Value replaceFilter(Run &run, const Value &value, const Arguments &arguments) {
  ArgumentReader reader(run, "replace", arguments);
  const std::string from = toText(run, reader.get(0, "old")), to = toText(run, reader.get(1, "new"));
  const int64_t count = reader.integer(2, "count", -1);
  reader.finish();
  return run.string(replaceText(run, softText(run, value), from, to, count));
}

Value intFilter(Run &run, const Value &value, const Arguments &arguments) {
  ArgumentReader reader(run, "int", arguments);
  const Value otherwise = reader.get(0, "default", Value::of(int64_t(0)));
  const int64_t base = reader.integer(1, "base", 10);
  reader.finish();
  if (base != 10)
    run.fail("int: a base other than 10 is not supported");
  if (value.isUndefined())
    run.fail(value.string ? *value.string : "a value is undefined");
  if (value.isInteger())
    return Value::of(value.kind == Kind::boolean ? int64_t(value.boolean) : value.integer);
  double real = 0;
  if (value.kind == Kind::real) {
    real = value.real;
  } else if (value.isString()) {
    const std::string text(stripText(value.text(), {}, true, true, true));
    size_t at = text.starts_with('-') || text.starts_with('+');
    if (at < text.size() && text.find_first_not_of("0123456789", at) == text.npos) {
      if (text.size() - at > 18)
        run.fail("int: the number " + text + " is too large, expected less than 2^63");
      return Value::of(int64_t(std::stoll(text)));
    }
    char *end = nullptr;
    real = std::strtod(text.c_str(), &end);
    if (text.empty() || *end || text.find_first_of("xXpP(") != text.npos)
      return otherwise;
  } else {
    return otherwise;
  }
  if (!std::isfinite(real))
    return otherwise;
  if (std::fabs(real) >= 9.2e18)
    run.fail("int: the number is too large, expected less than 2^63");
  return Value::of(static_cast<int64_t>(real));
}

Value floatFilter(Run &run, const Value &value, const Arguments &arguments) {
  ArgumentReader reader(run, "float", arguments);
  const Value otherwise = reader.get(0, "default", Value::of(0.0));
  reader.finish();
  if (value.isUndefined())
    run.fail(value.string ? *value.string : "a value is undefined");
  if (value.isNumber())
    return Value::of(value.kind == Kind::real
                         ? value.real
                         : static_cast<double>(value.kind == Kind::boolean ? value.boolean : value.integer));
  if (!value.isString())
    return otherwise;
  const std::string text(stripText(value.text(), {}, true, true, true));
  char *end = nullptr;
  const double real = std::strtod(text.c_str(), &end);
  return text.empty() || *end || text.find_first_of("xXpP(") != text.npos ? otherwise : Value::of(real);
}

Value roundFilter(Run &run, const Value &value, const Arguments &arguments) {
  ArgumentReader reader(run, "round", arguments);
  const int64_t precision = reader.integer(0, "precision", 0);
  const std::string_view method = reader.text(1, "method", "common");
  reader.finish();
  if (!value.isNumber() || precision < 0 || precision > 15)
    run.fail("round: expected a number and a precision of 0 to 15");
  const double number = value.kind == Kind::real ? value.real : static_cast<double>(value.integer);
  if (method == "common") {
    if (value.isInteger())
      return Value::of(value.kind == Kind::boolean ? int64_t(value.boolean) : value.integer);
    // As Python: the decimal form of the number itself is rounded, halves to even.
    char text[400];
    std::snprintf(text, sizeof text, "%.*f", static_cast<int>(precision), number);
    return Value::of(std::strtod(text, nullptr));
  }
  if (method != "ceil" && method != "floor")
    run.fail("round: expected 'common', 'ceil' or 'floor', got '" + std::string(method) + "'");
  const double scale = std::pow(10.0, static_cast<double>(precision));
  return Value::of((method == "ceil" ? std::ceil(number * scale) : std::floor(number * scale)) / scale);
}

Value firstOrLast(Run &run, const Value &value, const Arguments &arguments, bool isFirst) {
  ArgumentReader(run, isFirst ? "first" : "last", arguments).finish();
  if (!isFirst && value.kind == Kind::list && value.list->form == List::Form::lazy)
    run.fail("last: a generator has no last element; make a list of it with the filter 'list'");
  Value found = run.undefined(isFirst ? "No first item, sequence was empty." : "No last item, sequence was empty.");
  visitItems(run, value, [&](const Value &item) {
    found = item;
    return !isFirst;
  });
  return found;
}

Value reverseFilter(Run &run, const Value &value, const Arguments &arguments) {
  ArgumentReader(run, "reverse", arguments).finish();
  // A generator is made a list; of all else there is an iterator.
  const bool isGenerator = value.kind == Kind::list && value.list->form == List::Form::lazy;
  std::vector<Value> items = iterate(run, value);
  std::ranges::reverse(items);
  if (!value.isString())
    return run.list(std::move(items), isGenerator ? List::Form::list : List::Form::lazy);
  std::string text;
  for (const Value &item : items)
    text += *item.string;
  return run.string(std::move(text));
}

Value uniqueFilter(Run &run, const Value &value, const Arguments &arguments) {
  ArgumentReader reader(run, "unique", arguments);
  const bool isCased = reader.boolean(0, "case_sensitive", false);
  const Value attribute = reader.get(1, "attribute", Value::none());
  reader.finish();
  return lazily(run, [&](std::vector<Value> &kept) {
    std::vector<Value> keys;
    visitItems(run, value, [&](const Value &item) {
      Value key = attribute.isNone() ? item : deepAttribute(run, item, attribute);
      key = isCased ? key : lowered(run, key);
      if (key.kind >= Kind::list &&
          (key.kind == Kind::dict || (key.kind == Kind::list && key.list->form == List::Form::list)))
        run.fail(std::string("unique: a value of '") + typeName(key) + "' has no hash");
      if (std::ranges::none_of(keys, [&](const Value &other) { return isEqual(run, key, other); })) {
        keys.push_back(key);
        kept.push_back(item);
      }
      return true;
    });
  });
}

Value sumFilter(Run &run, const Value &value, const Arguments &arguments) {
  ArgumentReader reader(run, "sum", arguments);
  const Value attribute = reader.get(0, "attribute", Value::none());
  Value sum = reader.get(1, "start", Value::of(int64_t(0)));
  reader.finish();
  for (const Value &item : iterate(run, value))
    sum = compute(run, Operation::add, sum, attribute.isNone() ? item : deepAttribute(run, item, attribute));
  return sum;
}

Value batchFilter(Run &run, const Value &value, const Arguments &arguments) {
  ArgumentReader reader(run, "batch", arguments);
  const int64_t count = reader.integer(0, "linecount", 0);
  const Value fill = reader.get(1, "fill_with", Value::none());
  reader.finish();
  return lazily(run, [&](std::vector<Value> &lines) {
    if (count < 1 || count > 1'000'000)
      run.fail("batch: expected a count of 1 to 1000000, got " + std::to_string(count));
    std::vector<Value> line;
    visitItems(run, value, [&](const Value &item) {
      line.push_back(item);
      if (line.size() == static_cast<size_t>(count))
        lines.push_back(run.list(std::exchange(line, {})));
      return true;
    });
    if (!line.empty()) {
      if (!fill.isNone())
        line.resize(static_cast<size_t>(count), fill);
      lines.push_back(run.list(std::move(line)));
    }
  });
}

Value defaultFilter(Run &run, const Value &value, const Arguments &arguments) {
  ArgumentReader reader(run, "default", arguments);
  const Value otherwise = reader.get(0, "default_value", run.string(""));
  const bool byTruth = reader.boolean(1, "boolean", false);
  reader.finish();
  return value.isUndefined() || (byTruth && !isTrue(value)) ? otherwise : value;
}

Value itemsFilter(Run &run, const Value &value, const Arguments &arguments) {
  ArgumentReader(run, "items", arguments).finish();
  return lazily(run, [&](std::vector<Value> &items) {
    if (!value.isDict() && !value.isUndefined())
      run.fail(std::string("items: expected a dict, got '") + typeName(value) + "'");
    if (value.isDict())
      for (const auto &[key, item] : value.dict->items)
        items.push_back(run.list({key, item}, List::Form::tuple));
  });
}

Value trimFilter(Run &run, const Value &value, const Arguments &arguments) {
  ArgumentReader reader(run, "trim", arguments);
  const Value chars = reader.get(0, "chars", Value::none());
  reader.finish();
  if (!chars.isNone() && !chars.isString())
    run.fail("trim: expected a string for 'chars'");
  const std::string text = softText(run, value);
  return run.string(std::string(stripText(text, chars.isString() ? chars.text() : "", chars.isNone(), true, true)),
                    value.isString() && value.isSafe);
}

Value absFilter(Run &run, const Value &value, const Arguments &arguments) {
  ArgumentReader(run, "abs", arguments).finish();
  if (!value.isNumber())
    run.fail(std::string("abs: expected a number, got '") + typeName(value) + "'");
  if (value.kind == Kind::real)
    return Value::of(std::fabs(value.real));
  return negate(run, value, value.kind == Kind::integer && value.integer < 0);
}

/// One without arguments.
template <Value (*filter)(Run &, const Value &)>
Value bare(Run &run, const Value &value, const Arguments &arguments) {
  ArgumentReader(run, "the filter", arguments).finish();
  return filter(run, value);
}

struct NamedFilter {
  std::string_view name;
  Filter filter;
};

constexpr auto Filters = std::to_array<NamedFilter>({
    {"abs", absFilter},
    {"attr",
     [](Run &run, const Value &value, const Arguments &a) {
       ArgumentReader reader(run, "attr", a);
       const Value name = reader.get(0, "name");
       reader.finish();
       // Not the elements of a dict.
       return value.isDict() ? run.undefined("a dict has no such attribute") : attributeOf(run, value, toText(run, name));
     }},
    {"batch", batchFilter},
    {"capitalize", [](Run &run, const Value &value, const Arguments &a) { return keepText(run, value, a, "capitalize", capitalText); }},
    {"center",
     [](Run &run, const Value &value, const Arguments &a) {
       ArgumentReader reader(run, "center", a);
       const int64_t width = reader.integer(0, "width", 80);
       reader.finish();
       return run.string(padText(run, softText(run, value), width, " ", 0));
     }},
    {"count", bare<+[](Run &run, const Value &value) { return Value::of(lengthOf(run, value)); }>},
    {"d", defaultFilter},
    {"default", defaultFilter},
    {"dictsort", dictsortFilter},
    {"e", bare<+[](Run &run, const Value &value) { return value.isString() && value.isSafe ? value : run.string(escapeHtml(toText(run, value)), true); }>},
    {"escape", bare<+[](Run &run, const Value &value) { return value.isString() && value.isSafe ? value : run.string(escapeHtml(toText(run, value)), true); }>},
    {"first", [](Run &run, const Value &value, const Arguments &a) { return firstOrLast(run, value, a, true); }},
    {"float", floatFilter},
    {"format",
     [](Run &run, const Value &value, const Arguments &a) {
       if (!a.named.empty())
         run.fail("format: arguments by name are not supported");
       return run.string(formatPercent(run, toText(run, value), run.list(a.positional, List::Form::tuple)));
     }},
    {"indent", indentFilter},
    {"int", intFilter},
    {"items", itemsFilter},
    {"join", joinFilter},
    {"last", [](Run &run, const Value &value, const Arguments &a) { return firstOrLast(run, value, a, false); }},
    {"length", bare<+[](Run &run, const Value &value) { return Value::of(lengthOf(run, value)); }>},
    {"list", bare<+[](Run &run, const Value &value) { return run.list(iterate(run, value)); }>},
    {"lower", [](Run &run, const Value &value, const Arguments &a) { return keepText(run, value, a, "lower", lowerText); }},
    {"map", mapFilter},
    {"max", [](Run &run, const Value &value, const Arguments &a) { return extreme(run, value, a, "max", true); }},
    {"min", [](Run &run, const Value &value, const Arguments &a) { return extreme(run, value, a, "min", false); }},
    {"reject", [](Run &run, const Value &value, const Arguments &a) { return selected(run, value, a, false, true); }},
    {"rejectattr", [](Run &run, const Value &value, const Arguments &a) { return selected(run, value, a, true, true); }},
    {"replace", replaceFilter},
    {"reverse", reverseFilter},
    {"round", roundFilter},
    {"safe", bare<+[](Run &run, const Value &value) { return run.string(toText(run, value), true); }>},
    {"select", [](Run &run, const Value &value, const Arguments &a) { return selected(run, value, a, false, false); }},
    {"selectattr", [](Run &run, const Value &value, const Arguments &a) { return selected(run, value, a, true, false); }},
    {"sort", sortFilter},
    {"string", bare<+[](Run &run, const Value &value) { return value.isString() ? value : run.string(toText(run, value)); }>},
    {"sum", sumFilter},
    {"title",
     [](Run &run, const Value &value, const Arguments &a) {
       ArgumentReader(run, "title", a).finish();
       // Words begin after white space, '-' and brackets only.
       std::string made, word;
       const std::string text = softText(run, value);
       const auto flush = [&] { made += capitalText(std::exchange(word, {})); };
       for (size_t at = 0; at < text.size();) {
         const CodePoint point = codePointAt(text, at);
         const bool splits = isPythonSpace(point.code) || (point.code < 0x80 && std::string_view("-({[<").find(static_cast<char>(point.code)) != std::string_view::npos);
         if (splits) {
           flush();
           made += text.substr(at, point.size);
         } else {
           word += text.substr(at, point.size);
         }
         at += point.size;
       }
       flush();
       return run.string(std::move(made));
     }},
    {"tojson", tojsonFilter},
    {"trim", trimFilter},
    {"unique", uniqueFilter},
    {"upper", [](Run &run, const Value &value, const Arguments &a) { return keepText(run, value, a, "upper", upperText); }},
});

} // namespace

Filter findFilter(std::string_view name) {
  const auto found = std::ranges::find(Filters, name, &NamedFilter::name);
  return found == Filters.end() ? nullptr : found->filter;
}

} // namespace vx::text::jinja
