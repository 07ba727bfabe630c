#include "embedding_module.h"

#include "module_builder.h"

namespace vx::test {

namespace {

using format::Access;
using format::ElementType;

constexpr int64_t Width = 4;

// `most`: how many tokens of a text count.
void addFunction(ModuleBuilder &builder, const std::string &name, int64_t most, const ModuleOptions &options) {
  format::FunctionT &function = builder.function(name);
  function.symbols.push_back(symbol("batch", 1));
  function.symbols.push_back(symbol("sequence", 1));
  for (const char *input : {"input_ids", "attention_mask"})
    function.inputs.push_back(argument(input, ElementType::I32, symbolExpr(0), symbolExpr(1)));
  for (const char *output : {"embedding", "unit_embedding"}) {
    function.outputs.push_back(argument(output, ElementType::F32, symbolExpr(0), constantExpr(Width)));
    if (options.joins)
      function.outputs.back()->rows = 0;
    else
      function.outputs.back()->reason = "scale (Quantize): needs more than its own row";
  }
  function.batch = std::make_unique<format::BatchT>();
  function.batch->inputs = {0, 1};
  // i64: 0 batch, 1 sequence, 2 width, 3 bytes, 4 most, 5 salt, 6 work; buffers: 0 ids, 1 mask, 2 embedding, 3 unit
  BlockPtr body = block(instruction(Op::ConstI64, {2}, Width), instruction(Op::ConstI64, {3}, Width * 4),
                        instruction(Op::Mul, {3, 0, 3}), instruction(Op::ConstI64, {4}, most),
                        instruction(Op::ConstI64, {5}, options.salt), instruction(Op::ConstI64, {6}, options.work),
                        instruction(Op::Allocate, {2, 3}), instruction(Op::Allocate, {3, 3}),
                        segment(dispatch(0, 0, {0, 1, 2, 3}, {0, 1, 4, 5, 6})));
  format::ProgramT &program = builder.program(name, 7, 4, 0, std::move(body));
  for (int32_t result : {2, 3})
    program.results.push_back(tensorResult(result, {0, 2}));
}

struct KernelBuffer {
  ElementType type;
  format::Access access;
  std::vector<int64_t> dims; // numbers of scalars; below 0: a constant
};

void addKernel(ModuleBuilder &builder, const std::string &name, const std::vector<KernelBuffer> &buffers,
               uint32_t scalars) {
  if (builder.module.targets.empty()) {
    builder.module.targets.push_back(std::make_unique<format::TargetT>());
    format::TargetT &target = *builder.module.targets.back();
    target.name = "cpu";
#if defined(__aarch64__)
    target.triple = "aarch64-unknown-linux-gnu";
#else
    target.triple = "x86_64-unknown-linux-gnu";
#endif
    auto variant = std::make_unique<format::VariantT>();
    variant->name = "baseline";
    variant->section = builder.addSection(format::SectionKind::Code, readFile(VX_TEST_EMBED_IMAGE));
    target.variants.push_back(std::move(variant));
    for (uint32_t i = 0; i < builder.module.functions.size(); ++i) {
      auto entry = std::make_unique<format::EntryT>();
      entry->function = entry->program = i;
      target.entries.push_back(std::move(entry));
    }
  }
  format::TargetT &target = *builder.module.targets.back();
  auto kernel = std::make_unique<format::KernelT>();
  kernel->name = name;
  kernel->key = "key_" + name;
  kernel->sources = {name + " (Test)"};
  kernel->scalar_count = scalars;
  kernel->workgroup_size = {1, 1, 1};
  for (const KernelBuffer &buffer : buffers) {
    kernel->buffers.push_back(buffer.access);
    kernel->buffer_types.push_back(std::make_unique<format::BufferTypeT>());
    kernel->buffer_types.back()->element_type = buffer.type;
    for (int64_t dim : buffer.dims)
      kernel->buffer_types.back()->dims.push_back(dim < 0 ? constantExpr(-dim) : symbolExpr(dim));
  }
  kernel->workgroups = symbolExpr(0);
  target.kernels.push_back(std::move(kernel));
  target.variants.back()->entries.push_back(name);
}

void addAsset(ModuleBuilder &builder, const std::string &name, const std::string &text) {
  auto asset = std::make_unique<format::AssetT>();
  asset->name = name;
  asset->section = builder.addSection(format::SectionKind::Assets, {text.begin(), text.end()});
  asset->size = text.size();
  builder.module.assets.push_back(std::move(asset));
}

} // namespace

std::string writeEmbeddingModule(const std::string &name, const ModuleOptions &options) {
  ModuleBuilder builder;
  addFunction(builder, "embed_mean", INT64_MAX, options);
  addFunction(builder, "embed_cls", 1, options);
  addFunction(builder, "count_texts", -1, {.joins = false, .salt = options.salt, .work = options.work});
  addKernel(builder, "embed",
            {{ElementType::I32, Access::Read, {0, 1}},
             {ElementType::I32, Access::Read, {0, 1}},
             {ElementType::F32, Access::Write, {0, -Width}},
             {ElementType::F32, Access::Write, {0, -Width}}},
            5);
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

std::string writeMixModule(const std::string &name, const ModuleOptions &options) {
  ModuleBuilder builder;
  for (int64_t number : {0, 1}) {
    const std::string functionName = number == 0 ? "mix" : "mix_more";
    format::FunctionT &function = builder.function(functionName);
    for (const char *size : {"batch", "width", "rows", "columns"})
      function.symbols.push_back(symbol(size, 1));
    function.inputs.push_back(argument("x", ElementType::F32, symbolExpr(0), symbolExpr(1)));
    function.inputs.push_back(argument("table", ElementType::F32, symbolExpr(2), symbolExpr(3)));
    function.outputs.push_back(argument("y", ElementType::F32, symbolExpr(0), symbolExpr(1)));
    if (options.joins)
      function.outputs.back()->rows = 0;
    else
      function.outputs.back()->reason = "mix (Test): needs more than its own row";
    function.batch = std::make_unique<format::BatchT>();
    function.batch->inputs = {0};
    // i64: 0 batch, 1 width, 2 rows, 3 columns, 4 bytes, 5 four, 6 salt, 7 work; buffers: 0 x, 1 table, 2 y
    BlockPtr body =
        block(instruction(Op::ConstI64, {5}, 4), instruction(Op::Mul, {4, 0, 1}), instruction(Op::Mul, {4, 4, 5}),
              instruction(Op::ConstI64, {6}, options.salt + 100 * number), instruction(Op::ConstI64, {7}, options.work),
              instruction(Op::Allocate, {2, 4}), segment(dispatch(0, 0, {0, 1, 2}, {0, 1, 2, 3, 6, 7})));
    format::ProgramT &program = builder.program(functionName, 8, 3, 0, std::move(body));
    program.results.push_back(tensorResult(2, {0, 1}));
  }
  addKernel(builder, "mix",
            {{ElementType::F32, Access::Read, {0, 1}},
             {ElementType::F32, Access::Read, {2, 3}},
             {ElementType::F32, Access::Write, {0, 1}}},
            6);
  return builder.write(name);
}

} // namespace vx::test
