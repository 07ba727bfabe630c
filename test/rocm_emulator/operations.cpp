#include "operations.h"

#include <unordered_map>

namespace vx::rocm_emulator {

static std::unordered_map<std::string_view, const Operation *> makeTable() {
  // Never destroyed: decoded code points into it.
  static auto &all = *new std::vector<Operation>();
  for (const auto &list : {scalarOperations(), floatOperations(), integerOperations(), comparisons(),
                           packedOperations(), crossLaneOperations(), memoryOperations(), matrixOperations()})
    all.insert(all.end(), list.begin(), list.end());
  std::unordered_map<std::string_view, const Operation *> table;
  for (const Operation &operation : all)
    for (std::string_view names = operation.name; !names.empty();) {
      const size_t end = names.find(' ');
      if (!table.emplace(names.substr(0, end), &operation).second)
        throw Fault("'" + std::string(names.substr(0, end)) + "' is defined twice");
      names = end == names.npos ? std::string_view() : names.substr(end + 1);
    }
  return table;
}

const Operation *findOperation(std::string_view name) {
  static const auto &table = *new auto(makeTable());
  auto found = table.find(name);
  return found == table.end() ? nullptr : found->second;
}

} // namespace vx::rocm_emulator
