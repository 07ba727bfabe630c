// Failures in tests.
#ifndef VX_TEST_UNIT_TRAIN_ERRORS_H
#define VX_TEST_UNIT_TRAIN_ERRORS_H

#include "vx/train/error.hpp"

#include <functional>
#include <string>

namespace vx::test {

// The kind and the message of what `body` throws: "data: x.npy: not an .npy file".
inline std::string errorOf(const std::function<void()> &body) {
  try {
    body();
  } catch (const train::Error &error) {
    static const char *const kinds[] = {"argument", "data", "io"};
    return std::string(kinds[static_cast<int>(error.kind())]) + ": " + error.what();
  } catch (const std::exception &error) {
    return error.what();
  }
  return "no error";
}

} // namespace vx::test

#endif
