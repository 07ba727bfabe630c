#include "vx/Analysis/RowIndependence.h"

#include "vx/Analysis/ParallelDims.h"
#include "vx/Dialect/VX/IR/Constraints.h"
#include "vx/Dialect/VX/IR/SourceLocation.h"

#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace vx {

namespace {

/// What is known of a value.
struct Flow {
  enum Kind {
    Unseen, // no value has come this way yet
    Same,   // the same for all rows; nothing of it names their number
    Rows, // dimension `dim` holds for each row `inner` elements, one row behind another, and that once or several times
    Joined // anything may depend on any row, `reason` says why
  } kind = Unseen;
  int64_t dim = 0;
  DimAttr inner;
  bool isRepeated = false; // all that dimension `dim` holds is equal, so that any number of elements belongs to a row
  /// An element of row i is i * `step` + v, with v of that row and in [0, `below`): where its row begins in a
  /// dimension, or behind. Null ones are not known.
  bool isPlace = false;
  DimAttr step, below;
  StringRef reason;

  bool operator==(const Flow &) const = default;
};

/// Follows the rows of one symbol through a function.
class RowFlow {
public:
  /// `equal` has the symbols that are `rows` by another name.
  RowFlow(func::FuncOp function, const SymbolRanges &ranges, StringAttr rows, const llvm::StringSet<> &equal)
      : function(function), ranges(ranges), binders(findSymbolBinders(function, ranges)),
        rows(DimAttr::symbolNamed(rows)), equal(equal) {}

  /// An entry of kBatchAttr's `outputs` for each.
  SmallVector<std::string> run() {
    SmallVector<std::string> outputs;
    auto terminator = cast<func::ReturnOp>(function.getBody().front().getTerminator());
    if (std::string reason = findReason(); !reason.empty()) {
      outputs.assign(terminator->getNumOperands(), reason);
      return outputs;
    }
    // Sizes that depend on rows are found on the way, and what was concluded before without them is found anew.
    for (size_t known = ~size_t(0); known != joinedSymbols.size();) {
      known = joinedSymbols.size();
      flows.clear();
      for (BlockArgument argument : function.getArguments())
        flows[argument] = isJoined(argument) ? makeRows(0, one()) : makeSame();
      visit(function.getBody().front());
    }
    for (Value value : terminator->getOperands())
      outputs.push_back(describe(value));
    return outputs;
  }

  /// True for an input of which each row of a call is one.
  bool isJoined(BlockArgument argument) { return dimsOf(argument.getType()).size() > 0 && dimOf(argument, 0) == rows; }

private:
  // --- Sizes

  DimAttr one() { return DimAttr::constant(function.getContext(), 1); }

  /// With one name for the number of rows.
  DimAttr normalise(DimAttr dim) {
    if (!dim || equal.empty())
      return dim;
    return dim.substitute([&](StringAttr symbol) { return equal.contains(symbol) ? rows : DimAttr(); });
  }

  SmallVector<DimAttr> dimsOf(Type type) {
    SmallVector<DimAttr> dims;
    if (auto tensor = dyn_cast<RankedTensorType>(type))
      for (DimAttr dim : getDims(tensor))
        dims.push_back(normalise(dim));
    return dims;
  }
  DimAttr dimOf(Value value, int64_t dim) { return normalise(getDim(typeOf(value), dim)); }

  bool names(DimAttr dim, llvm::function_ref<bool(StringAttr)> symbol) {
    llvm::SetVector<StringAttr> symbols;
    dim.collectSymbols(symbols);
    return llvm::any_of(symbols, symbol);
  }
  /// True for a size that depends on rows or their number.
  bool isOfRows(DimAttr dim) {
    return dim && names(normalise(dim), [&](StringAttr symbol) {
             return symbol == rows.asSymbol() || joinedSymbols.contains(symbol.getValue());
           });
  }
  bool isOfRows(Type type) {
    bool found = false;
    type.walk([&](DimAttr dim) { found |= isOfRows(dim); });
    return found;
  }
  /// dividend / divisor, null where that is no polynomial without a rest.
  static DimAttr divide(DimAttr dividend, DimAttr divisor) {
    DimAttr quotient = DimAttr::floorDiv(dividend, divisor);
    return quotient * divisor == dividend ? quotient : DimAttr();
  }
  DimAttr productOf(ArrayRef<DimAttr> dims) {
    DimAttr product = one();
    for (DimAttr dim : dims)
      product = product * dim;
    return product;
  }

  // --- Flows

  static Flow makeSame() {
    Flow flow;
    flow.kind = Flow::Same;
    return flow;
  }
  static Flow makeRows(int64_t dim, DimAttr inner, bool isRepeated = false) {
    Flow flow;
    flow.kind = Flow::Rows;
    flow.dim = dim;
    flow.inner = inner;
    flow.isRepeated = isRepeated;
    return flow;
  }

  Flow join(Location location, const Twine &what) {
    Flow flow;
    flow.kind = Flow::Joined;
    flow.reason = reasons.insert(describeSource(location) + ": " + what.str()).first->getKey();
    return flow;
  }
  Flow joinByPlace(Location location) { return join(location, "depends on the place of a row among the others"); }

  /// How often all rows lie in `dim` of a value one after another, null where they do not, or where another dimension
  /// depends on rows, too.
  DimAttr findOuter(Type type, const Flow &flow) {
    SmallVector<DimAttr> dims = dimsOf(type);
    for (auto [d, dim] : llvm::enumerate(dims))
      if (!dim || (int64_t(d) != flow.dim && isOfRows(dim)))
        return {};
    if (flow.dim >= int64_t(dims.size()) || isOfRows(flow.inner))
      return {};
    DimAttr outer = divide(dims[flow.dim], rows * flow.inner);
    return outer && !isOfRows(outer) ? outer : DimAttr();
  }

  /// `flow` for a value of this type, which is to be what it says.
  Flow conform(Location location, Type type, Flow flow) {
    if (flow.kind == Flow::Same && isOfRows(type))
      return join(location, "has a size that depends on the rows");
    if (flow.kind == Flow::Rows && !findOuter(type, flow))
      return join(location, "has rows in more than one dimension, or in parts of one");
    return flow;
  }

  /// What is known of a value that is one or the other.
  Flow merge(Location location, Flow lhs, Flow rhs) {
    if (lhs.kind == Flow::Unseen || rhs.kind == Flow::Joined)
      return rhs;
    if (rhs.kind == Flow::Unseen || lhs.kind == Flow::Joined || lhs == rhs)
      return lhs;
    if (lhs.kind == Flow::Rows && rhs.kind == Flow::Rows && lhs.dim == rhs.dim && (lhs.isRepeated || rhs.isRepeated))
      return lhs.isRepeated ? rhs : lhs;
    return join(location, "is rows in one case and something else in another");
  }

  void set(Value value, Flow flow) {
    flow = conform(value.getLoc(), value.getType(), flow);
    flows[value] = flow;
    // What binds sizes of a value that depends on all rows binds them to what does.
    if (flow.kind != Flow::Joined)
      return;
    Operation *op = value.getDefiningOp();
    if (auto argument = dyn_cast<BlockArgument>(value))
      op = argument.getOwner()->getParentOp();
    value.getType().walk([&](DimAttr dim) {
      names(dim, [&](StringAttr symbol) {
        if (ranges.isDataDependent(symbol) && binders.lookup(symbol.getValue()) == op)
          joinedSymbols.insert(symbol.getValue());
        return false;
      });
    });
  }

  // --- Ops

  void visit(Block &block) {
    for (Operation &op : block) {
      if (auto loop = dyn_cast<LoopOp>(op))
        visitLoop(loop);
      else if (auto branch = dyn_cast<IfOp>(op))
        visitIf(branch);
      else if (auto bind = dyn_cast<BindSymbolOp>(op)) {
        if (flows.lookup(bind.getValue()).kind != Flow::Same)
          joinedSymbols.insert(bind.getSymbol());
      } else {
        for (OpResult result : op.getResults())
          set(result, follow(result));
      }
    }
  }

  Flow follow(OpResult result) {
    Operation *op = result.getOwner();
    if (getSplatNumber(result))
      return followEqual(result);
    for (Value operand : op->getOperands()) {
      Flow flow = flows.lookup(operand);
      if (flow.kind == Flow::Joined)
        return flow;
      if (flow.kind == Flow::Unseen)
        return join(op->getLoc(), "is nothing that rows are followed through");
    }
    bool countsRows = false;
    op->getAttrDictionary().walk([&](DimAttr dim) { countsRows |= isOfRows(dim); });
    if (countsRows)
      return join(op->getLoc(), "computes with the number of rows");
    if (auto reshape = dyn_cast<ReshapeOp>(op))
      return followReshape(reshape);
    if (auto gather = dyn_cast<GatherOp>(op); gather && flows.lookup(gather.getIndices()).isPlace)
      return followPlaces(gather);
    bool isSame =
        llvm::all_of(op->getOperands(), [&](Value operand) { return flows.lookup(operand).kind == Flow::Same; });
    if (isSame)
      return followSame(result);
    auto isTensor = [](Type type) { return isa<RankedTensorType>(type); };
    if (op->getNumRegions() > 0 || !llvm::all_of(op->getOperandTypes(), isTensor) || !isTensor(result.getType()))
      return join(op->getLoc(), "is nothing that rows are followed through");
    return followParallel(result);
  }

  /// All elements are equal.
  Flow followEqual(OpResult result) {
    if (!isOfRows(result.getType()))
      return makeSame();
    for (auto [d, dim] : llvm::enumerate(dimsOf(result.getType())))
      if (DimAttr inner = isOfRows(dim) ? divide(dim, rows) : DimAttr())
        return makeRows(d, inner, /*isRepeated=*/true);
    return join(result.getLoc(), "has a size that depends on the rows");
  }

  /// No operand has rows.
  Flow followSame(OpResult result) {
    for (auto [d, dim] : llvm::enumerate(dimsOf(result.getType()))) {
      if (!isOfRows(dim) || repeatsAlong(result, d))
        continue;
      DimAttr inner = divide(dim, rows);
      if (!inner || !isa<IotaOp>(result.getOwner()) || !typeOf(result).getElementType().isInteger())
        return joinByPlace(result.getLoc());
      // The numbers of elements, which are where rows begin, and what lies behind.
      Flow flow = makeRows(d, inner);
      flow.isPlace = true;
      flow.step = flow.below = inner;
      return flow;
    }
    return followEqual(result);
  }

  /// Each operand that has rows has them along a dimension that the op goes along together with one of the result.
  Flow followParallel(OpResult result) {
    Operation *op = result.getOwner();
    Flow found;
    for (OpOperand &operand : op->getOpOperands()) {
      Flow flow = flows.lookup(operand.get());
      if (flow.kind != Flow::Rows)
        continue;
      int64_t to = getParallelDims(operand, result)[flow.dim];
      if (to < 0 || dimOf(operand.get(), flow.dim) != dimOf(result, to))
        return join(op->getLoc(), "needs more than its own row along dimension " + Twine(flow.dim) + " of " +
                                      typeText(operand.get()));
      flow.dim = to;
      if (found.kind == Flow::Rows && found.dim == to && !found.isRepeated && !flow.isRepeated &&
          found.inner != flow.inner)
        return join(op->getLoc(), "takes rows of different numbers of elements together");
      if (found.kind == Flow::Rows && found.dim != to)
        return join(op->getLoc(), "takes each row together with all rows");
      if (found.kind == Flow::Unseen || found.isRepeated)
        found = flow;
    }
    auto isPlace = [&](Value operand) { return flows.lookup(operand).isPlace; };
    if (llvm::any_of(op->getOperands(), isPlace) && !followPlace(op, found))
      return joinByPlace(op->getLoc());
    // What is no row is read at the same place for all.
    for (OpOperand &operand : op->getOpOperands())
      if (flows.lookup(operand.get()).kind == Flow::Same &&
          llvm::is_contained(getParallelDims(operand, result), found.dim))
        return join(op->getLoc(), "takes each row together with its place in " + typeText(operand.get()));
    return found;
  }

  /// A number that is known as the size of something.
  DimAttr findNumber(Value value) {
    if (auto number = dyn_cast_or_null<IntegerAttr>(getSplatNumber(value));
        number && number.getValue().getSignificantBits() <= 32)
      return DimAttr::constant(value.getContext(), number.getValue().getSExtValue());
    Operation *op = value.getDefiningOp();
    if (auto size = dyn_cast_or_null<DimValueOp>(op))
      return normalise(size.getValue());
    return isa_and_present<BroadcastOp, ReshapeOp>(op) || isWidening(op) ? findNumber(op->getOperand(0)) : DimAttr();
  }

  static bool isWidening(Operation *op) {
    auto cast = dyn_cast_or_null<CastOp>(op);
    Type from = cast ? getElementTypeOrSelf(cast.getInput().getType()) : Type();
    Type to = cast ? getElementTypeOrSelf(cast.getResult().getType()) : Type();
    return cast && from.isInteger() && to.isInteger() && !from.isInteger(1) &&
           from.getIntOrFloatBitWidth() <= to.getIntOrFloatBitWidth() &&
           from.isUnsignedInteger() == to.isUnsignedInteger();
  }

  /// A size that all elements are below, where none is negative.
  DimAttr findBelow(Value value) {
    if (DimAttr number = findNumber(value))
      return number.asConstant().value_or(0) >= 0 ? number + 1 : DimAttr();
    Operation *op = value.getDefiningOp();
    if (auto iota = dyn_cast_or_null<IotaOp>(op); iota && typeOf(value).getElementType().isInteger())
      return dimOf(value, iota.getAxis());
    if (auto check = dyn_cast_or_null<CheckIndicesOp>(op); check && check.getSizes().size() == 1)
      return normalise(cast<DimAttr>(check.getSizes()[0]));
    bool isMoved = isa_and_present<BroadcastOp, ReshapeOp, TransposeOp, SliceOp>(op) || isWidening(op);
    return isMoved ? findBelow(op->getOperand(0)) : DimAttr();
  }

  /// Some operands are places; says what the result is. False where it may be more than another place.
  bool followPlace(Operation *op, Flow &found) {
    found.isPlace = true;
    found.step = found.below = {};
    auto get = [&](unsigned i) {
      Flow flow = flows.lookup(op->getOperand(i));
      if (!flow.isPlace) {
        flow.step = DimAttr::constant(op->getContext(), 0);
        flow.below = findBelow(op->getOperand(i));
      }
      return flow;
    };
    Flow lhs = get(0);
    if (isa<BroadcastOp, TransposeOp, SliceOp>(op) || isWidening(op)) {
      found.step = lhs.step;
      found.below = lhs.below;
      return true;
    }
    if (isa<ConcatOp>(op)) // `followPlaces` looks at the operands
      return true;
    if (!isa<AddOp, MulOp>(op) || !lhs.step || !lhs.below)
      return false;
    Flow rhs = get(1);
    if (!rhs.step || !rhs.below)
      return false;
    if (isa<AddOp>(op)) {
      found.step = lhs.step + rhs.step;
      found.below = lhs.below + rhs.below + -1;
      return true;
    }
    DimAttr times = findNumber(op->getOperand(lhs.isPlace ? 1 : 0));
    if (!times || times.asConstant().value_or(0) < 0)
      return false;
    const Flow &place = lhs.isPlace ? lhs : rhs;
    found.step = place.step * times;
    found.below = (place.below + -1) * times + 1;
    return true;
  }

  /// Rows that each picks from its own by its number.
  Flow followPlaces(GatherOp op) {
    Flow from = flows.lookup(op.getInput()), index = flows.lookup(op.getIndices()), own = index;
    int64_t member = from.dim - op.getAxis(), members = op.getMembers().value_or(1);
    if (from.kind != Flow::Rows || from.isPlace || member < 0 || member >= members ||
        findOuter(op.getInput().getType(), from) != one())
      return joinByPlace(op.getLoc());
    if (members > 1) {
      auto tuples = op.getIndices().getDefiningOp<ConcatOp>();
      if (!tuples || int64_t(tuples.getAxis()) != op.getIndices().getType().getRank() - 1)
        return joinByPlace(op.getLoc());
      own = {};
      int64_t first = 0;
      for (Value column : tuples.getInputs()) {
        int64_t count = typeOf(column).getShape().back();
        if (first == member && count == 1)
          own = flows.lookup(column);
        else if (flows.lookup(column).isPlace || count < 0)
          return joinByPlace(op.getLoc());
        first += count;
      }
    }
    int64_t to = op.getAxis() + index.dim;
    if (!own.isPlace || own.step != from.inner || !own.below || !own.below.isAtMost(from.inner) ||
        dimOf(op.getIndices(), index.dim) != dimOf(op.getResult(), to))
      return joinByPlace(op.getLoc());
    return makeRows(to, index.inner);
  }

  std::string typeText(Value value) {
    std::string text;
    for (DimAttr dim : getDims(typeOf(value)))
      text += (text.empty() ? "" : ",") + (dim ? dim.str() : "?");
    return "[" + text + "]";
  }

  /// Elements stay in their order: so many lie before, within and behind the rows, in the dimensions of both shapes.
  Flow followReshape(ReshapeOp op) {
    Flow flow = flows.lookup(op.getInput());
    if (flow.kind != Flow::Rows)
      return followSame(op->getResult(0));
    SmallVector<DimAttr> from = dimsOf(op.getInput().getType()), to = dimsOf(op.getResult().getType());
    auto cannot = [&] {
      return join(op.getLoc(), "moves rows to where they are no dimension, from " + typeText(op.getInput()) + " to " +
                                   typeText(op.getResult()));
    };
    auto place = llvm::find_if(to, [&](DimAttr dim) { return isOfRows(dim); });
    if (place == to.end() || llvm::is_contained(to, DimAttr()))
      return cannot();
    int64_t dim = place - to.begin();
    auto before = [&](ArrayRef<DimAttr> dims, int64_t d) { return productOf(dims.take_front(d)); };
    auto behind = [&](ArrayRef<DimAttr> dims, int64_t d) { return productOf(dims.drop_front(d + 1)); };
    if (flow.isRepeated && before(from, flow.dim) == before(to, dim) && behind(from, flow.dim) == behind(to, dim) &&
        from[flow.dim] == to[dim])
      return makeRows(dim, flow.inner, /*isRepeated=*/true);
    DimAttr outer = findOuter(op.getInput().getType(), flow);
    DimAttr newOuter = divide(before(from, flow.dim) * outer, before(to, dim));
    DimAttr newInner = divide(behind(from, flow.dim) * flow.inner, behind(to, dim));
    if (!newOuter || !newInner || newOuter * rows * newInner != to[dim])
      return cannot();
    flow.dim = dim;
    flow.inner = newInner;
    flow.isRepeated = false;
    return flow;
  }

  void visitIf(IfOp op) {
    for (Region &region : op->getRegions())
      visit(region.front());
    for (auto [i, result] : llvm::enumerate(op.getResults())) {
      Flow flow;
      if (flows.lookup(op.getCondition()).kind == Flow::Same)
        for (Region &region : op->getRegions())
          flow = merge(op.getLoc(), flow, passOn(region.front().getTerminator()->getOperand(i), result));
      else
        flow = join(op.getLoc(), "depends on the rows which of its branches is taken");
      set(result, flow);
    }
  }

  /// What a value is where it comes out as `to`, whose type may say less of its sizes.
  Flow passOn(Value value, Value to) {
    Flow flow = flows.lookup(value);
    if (flow.kind == Flow::Rows && dimOf(value, flow.dim) != dimOf(to, flow.dim))
      return join(to.getLoc(), "does not say that it has as many rows as go in");
    return flow;
  }

  void visitLoop(LoopOp op) {
    Block &body = op.getBody().front();
    Operation *yield = body.getTerminator();
    for (auto [init, argument] : llvm::zip(op.getInits(), body.getArguments()))
      set(argument, passOn(init, argument));
    for (bool changes = true; changes;) {
      visit(body);
      changes = false;
      for (auto [value, argument] : llvm::zip(yield->getOperands().drop_front(), body.getArguments())) {
        Flow before = flows.lookup(argument);
        set(argument, merge(op.getLoc(), before, passOn(value, argument)));
        changes |= !(flows.lookup(argument) == before);
      }
    }
    Flow control = flows.lookup(yield->getOperand(0));
    for (Value value : {op.getTripCount(), op.getCondition()})
      if (value)
        control = merge(op.getLoc(), control, flows.lookup(value));
    if (control.kind != Flow::Same)
      control = join(op.getLoc(), "depends on the rows how often it is run");
    for (auto [i, result] : llvm::enumerate(op.getResults()))
      set(result, control.kind == Flow::Joined ? control : passOn(body.getArgument(i), result));
  }

  // --- The function

  /// Why no call can be joined at all; empty: none known.
  std::string findReason() {
    for (auto [i, argument] : llvm::enumerate(function.getArguments())) {
      SmallVector<DimAttr> dims = dimsOf(argument.getType());
      if (isJoined(argument) ? llvm::any_of(ArrayRef(dims).drop_front(), [&](DimAttr dim) { return isOfRows(dim); })
                             : isOfRows(argument.getType())) {
        auto name = function.getArgAttrOfType<StringAttr>(i, "vx.name");
        return "input '" + (name ? name.str() : std::to_string(i)) + "' has '" + rows.str() +
               "' in another place than as the size of its first dimension";
      }
    }
    std::string reason;
    function.walk([&](Operation *op) {
      if (auto store = dyn_cast<VariableStoreOp>(op))
        reason = describeSource(op->getLoc()) + ": stores variable '" + store.getVariable().str() + "'";
      auto constraint = dyn_cast<ConstraintOp>(op);
      if (constraint && (isOfRows(constraint.getLhs()) || isOfRows(constraint.getRhs())) &&
          (constraint.getKind() != ConstraintKind::equal ||
           normalise(constraint.getLhs()) != normalise(constraint.getRhs())))
        reason = describeSource(op->getLoc()) + ": needs " + constraint.getWant().str();
      return reason.empty() ? WalkResult::advance() : WalkResult::interrupt();
    });
    return reason;
  }

  std::string describe(Value output) {
    Flow flow = flows.lookup(output);
    if (flow.kind == Flow::Same)
      return kSameText.str();
    if (flow.kind == Flow::Joined)
      return flow.reason.str();
    SmallVector<DimAttr> dims = dimsOf(output.getType());
    if (flow.isPlace)
      return joinByPlace(output.getLoc()).reason.str();
    if (flow.dim == 0 && dims[0] == rows)
      return kRowsText.str();
    return describeSource(output.getLoc()) + ": gives rows along dimension " + std::to_string(flow.dim) + " of " +
           typeText(output);
  }

  func::FuncOp function;
  const SymbolRanges &ranges;
  llvm::StringMap<Operation *> binders;
  DimAttr rows;
  const llvm::StringSet<> &equal;
  llvm::DenseMap<Value, Flow> flows;
  llvm::StringSet<> joinedSymbols, reasons;
};

/// The symbols that a function's own constraints take for equal.
llvm::EquivalenceClasses<StringAttr> findEqualSymbols(func::FuncOp function, const SymbolRanges &ranges) {
  llvm::EquivalenceClasses<StringAttr> classes;
  for (auto constraint : function.getBody().front().getOps<ConstraintOp>()) {
    StringAttr lhs = constraint.getLhs().asSymbol(), rhs = constraint.getRhs().asSymbol();
    if (constraint.getKind() == ConstraintKind::equal && lhs && rhs && !ranges.isDataDependent(lhs) &&
        !ranges.isDataDependent(rhs))
      classes.unionSets(lhs, rhs);
  }
  return classes;
}

/// Those that calls bind and that are the size of dimension 0 of an input, in the order of inputs.
llvm::SetVector<StringAttr> findCandidates(func::FuncOp function) {
  llvm::DenseSet<StringAttr> ofInstance;
  for (auto symbol : function->getParentOfType<ModuleOp>().getOps<SymbolOp>())
    if (symbol.getInstance())
      ofInstance.insert(symbol.getNameAttr());
  llvm::SetVector<StringAttr> candidates;
  for (Type type : function.getArgumentTypes()) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    DimAttr dim = tensor && tensor.getRank() > 0 ? getDim(tensor, 0) : DimAttr();
    if (StringAttr symbol = dim ? dim.asSymbol() : StringAttr(); symbol && !ofInstance.contains(symbol))
      candidates.insert(symbol);
  }
  return candidates;
}

} // namespace

DictionaryAttr findIndependentRows(func::FuncOp function) {
  Builder builder(function.getContext());
  SymbolRanges ranges(function->getParentOfType<ModuleOp>());
  llvm::EquivalenceClasses<StringAttr> classes = findEqualSymbols(function, ranges);
  SmallVector<NamedAttribute> best;
  int64_t most = -1;
  llvm::StringSet<> seen;
  for (StringAttr symbol : findCandidates(function)) {
    llvm::StringSet<> equal;
    if (classes.contains(symbol))
      for (StringAttr other : classes.members(symbol))
        if (other != symbol)
          equal.insert(other.getValue());
    if (seen.contains(symbol.getValue()))
      continue;
    for (auto &other : equal)
      seen.insert(other.getKey());
    RowFlow flow(function, ranges, symbol, equal);
    SmallVector<std::string> outputs = flow.run();
    int64_t count = llvm::count(outputs, kRowsText);
    if (count <= most)
      continue;
    most = count;
    SmallVector<int64_t> inputs;
    for (BlockArgument argument : function.getArguments())
      if (flow.isJoined(argument))
        inputs.push_back(argument.getArgNumber());
    best = {builder.getNamedAttr("symbol", symbol),
            builder.getNamedAttr("inputs", builder.getDenseI64ArrayAttr(inputs)),
            builder.getNamedAttr("outputs",
                                 builder.getStrArrayAttr(SmallVector<StringRef>(outputs.begin(), outputs.end())))};
  }
  return best.empty() ? DictionaryAttr() : builder.getDictionaryAttr(best);
}

} // namespace vx
