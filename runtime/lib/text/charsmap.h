// The rules of normalisation that SentencePiece compiles into its models: a double array that leads from bytes to
// texts.
#ifndef VX_TEXT_CHARSMAP_H
#define VX_TEXT_CHARSMAP_H

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <cstddef>
#include <cstdint>

namespace vx::text {

class Charsmap {
public:
  // None, which changes nothing.
  Charsmap() = default;
  // `bytes` is the size of the array in 4 bytes, the array, and the texts with a 0 behind each. Throws Error::file.
  explicit Charsmap(std::string_view bytes);

  bool isEmpty() const { return units.empty(); }

  struct Rule {
    size_t size; // of the bytes that it takes
    std::string_view to;
  };
  // What the shortest, or the longest, beginning of `text` that has a rule becomes.
  std::optional<Rule> findShortest(std::string_view text) const { return find(text, false); }
  std::optional<Rule> findLongest(std::string_view text) const { return find(text, true); }
  bool startsRule(unsigned char byte) const { return starts[byte]; }

private:
  std::optional<Rule> find(std::string_view text, bool isLongest) const;
  std::vector<uint32_t> units;
  std::string texts;
  bool starts[256] = {};
};

} // namespace vx::text

#endif
