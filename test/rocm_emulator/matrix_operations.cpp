// Products of fragments of matrices: a whole wavefront computes D = A * B + C.
#include "numbers.h"
#include "operations.h"
#include "wave.h"

namespace vx::rocm_emulator {

namespace {

using ToFloat = float (*)(uint16_t);
using Matrix = float[16][16];

uint16_t halfOf(const Vector &vector, unsigned lane, unsigned upper) {
  return static_cast<uint16_t>(vector[lane] >> (16 * upper));
}

const Operand &registersOf(const Instruction &instruction, unsigned operand, unsigned words) {
  const Operand &op = instruction.operands[operand];
  if (op.kind != Operand::VectorRegister || op.words != words)
    throw Fault("'" + op.text + "' are not " + std::to_string(words) + " vector registers");
  return op;
}

float accumulatorOf(const Wave &wave, const Operand &op, unsigned place, unsigned lane) {
  if (op.kind == Operand::VectorRegister)
    return std::bit_cast<float>(wave.v[op.index + place][lane]);
  return std::bit_cast<float>(readScalar(wave, op));
}

// The products of two 16-bit numbers are exact in f32; their sum is rounded at each step.
float sumOf(const float *a, const float *b, float sum) {
  for (unsigned k = 0; k < 16; ++k)
    sum = std::fma(a[k], b[k], sum);
  return sum;
}

// RDNA 3, 32 lanes: lane l has row l % 16 of A and column l % 16 of B, 16 elements each, and of D in register r the row
// 2 r + l / 16 of column l % 16.
template <ToFloat element>
void wmma(Wave &wave, const Instruction &instruction) {
  if (wave.exec() != wave.allLanes())
    throw Fault("some lanes are switched off");
  const Operand &d = registersOf(instruction, 0, 8), &a = registersOf(instruction, 1, 8),
                &b = registersOf(instruction, 2, 8), &c = instruction.operands[3];
  Matrix rows, columns;
  for (unsigned lane = 0; lane < 16; ++lane)
    for (unsigned k = 0; k < 16; ++k) {
      const Vector &ofA = wave.v[a.index + k / 2], &ofB = wave.v[b.index + k / 2];
      if (ofA[lane] != ofA[lane + 16] || ofB[lane] != ofB[lane + 16])
        throw Fault("lanes " + std::to_string(lane) + " and " + std::to_string(lane + 16) + " differ in a factor");
      rows[lane][k] = element(halfOf(ofA, lane, k % 2));
      columns[lane][k] = element(halfOf(ofB, lane, k % 2));
    }
  Vector result[8];
  for (unsigned r = 0; r < 8; ++r)
    for (unsigned lane = 0; lane < 32; ++lane)
      result[r][lane] =
          std::bit_cast<uint32_t>(sumOf(rows[2 * r + lane / 16], columns[lane % 16], accumulatorOf(wave, c, r, lane)));
  std::copy(std::begin(result), std::end(result), wave.v.begin() + d.index);
}

// CDNA 3, 64 lanes: lane l has of row l % 16 of A, and of column l % 16 of B, the four elements from l / 16 * 4 on; of
// D in register r the row 4 (l / 16) + r of column l % 16. All lanes take part, whatever EXEC says.
template <ToFloat element>
void mfma(Wave &wave, const Instruction &instruction) {
  const Operand &d = registersOf(instruction, 0, 4), &a = registersOf(instruction, 1, 2),
                &b = registersOf(instruction, 2, 2), &c = instruction.operands[3];
  Matrix rows, columns;
  for (unsigned lane = 0; lane < 64; ++lane)
    for (unsigned k = 0; k < 4; ++k) {
      rows[lane % 16][lane / 16 * 4 + k] = element(halfOf(wave.v[a.index + k / 2], lane, k % 2));
      columns[lane % 16][lane / 16 * 4 + k] = element(halfOf(wave.v[b.index + k / 2], lane, k % 2));
    }
  Vector result[4];
  for (unsigned r = 0; r < 4; ++r)
    for (unsigned lane = 0; lane < 64; ++lane)
      result[r][lane] =
          std::bit_cast<uint32_t>(sumOf(rows[lane / 16 * 4 + r], columns[lane % 16], accumulatorOf(wave, c, r, lane)));
  std::copy(std::begin(result), std::end(result), wave.v.begin() + d.index);
}

} // namespace

std::vector<Operation> matrixOperations() {
  constexpr std::array<Type, 6> types = {Type::None, Type::None, Type::None, Type::F32};
  return {
      {"v_wmma_f32_16x16x16_f16", wmma<halfToFloat>, TakesNothing, types},
      {"v_wmma_f32_16x16x16_bf16", wmma<bfloatToFloat>, TakesNothing, types},
      {"v_mfma_f32_16x16x16_f16", mfma<halfToFloat>, TakesNothing, types},
      {"v_mfma_f32_16x16x16_bf16", mfma<bfloatToFloat>, TakesNothing, types},
  };
}

} // namespace vx::rocm_emulator
