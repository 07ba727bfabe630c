#include "Decoder.h"

#include <cmath>

using namespace mlir;

namespace vx {

void DecoderFunctions::build() {
  Type i64 = model.builder.getI64Type();
  DimAttr one = DimAttr::constant(&model.context, 1);
  room = model.declareSymbol("context", 1, s.context, ModelBuilder::SymbolKind::Instance);
  DimAttr tokens = model.declareSymbol("tokens", 1, s.context);
  DimAttr before = model.declareSymbol("past", 0, s.context - 1, ModelBuilder::SymbolKind::Data);
  DimAttr heads = DimAttr::constant(&model.context, s.keyHeads), depth = DimAttr::constant(&model.context, s.depth);
  cacheType = getTensorType({one, room, heads, depth}, model.builder.getF32Type());
  for (int64_t layer = 0; layer < s.layers; ++layer)
    for (const char *kind : {"keys.", "values."})
      model.declareCache(kind + std::to_string(layer), {one, room, heads, depth}, model.builder.getF32Type());

  Type idType = getTensorType({one, tokens}, i64), single = RankedTensorType::get({1, 1}, i64),
       scalar = RankedTensorType::get({}, i64);
  addFunction("prefill", {{"ids", idType}}, DimAttr());
  addFunction("extend", {{"ids", idType}, {"past", scalar}}, before);
  addFunction("decode", {{"ids", single}, {"past", scalar}}, before);
}

void DecoderFunctions::addFunction(StringRef name, ArrayRef<ModelBuilder::Input> inputs, DimAttr symbol) {
  SmallVector<Value> arguments = model.beginFunction(name, inputs);
  past = symbol;
  length = getDim(typeOf(arguments[0]), 1);
  if (past) {
    Part g(model, "context", "Cache");
    g.bindSymbol(arguments[1], past);
    g.require(ConstraintKind::at_least, room, past + length);
  }
  Value x = embed(arguments[0]);
  for (int64_t layer = 0; layer < s.layers && !model.hasFailed(); ++layer)
    x = addLayer(layer, x);
  Part g(model, s.isTied ? s.names.embedding : s.names.head, "Head");
  if (past && x)
    x = g.slice(x, {g.dim(0), length + -1, g.dim(0)}, {g.dim(1), g.dim(1), g.dim(s.width)}, {1, 1, 1});
  x = norm(g, x);
  Value logits = g.multiply(x, s.isTied ? embedding(g) : g.weight(s.names.head + ".weight", {s.words, s.width}));
  if (logits && s.hasHeadBias)
    logits = g.addToRows(logits, g.weight(s.names.head + ".bias", {s.words}));
  if (past && logits)
    logits = g.reshape(logits, {g.dim(1), g.dim(s.words)});
  model.endFunction("logits", logits);
}

Value DecoderFunctions::embedding(Part &g) { return g.weight(s.names.embedding + ".weight", {s.words, s.width}); }

RotaryAngles DecoderFunctions::findAngles(const std::string &name, const Rotary &rotary) {
  return emitAngles(model, name, rotary, {length, past, s.context, room});
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
  SmallVector<DimAttr> sizes = getDims(typeOf(table));
  return g.slice(table, {past ? past : g.dim(0), g.dim(0)}, {length, sizes[1]}, {1, 1});
}

Value DecoderFunctions::attend(Part &g, int64_t layer, Value query, Value key, Value value) {
  const std::string number = std::to_string(layer);
  if (past) {
    key = g.extendCache("keys." + number, cacheType, key, past, past + length);
    value = g.extendCache("values." + number, cacheType, value, past, past + length);
  }
  Part::AttentionRules rules;
  rules.scale = s.attentionScale.value_or(1 / std::sqrt(double(s.depth)));
  rules.isCausal = true;
  if (s.hasWindow(layer))
    rules.window = s.window;
  rules.past = past;
  return g.joinHeads(g.attend(query, key, value, rules));
}

void buildDecoder(ModelBuilder &model, const DecoderSettings &settings) {
  if (settings.family == "gpt2")
    buildGpt2(model, settings);
  else if (settings.family == "phi2")
    buildPhi2(model, settings);
  else
    buildRotaryDecoder(model, settings);
}

} // namespace vx
