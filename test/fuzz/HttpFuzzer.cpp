// Sends bytes to a server of HTTP on this machine: whatever they are, it answers in HTTP or ends the connection, keeps
// nothing of them, and answers the next one.
#include "http_server.h"
#include "mutate_text.h"
#include "raw_client.h"

#include <cstdlib>
#include <thread>

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t maxSize);

namespace {

using namespace vx::serve;

void check(bool condition) {
  if (!condition)
    std::abort();
}

class Echo : public HttpHandler {
public:
  void admit(HttpRequest &head) override {
    check(head.path.starts_with('/') && isRequestId(head.id) && head.headers.size() <= 100);
    if (head.path == "/none")
      throw ServiceError(ErrorCode::not_found, "no such path");
  }
  void handle(std::shared_ptr<HttpExchange> exchange) override {
    check(exchange->request.body.size() <= 1000);
    exchange->reply({.contentType = "text/plain", .body = exchange->request.body});
  }
  HttpResponse refuse(const HttpRequest &request, const ServiceError &error) override {
    return {.status = httpStatus(error.code), .body = errorBody(error, request.id)};
  }
  void finished(const HttpRequest &, unsigned, std::chrono::nanoseconds) override {}
};

struct Server {
  Server() : server(makeHttpServer({.bodyBytes = 1000})) {
    server->listen("127.0.0.1", 0);
    server->start(handler);
  }
  Echo handler;
  std::unique_ptr<HttpServer> server;
};

} // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t maxSize, unsigned seed) {
  const size_t made = size > 0 && seed % 4 != 0 ? vx::fuzz::mutateText(data, size, maxSize, seed / 4) : 0;
  return made ? made : LLVMFuzzerMutate(data, size, maxSize);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static Server server;
  {
    const RawClient client(server.server->port());
    check(client.isConnected);
    client.send({reinterpret_cast<const char *>(data), size});
    client.finishSending();
    const std::string answer = client.receive();
    check(answer == "<end>" || answer == "<reset>" || answer.starts_with("HTTP/1.1 "));
    check(!answer.ends_with("<nothing more>"));
  }
  for (int i = 0; server.server->load().connections != 0; ++i) {
    check(i < 5000);
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  check(server.server->load().bytesInFlight == 0 && server.server->load().requests == 0);
  return 0;
}
