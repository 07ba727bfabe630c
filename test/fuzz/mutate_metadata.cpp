#include "mutate_metadata.h"

#include "module/decoder.h"

#include "vx/abi/module_generated.h"
#include "vx/abi/module_header.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <random>

namespace vx::fuzz {

namespace {

class Mutator {
public:
  Mutator(format::ModuleT &module, uint32_t seed) : module(module), random(seed) {}

  void run() {
    const uint32_t count = 1 + random() % 4;
    for (uint32_t i = 0; i < count; ++i) {
      places.clear();
      collect();
      if (!places.empty())
        places[random() % places.size()]();
    }
  }

private:
  int64_t value(int64_t old) {
    static constexpr int64_t known[] = {
        0,  1,  2,  3,   4,   5,    8,    15,         16,        17,        60,
        63, 64, 65, 100, 256, 4096, 4097, 0x7fffffff, INT64_MAX, INT64_MIN, int64_t(1) << 32};
    const auto bits = static_cast<uint64_t>(old); // sums of it wrap
    switch (random() % 6) {
    case 0:
      return static_cast<int64_t>(bits + 1);
    case 1:
      return static_cast<int64_t>(bits - 1);
    case 2:
      return static_cast<int64_t>(bits * 2);
    case 3:
      return old / 2;
    case 4:
      return static_cast<int64_t>(-bits);
    default:
      return known[random() % std::size(known)];
    }
  }
  template <typename T>
  void number(T &field) {
    places.emplace_back([this, &field] { field = static_cast<T>(value(static_cast<int64_t>(field))); });
  }
  // Mostly another one that may exist.
  template <typename T>
  void index(T &field, uint32_t count) {
    places.emplace_back([this, &field, count] { field = static_cast<T>(random() % (uint64_t(count) + 1)); });
  }
  void expression(const std::unique_ptr<format::ExprT> &source) {
    if (source)
      for (format::ExprNode &node : source->nodes)
        places.emplace_back(
            [this, &node] { node = format::ExprNode(node.op(), node.lhs(), node.rhs(), value(node.value())); });
  }
  void type(const std::unique_ptr<format::ValueTypeT> &source) {
    if (!source)
      return;
    places.emplace_back([this, &source] { source->element_type = static_cast<format::ElementType>(random() % 25); });
    for (const std::unique_ptr<format::ExprT> &dim : source->dims)
      expression(dim);
  }

  void block(format::BlockT &source, const format::ProgramT &owner) {
    auto &list = source.instructions;
    if (!list.empty())
      places.emplace_back([this, &list] { list.erase(list.begin() + static_cast<ptrdiff_t>(random() % list.size())); });
    if (list.size() > 1)
      places.emplace_back([this, &list] { std::swap(list[random() % list.size()], list[random() % list.size()]); });
    for (const std::unique_ptr<format::InstructionT> &instruction : list) {
      for (uint32_t &operand : instruction->operands)
        index(operand, std::max(owner.i64_registers, owner.buffer_registers));
      number(instruction->imm);
      if (instruction->operands.size() == 3)
        places.emplace_back([this, &instruction] { instruction->op = static_cast<format::Op>(2 + random() % 12); });
      for (const std::unique_ptr<format::BlockT> &inner : instruction->blocks)
        block(*inner, owner);
      for (const std::unique_ptr<format::CommandT> &command : instruction->commands) {
        for (uint32_t &buffer : command->buffers)
          index(buffer, owner.buffer_registers);
        for (uint32_t &scalar : command->scalars)
          index(scalar, owner.i64_registers);
        index(command->workgroups, owner.i64_registers);
        index(command->kernel, 2);
        index(command->workspace, owner.buffer_registers);
        number(command->fault_site);
        places.emplace_back([this, &command] { command->flags = random() % 3; });
        places.emplace_back([this, &command] { command->device = random() % 3; });
      }
    }
  }

  void collect() {
    for (const std::unique_ptr<format::FunctionT> &function : module.functions) {
      for (const std::unique_ptr<format::SymbolT> &symbol : function->symbols) {
        number(symbol->min);
        number(symbol->max);
        number(symbol->multiple);
        index(symbol->instance, static_cast<uint32_t>(module.symbols.size()));
      }
      for (const std::unique_ptr<format::ArgumentT> &input : function->inputs)
        type(input->type);
      for (const std::unique_ptr<format::ArgumentT> &output : function->outputs)
        type(output->type);
      for (format::Alias &alias : function->aliases)
        places.emplace_back([this, &alias] { alias = format::Alias(random() % 3, random() % 3); });
    }
    for (const std::unique_ptr<format::ConstantT> &constant : module.constants) {
      number(constant->offset);
      number(constant->size);
      type(constant->type);
    }
    for (const std::unique_ptr<format::VariableT> &variable : module.variables) {
      if (variable->init)
        index(variable->init->constant, static_cast<uint32_t>(module.constants.size()));
      for (const std::unique_ptr<format::ExprT> &dim : variable->dims)
        expression(dim);
      expression(variable->offset);
      index(variable->storage, static_cast<uint32_t>(module.storages.size()));
      places.emplace_back([this, &variable] { variable->role = static_cast<format::Role>(random() % 9); });
    }
    for (const std::unique_ptr<format::AssetT> &asset : module.assets) {
      index(asset->section, static_cast<uint32_t>(module.sections.size()));
      number(asset->offset);
      number(asset->size);
    }
    if (module.training) {
      number(module.training->train_step);
      number(module.training->skeleton);
      for (uint32_t &metric : module.training->metrics)
        index(metric, 2);
    }
    for (const std::unique_ptr<format::StorageT> &storage : module.storages)
      expression(storage->size);
    for (const std::unique_ptr<format::SymbolT> &symbol : module.symbols)
      number(symbol->max);
    for (const std::unique_ptr<format::ProgramT> &program : module.programs) {
      number(program->i64_registers);
      number(program->buffer_registers);
      places.emplace_back([this, &program] {
        program->stores.clear();
        if (random() % 2)
          program->stores.push_back(random() % (module.variables.size() + 1));
      });
      for (const std::unique_ptr<format::ResultT> &result : program->results) {
        index(result->buffer, program->buffer_registers);
        for (uint32_t &dim : result->dims)
          index(dim, program->i64_registers);
      }
      if (program->body)
        block(*program->body, *program);
    }
  }

  format::ModuleT &module;
  std::minstd_rand random;
  std::vector<std::function<void()>> places;
};

} // namespace

size_t mutateMetadata(uint8_t *data, size_t size, size_t maxSize, uint32_t seed) {
  vx_module_header header;
  if (size < sizeof(header))
    return 0;
  std::memcpy(&header, data, sizeof(header));
  if (header.metadata_offset % 8 != 0 || header.metadata_offset > size ||
      header.metadata_size > size - header.metadata_offset)
    return 0;
  std::vector<uint64_t> aligned(header.metadata_size / 8 + 1);
  std::memcpy(aligned.data(), data + header.metadata_offset, header.metadata_size);
  const auto *metadata = reinterpret_cast<const uint8_t *>(aligned.data());
  flatbuffers::Verifier verifier(metadata, header.metadata_size, 160, 100000);
  if (header.metadata_size < 8 || !format::VerifyModuleBuffer(verifier))
    return 0;
  // What FlatBuffers verifies may have words of 8 bytes at places that are no multiple of 8, which UnPackModule would
  // read. The loader's decoder refuses those; and what it refuses for anything else is damaged enough.
  ModuleData decoded;
  if (!Decoder(decoded, header.metadata_size).decode(*format::GetModule(metadata)).ok())
    return 0;
  std::unique_ptr<format::ModuleT> module = format::UnPackModule(metadata);
  Mutator(*module, seed).run();
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(format::Module::Pack(builder, module.get()), format::ModuleIdentifier());
  const size_t total = header.metadata_offset + builder.GetSize();
  if (total > maxSize)
    return 0;
  std::memcpy(data + header.metadata_offset, builder.GetBufferPointer(), builder.GetSize());
  header.metadata_size = builder.GetSize();
  header.metadata_hash = vx_hash64(data + header.metadata_offset, header.metadata_size);
  header.file_size = total;
  std::memcpy(data, &header, sizeof(header));
  return total;
}

} // namespace vx::fuzz
