// Folders laid out as ONNX's backend tests: NAME/model.onnx and NAME/test_data_set_N/{input,output}_K.pb, or NAME.onnx
// and NAME_output_K.pb, whose inputs are made.
#ifndef VX_TOOLS_CASE_FOLDER_H
#define VX_TOOLS_CASE_FOLDER_H

#include "onnx_wire.pb.h"
#include "outcome.h"
#include "tensor.h"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace vx::tools {

struct CaseFolder {
  std::string name;     // the folder's, without "test_" in front, or the model's
  std::string path;     // the folder, or the model
  std::string set = {}; // the folder that it was found in, of those that were searched

  bool isModel() const;
  // What external data of the model lies in.
  std::string dataFolder() const;
};

// The cases in folders of any depth, a folder that is one itself included, by their names. Throws a ToolError: exit 3
// where a folder cannot be read or has no case, exit 2 where two cases have one name.
std::vector<CaseFolder> findCases(const std::vector<std::string> &folders);

// The model and the files of one case.
class CaseData {
public:
  struct Set {
    std::string name;                                   // "test_data_set_0"
    std::map<std::string, std::string> inputs, outputs; // files by the names of the model's values
    std::map<std::string, Tensor> made;                 // inputs that have no files

    // Nothing where the set says nothing of the input. Throws a ToolError (exit 3) for a file that cannot be read.
    std::optional<Value> input(const std::string &name, vx_value_kind kind) const;
  };

  // Throws a ToolError (exit 3) that names the file which is missing or no model.
  explicit CaseData(const CaseFolder &folder);

  // In the order of their numbers: at least one, with a file of each input that has no initializer, and of each output.
  const std::vector<Set> &sets() const { return dataSets; }
  const onnx::GraphProto &graph() const { return model.graph(); }

  // The types of ops in the graph and in graphs of its nodes.
  std::set<std::string> ops() const;

  // The inputs that are initializers in the mode Constant.
  std::vector<std::string> constants() const;

  // A size of an input that is a symbol in a mode.
  struct Symbol {
    std::string input;
    size_t dimension;
    std::string name() const;
  };
  // In the order of the inputs; none in the mode Static.
  std::vector<Symbol> symbols(Mode mode) const;

  // The bytes of the model in a mode. Constants have the values of the first set. Throws as the constructor.
  std::string modelFor(Mode mode) const;

  // What a file of a value holds. Throws a ToolError (exit 3).
  static vx_value_kind kindOf(const onnx::ValueInfoProto &value);

private:
  void findFiles(Set &set, const std::string &path) const;
  void makeSet(const std::string &model);

  onnx::ModelProto model;
  std::vector<Set> dataSets;
};

} // namespace vx::tools

#endif
