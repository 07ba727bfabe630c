// The model of a case as the reference evaluator computes it.
#ifndef VX_TOOLS_REFERENCE_MODEL_H
#define VX_TOOLS_REFERENCE_MODEL_H

#include "tensor.h"

#include <map>
#include <memory>
#include <string>

namespace vx::tools {

class ReferenceModel {
public:
  using Values = std::map<std::string, Value>; // by the names of inputs and outputs

  virtual ~ReferenceModel() = default;

  // False, with the reason in `refusal`, where the model does not take these sizes and values. All inputs of the graph
  // are among `inputs`. `outputs` may have a sequence where the model has an optional.
  virtual bool call(const Values &inputs, Values &outputs, std::string &refusal) = 0;
};

// Imports a model whose external data is in `dataFolder`. Null, with the reason in `problem`, where the evaluator does
// not know an op or a type of it.
std::unique_ptr<ReferenceModel> importReference(const std::string &model, const std::string &dataFolder,
                                                std::string &problem);

} // namespace vx::tools

#endif
