#include "device_probe.h"

#include "call_inputs.h"
#include "load_module.h"
#include "output_file.h"
#include "temporary_folder.h"
#include "tool_error.h"

#include "copy.ptx.h"
#include "fma.ptx.h"
#include "read.ptx.h"
#ifdef VX_BENCH_VULKAN_KERNELS
#include "copy.spv.h"
#include "fma.spv.h"
#include "read.spv.h"
#endif
#include "vx/abi/module_generated.h"
#include "vx/abi/module_header.h"
#include "vx/abi/version.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <tuple>

namespace vx::tools {

using Clock = std::chrono::steady_clock;
using format::Op;

// Enough threads for every processor of a large device.
static constexpr uint64_t Workgroups = 8192;
static constexpr uint64_t Threads = Workgroups * 64;
// Of the fma kernel: 32 chains, a multiply-add each.
static constexpr uint64_t OperationsPerStep = 32 * 2;
static constexpr uint64_t PassBytes = uint64_t(256) << 20;
// Reads or copies in one call of a fast device, so that starting it does not count; of a slow one, a software device
// say, one is long enough.
static constexpr int ManyPasses = 16;
static constexpr double EnoughSeconds = 0.02;

static std::unique_ptr<format::InstructionT> instruction(Op op, std::vector<uint32_t> operands, int64_t imm = 0) {
  auto result = std::make_unique<format::InstructionT>();
  result->op = op;
  result->operands = std::move(operands);
  result->imm = imm;
  return result;
}

static std::unique_ptr<format::CommandT> dispatch(uint32_t kernel, uint32_t workgroups, std::vector<uint32_t> buffers,
                                                  uint32_t scalar) {
  auto command = std::make_unique<format::CommandT>();
  command->kind = format::CommandKind::Dispatch;
  command->kernel = kernel;
  command->workgroups = workgroups;
  command->buffers = std::move(buffers);
  command->scalars = {scalar};
  return command;
}

static std::unique_ptr<format::ExprT> dim(format::ExprOp op, int64_t value) {
  auto expression = std::make_unique<format::ExprT>();
  expression->nodes.emplace_back(op, 0, 0, value);
  return expression;
}

static std::unique_ptr<format::ArgumentT> argument(const char *name, format::ElementType type) {
  auto result = std::make_unique<format::ArgumentT>();
  result->name = name;
  result->type = std::make_unique<format::ValueTypeT>();
  result->type->element_type = type;
  return result;
}

// A program with one result of one number per thread, from buffer 1 and with the dim in i64 register 3.
static std::unique_ptr<format::ProgramT> program(const char *name) {
  auto result = std::make_unique<format::ProgramT>();
  result->name = name;
  result->i64_registers = 5;
  result->buffer_registers = 2;
  result->body = std::make_unique<format::BlockT>();
  auto &body = result->body->instructions;
  body.push_back(instruction(Op::ConstI64, {1}, Workgroups));
  body.push_back(instruction(Op::ConstI64, {2}, Threads * sizeof(float)));
  body.push_back(instruction(Op::ConstI64, {3}, Threads));
  body.push_back(instruction(Op::ConstI64, {4}, PassBytes / 16));
  body.push_back(instruction(Op::Allocate, {1, 2}));
  auto output = std::make_unique<format::ResultT>();
  output->buffer = 1;
  output->dims = {3};
  result->results.push_back(std::move(output));
  return result;
}

static void addFunction(format::ModuleT &module, const char *name, format::ElementType type,
                        std::unique_ptr<format::ProgramT> body) {
  auto function = std::make_unique<format::FunctionT>();
  function->name = name;
  function->outputs.push_back(argument("out", type));
  function->outputs.back()->type->dims.push_back(dim(format::ExprOp::Constant, Threads));
  auto entry = std::make_unique<format::EntryT>();
  entry->function = entry->program = static_cast<uint32_t>(module.functions.size());
  module.targets.front()->entries.push_back(std::move(entry));
  module.functions.push_back(std::move(function));
  module.programs.push_back(std::move(body));
}

static void addKernel(format::TargetT &target, const char *name, std::vector<format::Access> buffers) {
  auto kernel = std::make_unique<format::KernelT>();
  kernel->name = kernel->key = name;
  for (size_t i = 0; i < buffers.size(); ++i) {
    kernel->buffer_types.push_back(std::make_unique<format::BufferTypeT>());
    kernel->buffer_types.back()->element_type = format::ElementType::F32;
  }
  kernel->buffers = std::move(buffers);
  kernel->scalar_count = 1;
  kernel->workgroup_size = {64, 1, 1};
  target.kernels.push_back(std::move(kernel));
  target.variants.front()->entries.emplace_back(name);
}

// The code section of the three kernels, empty when this tool has none for the target.
static std::vector<uint8_t> addVariant(format::TargetT &target) {
  std::vector<std::span<const uint8_t>> kernels;
  target.variants.push_back(std::make_unique<format::VariantT>());
  format::VariantT &variant = *target.variants.front();
  if (target.name == "cuda") {
    // What every GPU that vx has CUDA code for takes.
    variant.name = "sm_80";
    variant.requires_ = {"sm_80", "ptx76"};
    kernels = {fma_ptx, read_ptx, copy_ptx};
  }
#ifdef VX_BENCH_VULKAN_KERNELS
  if (target.name == "vulkan") {
    variant.name = "baseline";
    variant.requires_ = {"bda", "int64"};
    kernels = {fma_spirv, read_spirv, copy_spirv};
  }
#endif
  std::vector<uint8_t> code;
  variant.offsets = {0};
  for (const std::span<const uint8_t> kernel : kernels) {
    code.insert(code.end(), kernel.begin(), kernel.end());
    code.resize((code.size() + 3) / 4 * 4, '\n'); // SPIR-V is words already, and a text may end so.
    variant.offsets.push_back(code.size());
  }
  addKernel(target, "fma", {format::Access::Write});
  addKernel(target, "read", {format::Access::Read, format::Access::Write});
  addKernel(target, "copy", {format::Access::Read, format::Access::Write});
  return code;
}

// A program that runs `kernel` over the variable in buffer 0, with its results in buffer `output`.
static std::unique_ptr<format::ProgramT> passes(const char *name, uint32_t kernel, uint32_t output, int count) {
  auto result = program(name);
  auto &body = result->body->instructions;
  body.push_back(instruction(Op::Variable, {0}, 0));
  auto work = instruction(Op::Segment, {});
  for (int i = 0; i < count; ++i)
    work->commands.push_back(dispatch(kernel, 1, {0, output}, 4));
  body.push_back(std::move(work));
  return result;
}

// A module file of the three kernels, empty when there are none for the target.
static std::vector<uint8_t> probeModule(const std::string &targetName) {
  format::ModuleT module;
  module.producer = "vx-bench";
  module.name = "probes";
  module.targets.push_back(std::make_unique<format::TargetT>());
  format::TargetT &target = *module.targets.front();
  target.name = targetName;
  const std::vector<uint8_t> code = addVariant(target);
  if (code.empty())
    return {};

  // The number of steps comes as the size of an empty tensor.
  auto fma = program("fma");
  auto work = instruction(Op::Segment, {});
  work->commands.push_back(dispatch(0, 1, {1}, 0));
  fma->body->instructions.push_back(std::move(work));
  addFunction(module, "fma", format::ElementType::F32, std::move(fma));
  format::FunctionT &fmaFunction = *module.functions.back();
  fmaFunction.symbols.push_back(std::make_unique<format::SymbolT>());
  fmaFunction.symbols.back()->name = "steps";
  fmaFunction.inputs.push_back(argument("steps", format::ElementType::U8));
  fmaFunction.inputs.back()->type->dims.push_back(dim(format::ExprOp::Symbol, 0));
  fmaFunction.inputs.back()->type->dims.push_back(dim(format::ExprOp::Constant, 0));

  auto variable = std::make_unique<format::VariableT>();
  variable->name = "memory";
  variable->element_type = format::ElementType::U8;
  variable->dims.push_back(dim(format::ExprOp::Constant, PassBytes));
  module.storages.push_back(std::make_unique<format::StorageT>());
  module.storages.back()->size = dim(format::ExprOp::Constant, PassBytes);
  module.variables.push_back(std::move(variable));
  for (const auto &[readName, copyName, count] :
       {std::tuple("read", "copy", 1), std::tuple("reads", "copies", ManyPasses)}) {
    addFunction(module, readName, format::ElementType::U32, passes(readName, 1, 1, count));
    auto copy = passes(copyName, 2, 2, count);
    copy->buffer_registers = 3;
    copy->i64_registers = 7;
    auto &body = copy->body->instructions;
    std::vector<std::unique_ptr<format::InstructionT>> begin;
    begin.push_back(instruction(Op::ConstI64, {5}, PassBytes));
    begin.push_back(instruction(Op::ConstI64, {6}, 0));
    begin.push_back(instruction(Op::ArenaReserve, {5}));
    begin.push_back(instruction(Op::ArenaSlice, {2, 6, 5}));
    body.insert(body.begin(), std::make_move_iterator(begin.begin()), std::make_move_iterator(begin.end()));
    addFunction(module, copyName, format::ElementType::U32, std::move(copy));
  }

  auto section = std::make_unique<format::SectionT>();
  section->kind = format::SectionKind::Code;
  section->offset = VX_SECTION_ALIGNMENT;
  section->size = code.size();
  section->hash = vx_hash64(code.data(), code.size());
  module.sections.push_back(std::move(section));

  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(format::Module::Pack(builder, &module), format::ModuleIdentifier());
  const uint64_t metadataOffset = VX_SECTION_ALIGNMENT + (code.size() + 63) / 64 * 64;
  vx_module_header header{};
  std::memcpy(header.magic, VX_MODULE_MAGIC, sizeof(header.magic));
  header.abi_major = VX_MODULE_ABI_MAJOR;
  header.abi_minor = VX_MODULE_ABI_MINOR;
  header.metadata_offset = metadataOffset;
  header.metadata_size = builder.GetSize();
  header.metadata_hash = vx_hash64(builder.GetBufferPointer(), builder.GetSize());
  header.file_size = metadataOffset + builder.GetSize();
  std::vector<uint8_t> file(header.file_size);
  std::memcpy(file.data(), &header, sizeof(header));
  std::memcpy(file.data() + VX_SECTION_ALIGNMENT, code.data(), code.size());
  std::memcpy(file.data() + metadataOffset, builder.GetBufferPointer(), builder.GetSize());
  return file;
}

// The runtime loads modules from files only; the file is gone as soon as it is mapped.
static vx::Module loadProbeModule(const std::vector<uint8_t> &bytes) {
  const TemporaryFolder folder("vx-bench");
  const std::string path = folder.path / "probes.vxm";
  writeFile(path, bytes);
  return loadModule(path);
}

static double timeCall(vx::Call &call, std::initializer_list<vx::Value> inputs) {
  const Clock::time_point begin = Clock::now();
  const std::vector<vx::Value> outputs = call.run(inputs);
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

namespace {

class GpuProbe final : public DeviceProbe {
public:
  GpuProbe(const std::string &device, const std::vector<uint8_t> &file) {
    const vx::Module module = loadProbeModule(file);
    vx::InstanceOptions options;
    options.device = device;
    options.noFallback = true;
    const vx::Instance instance(module, options);
    for (size_t i = 0; i < std::size(calls); ++i)
      calls[i] = vx::Call(instance, findFunction(module, Functions[i]));
  }

  ProbeRound run() override {
    ProbeRound round;
    for (;; steps *= 4) {
      const double seconds = timeCall(calls[0], {toRuntime({VX_TENSOR, VX_U8, {{VX_U8, {steps, 0}, {}}}})});
      round.fmaGflops = static_cast<double>(Threads * OperationsPerStep) * static_cast<double>(steps) / seconds / 1e9;
      if (seconds >= EnoughSeconds || steps >= (int64_t(1) << 30))
        break;
    }
    if (!isFast)
      isFast = timeCall(calls[1], {}) < EnoughSeconds / 4;
    const double bytes = static_cast<double>(PassBytes) * (*isFast ? ManyPasses : 1);
    round.readGbs = bytes / timeCall(calls[*isFast ? 3 : 1], {}) / 1e9;
    round.copyGbs = 2 * bytes / timeCall(calls[*isFast ? 4 : 2], {}) / 1e9;
    return round;
  }

private:
  static constexpr const char *Functions[] = {"fma", "read", "copy", "reads", "copies"};

  vx::Call calls[std::size(Functions)];
  int64_t steps = 8;
  std::optional<bool> isFast; // known from the first round on
};

} // namespace

std::unique_ptr<DeviceProbe> makeGpuProbe(const std::string &device) {
  const std::vector<uint8_t> file = probeModule(device.substr(0, device.find(':')));
  return file.empty() ? nullptr : std::make_unique<GpuProbe>(device, file);
}

} // namespace vx::tools
