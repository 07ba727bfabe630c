// Plans the arena of a program: lifetimes, in-place results, offsets that are right for every size.

#include "vx/Memory/Expressions.h"
#include "vx/Memory/Passes.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace vx {

#define GEN_PASS_DEF_PLANARENAPASS
#include "vx/Memory/Passes.h.inc"

namespace {

/// Every buffer begins at a multiple of this (runtime/include/vx/abi/kernel.h).
constexpr int64_t kAlignment = 64;

/// Buffers that share their memory from the first's definition to the last's last use.
struct Slot {
  SmallVector<vxrt::AllocateOp> buffers;
  DimAttr size;  // bytes, a multiple of kAlignment
  int64_t first; // program positions, inclusive
  int64_t last;
  DimAttr offset; // once placed
  int64_t sample; // size for typical symbol values, to order slots by
};

/// Every coefficient from here on is rounded up to the alignment by itself; it wastes at most a hundredth.
constexpr int64_t kLargeCoefficient = 100 * kAlignment;

/// A multiple of kAlignment that is at least `size`. Large terms stay what they are, products of symbols, which can be
/// compared with each other; the rest is rounded up at run time.
DimAttr getAlignedSize(DimAttr size) {
  DimAttr exact = DimAttr::constant(size.getContext(), 0), rest = exact;
  ArrayRef<DimAttr> terms = size.getKind() == DimKind::Sum ? size.getOperands() : ArrayRef<DimAttr>(size);
  for (DimAttr term : terms) {
    bool isScaled = term.getKind() == DimKind::Product || term.getKind() == DimKind::Constant;
    int64_t coefficient = isScaled ? term.getValue() : 1;
    bool isPositive = llvm::none_of(terms, [](DimAttr other) { return other.getValue() < 0; });
    if (!isPositive || coefficient < kLargeCoefficient || coefficient > INT64_MAX - kAlignment) {
      rest = rest + term;
      continue;
    }
    DimAttr scaled = DimAttr::constant(size.getContext(), llvm::alignTo(coefficient, kAlignment));
    for (DimAttr factor : isScaled ? term.getOperands() : ArrayRef<DimAttr>())
      scaled = scaled * factor;
    exact = exact + scaled;
  }
  return exact + DimAttr::ceilDiv(rest, DimAttr::constant(size.getContext(), kAlignment)) * kAlignment;
}

class ArenaPlanner {
public:
  ArenaPlanner(vxrt::ProgramOp program, bool inPlace) : program(program), inPlace(inPlace) {}

  void run() {
    number();
    collect();
    place();
    rewrite();
  }

private:
  MLIRContext *context() { return program.getContext(); }

  /// Positions in program order. A region op has a begin and an end; what is used in a loop's body but defined outside
  /// of it is used until the end of the loop.
  void number() {
    int64_t next = 0;
    auto visit = [&](Block &block, auto &&self) -> void {
      for (Operation &op : block) {
        begin[&op] = next++;
        for (Region &region : op.getRegions())
          for (Block &inner : region)
            self(inner, self);
        end[&op] = next++;
      }
    };
    visit(program.getBody().front(), visit);
  }

  /// First and last position at which `user` needs a buffer that `definingBlock` defines.
  std::pair<int64_t, int64_t> getUseInterval(Operation *user, Block *definingBlock) {
    std::pair<int64_t, int64_t> interval(begin[user], begin[user]);
    for (Operation *op = user; op && op->getBlock() != definingBlock; op = op->getParentOp())
      if (Operation *parent = op->getParentOp(); parent && isa<vxrt::WhileOp>(parent))
        interval = {begin[parent], end[parent]};
    return interval;
  }

  void collect() {
    program.walk([&](vxrt::AllocateOp allocate) {
      DimAttr size = getEntryExpression(allocate.getSize());
      if (!size)
        return;
      Slot slot;
      slot.buffers.push_back(allocate);
      slot.size = getAlignedSize(size);
      // Alive from its first command on, not from the op that names it: those stand before their segment.
      slot.first = INT64_MAX;
      slot.last = INT64_MIN;
      for (Operation *user : allocate->getUsers()) {
        if (!isa<vxrt::DispatchOp, vxrt::CopyOp, vxrt::ReadI64Op>(user))
          return; // something may hold it beyond its commands
        auto [first, last] = getUseInterval(user, allocate->getBlock());
        slot.first = std::min(slot.first, first);
        slot.last = std::max(slot.last, last);
      }
      if (allocate->use_empty())
        return;
      slot.sample = slot.size.evaluate([](StringRef) { return 8; }).value_or(INT64_MAX);
      slotOf[allocate] = slots.size();
      slots.push_back(std::move(slot));
    });
    if (inPlace)
      program.walk([&](vxrt::DispatchOp dispatch) { shareInPlace(dispatch); });
  }

  /// Merges the slot of the result with that of an operand that dies at this dispatch.
  void shareInPlace(vxrt::DispatchOp dispatch) {
    auto kernel = SymbolTable::lookupNearestSymbolFrom<KernelOp>(program, dispatch.getKernelAttr());
    auto operands = kernel ? kernel->getAttrOfType<DenseI64ArrayAttr>("vx.in_place") : nullptr;
    if (!operands || dispatch.getOutputs().size() != 1)
      return;
    auto result = slotOf.find(dispatch.getOutputs().front().getDefiningOp());
    if (result == slotOf.end())
      return;
    for (int64_t index : operands.asArrayRef()) {
      Value operand = dispatch.getInputs()[index];
      auto source = slotOf.find(operand.getDefiningOp());
      // Another operand of the same dispatch may be the same buffer, read in another order.
      if (source == slotOf.end() || source->second == result->second || llvm::count(dispatch.getInputs(), operand) != 1)
        continue;
      Slot &from = slots[source->second], &to = slots[result->second];
      // Both in one block, so that positions are an order of time.
      if (from.size != to.size || from.last != begin[dispatch] || from.buffers.empty() || to.buffers.empty() ||
          from.buffers.back()->getBlock() != to.buffers.front()->getBlock() || to.first != begin[dispatch] ||
          to.buffers.size() != 1)
        continue;
      bool sharesInput = llvm::any_of(dispatch.getInputs(), [&](Value other) {
        return other != operand && llvm::is_contained(from.buffers, other.getDefiningOp());
      });
      if (sharesInput)
        continue;
      from.last = to.last;
      from.buffers.append(to.buffers);
      to.buffers.clear();
      for (vxrt::AllocateOp buffer : from.buffers)
        slotOf[buffer] = source->second;
      return;
    }
  }

  static bool overlap(const Slot &a, const Slot &b) { return a.first <= b.last && b.first <= a.last; }

  void place() {
    SmallVector<Slot *> order;
    for (Slot &slot : slots)
      if (!slot.buffers.empty())
        order.push_back(&slot);
    llvm::sort(order,
               [](Slot *a, Slot *b) { return a->sample != b->sample ? a->sample > b->sample : a->first < b->first; });
    auto zero = DimAttr::constant(context(), 0);
    arenaSize = zero;
    SmallVector<Slot *> placed;
    for (Slot *slot : order) {
      SmallVector<Slot *> conflicts;
      for (Slot *other : placed)
        if (overlap(*slot, *other))
          conflicts.push_back(other);
      SmallVector<std::pair<int64_t, DimAttr>> candidates = {{0, zero}};
      DimAttr above = zero;
      for (Slot *other : conflicts) {
        DimAttr top = other->offset + other->size;
        candidates.push_back({top.evaluate([](StringRef) { return 8; }).value_or(INT64_MAX), top});
        above = DimAttr::max(above, top);
      }
      llvm::sort(candidates, [](const auto &a, const auto &b) {
        return a.first != b.first ? a.first < b.first : a.second.str() < b.second.str();
      });
      candidates.push_back({INT64_MAX, above}); // above everything it meets: always free
      for (auto &[sample, offset] : candidates) {
        bool isFree = llvm::all_of(conflicts, [&, offset = offset](Slot *other) {
          return (offset + slot->size).isAtMost(other->offset) || (other->offset + other->size).isAtMost(offset);
        });
        if (isFree) {
          slot->offset = offset;
          break;
        }
      }
      if (!slot->offset) // `above` is a nest of max that the proof did not follow
        slot->offset = arenaSize;
      placed.push_back(slot);
      arenaSize = DimAttr::max(arenaSize, slot->offset + slot->size);
    }
    // The most that is live at once: at some slot's first position.
    lowerBound = zero;
    for (Slot *slot : placed) {
      DimAttr live = zero;
      for (Slot *other : placed)
        if (other->first <= slot->first && slot->first <= other->last)
          live = live + other->size;
      lowerBound = DimAttr::max(lowerBound, live);
    }
  }

  Value evaluate(DimAttr dim, OpBuilder &builder) {
    auto known = [&](DimAttr part) -> Value {
      if (part.getKind() != DimKind::Symbol)
        return values.lookup(part);
      for (auto [index, name] : llvm::enumerate(program.getSymbols().getAsRange<StringAttr>()))
        if (name == part.getSymbol())
          return program.getBody().getArgument(index);
      return {};
    };
    return emitExpression(builder, program.getLoc(), dim, known,
                          [&](DimAttr part, Value value) { values[part] = value; });
  }

  void rewrite() {
    program->setAttr(vxrt::kArenaSizeAttr, arenaSize);
    program->setAttr(vxrt::kArenaLowerBoundAttr, lowerBound);
    if (llvm::all_of(slots, [](const Slot &slot) { return slot.buffers.empty(); }))
      return;
    auto builder = OpBuilder::atBlockBegin(&program.getBody().front());
    Value size = evaluate(arenaSize, builder);
    vxrt::ArenaReserveOp::create(builder, program.getLoc(), size);
    for (Slot &slot : slots) {
      for (vxrt::AllocateOp buffer : slot.buffers) {
        Value offset = evaluate(slot.offset, builder);
        OpBuilder at(buffer);
        auto slice = vxrt::ArenaSliceOp::create(at, buffer.getLoc(), buffer.getType(), offset, buffer.getSize());
        buffer.replaceAllUsesWith(slice.getResult());
        buffer.erase();
      }
    }
  }

  vxrt::ProgramOp program;
  bool inPlace;
  llvm::DenseMap<Operation *, int64_t> begin, end;
  SmallVector<Slot> slots;
  llvm::DenseMap<Operation *, size_t> slotOf;
  llvm::DenseMap<DimAttr, Value> values;
  DimAttr arenaSize, lowerBound;
};

struct PlanArenaPass : impl::PlanArenaPassBase<PlanArenaPass> {
  using PlanArenaPassBase::PlanArenaPassBase;
  void runOnOperation() override { ArenaPlanner(getOperation(), inPlace).run(); }
};

} // namespace
} // namespace vx
