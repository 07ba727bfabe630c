#include "Common/IndexFacts.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Pass/Pass.h"
#include "vx/Codegen/GPU.h"
#include "vx/Dialect/VXK/IR/VXKDialect.h"
#include <map>

namespace vx {
#define GEN_PASS_DEF_VECTORIZEACCESSESPASS
#include "vx/Codegen/GPU/Passes.h.inc"
} // namespace vx

using namespace mlir;

namespace vx {
namespace {

/// An index as a sum of values, each times a number, and a constant.
struct Place {
  std::map<void *, int64_t> terms; // by the value's address
  int64_t constant = 0;
};

void addTo(Place &place, Value value, int64_t times) {
  if (std::optional<int64_t> known = getConstantIntValue(value)) {
    place.constant += times * *known;
    return;
  }
  Operation *op = value.getDefiningOp();
  if (isa_and_nonnull<arith::AddIOp>(op)) {
    addTo(place, op->getOperand(0), times);
    addTo(place, op->getOperand(1), times);
    return;
  }
  if (isa_and_nonnull<arith::SubIOp>(op)) {
    addTo(place, op->getOperand(0), times);
    addTo(place, op->getOperand(1), -times);
    return;
  }
  if (isa_and_nonnull<arith::MulIOp>(op))
    for (int side : {0, 1})
      if (std::optional<int64_t> factor = getConstantIntValue(op->getOperand(side))) {
        addTo(place, op->getOperand(1 - side), times * *factor);
        return;
      }
  void *key = value.getAsOpaquePointer();
  if ((place.terms[key] += times) == 0)
    place.terms.erase(key);
}

bool isAligned(const Place &place, int64_t lanes) {
  return llvm::all_of(place.terms, [&](const auto &term) {
    Value value = Value::getFromOpaquePointer(term.first);
    int64_t factor = lanes;
    for (int64_t rest = term.second; factor > 1 && rest % 2 == 0; rest /= 2)
      factor /= 2;
    return isMultipleOf(value, factor);
  });
}

/// Accesses to one memref whose places differ by constants, by these constants.
struct Neighbours {
  Value memref;
  Place base; // its constant is of no meaning
  bool isStore;
  std::map<int64_t, Operation *> members;
};

class Vectorizer {
public:
  explicit Vectorizer(func::FuncOp function) : function(function), builder(function.getContext()) {}

  void run() {
    SmallVector<Block *> blocks;
    function.walk([&](Block *block) { blocks.push_back(block); });
    for (Block *block : blocks) {
      for (Operation &op : llvm::make_early_inc_range(*block))
        visit(&op);
      closeAll();
    }
  }

private:
  static bool isGlobal(Value memref) { return !cast<MemRefType>(memref.getType()).getMemorySpace(); }

  /// Two buffers may be the same memory; memory of the workgroup is only itself.
  static bool mayAlias(Value a, Value b) { return a == b || (isGlobal(a) && isGlobal(b)); }

  void visit(Operation *op) {
    if (auto load = dyn_cast<memref::LoadOp>(op)) {
      closeWhere([&](const Neighbours &group) { return group.isStore && mayAlias(group.memref, load.getMemRef()); });
      if (load.getMemRefType().getRank() == 1)
        add(op, load.getMemRef(), load.getIndices()[0], /*isStore=*/false);
      return;
    }
    if (auto store = dyn_cast<memref::StoreOp>(op)) {
      Value memref = store.getMemRef();
      bool isKnown = store.getMemRefType().getRank() == 1;
      Place place;
      if (isKnown)
        addTo(place, store.getIndices()[0], 1);
      // Stores to other places of the same group may go on waiting.
      closeWhere([&](const Neighbours &group) {
        return mayAlias(group.memref, memref) &&
               !(isKnown && group.isStore && group.memref == memref && group.base.terms == place.terms);
      });
      if (isKnown)
        add(op, memref, store.getIndices()[0], /*isStore=*/true);
      return;
    }
    if (!isMemoryEffectFree(op))
      closeAll();
  }

  void add(Operation *op, Value memref, Value index, bool isStore) {
    Type element = cast<MemRefType>(memref.getType()).getElementType();
    if (!element.isIntOrFloat() || element.getIntOrFloatBitWidth() < 8)
      return;
    Place place;
    addTo(place, index, 1);
    for (Neighbours &group : groups)
      if (group.memref == memref && group.isStore == isStore && group.base.terms == place.terms) {
        auto [known, isNew] = group.members.try_emplace(place.constant, op);
        if (isNew)
          return;
        if (!isStore) {
          // The same element once more.
          op->getResult(0).replaceAllUsesWith(known->second->getResult(0));
          op->erase();
          return;
        }
        close(group);
        group.members = {{place.constant, op}};
        return;
      }
    groups.push_back({memref, place, isStore, {{place.constant, op}}});
  }

  template <typename Predicate>
  void closeWhere(Predicate predicate) {
    for (Neighbours &group : groups)
      if (predicate(group)) {
        close(group);
        group.members.clear();
      }
    llvm::erase_if(groups, [](const Neighbours &group) { return group.members.empty(); });
  }
  void closeAll() {
    for (Neighbours &group : groups)
      close(group);
    groups.clear();
  }

  void close(Neighbours &group) {
    auto memory = cast<MemRefType>(group.memref.getType());
    unsigned bytes = memory.getElementType().getIntOrFloatBitWidth() / 8;
    for (int64_t lanes : {4, 2}) {
      if (lanes * bytes > 16)
        continue;
      // Memory of the workgroup is an array of vectors of one size.
      if (!isGlobal(group.memref) && (!memory.hasStaticShape() || memory.getNumElements() % lanes != 0))
        break;
      if (!isAligned(group.base, lanes)) {
        if (!isGlobal(group.memref))
          break;
        continue;
      }
      for (auto it = group.members.begin(); it != group.members.end();) {
        int64_t first = it->first;
        SmallVector<Operation *> joined;
        if ((first % lanes + lanes) % lanes == 0)
          for (int64_t lane = 0; lane < lanes; ++lane)
            if (auto member = group.members.find(first + lane); member != group.members.end())
              joined.push_back(member->second);
        if (static_cast<int64_t>(joined.size()) != lanes) {
          ++it;
          continue;
        }
        group.isStore ? joinStores(joined, group.memref) : joinLoads(joined, group.memref);
        for (int64_t lane = 0; lane < lanes; ++lane)
          it = group.members.erase(it);
      }
      if (!isGlobal(group.memref))
        break;
    }
  }

  void joinLoads(ArrayRef<Operation *> loads, Value memref) {
    // All at the place of the earliest one.
    size_t earliest = 0;
    for (size_t lane = 1; lane < loads.size(); ++lane)
      if (loads[lane]->isBeforeInBlock(loads[earliest]))
        earliest = lane;
    Operation *at = loads[earliest];
    Location loc = at->getLoc();
    builder.setInsertionPoint(at);
    Value index = cast<memref::LoadOp>(at).getIndices()[0];
    if (earliest != 0) {
      Value distance = arith::ConstantIndexOp::create(builder, loc, static_cast<int64_t>(earliest));
      index = arith::SubIOp::create(builder, loc, index, distance);
    }
    auto type = VectorType::get(loads.size(), cast<MemRefType>(memref.getType()).getElementType());
    Value packed = vector::LoadOp::create(builder, loc, type, memref, index);
    SmallVector<Value> lanes;
    for (size_t lane = 0; lane < loads.size(); ++lane)
      lanes.push_back(vector::ExtractOp::create(builder, loc, packed, ArrayRef<int64_t>{static_cast<int64_t>(lane)}));
    for (auto [load, lane] : llvm::zip(loads, lanes)) {
      load->getResult(0).replaceAllUsesWith(lane);
      load->erase();
    }
  }

  void joinStores(ArrayRef<Operation *> stores, Value memref) {
    Operation *latest = stores.front();
    SmallVector<Value> values;
    for (Operation *store : stores) {
      values.push_back(cast<memref::StoreOp>(store).getValueToStore());
      if (latest->isBeforeInBlock(store))
        latest = store;
    }
    Location loc = latest->getLoc();
    builder.setInsertionPoint(latest);
    auto type = VectorType::get(stores.size(), values.front().getType());
    Value packed = vector::FromElementsOp::create(builder, loc, type, values);
    vector::StoreOp::create(builder, loc, packed, memref, cast<memref::StoreOp>(stores.front()).getIndices());
    for (Operation *store : stores)
      store->erase();
  }

  func::FuncOp function;
  OpBuilder builder;
  std::vector<Neighbours> groups;
};

struct VectorizeAccesses : impl::VectorizeAccessesPassBase<VectorizeAccesses> {
  void runOnOperation() override { Vectorizer(getOperation()).run(); }
};

} // namespace
} // namespace vx
