// Moves dispatches that read constants alone into functions of their own, which run once at load.

#include "vx/Dialect/VX/IR/VXDialect.h"
#include "vx/Transforms/FusionPasses.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Iterators.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SHA256.h"

using namespace mlir;

namespace vx {

#define GEN_PASS_DEF_HOISTDERIVEDCONSTANTSPASS
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

  void hoist(DispatchOp dispatch) {
    if (dispatch->getNumResults() != 1 || dispatch->hasAttr(kFaultSitesAttr))
      return;
    auto type = cast<RankedTensorType>(dispatch.getResult(0).getType());
    uint64_t inputBytes = 0;
    for (Value input : dispatch.getInputs()) {
      if (!isDerivable(input))
        return;
      inputBytes += getStaticSizeInBytes(cast<RankedTensorType>(input.getType()));
    }
    bool isStatic = llvm::all_of(dispatch.getSymbols().getAsRange<DimAttr>(),
                                 [](DimAttr dim) { return dim.getKind() == DimKind::Constant; });
    if (!isStatic || !isWorthDeriving(type, inputBytes))
      return;
    std::string key = getKey(dispatch);
    func::FuncOp &function = functions[key];
    if (!function)
      function = makeFunction(dispatch, key);
    OpBuilder builder(dispatch);
    auto call = func::CallOp::create(builder, dispatch.getLoc(), function, ValueRange());
    dispatch->replaceAllUsesWith(call);
    dispatch.erase();
  }

private:
  /// Constants, the results of what has been hoisted already, and views of them.
  static bool isDerivable(Value value) {
    Operation *op = value.getDefiningOp();
    if (!op || !cast<RankedTensorType>(value.getType()).hasStaticShape())
      return false;
    if (auto reshape = dyn_cast<ReshapeOp>(op))
      return isDerivable(reshape.getInput());
    return isa<ConstantOp, func::CallOp>(op);
  }

  /// What decides the value, by content, so that equal constants of all versions of a model are found.
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
  llvm::StringMap<func::FuncOp> functions; // by key
};

struct HoistDerivedConstantsPass : impl::HoistDerivedConstantsPassBase<HoistDerivedConstantsPass> {
  void runOnOperation() override {
    SmallVector<DispatchOp> dispatches; // producers before their readers
    getOperation().walk<WalkOrder::PreOrder>([&](DispatchOp dispatch) { dispatches.push_back(dispatch); });
    Hoister hoister(getOperation());
    for (DispatchOp dispatch : dispatches)
      hoister.hoist(dispatch);
    // A constant that only hoisted dispatches read is none of the function's any more.
    getOperation().walk<WalkOrder::PostOrder, mlir::ReverseIterator>([](Operation *op) {
      if (isa<ConstantOp, ReshapeOp, func::CallOp>(op) && op->use_empty())
        op->erase();
    });
  }
};

} // namespace
} // namespace vx
