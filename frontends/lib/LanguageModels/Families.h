// The families of models: each reads its settings, and builds its functions.
#ifndef VX_LIB_LANGUAGEMODELS_FAMILIES_H
#define VX_LIB_LANGUAGEMODELS_FAMILIES_H

#include "Decoder.h"
#include "vx/Frontend/Parts/ConfigFile.h"
#include "vx/base/gguf.h"

namespace vx {

class GgufSettings;

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

/// The sizes, the epsilon and the biases that families with rotary positions have in common.
void readSizes(ConfigFile &config, DecoderSettings &s);
void readActivation(ConfigFile &config, llvm::StringRef key, llvm::StringRef otherwise, DecoderSettings &s);
/// The angles of pairs by an object with "rope_type", which messages call `name`; null: of the default type.
std::vector<double> readFrequencies(ConfigFile &config, const std::string &name, const llvm::json::Value *value,
                                    double theta, double partial, const DecoderSettings &s);

/// Llama, Mistral, Qwen2, Qwen3, Gemma 3 and GPT-2. Errors are those of the file.
DecoderSettings readDecoder(ConfigFile &config, llvm::StringRef type);
DecoderSettings readGemma3(ConfigFile &config);
/// What only Gemma 3 has; `turned` elements of a head turn.
void readGemma3(GgufSettings &keys, int64_t turned, DecoderSettings &s);
/// Llama, Qwen2, Qwen3, Gemma 3 and GPT-2, with the keys of `architecture` and the names of tensors that llama.cpp's
/// converter writes. Errors are those of `model`.
DecoderSettings readDecoder(ModelBuilder &model, const GgufModel &file, const std::string &architecture);
DecoderSettings readGpt2(ConfigFile &config);
DecoderSettings readGpt2(ModelBuilder &model, const GgufModel &file);

} // namespace vx

#endif
