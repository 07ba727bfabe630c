// Plans the arena of a program: lifetimes, in-place results, offsets that are right for every size.

#include "Lifetimes.h"
#include "vx/Analysis/JoinedParts.h"
#include "vx/Dialect/VX/IR/KernelFacts.h"
#include "vx/Memory/Expressions.h"
#include "vx/Memory/Passes.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>
#include <limits>
#include <numeric>

using namespace mlir;

namespace vx {

#define GEN_PASS_DEF_PLANARENAPASS
#include "vx/Memory/Passes.h.inc"

namespace {

/// Every buffer begins at a multiple of this (runtime/include/vx/abi/kernel.h).
constexpr int64_t kAlignment = 64;

/// What is copied to a part of a buffer, in the place of the kernel that would have put the parts together.
struct PartCopy {
  int64_t operand;      // of that kernel
  int64_t offset, size; // in bytes
};

/// Buffers that share their memory from the first's definition to the last's last use.
struct Slot {
  SmallVector<vxrt::AllocateOp> buffers;
  SmallVector<std::pair<vxrt::AllocateOp, int64_t>> parts; // of the first buffer, and their places in it, in bytes
  SmallVector<PartCopy> copies;                            // what makes the rest of it
  vxrt::DispatchOp joined;                                 // the kernel that would have put them together, or null
  DimAttr size;                                            // bytes, a multiple of kAlignment
  Lifetime lifetime;
  DimAttr offset; // once placed
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

/// Values of the symbols at which plans are compared. A plan is right at any size; these only decide which one is
/// small.
struct Sample {
  llvm::StringMap<int64_t> values;

  /// Bytes, or the most there are for what does not fit 64 bits.
  uint64_t evaluate(DimAttr dim) const {
    std::optional<int64_t> value =
        dim.evaluate([&](StringRef name) -> std::optional<int64_t> { return values.lookup(name); });
    return value && *value >= 0 ? static_cast<uint64_t>(*value) : UINT64_MAX;
  }
};

/// What lies below what: an offset is the top of the highest slot that lies below and is in use at the same time. So no
/// two slots that are in use at one time ever share a byte, whatever the sizes are, and nothing has to be proved.
struct Stacking {
  SmallVector<unsigned> order;                 // of slots, from below
  SmallVector<SmallVector<unsigned, 4>> below; // of each slot, without those below another of them
};

class ArenaPlanner {
public:
  ArenaPlanner(vxrt::ProgramOp program, bool inPlace)
      : program(program), inPlace(inPlace), lifetimes(program), maxima(program) {}

  void run() {
    collect();
    makeSamples();
    findConflicts();
    stack(choose());
    boundBelow();
    rewrite();
  }

private:
  MLIRContext *context() { return program.getContext(); }

  void collect() {
    EntryExpressions expressions;
    findReadSymbols();
    program.walk([&](vxrt::AllocateOp allocate) {
      DimAttr size = expressions.get(allocate.getSize());
      if (!size || allocate->use_empty() || isUnbounded(size))
        return;
      if (!llvm::all_of(allocate->getUsers(), isBriefUse))
        return; // something may hold it beyond its commands
      Slot slot;
      slot.buffers.push_back(allocate);
      slot.size = getAlignedSize(size);
      slot.lifetime = lifetimes.get(allocate);
      slotOf[allocate] = slots.size();
      slots.push_back(std::move(slot));
    });
    if (inPlace) {
      program.walk([&](vxrt::DispatchOp dispatch) { joinParts(dispatch); });
      program.walk([&](vxrt::DispatchOp dispatch) { shareInPlace(dispatch); });
    }
    llvm::erase_if(slots, [](const Slot &slot) { return slot.buffers.empty(); });
  }

  /// The symbols that elements of inputs give. The arena's size is computed after these.
  void findReadSymbols() {
    SymbolRanges ranges;
    if (auto module = program->getParentOfType<ModuleOp>())
      ranges = SymbolRanges(module);
    for (auto read : program.getBody().front().getOps<vxrt::ReadInputOp>()) {
      StringAttr symbol = read.getSymbolAttr();
      if (!symbol)
        continue;
      reads[symbol] = read;
      if (ranges.lookup(symbol).max == std::numeric_limits<int64_t>::max())
        unbounded.insert(symbol);
    }
  }
  bool isRead(DimAttr size) const {
    return llvm::any_of(getSymbols(size), [&](StringAttr symbol) { return reads.contains(symbol); });
  }
  /// A size without a bound that is declared may be any number, for which an allocation has the better error: of the
  /// op whose result it is.
  bool isUnbounded(DimAttr size) const {
    return llvm::any_of(getSymbols(size), [&](StringAttr symbol) { return unbounded.contains(symbol); });
  }
  static llvm::SetVector<StringAttr> getSymbols(DimAttr size) {
    llvm::SetVector<StringAttr> symbols;
    size.collectSymbols(symbols);
    return symbols;
  }

  /// A size that an input's element gives is checked before the arena is made of it, also against other sizes.
  OpBuilder getArenaBuilder() {
    Block &entry = program.getBody().front();
    auto builder = OpBuilder::atBlockBegin(&entry);
    if (llvm::none_of(slots, [&](const Slot &slot) { return isRead(slot.size); }))
      return builder;
    auto moveUp = [&](Operation *op) {
      op->moveBefore(&entry, builder.getInsertionPoint());
      builder.setInsertionPointAfter(op);
    };
    for (auto read : llvm::to_vector(entry.getOps<vxrt::ReadInputOp>()))
      moveUp(read);
    EntryExpressions expressions;
    for (Operation &op : llvm::make_early_inc_range(llvm::make_range(builder.getInsertionPoint(), entry.end()))) {
      if (!isa<vxrt::CheckRangeOp, vxrt::CheckOp>(op))
        continue;
      SmallVector<DimAttr> operands;
      for (Value operand : op.getOperands())
        operands.push_back(expressions.get(operand));
      if (!llvm::all_of(operands, [](DimAttr operand) { return !!operand; }) ||
          llvm::none_of(operands, [&](DimAttr operand) { return isRead(operand); }))
        continue;
      for (auto [operand, expression] : llvm::zip(op.getOpOperands(), operands))
        operand.set(evaluate(expression, builder));
      moveUp(&op);
    }
    return builder;
  }

  /// What a kernel would put one after another is computed where it is to lie, and the kernel is not needed. What is
  /// there already, or is to lie in two places, is copied.
  void joinParts(vxrt::DispatchOp dispatch) {
    auto kernel = SymbolTable::lookupNearestSymbolFrom<KernelOp>(program, dispatch.getKernelAttr());
    ConcatOp concat = kernel ? getOnlyConcat(kernel) : ConcatOp();
    std::optional<SmallVector<int64_t>> offsets = concat ? getPartOffsets(concat) : std::nullopt;
    auto whole = offsets ? slotOf.find(dispatch.getOutputs()[0].getDefiningOp()) : slotOf.end();
    if (whole == slotOf.end() || slots[whole->second].lifetime.first != lifetimes.getPosition(dispatch))
      return;
    SmallVector<std::pair<vxrt::AllocateOp, int64_t>> parts;
    SmallVector<PartCopy> copies;
    llvm::SmallPtrSet<Operation *, 8> placed;
    size_t count = concat.getInputs().size();
    for (auto [number, input] : llvm::enumerate(concat.getInputs())) {
      int64_t offset = (*offsets)[number], size = (*offsets)[number + 1] - offset;
      int64_t operand = cast<BlockArgument>(input).getArgNumber();
      Value buffer = dispatch.getInputs()[operand];
      auto allocate = buffer.getDefiningOp<vxrt::AllocateOp>();
      auto part = slotOf.find(allocate);
      if (part != slotOf.end() && part != whole && !slots[part->second].joined &&
          slots[part->second].size == getAlignedSize(DimAttr::constant(context(), size)) &&
          isMadeFor(dispatch, buffer) && placed.insert(allocate).second)
        parts.push_back({allocate, offset});
      else if (size > 0)
        copies.push_back({operand, offset, size});
    }
    if (count <= kMostPartsSought && copies.size() > count / 2)
      return; // the kernel is one command, and not slow
    Slot &slot = slots[whole->second];
    for (auto [buffer, offset] : parts) {
      Slot &part = slots[slotOf[buffer]];
      slot.lifetime.first = std::min(slot.lifetime.first, part.lifetime.first);
      slot.lifetime.last = std::max(slot.lifetime.last, part.lifetime.last);
      part.buffers.clear();
      slotOf.erase(buffer);
    }
    slot.parts = std::move(parts);
    slot.copies = std::move(copies);
    slot.joined = dispatch;
  }

  /// The concatenation that is all that the kernel does, or null.
  static ConcatOp getOnlyConcat(KernelOp kernel) {
    Block &body = kernel.getBody().front();
    auto concat = body.getTerminator()->getNumOperands() == 1
                      ? body.getTerminator()->getOperand(0).getDefiningOp<ConcatOp>()
                      : ConcatOp();
    return concat && llvm::hasSingleElement(body.without_terminator()) ? concat : ConcatOp();
  }

  /// True when one command writes the buffer, in the program before `reader` in its block, and all others only read it.
  static bool isMadeFor(vxrt::DispatchOp reader, Value buffer) {
    int writes = 0;
    for (Operation *user : llvm::SetVector<Operation *>(buffer.user_begin(), buffer.user_end())) {
      if (!llvm::is_contained(vxrt::getWrittenBuffers(user), buffer))
        continue;
      if (++writes > 1 || llvm::is_contained(vxrt::getReadBuffers(user), buffer) ||
          user->getParentOp()->getBlock() != reader->getParentOp()->getBlock())
        return false;
    }
    return writes == 1;
  }

  /// Merges the slot of the result with that of an operand that dies at this dispatch.
  void shareInPlace(vxrt::DispatchOp dispatch) {
    auto kernel = SymbolTable::lookupNearestSymbolFrom<KernelOp>(program, dispatch.getKernelAttr());
    int64_t position = lifetimes.getPosition(dispatch);
    llvm::SmallDenseSet<int64_t> placed, taken; // results that have an operand's memory, and these operands
    for (InPlacePair pair : kernel ? getInPlacePairs(kernel) : SmallVector<InPlacePair>()) {
      auto result = slotOf.find(dispatch.getOutputs()[pair.result].getDefiningOp());
      if (result == slotOf.end() || placed.contains(pair.result) || taken.contains(pair.operand))
        continue; // a result that nobody reads ends here, as its operand did: no reason to give its memory away twice
      Value operand = dispatch.getInputs()[pair.operand];
      auto source = slotOf.find(operand.getDefiningOp());
      // Another operand of the same dispatch may be the same buffer, read in another order.
      if (source == slotOf.end() || source->second == result->second || llvm::count(dispatch.getInputs(), operand) != 1)
        continue;
      Slot &from = slots[source->second], &to = slots[result->second];
      // Both in one block, so that positions are an order of time.
      if (from.size != to.size || from.lifetime.last != position || from.buffers.empty() || to.buffers.empty() ||
          from.buffers.back()->getBlock() != to.buffers.front()->getBlock() || to.lifetime.first != position ||
          to.buffers.size() != 1)
        continue;
      bool sharesInput = llvm::any_of(dispatch.getInputs(), [&](Value other) {
        return other != operand && llvm::is_contained(from.buffers, other.getDefiningOp());
      });
      if (sharesInput)
        continue;
      from.lifetime.last = to.lifetime.last;
      from.buffers.append(to.buffers);
      to.buffers.clear();
      for (vxrt::AllocateOp buffer : from.buffers)
        slotOf[buffer] = source->second;
      placed.insert(pair.result);
      taken.insert(pair.operand);
    }
  }

  /// Small, middling and large sizes, each within what its symbol is declared to be. A declared end that is no
  /// formality is the large one.
  void makeSamples() {
    constexpr int64_t kLargestEnd = 1 << 16;
    SymbolRanges ranges;
    if (auto module = program->getParentOfType<ModuleOp>())
      ranges = SymbolRanges(module);
    samples.resize(3);
    for (auto symbol : program.getSymbols().getAsRange<StringAttr>()) {
      SymbolRange range = ranges.lookup(symbol);
      int64_t small = std::clamp<int64_t>(8, range.min, range.max);
      int64_t large = range.max <= kLargestEnd ? range.max : std::max<int64_t>(512, small);
      auto middling = static_cast<int64_t>(std::sqrt(static_cast<double>(small) * static_cast<double>(large)));
      int64_t values[] = {small, std::clamp(middling, small, large), large};
      for (auto [sample, value] : llvm::zip(samples, values))
        sample.values[symbol.getValue()] =
            std::max(value / range.multiple * range.multiple, std::min(range.multiple, range.max));
    }
    for (const Sample &sample : samples) {
      SmallVector<uint64_t> &bytes = sizes.emplace_back();
      for (const Slot &slot : slots)
        bytes.push_back(sample.evaluate(slot.size));
    }
    // Without symbols, or with none that matters here, one is enough.
    while (sizes.size() > 1 && sizes[sizes.size() - 2] == sizes.back()) {
      sizes.pop_back();
      samples.pop_back();
    }
  }

  void findConflicts() {
    conflicts.resize(slots.size());
    SmallVector<unsigned> byFirst(slots.size());
    std::iota(byFirst.begin(), byFirst.end(), 0);
    llvm::sort(byFirst, [&](unsigned a, unsigned b) {
      return std::pair(slots[a].lifetime.first, a) < std::pair(slots[b].lifetime.first, b);
    });
    SmallVector<unsigned> alive;
    for (unsigned slot : byFirst) {
      llvm::erase_if(alive, [&](unsigned other) { return slots[other].lifetime.last < slots[slot].lifetime.first; });
      for (unsigned other : alive) {
        conflicts[slot].push_back(other);
        conflicts[other].push_back(slot);
      }
      alive.push_back(slot);
    }
  }

  /// The largest first, each in the lowest gap at these sizes.
  Stacking stackAt(ArrayRef<uint64_t> bytes) {
    SmallVector<unsigned> bySize(slots.size());
    std::iota(bySize.begin(), bySize.end(), 0);
    llvm::sort(bySize, [&](unsigned a, unsigned b) {
      return bytes[a] != bytes[b] ? bytes[a] > bytes[b]
                                  : std::pair(slots[a].lifetime.first, a) < std::pair(slots[b].lifetime.first, b);
    });
    SmallVector<uint64_t> offsets(slots.size());
    llvm::BitVector isPlaced(slots.size());
    for (unsigned slot : bySize) {
      SmallVector<std::pair<uint64_t, uint64_t>> taken;
      for (unsigned other : conflicts[slot])
        if (isPlaced[other])
          taken.push_back({offsets[other], llvm::SaturatingAdd(offsets[other], bytes[other])});
      llvm::sort(taken);
      uint64_t offset = 0;
      for (auto [begin, end] : taken) {
        if (begin >= llvm::SaturatingAdd(offset, bytes[slot]))
          break;
        offset = std::max(offset, end);
      }
      offsets[slot] = offset;
      isPlaced.set(slot);
    }
    Stacking result;
    result.order.resize(slots.size());
    std::iota(result.order.begin(), result.order.end(), 0);
    llvm::sort(result.order, [&](unsigned a, unsigned b) {
      return std::tuple(offsets[a], bytes[a], a) < std::tuple(offsets[b], bytes[b], b);
    });
    SmallVector<unsigned> rank(slots.size());
    for (auto [index, slot] : llvm::enumerate(result.order))
      rank[slot] = static_cast<unsigned>(index);
    result.below.resize(slots.size());
    std::vector<llvm::BitVector> allBelow(slots.size(), llvm::BitVector(slots.size()));
    for (unsigned slot : result.order) {
      SmallVector<unsigned> lower;
      llvm::copy_if(conflicts[slot], std::back_inserter(lower),
                    [&](unsigned other) { return rank[other] < rank[slot]; });
      llvm::sort(lower, [&](unsigned a, unsigned b) { return rank[a] > rank[b]; });
      for (unsigned other : lower) {
        if (allBelow[slot][other])
          continue;
        result.below[slot].push_back(other);
        allBelow[slot] |= allBelow[other];
        allBelow[slot].set(other);
      }
    }
    return result;
  }

  uint64_t getArenaSize(const Stacking &stacking, ArrayRef<uint64_t> bytes) {
    uint64_t arena = 0;
    SmallVector<uint64_t> tops(slots.size());
    for (unsigned slot : stacking.order) {
      uint64_t offset = 0;
      for (unsigned other : stacking.below[slot])
        offset = std::max(offset, tops[other]);
      tops[slot] = llvm::SaturatingAdd(offset, bytes[slot]);
      arena = std::max(arena, tops[slot]);
    }
    return arena;
  }

  /// Of the stackings that are best at some sample, the one that wastes least at its worst sample.
  Stacking choose() {
    Stacking best;
    double leastWaste = std::numeric_limits<double>::infinity();
    SmallVector<Stacking> candidates;
    SmallVector<uint64_t> least(sizes.size(), UINT64_MAX);
    for (ArrayRef<uint64_t> bytes : sizes)
      candidates.push_back(stackAt(bytes));
    for (const Stacking &candidate : candidates)
      for (auto [bytes, smallest] : llvm::zip(sizes, least))
        smallest = std::min(smallest, getArenaSize(candidate, bytes));
    for (Stacking &candidate : candidates) {
      double waste = 0;
      for (auto [bytes, smallest] : llvm::zip(sizes, least))
        waste = std::max(waste, static_cast<double>(getArenaSize(candidate, bytes)) /
                                    static_cast<double>(std::max<uint64_t>(smallest, 1)));
      if (waste < leastWaste) {
        leastWaste = waste;
        best = std::move(candidate);
      }
    }
    return best;
  }

  /// An expression of more terms gets a name, so that what is added to it stays short.
  static constexpr size_t kMostTerms = 8;
  /// Of more parts, those that the largest do not cover are all kept.
  static constexpr size_t kMostCompared = 16;

  /// The greatest of `parts`: one of them when that is shown, else a name.
  DimAttr getGreatest(SmallVector<DimAttr> parts) {
    // The largest at the last sample first: it is the one that covers others.
    SmallVector<std::pair<uint64_t, size_t>> bySize;
    for (auto [index, part] : llvm::enumerate(parts))
      bySize.push_back({UINT64_MAX - getSampleOf(part), index});
    llvm::sort(bySize);
    SmallVector<DimAttr> kept;
    for (auto [rank, index] : bySize) {
      DimAttr part = parts[index];
      if (llvm::any_of(ArrayRef(kept).take_front(kMostCompared),
                       [&](DimAttr other) { return maxima.isAtMost(part, other); }))
        continue;
      if (kept.size() <= kMostCompared)
        llvm::erase_if(kept, [&](DimAttr other) { return maxima.isAtMost(other, part); });
      kept.push_back(part);
    }
    size_t terms = kept.front().getKind() == DimKind::Sum ? kept.front().getOperands().size() : 1;
    return kept.size() == 1 && terms <= kMostTerms ? kept.front() : maxima.get(kept);
  }

  /// The value of an offset or top at the last sample.
  uint64_t getSampleOf(DimAttr dim) {
    std::optional<int64_t> value = dim.evaluate([&](StringRef name) -> std::optional<int64_t> {
      if (auto it = sampleOfMaximum.find(name); it != sampleOfMaximum.end())
        return it->second;
      return samples.back().values.lookup(name);
    });
    return value && *value >= 0 ? static_cast<uint64_t>(*value) : UINT64_MAX;
  }

  DimAttr nameGreatest(SmallVector<DimAttr> parts) {
    DimAttr greatest = getGreatest(std::move(parts));
    if (ArrayRef<DimAttr> of = maxima.getParts(greatest); !of.empty()) {
      uint64_t value = 0;
      for (DimAttr part : of)
        value = std::max(value, getSampleOf(part));
      sampleOfMaximum[greatest.getSymbol().getValue()] = static_cast<int64_t>(std::min<uint64_t>(value, INT64_MAX));
    }
    return greatest;
  }

  void stack(const Stacking &stacking) {
    auto zero = DimAttr::constant(context(), 0);
    arenaSize = zero;
    llvm::BitVector isBelow(slots.size());
    for (unsigned slot : stacking.order) {
      SmallVector<DimAttr> tops;
      for (unsigned other : stacking.below[slot]) {
        tops.push_back(slots[other].offset + slots[other].size);
        isBelow.set(other);
      }
      slots[slot].offset = tops.empty() ? zero : nameGreatest(std::move(tops));
    }
    SmallVector<DimAttr> tops;
    llvm::SmallDenseSet<DimAttr> seen;
    for (unsigned slot : stacking.order)
      if (DimAttr top = slots[slot].offset + slots[slot].size; !isBelow[slot] && seen.insert(top).second)
        tops.push_back(top);
    if (!tops.empty())
      arenaSize = nameGreatest(std::move(tops));
  }

  /// The most that is live at once: at some slot's first position. Of very many such positions only those are counted
  /// that have most at a sample, and the bound stays one.
  void boundBelow() {
    constexpr size_t most = 16;
    llvm::SmallSetVector<unsigned, 32> chosen;
    auto isLiveAt = [&](unsigned slot, unsigned other) {
      return slots[other].lifetime.first <= slots[slot].lifetime.first &&
             slots[slot].lifetime.first <= slots[other].lifetime.last;
    };
    for (ArrayRef<uint64_t> bytes : sizes) {
      SmallVector<std::pair<uint64_t, unsigned>> live;
      for (unsigned slot = 0; slot < slots.size(); ++slot) {
        uint64_t sum = bytes[slot];
        for (unsigned other : conflicts[slot])
          if (isLiveAt(slot, other))
            sum = llvm::SaturatingAdd(sum, bytes[other]);
        live.push_back({UINT64_MAX - sum, slot});
      }
      llvm::sort(live);
      for (auto [rank, slot] : ArrayRef(live).take_front(most))
        chosen.insert(slot);
    }
    lowerBound = DimAttr::constant(context(), 0);
    for (unsigned slot : chosen) {
      DimAttr live = getKnownSize(slot);
      for (unsigned other : conflicts[slot])
        if (isLiveAt(slot, other))
          live = live + getKnownSize(other);
      if (!maxima.isAtMost(live, lowerBound))
        lowerBound = maxima.isAtMost(lowerBound, live) ? live : DimAttr::max(lowerBound, live);
    }
  }

  /// Before a run.
  DimAttr getKnownSize(unsigned slot) const {
    return isRead(slots[slot].size) ? DimAttr::constant(slots[slot].size.getContext(), 0) : slots[slot].size;
  }

  Value evaluate(DimAttr dim, OpBuilder &builder) {
    auto known = [&](DimAttr part) -> Value {
      if (Value value = values.lookup(part))
        return value;
      if (part.getKind() != DimKind::Symbol)
        return {};
      if (auto read = reads.find(part.getSymbol()); read != reads.end())
        return read->second.getResult();
      for (auto [index, name] : llvm::enumerate(program.getSymbols().getAsRange<StringAttr>()))
        if (name == part.getSymbol())
          return program.getBody().getArgument(index);
      Value greatest;
      for (DimAttr inner : maxima.getParts(part)) {
        Value value = evaluate(inner, builder);
        greatest = greatest ? vxrt::CalcOp::create(builder, program.getLoc(), builder.getI64Type(), vxrt::CalcKind::max,
                                                   greatest, value)
                                  .getResult()
                            : value;
      }
      values[part] = greatest;
      return greatest;
    };
    return emitExpression(builder, program.getLoc(), dim, known,
                          [&](DimAttr part, Value value) { values[part] = value; });
  }

  /// `dim` without names, where that is an expression that one can read.
  std::optional<DimAttr> writeOut(DimAttr dim, int &names) {
    constexpr int most = 8;
    bool fits = true;
    DimAttr written = dim.substitute([&](StringAttr name) -> DimAttr {
      DimAttr symbol = DimAttr::symbolNamed(name), greatest;
      for (DimAttr part : maxima.getParts(symbol)) {
        std::optional<DimAttr> inner = ++names <= most ? writeOut(part, names) : std::nullopt;
        fits &= inner.has_value();
        if (fits)
          greatest = greatest ? DimAttr::max(greatest, *inner) : *inner;
      }
      return fits ? greatest : DimAttr();
    });
    return fits ? std::optional(written) : std::nullopt;
  }

  void rewrite() {
    // Where it is a maximum of many, or an input's element decides it, the operand of vxrt.arena_reserve alone tells
    // how large the arena is.
    int names = 0;
    if (std::optional<DimAttr> written = writeOut(arenaSize, names); written && !isRead(*written))
      program->setAttr(vxrt::kArenaSizeAttr, *written);
    program->setAttr(vxrt::kArenaLowerBoundAttr, lowerBound);
    if (slots.empty())
      return;
    OpBuilder builder = getArenaBuilder();
    Value size = evaluate(arenaSize, builder);
    vxrt::ArenaReserveOp::create(builder, program.getLoc(), size);
    for (Slot &slot : slots) {
      if (slot.joined)
        placeParts(slot, builder);
      for (vxrt::AllocateOp buffer : slot.buffers) {
        Value offset = evaluate(slot.offset, builder);
        place(buffer, offset);
      }
    }
    for (vxrt::AllocateOp buffer : placed)
      buffer.erase();
  }

  void place(vxrt::AllocateOp buffer, Value offset) {
    OpBuilder at(buffer);
    replace(buffer, vxrt::ArenaSliceOp::create(at, buffer.getLoc(), buffer.getType(), offset, buffer.getSize()));
  }

  /// The op stays until all are placed: one whose size is a symbol may be the first of the program, before which the
  /// arena's expressions are inserted.
  void replace(vxrt::AllocateOp buffer, Value slice) {
    buffer.replaceAllUsesWith(slice);
    placed.push_back(buffer);
  }

  /// The whole buffer first, then each part as one of it. All sizes are numbers.
  void placeParts(Slot &slot, OpBuilder &builder) {
    auto sizeOf = [&](vxrt::AllocateOp buffer) { return evaluate(EntryExpressions().get(buffer.getSize()), builder); };
    vxrt::AllocateOp whole = slot.buffers.front();
    auto memory = vxrt::ArenaSliceOp::create(builder, whole.getLoc(), whole.getType(), evaluate(slot.offset, builder),
                                             sizeOf(whole));
    auto number = [&](int64_t value) { return evaluate(DimAttr::constant(context(), value), builder); };
    // The place of each; those of the parts and the copies together make the whole.
    vxrt::DispatchOp joined = slot.joined;
    for (auto [buffer, within] : slot.parts) {
      auto part =
          vxrt::SliceOp::create(builder, buffer.getLoc(), buffer.getType(), memory, number(within), sizeOf(buffer));
      replace(buffer, part);
    }
    OpBuilder at(joined);
    for (const PartCopy &copy : slot.copies) {
      Location location = joined.getLoc();
      Value part =
          vxrt::SliceOp::create(builder, location, whole.getType(), memory, number(copy.offset), number(copy.size));
      vxrt::CopyOp::create(at, location, joined.getInputs()[copy.operand], part, /*barrier=*/false);
    }
    joined.erase();
    replace(whole, memory);
    slot.buffers.erase(slot.buffers.begin());
  }

  vxrt::ProgramOp program;
  bool inPlace;
  Lifetimes lifetimes;
  NamedMaxima maxima;
  llvm::MapVector<StringAttr, vxrt::ReadInputOp> reads; // by the symbols that they give
  llvm::DenseSet<StringAttr> unbounded;                 // of these symbols
  SmallVector<vxrt::AllocateOp> placed;                 // and to be erased
  SmallVector<Slot> slots;
  llvm::DenseMap<Operation *, size_t> slotOf; // until slots are merged
  SmallVector<Sample> samples;
  SmallVector<SmallVector<uint64_t>> sizes;     // of each sample: bytes of each slot
  SmallVector<SmallVector<unsigned>> conflicts; // of each slot: those in use at the same time
  llvm::StringMap<int64_t> sampleOfMaximum;     // values at the last sample
  llvm::DenseMap<DimAttr, Value> values;
  DimAttr arenaSize, lowerBound;
};

struct PlanArenaPass : impl::PlanArenaPassBase<PlanArenaPass> {
  using PlanArenaPassBase::PlanArenaPassBase;
  void runOnOperation() override { ArenaPlanner(getOperation(), inPlace).run(); }
};

} // namespace
} // namespace vx
