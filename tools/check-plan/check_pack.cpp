#include "check_pack.h"

#include "call_inputs.h"
#include "npy.h"
#include "tool_error.h"
#include "vx/abi/version.h"

#include <array>
#include <cstring>

namespace vx::tools {

using Json = nlohmann::json;

static constexpr char Magic[] = "VXCHECK\n";
static constexpr uint32_t LayoutVersion = 1;
static constexpr size_t HeaderSize = 32;

static uint64_t readNumber(const uint8_t *bytes, size_t size) {
  uint64_t value = 0;
  for (size_t i = size; i-- > 0;)
    value = value << 8 | bytes[i];
  return value;
}

static uint32_t crc32(std::span<const uint8_t> bytes) {
  static const std::array<uint32_t, 256> table = [] {
    std::array<uint32_t, 256> made{};
    for (uint32_t i = 0; i < made.size(); ++i) {
      made[i] = i;
      for (int bit = 0; bit < 8; ++bit)
        made[i] = made[i] & 1 ? made[i] >> 1 ^ 0xEDB88320u : made[i] >> 1;
    }
    return made;
  }();
  uint32_t value = ~0u;
  for (uint8_t byte : bytes)
    value = table[(value ^ byte) & 0xFF] ^ value >> 8;
  return ~value;
}

CheckPack::CheckPack(const std::string &path) : path(path) {
  std::string error;
  if (!vx::MappedFile::open(path, mapped, error))
    throw fileError("{}", error);
  const std::span<const uint8_t> bytes = mapped.bytes();
  if (bytes.size() < HeaderSize || std::memcmp(bytes.data(), Magic, sizeof(Magic) - 1) != 0)
    throw fileError("{}: expected a pack of vx-selfcheck, got another file of {} bytes", path, bytes.size());
  if (const uint64_t layout = readNumber(bytes.data() + 8, 4); layout != LayoutVersion)
    throw fileError("{}: expected a pack of layout {}, got layout {}: take the pack of this version of vx", path,
                    LayoutVersion, layout);
  if (const uint64_t size = readNumber(bytes.data() + 16, 8); size != bytes.size())
    throw fileError("{}: expected {} bytes, got {}: the file is cut off or has grown; install it again", path, size,
                    bytes.size());
  if (const uint64_t expected = readNumber(bytes.data() + 12, 4), got = crc32(bytes.subspan(HeaderSize));
      expected != got)
    throw fileError("{}: expected the checksum {:08x}, got {:08x}: bytes have changed; install it again", path,
                    expected, got);
  const uint64_t size = readNumber(bytes.data() + 24, 8);
  if (size > bytes.size() - HeaderSize)
    throw fileError("{}: expected a manifest of at most {} bytes, got {}", path, bytes.size() - HeaderSize, size);
  manifest = Json::parse(bytes.begin() + HeaderSize, bytes.begin() + static_cast<ptrdiff_t>(HeaderSize + size), nullptr,
                         false);
  if (!manifest.is_object() || !manifest.contains("files") || !manifest.contains("checks") ||
      !manifest["checks"].is_array() || !manifest.value("vx", Json()).is_string())
    throw fileError("{}: expected a manifest with 'vx', 'files' and 'checks', got another text", path);
  if (version() != VX_VERSION_STRING)
    throw fileError("{}: expected the pack of vx {}, got that of vx {}: take the pack of this version", path,
                    VX_VERSION_STRING, version());
}

std::span<const uint8_t> CheckPack::file(const std::string &name) const {
  const Json place = manifest["files"].value(name, Json());
  const size_t size = mapped.bytes().size();
  if (!place.is_array() || place.size() != 2 || !place[0].is_number_unsigned() || !place[1].is_number_unsigned() ||
      place[0] > size || place[1] > size - place[0].get<uint64_t>())
    throw fileError("{}: expected a file '{}' in the pack, got {}", path, name,
                    place.is_null() ? "none" : "a position outside of it");
  return mapped.bytes().subspan(place[0], place[1]);
}

vx::Module CheckPack::module(const std::string &name) {
  const std::span<const std::byte> bytes = std::as_bytes(file(name));
  return vx::Module(bytes, name);
}

std::vector<vx::Value> CheckPack::inputs(const vx_function_info &function, const Json &check) {
  std::vector<vx::Value> values;
  const Json given = check.value("inputs", Json::object());
  for (size_t i = 0; i < function.input_count; ++i) {
    const vx_argument_info &input = function.inputs[i];
    const std::string name = given.value(input.name, "");
    Tensor tensor = parseNpy(name, file(name), input.element_type);
    values.push_back(toRuntime({VX_TENSOR, tensor.type, {std::move(tensor)}}));
  }
  return values;
}

OutputRule CheckPack::rule(const Json &result) { return OutputRule::fromJson(result, path); }

Tensor CheckPack::expected(const Json &, const Json &result, vx_element_type type) {
  const std::string name = result.value("want", "");
  return parseNpy(name, file(name), type);
}

} // namespace vx::tools
