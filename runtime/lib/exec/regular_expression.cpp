#include "exec/regular_expression.h"

#include "hal/vendor_library.h"

#include <array>
#include <dlfcn.h>
#include <mutex>

namespace vx {

namespace {

// What is used of PCRE2, of pcre2.h for characters of 8 bits; 10.23 and newer have all of it.
struct Library {
  static constexpr uint32_t utf = 0x00080000, noUtfCheck = 0x40000000, anchored = 0x80000000, endAnchored = 0x20000000,
                            dollarEndOnly = 0x00000010, neverBackslashC = 0x00100000;
  static constexpr int noMatch = -1;

  void *(*compile)(const uint8_t *pattern, size_t length, uint32_t options, int *error, size_t *place, void *context);
  void (*freeCode)(void *code);
  void *(*createData)(const void *code, void *context);
  void (*freeData)(void *data);
  void *(*createLimits)(void *context);
  void (*freeLimits)(void *limits);
  int (*setMatchLimit)(void *limits, uint32_t limit);
  int (*setDepthLimit)(void *limits, uint32_t limit);
  int (*match)(const void *code, const uint8_t *text, size_t length, size_t start, uint32_t options, void *data,
               void *limits);
  int (*errorText)(int error, uint8_t *buffer, size_t size);
};

// What a match may take: a step is some ten nanoseconds.
constexpr uint32_t matchLimit = 10'000'000, depthLimit = 100'000;

Status openLibrary(Library &library) {
  const hal::LibraryNames names = hal::LibraryNames{{"libpcre2-8.so.0", "libpcre2-8.so"}, "VX_PCRE2_LIBRARY"};
  hal::OpenLibrary opened;
  if (hal::Refusal refusal = hal::openLibrary(names.fromEnvironment(), opened); !opened.handle)
    return failure(VX_UNSUPPORTED, "regular expressions need PCRE2: {}", refusal.reason);
  const char *missing = nullptr;
  auto find = [&](auto &function, const char *name) {
    void *place = dlsym(opened.handle, name);
    if (!place && !missing)
      missing = name;
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(place);
  };
  find(library.compile, "pcre2_compile_8");
  find(library.freeCode, "pcre2_code_free_8");
  find(library.createData, "pcre2_match_data_create_from_pattern_8");
  find(library.freeData, "pcre2_match_data_free_8");
  find(library.createLimits, "pcre2_match_context_create_8");
  find(library.freeLimits, "pcre2_match_context_free_8");
  find(library.setMatchLimit, "pcre2_set_match_limit_8");
  find(library.setDepthLimit, "pcre2_set_depth_limit_8");
  find(library.match, "pcre2_match_8");
  find(library.errorText, "pcre2_get_error_message_8");
  if (missing)
    return failure(VX_UNSUPPORTED, "regular expressions need PCRE2 10.30 or newer, '{}' has no {}", opened.name,
                   missing);
  return okStatus();
}

// Tried anew until it is there.
Status getLibrary(const Library *&result) {
  static std::mutex mutex;
  static Library library;
  static bool isOpen = false;
  std::lock_guard lock(mutex);
  if (!isOpen)
    VX_RETURN_IF_ERROR(openLibrary(library));
  isOpen = true;
  result = &library;
  return okStatus();
}

std::string describeError(const Library &library, int error) {
  std::array<uint8_t, 256> text = {};
  library.errorText(error, text.data(), text.size());
  return reinterpret_cast<const char *>(text.data());
}

} // namespace

Status RegularExpression::compile(std::string_view pattern, RegularExpression &result) {
  const Library *library = nullptr;
  VX_RETURN_IF_ERROR(getLibrary(library));
  int error = 0;
  size_t place = 0;
  // \C would match a part of a character.
  void *code = library->compile(reinterpret_cast<const uint8_t *>(pattern.data()), pattern.size(),
                                Library::utf | Library::anchored | Library::endAnchored | Library::dollarEndOnly |
                                    Library::neverBackslashC,
                                &error, &place, nullptr);
  if (!code)
    return failure(VX_INVALID_MODULE, "the regular expression '{}' is none at character {}: {}", pattern, place,
                   describeError(*library, error));
  result.code = {code, library->freeCode};
  result.data = {library->createData(code, nullptr), library->freeData};
  result.limits = {library->createLimits(nullptr), library->freeLimits};
  if (!result.data || !result.limits)
    return failure(VX_OUT_OF_MEMORY, "no memory for the regular expression '{}'", pattern);
  library->setMatchLimit(result.limits.get(), matchLimit);
  library->setDepthLimit(result.limits.get(), depthLimit);
  return okStatus();
}

Status RegularExpression::matchesWhole(std::string_view text, bool &matches) const {
  const Library *library = nullptr;
  VX_RETURN_IF_ERROR(getLibrary(library));
  const int found = library->match(code.get(), reinterpret_cast<const uint8_t *>(text.data()), text.size(), 0,
                                   Library::noUtfCheck, data.get(), limits.get());
  if (found < 0 && found != Library::noMatch)
    return failure(VX_FAULT, "matching a string of {} bytes: {}", text.size(), describeError(*library, found));
  matches = found >= 0;
  return okStatus();
}

} // namespace vx
