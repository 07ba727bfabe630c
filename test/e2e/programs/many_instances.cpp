// Instances of one module on one device hold its weights once.
//
//   many_instances MODULE.vxm DEVICE COUNT [NAME=SIZE...]
//
// Makes COUNT instances that live at one time and runs the first function in the first and in the last, whose results
// must be equal. Prints how much memory of this process the first instance and all others took after a call each: where
// the device's memory is the process's (the CPU and software devices), less than a quarter of the weights is allowed
// for each of the others. Of another device, COUNT instances that could not hold the weights for themselves show it.
// Exit code: 0 all as wanted, 1 not.

#include "call_inputs.h"

#include "vx/runtime/vx.hpp"

#include <nlohmann/json.hpp>

#include <cstring>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

using nlohmann::json;

// Bytes of this process that are in memory, but for those of files.
static int64_t residentBytes() {
  std::ifstream status("/proc/self/status");
  int64_t kibibytes = 0;
  for (std::string word; status >> word;)
    if (word == "RssAnon:" || word == "RssShmem:") {
      int64_t part = 0;
      status >> part;
      kibibytes += part;
    }
  return kibibytes * 1024;
}

static bool areEqual(const std::vector<vx::Value> &a, const std::vector<vx::Value> &b) {
  for (size_t i = 0; i < a.size(); ++i) {
    const auto left = a[i].bytes(), right = b[i].bytes();
    if (left.size() != right.size() || std::memcmp(left.data(), right.data(), left.size()) != 0)
      return false;
  }
  return true;
}

int main(int argc, char **argv) try {
  if (argc < 4)
    throw std::runtime_error("usage: many_instances MODULE.vxm DEVICE COUNT [NAME=SIZE...]");
  const vx::Module module(argv[1]);
  const size_t count = std::stoul(argv[3]);
  if (count < 2)
    throw std::runtime_error("expected 2 instances or more");
  int64_t weights = 0;
  const json description = json::parse(module.describe());
  for (const json &section : description["sections"])
    if (section.value("kind", "") == "weights")
      weights += section.value("size", int64_t(0));
  vx::tools::SymbolValues symbols;
  for (int i = 4; i < argc; ++i) {
    const std::string text = argv[i];
    symbols[text.substr(0, text.find('='))] = std::stoll(text.substr(text.find('=') + 1));
  }
  const vx_function_info &function = module.functions()[0];
  std::vector<vx::Value> inputs;
  for (const vx::tools::Value &value : vx::tools::makeInputs(function, {}, 0, symbols))
    inputs.push_back(vx::tools::toRuntime(value));

  vx::InstanceOptions options;
  options.device = argv[2];
  options.noFallback = true;
  const int64_t before = residentBytes();
  std::vector<vx::Instance> instances;
  instances.emplace_back(module, options);
  vx::Call call(instances[0], function);
  const std::vector<vx::Value> first = call.run(inputs);
  const int64_t one = residentBytes();
  while (instances.size() < count)
    instances.emplace_back(module, options);
  vx::Call other(instances.back(), function);
  const std::vector<vx::Value> last = other.run(inputs);
  const int64_t all = residentBytes();
  std::cout << weights << " bytes of weights; the first instance takes " << one - before << " bytes, " << count - 1
            << " more take " << all - one << std::endl;
  if (!areEqual(first, last))
    throw std::runtime_error("the results of the first instance and of the last differ");
  if ((all - one) / static_cast<int64_t>(count - 1) >= weights / 4)
    throw std::runtime_error("an instance beside another one takes a quarter of the weights or more");
  return 0;
} catch (const std::exception &error) {
  std::cerr << "many_instances: " << error.what() << std::endl;
  return 1;
}
