// The files that one command reads and writes: none of its outputs may be an input or another output.
#ifndef VX_BASE_COMMAND_FILES_H
#define VX_BASE_COMMAND_FILES_H

#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace vx {

// The descriptor that a name such as /dev/stdout or /dev/fd/3 stands for.
std::optional<int> descriptorOf(const std::string &path);

// Two names are one file when device and inode agree, or, where there is no file yet, when they lead to one place:
// relative, through links of any kind, or with a link as their last part.
class CommandFiles {
public:
  // What may stand under the name of an output. A stream is written where it stands, and devices too.
  enum class Kind { RegularFile, RegularFileOrStream };

  // `what` is said in messages: "the model", "output 'y'".
  void addInput(std::string what, const std::string &path);
  void addOutput(std::string what, const std::string &path, Kind kind = Kind::RegularFile);
  // Where standard output goes, should it be a file.
  void addStandardOutput();

  // What is wrong, or nothing: an output that is also something else ("the module 'a' is the same file as the model
  // 'b', want another name for it"), or is of a kind that cannot be written.
  std::string problem() const;

  // Why an output cannot be made, or nothing: "cannot write 'a/b': No such file or directory". What is found before
  // long work saves it.
  std::string unwritable() const;

  bool hasOutputs() const;

private:
  struct Entry {
    std::string what, path, place;
    bool isOutput = false, isStream = false, exists = false;
    dev_t device = 0;
    ino_t inode = 0;
  };
  Entry examine(std::string what, const std::string &path) const;
  static bool isSame(const Entry &a, const Entry &b);

  std::vector<Entry> entries;
  std::string firstProblem;
};

} // namespace vx

#endif
