#include "Rotary.h"

#include "vx/Frontend/Parts/RotaryPairs.h"

#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace mlir;

namespace vx {

std::vector<double> computeFrequencies(double theta, int64_t turned) {
  std::vector<double> frequencies(static_cast<size_t>(turned / 2));
  for (size_t i = 0; i < frequencies.size(); ++i)
    frequencies[i] = std::pow(theta, -2.0 * double(i) / double(turned));
  return frequencies;
}

/// The angle of a position is the sum of two, of a multiple of kStep and of the rest:
///
///     cos(a + b) = cos a * cos b - sin a * sin b        sin(a + b) = sin a * cos b + cos a * sin b
///
/// Their tables are small, whatever the context, and are computed in f64. With frequencies for long contexts, a table
/// has their rows after the others, and the room of the instance chooses.
RotaryAngles emitAngles(ModelBuilder &model, const std::string &name, const Rotary &rotary,
                        const RotaryPositions &positions) {
  constexpr int64_t kStep = 256;
  Part g(model, name, "RotaryEmbedding");
  const Type i64 = g.builder.getI64Type();
  const int64_t pairs = static_cast<int64_t>(rotary.frequencies.size());
  const DimAttr length = positions.length;
  const bool hasLong = !rotary.longFrequencies.empty();
  Value position = positions.given ? positions.given : g.emitAs<IotaOp>(g.makeType({length}, i64), 0);
  Value isLong; // 0 or 1 for each position
  if (hasLong) {
    Value room = g.emitDim(positions.room, i64);
    room = g.emit<CompareOp>(ComparePredicate::gt, room, g.splatLike(double(rotary.shortContext), room));
    isLong = g.broadcast(g.cast(room, i64), {length});
  }
  auto take = [&](const std::string &part, int64_t rows, int64_t step, double scale, Value row) {
    if (hasLong)
      row = g.emit<AddOp>(row, g.emit<MulOp>(isLong, g.splatLike(double(rows), isLong)));
    auto rowsOf = [&](const char *kind, double (*function)(double)) {
      Value table = g.emitConstant(
          model.getTable(name + part + kind, {hasLong ? 2 * rows : rows, pairs}, [&](MutableArrayRef<float> elements) {
            for (size_t at = 0; at < elements.size(); ++at) {
              const size_t place = at / rotary.frequencies.size(), pair = at % rotary.frequencies.size();
              const bool isShort = place < static_cast<size_t>(rows);
              const double frequency = isShort ? rotary.frequencies[pair] : rotary.longFrequencies[pair];
              const double number = double(isShort ? place : place - static_cast<size_t>(rows));
              elements[at] = static_cast<float>(scale * function(double(step) * number * frequency));
            }
          }));
      return g.emit<GatherOp>(table, row, 0, IntegerAttr(), /*in_range=*/true);
    };
    return RotaryAngles{rowsOf(".cosines", [](double angle) { return std::cos(angle); }),
                        rowsOf(".sines", [](double angle) { return std::sin(angle); })};
  };
  Value step = g.splatLike(double(kStep), position);
  const RotaryAngles a =
      take(".steps", llvm::divideCeil(positions.most, kStep), kStep, rotary.scale, g.emit<DivOp>(position, step));
  const RotaryAngles b = take("", std::min(kStep, positions.most), 1, 1, g.emit<RemOp>(position, step));
  auto shape = [&](Value rows) { return g.reshape(rows, {g.dim(1), length, g.dim(1), g.dim(pairs)}); };
  return {shape(g.emit<SubOp>(g.emit<MulOp>(a.cosines, b.cosines), g.emit<MulOp>(a.sines, b.sines))),
          shape(g.emit<AddOp>(g.emit<MulOp>(a.sines, b.cosines), g.emit<MulOp>(a.cosines, b.sines)))};
}

Value emitTurn(Part &g, const Rotary &rotary, const RotaryAngles &angles, Value heads) {
  if (!heads || !angles.cosines || !angles.sines)
    return {};
  SmallVector<DimAttr> sizes = getDims(typeOf(heads));
  const int64_t pairs = static_cast<int64_t>(rotary.frequencies.size());
  const bool turnsAll = sizes[3].asConstant() == 2 * pairs;
  sizes[3] = g.dim(pairs);
  return emitTurnedPairs(g, heads, g.broadcast(angles.cosines, sizes), g.broadcast(angles.sines, sizes),
                         rotary.turnsNeighbours, turnsAll);
}

} // namespace vx
