// Second sizes of a case between processes and in files.
#ifndef VX_TOOLS_OUTCOME_JSON_H
#define VX_TOOLS_OUTCOME_JSON_H

#include "outcome.h"

#include <nlohmann/json.hpp>

namespace vx::tools {

// As "second_sizes" of `object`, which gets nothing where they are untried.
void addSecondSizes(nlohmann::ordered_json &object, const SecondSizesOutcome &second);

// Throws what the library throws where the object has something else there.
SecondSizesOutcome readSecondSizes(const nlohmann::ordered_json &object);

} // namespace vx::tools

#endif
