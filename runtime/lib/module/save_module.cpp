#include "module/save_module.h"

#include "vx/abi/kernel.h"
#include "vx/abi/module_generated.h"
#include "vx/abi/module_header.h"
#include "vx/base/partial_file.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <utility>
#include <vector>

namespace vx {

namespace {

// Constants that this file has made are known by the beginning of their names.
constexpr std::string_view FirstValueName = "first value of ";

uint64_t alignTo(uint64_t value, uint64_t alignment) { return (value + alignment - 1) / alignment * alignment; }

// Bytes at offsets of a section, ascending, with zeros between them.
struct Part {
  uint64_t offset;
  std::span<const uint8_t> bytes;
};

// vx_hash64 of a section; offsets are multiples of 8.
uint64_t hashOf(std::span<const Part> parts, uint64_t size) {
  uint64_t hash = vx_hash64_begin(size);
  auto add = [&hash](std::span<const uint8_t> bytes) {
    uint64_t word = 0;
    std::memcpy(&word, bytes.data(), bytes.size());
    hash = vx_hash64_add(hash, word);
  };
  uint64_t place = 0;
  for (const Part &part : parts) {
    for (; place < part.offset; place += 8)
      hash = vx_hash64_add(hash, 0);
    for (size_t i = 0; i < part.bytes.size(); i += 8)
      add(part.bytes.subspan(i, std::min<size_t>(8, part.bytes.size() - i)));
    place = alignTo(part.offset + part.bytes.size(), 8);
  }
  return vx_hash64_end(hash);
}

class Saver {
public:
  Saver(const Module &module, std::span<const FirstValue> values, const std::string &path)
      : module(module), values(values), path(path) {
    format::GetModule(module.metadata().data())->UnPackTo(&root);
  }

  Status run() {
    for (uint32_t i = 0; i < root.sections.size(); ++i)
      if (root.sections[i]->reference)
        packReferenced(i);
    if (!values.empty()) {
      findSection();
      for (const FirstValue &value : values)
        VX_RETURN_IF_ERROR(setFirst(value));
      closeSection();
    }
    return write();
  }

private:
  format::VariableT &variable(const FirstValue &value) { return *root.variables[value.variable]; }

  // Takes the constants out of a file of the model: the saved module may lie elsewhere.
  void packReferenced(uint32_t number) {
    // From offset and size in the file to the offset in the new section; a constant with several names is there once.
    std::map<std::pair<uint64_t, uint64_t>, uint64_t> offsets;
    std::vector<Part> constants;
    uint64_t end = 0;
    for (const auto &constant : root.constants) {
      if (constant->section != number)
        continue;
      auto [place, isNew] =
          offsets.emplace(std::pair(constant->offset, constant->size), alignTo(end, VX_BUFFER_ALIGNMENT));
      if (isNew) {
        constants.push_back(
            {place->second, module.data().sections[number].bytes.subspan(static_cast<size_t>(constant->offset),
                                                                         static_cast<size_t>(constant->size))});
        end = place->second + constant->size;
      }
      constant->offset = place->second;
    }
    format::SectionT &section = *root.sections[number];
    section.reference.reset();
    section.size = end;
    section.hash = hashOf(constants, end);
    packed[number] = std::move(constants);
  }

  // The constant that a module which was saved before has for this variable.
  format::ConstantT *known(const FirstValue &value) {
    const format::VariableT &start = variable(value);
    if (!start.init || start.init->kind != format::InitKind::Constant)
      return nullptr;
    format::ConstantT &constant = *root.constants[start.init->constant];
    return constant.name == std::string(FirstValueName) + start.name ? &constant : nullptr;
  }

  // That of first values, or a new one.
  void findSection() {
    section = static_cast<uint32_t>(root.sections.size());
    for (const FirstValue &value : values)
      if (const format::ConstantT *constant = known(value))
        section = constant->section;
    if (section == root.sections.size()) {
      root.sections.push_back(std::make_unique<format::SectionT>());
      root.sections.back()->kind = format::SectionKind::Weights;
    }
    size = root.sections[section]->size;
  }

  Status setFirst(const FirstValue &value) {
    const Variable &facts = module.data().variables[value.variable];
    if (!facts.known)
      return failure(VX_UNSUPPORTED,
                     "variable '{}': its size depends on the instance, and a module with its values has one size",
                     facts.name);
    if (const format::ConstantT *constant = known(value)) {
      parts.push_back({constant->offset, value.bytes});
      return okStatus();
    }
    auto constant = std::make_unique<format::ConstantT>();
    constant->name = std::string(FirstValueName) + facts.name;
    constant->section = section;
    constant->offset = alignTo(size, VX_BUFFER_ALIGNMENT);
    constant->size = value.bytes.size();
    constant->type = std::make_unique<format::ValueTypeT>();
    constant->type->element_type = variable(value).element_type;
    constant->type->ranked = true;
    for (const auto &dim : variable(value).dims)
      constant->type->dims.push_back(std::make_unique<format::ExprT>(*dim));
    size = constant->offset + constant->size;
    parts.push_back({constant->offset, value.bytes});
    clearPools(value);
    variable(value).init = std::make_unique<format::InitT>();
    variable(value).init->kind = format::InitKind::Constant;
    variable(value).init->constant = static_cast<uint32_t>(root.constants.size());
    root.constants.push_back(std::move(constant));
    return okStatus();
  }

  // Either a pool or the variables in it start with values.
  void clearPools(const FirstValue &value) {
    const Variable &inner = module.data().variables[value.variable];
    for (size_t i = 0; i < root.variables.size(); ++i) {
      const Variable &pool = module.data().variables[i];
      if (i != value.variable && pool.storage == inner.storage && pool.known &&
          pool.known->offset <= inner.known->offset &&
          inner.known->offset + inner.known->size <= pool.known->offset + pool.known->size)
        root.variables[i]->init = nullptr;
    }
  }

  // With what others of a saved module start with.
  void closeSection() {
    if (section < module.data().sections.size())
      for (const auto &constant : root.constants)
        if (constant->section == section && constant->offset < module.data().sections[section].size &&
            std::none_of(parts.begin(), parts.end(), [&](const Part &part) { return part.offset == constant->offset; }))
          parts.push_back(
              {constant->offset, module.data().sections[section].bytes.subspan(static_cast<size_t>(constant->offset),
                                                                               static_cast<size_t>(constant->size))});
    std::sort(parts.begin(), parts.end(), [](const Part &a, const Part &b) { return a.offset < b.offset; });
    root.sections[section]->size = size;
    root.sections[section]->hash = hashOf(parts, size);
  }

  Status write() {
    uint64_t end = sizeof(vx_module_header);
    for (const auto &one : root.sections) {
      one->external_file.clear();
      one->offset = alignTo(end, VX_SECTION_ALIGNMENT);
      end = one->offset + one->size;
    }
    flatbuffers::FlatBufferBuilder builder;
    format::FinishModuleBuffer(builder, format::Module::Pack(builder, &root));
    vx_module_header header = {};
    std::memcpy(&header, module.bytes().data(), sizeof(header)); // its magic and version
    header.metadata_offset = alignTo(end, 8);
    header.metadata_size = builder.GetSize();
    header.metadata_hash = vx_hash64(builder.GetBufferPointer(), builder.GetSize());
    header.file_size = header.metadata_offset + header.metadata_size;

    removeLeftoverFiles(path);
    if (const int error = file.open(path))
      return cannotWrite(std::strerror(error));
    VX_RETURN_IF_ERROR(append({reinterpret_cast<const uint8_t *>(&header), sizeof(header)}));
    for (uint32_t i = 0; i < root.sections.size(); ++i) {
      const uint64_t begin = root.sections[i]->offset;
      VX_RETURN_IF_ERROR(padTo(begin));
      if (i != section && !packed.contains(i)) {
        VX_RETURN_IF_ERROR(append(module.data().sections[i].bytes));
        continue;
      }
      for (const Part &part : i == section ? parts : packed[i]) {
        VX_RETURN_IF_ERROR(padTo(begin + part.offset));
        VX_RETURN_IF_ERROR(append(part.bytes));
      }
    }
    VX_RETURN_IF_ERROR(padTo(header.metadata_offset));
    VX_RETURN_IF_ERROR(append({builder.GetBufferPointer(), builder.GetSize()}));
    std::string error;
    return file.commit(error) ? okStatus() : failure(VX_IO_ERROR, "{}", error);
  }

  Status cannotWrite(const char *reason) const { return failure(VX_IO_ERROR, "cannot write '{}': {}", path, reason); }
  Status append(std::span<const uint8_t> bytes) {
    if (const int error = file.write(bytes.data(), bytes.size()))
      return cannotWrite(std::strerror(error));
    written += bytes.size();
    return okStatus();
  }
  Status padTo(uint64_t place) {
    static constexpr std::array<uint8_t, 4096> zeros = {};
    while (written < place)
      VX_RETURN_IF_ERROR(
          append({zeros.data(), static_cast<size_t>(std::min<uint64_t>(zeros.size(), place - written))}));
    return okStatus();
  }

  const Module &module;
  const std::span<const FirstValue> values;
  const std::string &path;
  format::ModuleT root;
  uint32_t section = UINT32_MAX;
  uint64_t size = 0; // of that section
  std::vector<Part> parts;
  std::map<uint32_t, std::vector<Part>> packed; // of sections that were files of the model
  PartialFile file;
  uint64_t written = 0;
};

} // namespace

Status saveModule(const Module &module, std::span<const FirstValue> values, const std::string &path) {
  return Saver(module, values, path).run();
}

} // namespace vx
