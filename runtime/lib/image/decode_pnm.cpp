// Netpbm's formats: a header of words and numbers, and samples as text or bytes.
#include "image/decoders.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

namespace vx::image {

namespace {

class PnmFile {
public:
  explicit PnmFile(Bytes file) : rest(reinterpret_cast<const char *>(file.data()), file.size()) {}

  Outcome decode(Rows &rows);

private:
  static bool isSpace(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
  // Spaces, and comments from '#' to the end of their line.
  void skipSpace();
  std::optional<uint32_t> number();
  Outcome readHeader();
  Outcome readPamHeader();
  Outcome readPamLine(std::string_view name);
  Outcome decodeText(Rows &rows);
  Outcome textSample(uint32_t &value);
  Outcome decodeBytes(Rows &rows);

  bool isBits() const { return kind == 1 || kind == 4; }
  uint64_t samples() const { return uint64_t(width) * channels; }
  // The first one or three channels of each pixel.
  static unsigned shown(uint32_t channels) { return channels < 3 ? 1 : 3; }

  std::string_view rest;
  unsigned kind = 0;
  uint32_t width = 0, height = 0, max = 1, channels = 1;
};

void PnmFile::skipSpace() {
  while (!rest.empty() && (isSpace(rest[0]) || rest[0] == '#')) {
    const size_t length = rest[0] == '#' ? std::min(rest.find_first_of("\r\n"), rest.size()) : 1;
    rest.remove_prefix(length);
  }
}

std::optional<uint32_t> PnmFile::number() {
  skipSpace();
  uint64_t value = 0;
  size_t digits = 0;
  for (; digits < rest.size() && rest[digits] >= '0' && rest[digits] <= '9'; ++digits)
    if (value = value * 10 + static_cast<uint64_t>(rest[digits] - '0'); value > UINT32_MAX)
      return std::nullopt;
  rest.remove_prefix(digits);
  return digits ? std::optional(static_cast<uint32_t>(value)) : std::nullopt;
}

Outcome PnmFile::readPamLine(std::string_view name) {
  if (name == "TUPLTYPE") { // the depth says as much
    rest.remove_prefix(std::min(rest.find('\n'), rest.size()));
    return {};
  }
  uint32_t *const place = name == "WIDTH"    ? &width
                          : name == "HEIGHT" ? &height
                          : name == "DEPTH"  ? &channels
                          : name == "MAXVAL" ? &max
                                             : nullptr;
  if (!place)
    return failure(VX_IMAGE_DAMAGED, "its header has a line '{}'", name);
  const std::optional<uint32_t> value = number();
  if (!value)
    return failure(VX_IMAGE_DAMAGED, "{} of its header is no number", name);
  *place = *value;
  return {};
}

Outcome PnmFile::readPamHeader() {
  channels = 0;
  while (true) {
    skipSpace();
    size_t length = 0;
    while (length < rest.size() && length < 16 && !isSpace(rest[length]))
      ++length;
    const std::string_view name = rest.substr(0, length);
    rest.remove_prefix(length);
    if (name == "ENDHDR")
      break;
    if (name.empty())
      return failure(VX_IMAGE_DAMAGED, "it ends before its header does");
    VX_IMAGE_RETURN_IF_ERROR(readPamLine(name));
  }
  if (channels < 1 || channels > 4)
    return failure(VX_IMAGE_UNSUPPORTED, "it has {} samples a pixel, decoded are 1 to 4", channels);
  return {};
}

Outcome PnmFile::readHeader() {
  kind = static_cast<unsigned>(rest[1] - '0');
  rest.remove_prefix(2);
  if (kind == 7) {
    VX_IMAGE_RETURN_IF_ERROR(readPamHeader());
  } else {
    channels = kind == 3 || kind == 6 ? 3 : 1;
    for (uint32_t *value : {&width, &height, &max}) {
      if (value == &max && isBits())
        break;
      const std::optional<uint32_t> read = number();
      if (!read)
        return failure(VX_IMAGE_DAMAGED, "its header has no number where {} is expected",
                       value == &width    ? "the width"
                       : value == &height ? "the height"
                                          : "the largest sample");
      *value = *read;
    }
  }
  if (max < 1 || max > 65535)
    return failure(VX_IMAGE_DAMAGED, "its largest sample is {}, allowed is [1, 65535]", max);
  if (rest.empty() || !isSpace(rest[0]))
    return failure(VX_IMAGE_DAMAGED, "no space is between its header and its samples");
  rest.remove_prefix(1);
  return {};
}

Outcome PnmFile::textSample(uint32_t &value) {
  if (isBits()) { // digits need no space between them
    skipSpace();
    if (rest.empty() || (rest[0] != '0' && rest[0] != '1'))
      return failure(VX_IMAGE_DAMAGED, "a sample is neither 0 nor 1, or it ends before its samples do");
    value = rest[0] == '0'; // 1 is black
    rest.remove_prefix(1);
    return {};
  }
  const std::optional<uint32_t> read = number();
  if (!read)
    return failure(VX_IMAGE_DAMAGED, "a sample is no number, or it ends before its samples do");
  value = *read;
  return {};
}

Outcome PnmFile::decodeText(Rows &rows) {
  // A digit each, and mostly a space.
  if (height && samples() > (rest.size() + 1) / (isBits() ? 1 : 2) / height)
    return failure(VX_IMAGE_DAMAGED, "it ends before its samples do");
  VX_IMAGE_RETURN_IF_ERROR(rows.begin(width, height));
  std::vector<uint8_t> row(samples());
  for (uint32_t y = 0; y < height; ++y) {
    for (uint8_t &sample : row) {
      uint32_t value = 0;
      VX_IMAGE_RETURN_IF_ERROR(textSample(value));
      if (value > max)
        return failure(VX_IMAGE_DAMAGED, "a sample is {}, the largest is {}", value, max);
      sample = scaleSample(value, max);
    }
    rows.put(y, row.data(), channels);
  }
  return {};
}

Outcome PnmFile::decodeBytes(Rows &rows) {
  const unsigned wide = max > 255 ? 2 : 1;
  const uint64_t stride = kind == 4 ? (uint64_t(width) + 7) / 8 : samples() * wide;
  if (stride && rest.size() / stride < height)
    return failure(VX_IMAGE_DAMAGED, "it ends before its samples do: {} bytes for {} rows of {}", rest.size(), height,
                   stride);
  VX_IMAGE_RETURN_IF_ERROR(rows.begin(width, height));
  const unsigned kept = shown(channels);
  std::vector<uint8_t> row(uint64_t(width) * kept);
  for (uint32_t y = 0; y < height; ++y) {
    const auto *from = reinterpret_cast<const uint8_t *>(rest.data()) + y * stride;
    for (uint64_t i = 0; i < row.size(); ++i) {
      const uint64_t place = i / kept * channels + i % kept;
      uint32_t value = 0;
      if (kind == 4)
        value = !(from[i / 8] >> (7 - i % 8) & 1);
      else
        value = wide == 2 ? static_cast<uint32_t>(from[place * 2] << 8 | from[place * 2 + 1]) : from[place];
      if (value > max)
        return failure(VX_IMAGE_DAMAGED, "a sample is {}, the largest is {}", value, max);
      row[i] = scaleSample(value, max);
    }
    rows.put(y, row.data(), kept);
  }
  return {};
}

Outcome PnmFile::decode(Rows &rows) {
  VX_IMAGE_RETURN_IF_ERROR(readHeader());
  return kind <= 3 ? decodeText(rows) : decodeBytes(rows);
}

} // namespace

Outcome decodePnm(Bytes file, Rows &rows) { return PnmFile(file).decode(rows); }

} // namespace vx::image
