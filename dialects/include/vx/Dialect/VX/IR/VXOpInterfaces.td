// Interfaces of vx ops: questions that a pass may ask any op.
#ifndef VX_DIALECT_VX_IR_VXOPINTERFACES
#define VX_DIALECT_VX_IR_VXOPINTERFACES

include "mlir/IR/OpBase.td"

def VX_WorkOpInterface : OpInterface<"WorkOpInterface"> {
  let cppNamespace = "::vx";
  let description = [{ An op that computes with floats. One without this interface moves, converts, compares or chooses. }];
  let methods = [InterfaceMethod<[{
      The number of operations on floats, of which a multiplication and an addition are two: one for each element of the first
      result unless the op says otherwise. 0 where the elements are no floats.
    }],
    "::vx::DimAttr", "getFlops", (ins), "", [{ return ::vx::countFloats($_op->getResult(0)); }]>];
}

def VX_HostScalarOpInterface : OpInterface<"HostScalarOpInterface"> {
  let cppNamespace = "::vx";
  let description = [{ An op of the host program that reads the value of an operand itself: a condition, a count, a position. }];
  let methods = [InterfaceMethod<
    "True when the operand of this number is read by the host, so that it needs no memory of a device.",
    "bool", "isHostScalar", (ins "unsigned":$operand), "", "return true;">];
}

def VX_ConstrainedOpInterface : OpInterface<"ConstrainedOpInterface"> {
  let cppNamespace = "::vx";
  let description = [{
    An op that takes two sizes for equal, or one for large enough, where its types do not say so: see `Constraints.h`. That the result
    has the inferred sizes, none of them below 0, is asked of every op and is not for this to say.
  }];
  let methods = [InterfaceMethod<"Tells `collector` all that the op relies on, whether or not that holds for all values of the symbols.",
    "void", "collectConstraints", (ins "::vx::ConstraintCollector &":$collector)>];
}

def VX_DecomposableOpInterface : OpInterface<"DecomposableOpInterface"> {
  let cppNamespace = "::vx";
  let description = [{
    An op that other ops can stand for: `vx-decompose` puts them in its place for targets without a kernel for it. Each operand has an
    expression for each dimension.
  }];
  let methods = [InterfaceMethod<[{
      Builds these ops, of which some may be decomposable in turn. Gives the value of each result, null where the builder refused.
    }],
    "::llvm::SmallVector<::mlir::Value>", "decompose", (ins "::vx::GraphBuilder &":$builder)>];
}

def VX_DifferentiableOpInterface : OpInterface<"DifferentiableOpInterface"> {
  let cppNamespace = "::vx";
  let description = [{ An op through which gradients flow from its results back to its operands: see `Pullback.h`. }];
  let methods = [InterfaceMethod<[{
      Builds, from the cotangents of the results, those of the operands that are wanted, of ops that are differentiable in turn. Refuses,
      by the pullback's builder, what has no gradient.
    }],
    "void", "buildPullback", (ins "::vx::Pullback &":$pullback)>];
}

def VX_RowsOpInterface : OpInterface<"RowsOpInterface"> {
  let cppNamespace = "::vx";
  let description = [{
    An op that works along rows: an element of its result depends on the elements of the first operand that lie along some dimensions, at
    its own place in the others.
  }];
  let methods = [
    InterfaceMethod<"The dimensions of the first operand along which a row lies, increasing.",
      "::llvm::SmallVector<int64_t>", "getRowAxes", (ins)>,
    InterfaceMethod<[{
        True where the result has the shape of the first operand; false where it has one element for each row, in the other dimensions.
      }],
      "bool", "keepsRows", (ins), "", "return true;">,
    InterfaceMethod<"True where the place of an element in its row counts: what is found of a part of a row is a number and its place.",
      "bool", "carriesPlaces", (ins), "", "return false;">];
}

def VX_IdentityOpInterface : OpInterface<"IdentityOpInterface"> {
  let cppNamespace = "::vx";
  let description = [{ An op that may give back one of its operands, bit by bit: a sum with -0, a choice that is always the same. }];
  let methods = [InterfaceMethod<"The operand that it gives back, whatever the values at run time are; null where it may compute another.",
    "::mlir::Value", "getIdentity", (ins)>];
}

def VX_IndexingOpInterface : OpInterface<"IndexingOpInterface"> {
  let cppNamespace = "::vx";
  let description = [{ An op that looks whether the elements of an operand are places in dimensions, and fails the call where one is not. }];
  let methods = [InterfaceMethod<[{
      The sizes of the dimensions in which the elements of this operand are places; a null one is not known. None for an operand that
      indexes nothing.
    }],
    "::llvm::SmallVector<::vx::DimAttr>", "getIndexedSizes", (ins "unsigned":$operand)>];
}

def VX_UpdateOpInterface : OpInterface<"UpdateOpInterface"> {
  let cppNamespace = "::vx";
  let description = [{
    An op whose one result is its first operand with some elements replaced by those of `updates`. A kernel that ends in it visits the
    elements of `updates`, and writes over memory that holds the first operand.
  }];
  let methods = [
    InterfaceMethod<"What is written.", "::mlir::TypedValue<::mlir::RankedTensorType>", "getUpdates", (ins)>,
    InterfaceMethod<[{
        The number of leading dimensions of `updates` along which two elements may be written to one place, so that their order counts:
        one worker goes through them.
      }],
      "int64_t", "getNumOrderedDims", (ins)>];
}

#endif
