#include "module/decoder.h"
#include "module/module.h"

#include "vx/abi/limits.h"
#include "vx/abi/module_header.h"
#include "vx/abi/version.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <numeric>
#include <set>

static_assert(std::endian::native == std::endian::little, "module files are little-endian and read in place");

namespace vx {

// Fills a Module in the order that docs/module-format.md states.
struct ModuleLoader {
  Module &module;
  bool hasFolder; // where external files are
  vx_module_header header = {};

  Status readHeader();
  Status readMetadata(const format::Module *&root);
  Status readSections(const format::Module &root);
  Status mapExternal(Section &section, std::map<std::string, size_t> &opened);
  Status checkReferences() const;
  Status checkPair(const Section &section, const std::string &path, std::span<const uint8_t> file) const;
  void buildSignature();
  void buildAssets();
  void buildTraining();
  Status run();
};

// Whether the bytes are a message with the fields of ONNX's ModelProto, a graph among them, from the first byte to the
// last. Nothing inside of the fields is looked at.
static bool isOnnxModel(std::span<const uint8_t> bytes) {
  auto take = [&bytes](uint64_t &number) {
    number = 0;
    for (int shift = 0; shift < 64 && !bytes.empty(); shift += 7) {
      const uint8_t byte = bytes.front();
      bytes = bytes.subspan(1);
      number |= uint64_t(byte & 0x7f) << shift;
      if (byte < 0x80)
        return true;
    }
    return false;
  };
  constexpr uint64_t isVarint = 1 << 1 | 1 << 5;
  constexpr uint64_t isMessage =
      1 << 2 | 1 << 3 | 1 << 4 | 1 << 6 | 1 << 7 | 1 << 8 | 1 << 14 | 1 << 20 | 1 << 25 | 1 << 26;
  constexpr uint64_t graph = 7;
  bool hasGraph = false;
  while (!bytes.empty()) {
    uint64_t tag = 0, number = 0;
    if (!take(tag) || !take(number) || tag >> 3 > 26)
      return false;
    const uint64_t field = tag >> 3, wire = tag & 7;
    if (wire == 0 && (isVarint >> field & 1))
      continue;
    if (wire != 2 || !(isMessage >> field & 1) || number > bytes.size())
      return false;
    bytes = bytes.subspan(number);
    hasGraph |= field == graph;
  }
  return hasGraph;
}

// "dir/net.onnx" -> "dir/net.vxm".
static std::string nameModule(const std::string &model) {
  const size_t point = model.rfind('.');
  const bool hasEnding = point != std::string::npos && model.find('/', point) == std::string::npos;
  return model.substr(0, hasEnding ? point : std::string::npos) + ".vxm";
}

Status ModuleLoader::readHeader() {
  std::span<const uint8_t> file = module.file;
  if (isOnnxModel(file))
    return hasFolder
               ? failure(VX_INVALID_MODULE, "is an ONNX model and no vx module: compile it with 'vx-compile {} -o {}'",
                         module.filePath, nameModule(module.filePath))
               : failure(VX_INVALID_MODULE, "is an ONNX model and no vx module: compile it with vx-compile, or "
                                            "vxc_compile_bytes of libvx_compiler");
  constexpr std::string_view gguf = "GGUF";
  if (file.size() >= gguf.size() && std::memcmp(file.data(), gguf.data(), gguf.size()) == 0)
    return hasFolder ? failure(VX_INVALID_MODULE,
                               "is a GGUF file and no vx module: compile it with 'vx-compile {} -o {}', or run a "
                               "language model with 'vx-llm run {}'",
                               module.filePath, nameModule(module.filePath), module.filePath)
                     : failure(VX_INVALID_MODULE, "is a GGUF file and no vx module: compile it with vx-compile");
  if (file.size() < sizeof(header)) {
    // A file that starts otherwise is no module at all, however short.
    size_t known = std::min<size_t>(file.size(), sizeof(header.magic));
    if (known == 0 || std::memcmp(file.data(), VX_MODULE_MAGIC, known) != 0)
      return failure(VX_INVALID_MODULE, "is no vx module: the file has {} bytes and does not begin with '{}'",
                     file.size(), VX_MODULE_MAGIC);
    return failure(VX_INVALID_MODULE, "is truncated: the file has {} bytes, its header needs {}", file.size(),
                   sizeof(header));
  }
  std::memcpy(&header, file.data(), sizeof(header));
  if (std::memcmp(header.magic, VX_MODULE_MAGIC, sizeof(header.magic)) != 0)
    return failure(VX_INVALID_MODULE, "is no vx module: it does not begin with '{}'", VX_MODULE_MAGIC);
  if (header.abi_major != VX_MODULE_ABI_MAJOR || header.abi_minor > VX_MODULE_ABI_MINOR)
    return failure(VX_INVALID_MODULE, "has the format version {}.{}, this runtime reads {}.0 to {}.{}",
                   header.abi_major, header.abi_minor, VX_MODULE_ABI_MAJOR, VX_MODULE_ABI_MAJOR, VX_MODULE_ABI_MINOR);
  if (header.file_size > file.size())
    return failure(VX_INVALID_MODULE, "is truncated: the file has {} bytes, its header says {}", file.size(),
                   header.file_size);
  if (header.file_size < file.size())
    return failure(VX_INVALID_MODULE, "has {} bytes, its header says {}", file.size(), header.file_size);
  if (header.reserved[0] != 0 || header.reserved[1] != 0)
    return failure(VX_INVALID_MODULE, "header: reserved words are {:#x} and {:#x}, expected 0", header.reserved[0],
                   header.reserved[1]);
  if (header.metadata_offset < sizeof(header) || header.metadata_offset > file.size() ||
      header.metadata_size > file.size() - header.metadata_offset)
    return failure(VX_INVALID_MODULE, "header: {} bytes of metadata at {} are outside the file of {} bytes",
                   header.metadata_size, header.metadata_offset, file.size());
  if (header.metadata_offset % 8 != 0)
    return failure(VX_INVALID_MODULE, "header: metadata begins at {}, expected a multiple of 8",
                   header.metadata_offset);
  return okStatus();
}

Status ModuleLoader::readMetadata(const format::Module *&root) {
  std::span<const uint8_t> metadata = module.file.subspan(header.metadata_offset, header.metadata_size);
  uint64_t hash = vx_hash64(metadata.data(), metadata.size());
  if (hash != header.metadata_hash)
    return failure(VX_INVALID_MODULE, "metadata is damaged: its hash is {:016x}, the header says {:016x}", hash,
                   header.metadata_hash);
  // A nested block takes two levels of tables, and module, program, body, commands a few more.
  constexpr size_t maxDepth = 2 * VX_MAX_BLOCK_NESTING + 32;
  constexpr size_t maxTables = VX_MAX_METADATA_TABLES;
  flatbuffers::Verifier verifier(metadata.data(), metadata.size(), maxDepth, maxTables);
  if (metadata.size() < 8 || !format::VerifyModuleBuffer(verifier))
    return failure(VX_INVALID_MODULE, "metadata of {} bytes is not well-formed", metadata.size());
  root = format::GetModule(metadata.data());
  module.metadataSpan = metadata;
  return okStatus();
}

static bool isPlainFileName(const std::string &name) {
  return !name.empty() && name != "." && name != ".." && name.find_first_of(std::string_view("/\\\0:", 4)) == name.npos;
}

// A module and its weights file are written together, and each names the other's id: what stands under the weights'
// name may be of another compilation.
Status ModuleLoader::checkPair(const Section &section, const std::string &path, std::span<const uint8_t> file) const {
  vx_weights_header weights = {};
  if (file.size() < sizeof(weights) || std::memcmp(file.data(), VX_WEIGHTS_MAGIC, sizeof(weights.magic)) != 0)
    return failure(VX_INVALID_MODULE, "'{}' is no weights file of vx: it does not begin with '{}'", path,
                   VX_WEIGHTS_MAGIC);
  std::memcpy(&weights, file.data(), sizeof(weights));
  if (weights.abi_major != VX_MODULE_ABI_MAJOR || weights.abi_minor > VX_MODULE_ABI_MINOR)
    return failure(VX_INVALID_MODULE, "'{}' has the format version {}.{}, this runtime reads {}.0 to {}.{}", path,
                   weights.abi_major, weights.abi_minor, VX_MODULE_ABI_MAJOR, VX_MODULE_ABI_MAJOR, VX_MODULE_ABI_MINOR);
  if (weights.data_hash != section.hash || weights.data_size != section.size || weights.data_offset != section.offset)
    return failure(
        VX_INVALID_MODULE,
        "'{}' is not the weights file of this module: it holds {} bytes at {} with the id {:016x}, the module "
        "needs {} bytes at {} with the id {:016x}",
        path, weights.data_size, weights.data_offset, weights.data_hash, section.size, section.offset, section.hash);
  if (weights.file_size != file.size())
    return failure(VX_INVALID_MODULE, "'{}' is {}: the file has {} bytes, its header says {}", path,
                   weights.file_size > file.size() ? "truncated" : "too long", file.size(), weights.file_size);
  if (weights.reserved[0] != 0 || weights.reserved[1] != 0)
    return failure(VX_INVALID_MODULE, "'{}': reserved words of its header are {:#x} and {:#x}, expected 0", path,
                   weights.reserved[0], weights.reserved[1]);
  return okStatus();
}

Status ModuleLoader::mapExternal(Section &section, std::map<std::string, size_t> &opened) {
  if (section.kind != SectionKind::Weights)
    return failure(VX_INVALID_MODULE, "{} is in the external file '{}', allowed are weights",
                   sectionKindName(section.kind), section.externalFile);
  if (!isPlainFileName(section.externalFile))
    return failure(VX_INVALID_MODULE, "external file '{}' is no plain file name", section.externalFile);
  if (!hasFolder)
    return failure(VX_INVALID_MODULE, "is in the external file '{}', expected all sections in memory",
                   section.externalFile);
  auto [place, isNew] = opened.emplace(section.externalFile, module.externalMappings.size());
  std::string folder;
  if (size_t slash = module.filePath.rfind('/'); slash != std::string::npos)
    folder = module.filePath.substr(0, slash + 1);
  if (isNew) {
    constexpr size_t maxFiles = 256;
    if (opened.size() > maxFiles)
      return failure(VX_INVALID_MODULE, "there are more than {} external files", maxFiles);
    FileMapping mapping;
    VX_RETURN_IF_ERROR(FileMapping::open(folder + section.externalFile, mapping));
    module.externalMappings.push_back(std::move(mapping));
  }
  if (section.samples) {
    section.bytes = module.externalMappings[place->second].bytes();
    if (section.offset == 0 && section.size == section.bytes.size())
      return okStatus();
    return failure(VX_INVALID_MODULE,
                   "expected the file of the model '{}' as it was compiled, {} bytes at {}, got {} bytes: it was "
                   "changed, so compile the model again",
                   folder + section.externalFile, section.size, section.offset, section.bytes.size());
  }
  if (section.offset < sizeof(vx_weights_header))
    return failure(VX_INVALID_MODULE, "{} bytes at {} overlap the header of the external file '{}'", section.size,
                   section.offset, section.externalFile);
  std::span<const uint8_t> file = module.externalMappings[place->second].bytes();
  VX_RETURN_IF_ERROR(checkPair(section, folder + section.externalFile, file));
  if (section.offset > file.size() || section.size > file.size() - section.offset)
    return failure(VX_INVALID_MODULE, "{} bytes at {} are outside the external file '{}' of {} bytes", section.size,
                   section.offset, section.externalFile, file.size());
  section.bytes = file.subspan(section.offset, section.size);
  return okStatus();
}

// After the constants are known to lie in their sections.
Status ModuleLoader::checkReferences() const {
  const ModuleData &data = module.contents;
  for (uint32_t i = 0; i < data.sections.size(); ++i) {
    const Section &section = data.sections[i];
    if (!section.samples)
      continue;
    // A constant may have several names. Else they do not overlap: a file cannot make a load read more than itself.
    std::vector<vx_file_range> constants;
    std::set<std::pair<uint64_t, uint64_t>> known;
    uint64_t total = 0;
    for (const Constant &constant : data.constants)
      if (constant.section == i && known.emplace(constant.offset, constant.size).second) {
        if (constant.size > section.size - total)
          return failure(VX_INVALID_MODULE, "section {}: constant '{}' overlaps another one in the file '{}'", i,
                         constant.name, section.externalFile);
        total += constant.size;
        constants.push_back({constant.offset, constant.size});
      }
    if (const uint64_t samples =
            vx_hash64_samples(section.bytes.data(), section.bytes.size(), constants.data(), constants.size());
        samples != *section.samples)
      return failure(VX_INVALID_MODULE,
                     "section {}: expected the file of the model '{}' as it was compiled, with the id {:016x}, got the "
                     "id {:016x}: it was changed, so compile the model again",
                     i, section.externalFile, *section.samples, samples);
  }
  return okStatus();
}

Status ModuleLoader::readSections(const format::Module &root) {
  std::map<std::string, size_t> opened;
  constexpr uint32_t maxSections = VX_MAX_SECTIONS;
  if (root.sections() && root.sections()->size() > maxSections)
    return failure(VX_INVALID_MODULE, "there are {} sections, allowed are {}", root.sections()->size(), maxSections);
  auto decodeSection = [&](const format::Section &source, Section &section) -> Status {
    if (source.kind() > format::SectionKind::Assets)
      return failure(VX_INVALID_MODULE, "kind has the unknown number {}", static_cast<int>(source.kind()));
    section.kind = static_cast<SectionKind>(source.kind());
    section.offset = source.offset();
    section.size = source.size();
    section.hash = source.hash();
    if (source.reference())
      section.samples = source.reference()->samples();
    if (section.samples && !source.external_file())
      return failure(VX_INVALID_MODULE, "is a file of the model, and has no name of a file");
    if (section.offset % VX_SECTION_ALIGNMENT != 0)
      return failure(VX_INVALID_MODULE, "offset {} is no multiple of {}", section.offset, VX_SECTION_ALIGNMENT);
    if (source.external_file()) {
      section.externalFile = source.external_file()->str();
      return mapExternal(section, opened);
    }
    if (section.offset > module.file.size() || section.size > module.file.size() - section.offset)
      return failure(VX_INVALID_MODULE, "{} bytes at {} are outside the file of {} bytes", section.size, section.offset,
                     module.file.size());
    if (section.size && section.offset < sizeof(header))
      return failure(VX_INVALID_MODULE, "{} bytes at {} overlap the header", section.size, section.offset);
    section.bytes = module.file.subspan(section.offset, section.size);
    return okStatus();
  };
  return decodeEach(root.sections(), module.contents.sections,
                    [&](const format::Section &source, Section &section, uint32_t i) {
                      return decodeSection(source, section).addContext(fmt::format("section {}", i));
                    });
}

// The numbers of rows that all its symbols allow, and how each input and output takes part.
static vx_batch_info describeBatch(const Function &function, SignatureTables &tables) {
  vx_batch_info info = {};
  info.struct_size = sizeof(info);
  info.symbol = function.symbols[function.batch->symbol].name.c_str();
  info.max_rows = INT64_MAX;
  info.multiple = 1;
  std::vector<vx_row_use> &inputs = tables.rowUses.emplace_back(function.inputs.size(), VX_ROWS_SHARED);
  for (uint32_t number : function.batch->inputs) {
    inputs[number] = VX_ROWS_OWN;
    const Symbol &symbol = function.symbols[*function.inputs[number].type.dims[0].asSymbol()];
    info.min_rows = std::max(info.min_rows, symbol.min);
    info.max_rows = std::min(info.max_rows, symbol.max);
    const int64_t times = symbol.multiple / std::gcd(symbol.multiple, info.multiple);
    if (__builtin_mul_overflow(info.multiple, times, &info.multiple))
      info.multiple = INT64_MAX; // no call has as many rows
  }
  info.is_joinable = 1;
  std::vector<vx_row_use> &outputs = tables.rowUses.emplace_back();
  std::vector<const char *> &reasons = tables.reasons.emplace_back();
  for (const Argument &output : function.outputs) {
    outputs.push_back(output.rows == 0 ? VX_ROWS_OWN : output.same ? VX_ROWS_SHARED : VX_ROWS_UNKNOWN);
    reasons.push_back(outputs.back() == VX_ROWS_UNKNOWN ? output.reason.c_str() : nullptr);
    info.is_joinable &= outputs.back() != VX_ROWS_UNKNOWN;
  }
  info.input_count = inputs.size();
  info.inputs = inputs.data();
  info.output_count = outputs.size();
  info.outputs = outputs.data();
  info.reasons = reasons.data();
  return info;
}

void ModuleLoader::buildSignature() {
  SignatureTables &tables = module.tables;
  auto argumentTable = [&](const std::vector<Argument> &arguments, const Function &owner) {
    std::vector<vx_argument_info> &table = tables.arguments.emplace_back();
    for (const Argument &argument : arguments) {
      std::vector<vx_dim_info> &dims = tables.dims.emplace_back();
      for (const Expression &dim : argument.type.dims) {
        const std::string &text = tables.texts.emplace_back(dim.toString(owner.symbolNames));
        dims.push_back({dim.asConstant().value_or(-1), text.c_str()});
      }
      const vx_value_range *range = nullptr;
      if (argument.range) {
        const std::optional<Expression> &upper = argument.range->upper;
        const char *text = upper ? tables.texts.emplace_back(upper->toString(owner.symbolNames)).c_str() : nullptr;
        const std::optional<int64_t> &also = argument.range->also;
        range = &tables.ranges.emplace_back(vx_value_range{argument.range->lower, text, also ? &*also : nullptr});
      }
      table.push_back({argument.name.c_str(), argument.type.kind, argument.type.elementType, argument.type.ranked,
                       static_cast<uint32_t>(dims.size()), dims.data(), range});
    }
    return table.data();
  };
  auto symbolInfo = [](const Symbol &symbol) {
    return vx_symbol_info{symbol.name.c_str(), symbol.min,           symbol.max,
                          symbol.multiple,     symbol.dataDependent, symbol.instance.has_value()};
  };
  for (const Symbol &symbol : module.contents.symbols) {
    tables.instanceSymbols.push_back(symbolInfo(symbol));
    tables.instanceSymbols.back().instance = 1;
  }
  for (const Function &function : module.contents.functions) {
    std::vector<vx_symbol_info> &symbols = tables.symbols.emplace_back();
    for (const Symbol &symbol : function.symbols)
      symbols.push_back(symbolInfo(symbol));
    std::vector<vx_alias_info> &aliases = tables.aliases.emplace_back();
    for (const Alias &alias : function.aliases)
      aliases.push_back({alias.input, alias.output});
    tables.batches.push_back(function.batch ? std::optional(describeBatch(function, tables)) : std::nullopt);
    const vx_argument_info *inputs = argumentTable(function.inputs, function);
    const vx_argument_info *outputs = argumentTable(function.outputs, function);
    tables.functions.push_back({function.name.c_str(), symbols.size(), symbols.data(), function.inputs.size(), inputs,
                                function.outputs.size(), outputs});
  }
  for (const Variable &variable : module.contents.variables) {
    std::vector<int64_t> &dims = tables.sizes.emplace_back();
    for (const Expression &dim : variable.dims)
      dims.push_back(dim.asConstant().value_or(-1));
    tables.variables.push_back({variable.name.c_str(), variable.elementType, static_cast<uint32_t>(dims.size()),
                                dims.data(), variable.known ? variable.known->size : 0,
                                static_cast<vx_variable_role>(variable.role),
                                (variable.source.empty() ? variable.name : variable.source).c_str(), variable.storage,
                                variable.known ? static_cast<int64_t>(variable.known->offset) : -1});
  }
}

// What users read of the file in place: assets and constants.
void ModuleLoader::buildAssets() {
  SignatureTables &tables = module.tables;
  auto bytesOf = [&](uint32_t section, uint64_t offset, uint64_t size) {
    return module.contents.sections[section].bytes.subspan(offset, size).data();
  };
  for (const Asset &asset : module.contents.assets)
    tables.assets.push_back(
        {asset.name.c_str(), asset.kind.c_str(), bytesOf(asset.section, asset.offset, asset.size), asset.size});
  for (const Constant &constant : module.contents.constants) {
    std::vector<int64_t> &dims = tables.sizes.emplace_back();
    for (const Expression &dim : constant.type.dims)
      dims.push_back(dim.asConstant().value_or(-1));
    tables.constants.push_back({constant.name.c_str(), constant.type.elementType, static_cast<uint32_t>(dims.size()),
                                dims.data(), bytesOf(constant.section, constant.offset, constant.size), constant.size});
  }
}

// After the functions and assets, which it points to.
void ModuleLoader::buildTraining() {
  if (!module.contents.training)
    return;
  const Training &source = *module.contents.training;
  SignatureTables &tables = module.tables;
  auto function = [&](const std::optional<uint32_t> &number) { return number ? &tables.functions[*number] : nullptr; };
  tables.trainingInputs.assign(source.inputs.begin(), source.inputs.end());
  tables.trainingMetrics.assign(source.metrics.begin(), source.metrics.end());
  for (const std::optional<uint32_t> &count : source.counts)
    tables.trainingCounts.push_back(count ? *count : SIZE_MAX);
  for (const Hyper &hyper : source.hypers)
    tables.trainingHypers.push_back({static_cast<vx_hyper_kind>(hyper.kind), hyper.input});
  vx_training_info &info = tables.training.emplace();
  info.struct_size = sizeof(info);
  info.train_step = function(source.trainStep);
  info.evaluate = function(source.evaluate);
  info.predict = function(source.predict);
  info.backward = function(source.backward);
  info.step = function(source.step);
  info.input_count = tables.trainingInputs.size();
  info.inputs = tables.trainingInputs.data();
  info.hyper_count = tables.trainingHypers.size();
  info.hypers = tables.trainingHypers.data();
  info.metric_count = tables.trainingMetrics.size();
  info.metrics = tables.trainingMetrics.data();
  info.optimizer = source.optimizer.c_str();
  info.loss = source.loss.c_str();
  info.skeleton = source.skeleton ? &tables.assets[*source.skeleton] : nullptr;
  info.rate = source.rate;
  info.counts = tables.trainingCounts.empty() ? nullptr : tables.trainingCounts.data();
}

Status ModuleLoader::run() {
  VX_RETURN_IF_ERROR(readHeader());
  const format::Module *root = nullptr;
  VX_RETURN_IF_ERROR(readMetadata(root));
  VX_RETURN_IF_ERROR(readSections(*root));
  VX_RETURN_IF_ERROR(Decoder(module.contents, header.metadata_size).decode(*root));
  VX_RETURN_IF_ERROR(checkReferences());
  buildSignature();
  buildAssets();
  buildTraining();
  return okStatus();
}

Status Module::load(const std::string &path, Ref<Module> &result) {
  Ref<Module> module = makeRef<Module>();
  module->filePath = path;
  VX_RETURN_IF_ERROR(FileMapping::open(path, module->mapping));
  module->file = module->mapping.bytes();
  ModuleLoader loader{*module, /*hasFolder=*/true};
  VX_RETURN_IF_ERROR(loader.run().addContext(path));
  result = std::move(module);
  return okStatus();
}

Status Module::fromMemory(const std::string &name, std::span<const uint8_t> bytes, Ref<Module> &result) {
  Ref<Module> module = makeRef<Module>();
  module->filePath = name;
  module->file = bytes;
  ModuleLoader loader{*module, /*hasFolder=*/false};
  VX_RETURN_IF_ERROR(loader.run().addContext(name));
  result = std::move(module);
  return okStatus();
}

const char *sectionKindName(SectionKind kind) {
  switch (kind) {
  case SectionKind::Code:
    return "code";
  case SectionKind::Assets:
    return "assets";
  default:
    return "weights";
  }
}

std::string Module::describeSection(uint32_t index) const {
  const Section &section = contents.sections[index];
  return fmt::format("section {} ({}, {} bytes at {}{}{})", index, sectionKindName(section.kind), section.size,
                     section.offset, section.externalFile.empty() ? "" : " of ", section.externalFile);
}

bool Module::isMapped(std::span<const uint8_t> bytes) const {
  auto has = [&](const FileMapping &file) {
    const std::span<const uint8_t> all = file.bytes();
    return bytes.data() >= all.data() && bytes.data() + bytes.size() <= all.data() + all.size();
  };
  return has(mapping) || std::any_of(externalMappings.begin(), externalMappings.end(), has);
}

void Module::releasePages(std::span<const uint8_t> bytes) const {
  mapping.releasePages(bytes);
  for (const FileMapping &external : externalMappings)
    external.releasePages(bytes);
}

Status Module::verifySection(uint32_t index) const {
  const Section &section = contents.sections[index];
  uint64_t hash = vx_hash64(section.bytes.data(), section.bytes.size());
  if (hash == section.hash)
    return okStatus();
  return failure(VX_INVALID_MODULE, "{}: {} is damaged: its hash is {:016x}, the metadata says {:016x}", filePath,
                 describeSection(index), hash, section.hash);
}

} // namespace vx
