// A parameter of attributes that is a list of integers, in brackets.
#ifndef VX_DIALECT_INTEGERLIST
#define VX_DIALECT_INTEGERLIST

include "mlir/IR/AttrTypeBase.td"

class IntegerListParameter<string desc = ""> : ArrayRefParameter<"int64_t", desc> {
  let parser = "::vx::parseIntegerList($_parser)";
  let printer = "::vx::printIntegerList($_printer, $_self)";
}

#endif
