// The contestants that are timed, a module on a device or a peer, and their results.
#ifndef VX_BENCH_MEASUREMENT_H
#define VX_BENCH_MEASUREMENT_H

#include "probe_rounds.h"
#include "signature.h"
#include "vx/bench.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace vx::tools {

// All dispatches of a kernel in one call.
struct KernelMeasurement {
  std::string name;
  std::string key;
  std::vector<std::string> sources;
  uint64_t dispatches = 0;
  // Median over the profiled calls; nothing when the device cannot time dispatches.
  std::optional<double> medianMs;
  // Nothing when the module does not state them.
  std::optional<double> flops;
  std::optional<double> bytes;

  std::optional<double> gflops() const;
  std::optional<double> gbs() const;
};

struct Measurement : vx::bench::Times { // of the calls that were timed
  std::string module;
  std::string function;
  std::string runner = "vx"; // or the peer, "onnxruntime", "pytorch"
  std::string runnerVersion;
  std::string device;        // that was taken, "vulkan:0"
  std::string deviceName;    // "NVIDIA H100"
  std::string deviceDetails; // the driver's version among them
  std::string variant;
  uint32_t threads = 0; // of the CPU; 0 on other devices
  SymbolValues dims;
  std::vector<std::string> zeroInputs; // that are zeros, since no other values are known to be allowed

  // When the turns and the probe's round after each began: seconds since the first turn of all.
  std::vector<double> turnsAt, probesAt;
  // The rounds of the device's probe, one after each turn. Nothing for a peer and without probes.
  std::optional<Peaks> peaks;

  // Inputs stay in the device's memory from call to call, and results are not brought to the host.
  bool isResident = false;
  // How much longer a call takes that brings its inputs from the host, and the time of bringing its results there,
  // where calls leave both out: medians.
  std::optional<double> uploadMs, downloadMs;

  // Inputs, outputs and constants, each counted once: the least that a call moves. An input and an output that are
  // one memory are not counted: nobody says how much of it a call touches.
  uint64_t bytes = 0;
  double gbs = 0;
  // Of all kernels; nothing for a peer, or when the module does not state it.
  std::optional<double> flops;
  std::optional<double> gflops;
  std::optional<double> kernelBytes;
  // Device memory of the instance of a call: its variables and the call's own; nothing for a peer.
  std::optional<uint64_t> memoryBytes;
  // Of the batch of a training module's function.
  std::optional<int64_t> rows;
  // Of the batch of a model of embeddings.
  std::optional<int64_t> tokens;
  // The loss of the first step: the same model and rows have the same loss.
  std::optional<double> firstLoss;
  // A training step's median time over that of the same module's evaluation.
  std::optional<double> timesForward;
  // The fastest peer's median time over this one's, on the same model, threads and inputs.
  std::optional<double> timesPeer;
  // Longest first; empty unless asked for.
  std::vector<KernelMeasurement> kernels;
};

// The rate of training steps that are timed: one that trains, so that numbers stay numbers.
inline constexpr float StepRate = 1e-4f;

// Something that can be run again and again, so that several can take turns.
class Contestant {
public:
  virtual ~Contestant() = default;

  // Runs for at least `seconds` and `minRuns` times, and appends the seconds that each run took. Throws ToolError.
  virtual void run(double seconds, uint32_t minRuns, std::vector<double> &times) = 0;

  // Measures the times of kernels and of transfers, once in each turn.
  virtual void finishTurn() {}

  // All but the times. Called when it has run, outside of the timing.
  virtual Measurement describe() = 0;
};

struct MeasurementRequest {
  std::string path;
  std::string device; // one of --device
  uint32_t threads = 0;
  std::string function;
  SymbolValues dims;
  std::vector<std::string> inputs;
  uint64_t seed = 0;
  // An output that may be the memory of an input is, and goes into the next call.
  bool alias = false;
  // Inputs are in the device's memory before the first call, and results stay there. Else each call brings its inputs
  // to the device and its results to the host. A CPU reads and writes the host's memory in place.
  bool resident = true;
  // With the times of single kernels.
  bool perKernel = false;
  // The function is one of the module's training table.
  bool train = false;
};

// Loads the module on the device and makes its inputs. The time of a run is that of vx_call_run, and without `resident`
// that of fetching its results too. Throws ToolError.
std::unique_ptr<Contestant> makeModuleContestant(const MeasurementRequest &request);

// Computes the values that follow from the times of the runs, which are not empty.
void setTimes(Measurement &measurement, std::vector<double> seconds);

} // namespace vx::tools

#endif
