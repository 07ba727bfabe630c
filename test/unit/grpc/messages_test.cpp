// Messages of gRPC as requests of HTTP, and answers as messages.
#include "messages.h"
#include "service_error.h"
#include "tensor_contents.h"

#include "kserve.pb.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <list>

namespace vx::grpc_wire {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const Rpc &rpcOf(RpcKind kind) {
  for (const Rpc &rpc : rpcs())
    if (rpc.kind == kind)
      return rpc;
  throw std::logic_error("no such function");
}

json jsonOf(const Translated &request) { return json::parse(request.json); }
std::string bytesOf(const Translated &request) {
  std::string bytes;
  for (const std::string_view tensor : request.raw)
    bytes += tensor;
  bytes += request.contents;
  EXPECT_EQ(request.bodySize(), request.json.size() + bytes.size());
  return bytes;
}

// Messages of all tests, which requests have tensors in.
const std::string &keep(std::string message) {
  static std::list<std::string> kept;
  return kept.emplace_back(std::move(message));
}

template <typename Message>
Translated translate(RpcKind kind, const Message &message) {
  return readMessage(rpcOf(kind), keep(message.SerializeAsString()));
}

template <typename Message>
std::string refusal(RpcKind kind, const Message &message) {
  try {
    (void)translate(kind, message);
  } catch (const MessageError &error) {
    return error.what();
  }
  return "";
}

// Every code of the server's errors has a status of its own choice: one that is added without one would be INTERNAL.
TEST(GrpcStatus, eachCodeHasOne) {
  for (int i = 0; i <= static_cast<int>(serve::ErrorCode::out_of_memory); ++i) {
    const auto code = static_cast<serve::ErrorCode>(i);
    if (code == serve::ErrorCode::internal || code == serve::ErrorCode::client_gone)
      continue;
    EXPECT_NE(statusOfCode(serve::errorCodeName(code)), 13) << serve::errorCodeName(code);
    EXPECT_EQ(serve::parseErrorCode(serve::errorCodeName(code)), code);
  }
  EXPECT_EQ(statusOfCode("internal"), 13);
  EXPECT_EQ(statusOfCode("another"), 13);
  EXPECT_EQ(serve::parseErrorCode("another"), serve::ErrorCode::internal);
}

// As gRPC's own table of codes of HTTP and of causes has them.
TEST(GrpcStatus, theTable) {
  for (const auto &[code, status] :
       std::initializer_list<std::pair<std::string_view, int>>{{"invalid_value", 3},
                                                               {"invalid_json", 3},
                                                               {"model_not_found", 4 + 1},
                                                               {"not_found", 5},
                                                               {"queue_full", 8},
                                                               {"rate_limited", 8},
                                                               {"out_of_memory", 8},
                                                               {"body_too_large", 8},
                                                               {"deadline", 4},
                                                               {"request_timeout", 4},
                                                               {"loading", 14},
                                                               {"draining", 14},
                                                               {"device_lost", 14},
                                                               {"invalid_api_key", 16},
                                                               {"forbidden", 7},
                                                               {"conflict", 10},
                                                               {"cancelled", 1},
                                                               {"bad_request", 3},
                                                               {"method_not_allowed", 12},
                                                               {"context_length_exceeded", 3},
                                                               {"headers_too_large", 8},
                                                               {"unsupported_media_type", 3}})
    EXPECT_EQ(statusOfCode(code), status) << code;
}

TEST(GrpcRpcs, names) {
  for (const Rpc &rpc : rpcs()) {
    EXPECT_EQ(findRpc(rpc.name), &rpc);
    EXPECT_THAT(std::string(rpc.name), StartsWith("/inference.GRPCInferenceService/"));
  }
  EXPECT_EQ(rpcs().size(), 9u);
  EXPECT_EQ(findRpc("/inference.GRPCInferenceService/ModelStreamInfer"), nullptr);
  EXPECT_EQ(findRpc(""), nullptr);
  EXPECT_THAT(describeMissing("/inference.GRPCInferenceService/ModelStreamInfer"), HasSubstr("use ModelInfer"));
  EXPECT_EQ(describeMissing("/inference.GRPCInferenceService/LogSettings"),
            "LogSettings is not supported by this server");
  EXPECT_EQ(describeMissing(""), "this server has the service inference.GRPCInferenceService, got ''");
}

TEST(GrpcRpcs, notReady) {
  for (const std::string_view code : {"loading", "draining", "device_lost"}) {
    EXPECT_TRUE(isNotReady(rpcOf(RpcKind::serverReady), code));
    EXPECT_TRUE(isNotReady(rpcOf(RpcKind::modelReady), code));
    EXPECT_FALSE(isNotReady(rpcOf(RpcKind::modelInfer), code));
  }
  EXPECT_FALSE(isNotReady(rpcOf(RpcKind::modelReady), "model_not_found"));
}

TEST(GrpcRequest, models) {
  inference::ModelReadyRequest message;
  message.set_name("a/b c");
  EXPECT_EQ(translate(RpcKind::modelReady, message).pattern, "/v2/models/{}/ready");
  EXPECT_EQ(translate(RpcKind::modelReady, message).arguments, std::vector<std::string>{"a/b c"});
  message.set_version("1");
  EXPECT_EQ(translate(RpcKind::modelReady, message).pattern, "/v2/models/{}/versions/{}/ready");
  EXPECT_EQ(translate(RpcKind::modelReady, message).arguments, (std::vector<std::string>{"a/b c", "1"}));
  inference::ModelMetadataRequest metadata;
  EXPECT_EQ(refusal(RpcKind::modelMetadata, metadata), "'name': expected the name of a model, got none");
  metadata.set_name("m");
  metadata.set_version("2");
  EXPECT_EQ(translate(RpcKind::modelMetadata, metadata).pattern, "/v2/models/{}/versions/{}");
}

TEST(GrpcRequest, repositories) {
  inference::RepositoryModelUnloadRequest message;
  EXPECT_THAT(refusal(RpcKind::repositoryUnload, message), HasSubstr("'model_name'"));
  message.set_model_name("m");
  (*message.mutable_parameters())["unload_dependents"].set_bool_param(true);
  (*message.mutable_parameters())["count"].set_int64_param(-3);
  (*message.mutable_parameters())["file"].set_bytes_param("\xff");
  (*message.mutable_parameters())["text"].set_string_param("t");
  (*message.mutable_parameters())["none"];
  const json document = jsonOf(translate(RpcKind::repositoryUnload, message));
  EXPECT_EQ(document, json::parse("{\"parameters\":{\"unload_dependents\":true,\"count\":-3,\"file\":\"\xef\xbf\xbd\","
                                  "\"text\":\"t\",\"none\":null}}"));
  message.set_repository_name("r");
  EXPECT_EQ(refusal(RpcKind::repositoryUnload, message),
            "'repository_name': expected none, since the server has one repository, got 'r'");
  inference::RepositoryIndexRequest index;
  index.set_ready(true);
  EXPECT_EQ(jsonOf(translate(RpcKind::repositoryIndex, index)), json::parse(R"({"ready":true})"));
}

TEST(GrpcRequest, inferWithRawContents) {
  inference::ModelInferRequest message;
  message.set_model_name("m");
  message.set_id("7");
  (*message.mutable_parameters())["function"].set_string_param("f");
  (*message.mutable_parameters())["binary_data_output"].set_bool_param(false);
  (*message.mutable_parameters())["rate"].set_double_param(0.5);
  (*message.mutable_parameters())["many"].set_uint64_param(UINT64_MAX);
  for (const char *name : {"a", "b"}) {
    auto &input = *message.add_inputs();
    input.set_name(name);
    input.set_datatype("FP16");
    input.add_shape(1);
    input.add_shape(-1);
    (*input.mutable_parameters())["binary_data_size"].set_int64_param(99);
  }
  message.add_raw_input_contents("xy");
  message.add_raw_input_contents("z");
  auto &output = *message.add_outputs();
  output.set_name("o");
  (*output.mutable_parameters())["binary_data"].set_bool_param(false);
  const Translated request = translate(RpcKind::modelInfer, message);
  EXPECT_EQ(request.pattern, "/v2/models/{}/infer");
  EXPECT_FALSE(request.wantsContents);
  EXPECT_EQ(bytesOf(request), "xyz");
  EXPECT_EQ(jsonOf(request), json::parse(R"({"id":"7",
    "parameters":{"function":"f","binary_data_output":true,"rate":0.5,"many":18446744073709551615},
    "inputs":[{"name":"a","datatype":"FP16","shape":[1,-1],"parameters":{"binary_data_size":2}},
              {"name":"b","datatype":"FP16","shape":[1,-1],"parameters":{"binary_data_size":1}}],
    "outputs":[{"name":"o","parameters":{"binary_data":true}}]})"));
}

// Tensors are not copied; they may lie between other fields, and each beginning of a message is one or is refused.
TEST(GrpcRequest, rawContentsInPlace) {
  inference::ModelInferRequest head, tail;
  head.set_model_name("m");
  head.add_inputs()->set_name("a");
  tail.add_inputs()->set_name("b");
  tail.set_id("i");
  const std::string large(300, 'x'), name = "\x3a"; // field 7, bytes
  const std::string &bytes = keep(head.SerializeAsString() + name + "\xac\x02" + large + tail.SerializeAsString() +
                                  name + std::string(1, '\0'));
  const Translated request = readMessage(rpcOf(RpcKind::modelInfer), bytes);
  ASSERT_EQ(request.raw.size(), 2u);
  EXPECT_EQ(request.raw[0], large);
  EXPECT_EQ(request.raw[0].data(), bytes.data() + bytes.find(large));
  EXPECT_EQ(request.raw[1], "");
  const json document = jsonOf(request);
  EXPECT_EQ(document["id"], "i");
  EXPECT_EQ(document["inputs"][0]["name"], "a");
  EXPECT_EQ(document["inputs"][0]["parameters"]["binary_data_size"], 300);
  EXPECT_EQ(document["inputs"][1]["name"], "b");
  EXPECT_EQ(document["inputs"][1]["parameters"]["binary_data_size"], 0);
  // As protobuf's own reader has it.
  const auto isRequest = [](std::string_view text) {
    inference::ModelInferRequest known;
    return known.ParseFromString(std::string(text)) && !known.model_name().empty() &&
           (known.raw_input_contents_size() == 0 || known.raw_input_contents_size() == known.inputs_size());
  };
  const auto check = [&](std::string_view text) {
    if (isRequest(text))
      EXPECT_NO_THROW(readMessage(rpcOf(RpcKind::modelInfer), text)) << text.size();
    else
      EXPECT_THROW(readMessage(rpcOf(RpcKind::modelInfer), text), MessageError) << text.size();
  };
  for (size_t size = 0; size < bytes.size(); ++size)
    check(std::string_view(bytes).substr(0, size));
  // A field of the same number and another kind, and one that says it has more bytes than there are.
  for (const std::string &end : {std::string("\x38\x01"), std::string("\x3a\xff\xff\xff\xff\x0f"),
                                 std::string("\x3a\x05zz"), std::string("\x3a"), std::string(1, '\0')})
    check(bytes + end);
}

TEST(GrpcRequest, inferWithContents) {
  inference::ModelInferRequest message;
  message.set_model_name("m");
  auto &input = *message.add_inputs();
  input.set_name("a");
  input.set_datatype("INT16");
  input.mutable_contents()->add_int_contents(-2);
  input.mutable_contents()->add_int_contents(258);
  auto &other = *message.add_inputs();
  other.set_name("b");
  other.set_datatype("BYTES");
  other.mutable_contents()->add_bytes_contents("");
  other.mutable_contents()->add_bytes_contents("hi");
  message.add_inputs()->set_datatype("OTHER");
  const Translated request = translate(RpcKind::modelInfer, message);
  EXPECT_TRUE(request.wantsContents);
  EXPECT_EQ(bytesOf(request), std::string("\xfe\xff\x02\x01\0\0\0\0\2\0\0\0hi", 14));
  const json document = jsonOf(request);
  EXPECT_EQ(document["inputs"][0]["parameters"]["binary_data_size"], 4);
  EXPECT_EQ(document["inputs"][1]["parameters"]["binary_data_size"], 10);
  EXPECT_EQ(document["inputs"][2]["parameters"]["binary_data_size"], 0);
  EXPECT_FALSE(document.contains("outputs"));
  inference::ModelInferRequest empty;
  empty.set_model_name("m");
  EXPECT_FALSE(translate(RpcKind::modelInfer, empty).wantsContents);
}

// Each integer of fewer bits than its field: the largest and the smallest go through, and one more does not.
TEST(GrpcRequest, ranges) {
  const auto said = [](const char *type, int64_t value, bool isSigned) {
    inference::ModelInferRequest message;
    message.set_model_name("m");
    auto &input = *message.add_inputs();
    input.set_datatype(type);
    if (isSigned)
      input.mutable_contents()->add_int_contents(static_cast<int32_t>(value));
    else
      input.mutable_contents()->add_uint_contents(static_cast<uint32_t>(value));
    return refusal(RpcKind::modelInfer, message);
  };
  for (const auto &[type, least, most] : std::initializer_list<std::tuple<const char *, int64_t, int64_t>>{
           {"INT8", -128, 127}, {"INT16", -32768, 32767}}) {
    EXPECT_EQ(said(type, least, true), "");
    EXPECT_EQ(said(type, most, true), "");
    EXPECT_THAT(said(type, least - 1, true), HasSubstr(std::to_string(least)));
    EXPECT_THAT(said(type, most + 1, true), HasSubstr(std::to_string(most)));
  }
  for (const auto &[type, most] :
       std::initializer_list<std::pair<const char *, int64_t>>{{"UINT8", 255}, {"UINT16", 65535}}) {
    EXPECT_EQ(said(type, most, false), "");
    EXPECT_THAT(said(type, most + 1, false), HasSubstr("expected 0 to " + std::to_string(most)));
  }
  EXPECT_EQ(said("INT32", INT32_MIN, true), "");
  EXPECT_EQ(said("UINT32", UINT32_MAX, false), "");
}

TEST(GrpcRequest, noMessage) {
  EXPECT_THROW(readMessage(rpcOf(RpcKind::modelInfer), "\x0a\x05m"), MessageError);
  for (const Rpc &rpc : rpcs())
    EXPECT_THROW(readMessage(rpc, "\xff\xff"), MessageError) << rpc.name;
}

// Entries without bytes take memory: it is counted before they are read.
TEST(GrpcRequest, memory) {
  inference::ModelInferRequest message;
  const auto memory = [&message] { return memoryOf(rpcOf(RpcKind::modelInfer), message.SerializeAsString()); };
  EXPECT_EQ(memory(), 0u);
  for (int i = 0; i < 1000; ++i)
    message.add_inputs();
  EXPECT_GT(memory(), 1000 * sizeof(inference::ModelInferRequest::InferInputTensor));
  message.Clear();
  for (int i = 0; i < 1000; ++i)
    message.add_raw_input_contents("");
  EXPECT_GT(memory(), 1000 * sizeof(std::string));
  message.Clear();
  auto &contents = *message.add_inputs()->mutable_contents();
  for (int i = 0; i < 1000; ++i)
    contents.add_bytes_contents("");
  EXPECT_GT(memory(), 1000 * sizeof(std::string));
  message.Clear();
  for (int i = 0; i < 1000; ++i)
    (*message.mutable_parameters())[std::to_string(i)];
  EXPECT_GT(memory(), 1000 * sizeof(inference::InferParameter));
  // A large tensor counts little more than its bytes.
  message.Clear();
  message.add_raw_input_contents(std::string(1 << 20, 'x'));
  EXPECT_LT(memory(), (1u << 20) + 1024);
  // Bytes that are no message have at least their own size.
  EXPECT_GE(memoryOf(rpcOf(RpcKind::modelInfer), "\x3a\xff\xff\xff\xff\x0f"), 6u);
}

TEST(GrpcAnswer, infer) {
  const std::string head =
      R"({"model_name":"m","model_version":"1","id":"7","outputs":[{"name":"a","datatype":"INT8","shape":[2],"parameters":{"binary_data_size":2}},)"
      R"({"name":"b","datatype":"BYTES","shape":[1],"parameters":{"binary_data_size":6}}]})";
  const std::string body = head + std::string("\xff\x01\2\0\0\0hi", 8);
  const Rpc &rpc = rpcOf(RpcKind::modelInfer);
  inference::ModelInferResponse answer;
  ASSERT_TRUE(answer.ParseFromString(writeMessage(rpc, body, head.size(), false)));
  EXPECT_EQ(answer.SerializeAsString(), writeMessage(rpc, body, head.size(), false)); // as protobuf writes it
  EXPECT_EQ(answer.model_name() + answer.model_version() + answer.id(), "m17");
  EXPECT_EQ(answer.outputs(0).name() + answer.outputs(0).datatype(), "aINT8");
  EXPECT_EQ(answer.outputs(0).shape(0), 2);
  EXPECT_EQ(answer.raw_output_contents(0), "\xff\x01");
  EXPECT_EQ(answer.raw_output_contents(1), std::string("\2\0\0\0hi", 6));
  EXPECT_FALSE(answer.outputs(0).has_contents());
  ASSERT_TRUE(answer.ParseFromString(writeMessage(rpc, body, head.size(), true)));
  EXPECT_EQ(answer.raw_output_contents_size(), 0);
  EXPECT_EQ(answer.outputs(0).contents().int_contents(0), -1);
  EXPECT_EQ(answer.outputs(0).contents().int_contents(1), 1);
  EXPECT_EQ(answer.outputs(1).contents().bytes_contents(0), "hi");
  // Outputs of as many bytes as take one, two, three and four bytes to write their size.
  for (const size_t size : {0, 127, 128, 16383, 16384, 2097151, 2097152}) {
    const std::string large =
        R"({"model_name":"m","model_version":"1","outputs":[{"name":"a","datatype":"INT8","shape":[1],"parameters":{"binary_data_size":)" +
        std::to_string(size) + "}}]}";
    const std::string message = writeMessage(rpc, large + std::string(size, 'x'), large.size(), false);
    ASSERT_TRUE(answer.ParseFromString(message)) << size;
    EXPECT_EQ(answer.raw_output_contents_size(), 1);
    EXPECT_EQ(answer.raw_output_contents(0), std::string(size, 'x'));
    EXPECT_EQ(answer.SerializeAsString(), message);
  }
  // A body that ends early, or claims more JSON than there is.
  EXPECT_ANY_THROW(writeMessage(rpc, std::string_view(body).substr(0, body.size() - 1), head.size(), false));
  EXPECT_ANY_THROW(writeMessage(rpc, body, body.size() + 1, false));
  EXPECT_ANY_THROW(writeMessage(rpc, "{", 1, false));
  EXPECT_ANY_THROW(writeMessage(rpc, "{}", 2, false));
}

TEST(GrpcAnswer, others) {
  inference::ModelMetadataResponse model;
  const std::string text =
      R"({"name":"m","versions":["1"],"platform":"p","inputs":[{"name":"a","datatype":"FP32","shape":[-1,2]}],"outputs":[]})";
  ASSERT_TRUE(model.ParseFromString(writeMessage(rpcOf(RpcKind::modelMetadata), text, text.size(), false)));
  EXPECT_EQ(model.name() + model.versions(0) + model.platform(), "m1p");
  EXPECT_EQ(model.inputs(0).shape(0), -1);
  EXPECT_EQ(model.outputs_size(), 0);
  inference::RepositoryIndexResponse index;
  const std::string list = R"([{"name":"m","version":"1","state":"READY","reason":"r"}])";
  ASSERT_TRUE(index.ParseFromString(writeMessage(rpcOf(RpcKind::repositoryIndex), list, list.size(), false)));
  EXPECT_EQ(index.models(0).name() + index.models(0).version() + index.models(0).state() + index.models(0).reason(),
            "m1READYr");
  EXPECT_EQ(writeMessage(rpcOf(RpcKind::repositoryLoad), "{}", 2, false), "");
  EXPECT_EQ(writeMessage(rpcOf(RpcKind::serverLive), R"({"live":true})", 13, false), "\x08\x01");
}

} // namespace
} // namespace vx::grpc_wire
