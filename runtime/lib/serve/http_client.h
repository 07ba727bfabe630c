// A client of HTTP/1.1, over TLS where the URL says so, that keeps its connection: one request, then its answer.
#ifndef VX_SERVE_HTTP_CLIENT_H
#define VX_SERVE_HTTP_CLIENT_H

#include "http_url.h"

#include <chrono>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace vx::serve {

// The connection could not be made, or broke, or the bytes that came are no answer.
class ConnectionError : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

struct ClientAnswer {
  unsigned status = 0;
  std::vector<std::pair<std::string, std::string>> headers; // names in lower case
  std::string body;

  // Of the first header of a name in lower case; empty: none.
  std::string header(std::string_view name) const;
};

struct HttpClientOptions {
  std::chrono::milliseconds time{120'000}; // of one call: connecting, the request, and its answer
  uint64_t mostBytes = uint64_t(1) << 30;  // of an answer's body
  std::string certificates = {};           // of authorities to trust, a file of PEM; empty: those of the system
};

// Not thread-safe.
class HttpClient {
public:
  using Headers = std::vector<std::pair<std::string, std::string>>;
  // Throws ConnectionError if the file of certificates cannot be used. Connects at the first request.
  explicit HttpClient(const HttpUrl &url, const HttpClientOptions &options = {});
  ~HttpClient();

  // The bytes of a request, for `ask`.
  std::string format(std::string_view method, std::string_view target, std::string_view body = "",
                     const Headers &headers = {}) const;
  // Sends the bytes of one request and waits for its answer. Connects if there is no connection. Throws
  // ConnectionError; the next call then connects again.
  ClientAnswer ask(std::string_view request);

private:
  class Connection;
  const HttpUrl url;
  const HttpClientOptions options;
  std::unique_ptr<Connection> connection;
};

} // namespace vx::serve

#endif
