#include "embedding_module.h"

#include "module_builder.h"

namespace vx::test {

namespace {

using format::Access;
using format::ElementType;

constexpr int64_t Width = 4;

// `most`: how many tokens of a text count. With `joins` the rows do not depend on one another, or it is not known.
void addFunction(ModuleBuilder &builder, const std::string &name, int64_t most, bool joins) {
  format::FunctionT &function = builder.function(name);
  function.symbols.push_back(symbol("batch", 1));
  function.symbols.push_back(symbol("sequence", 1));
  for (const char *input : {"input_ids", "attention_mask"})
    function.inputs.push_back(argument(input, ElementType::I32, symbolExpr(0), symbolExpr(1)));
  for (const char *output : {"embedding", "unit_embedding"}) {
    function.outputs.push_back(argument(output, ElementType::F32, symbolExpr(0), constantExpr(Width)));
    if (joins)
      function.outputs.back()->rows = 0;
    else
      function.outputs.back()->reason = "scale (Quantize): needs more than its own row";
  }
  function.batch = std::make_unique<format::BatchT>();
  function.batch->inputs = {0, 1};
  // i64: 0 batch, 1 sequence, 2 width, 3 bytes, 4 most; buffers: 0 ids, 1 mask, 2 embedding, 3 unit
  BlockPtr body =
      block(instruction(Op::ConstI64, {2}, Width), instruction(Op::ConstI64, {3}, Width * 4),
            instruction(Op::Mul, {3, 0, 3}), instruction(Op::ConstI64, {4}, most), instruction(Op::Allocate, {2, 3}),
            instruction(Op::Allocate, {3, 3}), segment(dispatch(0, 0, {0, 1, 2, 3}, {0, 1, 4})));
  format::ProgramT &program = builder.program(name, 5, 4, 0, std::move(body));
  for (int32_t result : {2, 3})
    program.results.push_back(tensorResult(result, {0, 2}));
}

void addTarget(ModuleBuilder &builder) {
  builder.module.targets.push_back(std::make_unique<format::TargetT>());
  format::TargetT &target = *builder.module.targets.back();
  target.name = "cpu";
#if defined(__aarch64__)
  target.triple = "aarch64-unknown-linux-gnu";
#else
  target.triple = "x86_64-unknown-linux-gnu";
#endif
  auto kernel = std::make_unique<format::KernelT>();
  kernel->name = "embed";
  kernel->key = "key_embed";
  kernel->sources = {"embed (Test)"};
  kernel->buffers = {Access::Read, Access::Read, Access::Write, Access::Write};
  kernel->scalar_count = 3;
  kernel->workgroup_size = {1, 1, 1};
  for (int i = 0; i < 4; ++i) {
    kernel->buffer_types.push_back(std::make_unique<format::BufferTypeT>());
    kernel->buffer_types.back()->element_type = i < 2 ? ElementType::I32 : ElementType::F32;
    kernel->buffer_types.back()->dims.push_back(symbolExpr(0));
    kernel->buffer_types.back()->dims.push_back(i < 2 ? symbolExpr(1) : constantExpr(Width));
  }
  kernel->workgroups = symbolExpr(0);
  target.kernels.push_back(std::move(kernel));
  auto variant = std::make_unique<format::VariantT>();
  variant->name = "baseline";
  variant->entries = {"embed"};
  variant->section = builder.addSection(format::SectionKind::Code, readFile(VX_TEST_EMBED_IMAGE));
  target.variants.push_back(std::move(variant));
  for (uint32_t i = 0; i < builder.module.functions.size(); ++i) {
    auto entry = std::make_unique<format::EntryT>();
    entry->function = entry->program = i;
    target.entries.push_back(std::move(entry));
  }
}

void addAsset(ModuleBuilder &builder, const std::string &name, const std::string &text) {
  auto asset = std::make_unique<format::AssetT>();
  asset->name = name;
  asset->section = builder.addSection(format::SectionKind::Assets, {text.begin(), text.end()});
  asset->size = text.size();
  builder.module.assets.push_back(std::move(asset));
}

} // namespace

std::string writeEmbeddingModule(const std::string &name, bool joins) {
  ModuleBuilder builder;
  addFunction(builder, "embed_mean", INT64_MAX, joins);
  addFunction(builder, "embed_cls", 1, joins);
  addFunction(builder, "count_texts", -1, false);
  addTarget(builder);
  addAsset(builder, "embedding.json",
           R"({"version":1,"name":"letters","pooling":"mean","normalize":true,"max_tokens":16,
    "padding":0,"lowercase":false,"prompts":{"query":"q "},"default_prompt":"","can_shorten":true,
    "shorter_dimensions":[],"tokenizer":{"asset":"vocab.txt"}})");
  std::string vocabulary = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n";
  for (char letter = 'a'; letter <= 'z'; ++letter)
    vocabulary += {letter, '\n'};
  addAsset(builder, "vocab.txt", vocabulary);
  return builder.write(name);
}

} // namespace vx::test
