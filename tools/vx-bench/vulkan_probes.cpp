#include "vulkan_probes.h"

#ifdef VX_BENCH_PROBE_KERNELS

#include "call_inputs.h"
#include "runtime_objects.h"
#include "tool_error.h"

#include "fma.spv.h"
#include "read.spv.h"
#include "vx/abi/module_generated.h"
#include "vx/abi/module_header.h"
#include "vx/abi/version.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <unistd.h>

namespace vx::tools {

using Clock = std::chrono::steady_clock;
using format::Op;

// Enough threads for every processor of a large device.
static constexpr uint64_t Workgroups = 8192;
static constexpr uint64_t Threads = Workgroups * 64;
// Of the fma kernel: 8 chains of 4 lanes, a multiply-add each.
static constexpr uint64_t OperationsPerStep = 8 * 4 * 2;
static constexpr uint64_t ReadBytes = uint64_t(256) << 20;
// Reads in one call, so that starting it does not count.
static constexpr int ReadsPerCall = 8;
static constexpr int Rounds = 4;
static constexpr double EnoughSeconds = 0.02;
// A software device needs no second round.
static constexpr double LongSeconds = 0.5;

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
  expression->nodes.emplace_back(op, value);
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
  body.push_back(instruction(Op::ConstI64, {4}, ReadBytes / 16));
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

static void addKernel(format::TargetT &target, std::vector<uint8_t> &code, const char *name,
                      std::vector<format::Access> buffers, std::span<const uint8_t> spirv) {
  auto kernel = std::make_unique<format::KernelT>();
  kernel->name = kernel->key = name;
  kernel->buffers = std::move(buffers);
  kernel->scalar_count = 1;
  kernel->workgroup_size = {64, 1, 1};
  target.kernels.push_back(std::move(kernel));
  code.insert(code.end(), spirv.begin(), spirv.end());
  target.variants.front()->entries.emplace_back(name);
  target.variants.front()->offsets.push_back(code.size());
}

static std::vector<uint8_t> probeModule() {
  format::ModuleT module;
  module.producer = "vx-bench";
  module.name = "probes";
  module.targets.push_back(std::make_unique<format::TargetT>());
  format::TargetT &target = *module.targets.front();
  target.name = "vulkan";
  target.variants.push_back(std::make_unique<format::VariantT>());
  target.variants.front()->name = "baseline";
  target.variants.front()->requires_ = {"bda", "int64"};
  target.variants.front()->offsets = {0};
  std::vector<uint8_t> code;
  addKernel(target, code, "fma", {format::Access::Write}, fma_spirv);
  addKernel(target, code, "read", {format::Access::Read, format::Access::Write}, read_spirv);

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
  variable->dims = {ReadBytes};
  variable->size = ReadBytes;
  module.variables.push_back(std::move(variable));
  auto read = program("read");
  read->body->instructions.push_back(instruction(Op::Variable, {0}, 0));
  work = instruction(Op::Segment, {});
  for (int i = 0; i < ReadsPerCall; ++i)
    work->commands.push_back(dispatch(1, 1, {0, 1}, 4));
  read->body->instructions.push_back(std::move(work));
  addFunction(module, "read", format::ElementType::U32, std::move(read));

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

// The runtime loads modules from files only; the name is gone as soon as the file is mapped.
static ModuleOwner loadProbeModule() {
  const char *folder = std::getenv("TMPDIR");
  std::string path = std::string(folder && *folder ? folder : "/tmp") + "/vx-bench-probes-XXXXXX";
  const int file = ::mkstemp(path.data());
  if (file < 0)
    throw workError("cannot make a temporary file '{}': {}", path, std::strerror(errno));
  const std::vector<uint8_t> bytes = probeModule();
  const ssize_t written = ::write(file, bytes.data(), bytes.size());
  ::close(file);
  vx_module *module = nullptr;
  vx_status status = nullptr;
  if (written == static_cast<ssize_t>(bytes.size()))
    status = vx_module_load(path.c_str(), &module);
  ::unlink(path.c_str());
  check(status);
  if (!module)
    throw workError("cannot write the temporary file '{}'", path);
  return ModuleOwner(module);
}

static double timeCall(vx_call *call, std::vector<vx_value *> inputs) {
  vx_value *output = nullptr;
  const Clock::time_point begin = Clock::now();
  check(vx_call_run(call, inputs.size(), inputs.data(), 1, &output));
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  vx_value_release(output);
  return seconds;
}

static double probeFma(vx_instance *instance) {
  vx_call *created = nullptr;
  check(vx_call_create(instance, "fma", &created));
  const CallOwner call(created);
  double best = 0;
  int64_t steps = 8;
  for (int round = 0; round < Rounds;) {
    const ValueOwner input = toRuntime({VX_TENSOR, VX_U8, {{VX_U8, {steps, 0}, {}}}});
    const double seconds = timeCall(call.get(), {input.get()});
    if (seconds < EnoughSeconds && steps < (int64_t(1) << 30)) {
      steps *= 4;
      continue;
    }
    best =
        std::max(best, static_cast<double>(Threads * OperationsPerStep) * static_cast<double>(steps) / seconds / 1e9);
    round = seconds > LongSeconds ? Rounds : round + 1;
  }
  return best;
}

static double probeRead(vx_instance *instance) {
  vx_call *created = nullptr;
  check(vx_call_create(instance, "read", &created));
  const CallOwner call(created);
  double best = 0;
  for (int round = 0; round < Rounds;) {
    const double seconds = timeCall(call.get(), {});
    best = std::max(best, static_cast<double>(ReadBytes * ReadsPerCall) / seconds / 1e9);
    round = seconds > LongSeconds ? Rounds : round + 1;
  }
  return best;
}

std::optional<VulkanProbes> probeVulkan(const std::string &device) {
  const ModuleOwner module = loadProbeModule();
  vx_instance_options options{};
  options.struct_size = sizeof(options);
  options.device = device.c_str();
  options.no_fallback = 1;
  vx_instance *created = nullptr;
  check(vx_instance_create(module.get(), &options, &created));
  const InstanceOwner instance(created);
  return VulkanProbes{probeFma(instance.get()), probeRead(instance.get())};
}

} // namespace vx::tools

#else

namespace vx::tools {

std::optional<VulkanProbes> probeVulkan(const std::string &) { return std::nullopt; }

} // namespace vx::tools

#endif
