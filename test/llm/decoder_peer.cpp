// The functions of a language model's module, for tests in Python and on machines that have none.
//
//   decoder_peer MODULE DEVICE CONTEXT LOGITS [EXPECTED SHARE]
//
// Each line of standard input is a call on one instance:
//
//   prefill ID...        extend PAST ID...        decode PAST ID
//
// or "save PATH", which writes the instance's module and prints "saved", or "memory", which prints the bytes of
// constants that the device has for a step of decode.
//
// It prints "done ROWS" and appends the logits to the file LOGITS, f32, or prints "failed" and the reason. With
// EXPECTED, a file of logits, a call whose logits are apart from these by more than SHARE of their largest one has
// failed, and so has the run if a number is left over.
#include "vx/runtime/vx.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>

// The file of expected logits, read from the front.
class Expected {
public:
  Expected(const std::string &path, double share) : file(path, std::ios::binary), share(share) {}

  // How far apart the next numbers are, as a text; empty: near enough.
  std::string compare(std::span<const float> got) {
    std::vector<float> next(got.size());
    const auto size = static_cast<std::streamsize>(got.size_bytes());
    if (file.read(reinterpret_cast<char *>(next.data()), size).gcount() != size)
      return "expected fewer numbers";
    double largest = 0, apart = 0;
    for (size_t i = 0; i < got.size(); ++i) {
      largest = std::max(largest, std::abs(double(next[i])));
      const double distance = std::abs(double(got[i]) - next[i]);
      apart = distance <= apart ? apart : distance; // NaN stays
    }
    return apart <= share * largest ? "" : "apart by " + std::to_string(apart / largest) + " of the largest";
  }
  bool isAtEnd() { return file.peek() == std::ifstream::traits_type::eof(); }

private:
  std::ifstream file;
  const double share;
};

static int run(const std::string &path, const std::string &device, int64_t context, const std::string &logits,
               Expected *expected) {
  bool hasFailed = false;
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
    if (function == "save") {
      std::string saved;
      words >> saved;
      instance.saveModule(saved, {});
      std::cout << "saved\n";
      continue;
    }
    if (function == "memory") {
      std::cout << instance.estimateMemory("decode", {}).constants << "\n";
      continue;
    }
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
      if (const std::string apart = expected ? expected->compare(results[0].data<float>()) : ""; !apart.empty()) {
        std::cout << "failed " << apart << "\n";
        hasFailed = true;
        continue;
      }
      std::cout << "done " << results[0].dims()[results[0].dims().size() - 2] << "\n";
    } catch (const vx::Error &error) {
      std::cout << "failed " << error.what() << "\n";
      hasFailed = true;
    }
  }
  if (!expected)
    return 0; // the reader of the answers counts them
  if (!expected->isAtEnd()) {
    std::cout << "failed expected more numbers\n";
    hasFailed = true;
  }
  return hasFailed ? 1 : 0;
}

int main(int argc, char **argv) {
  try {
    if (argc == 5)
      return run(argv[1], argv[2], std::atoll(argv[3]), argv[4], nullptr);
    if (argc != 7)
      return 2;
    Expected expected(argv[5], std::atof(argv[6]));
    return run(argv[1], argv[2], std::atoll(argv[3]), argv[4], &expected);
  } catch (const std::exception &error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
