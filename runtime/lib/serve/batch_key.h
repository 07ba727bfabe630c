// What requests must have in common to run together.
#ifndef VX_SERVE_BATCH_KEY_H
#define VX_SERVE_BATCH_KEY_H

#include <string>
#include <string_view>

namespace vx::serve {

// Whether a part of a key counts: each does. In a source of its own, so that a test can be linked with another answer
// and show that requests which differ in that part alone are not told apart any more.
bool isPartOfBatchKey(std::string_view part);

// Made of parts one after another; keys with the same parts are equal where all values are.
class BatchKey {
public:
  BatchKey &add(std::string_view part, std::string_view value) {
    if (!isPartOfBatchKey(part))
      return *this;
    key += std::to_string(value.size());
    key += ':';
    key += value;
    return *this;
  }
  std::string take() { return std::move(key); }

private:
  std::string key;
};

} // namespace vx::serve

#endif
