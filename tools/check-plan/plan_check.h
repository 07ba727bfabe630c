// One check of a plan: a call on a device whose whole outputs are compared with expected ones.
#ifndef VX_TOOLS_PLAN_CHECK_H
#define VX_TOOLS_PLAN_CHECK_H

#include "output_rule.h"
#include "vx/bench.hpp"

#include <memory>

namespace vx::tools {

// Where the files of a plan come from. Each call throws a ToolError for a file that is not there or is wrong.
class CheckFiles {
public:
  virtual ~CheckFiles() = default;
  virtual vx::Module module(const std::string &name) = 0;
  // One value for each input of the function.
  virtual std::vector<vx::Value> inputs(const vx_function_info &function, const nlohmann::json &check) = 0;
  virtual OutputRule rule(const nlohmann::json &result) = 0;
  // The expected output, of this type where the file does not state one.
  virtual Tensor expected(const nlohmann::json &check, const nlohmann::json &result, vx_element_type type) = 0;
  // What else is wrong with a result that has been judged; empty for nothing.
  virtual std::string furtherProblem(const nlohmann::json &, const nlohmann::json &, const Tensor &) { return {}; }
};

// One thing that is wrong. `element`, `expected` and `got` are empty where no single element of an output is wrong.
struct CheckProblem {
  std::string text, output, element, expected, got;
};

struct CheckResult {
  std::vector<CheckProblem> problems; // none: the check passed
  uint64_t results = 0, elements = 0; // that were compared
  double worst = 0;                   // of the elements, as a share of the allowed difference
  double firstMs = 0;                 // the first call of the function
  vx::bench::Times times;             // of the calls after it; no runs: they were not timed
};

// Whether the check has code for a device, "cuda:1". The null device takes any.
bool hasCode(const nlohmann::json &check, const std::string &device);

// Runs checks on one device. Instances of a module without variables are kept for the next check of it.
class CheckRunner {
public:
  CheckRunner(std::string device, CheckFiles &files) : device(std::move(device)), files(files) {}

  // Throws nothing: all that goes wrong is a problem of the result. `seconds` is how long calls are timed after the
  // comparison; 0: not at all.
  CheckResult run(const nlohmann::json &check, double seconds = 0);

private:
  struct Loaded {
    vx::Module module;
    vx::Instance instance;
  };
  Loaded load(const std::string &name);
  void compare(const nlohmann::json &check, double seconds, CheckResult &result);

  const std::string device;
  CheckFiles &files;
  std::string keptName;
  std::optional<Loaded> kept;
};

// The outputs of a call that are tensors, by their names.
std::map<std::string, Tensor> tensorsOf(const vx_function_info &function, const std::vector<vx::Value> &outputs);

} // namespace vx::tools

#endif
