// Text that is being normalised, and where in the original each of its bytes comes from.
#ifndef VX_TEXT_ALIGNED_TEXT_H
#define VX_TEXT_ALIGNED_TEXT_H

#include "vx/text/tokenizer.hpp"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace vx::text {

// A character of a new text: how it follows from the old one's, taken in order. 0: it stands for the next one; -n: for
// the next one and n behind it; above 0: for none, it is inserted behind the one before.
struct Change {
  char32_t code;
  int change;
};

class AlignedText {
public:
  AlignedText() = default;
  // A part of the original, which must live on. `origin` is its place there; where `keepsPlaces` is false nobody will
  // ask for any.
  void assign(std::string_view original, uint32_t origin, bool keepsPlaces);
  // Bytes of another that lies as long. Not of itself.
  void assign(const AlignedText &other, size_t begin, size_t end);

  std::string_view view() const { return isOwned ? std::string_view(owned) : source; }
  // Where bytes `begin` up to before `end` come from, in bytes of the original. An empty part of a text that is not
  // empty is nowhere in particular.
  Span place(size_t begin, size_t end) const;

  // The new text of `changes`, the first of which follows `skipped` characters that go.
  void transform(const std::vector<Change> &changes, size_t skipped);
  void prepend(std::string_view front);
  void append(std::string_view back);
  void keepOnly(const std::function<bool(char32_t)> &keeps);
  // Non-overlapping parts in order become `content`, which comes from the last character of its part.
  void replace(const std::vector<Span> &parts, std::string_view content);

  // For passes that write a new text of their own: takes text and places. Places are empty where each byte comes from
  // the byte of the old one at its place.
  void take(std::string &&text, std::vector<Span> &&newPlaces, bool isShifted);
  bool hasPlaces() const { return keeps; }
  // The buffers of the last text that was taken, for the next pass.
  std::string &spareText() { return spare; }
  std::vector<Span> &sparePlaces() { return sparesPlaces; }
  // The place of a character of `size` bytes that begins at byte `at`.
  Span characterPlace(size_t at, uint32_t size) const {
    if (!places.empty())
      return places[at];
    return {static_cast<uint32_t>(origin + at), static_cast<uint32_t>(origin + at + size)};
  }

private:
  void own();
  void expandPlaces();

  std::string_view source;
  std::string owned, spare;
  bool isOwned = false, keeps = true;
  uint32_t origin = 0;
  std::vector<Span> places, sparesPlaces; // empty: characters lie in the original as they do here, from `origin` on
};

} // namespace vx::text

#endif
