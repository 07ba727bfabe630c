#include "ExternalFiles.h"

#include <set>

namespace vx::onnx {

namespace {

class Collector {
public:
  void visit(const GraphProto &graph) {
    for (const TensorProto &tensor : graph.initializer())
      visit(tensor);
    for (const SparseTensorProto &tensor : graph.sparse_initializer())
      visit(tensor);
    for (const NodeProto &node : graph.node())
      visit(node);
  }
  void visit(const NodeProto &node) {
    for (const AttributeProto &attribute : node.attribute())
      visit(attribute);
  }
  void visit(const AttributeProto &attribute) {
    if (attribute.has_t())
      visit(attribute.t());
    for (const TensorProto &tensor : attribute.tensors())
      visit(tensor);
    if (attribute.has_sparse_tensor())
      visit(attribute.sparse_tensor());
    for (const SparseTensorProto &tensor : attribute.sparse_tensors())
      visit(tensor);
    if (attribute.has_g())
      visit(attribute.g());
    for (const GraphProto &graph : attribute.graphs())
      visit(graph);
  }
  void visit(const SparseTensorProto &tensor) {
    visit(tensor.values());
    visit(tensor.indices());
  }
  void visit(const TensorProto &tensor) {
    for (const StringStringEntryProto &entry : tensor.external_data())
      if (entry.key() == "location" && !entry.value().empty())
        locations.insert(entry.value());
  }

  std::set<std::string> locations;
};

} // namespace

std::vector<std::string> collectExternalFiles(const ModelProto &model, const std::filesystem::path &folder) {
  Collector collector;
  collector.visit(model.graph());
  for (const TrainingInfoProto &training : model.training_info()) {
    collector.visit(training.initialization());
    collector.visit(training.algorithm());
  }
  for (const FunctionProto &function : model.functions()) {
    for (const NodeProto &node : function.node())
      collector.visit(node);
    for (const AttributeProto &attribute : function.attribute_proto())
      collector.visit(attribute);
  }
  std::vector<std::string> files;
  for (const std::string &location : collector.locations)
    files.push_back((folder / location).string());
  return files;
}

} // namespace vx::onnx
