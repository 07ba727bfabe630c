// Decoders with rotary positions, root-mean-square norms and gated layers.
#include "Decoder.h"

#include "vx/Dialect/VX/Utils/Activations.h"
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
    allAngles = findAngles("rotary", s.frequencies);
    windowAngles = s.windowFrequencies.empty() ? allAngles : findAngles("rotary.window", s.windowFrequencies);
    Part g(model, s.names.embedding, "Embedding");
    Value rows = g.rows(embedding(g), ids);
    return rows && s.embeddingScale != 1 ? emitScaled(g, rows, s.embeddingScale) : rows;
  }

  /// Cosines and sines of this call's positions: [1, length, 1, pairs].
  struct Angles {
    Value cosines, sines;
  };

  /// The angle of a position is the sum of two, of a multiple of kStep and of the rest:
  ///
  ///     cos(a + b) = cos a * cos b - sin a * sin b        sin(a + b) = sin a * cos b + cos a * sin b
  ///
  /// Their tables are small, whatever the context, and are computed in f64.
  Angles findAngles(const std::string &name, const std::vector<double> &frequencies) {
    constexpr int64_t kStep = 256;
    Part g(model, name, "RotaryEmbedding");
    const int64_t pairs = static_cast<int64_t>(frequencies.size());
    Value position = g.emitAs<IotaOp>(g.makeType({length}, g.builder.getI64Type()), 0);
    if (past)
      position = g.emit<AddOp>(position, g.broadcast(g.emitDim(past, g.builder.getI64Type()), {length}));
    auto take = [&](const std::string &part, int64_t rows, int64_t step, Value row) {
      auto rowsOf = [&](const char *kind, double (*function)(double)) {
        Value table =
            g.emitConstant(model.getTable(name + part + kind, {rows, pairs}, [&](MutableArrayRef<float> elements) {
              for (size_t at = 0; at < elements.size(); ++at)
                elements[at] = static_cast<float>(
                    function(double(step) * double(at / frequencies.size()) * frequencies[at % frequencies.size()]));
            }));
        return g.emit<GatherOp>(table, row, 0, IntegerAttr(), /*in_range=*/true);
      };
      return Angles{rowsOf(".cosines", [](double angle) { return std::cos(angle); }),
                    rowsOf(".sines", [](double angle) { return std::sin(angle); })};
    };
    Value step = g.splatLike(double(kStep), position);
    const Angles a = take(".steps", llvm::divideCeil(s.context, kStep), kStep, g.emit<DivOp>(position, step));
    const Angles b = take("", std::min(kStep, s.context), 1, g.emit<RemOp>(position, step));
    auto shape = [&](Value rows) { return g.reshape(rows, {g.dim(1), length, g.dim(1), g.dim(pairs)}); };
    return {shape(g.emit<SubOp>(g.emit<MulOp>(a.cosines, b.cosines), g.emit<MulOp>(a.sines, b.sines))),
            shape(g.emit<AddOp>(g.emit<MulOp>(a.sines, b.cosines), g.emit<MulOp>(a.cosines, b.sines)))};
  }

  Value turn(Part &g, const Angles &angles, Value heads) {
    if (!heads)
      return {};
    SmallVector<DimAttr> sizes = getDims(typeOf(heads));
    sizes[3] = getDims(typeOf(angles.cosines))[3];
    const int64_t pairs = typeOf(angles.cosines).getDimSize(3);
    return emitTurnedPairs(g, heads, g.broadcast(angles.cosines, sizes), g.broadcast(angles.sines, sizes),
                           s.turnsNeighbours, /*turnsAll=*/2 * pairs == s.depth);
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
      Value input = norm(g, x, name, s.names.attentionNorm, s.width);
      auto project = [&](StringRef part, int64_t heads) {
        return g.splitHeads(g.linear(input, named(part), s.width, heads * s.depth, s.hasQueryBias), heads, s.depth);
      };
      const Angles &angles = s.hasWindow(layer) ? windowAngles : allAngles;
      auto turned = [&](StringRef part, StringRef headNorm, int64_t heads) {
        return turn(g, angles, norm(g, project(part, heads), name, headNorm, s.depth));
      };
      Value query = turned(s.names.query, s.names.queryNorm, s.heads);
      Value key = turned(s.names.key, s.names.keyNorm, s.keyHeads);
      Value attended = attend(g, layer, query, key, project(s.names.value, s.keyHeads));
      Value added = g.linear(attended, named(s.names.output), s.heads * s.depth, s.width, s.hasOutputBias);
      x = g.emit<AddOp>(x, norm(g, added, name, s.names.addedAttentionNorm, s.width));
    }
    Part g(model, named(s.names.up), "FeedForward");
    Value input = norm(g, x, name, s.names.feedForwardNorm, s.width);
    Value gate = g.activate(s.activation, g.linear(input, named(s.names.gate), s.width, s.inner, s.hasInnerBias));
    Value up = g.linear(input, named(s.names.up), s.width, s.inner, s.hasInnerBias);
    Value added = g.linear(g.emit<MulOp>(gate, up), named(s.names.down), s.inner, s.width, s.hasInnerBias);
    return g.emit<AddOp>(x, norm(g, added, name, s.names.addedFeedForwardNorm, s.width));
  }

  Value norm(Part &g, Value x) override { return norm(g, x, "", s.names.norm, s.width); }

private:
  Angles allAngles, windowAngles;
};

} // namespace

void buildRotaryDecoder(ModelBuilder &model, const DecoderSettings &settings) {
  RotaryDecoder(model, settings).build();
}

} // namespace vx
