// Which variables are the state of training, and what files call them.
#ifndef VX_TRAIN_SAVED_VARIABLES_H
#define VX_TRAIN_SAVED_VARIABLES_H

#include "vx/runtime/vx.hpp"

#include <string>
#include <vector>

namespace vx::train {

struct SavedVariable {
  const vx_variable_info *variable;
  std::string key; // its name in files
};

// All of an instance but gradients, what is derived, and pools whose bytes are those of the variables in them. In files
// a parameter or statistic has the name that the model has for it, where that is no other variable's.
std::vector<SavedVariable> savedVariables(const Instance &instance);

// What files of weights have.
inline bool isWeight(vx_variable_role role) { return role == VX_ROLE_PARAMETER || role == VX_ROLE_STATISTIC; }

uint64_t elementCount(const vx_variable_info &variable);

} // namespace vx::train

#endif
