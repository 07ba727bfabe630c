#include "module_facts.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace vx::serve {

std::vector<FunctionFacts> factsOf(const Module &module) {
  const nlohmann::json description = nlohmann::json::parse(module.describe());
  std::vector<FunctionFacts> facts;
  for (const vx_function_info &function : module.functions()) {
    FunctionFacts entry;
    entry.function = &function;
    for (const nlohmann::json &target : description["targets"])
      for (const nlohmann::json &version : target["entries"])
        if (version["function"] == function.name)
          for (const nlohmann::json &variable : description["programs"][version["program"].get<size_t>()]["stores"])
            entry.stores.push_back(variable.get<std::string>());
    std::sort(entry.stores.begin(), entry.stores.end());
    entry.stores.erase(std::unique(entry.stores.begin(), entry.stores.end()), entry.stores.end());
    facts.push_back(std::move(entry));
  }
  return facts;
}

} // namespace vx::serve
