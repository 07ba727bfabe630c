// Formats of strings: by '%', and by braces.
#include "text/jinja/unicode.h"
#include "text/jinja/value.h"

#include "text/characters.h"

#include <cmath>
#include <cstdio>

namespace vx::text::jinja {

namespace {

constexpr int64_t MostWidth = 100'000;

struct Specification {
  std::string fill = " ";
  char align = 0, sign = '-', kind = 0;
  bool hasPrefix = false, groups = false;
  int64_t width = 0, precision = -1;
};

bool isDigitAt(std::string_view text, size_t at) { return at < text.size() && text[at] >= '0' && text[at] <= '9'; }

int64_t readWidth(Run &run, std::string_view text, size_t &at) {
  int64_t number = 0;
  for (; isDigitAt(text, at); ++at)
    if ((number = number * 10 + (text[at] - '0')) > MostWidth)
      run.fail("a format is wider than " + std::to_string(MostWidth));
  return number;
}

std::string fixedText(double value, int precision, char kind) {
  const char format[] = {'%', '.', '*', kind, '\0'};
  std::string text(512, '\0');
  const int size = std::snprintf(text.data(), text.size(), format, precision, value);
  text.resize(static_cast<size_t>(size));
  return text;
}

/// The digits of a number without its sign.
std::string digitsOf(Run &run, const Value &value, char kind, int64_t precision) {
  if (kind == 'd' || kind == 'x' || kind == 'X' || kind == 'o' || kind == 'b') {
    uint64_t number = value.kind == Kind::boolean ? value.boolean
                      : value.integer < 0         ? 0 - static_cast<uint64_t>(value.integer)
                                                  : static_cast<uint64_t>(value.integer);
    const uint64_t base = kind == 'd' ? 10 : kind == 'o' ? 8 : kind == 'b' ? 2 : 16;
    std::string made;
    do
      made.insert(made.begin(), (kind == 'X' ? "0123456789ABCDEF" : "0123456789abcdef")[number % base]);
    while (number /= base);
    return made;
  }
  const double number = std::fabs(
      value.kind == Kind::real ? value.real
                               : static_cast<double>(value.kind == Kind::boolean ? value.boolean : value.integer));
  if (!std::isfinite(number))
    return std::isnan(number) ? "nan" : "inf";
  if (precision > 100)
    run.fail("a format has more than 100 digits");
  std::string made = fixedText(number, precision < 0 ? 6 : static_cast<int>(precision), kind);
  return made;
}

bool isNegative(const Value &value) {
  return value.kind == Kind::real ? std::signbit(value.real) && !std::isnan(value.real)
                                  : value.kind == Kind::integer && value.integer < 0;
}

std::string groupDigits(std::string digits) {
  const size_t end = digits.find_first_not_of("0123456789");
  for (size_t at = end == digits.npos ? digits.size() : end; at > 3; at -= 3)
    digits.insert(at - 3, ",");
  return digits;
}

std::string layOut(Run &run, const std::string &sign, std::string body, const Specification &all, char align) {
  const int64_t missing = all.width - static_cast<int64_t>(countCodePoints(sign) + countCodePoints(body));
  if (missing <= 0)
    return sign + body;
  if (align == '=')
    return sign + padText(run, body, all.width - static_cast<int64_t>(sign.size()), all.fill, 1);
  body = sign + body;
  if (align != '^')
    return padText(run, body, all.width, all.fill, align == '<' ? -1 : 1);
  const int64_t left = missing / 2;
  return padText(run, padText(run, body, all.width - (missing - left), all.fill, 1), all.width, all.fill, -1);
}

std::string formatOne(Run &run, const Value &value, std::string_view text) {
  Specification all;
  size_t at = 0;
  const auto isAlign = [&](size_t place) {
    return place < text.size() && std::string_view("<>=^").find(text[place]) != std::string_view::npos;
  };
  const size_t first = text.empty() ? 0 : codePointAt(text, 0).size;
  if (!text.empty() && isAlign(first)) {
    all.fill = text.substr(0, first);
    all.align = text[first];
    at = first + 1;
  } else if (isAlign(0)) {
    all.align = text[at++];
  }
  if (at < text.size() && (text[at] == '+' || text[at] == '-' || text[at] == ' '))
    all.sign = text[at++];
  if (at < text.size() && text[at] == '0') {
    if (!all.align) {
      all.align = '=';
      all.fill = "0";
    }
    ++at;
  }
  all.width = readWidth(run, text, at);
  if (at < text.size() && text[at] == ',') {
    all.groups = true;
    ++at;
  }
  if (at < text.size() && text[at] == '.') {
    ++at;
    if (!isDigitAt(text, at))
      run.fail("a format has no digits after '.'");
    all.precision = readWidth(run, text, at);
  }
  if (at < text.size())
    all.kind = text[at++];
  if (at != text.size())
    run.fail("the format '" + std::string(text) + "' is not supported");
  const auto refuse = [&]() {
    run.fail("the format '" + std::string(text) + "' is not supported for a value of '" + typeName(value) + "'");
  };
  if (value.isNumber() && (all.kind != 's' && !(value.kind == Kind::boolean && !all.kind))) {
    char kind = all.kind;
    if (!kind)
      kind = value.isInteger() && all.precision < 0 ? 'd' : 'g';
    const bool isWhole = std::string_view("dxXob").find(kind) != std::string_view::npos;
    if ((isWhole && (!value.isInteger() || all.precision >= 0)) ||
        (!isWhole && std::string_view("fFeEgG%").find(kind) == std::string_view::npos))
      refuse();
    std::string digits;
    if (!all.kind && value.kind == Kind::real && all.precision < 0) {
      digits = realText(std::fabs(value.real));
    } else if (kind == '%') {
      digits =
          digitsOf(run, Value::of((value.kind == Kind::real ? value.real : static_cast<double>(value.integer)) * 100),
                   'f', all.precision) +
          "%";
    } else {
      digits = digitsOf(run, value, kind, all.precision);
    }
    if (all.groups)
      digits = groupDigits(digits);
    const std::string sign = isNegative(value) ? "-" : all.sign == '-' ? "" : std::string(1, all.sign);
    return layOut(run, sign, std::move(digits), all, all.align ? all.align : '>');
  }
  if ((all.kind && all.kind != 's') || all.align == '=' || all.groups || all.sign != '-')
    refuse();
  if (!text.empty() && !value.isString() && value.kind != Kind::boolean)
    refuse();
  std::string body = toText(run, value);
  if (all.precision >= 0)
    body.resize(byteAt(body, static_cast<size_t>(all.precision)));
  return layOut(run, "", std::move(body), all, all.align ? all.align : '<');
}

} // namespace

std::string formatPercent(Run &run, std::string_view format, const Value &arguments) {
  const bool isTuple = arguments.kind == Kind::list && arguments.list->form == List::Form::tuple;
  const std::vector<Value> values = isTuple ? arguments.list->items : std::vector<Value>{arguments};
  // Whatever has elements may have more than the format asks for; a tuple and a string may not.
  const bool isMapping = arguments.isDict() || arguments.isUndefined() ||
                         (arguments.kind == Kind::list && !isTuple && arguments.list->form <= List::Form::range);
  size_t used = 0;
  bool usesNames = false;
  std::string made;
  for (size_t at = 0; at < format.size(); ++at) {
    if (format[at] != '%') {
      made += format[at];
      continue;
    }
    if (++at < format.size() && format[at] == '%') {
      made += '%';
      continue;
    }
    Value value;
    if (at < format.size() && format[at] == '(') {
      const size_t end = format.find(')', at);
      if (end == format.npos || !arguments.isDict())
        run.fail("a format '%(name)' needs a dict");
      const Value *found = arguments.dict->find(format.substr(at + 1, end - at - 1));
      if (!found)
        run.fail("the format has no value for '" + std::string(format.substr(at + 1, end - at - 1)) + "'");
      value = *found;
      at = end + 1;
      usesNames = true;
    }
    Specification all;
    for (; at < format.size() && std::string_view("-+ 0").find(format[at]) != std::string_view::npos; ++at)
      if (format[at] == '-')
        all.align = '<';
      else if (format[at] == '0')
        all.fill = "0";
      else if (all.sign != '+')
        all.sign = format[at];
    all.width = readWidth(run, format, at);
    if (at < format.size() && format[at] == '.') {
      ++at;
      all.precision = readWidth(run, format, at);
    }
    if (at >= format.size())
      run.fail("the format ends inside of a '%'");
    if (!usesNames) {
      if (used >= values.size())
        run.fail("the format has more '%' than values");
      value = values[used++];
    }
    const char kind = format[at] == 'i' ? 'd' : format[at];
    const bool isNumber = std::string_view("dxXofFeEgG").find(kind) != std::string_view::npos;
    std::string part;
    if (kind == 's' || kind == 'r') {
      std::string body = kind == 's' ? toText(run, value) : toRepr(run, value);
      if (all.precision >= 0)
        body.resize(byteAt(body, static_cast<size_t>(all.precision)));
      all.fill = " ";
      part = layOut(run, "", std::move(body), all, all.align ? '<' : '>');
    } else if (isNumber && value.isNumber()) {
      Value number = value;
      const bool isWhole = std::string_view("dxXo").find(kind) != std::string_view::npos;
      if (isWhole && value.kind == Kind::real) {
        if (kind != 'd' || !(std::fabs(value.real) < 9e18))
          run.fail(std::string("the format '%") + kind + "' needs a whole number");
        number = Value::of(static_cast<int64_t>(value.real));
      }
      if (isWhole && all.precision >= 0)
        run.fail("a precision of a whole number is not supported");
      const std::string sign = isNegative(number) ? "-" : all.sign == '-' ? "" : std::string(1, all.sign);
      std::string digits = digitsOf(run, number, kind, all.precision);
      part = layOut(run, sign, std::move(digits), all, all.align == '<' ? '<' : all.fill == "0" ? '=' : '>');
    } else {
      run.fail(std::string("the format '%") + kind + "' is not supported for a value of '" + typeName(value) + "'");
    }
    run.charge(part.size());
    made += part;
  }
  if (!usesNames && used < values.size() && !isMapping)
    run.fail("the format has fewer '%' than values");
  return made;
}

std::string formatBraces(Run &run, std::string_view format, const Arguments &arguments) {
  std::string made;
  size_t counted = 0;
  bool hasNumbers = false;
  for (size_t at = 0; at < format.size(); ++at) {
    const char c = format[at];
    if ((c == '{' || c == '}') && at + 1 < format.size() && format[at + 1] == c) {
      made += c;
      ++at;
      continue;
    }
    if (c == '}')
      run.fail("format: a single '}'");
    if (c != '{') {
      made += c;
      continue;
    }
    const size_t end = format.find('}', at);
    if (end == format.npos)
      run.fail("format: a '{' has no end");
    std::string_view field = format.substr(at + 1, end - at - 1), specification;
    if (field.find('{') != field.npos)
      run.fail("format: fields inside of fields are not supported");
    if (const size_t colon = field.find(':'); colon != field.npos) {
      specification = field.substr(colon + 1);
      field = field.substr(0, colon);
    }
    char conversion = 0;
    if (field.size() >= 2 && field[field.size() - 2] == '!') {
      conversion = field.back();
      field.remove_suffix(2);
    }
    if (field.find_first_of(".[!") != field.npos)
      run.fail("format: '" + std::string(field) + "' is not supported, expected a number or a name");
    Value value;
    if (field.empty() || isDigitAt(field, 0)) {
      size_t place = 0;
      hasNumbers |= !field.empty();
      if (hasNumbers && (field.empty() || counted))
        run.fail("format: fields with and without numbers are mixed");
      const size_t index = field.empty() ? counted++ : static_cast<size_t>(readWidth(run, field, place));
      if (index >= arguments.positional.size())
        run.fail("format: there is no value " + std::to_string(index));
      value = arguments.positional[index];
    } else {
      bool isThere = false;
      for (const auto &[name, named] : arguments.named)
        if (name == field) {
          value = named;
          isThere = true;
        }
      if (!isThere)
        run.fail("format: there is no value '" + std::string(field) + "'");
    }
    if (conversion && conversion != 's' && conversion != 'r')
      run.fail(std::string("format: the conversion '!") + conversion + "' is not supported");
    if (conversion)
      value = run.string(conversion == 's' ? toText(run, value) : toRepr(run, value));
    const std::string part = formatOne(run, value, specification);
    run.charge(part.size());
    made += part;
    at = end;
  }
  return made;
}

} // namespace vx::text::jinja
