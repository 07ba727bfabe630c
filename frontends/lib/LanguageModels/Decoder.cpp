#include "Decoder.h"

#include "vx/Frontend/Parts/RotaryPairs.h"

#include <cmath>

using namespace mlir;

namespace vx {

std::vector<double> computeFrequencies(double theta, int64_t turned) {
  std::vector<double> frequencies(static_cast<size_t>(turned / 2));
  for (size_t i = 0; i < frequencies.size(); ++i)
    frequencies[i] = std::pow(theta, -2.0 * double(i) / double(turned));
  return frequencies;
}

namespace {

class Decoder {
public:
  Decoder(ModelBuilder &model, const DecoderSettings &settings) : model(model), s(settings) {}

  void build() {
    Type i64 = model.builder.getI64Type();
    DimAttr one = DimAttr::constant(&model.context, 1);
    room = model.declareSymbol("context", 1, s.context, ModelBuilder::SymbolKind::Instance);
    DimAttr tokens = model.declareSymbol("tokens", 1, s.context);
    DimAttr past = model.declareSymbol("past", 0, s.context - 1, ModelBuilder::SymbolKind::Data);
    DimAttr heads = DimAttr::constant(&model.context, s.keyHeads), depth = DimAttr::constant(&model.context, s.depth);
    cacheType = getTensorType({one, room, heads, depth}, model.builder.getF32Type());
    for (int64_t layer = 0; layer < s.layers; ++layer)
      for (const char *kind : {"keys.", "values."})
        model.declareCache(kind + std::to_string(layer), {one, room, heads, depth}, model.builder.getF32Type());

    Type idType = getTensorType({one, tokens}, i64), single = RankedTensorType::get({1, 1}, i64),
         scalar = RankedTensorType::get({}, i64);
    begin("prefill", {{"ids", idType}}, DimAttr());
    end(/*lastOnly=*/false);
    begin("extend", {{"ids", idType}, {"past", scalar}}, past);
    end(/*lastOnly=*/true);
    begin("decode", {{"ids", single}, {"past", scalar}}, past);
    end(/*lastOnly=*/true);
  }

private:
  void begin(StringRef name, ArrayRef<ModelBuilder::Input> inputs, DimAttr symbol) {
    SmallVector<Value> arguments = model.beginFunction(name, inputs);
    past = symbol;
    length = getDim(typeOf(arguments[0]), 1);
    if (past) {
      Part g(model, "context", "Cache");
      g.bindSymbol(arguments[1], past);
      g.require(ConstraintKind::at_least, room, past + length);
    }
    findAngles();
    {
      Part g(model, s.names.embedding, "Embedding");
      x = g.rows(embedding(g), arguments[0]);
    }
    for (int64_t layer = 0; layer < s.layers && !model.hasFailed(); ++layer)
      addLayer(layer);
  }

  void end(bool lastOnly) {
    Part g(model, s.isTied ? s.names.embedding : s.names.head, "Head");
    if (lastOnly && x) {
      DimAttr last = length + -1;
      x = g.slice(x, {g.dim(0), last, g.dim(0)}, {g.dim(1), g.dim(1), g.dim(s.width)}, {1, 1, 1});
    }
    x = g.rmsNorm(x, s.names.norm, s.width, s.epsilon);
    Value head = s.isTied ? embedding(g) : g.weight(s.names.head + ".weight", {s.words, s.width});
    Value logits = g.multiply(x, head);
    if (lastOnly && logits)
      logits = g.reshape(logits, {g.dim(1), g.dim(s.words)});
    model.endFunction("logits", logits);
  }

  Value embedding(Part &g) { return g.weight(s.names.embedding + ".weight", {s.words, s.width}); }

  /// The cosines and sines of this call's positions: [1, length, 1, pairs], of tables that are computed in f64.
  void findAngles() {
    Part g(model, "rotary", "RotaryEmbedding");
    const int64_t pairs = static_cast<int64_t>(s.frequencies.size());
    auto makeTable = [&](StringRef name, double (*function)(double)) {
      Value table = g.emitConstant(model.getTable(name, {s.context, pairs}, [&](MutableArrayRef<float> values) {
        for (size_t at = 0; at < values.size(); ++at)
          values[at] = static_cast<float>(
              function(double(at / s.frequencies.size()) * s.frequencies[at % s.frequencies.size()]));
      }));
      Value rows = g.slice(table, {past ? past : g.dim(0), g.dim(0)}, {length, g.dim(pairs)}, {1, 1});
      return g.reshape(rows, {g.dim(1), length, g.dim(1), g.dim(pairs)});
    };
    cosines = makeTable("rotary.cosines", [](double angle) { return std::cos(angle); });
    sines = makeTable("rotary.sines", [](double angle) { return std::sin(angle); });
  }

  Value turn(Part &g, Value heads) {
    if (!heads)
      return {};
    SmallVector<DimAttr> sizes = getDims(typeOf(heads));
    sizes[3] = g.dim(static_cast<int64_t>(s.frequencies.size()));
    return emitTurnedPairs(g, heads, g.broadcast(cosines, sizes), g.broadcast(sines, sizes), s.turnsNeighbours,
                           /*turnsAll=*/2 * static_cast<int64_t>(s.frequencies.size()) == s.depth);
  }

  void addLayer(int64_t layer) {
    const std::string number = std::to_string(layer), name = s.names.layers.str() + number + ".";
    auto named = [&](StringRef part) { return name + part.str(); };
    {
      Part g(model, named(s.names.query), "Attention");
      Value input = g.rmsNorm(x, named(s.names.attentionNorm), s.width, s.epsilon);
      auto project = [&](StringRef part, int64_t heads) {
        return g.splitHeads(g.linear(input, named(part), s.width, heads * s.depth, s.hasQueryBias), heads, s.depth);
      };
      Value query = turn(g, project(s.names.query, s.heads));
      Value keys = turn(g, project(s.names.key, s.keyHeads));
      Value values = project(s.names.value, s.keyHeads);
      if (past) {
        keys = g.extendCache("keys." + number, cacheType, keys, past, past + length);
        values = g.extendCache("values." + number, cacheType, values, past, past + length);
      }
      Part::AttentionRules rules;
      rules.scale = 1 / std::sqrt(double(s.depth));
      rules.isCausal = true;
      rules.window = s.window;
      rules.past = past;
      Value attended = g.joinHeads(g.attend(query, keys, values, rules));
      x = g.emit<AddOp>(x, g.linear(attended, named(s.names.output), s.heads * s.depth, s.width, s.hasOutputBias));
    }
    Part g(model, named(s.names.up), "FeedForward");
    Value input = g.rmsNorm(x, named(s.names.feedForwardNorm), s.width, s.epsilon);
    Value gate = g.activate(s.activation, g.linear(input, named(s.names.gate), s.width, s.inner, s.hasInnerBias));
    Value up = g.linear(input, named(s.names.up), s.width, s.inner, s.hasInnerBias);
    x = g.emit<AddOp>(x, g.linear(g.emit<MulOp>(gate, up), named(s.names.down), s.inner, s.width, s.hasInnerBias));
  }

  ModelBuilder &model;
  const DecoderSettings &s;
  DimAttr room, past, length; // `past` is null in a function without state
  Type cacheType;
  Value x, cosines, sines;
};

} // namespace

void buildDecoder(ModelBuilder &model, const DecoderSettings &settings) { Decoder(model, settings).build(); }

} // namespace vx
