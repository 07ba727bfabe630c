#include "ProgramEncoder.h"

#include "vx/Dialect/VX/IR/SourceLocation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace vx {

format::ElementType getElementType(Type type) {
  using E = format::ElementType;
  if (auto integer = dyn_cast<IntegerType>(type)) {
    bool isUnsigned = integer.isUnsigned();
    switch (integer.getWidth()) {
    case 1:
      return E::Bool;
    case 2:
      return isUnsigned ? E::U2 : E::I2;
    case 4:
      return isUnsigned ? E::U4 : E::I4;
    case 8:
      return isUnsigned ? E::U8 : E::I8;
    case 16:
      return isUnsigned ? E::U16 : E::I16;
    case 32:
      return isUnsigned ? E::U32 : E::I32;
    case 64:
      return isUnsigned ? E::U64 : E::I64;
    default:
      return E::None;
    }
  }
  return TypeSwitch<Type, E>(type)
      .Case<Float16Type>([](auto) { return E::F16; })
      .Case<BFloat16Type>([](auto) { return E::BF16; })
      .Case<Float32Type>([](auto) { return E::F32; })
      .Case<Float64Type>([](auto) { return E::F64; })
      .Case<Float8E4M3FNType>([](auto) { return E::F8E4M3FN; })
      .Case<Float8E4M3FNUZType>([](auto) { return E::F8E4M3FNUZ; })
      .Case<Float8E5M2Type>([](auto) { return E::F8E5M2; })
      .Case<Float8E5M2FNUZType>([](auto) { return E::F8E5M2FNUZ; })
      .Case<Float8E8M0FNUType>([](auto) { return E::F8E8M0; })
      .Case<Float4E2M1FNType>([](auto) { return E::F4E2M1; })
      .Case<StringType>([](auto) { return E::String; })
      .Default([](Type) { return E::None; });
}

namespace {

/// Writes the nodes of one expression, each after those it uses. Equal terms are one node.
class ExprEncoder {
public:
  explicit ExprEncoder(ArrayAttr symbols) {
    for (auto [index, name] : llvm::enumerate(symbols ? symbols.getValue() : ArrayRef<Attribute>()))
      numbers[cast<StringAttr>(name)] = static_cast<int64_t>(index);
  }

  uint32_t encode(DimAttr dim) {
    if (auto it = encoded.find(dim); it != encoded.end())
      return it->second;
    uint32_t node = encodeNew(dim);
    encoded[dim] = node;
    return node;
  }

  /// The expression that a value of a program's outermost block is; none where it depends on what runs.
  std::optional<uint32_t> encode(Value value) {
    if (auto it = encodedValues.find(value); it != encodedValues.end())
      return it->second;
    std::optional<uint32_t> node = encodeNew(value);
    encodedValues[value] = node;
    return node;
  }

  std::vector<format::ExprNode> nodes;

private:
  using Op = format::ExprOp;

  std::optional<uint32_t> encodeNew(Value value) {
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      if (argument.getArgNumber() >= numbers.size() || !isa<vxrt::ProgramOp>(argument.getOwner()->getParentOp()))
        return std::nullopt;
      return add(Op::Symbol, 0, 0, argument.getArgNumber());
    }
    if (auto constant = value.getDefiningOp<vxrt::ConstOp>())
      return add(Op::Constant, 0, 0, constant.getValue());
    // A size of what is repeated: lhs == 1 ? rhs : lhs.
    if (auto select = value.getDefiningOp<vxrt::SelectOp>()) {
      auto isOne = select.getCondition().getDefiningOp<vxrt::CalcOp>();
      auto one = isOne ? isOne.getRhs().getDefiningOp<vxrt::ConstOp>() : vxrt::ConstOp();
      if (!one || isOne.getKind() != vxrt::CalcKind::eq || one.getValue() != 1 || isOne.getLhs() != select.getOnFalse())
        return std::nullopt;
      std::optional<uint32_t> lhs = encode(select.getOnFalse()), rhs = lhs ? encode(select.getOnTrue()) : std::nullopt;
      return rhs ? std::optional(add(Op::Broadcast, *lhs, *rhs)) : std::nullopt;
    }
    auto calc = value.getDefiningOp<vxrt::CalcOp>();
    std::optional<uint32_t> lhs = calc ? encode(calc.getLhs()) : std::nullopt;
    std::optional<uint32_t> rhs = lhs ? encode(calc.getRhs()) : std::nullopt;
    if (!rhs)
      return std::nullopt;
    switch (calc.getKind()) {
    case vxrt::CalcKind::add:
      return add(Op::Add, *lhs, *rhs);
    case vxrt::CalcKind::sub:
      return add(Op::Add, *lhs, add(Op::Mul, *rhs, add(Op::Constant, 0, 0, -1)));
    case vxrt::CalcKind::mul:
      return add(Op::Mul, *lhs, *rhs);
    case vxrt::CalcKind::floordiv:
      return add(Op::FloorDiv, *lhs, *rhs);
    case vxrt::CalcKind::ceildiv:
      return add(Op::CeilDiv, *lhs, *rhs);
    case vxrt::CalcKind::mod:
      return add(Op::Mod, *lhs, *rhs);
    case vxrt::CalcKind::max:
      return add(Op::Max, *lhs, *rhs);
    case vxrt::CalcKind::min:
      return add(Op::Min, *lhs, *rhs);
    default:
      return std::nullopt;
    }
  }

  uint32_t add(Op op, uint32_t lhs, uint32_t rhs, int64_t value = 0) {
    nodes.emplace_back(op, lhs, rhs, value);
    return static_cast<uint32_t>(nodes.size() - 1);
  }

  uint32_t fold(Op op, DimAttr dim) {
    uint32_t result = encode(dim.getOperands().front());
    for (DimAttr operand : dim.getOperands().drop_front())
      result = add(op, result, encode(operand));
    return result;
  }

  uint32_t encodeNew(DimAttr dim) {
    switch (dim.getKind()) {
    case DimKind::Constant:
      return add(Op::Constant, 0, 0, dim.getValue());
    case DimKind::Symbol:
      return add(Op::Symbol, 0, 0, numbers.lookup(dim.getSymbol()));
    case DimKind::Sum:
      return fold(Op::Add, dim);
    case DimKind::Product: {
      uint32_t product = fold(Op::Mul, dim);
      return dim.getValue() == 1 ? product
                                 : add(Op::Mul, product, encode(DimAttr::constant(dim.getContext(), dim.getValue())));
    }
    case DimKind::FloorDiv:
      return fold(Op::FloorDiv, dim);
    case DimKind::CeilDiv:
      return fold(Op::CeilDiv, dim);
    case DimKind::Mod:
      return fold(Op::Mod, dim);
    case DimKind::Max:
      return fold(Op::Max, dim);
    case DimKind::Min:
      return fold(Op::Min, dim);
    case DimKind::Broadcast:
      return fold(Op::Broadcast, dim);
    }
    llvm_unreachable("all kinds are handled");
  }

  llvm::DenseMap<StringAttr, int64_t> numbers;
  llvm::DenseMap<DimAttr, uint32_t> encoded;
  llvm::DenseMap<Value, std::optional<uint32_t>> encodedValues;
};

} // namespace

format::ExprT encodeExpr(DimAttr dim, ArrayAttr symbols) {
  format::ExprT expr;
  if (!dim)
    return expr;
  ExprEncoder encoder(symbols);
  encoder.encode(dim);
  expr.nodes = std::move(encoder.nodes);
  return expr;
}

std::optional<format::ExprT> encodeArenaSize(vxrt::ProgramOp program) {
  auto reserves = program.getBody().front().getOps<vxrt::ArenaReserveOp>();
  if (reserves.empty())
    return encodeExpr(DimAttr::constant(program.getContext(), 0), {});
  ExprEncoder encoder(program.getSymbols());
  if (!encoder.encode((*reserves.begin()).getSize()))
    return std::nullopt;
  format::ExprT expr;
  expr.nodes = std::move(encoder.nodes);
  return expr;
}

namespace {

using Op = format::Op;

class Encoder {
public:
  Encoder(ModuleOp module, const TargetTables &target, SharedTables &shared)
      : module(module), target(target), shared(shared) {}

  format::ProgramT encode(vxrt::ProgramOp source) {
    program.name = source.getSymName().str();
    for (BlockArgument argument : source.getBody().front().getArguments())
      registerOf(argument);
    program.body = std::make_unique<format::BlockT>();
    encodeBlock(source.getBody().front(), *program.body);
    program.i64_registers = counts[0];
    program.buffer_registers = counts[1];
    program.object_registers = counts[2];
    return std::move(program);
  }

private:
  static int getFile(Type type) { return isa<vxrt::BufferType>(type) ? 1 : isa<vxrt::ObjectType>(type) ? 2 : 0; }

  uint32_t freshRegister(Type type) { return counts[getFile(type)]++; }
  uint32_t registerOf(Value value) {
    auto [it, isNew] = registers.try_emplace(value, 0);
    if (isNew)
      it->second = freshRegister(value.getType());
    return it->second;
  }
  /// The program's argument for the symbol that `read` gives.
  static Value getSymbol(vxrt::ReadInputOp read) {
    auto program = read->getParentOfType<vxrt::ProgramOp>();
    const auto *found = llvm::find(program.getSymbols(), read.getSymbolAttr());
    return program.getBody().getArgument(static_cast<unsigned>(found - program.getSymbols().begin()));
  }
  std::vector<uint32_t> registersOf(ValueRange values) {
    std::vector<uint32_t> result;
    for (Value value : values)
      result.push_back(registerOf(value));
    return result;
  }

  int32_t getSite(Location location, StringRef what) {
    return static_cast<int32_t>(shared.getFaultSites({describeSource(location)}, what));
  }

  format::InstructionT &emit(format::BlockT &block, Op op, std::vector<uint32_t> operands, int64_t imm = 0) {
    auto instruction = std::make_unique<format::InstructionT>();
    instruction->op = op;
    instruction->operands = std::move(operands);
    instruction->imm = imm;
    block.instructions.push_back(std::move(instruction));
    return *block.instructions.back();
  }

  void emitMove(format::BlockT &block, Type type, uint32_t target, uint32_t source) {
    static constexpr Op ops[] = {Op::MoveI64, Op::MoveBuffer, Op::MoveObject};
    if (target != source)
      emit(block, ops[getFile(type)], {target, source});
  }

  /// targets[i] = sources[i], all at once.
  void emitParallelMove(format::BlockT &block, TypeRange types, ArrayRef<uint32_t> targets,
                        std::vector<uint32_t> sources) {
    for (auto [index, type] : llvm::enumerate(types)) {
      // A source that an earlier move of the same file overwrites is saved first.
      bool isOverwritten = false;
      for (size_t j = 0; j < index; ++j)
        isOverwritten |= getFile(types[j]) == getFile(type) && targets[j] == sources[index] && targets[j] != sources[j];
      if (isOverwritten) {
        uint32_t saved = freshRegister(type);
        emitMove(block, type, saved, sources[index]);
        sources[index] = saved;
      }
    }
    for (auto [index, type] : llvm::enumerate(types))
      emitMove(block, type, targets[index], sources[index]);
  }

  void encodeBlock(Block &source, format::BlockT &block) {
    for (mlir::Operation &op : source)
      encodeOp(&op, block);
  }

  void addStored(uint32_t variable) {
    auto place = llvm::lower_bound(program.stores, variable);
    if (place == program.stores.end() || *place != variable)
      program.stores.insert(place, variable);
  }

  std::unique_ptr<format::CommandT> encodeCommand(mlir::Operation *op) {
    auto command = std::make_unique<format::CommandT>();
    for (Value written : vxrt::getWrittenBuffers(op))
      if (auto variable = written.getDefiningOp<vxrt::VariableOp>())
        addStored(shared.variables.lookup(variable.getVariable()));
    if (auto copy = dyn_cast<vxrt::CopyOp>(op)) {
      command->kind = format::CommandKind::Copy;
      command->barrier = copy.getBarrier();
      command->buffers = {registerOf(copy.getSource()), registerOf(copy.getTarget())};
      return command;
    }
    auto dispatch = cast<vxrt::DispatchOp>(op);
    auto kernel = SymbolTable::lookupNearestSymbolFrom<KernelOp>(module, dispatch.getKernelAttr());
    command->kind = format::CommandKind::Dispatch;
    command->barrier = dispatch.getBarrier();
    command->kernel = target.kernels.lookup(kernel.getKey());
    command->workgroups = registerOf(dispatch.getWorkgroups());
    command->buffers = registersOf(dispatch.getInputs());
    llvm::append_range(command->buffers, registersOf(dispatch.getOutputs()));
    command->scalars = registersOf(dispatch.getScalars());
    for (const std::string &node : getSourceNodes(dispatch.getLoc()))
      command->nodes.push_back(shared.getSourceNode(node));
    if (auto sites = dispatch->getAttrOfType<ArrayAttr>(kFaultSitesAttr)) {
      SmallVector<std::string> nodes;
      for (StringRef node : sites.getAsValueRange<StringAttr>())
        nodes.push_back(node.str());
      command->fault_site = shared.getFaultSites(nodes, "index");
    }
    return command;
  }

  void encodeOp(mlir::Operation *op, format::BlockT &block) {
    auto value = [&](unsigned index = 0) { return registerOf(op->getResult(index)); };
    TypeSwitch<mlir::Operation *>(op)
        .Case<vxrt::ConstOp>([&](auto c) { emit(block, Op::ConstI64, {value()}, c.getValue()); })
        .Case<vxrt::CalcOp>([&](vxrt::CalcOp calc) {
          static constexpr Op ops[] = {Op::Add, Op::Sub, Op::Mul,   Op::FloorDiv, Op::CeilDiv, Op::Mod,
                                       Op::Max, Op::Min, Op::CmpEq, Op::CmpNe,    Op::CmpLt,   Op::CmpLe};
          emit(block, ops[static_cast<unsigned>(calc.getKind())],
               {value(), registerOf(calc.getLhs()), registerOf(calc.getRhs())});
        })
        .Case<vxrt::SelectOp>([&](auto select) {
          emit(block, Op::Select,
               {value(), registerOf(select.getCondition()), registerOf(select.getOnTrue()),
                registerOf(select.getOnFalse())});
        })
        .Case<vxrt::ArenaReserveOp>([&](auto reserve) {
          emit(block, Op::ArenaReserve, {registerOf(reserve.getSize())}).site = getSite(op->getLoc(), "arena");
        })
        .Case<vxrt::ArenaSliceOp>([&](auto slice) {
          emit(block, Op::ArenaSlice, {value(), registerOf(slice.getOffset()), registerOf(slice.getSize())});
        })
        .Case<vxrt::SliceOp>([&](auto slice) {
          emit(block, Op::Slice,
               {value(), registerOf(slice.getBuffer()), registerOf(slice.getOffset()), registerOf(slice.getSize())});
        })
        .Case<vxrt::AllocateOp>([&](auto allocate) {
          emit(block, Op::Allocate, {value(), registerOf(allocate.getSize())}).site =
              getSite(op->getLoc(), "allocation");
        })
        .Case<vxrt::ConstantOp>([&](auto constant) {
          emit(block, Op::Constant, {value()}, shared.getConstant(constant.getValue(), constant.getNamesAttr()));
        })
        .Case<vxrt::VariableOp>([&](auto variable) {
          if (!variable.use_empty())
            emit(block, Op::Variable, {value()}, shared.variables.lookup(variable.getVariable()));
        })
        .Case<vxrt::DerivedOp>([&](auto derived) {
          auto source = module.lookupSymbol<vxrt::ProgramOp>(derived.getSource());
          auto key = source->template getAttrOfType<StringAttr>(vxrt::kDerivedAttr);
          emit(block, Op::Derived, {value()}, target.derived.lookup(key));
        })
        .Case<vxrt::SegmentOp>([&](vxrt::SegmentOp segment) {
          format::InstructionT &instruction = emit(block, Op::Segment, {});
          for (mlir::Operation &command : segment.getBody().front())
            instruction.commands.push_back(encodeCommand(&command));
        })
        .Case<vxrt::ReadI64Op>([&](auto read) {
          emit(block, Op::ReadI64, {value(), registerOf(read.getBuffer()), registerOf(read.getOffset())},
               static_cast<int64_t>(getElementType(read.getElementType())))
              .site = getSite(op->getLoc(), "value");
        })
        .Case<vxrt::ReadInputOp>([&](vxrt::ReadInputOp read) {
          if (read.getSymbol()) // into the symbol's register, whose bounds the runtime knows
            registers[read] = registerOf(getSymbol(read));
          emit(block, Op::ReadInput, {value()}, read.getInput());
        })
        .Case<vxrt::CheckFaultsOp>([&](auto) { emit(block, Op::CheckFaults, {}); })
        .Case<vxrt::CheckOp>([&](vxrt::CheckOp check) {
          emit(block, Op::Check, {registerOf(check.getLhs()), registerOf(check.getRhs())},
               static_cast<int64_t>(check.getKind()))
              .site = getSite(op->getLoc(), check.getWant());
        })
        .Case<vxrt::CheckRangeOp>([&](auto check) {
          // if (value < lower) error; if (upper <= value) error
          uint32_t number = registerOf(check.getValue()), lower = registerOf(check.getLower()),
                   upper = registerOf(check.getUpper());
          auto fail = [&](uint32_t lhs, Op compare, uint32_t rhs) {
            uint32_t flag = counts[0]++;
            emit(block, compare, {flag, lhs, rhs});
            format::InstructionT &branch = emit(block, Op::If, {flag});
            branch.blocks.push_back(std::make_unique<format::BlockT>());
            branch.blocks.push_back(std::make_unique<format::BlockT>());
            int32_t site = getSite(op->getLoc(), check.getWhat());
            emit(*branch.blocks.front(), Op::Error, {number, lower, upper}, site).site = site;
          };
          fail(number, Op::CmpLt, lower);
          fail(upper, Op::CmpLe, number);
        })
        .Case<vxrt::IfOp>([&](vxrt::IfOp branch) {
          uint32_t condition = registerOf(branch.getCondition());
          std::vector<uint32_t> results = registersOf(branch.getResults());
          std::vector<std::unique_ptr<format::BlockT>> blocks;
          for (Region *region : {&branch.getThenRegion(), &branch.getElseRegion()}) {
            auto inner = std::make_unique<format::BlockT>();
            encodeBlock(region->front(), *inner);
            auto yield = cast<vxrt::YieldOp>(region->front().getTerminator());
            emitParallelMove(*inner, yield.getValues().getTypes(), results, registersOf(yield.getValues()));
            blocks.push_back(std::move(inner));
          }
          emit(block, Op::If, {condition}).blocks = std::move(blocks);
        })
        .Case<vxrt::WhileOp>([&](vxrt::WhileOp loop) {
          Block &source = loop.getBody().front();
          uint32_t condition = counts[0]++;
          std::vector<uint32_t> carried = registersOf(source.getArguments());
          emitMove(block, loop.getCondition().getType(), condition, registerOf(loop.getCondition()));
          for (auto [init, target] : llvm::zip(loop.getInits(), carried))
            emitMove(block, init.getType(), target, registerOf(init));
          auto inner = std::make_unique<format::BlockT>();
          encodeBlock(source, *inner);
          auto yield = cast<vxrt::YieldOp>(source.getTerminator());
          std::vector<uint32_t> targets = {condition};
          llvm::append_range(targets, carried);
          emitParallelMove(*inner, yield.getValues().getTypes(), targets, registersOf(yield.getValues()));
          for (auto [result, target] : llvm::zip(loop.getResults(), carried))
            registers[result] = target;
          format::InstructionT &instruction = emit(block, Op::While, {condition});
          instruction.blocks.push_back(std::move(inner));
          if (loop.getCommits())
            instruction.site = getSite(op->getLoc(), "iterations");
        })
        .Case<vxrt::ListEmptyOp>([&](auto empty) {
          emit(block, Op::ListEmpty, {value()}, static_cast<int64_t>(getElementType(empty.getElementType())));
        })
        .Case<vxrt::NoListOp>([&](auto none) {
          emit(block, Op::NoList, {value()}, static_cast<int64_t>(getElementType(none.getElementType())));
        })
        .Case<vxrt::HasListOp>([&](auto has) { emit(block, Op::HasList, {value(), registerOf(has.getList())}); })
        .Case<vxrt::ListInsertOp>([&](auto insert) {
          std::vector<uint32_t> operands = {value(), registerOf(insert.getList()), registerOf(insert.getPosition()),
                                            registerOf(insert.getBuffer())};
          llvm::append_range(operands, registersOf(insert.getDims()));
          emit(block, Op::ListInsert, operands).site = getSite(op->getLoc(), "position");
        })
        .Case<vxrt::ListEraseOp>([&](auto erase) {
          emit(block, Op::ListErase, {value(), registerOf(erase.getList()), registerOf(erase.getPosition())}).site =
              getSite(op->getLoc(), "position");
        })
        .Case<vxrt::ListSizeOp>([&](auto size) { emit(block, Op::ListSize, {value(), registerOf(size.getList())}); })
        .Case<vxrt::ListGetOp>([&](auto get) {
          std::vector<uint32_t> operands = {value(), registerOf(get.getList()), registerOf(get.getPosition())};
          llvm::append_range(operands, registersOf(get.getDims()));
          emit(block, Op::ListGet, operands).site = getSite(op->getLoc(), "position");
        })
        .Case<vxrt::HostCallOp>([&](vxrt::HostCallOp call) {
          auto function = std::make_unique<format::HostFunctionT>();
          function->kind = static_cast<format::HostFunctionKind>(*symbolizeHostFunctionKind(call.getFunction()));
          function->text = call.getText().str();
          function->limit = call.getLimit();
          for (Type type : call.getElementTypes().getAsValueRange<TypeAttr>())
            function->results.push_back(getElementType(type));
          emit(block, Op::HostCall, {value(), registerOf(call.getList())}, shared.getHostFunction(std::move(function)))
              .site = getSite(op->getLoc(), "string");
        })
        .Case<vxrt::ReturnOp>([&](vxrt::ReturnOp ret) {
          ValueRange rest = ret.getValues();
          for (int64_t rank : ret.getRanks()) {
            auto result = std::make_unique<format::ResultT>();
            if (rank < 0) {
              result->object = registerOf(rest.front());
              rest = rest.drop_front();
            } else {
              result->buffer = registerOf(rest.front());
              result->dims = registersOf(rest.slice(1, rank));
              rest = rest.drop_front(1 + rank);
            }
            program.results.push_back(std::move(result));
          }
        })
        .Case<vxrt::YieldOp>([](auto) {}); // its region's op moves the values
  }

  ModuleOp module;
  const TargetTables &target;
  SharedTables &shared;
  format::ProgramT program;
  llvm::DenseMap<Value, uint32_t> registers;
  uint32_t counts[3] = {0, 0, 0}; // i64s, buffers, objects
};

} // namespace

format::ProgramT encodeProgram(vxrt::ProgramOp program, ModuleOp module, const TargetTables &target,
                               SharedTables &shared) {
  return Encoder(module, target, shared).encode(program);
}

} // namespace vx
