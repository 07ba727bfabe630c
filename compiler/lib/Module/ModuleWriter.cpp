#include "vx/Module/ModuleWriter.h"

#include "ProgramEncoder.h"
#include "SkeletonEncoder.h"
#include "vx/Analysis/InputRanges.h"
#include "vx/Analysis/KernelWork.h"
#include "vx/Analysis/RowIndependence.h"
#include "vx/Dialect/VX/IR/SourceLocation.h"
#include "vx/Dialect/VX/IR/UserText.h"
#include "vx/Dialect/VX/IR/VariablePlaces.h"
#include "vx/abi/kernel.h"
#include "vx/abi/limits.h"
#include "vx/abi/module_header.h"
#include "vx/abi/onnx_skeleton.h"
#include "vx/abi/version.h"
#include "vx/base/partial_file.h"
#include "vx/base/temporary_folder.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/ADT/SmallSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace vx {

namespace {

uint64_t alignTo(uint64_t value, uint64_t alignment) { return (value + alignment - 1) / alignment * alignment; }

/// Calls `sink` with the bytes of a constant, in the form of the module file.
void emitBytes(ElementsAttr value, llvm::function_ref<void(ArrayRef<char>)> sink) {
  // The import phase promises that a resource has its bytes, and that what is none is inline.
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(value)) {
    sink(resource.getRawHandle().getBlob()->getData());
    return;
  }
  auto dense = cast<DenseElementsAttr>(value);
  Type element = dense.getElementType();
  if (element.isInteger(1)) { // one byte for each
    std::vector<char> bytes;
    for (bool bit : dense.getValues<bool>())
      bytes.push_back(bit);
    sink(bytes);
    return;
  }
  unsigned bits = element.getIntOrFloatBitWidth();
  if (bits < 8) { // packed, low bits first
    std::vector<char> bytes((dense.getNumElements() * bits + 7) / 8);
    size_t index = 0;
    auto append = [&](const APInt &pattern) {
      size_t bit = index++ * bits;
      bytes[bit / 8] |= static_cast<char>(pattern.getZExtValue() << (bit % 8));
    };
    if (isa<FloatType>(element))
      for (const APFloat &number : dense.getValues<APFloat>())
        append(number.bitcastToAPInt());
    else
      for (const APInt &number : dense.getValues<APInt>())
        append(number);
    sink(bytes);
    return;
  }
  ArrayRef<char> raw = dense.getRawData();
  if (!dense.isSplat()) {
    sink(raw);
    return;
  }
  std::vector<char> bytes;
  for (int64_t i = 0; i < dense.getNumElements(); ++i)
    bytes.insert(bytes.end(), raw.begin(), raw.begin() + bits / 8);
  sink(bytes);
}

/// vx_hash64 of bytes that come in pieces, so that gigabytes of weights are not held twice. The whole size is known
/// first.
class StreamingHash {
public:
  explicit StreamingHash(uint64_t size) : hash(vx_hash64_begin(size)) {}
  void append(ArrayRef<char> bytes) {
    for (char byte : bytes) {
      word |= static_cast<uint64_t>(static_cast<uint8_t>(byte)) << (8 * filled);
      if (++filled == 8)
        flush();
    }
  }
  void appendZeros(uint64_t count) {
    static const char zero = 0;
    for (uint64_t i = 0; i < count; ++i)
      append(ArrayRef(&zero, 1));
  }
  uint64_t finish() {
    if (filled > 0)
      flush();
    return vx_hash64_end(hash);
  }

private:
  void flush() {
    hash = vx_hash64_add(hash, word);
    word = 0;
    filled = 0;
  }
  uint64_t hash, word = 0;
  unsigned filled = 0;
};

/// Where the bytes of a module go, with the place that was reached.
class Output {
public:
  virtual ~Output() = default;

  void write(const void *data, size_t size) {
    append(data, size);
    position += size;
  }
  void padTo(uint64_t offset) {
    static const char zeros[4096] = {};
    while (position < offset)
      write(zeros, std::min<uint64_t>(sizeof(zeros), offset - position));
  }
  uint64_t tell() const { return position; }

  /// What is to come, where that is known.
  virtual void reserve(uint64_t bytes) {}

  /// Overwrites the beginning; then all bytes are on their way.
  template <typename Header>
  LogicalResult finish(const Header &header, std::string &error) {
    return finishWith(ArrayRef(reinterpret_cast<const char *>(&header), sizeof(header)), error);
  }

private:
  virtual void append(const void *data, size_t size) = 0;
  virtual LogicalResult finishWith(ArrayRef<char> header, std::string &error) = 0;

  uint64_t position = 0;
};

class OutputMemory final : public Output {
public:
  explicit OutputMemory(ModuleBytes &bytes) : bytes(bytes) {}

  void reserve(uint64_t count) override { bytes.reserve(tell() + count); }

private:
  void append(const void *data, size_t size) override { bytes.append(data, size); }
  LogicalResult finishWith(ArrayRef<char> header, std::string &) override {
    bytes.overwrite(0, header.data(), header.size());
    return success();
  }

  ModuleBytes &bytes;
};

/// A file that appears under its name only when it is whole.
class OutputFile final : public Output {
public:
  OutputFile(StringRef path) : path(path) {}
  ~OutputFile() override {
    if (stream) {
      stream->flush();
      stream->clear_error(); // reported, or of bytes that nobody wants
      llvm::sys::DontRemoveFileOnSignal(file.temporaryName());
    }
  }

  LogicalResult open(std::string &error) {
    if (int number = file.open(path)) {
      error = "cannot create '" + path + "': " + describe(number);
      return failure();
    }
    // An interrupt removes what is half-written.
    llvm::sys::RemoveFileOnSignal(file.temporaryName());
    stream = std::make_unique<llvm::raw_fd_ostream>(file.descriptor(), /*shouldClose=*/false);
    return success();
  }

  PartialFile &partial() { return file; }

private:
  void append(const void *data, size_t size) override { stream->write(static_cast<const char *>(data), size); }

  LogicalResult finishWith(ArrayRef<char> header, std::string &error) override {
    stream->pwrite(header.data(), header.size(), 0);
    stream->flush();
    if (!stream->has_error())
      return success();
    error = "cannot write '" + path + "': " + stream->error().message();
    return failure();
  }

  static std::string describe(int number) { return std::error_code(number, std::generic_category()).message(); }

  std::string path;
  PartialFile file;
  std::unique_ptr<llvm::raw_fd_ostream> stream;
};

/// `unknownSize` gives the number of a symbol for the dimension of a sequence's tensors in which they differ.
std::unique_ptr<format::ValueTypeT> encodeType(Type type, ArrayAttr symbols,
                                               llvm::function_ref<int64_t(size_t)> unknownSize = nullptr) {
  auto result = std::make_unique<format::ValueTypeT>();
  if (auto optional = dyn_cast<OptionalType>(type)) {
    result = encodeType(optional.getValueType(), symbols, unknownSize);
    result->kind =
        isa<SequenceType>(optional.getValueType()) ? format::ValueKind::OptionalSequence : format::ValueKind::Optional;
    return result;
  }
  TensorType tensor;
  if (auto sequence = dyn_cast<SequenceType>(type)) {
    result->kind = format::ValueKind::Sequence;
    tensor = sequence.getElementType();
  } else {
    tensor = cast<TensorType>(type);
  }
  result->element_type = getElementType(tensor.getElementType());
  auto ranked = dyn_cast<RankedTensorType>(tensor);
  result->ranked = ranked != nullptr;
  if (ranked)
    for (auto [index, dim] : llvm::enumerate(getDims(ranked))) {
      auto expr = std::make_unique<format::ExprT>(encodeExpr(dim, symbols));
      if (!dim)
        expr->nodes.emplace_back(format::ExprOp::Symbol, 0, 0, unknownSize(index));
      result->dims.push_back(std::move(expr));
    }
  return result;
}

class Writer {
public:
  Writer(StringRef path, ArrayRef<TargetContents> targets, const ModuleWriterOptions &options, std::string &error)
      : path(path), targets(targets), options(options), error(error) {}

  /// Collects what the metadata says of all but the weights; then one of the functions below.
  void collect() {
    root.producer = "vx " VX_VERSION_STRING;
    root.name = options.modelName;
    ModuleOp first = targets.front().schedules.back().module;
    dropForeignSymbols(first);
    collectInstanceSymbols(first);
    collectVariables(first);
    collectFunctions(first);
    collectTraining(first);
    for (const TargetContents &target : targets)
      collectTarget(target);
    for (auto &[node, what] : shared.faultSites) {
      auto site = std::make_unique<format::FaultSiteT>();
      site->node = node;
      site->what = what;
      root.fault_sites.push_back(std::move(site));
    }
    root.source_nodes = shared.sourceNodes;
    if (auto strings = first->getAttrOfType<ArrayAttr>(kStringsAttr))
      for (StringRef text : strings.getAsValueRange<StringAttr>())
        root.strings.push_back(text.str());
    root.host_functions = std::move(shared.hostFunctions);
  }

  LogicalResult writeBytes(ModuleBytes &bytes) {
    OutputMemory memory(bytes);
    if (succeeded(writeAll(memory, nullptr)) && (!options.confirm || options.confirm(error)))
      return success();
    bytes = ModuleBytes();
    return failure();
  }

  LogicalResult writeFiles() {
    removeLeftoverFiles(path);
    OutputFile file(path);
    if (failed(file.open(error)))
      return failure();
    std::unique_ptr<OutputFile> weightsFile;
    if (options.externalWeights && !shared.constants.empty()) {
      weightsFile = std::make_unique<OutputFile>(getWeightsPath(path));
      if (failed(weightsFile->open(error)))
        return failure();
    }
    if (failed(writeAll(file, weightsFile.get())) || failed(verify(file, weightsFile.get())))
      return failure();
    if (options.confirm && !options.confirm(error))
      return failure();
    // The weights first. Between the two names the old module stands beside new weights, which it refuses.
    SmallVector<PartialFile *, 2> files;
    if (weightsFile)
      files.push_back(&weightsFile->partial());
    files.push_back(&file.partial());
    return success(PartialFile::commitAll(files, error));
  }

private:
  static std::unique_ptr<format::SymbolT> encodeSymbol(SymbolOp declaration) {
    auto symbol = std::make_unique<format::SymbolT>();
    symbol->name = declaration.getName().str();
    symbol->min = declaration.getMin();
    symbol->max = declaration.getMax();
    symbol->multiple = declaration.getMultiple();
    symbol->data_dependent = declaration.getDataDependent();
    return symbol;
  }

  void collectInstanceSymbols(ModuleOp module) {
    SmallVector<Attribute> names;
    for (auto declaration : module.getOps<SymbolOp>())
      if (declaration.getInstance()) {
        names.push_back(declaration.getNameAttr());
        root.symbols.push_back(encodeSymbol(declaration));
      }
    instanceSymbols = ArrayAttr::get(module.getContext(), names);
  }

  void collectVariables(ModuleOp module) {
    static_assert(kVariableAlignment == VX_BUFFER_ALIGNMENT);
    llvm::DenseMap<StringAttr, uint32_t> storages;
    for (auto variable : module.getOps<VariableOp>())
      if (!variable.getPool())
        storages[variable.getSymNameAttr()] = addStorage(cast<RankedTensorType>(variable.getType()));
    for (auto variable : module.getOps<VariableOp>()) {
      auto type = cast<RankedTensorType>(variable.getType());
      auto entry = std::make_unique<format::VariableT>();
      entry->name = variable.getSymName().str();
      entry->element_type = getElementType(type.getElementType());
      entry->role = static_cast<format::Role>(variable.getRole());
      entry->source = variable.getSource().value_or("").str();
      for (DimAttr dim : getDims(type))
        entry->dims.push_back(std::make_unique<format::ExprT>(encodeExpr(dim, instanceSymbols)));
      VariablePlace place = getPlace(variable);
      entry->storage = storages.lookup(place.storage);
      if (place.offset > 0)
        entry->offset = std::make_unique<format::ExprT>(
            encodeExpr(DimAttr::constant(module.getContext(), place.offset), instanceSymbols));
      if (ElementsAttr initial = variable.getInitialAttr()) {
        entry->init = std::make_unique<format::InitT>();
        entry->init->kind = format::InitKind::Constant;
        entry->init->constant = shared.getConstant(initial);
      }
      if (InitAttr init = variable.getInitAttr()) {
        entry->init = std::make_unique<format::InitT>();
        entry->init->kind = static_cast<format::InitKind>(init.getKind());
        entry->init->a = init.getA().getValueAsDouble();
        entry->init->b = init.getB().getValueAsDouble();
      }
      shared.variables[variable.getSymName()] = static_cast<uint32_t>(root.variables.size());
      root.variables.push_back(std::move(entry));
    }
  }

  /// The number of a new storage as large as a tensor.
  uint32_t addStorage(RankedTensorType type) {
    MLIRContext *context = type.getContext();
    DimAttr bits = DimAttr::constant(context, vxrt::getStorageBits(type.getElementType()));
    for (DimAttr dim : getDims(type))
      bits = bits * dim;
    root.storages.push_back(std::make_unique<format::StorageT>());
    root.storages.back()->size = std::make_unique<format::ExprT>(
        encodeExpr(DimAttr::ceilDiv(bits, DimAttr::constant(context, 8)), instanceSymbols));
    return static_cast<uint32_t>(root.storages.size() - 1);
  }

  static uint64_t getSize(ShapedType type) {
    return (type.getNumElements() * vxrt::getStorageBits(type.getElementType()) + 7) / 8;
  }

  static bool isDerived(vxrt::ProgramOp program) { return program->hasAttr(vxrt::kDerivedAttr); }

  /// The programs of the model's functions, in order.
  static auto getFunctions(ModuleOp module) {
    return llvm::make_filter_range(module.getOps<vxrt::ProgramOp>(),
                                   [](vxrt::ProgramOp program) { return !isDerived(program); });
  }

  static auto getConstraints(vxrt::ProgramOp program) {
    auto constraints = program->getAttrOfType<ArrayAttr>(vxrt::kConstraintsAttr);
    if (!constraints)
      constraints = ArrayAttr::get(program.getContext(), {});
    return constraints.getAsRange<DictionaryAttr>();
  }

  static void collectSymbols(Type type, llvm::SetVector<StringAttr> &symbols) {
    if (auto optional = dyn_cast<OptionalType>(type))
      type = optional.getValueType();
    if (auto sequence = dyn_cast<SequenceType>(type))
      type = sequence.getElementType();
    if (auto ranked = dyn_cast<RankedTensorType>(type))
      for (DimAttr dim : getDims(ranked))
        if (dim) // null: tensors of a sequence differ in this size
          dim.collectSymbols(symbols);
  }

  /// The programs of function number `number`, of all targets and sizes.
  SmallVector<vxrt::ProgramOp> getVersions(size_t number) {
    SmallVector<vxrt::ProgramOp> versions;
    for (const TargetContents &target : targets)
      for (const ScheduledModule &schedule : target.schedules)
        versions.push_back(*std::next(getFunctions(schedule.module).begin(), static_cast<ptrdiff_t>(number)));
    return versions;
  }

  /// What a caller is told holds for all programs of the function.
  void encodeAliases(vxrt::ProgramOp program, size_t number, format::FunctionT &function) {
    for (vxrt::AliasPair pair : vxrt::getAliases(program))
      if (llvm::all_of(getVersions(number),
                       [&](vxrt::ProgramOp version) { return llvm::is_contained(vxrt::getAliases(version), pair); }))
        function.aliases.emplace_back(static_cast<uint32_t>(pair.input), static_cast<uint32_t>(pair.result));
  }

  /// A module's functions share its symbols, but a caller of one function binds only those of its own inputs. The
  /// versions of a function for some sizes keep the same ones as `general`, where none is fixed.
  void dropForeignSymbols(ModuleOp general) {
    for (auto [number, function] : llvm::enumerate(getFunctions(general))) {
      llvm::SetVector<StringAttr> used;
      auto type = cast<FunctionType>(function->getAttrOfType<TypeAttr>(vxrt::kFunctionTypeAttr).getValue());
      for (Type part : llvm::concat<const Type>(type.getInputs(), type.getResults()))
        collectSymbols(part, used);
      SmallVector<vxrt::ProgramOp> versions = getVersions(number);
      for (DictionaryAttr constraint : getConstraints(function))
        for (StringRef side : {"lhs", "rhs"})
          constraint.getAs<DimAttr>(side).collectSymbols(used);
      for (vxrt::ProgramOp version : versions) {
        if (auto bound = version->getAttrOfType<DimAttr>(vxrt::kArenaLowerBoundAttr))
          bound.collectSymbols(used);
        for (auto [argument, name] : llvm::zip(version.getBody().getArguments(), version.getSymbols()))
          if (!argument.use_empty())
            used.insert(cast<StringAttr>(name));
        for (auto read : version.getBody().front().getOps<vxrt::ReadInputOp>())
          if (read.getSymbol())
            used.insert(read.getSymbolAttr());
      }
      for (vxrt::ProgramOp version : versions) {
        ArrayRef<Attribute> symbols = version.getSymbols().getValue();
        llvm::BitVector foreign(version.getBody().getNumArguments());
        SmallVector<Attribute> own;
        for (auto [index, name] : llvm::enumerate(symbols)) {
          if (used.contains(cast<StringAttr>(name)))
            own.push_back(name);
          else
            foreign.set(index);
        }
        version.getBody().front().eraseArguments(foreign);
        version.setSymbolsAttr(ArrayAttr::get(version.getContext(), own));
      }
    }
  }

  std::unique_ptr<format::PredicateT> encodeConstraint(DictionaryAttr constraint, ArrayAttr symbols) {
    auto predicate = std::make_unique<format::PredicateT>();
    predicate->kind = static_cast<format::PredicateKind>(constraint.getAs<IntegerAttr>("kind").getInt());
    predicate->lhs = std::make_unique<format::ExprT>(encodeExpr(constraint.getAs<DimAttr>("lhs"), symbols));
    predicate->rhs = std::make_unique<format::ExprT>(encodeExpr(constraint.getAs<DimAttr>("rhs"), symbols));
    predicate->site =
        shared.getFaultSites({constraint.getAs<StringAttr>("node").str()}, constraint.getAs<StringAttr>("want"));
    return predicate;
  }

  void collectFunctions(ModuleOp module) {
    for (auto [number, program] : llvm::enumerate(getFunctions(module))) {
      auto function = std::make_unique<format::FunctionT>();
      function->name = program.getSymName().str();
      for (auto declaration : module.getOps<SymbolOp>()) {
        if (!llvm::is_contained(program.getSymbols(), declaration.getNameAttr()))
          continue;
        std::unique_ptr<format::SymbolT> symbol = encodeSymbol(declaration);
        if (declaration.getInstance())
          symbol->instance =
              static_cast<int32_t>(llvm::find(instanceSymbols, declaration.getNameAttr()) - instanceSymbols.begin());
        function->symbols.push_back(std::move(symbol));
      }
      auto type = cast<FunctionType>(program->getAttrOfType<TypeAttr>(vxrt::kFunctionTypeAttr).getValue());
      auto encodeAll = [&](TypeRange types, StringRef names, auto &list) {
        for (auto [argumentType, name] : llvm::zip(types, program->getAttrOfType<ArrayAttr>(names))) {
          auto argument = std::make_unique<format::ArgumentT>();
          argument->name = cast<StringAttr>(name).str();
          argument->type = encodeType(argumentType, program.getSymbols(), [&](size_t dim) {
            return addUnknownSize(*function, argument->name + ".shape[" + std::to_string(dim) + "]");
          });
          list.push_back(std::move(argument));
        }
      };
      encodeAll(type.getInputs(), vxrt::kInputNamesAttr, function->inputs);
      encodeAll(type.getResults(), vxrt::kResultNamesAttr, function->outputs);
      for (auto constraint : getConstraints(program))
        function->constraints.push_back(encodeConstraint(constraint, program.getSymbols()));
      if (auto ranges = program->getAttrOfType<ArrayAttr>(kInputRangesAttr))
        for (auto [argument, range] : llvm::zip(function->inputs, ranges))
          argument->range = encodeRange(dyn_cast<DictionaryAttr>(range), program, *function);
      encodeAliases(program, number, *function);
      if (auto batch = program->getAttrOfType<DictionaryAttr>(kBatchAttr))
        encodeBatch(batch, *function);
      root.functions.push_back(std::move(function));
    }
  }

  static void encodeBatch(DictionaryAttr batch, format::FunctionT &function) {
    auto entry = std::make_unique<format::BatchT>();
    StringRef rows = batch.getAs<StringAttr>("symbol");
    auto symbol = llvm::find_if(function.symbols, [&](const auto &known) { return StringRef(known->name) == rows; });
    entry->symbol = static_cast<uint32_t>(symbol - function.symbols.begin());
    for (int64_t input : batch.getAs<DenseI64ArrayAttr>("inputs").asArrayRef())
      entry->inputs.push_back(static_cast<uint32_t>(input));
    function.batch = std::move(entry);
    for (auto [argument, known] :
         llvm::zip(function.outputs, batch.getAs<ArrayAttr>("outputs").getAsValueRange<StringAttr>()))
      if (known == kRowsText)
        argument->rows = 0;
      else if (known == kSameText)
        argument->same = true;
      else
        argument->reason = known.str();
  }

  /// The module says it by names, the file by numbers.
  void collectTraining(ModuleOp module) {
    auto training = module->getAttrOfType<TrainingAttr>(kTrainingAttr);
    if (!training)
      return;
    auto &entry = root.training = std::make_unique<format::TrainingT>();
    auto find = [](const auto &list, StringRef name) {
      return static_cast<uint32_t>(
          llvm::find_if(list, [&](const auto &known) { return StringRef(known->name) == name; }) - list.begin());
    };
    for (auto [number, name] :
         {std::pair(&entry->train_step, training.getTrainStep()), std::pair(&entry->evaluate, training.getEvaluate()),
          std::pair(&entry->predict, training.getPredict()), std::pair(&entry->backward, training.getBackward()),
          std::pair(&entry->step, training.getStep())})
      if (name)
        *number = static_cast<int32_t>(find(root.functions, name.getValue()));
    if (training.getOptimizer())
      entry->optimizer = training.getOptimizer().str();
    if (training.getLoss())
      entry->loss = training.getLoss().str();
    if (training.getRate())
      entry->rate = training.getRate().getValueAsDouble();
    if (entry->train_step < 0)
      return;
    const format::FunctionT &step = *root.functions[static_cast<size_t>(entry->train_step)];
    if (training.getInputs())
      for (auto name : training.getInputs().getAsValueRange<StringAttr>())
        entry->inputs.push_back(find(step.inputs, name));
    if (training.getHypers())
      for (NamedAttribute hyper : training.getHypers())
        entry->hypers.emplace_back(static_cast<format::HyperKind>(*symbolizeHyperKind(hyper.getName())),
                                   find(step.inputs, cast<StringAttr>(hyper.getValue()).getValue()));
    if (training.getMetrics())
      for (auto name : training.getMetrics().getAsValueRange<StringAttr>())
        entry->metrics.push_back(find(step.outputs, name));
    if (training.getCounts())
      for (auto name : training.getCounts().getAsValueRange<StringAttr>())
        entry->counts.push_back(name.empty() ? -1 : static_cast<int32_t>(find(step.outputs, name)));
  }

  /// A size that no call binds, behind the symbols that programs know. Returns its number.
  static int64_t addUnknownSize(format::FunctionT &function, std::string name) {
    auto isTaken = [&] {
      return llvm::any_of(function.symbols, [&](const auto &symbol) { return symbol->name == name; });
    };
    while (isTaken())
      name += '_';
    auto symbol = std::make_unique<format::SymbolT>();
    symbol->name = name;
    symbol->data_dependent = true;
    function.symbols.push_back(std::move(symbol));
    return static_cast<int64_t>(function.symbols.size()) - 1;
  }

  static std::unique_ptr<format::ValueRangeT> encodeRange(DictionaryAttr range, vxrt::ProgramOp program,
                                                          const format::FunctionT &function) {
    if (!range)
      return nullptr;
    auto entry = std::make_unique<format::ValueRangeT>();
    auto upper = range.getAs<DimAttr>("upper");
    llvm::SetVector<StringAttr> symbols;
    if (upper)
      upper.collectSymbols(symbols);
    // What a caller cannot know before the call is no end of a range.
    bool isKnown = upper && llvm::all_of(symbols, [&](StringAttr name) {
                     return llvm::any_of(function.symbols, [&](const std::unique_ptr<format::SymbolT> &symbol) {
                       return symbol->name == name.getValue() && !symbol->data_dependent;
                     });
                   });
    if (isKnown) {
      entry->lower = range.getAs<IntegerAttr>("lower").getInt();
      entry->upper = std::make_unique<format::ExprT>(encodeExpr(upper, program.getSymbols()));
      if (auto also = range.getAs<IntegerAttr>("also"))
        entry->also = also.getInt();
    }
    return entry;
  }

  /// What only reports read: it is left out rather than make a module that a runtime refuses.
  static std::unique_ptr<format::ExprT> encodeWork(DimAttr work, KernelOp kernel) {
    auto expr = std::make_unique<format::ExprT>(encodeExpr(work, kernel.getSymbols()));
    return expr->nodes.size() <= VX_MAX_EXPRESSION_NODES ? std::move(expr) : nullptr;
  }

  static std::unique_ptr<format::BufferTypeT> encodeBufferType(Type type, KernelOp kernel) {
    auto tensor = cast<RankedTensorType>(type);
    auto entry = std::make_unique<format::BufferTypeT>();
    entry->element_type = getElementType(tensor.getElementType());
    for (DimAttr dim : getDims(tensor))
      entry->dims.push_back(std::make_unique<format::ExprT>(encodeExpr(dim, kernel.getSymbols())));
    return entry;
  }

  std::unique_ptr<format::KernelT> encodeKernel(KernelOp kernel) {
    auto entry = std::make_unique<format::KernelT>();
    entry->name = kernel.getSymName().str();
    entry->key = kernel.getKey().str();
    entry->sources = {};
    for (std::string &node : getSourceNodes(kernel.getLoc()))
      entry->sources.push_back(std::move(node));
    entry->strategy = describeStrategy(kernel.getStrategy());
    Block &body = kernel.getBody().front();
    for (Type type : body.getArgumentTypes()) {
      entry->buffers.push_back(format::Access::Read);
      entry->buffer_types.push_back(encodeBufferType(type, kernel));
    }
    for (Type type : body.getTerminator()->getOperandTypes()) {
      entry->buffers.push_back(format::Access::Write);
      entry->buffer_types.push_back(encodeBufferType(type, kernel));
    }
    entry->workgroups = encodeWork(kernel.getWorkgroups(), kernel);
    KernelWork work = countWork(kernel);
    entry->flops = encodeWork(work.flops, kernel);
    entry->bytes = encodeWork(work.bytes, kernel);
    entry->scalar_count = kernel.getSymbols().size();
    entry->workgroup_size = {static_cast<uint32_t>(kernel.getStrategy().getThreads()), 1, 1};
    return entry;
  }

  void collectTarget(const TargetContents &contents) {
    auto target = std::make_unique<format::TargetT>();
    target->name = contents.target;
    target->triple = contents.triple;
    TargetTables numbers;
    for (KernelOp kernel : contents.kernels) {
      numbers.kernels[kernel.getKey()] = static_cast<uint32_t>(target->kernels.size());
      target->kernels.push_back(encodeKernel(kernel));
    }
    for (const TargetContents::Variant &variant : contents.variants) {
      auto entry = std::make_unique<format::VariantT>();
      entry->name = variant.spec.variant;
      entry->requires_ = variant.spec.requires_;
      entry->entries = variant.entries;
      entry->offsets = variant.image.offsets;
      entry->section = addSection(format::SectionKind::Code);
      codeSections.push_back({entry->section, &variant.image.bytes});
      target->variants.push_back(std::move(entry));
    }
    for (const ScheduledModule &schedule : contents.schedules) {
      collectDerived(schedule.module, numbers, *target);
      for (auto [function, program] : llvm::enumerate(getFunctions(schedule.module))) {
        auto entry = std::make_unique<format::EntryT>();
        entry->function = static_cast<uint32_t>(function);
        entry->program = addProgram(program, schedule.module, numbers);
        // A call begins with a register for each symbol, also for those that the program does not know.
        uint32_t &registers = root.programs[entry->program]->i64_registers;
        registers = std::max(registers, static_cast<uint32_t>(root.functions[function]->symbols.size()));
        for (auto &[name, value] : schedule.constraints)
          for (auto [index, symbol] : llvm::enumerate(root.functions[function]->symbols))
            if (symbol->name == name)
              entry->constraints.push_back(makeConstraint(static_cast<uint32_t>(index), value));
        target->entries.push_back(std::move(entry));
      }
    }
    root.targets.push_back(std::move(target));
  }

  /// Those that no schedule before has had. Each reads only what stands before it.
  void collectDerived(ModuleOp module, TargetTables &numbers, format::TargetT &target) {
    for (auto program : module.getOps<vxrt::ProgramOp>()) {
      if (!isDerived(program))
        continue;
      auto key = program->getAttrOfType<StringAttr>(vxrt::kDerivedAttr);
      if (!numbers.derived.try_emplace(key, static_cast<uint32_t>(target.derived.size())).second)
        continue;
      auto entry = std::make_unique<format::DerivedT>();
      entry->name = program.getSymName().str();
      entry->program = addProgram(program, module, numbers);
      auto type = cast<FunctionType>(program->getAttrOfType<TypeAttr>(vxrt::kFunctionTypeAttr).getValue());
      entry->type = encodeType(type.getResult(0), program.getSymbols());
      target.derived.push_back(std::move(entry));
    }
  }

  static std::unique_ptr<format::ConstraintT> makeConstraint(uint32_t symbol, int64_t value) {
    auto constraint = std::make_unique<format::ConstraintT>();
    constraint->symbol = symbol;
    constraint->min = constraint->max = value;
    return constraint;
  }

  /// Equal programs are stored once: their serialised bytes are the key.
  uint32_t addProgram(vxrt::ProgramOp source, ModuleOp module, const TargetTables &numbers) {
    auto program = std::make_unique<format::ProgramT>(encodeProgram(source, module, numbers, shared));
    if (std::optional<format::ExprT> arena = encodeArenaSize(source))
      program->arena_size = std::make_unique<format::ExprT>(std::move(*arena));
    if (auto bound = source->getAttrOfType<DimAttr>(vxrt::kArenaLowerBoundAttr))
      program->arena_lower_bound = std::make_unique<format::ExprT>(encodeExpr(bound, source.getSymbols()));
    flatbuffers::FlatBufferBuilder builder;
    builder.Finish(format::CreateProgram(builder, program.get()));
    StringRef bytes(reinterpret_cast<const char *>(builder.GetBufferPointer()), builder.GetSize());
    auto [it, isNew] = programNumbers.try_emplace(bytes, static_cast<uint32_t>(root.programs.size()));
    if (isNew)
      root.programs.push_back(std::move(program));
    return it->second;
  }

  uint32_t addSection(format::SectionKind kind) {
    auto section = std::make_unique<format::SectionT>();
    section->kind = kind;
    root.sections.push_back(std::move(section));
    return static_cast<uint32_t>(root.sections.size() - 1);
  }

  /// The file of the model that has all bytes of the constant, with their offset there. Null if none has.
  const ReferencedFile *findFile(ElementsAttr value, uint64_t &offset) const {
    auto resource = dyn_cast<DenseResourceElementsAttr>(value);
    if (!resource)
      return nullptr;
    ArrayRef<char> bytes = resource.getRawHandle().getBlob()->getData();
    for (const ReferencedFile &file : options.referencedFiles)
      if (!bytes.empty() && bytes.begin() >= file.bytes.begin() && bytes.end() <= file.bytes.end()) {
        offset = bytes.begin() - file.bytes.begin();
        return &file;
      }
    return nullptr;
  }

  /// Completes the sections of the model's files.
  void finishReferences() {
    for (auto [file, number] : fileSections) {
      format::SectionT &section = *root.sections[number];
      const std::span bytes(reinterpret_cast<const uint8_t *>(file->bytes.data()), file->bytes.size());
      std::vector<vx_file_range> constants; // each once; the table has them again under further names
      llvm::SmallSet<std::pair<uint64_t, uint64_t>, 16> known;
      for (const auto &constant : root.constants)
        if (constant->section == number && known.insert({constant->offset, constant->size}).second)
          constants.push_back({constant->offset, constant->size});
      section.external_file = llvm::sys::path::filename(file->path).str();
      section.size = bytes.size();
      section.hash = vx_hash64(bytes.data(), bytes.size());
      section.reference = std::make_unique<format::ReferenceT>();
      section.reference->samples = vx_hash64_samples(bytes.data(), bytes.size(), constants.data(), constants.size());
    }
  }

  /// Writes all constants that no file of the model has, in sequence, and the table of all.
  void writeWeights(Output &file, uint32_t section) {
    uint64_t begin = file.tell(), total = 0;
    for (auto &[value, known] : shared.constants) {
      auto constant = std::make_unique<format::ConstantT>();
      auto resource = dyn_cast<DenseResourceElementsAttr>(value);
      constant->name = !known.names.empty() ? known.names.front().str()
                       : resource           ? resource.getRawHandle().getKey().str()
                                            : "constant_" + std::to_string(known.number);
      constant->size = getSize(cast<ShapedType>(value.getType()));
      constant->type = encodeType(value.getType(), {});
      if (const ReferencedFile *source = findFile(value, constant->offset)) {
        auto [place, isNew] = fileSections.insert({source, 0});
        if (isNew)
          place->second = addSection(format::SectionKind::Weights);
        constant->section = place->second;
      } else {
        constant->section = section;
        constant->offset = alignTo(total, VX_BUFFER_ALIGNMENT);
        total = constant->offset + constant->size;
      }
      root.constants.push_back(std::move(constant));
    }
    // The same bytes under each further name: no program reads these entries, who looks for a name does.
    for (auto &[value, known] : shared.constants)
      for (StringAttr name : known.names.getArrayRef().drop_front(known.names.empty() ? 0 : 1)) {
        auto alias = std::make_unique<format::ConstantT>(*root.constants[known.number]);
        alias->name = name.str();
        root.constants.push_back(std::move(alias));
      }
    finishReferences();
    file.reserve(total + codeBytes());
    StreamingHash hash(total);
    for (auto &[value, known] : shared.constants) {
      const format::ConstantT &constant = *root.constants[known.number];
      if (constant.section != section)
        continue;
      hash.appendZeros(begin + constant.offset - file.tell());
      file.padTo(begin + constant.offset);
      emitBytes(value, [&](ArrayRef<char> bytes) {
        file.write(bytes.data(), bytes.size());
        hash.append(bytes);
      });
    }
    format::SectionT &entry = *root.sections[section];
    entry.offset = begin;
    entry.size = total;
    entry.hash = hash.finish();
  }

  /// An asset in a section of its own; `emit` gives a function its bytes, piece by piece.
  void writeAsset(Output &file, StringRef name, StringRef kind, uint64_t size,
                  llvm::function_ref<void(llvm::function_ref<void(StringRef)>)> emit) {
    uint32_t number = addSection(format::SectionKind::Assets);
    file.padTo(alignTo(file.tell(), VX_SECTION_ALIGNMENT));
    format::SectionT &section = *root.sections[number];
    section.offset = file.tell();
    section.size = size;
    StreamingHash hash(section.size);
    emit([&](StringRef bytes) {
      file.write(bytes.data(), bytes.size());
      hash.append(ArrayRef(bytes.data(), bytes.size()));
    });
    section.hash = hash.finish();
    auto asset = std::make_unique<format::AssetT>();
    asset->name = name.str();
    asset->kind = kind.str();
    asset->section = number;
    asset->size = section.size;
    root.assets.push_back(std::move(asset));
  }

  /// With room for metadata.
  uint64_t codeBytes() const {
    uint64_t bytes = uint64_t(1) << 20;
    for (auto &[section, code] : codeSections)
      bytes += code->size() + VX_SECTION_ALIGNMENT;
    for (const ModuleAsset &asset : options.assets)
      bytes += asset.bytes.size() + VX_SECTION_ALIGNMENT;
    return bytes + skeleton.getSize();
  }

  /// All bytes of the module; the weights to `weightsFile` where it is not null.
  LogicalResult writeAll(Output &file, OutputFile *weightsFile) {
    const bool hasSkeleton = options.skeleton && root.training;
    if (hasSkeleton)
      skeleton.encode(*options.skeleton, shared);
    file.padTo(sizeof(vx_module_header));
    if (!shared.constants.empty()) {
      uint32_t section = addSection(format::SectionKind::Weights);
      if (weightsFile) {
        root.sections[section]->external_file = llvm::sys::path::filename(getWeightsPath(path)).str();
        weightsFile->padTo(VX_SECTION_ALIGNMENT);
        writeWeights(*weightsFile, section);
        if (failed(weightsFile->finish(makeWeightsHeader(*root.sections[section], weightsFile->tell()), error)))
          return failure();
      } else {
        file.padTo(VX_SECTION_ALIGNMENT);
        writeWeights(file, section);
      }
    }
    for (auto [section, bytes] : codeSections) {
      file.padTo(alignTo(file.tell(), VX_SECTION_ALIGNMENT));
      format::SectionT &entry = *root.sections[section];
      entry.offset = file.tell();
      entry.size = bytes->size();
      entry.hash = vx_hash64(bytes->data(), bytes->size());
      file.write(bytes->data(), bytes->size());
    }
    for (const ModuleAsset &asset : options.assets)
      writeAsset(file, asset.name, asset.kind, asset.bytes.size(), [&](auto sink) { sink(asset.bytes); });
    if (hasSkeleton) { // what an export completes
      root.training->skeleton = static_cast<int32_t>(root.assets.size());
      writeAsset(file, "model.onnx", VX_SKELETON_KIND, skeleton.getSize(), [&](auto sink) { skeleton.emit(sink); });
    }
    file.padTo(alignTo(file.tell(), 64));
    flatbuffers::FlatBufferBuilder builder;
    format::FinishModuleBuffer(builder, format::CreateModule(builder, &root));
    vx_module_header header = {};
    memcpy(header.magic, VX_MODULE_MAGIC, sizeof(header.magic));
    header.abi_major = VX_MODULE_ABI_MAJOR;
    header.abi_minor = VX_MODULE_ABI_MINOR;
    header.metadata_offset = file.tell();
    header.metadata_size = builder.GetSize();
    header.metadata_hash = vx_hash64(builder.GetBufferPointer(), builder.GetSize());
    file.write(builder.GetBufferPointer(), builder.GetSize());
    header.file_size = file.tell();
    return file.finish(header, error);
  }

  /// Shows the module to the loader that will read it. With weights beside it, both stand for that under their names in
  /// a folder of links: until they are verified they have no names of their own.
  LogicalResult verify(OutputFile &file, OutputFile *weightsFile) {
    if (!options.verify)
      return success();
    std::string modulePath = file.partial().temporaryName(), reason;
    std::optional<TemporaryFolder> folder;
    if (weightsFile) {
      folder.emplace("vx-verify", reason);
      modulePath = folder->path() + "/" + llvm::sys::path::filename(path).str();
      std::pair<std::string, std::string> links[] = {
          {file.partial().temporaryName(), modulePath},
          {weightsFile->partial().temporaryName(),
           folder->path() + "/" + llvm::sys::path::filename(getWeightsPath(path)).str()}};
      for (auto &[target, link] : links) {
        llvm::SmallString<128> absolute(target);
        std::error_code code = llvm::sys::fs::make_absolute(absolute);
        if (!code && !folder->path().empty())
          code = llvm::sys::fs::create_link(absolute, link);
        if (code || folder->path().empty()) {
          error = "cannot make a temporary folder " + (code ? "'" + link + "': " + code.message() : reason);
          return failure();
        }
      }
    }
    reason = options.verify(modulePath);
    if (reason.empty())
      return success();
    error = "no runtime would load '" + path + "': " + reason;
    return failure();
  }

  static vx_weights_header makeWeightsHeader(const format::SectionT &section, uint64_t fileSize) {
    vx_weights_header header = {};
    memcpy(header.magic, VX_WEIGHTS_MAGIC, sizeof(header.magic));
    header.abi_major = VX_MODULE_ABI_MAJOR;
    header.abi_minor = VX_MODULE_ABI_MINOR;
    header.file_size = fileSize;
    header.data_offset = section.offset;
    header.data_size = section.size;
    header.data_hash = section.hash;
    return header;
  }

  std::string path;
  ArrayRef<TargetContents> targets;
  const ModuleWriterOptions &options;
  std::string &error;
  format::ModuleT root;
  SharedTables shared;
  SkeletonEncoder skeleton;
  ArrayAttr instanceSymbols; // names, in the order of the module's table
  llvm::StringMap<uint32_t> programNumbers;
  std::vector<std::pair<uint32_t, const std::vector<char> *>> codeSections;
  llvm::MapVector<const ReferencedFile *, uint32_t> fileSections;
};

} // namespace

std::string getWeightsPath(StringRef modulePath) {
  llvm::SmallString<128> name(modulePath);
  llvm::sys::path::replace_extension(name, ".weights");
  return name.str().str();
}

LogicalResult writeModule(StringRef path, ArrayRef<TargetContents> targets, const ModuleWriterOptions &options,
                          std::string &error) {
  Writer writer(path, targets, options, error);
  writer.collect();
  return writer.writeFiles();
}

LogicalResult writeModule(ModuleBytes &bytes, ArrayRef<TargetContents> targets, const ModuleWriterOptions &options,
                          std::string &error) {
  assert(!options.externalWeights && options.referencedFiles.empty() && !options.verify && "for files");
  Writer writer("", targets, options, error);
  writer.collect();
  return writer.writeBytes(bytes);
}

void ModuleBytes::append(const void *bytes, size_t count) {
  size_t offset = used;
  used += count;
  pages.resize((used + pageSize - 1) / pageSize);
  overwrite(offset, bytes, count);
}

void ModuleBytes::overwrite(size_t offset, const void *bytes, size_t count) {
  if (count > 0)
    memcpy(reinterpret_cast<char *>(pages.data()) + offset, bytes, count);
}

} // namespace vx
