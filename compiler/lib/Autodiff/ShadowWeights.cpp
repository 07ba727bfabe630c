#include "vx/Autodiff/Passes.h"
#include "vx/Dialect/VX/IR/VariablePlaces.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace vx {

#define GEN_PASS_DEF_SHADOWWEIGHTSPASS
#include "vx/Autodiff/Passes.h.inc"

namespace {

constexpr llvm::StringLiteral kShadow = "shadow";

struct ShadowWeightsPass : impl::ShadowWeightsPassBase<ShadowWeightsPass> {
  using ShadowWeightsPassBase::ShadowWeightsPassBase;

  void runOnOperation() override {
    MLIRContext *context = &getContext();
    narrow = llvm::StringSwitch<Type>(precision)
                 .Case("f16", Float16Type::get(context))
                 .Case("bf16", BFloat16Type::get(context))
                 .Default(Type());
    if (!narrow)
      return;
    // Every version of a model gets the same variables, whichever of them it reads.
    for (VariableOp pool : llvm::to_vector(getOperation().getOps<VariableOp>()))
      if (isUpdatedWhole(pool))
        addShadow(pool);
  }

private:
  /// Whether a variable is a pool of parameters in f32 that is stored as a whole, and what lies in it never apart: each
  /// store of it can store its shadow beside.
  bool isUpdatedWhole(VariableOp pool) {
    auto type = cast<RankedTensorType>(pool.getType());
    if (pool.getRole() != VariableRole::parameter || pool.getPool() || !type.getElementType().isF32() ||
        type.getRank() != 1 || !type.hasStaticShape())
      return false;
    VariablePlaces places(getOperation());
    bool isStored = false, isStoredInParts = false;
    getOperation().walk([&](VariableStoreOp store) {
      StringAttr stored = store.getVariableAttr().getAttr();
      if (stored == pool.getSymNameAttr())
        isStored = true;
      else if (places.overlap(stored, pool.getSymNameAttr()))
        isStoredInParts = true;
    });
    return isStored && !isStoredInParts;
  }

  VariableOp addVariable(OpBuilder &builder, const Twine &name, RankedTensorType type, StringAttr source,
                         VariableOp pool, int64_t offset) {
    std::string symbol = name.str();
    while (getOperation().lookupSymbol(symbol))
      symbol += '_';
    return VariableOp::create(builder, UnknownLoc::get(&getContext()), builder.getStringAttr(symbol),
                              TypeAttr::get(type), ElementsAttr(),
                              VariableRoleAttr::get(&getContext(), VariableRole::shadow), source, InitAttr(),
                              pool ? FlatSymbolRefAttr::get(pool.getSymNameAttr()) : FlatSymbolRefAttr(),
                              pool ? builder.getI64IntegerAttr(offset) : IntegerAttr());
  }

  void addShadow(VariableOp pool) {
    OpBuilder builder(pool);
    builder.setInsertionPointAfter(pool);
    auto narrowed = [&](Type type) { return cast<RankedTensorType>(type).clone(narrow); };
    VariableOp shadow =
        addVariable(builder, kShadow + "/" + pool.getSymName(), narrowed(pool.getType()), pool.getSymNameAttr(), {}, 0);
    llvm::DenseMap<StringAttr, VariableOp> members; // by the parameter
    int64_t ratio = 32 / narrow.getIntOrFloatBitWidth();
    for (auto parameter : llvm::to_vector(getOperation().getOps<VariableOp>())) {
      if (parameter.getPool() != pool.getSymName())
        continue;
      // Where it would begin between two places that a variable may begin at, what reads it rounds it.
      int64_t offset = getPlace(parameter).offset / ratio;
      if (offset % kVariableAlignment != 0)
        continue;
      builder.setInsertionPointAfter(parameter);
      members[parameter.getSymNameAttr()] = addVariable(builder, kShadow + "/" + parameter.getSymName(),
                                                        narrowed(parameter.getType()), {}, shadow, offset);
    }
    getOperation().walk([&](CastOp round) {
      auto load = round.getInput().getDefiningOp<VariableLoadOp>();
      VariableOp member = load ? members.lookup(load.getVariableAttr().getAttr()) : VariableOp();
      if (!member || getElementTypeOrSelf(round.getType()) != narrow)
        return;
      // Where the parameter is loaded: behind that it may be stored.
      builder.setInsertionPointAfter(load);
      auto stored = VariableLoadOp::create(builder, load.getLoc(), member.getType(), member.getSymName());
      round.getResult().replaceAllUsesWith(stored);
      round.erase();
      if (load->use_empty())
        load.erase();
    });
    getOperation().walk([&](VariableStoreOp store) {
      if (store.getVariable() != pool.getSymName())
        return;
      builder.setInsertionPointAfter(store);
      Value value = CastOp::create(builder, store.getLoc(), narrowed(store.getValue().getType()), store.getValue());
      VariableStoreOp::create(builder, store.getLoc(), value, FlatSymbolRefAttr::get(shadow.getSymNameAttr()));
    });
  }

  Type narrow;
};

} // namespace
} // namespace vx
