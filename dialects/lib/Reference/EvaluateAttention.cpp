#include "OpEvaluators.h"

#include <cmath>

using namespace mlir;

namespace vx::reference {

namespace {

/// A tensor of attention by the roles of its dimensions: batch, heads, length, depth.
struct View {
  View(const HostTensor &tensor, llvm::ArrayRef<int64_t> dims) : values(toFloats(tensor)) {
    Shape own = vx::reference::getStrides(tensor.getShape());
    for (int64_t dim : dims) {
      sizes.push_back(tensor.getShape()[dim]);
      strides.push_back(own[dim]);
    }
  }
  int64_t offset(int64_t batch, int64_t head, int64_t length, int64_t depth) const {
    return batch * strides[0] + head * strides[1] + length * strides[2] + depth * strides[3];
  }
  double at(int64_t batch, int64_t head, int64_t length, int64_t depth) const {
    return values[offset(batch, head, length, depth)];
  }

  std::vector<double> values;
  Shape sizes, strides;
};

/// A mask or bias: dimensions of size 1 repeat.
int64_t repeatedOffset(const HostTensor &tensor, llvm::ArrayRef<int64_t> index) {
  int64_t offset = 0;
  for (auto [size, position] : llvm::zip(tensor.getShape(), index))
    offset = offset * size + (size == 1 ? 0 : position);
  return offset;
}

} // namespace

static llvm::Expected<llvm::SmallVector<HostTensor>>
evaluateAttention(AttentionOp op, llvm::ArrayRef<HostTensor> operands, const SymbolValues &symbols) {
  const HostTensor &queries = operands[0], &keys = operands[1], &values = operands[2];
  const HostTensor *mask = op.getMask() ? &operands[3] : nullptr;
  const HostTensor *bias = op.getBias() ? &operands.back() : nullptr;
  llvm::Expected<int64_t> pastLength = evaluateDimOf(op, op.getPastOrZero(), symbols);
  if (!pastLength)
    return pastLength.takeError();
  const int64_t past = *pastLength;
  using Wide = long double;
  View query(queries, op.getQueryDims()), key(keys, op.getKeyDims()), value(values, op.getValueDims());
  int64_t batches = query.sizes[0], heads = query.sizes[1], length = query.sizes[2], depth = query.sizes[3];
  int64_t keyHeads = key.sizes[1], keyLength = key.sizes[2], resultDepth = value.sizes[3];
  if (key.sizes[0] != batches || value.sizes[0] != batches || value.sizes[1] != keyHeads ||
      value.sizes[2] != keyLength || key.sizes[3] != depth || (keyHeads == 0 ? heads != 0 : heads % keyHeads != 0))
    return callError(op, "the shapes " + describeShape(queries.getShape()) + ", " + describeShape(keys.getShape()) +
                             " and " + describeShape(values.getShape()) + " of query, key and value do not fit");
  int64_t scores[] = {batches, heads, length, keyLength};
  for (const HostTensor *tensor : {mask, bias})
    for (int64_t d = 0; tensor && d < 4; ++d)
      if (tensor->getShape()[d] != 1 && tensor->getShape()[d] != scores[d])
        return callError(op, "the shapes " + describeShape(tensor->getShape()) + " of a mask and " +
                                 describeShape(scores) + " of the scores do not fit");

  Shape resultShape(4);
  int64_t resultSizes[] = {batches, heads, length, resultDepth};
  for (auto [dim, size] : llvm::zip(op.getResultDims(), resultSizes))
    resultShape[dim] = size;
  HostTensor result(queries.getElementType(), resultShape);
  HostTensor logSumExp(queries.getElementType() == ElementType::F64 ? ElementType::F64 : ElementType::F32,
                       {batches, heads, length});
  Shape resultStrides = getStrides(resultShape);

  std::vector<Wide> row(keyLength);
  for (int64_t b = 0; b < batches; ++b)
    for (int64_t h = 0; h < heads; ++h)
      for (int64_t s = 0; s < length; ++s) {
        int64_t group = h / (heads / keyHeads);
        Wide greatest = -INFINITY;
        for (int64_t t = 0; t < keyLength; ++t) {
          Wide score = 0;
          for (int64_t d = 0; d < depth; ++d)
            score += static_cast<Wide>(query.at(b, h, s, d)) * key.at(b, group, t, d);
          score *= op.getScale().convertToDouble();
          if (op.getSoftcap()) {
            Wide cap = op.getSoftcap()->convertToDouble();
            score = cap * std::tanh(score / cap);
          }
          if (bias)
            score += bias->getFloat(repeatedOffset(*bias, {b, h, s, t}));
          bool takesPart = !mask || mask->getInt(repeatedOffset(*mask, {b, h, s, t})) != 0;
          takesPart &= !op.getCausal() || t <= s + past;
          takesPart &= !op.getWindow() || t > s + past - static_cast<int64_t>(*op.getWindow());
          row[t] = takesPart ? score : -INFINITY;
          greatest = std::isnan(row[t]) || std::isnan(greatest) ? NAN : std::max(greatest, row[t]);
        }
        Wide sum = 0;
        for (Wide score : row)
          sum += std::exp(score - greatest);
        for (int64_t e = 0; e < resultDepth; ++e) {
          Wide total = 0;
          for (int64_t t = 0; t < keyLength; ++t)
            total += std::exp(row[t] - greatest) * value.at(b, group, t, e);
          bool isSum = op.getZeroInvalid() ? sum > 0 : sum != 0;
          int64_t index[] = {b, h, s, e};
          int64_t offset = 0;
          for (auto [dim, position] : llvm::zip(op.getResultDims(), index))
            offset += position * resultStrides[dim];
          result.setFloat(offset, isSum ? static_cast<double>(total / sum) : 0);
        }
        logSumExp.setFloat((b * heads + h) * length + s, static_cast<double>(greatest + std::log(sum)));
      }
  llvm::SmallVector<HostTensor> results;
  results.push_back(std::move(result));
  if (op.getLogSumExp())
    results.push_back(std::move(logSumExp));
  return results;
}

static Result evaluatePagedAttention(PagedAttentionOp op, const HostTensor &queries, const HostTensor &keyPages,
                                     const HostTensor &valuePages, const HostTensor &table, const HostTensor &starts,
                                     const HostTensor &lengths) {
  const int64_t tokens = queries.getShape()[0], heads = queries.getShape()[1], depth = queries.getShape()[2];
  const int64_t pages = keyPages.getShape()[0], keyHeads = keyPages.getShape()[1], places = keyPages.getShape()[2];
  const int64_t sequences = table.getShape()[0], most = table.getShape()[1];
  if (lengths.getShape()[0] != sequences || starts.getShape()[0] != sequences + 1)
    return callError(op, "the shapes " + describeShape(table.getShape()) + ", " + describeShape(starts.getShape()) +
                             " and " + describeShape(lengths.getShape()) + " of table, starts and lengths do not fit");
  using Wide = long double;
  HostTensor result(queries.getElementType(), queries.getShape());
  for (int64_t token = 0; token < tokens; ++token)
    for (int64_t head = 0; head < heads; ++head) {
      std::vector<Wide> scores;
      std::vector<int64_t> rows; // of the pages' [page, key head, place]
      for (int64_t s = 0; s < sequences; ++s) {
        if (token < starts.getInt(s) || token >= starts.getInt(s + 1))
          continue;
        const int64_t last = lengths.getInt(s) - starts.getInt(s + 1) + token;
        const int64_t first = op.getWindow() ? last - static_cast<int64_t>(*op.getWindow()) + 1 : 0;
        for (int64_t t = std::max<int64_t>(first, 0); t <= last && t < most * places; ++t) {
          const int64_t page = table.getInt(s * most + t / places);
          if (page < 0 || page >= pages)
            continue;
          rows.push_back((page * keyHeads + head / (heads / keyHeads)) * places + t % places);
          Wide score = 0;
          for (int64_t d = 0; d < depth; ++d)
            score += static_cast<Wide>(queries.getFloat((token * heads + head) * depth + d)) *
                     keyPages.getFloat(rows.back() * depth + d);
          score *= op.getScale().convertToDouble();
          if (op.getSoftcap()) {
            const Wide cap = op.getSoftcap()->convertToDouble();
            score = cap * std::tanh(score / cap);
          }
          scores.push_back(score);
        }
        break;
      }
      Wide greatest = -INFINITY, sum = 0;
      for (Wide score : scores)
        greatest = std::isnan(score) || std::isnan(greatest) ? NAN : std::max(greatest, score);
      for (Wide &score : scores)
        sum += score = std::exp(score - greatest);
      for (int64_t d = 0; d < depth; ++d) {
        Wide total = 0;
        for (auto [weight, row] : llvm::zip(scores, rows))
          total += weight * valuePages.getFloat(row * depth + d);
        result.setFloat((token * heads + head) * depth + d, scores.empty() ? 0 : static_cast<double>(total / sum));
      }
    }
  return result;
}

void addAttentionEvaluators(EvaluatorTable &table) {
  table.add<evaluateAttention>();
  table.add<evaluatePagedAttention>();
}

} // namespace vx::reference
