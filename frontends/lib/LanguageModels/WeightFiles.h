// The tensors of a model by their names, mapped from its files.
#ifndef VX_LIB_LANGUAGEMODELS_WEIGHTFILES_H
#define VX_LIB_LANGUAGEMODELS_WEIGHTFILES_H

#include "vx/Frontend/LanguageModels/LanguageModel.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace vx {

class GgufModel;

/// A tensor as it lies in its file.
struct StoredTensor {
  std::string type; // "f32", "bf16"; of a GGUF file also the name of a block format, "q4_1"
  std::vector<int64_t> dims;
  std::span<const uint8_t> bytes;
  mutable bool isRead = false;
};

class WeightFiles {
public:
  /// Maps model.safetensors of `folder`, or the files that its model.safetensors.index.json names. Headers, sizes and
  /// offsets are checked against the bytes that are there, and the index against the headers.
  ///
  /// Returns an error that names the file, and the tensor where one is wrong: no such file, a file outside of the
  /// folder, a tensor that two files hold, or that the index and the files do not agree on.
  static llvm::Expected<WeightFiles> openFolder(llvm::StringRef folder);
  /// The path of the file that `openFolder` begins with; empty if there is none.
  static std::string findIn(llvm::StringRef folder);
  /// The tensors of an opened GGUF file.
  static WeightFiles ofGguf(std::shared_ptr<const GgufModel> model);

  /// Null if there is no such tensor. Marks the tensor as read.
  const StoredTensor *find(llvm::StringRef name) const;
  bool contains(llvm::StringRef name) const { return tensors.contains(name); }
  /// The first tensor, in the order of the alphabet, that `find` has not returned and that begins with none of
  /// `unused`; empty if there is none.
  std::string findUnread(llvm::ArrayRef<llvm::StringRef> unused) const;

  /// The file that messages name: the index of several files.
  const std::string &getName() const { return name; }
  /// Adds all files to `files`.
  void addTo(ModelFiles &files) const;
  /// Owns the mapped bytes.
  const std::shared_ptr<const void> &getOwner() const { return owner; }

private:
  std::string name;
  ModelFiles files;
  llvm::StringMap<StoredTensor> tensors;
  std::shared_ptr<const void> owner;
};

} // namespace vx

#endif
