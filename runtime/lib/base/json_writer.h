// Writes one JSON document as text. Commas and quoting are its job; balance is the caller's.
#ifndef VX_RUNTIME_BASE_JSON_WRITER_H
#define VX_RUNTIME_BASE_JSON_WRITER_H

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace vx {

class JsonWriter {
public:
  JsonWriter &beginObject();
  JsonWriter &endObject();
  JsonWriter &beginArray();
  JsonWriter &endArray();
  JsonWriter &key(std::string_view name);
  // Bytes that are no UTF-8 become U+FFFD.
  JsonWriter &string(std::string_view text);
  JsonWriter &number(int64_t value);
  JsonWriter &unsignedNumber(uint64_t value);
  JsonWriter &real(double value);
  // value / 1000, with all of its digits.
  JsonWriter &thousandths(int64_t value);
  JsonWriter &boolean(bool value);
  JsonWriter &null();
  // A document that another writer made.
  JsonWriter &raw(std::string_view json);

  JsonWriter &member(std::string_view name, std::string_view text) { return key(name).string(text); }
  JsonWriter &member(std::string_view name, const char *text) { return key(name).string(text); }
  JsonWriter &member(std::string_view name, bool value) { return key(name).boolean(value); }
  JsonWriter &member(std::string_view name, double value) { return key(name).real(value); }
  template <std::signed_integral T>
  JsonWriter &member(std::string_view name, T value) {
    return key(name).number(value);
  }
  template <std::unsigned_integral T>
    requires(!std::same_as<T, bool>)
  JsonWriter &member(std::string_view name, T value) {
    return key(name).unsignedNumber(value);
  }

  std::string take() { return std::move(text); }

private:
  void separate();

  std::string text;
  bool needComma = false;
};

} // namespace vx

#endif
