// Einsum: sums of products over dimensions that have letters.
#include "OpFunctions.h"

#include "llvm/ADT/StringExtras.h"

#include <map>

using namespace mlir;

namespace vx::onnx {

namespace {

/// A letter, or below 0 the dimension of an ellipsis that is so far from the end: -1 the last one.
using Label = int;
using Labels = SmallVector<Label>;

struct Term {
  Value value;
  Labels labels; // one for each dimension
};

} // namespace

/// Returns the labels of a term of the equation. Its ellipsis is `ellipsis` dimensions.
static Labels readLabels(StringRef text, int64_t ellipsis) {
  Labels labels;
  for (bool isFirst = true; !text.empty();) {
    if (text.consume_front("...")) {
      if (!isFirst)
        throwInvalid("expects at most one ellipsis in a term of 'equation', got another");
      isFirst = false;
      for (int64_t d = ellipsis; d > 0; --d)
        labels.push_back(-int(d));
    } else if (llvm::isAlpha(text.front())) {
      labels.push_back(text.front());
      text = text.drop_front();
    } else {
      throwInvalid("expects letters and ellipses in 'equation', got '" + text.take_front(1) + "'");
    }
  }
  return labels;
}

static Term sumWithout(NodeImporter &n, Term term, llvm::function_ref<bool(Label)> isKept) {
  SmallVector<int64_t> axes;
  Labels kept;
  for (auto [axis, label] : llvm::enumerate(term.labels))
    if (isKept(label))
      kept.push_back(label);
    else
      axes.push_back(axis);
  return {n.reduce(ReduceKind::sum, term.value, axes), kept};
}

/// Replaces dimensions with one letter by their diagonal.
static Term takeDiagonals(NodeImporter &n, Term term) {
  for (size_t axis = 0; axis < term.labels.size(); ++axis) {
    size_t other = axis + 1;
    while (other < term.labels.size() && term.labels[other] != term.labels[axis])
      ++other;
    if (other == term.labels.size())
      continue;
    Dims dims = vx::getDims(typeOf(term.value));
    if (!mayBeEqual(dims[axis], dims[other]))
      throwInvalid("expects dimensions of one letter to have one size, got " + dims[axis].str() + " and " +
                   dims[other].str());
    n.require(ConstraintKind::equal, dims[axis], dims[other]);
    // In the flattened dimensions, each element of the diagonal is size + 1 after the previous one.
    auto order = llvm::to_vector(llvm::seq<int64_t>(0, int64_t(dims.size())));
    llvm::erase_if(order, [&](int64_t d) { return d == int64_t(axis) || d == int64_t(other); });
    order.append({int64_t(axis), int64_t(other)});
    Dims joined;
    Labels labels;
    for (int64_t d : ArrayRef(order).drop_back(2)) {
      joined.push_back(dims[d]);
      labels.push_back(term.labels[d]);
    }
    labels.push_back(term.labels[axis]);
    joined.push_back(mulDims(dims[axis], dims[other]));
    Type i64 = n.builder.getI64Type();
    Value step = n.broadcastInDim(n.emitDim(addDims(dims[other], n.dim(1)), i64), dims[axis], {});
    Value places = n.emit<MulOp>(n.emitAs<IotaOp>(makeTensorType(dims[axis], i64), 0), step);
    Value matrices = n.reshape(n.transpose(term.value, order), joined);
    term = {n.emit<GatherOp>(matrices, places, int64_t(joined.size()) - 1, IntegerAttr(), /*in_range=*/true), labels};
    axis = size_t(-1); // there may be a third one, or another letter
  }
  return term;
}

/// Returns the sum of products of two terms over the labels that both have and that nothing else reads.
static Term multiply(NodeImporter &n, Term lhs, Term rhs, llvm::function_ref<bool(Label)> isKept) {
  auto has = [](const Term &term, Label label) { return llvm::is_contained(term.labels, label); };
  lhs = sumWithout(n, lhs, [&](Label label) { return isKept(label) || has(rhs, label); });
  rhs = sumWithout(n, rhs, [&](Label label) { return isKept(label) || has(lhs, label); });
  Dims lhsDims = vx::getDims(typeOf(lhs.value)), rhsDims = vx::getDims(typeOf(rhs.value));
  SmallVector<int64_t> lhsBatch, rhsBatch, lhsSummed, rhsSummed;
  Labels labels;
  for (auto [axis, label] : llvm::enumerate(lhs.labels)) {
    auto found = llvm::find(rhs.labels, label);
    if (found == rhs.labels.end())
      continue;
    int64_t other = found - rhs.labels.begin();
    DimAttr &left = lhsDims[axis], &right = rhsDims[other];
    if (label < 0) { // those of ellipses are repeated
      left = right = n.broadcastShapes(left, right).front();
    } else if (!mayBeEqual(left, right)) {
      throwInvalid("expects dimensions of one letter to have one size, got " + left.str() + " and " + right.str());
    }
    (isKept(label) ? lhsBatch : lhsSummed).push_back(axis);
    (isKept(label) ? rhsBatch : rhsSummed).push_back(other);
    if (isKept(label))
      labels.push_back(label);
  }
  lhs.value = n.broadcast(lhs.value, lhsDims);
  rhs.value = n.broadcast(rhs.value, rhsDims);
  for (const Term *term : {&lhs, &rhs})
    for (Label label : term->labels)
      if (!has(term == &lhs ? rhs : lhs, label))
        labels.push_back(label);
  return {n.emit<ContractOp>(lhs.value, rhs.value, lhsBatch, rhsBatch, lhsSummed, rhsSummed), labels};
}

static void importEinsum(NodeImporter &n) {
  std::string equation = n.getString("equation", "");
  llvm::erase(equation, ' ');
  auto [left, right] = StringRef(equation).split("->");
  SmallVector<StringRef> texts;
  left.split(texts, ',');
  if (texts.size() != n.getNumInputs())
    throwInvalid("expects a term of 'equation' for each of " + Twine(n.getNumInputs()) + " inputs, got " +
                 Twine(texts.size()));
  SmallVector<Term> terms;
  int64_t ellipsis = 0; // the longest
  std::map<Label, int> counts;
  for (auto [index, text] : llvm::enumerate(texts)) {
    RankedTensorType type = n.getTensorType(index);
    int64_t letters = llvm::count_if(text, [](char c) { return c != '.'; });
    int64_t own = text.contains("...") ? type.getRank() - letters : 0;
    if (own < 0 || letters + own != type.getRank())
      throwInvalid("expects '" + text + "' to have a letter for each dimension of input " + Twine(index) + ", got " +
                   describe(type));
    ellipsis = std::max(ellipsis, own);
    Labels labels = readLabels(text, own);
    for (Label label : labels)
      ++counts[label];
    terms.push_back(takeDiagonals(n, {n.getTensor(index), labels}));
  }
  Labels wanted;
  if (equation.find("->") != std::string::npos) {
    wanted = readLabels(right, ellipsis);
  } else {
    // All of ellipses, then the letters that stand once, in their order: capital ones first.
    for (auto [label, count] : counts)
      if (label < 0 || count == 1)
        wanted.push_back(label);
  }
  for (auto [place, label] : llvm::enumerate(wanted))
    if (!counts.count(label) || llvm::is_contained(ArrayRef(wanted).take_front(place), label))
      throwInvalid(Twine("expects each letter of the result once, and in a term, but '") + Twine(char(label)) +
                   "' is " + (counts.count(label) ? "there twice" : "in none"));

  Term result = terms.front();
  for (size_t i = 1; i < terms.size(); ++i)
    result = multiply(n, result, terms[i], [&](Label label) {
      return llvm::is_contained(wanted, label) ||
             llvm::any_of(ArrayRef(terms).drop_front(i + 1),
                          [&](const Term &term) { return llvm::is_contained(term.labels, label); });
    });
  result = sumWithout(n, result, [&](Label label) { return llvm::is_contained(wanted, label); });
  SmallVector<int64_t> order;
  for (Label label : wanted)
    order.push_back(llvm::find(result.labels, label) - result.labels.begin());
  n.setOutput(0, n.transpose(result.value, order));
}

static constexpr OpTableEntry einsumTable[] = {
    {"Einsum", 12, newestOpset, importEinsum},
};
const llvm::ArrayRef<OpTableEntry> einsumOps = einsumTable;

} // namespace vx::onnx
