// Chooses which values of the forward part the reverse part of a training step finds in memory, and has the others
// computed again.

#include "FitMemory.h"
#include "MinimumCut.h"
#include "vx/Autodiff/Passes.h"
#include "vx/Dialect/VX/IR/RecomputedOps.h"
#include "vx/Dialect/VX/IR/SourceLocation.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace vx {

#define GEN_PASS_DEF_CHOOSESAVEDPASS
#include "vx/Autodiff/Passes.h.inc"

namespace {

/// Computes cheap values again in the kernels that read them, where fewer bytes are kept by that.
class CheapChooser {
public:
  CheapChooser(func::FuncOp function, const PlannedSizes &sizes, SavedReport &report)
      : parts(function, sizes), report(report), name(function.getSymName()) {}

  void run() {
    findReads();
    readResultsOfChoices();
    do
      cut();
    while (keepEndsOfLongChains());
    joinReaders();
    recompute();
  }

private:
  /// A longer chain is no cheap one.
  static constexpr size_t kMostOps = 8;

  /// What the reverse part reads, and what it wants whole: kernels that cannot compute it on the fly read that.
  void findReads() {
    reads.clear();
    whole.clear();
    for (Operation &op : parts.getBlock())
      if (!parts.isForward(&op))
        op.walk([&](Operation *reader) {
          for (OpOperand &use : reader->getOpOperands())
            if (Value value = use.get(); parts.isForward(value) && value.getParentBlock() == &parts.getBlock()) {
              reads.insert(getKey(value));
              if (reader->getBlock() != &parts.getBlock() || !canComputeOperand(use))
                wantWhole(value);
            }
        });
  }

  void wantWhole(Value value) {
    Value key = getKey(value);
    if (!whole.insert(key).second || !key.getDefiningOp() || !isComputedWhereRead(key.getDefiningOp()))
      return;
    for (Value operand : key.getDefiningOp()->getOperands())
      wantWhole(operand);
  }

  /// The value that lies in the same memory, which a view of what is in memory is.
  Value getKey(Value value) {
    Value memory = value;
    while (auto reshape = memory.getDefiningOp<ReshapeOp>())
      memory = reshape.getInput();
    Operation *op = memory.getDefiningOp();
    return op && (isCheap(op) || isComputedWhereRead(op)) ? value : memory;
  }

  /// x > c is max(x, c) > c, and x < c is min(x, c) < c, for every number and NaN. So which of the two was chosen is
  /// told by the result, where that is kept for another reader.
  void readResultsOfChoices() {
    bool hasChanged = false;
    for (Operation &op : parts.getBlock()) {
      auto compare = dyn_cast<CompareOp>(op);
      if (!compare || parts.isForward(&op) || !parts.isForward(compare.getLhs()) || whole.contains(compare.getLhs()))
        continue;
      for (Operation *user : compare.getLhs().getUsers()) {
        bool isChoice = isa<MaxOp>(user) ? compare.getPredicate() == ComparePredicate::gt
                                         : isa<MinOp>(user) && compare.getPredicate() == ComparePredicate::lt;
        if (!isChoice || !parts.isForward(user) || !whole.contains(user->getResult(0)) ||
            user->getResult(0).getType() != compare.getLhs().getType() ||
            !llvm::is_contained(user->getOperands(), compare.getRhs()) || user->getOperand(0) == user->getOperand(1))
          continue;
        compare.getLhsMutable().assign(user->getResult(0));
        hasChanged = true;
        break;
      }
    }
    if (hasChanged)
      findReads();
  }

  void cut() {
    MinimumCut graph;
    llvm::MapVector<Value, unsigned> nodes;
    SmallVector<Value> work;
    auto getNode = [&](Value value) {
      Value key = getKey(value);
      auto [known, isNew] = nodes.try_emplace(key, 0);
      if (isNew) {
        known->second = graph.addNode(getCost(key));
        work.push_back(key);
      }
      return nodes.lookup(key);
    };
    for (Value value : reads)
      graph.addEnd(getNode(value));
    while (!work.empty()) {
      Value key = work.pop_back_val();
      unsigned node = nodes.lookup(key);
      if (mayCompute(key))
        for (Value operand : key.getDefiningOp()->getOperands())
          graph.addEdge(getNode(operand), node);
      if (!mayCompute(key) || (whole.contains(key) && !isComputedWhereRead(key.getDefiningOp())))
        graph.addBeginning(node);
    }
    std::optional<SmallVector<unsigned>> cut = graph.run();
    kept.clear();
    for (auto &[value, node] : nodes)
      if (!cut || llvm::is_contained(*cut, node) || !mayCompute(value))
        kept.insert(value);
  }

  /// What is computed where it is read reads memory, so that a cheap value that it reads would take a kernel.
  static bool mayCompute(Value key) {
    Operation *op = key.getDefiningOp();
    if (!op || TrainStepParts::isKeptAnyway(key))
      return false;
    return isComputedWhereRead(op) || (isCheap(op) && llvm::none_of(op->getUsers(), isComputedWhereRead));
  }

  uint64_t getCost(Value key) {
    if (TrainStepParts::isKeptAnyway(key))
      return 0;
    return isComputedWhereRead(key.getDefiningOp()) ? MinimumCut::kNever : parts.getBytes(key);
  }

  /// Keeps what would take more ops than are cheap; true where there was something.
  bool keepEndsOfLongChains() {
    bool isLong = false;
    for (Value value : reads) {
      if (kept.contains(value))
        continue;
      llvm::SetVector<Value> chain;
      chain.insert(value);
      size_t ops = 0;
      for (size_t i = 0; i < chain.size(); ++i) {
        Operation *op = chain[i].getDefiningOp();
        ops += isCheap(op) && !isComputedWhereRead(op);
        for (Value operand : op->getOperands())
          if (!kept.contains(getKey(operand)))
            chain.insert(getKey(operand));
      }
      if (ops <= kMostOps)
        continue;
      wantWhole(value);
      isLong = true;
    }
    return isLong;
  }

  /// Readers that elementwise ops of the reverse part connect are mostly one kernel, which computes a value once.
  void joinReaders() {
    for (Operation &op : parts.getBlock()) {
      if (parts.isForward(&op))
        continue;
      kernels.insert(&op);
      for (OpOperand &use : op.getOpOperands())
        if (Operation *producer = use.get().getDefiningOp();
            producer && canComputeOperand(use) && !parts.isForward(producer) && isCheap(producer))
          kernels.unionSets(producer, &op);
    }
  }

  void recompute() {
    SmallVector<Operation *> readers;
    for (Operation &op : parts.getBlock()) {
      if (auto copy = getCopyNumber(&op))
        lastCopy = std::max(lastCopy, copy.getInt());
      if (!parts.isForward(&op))
        readers.push_back(&op);
    }
    for (Operation *reader : readers)
      for (OpOperand &use : reader->getOpOperands())
        if (parts.isForward(use.get()) && use.get().getDefiningOp())
          use.set(compute(use.get(), reader));
  }

  /// `value` for the kernel of `reader`, in front of it: itself where it is kept.
  Value compute(Value value, Operation *reader) {
    Value key = getKey(value);
    if (kept.contains(key) || !mayCompute(key))
      return value;
    Operation *kernel = kernels.getLeaderValue(reader), *op = value.getDefiningOp();
    if (Value known = computed.lookup({kernel, value}))
      return known;
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(compute(operand, reader));
    Value result = value;
    if (!isComputedWhereRead(op) || !llvm::equal(operands, op->getOperands())) {
      IRMapping mapping;
      mapping.map(op->getOperands(), operands);
      auto [number, isNew] = numbers.try_emplace(kernel, lastCopy + 1);
      lastCopy += isNew;
      Operation *copy = OpBuilder(reader).clone(*op, mapping);
      setCopyNumber(copy, number->second);
      if (isCheap(op) && !isComputedWhereRead(op))
        report.values.push_back({name.str(), describeSource(op->getLoc()), parts.getBytes(value), /*isRecomputed=*/true,
                                 /*isCheap=*/true, parts.getFlops(op)});
      result = copy->getResult(0);
    }
    computed[{kernel, value}] = result;
    return result;
  }

  const TrainStepParts parts;
  SavedReport &report;
  const StringRef name;              // of the function
  llvm::SetVector<Value> reads;      // by the reverse part
  llvm::DenseSet<Value> whole, kept; // what has to be in memory, and what is chosen to be
  llvm::EquivalenceClasses<Operation *> kernels;
  llvm::DenseMap<Operation *, int64_t> numbers;
  llvm::DenseMap<std::pair<Operation *, Value>, Value> computed;
  int64_t lastCopy = 0;
};

struct ChooseSavedPass : impl::ChooseSavedPassBase<ChooseSavedPass> {
  using ChooseSavedPassBase::ChooseSavedPassBase;
  ChooseSavedPass(ChooseSavedPassOptions options, SavedReport *report)
      : ChooseSavedPassBase(std::move(options)), report(report) {}

  void runOnOperation() override {
    auto training = getOperation()->getAttrOfType<TrainingAttr>(kTrainingAttr);
    if (!training)
      return;
    PlannedSizes planned;
    for (const std::string &size : sizes) {
      auto [name, number] = StringRef(size).rsplit('=');
      int64_t value = 0;
      if (name.empty() || number.getAsInteger(10, value) || value < 1) {
        getOperation().emitError() << "vx-choose-saved expects NAME=N in 'sizes', got '" << size << "'";
        return signalPassFailure();
      }
      planned[name] = value;
    }
    SavedReport own;
    SavedReport &told = report ? *report : own;
    for (FlatSymbolRefAttr name : {training.getTrainStep(), training.getBackward()}) {
      auto function = name ? getOperation().lookupSymbol<func::FuncOp>(name.getAttr()) : func::FuncOp();
      if (!function || !llvm::hasSingleElement(function.getBody()))
        continue;
      CheapChooser(function, planned, told).run();
      fitMemory(function, planned, memory > 0 ? static_cast<uint64_t>(memory) : UINT64_MAX, told);
    }
  }

private:
  SavedReport *report = nullptr;
};

} // namespace

std::unique_ptr<Pass> createChooseSavedPass(ChooseSavedPassOptions options, SavedReport *report) {
  return std::make_unique<ChooseSavedPass>(std::move(options), report);
}

} // namespace vx
