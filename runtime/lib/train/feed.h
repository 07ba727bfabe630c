// What goes from a data set into a function of a module, batch by batch.
#ifndef VX_TRAIN_FEED_H
#define VX_TRAIN_FEED_H

#include "vx/train/dataset.hpp"

#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace vx::train {

// Rows of a batch where nobody says how many.
inline constexpr int64_t UsualBatch = 32;

// The inputs that are `numbers` of a function, from the columns of their names.
class Feed {
public:
  // Throws Error::data with all that does not fit, Error::argument where the function takes no batches. Values
  // that index something are looked at, of all rows where they lie in memory, else when they are read.
  Feed(const Dataset &data, const vx_function_info &function, std::span<const size_t> numbers);

  // The size of a batch when `wanted` is asked for; 0: the fixed one, or else `usual`. Throws Error::argument.
  int64_t batch(int64_t wanted, int64_t usual) const;
  // Whether the function takes a batch of this size.
  bool takes(int64_t rows) const;
  // What the sizes of a function are with a batch of so many rows of this data, where inputs of the same names bind
  // them.
  std::vector<std::pair<std::string, int64_t>> sizes(const vx_function_info &function, int64_t rows) const;
  // The first dimension of the inputs: a number, or "batch".
  const std::string &dimension() const { return batchText; }

  // The rows `rows` of the data. They stay until the next but one are read, so that some can be used meanwhile.
  std::vector<Value> read(std::span<const int64_t> rows);

private:
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  struct Input {
    const vx_argument_info *argument;
    size_t column;
    bool isConverted; // the column has another element type
    std::optional<Dataset::Range> range;
    std::vector<Line> unconverted; // rows in the column's type
    std::array<std::vector<Line>, 2> memory;
  };

  void addInput(const vx_argument_info &argument, std::vector<std::string> &problems);
  void findBatch(const vx_function_info &function);

  Dataset data;
  std::vector<Input> inputs;
  size_t turn = 0; // of the two memories
  std::string functionName, batchText;
  int64_t fixed = -1;
  int64_t least = 0, most = INT64_MAX, multiple = 1;
};

} // namespace vx::train

#endif
