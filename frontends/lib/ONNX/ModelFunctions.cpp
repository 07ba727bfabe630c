// Functions of a model: lookup for a node, checks, and import of their nodes at a call.
#include "ModelImporter.h"

using namespace mlir;

namespace vx::onnx {

const FunctionProto *ModelImporter::findFunction(const NodeProto &node) const {
  for (const FunctionProto &function : model.functions())
    if (function.name() == node.op_type() && normalizeDomain(function.domain()) == normalizeDomain(node.domain()) &&
        function.overload() == node.overload())
      return &function;
  return nullptr;
}

void ModelImporter::checkCall(const NodeProto &node, const FunctionProto &function) {
  auto check = [&](StringRef what, int most, int got) {
    if (got > most)
      throwInvalid("function '" + function.name() + "' has " + Twine(most) + " " + what + (most == 1 ? "" : "s") +
                   ", got " + Twine(got));
  };
  check("input", function.input_size(), node.input_size());
  check("output", function.output_size(), node.output_size());
  for (const AttributeProto &attribute : node.attribute()) {
    const StringRef name = attribute.name();
    auto isIt = [&](const AttributeProto &other) { return other.name() == name; };
    if (!name.starts_with("__") && !llvm::is_contained(function.attribute(), name) &&
        !llvm::any_of(function.attribute_proto(), isIt)) // the first are some tool's own
      throwInvalid("function '" + function.name() + "' has no attribute '" + name + "'");
  }
}

static std::string getKey(const FunctionProto &function) {
  return function.domain() + ":" + function.name() + ":" + function.overload();
}

/// Throws if a function is invalid, independent of its calls.
static void checkFunction(const FunctionProto &function) {
  auto checkNames = [&](StringRef what, const auto &names) {
    llvm::StringSet<> known;
    for (const std::string &name : names)
      if (!known.insert(name).second)
        throwInvalid("function '" + function.name() + "': expects each " + what + " once, but '" + name +
                     "' is listed twice");
  };
  checkNames("input", function.input());
  checkNames("output", function.output());
  checkNames("attribute", function.attribute());
  for (const OperatorSetIdProto &opset : function.opset_import())
    if (normalizeDomain(opset.domain()).empty() && (opset.version() < 1 || opset.version() > newestOpset))
      throwUnsupported(Advice::ConvertVersion,
                       "function '" + function.name() + "': expects version 1 to " + Twine(newestOpset) +
                           " of domain 'ai.onnx', got " + Twine(opset.version()),
                       newestOpset);
}

void ModelImporter::checkFunctions() {
  llvm::StringSet<> known;
  for (const FunctionProto &function : model.functions())
    guard(nullptr, "", 0, [&] {
      if (!known.insert(getKey(function)).second)
        throwInvalid("expects one function '" + function.name() + "' of domain '" + function.domain() + "', got two");
      checkFunction(function);
    });
}

/// Returns the attributes of a call without any: the function's defaults, and null for others.
static FunctionAttributes getDefaults(const FunctionProto &function) {
  FunctionAttributes attributes;
  for (const std::string &name : function.attribute())
    attributes[name] = nullptr;
  for (const AttributeProto &attribute : function.attribute_proto())
    attributes[attribute.name()] = &attribute;
  return attributes;
}

static llvm::StringMap<int64_t> getVersions(const FunctionProto &function) {
  llvm::StringMap<int64_t> versions;
  for (const OperatorSetIdProto &opset : function.opset_import())
    versions[normalizeDomain(opset.domain())] = opset.version();
  return versions;
}

void ModelImporter::checkUncalledFunctions() {
  for (const FunctionProto &function : model.functions()) {
    if (calledFunctions.contains(&function))
      continue;
    FunctionAttributes attributes = getDefaults(function);
    // Attributes that the caller must give are assumed to be given.
    AttributeProto given;
    for (auto &attribute : attributes)
      if (!attribute.second)
        attribute.second = &given;
    const llvm::StringMap<int64_t> versions = getVersions(function);
    Scope inner;
    inner.functionAttributes = &attributes;
    inner.opsets = &versions;
    scope = &inner;
    const auto known = static_cast<ptrdiff_t>(report.issues.size());
    guard(nullptr, "", 0, [&] { (void)orderNodes(function.node()); });
    checkNodes(function.node(), 0);
    scope = nullptr;
    // Unsupported nodes do not matter here.
    auto isUnsupported = [](const ImportIssue &issue) { return issue.kind == ImportIssue::Kind::Unsupported; };
    report.issues.erase(std::remove_if(report.issues.begin() + known, report.issues.end(), isUnsupported),
                        report.issues.end());
  }
}

void ModelImporter::importCall(const NodeProto &node, const FunctionProto &function, StringRef label) {
  const std::string key = getKey(function);
  calledFunctions.insert(&function);
  if (activeFunctions[key]++ > 0) {
    --activeFunctions[key];
    throwInvalid("expects functions without recursion, got '" + function.name() + "', which calls itself");
  }
  FunctionAttributes attributes = getDefaults(function);
  for (const AttributeProto &attribute : node.attribute()) {
    const AttributeProto *value = &attribute;
    if (!attribute.ref_attr_name().empty())
      value = scope->functionAttributes ? scope->functionAttributes->lookup(attribute.ref_attr_name()) : nullptr;
    if (value)
      attributes[attribute.name()] = value;
  }
  const llvm::StringMap<int64_t> versions = getVersions(function);
  // A function sees its parameters only.
  Scope inner;
  inner.block = builder.getInsertionBlock();
  inner.functionAttributes = &attributes;
  inner.opsets = &versions;
  inner.depth = scope->depth + 1;
  for (int index = 0; index < node.input_size(); ++index)
    if (!node.input(index).empty())
      inner.entries.try_emplace(function.input(index), lookup(node.input(index)));
  inner.outputs.emplace(function.output().begin(), function.output().end());
  Scope *outer = std::exchange(scope, &inner);
  bool succeeded = importNodes(function.node());
  std::vector<std::optional<Entry>> results;
  std::string missing;
  for (int index = 0; succeeded && index < node.output_size(); ++index) {
    auto found = index < function.output_size() ? inner.entries.find(function.output(index)) : inner.entries.end();
    if (found == inner.entries.end() || found->second.isPoisoned())
      results.push_back(std::nullopt);
    else
      results.push_back(found->second);
  }
  scope = outer;
  --activeFunctions[key];
  if (!succeeded)
    throw PoisonedInput();
  for (auto [name, result] : llvm::zip(node.output(), results)) {
    if (!result && !name.empty())
      throwInvalid("function '" + function.name() + "' makes no value for output '" + name + "'");
    if (result)
      define(name, std::move(*result));
  }
}

} // namespace vx::onnx
