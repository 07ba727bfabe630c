// The interface of all strategies.
#ifndef VX_DIALECT_VX_IR_VXSTRATEGYINTERFACE
#define VX_DIALECT_VX_IR_VXSTRATEGYINTERFACE

include "mlir/IR/OpBase.td"

def VX_StrategyAttrInterface : AttrInterface<"StrategyAttrInterface"> {
  let cppNamespace = "::vx";
  let description = [{
    How a kernel is generated. A target's cost model chooses it at `fused`; each strategy is an attribute with fields of its own. A
    workgroup computes a box of the places that the kernel visits: those of its first result, or of the updates of it.
  }];
  let methods = [
    InterfaceMethod<[{
        The sizes of a workgroup's box, one for each dimension that is visited. 0, or nothing for the last ones, is a whole dimension.
      }],
      "::llvm::ArrayRef<int64_t>", "getWorkgroupTile", (ins)>,
    InterfaceMethod<"The number of threads of a workgroup; 1 on a CPU.", "int64_t", "getThreads", (ins)>,
    InterfaceMethod<[{
        See getGrid, which is for callers: a DimAttr, which has no definition yet where this is declared.
      }],
      "::mlir::Attribute", "getGridExpression", (ins "unsigned":$result, "::llvm::ArrayRef<::vx::DimAttr>":$sizes), "",
      /*defaultImplementation=*/[{ return ::vx::countBoxes($_attr.getContext(), sizes, $_attr.getWorkgroupTile()); }]>];
  let extraClassDeclaration = [{
    /// What reports and remarks call it: the attribute's mnemonic.
    ::llvm::StringRef getStrategyName() const { return (*this).getAbstractAttribute().getName().split('.').second; }
    /// The number of workgroups that compute the result of this number, of these sizes: one for each box, unless the
    /// strategy says otherwise. Null where a size that is cut is not known.
    ::vx::DimAttr getGrid(unsigned result, ::llvm::ArrayRef<::vx::DimAttr> sizes) const;
  }];
}

#endif
