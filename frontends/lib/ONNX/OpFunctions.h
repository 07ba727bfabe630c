// Functions that the files Import*.cpp share. Each file has a family of ops: one function for each op, and the table of
// the versions that each function reads.
#ifndef VX_FRONTEND_ONNX_OPFUNCTIONS_H
#define VX_FRONTEND_ONNX_OPFUNCTIONS_H

#include "NodeImporter.h"
#include "OpTable.h"

namespace vx::onnx {

/// Returns true if an element type can represent the value. An expression over symbols counts as fitting any integer
/// type.
bool fitsType(DimAttr value, mlir::Type elementType);
/// The rules of a cast to a float of 8 bits for values that the type does not have.
struct CastRules {
  bool saturates = true;
  enum RoundMode { Up, Down, Nearest } roundMode = Up; // for f8E8M0FNU, which has powers of two only
};
/// Reads the attributes of a cast.
CastRules getCastRules(NodeImporter &n);
mlir::Value castTo(NodeImporter &n, mlir::Value value, mlir::Type elementType, const CastRules &rules);
/// NumPy's matrix product. Sums of narrower floats are computed in f32 and rounded to the element type. With `sums`,
/// that is the element type of the sums.
mlir::Value emitMatMul(NodeImporter &n, mlir::Value lhs, mlir::Value rhs, mlir::TypeAttr sums = {});
/// A convolution by the node's attributes, with sums as in emitMatMul. `padding` is the scalar outside of the input, of
/// the input's type; null for 0.
mlir::Value emitConv(NodeImporter &n, mlir::Value input, mlir::Value filter, mlir::TypeAttr sums = {},
                     mlir::Value padding = {});
/// The product of two matrices by the node's attributes, plus input 2 if there is one.
mlir::Value emitGemm(NodeImporter &n);
/// Adds input `index`, with a value for each channel, to `result`, if the node has that input.
mlir::Value emitChannelBias(NodeImporter &n, mlir::Value result, unsigned index);
/// The averages of windows of `input`, [batch, channels, space...], by the node's attributes.
mlir::Value emitAveragePool(NodeImporter &n, mlir::Value input);
/// x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))).
mlir::Value emitTanhGelu(NodeImporter &n, mlir::Value x);
/// x * sigmoid(alpha * x).
mlir::Value emitSwish(NodeImporter &n, mlir::Value x, double alpha);
/// `input` divided by the root of its mean square over the dimensions from `axis` on, times `scale`, which is repeated
/// to these. Has the element type of `scale`.
mlir::Value emitRmsNorm(NodeImporter &n, mlir::Value input, mlir::Value scale, int64_t axis, llvm::APFloat epsilon);
/// Reads the attribute 'epsilon'. Throws for a value that is not valid for a norm.
llvm::APFloat getEpsilon(NodeImporter &n, float otherwise = 1e-5f);
/// 1 / sqrt(meanSquare + epsilon).
mlir::Value emitInverseRoot(NodeImporter &n, mlir::Value meanSquare, llvm::APFloat epsilon);
/// Imports the node as op `op` of the default domain in `version`. The node has the inputs and attributes of that op.
void importAs(NodeImporter &n, llvm::StringRef op, int64_t version);

/// Reads `p`, the power of a norm's elements: 2 by default.
int64_t getNormPower(NodeImporter &n);
/// The norm of these sums of p-th powers.
mlir::Value emitRootOfPowers(NodeImporter &n, mlir::Value sum, int64_t p);
/// Returns the element type of a sequence of tensors of both types: dimensions that differ become unknown.
mlir::TensorType joinElementTypes(mlir::TensorType lhs, mlir::TensorType rhs);
/// Returns the common type of two sequences, or of two values of which one is an optional; null for other types.
mlir::Type joinHostTypes(mlir::Type lhs, mlir::Type rhs);
/// Wraps a value in an optional if `type` is an optional and the value is none; otherwise returns the value.
mlir::Value wrapOptional(mlir::OpBuilder &builder, mlir::Location location, mlir::Value value, mlir::Type type);
/// Converts a value to the stated type of an output: wraps it in an optional, or unwraps its sequence. Otherwise
/// returns the value.
mlir::Value convertToDeclared(mlir::OpBuilder &builder, mlir::Location location, mlir::Value value,
                              const TypeProto &declared);
/// Reads the `count` numbers of a window attribute, each at least `least`; all are `otherwise` if the node has none.
llvm::SmallVector<int64_t> getWindowList(NodeImporter &n, llvm::StringRef name, size_t count, int64_t otherwise,
                                         int64_t least);
/// Returns the elements of known contents in a view of this shape, from index `start` on, with `strides`.
Dims takeContents(llvm::ArrayRef<DimAttr> contents, llvm::ArrayRef<int64_t> shape, int64_t start,
                  llvm::ArrayRef<int64_t> strides);
/// Returns a tensor of a sequence. Sizes that the sequence's type does not state become symbols named after `name`.
mlir::Value emitSequenceAt(NodeImporter &n, mlir::Value sequence, mlir::Value position, llvm::StringRef name);
/// The cumulative sum of a list.
mlir::Value emitCumulativeSum(NodeImporter &n, mlir::Value list);
/// An axis that is known at run time only, and the numbers of elements before, along and after it.
struct AroundAxis {
  DimAttr axis, before, along, behind;
};
/// Binds the axis in `input` for a tensor with these dimensions. The program computes all of it and reads it back. An
/// invalid axis is below 0, which fails the call.
AroundAxis bindAroundAxis(NodeImporter &n, unsigned input, llvm::ArrayRef<DimAttr> dims);
/// Returns the values after `trips` iterations; their types do not change. One iteration or none needs no loop. `body`
/// gets the number of the iteration and the values, and returns the next values.
llvm::SmallVector<mlir::Value>
emitCountedLoop(NodeImporter &n, DimAttr trips, llvm::ArrayRef<mlir::Value> inits,
                llvm::function_ref<llvm::SmallVector<mlir::Value>(DimAttr, mlir::ValueRange)> body);
/// Returns the indices of a list of bools that are true, as a list with a length that depends on the data.
mlir::Value emitPlacesOfTrue(NodeImporter &n, mlir::Value condition);
/// Emits an op that the host computes. Throws for text that is not UTF-8 or has a zero byte.
mlir::ResultRange emitHost(NodeImporter &n, HostFunctionKind kind, mlir::ValueRange inputs, mlir::TypeRange results,
                           llvm::StringRef text = "", int64_t limit = -1);
bool isString(mlir::Type elementType);
/// Makes a constant's elements of strings. Throws for a string that is not UTF-8.
mlir::DenseElementsAttr makeStrings(NodeImporter &n, llvm::ArrayRef<llvm::StringRef> texts,
                                    llvm::ArrayRef<int64_t> shape);
mlir::Value emitStrings(NodeImporter &n, llvm::ArrayRef<llvm::StringRef> texts, llvm::ArrayRef<int64_t> shape);
/// Casts strings to numbers, or numbers to strings.
mlir::Value castStrings(NodeImporter &n, mlir::Value value, mlir::Type elementType);

} // namespace vx::onnx

#endif
