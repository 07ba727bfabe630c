// Rotary positions: pairs of elements of a head turn by an angle that grows with the position.
#ifndef VX_LIB_LANGUAGEMODELS_ROTARY_H
#define VX_LIB_LANGUAGEMODELS_ROTARY_H

#include "ModelBuilder.h"

namespace vx {

/// How the heads of a model turn.
struct Rotary {
  /// The angle that a pair turns by from one position to the next. A pair is two neighbours, or an element of each half
  /// of the 2 * frequencies.size() elements that turn. The other elements of a head stay.
  std::vector<double> frequencies;
  bool turnsNeighbours = false;
  /// Cosines and sines are multiplied by this.
  double scale = 1;
  /// The same of an instance with room for more than `shortContext` tokens; empty: no other.
  std::vector<double> longFrequencies = {};
  int64_t shortContext = 0;
};

/// theta^(-2i / turned) for i < turned / 2.
std::vector<double> computeFrequencies(double theta, int64_t turned);

/// The positions of a call: `length` of them, i64 in `given`, or from 0 on where that is null.
struct RotaryPositions {
  DimAttr length;
  mlir::Value given;
  int64_t most; // positions are less than this
  DimAttr room; // of the instance; null if there is one set of frequencies
};

/// Cosines and sines of positions: [1, length, 1, pairs].
struct RotaryAngles {
  mlir::Value cosines, sines;
};
/// `name` is unique to the frequencies: functions share tables by it.
RotaryAngles emitAngles(ModelBuilder &model, const std::string &name, const Rotary &rotary,
                        const RotaryPositions &positions);
/// Turns values [batch, length, heads, depth].
mlir::Value emitTurn(Part &g, const Rotary &rotary, const RotaryAngles &angles, mlir::Value heads);

} // namespace vx

#endif
