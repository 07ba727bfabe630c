// Feeds bytes to the readers of requests: JSON that reads again as it is written, and tensors of each type, which are
// written and read again with the same bytes, or an error.
//
// What stands behind the first byte 0xff is a tensor's binary data.
#include "json_request.h"
#include "kserve_tensors.h"
#include "mutate_text.h"

#include <cstdlib>

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t maxSize);

namespace {

using namespace vx::serve;
using vx::Value;

void check(bool condition) {
  if (!condition)
    std::abort();
}

bool isSame(const Value &a, const Value &b) {
  const vx_value_info info = a.info();
  if (info.element_type != b.info().element_type || !std::ranges::equal(a.dims(), b.dims()))
    return false;
  return info.element_type == VX_STRING ? a.strings() == b.strings() : std::ranges::equal(a.bytes(), b.bytes());
}

void readTensor(const nlohmann::json &document, std::string_view binary) {
  const auto type = parseKserveType(stringMember(document, "datatype"));
  if (!type)
    return;
  vx_argument_info argument = {};
  argument.name = "x";
  argument.element_type = *type;
  const Value value = readKserveTensor(document, argument, binary, "inputs[0]", nullptr);
  std::string json, bytes;
  writeKserveTensor(json, "x", value, &bytes);
  std::string_view rest = bytes;
  check(isSame(value, readKserveTensor(parseJson(json), argument, rest, "inputs[0]", nullptr)) && rest.empty());
  json.clear();
  writeKserveTensor(json, "x", value, nullptr);
  rest = {};
  check(isSame(value, readKserveTensor(parseJson(json), argument, rest, "inputs[0]", nullptr)));
}

} // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t maxSize, unsigned seed) {
  const size_t made = size > 0 && seed % 4 != 0 ? vx::fuzz::mutateText(data, size, maxSize, seed / 4) : 0;
  return made ? made : LLVMFuzzerMutate(data, size, maxSize);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const std::string_view text(reinterpret_cast<const char *>(data), size);
  const size_t end = std::min(text.find('\xff'), size);
  try {
    const nlohmann::json document = parseJson(text.substr(0, end), {.values = 10000});
    check(parseJson(document.dump()) == document);
    if (document.is_object())
      readTensor(document, text.substr(std::min(end + 1, size)));
  } catch (const ServiceError &error) {
    check(*error.what() != 0);
    (void)errorBody(error, "1");
  }
  return 0;
}
