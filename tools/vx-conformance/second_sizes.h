// Calls that the reference evaluator computes too: at the sizes of a case's files, and, where sizes are symbols, at
// other sizes, since the code was compiled for any.
#ifndef VX_TOOLS_SECOND_SIZES_H
#define VX_TOOLS_SECOND_SIZES_H

#include "case_folder.h"
#include "outcome.h"
#include "reference_model.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace vx::tools {

struct SizedCall {
  std::string sizes; // "x_0=4, x_1=5"; empty at the sizes of the files
  ReferenceModel::Values inputs, outputs;
  std::string refusal; // why the model does not take them; there are no outputs then
};

struct SecondSizes {
  SecondSizesResult result = SecondSizesResult::Compared;
  std::string message = {};          // the sizes, or why there are none
  std::vector<SizedCall> calls = {}; // at the second sizes, where there are such, and at others
  // At the sizes of the files, of each set that is called. None where the evaluator does not compute them.
  std::vector<SizedCall> own = {};
};

// The sets of a case that are called in a mode: the constants of a model are those of the first set.
size_t countSets(const CaseData &data, Mode mode);

// The inputs of a set that it has.
ReferenceModel::Values inputsOf(const CaseData &data, const CaseData::Set &set);

// The calls at the sizes of the files (SecondSizes::own); none where the inputs have too many elements for the
// evaluator. Throws a ToolError (exit 3) for a file that cannot be read.
std::vector<SizedCall> callOwnSizes(const CaseData &data, Mode mode, ReferenceModel &reference);

// Finds second sizes that the model takes, with inputs drawn from those of `set`, and what comes of them: each size of
// the case becomes another one, equal ones an equal one, all of them one more, or as many as the model takes, one more
// or twice as many. Beside them each size, all equal ones, and all of an input are 0, 1, and one more, which the model
// may take or not; without `withOthers` there are the second sizes alone. Throws a ToolError (exit 3) for a file that
// cannot be read.
SecondSizes findSecondSizes(const CaseData &data, Mode mode, const CaseData::Set &set, ReferenceModel &reference,
                            bool withOthers = true);

// What differs first between the outputs of a call and the evaluator's; nothing when none does.
std::optional<std::string> outputsDifference(const SizedCall &call, const std::map<std::string, Value> &got);

// `tensor` with other sizes, of elements of its own: along a dimension that changes they are drawn, the same ones each
// time, along one that stays they are in their order. Zeros where it has no element.
Tensor resized(const Tensor &tensor, const std::vector<int64_t> &dims);

} // namespace vx::tools

#endif
