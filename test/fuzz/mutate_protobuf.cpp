#include "mutate_protobuf.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace vx::fuzz {

namespace {

enum Wire : uint32_t { Varint = 0, Fixed64 = 1, Bytes = 2, Fixed32 = 5 };

struct Field {
  uint32_t number = 0;
  Wire wire = Varint;
  uint64_t value = 0;       // of Varint, Fixed64 and Fixed32
  std::string bytes;        // of Bytes that are no message
  bool isMessage = false;   // what follows, for Bytes
  std::vector<Field> inner; // of a message
};

std::optional<uint64_t> readVarint(std::string_view &bytes) {
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 64 && !bytes.empty(); shift += 7) {
    const auto byte = static_cast<uint8_t>(bytes.front());
    bytes.remove_prefix(1);
    value |= uint64_t(byte & 127) << shift;
    if (byte < 128)
      return value;
  }
  return std::nullopt;
}

void writeVarint(std::string &out, uint64_t value) {
  for (; value >= 128; value >>= 7)
    out.push_back(static_cast<char>(value | 128));
  out.push_back(static_cast<char>(value));
}

/// Text may happen to be a message; it is meant as text.
bool isText(std::string_view bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

std::optional<std::vector<Field>> parse(std::string_view bytes, int depth) {
  std::vector<Field> fields;
  while (!bytes.empty()) {
    const std::optional<uint64_t> tag = readVarint(bytes);
    if (!tag || *tag >> 3 == 0 || *tag >> 3 > 10000)
      return std::nullopt;
    Field field;
    field.number = static_cast<uint32_t>(*tag >> 3);
    field.wire = static_cast<Wire>(*tag & 7);
    if (field.wire == Varint) {
      const std::optional<uint64_t> value = readVarint(bytes);
      if (!value)
        return std::nullopt;
      field.value = *value;
    } else if (field.wire == Fixed64 || field.wire == Fixed32) {
      const size_t width = field.wire == Fixed64 ? 8 : 4;
      if (bytes.size() < width)
        return std::nullopt;
      std::memcpy(&field.value, bytes.data(), width);
      bytes.remove_prefix(width);
    } else if (field.wire == Bytes) {
      const std::optional<uint64_t> size = readVarint(bytes);
      if (!size || *size > bytes.size())
        return std::nullopt;
      const std::string_view own = bytes.substr(0, *size);
      bytes.remove_prefix(*size);
      if (depth < 24 && !isText(own)) {
        if (std::optional<std::vector<Field>> inner = parse(own, depth + 1)) {
          field.isMessage = true;
          field.inner = std::move(*inner);
        }
      }
      if (!field.isMessage)
        field.bytes = own;
    } else {
      return std::nullopt;
    }
    fields.push_back(std::move(field));
  }
  return fields;
}

std::string write(const std::vector<Field> &fields) {
  std::string out;
  for (const Field &field : fields) {
    writeVarint(out, uint64_t(field.number) << 3 | field.wire);
    if (field.wire == Varint) {
      writeVarint(out, field.value);
    } else if (field.wire == Bytes) {
      const std::string own = field.isMessage ? write(field.inner) : field.bytes;
      writeVarint(out, own.size());
      out += own;
    } else {
      out.append(reinterpret_cast<const char *>(&field.value), field.wire == Fixed64 ? 8 : 4);
    }
  }
  return out;
}

class Mutator {
public:
  Mutator(std::vector<Field> &root, uint32_t seed) : root(root), random(seed) {}

  void run() {
    const uint32_t count = 1 + random() % 3;
    for (uint32_t i = 0; i < count; ++i) {
      places.clear();
      collect(root);
      if (places.empty())
        return;
      change(places[random() % places.size()]);
    }
  }

private:
  struct Place {
    std::vector<Field> *message;
    size_t index;
    Field &field() const { return (*message)[index]; }
  };

  void collect(std::vector<Field> &message) {
    for (size_t i = 0; i < message.size(); ++i) {
      places.push_back({&message, i});
      collect(message[i].inner);
    }
  }

  uint64_t number(uint64_t old) {
    static constexpr uint64_t known[] = {0,
                                         1,
                                         2,
                                         3,
                                         4,
                                         6,
                                         7,
                                         8,
                                         9,
                                         10,
                                         11,
                                         12,
                                         13,
                                         16,
                                         17,
                                         18,
                                         19,
                                         20,
                                         21,
                                         63,
                                         64,
                                         127,
                                         128,
                                         255,
                                         256,
                                         65535,
                                         0x7fffffff,
                                         0x80000000,
                                         0xffffffff,
                                         uint64_t(INT64_MAX),
                                         uint64_t(INT64_MAX) + 1,
                                         ~uint64_t(0),
                                         ~uint64_t(1),
                                         0x3f800000,
                                         0x7f800000,
                                         0x7fc00000};
    switch (random() % 4) {
    case 0:
      return old + 1;
    case 1:
      return old - 1;
    case 2:
      return old * 2;
    default:
      return known[random() % std::size(known)];
    }
  }

  /// Copies are made first: places move when a list of fields grows.
  void change(const Place &place) {
    std::vector<Field> &message = *place.message;
    Field &field = place.field();
    switch (random() % 8) {
    case 0:
      message.erase(message.begin() + static_cast<ptrdiff_t>(place.index));
      return;
    case 1: {
      const Field copy = field;
      message.insert(message.begin() + static_cast<ptrdiff_t>(random() % (message.size() + 1)), copy);
      return;
    }
    case 2:
      std::swap(field, message[random() % message.size()]);
      return;
    case 3: { // what another field of this number holds: a node's input, a type, an attribute
      std::vector<const Field *> others;
      for (const Place &other : places)
        if (other.field().number == field.number && other.field().wire == field.wire && &other.field() != &field)
          others.push_back(&other.field());
      if (others.empty())
        return value(field);
      const Field copy = *others[random() % others.size()];
      field = copy;
      return;
    }
    case 4: { // a field of some other message
      const Field copy = places[random() % places.size()].field();
      message.insert(message.begin() + static_cast<ptrdiff_t>(place.index), copy);
      return;
    }
    default:
      return value(field);
    }
  }

  void value(Field &field) {
    if (field.wire != Bytes) {
      field.value = number(field.value);
    } else if (!field.isMessage) {
      bytes(field.bytes);
    } else if (random() % 4 == 0) {
      field.number = static_cast<uint32_t>(std::max<uint64_t>(1, field.number + random() % 3 - 1));
    }
  }

  void bytes(std::string &text) {
    switch (random() % 4) {
    case 0:
      text.resize(random() % (text.size() + 1));
      break;
    case 1:
      text.insert(random() % (text.size() + 1), 1, static_cast<char>(random()));
      break;
    case 2:
      if (!text.empty())
        text[random() % text.size()] = static_cast<char>(number(static_cast<uint8_t>(text[0])));
      break;
    default: // another text of the message
      std::vector<const std::string *> others;
      for (const Place &other : places)
        if (other.field().wire == Bytes && !other.field().isMessage)
          others.push_back(&other.field().bytes);
      const std::string copy = *others[random() % others.size()];
      text = copy;
    }
  }

  std::vector<Field> &root;
  std::minstd_rand random;
  std::vector<Place> places;
};

} // namespace

size_t mutateProtobuf(uint8_t *data, size_t size, size_t maxSize, uint32_t seed) {
  std::optional<std::vector<Field>> fields = parse({reinterpret_cast<const char *>(data), size}, 0);
  if (!fields || fields->empty())
    return 0;
  Mutator(*fields, seed).run();
  const std::string out = write(*fields);
  if (out.empty() || out.size() > maxSize)
    return 0;
  std::memcpy(data, out.data(), out.size());
  return out.size();
}

} // namespace vx::fuzz
