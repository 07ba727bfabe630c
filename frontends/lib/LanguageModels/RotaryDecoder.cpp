// Decoders with rotary positions, root-mean-square norms and gated layers.
#include "Decoder.h"

#include "vx/Dialect/VX/Utils/Activations.h"

using namespace mlir;

namespace vx {

namespace {

class RotaryDecoder : public DecoderFunctions {
public:
  using DecoderFunctions::DecoderFunctions;

protected:
  Value embedTokens(Value ids) override {
    angles = findAngles("rotary", s.rotary);
    windowAngles = s.windowRotary ? findAngles("rotary.window", *s.windowRotary) : angles;
    Part g(model, s.names.embedding, "Embedding");
    Value rows = g.rows(embedding(g), ids);
    return rows && s.embeddingScale != 1 ? emitScaled(g, rows, s.embeddingScale) : rows;
  }

  /// Without a name `x` itself.
  Value norm(Part &g, Value x, const Twine &prefix, StringRef part, int64_t width) {
    return part.empty() ? x : g.rmsNorm(x, prefix + part, width, s.epsilon, s.isNormLessOne);
  }

  Value addLayer(int64_t layer, Value x) override {
    const std::string name = s.names.layers.str() + std::to_string(layer) + ".";
    auto named = [&](StringRef part) { return name + part.str(); };
    {
      Part g(model, named(s.names.query), "Attention");
      Heads heads = project(g, name, norm(g, x, name, s.names.attentionNorm, s.width));
      const bool isNear = s.hasWindow(layer);
      auto turn = [&](Value values, StringRef headNorm) {
        return emitTurn(g, isNear && s.windowRotary ? *s.windowRotary : s.rotary, isNear ? windowAngles : angles,
                        norm(g, values, name, headNorm, s.depth));
      };
      Value query = turn(heads.query, s.names.queryNorm), key = turn(heads.key, s.names.keyNorm);
      Value attended = attend(g, layer, query, key, heads.value);
      Value added = g.linear(attended, named(s.names.output), s.heads * s.depth, s.width, s.hasOutputBias);
      x = g.emit<AddOp>(x, norm(g, added, name, s.names.addedAttentionNorm, s.width));
    }
    Part g(model, named(s.names.up), "FeedForward");
    Value input = norm(g, x, name, s.names.feedForwardNorm, s.width);
    auto [gate, up] = projectInner(g, name, input);
    Value added = g.linear(g.emit<MulOp>(g.activate(s.activation, gate), up), named(s.names.down), s.inner, s.width,
                           s.hasInnerBias);
    return g.emit<AddOp>(x, norm(g, added, name, s.names.addedFeedForwardNorm, s.width));
  }

  /// Gate and up: two products, or one of a tensor whose rows are those of both.
  std::pair<Value, Value> projectInner(Part &g, const std::string &layer, Value input) {
    const std::string up = layer + s.names.up.str();
    if (!s.names.gate.empty())
      return {g.linear(input, layer + s.names.gate, s.width, s.inner, s.hasInnerBias),
              g.linear(input, up, s.width, s.inner, s.hasInnerBias)};
    Value both = g.linear(input, up, s.width, 2 * s.inner, s.hasInnerBias);
    auto take = [&](int64_t start) {
      return g.slice(both, {g.dim(0), g.dim(0), g.dim(start)}, {g.dim(1), length, g.dim(s.inner)}, {1, 1, 1});
    };
    return {take(0), take(s.inner)};
  }

  Value norm(Part &g, Value x) override { return norm(g, x, "", s.names.norm, s.width); }

private:
  RotaryAngles angles, windowAngles;
};

} // namespace

void buildRotaryDecoder(ModelBuilder &model, const DecoderSettings &settings) {
  RotaryDecoder(model, settings).build();
}

} // namespace vx
