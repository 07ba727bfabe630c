// The `vx` dialect: graphs of a model. One file per op family includes this one.
#ifndef VX_DIALECT_VX_IR_VXBASE
#define VX_DIALECT_VX_IR_VXBASE

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/IR/TensorEncoding.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "vx/Dialect/VX/IR/VXOpInterfaces.td"

def VX_Dialect : Dialect {
  let name = "vx";
  let cppNamespace = "::vx";
  let summary = "machine-learning graphs with symbolic shapes";
  let description = [{
    A small closed set of operations into which every frontend decomposes its models. Values are tensors with value
    semantics; broadcasting is explicit; a dynamic dimension carries an expression over named symbols in the type's encoding.
  }];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let hasConstantMaterializer = 1;
  let hasOperationAttrVerify = 1;
  let dependentDialects = ["::mlir::func::FuncDialect"];
}

//===-- Attributes -------------------------------------------------------------------------------------------------===//

class VX_Attr<string name, string attrMnemonic, list<Trait> traits = []> : AttrDef<VX_Dialect, name, traits> {
  let mnemonic = attrMnemonic;
}

def VX_DimAttr : VX_Attr<"Dim", "dim"> {
  let summary = "the size of a dimension: an integer expression over named symbols";
  let description = [{
    Kept in a normal form (a sum of products, sorted), so that two expressions that are equal as polynomials are the same
    attribute. Division, remainder, max, min and broadcast are atoms of it; broadcast(a, b) is b where a is 1, else a, of sizes
    that are equal unless one of them is 1.

        dim  ::= term (('+' | '-') term)*
        term ::= factor ('*' factor)*
        factor ::= integer | symbol | "any name" | '(' dim ')'
                 | ('floordiv' | 'ceildiv' | 'mod' | 'max' | 'min' | 'broadcast') '(' dim ',' dim ')'

    Symbols are declared by `vx.symbol`. Built by the static functions below, never by `get`.
  }];
  // Kinds: see DimKind in VXAttributes.h.
  let parameters = (ins "::vx::DimKind":$kind, "int64_t":$value, "::mlir::StringAttr":$symbol,
                        ArrayRefParameter<"::vx::DimAttr">:$operands);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    static DimAttr constant(::mlir::MLIRContext *context, int64_t value);
    static DimAttr symbolNamed(::mlir::StringAttr name);
    static DimAttr symbolNamed(::mlir::MLIRContext *context, ::llvm::StringRef name);
    static DimAttr add(DimAttr lhs, DimAttr rhs);
    static DimAttr sub(DimAttr lhs, DimAttr rhs);
    static DimAttr mul(DimAttr lhs, DimAttr rhs);
    static DimAttr floorDiv(DimAttr lhs, DimAttr rhs);
    static DimAttr ceilDiv(DimAttr lhs, DimAttr rhs);
    static DimAttr mod(DimAttr lhs, DimAttr rhs);
    static DimAttr max(DimAttr lhs, DimAttr rhs);
    static DimAttr min(DimAttr lhs, DimAttr rhs);
    /// The size that two tensors have when one is repeated to the other's. Whether they can be is for a constraint to say.
    static DimAttr broadcast(DimAttr lhs, DimAttr rhs);
    DimAttr operator+(DimAttr rhs) const { return add(*this, rhs); }
    DimAttr operator-(DimAttr rhs) const { return sub(*this, rhs); }
    DimAttr operator*(DimAttr rhs) const { return mul(*this, rhs); }
    DimAttr operator+(int64_t rhs) const { return add(*this, constant(getContext(), rhs)); }
    DimAttr operator*(int64_t rhs) const { return mul(*this, constant(getContext(), rhs)); }

    /// The value of an expression that names no symbol.
    std::optional<int64_t> asConstant() const;
    /// The name of an expression that is one symbol and nothing else, or null.
    ::mlir::StringAttr asSymbol() const;
    /// Appends the symbols named, in order of first appearance, each once.
    void collectSymbols(::llvm::SetVector<::mlir::StringAttr> &symbols) const;
    /// Replaces symbols; a null result of `replacement` keeps the symbol.
    DimAttr substitute(::llvm::function_ref<DimAttr(::mlir::StringAttr)> replacement) const;
    /// As written in IR text, without the mnemonic.
    std::string str() const;
    /// Parses the text of `str`; null when it does not parse.
    static DimAttr fromString(::mlir::MLIRContext *context, ::llvm::StringRef text);
    /// Evaluates with the values of symbols; nullopt on an unknown symbol, overflow or division by zero.
    std::optional<int64_t> evaluate(::llvm::function_ref<std::optional<int64_t>(::llvm::StringRef)> valueOf) const;
    /// True when the expression is known to be at most `other` for all symbol values that are at least 0.
    bool isAtMost(DimAttr other) const;
  }];
}

def VX_EncodingAttr : VX_Attr<"Encoding", "enc", [DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let summary = "the one encoding of vx tensors: symbolic dimensions";
  let description = [{
    One expression per dimension. A static dimension repeats its size. A tensor with a `?` and no encoding has an unknown
    size; none is left after the `graph` phase. Example: `tensor<?x8xf32, #vx.enc<[batch, 8]>>`.
  }];
  let parameters = (ins ArrayRefParameter<"::vx::DimAttr">:$dims);
  let hasCustomAssemblyFormat = 1;
}

def VX_SourceAttr : VX_Attr<"Source", "source"> {
  let summary = "the source node of an op, carried by its location";
  let description = [{ The metadata of a fused location: a model's node by name, its op type, and the file it came from. }];
  let parameters = (ins "::mlir::StringAttr":$node, "::mlir::StringAttr":$opType, "::mlir::StringAttr":$file);
  let assemblyFormat = "`<` $node `,` $opType `,` $file `>`";
}

//===-- Types ------------------------------------------------------------------------------------------------------===//

class VX_Type<string name, string typeMnemonic> : TypeDef<VX_Dialect, name> { let mnemonic = typeMnemonic; }

def VX_SequenceType : VX_Type<"Sequence", "sequence"> {
  let summary = "an ordered list of tensors";
  let description = [{
    A host object. Its elements share an element type; `tensor<*xT>` says that their ranks may differ, `?` dims without an
    encoding that their sizes may.
  }];
  let parameters = (ins "::mlir::TensorType":$elementType);
  let assemblyFormat = "`<` $elementType `>`";
}

def VX_OptionalType : VX_Type<"Optional", "optional"> {
  let summary = "a value or none";
  let parameters = (ins "::mlir::Type":$valueType);
  let assemblyFormat = "`<` $valueType `>`";
  let genVerifyDecl = 1;
}

def VX_StringType : VX_Type<"String", "string"> {
  let summary = "a UTF-8 string, as a tensor's element";
  let description = [{ A host object: no device kernel reads strings. }];
  let extraClassDeclaration = [{}];
}

//===-- Operand types ----------------------------------------------------------------------------------------------===//

def VX_AnyFloat : AnyTypeOf<[F16, BF16, F32, F64, F8E4M3FN, F8E4M3FNUZ, F8E5M2, F8E5M2FNUZ, F8E8M0FNU, F4E2M1FN], "floating-point">;
def VX_AnyInt : AnyTypeOf<[I8, I16, I32, I64, UI<8>, UI<16>, UI<32>, UI<64>, I<4>, UI<4>, I<2>, UI<2>], "integer">;
def VX_AnyElement : AnyTypeOf<[VX_AnyFloat, VX_AnyInt, I1, VX_StringType], "vx element">;
def VX_AnyNumber : AnyTypeOf<[VX_AnyFloat, VX_AnyInt], "number">;
def VX_Tensor : RankedTensorOf<[VX_AnyElement]>;
def VX_NumberTensor : RankedTensorOf<[VX_AnyNumber]>;
def VX_FloatTensor : RankedTensorOf<[VX_AnyFloat]>;
def VX_BoolTensor : RankedTensorOf<[I1]>;
def VX_BoolOrIntTensor : RankedTensorOf<[I1, VX_AnyInt]>;
def VX_BoolOrNumber : RankedTensorOf<[I1, VX_AnyNumber]>;
def VX_IndexTensor : RankedTensorOf<[I32, I64]>;
def VX_I64Scalar : 0DTensorOf<[I64]>, BuildableType<"::mlir::RankedTensorType::get({}, $_builder.getI64Type())">;
def VX_F32Scalar : 0DTensorOf<[F32]>, BuildableType<"::mlir::RankedTensorType::get({}, $_builder.getF32Type())">;
def VX_BoolScalar : 0DTensorOf<[I1]>, BuildableType<"::mlir::RankedTensorType::get({}, $_builder.getI1Type())">;
def VX_Value : AnyTypeOf<[VX_Tensor, VX_SequenceType, VX_OptionalType]>;
def VX_TensorOrSequence : AnyTypeOf<[VX_Tensor, VX_SequenceType]>;
/// An optional is a sequence of at most one value.
def VX_SequenceOrOptional : AnyTypeOf<[VX_SequenceType, VX_OptionalType]>;
def VX_DimArrayAttr : TypedArrayAttrBase<VX_DimAttr, "dimension expressions">;

//===-- What an op says of itself ----------------------------------------------------------------------------------===//

class VX_Trait<string name> : NativeOpTrait<name> { let cppNamespace = "::vx::OpTrait"; }

// The role of an op. Each op has exactly one, or the build fails.
/// A result element needs one element of each operand. It can be in any fusion region.
def VX_Pointwise : VX_Trait<"Pointwise">;
/// A loop nest of its own; a kernel has at most one.
def VX_Anchor : VX_Trait<"Anchor">;
/// The host program runs or reads it: control flow, symbols, state, sequences, and values that are known without a kernel.
def VX_HostOp : VX_Trait<"HostOp">;
/// States the layout of a tensor in memory, inside of the kernel that reads it.
def VX_Layout : VX_Trait<"Layout">;
/// Contains the ops of one kernel, or represents them.
def VX_Container : VX_Trait<"Container">;

/// Tells the compiler which values are differentiated or trained. None is left after the `grad` phase.
def VX_Directive : VX_Trait<"Directive">;

// Other properties that passes rely on.
/// Every result element depends on the operands' elements at the same position only; all shapes are compatible. Defines
/// the methods of VX_ConstrainedOpInterface.
def VX_Elementwise : VX_Trait<"Elementwise">;
/// Sums of products of elements of the first two operands.
def VX_Product : VX_Trait<"Product">;
/// An element of the result needs many of the first operand, along some of its dimensions.
def VX_Reduces : VX_Trait<"Reduces">;
/// An anchor that reads each element of its operands once: computing an operand on the fly costs nothing.
def VX_TakesPrologue : VX_Trait<"TakesPrologue">;
/// Writes elements to positions that depend on data. So the next op reads them from memory.
def VX_ScattersResult : VX_Trait<"ScattersResult">;
/// Its loop carries the next position to write, or a count. So one worker runs it.
def VX_Serial : VX_Trait<"Serial">;
/// Each element of the result is one of an operand's, at a position that depends on its own position or on data.
def VX_Moves : VX_Trait<"Moves">;
/// Each element of the result is the element at the same position of one of the operands of its type.
def VX_Chooses : VX_Trait<"Chooses">;
/// Moves the elements of its one operand, by sizes and positions that are known when a model is compiled.
def VX_View : VX_Trait<"View">;
/// Counts, or repeats the elements of a smaller tensor. The operand is cheaper to store than the result.
def VX_Expands : VX_Trait<"Expands">;
/// Each kernel that needs it computes it again.
def VX_Free : VX_Trait<"Free">;
/// Checks data at run time, and so may fail a call.
def VX_MayFault : VX_Trait<"MayFault">;
/// Some sizes of its results are known at run time only. It binds their symbols.
def VX_BindsResultSizes : VX_Trait<"BindsResultSizes">;
/// Relies only on sizes that its operands' and results' types state, or leaves this to the ops of its regions.
def VX_Unconstrained : VX_Trait<"Unconstrained">;
/// Its result type is a part of its meaning: operands and attributes alone do not determine it.
def VX_StatesResultType : VX_Trait<"StatesResultType">;

/// No gradient flows through it: its results are no floats or are constant except for jumps, or it stops gradients.
def VX_NonDifferentiable : VX_Trait<"NonDifferentiable">;

// The op itself defines the methods of the interface.
defvar VX_CountsFlops = DeclareOpInterfaceMethods<VX_WorkOpInterface, ["getFlops"]>;
defvar VX_Updates = DeclareOpInterfaceMethods<VX_UpdateOpInterface, ["getNumOrderedDims"]>;
defvar VX_AlongRows = DeclareOpInterfaceMethods<VX_RowsOpInterface>;
defvar VX_RowsToElements = DeclareOpInterfaceMethods<VX_RowsOpInterface, ["keepsRows"]>;
defvar VX_RowsToPlaces = DeclareOpInterfaceMethods<VX_RowsOpInterface, ["keepsRows", "carriesPlaces"]>;
defvar VX_MayBeIdentity = DeclareOpInterfaceMethods<VX_IdentityOpInterface>;
defvar VX_Indexes = DeclareOpInterfaceMethods<VX_IndexingOpInterface>;
defvar VX_ChoosesHostScalars = DeclareOpInterfaceMethods<VX_HostScalarOpInterface, ["isHostScalar"]>;
defvar VX_Decomposable = DeclareOpInterfaceMethods<VX_DecomposableOpInterface>;
/// Each op has this, unless it is VX_NonDifferentiable, or the build fails.
defvar VX_Differentiable = DeclareOpInterfaceMethods<VX_DifferentiableOpInterface>;
/// Each op has this, unless it is VX_Unconstrained, or the build fails.
defvar VX_Constrained = DeclareOpInterfaceMethods<VX_ConstrainedOpInterface>;

//===-- Ops --------------------------------------------------------------------------------------------------------===//

class VX_Op<string opMnemonic, list<Trait> traits = []> : Op<VX_Dialect, opMnemonic, traits>;

/// An op with a result type that is inferred from its operands and attributes; a result may have a more precise shape
/// than the inferred one. `infer` is the definition of inferReturnTypes if it is short enough for this file.
class VX_InferredOp<string opMnemonic, list<Trait> traits = [], string infer = "">
    : VX_Op<opMnemonic, traits # [InferTypeOpAdaptorWithIsCompatible]> {
  let extraClassDefinition = [{
    bool $cppClass::isCompatibleReturnTypes(::mlir::TypeRange inferred, ::mlir::TypeRange actual) {
      return ::vx::areCompatibleTypes(inferred, actual);
    }
  }] # infer;
}

#endif
