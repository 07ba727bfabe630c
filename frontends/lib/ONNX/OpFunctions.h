// What the files Import*.cpp share. Each holds a family: one function for each op, and the table that says which
// versions each function reads.
#ifndef VX_FRONTEND_ONNX_OPFUNCTIONS_H
#define VX_FRONTEND_ONNX_OPFUNCTIONS_H

#include "NodeImporter.h"
#include "OpTable.h"

namespace vx::onnx {

/// True when an element type can hold the value; an expression over symbols counts as one that fits any integer.
bool fitsType(DimAttr value, mlir::Type elementType);
/// How a cast to a float of 8 bits gives what the type does not hold.
struct CastRules {
  bool saturates = true;
  enum RoundMode { Up, Down, Nearest } roundMode = Up; // of f8E8M0FNU, which has powers of two only
};
/// The attributes of a cast.
CastRules getCastRules(NodeImporter &n);
mlir::Value castTo(NodeImporter &n, mlir::Value value, mlir::Type elementType, const CastRules &rules);
/// The matrix product of numpy, with f32's sums of narrower floats rounded to the elements' type. With `sums` these are
/// the sums' elements.
mlir::Value emitMatMul(NodeImporter &n, mlir::Value lhs, mlir::Value rhs, mlir::TypeAttr sums = {});
/// A convolution by the node's attributes, with sums as emitMatMul has them. `padding` is a scalar of the input's type
/// outside of the input; null for 0.
mlir::Value emitConv(NodeImporter &n, mlir::Value input, mlir::Value filter, mlir::TypeAttr sums = {},
                     mlir::Value padding = {});
/// The product of two matrices by the node's attributes, plus input 2 where there is one.
mlir::Value emitGemm(NodeImporter &n);
/// A value for each channel of input `index` added to `result`, where there is that input.
mlir::Value emitChannelBias(NodeImporter &n, mlir::Value result, unsigned index);
/// The averages of windows of `input`, [batch, channels, space...], by the node's attributes.
mlir::Value emitAveragePool(NodeImporter &n, mlir::Value input);
/// x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))).
mlir::Value emitTanhGelu(NodeImporter &n, mlir::Value x);
/// x * sigmoid(alpha * x).
mlir::Value emitSwish(NodeImporter &n, mlir::Value x, double alpha);
/// `input` divided by the root of its mean square over the dimensions from `axis` on, times `scale`, which is repeated
/// to these; of the elements of `scale`.
mlir::Value emitRmsNorm(NodeImporter &n, mlir::Value input, mlir::Value scale, int64_t axis, llvm::APFloat epsilon);
/// The attribute 'epsilon'. Throws for one that no norm takes.
llvm::APFloat getEpsilon(NodeImporter &n, float otherwise = 1e-5f);
/// 1 / sqrt(meanSquare + epsilon).
mlir::Value emitInverseRoot(NodeImporter &n, mlir::Value meanSquare, llvm::APFloat epsilon);
/// Imports the node as if it were one of op `op` of the default domain in `version`, whose inputs and attributes it
/// has.
void importAs(NodeImporter &n, llvm::StringRef op, int64_t version);

/// `p`, the power of a norm's elements: 2 where the node does not say.
int64_t getNormPower(NodeImporter &n);
/// The norm of these sums of p-th powers.
mlir::Value emitRootOfPowers(NodeImporter &n, mlir::Value sum, int64_t p);
/// The element type of a sequence that holds tensors of both types: dimensions that differ become unknown.
mlir::TensorType joinElementTypes(mlir::TensorType lhs, mlir::TensorType rhs);
/// A sequence of what two sequences hold, or an optional of what two values are or hold, one of which is an optional;
/// null for other types.
mlir::Type joinHostTypes(mlir::Type lhs, mlir::Type rhs);
/// An optional of a value, which may be one itself, where `type` is one; else the value.
mlir::Value wrapOptional(mlir::OpBuilder &builder, mlir::Location location, mlir::Value value, mlir::Type type);
/// A value as a graph states its output: an optional that holds it, or the sequence that it holds; else the value.
mlir::Value convertToDeclared(mlir::OpBuilder &builder, mlir::Location location, mlir::Value value,
                              const TypeProto &declared);
/// The `count` numbers of at least `least` in an attribute of windows, all of them `otherwise` where the node has none.
llvm::SmallVector<int64_t> getWindowList(NodeImporter &n, llvm::StringRef name, size_t count, int64_t otherwise,
                                         int64_t least);
/// Those elements of known contents that a view of this shape has: from place `start` on, `strides` apart.
Dims takeContents(llvm::ArrayRef<DimAttr> contents, llvm::ArrayRef<int64_t> shape, int64_t start,
                  llvm::ArrayRef<int64_t> strides);
/// A tensor of a sequence; its sizes that the sequence's type does not know become symbols named after `name`.
mlir::Value emitSequenceAt(NodeImporter &n, mlir::Value sequence, mlir::Value position, llvm::StringRef name);
/// The sums of the elements of a list up to each one.
mlir::Value emitCumulativeSum(NodeImporter &n, mlir::Value list);
/// An axis that only the data knows, and the numbers of elements before, along and behind it.
struct AroundAxis {
  DimAttr axis, before, along, behind;
};
/// The axis in `input` of a tensor with these dimensions; all is computed by the program and read back. An axis that is
/// none is below 0, which fails the call.
AroundAxis bindAroundAxis(NodeImporter &n, unsigned input, llvm::ArrayRef<DimAttr> dims);
/// The values behind `trips` iterations, which keep their types; without a loop where there is one iteration or none.
/// `body` takes the number of the iteration and the values, and gives the next ones.
llvm::SmallVector<mlir::Value>
emitCountedLoop(NodeImporter &n, DimAttr trips, llvm::ArrayRef<mlir::Value> inits,
                llvm::function_ref<llvm::SmallVector<mlir::Value>(DimAttr, mlir::ValueRange)> body);
/// The places in a list of bools that are true, as a list as long as the data wants.
mlir::Value emitPlacesOfTrue(NodeImporter &n, mlir::Value condition);
/// What the host computes. Throws for text that is no UTF-8 or has a zero byte.
mlir::ResultRange emitHost(NodeImporter &n, HostFunctionKind kind, mlir::ValueRange inputs, mlir::TypeRange results,
                           llvm::StringRef text = "", int64_t limit = -1);
bool isString(mlir::Type elementType);
/// Strings as constants have them. Throws for one that is no UTF-8.
mlir::DenseElementsAttr makeStrings(NodeImporter &n, llvm::ArrayRef<llvm::StringRef> texts,
                                    llvm::ArrayRef<int64_t> shape);
mlir::Value emitStrings(NodeImporter &n, llvm::ArrayRef<llvm::StringRef> texts, llvm::ArrayRef<int64_t> shape);
/// What strings spell, or how numbers are spelled.
mlir::Value castStrings(NodeImporter &n, mlir::Value value, mlir::Type elementType);

} // namespace vx::onnx

#endif
