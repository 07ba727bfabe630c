#include "model_bytes.h"

#include <algorithm>

namespace vx::train {

ModelBytes ModelBytes::beside(const ModelBytes &other) {
  ModelBytes made;
  made.texts = other.texts;
  return made;
}

void ModelBytes::add(const Segment &segment) {
  if (segment.size == 0)
    return;
  ends.push_back(size() + segment.size);
  list.push_back(segment);
}

void ModelBytes::add(std::string text) {
  const std::string &kept = texts->emplace_back(std::move(text));
  add(Segment{reinterpret_cast<const uint8_t *>(kept.data()), 0, 0, kept.size()});
}

void ModelBytes::add(const ModelBytes &other) {
  for (const Segment &segment : other.list)
    add(segment);
}

void ModelBytes::add(const ModelBytes &from, uint64_t begin, uint64_t end) {
  for (size_t i = from.find(begin); begin < end; ++i) {
    Segment part = from.list[i];
    const uint64_t first = from.ends[i] - part.size, skipped = begin - first;
    part.size = std::min(end, from.ends[i]) - begin;
    part.offset += skipped;
    if (part.data)
      part.data += skipped;
    add(part);
    begin += part.size;
  }
}

void ModelBytes::addVarint(uint64_t value) {
  std::string text;
  for (; value >= 0x80; value >>= 7)
    text += static_cast<char>((value & 0x7f) | 0x80);
  text += static_cast<char>(value);
  add(std::move(text));
}

size_t ModelBytes::find(uint64_t place) const {
  return static_cast<size_t>(std::upper_bound(ends.begin(), ends.end(), place) - ends.begin());
}

std::optional<uint8_t> ModelBytes::at(uint64_t place) const {
  const size_t i = find(place);
  if (i == list.size() || !list[i].data)
    return std::nullopt;
  return list[i].data[place - (ends[i] - list[i].size)];
}

std::optional<std::string> ModelBytes::text(uint64_t begin, uint64_t end) const {
  std::string text;
  for (size_t i = find(begin); begin < end; ++i) {
    if (i == list.size() || !list[i].data)
      return std::nullopt;
    const uint64_t last = std::min(end, ends[i]);
    text.append(reinterpret_cast<const char *>(list[i].data) + (begin - (ends[i] - list[i].size)), last - begin);
    begin = last;
  }
  return text;
}

} // namespace vx::train
