// The families of models: each reads its settings, and builds its functions.
#ifndef VX_LIB_LANGUAGEMODELS_FAMILIES_H
#define VX_LIB_LANGUAGEMODELS_FAMILIES_H

#include "Decoder.h"
#include "RotaryScaling.h"
#include "vx/base/gguf.h"

namespace vx {

class GgufSettings;
struct LanguageModel;

/// Reads a size of a model from its config.json: a whole number from 1 to `most`. Fails the file without it.
int64_t readSize(ConfigFile &config, llvm::StringRef key, int64_t most = int64_t(1) << 30);
/// Reads a number above 0, or returns `otherwise`; fails the file if there is neither.
double readPositive(ConfigFile &config, llvm::StringRef key, std::optional<double> otherwise = std::nullopt);
/// Keys of config.json that have no effect on the results of a model that is only run.
llvm::ArrayRef<llvm::StringRef> getUnusedKeys();

/// BERT, RoBERTa, XLM-R and CamemBERT: the function "main" of input_ids, attention_mask and, with two kinds of
/// segments, token_type_ids, all i64 [batch, sequence]. Its result last_hidden_state is f32 [batch, sequence, width].
/// Errors are those of `config` and of `model`.
void buildBert(ModelBuilder &model, ConfigFile &config, llvm::StringRef type);

/// Nomic's BERT, with the same function.
void buildNomicBert(ModelBuilder &model, ConfigFile &config);
struct EncoderFacts {
  std::string pooling; // "mean", "cls" or "last"
  int64_t width = 0, context = 0, words = 0;
};
/// The same of a GGUF file, which says how the vectors of tokens become one.
EncoderFacts buildNomicBert(ModelBuilder &model, const GgufModel &file);
/// The whole model of embeddings of a GGUF file, with its assets. Null for a failure, which is `model`'s.
mlir::OwningOpRef<mlir::ModuleOp> importEncoderFile(ModelBuilder &model, const GgufModel &file, llvm::StringRef path,
                                                    LanguageModel &result);

/// The sizes that families with rotary positions have in common.
void readSizes(ConfigFile &config, DecoderSettings &s);
/// The same of a config with the keys of GPT-2, and the epsilon of its norms.
void readGpt2Sizes(ConfigFile &config, DecoderSettings &s);
/// Of families with root-mean-square norms.
void readNormAndBias(ConfigFile &config, DecoderSettings &s);
void readActivation(ConfigFile &config, llvm::StringRef key, llvm::StringRef otherwise, DecoderSettings &s);
/// The positions of all layers; `partial` of each head turns where the file does not say it.
void readRotary(ConfigFile &config, DecoderSettings &s, double partial, double theta = 10000);
/// The same sizes of a GGUF file. Errors are those of its model.
void readSizes(GgufSettings &keys, DecoderSettings &s);
/// The positions of all layers. Returns how many elements of a head turn.
int64_t readRotary(ModelBuilder &model, GgufSettings &keys, double theta, DecoderSettings &s);
/// The size of the vocabulary, which the table of embeddings gives.
void readWords(ModelBuilder &model, GgufSettings &keys, DecoderSettings &s);

/// Llama, Mistral, Phi 3, Qwen2 and Qwen3; the others have functions of their own. Errors are those of the file.
DecoderSettings readDecoder(ConfigFile &config, llvm::StringRef type);
DecoderSettings readGemma3(ConfigFile &config);
/// What only Gemma 3 has; `turned` elements of a head turn.
void readGemma3(GgufSettings &keys, int64_t turned, DecoderSettings &s);
/// Llama, Phi 3, Qwen2, Qwen3 and Gemma 3, with the keys of `architecture` and the names of tensors that llama.cpp's
/// converter writes. Errors are those of `model`.
DecoderSettings readDecoder(ModelBuilder &model, const GgufModel &file, const std::string &architecture);
DecoderSettings readGpt2(ConfigFile &config);
DecoderSettings readGpt2(ModelBuilder &model, const GgufModel &file);
DecoderSettings readPhi2(ConfigFile &config);
DecoderSettings readPhi2(ModelBuilder &model, const GgufModel &file);

} // namespace vx

#endif
