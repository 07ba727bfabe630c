#include "saved_variables.h"

#include <algorithm>
#include <map>
#include <utility>

namespace vx::train {

// What a step computes anew is no state.
static bool isState(vx_variable_role role) { return role != VX_ROLE_GRADIENT && role != VX_ROLE_SHADOW; }

static int64_t endOf(const vx_variable_info &variable) { return variable.offset + static_cast<int64_t>(variable.size); }

// Whether smaller variables lie in all of it but for gaps that only align them.
static bool isPool(const vx_variable_info &pool, std::span<const vx_variable_info> all) {
  constexpr int64_t alignment = 64;
  std::vector<std::pair<int64_t, int64_t>> parts;
  for (const vx_variable_info &one : all)
    if (one.storage == pool.storage && one.size < pool.size && one.size > 0 && isState(one.role) &&
        one.offset >= pool.offset && endOf(one) <= endOf(pool))
      parts.emplace_back(one.offset, endOf(one));
  if (parts.empty())
    return false;
  std::sort(parts.begin(), parts.end());
  int64_t covered = pool.offset;
  for (const auto &[begin, end] : parts) {
    if (begin - covered >= alignment)
      return false;
    covered = std::max(covered, end);
  }
  return endOf(pool) - covered < alignment;
}

std::vector<SavedVariable> savedVariables(const Instance &instance) {
  const std::span<const vx_variable_info> all = instance.variables();
  std::map<std::string, int> uses;
  for (const vx_variable_info &variable : all) {
    ++uses[variable.name];
    if (isWeight(variable.role) && std::string(variable.source) != variable.name)
      ++uses[variable.source];
  }
  std::vector<SavedVariable> saved;
  for (const vx_variable_info &variable : all)
    if (isState(variable.role) && !isPool(variable, all))
      saved.push_back(
          {&variable, isWeight(variable.role) && uses[variable.source] == 1 ? variable.source : variable.name});
  return saved;
}

uint64_t elementCount(const vx_variable_info &variable) {
  uint64_t count = 1;
  for (uint32_t i = 0; i < variable.rank; ++i)
    count *= static_cast<uint64_t>(variable.dims[i]);
  return count;
}

} // namespace vx::train
