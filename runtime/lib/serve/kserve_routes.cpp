// KServe's second protocol, for any module.
#include "json_request.h"
#include "kserve_tensors.h"
#include "run_failure.h"
#include "service.h"

#include "vx/base/json_text.h"

#include <charconv>

namespace vx::serve {
namespace {

using Json = nlohmann::json;
constexpr std::string_view lengthHeader = "inference-header-content-length";

// What an answer is made of when the outputs are there.
struct InferRequest {
  std::string model, version, id;
  std::vector<size_t> outputs; // numbers of the function's
  std::vector<bool> isBinary;  // for each of these
};

void checkVersion(const RouteRequest &request) {
  if (request.arguments.size() > 1 && request.arguments[1] != "1")
    throw serviceError(ErrorCode::model_not_found, "model '{}' has the version '1', got '{}'", request.arguments[0],
                       request.arguments[1]);
}

// The JSON at the front of a body, and the bytes behind it.
Json splitBody(const HttpRequest &request, std::string_view &binary) {
  size_t length = request.body.size();
  const std::string *given = request.header(lengthHeader);
  if (given) {
    const auto [end, error] = std::from_chars(given->data(), given->data() + given->size(), length);
    if (error != std::errc() || end != given->data() + given->size() || length > request.body.size())
      throw serviceError(ErrorCode::invalid_value, "expected Inference-Header-Content-Length up to {}, got '{}'",
                         request.body.size(), *given);
  }
  const std::string_view body = request.body;
  binary = body.substr(length);
  Json document = parseJson(body.substr(0, length));
  if (!document.is_object())
    throw serviceError(ErrorCode::invalid_value, "expected an object, got {}", jsonKind(document))
        .expected("an object", jsonKind(document));
  return document;
}

const Json *parametersOf(const Json &object, std::string_view where) {
  const Json *parameters = findMember(object, "parameters");
  if (parameters && !parameters->is_object())
    throw serviceError(ErrorCode::invalid_value, "'{}': expected an object, got {}", memberPath(where, "parameters"),
                       jsonKind(*parameters));
  return parameters;
}

// `owner` keeps the bytes of `binary`.
std::vector<Value> readInputs(const Json &document, const vx_function_info &function, std::string_view &binary,
                              const std::shared_ptr<const void> &owner) {
  const Json *list = findMember(document, "inputs");
  if (!list || !list->is_array())
    throw serviceError(ErrorCode::invalid_value, "'inputs': expected a list, got {}", list ? jsonKind(*list) : "none")
        .about("inputs")
        .expected("a list", list ? jsonKind(*list) : "none");
  std::vector<std::string> names;
  for (size_t i = 0; i < function.input_count; ++i)
    names.emplace_back(function.inputs[i].name);
  std::vector<Value> values(names.size());
  for (size_t i = 0; i < list->size(); ++i) {
    const Json &input = (*list)[i];
    const std::string where = fmt::format("inputs[{}]", i);
    if (!input.is_object())
      throw serviceError(ErrorCode::invalid_value, "'{}': expected an object, got {}", where, jsonKind(input));
    const std::string name = stringMember(input, "name", where);
    const auto place = std::find(names.begin(), names.end(), name);
    if (place == names.end())
      throw serviceError(ErrorCode::invalid_value, "'{}.name': no input '{}', the inputs are '{}'", where, name,
                         fmt::join(names, "', '"))
          .about(where + ".name")
          .expected(fmt::format("{}", fmt::join(names, ", ")), name);
    Value &value = values[static_cast<size_t>(place - names.begin())];
    if (value)
      throw serviceError(ErrorCode::invalid_value, "'{}.name': input '{}' is given twice", where, name)
          .about(where + ".name")
          .with("input", name);
    try {
      value = readKserveTensor(input, function.inputs[place - names.begin()], binary, where, owner);
    } catch (ServiceError &error) {
      error.add("input", name);
      throw;
    }
  }
  for (size_t i = 0; i < values.size(); ++i)
    if (!values[i])
      throw serviceError(ErrorCode::invalid_value, "input '{}' is missing", names[i])
          .about("inputs")
          .with("input", names[i])
          .expected(kserveTypeText(function.inputs[i]), "none");
  if (!binary.empty())
    throw serviceError(ErrorCode::invalid_value, "{} bytes are left after the inputs", binary.size())
        .expected(0u, binary.size());
  return values;
}

void readOutputs(const Json &document, const vx_function_info &function, InferRequest &asked) {
  const Json *parameters = parametersOf(document, "");
  const bool allBinary = parameters && boolMember(*parameters, "binary_data_output", false, "parameters");
  const Json *list = findMember(document, "outputs");
  if (!list) {
    for (size_t i = 0; i < function.output_count; ++i) {
      asked.outputs.push_back(i);
      asked.isBinary.push_back(allBinary);
    }
    return;
  }
  if (!list->is_array())
    throw serviceError(ErrorCode::invalid_value, "'outputs': expected a list, got {}", jsonKind(*list));
  for (size_t i = 0; i < list->size(); ++i) {
    const std::string where = fmt::format("outputs[{}]", i);
    if (!(*list)[i].is_object())
      throw serviceError(ErrorCode::invalid_value, "'{}': expected an object, got {}", where, jsonKind((*list)[i]));
    const std::string name = stringMember((*list)[i], "name", where);
    std::vector<std::string> names;
    for (size_t j = 0; j < function.output_count; ++j)
      names.emplace_back(function.outputs[j].name);
    const auto place = std::find(names.begin(), names.end(), name);
    if (place == names.end())
      throw serviceError(ErrorCode::invalid_value, "'{}.name': no output '{}', the outputs are '{}'", where, name,
                         fmt::join(names, "', '"))
          .about(where + ".name")
          .with("output", name)
          .expected(fmt::format("{}", fmt::join(names, ", ")), name);
    const auto number = static_cast<size_t>(place - names.begin());
    if (std::find(asked.outputs.begin(), asked.outputs.end(), number) != asked.outputs.end())
      throw serviceError(ErrorCode::invalid_value, "'{}.name': output '{}' is asked for twice", where, name)
          .about(where + ".name")
          .with("output", name);
    const Json *own = parametersOf((*list)[i], where);
    asked.outputs.push_back(number);
    asked.isBinary.push_back(own ? boolMember(*own, "binary_data", allBinary, where + ".parameters") : allBinary);
  }
}

HttpResponse writeKserveAnswer(const InferRequest &asked, const std::vector<std::string> &names,
                               const std::vector<Value> &values) {
  std::string json = fmt::format("{{\"model_name\":{},\"model_version\":\"1\"", jsonText(Json(asked.model)));
  if (!asked.id.empty())
    json += fmt::format(",\"id\":{}", jsonText(Json(asked.id)));
  json += ",\"outputs\":[";
  std::string binary;
  bool isAnyBinary = false;
  for (size_t i = 0; i < asked.outputs.size(); ++i) {
    if (i)
      json += ',';
    isAnyBinary |= asked.isBinary[i];
    writeKserveTensor(json, names[asked.outputs[i]], values[asked.outputs[i]], asked.isBinary[i] ? &binary : nullptr);
  }
  json += "]}";
  HttpResponse response;
  if (isAnyBinary) {
    response.contentType = "application/octet-stream";
    response.headers.emplace_back("Inference-Header-Content-Length", std::to_string(json.size()));
  }
  response.body = std::move(json) + binary;
  return response;
}

} // namespace

void Service::getKserveServer(const RouteRequest &request) {
  replyJson(request, jsonText(nlohmann::ordered_json{
                         {"name", "vx"}, {"version", vx_version()}, {"extensions", {"binary_tensor_data"}}}));
}

void Service::getKserveLive(const RouteRequest &request) { replyJson(request, R"({"live":true})"); }

void Service::getKserveReady(const RouteRequest &request) {
  const std::string status = health()["status"];
  if (status != "ok")
    throw serviceError(status == "draining"      ? ErrorCode::draining
                       : status == "device_lost" ? ErrorCode::device_lost
                                                 : ErrorCode::loading,
                       "the server is not ready: {}", status)
        .after(1);
  replyJson(request, R"({"ready":true})");
}

void Service::getKserveModel(const RouteRequest &request) {
  checkVersion(request);
  const std::shared_ptr<ServedModel> model = findModel(request, request.arguments[0]);
  const vx_function_info &function = *model->function("").facts.function;
  nlohmann::ordered_json inputs = nlohmann::ordered_json::array(), outputs = nlohmann::ordered_json::array();
  for (size_t i = 0; i < function.input_count; ++i)
    inputs.push_back(describeArgument(function.inputs[i]));
  for (size_t i = 0; i < function.output_count; ++i)
    outputs.push_back(describeArgument(function.outputs[i]));
  replyJson(request, jsonText(nlohmann::ordered_json{{"name", model->settings.name},
                                                     {"versions", {"1"}},
                                                     {"platform", "vx_module"},
                                                     {"inputs", inputs},
                                                     {"outputs", outputs}}));
}

void Service::getKserveModelReady(const RouteRequest &request) {
  checkVersion(request);
  // A question is no reason to load a model, and clients that wait for a yes would wait forever.
  if (const ModelTable::Entry entry = models.entry(request.arguments[0]); entry.takesRequests()) {
    request.notes().setModel(entry.settings.name);
    return replyJson(request, jsonText(nlohmann::ordered_json{{"name", entry.settings.name}, {"ready", true}}));
  }
  const std::shared_ptr<ServedModel> model = findModel(request, request.arguments[0]);
  replyJson(request, jsonText(nlohmann::ordered_json{{"name", model->settings.name}, {"ready", true}}));
}

void Service::inferKserve(const RouteRequest &request) {
  checkVersion(request);
  const std::shared_ptr<ServedModel> model = findModel(request, request.arguments[0]);
  std::string_view binary;
  const Json document = splitBody(request.http(), binary);
  const Json *parameters = parametersOf(document, "");
  const std::string functionName =
      parameters && findMember(*parameters, "function") ? stringMember(*parameters, "function", "parameters") : "";
  const ServedModel::ServedFunction &served = model->function(functionName);
  const vx_function_info &function = *served.facts.function;
  InferRequest asked;
  asked.model = model->settings.name;
  if (findMember(document, "id"))
    asked.id = stringMember(document, "id");
  readOutputs(document, function, asked);
  std::vector<Value> inputs = readInputs(document, function, binary, request.exchange);

  // What cannot fit is told before anything is computed.
  if (const std::optional<vx_memory_estimate> needs = model->estimate(function, inputs)) {
    if (!needs->fits)
      throw serviceError(ErrorCode::out_of_memory, "the call takes {} bytes, and the device of model '{}' has {}",
                         needs->total, model->settings.name,
                         needs->memory_limit ? needs->memory_limit : needs->device_memory)
          .with("needed", needs->total)
          .with("available", needs->memory_limit ? needs->memory_limit : needs->device_memory);
    request.exchange->reserveAnswer(needs->results);
  }

  // The answer is written by another worker, so that the device goes on meanwhile. Nothing here may hold the model:
  // its queue is what ends it.
  const auto fail = [this, exchange = request.exchange, name = asked.model](const ServiceError &error) {
    replyFailure(*exchange, name, error);
  };
  const auto names = std::make_shared<std::vector<std::string>>();
  for (size_t i = 0; i < function.output_count; ++i)
    names->emplace_back(function.outputs[i].name);
  auto done = [this, request, asked, names, fail](std::vector<Value> values) {
    uint64_t bytes = 0;
    for (size_t i = 0; i < asked.outputs.size(); ++i)
      bytes += values[asked.outputs[i]].info().size * (asked.isBinary[i] ? 1 : 3);
    try {
      request.exchange->reserveAnswer(bytes);
    } catch (const ServiceError &error) {
      return fail(error);
    }
    const auto write = [this, request, asked, names, fail, values = std::move(values)] {
      try {
        HttpResponse response = writeKserveAnswer(asked, *names, values);
        addHeaders(request.http(), response);
        request.exchange->reply(std::move(response));
      } catch (...) {
        fail(currentFailure());
      }
    };
    if (!workers.post(write))
      write();
  };
  auto job = std::make_shared<TensorJob>(std::move(inputs), std::move(done), fail);
  describeJob(*job, served.facts.rows);
  submit(request, job, served.batcher);
}

} // namespace vx::serve
