// Programs that several tests run.
#ifndef VX_TEST_UNIT_RUNTIME_PROGRAMS_H
#define VX_TEST_UNIT_RUNTIME_PROGRAMS_H

#include "module_builder.h"

namespace vx::test {

// main(x: i32[n]) -> y: i32[n] with y = 3 * x + bias, bias a constant repeated, through the arena.
inline void addAffine(ModuleBuilder &builder, int64_t elements = 4096) {
  format::FunctionT &main = builder.function();
  main.symbols.push_back(symbol("n", 0, elements));
  main.inputs.push_back(argument("x", format::ElementType::I32, symbolExpr(0)));
  main.outputs.push_back(argument("y", format::ElementType::I32, symbolExpr(0)));
  std::vector<int32_t> bias(static_cast<size_t>(elements), 7);
  uint32_t constant =
      builder.addConstant("bias", format::ElementType::I32, {elements}, bias.data(), bias.size() * sizeof(int32_t));
  // i64: 0 n, 1 bytes, 2 workgroups, 3 scale, 4 scratch, 5 zero; buffers: 0 x, 1 y, 2 bias, 3 slice of it, 4 temporary
  BlockPtr body = block(
      instruction(Op::ConstI64, {4}, 4), instruction(Op::Mul, {1, 0, 4}), instruction(Op::ConstI64, {4}, 64),
      instruction(Op::CeilDiv, {2, 0, 4}), instruction(Op::ConstI64, {3}, 3), instruction(Op::ConstI64, {5}, 0),
      instruction(Op::ArenaReserve, {1}), instruction(Op::ArenaSlice, {4, 5, 1}), instruction(Op::Allocate, {1, 1}),
      instruction(Op::Constant, {2}, constant), instruction(Op::Slice, {3, 2, 5, 1}),
      segment(copy(3, 4, false), dispatch(ScaleAdd, 2, {0, 4}, {0, 3}), copy(4, 1)));
  format::ProgramT &program = builder.program("affine", 6, 5, 0, std::move(body));
  program.results.push_back(tensorResult(1, {0}));
}

// main(x: i32[n]) -> y: i32[n]: one segment of `kernels` kernels, each of which adds x to the memory of the result.
inline void addCounting(ModuleBuilder &builder, int kernels) {
  format::FunctionT &main = builder.function();
  main.symbols.push_back(symbol("n"));
  main.inputs.push_back(argument("x", format::ElementType::I32, symbolExpr(0)));
  main.outputs.push_back(argument("y", format::ElementType::I32, symbolExpr(0)));
  // i64: 0 n, 1 workgroups, 2 four, then one, 3 bytes; buffers: 0 x, 1 y
  InstructionPtr work = segment(dispatch(ScaleAdd, 1, {0, 1}, {0, 2}));
  for (int more = 1; more < kernels; ++more)
    work->commands.push_back(dispatch(ScaleAdd, 1, {0, 1}, {0, 2}));
  BlockPtr body = block(instruction(Op::ConstI64, {1}, 64), instruction(Op::CeilDiv, {1, 0, 1}),
                        instruction(Op::ConstI64, {2}, 4), instruction(Op::Mul, {3, 0, 2}),
                        instruction(Op::ConstI64, {2}, 1), instruction(Op::Allocate, {1, 3}), std::move(work));
  builder.program("counting", 4, 2, 0, std::move(body)).results.push_back(tensorResult(1, {0}));
}

// main(x: i32[n], turns: i32[1]) -> y: i32[n]: adds x to itself as often as the caller says, which nobody waits for.
// Each turn has new memory for its value.
inline void addRepeat(ModuleBuilder &builder) {
  format::FunctionT &main = builder.function();
  main.symbols.push_back(symbol("n"));
  main.inputs.push_back(argument("x", format::ElementType::I32, symbolExpr(0)));
  main.inputs.push_back(argument("turns", format::ElementType::I32, constantExpr(1)));
  main.outputs.push_back(argument("y", format::ElementType::I32, symbolExpr(0)));
  // i64: 0 n, 1 bytes, 2 one, 3 counter, 4 four; buffers: 0 x, 1 turns, 2 y, 3 fresh
  BlockPtr turn = block(instruction(Op::Allocate, {3, 1}), segment(copy(2, 3), dispatch(ScaleAdd, 2, {0, 3}, {0, 2})),
                        instruction(Op::MoveBuffer, {2, 3}), instruction(Op::Sub, {3, 3, 2}));
  BlockPtr body = block(instruction(Op::ReadInput, {3}, 1), instruction(Op::ConstI64, {4}, 4),
                        instruction(Op::Mul, {1, 0, 4}), instruction(Op::ConstI64, {2}, 1),
                        instruction(Op::Allocate, {2, 1}), segment(copy(0, 2)), whileLoop(3, std::move(turn)));
  format::ProgramT &program = builder.program("loop", 5, 4, 0, std::move(body));
  program.results.push_back(tensorResult(2, {0}));
}

// main(x: i32[n], indices: i32[m]) -> y: i32[m]; an index out of range is reported at site 3.
inline void addGather(ModuleBuilder &builder) {
  builder.addFaultSites(4);
  format::FunctionT &main = builder.function();
  main.symbols.push_back(symbol("n"));
  main.symbols.push_back(symbol("m"));
  main.inputs.push_back(argument("x", format::ElementType::I32, symbolExpr(0)));
  main.inputs.push_back(argument("indices", format::ElementType::I32, symbolExpr(1)));
  main.outputs.push_back(argument("y", format::ElementType::I32, symbolExpr(1)));
  BlockPtr body = block(instruction(Op::ConstI64, {4}, 4), instruction(Op::Mul, {2, 1, 4}),
                        instruction(Op::ConstI64, {4}, 64), instruction(Op::CeilDiv, {3, 1, 4}),
                        instruction(Op::Allocate, {2, 2}), segment(dispatch(Gather, 3, {0, 1, 2}, {1, 0})));
  format::ProgramT &program = builder.program("gather", 5, 3, 0, std::move(body));
  program.results.push_back(tensorResult(2, {1}));
}

// main(x: i32[4]) -> total: i32[4]: adds x to the variable `total` and gives the sum. The indices `x` select from
// itself first when `checked`, so that bad data fails before the variable is stored.
inline void addAccumulate(ModuleBuilder &builder, bool checked = false) {
  builder.addFaultSites(4);
  format::FunctionT &main = builder.function();
  main.inputs.push_back(argument("x", format::ElementType::I32, constantExpr(4)));
  main.outputs.push_back(argument("total", format::ElementType::I32, constantExpr(4)));
  uint32_t variable = builder.addVariable("total", format::ElementType::I32, {4}, 16);
  BlockPtr body =
      block(instruction(Op::ConstI64, {0}, 4), instruction(Op::ConstI64, {1}, 1), instruction(Op::ConstI64, {2}, 16),
            instruction(Op::Variable, {1}, variable), instruction(Op::Allocate, {2, 2}));
  if (checked) {
    body->instructions.push_back(segment(dispatch(Gather, 1, {0, 0, 2}, {0, 0})));
    body->instructions.push_back(instruction(Op::CheckFaults));
  }
  body->instructions.push_back(segment(dispatch(ScaleAdd, 1, {0, 1}, {0, 1})));
  format::ProgramT &program = builder.program("accumulate", 3, 3, 0, std::move(body));
  program.stores = {variable};
  program.results.push_back(tensorResult(1, {0}));
}

inline std::unique_ptr<format::HostFunctionT> hostFunction(format::HostFunctionKind kind,
                                                           std::vector<format::ElementType> results,
                                                           std::string text = "", int64_t limit = -1) {
  auto function = std::make_unique<format::HostFunctionT>();
  function->kind = kind;
  function->results = std::move(results);
  function->text = std::move(text);
  function->limit = limit;
  return function;
}

// A program that gives what the host computes of its one input, a list of n elements.
inline void addHostCall(ModuleBuilder &builder, format::ElementType input, format::ElementType output,
                        std::unique_ptr<format::HostFunctionT> host) {
  format::FunctionT &function = builder.function();
  function.symbols.push_back(symbol("n"));
  function.inputs.push_back(argument("x", input, symbolExpr(0)));
  function.outputs.push_back(argument("y", output, symbolExpr(0)));
  builder.module.fault_sites.push_back(std::make_unique<format::FaultSiteT>());
  builder.module.fault_sites.back()->node = "node_0 (Words)";
  builder.module.fault_sites.back()->what = "string";
  const auto stored = static_cast<int64_t>(input == format::ElementType::String ? format::ElementType::I32 : input);
  format::ProgramT &program =
      builder.program("main", 3, 2, 2,
                      block(instruction(Op::ListEmpty, {0}, stored), instruction(Op::ListInsert, {0, 0, 1, 0, 0}),
                            instruction(Op::HostCall, {1, 0}, 0, 0), instruction(Op::ListGet, {1, 1, 1, 2})));
  program.results.push_back(tensorResult(1, {2}));
  builder.module.strings = {"", "a", "b"};
  builder.module.host_functions.push_back(std::move(host));
}

} // namespace vx::test

#endif
