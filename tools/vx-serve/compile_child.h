// Models that are no module files are compiled by another process, which may take so much time and memory.
#ifndef VX_TOOLS_COMPILE_CHILD_H
#define VX_TOOLS_COMPILE_CHILD_H

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>

namespace vx::tools {

struct CompileLimits {
  std::string cache; // the folder that module files go to
  std::chrono::seconds time{600};
  uint64_t memory = 0;                         // bytes; 0: no limit
  const std::atomic<bool> *isEnding = nullptr; // the server's, which waits for no compiler
};

// The module file of an .onnx file or a folder for the device: that of before, where neither the model's files nor the
// compiler have changed. One at a time. Throws serve::Error with what the compiler said.
std::string compileInChild(const std::string &model, const std::string &device, bool noFallback,
                           const CompileLimits &limits);

} // namespace vx::tools

#endif
