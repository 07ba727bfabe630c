#include "vx/Frontend/ONNX/GraphRecorder.h"

#include "RecordedGraph.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "vx/Dialect/VX/IR/SourceLocation.h"
#include "vx/Dialect/VX/IR/UserText.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace vx {

using namespace onnx;

/// The smallest version of ONNX's ops that has all recorded ops. Newer ops are not recorded, so each graph can be
/// exported as any version from this one on.
static constexpr int64_t recordedOpset = oldestExportOpset;

//===-- State ---------------------------------------------------------------------------------===//

GraphRecorder::State::State(MLIRContext &context, StringRef name, RecorderOptions recorderOptions)
    : context(context), protos(std::make_shared<RecordedProtos>()) {
  protos->model.set_ir_version(10);
  protos->model.mutable_graph()->set_name(name.str());
  for (auto [domain, version] : {std::pair<StringRef, int64_t>("", recordedOpset),
                                 {trainingDomain, newestTrainingOpset},
                                 {builderDomain, newestBuilderOpset}}) {
    OperatorSetIdProto *opset = protos->model.add_opset_import();
    opset->set_domain(domain.str());
    opset->set_version(version);
  }
  ImportOptions options;
  options.trains = true;
  options.batchNorm = ImportOptions::BatchNorm::Train;
  importer.emplace(&context, protos->model, protos, name, "", options, report, nullptr);
  recording.buildLoss = std::move(recorderOptions.buildLoss);
  recording.locate = [this](const NodeProto &node, StringRef label) {
    auto found = places.find(&node);
    return locate(found == places.end() ? RecordedPlace() : found->second, label);
  };
  importer->recording = &recording;
  module = importer->begin();
}

Location GraphRecorder::State::locate(const RecordedPlace &place, StringRef label) const {
  return getSourceLocation(&context, place.scope.empty() ? label : StringRef(place.scope), place.layer, place.file,
                           place.line);
}

bool GraphRecorder::State::fail(const RecordedPlace *place, const Twine &reason) {
  if (!error.empty())
    return false;
  if (place && !place->file.empty())
    error = place->file + ":" + std::to_string(place->line) + ": ";
  if (place && !place->scope.empty())
    error += place->scope + (place->layer.empty() ? "" : " (" + place->layer + ")") + ": ";
  else if (place && !place->layer.empty())
    error += place->layer + ": ";
  error += escapeControlCharacters(reason.str());
  return false;
}

/// Runs code that may throw or emit a diagnostic. The message is reported at `place`.
bool GraphRecorder::State::attempt(const RecordedPlace &place, llvm::function_ref<void()> body) {
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    importer->addDiagnostic(diagnostic);
    return success();
  });
  if (importer->guard(nullptr, "", 0, body))
    return true;
  return fail(&place, report.issues.empty() ? "cannot be recorded" : report.issues.back().reason);
}

std::string GraphRecorder::State::makeName(const RecordedPlace &place, StringRef op) {
  std::string base = place.scope.empty() ? place.layer : place.scope;
  if (base.empty())
    base = op.str();
  std::string name = base;
  if (!place.scope.empty() && !function->names.insert(name).second)
    name = base += "/" + op.str();
  else if (!place.scope.empty())
    return name;
  for (unsigned number = 1; !function->names.insert(name).second; ++number)
    name = base + "_" + std::to_string(number);
  return name;
}

GraphRecorder::Value GraphRecorder::State::addValue(std::string name) {
  values.push_back({std::move(name), frames.back()->number});
  return static_cast<Value>(values.size() - 1);
}

std::optional<std::string> GraphRecorder::State::nameOf(Value value, const RecordedPlace &place) {
  if (value < 0 || static_cast<size_t>(value) >= values.size())
    return fail(&place, "expected a tensor with a value, got one that was given none"), std::nullopt;
  KnownValue &known = values[static_cast<size_t>(value)];
  if (known.variable)
    return readVariable(*known.variable);
  if (llvm::any_of(frames, [&](const std::unique_ptr<Frame> &frame) { return frame->number == known.frame; }))
    return known.name;
  auto other = frameFunctions.find(known.frame);
  if (function && other != frameFunctions.end() && other->second == function->name)
    return fail(&place, "expected a value of a body that has not ended, got '" + known.name +
                            "' of one that has: return it from the body"),
           std::nullopt;
  return fail(&place, "expected a value of function '" + (function ? function->name : std::string("?")) + "', got '" +
                          known.name + "' of function '" +
                          (other == frameFunctions.end() ? std::string("?") : other->second) + "'"),
         std::nullopt;
}

/// Returns the name of a variable's value in the current function: a load at its beginning, or the last stored value.
std::string GraphRecorder::State::readVariable(VariableOp variable) {
  auto stored = function->stored.find(variable);
  if (stored != function->stored.end())
    return stored->second;
  std::string name = "@" + variable.getSymName().str();
  Frame &top = *frames.front();
  if (top.scope.entries.contains(name))
    return name;
  OpBuilder builder(&context);
  builder.setInsertionPointToStart(top.scope.block);
  auto load = VariableLoadOp::create(builder, variable.getLoc(), variable.getType(), variable.getSymName());
  Entry entry{load.getType(), load.getLoc()};
  entry.value = load;
  entry.block = top.scope.block;
  top.scope.entries.try_emplace(name, std::move(entry));
  function->variables.push_back(variable);
  return name;
}

bool GraphRecorder::State::record(NodeProto &node, const RecordedPlace &place) {
  places[&node] = place;
  Frame &frame = *frames.back();
  NumberedNode numbered{&node, static_cast<int>(frame.scope.nodes.size())};
  frame.scope.nodes.push_back(numbered);
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    importer->addDiagnostic(diagnostic);
    return success();
  });
  if (importer->importNext(numbered))
    return true;
  return fail(&place, report.issues.empty() ? "cannot be recorded" : report.issues.back().reason);
}

static void setDims(TensorShapeProto &shape, ArrayRef<RecordedDim> dims) {
  for (const RecordedDim &dim : dims) {
    TensorShapeProto::Dimension *proto = shape.add_dim();
    if (dim.size >= 0)
      proto->set_dim_value(dim.size);
    else if (!dim.name.empty())
      proto->set_dim_param(dim.name);
  }
}

static std::vector<RecordedDim> describeDims(RankedTensorType type) {
  std::vector<RecordedDim> dims;
  for (DimAttr dim : getDims(type))
    dims.push_back({dim.asConstant().value_or(-1), dim.asConstant() ? "" : dim.str()});
  return dims;
}

//===-- GraphRecorder -------------------------------------------------------------------------===//

GraphRecorder::GraphRecorder(MLIRContext &context, StringRef name, RecorderOptions options)
    : state(std::make_unique<State>(context, name, std::move(options))) {}
GraphRecorder::~GraphRecorder() = default;

const std::string &GraphRecorder::getError() const { return state->error; }
bool GraphRecorder::fail(const RecordedPlace *place, const Twine &reason) { return state->fail(place, reason); }
bool GraphRecorder::isRecording() const { return state->function != nullptr; }
ModuleOp GraphRecorder::getModule() { return *state->module; }
std::vector<std::string> GraphRecorder::getFunctions() const {
  std::vector<std::string> names;
  for (const auto &function : state->functions)
    names.push_back(function->name);
  return names;
}

bool GraphRecorder::declareSymbol(StringRef name, int64_t min, int64_t max, int64_t multiple) {
  RecordedPlace place{"", "symbol '" + name.str() + "'", "", 0};
  if (!state->error.empty())
    return false;
  if (name.empty() || DimAttr::fromString(&state->context, name) != DimAttr::symbolNamed(&state->context, name))
    return state->fail(&place, "expected a name of letters, digits and '_', got '" + name + "'");
  if (min < 0 || min > max || multiple < 1)
    return state->fail(&place, "expected 0 <= least <= greatest and a multiple of 1 or more, got " + Twine(min) + ", " +
                                   Twine(max) + " and " + Twine(multiple));
  if (!state->ranges.try_emplace(name, State::Range{min, max, multiple}).second)
    return state->fail(&place, "expected one declaration, got two");
  for (auto symbol : state->module->getOps<SymbolOp>())
    if (symbol.getName() == name)
      return state->fail(&place, "expected a declaration before each function that has it, got one after");
  return true;
}

std::optional<GraphRecorder::Value> GraphRecorder::addVariable(const RecordedVariable &variable,
                                                               const RecordedPlace &place) {
  State &s = *state;
  if (!s.error.empty())
    return std::nullopt;
  if (variable.name.empty())
    return s.fail(&place, "expected a name for a variable, got ''"), std::nullopt;
  if (s.module->lookupSymbol(variable.name))
    return s.fail(&place, "expected one variable '" + variable.name + "', got two: give each layer a scope of its own"),
           std::nullopt;
  std::optional<Value> result;
  s.attempt(place, [&] {
    SmallVector<int64_t> shape;
    for (auto [place, dim] : llvm::enumerate(variable.type.dims)) {
      if (dim.size < 0)
        throwInvalid("variable '" + variable.name + "' needs sizes that are numbers, got " +
                     (dim.name.empty() ? "any" : dim.name) + " as dimension " + Twine(place));
      shape.push_back(dim.size);
    }
    Type elementType = getElementType(&s.context, variable.type.elementType, "variable '" + variable.name + "'");
    SmallVector<DimAttr> dims;
    for (int64_t size : shape)
      dims.push_back(DimAttr::constant(&s.context, size));
    RankedTensorType type = makeTensorType(dims, elementType);
    ElementsAttr elements;
    if (variable.hasElements) {
      TensorProto *proto = s.protos->tensors.Add();
      proto->set_data_type(variable.type.elementType);
      for (int64_t size : shape)
        proto->add_dims(size);
      proto->set_raw_data(variable.elements.str());
      elements = s.importer->tensors.read(*proto, variable.name);
    }
    OpBuilder builder(&s.context);
    builder.setInsertionPointToStart(s.module->getBody());
    if (s.lastVariable)
      builder.setInsertionPointAfter(s.lastVariable);
    FloatType f64 = builder.getF64Type();
    InitAttr init = variable.init ? InitAttr::get(&s.context, *variable.init, FloatAttr::get(f64, variable.a),
                                                  FloatAttr::get(f64, variable.b))
                                  : InitAttr();
    auto op = VariableOp::create(builder, s.locate(place, variable.name), builder.getStringAttr(variable.name),
                                 TypeAttr::get(type), elements, VariableRoleAttr::get(&s.context, variable.role),
                                 StringAttr(), init, FlatSymbolRefAttr(), IntegerAttr());
    if (mlir::failed(verify(op))) {
      op.erase();
      throwInvalid(s.importer->takeDiagnostics());
    }
    s.lastVariable = op;
    s.values.push_back({variable.name, -1, op});
    result = static_cast<Value>(s.values.size() - 1);
  });
  return result;
}

bool GraphRecorder::beginFunction(StringRef name, ArrayRef<Input> inputs, const RecordedPlace &place,
                                  std::vector<Value> &results) {
  State &s = *state;
  if (!s.error.empty())
    return false;
  if (s.function)
    return s.fail(&place, "expected function '" + s.function->name + "' to end first, got the begin of function '" +
                              name + "'");
  if (name.empty() || s.module->lookupSymbol(name))
    return s.fail(&place, name.empty() ? Twine("expected a name for a function, got ''")
                                       : "expected a name that no function or variable has, got '" + name + "'");
  auto function = std::make_unique<RecordedFunction>();
  function->name = name.str();
  function->place = place;
  function->graph.set_name(name.str());
  for (const Input &input : inputs) {
    if (!function->names.insert(input.name).second)
      return s.fail(&place,
                    "function '" + name + "': expected inputs with names that differ, got '" + input.name + "' twice");
    ValueInfoProto *proto = function->graph.add_input();
    proto->set_name(input.name);
    TypeProto::Tensor *tensor = proto->mutable_type()->mutable_tensor_type();
    tensor->set_elem_type(input.type.elementType);
    setDims(*tensor->mutable_shape(), input.type.dims);
    for (auto [axis, dim] : llvm::enumerate(input.type.dims))
      if (dim.size < 0 && !dim.name.empty())
        function->symbols.try_emplace(dim.name, input.name, static_cast<int64_t>(axis));
  }
  s.function = function.get();
  s.functions.push_back(std::move(function));
  s.frames.push_back(std::make_unique<State::Frame>(s.nextFrame++, &s.function->graph));
  s.frameFunctions[s.frames.back()->number] = name.str();
  const size_t issues = s.report.issues.size();
  const bool isMade = s.attempt(place, [&] {
    s.function->op = s.importer->beginFunction(s.function->graph, name, s.frames.back()->scope);
    if (s.report.issues.size() > issues)
      throw PoisonedInput();
  });
  if (!isMade)
    return false;
  for (auto symbol : s.module->getOps<SymbolOp>())
    if (auto range = s.ranges.find(symbol.getName()); range != s.ranges.end()) {
      symbol.setMin(range->second.min);
      symbol.setMax(range->second.max);
      symbol.setMultiple(range->second.multiple);
    }
  for (const Input &input : inputs)
    results.push_back(s.addValue(input.name));
  return true;
}

bool GraphRecorder::endFunction(ArrayRef<std::string> names, ArrayRef<Value> results) {
  State &s = *state;
  if (!s.error.empty())
    return false;
  if (!s.function || s.frames.size() != 1)
    return s.fail(nullptr, "expected a function that has begun to end here, got none");
  const RecordedPlace place = s.function->place;
  if (names.size() != results.size() || results.empty())
    return s.fail(&place, "function '" + s.function->name +
                              "': expected a name for each of its outputs, at least one, got " + Twine(names.size()) +
                              " names and " + Twine(results.size()) + " outputs");
  SmallVector<mlir::Value> values;
  llvm::StringSet<> known;
  for (auto [name, result] : llvm::zip_equal(names, results)) {
    std::optional<std::string> own = s.nameOf(result, place);
    if (!own)
      return false;
    if (name.empty() || !known.insert(name).second)
      return s.fail(&place, "function '" + s.function->name + "': expected outputs with names that differ, got '" +
                                name + "' twice");
    if (!s.attempt(place, [&] { values.push_back(s.importer->materialize(s.importer->lookup(*own))); }))
      return false;
    ValueInfoProto *proto = s.function->graph.add_output();
    proto->set_name(name);
    auto type = cast<RankedTensorType>(values.back().getType());
    TypeProto::Tensor *tensor = proto->mutable_type()->mutable_tensor_type();
    tensor->set_elem_type(getDataType(type.getElementType()));
    setDims(*tensor->mutable_shape(), describeDims(type));
    s.function->results.push_back(*own);
  }
  OpBuilder &builder = s.importer->builder;
  for (auto &[variable, name] : s.function->stored) {
    mlir::Value value = s.importer->materialize(s.importer->lookup(name));
    VariableStoreOp::create(builder, variable.getLoc(), value, FlatSymbolRefAttr::get(variable.getSymNameAttr()));
  }
  s.importer->endFunction(s.function->graph, s.function->op, values);
  s.importer->scope = nullptr;
  const bool isRight = s.attempt(place, [&] {
    if (failed(verify(s.function->op)))
      throwInvalid(s.importer->takeDiagnostics());
  });
  s.function = nullptr;
  s.frames.clear();
  return isRight;
}

bool GraphRecorder::addNode(StringRef op, ArrayRef<Value> inputs, ArrayRef<RecordedAttribute> attributes,
                            const RecordedPlace &place, unsigned numOutputs, std::vector<Value> &outputs) {
  State &s = *state;
  if (!s.error.empty())
    return false;
  if (!s.function)
    return s.fail(&place, "expected a call in Graph::function, got one outside of a function");
  SmallVector<std::string> names;
  for (Value input : inputs) {
    std::optional<std::string> name = input == kNone ? std::string() : s.nameOf(input, place);
    if (!name)
      return false;
    names.push_back(*name);
  }
  NodeProto &node = *s.frames.back()->graph->add_node();
  node.set_op_type(op.str());
  if (op == "As" || op == "Loss" || op == "Pick" || op == "StopGradient")
    node.set_domain(builderDomain.str());
  else if (op == "Gradient")
    node.set_domain(trainingDomain.str());
  node.set_name(s.makeName(place, op));
  for (const std::string &name : names)
    *node.add_input() = name;
  for (const RecordedAttribute &attribute : attributes)
    if (!s.setAttribute(*node.add_attribute(), attribute, place))
      return false;
  if (op == "Gradient") { // of the first input by the others
    AttributeProto *xs = node.add_attribute(), *y = node.add_attribute();
    xs->set_name("xs");
    xs->set_type(AttributeProto::STRINGS);
    for (const std::string &name : llvm::drop_begin(names))
      *xs->add_strings() = name;
    y->set_name("y");
    y->set_type(AttributeProto::STRING);
    y->set_s(names.empty() ? std::string() : names.front());
    node.clear_input();
    for (const std::string &name : llvm::drop_begin(names))
      *node.add_input() = name;
  }
  for (unsigned i = 0; i < numOutputs; ++i) {
    std::string name = node.name() + (numOutputs == 1 ? "_output" : "_output_" + std::to_string(i));
    *node.add_output() = name;
    outputs.push_back(s.addValue(name));
  }
  return s.record(node, place);
}

bool GraphRecorder::State::setAttribute(AttributeProto &proto, const RecordedAttribute &attribute,
                                        const RecordedPlace &place) {
  proto.set_name(attribute.name);
  if (const auto *number = std::get_if<int64_t>(&attribute.value)) {
    proto.set_type(AttributeProto::INT);
    proto.set_i(*number);
  } else if (const auto *real = std::get_if<float>(&attribute.value)) {
    proto.set_type(AttributeProto::FLOAT);
    proto.set_f(*real);
  } else if (const auto *text = std::get_if<std::string>(&attribute.value)) {
    proto.set_type(AttributeProto::STRING);
    proto.set_s(*text);
  } else if (const auto *numbers = std::get_if<std::vector<int64_t>>(&attribute.value)) {
    proto.set_type(AttributeProto::INTS);
    proto.mutable_ints()->Assign(numbers->begin(), numbers->end());
  } else if (const auto *reals = std::get_if<std::vector<float>>(&attribute.value)) {
    proto.set_type(AttributeProto::FLOATS);
    proto.mutable_floats()->Assign(reals->begin(), reals->end());
  } else if (const auto *texts = std::get_if<std::vector<std::string>>(&attribute.value)) {
    proto.set_type(AttributeProto::STRINGS);
    for (const std::string &item : *texts)
      proto.add_strings(item);
  } else {
    const int number = std::get<RecordedBody>(attribute.value).number;
    if (number < 0 || static_cast<size_t>(number) >= bodies.size() || !bodies[static_cast<size_t>(number)])
      return fail(&place, "expected a body that is there and has no other use, got body " + Twine(number));
    proto.set_type(AttributeProto::GRAPH);
    // The messages inside keep their addresses, which identify places.
    proto.mutable_g()->Swap(bodies[static_cast<size_t>(number)].get());
    bodies[static_cast<size_t>(number)].reset();
  }
  return true;
}

std::optional<GraphRecorder::Value> GraphRecorder::addConstant(const RecordedType &type, StringRef elements,
                                                               const RecordedPlace &place) {
  State &s = *state;
  if (!s.error.empty())
    return std::nullopt;
  if (!s.function)
    return s.fail(&place, "expected a call in Graph::function, got one outside of a function"), std::nullopt;
  NodeProto &node = *s.frames.back()->graph->add_node();
  node.set_op_type("Constant");
  node.set_name(s.makeName(place, "Constant"));
  AttributeProto *attribute = node.add_attribute();
  attribute->set_name("value");
  attribute->set_type(AttributeProto::TENSOR);
  TensorProto *tensor = attribute->mutable_t();
  tensor->set_data_type(type.elementType);
  for (auto [axis, dim] : llvm::enumerate(type.dims)) {
    if (dim.size < 0)
      return s.fail(&place, "a constant needs sizes that are numbers, got " + (dim.name.empty() ? "any" : dim.name) +
                                " as dimension " + Twine(axis)),
             std::nullopt;
    tensor->add_dims(dim.size);
  }
  tensor->set_raw_data(elements.str());
  *node.add_output() = node.name() + "_output";
  Value value = s.addValue(node.output(0));
  return s.record(node, place) ? std::optional(value) : std::nullopt;
}

std::optional<GraphRecorder::Value> GraphRecorder::addSizes(ArrayRef<RecordedDim> dims, const RecordedPlace &place) {
  State &s = *state;
  if (!s.error.empty())
    return std::nullopt;
  if (!s.function)
    return s.fail(&place, "expected a call in Graph::function, got one outside of a function"), std::nullopt;
  std::vector<Value> parts;
  std::vector<int64_t> numbers; // that come after the parts
  auto flush = [&](bool isWhole) -> bool {
    if (numbers.empty() && !(isWhole && parts.empty()))
      return true;
    const int64_t count = static_cast<int64_t>(numbers.size());
    auto constant = addConstant({TensorProto::INT64, {{count, ""}}},
                                StringRef(reinterpret_cast<const char *>(numbers.data()), numbers.size() * 8), place);
    numbers.clear();
    if (constant)
      parts.push_back(*constant);
    return constant.has_value();
  };
  for (const RecordedDim &dim : dims) {
    if (dim.size >= 0 || dim.name.empty()) {
      numbers.push_back(dim.size);
      continue;
    }
    auto symbol = s.function->symbols.find(dim.name);
    if (symbol == s.function->symbols.end())
      return s.fail(&place, "expected an input of function '" + s.function->name + "' with a dimension '" + dim.name +
                                "', got none"),
             std::nullopt;
    if (!flush(false))
      return std::nullopt;
    auto &[input, axis] = symbol->second;
    auto value = llvm::find_if(s.values, [&](const State::KnownValue &known) {
      return known.frame == s.frames.front()->number && known.name == input;
    });
    std::vector<Value> size;
    if (!addNode("Shape", static_cast<Value>(value - s.values.begin()), {{"start", axis}, {"end", axis + 1}}, place, 1,
                 size))
      return std::nullopt;
    parts.push_back(size.front());
  }
  if (!flush(true))
    return std::nullopt;
  if (parts.size() == 1)
    return parts.front();
  std::vector<Value> joined;
  if (!addNode("Concat", parts, {{"axis", int64_t(0)}}, place, 1, joined))
    return std::nullopt;
  return joined.front();
}

bool GraphRecorder::store(Value variable, Value value, const RecordedPlace &place) {
  State &s = *state;
  if (!s.error.empty())
    return false;
  if (!s.function)
    return s.fail(&place, "expected a store in Graph::function, got one outside of a function");
  if (s.frames.size() != 1)
    return s.fail(&place, "expected a store outside of loops and branches, got one in a body: return the value, and "
                          "store it after the loop or branch");
  if (variable < 0 || static_cast<size_t>(variable) >= s.values.size() ||
      !s.values[static_cast<size_t>(variable)].variable)
    return s.fail(&place, "expected a variable to store, got another value");
  VariableOp op = *s.values[static_cast<size_t>(variable)].variable;
  std::optional<std::string> name = s.nameOf(value, place);
  if (!name)
    return false;
  return s.attempt(place, [&] {
    Type type = s.importer->lookup(*name).type;
    if (type != op.getType())
      throwInvalid("variable '" + op.getSymName() + "' needs " + describe(op.getType()) + ", got " + describe(type));
    s.function->stored[op] = *name;
  });
}

bool GraphRecorder::beginBody(bool isLoop, ArrayRef<Value> carried, const RecordedPlace &place,
                              std::vector<Value> &results) {
  State &s = *state;
  if (!s.error.empty())
    return false;
  if (!s.function)
    return s.fail(&place, "expected a call in Graph::function, got one outside of a function");
  if (s.frames.size() > maxNesting)
    return s.fail(&place, "expects at most " + Twine(maxNesting) + " bodies inside of one another, got one more");
  SmallVector<Type> types;
  for (Value value : carried) {
    std::optional<std::string> name = s.nameOf(value, place);
    if (!name || !s.attempt(place, [&] { types.push_back(s.importer->lookup(*name).type); }))
      return false;
  }
  auto graph = std::make_unique<GraphProto>();
  auto frame = std::make_unique<State::Frame>(s.nextFrame++, graph.get());
  graph->set_name(isLoop ? "loop" : "branch");
  frame->place = place;
  frame->carried = types;
  frame->isLoop = isLoop;
  frame->mark = s.importer->markSymbols();
  frame->region = std::make_unique<Region>();
  frame->saved = s.importer->builder.saveInsertionPoint();
  auto *block = new Block();
  frame->region->push_back(block);
  Scope &scope = frame->scope;
  scope.block = block;
  scope.parent = &s.frames.back()->scope;
  scope.opsets = scope.parent->opsets;
  scope.depth = scope.parent->depth + 1;
  s.importer->scope = &scope;
  s.importer->builder.setInsertionPointToStart(block);
  frame->own = std::move(graph);
  s.frames.push_back(std::move(frame));
  s.frameFunctions[s.frames.back()->number] = s.function->name;
  State::Frame &body = *s.frames.back();
  if (!isLoop)
    return true;
  return s.attempt(place, [&] {
    auto addInput = [&](StringRef base, Entry entry) {
      std::string name = s.makeName({"", base.str(), "", 0}, base);
      ValueInfoProto *input = body.graph->add_input();
      input->set_name(name);
      auto type = cast<RankedTensorType>(entry.type);
      input->mutable_type()->mutable_tensor_type()->set_elem_type(getDataType(type.getElementType()));
      setDims(*input->mutable_type()->mutable_tensor_type()->mutable_shape(), describeDims(type));
      s.importer->define(name, std::move(entry));
      return s.addValue(name);
    };
    Location location = s.locate(place, "loop");
    Entry number{RankedTensorType::get({}, s.importer->builder.getI64Type()), location};
    number.contents = Dims{s.importer->declareSymbol("iteration", /*isDataDependent=*/true)};
    results.push_back(addInput("iteration", std::move(number)));
    Entry runs{RankedTensorType::get({}, s.importer->builder.getI1Type()), location};
    runs.contents = Dims{DimAttr::constant(&s.context, 1)};
    (void)addInput("runs", std::move(runs));
    for (Type type : types) {
      Entry entry{type, location};
      entry.value = block->addArgument(type, location);
      results.push_back(addInput("carried", std::move(entry)));
    }
  });
}

std::optional<RecordedBody> GraphRecorder::endBody(ArrayRef<Value> results) {
  State &s = *state;
  if (!s.error.empty())
    return std::nullopt;
  if (s.frames.size() < 2)
    return s.fail(nullptr, "expected a body that has begun to end here, got none"), std::nullopt;
  State::Frame &frame = *s.frames.back();
  const RecordedPlace place = frame.place;
  if (results.size() < frame.carried.size())
    return s.fail(&place, "needs " + Twine(frame.carried.size()) + " values of its body to carry on, got " +
                              Twine(results.size())),
           std::nullopt;
  std::vector<std::string> names;
  if (frame.isLoop)
    names.push_back(frame.graph->input(1).name());
  for (auto [index, value] : llvm::enumerate(results)) {
    std::optional<std::string> name = s.nameOf(value, place);
    if (!name)
      return std::nullopt;
    names.push_back(*name);
    if (index >= frame.carried.size())
      continue;
    const bool isKept = s.attempt(place, [&] {
      Type type = s.importer->lookup(*name).type;
      if (type != frame.carried[index])
        throwInvalid("carried value " + Twine(index) + " keeps its type: expected " + describe(frame.carried[index]) +
                     ", got " + describe(type));
    });
    if (!isKept)
      return std::nullopt;
  }
  // Each result of a body is made inside of it and has a name of its own.
  for (const std::string &name : names) {
    NodeProto &node = *frame.graph->add_node();
    node.set_op_type("Identity");
    node.set_name(s.makeName({"", "result", "", 0}, "result"));
    *node.add_input() = name;
    *node.add_output() = node.name();
    frame.graph->add_output()->set_name(node.name());
    if (!s.record(node, place))
      return std::nullopt;
  }
  // The region existed to infer types only. The op with this body imports it again.
  s.importer->scope = frame.scope.parent;
  s.importer->forgetBlock(frame.scope.block);
  s.importer->builder.restoreInsertionPoint(frame.saved);
  s.bodies.push_back(std::move(frame.own));
  const size_t mark = frame.mark;
  s.frames.pop_back(); // with the ops that name the symbols
  s.importer->withdrawSymbols(mark);
  return RecordedBody{static_cast<int>(s.bodies.size()) - 1};
}

std::optional<RecordedType> GraphRecorder::getType(Value value) {
  State &s = *state;
  if (!s.error.empty() || !s.function)
    return std::nullopt;
  RecordedPlace place;
  std::optional<std::string> name = s.nameOf(value, place);
  RecordedType result;
  const bool isKnown = name && s.attempt(place, [&] {
    auto type = cast<RankedTensorType>(s.importer->lookup(*name).type);
    result.elementType = getDataType(type.getElementType());
    result.dims = describeDims(type);
  });
  return isKnown ? std::optional(result) : std::nullopt;
}

} // namespace vx
