#include "ModelImporter.h"

#include "NameExpressions.h"
#include "OpFunctions.h"
#include "SharedSizes.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "vx/Dialect/VX/IR/SourceLocation.h"
#include "vx/Dialect/VX/IR/UserText.h"
#include "vx/base/utf8.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;

namespace vx::onnx {

std::string getNodeLabel(const NodeProto &node, int index) {
  return node.name().empty() ? node.op_type() + "_" + std::to_string(index) : node.name();
}

ModelImporter::ModelImporter(MLIRContext *context, const ModelProto &model, std::shared_ptr<const void> owner,
                             StringRef file, StringRef folder, const ImportOptions &options, ImportReport &report,
                             OnnxSource *source)
    : context(context), options(options), builder(context),
      tensors(context, std::move(owner), folder, options.maxInlineElements), source(source), model(model),
      fileName(llvm::sys::path::filename(file)), report(report) {}

Location ModelImporter::getLocation(StringRef node, StringRef opType) {
  return getSourceLocation(context, escapeControlCharacters(node), escapeControlCharacters(opType), fileName);
}

//===-- Report --------------------------------------------------------------------------------===//

void ModelImporter::addIssue(const ImportError &error, const NodeProto *node, StringRef label, int64_t version) {
  ImportIssue issue;
  issue.kind = error.kind;
  if (node) {
    issue.node = label.str();
    issue.opType = node->op_type();
    issue.domain = spellDomain(normalizeDomain(node->domain())).str();
    issue.version = version;
  }
  issue.reason = error.reason;
  issue.advice = describeAdvice(error.advice, issue.domain, issue.opType, error.version);
  report.issues.push_back(std::move(issue));
  failures.push_back({path, error.undecided});
}

void ModelImporter::addNote(ImportNote::Kind kind, StringRef group, const Twine &text, StringRef place) {
  const std::string all = text.str(), key = group.empty() ? all : group.str();
  // Loops and functions are imported more than once.
  if (!notedPlaces.insert(key + "\n" + place.str()).second)
    return;
  auto [known, isNew] = noteGroups.try_emplace(key, report.notes.size());
  if (isNew)
    report.notes.push_back({kind, all, {}});
  report.notes[known->second].places.push_back(place.str());
}

std::string ModelImporter::takeDiagnostics() {
  std::string text = std::move(diagnostics.front()); // a verifier that refuses says why
  diagnostics.clear();
  return text;
}

bool ModelImporter::guard(const NodeProto *node, StringRef label, int64_t version, function_ref<void()> body) {
  diagnostics.clear();
  try {
    body();
    return true;
  } catch (const ImportError &error) {
    addIssue(error, node, label, version);
  } catch (const PoisonedInput &) {
  }
  return false;
}

//===-- Values --------------------------------------------------------------------------------===//

std::optional<StringRef> ModelImporter::findAlias(StringRef name) const {
  for (const Scope *at = scope; at; at = at->parent)
    if (auto found = at->aliases.find(name); found != at->aliases.end())
      return StringRef(found->second);
  return std::nullopt;
}

Entry &ModelImporter::lookup(StringRef name) {
  std::optional<StringRef> wanted = name;
  for (unsigned hops = 0; wanted && hops < maxNesting; ++hops, wanted = findAlias(*wanted))
    for (Scope *at = scope; at; at = at->parent) {
      auto found = at->entries.find(*wanted);
      if (found == at->entries.end())
        continue;
      if (!found->second.unavailable.empty())
        throwUnsupported(found->second.whenUnavailable, found->second.unavailable);
      if (found->second.isPoisoned())
        throw PoisonedInput();
      return found->second;
    }
  throwInvalid("expects a value '" + name + "', but nothing before the node makes it");
}

void ModelImporter::define(StringRef name, Entry entry) {
  if (name.empty() || scope->substituted.contains(name))
    return;
  if (!entry.block)
    entry.block = builder.getInsertionBlock();
  if (!isUtf8(name))
    throwInvalid("expects names of values in UTF-8, got '" + llvm::toHex(name) + "' in hexadecimal digits");
  if (!scope->entries.try_emplace(name, std::move(entry)).second)
    throwInvalid("expects each value to be made once, but '" + name + "' is made twice");
}

void checkRank(const Entry &entry, const Twine &what) {
  if (!entry.leastRank)
    return;
  const NodeProto &decider = *entry.decidedBy.node;
  throwUndecided("expects " + what + " of one rank, got one of " + Twine(*entry.leastRank) + " or " +
                     Twine(cast<RankedTensorType>(entry.type).getRank()) + " dimensions, as the branches of node '" +
                     (decider.name().empty() ? decider.output(0) : decider.name()) + "' (" + decider.op_type() +
                     ") decide",
                 entry.decidedBy);
}

static void refuseSixBits(const Entry &entry) {
  if (entry.sixBits)
    refuseSixBits(entry.sixBits, "tensor '" + Twine(entry.constantName) + "'");
}

/// Whether the op reads constants of 6 bits, or passes them on.
static bool mayHaveSixBits(const NodeProto &node) {
  return normalizeDomain(node.domain()).empty() &&
         llvm::is_contained({"Cast", "DequantizeLinear", "Identity"}, StringRef(node.op_type()));
}

Value ModelImporter::materialize(Entry &entry) {
  checkRank(entry);
  if (!readsSixBits)
    refuseSixBits(entry);
  if (entry.value)
    return entry.value;
  if (!entry.constant) {
    Value value = entry.isNone ? OptionalOp::create(builder, entry.location, entry.type, Value()).getResult()
                               : materializeContents(entry);
    if (builder.getInsertionBlock() == entry.block)
      entry.value = value;
    return value;
  }
  OpBuilder::InsertionGuard guard(builder);
  Operation *&last = lastConstants[entry.block];
  if (last)
    builder.setInsertionPointAfter(last);
  else
    builder.setInsertionPointToStart(entry.block);
  auto constant = ConstantOp::create(builder, entry.location, entry.constant.getType(), entry.constant);
  if (!entry.constantName.empty())
    constant.setNamesAttr(builder.getStrArrayAttr({escapeControlCharacters(entry.constantName)}));
  last = constant;
  return entry.value = constant;
}

Value ModelImporter::materializeContents(Entry &entry) {
  NodeImporter node(*this, NodeProto::default_instance(), 0, entry.location, "");
  auto type = cast<RankedTensorType>(entry.type);
  Type elementType = type.getElementType();
  const Dims &contents = *entry.contents;
  if (llvm::all_of(contents, [](DimAttr dim) { return dim.asConstant().has_value(); })) {
    SmallVector<APInt> values;
    for (DimAttr dim : contents)
      values.push_back(APInt(elementType.getIntOrFloatBitWidth(), *dim.asConstant(), /*isSigned=*/true,
                             /*implicitTrunc=*/true));
    return node.emitConstant(DenseElementsAttr::get(type, values));
  }
  if (type.getRank() == 0)
    return node.emitDim(contents[0], elementType);
  SmallVector<Value> parts;
  for (DimAttr dim : contents)
    parts.push_back(node.reshape(node.emitDim(dim, elementType), node.dim(1)));
  Value joined = parts.size() == 1 ? parts[0] : node.emit<ConcatOp>(ValueRange(parts), 0);
  return node.reshape(joined, getDims(type));
}

//===-- Symbols -------------------------------------------------------------------------------===//

DimAttr ModelImporter::declareSymbol(const Twine &wanted, bool isDataDependent, int64_t min) {
  std::string base = wanted.str(), name = base;
  for (unsigned number = 1; reservedNames.contains(name) || !symbolNames.insert(name).second; ++number)
    name = base + "_" + std::to_string(number);
  if (isDataDependent)
    dataDependent.insert(name);
  OpBuilder::InsertionGuard guard(builder);
  if (lastSymbol)
    builder.setInsertionPointAfter(lastSymbol);
  else
    builder.setInsertionPointToStart(module.getBody());
  OperationState state(module.getLoc(), SymbolOp::getOperationName());
  state.addAttribute("name", builder.getStringAttr(name));
  if (isDataDependent)
    state.addAttribute("data_dependent", builder.getUnitAttr());
  if (min != 0)
    state.addAttribute("min", builder.getI64IntegerAttr(min));
  lastSymbol = builder.create(state);
  freshSymbols.push_back(lastSymbol);
  return DimAttr::symbolNamed(context, name);
}

void ModelImporter::withdrawSymbols(size_t mark) {
  while (freshSymbols.size() > mark) {
    auto symbol = cast<SymbolOp>(freshSymbols.back());
    freshSymbols.pop_back();
    symbolNames.erase(symbol.getName());
    dataDependent.erase(symbol.getName());
    symbol.erase();
  }
  lastSymbol = freshSymbols.empty() ? nullptr : freshSymbols.back();
}

StringRef ModelImporter::declareCounter() {
  if (!counter) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(module.getBody());
    counter = VariableOp::create(builder, module.getLoc(), builder.getStringAttr("random_draws"),
                                 TypeAttr::get(RankedTensorType::get({}, builder.getI64Type())), ElementsAttr(),
                                 VariableRoleAttr::get(context, VariableRole::counter), StringAttr(), InitAttr(),
                                 FlatSymbolRefAttr(), IntegerAttr());
  }
  return counter.getSymName();
}

llvm::StringSet<> ModelImporter::getSymbolsAfter(size_t mark) const {
  llvm::StringSet<> names;
  for (Operation *symbol : ArrayRef<Operation *>(freshSymbols).drop_front(mark))
    names.insert(cast<SymbolOp>(symbol).getName());
  return names;
}

/// Texts longer than this are names, not expressions.
static constexpr size_t maxExpressionLength = 64;

/// The expression that a dimension's text is, or null when it is a mere name.
static DimAttr parseDim(MLIRContext *context, StringRef text) {
  DimAttr dim = text.size() <= maxExpressionLength ? DimAttr::fromString(context, text) : DimAttr();
  return dim && !dim.asConstant() ? dim : DimAttr();
}

bool hasName(const TensorShapeProto::Dimension &dim) {
  return dim.has_dim_param() && !dim.dim_param().empty() && dim.dim_param() != "?";
}

void ModelImporter::bindInputSymbols(const GraphProto &graph) {
  for (const ValueInfoProto &input : graph.input())
    for (const TensorShapeProto::Dimension &dim : input.type().tensor_type().shape().dim()) {
      if (hasName(dim))
        reservedNames.insert(dim.dim_param());
      if (DimAttr parsed = hasName(dim) ? parseDim(context, dim.dim_param()) : DimAttr()) {
        if (StringAttr symbol = parsed.asSymbol()) {
          inputSymbols.insert(symbol.getValue());
        } else {
          SetVector<StringAttr> symbols;
          parsed.collectSymbols(symbols);
          for (StringAttr symbol : symbols)
            expressionSymbols.insert(symbol.getValue());
        }
      }
    }
  for (const auto &symbol : inputSymbols)
    reservedNames.insert(symbol.getKey());
}

DimAttr ModelImporter::declareSize(StringRef tensor, int64_t axis) {
  return declareSymbol(tensor + ".shape[" + Twine(axis) + "]", /*isDataDependent=*/true);
}

DimAttr ModelImporter::importDim(const TensorShapeProto::Dimension &dim, StringRef name, int64_t index) {
  if (dim.has_dim_value() && dim.dim_value() >= 0)
    return DimAttr::constant(context, dim.dim_value());
  // Some exporters write -1 where a size is not known.
  if (dim.has_dim_value() && dim.dim_value() < -1)
    throwInvalid("'" + name + "': expects sizes of at least 0, or -1 where one is not known, got " +
                 Twine(dim.dim_value()) + " in dimension " + Twine(index));
  if (!isUtf8(dim.dim_param()))
    throwInvalid("'" + name + "': expects names of dimensions in UTF-8, got '" + llvm::toHex(dim.dim_param()) +
                 "' in hexadecimal digits");
  if (!hasName(dim))
    return declareSymbol(name + "_" + Twine(index), /*isDataDependent=*/false);
  DimAttr parsed = parseDim(context, dim.dim_param());
  SetVector<StringAttr> symbols;
  if (parsed)
    parsed.collectSymbols(symbols);
  // An expression needs symbols that a call binds; else the text as a whole is the name of a symbol.
  if (!parsed || !llvm::all_of(symbols, [&](StringAttr s) { return inputSymbols.contains(s.getValue()); })) {
    parsed = DimAttr::symbolNamed(context, dim.dim_param());
    symbols.insert(parsed.asSymbol());
  }
  return parsed.substitute([&](StringAttr symbol) { return declareNamesake(symbol.getValue()); });
}

DimAttr ModelImporter::declareNamesake(StringRef name) {
  const unsigned group = expressionSymbols.contains(name) || !inputGroups ? 0 : inputGroups->lookup(name);
  auto &known = groupSymbols[name];
  for (auto &[other, symbol] : known)
    if (other == group || !inputGroups)
      return DimAttr::symbolNamed(context, symbol);
  std::string own = name.str();
  if (known.empty()) {
    reservedNames.erase(name);
  } else {
    do
      own += "'";
    while (symbolNames.contains(own) || reservedNames.contains(own));
    namesakes[known.front().second] = namesakes[own] = name.str();
  }
  known.emplace_back(group, own);
  return symbolNames.contains(own) ? DimAttr::symbolNamed(context, own) : declareSymbol(own, /*isDataDependent=*/false);
}

Type ModelImporter::importType(const TypeProto &type, StringRef name) {
  switch (type.value_case()) {
  case TypeProto::kTensorType: {
    const TypeProto::Tensor &tensor = type.tensor_type();
    Type elementType = getElementType(context, tensor.elem_type(), "'" + name + "'");
    if (!tensor.has_shape())
      throwUnsupported(Advice::StateShape, "'" + name + "' has no shape, expected a known number of dimensions");
    if (tensor.shape().dim_size() > maxRank)
      throwUnsupported(Advice::SplitModel, "'" + name + "': expects at most " + Twine(maxRank) + " dimensions, got " +
                                               Twine(tensor.shape().dim_size()));
    Dims dims;
    for (const TensorShapeProto::Dimension &dim : tensor.shape().dim())
      dims.push_back(importDim(dim, name, dims.size()));
    return makeTensorType(dims, elementType);
  }
  case TypeProto::kSequenceType: {
    const TypeProto &element = type.sequence_type().elem_type();
    if (element.value_case() != TypeProto::kTensorType)
      throwUnsupported(Advice::GiveTensors, "'" + name + "' is a sequence of what is not a tensor");
    Type elementType = getElementType(context, element.tensor_type().elem_type(), "'" + name + "'");
    if (!element.tensor_type().has_shape())
      return SequenceType::get(context, UnrankedTensorType::get(elementType));
    SmallVector<int64_t> shape;
    for (const TensorShapeProto::Dimension &dim : element.tensor_type().shape().dim())
      shape.push_back(dim.has_dim_value() && dim.dim_value() >= 0 ? dim.dim_value() : ShapedType::kDynamic);
    return SequenceType::get(context, RankedTensorType::get(shape, elementType));
  }
  case TypeProto::kOptionalType:
    switch (type.optional_type().elem_type().value_case()) {
    case TypeProto::kTensorType:
    case TypeProto::kSequenceType:
      break;
    default:
      throwUnsupported(Advice::GiveTensors, "'" + name + "' is an optional of what is neither a tensor nor a sequence");
    }
    return OptionalType::get(context, importType(type.optional_type().elem_type(), name));
  case TypeProto::kMapType:
    throwUnsupported(Advice::GiveTensors, "'" + name + "' is a map, expected a tensor or a sequence");
  case TypeProto::kSparseTensorType:
    throwUnsupported(Advice::StoreDense, "'" + name + "' is a sparse tensor, expected a tensor or a sequence");
  default:
    throwInvalid("'" + name + "' has no type");
  }
}

//===-- Nodes ---------------------------------------------------------------------------------===//

void ModelImporter::poisonOutputs(const NodeProto &node) {
  for (const std::string &output : node.output())
    if (!output.empty())
      scope->entries.insert_or_assign(output, Entry{Type(), builder.getUnknownLoc()});
}

bool ModelImporter::importNodes(const google::protobuf::RepeatedPtrField<NodeProto> &nodes,
                                ArrayRef<NumberedNode> rest) {
  if (!guard(nullptr, "", 0, [&] { scope->nodes = orderNodes(nodes); })) {
    checkNodes(nodes, scope->depth);
    for (const NodeProto &node : nodes)
      poisonOutputs(node);
    return false;
  }
  llvm::append_range(scope->nodes, rest);
  return importScopeNodes();
}

bool ModelImporter::importScopeNodes() {
  if (scope->depth > maxNesting) {
    addIssue(
        {ImportIssue::Kind::Unsupported,
         "expects at most " + std::to_string(maxNesting) + " subgraphs, functions and gradients inside of one another",
         Advice::SplitModel});
    return false;
  }
  bool succeeded = true;
  for (const NumberedNode node : scope->nodes) {
    succeeded &= importNext(node);
    if (importedNodes > maxNodes)
      return false;
  }
  return succeeded;
}

bool ModelImporter::importNext(NumberedNode numbered) {
  const NodeProto &node = *numbered.proto;
  if (scope->continued.contains(&node)) {
    // An output that earlier branches did not give, since one of them failed, fails silently.
    for (const std::string &output : node.output())
      if (!output.empty())
        scope->entries.try_emplace(output, Entry{Type(), builder.getUnknownLoc()});
    return true;
  }
  if (++importedNodes > maxNodes) {
    if (importedNodes == maxNodes + 1)
      addIssue({ImportIssue::Kind::Unsupported,
                "expects at most " + std::to_string(maxNodes) + " nodes, with those of functions at each call",
                Advice::SplitModel});
    return false;
  }
  std::string label = getNodeLabel(node, numbered.number);
  StringRef domain = normalizeDomain(node.domain());
  auto opset = scope->opsets->find(domain);
  int64_t version = opset == scope->opsets->end() ? 0 : opset->second;
  if (guard(&node, label, version, [&] {
        importNode(node, label);
        for (const std::string &output : node.output())
          for (const TypeProto *declared : scope->declaredTypes.lookup(output))
            checkDeclared("'" + output + "'", output, *declared, scope->entries.find(output)->second);
      }))
    return true;
  poisonOutputs(node);
  return false;
}

void ModelImporter::importNode(const NodeProto &node, StringRef label) {
  const FunctionProto *function = findFunction(node);
  OpLookup op;
  // A reader of a failed node fails with it, silently. But its subgraphs are searched for more issues.
  try {
    if (function)
      checkCall(node, *function);
    else
      op = findNodeOp(node, label);
    for (const std::string &input : node.input())
      if (!input.empty())
        (void)lookup(input);
  } catch (...) {
    checkSubgraphs(node, scope->depth + 1);
    throw;
  }
  if (function)
    return importCall(node, *function, label);
  if (node.output_size() == 0)
    throwInvalid("expects at least 1 output, got 0");
  const StringRef domain = normalizeDomain(node.domain());
  const int64_t version = scope->opsets->lookup(domain);
  for (const std::string &input : node.input())
    if (!input.empty() && !mayHaveSixBits(node)) // an op may read the type alone
      refuseSixBits(lookup(input));
  // Recorded values may have types that no version of ONNX has.
  if (const OpSignature *signature = recording ? nullptr : findSignature(domain, node.op_type(), version)) {
    SmallVector<InputType> types;
    for (int index = 0; index < node.input_size(); ++index)
      if (const std::string &input = node.input(index); !input.empty())
        if (const Entry &entry = lookup(input); !entry.isNone && !entry.isEmptySequence)
          types.push_back({static_cast<unsigned>(index), entry.type});
    checkInputTypes(*signature, version, types);
  }
  makeOps(node, version, label, op.function);
  for (const std::string &output : node.output())
    if (!output.empty() && !scope->entries.contains(output))
      throwUnsupported(Advice::DropOutput, "output '" + output + "' is not imported");
}

void ModelImporter::makeOps(const NodeProto &node, int64_t version, StringRef label, ImportFunction function) {
  const Location location = recording ? recording->locate(node, label) : getLocation(label, node.op_type());
  auto hasGraph = [](const AttributeProto &attribute) { return attribute.has_g(); };
  const llvm::SaveAndRestore reads(readsSixBits, mayHaveSixBits(node));
  try {
    NodeImporter importer(*this, node, version, location, label);
    if (llvm::none_of(node.attribute(), hasGraph)) {
      joinSharedSizes(importer);
      if (readsLongExpressions(importer))
        nameLongExpressions(importer);
    }
    return function(importer);
  } catch (const ImportError &error) {
    if (!error.isTooLong || llvm::any_of(node.attribute(), hasGraph)) // nodes inside are tried again themselves
      throw;
  }
  diagnostics.clear();
  for (const std::string &output : node.output())
    scope->entries.erase(output);
  NodeImporter importer(*this, node, version, location, label);
  nameLongExpressions(importer);
  function(importer);
}

//===-- Graphs --------------------------------------------------------------------------------===//

void ModelImporter::importInitializers(const GraphProto &graph) {
  llvm::StringMap<const TypeProto *> inputs;
  for (const ValueInfoProto &input : graph.input())
    inputs.try_emplace(input.name(), &input.type());
  for (const TensorProto &tensor : graph.initializer()) {
    guard(nullptr, "", 0, [&] {
      if (tensor.name().empty())
        throwInvalid("expects each initializer to have a name");
      ElementsAttr elements = tensors.read(tensor, tensor.name());
      if (source)
        source->record(&tensor, tensor.name(), elements);
      Entry entry{elements.getType(), getLocation(tensor.name(), "Initializer")};
      entry.constant = elements;
      entry.constantName = tensor.name();
      entry.sixBits = hasSixBits(tensor.data_type()) ? tensor.data_type() : 0;
      if (const TypeProto *declared = inputs.lookup(tensor.name()))
        checkDeclared("input '" + tensor.name() + "'", tensor.name(), *declared, entry, /*isBinding=*/true);
      define(tensor.name(), std::move(entry));
    });
    if (!scope->entries.contains(tensor.name()))
      scope->entries.insert_or_assign(tensor.name(), Entry{Type(), builder.getUnknownLoc()});
  }
  for (const SparseTensorProto &tensor : graph.sparse_initializer()) {
    addIssue({ImportIssue::Kind::Unsupported,
              "tensor '" + tensor.values().name() + "' is sparse, expected dense initializers", Advice::StoreDense});
    scope->entries.insert_or_assign(tensor.values().name(), Entry{Type(), builder.getUnknownLoc()});
  }
  for (const ValueInfoProto &info : graph.value_info())
    scope->declaredTypes[info.name()].push_back(&info.type());
}

void ModelImporter::importInputs(const GraphProto &graph) {
  llvm::StringSet<> initialized;
  for (const TensorProto &tensor : graph.initializer())
    initialized.insert(tensor.name());
  bindInputSymbols(graph);
  Block *block = builder.getInsertionBlock();
  const SizeGroups groups = recording ? SizeGroups(graph.input_size()) : groupSizes(graph);
  for (auto [index, input] : llvm::enumerate(graph.input())) {
    inputGroups = &groups[index];
    // Up to IR version 3 every initializer is an input too; later it is one's default value, which stands here.
    if (initialized.contains(input.name()))
      continue;
    bool succeeded = guard(nullptr, "", 0, [&] {
      if (input.name().empty())
        throwInvalid("expects each input to have a name");
      Type type = importType(input.type(), input.name());
      Location location = getLocation(input.name(), "Input");
      Entry entry{type, location};
      entry.value = block->addArgument(type, location);
      define(input.name(), std::move(entry));
    });
    if (!succeeded)
      scope->entries.insert_or_assign(input.name(), Entry{Type(), builder.getUnknownLoc()});
  }
  inputGroups = nullptr;
}

func::FuncOp ModelImporter::beginFunction(const GraphProto &graph, StringRef name, Scope &top) {
  builder.setInsertionPointToEnd(module.getBody());
  auto function =
      func::FuncOp::create(builder, getLocation(graph.name(), "Graph"), name, builder.getFunctionType({}, {}));
  Block *block = function.addEntryBlock();
  builder.setInsertionPointToStart(block);
  top.block = block;
  top.opsets = &opsets;
  scope = &top;
  importInputs(graph);
  return function;
}

void ModelImporter::endFunction(const GraphProto &graph, func::FuncOp function, ArrayRef<Value> results) {
  auto nameAttribute = [&](StringRef name) {
    return builder.getDictionaryAttr(builder.getNamedAttr("vx.name", builder.getStringAttr(name)));
  };
  func::ReturnOp::create(builder, function.getLoc(), results);
  Block &block = function.getBody().front();
  function.setFunctionType(builder.getFunctionType(block.getArgumentTypes(), TypeRange(ValueRange(results))));
  SmallVector<DictionaryAttr> argumentAttributes, resultAttributes;
  llvm::StringSet<> initialized;
  for (const TensorProto &tensor : graph.initializer())
    initialized.insert(tensor.name());
  for (const ValueInfoProto &input : graph.input())
    if (!initialized.contains(input.name()))
      argumentAttributes.push_back(nameAttribute(input.name()));
  for (const ValueInfoProto &output : graph.output())
    resultAttributes.push_back(nameAttribute(output.name()));
  function.setAllArgAttrs(argumentAttributes);
  function.setAllResultAttrs(resultAttributes);
}

void ModelImporter::importGraph(const GraphProto &graph) {
  Scope top;
  func::FuncOp function = beginFunction(graph, "main", top);
  importInitializers(graph);
  top.outputs.emplace();
  for (const ValueInfoProto &output : graph.output())
    top.outputs->push_back(output.name());
  importNodes(graph.node());

  SmallVector<Value> results;
  llvm::StringSet<> outputNames;
  for (const ValueInfoProto &output : graph.output()) {
    guard(nullptr, "", 0, [&] {
      if (!outputNames.insert(output.name()).second)
        throwInvalid("expects each output once, but '" + output.name() + "' is listed twice");
      if (output.name().empty())
        throwInvalid("expects each output to have a name");
      if (!top.entries.contains(output.name()))
        throwInvalid("expects a value for output '" + output.name() + "', but no node makes it");
      Entry &entry = lookup(output.name());
      checkRank(entry, "output '" + output.name() + "'");
      checkDeclared("output '" + output.name() + "'", output.name(), output.type(), entry);
      results.push_back(convertToDeclared(builder, entry.location, materialize(entry), output.type()));
    });
  }
  if (graph.output_size() == 0)
    addIssue({ImportIssue::Kind::Invalid, "expects a graph with at least 1 output, got 0", Advice::CheckModel});
  scope = nullptr;
  if (report.issues.empty())
    endFunction(graph, function, results);
}

void ModelImporter::addDiagnostic(Diagnostic &diagnostic) {
  if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
    diagnostics.push_back(describeDiagnostic(diagnostic));
}

OwningOpRef<ModuleOp> ModelImporter::begin() {
  context->loadDialect<VXDialect, func::FuncDialect>();
  if (!guard(nullptr, "", 0, [&] { checkModel(); }))
    return {};
  module = ModuleOp::create(getLocation(model.graph().name(), "Graph"));
  module->setAttr("vx.name", builder.getStringAttr(model.graph().name()));
  return module;
}

OwningOpRef<ModuleOp> ModelImporter::run() {
  ScopedDiagnosticHandler handler(context, [&](Diagnostic &diagnostic) {
    addDiagnostic(diagnostic);
    return success();
  });
  OwningOpRef<ModuleOp> owner = begin();
  if (!owner)
    return {};
  report.notes.clear(); // of an import that made other choices
  checkFunctions();
  noteConfigurations();
  importGraph(model.graph());
  checkUncalledFunctions();
  if (!report.issues.empty())
    return {};
  diagnostics.clear();
  if (failed(verify(module))) {
    addIssue({ImportIssue::Kind::Invalid, takeDiagnostics(), Advice::CheckModel});
    return {};
  }
  return owner;
}

} // namespace vx::onnx
