// A recorded function as a model of ONNX: the nodes that its outputs need, but for those that only this compiler knows
// or that do nothing outside of training, and initializers in the place of variables.
#include "ImportError.h"
#include "OnnxSource.h"
#include "RecordedGraph.h"
#include "vx/Frontend/ONNX/GraphRecorder.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace vx {

using namespace onnx;

namespace {

/// The version of the wire format that came with a version of the ops.
int64_t getIrVersion(int64_t opset) {
  return opset <= 20 ? 9 : opset <= 22 ? 10 : opset == 23 ? 11 : opset == 24 ? 12 : opset <= 27 ? 13 : 14;
}

class RecordedExport {
public:
  RecordedExport(RecordedFunction &function, MLIRContext &context) : function(function), context(context) {}

  /// Throws ImportError where ONNX has no op.
  void run(ModelProto &model, OnnxSource &source, int64_t opset) {
    if (!function.stored.empty())
      throwNotExported("it stores variable '" + function.stored.front().first.getSymName() +
                       "', and models of ONNX have no variables that they change");
    OperatorSetIdProto *version = model.add_opset_import();
    version->set_domain("");
    version->set_version(opset);
    model.set_ir_version(getIrVersion(opset));
    model.set_producer_name("vx");
    GraphProto &graph = *model.mutable_graph();
    graph.CopyFrom(function.graph);
    simplify(graph);
    SmallVector<std::string> results;
    for (const std::string &name : function.results)
      results.push_back(resolve(name));
    dropUnread(graph, results);
    addInitializers(graph, source);
    nameOutputs(graph, results);
    for (const NodeProto &node : graph.node())
      if (node.domain() == trainingDomain && model.opset_import_size() == 1) {
        OperatorSetIdProto *training = model.add_opset_import();
        training->set_domain(trainingDomain.str());
        training->set_version(newestTrainingOpset);
      }
  }

private:
  std::string resolve(const std::string &name) const {
    auto found = aliases.find(name);
    return found == aliases.end() ? name : resolve(found->second);
  }

  /// Removes nodes that return their input, and ops that ONNX does not have.
  void simplify(GraphProto &graph) {
    GraphProto kept;
    for (NodeProto &node : *graph.mutable_node()) {
      const bool isOwn = node.domain() == builderDomain;
      if (isOwn && node.op_type() == "Loss")
        throwNotExported("it computes a loss ('" + node.name() + "')");
      if (isOwn && node.op_type() == "Pick") {
        addPick(kept, node);
        continue;
      }
      if (isOwn || node.op_type() == "Dropout") {
        aliases[node.output(0)] = node.input(0);
        continue;
      }
      for (std::string &input : *node.mutable_input())
        input = resolve(input);
      for (AttributeProto &attribute : *node.mutable_attribute()) {
        if (attribute.has_g())
          simplify(*attribute.mutable_g());
        if (node.domain() == trainingDomain && attribute.name() == "y")
          attribute.set_s(resolve(attribute.s()));
        if (node.domain() == trainingDomain && attribute.name() == "xs")
          for (std::string &x : *attribute.mutable_strings())
            x = resolve(x);
      }
      kept.add_node()->Swap(&node);
    }
    graph.mutable_node()->Swap(kept.mutable_node());
  }

  NodeProto &addNode(GraphProto &graph, StringRef op, const std::string &name, ArrayRef<std::string> inputs,
                     const std::string &output) {
    NodeProto &node = *graph.add_node();
    node.set_op_type(op.str());
    node.set_name(name);
    for (const std::string &input : inputs)
      *node.add_input() = input;
    *node.add_output() = output;
    return node;
  }

  /// GatherElements along the last dimension.
  void addPick(GraphProto &graph, const NodeProto &pick) {
    const std::string &name = pick.name();
    const int64_t last = pick.attribute(0).i();
    AttributeProto &value = *addNode(graph, "Constant", name + "/axis", {}, name + "/axis").add_attribute();
    value.set_name("value_ints");
    value.set_type(AttributeProto::INTS);
    value.add_ints(last);
    addNode(graph, "Unsqueeze", name + "/Unsqueeze", {resolve(pick.input(1)), name + "/axis"}, name + "/column");
    AttributeProto &axis =
        *addNode(graph, "GatherElements", name, {resolve(pick.input(0)), name + "/column"}, name + "/picked")
             .add_attribute();
    axis.set_name("axis");
    axis.set_type(AttributeProto::INT);
    axis.set_i(last);
    addNode(graph, "Squeeze", name + "/Squeeze", {name + "/picked", name + "/axis"}, pick.output(0));
  }

  static void collectReads(const NodeProto &node, llvm::StringSet<> &reads) {
    for (const std::string &input : node.input())
      reads.insert(input);
    for (const AttributeProto &attribute : node.attribute()) {
      if (node.domain() == trainingDomain && attribute.name() == "y")
        reads.insert(attribute.s());
      if (!attribute.has_g())
        continue;
      for (const NodeProto &inner : attribute.g().node())
        collectReads(inner, reads);
    }
  }

  static void dropUnread(GraphProto &graph, ArrayRef<std::string> results) {
    llvm::StringSet<> reads;
    for (const std::string &result : results)
      reads.insert(result);
    SmallVector<bool> isKept(static_cast<size_t>(graph.node_size()));
    for (int i = graph.node_size() - 1; i >= 0; --i) {
      NodeProto &node = *graph.mutable_node(i);
      isKept[static_cast<size_t>(i)] =
          llvm::any_of(node.output(), [&](const std::string &output) { return reads.contains(output); });
      if (!isKept[static_cast<size_t>(i)])
        continue;
      for (AttributeProto &attribute : *node.mutable_attribute())
        if (attribute.has_g()) {
          SmallVector<std::string> inner;
          for (const ValueInfoProto &output : attribute.g().output())
            inner.push_back(output.name());
          dropUnread(*attribute.mutable_g(), inner);
        }
      collectReads(node, reads);
    }
    GraphProto kept;
    for (int i = 0; i < graph.node_size(); ++i)
      if (isKept[static_cast<size_t>(i)])
        kept.add_node()->Swap(graph.mutable_node(i));
    graph.mutable_node()->Swap(kept.mutable_node());
  }

  static void rename(GraphProto &graph, const llvm::StringMap<std::string> &names) {
    auto change = [&](std::string &name) {
      if (auto found = names.find(name); found != names.end())
        name = found->second;
    };
    for (NodeProto &node : *graph.mutable_node()) {
      llvm::for_each(*node.mutable_input(), change);
      llvm::for_each(*node.mutable_output(), change);
      for (AttributeProto &attribute : *node.mutable_attribute()) {
        if (attribute.has_g())
          rename(*attribute.mutable_g(), names);
        if (node.domain() == trainingDomain && attribute.name() == "y")
          change(*attribute.mutable_s());
        if (node.domain() == trainingDomain && attribute.name() == "xs")
          llvm::for_each(*attribute.mutable_strings(), change);
      }
    }
  }

  /// A tensor without elements for each variable that is read, which the skeleton has a place in.
  void addInitializers(GraphProto &graph, OnnxSource &source) {
    llvm::StringSet<> reads;
    for (const NodeProto &node : graph.node())
      collectReads(node, reads);
    for (const std::string &result : function.results)
      reads.insert(resolve(result));
    llvm::StringMap<std::string> names;
    for (VariableOp variable : function.variables) {
      const std::string own = "@" + variable.getSymName().str();
      if (!reads.contains(own))
        continue;
      if (variable.getRole() != VariableRole::parameter && variable.getRole() != VariableRole::statistic)
        throwNotExported("it reads variable '" + variable.getSymName() +
                         "', which is no parameter: models of ONNX have no variables");
      std::string name = variable.getSymName().str();
      for (unsigned number = 1; function.names.contains(name); ++number)
        name = variable.getSymName().str() + "_" + std::to_string(number);
      names[own] = name;
      auto type = cast<RankedTensorType>(variable.getType());
      TensorProto *tensor = graph.add_initializer();
      tensor->set_name(name);
      tensor->set_data_type(getDataType(type.getElementType()));
      for (int64_t size : type.getShape())
        tensor->add_dims(size);
      tensor->set_raw_data("");
      ElementsAttr elements = variable.getInitialAttr();
      Type elementType = type.getElementType();
      if (!elements)
        elements = DenseElementsAttr::get(type, cast<TypedAttr>(Builder(&context).getZeroAttr(elementType)));
      source.record(tensor, variable.getSymName(), elements);
    }
    rename(graph, names);
    variables = std::move(names);
  }

  /// The values that are outputs get the names of these; one that is an input, a variable or an output twice is copied.
  void nameOutputs(GraphProto &graph, ArrayRef<std::string> results) {
    llvm::StringSet<> made;
    for (const NodeProto &node : graph.node())
      for (const std::string &output : node.output())
        made.insert(output);
    llvm::StringMap<std::string> names;
    std::vector<std::pair<std::string, std::string>> copies;
    for (auto [output, result] : llvm::zip_equal(graph.output(), results)) {
      std::string from = result;
      if (auto variable = variables.find(from); variable != variables.end())
        from = variable->second;
      if (made.contains(from) && names.try_emplace(from, output.name()).second)
        continue;
      copies.emplace_back(from, output.name());
    }
    for (auto &[from, to] : copies) {
      NodeProto *node = graph.add_node();
      node->set_op_type("Identity");
      node->set_name(to + "/Identity");
      *node->add_input() = from;
      *node->add_output() = to;
    }
    rename(graph, names);
  }

  RecordedFunction &function;
  MLIRContext &context;
  std::map<std::string, std::string> aliases;
  llvm::StringMap<std::string> variables;
};

} // namespace

std::optional<ExportSkeleton> GraphRecorder::makeSkeleton(StringRef name, int64_t opset, ModuleOp module,
                                                          const ExportOptions &options, std::string &error) {
  auto function = llvm::find_if(state->functions, [&](const auto &one) { return one->name == name; });
  if (opset < oldestExportOpset || opset > newestExportOpset) {
    error = "expected version " + std::to_string(oldestExportOpset) + " to " + std::to_string(newestExportOpset) +
            " of ONNX's ops, got " + std::to_string(opset);
    return std::nullopt;
  }
  if (function == state->functions.end() || function->get() == state->function) {
    error = "expected the name of a function of the graph, got '" + name.str() + "'";
    return std::nullopt;
  }
  auto model = std::make_shared<ModelProto>();
  auto source = std::make_shared<OnnxSource>(&state->context, model, "");
  source->isPart = true;
  try {
    RecordedExport(**function, state->context).run(*model, *source, opset);
  } catch (const ImportError &failure) {
    error = "function '" + name.str() + "': " + failure.reason;
    return std::nullopt;
  }
  auto bytes = std::make_shared<std::string>(model->SerializeAsString());
  source->bytes = *bytes;
  source->owner = bytes;
  std::optional<ExportSkeleton> skeleton = makeExportSkeleton(*source, module, options, error);
  if (skeleton)
    skeleton->owners.push_back(source);
  return skeleton;
}

} // namespace vx
