#include "text/post_processors.h"

#include <algorithm>
#include <utility>

namespace vx::text {

size_t countAdded(const std::vector<PostProcessor> &processors, bool isPair) {
  size_t count = 0;
  for (const PostProcessor &processor : processors)
    if (processor.parts)
      for (const TemplatePart &part : isPair ? processor.parts->pair : processor.parts->single)
        count += part.ids.size();
  return count;
}

void trimSpans(Encoding &encoding, const std::vector<TokenSpace> &spaces, bool keepsFirstSpace) {
  for (size_t i = 0; i < encoding.offsets.size() && i < spaces.size(); ++i) {
    Span &span = encoding.offsets[i];
    TokenSpace space = spaces[i];
    if (space.leading > 0) {
      if ((i == 0 || span.begin == 0) && keepsFirstSpace && space.leading == 1)
        space.leading = 0;
      span.begin = std::min(span.begin + space.leading, span.end);
    }
    if (space.trailing > 0 && span.end >= space.trailing)
      span.end = std::max(span.end - space.trailing, span.begin);
  }
}

namespace {

template <typename T>
void append(std::vector<T> &to, const std::vector<T> &from) {
  to.insert(to.end(), from.begin(), from.end());
}

void appendTokens(Encoding &to, const Encoding &from) {
  append(to.ids, from.ids);
  append(to.type_ids, from.type_ids);
  append(to.attention_mask, from.attention_mask);
  append(to.special_tokens_mask, from.special_tokens_mask);
  append(to.words, from.words);
  append(to.offsets, from.offsets);
}

/// With each way to put the overflowing parts of both together.
void merge(Encoding &to, const Encoding &from) {
  std::vector<Encoding> overflowing;
  const auto join = [&](const Encoding &first, const Encoding &second) {
    Encoding joined = first;
    joined.overflowing.clear();
    appendTokens(joined, second);
    overflowing.push_back(std::move(joined));
  };
  for (const Encoding &part : to.overflowing) {
    join(part, from);
    for (const Encoding &other : from.overflowing)
      join(part, other);
  }
  for (const Encoding &other : from.overflowing)
    join(to, other);
  appendTokens(to, from);
  to.overflowing = std::move(overflowing);
}

Encoding encodingOf(const TemplatePart &part, bool hasOffsets) {
  Encoding encoding;
  const size_t count = part.ids.size();
  encoding.ids = part.ids;
  encoding.type_ids.assign(count, part.type);
  encoding.attention_mask.assign(count, 1);
  encoding.special_tokens_mask.assign(count, 1);
  encoding.words.assign(count, -1);
  if (hasOffsets)
    encoding.offsets.assign(count, Span{});
  return encoding;
}

void setType(Encoding &encoding, int32_t type) {
  std::ranges::fill(encoding.type_ids, type);
  for (Encoding &part : encoding.overflowing)
    std::ranges::fill(part.type_ids, type);
}

} // namespace

Encoding postProcess(std::vector<Encoding> encodings, const std::vector<PostProcessor> &processors, bool addsSpecial,
                     bool hasOffsets) {
  for (const PostProcessor &processor : processors) {
    if (processor.hasOneType)
      for (Encoding &encoding : encodings)
        setType(encoding, 0);
    if (!processor.parts)
      continue;
    Encoding made;
    for (const TemplatePart &part : encodings.size() == 2 ? processor.parts->pair : processor.parts->single) {
      if (part.text >= 0) {
        Encoding &text = encodings[part.text];
        setType(text, part.type);
        merge(made, text);
      } else if (addsSpecial) {
        merge(made, encodingOf(part, hasOffsets));
      }
    }
    encodings.clear();
    encodings.push_back(std::move(made));
  }
  for (size_t i = 1; i < encodings.size(); ++i)
    merge(encodings[0], encodings[i]);
  return std::move(encodings[0]);
}

namespace {

Encoding partOf(const Encoding &all, size_t begin, size_t end) {
  Encoding part;
  const auto take = [&](auto &to, const auto &from) {
    if (!from.empty())
      to.assign(from.begin() + begin, from.begin() + end);
  };
  take(part.ids, all.ids);
  take(part.type_ids, all.type_ids);
  take(part.attention_mask, all.attention_mask);
  take(part.special_tokens_mask, all.special_tokens_mask);
  take(part.words, all.words);
  take(part.offsets, all.offsets);
  return part;
}

void shorten(Encoding &encoding, size_t length, const Truncation &truncation, bool keepsOverflow) {
  const size_t size = encoding.ids.size();
  if (length >= size)
    return;
  if (length == 0) {
    Encoding all = std::exchange(encoding, {});
    if (keepsOverflow)
      encoding.overflowing.push_back(std::move(all));
    return;
  }
  if (truncation.stride >= length)
    throw Error(Error::Kind::argument, "parts that truncation leaves have more tokens than its stride, got parts of " +
                                           std::to_string(length) + " and a stride of " +
                                           std::to_string(truncation.stride));
  const size_t step = length - truncation.stride;
  std::vector<Encoding> parts;
  if (truncation.side == Side::right) {
    for (size_t begin = 0;; begin += step) {
      const size_t end = std::min(begin + length, size);
      parts.push_back(partOf(encoding, begin, end));
      if (end == size || !keepsOverflow)
        break;
    }
  } else {
    for (size_t end = size;; end -= step) {
      const size_t begin = end < length ? 0 : end - length;
      parts.push_back(partOf(encoding, begin, end));
      if (begin == 0 || !keepsOverflow)
        break;
    }
  }
  encoding = std::move(parts[0]);
  encoding.overflowing.assign(std::make_move_iterator(parts.begin() + 1), std::make_move_iterator(parts.end()));
}

} // namespace

void truncate(std::vector<Encoding> &encodings, const Truncation &truncation, size_t length, bool keepsOverflow) {
  using Strategy = Truncation::Strategy;
  const bool isPair = encodings.size() == 2;
  size_t first = encodings[0].ids.size(), second = isPair ? encodings[1].ids.size() : 0;
  const size_t total = first + second;
  if (total <= length)
    return;
  if (length == 0) {
    for (Encoding &encoding : encodings)
      shorten(encoding, 0, truncation, keepsOverflow);
    return;
  }
  const size_t excess = total - length;
  if (truncation.strategy == Strategy::longest_first) {
    if (!isPair)
      return shorten(encodings[0], length, truncation, keepsOverflow);
    const bool isSwapped = first > second;
    size_t shorter = std::min(first, second), longer;
    longer = shorter > length ? shorter : std::max(shorter, length - shorter);
    if (shorter + longer > length) {
      shorter = length / 2;
      longer = shorter + length % 2;
    }
    shorten(encodings[0], isSwapped ? longer : shorter, truncation, keepsOverflow);
    shorten(encodings[1], isSwapped ? shorter : longer, truncation, keepsOverflow);
    return;
  }
  const bool isSecond = truncation.strategy == Strategy::only_second;
  if (isSecond && !isPair)
    throw Error(Error::Kind::argument, "truncation of the second text only is for pairs, got one text");
  Encoding &target = encodings[isSecond];
  if (target.ids.size() <= excess)
    throw Error(Error::Kind::argument, std::string("truncation takes ") + std::to_string(excess) + " tokens from the " +
                                           (isSecond ? "second" : "first") + " text only, which has " +
                                           std::to_string(target.ids.size()));
  shorten(target, target.ids.size() - excess, truncation, keepsOverflow);
}

namespace {

void padOne(Encoding &encoding, size_t length, const Padding &padding, bool hasOffsets) {
  for (Encoding &part : encoding.overflowing)
    padOne(part, length, padding, hasOffsets);
  if (encoding.ids.size() >= length)
    return;
  const size_t count = length - encoding.ids.size();
  const auto add = [&](auto &list, auto value) {
    list.insert(padding.side == Side::left ? list.begin() : list.end(), count, value);
  };
  if (hasOffsets)
    add(encoding.offsets, Span{});
  add(encoding.ids, padding.id);
  add(encoding.type_ids, padding.type_id);
  add(encoding.attention_mask, 0);
  add(encoding.special_tokens_mask, 1);
  add(encoding.words, -1);
}

} // namespace

void pad(std::span<Encoding> encodings, const Padding &padding, bool hasOffsets) {
  size_t length = padding.length.value_or(0);
  if (!padding.length)
    for (const Encoding &encoding : encodings)
      length = std::max(length, encoding.ids.size());
  if (padding.multiple_of > 0 && length % padding.multiple_of != 0)
    length += padding.multiple_of - length % padding.multiple_of;
  for (Encoding &encoding : encodings)
    padOne(encoding, length, padding, hasOffsets);
}

} // namespace vx::text
