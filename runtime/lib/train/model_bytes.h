// The bytes of a file that is written, of which some are the elements of variables.
#ifndef VX_TRAIN_MODEL_BYTES_H
#define VX_TRAIN_MODEL_BYTES_H

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vx::train {

// A run of bytes, borrowed; or of the elements of a variable, from `offset`.
struct Segment {
  const uint8_t *data = nullptr; // null: of a variable
  uint32_t variable = 0;
  uint64_t offset = 0;
  uint64_t size = 0;
};

// Segments in sequence. Copies share the texts that were added.
class ModelBytes {
public:
  // Without bytes, over the texts of another one.
  static ModelBytes beside(const ModelBytes &other);

  void add(const Segment &segment);
  void add(std::string text);
  void add(const ModelBytes &other);
  // Those of `from` in [begin, end), which it has.
  void add(const ModelBytes &from, uint64_t begin, uint64_t end);
  void addVarint(uint64_t value);

  uint64_t size() const { return ends.empty() ? 0 : ends.back(); }
  const std::vector<Segment> &segments() const { return list; }
  // Nothing where the byte is of a variable, or at the end.
  std::optional<uint8_t> at(uint64_t place) const;
  // Nothing where one of the bytes is of a variable.
  std::optional<std::string> text(uint64_t begin, uint64_t end) const;

private:
  size_t find(uint64_t place) const;

  std::vector<Segment> list;
  std::vector<uint64_t> ends; // of each segment
  std::shared_ptr<std::deque<std::string>> texts = std::make_shared<std::deque<std::string>>();
};

} // namespace vx::train

#endif
