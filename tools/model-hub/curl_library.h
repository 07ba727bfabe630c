// libcurl, opened when a tool needs it: without it all else works.
#ifndef VX_TOOLS_MODEL_HUB_CURL_LIBRARY_H
#define VX_TOOLS_MODEL_HUB_CURL_LIBRARY_H

#include <cstddef>
#include <string>

namespace vx::tools {

// The functions and numbers of libcurl's C interface that are used here, which are the same in all 7.x and 8.x.
struct CurlLibrary {
  enum Option : int {
    noSignal = 99,
    followLocation = 52,
    lowSpeedLimit = 19, // bytes in a second
    lowSpeedTime = 20,  // seconds
    connectTimeout = 78,
    protocols = 181, // 1: http, 2: https
    writeData = 10001,
    url = 10002,
    errorBuffer = 10010,
    userAgent = 10018,
    httpHeader = 10023,
    headerData = 10029,
    certificateFile = 10065,
    writeFunction = 20011,
    headerFunction = 20079
  };
  enum Info : int { responseCode = 0x200002 };
  enum Code : int { done = 0, writeFailed = 23 };
  static constexpr size_t errorSize = 256;
  using Receive = size_t (*)(char *bytes, size_t size, size_t count, void *data);

  int (*globalInit)(long flags) = nullptr;
  void *(*easyInit)() = nullptr;
  void (*easyCleanup)(void *handle) = nullptr;
  int (*setOption)(void *handle, int option, ...) = nullptr;
  int (*perform)(void *handle) = nullptr;
  int (*getInfo)(void *handle, int info, ...) = nullptr;
  const char *(*describe)(int code) = nullptr;
  void *(*appendLine)(void *list, const char *line) = nullptr;
  void (*releaseList)(void *list) = nullptr;
};

// Throws workError with the reasons if there is none. VX_CURL_LIBRARY names another one.
const CurlLibrary &openCurl();

} // namespace vx::tools

#endif
