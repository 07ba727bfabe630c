// A pack of checks in one file: a plan, its modules, inputs and expected results (tools/vx-selfcheck/make_pack.py).
#ifndef VX_TOOLS_CHECK_PACK_H
#define VX_TOOLS_CHECK_PACK_H

#include "plan_check.h"
#include "vx/base/mapped_file.h"

namespace vx::tools {

// The file, all numbers little-endian:
//
//   8 bytes   "VXCHECK\n"
//   u32       version of this layout, 1
//   u32       CRC-32 of all bytes after the header, as zlib has it
//   u64       bytes of the file
//   u64       bytes of the manifest
//   manifest  JSON {"vx": VERSION, "files": {NAME: [POSITION, BYTES]}, "checks": [CHECK...]}, positions from the begin
//             of the file, multiples of 64; a CHECK is one of a plan with "want" for each result and a file for each
//             input
class CheckPack final : public CheckFiles {
public:
  // Maps the file and checks it. Throws a ToolError, exit 3, with the expected and the found property: a file that is
  // no pack, of another layout or another version of vx, one that is cut off, and one whose bytes have changed.
  explicit CheckPack(const std::string &path);

  // Kept as long as this is.
  const nlohmann::json &checks() const { return manifest["checks"]; }
  std::string version() const { return manifest["vx"]; }

  vx::Module module(const std::string &name) override;
  std::vector<vx::Value> inputs(const vx_function_info &function, const nlohmann::json &check) override;
  OutputRule rule(const nlohmann::json &result) override;
  Tensor expected(const nlohmann::json &check, const nlohmann::json &result, vx_element_type type) override;

private:
  std::span<const uint8_t> file(const std::string &name) const;

  const std::string path;
  vx::MappedFile mapped;
  nlohmann::json manifest;
};

} // namespace vx::tools

#endif
