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
    if (const vx_batch_info *batch = module.batch(function); batch && batch->is_joinable) {
      entry.rows = {.canJoin = true, .most = batch->max_rows, .multiple = batch->multiple, .inputs = {}, .outputs = {}};
      for (size_t i = 0; i < batch->input_count; ++i)
        entry.rows.inputs.push_back(batch->inputs[i] == VX_ROWS_OWN);
      for (size_t i = 0; i < batch->output_count; ++i)
        entry.rows.outputs.push_back(batch->outputs[i] == VX_ROWS_OWN ? RowFacts::Output::rows
                                                                      : RowFacts::Output::same);
    }
    facts.push_back(std::move(entry));
  }
  return facts;
}

} // namespace vx::serve
