// Counts of n-grams.
#include "OpFunctions.h"

using namespace mlir;

namespace vx::onnx {

namespace {

/// The n-grams of one length: `count` rows of `length` elements of the pool, from element `first` on. They are numbered
/// through all lengths, from `number` on.
struct Ngrams {
  int64_t length, first, count, number;
};

} // namespace

namespace {

/// The pool of n-grams: integers or strings.
struct Pool {
  SmallVector<int64_t> numbers;
  SmallVector<StringRef> texts;
  bool areStrings = false;

  int64_t size() const { return static_cast<int64_t>(areStrings ? texts.size() : numbers.size()); }

  /// Element `member` of each of `ngrams`.
  Value emitMembers(NodeImporter &n, const Ngrams &ngrams, int64_t member, Type elementType) const {
    auto take = [&](auto &all) {
      std::decay_t<decltype(all)> members;
      for (int64_t i = 0; i < ngrams.count; ++i)
        members.push_back(all[ngrams.first + i * ngrams.length + member]);
      return members;
    };
    if (areStrings)
      return emitStrings(n, take(texts), {ngrams.count});
    auto type = RankedTensorType::get({ngrams.count}, n.builder.getI64Type());
    return n.cast(n.emitConstant(DenseElementsAttr::get(type, ArrayRef<int64_t>(take(numbers)))), elementType);
  }
};

} // namespace

static Pool readPool(NodeImporter &n) {
  Pool pool;
  pool.areStrings = n.hasAttribute("pool_strings");
  pool.texts = n.getStrings("pool_strings");
  std::optional<SmallVector<int64_t>> numbers = n.getInts("pool_int64s");
  if (pool.areStrings == numbers.has_value())
    throwInvalid("expects one of the attributes 'pool_int64s' and 'pool_strings', got " +
                 Twine(pool.areStrings ? "both" : "none"));
  if (numbers)
    pool.numbers = std::move(*numbers);
  return pool;
}

/// Reads the n-grams of the lengths that the node counts, and the number of all n-grams in the pool.
static SmallVector<Ngrams> readNgrams(NodeImporter &n, int64_t poolSize, int64_t &total) {
  int64_t shortest = n.getInt("min_gram_length"), longest = n.getInt("max_gram_length");
  if (shortest < 1 || longest < shortest)
    throwInvalid("expects lengths of n-grams from 1 on, got 'min_gram_length' " + Twine(shortest) +
                 " and 'max_gram_length' " + Twine(longest));
  std::optional<SmallVector<int64_t>> starts = n.getInts("ngram_counts");
  if (!starts)
    throwInvalid("expects attribute 'ngram_counts', got none");
  SmallVector<Ngrams> counted;
  total = 0;
  for (auto [index, first] : llvm::enumerate(*starts)) {
    auto length = static_cast<int64_t>(index) + 1;
    int64_t end = index + 1 < starts->size() ? (*starts)[index + 1] : poolSize;
    if (first < 0 || first > end || end > poolSize)
      throwInvalid("expects 'ngram_counts' that increase from 0 to the pool's " + Twine(poolSize) + " elements, got " +
                   Twine(first) + " before " + Twine(end));
    if ((end - first) % length != 0)
      throwInvalid("expects whole n-grams of length " + Twine(length) + " in the pool, got " + Twine(end - first) +
                   " elements");
    Ngrams ngrams{length, first, (end - first) / length, total};
    total += ngrams.count;
    if (ngrams.count > 0 && length >= shortest && length <= longest)
      counted.push_back(ngrams);
  }
  return counted;
}

/// Counts each of `ngrams` in each row of `input`, as i32 [rows, count]. Elements of an n-gram are 1 to `skips` + 1
/// positions apart.
static Value countNgrams(NodeImporter &n, Value input, const Pool &pool, const Ngrams &ngrams, int64_t skips) {
  Dims dims = vx::getDims(typeOf(input));
  DimAttr rows = dims[0], places = dims[1], count = n.dim(ngrams.count);
  // Elements farther apart than the row is long are nowhere; those of one element have no distance.
  DimAttr distances = ngrams.length == 1 ? n.dim(1) : minDims(n.dim(skips + 1), maxDims(places, n.dim(1)));
  Type i64 = n.builder.getI64Type(), i32 = n.builder.getI32Type();
  RankedTensorType grid = makeTensorType({distances, places}, i64);
  Value first = n.emitAs<IotaOp>(grid, 1), step = n.emit<AddOp>(n.emitAs<IotaOp>(grid, 0), n.splat(1, grid));
  Dims pairs = {rows, distances, places, count};
  Value size = n.broadcastInDim(n.emitDim(places, i64), {distances, places}, {}), place = first, isFound;
  for (int64_t member = 0; member < ngrams.length; ++member) {
    Value wanted = pool.emitMembers(n, ngrams, member, elementOf(input));
    Value elements = input;
    if (member == 0) {
      elements = n.broadcastInDim(input, pairs, {0, 2});
    } else {
      // A position after the row's end reads another element. A match there does not count.
      place = n.emit<AddOp>(place, step);
      Value isInside = n.emit<CompareOp>(ComparePredicate::lt, place, size);
      Value inside = n.emit<SelectOp>(isInside, place, n.splatLike(0, place));
      elements = n.emit<GatherOp>(input, inside, 1, IntegerAttr(), /*in_range=*/true);
      elements = n.broadcastInDim(elements, pairs, {0, 1, 2});
      isFound = n.emit<AndOp>(isFound, n.broadcastInDim(isInside, pairs, {1, 2}));
    }
    Value isEqual = n.emit<CompareOp>(ComparePredicate::eq, elements, n.broadcastInDim(wanted, pairs, {3}));
    isFound = isFound ? n.emit<AndOp>(isFound, isEqual) : isEqual;
  }
  return n.reduce(ReduceKind::sum, n.cast(isFound, i32), {1, 2});
}

static void importTfIdfVectorizer(NodeImporter &n) {
  Value input = n.getTensor(0);
  Dims dims = vx::getDims(typeOf(input));
  if (dims.empty() || dims.size() > 2)
    throwInvalid("expects a tensor of 1 or 2 dimensions, got " + describe(input.getType()));
  Type elementType = elementOf(input), f32 = n.builder.getF32Type(), i64 = n.builder.getI64Type();
  Pool pool = readPool(n);
  if (pool.areStrings ? !isString(elementType)
                      : !elementType.isSignlessInteger(32) && !elementType.isSignlessInteger(64))
    throwInvalid("expects elements of " + Twine(pool.areStrings ? "string" : "i32 or i64") + ", got " +
                 describe(input.getType()));
  std::optional<SmallVector<int64_t>> columns = n.getInts("ngram_indexes");
  if (!columns)
    throwInvalid("expects attribute 'ngram_indexes', got none");
  if (llvm::any_of(pool.numbers, [](int64_t value) { return value != int32_t(value); }))
    input = n.cast(input, i64);
  int64_t total = 0, skips = n.getInt("max_skip_count");
  if (skips < 0 || skips >= maxElements)
    throwInvalid("expects a 'max_skip_count' from 0 to " + Twine(maxElements - 1) + ", got " + Twine(skips));
  SmallVector<Ngrams> counted = readNgrams(n, pool.size(), total);
  if (total != static_cast<int64_t>(columns->size()) || columns->empty())
    throwInvalid("expects a place in 'ngram_indexes' for each of " + Twine(total) + " n-grams, got " +
                 Twine(columns->size()));
  auto [least, greatest] = std::minmax_element(columns->begin(), columns->end());
  if (*least < 0 || *greatest >= maxElements)
    throwInvalid("expects 'ngram_indexes' from 0 to " + Twine(maxElements - 1) + ", got " +
                 Twine(*least < 0 ? *least : *greatest));
  std::string mode = n.getString("mode", "");
  if (mode != "TF" && mode != "IDF" && mode != "TFIDF")
    throwInvalid("expects 'mode' to be TF, IDF or TFIDF, got '" + Twine(mode) + "'");
  SmallVector<float> weights = n.getFloats("weights");
  if (!weights.empty() && weights.size() != columns->size())
    throwInvalid("expects a weight for each of " + Twine(columns->size()) + " n-grams, got " + Twine(weights.size()));

  DimAttr rows = dims.size() == 1 ? n.dim(1) : dims[0], width = n.dim(*greatest + 1);
  input = n.reshape(input, {rows, dims.back()});
  Value result = n.splat(0, makeTensorType({width, rows}, f32));
  for (const Ngrams &ngrams : counted) {
    Value counts = countNgrams(n, input, pool, ngrams, skips);
    if (mode == "IDF")
      counts = n.emit<MinOp>(counts, n.splatLike(1, counts));
    counts = n.transpose(n.cast(counts, f32), {1, 0});
    auto list = RankedTensorType::get({ngrams.count}, f32);
    if (mode != "TF" && !weights.empty()) {
      auto own = ArrayRef(weights).slice(ngrams.number, ngrams.count);
      Value factors = n.emitConstant(DenseElementsAttr::get(list, own));
      counts = n.emit<MulOp>(counts, n.broadcastInDim(factors, vx::getDims(typeOf(counts)), {0}));
    }
    auto own = ArrayRef(*columns).slice(ngrams.number, ngrams.count);
    Value at = n.emitConstant(DenseElementsAttr::get(RankedTensorType::get({ngrams.count, 1}, i64), own));
    result = n.emit<ScatterOp>(ScatterKind::add, result, at, counts, ArrayRef<int64_t>(0));
  }
  result = n.transpose(result, {1, 0});
  n.setOutput(0, dims.size() == 1 ? n.reshape(result, width) : result);
}

static constexpr OpTableEntry ngramsTable[] = {
    {"TfIdfVectorizer", 9, newestOpset, importTfIdfVectorizer},
};
const llvm::ArrayRef<OpTableEntry> ngramsOps = ngramsTable;

} // namespace vx::onnx
