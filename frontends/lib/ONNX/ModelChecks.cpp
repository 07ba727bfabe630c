// Checks of a model that do not depend on its ops: versions, order, signatures, and stated types.
#include "ModelImporter.h"

#include "NodeImporter.h"
#include "vx/Dialect/VX/IR/UserText.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace vx::onnx {

//===-- Versions ------------------------------------------------------------------------------===//

void ModelImporter::checkModel() {
  if (model.ir_version() > newestIrVersion)
    throwUnsupported(Advice::ConvertVersion,
                     "expects IR version 1 to " + Twine(newestIrVersion) + ", got " + Twine(model.ir_version()));
  if (model.ir_version() < 1)
    throwInvalid("expects IR version 1 to " + Twine(newestIrVersion) + ", got " +
                 (model.has_ir_version() ? std::to_string(model.ir_version()) : "none"));
  if (!model.has_graph())
    throwInvalid("expects a model with a graph, got none");
  for (const OperatorSetIdProto &opset : model.opset_import()) {
    StringRef domain = normalizeDomain(opset.domain());
    if (opset.version() < 1)
      throwInvalid("expects versions of domain '" + spellDomain(domain) + "' from 1 on, got " + Twine(opset.version()));
    if (domain.empty() && opset.version() > newestOpset)
      throwUnsupported(Advice::ConvertVersion, "expects version 1 to " + Twine(newestOpset) +
                                                   " of domain 'ai.onnx', got " + Twine(opset.version()));
    if (auto [known, isNew] = opsets.try_emplace(domain, opset.version()); !isNew && known->second != opset.version())
      throwInvalid("expects one version of domain '" + spellDomain(domain) + "', got " + Twine(known->second) +
                   " and " + Twine(opset.version()));
  }
  // Before IR version 3 a model does not state it: the first version is meant.
  if (model.opset_import().empty() && model.ir_version() < 3)
    opsets[""] = 1;
}

//===-- Nodes ---------------------------------------------------------------------------------===//

OpLookup ModelImporter::findNodeOp(const NodeProto &node, StringRef label) {
  const StringRef domain = normalizeDomain(node.domain());
  const auto opset = scope->opsets->find(domain);
  if (opset == scope->opsets->end())
    throwInvalid("the model imports no version of domain '" + spellDomain(domain) + "'");
  if (!isKnownDomain(domain) || (domain == builderDomain && !recording))
    throwUnsupported(Advice::ReplaceOp, "domain '" + domain + "' is not known, expected 'ai.onnx', '" + mlDomain +
                                            "', '" + trainingDomain + "', '" + microsoftDomain +
                                            "' or a function of the model");
  const int64_t version = opset->second;
  OpLookup op = findOp(domain, node.op_type(), version);
  const OpSignature *signature = findSignature(domain, node.op_type(), version);
  // A version that is deprecated ends the op, unless a later one takes it up again: until then its meaning stands.
  if (const int64_t end = signature ? getEnd(*signature) : 0; end > 0 && version >= end) {
    op.function = nullptr;
    op.last = std::min(op.last, end - 1);
  }
  if (!op.function && op.isKnown)
    throwUnsupported(Advice::ConvertVersion,
                     "version " + Twine(version) + " of the op is not imported, expected " + Twine(op.first) + " to " +
                         Twine(op.last),
                     version < op.first ? op.first : op.last);
  if (!op.function)
    throwUnsupported(Advice::ReplaceOp, "the op is not imported");
  if (!signature)
    return op;
  const SmallVector<std::string> mistakes = findMistakes(node, *signature, version, scope->functionAttributes);
  for (const std::string &mistake : mistakes)
    addIssue({ImportIssue::Kind::Invalid, mistake, Advice::CheckModel}, &node, label, version);
  if (!mistakes.empty())
    throw PoisonedInput();
  return op;
}

void ModelImporter::checkNodes(const google::protobuf::RepeatedPtrField<NodeProto> &nodes, unsigned depth) {
  if (depth > maxNesting)
    return;
  for (int index = 0; index < nodes.size(); ++index) {
    const NodeProto &node = nodes[index];
    const std::string label = getNodeLabel(node, index);
    guard(&node, label, scope->opsets->lookup(normalizeDomain(node.domain())), [&] {
      if (const FunctionProto *function = findFunction(node))
        checkCall(node, *function);
      else
        (void)findNodeOp(node, label);
    });
    checkSubgraphs(node, depth + 1);
  }
}

void ModelImporter::checkSubgraphs(const NodeProto &node, unsigned depth) {
  for (const AttributeProto &attribute : node.attribute())
    if (attribute.has_g())
      checkNodes(attribute.g().node(), depth);
}

//===-- Devices -------------------------------------------------------------------------------===//

static int64_t countSpread(const google::protobuf::RepeatedPtrField<NodeProto> &nodes) {
  int64_t count = 0;
  for (const NodeProto &node : nodes) {
    count += node.device_configurations_size() > 0;
    for (const AttributeProto &attribute : node.attribute())
      if (attribute.has_g())
        count += countSpread(attribute.g().node());
  }
  return count;
}

void ModelImporter::noteConfigurations() {
  int64_t count = countSpread(model.graph().node());
  for (const FunctionProto &function : model.functions())
    count += countSpread(function.node());
  const int configurations = model.configuration_size();
  if (count + configurations == 0)
    return;
  addNote(ImportNote::Kind::Note, "",
          "the model says how its nodes are spread over devices (" + Twine(configurations) +
              (configurations == 1 ? " configuration, " : " configurations, ") + Twine(count) +
              (count == 1 ? " node" : " nodes") + "), which is not used: all of it runs on one device");
}

//===-- Stated types --------------------------------------------------------------------------===//

/// "f32[2,n]", as a graph states it; only the element type where it states no shape.
static std::string describeDeclared(const TypeProto::Tensor &tensor, Type elementType) {
  std::string text = describeType(elementType);
  if (!tensor.has_shape())
    return text;
  SmallVector<std::string> dims;
  for (const TensorShapeProto::Dimension &dim : tensor.shape().dim())
    dims.push_back(dim.has_dim_value() ? std::to_string(dim.dim_value()) : hasName(dim) ? dim.dim_param() : "?");
  return text + "[" + llvm::join(dims, ",") + "]";
}

/// Returns true if the stated type is a map or a sequence of maps, for a tensor that replaces maps.
static bool statesMaps(const TypeProto &declared) {
  return declared.has_map_type() ||
         (declared.has_sequence_type() && declared.sequence_type().elem_type().has_map_type());
}

void ModelImporter::checkDeclared(const Twine &what, StringRef name, const TypeProto &declared, const Entry &entry,
                                  bool isBinding) {
  if (entry.isNone || entry.leastRank || !entry.type || (entry.standsForMaps && statesMaps(declared)))
    return;
  const Type type = entry.type;
  auto refuse = [&](StringRef stated, const Twine &want, Type got) {
    throwInvalid(what + ": expects the " + stated + " that the graph states" + want + ", got " + describe(got));
  };
  auto checkElements = [&](int32_t stated, Type elementType) {
    if (entry.sixBits && stated == entry.sixBits)
      return;
    if (stated != TensorProto::UNDEFINED && getElementType(context, stated, what) != elementType)
      refuse("element type", ": " + describe(getElementType(context, stated, what)), type);
  };
  switch (declared.value_case()) {
  case TypeProto::kTensorType: {
    const TypeProto::Tensor &stated = declared.tensor_type();
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor)
      return refuse("tensor", "", type);
    checkElements(stated.elem_type(), tensor.getElementType());
    if (!stated.has_shape())
      return;
    bool agrees = stated.shape().dim_size() == tensor.getRank();
    for (int index = 0; agrees && index < stated.shape().dim_size(); ++index) {
      // A name, or -1, does not state a size. A size that is known at run time only may be any number.
      const TensorShapeProto::Dimension &dim = stated.shape().dim(index);
      agrees = !dim.has_dim_value() || dim.dim_value() < 0 || tensor.isDynamicDim(index) ||
               tensor.getDimSize(index) == dim.dim_value();
    }
    if (agrees)
      return;
    const std::string want = "'" + describeDeclared(stated, tensor.getElementType()) + "'";
    if (isBinding || options.strict)
      refuse("shape", ": " + want, type);
    addNote(ImportNote::Kind::Warning, what.str().substr(0, what.str().find('\'')) + " of another shape",
            what + ": the graph states the shape " + want + ", but it is " + describe(type) + ", which is taken", name);
    return;
  }
  case TypeProto::kSequenceType: {
    auto optional = dyn_cast<OptionalType>(type); // its value is taken out of it
    auto sequence = dyn_cast<SequenceType>(optional ? optional.getValueType() : type);
    if (!sequence)
      return refuse("sequence", "", type);
    if (!entry.isEmptySequence && declared.sequence_type().elem_type().value_case() == TypeProto::kTensorType)
      checkElements(declared.sequence_type().elem_type().tensor_type().elem_type(),
                    cast<TensorType>(sequence.getElementType()).getElementType());
    return;
  }
  case TypeProto::kMapType:
    return refuse("map", "", type);
  case TypeProto::kSparseTensorType:
    return refuse("sparse tensor", "", type);
  default: // an optional with a known value is that value; a value without a type states nothing
    return;
  }
}

} // namespace vx::onnx
