// Paths that have a route, and those that have none.
#include "key_gatekeeper.h"
#include "service.h"

#include <gtest/gtest.h>

namespace {

using namespace vx::serve;

class ServiceTest : public testing::Test {
protected:
  // "ok", or the code of the refusal.
  std::string admitted(const std::string &method, const std::string &path) {
    HttpRequest head;
    head.method = method;
    head.path = path;
    head.headers = {{"host", "localhost"}};
    head.address = "127.0.0.1";
    try {
      service.admit(head);
      return "ok";
    } catch (const ServiceError &error) {
      return std::string(errorCodeName(error.code));
    }
  }

  Metrics metrics;
  ModelTable table{metrics, [](const ModelSettings &) { return std::string(); }, [](const ModelTable::Entry &) {}, {}};
  Service service{{.host = "127.0.0.1", .origins = {}},
                  table,
                  std::make_shared<KeyGatekeeper>(std::nullopt, std::make_shared<RateLimiter>(Rate{}, Rate{}),
                                                  std::make_shared<FailureThrottle>(Rate{})),
                  metrics,
                  [] { return HttpServer::Load{}; }};
};

TEST_F(ServiceTest, pathsHaveTheSegmentsOfARoute) {
  for (const char *path :
       {"/v2", "/v2/models/a", "/v2/models/a b", "/v2/models/{}", "/v2/models/a/ready", "/v2/models/a/versions/1",
        "/v2/models/a/versions/1/ready", "/api/v1/health", "/metrics", "/v1/models/org%2Fname"})
    EXPECT_EQ(admitted("GET", path), "ok") << path;
  for (const char *path : {"/",
                           "/v",
                           "/v2/",
                           "//v2",
                           "/v2//models/a",
                           "/v2/model",
                           "/v2/modelss/a",
                           "/v2/models",
                           "/v2/models/",
                           "/v2/models//",
                           "/v2/models//ready",
                           "/v2/models/a/",
                           "/v2/models/a/read",
                           "/v2/models/a/ready/",
                           "/v2/models/a/ready/b",
                           "/v2/models/a/versions//ready",
                           "/{}",
                           "/v1/models/a/b",
                           "/metrics/",
                           ""})
    EXPECT_EQ(admitted("GET", path), "not_found") << path;
  EXPECT_EQ(admitted("POST", "/v2/models/a/infer"), "ok");
  EXPECT_EQ(admitted("POST", "/v2/models/a/versions/1/infer"), "ok");
  EXPECT_EQ(admitted("HEAD", "/v2/models/a"), "ok");
  EXPECT_EQ(admitted("OPTIONS", "/v2/models/a"), "ok");
  EXPECT_EQ(admitted("OPTIONS", "/v2/model"), "not_found");
  EXPECT_EQ(admitted("POST", "/v2/models/a"), "method_not_allowed");
  EXPECT_EQ(admitted("GET", "/v2/models/a/infer"), "method_not_allowed");
}

} // namespace
