#include "infer_case.h"

#include "command_line.h"
#include "load_module.h"

#include "vx/base/json_text.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>

namespace vx::tools {

using nlohmann::json;

// Different requests of each client.
static constexpr size_t RequestsOfClient = 4;

// How far f32 numbers may be from those of the request by itself, as a part of the greatest of its output.
static constexpr double OutputTolerance = 1e-4;

namespace {

struct Argument {
  std::string name, type;
  std::vector<int64_t> shape;

  // Without the first dimension, the number of rows.
  int64_t elementsOfRow() const {
    return std::accumulate(shape.begin() + 1, shape.end(), int64_t(1), std::multiplies<>());
  }
};

// An answer's outputs: numbers where they are f32 or stand in JSON, else bytes.
struct Output {
  std::vector<double> numbers;
  std::string bytes;
};

template <typename Element>
void appendRandom(std::string &bytes, std::mt19937 &random) {
  Element value{};
  if constexpr (std::is_floating_point_v<Element>)
    value = static_cast<Element>(random() % 1024) / Element(1024);
  else
    value = static_cast<Element>(random() % 2);
  bytes.append(reinterpret_cast<const char *>(&value), sizeof(value));
}

// A type of the protocol that requests are made of.
struct ElementKind {
  std::string_view name;
  void (*append)(std::string &bytes, std::mt19937 &random);
  json (*read)(const char *bytes);
};
template <typename Element>
constexpr ElementKind kindOf(std::string_view name) {
  return {name, &appendRandom<Element>, [](const char *bytes) {
            Element value;
            std::memcpy(&value, bytes, sizeof(value));
            return json(value);
          }};
}
constexpr std::array kinds = {kindOf<float>("FP32"),    kindOf<double>("FP64"),    kindOf<int64_t>("INT64"),
                              kindOf<int32_t>("INT32"), kindOf<int8_t>("INT8"),    kindOf<uint8_t>("UINT8"),
                              kindOf<int16_t>("INT16"), kindOf<uint16_t>("UINT16")};

class InferServer {
public:
  explicit InferServer(const InferRequest &options)
      : options(options), connection(options.load.endpoint()), isBinary(options.isBinary) {
    const json about = askJson(connection, connection.format("GET", "/v2/models/" + options.model));
    const auto inputs_ = about.find("inputs");
    if (inputs_ == about.end() || !inputs_->is_array() || inputs_->empty())
      throw workError("model '{}' of the server has no list of inputs", options.model);
    for (const json &input : *inputs_)
      inputs.push_back(
          {input.value("name", ""), input.value("datatype", ""), input.value("shape", std::vector<int64_t>())});
    for (const Argument &input : inputs)
      if (input.shape.empty() ||
          std::any_of(input.shape.begin() + 1, input.shape.end(), [](int64_t d) { return d < 1; }))
        throw usageError("input '{}' of model '{}': expected a shape of which the first size alone is open, got [{}]",
                         input.name, options.model, fmt::join(input.shape, ","));
  }

  std::string request(size_t rows, std::mt19937 &random) const {
    json head = {{"inputs", json::array()}};
    std::string binary;
    for (const Argument &input : inputs) {
      const auto kind =
          std::find_if(kinds.begin(), kinds.end(), [&](const ElementKind &k) { return k.name == input.type; });
      if (kind == kinds.end())
        throw usageError("input '{}' of model '{}': no random numbers of the type '{}'", input.name, options.model,
                         input.type);
      if (input.shape[0] >= 0 && input.shape[0] != static_cast<int64_t>(rows))
        throw usageError("--batch-sizes: expected {}, which input '{}' has, got {}", input.shape[0], input.name, rows);
      std::vector<int64_t> shape = input.shape;
      shape[0] = static_cast<int64_t>(rows);
      json entry = {{"name", input.name}, {"datatype", input.type}, {"shape", shape}};
      std::string bytes;
      json numbers = json::array();
      for (int64_t i = 0; i < shape[0] * input.elementsOfRow(); ++i) {
        const size_t begin = bytes.size();
        kind->append(bytes, random);
        if (!isBinary)
          numbers.push_back(kind->read(bytes.data() + begin));
      }
      if (isBinary)
        entry["parameters"] = {{"binary_data_size", bytes.size()}};
      else
        entry["data"] = std::move(numbers);
      head["inputs"].push_back(std::move(entry));
      binary += bytes;
    }
    json parameters = json::object();
    if (!options.function.empty())
      parameters["function"] = options.function;
    if (isBinary)
      parameters["binary_data_output"] = true;
    if (!parameters.empty())
      head["parameters"] = std::move(parameters);
    const std::string text = vx::jsonText(head), path = fmt::format("/v2/models/{}/infer", options.model);
    if (!isBinary)
      return connection.format("POST", path, text, {{"Content-Type", "application/json"}});
    return connection.format("POST", path, text + binary,
                             {{"Content-Type", "application/octet-stream"},
                              {"Inference-Header-Content-Length", std::to_string(text.size())}});
  }

  std::vector<Output> alone(const std::string &request) {
    try {
      const HttpAnswer answer = connection.ask(request);
      if (answer.status != 200)
        throw workError("the server answers with status {}: {}", answer.status, answer.body.substr(0, 500));
      return outputsOf(answer);
    } catch (const ConnectionError &error) {
      throw workError("{}", error.what());
    }
  }

  // Throws a ConnectionError for an answer that is not of the protocol.
  static std::vector<Output> outputsOf(const HttpAnswer &answer) {
    size_t length = answer.body.size();
    if (const std::string given = answer.header("inference-header-content-length"); !given.empty())
      std::from_chars(given.data(), given.data() + given.size(), length);
    length = std::min(length, answer.body.size());
    const json head = json::parse(answer.body.begin(), answer.body.begin() + static_cast<ptrdiff_t>(length), nullptr,
                                  /*allow_exceptions=*/false);
    const auto list = head.is_object() ? head.find("outputs") : head.end();
    if (!head.is_object() || list == head.end() || !list->is_array())
      throw ConnectionError(fmt::format("expected an answer with outputs, got '{}'", answer.body.substr(0, 100)));
    std::string_view rest = std::string_view(answer.body).substr(length);
    std::vector<Output> outputs;
    for (const json &entry : *list) {
      Output &output = outputs.emplace_back();
      if (const auto data = entry.find("data"); data != entry.end() && data->is_array()) {
        for (const json &number : *data)
          output.numbers.push_back(number.is_boolean() ? number.get<bool>() : number.get<double>());
        continue;
      }
      const size_t size = entry.value("parameters", json::object()).value("binary_data_size", size_t(0));
      const std::string_view bytes = rest.substr(0, size);
      rest.remove_prefix(bytes.size());
      if (entry.value("datatype", "") != "FP32") {
        output.bytes = bytes;
        continue;
      }
      for (size_t i = 0; i + sizeof(float) <= bytes.size(); i += sizeof(float)) {
        float value = 0;
        std::memcpy(&value, bytes.data() + i, sizeof(value));
        output.numbers.push_back(value);
      }
    }
    return outputs;
  }

private:
  const InferRequest &options;
  HttpConnection connection;
  const bool isBinary;
  std::vector<Argument> inputs;
};

} // namespace

// The first difference of outputs from those of the same request by itself; empty: none.
static std::string compareOutputs(const std::vector<Output> &got, const std::vector<Output> &want) {
  if (got.size() != want.size())
    return fmt::format("expected {} outputs, got {}", want.size(), got.size());
  for (size_t i = 0; i < want.size(); ++i) {
    const std::vector<double> &mine = want[i].numbers, &others = got[i].numbers;
    if (others.size() != mine.size() || got[i].bytes != want[i].bytes)
      return fmt::format("output {}: expected the {} elements of the request by itself, got {} of which some differ", i,
                         mine.size(), others.size());
    double greatest = 0, apart = 0;
    for (size_t j = 0; j < mine.size(); ++j) {
      greatest = std::max(greatest, std::fabs(mine[j]));
      const bool isSame = others[j] == mine[j] || (std::isnan(others[j]) && std::isnan(mine[j]));
      apart = std::max(apart, isSame ? 0 : std::fabs(others[j] - mine[j]));
    }
    if (!(apart <= OutputTolerance * greatest))
      return fmt::format(
          "output {}: expected numbers that are {:.2g} from those of the request by itself at the most, got "
          "one that is {:.2g} from it",
          i, OutputTolerance * greatest, apart);
  }
  return "";
}

// Its inputs are random numbers of as many rows.
static std::unique_ptr<Contestant> makeEngine(const InferRequest &options, size_t rows) {
  MeasurementRequest request;
  request.path = options.load.engine;
  request.function = options.function;
  request.device = options.device;
  request.threads = options.threads;
  request.resident = false; // a server gets its inputs from the host
  const vx::Module module = loadModule(request.path);
  const vx_function_info &function = findFunction(module, request.function);
  for (const vx_argument_info &input : std::span(function.inputs, function.input_count))
    if (input.rank > 0 && input.dims[0].size < 0)
      request.dims[input.dims[0].expression] = static_cast<int64_t>(rows);
  return makeModuleContestant(request);
}

ServerCase makeInferCase(const InferRequest &options, size_t rows) {
  InferServer server(options);
  ServerCase result;
  result.model = options.model;
  result.path = fmt::format("/v2/models/{}/infer", options.model);
  result.dims = {{"batch", static_cast<int64_t>(rows)}};
  std::mt19937 random(7); // the same numbers in each run
  auto alone = std::make_shared<std::vector<std::vector<Output>>>();
  for (size_t i = 0; i < RequestsOfClient * options.load.clients; ++i) {
    result.requests.push_back({server.request(rows, random), rows, 0});
    alone->push_back(server.alone(result.requests.back().bytes));
  }
  result.check = [alone](size_t number, const HttpAnswer &answer) {
    return compareOutputs(InferServer::outputsOf(answer), (*alone)[number]);
  };
  if (!options.load.engine.empty())
    result.makeEngine = [options](size_t size) { return makeEngine(options, size); };
  return result;
}

} // namespace vx::tools
