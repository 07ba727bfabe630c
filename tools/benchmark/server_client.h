// How the benchmark asks a server.
#ifndef VX_BENCH_SERVER_CLIENT_H
#define VX_BENCH_SERVER_CLIENT_H

#include "http_client.h"

namespace vx::tools {

using serve::ConnectionError;
using HttpAnswer = serve::ClientAnswer;

// A server, and what it is to be asked with.
struct Endpoint {
  serve::HttpUrl url;
  std::string key;          // sent as a bearer's; empty: none
  std::string certificates; // of authorities to trust, a file of PEM; empty: those of the system

  // Of --url, http[s]://HOST[:PORT]. Throws a usage error.
  Endpoint(const std::string &url, const std::string &key, const std::string &certificates);
};

class HttpConnection {
public:
  // Throws a ToolError for certificates that cannot be used.
  explicit HttpConnection(const Endpoint &endpoint);

  // The bytes of a request. `more` are headers beside the key.
  std::string format(std::string_view method, std::string_view path, std::string_view body = "",
                     serve::HttpClient::Headers more = {}) const;
  // See serve::HttpClient::ask.
  HttpAnswer ask(std::string_view request) { return client.ask(request); }

private:
  const std::string key;
  serve::HttpClient client;
};

} // namespace vx::tools

#endif
