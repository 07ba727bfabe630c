// What a case wants of its outputs: the values of its files, or what the text of an op says where these are random.
#ifndef VX_TOOLS_EXPECTED_OUTPUTS_H
#define VX_TOOLS_EXPECTED_OUTPUTS_H

#include "case_folder.h"
#include "tensor.h"

#include <map>
#include <optional>
#include <string>

namespace vx::tools {

class ExpectedOutputs {
public:
  // Borrows `data`, of the case `name`.
  ExpectedOutputs(const CaseData &data, std::string name);

  // What differs first, of drawn values types and sizes alone, between `got` and the outputs of a set, by their names;
  // nothing when all are right. Throws a ToolError (exit 3) for a file that cannot be read.
  std::optional<std::string> difference(const CaseData::Set &set, const std::map<std::string, Value> &got) const;

  bool areDrawn() const { return isDrawn; }
  // Drawn, or dropped by what is.
  bool areRandom(const CaseData::Set &set) const { return isDrawn || drops(set); }

private:
  struct Drops {
    Tensor input;
    double ratio;
  };
  std::optional<Drops> drops(const CaseData::Set &set) const;
  bool readsLossyImage(const CaseData::Set &set) const;

  const CaseData &data;
  const std::string name;
  const bool isDrawn; // an op draws numbers: DrawnValues says more
  // The one node of the graph.
  const onnx::NodeProto *dropout = nullptr, *imageDecoder = nullptr;
};

} // namespace vx::tools

#endif
