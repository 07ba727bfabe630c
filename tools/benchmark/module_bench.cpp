#include "module_bench.h"

#include "call_inputs.h"
#include "command_line.h"
#include "load_module.h"
#include "npy.h"
#include "output_file.h"
#include "peer.h"

#include <algorithm>
#include <numeric>
#include <thread>

namespace vx::tools {

namespace fs = std::filesystem;

// The functions of a training module that are timed. `dims` gets the rows that are asked for.
static std::vector<std::string> trainingFunctions(const ModuleBench &options, const std::string &path,
                                                  SymbolValues &dims) {
  const vx::Module module = loadModule(path);
  const vx_training_info *training = module.training();
  if (!training || !training->train_step || training->input_count == 0)
    throw usageError("--train: '{}' has no training step; expected a module that was compiled with --train", path);
  const vx_argument_info &data = training->train_step->inputs[training->inputs[0]];
  if (options.batchSize) {
    if (data.rank == 0)
      throw usageError("--batch-size: input '{}' of '{}' has no rows", data.name, path);
    if (data.dims[0].size >= 0 && data.dims[0].size != options.batchSize)
      throw usageError("--batch-size: expected {}, which '{}' is compiled for, got {}", data.dims[0].size, path,
                       options.batchSize);
    if (data.dims[0].size < 0)
      dims[data.dims[0].expression] = options.batchSize;
  }
  std::vector<std::string> functions = {training->train_step->name};
  if (training->evaluate)
    functions.emplace_back(training->evaluate->name);
  return functions;
}

void addModules(std::vector<Entry> &entries, const ModuleBench &options, SymbolValues dims) {
  const std::string &module = options.module;
  const std::vector<std::string> functions =
      options.train ? trainingFunctions(options, module, dims) : std::vector<std::string>{options.function};
  for (const std::string &device : options.devices)
    for (uint32_t count : options.threads) {
      // Threads are the CPU's: another device is measured once.
      if (count != options.threads.front() && device != "auto" && !device.starts_with("cpu"))
        continue;
      showProgress(fmt::format("loading {} on {}", module, device));
      MeasurementRequest request;
      request.path = module;
      request.device = device;
      request.threads = count;
      request.dims = dims;
      request.inputs = options.inputs;
      request.seed = options.seed;
      request.alias = options.alias;
      request.resident = options.resident;
      request.perKernel = options.perKernel;
      request.train = options.train;
      for (const std::string &function : functions) {
        request.function = function;
        entries.push_back({makeModuleContestant(request), {}});
      }
    }
}

// The facts of a module's training step that a peer needs. The inputs that steer it are left to the peer.
static PeerTraining peerTraining(const vx::Module &module, std::vector<size_t> &dataInputs) {
  const vx_training_info &training = *module.training();
  dataInputs.assign(training.inputs, training.inputs + training.input_count);
  PeerTraining result{training.loss, training.optimizer, {}, {}, std::nullopt};
  const std::span<const vx_variable_info> variables = module.variables();
  for (const vx_variable_info &variable : variables) {
    // The model knows the variables in a pool, and not the pool.
    const bool isPool = std::any_of(variables.begin(), variables.end(), [&variable](const vx_variable_info &other) {
      return other.storage == variable.storage && other.size < variable.size && other.offset >= variable.offset &&
             other.offset - variable.offset <= static_cast<int64_t>(variable.size - other.size);
    });
    if (!isPool && variable.role == VX_ROLE_PARAMETER)
      result.parameters.emplace_back(variable.source);
    else if (!isPool && variable.role == VX_ROLE_STATISTIC)
      result.statistics.emplace_back(variable.source);
  }
  return result;
}

// One for each peer and number of threads; the inputs are the same numbers as ours.
void addPeers(std::vector<Entry> &entries, const ModuleBench &options, SymbolValues dims, const fs::path &scratch) {
  const std::string &path = options.module;
  const vx::Module module = loadModule(path);
  const std::string name = options.train ? trainingFunctions(options, path, dims).front() : options.function;
  const vx_function_info &function = findFunction(module, name);
  PeerRequest request;
  request.function = function.name;
  request.script = options.peerScript;
  request.module = path;
  request.model = options.peerModel;
  checkDims(module.symbols(), function, dims);
  const std::vector<Value> values = makeInputs(function, options.inputs, options.seed, dims);
  std::vector<size_t> taken(values.size());
  std::iota(taken.begin(), taken.end(), size_t(0));
  if (options.train) {
    request.training = peerTraining(module, taken);
    if (const Value &data = values[taken.front()]; data.kind == VX_TENSOR && !data.tensors.front().dims.empty())
      request.training->rows = data.tensors.front().dims[0];
  }
  for (size_t i : taken) {
    if (values[i].kind != VX_TENSOR)
      throw usageError("--peer: input '{}' is no tensor, which a peer does not take", function.inputs[i].name);
    const std::string file = scratch / fmt::format("{}.npy", i);
    writeFile(file, formatNpy(values[i].tensors.front()));
    request.inputs[function.inputs[i].name] = file;
  }
  for (size_t i = 0; i < function.symbol_count; ++i)
    if (function.symbols[i].data_dependent)
      dims.erase(function.symbols[i].name);
  request.dims = dims;
  for (const std::string &peer : options.peers)
    for (uint32_t count : options.threads) {
      request.name = peer;
      request.threads = count ? count : std::max(1u, std::thread::hardware_concurrency());
      showProgress(fmt::format("loading {} in {}", request.model, peer));
      entries.push_back({makePeerContestant(request), {}});
    }
}

// Each step and the evaluation that was added after it.
void compareWithForward(std::vector<Measurement> &results, size_t begin) {
  for (size_t i = begin; i + 1 < results.size(); i += 2)
    if (results[i].function == results[i + 1].function || results[i + 1].runner != "vx")
      return; // the modules have no evaluation, or peers come
    else if (results[i + 1].medianMs > 0)
      results[i].timesForward = results[i].medianMs / results[i + 1].medianMs;
}

} // namespace vx::tools
