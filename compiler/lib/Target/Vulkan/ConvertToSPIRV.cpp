#include "SPIRVPatterns.h"

#include "mlir/Conversion/ArithToSPIRV/ArithToSPIRV.h"
#include "mlir/Conversion/FuncToSPIRV/FuncToSPIRV.h"
#include "mlir/Conversion/MathToSPIRV/MathToSPIRV.h"
#include "mlir/Conversion/SCFToSPIRV/SCFToSPIRV.h"
#include "mlir/Conversion/UBToSPIRV/UBToSPIRV.h"
#include "mlir/Conversion/VectorToSPIRV/VectorToSPIRV.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SPIRV/IR/SPIRVDialect.h"
#include "mlir/Dialect/SPIRV/IR/TargetAndABI.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/Pass.h"
#include "vx/Dialect/VXK/IR/VXKDialect.h"
#include "vx/Target/Vulkan.h"
#include "vx/abi/kernel.h"
#include <set>

namespace vx {
#define GEN_PASS_DEF_CONVERTTOSPIRVPASS
#include "vx/Target/Vulkan/Passes.h.inc"
} // namespace vx

using namespace mlir;
using spirv::Capability;
using spirv::StorageClass;

namespace vx::vulkan {
namespace {

/// Everything that the type converter may use; the module states only what it does use.
spirv::TargetEnvAttr getTargetEnv(MLIRContext *context) {
  auto triple = spirv::VerCapExtAttr::get(
      spirv::Version::V_1_5,
      {Capability::Shader, Capability::Int8, Capability::Int16, Capability::Int64, Capability::Float16,
       Capability::Float64, Capability::PhysicalStorageBufferAddresses, Capability::StorageBuffer8BitAccess,
       Capability::StorageBuffer16BitAccess, Capability::SignedZeroInfNanPreserve, Capability::GroupNonUniform,
       Capability::GroupNonUniformShuffle, Capability::DotProduct, Capability::DotProductInput4x8BitPacked},
      {spirv::Extension::SPV_KHR_physical_storage_buffer, spirv::Extension::SPV_KHR_integer_dot_product}, context);
  return spirv::TargetEnvAttr::get(triple, spirv::getDefaultResourceLimits(context), spirv::ClientAPI::Vulkan);
}

bool isWorkgroupMemory(MemRefType type) {
  auto space = dyn_cast_or_null<gpu::AddressSpaceAttr>(type.getMemorySpace());
  return space && space.getValue() == gpu::AddressSpace::Workgroup;
}

class Converter {
public:
  Converter(ModuleOp module, func::FuncOp kernel)
      : module(module), kernel(kernel), context(module.getContext()), builder(context), loc(kernel.getLoc()) {}

  LogicalResult run() {
    if (failed(checkParameters()))
      return failure();
    if (failed(selectBitProducts(kernel)))
      return failure();
    narrowDivisions(kernel);
    RewritePatternSet narrow(context);
    populateNarrowComparisonPatterns(narrow);
    if (failed(applyPatternsGreedily(kernel, std::move(narrow))))
      return failure();
    expandExactArithmetic(kernel);
    if (failed(convertDots()))
      return failure();
    builder.setInsertionPointToEnd(module.getBody());
    shader = spirv::ModuleOp::create(builder, loc, spirv::AddressingModel::PhysicalStorageBuffer64,
                                     spirv::MemoryModel::GLSL450);
    kernel->moveBefore(shader.getBody(), shader.getBody()->end());
    for (NamedAttribute attribute : llvm::to_vector(kernel->getDiscardableAttrs()))
      if (attribute.getName() != SymbolTable::getSymbolAttrName())
        kernel->removeDiscardableAttr(attribute.getName());
    emitEntry();
    if (failed(expandFaults()) || failed(convertBody()))
      return failure();
    finish();
    return success();
  }

private:
  LogicalResult checkParameters() {
    threads = 1;
    if (auto attribute = kernel->getAttrOfType<IntegerAttr>(vxk::kThreadsAttr))
      threads = attribute.getInt();
    if (threads < 1)
      return kernel.emitError() << "expects '" << vxk::kThreadsAttr << "' of at least 1, got " << threads;
    if (!kernel.getBody().hasOneBlock() || kernel.getNumArguments() || kernel.getNumResults())
      return kernel.emitError() << "expects a kernel of one block, without arguments and results, got "
                                << kernel.getBlocks().size() << " blocks, " << kernel.getNumArguments()
                                << " arguments and " << kernel.getNumResults() << " results";
    kernel.walk([&](vxk::BufferOp op) {
      entry.bufferCount = std::max(entry.bufferCount, static_cast<int64_t>(op.getIndex()) + 1);
    });
    entry.isGuarded = kernel->hasAttr(vxk::kGuardedAttr);
    return success();
  }

  spirv::GlobalVariableOp global(StringRef symbol, Type pointee, StorageClass storage, StringRef builtIn = "") {
    OpBuilder at = OpBuilder::atBlockBegin(shader.getBody());
    if (!globals.empty())
      at.setInsertionPointAfter(globals.back());
    auto variable = spirv::GlobalVariableOp::create(at, loc, TypeAttr::get(spirv::PointerType::get(pointee, storage)),
                                                    at.getStringAttr(symbol), FlatSymbolRefAttr());
    if (!builtIn.empty())
      variable.setBuiltInAttr(at.getStringAttr(builtIn));
    globals.push_back(variable);
    return variable;
  }

  Value loadInput(StringRef symbol, Type type, StringRef builtIn) {
    auto variable = global(symbol, type, StorageClass::Input, builtIn);
    Value pointer = spirv::AddressOfOp::create(builder, loc, variable);
    return spirv::LoadOp::create(builder, loc, type, pointer, nullptr, nullptr);
  }

  Value constant(unsigned bits, int64_t value) { return integerConstant(builder, loc, bits, value); }

  /// What every kernel begins with: the parameter block's address and this invocation's place.
  void emitEntry() {
    builder.setInsertionPointToStart(&kernel.getBody().front());
    Type i32 = builder.getI32Type(), i64 = builder.getI64Type();
    auto parameters = global("parameters", spirv::StructType::get({i64}, {0}), StorageClass::PushConstant);
    Value push = spirv::AddressOfOp::create(builder, loc, parameters);
    Value place = spirv::AccessChainOp::create(builder, loc, push, ValueRange{constant(32, 0)});
    Value address = spirv::LoadOp::create(builder, loc, i64, place, nullptr, nullptr);
    entry.block = spirv::ConvertUToPtrOp::create(builder, loc, getBufferType(i64), address);

    Value group = loadInput("workgroup_id", VectorType::get(3, i32), "WorkgroupId");
    auto component = [&](int32_t index) -> Value {
      Value element = spirv::CompositeExtractOp::create(builder, loc, group, {index});
      return spirv::UConvertOp::create(builder, loc, i64, element);
    };
    Value rows = spirv::IMulOp::create(builder, loc, component(1), constant(64, VX_GRID_X));
    entry.linearGroup = spirv::IAddOp::create(builder, loc, component(0), rows);
    Value thread = loadInput("thread_id", i32, "LocalInvocationIndex");
    entry.thread = spirv::UConvertOp::create(builder, loc, i64, thread);

    auto wanted = [&](auto tag, Value &value, StringRef builtIn) {
      using Op = decltype(tag);
      if (!kernel.walk([](Op) { return WalkResult::interrupt(); }).wasInterrupted())
        return;
      Value number = loadInput(builtIn, i32, builtIn);
      value = spirv::UConvertOp::create(builder, loc, i64, number);
      usesSubgroups = true;
    };
    wanted(gpu::LaneIdOp(), entry.lane, "SubgroupLocalInvocationId");
    wanted(gpu::SubgroupIdOp(), entry.subgroup, "SubgroupId");
    wanted(gpu::NumSubgroupsOp(), entry.subgroupCount, "NumSubgroups");
    wanted(gpu::SubgroupSizeOp(), entry.subgroupSize, "SubgroupSize");

    // Logical pointers cannot be cast: workgroup memory that vectors are read from is an array of them.
    kernel.walk([&](Operation *op) {
      VectorType vector;
      Value memory;
      if (auto load = dyn_cast<vector::LoadOp>(op))
        vector = load.getVectorType(), memory = load.getBase();
      else if (auto store = dyn_cast<vector::StoreOp>(op))
        vector = store.getVectorType(), memory = store.getBase();
      if (memory && isWorkgroupMemory(cast<MemRefType>(memory.getType())))
        workgroupVectors.try_emplace(memory.getType(), vector);
    });
    int64_t number = 0;
    for (auto alloc : llvm::make_early_inc_range(kernel.getOps<memref::AllocOp>())) {
      MemRefType type = alloc.getType();
      if (!isWorkgroupMemory(type) || !type.hasStaticShape())
        continue;
      auto variable = global("workgroup_memory_" + std::to_string(number++),
                             getWorkgroupArray(type, type.getElementType()), StorageClass::Workgroup);
      builder.setInsertionPoint(alloc);
      Value pointer = spirv::AddressOfOp::create(builder, loc, variable);
      auto cast = UnrealizedConversionCastOp::create(builder, loc, type, pointer);
      alloc.replaceAllUsesWith(cast.getResult(0));
      alloc.erase();
    }
  }

  Type getWorkgroupArray(MemRefType type, Type element) {
    int64_t lanes = 1;
    if (auto vector = workgroupVectors.lookup(type)) {
      element = vector;
      lanes = vector.getNumElements();
    }
    return spirv::ArrayType::get(element, std::max<int64_t>(1, llvm::divideCeil(type.getNumElements(), lanes)));
  }

  /// vxk.dot as an instruction on words of four bytes.
  LogicalResult convertDots() {
    SmallVector<vxk::DotOp> dots;
    kernel.walk([&](vxk::DotOp op) { dots.push_back(op); });
    Type i32 = builder.getI32Type();
    auto packed = spirv::PackedVectorFormatAttr::get(context, spirv::PackedVectorFormat::PackedVectorFormat4x8Bit);
    for (vxk::DotOp op : dots) {
      if (op.getType().getNumElements() != 1)
        return op.emitOpError() << "expects one sum for each thread on target 'vulkan', got "
                                << op.getType().getNumElements();
      builder.setInsertionPoint(op);
      auto toWord = [&](Value vector) -> Value {
        Value word = vector::BitCastOp::create(builder, op.getLoc(), VectorType::get(1, i32), vector);
        return vector::ExtractOp::create(builder, op.getLoc(), word, ArrayRef<int64_t>{0});
      };
      Value lhs = toWord(op.getLhs()), rhs = toWord(op.getRhs()), dot;
      bool isLhsSigned = op.getLhsSigned(), isRhsSigned = op.getRhsSigned();
      if (isLhsSigned != isRhsSigned) // the signed factor first
        dot =
            spirv::SUDotOp::create(builder, op.getLoc(), i32, isLhsSigned ? lhs : rhs, isLhsSigned ? rhs : lhs, packed);
      else if (isLhsSigned)
        dot = spirv::SDotOp::create(builder, op.getLoc(), i32, lhs, rhs, packed);
      else
        dot = spirv::UDotOp::create(builder, op.getLoc(), i32, lhs, rhs, packed);
      Value sum = arith::AddIOp::create(builder, op.getLoc(), toWord(op.getSum()), dot);
      Value result = vector::FromElementsOp::create(builder, op.getLoc(), op.getType(), sum);
      op.replaceAllUsesWith(result);
      op.erase();
    }
    if (dots.empty())
      return success();
    usesDots = true;
    // No vector of bytes is left: words are what the instruction reads.
    RewritePatternSet patterns(context);
    vector::BitCastOp::getCanonicalizationPatterns(patterns, context);
    vector::ExtractOp::getCanonicalizationPatterns(patterns, context);
    return applyPatternsGreedily(kernel, std::move(patterns));
  }

  /// vxk.report_fault as control flow around an atomic addition to the fault record.
  LogicalResult expandFaults() {
    SmallVector<vxk::ReportFaultOp> faults;
    kernel.walk([&](vxk::ReportFaultOp op) { faults.push_back(op); });
    for (vxk::ReportFaultOp op : faults) {
      builder.setInsertionPoint(op);
      Location at = op.getLoc();
      auto raised = scf::IfOp::create(builder, at, op.getCondition(), /*withElseRegion=*/false);
      builder.setInsertionPointToStart(raised.thenBlock());
      Type i32 = builder.getI32Type(), i64 = builder.getI64Type();
      static_assert(offsetof(vx_fault_record, site) == 4 && offsetof(vx_fault_record, value) == 8 &&
                    offsetof(vx_fault_record, lower) == 16 && offsetof(vx_fault_record, upper) == 24 &&
                    offsetof(vx_fault_record, rank) == 32 && offsetof(vx_fault_record, place) == 40);
      SmallVector<Type> members = {i32, i32, i64, i64, i64, i64};
      SmallVector<uint32_t> offsets = {0, 4, 8, 16, 24, 32};
      for (uint32_t d = 0; d < VX_FAULT_PLACES; ++d) {
        members.push_back(i64);
        offsets.push_back(40 + 8 * d);
      }
      auto recordType = spirv::StructType::get(members, offsets);
      Value address = loadElement(builder, at, entry.block, constant(64, VX_BLOCK_FAULT));
      Value record = spirv::ConvertUToPtrOp::create(
          builder, at, spirv::PointerType::get(recordType, StorageClass::PhysicalStorageBuffer), address);
      auto field = [&](int64_t number) -> Value {
        return spirv::AccessChainOp::create(builder, at, record, ValueRange{constant(32, number)});
      };
      Value before = spirv::AtomicIAddOp::create(builder, at, i32, field(0), spirv::Scope::Device,
                                                 spirv::MemorySemantics::None, constant(32, 1));
      Value zero = arith::ConstantIntOp::create(builder, at, 0, 32);
      Value first = arith::CmpIOp::create(builder, at, arith::CmpIPredicate::eq, before, zero);
      auto won = scf::IfOp::create(builder, at, first, /*withElseRegion=*/false);
      builder.setInsertionPointToStart(won.thenBlock());
      Value base = loadElement(builder, at, entry.block, constant(64, VX_BLOCK_FAULT_SITE));
      Value site = spirv::IAddOp::create(builder, at, base, constant(64, op.getSite()));
      site = spirv::UConvertOp::create(builder, at, i32, site);
      auto aligned = spirv::MemoryAccessAttr::get(context, spirv::MemoryAccess::Aligned);
      auto store = [&](int64_t number, Value value, int32_t bytes) {
        spirv::StoreOp::create(builder, at, field(number), value, aligned, builder.getI32IntegerAttr(bytes));
      };
      store(1, site, 4);
      store(2, op.getValue(), 8);
      store(3, op.getLower(), 8);
      store(4, op.getUpper(), 8);
      store(5, constant(64, static_cast<int64_t>(op.getPlace().size())), 8);
      for (auto [d, index] : llvm::enumerate(op.getPlace().take_front(VX_FAULT_PLACES)))
        store(6 + static_cast<int64_t>(d), index, 8);
      op.erase();
    }
    return success();
  }

  /// The shared conversion of scf.for writes a loop's results in its body only: after a loop of no iteration they would
  /// be whatever memory held. There the initial values are taken.
  void keepInitialValues() {
    SmallVector<scf::ForOp> loops;
    kernel.walk([&](scf::ForOp loop) { loops.push_back(loop); });
    for (scf::ForOp loop : loops) {
      std::optional<int64_t> lower = getConstantIntValue(loop.getLowerBound());
      std::optional<int64_t> upper = getConstantIntValue(loop.getUpperBound());
      if (loop.getNumResults() == 0 || (lower && upper && *lower < *upper))
        continue;
      builder.setInsertionPointAfter(loop);
      Value runs = arith::CmpIOp::create(builder, loop.getLoc(), arith::CmpIPredicate::slt, loop.getLowerBound(),
                                         loop.getUpperBound());
      for (auto [result, initial] : llvm::zip(loop.getResults(), loop.getInitArgs())) {
        auto value = arith::SelectOp::create(builder, loop.getLoc(), runs, result, initial);
        result.replaceAllUsesExcept(value, value);
      }
    }
  }

  LogicalResult convertBody() {
    keepInitialValues();
    spirv::TargetEnvAttr environment = getTargetEnv(context);
    SPIRVConversionOptions options;
    options.emulateLT32BitScalarTypes = false;
    options.emulateUnsupportedFloatTypes = false;
    options.use64bitIndex = true;
    SPIRVTypeConverter converter(environment, options);
    converter.addConversion([&](MemRefType type) -> Type {
      Type element = converter.convertType(type.getElementType());
      if (!element || type.getRank() != 1)
        return {};
      auto space = dyn_cast_or_null<gpu::AddressSpaceAttr>(type.getMemorySpace());
      if (!type.getMemorySpace())
        return element.isInteger(1) ? Type() : Type(getBufferType(element));
      if (!space || !type.hasStaticShape())
        return {};
      if (space.getValue() == gpu::AddressSpace::Workgroup)
        return spirv::PointerType::get(getWorkgroupArray(type, element), StorageClass::Workgroup);
      Type array = spirv::ArrayType::get(element, std::max<int64_t>(1, type.getNumElements()));
      return spirv::PointerType::get(array, StorageClass::Function);
    });

    RewritePatternSet patterns(context);
    ScfToSPIRVContext scfContext;
    populateMemoryPatterns(converter, entry, patterns);
    populateArithPatterns(converter, patterns);
    arith::populateArithToSPIRVPatterns(converter, patterns);
    populateMathToSPIRVPatterns(converter, patterns);
    populateSCFToSPIRVPatterns(converter, scfContext, patterns);
    populateVectorToSPIRVPatterns(converter, patterns);
    populateBuiltinFuncToSPIRVPatterns(converter, patterns);
    populateFuncToSPIRVPatterns(converter, patterns);
    ub::populateUBToSPIRVConversionPatterns(converter, patterns);

    ConversionTarget target(*context);
    // The shared patterns offer the opcodes of OpenCL too.
    target.addDynamicallyLegalDialect<spirv::SPIRVDialect>([](Operation *op) {
      return !op->getName().getStringRef().starts_with("spirv.CL.") && !isa<spirv::OrderedOp, spirv::UnorderedOp>(op);
    });
    target.addLegalOp<UnrealizedConversionCastOp>();
    if (failed(applyFullConversion(kernel, target, std::move(patterns))))
      return failure();
    // Casts that stood in for values of the entry block are pairs now.
    SmallVector<UnrealizedConversionCastOp> casts;
    shader.walk([&](UnrealizedConversionCastOp cast) { casts.push_back(cast); });
    reconcileUnrealizedCasts(casts);
    WalkResult left = shader.walk([](UnrealizedConversionCastOp cast) {
      cast.emitError() << "expects a value that a Vulkan shader can hold, got " << cast.getResult(0).getType();
      return WalkResult::interrupt();
    });
    return failure(left.wasInterrupted());
  }

  void finish() {
    spirv::FuncOp function = *shader.getOps<spirv::FuncOp>().begin();
    // SPIR-V wants variables first in the entry block.
    Block &body = function.getBody().front();
    SmallVector<spirv::VariableOp> variables;
    function.walk([&](spirv::VariableOp op) { variables.push_back(op); });
    for (spirv::VariableOp op : llvm::reverse(variables))
      op->moveBefore(&body, body.begin());
    // A continue construct that holds the whole body is valid, but drivers do not expect loops and branches in it: give
    // each loop one that only jumps back.
    function.walk([&](spirv::LoopOp loop) {
      Block *body = loop.getContinueBlock();
      if (body->without_terminator().empty())
        return;
      Block *next = body->splitBlock(body->getTerminator());
      builder.setInsertionPointToEnd(body);
      spirv::BranchOp::create(builder, loop.getLoc(), next);
    });
    function.walk([&](Operation *op) {
      bool mayContract = op->removeAttr(kContractAttr) != nullptr;
      if (!mayContract && isa<spirv::FAddOp, spirv::FSubOp, spirv::FMulOp, spirv::FDivOp, spirv::FNegateOp>(op))
        op->setAttr("no_contraction", builder.getUnitAttr());
    });

    builder.setInsertionPointToEnd(shader.getBody());
    SmallVector<Attribute> interface;
    for (spirv::GlobalVariableOp variable : globals)
      interface.push_back(FlatSymbolRefAttr::get(variable));
    spirv::EntryPointOp::create(builder, loc, spirv::ExecutionModel::GLCompute, function, interface);
    spirv::ExecutionModeOp::create(builder, loc, function, spirv::ExecutionMode::LocalSize,
                                   {static_cast<int32_t>(threads), 1, 1});
    std::set<Capability> capabilities{Capability::Shader, Capability::Int64,
                                      Capability::PhysicalStorageBufferAddresses};
    std::set<int32_t> floatWidths;
    collectTypes(capabilities, floatWidths);
    if (usesSubgroups)
      capabilities.insert(Capability::GroupNonUniform);
    if (function.walk([](spirv::GroupNonUniformShuffleXorOp) { return WalkResult::interrupt(); }).wasInterrupted())
      capabilities.insert(Capability::GroupNonUniformShuffle);
    for (int32_t width : floatWidths) {
      spirv::ExecutionModeOp::create(builder, loc, function, spirv::ExecutionMode::SignedZeroInfNanPreserve, {width});
      capabilities.insert(Capability::SignedZeroInfNanPreserve);
    }
    SmallVector<spirv::Extension> extensions = {spirv::Extension::SPV_KHR_physical_storage_buffer};
    if (usesDots) {
      capabilities.insert({Capability::DotProduct, Capability::DotProductInput4x8BitPacked});
      extensions.push_back(spirv::Extension::SPV_KHR_integer_dot_product);
    }
    SmallVector<Capability> sorted(capabilities.begin(), capabilities.end());
    shader.setVceTripleAttr(spirv::VerCapExtAttr::get(spirv::Version::V_1_5, sorted, extensions, context));
  }

  /// The capabilities that the types of the shader need.
  void collectTypes(std::set<Capability> &capabilities, std::set<int32_t> &floatWidths) {
    llvm::SmallDenseSet<Type> seen;
    std::function<void(Type, bool)> visit = [&](Type type, bool stored) {
      if (auto pointer = dyn_cast<spirv::PointerType>(type)) {
        visit(pointer.getPointeeType(), pointer.getStorageClass() == StorageClass::PhysicalStorageBuffer);
      } else if (auto structure = dyn_cast<spirv::StructType>(type)) {
        for (Type member : structure.getElementTypes())
          visit(member, stored);
      } else if (auto array = dyn_cast<spirv::RuntimeArrayType>(type)) {
        visit(array.getElementType(), stored);
      } else if (auto array = dyn_cast<spirv::ArrayType>(type)) {
        visit(array.getElementType(), stored);
      } else if (auto vector = dyn_cast<VectorType>(type)) {
        visit(vector.getElementType(), stored);
      } else if (auto number = dyn_cast<FloatType>(type)) {
        floatWidths.insert(static_cast<int32_t>(number.getWidth()));
        if (number.getWidth() == 16)
          capabilities.insert(Capability::Float16);
        if (number.getWidth() == 64)
          capabilities.insert(Capability::Float64);
        if (stored && number.getWidth() == 16)
          capabilities.insert(Capability::StorageBuffer16BitAccess);
      } else if (auto integer = dyn_cast<IntegerType>(type)) {
        if (integer.getWidth() == 8)
          capabilities.insert(Capability::Int8);
        if (integer.getWidth() == 16)
          capabilities.insert(Capability::Int16);
        if (stored && integer.getWidth() == 8)
          capabilities.insert(Capability::StorageBuffer8BitAccess);
        if (stored && integer.getWidth() == 16)
          capabilities.insert(Capability::StorageBuffer16BitAccess);
      }
    };
    shader.walk([&](Operation *op) {
      for (Type type : op->getResultTypes())
        if (seen.insert(type).second)
          visit(type, false);
      if (auto variable = dyn_cast<spirv::GlobalVariableOp>(op))
        visit(variable.getType(), false);
    });
  }

  ModuleOp module;
  func::FuncOp kernel;
  MLIRContext *context;
  OpBuilder builder;
  Location loc;
  spirv::ModuleOp shader;
  KernelEntry entry;
  SmallVector<spirv::GlobalVariableOp> globals;
  /// The vectors that workgroup memory of this type is read by.
  DenseMap<Type, VectorType> workgroupVectors;
  int64_t threads = 1;
  bool usesSubgroups = false, usesDots = false;
};

struct ConvertToSPIRV : vx::impl::ConvertToSPIRVPassBase<ConvertToSPIRV> {
  void runOnOperation() override {
    SmallVector<func::FuncOp> kernels;
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (func->hasAttr(vxk::kKernelAttr))
        kernels.push_back(func);
    if (kernels.size() != 1) {
      getOperation().emitError() << "expects one function with '" << vxk::kKernelAttr << "', got " << kernels.size();
      return signalPassFailure();
    }
    if (failed(Converter(getOperation(), kernels.front()).run()))
      signalPassFailure();
  }
};

} // namespace
} // namespace vx::vulkan
