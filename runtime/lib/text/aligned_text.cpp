#include "text/aligned_text.h"

#include "text/characters.h"

#include <algorithm>

namespace vx::text {

void AlignedText::assign(std::string_view original, uint32_t newOrigin, bool keepsPlaces) {
  source = original;
  isOwned = false;
  keeps = keepsPlaces;
  origin = newOrigin;
  places.clear();
}

void AlignedText::assign(const AlignedText &other, size_t begin, size_t end) {
  source = other.view().substr(begin, end - begin);
  isOwned = false;
  keeps = other.keeps;
  origin = static_cast<uint32_t>(other.origin + begin);
  places.clear();
  if (!other.places.empty())
    places.assign(other.places.begin() + begin, other.places.begin() + end);
}

Span AlignedText::place(size_t begin, size_t end) const {
  if (!places.empty() && begin < end)
    return {places[begin].begin, places[end - 1].end};
  const std::string_view text = view();
  while (begin > 0 && begin < text.size() && isContinuation(text[begin]))
    --begin;
  while (end < text.size() && isContinuation(text[end]))
    ++end;
  return {static_cast<uint32_t>(origin + begin), static_cast<uint32_t>(origin + std::max(begin, end))};
}

void AlignedText::own() {
  if (!isOwned)
    owned.assign(source);
  isOwned = true;
}

void AlignedText::expandPlaces() {
  if (!keeps || !places.empty())
    return;
  const std::string_view text = view();
  places.resize(text.size());
  for (size_t at = 0; at < text.size();) {
    const uint32_t size = codePointAt(text, at).size;
    const Span place{static_cast<uint32_t>(origin + at), static_cast<uint32_t>(origin + at + size)};
    std::fill_n(places.begin() + at, size, place);
    at += size;
  }
}

void AlignedText::take(std::string &&text, std::vector<Span> &&newPlaces, bool isShifted) {
  // The view may have been into `owned`, which becomes the next spare.
  std::string old = std::move(owned);
  owned = std::move(text);
  spare = std::move(old);
  isOwned = true;
  if (keeps && isShifted) {
    std::vector<Span> oldPlaces = std::move(places);
    places = std::move(newPlaces);
    sparesPlaces = std::move(oldPlaces);
  }
}

void AlignedText::transform(const std::vector<Change> &changes, size_t skipped) {
  expandPlaces();
  const std::string_view text = view();
  std::string made = std::move(spare);
  made.clear();
  std::vector<Span> madePlaces = std::move(sparesPlaces);
  madePlaces.clear();
  size_t at = 0;
  const auto next = [&] {
    if (at < text.size())
      at += codePointAt(text, at).size;
  };
  while (skipped-- > 0)
    next();
  for (const Change &change : changes) {
    Span place{origin, origin};
    if (keeps && !places.empty()) {
      if (change.change > 0)
        place = at > 0 ? places[at - 1] : Span{origin, origin};
      else
        place = places[std::min(at, places.size() - 1)];
    }
    if (change.change <= 0)
      for (int i = change.change; i <= 0; ++i)
        next();
    appendCodePoint(made, change.code);
    if (keeps)
      madePlaces.insert(madePlaces.end(), sizeInBytes(change.code), place);
  }
  take(std::move(made), std::move(madePlaces), true);
}

void AlignedText::prepend(std::string_view front) {
  const std::string_view text = view();
  if (text.empty() || front.empty())
    return;
  expandPlaces();
  const Span first = keeps ? places.front() : Span{};
  own();
  owned.insert(0, front);
  if (keeps)
    places.insert(places.begin(), front.size(), first);
}

void AlignedText::append(std::string_view back) {
  expandPlaces();
  const Span last = keeps && !places.empty() ? places.back() : Span{origin, origin};
  own();
  owned += back;
  if (keeps)
    places.insert(places.end(), back.size(), last);
}

void AlignedText::keepOnly(const std::function<bool(char32_t)> &keepsCharacter) {
  const std::string_view text = view();
  size_t at = 0;
  while (at < text.size()) {
    const CodePoint point = codePointAt(text, at);
    if (!keepsCharacter(point.code))
      break;
    at += point.size;
  }
  if (at == text.size())
    return;
  expandPlaces();
  std::string made(text.substr(0, at));
  std::vector<Span> madePlaces;
  if (keeps)
    madePlaces.assign(places.begin(), places.begin() + at);
  while (at < text.size()) {
    const CodePoint point = codePointAt(text, at);
    if (keepsCharacter(point.code)) {
      made += text.substr(at, point.size);
      if (keeps)
        madePlaces.insert(madePlaces.end(), places.begin() + at, places.begin() + at + point.size);
    }
    at += point.size;
  }
  take(std::move(made), std::move(madePlaces), true);
}

void AlignedText::replace(const std::vector<Span> &parts, std::string_view content) {
  if (parts.empty())
    return;
  expandPlaces();
  const std::string_view text = view();
  std::string made = std::move(spare);
  made.clear();
  std::vector<Span> madePlaces = std::move(sparesPlaces);
  madePlaces.clear();
  size_t at = 0;
  const auto copyUpTo = [&](size_t end) {
    made += text.substr(at, end - at);
    if (keeps)
      madePlaces.insert(madePlaces.end(), places.begin() + at, places.begin() + end);
  };
  for (const Span &part : parts) {
    copyUpTo(part.begin);
    made += content;
    if (keeps)
      madePlaces.insert(madePlaces.end(), content.size(), part.end > 0 ? places[part.end - 1] : Span{origin, origin});
    at = part.end;
  }
  copyUpTo(text.size());
  take(std::move(made), std::move(madePlaces), true);
}

} // namespace vx::text
