#include "Decoder.h"

#include <cmath>

using namespace mlir;

namespace vx {

void DecoderFunctions::build() {
  Type i64 = model.builder.getI64Type();
  auto number = [&](int64_t value) { return DimAttr::constant(&model.context, value); };
  const DimAttr one = number(1), heads = number(s.keyHeads), depth = number(s.depth), pagePlaces = number(kPagePlaces);
  const int64_t mostPages = llvm::divideCeil(s.context, kPagePlaces);
  room = model.declareSymbol("context", 1, s.context, ModelBuilder::SymbolKind::Instance);
  pages = model.declareSymbol("pages", 1, std::numeric_limits<int32_t>::max(), ModelBuilder::SymbolKind::Instance);
  const DimAttr tokens = model.declareSymbol("tokens", 1, s.context),
                sequences = model.declareSymbol("sequences", 1, s.context),
                most = model.declareSymbol("most_pages", 1, mostPages),
                rows = model.declareSymbol("rows", 1, s.context);
  cacheType = getTensorType({pages, heads, pagePlaces, depth}, model.builder.getF32Type());
  for (int64_t layer = 0; layer < s.layers; ++layer)
    for (const char *kind : {"keys.", "values."})
      model.declareCache(kind + std::to_string(layer), {pages, heads, pagePlaces, depth}, model.builder.getF32Type());

  auto list = [&](ArrayRef<DimAttr> dims) { return getTensorType(dims, i64); };
  length = tokens;
  addStateless("prefill", /*hasHead=*/true);
  addStateless("embed", /*hasHead=*/false);
  addStep("extend", {{"ids", list(tokens)},
                     {"table", list({sequences, most})},
                     {"starts", list(sequences + 1)},
                     {"lengths", list(sequences)},
                     {"rows", list(rows)}});
  length = one;
  addStep("decode", {{"ids", list(one)}, {"table", list({one, most})}, {"lengths", list(one)}});
}

void DecoderFunctions::addStateless(StringRef name, bool hasHead) {
  Type idType = getTensorType({DimAttr::constant(&model.context, 1), length}, model.builder.getI64Type());
  SmallVector<Value> arguments = model.beginFunction(name, {{"ids", idType}});
  places = {};
  position = at = {};
  Value x = addLayers(arguments[0]);
  if (hasHead)
    return model.endFunction("logits", addHead(x));
  Part g(model, s.isTied ? s.names.embedding : s.names.head, "Norm");
  model.endFunction("states", norm(g, x));
}

void DecoderFunctions::addStep(StringRef name, ArrayRef<ModelBuilder::Input> inputs) {
  SmallVector<Value> arguments = model.beginFunction(name, inputs);
  Value ids = arguments[0], rows;
  {
    Part g(model, "positions", "Cache");
    places = {};
    places.table = arguments[1];
    if (inputs.size() > 3) {
      places.starts = arguments[2];
      places.lengths = arguments[3];
      rows = g.check(arguments[4], length);
    } else {
      places.lengths = arguments[2];
      places.starts = g.emitAs<IotaOp>(g.makeType({length + 1}, model.builder.getI64Type()), 0);
    }
    placeTokens(g);
    ids = g.reshape(ids, {g.dim(1), length});
  }
  Value x = addLayers(ids);
  Part g(model, "rows", "Head");
  if (rows && x)
    x = g.emit<GatherOp>(x, rows, 1, IntegerAttr(), /*in_range=*/true);
  Value logits = addHead(x);
  if (logits)
    logits = g.reshape(logits, {getDim(g.typeOf(logits), 1), g.dim(s.words)});
  model.endFunction("logits", logits);
}

void DecoderFunctions::placeTokens(Part &g) {
  Type i64 = model.builder.getI64Type();
  const DimAttr sequences = getDim(typeOf(places.lengths), 0), most = getDim(typeOf(places.table), 1);
  g.require(ConstraintKind::at_least, DimAttr::ceilDiv(room, g.dim(kPagePlaces)), most);
  Value token = g.emitAs<IotaOp>(g.makeType({length}, i64), 0), sequence = token;
  Value ends = g.slice(places.starts, {g.dim(1)}, {sequences}, {1});
  if (sequences != length) {
    // The number of sequences that end before the token.
    const DimAttr dims[] = {length, sequences};
    Value isBehind =
        g.emit<CompareOp>(ComparePredicate::le, g.broadcastAlong(ends, dims, 0), g.broadcastAlong(token, dims, 1));
    sequence = g.check(g.reduce(ReduceKind::sum, g.cast(isBehind, i64), int64_t(1)), sequences);
  }
  auto ofSequence = [&](Value list) {
    return sequences == length ? list : g.emit<GatherOp>(list, sequence, 0, IntegerAttr(), /*in_range=*/true);
  };
  position = g.emit<AddOp>(token, ofSequence(g.emit<SubOp>(places.lengths, ends)));
  position = g.check(position, room);
  auto pair = [&](Value first, Value second) {
    const DimAttr dims[] = {length, g.dim(1)};
    const Value columns[] = {g.reshape(first, dims), g.reshape(second, dims)};
    return columns[0] && columns[1] ? g.emit<ConcatOp>(ArrayRef(columns), 1) : Value();
  };
  Value size = g.splatLike(double(kPagePlaces), position);
  Value own = g.check(pair(sequence, g.emit<DivOp>(position, size)), {sequences, most});
  Value page = g.emit<GatherOp>(places.table, own, 0, g.builder.getI64IntegerAttr(2), /*in_range=*/true);
  at = g.check(pair(page, g.emit<RemOp>(position, size)), {pages, g.dim(kPagePlaces)});
}

Value DecoderFunctions::addLayers(Value ids) {
  Value x = embedTokens(ids);
  for (int64_t layer = 0; layer < s.layers && !model.hasFailed(); ++layer)
    x = addLayer(layer, x);
  return x;
}

Value DecoderFunctions::addHead(Value x) {
  Part g(model, s.isTied ? s.names.embedding : s.names.head, "Head");
  x = norm(g, x);
  Value logits = g.multiply(x, s.isTied ? embedding(g) : g.weight(s.names.head + ".weight", {s.words, s.width}));
  if (logits && s.hasHeadBias)
    logits = g.addToRows(logits, g.weight(s.names.head + ".bias", {s.words}));
  return logits;
}

Value DecoderFunctions::embedding(Part &g) { return g.weight(s.names.embedding + ".weight", {s.words, s.width}); }

RotaryAngles DecoderFunctions::findAngles(const std::string &name, const Rotary &rotary) {
  return emitAngles(model, name, rotary, {length, position, s.context, room});
}

Value DecoderFunctions::linear(Part &g, Value x, const std::string &name, int64_t inputs, int64_t outputs,
                               bool hasBias) {
  return s.isTransposed ? g.linearTransposed(x, name, inputs, outputs) : g.linear(x, name, inputs, outputs, hasBias);
}

DecoderFunctions::Heads DecoderFunctions::project(Part &g, const std::string &layer, Value input) {
  const int64_t queries = s.heads * s.depth, keys = s.keyHeads * s.depth;
  if (!s.names.key.empty()) {
    auto one = [&](StringRef part, int64_t heads) {
      return g.splitHeads(linear(g, input, layer + part.str(), s.width, heads * s.depth, s.hasQueryBias), heads,
                          s.depth);
    };
    return {one(s.names.query, s.heads), one(s.names.key, s.keyHeads), one(s.names.value, s.keyHeads)};
  }
  Value all = linear(g, input, layer + s.names.query.str(), s.width, queries + 2 * keys, s.hasQueryBias);
  auto take = [&](int64_t start, int64_t heads) {
    const int64_t size = heads * s.depth;
    return g.splitHeads(g.slice(all, {g.dim(0), g.dim(0), g.dim(start)}, {g.dim(1), length, g.dim(size)}, {1, 1, 1}),
                        heads, s.depth);
  };
  return {take(0, s.heads), take(queries, s.keyHeads), take(queries + keys, s.keyHeads)};
}

Value DecoderFunctions::positions(Part &g, Value table) {
  if (!table)
    return {};
  if (position)
    return g.emit<GatherOp>(table, position, 0, IntegerAttr(), /*in_range=*/true);
  SmallVector<DimAttr> sizes = getDims(typeOf(table));
  return g.slice(table, {g.dim(0), g.dim(0)}, {length, sizes[1]}, {1, 1});
}

Value DecoderFunctions::attend(Part &g, int64_t layer, Value query, Value key, Value value) {
  Part::AttentionRules rules;
  rules.scale = s.attentionScale.value_or(1 / std::sqrt(double(s.depth)));
  rules.isCausal = true;
  if (s.hasWindow(layer))
    rules.window = s.window;
  if (!at)
    return g.joinHeads(g.attend(query, key, value, rules));
  const std::string number = std::to_string(layer);
  Part::Pages pages = places;
  pages.keys = g.writePages("keys." + number, cacheType, key, at);
  pages.values = g.writePages("values." + number, cacheType, value, at);
  return g.joinHeads(g.attend(query, pages, rules));
}

void buildDecoder(ModelBuilder &model, const DecoderSettings &settings) {
  if (settings.depth > PagedAttentionOp::mostDepth)
    return model.fail(model.weights.getName() + ": expected heads of at most " + Twine(PagedAttentionOp::mostDepth) +
                      " elements, got " + Twine(settings.depth));
  if (settings.family == "gpt2")
    buildGpt2(model, settings);
  else if (settings.family == "phi2")
    buildPhi2(model, settings);
  else
    buildRotaryDecoder(model, settings);
}

} // namespace vx
