#include "curl_library.h"

#include "tool_error.h"

#include <cstdlib>
#include <dlfcn.h>
#include <type_traits>
#include <vector>

namespace vx::tools {

static CurlLibrary open() {
  const char *given = std::getenv("VX_CURL_LIBRARY");
  std::vector<std::string> names = {"libcurl.so.4", "libcurl-gnutls.so.4"};
  if (given && *given)
    names = {given};
  void *handle = nullptr;
  std::string reasons;
  for (const std::string &name : names) {
    handle = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle)
      break;
    reasons += fmt::format("{}'{}' could not be opened: {}", reasons.empty() ? "" : "; ", name, ::dlerror());
  }
  if (!handle)
    throw workError("pull: expected libcurl (Debian's package libcurl4): {}", reasons);
  CurlLibrary library;
  const auto find = [&](auto &function, const char *symbol) {
    void *address = ::dlsym(handle, symbol);
    if (!address)
      throw workError("pull: expected libcurl, got a library without {}", symbol);
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(address);
  };
  find(library.globalInit, "curl_global_init");
  find(library.easyInit, "curl_easy_init");
  find(library.easyCleanup, "curl_easy_cleanup");
  find(library.setOption, "curl_easy_setopt");
  find(library.perform, "curl_easy_perform");
  find(library.getInfo, "curl_easy_getinfo");
  find(library.describe, "curl_easy_strerror");
  find(library.appendLine, "curl_slist_append");
  find(library.releaseList, "curl_slist_free_all");
  constexpr long all = 3;
  if (const int code = library.globalInit(all); code != CurlLibrary::done)
    throw workError("pull: libcurl cannot be used: {}", library.describe(code));
  return library;
}

const CurlLibrary &openCurl() {
  static const CurlLibrary library = open();
  return library;
}

} // namespace vx::tools
