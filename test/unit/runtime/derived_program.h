// A module with derived values of variables, and short ways to run its functions.
#ifndef VX_TEST_UNIT_RUNTIME_DERIVED_PROGRAM_H
#define VX_TEST_UNIT_RUNTIME_DERIVED_PROGRAM_H

#include "programs.h"
#include "runtime_test.h"

#include <functional>

namespace vx::test::derived {

using format::ElementType;
using format::Role;

inline constexpr int64_t Count = 4096;

enum Function : uint32_t { Read, AddWeight, Both, Mix, AddState, Fail, Two };

// Sizes that every program begins with; i64: 0 elements, 1 bytes, 2 workgroups, 3 one, 4 two, 5 minus four.
inline BlockPtr sizes() {
  return block(instruction(Op::ConstI64, {0}, Count), instruction(Op::ConstI64, {1}, Count * 4),
               instruction(Op::ConstI64, {2}, Count / 64), instruction(Op::ConstI64, {3}, 1),
               instruction(Op::ConstI64, {4}, 2), instruction(Op::ConstI64, {5}, -4));
}

class Builder : public ModuleBuilder {
public:
  // Variables `weight` and `part`, the begin of its storage (parameters), and `state`; `base` is 0, 1, 2, ... Derived:
  //   scaled = base + 2 weight, twice = 2 scaled, mixed = weight + state
  // Functions of x:
  //   read = x + twice, add_weight: weight += x, both = x + twice - 4 weight, mix = x + mixed, add_state: state += x,
  //   fail: would store weight, but an index is out of range, two = mixed + twice
  Builder() {
    addFaultSites(4);
    std::vector<int32_t> numbers;
    for (int32_t i = 0; i < Count; ++i)
      numbers.push_back(i);
    base = addConstant("base", ElementType::I32, {Count}, numbers.data(), numbers.size() * sizeof(int32_t));
    weight = addVariable("weight", ElementType::I32, {Count}, Count * 4);
    part = addVariable("part", ElementType::I32, {16}, 64);
    state = addVariable("state", ElementType::I32, {Count}, Count * 4);
    module.variables[part]->storage = 0;
    module.variables[state]->storage = 1;
    module.storages.erase(module.storages.begin() + 1);
    module.variables[weight]->role = module.variables[part]->role = Role::Parameter;

    for (const char *name : {"read", "add_weight", "both", "mix", "add_state", "fail", "two"}) {
      format::FunctionT &one = function(name);
      one.inputs.push_back(argument("x", ElementType::I32, constantExpr(Count)));
      one.outputs.push_back(argument("y", ElementType::I32, constantExpr(Count)));
    }
    // Buffers: 0 x, 1 the result, 2 and 3 operands.
    sum("read", instruction(Op::MoveBuffer, {3, 0}), instruction(Op::Derived, {2}, 1), 3);
    addTo("add_weight", weight);
    sum("both", instruction(Op::MoveBuffer, {3, 0}), instruction(Op::Derived, {2}, 1), 3,
        instruction(Op::Variable, {3}, weight));
    sum("mix", instruction(Op::MoveBuffer, {3, 0}), instruction(Op::Derived, {2}, 2), 3);
    addTo("add_state", state);
    addTo("fail", weight, true);
    sum("two", instruction(Op::Derived, {3}, 2), instruction(Op::Derived, {2}, 1), 3);
    sum("scaled", instruction(Op::Constant, {3}, base), instruction(Op::Variable, {2}, weight), 4);
    sum("twice", instruction(Op::Derived, {3}, 0), instruction(Op::Derived, {2}, 0), 3);
    sum("mixed", instruction(Op::Variable, {3}, weight), instruction(Op::Variable, {2}, state), 3);
    addDerivedTo(addCpuTarget());
    if (addVulkanTarget())
      addDerivedTo(*module.targets.back());
    for (const char *vendor : {"cuda", "rocm"})
      addDerivedTo(addStandInTarget(vendor));
  }

  uint32_t base, weight, part, state;

private:
  // `first` puts something into buffer 3, `second` into buffer 2: buffer 1 = buffer 3 + i64[scale] * buffer 2, and
  // - 4 * buffer 3 again where `third` puts something there.
  void sum(const std::string &name, InstructionPtr first, InstructionPtr second, uint32_t scale,
           InstructionPtr third = nullptr) {
    BlockPtr body = sizes();
    body->instructions.push_back(std::move(first));
    body->instructions.push_back(std::move(second));
    body->instructions.push_back(instruction(Op::Allocate, {1, 1}));
    body->instructions.push_back(segment(copy(3, 1), dispatch(ScaleAdd, 2, {2, 1}, {0, scale})));
    if (third) {
      body->instructions.push_back(std::move(third));
      body->instructions.push_back(segment(dispatch(ScaleAdd, 2, {3, 1}, {0, 5})));
    }
    program(name, 6, 4, 0, std::move(body)).results.push_back(tensorResult(1, {0}));
  }
  void addTo(const std::string &name, uint32_t variable, bool fails = false) {
    BlockPtr body = sizes();
    body->instructions.push_back(instruction(Op::Variable, {1}, variable));
    if (fails) {
      body->instructions.push_back(instruction(Op::Allocate, {2, 1}));
      body->instructions.push_back(segment(dispatch(Gather, 2, {0, 0, 2}, {0, 3})));
      body->instructions.push_back(instruction(Op::CheckFaults));
    }
    body->instructions.push_back(segment(dispatch(ScaleAdd, 2, {0, 1}, {0, 3})));
    format::ProgramT &added = program(name, 6, 4, 0, std::move(body));
    added.stores = {variable};
    added.results.push_back(tensorResult(1, {0}));
  }
  static void addDerivedTo(format::TargetT &target) {
    for (const auto &[name, number] : {std::pair("scaled", 7u), std::pair("twice", 8u), std::pair("mixed", 9u)}) {
      auto derived = std::make_unique<format::DerivedT>();
      derived->name = name;
      derived->program = number;
      derived->type = std::make_unique<format::ValueTypeT>();
      derived->type->element_type = ElementType::I32;
      derived->type->dims.push_back(constantExpr(Count));
      target.derived.push_back(std::move(derived));
    }
  }
};

inline Status makeSharing(const Ref<Instance> &share, const Ref<Module> &module, const char *device,
                          Ref<Instance> &result, uint64_t memoryLimit = 0) {
  DeviceRequest request;
  VX_RETURN_IF_ERROR(parseDeviceRequest(device, nullptr, allDrivers(), request));
  request.noFallback = true;
  request.threads = 2;
  return Instance::create(module, request, allDrivers(), result, {{}, share, 0, memoryLimit});
}

inline std::vector<int32_t> all(int32_t value) { return std::vector<int32_t>(Count, value); }

// Runs a function with x everywhere. `derived` is how many values the call computed before it ran.
inline Status run(Instance &instance, uint32_t function, int32_t x, std::vector<int32_t> &y, int &derived) {
  std::unique_ptr<CallState> call;
  VX_RETURN_IF_ERROR(instance.takeCall(function, call));
  Ref<Value> input = vectorValue(all(x));
  Value *inputs[] = {input.get()};
  std::vector<Ref<Value>> outputs;
  Status status = call->run(inputs, outputs);
  std::string report;
  VX_RETURN_IF_ERROR(call->report(report));
  derived = std::stoi(report.substr(report.find("\"derived\":") + 10));
  if (status.ok())
    y = elementsOf(*outputs[0]);
  instance.returnCall(std::move(call));
  return status;
}

// `wanted` of each i, after `derived` values were computed.
inline void expect(Instance &instance, uint32_t function, int32_t x, int derived,
                   const std::function<int32_t(int32_t)> &wanted) {
  std::vector<int32_t> y, right;
  int computed = -1;
  ASSERT_OK(run(instance, function, x, y, computed));
  for (int32_t i = 0; i < Count; ++i)
    right.push_back(wanted(i));
  EXPECT_EQ(computed, derived);
  EXPECT_EQ(y, right);
}

inline void expectRead(Instance &instance, int32_t weight, int derived) {
  expect(instance, Read, 5, derived, [&](int32_t i) { return 5 + 2 * (i + 2 * weight); });
}

} // namespace vx::test::derived

#endif
