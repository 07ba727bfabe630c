// Decoders with rotary positions, root-mean-square norms and gated layers.
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

class RotaryDecoder : public DecoderFunctions {
public:
  using DecoderFunctions::DecoderFunctions;

protected:
  Value embed(Value ids) override {
    findAngles();
    Part g(model, s.names.embedding, "Embedding");
    return g.rows(embedding(g), ids);
  }

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
      return g.reshape(positions(g, table), {g.dim(1), length, g.dim(1), g.dim(pairs)});
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

  Value addLayer(int64_t layer, Value x) override {
    const std::string name = s.names.layers.str() + std::to_string(layer) + ".";
    auto named = [&](StringRef part) { return name + part.str(); };
    {
      Part g(model, named(s.names.query), "Attention");
      Value input = g.rmsNorm(x, named(s.names.attentionNorm), s.width, s.epsilon);
      auto project = [&](StringRef part, int64_t heads) {
        return g.splitHeads(g.linear(input, named(part), s.width, heads * s.depth, s.hasQueryBias), heads, s.depth);
      };
      Value query = turn(g, project(s.names.query, s.heads));
      Value key = turn(g, project(s.names.key, s.keyHeads));
      Value attended = attend(g, layer, query, key, project(s.names.value, s.keyHeads));
      x = g.emit<AddOp>(x, g.linear(attended, named(s.names.output), s.heads * s.depth, s.width, s.hasOutputBias));
    }
    Part g(model, named(s.names.up), "FeedForward");
    Value input = g.rmsNorm(x, named(s.names.feedForwardNorm), s.width, s.epsilon);
    Value gate = g.activate(s.activation, g.linear(input, named(s.names.gate), s.width, s.inner, s.hasInnerBias));
    Value up = g.linear(input, named(s.names.up), s.width, s.inner, s.hasInnerBias);
    return g.emit<AddOp>(x, g.linear(g.emit<MulOp>(gate, up), named(s.names.down), s.inner, s.width, s.hasInnerBias));
  }

  Value norm(Part &g, Value x) override { return g.rmsNorm(x, s.names.norm, s.width, s.epsilon); }

private:
  Value cosines, sines;
};

} // namespace

void buildRotaryDecoder(ModelBuilder &model, const DecoderSettings &settings) {
  RotaryDecoder(model, settings).build();
}

} // namespace vx
