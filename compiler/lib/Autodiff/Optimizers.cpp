// The formulas are PyTorch's, and Lion's those of Chen et al. (Symbolic discovery of optimization algorithms, 2023).
#include "Optimizers.h"

#include "vx/Dialect/VX/IR/VariablePlaces.h"

#include "llvm/ADT/StringExtras.h"

#include <cmath>

using namespace mlir;

namespace vx {

/// A finite number of at least 0.
static std::optional<double> parseFactor(StringRef text) {
  double number = 0;
  if (text.empty() || text.getAsDouble(number) || !std::isfinite(number) || number < 0)
    return std::nullopt;
  return number;
}

/// "PATTERN:lr=0.1x,weight_decay=0". A pattern may have colons: names of initializers have them.
static std::optional<ParameterGroup> parseGroup(StringRef text, std::string &error) {
  auto [pattern, entries] = text.rsplit(':');
  auto refuse = [&error](const Twine &reason) {
    error = ("--param-group" + reason).str();
    return std::nullopt;
  };
  if (pattern.empty() || entries.empty() || !text.contains(':'))
    return refuse(": expected GLOB:lr=0.1x,weight_decay=0, got '" + text + "'");
  if (!NamePatterns::parse({pattern.str()}, error))
    return refuse(": expected names of parameters, got " + error);
  ParameterGroup group{pattern.str(), {}, {}};
  SmallVector<StringRef> pieces;
  entries.split(pieces, ',');
  for (StringRef piece : pieces) {
    auto [key, value] = piece.split('=');
    if (key != "lr" && key != "weight_decay")
      return refuse(" '" + pattern + "': a group has the keys lr, weight_decay, got '" + piece + "'");
    std::optional<double> &number = key == "lr" ? group.rateFactor : group.weightDecay;
    if (number)
      return refuse(" '" + pattern + "': " + key + " is given twice");
    if (key == "lr" && !value.consume_back("x"))
      return refuse(" '" + pattern + "': expected a multiple of the learning rate as lr, such as 0.1x, got '" + value +
                    "'");
    number = parseFactor(value);
    if (!number)
      return refuse(" '" + pattern + "': expected a number of at least 0 as " + key + ", got '" + value + "'");
  }
  return group;
}

std::optional<OptimizerSpec> OptimizerSpec::parse(StringRef text, std::string &error) {
  SmallVector<StringRef> pieces;
  text.split(pieces, ';');
  // Clipping is no key of an optimizer, but it may be said with it.
  auto [name, keys] = pieces.front().split(':');
  std::string own = name.str();
  std::optional<double> clips[2];
  SmallVector<StringRef> entries;
  keys.split(entries, ',');
  for (StringRef entry : entries) {
    auto [key, value] = entry.split('=');
    if (key != "clip_norm" && key != "clip_value") {
      if (pieces.front().contains(':'))
        own += (own.size() == name.size() ? ":" : ",") + entry.str();
      continue;
    }
    std::optional<double> &clip = clips[key == "clip_value"];
    clip = parseFactor(value);
    if (!clip || *clip == 0) {
      error = ("--optimizer: expected a number above 0 as " + key + ", got '" + value + "'").str();
      return std::nullopt;
    }
  }
  std::optional<OptimizerSpec> spec = parseUngrouped(own, error);
  if (!spec)
    return std::nullopt;
  spec->clipNorm = clips[0];
  spec->clipValue = clips[1];
  for (StringRef piece : ArrayRef(pieces).drop_front()) {
    std::optional<ParameterGroup> group = parseGroup(piece, error);
    if (!group)
      return std::nullopt;
    if (group->rateFactor)
      spec->values.emplace_back(group->pattern + ":lr", *group->rateFactor);
    if (group->weightDecay)
      spec->values.emplace_back(group->pattern + ":weight_decay", *group->weightDecay);
    spec->groups.push_back(std::move(*group));
  }
  return spec;
}

SmallVector<StringRef> getOptimizerState(const OptimizerSpec &spec) {
  if (spec.name == "adam" || spec.name == "adamw")
    return {"m", "v"};
  if (spec.name == "lion")
    return {"m"};
  if (spec.name == "adagrad")
    return {"sum"};
  SmallVector<StringRef> state;
  if (spec.name == "rmsprop") {
    state.push_back("square");
    if (spec.get("centered") != 0)
      state.push_back("mean");
  }
  if (spec.get("momentum") != 0)
    state.push_back("momentum");
  return state;
}

double getInitialState(const OptimizerSpec &spec) {
  return spec.name == "adagrad" ? spec.get("initial_accumulator_value") : 0;
}

namespace {

/// What differs between the groups: for each element of the parameters a factor of the rate and a decay. Null where
/// all are alike: 1, or `decay`.
struct GroupValues {
  Value factors, decays;
  double decay = 0;
};

/// Finds which parameters of a pool the groups have.
class Groups {
public:
  Groups(const OptimizerSpec &spec, Expression parameters) : spec(spec), g(*parameters.g), pool(parameters.value) {}

  /// None after an error.
  std::optional<GroupValues> build() {
    GroupValues values{{}, {}, spec.get("weight_decay")};
    if (spec.groups.empty())
      return values;
    auto load = pool.getDefiningOp<VariableLoadOp>();
    assert(load && "groups are of a pool");
    module = load->getParentOfType<ModuleOp>();
    StringAttr name = load.getVariableAttr().getAttr();
    for (auto variable : module.getOps<VariableOp>())
      if (variable.getPoolAttr() && variable.getPoolAttr().getAttr() == name)
        members.push_back(variable);
    if (!choose())
      return std::nullopt;
    values.factors = spread(1, [](const ParameterGroup &group) { return group.rateFactor; });
    values.decays = spread(values.decay, [](const ParameterGroup &group) { return group.weightDecay; });
    return values;
  }

private:
  /// Elements that all parameters begin at multiples of.
  static constexpr int64_t slot = kVariableAlignment / 4;

  static StringRef nameOf(VariableOp variable) { return variable.getSource().value_or(variable.getSymName()); }

  /// Gives each member its group. False after errors, which are of all groups.
  bool choose() {
    chosen.assign(members.size(), nullptr);
    bool isRight = true;
    for (const ParameterGroup &group : spec.groups) {
      std::string ignored;
      NamePatterns pattern = *NamePatterns::parse({group.pattern}, ignored); // the option's text is checked
      for (auto [variable, owner] : llvm::zip_equal(members, chosen)) {
        if (!pattern.match(nameOf(variable)))
          continue;
        if (owner) {
          module.emitError() << "--param-group '" << group.pattern << "': expected one group for each weight, got '"
                             << nameOf(variable) << "', which is also in the group '" << owner->pattern << "'";
          isRight = false;
        }
        owner = &group;
      }
      if (!pattern.getUnused().empty()) {
        module.emitError() << "--param-group '" << group.pattern
                           << "': expected names of trained parameters, got none of them" << suggest(group.pattern);
        isRight = false;
      }
    }
    return isRight;
  }

  /// ", did you mean 'fc1.bias'", or the first names that there are.
  std::string suggest(const std::string &pattern) {
    constexpr size_t mostNames = 8;
    SmallVector<StringRef> names = llvm::map_to_vector(members, nameOf), near;
    // Of "*.bais" the end of a name is near, of "encodr.*" its beginning.
    const StringRef text = StringRef(pattern).trim('*');
    const auto mostEdits = static_cast<unsigned>(text.size() / 4 + 1);
    llvm::copy_if(names, std::back_inserter(near), [&](StringRef name) {
      if (pattern.starts_with('*'))
        name = name.take_back(text.size());
      if (pattern.ends_with('*'))
        name = name.take_front(text.size());
      return name.edit_distance_insensitive(text, /*AllowReplacements=*/true, mostEdits) <= mostEdits;
    });
    auto quote = [](ArrayRef<StringRef> list, const std::string &separator) {
      return "'" + llvm::join(list, "'" + separator + "'") + "'";
    };
    if (!near.empty())
      return ", did you mean " + quote(ArrayRef(near).take_front(3), " or ");
    return "; there are " + quote(ArrayRef(names).take_front(mostNames), ", ") +
           (names.size() > mostNames ? " and " + std::to_string(names.size() - mostNames) + " more" : "");
  }

  /// The number of each element's group; null if it is `usual` for all.
  Value spread(double usual, llvm::function_ref<std::optional<double>(const ParameterGroup &)> get) {
    auto type = cast<RankedTensorType>(pool.getType());
    // Slots after the last parameter have the usual number.
    SmallVector<float> slots(static_cast<size_t>(type.getNumElements() / slot), static_cast<float>(usual));
    bool differs = false;
    for (auto [variable, group] : llvm::zip_equal(members, chosen)) {
      std::optional<double> number = group ? get(*group) : std::nullopt;
      if (!number || *number == usual)
        continue;
      differs = true;
      int64_t first = *variable.getOffset() / kVariableAlignment;
      int64_t count = llvm::divideCeil(cast<RankedTensorType>(variable.getType()).getNumElements(), slot);
      std::fill_n(slots.begin() + first, count, static_cast<float>(*number));
    }
    if (!differs)
      return {};
    RankedTensorType ofSlots = g.makeType(g.dim(static_cast<int64_t>(slots.size())), type.getElementType());
    Value each = g.emitConstant(DenseElementsAttr::get(ofSlots, ArrayRef<float>(slots)));
    Value repeated = g.broadcastInDim(each, {g.dim(static_cast<int64_t>(slots.size())), g.dim(slot)}, {0});
    return g.reshape(repeated, getDims(type));
  }

  const OptimizerSpec &spec;
  GraphBuilder &g;
  Value pool;
  ModuleOp module;
  SmallVector<VariableOp> members;
  SmallVector<const ParameterGroup *> chosen; // of each member; null: none
};

class Optimizer {
public:
  Optimizer(const OptimizerSpec &spec, const GroupValues &groups, Expression gradients, Expression rate,
            Expression step)
      : spec(spec), groups(groups), gradients(gradients), rate(rate), step(step) {}

  OptimizerUpdate build(Expression w, ArrayRef<Expression> state) {
    if (spec.name == "adam" || spec.name == "adamw")
      return buildAdam(w, state[0], state[1]);
    if (spec.name == "lion")
      return buildLion(w, state[0]);
    if (spec.name == "adagrad")
      return buildAdagrad(w, state[0]);
    return spec.name == "rmsprop" ? buildRmsProp(w, state) : buildSgd(w, state);
  }

private:
  double get(StringRef key) const { return spec.get(key); }

  /// A scalar in every place.
  Expression repeat(Expression scalar) const {
    return {scalar.g, scalar.g->broadcastInDim(scalar, getDims(cast<RankedTensorType>(gradients.value.getType())), {})};
  }

  /// In each place `scalar`, times the factor of its group.
  Expression scale(Expression scalar) const {
    Expression repeated = repeat(scalar);
    return groups.factors ? repeated * Expression{repeated.g, groups.factors} : repeated;
  }

  bool hasDecay() const { return groups.decays || groups.decay != 0; }
  /// The decay of the weights as a part of the gradient.
  Expression addDecay(Expression w) const {
    if (!hasDecay())
      return gradients;
    return gradients + (groups.decays ? w * Expression{w.g, groups.decays} : w * groups.decay);
  }
  /// The decay of the weights beside the gradient.
  Expression decay(Expression w) const {
    if (!hasDecay())
      return w;
    return w - w * (groups.decays ? scale(rate) * Expression{w.g, groups.decays} : scale(rate * groups.decay));
  }

  static Expression mix(Expression old, Expression next, double share) { return old + (next - old) * share; }

  /// 1 - beta^step: of beta near 1 a difference of two numbers near 1, so by 1 - e^y = -tanh(y / 2) (e^y + 1).
  Expression getCorrection(double beta) const {
    if (beta == 0)
      return fill(1, step);
    Expression y = step * std::log(beta);
    return -(apply<TanhOp>(y * 0.5) * (apply<ExpOp>(y) + 1.0));
  }

  OptimizerUpdate buildAdam(Expression w, Expression m, Expression v) {
    bool isDecoupled = spec.name == "adamw";
    Expression g = isDecoupled ? gradients : addDecay(w);
    w = isDecoupled ? decay(w) : w;
    m = mix(m, g, 1 - get("beta1"));
    v = v * get("beta2") + g * g * (1 - get("beta2"));
    // rate m / c1 / (sqrt(v) / sqrt(c2) + eps) with what all elements have in common in two numbers, which one kernel
    // computes.
    Expression root = apply<SqrtOp>(getCorrection(get("beta2")));
    Expression size = rate * root / getCorrection(get("beta1"));
    Expression deviation = apply<SqrtOp>(v) + repeat(root * get("eps"));
    return {w - scale(size) * (m / deviation), {m, v}};
  }

  OptimizerUpdate buildLion(Expression w, Expression m) {
    Expression direction = apply<SignOp>(mix(m, gradients, 1 - get("beta1")));
    return {decay(w) - scale(rate) * direction, {mix(m, gradients, 1 - get("beta2"))}};
  }

  OptimizerUpdate buildAdagrad(Expression w, Expression sum) {
    Expression g = addDecay(w), size = rate;
    if (get("lr_decay") != 0)
      size = rate / ((step - 1.0) * get("lr_decay") + 1.0);
    sum = sum + g * g;
    return {w - scale(size) * (g / (apply<SqrtOp>(sum) + get("eps"))), {sum}};
  }

  OptimizerUpdate buildRmsProp(Expression w, ArrayRef<Expression> state) {
    Expression g = addDecay(w), square = state[0] * get("alpha") + g * g * (1 - get("alpha")), spread = square;
    OptimizerUpdate update{w, {square}};
    if (get("centered") != 0) {
      Expression mean = mix(state[1], g, 1 - get("alpha"));
      update.state.push_back(mean);
      // Rounding gives less than 0 where all gradients are equal.
      spread = apply<MaxOp>(square - mean * mean, fill(0, square));
    }
    Expression change = g / (apply<SqrtOp>(spread) + get("eps"));
    if (get("momentum") != 0) {
      change = state.back() * get("momentum") + change;
      update.state.push_back(change);
    }
    update.parameters = w - scale(rate) * change;
    return update;
  }

  OptimizerUpdate buildSgd(Expression w, ArrayRef<Expression> state) {
    Expression g = addDecay(w), change = g;
    OptimizerUpdate update{w, {}};
    if (get("momentum") != 0) {
      Expression next = state[0] * get("momentum") + g * (1 - get("dampening"));
      // The first step takes the gradient whole.
      if (get("dampening") != 0) {
        Expression isFirst = compare(ComparePredicate::eq, step, 1);
        next = select(repeat(isFirst), g, next);
      }
      update.state.push_back(next);
      change = get("nesterov") != 0 ? g + next * get("momentum") : next;
    }
    update.parameters = w - scale(rate) * change;
    return update;
  }

  const OptimizerSpec &spec;
  const GroupValues &groups;
  Expression gradients, rate, step;
};

} // namespace

OptimizerUpdate buildOptimizer(const OptimizerSpec &spec, Expression parameters, Expression gradients,
                               ArrayRef<Expression> state, Expression rate, Expression step) {
  std::optional<GroupValues> groups = Groups(spec, parameters).build();
  if (!groups) {
    parameters.g->fail();
    return {parameters, llvm::to_vector(state)};
  }
  return Optimizer(spec, *groups, gradients, rate, step).build(parameters, state);
}

Expression buildNorm(Expression gradients) {
  GraphBuilder *g = gradients.g;
  auto type = cast<RankedTensorType>(gradients.value.getType());
  auto axes = llvm::to_vector(llvm::seq<int64_t>(0, type.getRank()));
  return apply<SqrtOp>(Expression{g, g->reduce(ReduceKind::sum, gradients * gradients, axes)});
}

Expression buildClip(const OptimizerSpec &spec, Expression gradients, std::optional<Expression> norm,
                     std::optional<Expression> scale) {
  GraphBuilder *g = gradients.g;
  // What all elements are multiplied by is one number.
  std::optional<Expression> factor;
  if (scale)
    factor = fill(1, *scale) / *scale;
  if (spec.clipNorm) {
    if (!norm)
      norm = buildNorm(gradients);
    if (factor)
      norm = *norm * *factor;
    Expression share = fill(*spec.clipNorm, *norm) / (*norm + 1e-6);
    share = apply<MinOp>(share, fill(1, share));
    factor = factor ? share * *factor : share;
  }
  if (factor) {
    auto type = cast<RankedTensorType>(gradients.value.getType());
    gradients = gradients * Expression{g, g->broadcastInDim(*factor, getDims(type), {})};
  }
  if (spec.clipValue)
    gradients =
        apply<MaxOp>(apply<MinOp>(gradients, fill(*spec.clipValue, gradients)), fill(-*spec.clipValue, gradients));
  return gradients;
}

} // namespace vx
