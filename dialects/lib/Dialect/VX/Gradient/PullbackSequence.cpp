// Gradients of sequences: a sequence of the gradients of the tensors.
#include "Sequences.h"
#include "vx/Dialect/VX/Gradient/Pullback.h"
#include "vx/Dialect/VX/Gradient/ReverseMode.h"

using namespace mlir;

namespace vx {

static Value reshapeLike(GraphBuilder &g, Value value, Value like) {
  return value ? g.reshape(value, getDims(cast<RankedTensorType>(like.getType()))) : Value();
}

/// The position of the last tensor of a sequence.
static Value makeLast(GraphBuilder &g, Value sequence) {
  Value length = SequenceLengthOp::create(g.builder, g.location, sequence);
  return g.emit<SubOp>(length, g.emitScalar(1, g.builder.getI64Type()));
}

/// A position counted from the start, of one that is negative where it counts from the end of the sequence.
static Value countFromStart(GraphBuilder &g, Value position, Value sequence) {
  Value length = SequenceLengthOp::create(g.builder, g.location, sequence);
  Value isNegative = g.emit<CompareOp>(ComparePredicate::lt, position, g.emitScalar(0, g.builder.getI64Type()));
  return g.emit<SelectOp>(isNegative, g.emit<AddOp>(position, length), position);
}

void SequenceConstructOp::buildPullback(Pullback &p) {
  GraphBuilder &g = p.g;
  for (auto [index, input] : llvm::enumerate(getInputs()))
    if (p.wants(index)) {
      Value position = g.emitScalar(index, g.builder.getI64Type());
      p.give(index, reshapeLike(g, takeFromSequence(g, p.of(), position), input));
    }
}

void SequenceInsertOp::buildPullback(Pullback &p) {
  GraphBuilder &g = p.g;
  Value gradient = p.of();
  // Counted in what there was before.
  Value position = getPosition() ? countFromStart(g, getPosition(), getSequence()) : makeLast(g, gradient);
  if (p.wants(getValue()))
    p.give(getValue(), reshapeLike(g, takeFromSequence(g, gradient, position), getValue()));
  if (p.wants(getSequence()))
    p.give(getSequence(), SequenceEraseOp::create(g.builder, g.location, getSequence().getType(), gradient, position));
}

void SequenceAtOp::buildPullback(Pullback &p) {
  GraphBuilder &g = p.g;
  if (!p.wants(getSequence()))
    return;
  // The one tensor in place of its zeros.
  Value zeros = makeZeros(g, getSequence());
  if (!zeros)
    return p.refuse("the tensors of its sequence differ in rank");
  Type type = getSequence().getType();
  Value position = countFromStart(g, getPosition(), getSequence());
  Value others = SequenceEraseOp::create(g.builder, g.location, type, zeros, position);
  p.give(getSequence(), SequenceInsertOp::create(g.builder, g.location, type, others, p.of(), position));
}

void SequenceEraseOp::buildPullback(Pullback &p) {
  GraphBuilder &g = p.g;
  Value position = getPosition() ? countFromStart(g, getPosition(), getSequence()) : makeLast(g, getSequence());
  Value erased = takeFromSequence(g, getSequence(), position);
  if (!erased)
    return p.refuse("the tensors of its sequence differ in rank");
  p.give(getSequence(), SequenceInsertOp::create(g.builder, g.location, getSequence().getType(), p.of(),
                                                 g.splatLike(0, erased), position));
}

void OptionalOp::buildPullback(Pullback &p) { p.refuse("no gradient passes through an optional"); }
void OptionalValueOp::buildPullback(Pullback &p) { p.refuse("no gradient passes through an optional"); }

} // namespace vx
