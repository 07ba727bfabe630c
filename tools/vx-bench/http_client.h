// A client of HTTP/1.1 that keeps its connection: one request, then its answer.
#ifndef VX_BENCH_HTTP_CLIENT_H
#define VX_BENCH_HTTP_CLIENT_H

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace vx::tools {

struct Endpoint {
  std::string host, port;
  std::string authority; // as it stands in a URL, and in the Host header

  // Of --url, http://HOST:PORT. Throws a usage error.
  explicit Endpoint(const std::string &url);
};

// The connection could not be made, or broke, or what came is no answer.
class ConnectionError : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

struct HttpAnswer {
  unsigned status = 0;
  std::string head, body; // the head begins with the status line

  // Of the first header of that name, which is in small letters; empty: none.
  std::string header(std::string_view name) const;
};

class HttpConnection {
public:
  // A key is sent as a bearer's; empty: none.
  HttpConnection(const Endpoint &endpoint, const std::string &key) : endpoint(endpoint), key(key) {}
  ~HttpConnection() { close(); }
  HttpConnection(const HttpConnection &) = delete;
  HttpConnection &operator=(const HttpConnection &) = delete;

  // The bytes of a request. `more` are headers, each with its CRLF.
  std::string format(std::string_view method, std::string_view path, std::string_view body = "",
                     std::string_view more = "") const;
  // Sends the bytes of one request and waits for its answer. Connects where nothing is connected. Throws
  // ConnectionError, behind which the next call connects anew.
  HttpAnswer ask(std::string_view request);

private:
  void connect();
  void close();
  void send(std::string_view bytes);
  // Appends what comes to `received`.
  void receive();

  const Endpoint endpoint;
  const std::string key;
  int socket = -1;
  std::string received;
};

} // namespace vx::tools

#endif
