// What the server answers to which path.
#ifndef VX_SERVE_SERVICE_H
#define VX_SERVE_SERVICE_H

#include "deadline_clock.h"
#include "gatekeeper.h"
#include "http_server.h"
#include "model_table.h"
#include "running_requests.h"
#include "trace_exporter.h"
#include "worker_pool.h"

#include <nlohmann/json.hpp>

#include <map>
#include <optional>
#include <set>

namespace vx::serve {

struct ServiceOptions {
  std::string host;                 // that the server listens on; what browsers say is checked on a loopback address
  std::string adminHost = {};       // that of the admin port
  bool hasAdminPort = false;        // then /metrics and paths of admins are answered there alone
  std::string commit = {};          // that the server was built from; empty: not known
  std::vector<std::string> origins; // of pages that may ask, "https://a.example"; "*": all
  std::chrono::milliseconds timeout{600'000};
  uint64_t traceOneIn = 100; // of requests without a traceparent
  bool metricsOpen = false;  // to those without a key
  size_t workers = 2;
};

// The most texts of one request.
inline constexpr size_t mostTexts = 2048;

// A request that is over, for the log.
struct AccessRecord {
  std::string_view address, method, path, key, model, id; // of the request, which has all of them; empty: none
  unsigned status = 0;
  std::chrono::nanoseconds took{0};
};

// A request on its way through one of the routes.
struct RouteRequest {
  std::shared_ptr<HttpExchange> exchange;
  std::vector<std::string> arguments; // what stands for {} in the route's pattern
  const HttpRequest &http() const { return exchange->request; }
  RequestNotes &notes() const { return *exchange->request.notes; }
};

class Service final : public HttpHandler {
public:
  enum class Access : uint8_t { open, metrics, key, admin };
  struct Route {
    std::string_view method, pattern; // "GET", "/v2/models/{}/ready"
    Access access;
    bool isQuick; // answered by the thread that reads, since it works on nothing
    void (Service::*function)(const RouteRequest &);
  };

  Service(const ServiceOptions &options, ModelTable &models, std::shared_ptr<Gatekeeper> gatekeeper, Metrics &metrics,
          std::function<HttpServer::Load()> load);
  ~Service() override;

  // The health paths say that the server is draining; requests are still answered.
  void leave() { isLeaving = true; }
  // No request that takes work is taken any more.
  void drain() { isLeaving = isDraining = true; }
  // "", or the first error of a configuration that was refused.
  void setConfigurationState(const std::string &refusal);
  void setGatekeeper(std::shared_ptr<Gatekeeper> other);
  // Null: requests are not traced.
  void setTraces(std::shared_ptr<TraceExporter> other);
  // But for the number of workers.
  void setOptions(const ServiceOptions &other);
  // Called for each request that is over, by threads of the server's.
  std::function<void(const AccessRecord &record)> log; // must not keep the record
  // What clients are not told of a failure.
  std::function<void(const std::string &line)> warn;

  void admit(HttpRequest &head) override;
  void handle(std::shared_ptr<HttpExchange> exchange) override;
  HttpResponse refuse(const HttpRequest &request, const ServiceError &error) override;
  void finished(const HttpRequest &request, unsigned status, std::chrono::nanoseconds took) override;

private:
  static std::span<const Route> routes();
  // Of a path: the route of the method, and all methods that there are.
  static const Route *findRoute(const HttpRequest &request, std::vector<std::string> &arguments,
                                std::vector<std::string_view> &methods);
  void checkBrowser(const HttpRequest &head) const;
  // Those of rates, and of web pages.
  void addHeaders(const HttpRequest &request, HttpResponse &response) const;
  void answer(const Route &route, const RouteRequest &request);
  void replyJson(const RouteRequest &request, std::string body, unsigned status = 200) const;
  std::shared_ptr<Gatekeeper> gatekeeper() const;
  std::shared_ptr<const ServiceOptions> options() const;
  std::shared_ptr<TraceExporter> traces() const;
  // The spans of a request that is over.
  std::vector<Span> spansOf(const HttpRequest &request, unsigned status, std::chrono::nanoseconds took) const;
  // Throws as ModelTable::find, and for a model whose device is lost.
  std::shared_ptr<ServedModel> findModel(const RouteRequest &request, std::string_view name) const;
  // Answers the request once the model is loaded. Throws ErrorCode::queue_full.
  void awaitModel(const Route &route, const RouteRequest &request, const std::string &model);
  // Loads a model that requests wait for, and lets these go on.
  void loadAwaited(const std::string &model);
  // When a request is to be done: what the server allows, or less where the client asks for that.
  Clock::time_point deadlineOf(const HttpRequest &request) const;
  // Answers a request whose run has failed. What went on inside of the server is for the log.
  void replyFailure(HttpExchange &exchange, const std::string &model, const ServiceError &error);
  void submit(const RouteRequest &request, const std::shared_ptr<BatchJob> &job,
              const std::shared_ptr<BatchQueue> &batcher);

  // The functions of the routes. scripts/http-reference makes a page of these comments and of the table of routes.
  //
  // system_routes.cpp

  // Reports whether the server takes work. The status is 200 for `ok`, else 503.
  // \answer {"status":"ok|loading|draining|device_lost|no_model","models":{NAME:STATE},"config":"ok|refused"}
  // \answer also "config_error", the first error of a refused configuration, and "lost_devices" of each model
  void getHealth(const RouteRequest &request);
  // Lists the devices, or why there are none. The body is the document that vx_list_devices returns.
  // \answer {"version":1,"backends":[{"name","available":true,"devices":[DEVICE]}]}; DEVICE is
  // \answer {"device","name","details","total_memory","software","features"}
  // \answer a backend without a device has "available":false, "code" and "reason" in place of "devices"
  void getHardware(const RouteRequest &request);
  // Gives counters and gauges as text for Prometheus: `vx_*` and `process_*`.
  // \answer text/plain; version=0.0.4
  void getMetrics(const RouteRequest &request);
  // Gives this reference as a document of OpenAPI 3.1.
  // \answer {"openapi":"3.1.0","info","paths","components"}
  void getOpenApi(const RouteRequest &request);
  // Ends the requests of this `x-request-id` that wait for a model. They are answered with 409 `cancelled`.
  // \answer {"id","cancelled":COUNT}
  // \codes not_found.
  void cancelRequests(const RouteRequest &request);
  nlohmann::ordered_json health() const;
  void addModelGauges(std::vector<Metrics::Gauge> &gauges) const;
  // Devices that a model has lost, each with the reason, and where it is now.
  static nlohmann::ordered_json describeLosses(const ModelTable::Entry &entry);

  // model_routes.cpp

  // Lists the models, and those that are refused.
  // \answer {"models":[MODEL],"refused":[{"name","reason"}]}; MODEL is the answer of `/api/v1/models/{name}`
  void getModels(const RouteRequest &request);
  // Describes a model: its state, device, functions, and the functions that are not served. Fields of a model that is
  // not loaded are left out.
  // \answer {"name","aliases","state":"ready|loading|unloaded|failed|device_lost","reason",
  // \answer "device":REPORT,"devices":[{"device","state":"ready|device_lost|refused","reason"}],"lost_devices",
  // \answer "functions":[{"name","batched","inputs":[TENSOR],"outputs":[TENSOR]}],"not_served":[REASON],
  // \answer "embeddings":{"dimensions","max_tokens","pooling","poolings","normalized","prompts"},
  // \answer "rerank":{"max_tokens","activation":"sigmoid|identity"}}
  // \answer TENSOR is {"name","datatype","shape"}; a free size is -1
  // \codes model_not_found.
  void getModel(const RouteRequest &request);
  // Loads a model, or loads it again where its files or its device have changed. Answers when it is loaded.
  // \answer that of `/api/v1/models/{name}`
  // \codes model_not_found conflict internal device_lost out_of_memory.
  void loadModel(const RouteRequest &request);
  // Unloads a model.
  // \answer that of `/api/v1/models/{name}`
  // \codes model_not_found conflict.
  void unloadModel(const RouteRequest &request);
  // Lists the models that are loaded, as OpenAI's interface does.
  // \answer {"object":"list","data":[{"id","object":"model","created":0,"owned_by":"vx"}]}
  void getOpenAiModels(const RouteRequest &request);
  // Describes a model as OpenAI's interface does.
  // \answer {"id","object":"model","created":0,"owned_by":"vx"}
  // \codes model_not_found.
  void getOpenAiModel(const RouteRequest &request);

  // kserve_routes.cpp

  // Names the server and its extensions.
  // \answer {"name":"vx","version","extensions":["binary_tensor_data"]}
  void getKserveServer(const RouteRequest &request);
  // Answers while the process runs.
  // \answer {"live":true}
  void getKserveLive(const RouteRequest &request);
  // Reports whether the server takes work.
  // \answer {"ready":true}
  // \codes loading draining device_lost.
  void getKserveReady(const RouteRequest &request);
  // Describes the inputs and outputs of the first function that is served. The only version is `1`.
  // \answer {"name","versions":["1"],"platform":"vx_module","inputs":[{"name","datatype","shape"}],"outputs":[...]}
  // \codes model_not_found invalid_value loading device_lost.
  void getKserveModel(const RouteRequest &request);
  // Reports whether the model takes requests.
  // \answer {"name","ready":true}
  // \codes model_not_found loading device_lost.
  void getKserveModelReady(const RouteRequest &request);
  // Runs a function. The body is JSON; bytes of inputs with `binary_data_size` follow it, in the order of the inputs,
  // and the header `Inference-Header-Content-Length` then has the length of the JSON.
  // \field id text: comes back in the answer.
  // \field inputs list: one for each input of the function.
  // \field inputs[].name text: the input.
  // \field inputs[].datatype text: BOOL, UINT8 to UINT64, INT8 to INT64, FP16, BF16, FP32, FP64 or BYTES.
  // \field inputs[].shape list of numbers: the sizes.
  // \field inputs[].data list: the elements, flat or nested; not for FP16 and BF16.
  // \field inputs[].parameters.binary_data_size number: bytes after the JSON, in place of `data`.
  // \field outputs list: the outputs to give; all of them by default.
  // \field outputs[].name text: the output.
  // \field outputs[].parameters.binary_data boolean: as bytes after the JSON.
  // \field parameters.binary_data_output boolean: all outputs as bytes.
  // \field parameters.function text: the function; the first one that is served by default.
  // \answer {"model_name","model_version":"1","id","outputs":[{"name","datatype","shape","data"}]}
  // \answer with bytes: application/octet-stream, and `parameters.binary_data_size` in place of "data"
  // \codes invalid_json invalid_value model_not_found queue_full internal loading device_lost deadline out_of_memory.
  void inferKserve(const RouteRequest &request);

  // repository_routes.cpp

  // Lists the models of the server, and those that are refused, as Triton's model repository does.
  // \field ready boolean: models that are ready alone; false by default.
  // \answer [{"name","version":"1","state":"READY|LOADING|UNAVAILABLE","reason"}]
  // \codes invalid_json invalid_value.
  void getRepositoryIndex(const RouteRequest &request);
  // Loads a model, as `/api/v1/models/{name}/load`. Answers when it is loaded. The client cannot give a configuration
  // or files of the model.
  // \answer {}
  // \codes invalid_json invalid_value model_not_found conflict internal device_lost out_of_memory.
  void loadRepositoryModel(const RouteRequest &request);
  // Unloads a model, as `/api/v1/models/{name}/unload`.
  // \field parameters.unload_dependents boolean: no model depends on another one.
  // \answer {}
  // \codes invalid_json invalid_value model_not_found conflict.
  void unloadRepositoryModel(const RouteRequest &request);

  // embedding_routes.cpp

  // Computes embeddings of texts.
  // \field model text: the model.
  // \field input text or list: a text, a list of texts, a list of tokens, or a list of these; 1 to 2048 of them.
  // \field dimensions number: keeps the first ones, of a model that allows it.
  // \field pooling text: `cls`, `mean` or `last`, of those that the model has.
  // \field normalize boolean: scales vectors to length 1; as the model does by default.
  // \field truncate boolean: cuts a text that is too long; else it is an error.
  // \field prompt_name text: one of the model's prompts, put before each text.
  // \answer {"model","dimensions","embeddings":[[...]],"usage":{"texts","tokens","truncated"}}
  // \codes invalid_json invalid_value context_length_exceeded model_not_found rate_limited queue_full internal loading
  // \codes device_lost deadline out_of_memory.
  void embed(const RouteRequest &request);
  // Computes embeddings as OpenAI's interface does.
  // \field model text: the model.
  // \field input text or list: a text, a list of texts, a list of tokens, or a list of these; 1 to 2048 of them.
  // \field encoding_format text: `float`, the default, or `base64` of little-endian f32.
  // \field dimensions number: keeps the first ones, of a model that allows it.
  // \field user text: is not used.
  // \field pooling text: `cls`, `mean` or `last`, of those that the model has.
  // \field normalize boolean: scales vectors to length 1; as the model does by default.
  // \field truncate boolean: cuts a text that is too long; else it is an error.
  // \field prompt_name text: one of the model's prompts, put before each text.
  // \answer {"object":"list","data":[{"object":"embedding","index","embedding":[...]}],"model",
  // \answer "usage":{"prompt_tokens","total_tokens"}}
  // \codes invalid_json invalid_value context_length_exceeded model_not_found rate_limited queue_full internal loading
  // \codes device_lost deadline out_of_memory.
  void embedOpenAi(const RouteRequest &request);
  void embedAs(const RouteRequest &request, bool isOpenAi);

  // rerank_routes.cpp

  // Scores texts for a query by a cross-encoder. The answer has the best text first. The body is in the form of
  // text-embeddings-inference, with `texts`, or in the one of Cohere, with `documents`. A score is the sigmoid of the
  // model's logit, or the logit, as the model's folder has it.
  // \field model text, optional: the model; by default the only cross-encoder that is loaded.
  // \field query text: the query.
  // \field texts list of texts: 1 to 2048 texts.
  // \field documents list of texts or objects: 1 to 2048 texts, or objects `{"text"}`.
  // \field top_n number: the most results; all of them by default.
  // \field raw_scores boolean: logits in place of scores.
  // \field return_text boolean: the answer has the texts.
  // \field return_documents boolean: the same.
  // \field truncate boolean: cuts pairs that are too long; else it is an error. True by default with `documents`.
  // \answer for `texts`: [{"index","score","text"}]
  // \answer for `documents`: {"id","model","results":[{"index","relevance_score","document":{"text"}}],
  // \answer "usage":{"prompt_tokens","total_tokens"}}
  // \codes invalid_json invalid_value context_length_exceeded model_not_found rate_limited queue_full internal loading
  // \codes device_lost deadline out_of_memory.
  void rerank(const RouteRequest &request);
  std::string onlyReranker() const;

  ModelTable &models;
  Metrics &metrics;
  const std::function<HttpServer::Load()> load;
  std::atomic<bool> isLeaving = false, isDraining = false;
  mutable std::mutex lock;
  std::shared_ptr<const ServiceOptions> current;
  std::shared_ptr<Gatekeeper> gate;
  std::shared_ptr<TraceExporter> exporter;
  std::string refusal; // of a configuration
  class AwaitingRequest;
  std::map<std::string, std::vector<std::shared_ptr<AwaitingRequest>>> awaiting; // of each model, under the lock
  std::set<std::string> isLoadingFor;                                            // models that `loaders` have to load
  RunningRequests running;
  DeadlineClock deadlines;
  WorkerPool workers;
  WorkerPool loaders; // load models that requests wait for, one at a time
  WorkerPool admins;  // what an admin asks for may take as long as a compilation, and holds nobody else up
};

} // namespace vx::serve

#endif
