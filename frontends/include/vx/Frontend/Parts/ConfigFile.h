// A JSON file of a model's folder, read by keys.
#ifndef VX_FRONTEND_PARTS_CONFIGFILE_H
#define VX_FRONTEND_PARTS_CONFIGFILE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace vx {

std::string joinPath(llvm::StringRef folder, llvm::StringRef name);

/// Returns the bytes of a regular file, or an error that begins with its name.
llvm::Expected<std::string> readWholeFile(const std::string &path);
llvm::Error makeConfigError(const llvm::Twine &message);

/// The keys of an object in a JSON file. `takeError` returns the first mistake: a value with another type than the
/// requested one, or one that `fail` got. Messages begin with the file, and with the line and column of the value.
class ConfigFile {
public:
  /// A missing file has no keys.
  static llvm::Expected<ConfigFile> read(const std::string &path);
  /// Reads a file with a list of objects. `what` names an element in messages: "module 3".
  static llvm::Expected<std::vector<ConfigFile>> readList(const std::string &path, llvm::StringRef what);

  bool exists() const { return source != nullptr; }
  const std::string &getName() const { return name; }
  bool has(llvm::StringRef key) const { return lookup(key) != nullptr; }
  /// Returns nullopt for a missing key or null, and for a value of another type.
  std::optional<std::string> getString(llvm::StringRef key);
  std::optional<bool> getBool(llvm::StringRef key);
  /// Returns an integer of at least 0; INT64_MAX for a larger one.
  std::optional<int64_t> getCount(llvm::StringRef key);
  /// Returns any finite number.
  std::optional<double> getNumber(llvm::StringRef key);
  /// Returns the object that `path`, keys with '.' between, leads to; without keys if there is none.
  ConfigFile getObject(llvm::StringRef path) const;
  /// Fails unless a key is missing or null, or has this value.
  void expectBool(llvm::StringRef key, bool value);
  void expectString(llvm::StringRef key, llvm::StringRef value);
  /// Fails with the first key, in the order of the alphabet, that no function above has read and that `unused` does not
  /// name. A key with null counts as missing. `reader` names the code that reads the file, for the message.
  void expectAllRead(llvm::ArrayRef<llvm::StringRef> unused, llvm::StringRef reader);
  /// Returns a message for each key that no function above has read and `unused` does not name, and that is a slip of
  /// the fingers for a missing key that was read.
  std::vector<std::string> findSlips(llvm::ArrayRef<llvm::StringRef> unused) const;
  const llvm::json::Value *lookup(llvm::StringRef key) const;
  void fail(llvm::StringRef key, const llvm::Twine &want, const llvm::json::Value &got);
  /// Fails with the key's place: "config.json:3:9: 'key': message". For a missing key the message adds the key that may
  /// be meant, and the place is that key's.
  void failAt(llvm::StringRef key, const llvm::Twine &message);
  /// Fails with a mistake that no one key has. If `findSlips` has a key, the place is that key's and the message names
  /// it.
  void fail(const llvm::Twine &message);
  /// Fails with the mistake of an object in this one, if it has one.
  void takeProblem(ConfigFile &inner) { setProblem(std::exchange(inner.problem, std::string())); }
  llvm::Error takeError();

private:
  ConfigFile(std::string name, std::shared_ptr<const std::string> source, std::string pointer, std::string label,
             llvm::json::Object object)
      : name(std::move(name)), source(std::move(source)), pointer(std::move(pointer)), label(std::move(label)),
        object(std::move(object)) {}
  struct Slip {
    std::string key, meant; // meant: ", did you mean 'name'"
  };
  std::vector<std::string> listUnread(llvm::ArrayRef<llvm::StringRef> unused) const;
  std::vector<Slip> listSlips(llvm::ArrayRef<llvm::StringRef> unused) const;
  size_t findKey(llvm::StringRef key) const;
  /// Returns "config.json:3:9: module 1: "; without the place for an offset that is not known.
  std::string getPrefix(std::optional<size_t> offset) const;
  void setProblem(std::string message);

  std::string name;
  std::shared_ptr<const std::string> source; // the file's text; null for a missing file
  std::string pointer;                       // to the object in it
  std::string label;                         // "module 1: "
  llvm::json::Object object;
  std::string problem;
  mutable llvm::StringSet<> readKeys;
};

/// Returns the text of a value for messages.
std::string showJson(const llvm::json::Value &value);

} // namespace vx

#endif
