// The functions of a language model's module, for tests in Python.
//
//   decoder_peer MODULE DEVICE CONTEXT LOGITS
//
// Each line of standard input is a call on one instance:
//
//   prefill ID...        extend PAST ID...        decode PAST ID
//
// It prints "done ROWS" and appends the logits to the file LOGITS, f32, or prints "failed" and the reason.
#include "vx/runtime/vx.hpp"

#include <fstream>
#include <iostream>
#include <map>
#include <sstream>

static int run(const std::string &path, const std::string &device, int64_t context, const std::string &logits) {
  const vx::Module module(path);
  vx::InstanceOptions options;
  options.device = device;
  options.noFallback = true;
  options.symbols = {{"context", context}};
  const vx::Instance instance(module, options);
  std::map<std::string, vx::Call> calls;
  for (const vx_function_info &function : module.functions())
    calls.emplace(function.name, vx::Call(instance, function));
  std::ofstream file(logits, std::ios::binary);
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string function;
    words >> function;
    std::vector<int64_t> numbers;
    for (int64_t number; words >> number;)
      numbers.push_back(number);
    std::vector<vx::Value> inputs;
    if (function != "prefill") {
      inputs.push_back(vx::Value::tensor<int64_t>({}, std::vector<int64_t>{numbers.at(0)}));
      numbers.erase(numbers.begin());
    }
    inputs.insert(inputs.begin(), vx::Value::tensor<int64_t>({1, static_cast<int64_t>(numbers.size())}, numbers));
    try {
      const std::vector<vx::Value> results = calls.at(function).run(inputs);
      const std::span<const std::byte> bytes = results[0].bytes();
      file.write(reinterpret_cast<const char *>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
      std::cout << "done " << results[0].dims()[results[0].dims().size() - 2] << "\n";
    } catch (const vx::Error &error) {
      std::cout << "failed " << error.what() << "\n";
    }
  }
  return 0;
}

int main(int argc, char **argv) {
  try {
    return argc == 5 ? run(argv[1], argv[2], std::atoll(argv[3]), argv[4]) : 2;
  } catch (const std::exception &error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
