// Every diagnostic of the module loader, quoted whole.
#include "programs.h"
#include "runtime_test.h"

#include "vx/abi/version.h"

#include <cstring>
#include <functional>

namespace vx::test {

namespace {

// Sound files, to be damaged one way at a time.
std::unique_ptr<ModuleBuilder> soundBuilder() {
  auto builder = std::make_unique<ModuleBuilder>();
  addAffine(*builder, 64);
  builder->addCpuTarget();
  return builder;
}

} // namespace

// Loads bytes; the message without the file's name in front.
static std::string messageFor(const std::vector<uint8_t> &bytes, vx_code code = VX_INVALID_MODULE) {
  std::string path = scratchPath("damaged.vxm");
  writeFile(path, bytes);
  Ref<Module> module;
  Status status = Module::load(path, module);
  EXPECT_EQ(status.code(), code);
  EXPECT_EQ(static_cast<bool>(module), code == VX_OK);
  std::string message(status.message());
  EXPECT_TRUE(message.starts_with(path + ": ") || status.ok()) << message;
  return status.ok() ? "ok" : message.substr(path.size() + 2);
}

static std::string messageAfter(const std::function<void(ModuleBuilder &)> &damage) {
  std::unique_ptr<ModuleBuilder> builder = soundBuilder();
  damage(*builder);
  return messageFor(builder->bytes());
}

static std::vector<uint8_t> soundBytes() { return soundBuilder()->bytes(); }

template <typename T>
static std::vector<uint8_t> withHeaderField(size_t offset, T value) {
  std::vector<uint8_t> bytes = soundBytes();
  std::memcpy(bytes.data() + offset, &value, sizeof(value));
  return bytes;
}

// A table may be named any number of times, so a small file could be large in memory.
TEST(ModuleLoader, metadataThatRepeatsItself) {
  flatbuffers::FlatBufferBuilder builder;
  const auto node = builder.CreateString(std::string(1 << 20, 'n'));
  const auto nodes = builder.CreateVector(std::vector(200, node));
  format::ModuleBuilder module(builder);
  module.add_source_nodes(nodes);
  builder.Finish(module.Finish(), format::ModuleIdentifier());
  EXPECT_EQ(messageFor(packFile({builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize()}, {}, {})),
            "metadata repeats its tables until they are too large to decode");
}

TEST(ModuleLoader, soundFileLoads) {
  std::string path = scratchPath("sound.vxm");
  writeFile(path, soundBytes());
  Ref<Module> module;
  ASSERT_OK(Module::load(path, module));
  EXPECT_EQ(module->data().functions.size(), 1u);
  EXPECT_EQ(module->data().programs[0].segmentCount, 1u);
  for (uint32_t i = 0; i < module->data().sections.size(); ++i)
    EXPECT_OK(module->verifySection(i));
}

TEST(ModuleLoader, missingFile) {
  Ref<Module> module;
  EXPECT_FAILS(Module::load("no/such.vxm", module), VX_NOT_FOUND,
               "no/such.vxm: cannot be opened: No such file or directory");
  EXPECT_FAILS(Module::load("/", module), VX_IO_ERROR, "/: is a folder, expected a regular file");
}

TEST(ModuleLoader, truncatedAtEachLength) {
  std::vector<uint8_t> bytes = soundBytes();
  EXPECT_EQ(messageFor({}), "is no vx module: the file has 0 bytes and does not begin with 'VXMODULE'");
  EXPECT_EQ(messageFor({bytes.begin(), bytes.begin() + 5}), "is truncated: the file has 5 bytes, its header needs 64");
  EXPECT_EQ(messageFor({bytes.begin(), bytes.begin() + 63}),
            "is truncated: the file has 63 bytes, its header needs 64");
  for (size_t length : {size_t(64), size_t(100), size_t(4096), bytes.size() - 1})
    EXPECT_EQ(messageFor({bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(length)}),
              fmt::format("is truncated: the file has {} bytes, its header says {}", length, bytes.size()));
  size_t size = bytes.size();
  bytes.push_back(0);
  EXPECT_EQ(messageFor(bytes), fmt::format("has {} bytes, its header says {}", size + 1, size));
}

TEST(ModuleLoader, header) {
  EXPECT_EQ(messageFor(withHeaderField<uint8_t>(0, 'v')), "is no vx module: it does not begin with 'VXMODULE'");
  EXPECT_EQ(messageFor({'P', 'K'}), "is no vx module: the file has 2 bytes and does not begin with 'VXMODULE'");
  EXPECT_EQ(messageFor(withHeaderField<uint32_t>(offsetof(vx_module_header, abi_major), VX_MODULE_ABI_MAJOR + 1)),
            "has the format version 4.4, this runtime reads 3.0 to 3.4");
  EXPECT_EQ(messageFor(withHeaderField<uint32_t>(offsetof(vx_module_header, abi_major), VX_MODULE_ABI_MAJOR - 1)),
            "has the format version 2.4, this runtime reads 3.0 to 3.4");
  EXPECT_EQ(messageFor(withHeaderField<uint32_t>(offsetof(vx_module_header, abi_minor), VX_MODULE_ABI_MINOR + 1)),
            "has the format version 3.5, this runtime reads 3.0 to 3.4");
  EXPECT_EQ(messageFor(withHeaderField<uint64_t>(offsetof(vx_module_header, reserved), 5)),
            "header: reserved words are 0x5 and 0x0, expected 0");
  vx_module_header header;
  std::vector<uint8_t> bytes = soundBytes();
  std::memcpy(&header, bytes.data(), sizeof(header));
  EXPECT_EQ(messageFor(withHeaderField<uint64_t>(offsetof(vx_module_header, metadata_offset), UINT64_MAX)),
            fmt::format("header: {} bytes of metadata at 18446744073709551615 are outside the file of {} bytes",
                        header.metadata_size, bytes.size()));
  EXPECT_EQ(messageFor(withHeaderField<uint64_t>(offsetof(vx_module_header, metadata_offset), 8)),
            fmt::format("header: {} bytes of metadata at 8 are outside the file of {} bytes", header.metadata_size,
                        bytes.size()));
  EXPECT_EQ(messageFor(withHeaderField<uint64_t>(offsetof(vx_module_header, metadata_size), UINT64_MAX)),
            fmt::format("header: 18446744073709551615 bytes of metadata at {} are outside the file of {} bytes",
                        header.metadata_offset, bytes.size()));
  EXPECT_EQ(
      messageFor(withHeaderField<uint64_t>(offsetof(vx_module_header, metadata_offset), header.metadata_offset - 4)),
      fmt::format("header: metadata begins at {}, expected a multiple of 8", header.metadata_offset - 4));
}

TEST(ModuleLoader, alteredMetadata) {
  std::vector<uint8_t> bytes = soundBytes();
  vx_module_header header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  for (uint64_t at : {uint64_t(0), header.metadata_size / 2, header.metadata_size - 1}) {
    std::vector<uint8_t> damaged = bytes;
    damaged[header.metadata_offset + at] ^= 1;
    EXPECT_EQ(messageFor(damaged), fmt::format("metadata is damaged: its hash is {:016x}, the header says {:016x}",
                                               vx_hash64(damaged.data() + header.metadata_offset, header.metadata_size),
                                               header.metadata_hash));
  }
  // With the right hash the structure is still checked.
  std::vector<uint8_t> noise(100, 0xff);
  EXPECT_EQ(messageFor(packFile(noise, {}, {})), "metadata of 100 bytes is not well-formed");
  EXPECT_EQ(messageFor(packFile({}, {}, {})), "metadata of 0 bytes is not well-formed");
}

TEST(ModuleLoader, everyFlippedBitOfTheMetadataIsSurvived) {
  std::vector<uint8_t> bytes = soundBytes();
  vx_module_header header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  std::vector<uint8_t> aligned(bytes.size() + 64);
  uint8_t *place = aligned.data() + (64 - reinterpret_cast<uintptr_t>(aligned.data()) % 64);
  for (uint64_t at = 0; at < header.metadata_size; ++at)
    for (uint8_t bit : {0x01, 0x80}) {
      std::memcpy(place, bytes.data(), bytes.size());
      place[header.metadata_offset + at] ^= bit;
      vx_module_header fixed = header;
      fixed.metadata_hash = vx_hash64(place + header.metadata_offset, header.metadata_size);
      std::memcpy(place, &fixed, sizeof(fixed));
      Ref<Module> module;
      Status status = Module::fromMemory("flipped.vxm", {place, bytes.size()}, module);
      EXPECT_TRUE(status.ok() || status.code() == VX_INVALID_MODULE || status.code() == VX_NOT_FOUND ||
                  status.code() == VX_UNSUPPORTED)
          << status.message();
    }
}

TEST(ModuleLoader, bytesOfTheCaller) {
  std::vector<uint8_t> file = soundBytes(), room(file.size() + 128);
  uint8_t *bytes = room.data() + (64 - reinterpret_cast<uintptr_t>(room.data()) % 64);
  std::memcpy(bytes, file.data(), file.size());
  vx_module *module = nullptr;
  ASSERT_EQ(vx_module_load_bytes(bytes, file.size(), "here", &module), nullptr);
  size_t count = 0;
  EXPECT_NE(vx_module_functions(module, &count), nullptr);
  vx_module_release(module);

  auto refuse = [&](const uint8_t *place, size_t size, const char *name) {
    module = reinterpret_cast<vx_module *>(&count);
    vx_status status = vx_module_load_bytes(place, size, name, &module);
    EXPECT_EQ(module, nullptr);
    std::string message = vx_status_message(status);
    vx_status_release(status);
    return message;
  };
  const std::string size = std::to_string(file.size()), less = std::to_string(file.size() - 1);
  EXPECT_EQ(refuse(bytes, file.size() - 1, "here"),
            "vx_module_load_bytes: here: is truncated: the file has " + less + " bytes, its header says " + size);
  EXPECT_EQ(refuse(bytes, 0, nullptr), "vx_module_load_bytes: module in memory: is no vx module: the file has 0 bytes "
                                       "and does not begin with 'VXMODULE'");
  std::memcpy(bytes + 8, file.data(), file.size());
  EXPECT_EQ(refuse(bytes + 8, file.size(), "here"),
            "vx_module_load_bytes: argument 'bytes' is 8 bytes past a multiple of 64, expected an aligned address");
}

TEST(ModuleLoader, bytesHaveNoFolder) {
  std::unique_ptr<ModuleBuilder> builder = soundBuilder();
  builder->bytes(); // fills in offsets, sizes, hashes
  builder->module.sections[0]->external_file = "weights.bin";
  std::vector<uint8_t> file = builder->bytes(/*fillSections=*/false), room(file.size() + 64);
  uint8_t *bytes = room.data() + (64 - reinterpret_cast<uintptr_t>(room.data()) % 64);
  std::memcpy(bytes, file.data(), file.size());
  Ref<Module> module;
  EXPECT_EQ(Module::fromMemory("here", {bytes, file.size()}, module).message(),
            "here: section 0: is in the external file 'weights.bin', expected all sections in memory");
}

TEST(ModuleLoader, sections) {
  auto raw = [&](const std::function<void(format::SectionT &)> &damage) {
    std::unique_ptr<ModuleBuilder> builder = soundBuilder();
    builder->bytes(); // fills in offsets, sizes, hashes
    damage(*builder->module.sections[0]);
    return messageFor(builder->bytes(/*fillSections=*/false));
  };
  EXPECT_EQ(raw([](format::SectionT &s) { s.offset = 100; }), "section 0: offset 100 is no multiple of 4096");
  EXPECT_EQ(raw([](format::SectionT &s) { s.offset = 0; }), "section 0: 256 bytes at 0 overlap the header");
  std::string outside = raw([](format::SectionT &s) { s.offset = uint64_t(1) << 63; });
  EXPECT_TRUE(outside.starts_with("section 0: 256 bytes at 9223372036854775808 are outside the file of ")) << outside;
  outside = raw([](format::SectionT &s) { s.size = UINT64_MAX; });
  EXPECT_TRUE(outside.starts_with("section 0: 18446744073709551615 bytes at 4096 are outside the file of ")) << outside;
  EXPECT_EQ(raw([](format::SectionT &s) { s.kind = static_cast<format::SectionKind>(9); }),
            "section 0: kind has the unknown number 9");
}

TEST(ModuleLoader, externalFiles) {
  auto named = [](const std::string &name) {
    return messageAfter([&](ModuleBuilder &b) { b.module.sections[0]->external_file = name; });
  };
  for (const char *name : {"../secret", "/etc/passwd", "a/b", "a\\b", "..", ".", "c:d"})
    EXPECT_EQ(named(name), fmt::format("section 0: external file '{}' is no plain file name", name));
  EXPECT_EQ(messageAfter([](ModuleBuilder &b) { b.module.sections[1]->external_file = "x.weights"; }),
            "section 1: code is in the external file 'x.weights', allowed are weights");

  std::unique_ptr<ModuleBuilder> builder = soundBuilder();
  builder->module.sections[0]->external_file = "missing.weights";
  EXPECT_EQ(messageFor(builder->bytes(), VX_NOT_FOUND),
            fmt::format("section 0: {}: cannot be opened: No such file or directory", scratchPath("missing.weights")));

  const std::string weights = scratchPath("test.weights");
  format::SectionT &section = *builder->module.sections[0];
  section.external_file = "test.weights";
  const std::vector<uint8_t> inside = builder->bytes(); // fills the sections
  section.offset = 0;
  writeFile(weights, std::vector<uint8_t>(10));
  EXPECT_EQ(messageFor(builder->bytes(false)),
            "section 0: 256 bytes at 0 overlap the header of the external file 'test.weights'");
  section.offset = VX_SECTION_ALIGNMENT;
  EXPECT_EQ(messageFor(builder->bytes(false)),
            fmt::format("section 0: '{}' is no weights file of vx: it does not begin with 'VXWEIGHT'", weights));

  // The pair, and then whatever makes of it two files that do not belong together.
  auto pairedWith = [&](auto change, vx_code code = VX_INVALID_MODULE) {
    std::vector<uint8_t> file = packWeights(builder->sections[0]);
    vx_weights_header header = {};
    std::memcpy(&header, file.data(), sizeof(header));
    change(header, file);
    std::memcpy(file.data(), &header, std::min(sizeof(header), file.size()));
    writeFile(weights, file);
    return messageFor(builder->bytes(false), code);
  };
  using Header = vx_weights_header;
  using File = std::vector<uint8_t>;
  EXPECT_EQ(pairedWith([](Header &, File &) {}, VX_OK), "ok");
  EXPECT_EQ(
      pairedWith([](Header &header, File &) { header.data_hash = 0xabc; }),
      fmt::format("section 0: '{}' is not the weights file of this module: it holds 256 bytes at 4096 with the id "
                  "0000000000000abc, the module needs 256 bytes at 4096 with the id {:016x}",
                  weights, section.hash));
  EXPECT_EQ(
      pairedWith([](Header &header, File &) { header.data_size = 128; }),
      fmt::format("section 0: '{0}' is not the weights file of this module: it holds 128 bytes at 4096 with the id "
                  "{1:016x}, the module needs 256 bytes at 4096 with the id {1:016x}",
                  weights, section.hash));
  EXPECT_EQ(pairedWith([](Header &, File &file) { file.resize(100); }),
            fmt::format("section 0: '{}' is truncated: the file has 100 bytes, its header says 4352", weights));
  EXPECT_EQ(pairedWith([](Header &, File &file) { file.resize(5000); }),
            fmt::format("section 0: '{}' is too long: the file has 5000 bytes, its header says 4352", weights));
  EXPECT_EQ(pairedWith([](Header &header, File &file) { file.resize(header.file_size = 100); }),
            "section 0: 256 bytes at 4096 are outside the external file 'test.weights' of 100 bytes");
  EXPECT_EQ(pairedWith([](Header &header, File &) { header.abi_minor = VX_MODULE_ABI_MINOR + 1; }),
            fmt::format("section 0: '{0}' has the format version {1}.{2}, this runtime reads {1}.0 to {1}.{3}", weights,
                        VX_MODULE_ABI_MAJOR, VX_MODULE_ABI_MINOR + 1, VX_MODULE_ABI_MINOR));
  EXPECT_EQ(pairedWith([](Header &header, File &) { header.reserved[1] = 1; }),
            fmt::format("section 0: '{}': reserved words of its header are 0x0 and 0x1, expected 0", weights));
}

TEST(ModuleLoader, filesOfTheModel) {
  const std::string model = scratchPath("model.gguf");
  std::unique_ptr<ModuleBuilder> builder = soundBuilder();
  const std::vector<uint8_t> weights = builder->sections[0];
  format::SectionT &section = *builder->module.sections[0];
  format::ConstantT &constant = *builder->module.constants[0];
  ASSERT_EQ(builder->module.constants.size(), 1u);
  // A header of 12 bytes, the constant, and a byte after it.
  std::vector<uint8_t> file(12, 'h');
  file.insert(file.end(), weights.begin(), weights.end());
  file.push_back('e');
  section.external_file = "model.gguf";
  builder->bytes(); // fills in offsets, sizes, hashes
  section.offset = 0;
  section.size = file.size();
  section.hash = vx_hash64(file.data(), file.size());
  constant.offset = 12;
  section.reference = std::make_unique<format::ReferenceT>();
  const vx_file_range place = {12, constant.size};
  section.reference->samples = vx_hash64_samples(file.data(), file.size(), &place, 1);
  auto with = [&](const std::vector<uint8_t> &content, vx_code code = VX_INVALID_MODULE) {
    writeFile(model, content);
    return messageFor(builder->bytes(false), code);
  };
  EXPECT_EQ(with(file, VX_OK), "ok");
  const std::string changed = ", got 268 bytes: it was changed, so compile the model again";
  EXPECT_EQ(with({file.begin(), file.end() - 1}),
            fmt::format("section 0: expected the file of the model '{}' as it was compiled, 269 bytes at 0{}", model,
                        changed));
  for (size_t at : {0, 11, 12, 267}) {
    std::vector<uint8_t> other = file;
    other[at] ^= 1;
    EXPECT_TRUE(with(other).starts_with(
        fmt::format("section 0: expected the file of the model 'model.gguf' as it was compiled, with the id {:016x}, ",
                    section.reference->samples)))
        << at;
  }
  // No sample has the last byte; the hash of the whole file has.
  std::vector<uint8_t> other = file;
  other.back() ^= 1;
  EXPECT_EQ(with(other, VX_OK), "ok");
  Ref<Module> module;
  ASSERT_OK(Module::load(scratchPath("damaged.vxm"), module));
  EXPECT_NE(std::string(module->verifySection(0).message()).find("is damaged"), std::string::npos);

  // Another name for the constant, and then one that lies in the middle of it.
  builder->module.constants.push_back(std::make_unique<format::ConstantT>(constant));
  builder->module.constants.back()->name = "again";
  EXPECT_EQ(with(file, VX_OK), "ok");
  builder->module.constants.back()->offset = 8;
  EXPECT_EQ(with(file), "section 0: constant 'again' overlaps another one in the file 'model.gguf'");
  builder->module.constants.pop_back();

  auto damaged = [&](auto change) {
    const auto offset = section.offset, size = section.size, place = constant.offset;
    const std::string name = section.external_file;
    change();
    const std::string message = with(file);
    section.offset = offset;
    section.size = size;
    section.external_file = name;
    constant.offset = place;
    return message;
  };
  EXPECT_EQ(damaged([&] { section.external_file = ""; }),
            "section 0: is a file of the model, and has no name of a file");
  EXPECT_EQ(damaged([&] { section.external_file = "../model.gguf"; }),
            "section 0: external file '../model.gguf' is no plain file name");
  EXPECT_EQ(damaged([&] { section.offset = 4096; }),
            fmt::format("section 0: expected the file of the model '{}' as it was compiled, 269 bytes at 4096, got 269 "
                        "bytes: it was changed, so compile the model again",
                        model));
  EXPECT_EQ(damaged([&] { constant.offset = 13; }), "constant 0 'bias': offset 13 is no multiple of 4");
  EXPECT_EQ(damaged([&] { constant.offset = 16; }),
            "constant 0 'bias': 256 bytes at 16 are outside section 0 of 269 bytes");
}

TEST(ModuleLoader, functions) {
  EXPECT_EQ(messageAfter([](ModuleBuilder &b) { b.module.functions[0]->name = ""; }), "function 0 has no name");
  EXPECT_EQ(messageAfter([](ModuleBuilder &b) { b.module.functions[0]->name = std::string("a\0b", 3); }),
            "text 'a' has a zero byte inside");
  EXPECT_EQ(messageAfter([](ModuleBuilder &b) { b.module.functions[0]->inputs[0]->name = ""; }),
            "function 'main': input 0 has no name");
  EXPECT_EQ(messageAfter([](ModuleBuilder &b) { b.module.functions[0]->inputs[0]->type = nullptr; }),
            "function 'main': input 'x': type is missing");
  EXPECT_EQ(messageAfter([](ModuleBuilder &b) {
              b.module.functions[0]->inputs[0]->type->element_type = static_cast<format::ElementType>(99);
            }),
            "function 'main': input 'x': element type has the unknown number 99");
  EXPECT_EQ(messageAfter([](ModuleBuilder &b) {
              b.module.functions[0]->inputs[0]->type->kind = static_cast<format::ValueKind>(4);
            }),
            "function 'main': input 'x': kind of value has the unknown number 4");
  EXPECT_EQ(messageAfter([](ModuleBuilder &b) { b.module.functions[0]->inputs[0]->type->ranked = false; }),
            "function 'main': input 'x': tensor has no rank");
  EXPECT_EQ(messageAfter([](ModuleBuilder &b) { b.module.functions[0]->inputs[0]->type->dims[0] = symbolExpr(5); }),
            "function 'main': input 'x': dim 0: expression uses symbol 5, there are 1");
  EXPECT_EQ(messageAfter([](ModuleBuilder &b) {
              b.module.functions[0]->inputs[0]->type->dims[0]->nodes.resize(65537, {format::ExprOp::Constant, 0, 0, 1});
            }),
            "function 'main': input 'x': dim 0: expression has 65537 nodes, allowed are 65536");
  EXPECT_EQ(messageAfter([](ModuleBuilder &b) { b.module.functions[0]->inputs[0]->type->dims[0] = constantExpr(-4); }),
            "function 'main': input 'x': dim 0 has the negative size -4");
  EXPECT_EQ(messageAfter([](ModuleBuilder &b) {
              for (int i = 0; i < 64; ++i)
                b.module.functions[0]->inputs[0]->type->dims.push_back(constantExpr(1));
            }),
            "function 'main': input 'x': rank is 65, allowed are 64");
  EXPECT_EQ(messageAfter([](ModuleBuilder &b) {
              b.module.functions[0]->inputs.push_back(argument("x", format::ElementType::I32));
            }),
            "function 'main': two inputs have the name 'x'");
  EXPECT_EQ(messageAfter([](ModuleBuilder &b) { b.module.functions[0]->symbols.push_back(symbol("k")); }),
            "function 'main': symbol 'k' is the size of no input's dimension");
  auto constraint = [](uint8_t kind, uint32_t symbol, uint32_t site) {
    return messageAfter([=](ModuleBuilder &b) {
      b.addFaultSites(1);
      auto predicate = std::make_unique<format::PredicateT>();
      predicate->kind = static_cast<format::PredicateKind>(kind);
      predicate->lhs = symbolExpr(symbol);
      predicate->rhs = constantExpr(1);
      predicate->site = site;
      b.module.functions[0]->symbols.push_back(test::symbol("k", 0, INT64_MAX, 1, /*dataDependent=*/true));
      b.module.functions[0]->constraints.push_back(std::move(predicate));
    });
  };
  EXPECT_EQ(constraint(6, 0, 0), "function 'main': constraint 0: kind has the unknown number 6");
  EXPECT_EQ(constraint(0, 2, 0), "function 'main': constraint 0: left side: expression uses symbol 2, there are 2");
  EXPECT_EQ(constraint(0, 1, 0), "function 'main': constraint 0: symbol 'k' is bound by no input");
  EXPECT_EQ(constraint(0, 0, 1), "function 'main': constraint 0: site 1 does not exist, there are 1");
  EXPECT_EQ(messageAfter([](ModuleBuilder &b) { b.module.functions[0]->symbols[0]->max = -1; }),
            "function 'main': symbol 'n' has the range [0, -1]");
  EXPECT_EQ(messageAfter([](ModuleBuilder &b) { b.module.functions[0]->symbols[0]->multiple = 0; }),
            "function 'main': symbol 'n' is a multiple of 0, expected at least 1");
}

TEST(ModuleLoader, constantsAndVariables) {
  EXPECT_EQ(messageAfter([](ModuleBuilder &b) { b.module.constants[0]->section = 7; }),
            "constant 0 'bias': section 7 does not exist, there are 2");
  EXPECT_EQ(messageAfter([](ModuleBuilder &b) { b.module.constants[0]->section = 1; }),
            "constant 0 'bias': section 1 holds code, expected weights");
  EXPECT_EQ(messageAfter([](ModuleBuilder &b) { b.module.constants[0]->offset = UINT64_MAX; }),
            "constant 0 'bias': 256 bytes at 18446744073709551615 are outside section 0 of 256 bytes");
  EXPECT_EQ(messageAfter([](ModuleBuilder &b) { b.module.constants[0]->size = 257; }),
            "constant 0 'bias': 257 bytes at 0 are outside section 0 of 256 bytes");
  EXPECT_EQ(messageAfter([](ModuleBuilder &b) {
              b.module.constants[0]->offset = 4;
              b.module.constants[0]->size = 4;
            }),
            "constant 0 'bias': offset 4 is no multiple of 64");
  auto variable = [](uint64_t size, int32_t initial, std::vector<int64_t> dims) {
    return messageAfter([&](ModuleBuilder &b) { b.addVariable("v", format::ElementType::F32, dims, size, initial); });
  };
  EXPECT_EQ(variable(12, -1, {4}), "variable 'v': f32[4] needs 16 bytes, at 0 of storage 0 of 12 bytes");
  EXPECT_EQ(variable(16, 9, {4}), "variable 'v': initial constant 9 does not exist, there are 1");
  EXPECT_EQ(variable(16, 0, {4}), "variable 'v': initial constant 0 has 256 bytes of i32, the variable has 16 of f32");
  EXPECT_EQ(variable(16, -1, {-4}), "variable 'v': dims [-4] have the negative size -4");
  EXPECT_EQ(variable(4, -1, std::vector<int64_t>(65, 1)), "variable 'v': rank is 65, allowed are 64");
}

TEST(ModuleLoader, targets) {
  auto target = [](const std::function<void(format::TargetT &)> &damage) {
    return messageAfter([&](ModuleBuilder &b) { damage(*b.module.targets[0]); });
  };
  EXPECT_EQ(target([](format::TargetT &t) { t.name = ""; }), "target 0 has no name");
  EXPECT_EQ(target([](format::TargetT &t) { t.variants[0]->section = 5; }),
            "target 'cpu': variant 'baseline': section 5 does not exist, there are 2");
  EXPECT_EQ(target([](format::TargetT &t) { t.variants[0]->section = 0; }),
            "target 'cpu': variant 'baseline': section 0 holds weights, expected code");
  EXPECT_EQ(target([](format::TargetT &t) { t.variants[0]->entries.pop_back(); }),
            "target 'cpu': variant 'baseline': variant has 1 entry points, the target has 2 kernels");
  EXPECT_EQ(target([](format::TargetT &t) { t.variants[0]->entries[1] = ""; }),
            "target 'cpu': variant 'baseline': entry point 1 has no name");
  EXPECT_EQ(target([](format::TargetT &t) { t.variants[0]->offsets = {0, 4}; }),
            "target 'cpu': variant 'baseline': variant has 2 offsets, expected 3");
  EXPECT_EQ(target([](format::TargetT &t) { t.variants[0]->offsets = {0, 6, 8}; }),
            "target 'cpu': variant 'baseline': offset 6 of kernel 1 is no multiple of 4");
  std::string offsets = target([](format::TargetT &t) { t.variants[0]->offsets = {0, 8, 4}; });
  EXPECT_TRUE(offsets.starts_with("target 'cpu': variant 'baseline': offset 4 of kernel 2 is outside [8, ")) << offsets;
  EXPECT_EQ(target([](format::TargetT &t) {
              auto copy = std::make_unique<format::VariantT>(*t.variants[0]);
              t.variants.push_back(std::move(copy));
            }),
            "target 'cpu': two variants have the name 'baseline'");
  EXPECT_EQ(target([](format::TargetT &t) { t.kernels[0]->workgroup_size = {1, 1}; }),
            "target 'cpu': kernel 0 'scale_add': workgroup size has 2 numbers, expected 3");
  EXPECT_EQ(target([](format::TargetT &t) { t.kernels[0]->workgroup_size = {0, 1, 1}; }),
            "target 'cpu': kernel 0 'scale_add': workgroup size is 0 x 1 x 1, allowed are 1 to 4096 threads");
  EXPECT_EQ(target([](format::TargetT &t) { t.kernels[0]->buffers[1] = static_cast<format::Access>(8); }),
            "target 'cpu': kernel 0 'scale_add': buffer 1 has the unknown access 8");
  EXPECT_EQ(target([](format::TargetT &t) { t.kernels[0]->scalar_count = 5000; }),
            "target 'cpu': kernel 0 'scale_add': kernel takes 5000 scalars, allowed are 4096");
  EXPECT_EQ(target([](format::TargetT &t) { t.kernels[0]->buffer_types.pop_back(); }),
            "target 'cpu': kernel 0 'scale_add': kernel has types for 1 buffers, it takes 2");
  EXPECT_EQ(
      target([](format::TargetT &t) { t.kernels[0]->buffer_types[1]->element_type = format::ElementType::String; }),
      "target 'cpu': kernel 0 'scale_add': buffer 1 has the element type 24, which no kernel takes");
  EXPECT_EQ(target([](format::TargetT &t) { t.kernels[0]->buffer_types[1]->dims[0] = symbolExpr(2); }),
            "target 'cpu': kernel 0 'scale_add': buffer 1: dim 0: expression uses symbol 2, there are 2");
  EXPECT_EQ(target([](format::TargetT &t) { t.kernels[0]->flops = symbolExpr(2); }),
            "target 'cpu': kernel 0 'scale_add': flops: expression uses symbol 2, there are 2");
  EXPECT_EQ(target([](format::TargetT &t) { t.kernels[0]->bytes = symbolExpr(2); }),
            "target 'cpu': kernel 0 'scale_add': bytes: expression uses symbol 2, there are 2");
  EXPECT_EQ(target([](format::TargetT &t) { t.entries.clear(); }), "target 'cpu': function 'main' has no program");
  EXPECT_EQ(target([](format::TargetT &t) { t.entries[0]->function = 3; }),
            "target 'cpu': entry 0: function 3 does not exist, there are 1");
  EXPECT_EQ(target([](format::TargetT &t) { t.entries[0]->program = 3; }),
            "target 'cpu': entry 0: program 3 does not exist, there are 1");
  auto constrained = [&](uint32_t symbolIndex) {
    return target([&](format::TargetT &t) {
      auto constraint = std::make_unique<format::ConstraintT>();
      constraint->symbol = symbolIndex;
      constraint->min = constraint->max = 1;
      t.entries[0]->constraints.push_back(std::move(constraint));
    });
  };
  EXPECT_EQ(constrained(0), "target 'cpu': the last program of function 'main' has 1 constraints, expected none");
  EXPECT_EQ(constrained(6), "target 'cpu': entry 0: symbol 6 of function 'main' does not exist, there are 1");
}

TEST(ModuleLoader, programsFitTheirFunctions) {
  auto program = [](const std::function<void(format::ProgramT &)> &damage) {
    return messageAfter([&](ModuleBuilder &b) { damage(*b.module.programs[0]); });
  };
  EXPECT_EQ(program([](format::ProgramT &p) { p.body = nullptr; }), "program 0 'affine': program has no body");
  EXPECT_EQ(program([](format::ProgramT &p) { p.i64_registers = 1u << 30; }),
            "program 0 'affine': program has 1073741824 i64 registers, allowed are 1048576");
  EXPECT_EQ(program([](format::ProgramT &p) { p.results.clear(); }),
            "target 'cpu': entry 0: program 0 'affine' has 0 results, function 'main' has 1 outputs");
  EXPECT_EQ(program([](format::ProgramT &p) { p.results[0]->dims.push_back(0); }),
            "target 'cpu': entry 0: program 0 'affine' gives 2 dims for output 'y' of function 'main', expected 1");
  EXPECT_EQ(program([](format::ProgramT &p) { p.results[0]->buffer = -1; }),
            "program 0 'affine': result 0: expected a buffer or an object, the registers are -1 and -1");
  EXPECT_EQ(program([](format::ProgramT &p) { p.results[0]->buffer = 99; }),
            "program 0 'affine': result 0: buffer register 99 does not exist, there are 5");
  EXPECT_EQ(program([](format::ProgramT &p) { p.results[0]->dims[0] = 99; }),
            "program 0 'affine': result 0: i64 register 99 does not exist, there are 6");
  EXPECT_EQ(program([](format::ProgramT &p) {
              p.object_registers = 1;
              p.results[0] = listResult(0);
            }),
            "target 'cpu': entry 0: program 0 'affine' gives a list for output 'y' of function 'main', expected a "
            "tensor");
  EXPECT_EQ(messageAfter([](ModuleBuilder &b) {
              for (int i = 0; i < 9; ++i)
                b.module.functions[0]->inputs.push_back(argument("more" + std::to_string(i), format::ElementType::I32));
            }),
            "target 'cpu': entry 0: program 0 'affine' has 5 buffer registers, function 'main' needs 10 on entry");
  EXPECT_EQ(program([](format::ProgramT &p) { p.arena_size = exprOf({{format::ExprOp::Add, 0, 0, 0}}); }),
            "program 0 'affine': arena size: expression node 0 has node 0 for an operand, allowed are those before it");
  EXPECT_EQ(program([](format::ProgramT &p) { p.arena_lower_bound = exprOf({{format::ExprOp::Add, 0, 0, 0}}); }),
            "program 0 'affine': arena lower bound: expression node 0 has node 0 for an operand, allowed are those "
            "before it");
  EXPECT_EQ(program([](format::ProgramT &p) { p.arena_size = symbolExpr(3); }),
            "target 'cpu': entry 0: program 0 'affine' sizes its arena by symbol 3, function 'main' has 1");
}

TEST(ModuleLoader, instructions) {
  // Adds one instruction to the program; the message without "program 0 'affine': instruction 12 ".
  auto with = [](InstructionPtr added) {
    auto shared = std::make_shared<InstructionPtr>(std::move(added));
    std::string message =
        messageAfter([&](ModuleBuilder &b) { b.module.programs[0]->body->instructions.push_back(std::move(*shared)); });
    const std::string prefix = "program 0 'affine': instruction 12 ";
    EXPECT_TRUE(message.starts_with(prefix)) << message;
    return message.substr(std::min(prefix.size(), message.size()));
  };
  EXPECT_EQ(with(instruction(static_cast<Op>(77))), "has the unknown number 77");
  EXPECT_EQ(with(instruction(Op::Add, {0, 1})), "Add: there are 2 operands, expected 3");
  EXPECT_EQ(with(instruction(Op::Add, {0, 1, 2, 3})), "Add: there are 4 operands, expected 3");
  EXPECT_EQ(with(instruction(Op::Add, {0, 1, 6})), "Add: operand 2: i64 register 6 does not exist, there are 6");
  EXPECT_EQ(with(instruction(Op::MoveBuffer, {5, 0})),
            "MoveBuffer: operand 0: buffer register 5 does not exist, there are 5");
  EXPECT_EQ(with(instruction(Op::ListEmpty, {0})),
            "ListEmpty: operand 0: object register 0 does not exist, there are 0");
  EXPECT_EQ(with(instruction(Op::ListInsert, {0, 0, 0})), "ListInsert: there are 3 operands, expected at least 4");
  EXPECT_EQ(with(instruction(Op::ListInsert, std::vector<uint32_t>(69, 0))),
            "ListInsert: there are 69 operands, allowed are 68");
  EXPECT_EQ(with(instruction(Op::Constant, {0}, 1)), "Constant: constant 1 does not exist, there are 1");
  EXPECT_EQ(with(instruction(Op::Constant, {0}, -1)), "Constant: constant -1 does not exist, there are 1");
  EXPECT_EQ(with(instruction(Op::Variable, {0}, 0)), "Variable: variable 0 does not exist, there are 0");
  EXPECT_EQ(with(instruction(Op::Error, {0, 0, 0}, 2)), "Error: site 2 does not exist, there are 0");
  EXPECT_EQ(with(instruction(Op::Check, {0, 0}, 0)), "Check: there is no site, expected one");
  EXPECT_EQ(with(instruction(Op::CheckFaults, {}, 0, 4)), "CheckFaults: site 4 does not exist, there are 0");
  EXPECT_EQ(with(instruction(Op::ReadI64, {0, 0, 0}, VX_F32)),
            "ReadI64: element type is f32, allowed are bool, i32 and i64");
  EXPECT_EQ(with(instruction(Op::ReadI64, {0, 0, 0}, int64_t(-1))),
            "ReadI64: element type is none, allowed are bool, i32 and i64");
  EXPECT_EQ(with(instruction(Op::ReadInput, {6}, 0)),
            "ReadInput: operand 0: i64 register 6 does not exist, there are 6");
  EXPECT_EQ(with(instruction(Op::If, {0})), "If: there are 0 blocks, expected 2");
  EXPECT_EQ(with(ifElse(0, block(), block(instruction(Op::MoveI64, {0, 9})))),
            "If: block 1: instruction 0 MoveI64: operand 1: i64 register 9 does not exist, there are 6");
  EXPECT_EQ(with(segment(dispatch(ScaleAdd, 9, {0, 1}, {0, 0}))),
            "Segment: command 0: workgroups: i64 register 9 does not exist, there are 6");
  EXPECT_EQ(with(segment(dispatch(ScaleAdd, 0, {0, 9}, {0, 0}))),
            "Segment: command 0: buffer 1: buffer register 9 does not exist, there are 5");
  EXPECT_EQ(with(segment(dispatch(ScaleAdd, 0, {0, 1}, {0, 9}))),
            "Segment: command 0: scalar 1: i64 register 9 does not exist, there are 6");
  EXPECT_EQ(with(segment(dispatch(ScaleAdd, 0, {0, 1}, {0, 0}, true, 9))),
            "Segment: command 0: workspace: buffer register 9 does not exist, there are 5");
  EXPECT_EQ(with(segment(dispatch(ScaleAdd, 0, {0, 1}, {0, 0}, true, -2))),
            "Segment: command 0: workspace is -2, expected a register or -1");
  EXPECT_EQ(with(segment(dispatch(ScaleAdd, 0, std::vector<uint32_t>(4097, 0), {0, 0}))),
            "Segment: command 0: there are 4097 buffers, allowed are 4096");
  InstructionPtr oneSided = segment(copy(0, 1));
  oneSided->commands[0]->buffers.pop_back();
  EXPECT_EQ(with(std::move(oneSided)), "Segment: command 0: copy has 1 buffers, expected 2");
  InstructionPtr unknown = segment(copy(0, 1));
  unknown->commands[0]->kind = static_cast<format::CommandKind>(4);
  EXPECT_EQ(with(std::move(unknown)), "Segment: command 0: kind has the unknown number 4");
  InstructionPtr withCommands = instruction(Op::CheckFaults);
  withCommands->commands.push_back(copy(0, 1));
  EXPECT_EQ(with(std::move(withCommands)), "CheckFaults: there are 1 commands, expected none");
}

TEST(ModuleLoader, dispatchesFitTheirKernels) {
  auto with = [](CommandPtr command) {
    auto shared = std::make_shared<CommandPtr>(std::move(command));
    std::string message = messageAfter(
        [&](ModuleBuilder &b) { b.module.programs[0]->body->instructions.push_back(segment(std::move(*shared))); });
    const std::string prefix = "target 'cpu': entry 0: program 0 'affine': instruction 12 Segment: command 0: ";
    EXPECT_TRUE(message.starts_with(prefix)) << message;
    return message.substr(std::min(prefix.size(), message.size()));
  };
  EXPECT_EQ(with(dispatch(2, 0, {}, {})), "kernel 2 does not exist, there are 2");
  EXPECT_EQ(with(dispatch(ScaleAdd, 0, {0}, {0, 0})), "kernel 'scale_add' takes 2 buffers, the dispatch has 1");
  EXPECT_EQ(with(dispatch(ScaleAdd, 0, {0, 0}, {0})), "kernel 'scale_add' takes 2 scalars, the dispatch has 1");
}

TEST(ModuleLoader, dispatchesNameNodes) {
  const std::string message =
      messageAfter([](ModuleBuilder &b) { b.module.programs[0]->body->instructions.back()->commands[1]->nodes = {1}; });
  EXPECT_TRUE(message.ends_with("command 1: source node 1 does not exist, there are 0")) << message;
}

TEST(ModuleLoader, nesting) {
  auto nested = [](int depth) {
    return messageAfter([&](ModuleBuilder &b) {
      BlockPtr inner = block();
      for (int i = 0; i < depth; ++i)
        inner = block(whileLoop(0, std::move(inner)));
      b.module.programs[0]->body->instructions.push_back(whileLoop(0, std::move(inner)));
    });
  };
  EXPECT_NE(nested(63).find("blocks are nested more than 64 deep"), std::string::npos);
  std::unique_ptr<ModuleBuilder> builder = soundBuilder();
  BlockPtr inner = block();
  for (int i = 0; i < 62; ++i)
    inner = block(whileLoop(0, std::move(inner)));
  builder->module.programs[0]->body->instructions.push_back(whileLoop(0, std::move(inner)));
  EXPECT_EQ(messageFor(builder->bytes(), VX_OK), "ok");
  // Far beyond, the structure check already refuses.
  EXPECT_NE(nested(1000).find("is not well-formed"), std::string::npos);
}

TEST(ModuleLoader, sharedTablesDoNotExplode) {
  // Each block has the next one twice: 2^60 instructions when written out.
  flatbuffers::FlatBufferBuilder builder;
  std::vector<flatbuffers::Offset<format::Instruction>> none;
  flatbuffers::Offset<format::Block> body = format::CreateBlockDirect(builder, &none);
  uint32_t condition = 0;
  for (int i = 0; i < 60; ++i) {
    std::vector<flatbuffers::Offset<format::Block>> blocks = {body, body};
    std::vector<uint32_t> operands = {condition};
    std::vector<flatbuffers::Offset<format::Instruction>> instructions = {
        format::CreateInstructionDirect(builder, format::Op::If, &operands, 0, &blocks)};
    body = format::CreateBlockDirect(builder, &instructions);
  }
  std::vector<flatbuffers::Offset<format::Program>> programs = {
      format::CreateProgramDirect(builder, "bomb", 1, 0, 0, body)};
  builder.Finish(format::CreateModuleDirect(builder, "test", "bomb", nullptr, nullptr, nullptr, nullptr, nullptr,
                                            nullptr, &programs),
                 format::ModuleIdentifier());
  std::vector<uint8_t> metadata(builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize());
  EXPECT_EQ(messageFor(packFile(metadata, {}, {})),
            fmt::format("metadata of {} bytes is not well-formed", metadata.size()));
}

// A list of 8-byte numbers that begins between two of them is well-formed for FlatBuffers.
TEST(ModuleLoader, misplacedNumbers) {
  format::ModuleT module;
  module.producer = module.name = "test";
  module.variables.push_back(std::make_unique<format::VariableT>());
  module.variables.front()->name = "state";
  module.variables.front()->element_type = format::ElementType::I8;
  module.variables.front()->dims.push_back(symbolExpr(0));
  module.storages.push_back(std::make_unique<format::StorageT>());
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(format::Module::Pack(builder, &module), format::ModuleIdentifier());
  const auto *variable =
      reinterpret_cast<const flatbuffers::Table *>(format::GetModule(builder.GetBufferPointer())->variables()->Get(0));
  // 4 bytes on lie the node's operation as the count, 1, and its left side as the begin of the first node.
  const auto *dim = reinterpret_cast<const flatbuffers::Table *>(
      reinterpret_cast<const format::Variable *>(variable)->dims()->Get(0));
  auto *place = const_cast<uint8_t *>(dim->GetAddressOf(format::Expr::VT_NODES));
  flatbuffers::WriteScalar(place, flatbuffers::ReadScalar<flatbuffers::uoffset_t>(place) + 4);
  EXPECT_EQ(messageFor(packFile({builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize()}, {}, {})),
            "variable 'state': dim 0: nodes of an expression lie 4 bytes past a multiple of 8, expected 0");
}

TEST(ModuleLoader, damagedSectionIsFoundBeforeItRuns) {
  std::unique_ptr<ModuleBuilder> builder = soundBuilder();
  std::vector<uint8_t> bytes = builder->bytes();
  const format::SectionT &code = *builder->module.sections[1];
  bytes[code.offset + 100] ^= 1;
  std::string path = scratchPath("damaged_code.vxm");
  writeFile(path, bytes);
  Ref<Instance> instance;
  EXPECT_FAILS(makeInstance(path, "cpu", instance), VX_INVALID_MODULE,
               fmt::format("{}: section 1 (code, {} bytes at {}) is damaged: its hash is {:016x}, the metadata says "
                           "{:016x}",
                           path, code.size, code.offset, vx_hash64(bytes.data() + code.offset, code.size), code.hash));
}

} // namespace vx::test
