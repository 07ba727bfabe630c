// Calls of one instance, one after another, as a script on standard input tells them; run_state.py and run_derived.py
// write it.
//
//   run_calls MODULE.vxm DEVICE THREADS
//
//   call FUNCTION FILE...    the bytes of each input; prints "done" with the report, or "failed" and why
//   results FILE             writes the bytes of all results of the last call that was done to FILE
//   race COUNT FILE FUNCTION FILE... , FUNCTION FILE...
//                            calls both functions COUNT times, side by side, and writes the bytes of all results of the
//                            second one to the first FILE; prints "raced"
//   read VARIABLE FILE       writes its bytes to FILE
//   write VARIABLE FILE
//
// Exit code: 0 the script was run to its end, 1 not.

#include "vx/runtime/vx.hpp"

#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

static std::vector<char> bytesOf(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  if (!file)
    throw std::runtime_error("cannot read '" + path + "'");
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

static vx::Value valueOf(vx_element_type type, std::span<const int64_t> dims, const std::string &path) {
  std::vector<char> bytes = bytesOf(path);
  return vx::Value::raw(type, dims, bytes.data(), bytes.size());
}

template <typename Info>
static const Info &find(std::span<const Info> all, const std::string &name) {
  for (const Info &info : all)
    if (info.name == name)
      return info;
  throw std::runtime_error("the module has no '" + name + "'");
}

namespace {

class Calls {
public:
  Calls(vx::Module &module, vx::Instance &instance) : module(module), instance(instance) {}

  struct Inputs {
    vx::Call *call;
    std::vector<vx::Value> values;
  };

  // FUNCTION FILE...
  Inputs prepare(std::istream &words) {
    std::string name, path;
    words >> name;
    const vx_function_info &function = find(module.functions(), name);
    Inputs inputs;
    std::vector<int64_t> dims;
    for (uint32_t i = 0; i < function.input_count; ++i) {
      words >> path;
      const vx_argument_info &input = function.inputs[i];
      dims.clear();
      for (uint32_t d = 0; d < input.rank; ++d)
        dims.push_back(input.dims[d].size);
      inputs.values.push_back(valueOf(input.element_type, dims, path));
    }
    inputs.call = &calls.try_emplace(name, instance, function).first->second;
    return inputs;
  }

private:
  vx::Module &module;
  vx::Instance &instance;
  std::map<std::string, vx::Call> calls;
};

} // namespace

static void append(std::ostream &file, const std::vector<vx::Value> &results) {
  for (const vx::Value &result : results) {
    std::span<const std::byte> bytes = result.bytes();
    file.write(reinterpret_cast<const char *>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  }
}

static void race(std::istream &words, Calls &calls) {
  int count = 0;
  std::string path, comma;
  words >> count >> path;
  Calls::Inputs first = calls.prepare(words);
  words >> comma;
  Calls::Inputs second = calls.prepare(words);
  std::exception_ptr failed;
  std::thread thread([&] {
    try {
      for (int i = 0; i < count; ++i)
        first.call->run(first.values);
    } catch (...) {
      failed = std::current_exception();
    }
  });
  std::ofstream file(path, std::ios::binary);
  for (int i = 0; i < count; ++i)
    append(file, second.call->run(second.values));
  thread.join();
  if (failed)
    std::rethrow_exception(failed);
  std::cout << "raced" << std::endl;
}

int main(int argc, char **argv) try {
  if (argc != 5)
    throw std::runtime_error("usage: run_calls MODULE.vxm DEVICE THREADS SEED");
  vx::Module module(argv[1]);
  vx::InstanceOptions options;
  options.device = argv[2];
  options.noFallback = true;
  options.threads = static_cast<uint32_t>(std::stoul(argv[3]));
  options.seed = std::stoull(argv[4]);
  vx::Instance instance(module, options);
  Calls calls(module, instance);
  std::vector<vx::Value> results;
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string verb, name, path;
    words >> verb;
    if (verb == "call") {
      Calls::Inputs inputs = calls.prepare(words);
      try {
        results = inputs.call->run(inputs.values);
        std::cout << "done " << inputs.call->report() << std::endl;
      } catch (const vx::Error &error) {
        std::cout << "failed " << error.what() << std::endl;
      }
      continue;
    }
    if (verb == "race") {
      race(words, calls);
      continue;
    }
    if (verb == "results") {
      words >> path;
      std::ofstream file(path, std::ios::binary);
      append(file, results);
      continue;
    }
    words >> name;
    words >> path;
    const vx_variable_info &variable = find(module.variables(), name);
    if (verb == "write") {
      instance.writeVariable(name, valueOf(variable.element_type, std::span(variable.dims, variable.rank), path));
    } else {
      vx::Value value = instance.readVariable(name);
      std::span<const std::byte> bytes = value.bytes();
      std::ofstream(path, std::ios::binary)
          .write(reinterpret_cast<const char *>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    }
  }
  return 0;
} catch (const std::exception &error) {
  std::cerr << "run_calls: " << error.what() << std::endl;
  return 1;
}
