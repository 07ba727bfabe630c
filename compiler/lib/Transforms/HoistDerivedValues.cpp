// Moves dispatches that read constants and weights alone into functions of their own, which run once at load, or once
// for each value of the variables that they read.

#include "vx/Analysis/DerivableVariables.h"
#include "vx/Dialect/VX/IR/VXDialect.h"
#include "vx/Transforms/FusionPasses.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Iterators.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SHA256.h"

#include <map>

using namespace mlir;

namespace vx {

#define GEN_PASS_DEF_HOISTDERIVEDVALUESPASS
#include "vx/Transforms/FusionPasses.h.inc"

uint64_t getStaticSizeInBytes(RankedTensorType type) {
  Type element = type.getElementType();
  uint64_t bits = element.isInteger(1) ? 8 : element.getIntOrFloatBitWidth();
  return (type.getNumElements() * bits + 7) / 8;
}

bool isWorthDeriving(RankedTensorType result, uint64_t inputBytes) {
  constexpr uint64_t alwaysKept = uint64_t(1) << 20;
  if (!result.hasStaticShape() || !result.getElementType().isIntOrFloat())
    return false;
  return getStaticSizeInBytes(result) <= std::max(alwaysKept, 2 * inputBytes);
}

namespace {

class Hoister {
public:
  explicit Hoister(ModuleOp module) : symbols(module) {}

  /// Hoists of the dispatches, producers before their readers, those whose results are worth being kept or go away at
  /// once.
  void hoist(ArrayRef<DispatchOp> dispatches) {
    for (DispatchOp dispatch : dispatches)
      if (std::optional<uint64_t> bytes = countBytesRead(dispatch))
        bytesRead[dispatch] = *bytes;
    dropUnworthy(dispatches);
    for (DispatchOp dispatch : dispatches)
      if (bytesRead.contains(dispatch))
        replaceByCall(dispatch);
  }

  /// What variables decide and only one other derived value reads is computed with that, in memory that nobody keeps.
  /// (What constants decide is freed when it has been read.)
  void joinChains(ModuleOp module) {
    llvm::DenseMap<StringAttr, SmallVector<func::CallOp>> calls;
    module.walk([&](func::CallOp call) { calls[call.getCalleeAttr().getAttr()].push_back(call); });
    for (func::FuncOp function : inOrder) {
      ArrayRef<func::CallOp> readers = calls[function.getSymNameAttr()];
      if (readers.size() != 1 || !readers.front()->getParentOfType<func::FuncOp>()->hasAttr(kDerivedAttr) ||
          !readsVariables(function))
        continue;
      func::CallOp call = readers.front();
      OpBuilder builder(call);
      IRMapping mapping;
      for (Operation &op : function.front().without_terminator())
        builder.clone(op, mapping);
      call.getResult(0).replaceAllUsesWith(mapping.lookup(function.front().getTerminator()->getOperand(0)));
      // The calls in the body have other places now.
      function.walk([&](func::CallOp old) {
        auto &places = calls[old.getCalleeAttr().getAttr()];
        *llvm::find(places, old) = mapping.lookup(old.getResult(0)).getDefiningOp<func::CallOp>();
      });
      call.erase();
      symbols.erase(function);
    }
  }

private:
  /// Of the constants and variables that decide the result: a value between may have fewer. None where something else
  /// decides it, too.
  std::optional<uint64_t> countBytesRead(DispatchOp dispatch) {
    const bool isStatic = llvm::all_of(dispatch.getSymbols().getAsRange<DimAttr>(),
                                       [](DimAttr dim) { return dim.getKind() == DimKind::Constant; });
    if (!isStatic || dispatch->getNumResults() != 1 || dispatch->hasAttr(kFaultSitesAttr))
      return std::nullopt;
    const DerivableVariables &variables = getVariables(dispatch->getParentOfType<func::FuncOp>());
    uint64_t bytes = 0;
    for (Value input : dispatch.getInputs()) {
      Operation *producer = getProducer(input);
      if (auto found = bytesRead.find(producer); found != bytesRead.end())
        bytes += found->second;
      else if (producer && (isa<ConstantOp>(producer) || variables.isLoad(producer)) &&
               cast<RankedTensorType>(producer->getResult(0).getType()).hasStaticShape())
        bytes += getStaticSizeInBytes(cast<RankedTensorType>(producer->getResult(0).getType()));
      else
        return std::nullopt;
    }
    return bytes;
  }

  /// Drops what is not worth it: the readers of such a dispatch stay, too, and its producers may be worth less then.
  void dropUnworthy(ArrayRef<DispatchOp> dispatches) {
    SmallVector<DispatchOp> left(dispatches);
    while (!left.empty()) {
      DispatchOp dispatch = left.pop_back_val();
      auto found = bytesRead.find(dispatch);
      if (found == bytesRead.end() || isWorthwhile(dispatch, found->second))
        continue;
      bytesRead.erase(found);
      for (DispatchOp reader : getReaders(dispatch))
        if (reader)
          left.push_back(reader);
      for (Value input : dispatch.getInputs())
        if (auto producer = dyn_cast_if_present<DispatchOp>(getProducer(input)))
          left.push_back(producer);
    }
  }

  bool isWorthwhile(DispatchOp dispatch, uint64_t inputBytes) {
    for (Value input : dispatch.getInputs())
      if (Operation *producer = getProducer(input); isa<DispatchOp>(producer) && !bytesRead.contains(producer))
        return false;
    const auto type = cast<RankedTensorType>(dispatch.getResult(0).getType());
    if (isWorthDeriving(type, inputBytes))
      return true;
    // Memory for a moment, at load: the integers that index a table, for example.
    constexpr uint64_t mostForAMoment = 8;
    const SmallVector<DispatchOp> readers = getReaders(dispatch);
    return type.hasStaticShape() && type.getElementType().isIntOrFloat() &&
           getStaticSizeInBytes(type) <= mostForAMoment * inputBytes && !readers.empty() &&
           llvm::all_of(readers, [&](DispatchOp reader) { return reader && bytesRead.contains(reader); }) &&
           (readers.size() == 1 || !readsVariables(dispatch));
  }

  /// The readers of the result and of its reshapes. Null stands for an operation that is no dispatch.
  static SmallVector<DispatchOp> getReaders(DispatchOp dispatch) {
    SetVector<Operation *> values, readers;
    values.insert(dispatch);
    for (unsigned i = 0; i < values.size(); ++i)
      for (Operation *user : values[i]->getUsers())
        (isa<ReshapeOp>(user) ? values : readers).insert(user);
    return llvm::map_to_vector(readers, [](Operation *reader) { return dyn_cast<DispatchOp>(reader); });
  }

  static Operation *getProducer(Value value) {
    while (auto reshape = value.getDefiningOp<ReshapeOp>())
      value = reshape.getInput();
    return value.getDefiningOp();
  }

  void replaceByCall(DispatchOp dispatch) {
    std::string key = getKey(dispatch);
    func::FuncOp &function = functions[key];
    if (!function) {
      function = makeFunction(dispatch, key);
      inOrder.push_back(function);
    }
    OpBuilder builder(dispatch);
    auto call = func::CallOp::create(builder, dispatch.getLoc(), function, ValueRange());
    dispatch->replaceAllUsesWith(call);
    dispatch.erase();
  }

  const DerivableVariables &getVariables(func::FuncOp function) {
    return variables.try_emplace(function, function).first->second;
  }

  bool readsVariables(func::FuncOp function) {
    return function
        .walk([&](Operation *op) {
          auto call = dyn_cast<func::CallOp>(op);
          return WalkResult(failure(isa<VariableLoadOp>(op) ||
                                    (call && readsVariables(symbols.lookup<func::FuncOp>(call.getCallee())))));
        })
        .wasInterrupted();
  }
  static bool readsVariables(DispatchOp dispatch) {
    SetVector<Operation *> producers;
    producers.insert(dispatch);
    for (unsigned i = 0; i < producers.size(); ++i) {
      if (isa<VariableLoadOp>(producers[i]))
        return true;
      for (Value operand : producers[i]->getOperands())
        producers.insert(operand.getDefiningOp());
    }
    return false;
  }

  /// What decides the value, by content, so that equal ones of all versions of a model are found.
  std::string getKey(DispatchOp dispatch) {
    std::string text;
    llvm::raw_string_ostream os(text);
    os << symbols.lookup<KernelOp>(dispatch.getKernel()).getKey() << '\n'
       << dispatch.getSymbols() << '\n'
       << dispatch.getResult(0).getType();
    for (Value input : dispatch.getInputs()) {
      os << '\n' << input.getType();
      while (auto reshape = input.getDefiningOp<ReshapeOp>())
        input = reshape.getInput();
      if (auto call = input.getDefiningOp<func::CallOp>()) {
        os << " derived " << getDerivedKey(symbols.lookup<func::FuncOp>(call.getCallee()));
        continue;
      }
      if (auto load = input.getDefiningOp<VariableLoadOp>()) {
        os << " variable " << load.getVariable();
        continue;
      }
      auto value = input.getDefiningOp<ConstantOp>().getValue();
      if (auto dense = dyn_cast<DenseElementsAttr>(value)) {
        os << " dense " << dense.getType() << ' ' << dense.isSplat() << ' ' << dense.getRawData().size() << ' ';
        os.write(dense.getRawData().data(), dense.getRawData().size());
      } else {
        os << ' ' << value; // the name of a resource
      }
    }
    return llvm::toHex(llvm::SHA256::hash(llvm::arrayRefFromStringRef(text)), /*LowerCase=*/true).substr(0, 32);
  }

  func::FuncOp makeFunction(DispatchOp dispatch, StringRef key) {
    Location location = dispatch.getLoc();
    OpBuilder builder(dispatch->getParentOfType<func::FuncOp>());
    auto function = func::FuncOp::create(builder, location, ("derived_" + dispatch.getKernel()).str(),
                                         builder.getFunctionType({}, dispatch->getResultTypes()));
    function.setPrivate();
    function->setAttr(kDerivedAttr, builder.getStringAttr(key));
    symbols.insert(function); // with a unique name
    builder.setInsertionPointToStart(function.addEntryBlock());
    IRMapping mapping;
    auto clone = [&](Operation *op, auto &&self) -> void {
      for (Value operand : op->getOperands())
        if (!mapping.contains(operand))
          self(operand.getDefiningOp(), self);
      builder.clone(*op, mapping);
    };
    clone(dispatch, clone);
    func::ReturnOp::create(builder, location, mapping.lookup(dispatch.getResult(0)));
    return function;
  }

  static StringRef getDerivedKey(func::FuncOp function) {
    return function->getAttrOfType<StringAttr>(kDerivedAttr).getValue();
  }

  SymbolTable symbols;
  llvm::StringMap<func::FuncOp> functions;         // by key
  SmallVector<func::FuncOp> inOrder;               // each after those that it calls
  llvm::DenseMap<Operation *, uint64_t> bytesRead; // by the dispatches to hoist, of constants and variables
  std::map<Operation *, DerivableVariables> variables;
};

struct HoistDerivedValuesPass : impl::HoistDerivedValuesPassBase<HoistDerivedValuesPass> {
  void runOnOperation() override {
    SmallVector<DispatchOp> dispatches; // producers before their readers
    getOperation().walk<WalkOrder::PreOrder>([&](DispatchOp dispatch) { dispatches.push_back(dispatch); });
    Hoister hoister(getOperation());
    hoister.hoist(dispatches);
    // A constant that only hoisted dispatches read is none of the function's any more.
    getOperation().walk<WalkOrder::PostOrder, mlir::ReverseIterator>([](Operation *op) {
      if (isa<ConstantOp, ReshapeOp, VariableLoadOp, func::CallOp>(op) && op->use_empty())
        op->erase();
    });
    hoister.joinChains(getOperation());
  }
};

} // namespace
} // namespace vx
