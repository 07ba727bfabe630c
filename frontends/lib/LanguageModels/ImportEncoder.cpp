#include "vx/Frontend/LanguageModels/LanguageModel.h"

#include "Families.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace vx {

int64_t readSize(ConfigFile &config, llvm::StringRef key, int64_t most) {
  std::optional<int64_t> size = config.getCount(key);
  if (size && (*size < 1 || *size > most))
    config.fail(key, "a number from 1 to " + llvm::Twine(most), *config.lookup(key));
  else if (!size)
    config.failAt(key, "expected a number, got none");
  return size && *size >= 1 && *size <= most ? *size : 1;
}

double readPositive(ConfigFile &config, llvm::StringRef key, std::optional<double> otherwise) {
  std::optional<double> number = config.getNumber(key);
  if (number && !(*number > 0 && *number < 1e30))
    config.fail(key, "a number above 0", *config.lookup(key));
  else if (!number && !otherwise)
    config.failAt(key, "expected a number above 0, got none");
  return number && *number > 0 ? *number : otherwise.value_or(1);
}

llvm::ArrayRef<llvm::StringRef> getUnusedKeys() {
  static constexpr llvm::StringRef keys[] = {
      // Training, and the form of what transformers returns.
      "attention_dropout", "attn_pdrop", "attention_probs_dropout_prob", "classifier_dropout", "embd_pdrop",
      "gradient_checkpointing", "hidden_dropout", "hidden_dropout_prob", "initializer_range", "output_attentions",
      "output_hidden_states", "output_past", "pretraining_tp", "problem_type", "resid_pdrop", "return_dict",
      "torchscript", "use_cache",
      // Heads of other tasks.
      "directionality", "finetuning_task", "id2label", "label2id", "num_labels", "pooler_fc_size",
      "pooler_num_attention_heads", "pooler_num_fc_layers", "pooler_size_per_head", "pooler_type", "summary_activation",
      "summary_first_dropout", "summary_proj_to_labels", "summary_type", "summary_use_proj", "task_specific_params",
      // Of the tokenizer, or read beside the model.
      "bos_token_id", "cls_token_id", "eos_token_id", "is_matryoshka", "mask_token_id", "matryoshka_dimensions",
      "model_max_length", "sep_token_id", "tokenizer_class", "unk_token_id",
      // Names, versions, and the storage of weights, which have a type of their own.
      "_attn_implementation_autoset", "_name_or_path", "architectures", "auto_map", "chunk_size_feed_forward", "dtype",
      "model_type", "name_or_path", "torch_dtype", "transformers_version", "transformers.js_config"};
  return keys;
}

std::string findWeights(llvm::StringRef folder) { return WeightFiles::findIn(folder); }

namespace {

constexpr llvm::StringRef kEncoders[] = {"bert", "roberta", "xlm-roberta", "camembert", "nomic_bert"};

/// Tensors of heads that a model of embeddings does not use, and tables that follow from the settings.
constexpr llvm::StringRef kUnusedTensors[] = {"pooler.",
                                              "cls.",
                                              "classifier.",
                                              "lm_head.",
                                              "bert.pooler",
                                              "roberta.pooler",
                                              "nomic_bert.pooler",
                                              "qa_outputs.",
                                              "embeddings.position_ids",
                                              "bert.embeddings.position_ids",
                                              "roberta.embeddings.position_ids"};

llvm::Expected<OwningOpRef<ModuleOp>> buildEncoder(MLIRContext &context, llvm::StringRef folder, ModelFiles &files) {
  const std::string path = joinPath(folder, "config.json");
  llvm::Expected<ConfigFile> config = ConfigFile::read(path);
  if (!config)
    return config.takeError();
  if (!config->exists())
    return makeConfigError(path + ": expected the settings of the model, got no such file");
  const std::string type = config->getString("model_type").value_or("");
  if (llvm::Error error = config->takeError())
    return error;
  if (!llvm::is_contained(kEncoders, llvm::StringRef(type))) {
    config->failAt("model_type", "expected one of " + llvm::join(llvm::ArrayRef(kEncoders), ", ") + ", got " +
                                     (type.empty() ? "none" : "\"" + type + "\"") +
                                     "; a model of another family needs an ONNX file, model.onnx");
    return config->takeError();
  }
  llvm::Expected<WeightFiles> weights = WeightFiles::openFolder(folder);
  if (!weights)
    return weights.takeError();
  files.paths.push_back(config->getName());
  weights->addTo(files);
  ModelBuilder model(context, *weights, type);
  if (type == "nomic_bert")
    buildNomicBert(model, *config);
  else
    buildBert(model, *config, type);
  if (std::string tensor = model.hasFailed() ? "" : weights->findUnread(kUnusedTensors); !tensor.empty())
    model.fail(weights->getName() + ": tensor '" + tensor + "' is not one of the family " + type +
               ": the model may have parts that are not supported");
  OwningOpRef<ModuleOp> module = model.finish();
  if (!module)
    return makeConfigError(model.getProblem());
  return std::move(module);
}

} // namespace

OwningOpRef<ModuleOp> importEncoder(MLIRContext &context, llvm::StringRef folder, ModelFiles &files,
                                    std::string &error) {
  llvm::Expected<OwningOpRef<ModuleOp>> module = buildEncoder(context, folder, files);
  if (module)
    return std::move(*module);
  error = llvm::toString(module.takeError());
  return {};
}

} // namespace vx
