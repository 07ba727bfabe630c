// Interfaces of vx ops: what a pass may ask of any op, without knowing which it is.
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

#endif
