#include "module_builder.h"

#include "vx/abi/version.h"

#include "gather.ptx.h"
#include "scale_add.ptx.h"
#ifdef VX_TEST_SPIRV
#include "gather.spv.h"
#include "scale_add.spv.h"
#endif

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <unistd.h>

namespace vx::test {

InstructionPtr instruction(Op op, std::vector<uint32_t> operands, int64_t imm, int32_t site) {
  auto result = std::make_unique<format::InstructionT>();
  result->op = op;
  result->operands = std::move(operands);
  result->imm = imm;
  result->site = site;
  return result;
}

InstructionPtr ifElse(uint32_t condition, BlockPtr then, BlockPtr otherwise) {
  InstructionPtr result = instruction(Op::If, {condition});
  result->blocks.push_back(std::move(then));
  result->blocks.push_back(std::move(otherwise));
  return result;
}

InstructionPtr whileLoop(uint32_t condition, BlockPtr body) {
  InstructionPtr result = instruction(Op::While, {condition});
  result->blocks.push_back(std::move(body));
  return result;
}

CommandPtr dispatch(uint32_t kernel, uint32_t workgroups, std::vector<uint32_t> buffers, std::vector<uint32_t> scalars,
                    bool barrier, int32_t workspace) {
  auto result = std::make_unique<format::CommandT>();
  result->kind = format::CommandKind::Dispatch;
  result->kernel = kernel;
  result->workgroups = workgroups;
  result->buffers = std::move(buffers);
  result->scalars = std::move(scalars);
  result->barrier = barrier;
  result->workspace = workspace;
  return result;
}

CommandPtr copy(uint32_t source, uint32_t destination, bool barrier) {
  auto result = std::make_unique<format::CommandT>();
  result->kind = format::CommandKind::Copy;
  result->buffers = {source, destination};
  result->barrier = barrier;
  return result;
}

std::unique_ptr<format::ExprT> exprOf(std::vector<format::ExprNode> nodes) {
  auto result = std::make_unique<format::ExprT>();
  result->nodes = std::move(nodes);
  return result;
}
std::unique_ptr<format::ExprT> constantExpr(int64_t value) {
  return exprOf({format::ExprNode(format::ExprOp::Constant, 0, 0, value)});
}
std::unique_ptr<format::ExprT> symbolExpr(int64_t symbol) {
  return exprOf({format::ExprNode(format::ExprOp::Symbol, 0, 0, symbol)});
}

std::unique_ptr<format::SymbolT> symbol(std::string name, int64_t min, int64_t max, int64_t multiple,
                                        bool dataDependent) {
  auto result = std::make_unique<format::SymbolT>();
  result->name = std::move(name);
  result->min = min;
  result->max = max;
  result->multiple = multiple;
  result->data_dependent = dataDependent;
  return result;
}

std::unique_ptr<format::ArgumentT> listArgument(std::string name, format::ElementType type, format::ValueKind kind) {
  auto result = argument(std::move(name), type);
  result->type->kind = kind;
  result->type->ranked = false;
  return result;
}

std::unique_ptr<format::ResultT> tensorResult(int32_t buffer, std::vector<uint32_t> dims) {
  auto result = std::make_unique<format::ResultT>();
  result->buffer = buffer;
  result->dims = std::move(dims);
  return result;
}

std::unique_ptr<format::ResultT> listResult(int32_t object) {
  auto result = std::make_unique<format::ResultT>();
  result->object = object;
  return result;
}

ModuleBuilder::ModuleBuilder() {
  module.producer = "vx test";
  module.name = "test";
}

uint32_t ModuleBuilder::addSection(format::SectionKind kind, std::vector<uint8_t> content) {
  auto section = std::make_unique<format::SectionT>();
  section->kind = kind;
  module.sections.push_back(std::move(section));
  sections.push_back(std::move(content));
  return static_cast<uint32_t>(sections.size() - 1);
}

format::FunctionT &ModuleBuilder::function(const std::string &name) {
  module.functions.push_back(std::make_unique<format::FunctionT>());
  module.functions.back()->name = name;
  return *module.functions.back();
}

format::ProgramT &ModuleBuilder::program(const std::string &name, uint32_t i64, uint32_t buffers, uint32_t objects,
                                         BlockPtr body) {
  auto program = std::make_unique<format::ProgramT>();
  program->name = name;
  program->i64_registers = i64;
  program->buffer_registers = buffers;
  program->object_registers = objects;
  program->body = std::move(body);
  module.programs.push_back(std::move(program));
  return *module.programs.back();
}

void ModuleBuilder::addFaultSites(int count) {
  for (int i = 0; i < count; ++i) {
    auto site = std::make_unique<format::FaultSiteT>();
    site->node = "node_" + std::to_string(i) + " (Gather)";
    site->what = "index";
    module.fault_sites.push_back(std::move(site));
  }
}

void ModuleBuilder::addKernels(format::TargetT &target) {
  auto add = [&](const char *name, std::vector<format::Access> buffers, uint32_t scalars, uint32_t threads) {
    auto kernel = std::make_unique<format::KernelT>();
    kernel->name = name;
    kernel->key = std::string("key_") + name;
    kernel->sources = {std::string(name) + "_node (Test)"};
    kernel->buffers = std::move(buffers);
    kernel->scalar_count = scalars;
    kernel->workgroup_size = {threads, 1, 1};
    target.kernels.push_back(std::move(kernel));
  };
  using format::Access;
  uint32_t threads = target.name == "cpu" ? 1 : 64;
  add("scale_add", {Access::Read, Access::ReadWrite}, 2, threads);
  add("gather", {Access::Read, Access::Read, Access::Write}, 2, threads);
  auto addTypes = [&](format::KernelT &kernel, std::vector<int64_t> scalars) {
    for (int64_t scalar : scalars) {
      kernel.buffer_types.push_back(std::make_unique<format::BufferTypeT>());
      kernel.buffer_types.back()->element_type = format::ElementType::I32;
      kernel.buffer_types.back()->dims.push_back(symbolExpr(scalar));
    }
    kernel.workgroups =
        exprOf({format::ExprNode(format::ExprOp::Symbol, 0, 0, 0), format::ExprNode(format::ExprOp::Constant, 0, 0, 64),
                format::ExprNode(format::ExprOp::CeilDiv, 0, 1, 0)});
  };
  addTypes(*target.kernels[ScaleAdd], {0, 0});
  addTypes(*target.kernels[Gather], {1, 0, 0});
  // What reports read; of the second kernel it is left out, as a file may.
  format::KernelT &scaleAdd = *target.kernels[ScaleAdd];
  auto timesElements = [](int64_t factor) {
    return exprOf(
        {{format::ExprOp::Symbol, 0, 0, 0}, {format::ExprOp::Constant, 0, 0, factor}, {format::ExprOp::Mul, 0, 1, 0}});
  };
  scaleAdd.flops = timesElements(2);
  scaleAdd.bytes = timesElements(12);
}

void ModuleBuilder::addEntries(format::TargetT &target) {
  for (uint32_t i = 0; i < module.functions.size(); ++i) {
    auto entry = std::make_unique<format::EntryT>();
    entry->function = i;
    entry->program = i;
    target.entries.push_back(std::move(entry));
  }
}

format::TargetT &ModuleBuilder::addCpuTarget(std::vector<std::string> requirements) {
  module.targets.push_back(std::make_unique<format::TargetT>());
  format::TargetT &target = *module.targets.back();
  target.name = "cpu";
#if defined(__aarch64__)
  target.triple = "aarch64-unknown-linux-gnu";
#else
  target.triple = "x86_64-unknown-linux-gnu";
#endif
  addKernels(target);
  auto variant = std::make_unique<format::VariantT>();
  variant->name = "baseline";
  variant->requires_ = std::move(requirements);
  variant->entries = {"scale_add", "gather"};
  variant->section = addSection(format::SectionKind::Code, cpuImage());
  target.variants.push_back(std::move(variant));
  addEntries(target);
  return target;
}

format::TargetT &ModuleBuilder::addGpuTarget(const std::string &name, const std::string &requirement,
                                             const std::vector<std::span<const uint8_t>> &codes) {
  module.targets.push_back(std::make_unique<format::TargetT>());
  format::TargetT &target = *module.targets.back();
  target.name = name;
  addKernels(target);
  auto variant = std::make_unique<format::VariantT>();
  variant->name = "baseline";
  variant->requires_ = {requirement};
  variant->entries = {"scale_add", "gather"};
  std::vector<uint8_t> bytes;
  variant->offsets.push_back(0);
  for (std::span<const uint8_t> code : codes) {
    bytes.insert(bytes.end(), code.begin(), code.end());
    variant->offsets.push_back(bytes.size());
  }
  variant->section = addSection(format::SectionKind::Code, std::move(bytes));
  target.variants.push_back(std::move(variant));
  addEntries(target);
  return target;
}

bool ModuleBuilder::addVulkanTarget() {
#ifdef VX_TEST_SPIRV
  addGpuTarget("vulkan", "int64", {scale_add_spirv, gather_spirv});
  return true;
#else
  return false;
#endif
}

format::TargetT &ModuleBuilder::addStandInTarget(const std::string &name) {
  static constexpr uint8_t scaleAdd[] = "scale_add  ", gather[] = "gather ";
  if (name == "rocm")
    return addGpuTarget(name, "shared_memory=65536", {scaleAdd, gather});
  // Code lies at multiples of 4 bytes.
  auto padded = [](std::span<const uint8_t> text) {
    std::vector<uint8_t> result(text.begin(), text.end());
    result.resize((text.size() + 3) / 4 * 4, ' ');
    return result;
  };
  const std::vector<uint8_t> first = padded(scale_add_ptx), second = padded(gather_ptx);
  return addGpuTarget(name, "sm_80", {first, second});
}

uint32_t ModuleBuilder::addConstant(const std::string &name, format::ElementType type, std::vector<int64_t> dims,
                                    const void *data, size_t size) {
  std::vector<uint8_t> content(size);
  if (size)
    std::memcpy(content.data(), data, size);
  auto constant = std::make_unique<format::ConstantT>();
  constant->name = name;
  constant->section = addSection(format::SectionKind::Weights, std::move(content));
  constant->size = size;
  constant->type = std::make_unique<format::ValueTypeT>();
  constant->type->element_type = type;
  for (int64_t dim : dims)
    constant->type->dims.push_back(constantExpr(dim));
  module.constants.push_back(std::move(constant));
  return static_cast<uint32_t>(module.constants.size() - 1);
}

uint32_t ModuleBuilder::addVariable(const std::string &name, format::ElementType type, std::vector<int64_t> dims,
                                    uint64_t size, int32_t initial) {
  auto variable = std::make_unique<format::VariableT>();
  variable->name = name;
  variable->element_type = type;
  for (int64_t dim : dims)
    variable->dims.push_back(constantExpr(dim));
  variable->storage = static_cast<uint32_t>(module.storages.size());
  module.storages.push_back(std::make_unique<format::StorageT>());
  module.storages.back()->size = constantExpr(static_cast<int64_t>(size));
  if (initial >= 0) {
    variable->init = std::make_unique<format::InitT>();
    variable->init->kind = format::InitKind::Constant;
    variable->init->constant = static_cast<uint32_t>(initial);
  }
  module.variables.push_back(std::move(variable));
  return static_cast<uint32_t>(module.variables.size() - 1);
}

std::vector<uint8_t> packFile(const std::vector<uint8_t> &metadata, const std::vector<std::vector<uint8_t>> &sections,
                              const std::vector<uint64_t> &offsets) {
  std::vector<uint8_t> file(sizeof(vx_module_header));
  for (size_t i = 0; i < sections.size(); ++i) {
    if (file.size() < offsets[i] + sections[i].size())
      file.resize(offsets[i] + sections[i].size());
    std::copy(sections[i].begin(), sections[i].end(), file.begin() + static_cast<ptrdiff_t>(offsets[i]));
  }
  file.resize((file.size() + 63) / 64 * 64);
  vx_module_header header = {};
  std::memcpy(header.magic, VX_MODULE_MAGIC, sizeof(header.magic));
  header.abi_major = VX_MODULE_ABI_MAJOR;
  header.abi_minor = VX_MODULE_ABI_MINOR;
  header.metadata_offset = file.size();
  header.metadata_size = metadata.size();
  header.metadata_hash = vx_hash64(metadata.data(), metadata.size());
  file.insert(file.end(), metadata.begin(), metadata.end());
  header.file_size = file.size();
  std::memcpy(file.data(), &header, sizeof(header));
  return file;
}

std::vector<uint8_t> ModuleBuilder::bytes(bool fillSections) const {
  std::vector<uint64_t> offsets;
  uint64_t next = VX_SECTION_ALIGNMENT;
  std::vector<std::vector<uint8_t>> inside;
  for (size_t i = 0; i < sections.size(); ++i) {
    format::SectionT &section = *module.sections[i];
    if (fillSections) {
      section.size = sections[i].size();
      section.hash = vx_hash64(sections[i].data(), sections[i].size());
      section.offset = section.external_file.empty() ? next : VX_SECTION_ALIGNMENT;
    }
    if (!section.external_file.empty())
      continue;
    offsets.push_back(next);
    inside.push_back(sections[i]);
    next += (sections[i].size() + VX_SECTION_ALIGNMENT - 1) / VX_SECTION_ALIGNMENT * VX_SECTION_ALIGNMENT;
  }
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(format::Module::Pack(builder, &module), format::ModuleIdentifier());
  return packFile({builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize()}, inside, offsets);
}

std::vector<uint8_t> packWeights(const std::vector<uint8_t> &weights) {
  vx_weights_header header = {};
  std::memcpy(header.magic, VX_WEIGHTS_MAGIC, sizeof(header.magic));
  header.abi_major = VX_MODULE_ABI_MAJOR;
  header.abi_minor = VX_MODULE_ABI_MINOR;
  header.file_size = VX_SECTION_ALIGNMENT + weights.size();
  header.data_offset = VX_SECTION_ALIGNMENT;
  header.data_size = weights.size();
  header.data_hash = vx_hash64(weights.data(), weights.size());
  std::vector<uint8_t> file(VX_SECTION_ALIGNMENT);
  std::memcpy(file.data(), &header, sizeof(header));
  file.insert(file.end(), weights.begin(), weights.end());
  return file;
}

namespace {

// The folder of a process, gone with it. A process that was forked off leaves it to the one that made it.
class ScratchFolder {
public:
  ScratchFolder() { std::filesystem::create_directory(path); }
  ~ScratchFolder() {
    std::error_code ignored;
    if (getpid() == owner)
      std::filesystem::remove_all(path, ignored);
  }
  const pid_t owner = getpid();
  const std::string path = testing::TempDir() + "vx_runtime_test." + std::to_string(owner);
};

} // namespace

std::string scratchPath(const std::string &name) {
  static const ScratchFolder folder;
  return folder.path + "/" + name;
}

void writeFile(const std::string &path, const std::vector<uint8_t> &bytes) {
  std::ofstream stream(path, std::ios::binary);
  stream.write(reinterpret_cast<const char *>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

std::vector<uint8_t> readFile(const std::string &path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

std::string ModuleBuilder::write(const std::string &name) const {
  std::string path = scratchPath(name);
  writeFile(path, bytes());
  return path;
}

std::vector<uint8_t> cpuImage() { return readFile(VX_TEST_CPU_IMAGE); }

} // namespace vx::test
