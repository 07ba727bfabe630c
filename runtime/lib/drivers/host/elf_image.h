// Maps a linked ELF image without imports, write-xor-execute, with no help from the system's loader.
#ifndef VX_RUNTIME_DRIVERS_HOST_ELF_IMAGE_H
#define VX_RUNTIME_DRIVERS_HOST_ELF_IMAGE_H

#include "base/status.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace vx::drivers {

// The image's code is trusted, its sizes and offsets are not. What the image may not have is refused with its name:
// imports, needed libraries, thread-local data, constructors, segments that are writable and executable, and every
// relocation but the one that adds the base address.
class ElfImage {
public:
  static Status load(std::span<const uint8_t> file, std::unique_ptr<ElfImage> &image);
  ~ElfImage();

  // Address of an exported function, null when there is none of that name.
  const void *function(std::string_view name) const;

private:
  struct Segment {
    uint64_t address; // in the image
    uint64_t memorySize;
    uint64_t fileOffset;
    uint64_t fileSize;
    uint32_t flags;
  };
  // Addresses of the tables that the dynamic section names; 0 when absent.
  struct Tables {
    uint64_t rela = 0, relaSize = 0;
    uint64_t symbols = 0, strings = 0, stringsSize = 0;
    uint64_t hash = 0, gnuHash = 0;
    int64_t otherRelocations = 0; // tag of a relocation table that is not allowed
  };

  ElfImage() = default;
  Status readSegments(std::span<const uint8_t> file);
  Status map(std::span<const uint8_t> file);
  Status readDynamic(Tables &tables);
  Status countSymbols(const Tables &tables, uint64_t &count) const;
  Status readSymbols(const Tables &tables);
  Status relocate(const Tables &tables);
  Status protect();

  // The mapped bytes of [address, address + size), null when they are not all in one segment.
  uint8_t *at(uint64_t address, uint64_t size) const;
  template <typename T>
  bool read(uint64_t address, T &value) const;

  std::vector<Segment> segments;
  uint64_t dynamicAddress = 0, dynamicSize = 0;
  uint64_t relroAddress = 0, relroSize = 0;
  uint8_t *base = nullptr;
  uint64_t span = 0;
  std::unordered_map<std::string, const void *> functions;
};

} // namespace vx::drivers

#endif
