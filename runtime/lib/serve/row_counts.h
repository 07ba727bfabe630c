// How many rows batches run with where the same bits are to come out of a request whoever else is in its batch.
#ifndef VX_SERVE_ROW_COUNTS_H
#define VX_SERVE_ROW_COUNTS_H

#include <cstddef>
#include <functional>
#include <map>
#include <string>

namespace vx::serve {

// A fixed count is always right, and wasteful for a single request. A smaller one is right too where each row comes
// out of it with the bits that it has in the fixed one. That is nothing which a compiler says of a device's kernels:
// it is tried, once for each count, with rows that differ.
class RowCounts {
public:
  // `full` is the fixed count; smaller ones are `multiple` times a power of two.
  explicit RowCounts(size_t full, size_t multiple = 1) : full(full), multiple(multiple) {}

  // The least count for `rows`, up to `full`, that gives the bits of the fixed one by `isSame`, which is asked once.
  // `key` is what the runs have in common, as a length.
  size_t choose(const std::string &key, size_t rows, const std::function<bool(size_t count)> &isSame);
  // Another device has to be tried anew.
  void forget() { known.clear(); }

private:
  const size_t full, multiple;
  std::map<std::pair<std::string, size_t>, bool> known;
};

} // namespace vx::serve

#endif
