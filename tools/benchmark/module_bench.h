// Functions of a module on devices, and peers on the same inputs, as contestants that take turns.
#ifndef VX_BENCH_MODULE_BENCH_H
#define VX_BENCH_MODULE_BENCH_H

#include "turns.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace vx::tools {

struct ModuleBench {
  std::string module;                // its file
  std::string function;              // the first one where none is given
  std::vector<std::string> devices;  // "cpu", "vulkan:0"
  std::vector<uint32_t> threads;     // of the CPU; 0: one per core
  std::vector<std::string> inputs;   // NAME=VALUE; others are random
  uint64_t seed = 0;                 // of random inputs
  bool alias = false;                // outputs take over the memory of inputs
  bool resident = true;              // inputs and results stay in the device's memory
  bool perKernel = false;            // times every kernel too
  bool train = false;                // the training step, and its evaluation beside it
  int64_t batchSize = 0;             // rows of a step; 0: those of the module
  std::vector<std::string> peers;    // "onnxruntime", "pytorch", "pytorch-compile"
  std::string peerModel, peerScript; // the peer's file, and the script that runs it
};

// A contestant for each device, number of threads and function. Throws a ToolError.
void addModules(std::vector<Entry> &entries, const ModuleBench &options, SymbolValues dims);

// One for each peer and number of threads; the inputs are the same numbers as ours, as files in `scratch`. Throws a
// ToolError.
void addPeers(std::vector<Entry> &entries, const ModuleBench &options, SymbolValues dims,
              const std::filesystem::path &scratch);

// Gives the training steps among the results from `begin` on their times beside the evaluation, which comes after each.
void compareWithForward(std::vector<Measurement> &results, size_t begin);

} // namespace vx::tools

#endif
