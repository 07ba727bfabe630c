// The chat template of a model, and the texts of the tokens that it names.
#ifndef VX_LIB_LANGUAGEMODELS_CHATTEMPLATEFILE_H
#define VX_LIB_LANGUAGEMODELS_CHATTEMPLATEFILE_H

#include "vx/Frontend/Parts/ConfigFile.h"
#include "vx/base/gguf.h"

#include <map>

namespace vx {

struct ChatTemplateFile {
  std::string source; // empty: the model has none
  /// "bos_token" and others: variables of the template.
  std::map<std::string, std::string> tokens;
};

/// Reads chat_template.jinja, or else the key chat_template of tokenizer_config.json, and the texts of special tokens.
/// Of several templates the one with the name "default" is taken. Adds the files that were read to `files`.
llvm::Expected<ChatTemplateFile> readChatTemplate(llvm::StringRef folder, std::vector<std::string> &files);

/// Reads the keys tokenizer.chat_template and tokenizer.ggml.*_token_id.
ChatTemplateFile readChatTemplate(const GgufModel &model);

} // namespace vx

#endif
