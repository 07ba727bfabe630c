#include "EstimateArena.h"

#include "vx/Analysis/JoinedParts.h"
#include "vx/Dialect/VX/Gradient/ReverseMode.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace vx {

StepReads::StepReads(const TrainStepParts &parts) {
  // Of what lies in no memory of its own: what it is made of, and whether a kernel can make it of that.
  llvm::DenseMap<Value, SmallVector<Read, 4>> sources;
  auto resolve = [&](Value value) -> SmallVector<Read, 4> {
    auto known = sources.find(value);
    return known != sources.end() ? known->second : SmallVector<Read, 4>{{value, true}};
  };
  for (Operation &op : parts.getBlock()) {
    SmallVector<Read, 4> all;
    auto add = [&](Value value, bool mayFuse) {
      for (Read read : resolve(value)) {
        read.mayFuse &= mayFuse;
        auto *known = llvm::find_if(all, [&](const Read &other) { return other.value == read.value; });
        if (known == all.end())
          all.push_back(read);
        else
          known->mayFuse &= read.mayFuse;
      }
    };
    for (OpOperand &use : op.getOpOperands())
      add(use.get(), canComputeOperand(use) || isComputedWhereRead(&op));
    if (op.getNumRegions() > 0)
      visitReads(&op, [&](Value value) { add(value, false); });
    if (isa<ReshapeOp>(op))
      for (Read &read : all)
        read.mayFuse = false;
    if (isComputedWhereRead(&op) || isa<ReshapeOp, ConstantOp>(op))
      sources[op.getResult(0)] = isa<ConstantOp>(op) ? SmallVector<Read, 4>() : std::move(all);
    else
      reads[&op] = std::move(all);
  }
}

namespace {

class ArenaEstimate {
public:
  ArenaEstimate(const TrainStepParts &parts, const StepReads &reads, ArrayRef<StepItem> order,
                const llvm::DenseSet<Operation *> &recomputed)
      : parts(parts), reads(reads), order(order), recomputed(recomputed), groups(order.size()) {}

  SmallVector<uint64_t> run() {
    for (auto [number, item] : llvm::enumerate(order))
      for (const StepReads::Read &read : reads.of(item.op))
        buffers[getName(read.value, item)].readers.push_back({static_cast<unsigned>(number), read.mayFuse});
    for (unsigned number = order.size(); number-- > 0;)
      joinGroup(number);
    for (auto [number, item] : llvm::enumerate(order))
      for (Value result : item.op->getResults())
        measure({result, item.isCopy}, number);
    joinParts();
    shareInPlace();
    return sum();
  }

private:
  /// A value, or that of the copy.
  using Name = std::pair<Value, unsigned>;
  struct Reader {
    unsigned item;
    bool mayFuse;
  };
  struct Buffer {
    SmallVector<Reader, 4> readers;
    unsigned first = 0, last = 0; // groups
    uint64_t bytes = 0;
  };
  struct Group {
    unsigned last; // the item that it grew from
    bool hasAnchor;
  };

  Name getName(Value value, StepItem reader) const {
    Operation *op = value.getDefiningOp();
    return {value, op && recomputed.contains(op) && (reader.isCopy || !parts.isForward(reader.op))};
  }

  void joinGroup(unsigned number) {
    StepItem item = order[number];
    bool isAnchor = getRole(item.op) == Role::Anchor;
    groups[number] = {number, isAnchor};
    if (item.op->getNumResults() != 1 || (!isAnchor && !isCheap(item.op)) ||
        item.op->hasTrait<OpTrait::ScattersResult>())
      return;
    auto buffer = buffers.find({item.op->getResult(0), item.isCopy});
    if (buffer == buffers.end() || buffer->second.readers.empty())
      return;
    unsigned group = groups[buffer->second.readers.front().item].last;
    if (isAnchor && groups[group].hasAnchor)
      return;
    for (Reader reader : buffer->second.readers)
      if (!reader.mayFuse || groups[reader.item].last != group ||
          (isAnchor && !order[reader.item].op->hasTrait<OpTrait::Elementwise>()))
        return;
    groups[number].last = group;
    groups[group].hasAnchor |= isAnchor;
  }

  void measure(Name name, unsigned number) {
    auto found = buffers.find(name);
    if (found == buffers.end() || TrainStepParts::isKeptAnyway(name.first))
      return;
    Buffer &buffer = found->second;
    buffer.first = buffer.last = groups[number].last;
    bool isInMemory = false;
    for (Reader reader : buffer.readers) {
      unsigned group = groups[reader.item].last;
      buffer.last = std::max(buffer.last, group);
      isInMemory |= group != buffer.first && !isa<VariableStoreOp>(order[reader.item].op);
    }
    if (isInMemory)
      buffer.bytes = llvm::alignTo(parts.getBytes(name.first), 64);
  }

  void joinParts() {
    for (StepItem item : order) {
      auto concat = dyn_cast<ConcatOp>(item.op);
      auto whole = concat ? buffers.find({concat.getResult(), item.isCopy}) : buffers.end();
      if (whole == buffers.end() || concat.getInputs().size() <= kMostPartsSought)
        continue;
      for (const StepReads::Read &read : reads.of(item.op))
        if (auto part = buffers.find(getName(read.value, item)); part != buffers.end() && part->second.bytes > 0) {
          whole->second.first = std::min(whole->second.first, part->second.first);
          part->second.bytes = 0;
        }
    }
  }

  void shareInPlace() {
    for (StepItem item : order) {
      auto result = item.op->hasTrait<OpTrait::Elementwise>() ? buffers.find({item.op->getResult(0), item.isCopy})
                                                              : buffers.end();
      if (result == buffers.end() || result->second.bytes == 0)
        continue;
      for (const StepReads::Read &read : reads.of(item.op)) {
        auto operand = buffers.find(getName(read.value, item));
        if (operand == buffers.end() || operand->second.bytes != result->second.bytes ||
            operand->second.last != result->second.first || operand->second.first == operand->second.last)
          continue;
        --operand->second.last;
        break;
      }
    }
  }

  SmallVector<uint64_t> sum() const {
    SmallVector<uint64_t> bytes(order.size() + 1);
    for (const auto &[name, buffer] : buffers) {
      bytes[buffer.first] += buffer.bytes;
      bytes[buffer.last + 1] -= buffer.bytes;
    }
    for (size_t i = 1; i < bytes.size(); ++i)
      bytes[i] += bytes[i - 1];
    bytes.pop_back();
    return bytes;
  }

  const TrainStepParts &parts;
  const StepReads &reads;
  ArrayRef<StepItem> order;
  const llvm::DenseSet<Operation *> &recomputed;
  SmallVector<Group> groups; // of each item
  llvm::MapVector<Name, Buffer> buffers;
};

} // namespace

SmallVector<uint64_t> estimateArena(const TrainStepParts &parts, const StepReads &reads, ArrayRef<StepItem> order,
                                    const llvm::DenseSet<Operation *> &recomputed) {
  return ArenaEstimate(parts, reads, order, recomputed).run();
}

} // namespace vx
