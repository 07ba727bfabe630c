// Calls of one instance, one after another, as a script on standard input tells them; run_state.py writes it.
//
//   run_calls MODULE.vxm DEVICE THREADS
//
//   call FUNCTION FILE...    the bytes of each input; prints "done" with the report, or "failed" and why
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

int main(int argc, char **argv) try {
  if (argc != 4)
    throw std::runtime_error("usage: run_calls MODULE.vxm DEVICE THREADS");
  vx::Module module(argv[1]);
  vx::InstanceOptions options;
  options.device = argv[2];
  options.noFallback = true;
  options.threads = static_cast<uint32_t>(std::stoul(argv[3]));
  vx::Instance instance(module, options);
  std::map<std::string, vx::Call> calls;
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string verb, name, path;
    words >> verb >> name;
    if (verb == "call") {
      const vx_function_info &function = find(module.functions(), name);
      std::vector<vx::Value> inputs;
      std::vector<int64_t> dims;
      for (uint32_t i = 0; i < function.input_count; ++i) {
        words >> path;
        const vx_argument_info &input = function.inputs[i];
        dims.clear();
        for (uint32_t d = 0; d < input.rank; ++d)
          dims.push_back(input.dims[d].size);
        inputs.push_back(valueOf(input.element_type, dims, path));
      }
      vx::Call &call = calls.try_emplace(name, instance, function).first->second;
      try {
        std::vector<vx::Value> results = call.run(inputs);
        std::cout << "done " << call.report() << std::endl;
      } catch (const vx::Error &error) {
        std::cout << "failed " << error.what() << std::endl;
      }
      continue;
    }
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
