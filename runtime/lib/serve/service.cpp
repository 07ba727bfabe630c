#include "service.h"

#include "configuration_values.h"
#include "run_failure.h"

#include "vx/base/json_text.h"
#include "vx/base/printable.h"

#include <algorithm>
#include <charconv>

namespace vx::serve {
namespace {

// Whether a path has the segments of a pattern, "/v2/models/{}"; each segment that stands for {} goes to `taken`. An
// empty one stands for nothing.
bool isOfPattern(std::string_view path, std::string_view pattern, std::vector<std::string_view> &taken) {
  taken.clear();
  size_t at = 0;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '{') {
      if (at == path.size() || path[at++] != pattern[i])
        return false;
      continue;
    }
    const std::string_view segment = path.substr(at, path.find('/', at) - at);
    if (segment.empty())
      return false;
    taken.push_back(segment);
    at += segment.size();
    ++i; // the other brace
  }
  return at == path.size();
}

bool isKservePath(std::string_view path) { return path == "/v2" || path.starts_with("/v2/"); }

// The trace that a request continues, or a new one for one in so many, else null. Two parents are as good as none.
std::shared_ptr<RequestTrace> traceOf(const HttpRequest &head, uint64_t oneIn) {
  constexpr size_t mostState = 512;
  const std::string *given = head.header("traceparent");
  const std::optional<TraceParent> parent =
      given && head.headerCount("traceparent") == 1 ? parseTraceParent(*given) : std::nullopt;
  if (!parent && !chooseForTrace(oneIn))
    return nullptr;
  std::string state;
  for (const auto &[name, value] : head.headers)
    if (parent && name == "tracestate" && !value.empty())
      state += (state.empty() ? "" : ",") + value;
  return std::make_shared<RequestTrace>(parent, state.size() <= mostState ? state : "");
}

// "localhost" of "localhost:8080", "::1" of "[::1]:8080".
std::string_view hostName(std::string_view host) {
  if (host.starts_with('['))
    return host.substr(1, host.find(']') - 1);
  return host.substr(0, host.find(':'));
}

} // namespace

std::span<const Service::Route> Service::routes() {
  static constexpr std::array table = {
      Route{"GET", "/api/v1/health", Access::open, true, &Service::getHealth},
      Route{"GET", "/metrics", Access::metrics, true, &Service::getMetrics},
      Route{"GET", "/openapi.json", Access::key, true, &Service::getOpenApi},
      Route{"GET", "/api/v1/hardware", Access::key, false, &Service::getHardware},
      Route{"GET", "/api/v1/models", Access::key, false, &Service::getModels},
      Route{"GET", "/api/v1/models/{}", Access::key, false, &Service::getModel},
      Route{"POST", "/api/v1/models/{}/load", Access::admin, false, &Service::loadModel},
      Route{"POST", "/api/v1/models/{}/unload", Access::admin, false, &Service::unloadModel},
      Route{"POST", "/api/v1/embeddings", Access::key, false, &Service::embed},
      Route{"POST", "/v1/embeddings", Access::key, false, &Service::embedOpenAi},
      Route{"POST", "/v1/rerank", Access::key, false, &Service::rerank},
      Route{"POST", "/rerank", Access::key, false, &Service::rerank},
      Route{"DELETE", "/v1/requests/{}", Access::admin, true, &Service::cancelRequests},
      Route{"GET", "/v1/models", Access::key, false, &Service::getOpenAiModels},
      Route{"GET", "/v1/models/{}", Access::key, false, &Service::getOpenAiModel},
      Route{"GET", "/v2", Access::key, true, &Service::getKserveServer},
      Route{"GET", "/v2/health/live", Access::open, true, &Service::getKserveLive},
      Route{"GET", "/v2/health/ready", Access::open, true, &Service::getKserveReady},
      Route{"GET", "/v2/models/{}", Access::key, false, &Service::getKserveModel},
      Route{"GET", "/v2/models/{}/ready", Access::key, false, &Service::getKserveModelReady},
      Route{"POST", "/v2/models/{}/infer", Access::key, false, &Service::inferKserve},
      Route{"GET", "/v2/models/{}/versions/{}", Access::key, false, &Service::getKserveModel},
      Route{"GET", "/v2/models/{}/versions/{}/ready", Access::key, false, &Service::getKserveModelReady},
      Route{"POST", "/v2/models/{}/versions/{}/infer", Access::key, false, &Service::inferKserve},
      Route{"POST", "/v2/repository/index", Access::key, false, &Service::getRepositoryIndex},
      Route{"POST", "/v2/repository/models/{}/load", Access::admin, false, &Service::loadRepositoryModel},
      Route{"POST", "/v2/repository/models/{}/unload", Access::admin, false, &Service::unloadRepositoryModel},
  };
  return table;
}

Service::Service(const ServiceOptions &options, ModelTable &models, std::shared_ptr<Gatekeeper> gatekeeper,
                 Metrics &metrics, std::function<HttpServer::Load()> load)
    : models(models), metrics(metrics), load(std::move(load)), current(std::make_shared<const ServiceOptions>(options)),
      gate(std::move(gatekeeper)), workers(options.workers, 4096), loaders(1, 4096), admins(4, 64) {}

Service::~Service() = default;

std::shared_ptr<Gatekeeper> Service::gatekeeper() const {
  std::lock_guard guard(lock);
  return gate;
}

std::shared_ptr<const ServiceOptions> Service::options() const {
  std::lock_guard guard(lock);
  return current;
}

void Service::setOptions(const ServiceOptions &other) {
  const auto next = std::make_shared<const ServiceOptions>(other);
  std::lock_guard guard(lock);
  current = next;
}

void Service::setGatekeeper(std::shared_ptr<Gatekeeper> other) {
  std::lock_guard guard(lock);
  gate = std::move(other);
}

std::shared_ptr<TraceExporter> Service::traces() const {
  std::lock_guard guard(lock);
  return exporter;
}

void Service::setTraces(std::shared_ptr<TraceExporter> other) {
  std::lock_guard guard(lock);
  exporter.swap(other);
}

void Service::setConfigurationState(const std::string &text) {
  std::lock_guard guard(lock);
  refusal = text;
}

const Service::Route *Service::findRoute(const HttpRequest &request, std::vector<std::string> &arguments,
                                         std::vector<std::string_view> &methods) {
  std::vector<std::string_view> taken;
  const Route *found = nullptr;
  for (const Route &route : routes()) {
    if (!isOfPattern(request.path, route.pattern, taken))
      continue;
    methods.push_back(route.method);
    if (route.method == "GET")
      methods.emplace_back("HEAD");
    if (route.method == request.method || (route.method == "GET" && request.method == "HEAD")) {
      found = &route;
      arguments = request.rpc.empty() ? std::vector<std::string>(taken.begin(), taken.end()) : request.arguments;
    }
  }
  return found;
}

// A page of somewhere else has the browser ask a server on this machine, by its address or by a name that it made to
// mean this machine.
void Service::checkBrowser(const HttpRequest &head) const {
  const std::string *origin = head.header("origin");
  const std::shared_ptr<const ServiceOptions> now = options();
  const std::string &listens = head.isAdminPort ? now->adminHost : now->host;
  if (!isLoopback(listens))
    return;
  const auto isAllowed = [&](const std::string &text) {
    return std::any_of(now->origins.begin(), now->origins.end(),
                       [&](const std::string &known) { return known == "*" || known == text; });
  };
  const std::string *host = head.header("host");
  const std::string_view name = host ? hostName(*host) : std::string_view();
  if (host && !isLoopback(name) && name != listens)
    throw serviceError(ErrorCode::forbidden, "this server is for its own machine, got the Host '{}'", *host);
  if (!origin || isAllowed(*origin))
    return;
  const size_t slashes = origin->find("://");
  if (slashes == std::string::npos || !host || origin->substr(slashes + 3) != *host)
    throw serviceError(ErrorCode::forbidden, "pages of '{}' may not ask this server", *origin);
}

void Service::addHeaders(const HttpRequest &request, HttpResponse &response) const {
  if (request.notes)
    response.headers.insert(response.headers.end(), request.notes->headers.begin(), request.notes->headers.end());
  const std::string *origin = request.header("origin");
  if (!origin)
    return;
  const std::shared_ptr<const ServiceOptions> now = options();
  for (const std::string &known : now->origins)
    if (known == *origin || known == "*") {
      response.headers.emplace_back("Access-Control-Allow-Origin", known);
      response.headers.emplace_back("Vary", "Origin");
      response.headers.emplace_back("Access-Control-Expose-Headers", "x-request-id, Retry-After, traceparent");
      if (request.method == "OPTIONS") {
        response.headers.emplace_back("Access-Control-Allow-Methods", "GET, HEAD, POST, DELETE");
        response.headers.emplace_back("Access-Control-Allow-Headers",
                                      "Authorization, Content-Type, x-api-key, x-request-id, traceparent, tracestate");
        response.headers.emplace_back("Access-Control-Max-Age", "600");
      }
      return;
    }
}

void Service::admit(HttpRequest &head) {
  head.notes = std::make_shared<RequestNotes>();
  if (traces()) {
    head.notes->trace = traceOf(head, options()->traceOneIn);
    if (head.notes->trace)
      head.notes->headers.emplace_back("traceparent", head.notes->trace->header());
  }
  checkBrowser(head);
  std::vector<std::string> arguments;
  std::vector<std::string_view> methods;
  const Route *route = findRoute(head, arguments, methods);
  const bool isOptions = head.method == "OPTIONS";
  const bool isOpen =
      isOptions ||
      (route && (route->access == Access::open || (route->access == Access::metrics && options()->metricsOpen)));
  if (!isOpen) {
    const std::shared_ptr<Gatekeeper> keeper = gatekeeper();
    head.notes->caller = keeper->identify(head);
    head.account = head.notes->caller.name;
    if (route && route->access == Access::admin && !head.notes->caller.isAdmin)
      throw ServiceError(ErrorCode::forbidden,
                         keeper->hasKeys() ? "this takes a key of the role 'admin'"
                                           : "this takes a key of the role 'admin', and the server has no keys");
    if (route && route->access != Access::metrics)
      keeper->countRequest(*head.notes);
  }
  if (methods.empty())
    throw serviceError(ErrorCode::not_found, "no path '{}'", head.path);
  if (route && (route->access == Access::admin || route->access == Access::metrics) && !head.isAdminPort &&
      options()->hasAdminPort)
    throw serviceError(ErrorCode::forbidden, "'{}' is answered at the admin port alone", head.path);
  if (isOptions)
    return;
  if (!route)
    throw serviceError(ErrorCode::method_not_allowed, "'{}' takes {}, got {}", head.path, fmt::join(methods, ", "),
                       head.method);
  const bool takesWork = route->method != "DELETE"; // ends some, which may be what the server waits for
  if (route->access != Access::open && route->access != Access::metrics && takesWork && isDraining &&
      head.rpc.empty()) // a server of gRPC that drains has sent its clients to other servers, and answers the rest
    throw ServiceError(ErrorCode::draining, "the server is going down").after(1);
  const std::string *coding = head.header("content-encoding");
  if (coding && *coding != "identity")
    throw serviceError(ErrorCode::unsupported_media_type, "bodies come as they are, got Content-Encoding '{}'",
                       *coding);
  const bool hasBody =
      head.header("transfer-encoding") || (head.header("content-length") && *head.header("content-length") != "0");
  if (route->method != "POST" || !hasBody || !head.rpc.empty())
    return;
  const std::string *type = head.header("content-type");
  const std::string media = type ? mediaType(*type) : "";
  // Clients of KServe say nothing, or that there are bytes.
  const bool isInfer = isKservePath(head.path);
  if (media != "application/json" && !(isInfer && (media.empty() || media == "application/octet-stream")))
    throw serviceError(ErrorCode::unsupported_media_type, "expected Content-Type 'application/json'{}, got '{}'",
                       isInfer ? " or 'application/octet-stream'" : "", type ? *type : "");
}

void Service::handle(std::shared_ptr<HttpExchange> exchange) {
  RouteRequest request{std::move(exchange), {}};
  std::vector<std::string_view> methods;
  const Route *route = findRoute(request.http(), request.arguments, methods);
  if (request.http().method == "OPTIONS") {
    HttpResponse response{
        .status = 204, .contentType = "", .headers = {{"Allow", fmt::format("{}, OPTIONS", fmt::join(methods, ", "))}}};
    addHeaders(request.http(), response);
    return request.exchange->reply(std::move(response));
  }
  if (route->isQuick)
    return answer(*route, request);
  if (route->method == "POST" && route->access == Access::key)
    running.add(request.exchange);
  WorkerPool &pool = route->access == Access::admin ? admins : workers;
  if (!pool.post([this, route, request] { answer(*route, request); }))
    request.exchange->reply(
        refuse(request.http(), ServiceError(ErrorCode::queue_full, "too many requests wait to be read").after(1)));
}

void Service::answer(const Route &route, const RouteRequest &request) {
  if (request.exchange->isGone())
    return;
  try {
    try {
      (this->*route.function)(request);
    } catch (const ModelNotLoaded &needed) {
      awaitModel(route, request, needed.model);
    }
  } catch (...) {
    request.exchange->reply(refuse(request.http(), currentFailure()));
  }
}

HttpResponse Service::refuse(const HttpRequest &request, const ServiceError &error) {
  HttpResponse response{.status = httpStatus(error.code)};
  if (isKservePath(request.path)) {
    response.body = kserveErrorBody(error);
    response.headers.emplace_back("x-vx-error-code", errorCodeName(error.code));
  } else {
    response.body = errorBody(error, request.id);
  }
  if (error.retryAfter > 0)
    response.headers.emplace_back("Retry-After", std::to_string(error.retryAfter));
  // Clients of OpenAI's interface come again for a 409 that does not say this.
  if (error.code == ErrorCode::cancelled)
    response.headers.emplace_back("x-should-retry", "false");
  if (error.code == ErrorCode::invalid_api_key)
    response.headers.emplace_back("WWW-Authenticate", "Bearer");
  if (error.code == ErrorCode::method_not_allowed) {
    std::vector<std::string> arguments;
    std::vector<std::string_view> methods;
    findRoute(request, arguments, methods);
    response.headers.emplace_back("Allow", fmt::format("{}, OPTIONS", fmt::join(methods, ", ")));
  }
  addHeaders(request, response);
  return response;
}

std::vector<Span> Service::spansOf(const HttpRequest &request, unsigned status, std::chrono::nanoseconds took) const {
  const RequestTrace &trace = *request.notes->trace;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const Clock::time_point nowSteady = Clock::now();
  const auto timeOf = [&](std::chrono::nanoseconds before) {
    return static_cast<uint64_t>((std::chrono::duration_cast<std::chrono::nanoseconds>(now) - before).count());
  };
  std::vector<std::string> arguments;
  std::vector<std::string_view> methods;
  const Route *route = findRoute(request, arguments, methods);
  const std::string model = request.notes->modelName();
  Span whole = {.trace = trace.trace,
                .id = trace.span,
                .parent = trace.parent,
                .state = trace.state,
                .name = route ? fmt::format("{} {}", request.method, route->pattern) : request.method,
                .kind = Span::Kind::server,
                .began = timeOf(took),
                .ended = timeOf({}),
                .attributes = {{"http.request.method", request.method},
                               {"url.path", request.path},
                               {"url.scheme", request.isSecure ? "https" : "http"},
                               {"http.response.status_code", static_cast<int64_t>(status)},
                               {"client.address", request.address},
                               {"vx.request_id", request.id}},
                .isError = status >= 500};
  if (!request.rpc.empty()) {
    const size_t slash = request.rpc.rfind('/');
    whole.name = request.rpc.substr(1);
    whole.attributes.emplace_back("rpc.system", "grpc");
    whole.attributes.emplace_back("rpc.service", request.rpc.substr(1, slash - 1));
    whole.attributes.emplace_back("rpc.method", request.rpc.substr(slash + 1));
  }
  if (route)
    whole.attributes.emplace_back("http.route", std::string(route->pattern));
  if (!model.empty())
    whole.attributes.emplace_back("vx.model", model);
  std::vector<Span> spans = {std::move(whole)};
  const RequestTrace::Times times = trace.times();
  const auto add = [&](const char *name, Clock::time_point began, Clock::time_point ended,
                       std::vector<Span::Attribute> attributes) {
    spans.push_back({.trace = trace.trace,
                     .id = makeSpanId(),
                     .parent = trace.span,
                     .state = trace.state,
                     .name = name,
                     .began = timeOf(nowSteady - began),
                     .ended = timeOf(nowSteady - ended),
                     .attributes = std::move(attributes)});
  };
  constexpr Clock::time_point never;
  const Clock::time_point ended = times.ended == never ? nowSteady : times.ended;
  if (times.came != never)
    add("queue", times.came, times.began == never ? ended : times.began, {});
  if (times.began != never)
    add("run", times.began, std::max(times.began, ended),
        {{"vx.batch_rows", static_cast<int64_t>(times.batchRows)}, {"vx.device", times.device}});
  return spans;
}

void Service::finished(const HttpRequest &request, unsigned status, std::chrono::nanoseconds took) {
  const std::string model = request.notes ? request.notes->modelName() : "";
  metrics.countRequest(model, status, took);
  if (request.notes && request.notes->trace && request.notes->trace->isSampled)
    if (const std::shared_ptr<TraceExporter> collector = traces())
      collector->add(spansOf(request, status, took));
  if (log)
    log({request.address, request.rpc.empty() ? std::string_view(request.method) : std::string_view("gRPC"),
         request.rpc.empty() ? request.path : request.rpc,
         request.notes ? std::string_view(request.notes->caller.name) : std::string_view(), model, request.id, status,
         took});
}

void Service::replyJson(const RouteRequest &request, std::string body, unsigned status) const {
  HttpResponse response{.status = status, .body = std::move(body)};
  addHeaders(request.http(), response);
  request.exchange->reply(std::move(response));
}

std::shared_ptr<ServedModel> Service::findModel(const RouteRequest &request, std::string_view name) const {
  if (const std::optional<std::string> known = models.knownName(name))
    request.notes().setModel(*known);
  const std::shared_ptr<ServedModel> own = std::exchange(request.notes().loaded, nullptr);
  std::shared_ptr<ServedModel> model = own ? own : models.find(name);
  if (model->isLost())
    throw serviceError(ErrorCode::device_lost, "the device of model '{}' is lost", model->settings.name).after(10);
  return model;
}

Clock::time_point Service::deadlineOf(const HttpRequest &request) const {
  const std::string *wanted = request.header("x-request-timeout-ms");
  uint64_t milliseconds = static_cast<uint64_t>(options()->timeout.count());
  if (wanted) {
    uint64_t given = 0;
    const auto [end, error] = std::from_chars(wanted->data(), wanted->data() + wanted->size(), given);
    if (error != std::errc() || end != wanted->data() + wanted->size() || given == 0)
      throw serviceError(ErrorCode::invalid_value,
                         "expected a number of milliseconds in x-request-timeout-ms, got '{}'", *wanted)
          .about("x-request-timeout-ms");
    milliseconds = std::min(milliseconds, given);
  }
  return request.notes->arrived + std::chrono::milliseconds(milliseconds);
}

void Service::replyFailure(HttpExchange &exchange, const std::string &model, const ServiceError &error) {
  const bool isInternal = error.code == ErrorCode::internal, isLost = error.code == ErrorCode::device_lost;
  if (!isInternal && !isLost)
    return exchange.reply(refuse(exchange.request, error));
  if (warn)
    warn(fmt::format("request {}: model '{}' failed: {}", exchange.request.id, model, error.what()));
  ServiceError told = isLost ? serviceError(ErrorCode::device_lost, "the device of model '{}' is lost", model)
                             : serviceError(ErrorCode::internal, "model '{}' failed, the server's log says why", model);
  told.retryAfter = error.retryAfter;
  exchange.reply(refuse(exchange.request, told));
}

void Service::submit(const RouteRequest &request, const std::shared_ptr<BatchJob> &job,
                     const std::shared_ptr<BatchQueue> &batcher) {
  job->deadline = deadlineOf(request.http());
  if (request.notes().trace && request.notes().trace->isSampled)
    job->trace = request.notes().trace;
  batcher->submit(job);
  deadlines.watch(job, batcher);
  request.exchange->whenGone([weakJob = std::weak_ptr(job), weakBatcher = std::weak_ptr(batcher)] {
    const auto lost = weakJob.lock();
    if (!lost)
      return;
    if (const auto queue = weakBatcher.lock())
      queue->forget(lost);
    lost->claim();
  });
}

} // namespace vx::serve
