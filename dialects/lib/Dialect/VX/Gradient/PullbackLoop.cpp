// The gradient of a loop: it keeps what each iteration began with, and a second loop goes back from the last one.
#include "Regions.h"
#include "Sequences.h"
#include "vx/Dialect/VX/Gradient/ReverseMode.h"
#include "vx/Dialect/VX/IR/Constraints.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace vx {

namespace {

/// The type of the tensors of a sequence that keeps one of each iteration: sizes that are no numbers are each tensor's
/// own.
TensorType getStackedType(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return RankedTensorType::get(tensor.getShape(), tensor.getElementType());
}

class LoopReverser {
public:
  LoopReverser(Pullback &p, LoopOp loop)
      : p(p), g(p.g), builder(p.g.builder), loop(loop), body(loop.getBody().front()),
        module(loop->getParentOfType<ModuleOp>()) {}

  void run() {
    findCaptured();
    SmallVector<unsigned> active = findActive();
    for (unsigned i = 0; i < loop.getNumResults(); ++i)
      if (Written row = findWritten(i); row.update)
        written.push_back(row);
      else if (llvm::is_contained(active, i))
        carried.push_back(i);
    if (!canComputeAnew(p))
      return;
    SmallVector<Value> gradients;
    for (unsigned i : carried)
      gradients.push_back(p.ofOrZeros(i));
    for (Written &row : written)
      row.gradient = p.of(row.number);
    saveArguments();
    reverseBody(gradients);
  }

private:
  /// The part of a captured tensor that an iteration reads, where it reads no other and no other iteration reads of
  /// this one: `slice` is a part of all places along `axis`.
  struct Row {
    SliceOp slice;
    int64_t axis = 0;
  };
  /// A carried tensor that nothing is done with but that each iteration writes a place of its own along `axis`, and all
  /// together every place.
  struct Written {
    UpdateSliceOp update;
    unsigned number = 0;
    int64_t axis = 0;
    DimAttr place;
    Value gradient; // of the whole tensor behind the loop
  };

  /// True where the loop's count says how many iterations there are, which `count` is then.
  bool runsAll(DimAttr &count) {
    auto goesOn =
        dyn_cast_or_null<IntegerAttr>(getSplatNumber(cast<YieldOp>(body.getTerminator()).getValues().front()));
    auto trips = loop.getTripCount() ? loop.getTripCount().getDefiningOp<DimValueOp>() : DimValueOp();
    if (!trips || loop.getCondition() || !goesOn || goesOn.getValue().isZero())
      return false;
    count = trips.getValue();
    return true;
  }

  /// The carried values that may have a gradient: what follows has one of them, or it comes from one that has.
  SmallVector<unsigned> findActive() {
    llvm::SmallSetVector<unsigned, 8> active;
    for (unsigned i = 0; i < loop.getNumResults(); ++i)
      if (isDifferentiable(loop.getInits()[i].getType()) && p.of(i))
        active.insert(i);
    auto yield = cast<YieldOp>(body.getTerminator());
    llvm::DenseSet<Value> seen;
    for (size_t next = 0; next < active.size(); ++next) {
      SmallVector<Value> work = {yield.getValues()[active[next] + 1]};
      while (!work.empty()) {
        Value value = work.pop_back_val();
        if (!isDifferentiable(value.getType()) || !seen.insert(value).second)
          continue;
        if (auto argument = dyn_cast<BlockArgument>(value); argument && argument.getOwner() == &body)
          active.insert(argument.getArgNumber());
        else if (Operation *op = value.getDefiningOp(); op && op->getBlock() == &body)
          visitReads(op, [&](Value read) { work.push_back(read); });
      }
    }
    SmallVector<unsigned> sorted(active.begin(), active.end());
    llvm::sort(sorted);
    return sorted;
  }

  Written findWritten(unsigned number) {
    Value before = body.getArgument(number);
    DimAttr count;
    if (!before.hasOneUse() || !isDifferentiable(before.getType()) || !runsAll(count))
      return {};
    auto update = dyn_cast<UpdateSliceOp>(*before.user_begin());
    if (!update || update->getBlock() != &body || update.getInput() != before || update.getAxes().size() != 1)
      return {};
    auto yield = cast<YieldOp>(body.getTerminator());
    if (!update.getResult().hasOneUse() || yield.getValues()[number + 1] != update.getResult())
      return {};
    int64_t axis = update.getAxes().front();
    SmallVector<DimAttr> dims = getDims(update.getInput().getType()), sizes = getDims(update.getUpdates().getType());
    if (!sizes[axis] || sizes[axis].asConstant() != 1 || dims[axis] != count)
      return {};
    sizes[axis] = dims[axis];
    if (sizes != dims || llvm::is_contained(dims, DimAttr()))
      return {};
    Value start = update.getStarts();
    while (Operation *op = start.getDefiningOp()) {
      if (!isa<ReshapeOp, BroadcastOp>(op))
        break;
      start = op->getOperand(0);
    }
    auto place = start.getDefiningOp<DimValueOp>();
    auto iteration = DimAttr::symbolNamed(loop.getIterationAttr());
    if (!place || (place.getValue() != iteration && place.getValue() != count - iteration + (-1)))
      return {};
    return {update, number, axis, place.getValue(), Value()};
  }

  /// Tensors that the body reads in another shape are captured in that one.
  void findCaptured() {
    for (Value value : findWantedCaptures(p)) {
      for (Operation *user : llvm::to_vector(value.getUsers()))
        if (auto view = dyn_cast<ReshapeOp>(user);
            view && view->getBlock() == &body && isKnownOutside(view.getResult().getType())) {
          view->moveBefore(loop);
          captured.push_back(view);
          bases.push_back(value);
        }
      if (llvm::any_of(value.getUsers(), [&](Operation *user) { return loop->isProperAncestor(user); })) {
        captured.push_back(value);
        bases.push_back(value);
      }
    }
    for (Value value : captured)
      rows.push_back(findRow(value));
  }

  bool isKnownOutside(RankedTensorType type) {
    return llvm::all_of(getDims(type), [&](DimAttr dim) { return dim && isFixed(dim); });
  }
  /// True for what is the same in each iteration, as far as its symbols tell.
  bool isFixed(DimAttr dim) {
    SymbolRanges ranges(module);
    llvm::SetVector<StringAttr> symbols;
    dim.collectSymbols(symbols);
    return llvm::none_of(symbols, [&](StringAttr name) { return ranges.isDataDependent(name); });
  }

  /// Several slices of one part are made slices of the whole part.
  Row findRow(Value value) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (!type || llvm::is_contained(getDims(type), DimAttr()))
      return {};
    SmallVector<SliceOp> slices;
    for (Operation *user : value.getUsers())
      if (loop->isProperAncestor(user)) {
        if (user->getBlock() != &body || !isa<SliceOp>(user))
          return {};
        slices.push_back(cast<SliceOp>(user));
      }
    SmallVector<DimAttr> sizes = getDims(type), starts(sizes.size(), g.dim(0));
    SmallVector<DimAttr> firstStarts(slices.front().getStarts().getAsRange<DimAttr>());
    SmallVector<DimAttr> firstSizes = getDims(slices.front().getResult().getType());
    std::optional<int64_t> axis;
    for (auto [d, start, size] : llvm::enumerate(firstStarts, firstSizes))
      if (!axis && !isFixed(start) && differsEachIteration(start, size)) {
        axis = d;
        starts[d] = start;
        sizes[d] = size;
      }
    if (!axis || !llvm::all_of(slices, [&](SliceOp slice) {
          return slice.getStarts()[*axis] == starts[*axis] && slice.getStrides()[*axis] == 1 &&
                 getDims(slice.getResult().getType())[*axis] == sizes[*axis];
        }))
      return {};
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&body);
    SmallVector<int64_t> steps(sizes.size(), 1);
    auto row = g.slice(value, starts, sizes, steps).getDefiningOp<SliceOp>();
    if (!row)
      return {};
    for (SliceOp slice : slices) {
      SmallVector<DimAttr> inner(slice.getStarts().getAsRange<DimAttr>());
      inner[*axis] = g.dim(0);
      builder.setInsertionPoint(slice);
      slice.replaceAllUsesWith(g.slice(row, inner, getDims(slice.getResult().getType()), slice.getStrides()));
      slice.erase();
    }
    return {row, *axis};
  }

  /// True for where a part of `size` places begins that lies beside those of the other iterations: they are counted
  /// from the first or from the last.
  bool differsEachIteration(DimAttr start, DimAttr size) {
    DimAttr distance = size * DimAttr::symbolNamed(loop.getIterationAttr());
    return isFixed(size) && (isFixed(start - distance) || isFixed(start + distance));
  }

  /// True for a tensor of which the reverse may read what an iteration began with.
  bool isKept(unsigned number) {
    return isa<RankedTensorType>(body.getArgument(number).getType()) &&
           llvm::none_of(written, [&](const Written &row) { return row.number == number; });
  }

  /// Replaces the loop by one that keeps the tensors that each iteration began with.
  void saveArguments() {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(loop);
    SmallVector<Value> inits(loop.getInits());
    SmallVector<Type> types(loop.getResultTypes());
    for (BlockArgument argument : body.getArguments()) {
      if (!isKept(argument.getArgNumber()))
        continue;
      auto type = SequenceType::get(g.context, getStackedType(argument.getType()));
      inits.push_back(SequenceConstructOp::create(builder, loop.getLoc(), type, ValueRange()));
      types.push_back(type);
    }
    auto longer = LoopOp::create(builder, loop.getLoc(), types, loop.getTripCount(), loop.getCondition(), inits,
                                 loop.getIterationAttr(), loop.getCommitsAttr());
    longer.getBody().takeBody(loop.getBody());
    Block &block = longer.getBody().front();
    numArguments = block.getNumArguments();
    auto yield = cast<YieldOp>(block.getTerminator());
    builder.setInsertionPointToStart(&block);
    for (unsigned i = 0, next = numArguments; i < numArguments; ++i) {
      if (!isKept(i))
        continue;
      Value stack = block.addArgument(types[next++], loop.getLoc());
      yield.getValuesMutable().append(
          SequenceInsertOp::create(builder, loop.getLoc(), stack.getType(), stack, block.getArgument(i), Value())
              .getResult());
    }
    for (auto [before, after] : llvm::zip(loop.getResults(), longer.getResults()))
      p.reverse.replace(before, after);
    stacks.assign(longer.getResults().begin() + numArguments, longer.getResults().end());
    LoopOp old = loop;
    loop = longer;
    p.op = longer;
    old.erase();
  }

  /// What the loop's own symbols are in the copy: the sizes that each iteration finds anew, and the place of the
  /// iteration counted from the end.
  void bindSymbols(DimAttr executed, DimAttr iteration, SymbolMap &symbols) {
    SymbolRanges ranges(module);
    llvm::StringMap<Operation *> binders = findSymbolBinders(loop->getParentOfType<func::FuncOp>(), ranges);
    SmallVector<StringAttr> names;
    for (auto &[name, op] : binders)
      if (op == loop && name != loop.getIteration())
        names.push_back(StringAttr::get(g.context, name));
    llvm::sort(names, [](StringAttr a, StringAttr b) { return a.getValue() < b.getValue(); });
    declareAnew(module, names, symbols);
    symbols[loop.getIterationAttr()] = executed - iteration + (-1);
  }

  Type rename(Type type, const SymbolMap &symbols) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor)
      return type;
    SmallVector<DimAttr> dims;
    for (DimAttr dim : getDims(tensor))
      dims.push_back(dim ? dim.substitute([&](StringAttr name) { return symbols.lookup(name); }) : dim);
    return getTensorType(dims, tensor.getElementType());
  }

  /// The number of iterations that there were, and its value: the count of a loop that does them all, or that carries
  /// sequences only; else a stack's length.
  DimAttr makeExecuted(Value &value) {
    DimAttr count;
    if (runsAll(count)) {
      value = loop.getTripCount();
      return count;
    }
    value = stacks.empty() ? loop.getTripCount()
                           : SequenceLengthOp::create(builder, g.location, stacks.front()).getResult();
    DimAttr executed = declareDataDependent(module, "executed");
    BindSymbolOp::create(builder, g.location, value, executed.asSymbol());
    return executed;
  }

  void reverseBody(ArrayRef<Value> gradients) {
    Value length;
    DimAttr executed = makeExecuted(length), iteration = declareDataDependent(module, "iteration");
    // The sizes of the carried gradients are bound by the loop, of each iteration and of the last; those of the copies
    // where they are taken.
    SymbolMap ofGradients, ofResults, ofCopies;
    bindSymbols(executed, iteration, ofGradients);
    bindSymbols(executed, iteration, ofResults);
    bindSymbols(executed, iteration, ofCopies);

    SmallVector<Value> inits(gradients);
    SmallVector<Type> argumentTypes, resultTypes;
    for (unsigned i : carried) {
      Type argument = loop.getBody().front().getArgument(i).getType();
      argumentTypes.push_back(rename(argument, ofGradients));
      resultTypes.push_back(rename(argument, ofResults));
    }
    for (Value value : captured) {
      Value zeros = makeZeros(g, value);
      if (!zeros)
        return p.refuse("the tensors of a sequence differ in rank");
      inits.push_back(zeros);
      argumentTypes.push_back(value.getType());
      resultTypes.push_back(value.getType());
    }
    auto reverse = LoopOp::create(builder, g.location, resultTypes, length, Value(), inits, iteration.asSymbol(),
                                  /*commits=*/false);
    {
      OpBuilder::InsertionGuard guard(builder);
      SmallVector<Location> locations(argumentTypes.size(), g.location);
      Block *block = builder.createBlock(&reverse.getBody(), {}, argumentTypes, locations);
      fillBody(*block, executed, iteration, ofCopies);
    }
    for (auto [place, i] : llvm::enumerate(carried))
      p.give(loop.getInits()[i], reverse.getResult(place));
    for (auto [place, base] : llvm::enumerate(bases)) {
      Value gradient = reverse.getResult(carried.size() + place);
      if (base != captured[place])
        gradient = g.reshape(gradient, getDims(g.typeOf(base)));
      p.give(base, gradient);
    }
  }

  void fillBody(Block &block, DimAttr executed, DimAttr iteration, SymbolMap &symbols) {
    Block &forward = loop.getBody().front();
    Value position = g.emitDim(executed - iteration + (-1), builder.getI64Type());
    IRMapping mapping;
    SmallVector<Value> sequences;
    for (unsigned i = 0, next = 0; i < numArguments; ++i) {
      Type type = forward.getArgument(i).getType();
      Value copy;
      if (isKept(i)) {
        copy = SequenceAtOp::create(builder, g.location, rename(type, symbols), stacks[next++], position);
      } else if (isa<RankedTensorType>(type)) {
        copy = loop.getInits()[i]; // the places that are written are read by nothing
      } else {
        // Stands for a sequence of which nothing was kept; what is only put into it needs nothing of it.
        copy = SequenceConstructOp::create(builder, g.location, type, ValueRange());
        sequences.push_back(copy);
      }
      mapping.map(forward.getArgument(i), copy);
    }
    SmallVector<Operation *> ops;
    SmallVector<Value> yielded = cloneRegion(p, loop.getBody(), mapping, symbols, ops);
    SmallVector<Value> wanted;
    for (auto [value, row] : llvm::zip(captured, rows))
      wanted.push_back(row.slice ? mapping.lookup(row.slice.getResult()) : value);
    for (unsigned i : carried)
      wanted.push_back(mapping.lookup(forward.getArgument(i)));
    ReverseMode inner(builder, wanted);
    for (auto [place, i] : llvm::enumerate(carried))
      inner.add(g, yielded[i + 1], block.getArgument(place));
    for (Written &row : written)
      if (row.gradient) {
        Value updates = mapping.lookupOrDefault(row.update.getUpdates());
        SmallVector<DimAttr> sizes = getDims(g.typeOf(updates)), starts(sizes.size(), g.dim(0));
        starts[row.axis] = row.place.substitute([&](StringAttr name) { return symbols.lookup(name); });
        inner.add(g, updates, g.slice(row.gradient, starts, sizes, SmallVector<int64_t>(sizes.size(), 1)));
      }
    if (failed(inner.run(ops)))
      p.reverse.fail();
    SmallVector<Value> results = {g.emitScalar(1, builder.getI1Type())};
    for (unsigned i : carried)
      results.push_back(inner.getOrZeros(g, mapping.lookup(forward.getArgument(i))));
    for (auto [place, value] : llvm::enumerate(captured)) {
      Value sum = block.getArgument(carried.size() + place), more = inner.get(wanted[place]);
      if (rows[place].slice) {
        // What no other iteration adds to is written.
        auto slice = cast<SliceOp>(wanted[place].getDefiningOp());
        Value start =
            g.reshape(g.emitDim(cast<DimAttr>(slice.getStarts()[rows[place].axis]), builder.getI64Type()), g.dim(1));
        results.push_back(more ? g.emit<UpdateSliceOp>(sum, start, more, rows[place].axis) : sum);
        continue;
      }
      ReverseMode adder(builder, {});
      adder.add(g, value, sum);
      adder.add(g, value, more);
      results.push_back(adder.get(value));
    }
    YieldOp::create(builder, g.location, results);
    llvm::SmallVector<Operation *> standIns;
    for (Value sequence : sequences)
      standIns.push_back(sequence.getDefiningOp());
    dropUnread(block, standIns);
    for (Operation *op : standIns) {
      if (op->use_empty())
        op->erase();
      else
        p.refuse("it reads a sequence that it carries");
    }
  }

  Pullback &p;
  GraphBuilder &g;
  OpBuilder &builder;
  LoopOp loop;
  Block &body;
  ModuleOp module;
  SmallVector<Value> captured, stacks;
  SmallVector<Value> bases; // which `captured` are, each in another shape or not
  SmallVector<Row> rows;    // of `captured`, null for what is read otherwise
  SmallVector<unsigned> carried;
  SmallVector<Written> written;
  unsigned numArguments = 0; // of the loop as it was
};

} // namespace

void LoopOp::buildPullback(Pullback &p) { LoopReverser(p, *this).run(); }

} // namespace vx
