// Requests and responses of HTTP, whatever carries them.
#ifndef VX_SERVE_HTTP_MESSAGE_H
#define VX_SERVE_HTTP_MESSAGE_H

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace vx::serve {

struct RequestNotes; // what whoever answers keeps of a request

struct HttpRequest {
  std::string method; // "POST"
  std::string path;   // "/v2/models/a b", percents decoded, without what stands behind '?'
  std::string query;  // behind '?', as it came
  std::vector<std::pair<std::string, std::string>> headers; // names in lower case, in the order in which they came
  std::string body;
  std::string address; // of the client's socket; what headers say of it is not believed
  std::string account; // whose key came with it; empty: nobody's
  std::string id;      // x-request-id: the client's where it may be one, else one of the server's
  bool isSecure = false;
  bool isAdminPort = false; // it came to the admin port
  // Of a call of gRPC: its function, "/inference.GRPCInferenceService/ModelInfer", and the names for each {} of its
  // path. They may be any texts, which a path may not.
  std::string rpc;
  std::vector<std::string> arguments;
  std::shared_ptr<RequestNotes> notes;

  // The first header of a name in lower case; null where there is none.
  const std::string *header(std::string_view name) const;
  size_t headerCount(std::string_view name) const;
};

struct HttpResponse {
  unsigned status = 200;
  std::string contentType = "application/json"; // empty: there is no body
  std::vector<std::pair<std::string, std::string>> headers = {};
  std::string body = {};
  bool closes = false; // the connection ends behind it
};

// Splits "/a%20b?c=d" into path and query. Nothing for what is no path: one that does not begin with '/', has a '%'
// without two digits, or decodes to a zero byte or to no UTF-8.
bool splitTarget(std::string_view target, std::string &path, std::string &query);

// At most 64 of letters, digits, '.', '_' and '-', and one at the least.
bool isRequestId(std::string_view text);
// A new one, unlike all others of this process.
std::string makeRequestId();

// What follows "charset" and the like is no part of it: "application/json" of "Application/JSON; charset=utf-8".
std::string mediaType(std::string_view contentType);

// The first line and the headers, with the empty line behind: `length` is that of the body, which may be left out as
// for HEAD. A header whose name or value would end its line is left out.
std::string responseHead(const HttpResponse &response, size_t length, std::string_view requestId, bool keepsAlive);

} // namespace vx::serve

#endif
