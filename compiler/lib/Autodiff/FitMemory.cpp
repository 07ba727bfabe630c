#include "FitMemory.h"

#include "EstimateArena.h"
#include "vx/Dialect/VX/IR/RecomputedOps.h"
#include "vx/Dialect/VX/IR/SourceLocation.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace vx {

namespace {

/// What is recomputed, and what that reads in memory.
struct Plan {
  llvm::DenseSet<Operation *> recomputed;
  llvm::SetVector<Value> kept;
  SmallVector<uint64_t> bytes; // in use at each item
};

class MemoryFitter {
public:
  MemoryFitter(func::FuncOp function, const PlannedSizes &sizes) : parts(function, sizes), reads(parts) {
    for (Operation &op : parts.getBlock())
      places[&op] = places.size();
    for (Operation &op : parts.getBlock())
      if (reads.isStep(&op))
        for (const StepReads::Read &read : reads.of(&op)) {
          unsigned &place = (parts.isForward(&op) ? lastForward : lastReverse)[read.value];
          place = std::max(place, places.lookup(&op));
          if (!parts.isForward(&op) && parts.isForward(read.value) && !TrainStepParts::isKeptAnyway(read.value))
            kept.insert(read.value);
        }
  }

  /// The plan that computes least anew of those that fit by the estimate, or else the least one.
  void run(uint64_t budget, StringRef function, SavedReport &report) {
    plan = makePlan(budget);
    if (getPeak(plan) > budget)
      plan = makeLeastPlan();
    report.estimate = std::max(report.estimate, getPeak(plan));
    report.isLeast &= getPeak(plan) > budget;
    describe(function, report);
    apply();
  }

private:
  static uint64_t getPeak(const Plan &plan) { return plan.bytes.empty() ? 0 : *llvm::max_element(plan.bytes); }

  static uint64_t getExcess(const Plan &plan, uint64_t budget) {
    uint64_t excess = 0;
    for (uint64_t bytes : plan.bytes)
      excess = llvm::SaturatingAdd(excess, bytes > budget ? bytes - budget : 0);
    return excess;
  }

  /// True for an op that computes the same whenever it runs.
  static bool mayCopy(Operation *op) {
    return op && isComputedByKernel(op) && isPure(op) && !mayFault(op) && op->getNumRegions() == 0;
  }

  /// `from` without `value` in memory: what it takes to compute it again is recomputed too, down to what is kept.
  Plan drop(const Plan &from, Value value, uint64_t &flops) const {
    Plan next{from.recomputed, from.kept, {}};
    next.kept.remove(value);
    flops = 0;
    SmallVector<Value> work = {value};
    while (!work.empty()) {
      Value current = work.pop_back_val();
      Operation *op = current.getDefiningOp();
      if (!next.recomputed.insert(op).second)
        continue;
      for (Value result : op->getResults())
        next.kept.remove(result);
      flops += parts.getFlops(op);
      for (const StepReads::Read &read : reads.of(op)) {
        if (TrainStepParts::isKeptAnyway(read.value) || next.kept.contains(read.value))
          continue;
        bool isNarrow = !isCheap(read.value.getDefiningOp()) && parts.getBytes(read.value) <= parts.getBytes(value) / 2;
        if (!mayCopy(read.value.getDefiningOp()) || isNarrow)
          next.kept.insert(read.value);
        else
          work.push_back(read.value);
      }
    }
    next.bytes = estimateArena(parts, reads, getOrder(next), next.recomputed);
    return next;
  }

  Plan makePlan(uint64_t budget) const {
    Plan current{{}, kept, {}};
    current.bytes = estimateArena(parts, reads, getOrder(current), current.recomputed);
    llvm::DenseSet<Value> refused;
    for (bool hasChanged = true; hasChanged;) {
      hasChanged = false;
      refused.clear();
      while (uint64_t excess = getExcess(current, budget)) {
        Value best = choose(current, refused);
        if (!best)
          break;
        uint64_t flops = 0;
        Plan next = drop(current, best, flops);
        if (getExcess(next, budget) < excess) {
          current = std::move(next);
          hasChanged = true;
        } else {
          refused.insert(best);
        }
      }
    }
    return current;
  }

  /// What is kept and frees most bytes for longest, for what it takes to compute it again.
  Value choose(const Plan &current, const llvm::DenseSet<Value> &refused) const {
    Value best;
    double bestScore = 0;
    for (Value value : current.kept) {
      Operation *op = value.getDefiningOp();
      if (refused.contains(value) || !mayCopy(op))
        continue;
      auto work = static_cast<double>(parts.getFlops(op));
      for (const StepReads::Read &read : reads.of(op))
        work += static_cast<double>(parts.getBytes(read.value));
      double idle = static_cast<double>(lastReverse.lookup(value)) - lastForward.lookup(value);
      double score = static_cast<double>(parts.getBytes(value)) * std::max(idle, 1.0) / (work + 1);
      if (score > bestScore) {
        bestScore = score;
        best = value;
      }
    }
    return best;
  }

  /// The least budget that `makePlan` keeps, to within a percent of what the step takes as it is.
  Plan makeLeastPlan() const {
    Plan least = makePlan(UINT64_MAX);
    uint64_t most = getPeak(least), fails = 0;
    for (int round = 0; round < 10 && most - fails > most / 256; ++round) {
      uint64_t middle = fails + (most - fails) / 2;
      Plan next = makePlan(middle);
      if (getPeak(next) < getPeak(least))
        least = next;
      if (getPeak(next) <= middle)
        most = getPeak(next);
      else
        fails = middle;
    }
    return least;
  }

  SmallVector<StepItem> getOrder(const Plan &of) const {
    SmallVector<StepItem> order;
    llvm::DenseSet<Operation *> copied;
    for (Operation &op : parts.getBlock()) {
      if (!reads.isStep(&op))
        continue;
      if (!parts.isForward(&op))
        addCopies(&op, of, copied, order);
      order.push_back({&op, false});
    }
    return order;
  }

  void addCopies(Operation *reader, const Plan &of, llvm::DenseSet<Operation *> &copied,
                 SmallVectorImpl<StepItem> &order) const {
    for (const StepReads::Read &read : reads.of(reader))
      if (Operation *op = read.value.getDefiningOp(); op && of.recomputed.contains(op) && copied.insert(op).second) {
        addCopies(op, of, copied, order);
        order.push_back({op, true});
      }
  }

  void describe(StringRef function, SavedReport &report) const {
    for (Operation &op : parts.getBlock()) {
      bool isRecomputed = plan.recomputed.contains(&op);
      uint64_t bytes = 0;
      for (Value result : op.getResults())
        if (isRecomputed || plan.kept.contains(result))
          bytes += parts.getBytes(result);
      if (bytes > 0)
        report.values.push_back({function.str(), describeSource(op.getLoc()), bytes, isRecomputed,
                                 /*isCheap=*/false, isRecomputed ? parts.getFlops(&op) : 0});
    }
  }

  void apply() {
    if (plan.recomputed.empty())
      return;
    SmallVector<Operation *> readers;
    for (Operation &op : parts.getBlock()) {
      if (auto copy = getCopyNumber(&op))
        number = std::max(number, copy.getInt());
      if (!parts.isForward(&op))
        readers.push_back(&op);
    }
    ++number;
    for (Operation *reader : readers)
      reader->walk([&](Operation *op) {
        for (OpOperand &use : op->getOpOperands())
          use.set(compute(use.get(), reader));
      });
  }

  /// `value` as the reverse part reads it, made in front of `reader` where it is not there yet.
  Value compute(Value value, Operation *reader) {
    Operation *op = value.getDefiningOp();
    if (!op || op->getBlock() != &parts.getBlock() || !parts.isForward(op))
      return value;
    if (reads.isStep(op) && !plan.recomputed.contains(op))
      return value;
    if (Value known = computed.lookup(value))
      return known;
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(compute(operand, reader));
    if (!reads.isStep(op) && llvm::equal(operands, op->getOperands()))
      return computed[value] = value;
    IRMapping mapping;
    mapping.map(op->getOperands(), operands);
    Operation *copy = OpBuilder(reader).clone(*op, mapping);
    setCopyNumber(copy, number);
    for (auto [before, after] : llvm::zip(op->getResults(), copy->getResults()))
      computed[before] = after;
    return computed.lookup(value);
  }

  const TrainStepParts parts;
  const StepReads reads;
  llvm::DenseMap<Operation *, unsigned> places;
  llvm::DenseMap<Value, unsigned> lastForward, lastReverse;
  llvm::SetVector<Value> kept; // before anything is chosen
  Plan plan;
  llvm::DenseMap<Value, Value> computed;
  int64_t number = 0;
};

} // namespace

void fitMemory(func::FuncOp function, const PlannedSizes &sizes, uint64_t budget, SavedReport &report) {
  MemoryFitter(function, sizes).run(budget, function.getSymName(), report);
}

} // namespace vx
