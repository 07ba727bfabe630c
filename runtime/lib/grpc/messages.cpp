#include "messages.h"

#include "tensor_contents.h"

#include "kserve.pb.h"

#include "vx/base/json_text.h"

#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include <algorithm>
#include <array>

namespace vx::grpc_wire {
namespace {

using Json = nlohmann::ordered_json;
using Wire = google::protobuf::internal::WireFormatLite;

constexpr std::string_view service = "/inference.GRPCInferenceService/";

constexpr std::array table = {
    Rpc{"/inference.GRPCInferenceService/ServerLive", RpcKind::serverLive, "GET", "/v2/health/live"},
    Rpc{"/inference.GRPCInferenceService/ServerReady", RpcKind::serverReady, "GET", "/v2/health/ready"},
    Rpc{"/inference.GRPCInferenceService/ModelReady", RpcKind::modelReady, "GET", "/v2/models/{}/ready"},
    Rpc{"/inference.GRPCInferenceService/ServerMetadata", RpcKind::serverMetadata, "GET", "/v2"},
    Rpc{"/inference.GRPCInferenceService/ModelMetadata", RpcKind::modelMetadata, "GET", "/v2/models/{}"},
    Rpc{"/inference.GRPCInferenceService/ModelInfer", RpcKind::modelInfer, "POST", "/v2/models/{}/infer"},
    Rpc{"/inference.GRPCInferenceService/RepositoryIndex", RpcKind::repositoryIndex, "POST", "/v2/repository/index"},
    Rpc{"/inference.GRPCInferenceService/RepositoryModelLoad", RpcKind::repositoryLoad, "POST",
        "/v2/repository/models/{}/load"},
    Rpc{"/inference.GRPCInferenceService/RepositoryModelUnload", RpcKind::repositoryUnload, "POST",
        "/v2/repository/models/{}/unload"},
};

template <typename Message>
Message parse(const Rpc &rpc, std::string_view bytes) {
  Message message;
  if (bytes.size() > INT32_MAX || !message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    throw MessageError(fmt::format("expected a message of {}, got {} bytes that are none",
                                   rpc.name.substr(service.size()), bytes.size()));
  return message;
}

// The tensors of a message are taken out of it and stay in place; gRPC's own reader would copy them.
struct SplitMessage {
  std::string rest; // the message without its raw_input_contents
  std::vector<std::string_view> raw;
};

SplitMessage splitRaw(std::string_view bytes) {
  google::protobuf::io::CodedInputStream stream(reinterpret_cast<const uint8_t *>(bytes.data()),
                                                static_cast<int>(bytes.size()));
  SplitMessage split;
  const auto place = [&] { return static_cast<size_t>(stream.CurrentPosition()); };
  for (size_t begin = 0; begin < bytes.size(); begin = place()) {
    const uint32_t tag = stream.ReadTag();
    const bool isRaw = Wire::GetTagFieldNumber(tag) == inference::ModelInferRequest::kRawInputContentsFieldNumber &&
                       Wire::GetTagWireType(tag) == Wire::WIRETYPE_LENGTH_DELIMITED;
    uint32_t size = 0;
    if (isRaw && stream.ReadVarint32(&size) && size <= bytes.size() - place()) {
      split.raw.push_back(bytes.substr(place(), size));
      stream.Skip(static_cast<int>(size));
    } else if (tag == 0 || isRaw || !Wire::SkipField(&stream, tag)) {
      split.rest += bytes.substr(begin); // is no message: its reader says so
      break;
    } else {
      split.rest += bytes.substr(begin, place() - begin);
    }
  }
  return split;
}

// A path's names, with the version if the client gives one.
void setModel(Translated &request, std::string_view field, const std::string &name, const std::string &version) {
  if (name.empty())
    throw MessageError(fmt::format("'{}': expected the name of a model, got none", field));
  request.arguments = {name};
  if (version.empty())
    return;
  constexpr std::string_view place = "/v2/models/{}";
  request.pattern.insert(place.size(), "/versions/{}");
  request.arguments.push_back(version);
}

void checkRepository(const std::string &name) {
  if (!name.empty())
    throw MessageError(
        fmt::format("'repository_name': expected none, since the server has one repository, got '{}'", name));
}

Json parameterValue(const inference::InferParameter &parameter) {
  switch (parameter.parameter_choice_case()) {
  case inference::InferParameter::kBoolParam:
    return parameter.bool_param();
  case inference::InferParameter::kInt64Param:
    return parameter.int64_param();
  case inference::InferParameter::kStringParam:
    return parameter.string_param();
  case inference::InferParameter::kDoubleParam:
    return parameter.double_param();
  case inference::InferParameter::kUint64Param:
    return parameter.uint64_param();
  case inference::InferParameter::PARAMETER_CHOICE_NOT_SET:
    break;
  }
  return nullptr;
}

Json parameterValue(const inference::ModelRepositoryParameter &parameter) {
  switch (parameter.parameter_choice_case()) {
  case inference::ModelRepositoryParameter::kBoolParam:
    return parameter.bool_param();
  case inference::ModelRepositoryParameter::kInt64Param:
    return parameter.int64_param();
  case inference::ModelRepositoryParameter::kStringParam:
    return parameter.string_param();
  case inference::ModelRepositoryParameter::kBytesParam:
    return parameter.bytes_param();
  case inference::ModelRepositoryParameter::PARAMETER_CHOICE_NOT_SET:
    break;
  }
  return nullptr;
}

template <typename Map>
Json parametersOf(const Map &map) {
  Json parameters = Json::object();
  for (const auto &[name, value] : map)
    parameters[name] = parameterValue(value);
  return parameters;
}

// What Triton has and this server has not: ignoring it would give the client other tensors than it asked for.
void checkTensorParameters(const Json &parameters, std::string_view where) {
  for (const std::string_view name :
       {"shared_memory_region", "shared_memory_byte_size", "shared_memory_offset", "classification"})
    if (parameters.contains(name))
      throw MessageError(fmt::format("'{}.parameters.{}': this server has no {}", where, name,
                                     name == "classification" ? "classification" : "shared memory"));
}

Translated readInfer(const Rpc &rpc, std::string_view bytes) {
  SplitMessage split;
  if (bytes.size() <= INT32_MAX)
    split = splitRaw(bytes);
  const bool isRaw = !split.raw.empty();
  const auto message = parse<inference::ModelInferRequest>(rpc, isRaw ? split.rest : bytes);
  Translated request;
  request.pattern = rpc.pattern;
  setModel(request, "model_name", message.model_name(), message.model_version());
  request.raw = std::move(split.raw);
  if (isRaw && request.raw.size() != static_cast<size_t>(message.inputs_size()))
    throw MessageError(fmt::format("'raw_input_contents': expected one for each of the {} inputs, got {}",
                                   message.inputs_size(), request.raw.size()));
  Json document;
  if (!message.id().empty())
    document["id"] = message.id();
  document["parameters"] = parametersOf(message.parameters());
  // The client gets bytes, in contents or raw.
  document["parameters"]["binary_data_output"] = true;
  Json &inputs = document["inputs"] = Json::array();
  for (int i = 0; i < message.inputs_size(); ++i) {
    const auto &input = message.inputs(i);
    const std::string where = fmt::format("inputs[{}]", i);
    Json parameters = parametersOf(input.parameters());
    checkTensorParameters(parameters, where);
    const size_t before = request.contents.size();
    if (!isRaw)
      appendContents(request.contents, input.datatype(), input.contents(), where + ".contents");
    else if (hasContents(input.contents()))
      throw MessageError(fmt::format("'{}': expected contents or raw_input_contents, got both", where));
    parameters["binary_data_size"] =
        isRaw ? request.raw[static_cast<size_t>(i)].size() : request.contents.size() - before;
    inputs.push_back({{"name", input.name()},
                      {"datatype", input.datatype()},
                      {"shape", std::vector<int64_t>(input.shape().begin(), input.shape().end())},
                      {"parameters", std::move(parameters)}});
  }
  if (message.outputs_size() > 0) {
    Json &outputs = document["outputs"] = Json::array();
    for (const auto &output : message.outputs()) {
      Json parameters = parametersOf(output.parameters());
      checkTensorParameters(parameters, fmt::format("outputs[{}]", outputs.size()));
      parameters["binary_data"] = true;
      outputs.push_back({{"name", output.name()}, {"parameters", std::move(parameters)}});
    }
  }
  request.wantsContents = !isRaw && message.inputs_size() > 0;
  request.json = jsonText(document);
  return request;
}

// Bytes of a parsed message beside those on the wire: of a message, an entry of a map, and a text.
constexpr uint64_t messageMemory = 192, textMemory = 48;

// Of the nested messages only `nested` are looked into; all else of variable length counts as a text.
struct WireShape {
  int field = 0; // of the outer message; 0: the outermost one
  std::span<const WireShape> nested = {};
};

constexpr WireShape contentsShape[] = {{5, {}}};
constexpr WireShape requestShape[] = {{5, contentsShape}, {6, {}}, {4, {}}};

uint64_t countMemory(std::string_view bytes, std::span<const WireShape> nested) {
  google::protobuf::io::CodedInputStream stream(reinterpret_cast<const uint8_t *>(bytes.data()),
                                                static_cast<int>(bytes.size()));
  uint64_t memory = 0;
  while (const uint32_t tag = stream.ReadTag()) {
    if (Wire::GetTagWireType(tag) != Wire::WIRETYPE_LENGTH_DELIMITED) {
      if (!Wire::SkipField(&stream, tag))
        break;
      continue;
    }
    uint32_t size = 0;
    if (!stream.ReadVarint32(&size) || size > bytes.size())
      break;
    const auto begin = static_cast<size_t>(stream.CurrentPosition());
    if (!stream.Skip(static_cast<int>(size)))
      break;
    const auto shape = std::find_if(nested.begin(), nested.end(), [&](const WireShape &known) {
      return known.field == Wire::GetTagFieldNumber(tag);
    });
    memory +=
        shape == nested.end() ? textMemory : messageMemory + countMemory(bytes.substr(begin, size), shape->nested);
  }
  return memory;
}

Json parseBody(std::string_view body, uint64_t jsonSize) {
  Json document = Json::parse(body.substr(0, jsonSize), nullptr, false);
  if (document.is_discarded())
    throw std::runtime_error("expected an answer of JSON, got something else");
  return document;
}

std::vector<int64_t> shapeOf(const Json &tensor) { return tensor.at("shape").get<std::vector<int64_t>>(); }

void writeMetadata(google::protobuf::RepeatedPtrField<inference::ModelMetadataResponse::TensorMetadata> &list,
                   const Json &tensors) {
  for (const Json &tensor : tensors) {
    auto &one = *list.Add();
    one.set_name(tensor.at("name").get<std::string>());
    one.set_datatype(tensor.at("datatype").get<std::string>());
    for (const int64_t dim : shapeOf(tensor))
      one.add_shape(dim);
  }
}

// The most bytes of a field's tag and size.
constexpr size_t mostFieldHead = 2 * 5;

void appendField(std::string &bytes, int number, std::string_view value) {
  uint8_t head[mostFieldHead];
  uint8_t *end = google::protobuf::io::CodedOutputStream::WriteVarint32ToArray(
      Wire::MakeTag(number, Wire::WIRETYPE_LENGTH_DELIMITED), head);
  end = google::protobuf::io::CodedOutputStream::WriteVarint32ToArray(static_cast<uint32_t>(value.size()), end);
  bytes.append(reinterpret_cast<const char *>(head), static_cast<size_t>(end - head));
  bytes += value;
}

std::string writeInfer(const Json &document, std::string_view binary, bool wantsContents) {
  inference::ModelInferResponse answer;
  std::vector<std::string_view> raw;
  answer.set_model_name(document.at("model_name").get<std::string>());
  answer.set_model_version(document.at("model_version").get<std::string>());
  answer.set_id(document.value("id", ""));
  // A message has contents for all outputs, or for none.
  for (const Json &tensor : document.at("outputs"))
    wantsContents = wantsContents && hasContentsType(tensor.at("datatype").get<std::string>());
  for (const Json &tensor : document.at("outputs")) {
    auto &output = *answer.add_outputs();
    output.set_name(tensor.at("name").get<std::string>());
    output.set_datatype(tensor.at("datatype").get<std::string>());
    for (const int64_t dim : shapeOf(tensor))
      output.add_shape(dim);
    const auto size = tensor.at("parameters").at("binary_data_size").get<uint64_t>();
    if (size > binary.size())
      throw std::runtime_error("expected all bytes of the outputs, got fewer");
    const std::string_view own = binary.substr(0, size);
    binary.remove_prefix(size);
    if (wantsContents)
      setContents(*output.mutable_contents(), output.datatype(), own);
    else
      raw.push_back(own);
  }
  // Messages may be written in parts: the tensors follow as fields of their own, and are copied once.
  std::string bytes = answer.SerializeAsString();
  size_t size = bytes.size();
  for (const std::string_view own : raw)
    size += mostFieldHead + own.size();
  if (size > INT32_MAX)
    throw std::runtime_error("expected outputs of less than 2 GiB, which a message may have, got more");
  bytes.reserve(size);
  for (const std::string_view own : raw)
    appendField(bytes, inference::ModelInferResponse::kRawOutputContentsFieldNumber, own);
  return bytes;
}

} // namespace

std::span<const Rpc> rpcs() { return table; }

const Rpc *findRpc(std::string_view name) {
  const auto place = std::find_if(table.begin(), table.end(), [&](const Rpc &rpc) { return rpc.name == name; });
  return place == table.end() ? nullptr : &*place;
}

std::string describeMissing(std::string_view name) {
  if (!name.starts_with(service))
    return fmt::format("this server has the service inference.GRPCInferenceService, got '{}'", name);
  name.remove_prefix(service.size());
  if (name == "ModelStreamInfer")
    return "ModelStreamInfer is not supported: this server has no models whose answers are streams; use ModelInfer";
  return fmt::format("{} is not supported by this server", name);
}

uint64_t memoryOf(const Rpc &rpc, std::string_view message) {
  if (message.size() > INT32_MAX)
    return message.size();
  return message.size() + countMemory(message, rpc.kind == RpcKind::modelInfer
                                                   ? std::span<const WireShape>(requestShape)
                                                   : std::span<const WireShape>());
}

uint64_t Translated::bodySize() const {
  uint64_t size = json.size() + contents.size();
  for (const std::string_view tensor : raw)
    size += tensor.size();
  return size;
}

Translated readMessage(const Rpc &rpc, std::string_view bytes) {
  Translated request;
  request.pattern = rpc.pattern;
  Json document = Json::object();
  switch (rpc.kind) {
  case RpcKind::serverLive:
    (void)parse<inference::ServerLiveRequest>(rpc, bytes);
    return request;
  case RpcKind::serverReady:
    (void)parse<inference::ServerReadyRequest>(rpc, bytes);
    return request;
  case RpcKind::serverMetadata:
    (void)parse<inference::ServerMetadataRequest>(rpc, bytes);
    return request;
  case RpcKind::modelReady: {
    const auto message = parse<inference::ModelReadyRequest>(rpc, bytes);
    setModel(request, "name", message.name(), message.version());
    return request;
  }
  case RpcKind::modelMetadata: {
    const auto message = parse<inference::ModelMetadataRequest>(rpc, bytes);
    setModel(request, "name", message.name(), message.version());
    return request;
  }
  case RpcKind::modelInfer:
    return readInfer(rpc, bytes);
  case RpcKind::repositoryIndex: {
    const auto message = parse<inference::RepositoryIndexRequest>(rpc, bytes);
    checkRepository(message.repository_name());
    document["ready"] = message.ready();
    break;
  }
  case RpcKind::repositoryLoad: {
    const auto message = parse<inference::RepositoryModelLoadRequest>(rpc, bytes);
    checkRepository(message.repository_name());
    setModel(request, "model_name", message.model_name(), "");
    document["parameters"] = parametersOf(message.parameters());
    break;
  }
  case RpcKind::repositoryUnload: {
    const auto message = parse<inference::RepositoryModelUnloadRequest>(rpc, bytes);
    checkRepository(message.repository_name());
    setModel(request, "model_name", message.model_name(), "");
    document["parameters"] = parametersOf(message.parameters());
    break;
  }
  }
  request.json = jsonText(document);
  return request;
}

std::string writeMessage(const Rpc &rpc, std::string_view body, uint64_t jsonSize, bool wantsContents) {
  if (jsonSize > body.size())
    throw std::runtime_error("expected a body with all of its JSON, got less");
  const Json document = parseBody(body, jsonSize);
  switch (rpc.kind) {
  case RpcKind::serverLive: {
    inference::ServerLiveResponse answer;
    answer.set_live(document.at("live").get<bool>());
    return answer.SerializeAsString();
  }
  case RpcKind::serverReady: {
    inference::ServerReadyResponse answer;
    answer.set_ready(document.at("ready").get<bool>());
    return answer.SerializeAsString();
  }
  case RpcKind::modelReady: {
    inference::ModelReadyResponse answer;
    answer.set_ready(document.at("ready").get<bool>());
    return answer.SerializeAsString();
  }
  case RpcKind::serverMetadata: {
    inference::ServerMetadataResponse answer;
    answer.set_name(document.at("name").get<std::string>());
    answer.set_version(document.at("version").get<std::string>());
    // Binary tensors are an extension of HTTP: here they are part of the protocol.
    answer.add_extensions("model_repository");
    return answer.SerializeAsString();
  }
  case RpcKind::modelMetadata: {
    inference::ModelMetadataResponse answer;
    answer.set_name(document.at("name").get<std::string>());
    for (const Json &version : document.at("versions"))
      answer.add_versions(version.get<std::string>());
    answer.set_platform(document.at("platform").get<std::string>());
    writeMetadata(*answer.mutable_inputs(), document.at("inputs"));
    writeMetadata(*answer.mutable_outputs(), document.at("outputs"));
    return answer.SerializeAsString();
  }
  case RpcKind::modelInfer:
    return writeInfer(document, body.substr(jsonSize), wantsContents);
  case RpcKind::repositoryIndex: {
    inference::RepositoryIndexResponse answer;
    for (const Json &model : document) {
      auto &one = *answer.add_models();
      one.set_name(model.at("name").get<std::string>());
      one.set_version(model.at("version").get<std::string>());
      one.set_state(model.at("state").get<std::string>());
      one.set_reason(model.at("reason").get<std::string>());
    }
    return answer.SerializeAsString();
  }
  case RpcKind::repositoryLoad:
    return inference::RepositoryModelLoadResponse().SerializeAsString();
  case RpcKind::repositoryUnload:
    return inference::RepositoryModelUnloadResponse().SerializeAsString();
  }
  return "";
}

} // namespace vx::grpc_wire
