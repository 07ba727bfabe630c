// A second set of sizes for a case whose sizes are symbols: what was compiled for any size is run at others than those
// of the case's files, and the reference evaluator says what must come out.
#ifndef VX_TOOLS_SECOND_SIZES_H
#define VX_TOOLS_SECOND_SIZES_H

#include "case_folder.h"
#include "outcome.h"
#include "reference_model.h"

#include <map>
#include <optional>
#include <string>

namespace vx::tools {

struct SecondSizes {
  SecondSizesResult result;
  // The sizes as "x_0=4, x_1=5", or why there are none.
  std::string text;
  ReferenceModel::Values inputs, outputs;
};

// Finds sizes that the model takes, with inputs drawn from those of `set`, and what comes of them. Each size of the
// case becomes another one, equal ones an equal one: all of them one more, or as many as the model takes, one more or
// twice as many. Throws a ToolError (exit 3) for a file that cannot be read.
SecondSizes findSecondSizes(const CaseData &data, const CaseData::Set &set, ReferenceModel &reference);

// What differs first between the outputs of a call at these sizes and the evaluator's; nothing when none does.
std::optional<std::string> secondDifference(const SecondSizes &second, const std::map<std::string, Value> &got);

// `tensor` with other sizes, of elements of its own: along a dimension that changes they are drawn, the same ones each
// time, along one that stays they are in their order. Zeros where it has no element.
Tensor resized(const Tensor &tensor, const std::vector<int64_t> &dims);

} // namespace vx::tools

#endif
