// What a server does with clients that are slow, broken or gone, by the bytes that they send.
#include "http_server.h"
#include "raw_client.h"

#include "vx/serve/error.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/resource.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace {

using namespace std::chrono_literals;
using namespace std::string_view_literals;
using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
using vx::serve::ErrorCode;
using vx::serve::HttpExchange;
using vx::serve::HttpLimits;
using vx::serve::HttpRequest;
using vx::serve::HttpResponse;
using vx::serve::ServiceError;

// Echoes bodies, /port says to which port a request came; /hold waits until the test replies, /none is refused before
// its body, /drop is forgotten, and a refusal of /long has more bytes than a connection takes from a server whose
// client reads none. x-api-key says whose request it is.
class EchoHandler : public vx::serve::HttpHandler {
public:
  void admit(HttpRequest &head) override {
    if (const std::string *key = head.header("x-api-key"))
      head.account = *key;
    if (head.path == "/none")
      throw ServiceError(ErrorCode::not_found, "no such path");
  }
  void handle(std::shared_ptr<HttpExchange> exchange) override {
    ++handled;
    if (exchange->request.path == "/drop")
      return;
    if (exchange->request.path == "/port")
      return exchange->reply({.body = exchange->request.isAdminPort ? "admin" : "main"});
    if (exchange->request.path != "/hold") {
      const std::string &body = exchange->request.body;
      return exchange->reply({.contentType = "text/plain", .body = body.empty() ? exchange->request.path : body});
    }
    exchange->whenGone([this] { ++gone; });
    std::lock_guard guard(lock);
    held.push_back(exchange);
    changed.notify_all();
  }
  HttpResponse refuse(const HttpRequest &request, const ServiceError &error) override {
    ++refused;
    if (request.path == "/long")
      return {.status = httpStatus(error.code), .body = std::string(longRefusal, 'r')};
    return {.status = httpStatus(error.code), .body = errorBody(error, request.id)};
  }
  void finished(const HttpRequest &, unsigned status, std::chrono::nanoseconds) override {
    if (status == 499)
      ++lost;
  }
  void waitForHeld(size_t count) {
    std::unique_lock guard(lock);
    ASSERT_TRUE(changed.wait_for(guard, 20s, [&] { return held.size() >= count; })) << held.size();
  }

  std::mutex lock;
  std::condition_variable changed;
  std::vector<std::shared_ptr<HttpExchange>> held;
  std::atomic<size_t> gone = 0, lost = 0, handled = 0, refused = 0;
  static constexpr size_t longRefusal = 32 << 20;
};

// Waits for what other threads bring about.
template <typename Condition>
bool eventually(Condition condition, int turns = 2000) {
  for (int i = 0; i < turns; ++i) {
    if (condition())
      return true;
    std::this_thread::sleep_for(5ms);
  }
  return false;
}

class HttpServerTest : public testing::Test {
protected:
  void start(const HttpLimits &limits = {}) {
    server = vx::serve::makeHttpServer(limits);
    server->listen("127.0.0.1", 0);
    server->start(handler);
  }
  std::string ask(std::string_view bytes) { return RawClient(server->port()).ask(bytes); }

  EchoHandler handler;
  std::unique_ptr<vx::serve::HttpServer> server;
};

TEST_F(HttpServerTest, answersOneRequestAfterAnother) {
  start();
  const RawClient client(server->port());
  client.send("POST /a%20b?c=d HTTP/1.1\r\nHost: x\r\nX-Request-Id: mine\r\nContent-Length: 2\r\n\r\nhi");
  EXPECT_THAT(client.receive("\r\n\r\nhi"),
              AllOf(StartsWith("HTTP/1.1 200 OK\r\nDate: "), HasSubstr("Content-Length: 2\r\n"),
                    HasSubstr("x-request-id: mine\r\n"), HasSubstr("Connection: keep-alive\r\n")));
  // Two at once, the second one of HTTP/1.0.
  client.send("GET /a%20b HTTP/1.1\r\nHost: x\r\nX-Request-Id: no id\r\n\r\nGET /c HTTP/1.0\r\n\r\n");
  EXPECT_THAT(client.receive(), AllOf(HasSubstr("\r\n\r\n/a bHTTP/1.1 200 OK"),
                                      HasSubstr("Connection: close\r\n\r\n/c<end>"), Not(HasSubstr("no id"))));
  EXPECT_THAT(ask("HEAD /abc HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"),
              AllOf(HasSubstr("Content-Length: 4\r\n"), EndsWith("\r\n\r\n<end>")));
}

// Bodies of known length are read to their place; others, and what comes with a header, are copied there.
TEST_F(HttpServerTest, bodiesAreWholeHoweverTheyCome) {
  start();
  const RawClient client(server->port());
  for (const size_t size : {1u, 4096u, (64u << 10) - 1, 64u << 10, (64u << 10) + 1, 300000u}) {
    std::string body;
    while (body.size() < size)
      body += fmt::format("{},", body.size());
    body.resize(size - 1);
    body += '!';
    const std::string header = fmt::format("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n", size);
    // At once, with the next request after it; the header alone at first; in pieces.
    client.send(header + body + header + body);
    std::string twice = client.receive("!");
    if (twice.find('!') == twice.rfind('!'))
      twice += client.receive("!");
    EXPECT_EQ(twice.find("\r\n\r\n" + body + "HTTP/1.1 200 OK"), twice.find("\r\n\r\n")) << size;
    EXPECT_THAT(twice, EndsWith("\r\n\r\n" + body));
    client.send(header);
    std::this_thread::sleep_for(20ms);
    client.send(body);
    EXPECT_THAT(client.receive("!"), EndsWith("\r\n\r\n" + body));
    client.send(header + body.substr(0, size / 3));
    std::this_thread::sleep_for(20ms);
    client.send(body.substr(size / 3, size / 3));
    std::this_thread::sleep_for(20ms);
    client.send(body.substr(size / 3 + size / 3));
    EXPECT_THAT(client.receive("!"), EndsWith("\r\n\r\n" + body));
  }
}

// The answer ends the request whose body is still being read, and bytes that come later belong to no request.
TEST_F(HttpServerTest, whatComesOfABodyAfterItsDeadlineIsDropped) {
  start({.bodyTime = 100ms});
  const RawClient client(server->port());
  client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n0123456789");
  EXPECT_THAT(client.receive("request_timeout"), StartsWith("HTTP/1.1 408"));
  client.send(std::string(90000, 'x'));
  client.send("GET /a HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(client.receive(), Not(HasSubstr("200 OK")));
  EXPECT_TRUE(eventually([&] { return server->load().bytesInFlight == 0; }));
}

// A body that becomes whole while the refusal is being written is no request.
TEST_F(HttpServerTest, whatComesOfABodyDuringItsRefusalIsDropped) {
  start({.bodyTime = 100ms});
  const RawClient client(server->port());
  client.send("POST /long HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n0123456789");
  ASSERT_TRUE(eventually([&] { return handler.refused == 1; }));
  client.send(std::string(990, 'x'));
  EXPECT_FALSE(eventually([&] { return handler.handled > 0; }, 60));
  const std::string answer = client.receive();
  ASSERT_GT(answer.size(), EchoHandler::longRefusal);
  EXPECT_THAT(answer.substr(0, 100), StartsWith("HTTP/1.1 408"));
  EXPECT_THAT(answer.substr(answer.size() - 100), EndsWith("rrr<end>"));
  EXPECT_EQ(handler.refused, 1u);
  EXPECT_TRUE(eventually([&] { return server->load().bytesInFlight == 0; }));
}

TEST_F(HttpServerTest, takesChunks) {
  start();
  EXPECT_THAT(ask("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nConnection: "
                  "close\r\n\r\n3\r\nabc\r\n2;name=value\r\nde\r\n0\r\n\r\n"),
              EndsWith("\r\n\r\nabcde<end>"));
}

TEST_F(HttpServerTest, tellsClientsToGoOn) {
  start();
  const RawClient client(server->port());
  client.send("POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(client.receive("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  EXPECT_THAT(client.ask("hi"), AllOf(StartsWith("HTTP/1.1 200"), EndsWith("\r\n\r\nhi<end>")));
  EXPECT_THAT(ask("POST /none HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n"),
              AllOf(StartsWith("HTTP/1.1 404"), Not(HasSubstr("100 Continue"))));
}

TEST_F(HttpServerTest, refusesWhatTwoReadersTakeForDifferentThings) {
  start();
  const auto expectRefused = [&](std::string_view request, std::string_view status, std::string_view why) {
    EXPECT_THAT(ask(request), AllOf(StartsWith("HTTP/1.1 " + std::string(status)), HasSubstr(why),
                                    HasSubstr("Connection: close"), EndsWith("}<end>")))
        << request;
  };
  expectRefused("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "400",
                "bad_request");
  expectRefused("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n0\r\n\r\n", "400",
                "bad_request");
  expectRefused("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nhi", "400", "bad_request");
  expectRefused("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -2\r\n\r\n", "400", "bad_request");
  expectRefused("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", "400",
                "expected Transfer-Encoding 'chunked' of HTTP/1.1, got 'gzip, chunked'");
  expectRefused("POST / HTTP/1.1\r\nHost: x\r\nExpect: more\r\nContent-Length: 1\r\n\r\n", "400",
                "expected '100-continue' in header Expect, got 'more'");
  expectRefused("nonsense\r\n\r\n", "400", "expected a request of HTTP/1.1, got something else: ");
  expectRefused("GET / HTTP/2.0\r\nHost: x\r\n\r\n", "400", "expected a request of HTTP/1.1, got something else: ");
  expectRefused("GET /a\0b HTTP/1.1\r\nHost: x\r\n\r\n"sv, "400", "expected a request of HTTP/1.1");
  EXPECT_THAT(ask("GET / HTTP/1.1\r\nConnection: close\r\n\r\n"), HasSubstr("expected one Host header, got 0"));
  EXPECT_THAT(ask("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\nConnection: close\r\n\r\n"),
              HasSubstr("expected one Host header, got 2"));
  for (const char *path : {"*", "/%", "/%4", "/%zz", "/%00", "/%ff", "http://x/"})
    EXPECT_THAT(ask("GET " + std::string(path) + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"),
                HasSubstr("expected a path of UTF-8 that begins with '/', got '"))
        << path;
}

// Whatever a request is refused for: where its body ends is not known, or it has not been read, so what comes next is
// none of the client's requests. A proxy in front may have taken it for a part of the body.
TEST_F(HttpServerTest, theRestOfARefusedRequestIsNoRequest) {
  start({.bodyBytes = 100'000});
  const std::string hidden = "GET /hidden HTTP/1.1\r\nHost: x\r\n\r\n";
  struct Row {
    std::string_view head;
    std::string_view status = "400", why = "";
  };
  const Row rows[] = {
      {"Transfer-Encoding: xchunked\r\n", "400", "expected Transfer-Encoding 'chunked' of HTTP/1.1, got 'xchunked'"},
      {"Transfer-Encoding: chunked;q=1\r\n", "400",
       "expected Transfer-Encoding 'chunked' of HTTP/1.1, got 'chunked;q=1'"},
      {"Transfer-Encoding: identity\r\n"},
      {"Transfer-Encoding:\r\n"},
      {"Transfer-Encoding: gzip\r\n"},
      {"Transfer-Encoding: chunked, identity\r\n"},
      {"Transfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n", "400",
       "expected one header 'transfer-encoding', got 2"},
      {"Transfer-Encoding: xchunked\r\nContent-Length: 0\r\n", "400",
       "a request has Content-Length or Transfer-Encoding, got both"},
      {"Content-Length: 0\r\nTransfer-Encoding: chunked\r\n"},
      {"Content-Length: 4\r\nContent-Length: 5\r\n"},
      {"Content-Length: 4\r\nContent-Length: 4\r\n", "400", "expected one header 'content-length', got 2"},
      {"Content-Length: 4, 4\r\n", "400", "expected digits as Content-Length, got '4, 4'"},
      {"Content-Length: +4\r\n"},
      {"Content-Length : 4\r\n"},
      {"Content-Length: 0x4\r\n"},
      {"Content-Length:\r\n 4\r\n", "400", "expected each header on one line, got one that goes on in the next"},
      {"A: b\r\n\tc\r\n", "400", "expected each header on one line, got one that goes on in the next"},
      {"Transfer-Encoding:\r\n chunked\r\n"},
      {"Authorization: Bearer a\r\nAuthorization: Bearer b\r\n", "400", "expected one header 'authorization', got 2"},
      {"x-api-key: a\r\nx-api-key: a\r\n", "400", "expected one header 'x-api-key', got 2"},
      {"Content-Type: text/plain\r\nContent-Type: application/json\r\n", "400",
       "expected one header 'content-type', got 2"},
      {"Expect: more\r\n"},
      {"Content-Length: 100001\r\n", "413"},
  };
  for (const Row &row : rows) {
    const std::string answer = ask("POST / HTTP/1.1\r\nHost: x\r\n" + std::string(row.head) + "\r\n" + hidden);
    EXPECT_THAT(answer, AllOf(StartsWith("HTTP/1.1 " + std::string(row.status)), HasSubstr(row.why),
                              HasSubstr("Connection: close"), EndsWith("}<end>"), Not(HasSubstr("/hidden"))))
        << row.head;
  }
  // One that is refused for something else, whose body is there or not.
  for (const char *head : {"Content-Length: 46\r\n", "Transfer-Encoding: chunked\r\n"})
    EXPECT_THAT(ask("POST /none HTTP/1.1\r\nHost: x\r\n" + std::string(head) + "\r\n" + hidden),
                AllOf(StartsWith("HTTP/1.1 404"), HasSubstr("Connection: close"), EndsWith("}<end>")))
        << head;
  EXPECT_THAT(ask("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + hidden),
              AllOf(StartsWith("HTTP/1.1 400"), EndsWith("}<end>")));
  // Without a body the next request is known to begin.
  EXPECT_THAT(ask("GET /none HTTP/1.1\r\nHost: x\r\n\r\nGET /next HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"),
              AllOf(StartsWith("HTTP/1.1 404"), HasSubstr("Connection: keep-alive"), EndsWith("\r\n\r\n/next<end>")));
}

TEST_F(HttpServerTest, limitsLinesOfChunks) {
  start();
  const std::string head = "POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n";
  const auto chunk = [](size_t size) { return "3;" + std::string(size, 'a') + "\r\nabc\r\n"; };
  EXPECT_THAT(ask(head + chunk(1000) + chunk(1000) + "0\r\n\r\n"), EndsWith("\r\n\r\nabcabc<end>"));
  for (size_t size : {5000, 70'000})
    EXPECT_THAT(ask(head + chunk(size) + "0\r\n\r\n"),
                AllOf(StartsWith("HTTP/1.1 400"),
                      HasSubstr("the line in front of a chunk may have 4096 bytes, got more"), EndsWith("}<end>")))
        << size;
  EXPECT_THAT(ask(head + "0\r\na: " + std::string(70'000, 'a') + "\r\n\r\n"), StartsWith("HTTP/1.1 400"));
}

TEST_F(HttpServerTest, limitsHeaders) {
  start();
  std::string many = "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n";
  for (int i = 0; i < 98; ++i)
    many += "a: b\r\n";
  EXPECT_THAT(ask(many + "\r\n"), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(ask(many + "a: b\r\n\r\n"),
              AllOf(StartsWith("HTTP/1.1 431"), HasSubstr("a request may have 100 headers, got 101")));
  EXPECT_THAT(ask("GET / HTTP/1.1\r\nHost: x\r\na: " + std::string(70000, 'a')),
              AllOf(StartsWith("HTTP/1.1 431"), HasSubstr("headers may have 65536 bytes, got more")));
}

TEST_F(HttpServerTest, limitsBodiesAsTheyComeOverTheWire) {
  start({.bodyBytes = 10000});
  const std::string head = "POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n";
  EXPECT_THAT(ask(head + "Content-Length: 10000\r\n\r\n" + std::string(10000, 'a')), StartsWith("HTTP/1.1 200"));
  // Told before anything of it has come.
  EXPECT_THAT(ask(head + "Content-Length: 10001\r\n\r\n"),
              AllOf(StartsWith("HTTP/1.1 413"), HasSubstr("a body may have 10000 bytes, got Content-Length 10001"),
                    EndsWith("<end>")));
  EXPECT_THAT(ask(head + "Content-Length: 99999999999999999999999\r\n\r\n"), StartsWith("HTTP/1.1 400"));
  const std::string chunked = head + "Transfer-Encoding: chunked\r\n\r\n";
  std::string ones;
  for (int i = 0; i < 1600; ++i)
    ones += "1\r\na\r\n";
  EXPECT_THAT(ask(chunked + ones + "0\r\n\r\n"), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(ask(chunked + ones + ones + "0\r\n\r\n"),
              AllOf(StartsWith("HTTP/1.1 413"), HasSubstr("a body may have 10000 bytes over the wire, got more")));
  EXPECT_THAT(ask(chunked + "fffffff\r\n" + std::string(20000, 'a')), StartsWith("HTTP/1.1 413"));
  EXPECT_THAT(ask(chunked + "1;" + std::string(20000, 'a')), StartsWith("HTTP/1.1 4"));
  EXPECT_THAT(ask(chunked + "zz\r\n"), StartsWith("HTTP/1.1 400"));
  EXPECT_TRUE(eventually([&] { return server->load().bytesInFlight == 0; })) << server->load().bytesInFlight;
}

TEST_F(HttpServerTest, limitsBytesOfAllRequests) {
  start({.bytesInFlight = 100});
  const RawClient first(server->port());
  first.send("POST /hold HTTP/1.1\r\nHost: x\r\nContent-Length: 60\r\n\r\n" + std::string(60, 'a'));
  handler.waitForHeld(1);
  EXPECT_THAT(
      ask("POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 60\r\n\r\n" + std::string(60, 'a')),
      AllOf(StartsWith("HTTP/1.1 429"),
            HasSubstr("60 bytes of all clients are in flight, there is no room for this request")));
  EXPECT_THAT(ask("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3c\r\n" + std::string(60, 'a')),
              StartsWith("HTTP/1.1 429"));
  const auto refusalOf = [&](uint64_t bytes) {
    try {
      handler.held[0]->reserveAnswer(bytes);
      return std::string("none");
    } catch (const ServiceError &error) {
      return std::string(errorCodeName(error.code)) + ": " + error.what();
    }
  };
  EXPECT_EQ(refusalOf(41),
            "queue_full: 60 bytes of all clients are in flight, there is no room for an answer of 41 bytes");
  // At no other time either.
  EXPECT_EQ(refusalOf(101), "out_of_memory: an answer of 101 bytes is larger than all that may be in flight, 100");
  EXPECT_EQ(refusalOf(40), "none");
  EXPECT_THAT(ask("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 101\r\n\r\n"),
              AllOf(StartsWith("HTTP/1.1 413"), HasSubstr("a body may have 100 bytes, got Content-Length 101")));
  handler.held[0]->reply({.body = "done"});
  handler.held.clear();
  EXPECT_THAT(first.receive("done"), EndsWith("done"));
  EXPECT_TRUE(eventually([&] { return server->load().bytesInFlight == 0; }));
}

// What is only promised takes nobody's room.
TEST_F(HttpServerTest, bytesCountAsTheyCome) {
  constexpr size_t most = 1 << 20;
  start({.bodyBytes = most, .bytesInFlight = most});
  std::vector<RawClient> promising;
  for (int i = 0; i < 100; ++i)
    promising.emplace_back(server->port())
        .send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n0123456789");
  EXPECT_TRUE(eventually([&] { return server->load().bytesInFlight == 1000; })) << server->load().bytesInFlight;
  const std::string body(900'000, 'a');
  EXPECT_THAT(ask("POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 900000\r\n\r\n" + body),
              AllOf(StartsWith("HTTP/1.1 200"), EndsWith("\r\n\r\n" + body + "<end>")));
  promising.clear();
  EXPECT_TRUE(eventually([&] { return server->load().bytesInFlight == 0; })) << server->load().bytesInFlight;
}

// Who sends much has a part of the room, and others the rest.
TEST_F(HttpServerTest, addressesAndKeysHaveSharesOfTheBytes) {
  start({.bodyBytes = 150, .bytesInFlight = 1000, .bytesPerAddress = 250, .bytesPerKey = 100});
  std::vector<RawClient> clients;
  const auto hold = [&](const std::string &key, size_t size) {
    clients.emplace_back(server->port())
        .send("POST /hold HTTP/1.1\r\nHost: x\r\n" + (key.empty() ? "" : "x-api-key: " + key + "\r\n") +
              "Content-Length: " + std::to_string(size) + "\r\n\r\n" + std::string(size, 'a'));
  };
  hold("a", 90);
  handler.waitForHeld(1);
  const auto send = [&](const std::string &key, size_t size) {
    return ask("POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n" +
               (key.empty() ? "" : "x-api-key: " + key + "\r\n") + "Content-Length: " + std::to_string(size) +
               "\r\n\r\n" + std::string(size, 'a'));
  };
  EXPECT_THAT(send("a", 11), AllOf(StartsWith("HTTP/1.1 429"),
                                   HasSubstr("90 bytes of this key are in flight, there is no room for this request")));
  EXPECT_THAT(send("a", 10), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(send("b", 100), StartsWith("HTTP/1.1 200"));
  // More than that is none of a key's at any time.
  EXPECT_THAT(send("b", 101), AllOf(StartsWith("HTTP/1.1 413"), HasSubstr("a body may have 100 bytes")));
  EXPECT_THAT(send("", 150), StartsWith("HTTP/1.1 200"));
  hold("", 140);
  handler.waitForHeld(2);
  EXPECT_THAT(send("b", 21), AllOf(StartsWith("HTTP/1.1 429"), HasSubstr("230 bytes of this address are in flight")));
  EXPECT_THAT(send("b", 20), StartsWith("HTTP/1.1 200"));
  handler.held.clear();
  EXPECT_TRUE(eventually([&] { return server->load().bytesInFlight == 0; })) << server->load().bytesInFlight;
}

TEST_F(HttpServerTest, deadlinesAreOfTheWhole) {
  start({.headerTime = 300ms, .bodyTime = 300ms, .idleTime = 300ms});
  const auto dribble = [&](std::string_view begin) {
    const RawClient client(server->port());
    client.send(begin);
    for (int i = 0; i < 100 && client.send("a"); ++i) {
      const std::string answer = client.receive({}, 20);
      if (answer != "<nothing more>")
        return answer;
    }
    return std::string("it goes on");
  };
  EXPECT_THAT(dribble("GET / HTTP/1.1\r\na: "),
              AllOf(StartsWith("HTTP/1.1 408"), HasSubstr("the header of a request may take 300 ms")));
  EXPECT_THAT(dribble("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n"),
              AllOf(StartsWith("HTTP/1.1 408"), HasSubstr("the body of a request may take 300 ms")));
  // One that says nothing.
  EXPECT_EQ(RawClient(server->port()).receive(), "<end>");
  EXPECT_THAT(ask("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), EndsWith("\r\n\r\n/<end>"));
}

TEST_F(HttpServerTest, slowReadersAreLeft) {
  start({.writeTime = 300ms});
  const RawClient client(server->port());
  client.send("GET /hold HTTP/1.1\r\nHost: x\r\n\r\n");
  handler.waitForHeld(1);
  handler.held[0]->reply({.body = std::string(64 << 20, 'a')});
  handler.held.clear();
  EXPECT_TRUE(eventually([&] { return server->load().connections == 0; }));
  EXPECT_EQ(handler.lost, 1u);
}

TEST_F(HttpServerTest, dribblersHoldNobodyUp) {
  start();
  std::vector<RawClient> dribblers;
  for (int i = 0; i < 64; ++i)
    dribblers.emplace_back(server->port()).send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\na");
  const auto began = std::chrono::steady_clock::now();
  EXPECT_THAT(ask("GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"), EndsWith("/health<end>"));
  EXPECT_LT(std::chrono::steady_clock::now() - began, 2s);
}

TEST_F(HttpServerTest, aThousandClientsThatGoAreNoticed) {
  // Both ends are in this process.
  rlimit files = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &files), 0);
  files.rlim_cur = std::min<rlim_t>(files.rlim_max, 4096);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &files), 0);
  start();
  std::vector<RawClient> clients;
  for (int i = 0; i < 1000; ++i) {
    clients.emplace_back(server->port());
    ASSERT_TRUE(clients.back().send("POST /hold HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nbody"));
  }
  handler.waitForHeld(1000);
  EXPECT_EQ(server->load().requests, 1000u);
  for (size_t i = 0; i < clients.size(); ++i)
    i % 2 ? clients[i].close() : clients[i].finishSending();
  EXPECT_TRUE(eventually([&] { return handler.gone == 1000 && handler.lost == 1000; }))
      << handler.gone << " " << handler.lost;
  // A reply to one of them goes nowhere; what comes too late to be told is told at once.
  EXPECT_TRUE(handler.held[0]->isGone());
  handler.held[0]->reply({.body = "late"});
  handler.held[1]->whenGone([&] { ++handler.gone; });
  EXPECT_EQ(handler.gone, 1001u);
  handler.held.clear();
  EXPECT_TRUE(eventually([&] { return server->load().connections == 0; })) << server->load().connections;
  EXPECT_EQ(server->load().requests, 0u);
  EXPECT_EQ(server->load().bytesInFlight, 0u);
}

TEST_F(HttpServerTest, aForgottenRequestIsAnswered) {
  start();
  EXPECT_THAT(ask("GET /drop HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"),
              AllOf(StartsWith("HTTP/1.1 500"), HasSubstr("the request was dropped")));
}

TEST_F(HttpServerTest, whatIsCancelledHasItsAnswerAndNobodyWaits) {
  start();
  const RawClient client(server->port());
  client.send("GET /hold HTTP/1.1\r\nHost: x\r\n\r\n");
  handler.waitForHeld(1);
  EXPECT_TRUE(handler.held[0]->cancel({.status = 409, .body = "cancelled"}));
  EXPECT_TRUE(handler.held[0]->isGone());
  EXPECT_EQ(handler.gone, 1u);
  // What comes later goes nowhere.
  EXPECT_FALSE(handler.held[0]->cancel({.body = "again"}));
  handler.held[0]->reply({.body = "late"});
  EXPECT_THAT(client.receive("cancelled"), AllOf(StartsWith("HTTP/1.1 409"), EndsWith("cancelled")));
  client.send("GET /next HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(client.receive(), AllOf(StartsWith("HTTP/1.1 200"), EndsWith("\r\n\r\n/next<end>")));
  EXPECT_EQ(handler.gone, 1u);
  // One with a reply cannot be cancelled, and is not gone.
  const RawClient answered(server->port());
  answered.send("GET /hold HTTP/1.1\r\nHost: x\r\n\r\n");
  handler.waitForHeld(2);
  handler.held[1]->reply({.body = "done"});
  EXPECT_FALSE(handler.held[1]->cancel({.body = "cancelled"}));
  EXPECT_FALSE(handler.held[1]->isGone());
  EXPECT_THAT(answered.receive("done"), EndsWith("done"));
}

TEST_F(HttpServerTest, limitsConnections) {
  start({.connectionsPerAddress = 2});
  RawClient first(server->port());
  const RawClient second(server->port());
  EXPECT_TRUE(eventually([&] { return server->load().connections == 2; }));
  EXPECT_THAT(RawClient(server->port()).receive(), StartsWith("HTTP/1.1 503"));
  EXPECT_EQ(server->load().refusedConnections, 1u);
  first.close();
  EXPECT_TRUE(eventually([&] { return server->load().connections == 1; }));
  EXPECT_THAT(ask("GET /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"), EndsWith("/a<end>"));
}

TEST_F(HttpServerTest, drainsWhenWhatIsGoingOnIsDone) {
  start();
  const RawClient idle(server->port()), busy(server->port());
  busy.send("GET /hold HTTP/1.1\r\nHost: x\r\n\r\n");
  handler.waitForHeld(1);
  server->drain();
  EXPECT_EQ(idle.receive(), "<end>");
  EXPECT_FALSE(server->waitUntilIdle(50ms));
  EXPECT_FALSE(RawClient(server->port()).isConnected);
  handler.held[0]->reply({.body = "done"});
  handler.held.clear();
  EXPECT_THAT(busy.receive(), AllOf(HasSubstr("Connection: close"), EndsWith("done<end>")));
  EXPECT_TRUE(server->waitUntilIdle(5s));
}

// Requests of open and new connections are answered, and each answer is the connection's last.
TEST_F(HttpServerTest, leaves) {
  start();
  const RawClient open(server->port());
  open.send("GET /a HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(open.receive("\r\n\r\n/a"), HasSubstr("Connection: keep-alive"));
  server->leave();
  open.send("GET /b HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(open.receive(), AllOf(StartsWith("HTTP/1.1 200"), HasSubstr("Connection: close"), EndsWith("/b<end>")));
  EXPECT_THAT(ask("GET /c HTTP/1.1\r\nHost: x\r\n\r\n"),
              AllOf(StartsWith("HTTP/1.1 200"), HasSubstr("Connection: close"), EndsWith("/c<end>")));
}

TEST_F(HttpServerTest, marksRequestsToTheAdminPort) {
  server = vx::serve::makeHttpServer({});
  server->listen("127.0.0.1", 0);
  EXPECT_EQ(server->adminPort(), 0u);
  server->listen("127.0.0.1", 0, /*isAdmin=*/true);
  server->start(handler);
  ASSERT_NE(server->port(), server->adminPort());
  const std::string request = "GET /port HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
  EXPECT_THAT(RawClient(server->port()).ask(request), EndsWith("\r\n\r\nmain<end>"));
  EXPECT_THAT(RawClient(server->adminPort()).ask(request), EndsWith("\r\n\r\nadmin<end>"));
  server->drain();
  EXPECT_TRUE(eventually([this] { return !RawClient(server->adminPort()).isConnected; }));
}

TEST_F(HttpServerTest, stopsAtOnce) {
  start();
  const RawClient busy(server->port());
  busy.send("GET /hold HTTP/1.1\r\nHost: x\r\n\r\n");
  handler.waitForHeld(1);
  server->stop();
  EXPECT_EQ(handler.gone, 1u);
  EXPECT_EQ(busy.receive(), "<end>");
  server.reset();
  handler.held.clear();
}

TEST_F(HttpServerTest, saysWhyItCannotListen) {
  start();
  auto other = vx::serve::makeHttpServer({});
  const auto expectFailure = [&](const std::string &host, uint16_t port, const std::string &message) {
    try {
      other->listen(host, port);
      ADD_FAILURE() << host;
    } catch (const vx::serve::Error &error) {
      EXPECT_EQ(error.what(), message);
    }
  };
  const uint16_t port = server->port();
  expectFailure("127.0.0.1", port,
                "cannot listen on '127.0.0.1' port " + std::to_string(port) + ": Address already in use");
  expectFailure("192.0.2.1", 80, "cannot listen on '192.0.2.1' port 80: Cannot assign requested address");
}

} // namespace
