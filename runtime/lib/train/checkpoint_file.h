// Checkpoints: what a safetensors file says beside its tensors.
#ifndef VX_TRAIN_CHECKPOINT_FILE_H
#define VX_TRAIN_CHECKPOINT_FILE_H

#include "mapped_file.h"
#include "safetensors.h"

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace vx::train {

// A file that is open, and whole.
class CheckpointFile {
public:
  // Throws Error::data for one that is not there, no safetensors file, truncated, or that has other bytes than were
  // written.
  explicit CheckpointFile(const std::string &path);

  const std::string &path() const { return name; }
  const std::vector<SafeTensor> &tensors() const { return content.tensors; }
  // One that Session::save has written to go on from.
  bool isCheckpoint() const;
  std::string text(const std::string &key) const; // "" where there is none
  uint64_t number(const std::string &key) const;  // 0 where there is none; throws for what is no number
  const std::map<std::string, std::string> &metadata() const { return content.metadata; }

private:
  const std::string name;
  MappedFile file;
  SafeTensors content;
};

// The metadata's key that marks a checkpoint, and the number of its form.
inline constexpr char CheckpointKey[] = "vx_checkpoint", CheckpointForm[] = "1";
inline constexpr char HashKey[] = "hash";

// The hash of the tensors' bytes, as text.
std::string hashOf(std::span<const SafeTensor> tensors);

// checkpoint-000000000042.safetensors
std::string checkpointName(uint64_t step);
struct FoundCheckpoint {
  uint64_t step = 0; // that its name says
  std::string path;
};
// The checkpoints in a folder, by their names, the newest first. Throws Error::data when it cannot be read.
std::vector<FoundCheckpoint> checkpointsIn(const std::string &folder);

} // namespace vx::train

#endif
