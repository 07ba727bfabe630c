// Compiles the text of one kernel with the Vulkan backend and runs it on the first device.
#ifndef VX_TEST_TARGET_VULKAN_KERNEL_RUNNER_H
#define VX_TEST_TARGET_VULKAN_KERNEL_RUNNER_H

#include "hal/driver.h"
#include "vx/Target/Vulkan.h"

#include <cstring>
#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace vx::test {

using Bytes = std::vector<uint8_t>;

template <typename T>
Bytes toBytes(const std::vector<T> &values) {
  Bytes bytes(values.size() * sizeof(T));
  if (!values.empty())
    std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

template <typename T>
std::vector<T> fromBytes(const Bytes &bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!values.empty())
    std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

struct Compiled {
  KernelBinary binary;
  uint32_t threads = 1;
  std::string error; // what went wrong, or empty
};

enum class Form {
  Graph,  // a vx.kernel, the whole pipeline
  Linalg, // the linalg form: what conversion to linalg leaves
  Memref  // the memref form: what code generation leaves
};

/// Compiles the one function of `text` in a context of its own and lets spirv-val look at the result.
Compiled compile(const std::string &text, Form form);

/// Runs kernels; a test fixture whose tests are skipped where there is no device.
class KernelTest : public testing::Test {
protected:
  void SetUp() override;

  /// Runs the kernel on `buffers` (copied to the device, and what is there afterwards copied back).
  void run(const Compiled &kernel, std::vector<Bytes> &buffers, const std::vector<int64_t> &scalars,
           uint64_t workgroups);

  Ref<hal::Device> device;
  Ref<hal::Stream> stream;
  vx_fault_record fault = {};
};

} // namespace vx::test

#endif
