#include "OpEvaluators.h"

using namespace mlir;

namespace vx::reference {

/// The place that a position means in a list whose last legal position is `limit` - 1; negative ones count from
/// `length`.
static llvm::Expected<int64_t> resolvePosition(Operation *op, const HostValue &value, int64_t length, int64_t limit) {
  int64_t position = std::get<HostTensor>(value).getInt(0);
  if (position < -length || position >= limit)
    return callError(op, "position " + llvm::Twine(position) + " is out of range [" + llvm::Twine(-length) + ", " +
                             llvm::Twine(limit) + ")");
  return position < 0 ? position + length : position;
}

static llvm::Expected<HostValue> evaluateSequence(Operation *op, llvm::ArrayRef<HostValue> operands) {
  if (llvm::isa<SequenceConstructOp>(op)) {
    HostSequence result;
    for (const HostValue &operand : operands)
      result.push_back(std::get<HostTensor>(operand));
    return result;
  }
  if (const auto *optional = operands.empty() ? nullptr : std::get_if<HostOptionalSequence>(&operands[0])) {
    if (llvm::isa<SequenceLengthOp>(op))
      return HostTensor::scalar(static_cast<int64_t>(optional->has_value()));
    if (!*optional) // optional_value
      return callError(op, "the optional holds none");
    return **optional;
  }
  if (auto optional = llvm::dyn_cast<OptionalOp>(op)) {
    if (llvm::isa<SequenceType>(optional.getResult().getType().getValueType()))
      return operands.empty() ? HostOptionalSequence() : HostOptionalSequence(std::get<HostSequence>(operands[0]));
    return operands.empty() ? HostSequence() : HostSequence{std::get<HostTensor>(operands[0])};
  }
  HostSequence sequence = std::get<HostSequence>(operands[0]);
  auto length = static_cast<int64_t>(sequence.size());
  if (llvm::isa<SequenceLengthOp>(op))
    return HostTensor::scalar(length);
  if (llvm::isa<SequenceInsertOp>(op)) {
    int64_t place = length;
    if (operands.size() == 3) {
      llvm::Expected<int64_t> position = resolvePosition(op, operands[2], length, length + 1);
      if (!position)
        return position.takeError();
      place = *position;
    }
    sequence.insert(sequence.begin() + place, std::get<HostTensor>(operands[1]));
    return sequence;
  }
  if (llvm::isa<SequenceAtOp>(op)) {
    llvm::Expected<int64_t> position = resolvePosition(op, operands[1], length, length);
    if (!position)
      return position.takeError();
    return sequence[*position];
  }
  // sequence_erase
  int64_t place = length - 1;
  if (operands.size() == 2) {
    llvm::Expected<int64_t> position = resolvePosition(op, operands[1], length, length);
    if (!position)
      return position.takeError();
    place = *position;
  } else if (length == 0) {
    return callError(op, "the sequence is empty, there is no tensor to erase");
  }
  sequence.erase(sequence.begin() + place);
  return sequence;
}

static OpResults evaluateSequenceOp(Operation *op, llvm::ArrayRef<HostValue> operands, const SymbolValues &) {
  llvm::Expected<HostValue> result = evaluateSequence(op, operands);
  if (!result)
    return result.takeError();
  return llvm::SmallVector<HostValue>{std::move(*result)};
}

void addSequenceEvaluators(EvaluatorTable &table) {
  table.add<SequenceConstructOp>(evaluateSequenceOp);
  table.add<SequenceInsertOp>(evaluateSequenceOp);
  table.add<SequenceAtOp>(evaluateSequenceOp);
  table.add<SequenceEraseOp>(evaluateSequenceOp);
  table.add<SequenceLengthOp>(evaluateSequenceOp);
  table.add<OptionalOp>(evaluateSequenceOp);
  table.add<OptionalValueOp>(evaluateSequenceOp);
}

} // namespace vx::reference
