#include "vx/compiler/vxb.h"

#include "CompilerCall.h"
#include "vx/Autodiff/Losses.h"
#include "vx/Frontend/ONNX/GraphRecorder.h"

#include "llvm/Support/Path.h"

using namespace mlir;

static_assert(VXB_NONE == -1);

struct vxb_graph {
  explicit vxb_graph(const std::string &name) : name(name), context(makeRegistry()) {
    context.loadAllAvailableDialects();
    vx::RecorderOptions options;
    options.buildLoss = buildLoss;
    recorder.emplace(context, name, std::move(options));
  }

  static DialectRegistry makeRegistry() {
    DialectRegistry registry;
    vx::getTargets().registerDialects(registry);
    return registry;
  }

  static vx::RecorderOptions::LossValues buildLoss(vx::GraphBuilder &g, StringRef loss, Value output, Value target,
                                                   Value weights);

  std::string name;
  MLIRContext context;
  std::optional<vx::GraphRecorder> recorder;
  std::optional<vx::TrainingOptions> training;
  int64_t memory = 0, plannedBatch = 0;
  int64_t opset = vx::oldestExportOpset;
  // What the caller was given.
  std::vector<vxb_dim> dims;
  vx::RecordedType type;
};

/// As `vx-build-train-step` builds it, of a target and of weights that are given.
vx::RecorderOptions::LossValues vxb_graph::buildLoss(vx::GraphBuilder &g, StringRef loss, Value output, Value target,
                                                     Value weights) {
  std::string error;
  std::optional<vx::LossSpec> spec = vx::LossSpec::parse(loss, error);
  if (spec && spec->takesWeights) {
    error = spec->name + ": expected the weights of rows as a tensor, got sample_weight=true";
    spec.reset();
  }
  if (!spec) {
    emitError(g.location) << error;
    return {};
  }
  spec->takesWeights = static_cast<bool>(weights);
  bool isRight = true;
  vx::LossResults results = vx::buildLoss(g, *spec, output, [&](StringRef name, RankedTensorType type) {
    const bool isWeight = name == vx::kSampleWeightInput;
    Value value = isWeight ? weights : target;
    auto given = value ? dyn_cast<RankedTensorType>(value.getType()) : RankedTensorType();
    isRight = isRight && given && vx::areCompatibleTypes(given, type);
    if (!isRight) {
      emitError(g.location) << spec->name << ": expected " << (isWeight ? "weights" : "a target") << " of "
                            << vx::describeType(type) << ", got " << (given ? vx::describeType(given) : "none");
      return Value();
    }
    for (auto [have, want] : llvm::zip_equal(vx::getDims(given), vx::getDims(type)))
      if (have != want)
        g.require(vx::ConstraintKind::equal, have, want);
    return g.reshape(value, vx::getDims(type));
  });
  if (!isRight)
    return {};
  vx::RecorderOptions::LossValues values{results.loss, {}};
  for (auto &[name, value] : results.metrics)
    if (name == "accuracy")
      values.accuracy = value;
  return values;
}

namespace {

/// A call that has a graph, and its pointers.
class GraphCall {
public:
  explicit GraphCall(vxb_graph *graph) : graph(graph) {}

  /// NULL where something is there that may not be NULL.
  GraphCall &want(const char *name, const void *pointer, bool isNeeded = true) {
    if (graph && isNeeded && !pointer && missing.empty())
      missing = name;
    return *this;
  }

  template <typename Function>
  vxc_result run(const vxb_place *place, Function body) {
    if (!graph)
      return VXC_USAGE;
    if (!missing.empty()) {
      const vx::RecordedPlace at = readPlace(place);
      graph->recorder->fail(&at, "argument '" + missing + "' is a null pointer");
      return VXC_USAGE;
    }
    return body(*graph->recorder) ? VXC_DONE : VXC_UNSUPPORTED;
  }

  static vx::RecordedPlace readPlace(const vxb_place *place) {
    if (!place)
      return {};
    auto text = [](const char *chars) { return std::string(chars ? chars : ""); };
    return {text(place->scope), text(place->layer), llvm::sys::path::filename(text(place->file)).str(), place->line};
  }

private:
  vxb_graph *graph;
  std::string missing;
};

std::vector<vx::RecordedDim> readDims(size_t count, const vxb_dim *dims) {
  std::vector<vx::RecordedDim> result;
  for (size_t i = 0; i < count; ++i)
    result.push_back({dims[i].size, dims[i].size < 0 && dims[i].name ? dims[i].name : ""});
  return result;
}

vx::RecordedType readType(const vxb_type &type) {
  return {static_cast<int32_t>(type.element_type), readDims(type.rank, type.dims)};
}

bool readAttribute(vx::GraphRecorder &recorder, const vx::RecordedPlace &place, const vxb_attribute &attribute,
                   std::vector<vx::RecordedAttribute> &result) {
  auto refuse = [&](const Twine &reason) {
    return recorder.fail(&place, "attribute '" + Twine(attribute.name ? attribute.name : "") + "' " + reason);
  };
  if (!attribute.name)
    return refuse("has a null pointer for its name");
  const bool isInt = attribute.kind == VXB_INT || attribute.kind == VXB_INTS;
  const bool isFloat = attribute.kind == VXB_FLOAT || attribute.kind == VXB_FLOATS;
  const bool isText = attribute.kind == VXB_STRING || attribute.kind == VXB_STRINGS;
  const bool isList = attribute.kind >= VXB_INTS && attribute.kind <= VXB_STRINGS;
  const size_t count = isList ? attribute.count : 1;
  if (count > 0 && ((isInt && !attribute.ints) || (isFloat && !attribute.floats) || (isText && !attribute.strings)))
    return refuse("has a null pointer for its elements");
  std::vector<std::string> texts;
  for (size_t i = 0; isText && i < count; ++i) {
    if (!attribute.strings[i])
      return refuse("has a null pointer for element " + Twine(i));
    texts.push_back(attribute.strings[i]);
  }
  vx::RecordedAttribute &own = result.emplace_back();
  own.name = attribute.name;
  switch (attribute.kind) {
  case VXB_INT:
    own.value = attribute.ints[0];
    return true;
  case VXB_FLOAT:
    own.value = attribute.floats[0];
    return true;
  case VXB_STRING:
    own.value = texts[0];
    return true;
  case VXB_INTS:
    own.value = std::vector<int64_t>(attribute.ints, attribute.ints + count);
    return true;
  case VXB_FLOATS:
    own.value = std::vector<float>(attribute.floats, attribute.floats + count);
    return true;
  case VXB_STRINGS:
    own.value = std::move(texts);
    return true;
  case VXB_BODY:
    own.value = vx::RecordedBody{attribute.body};
    return true;
  case VXB_ATTRIBUTE_LIMIT:
    break;
  }
  return refuse("expects a kind of vxb_attribute_kind, got " + Twine(static_cast<int>(attribute.kind)));
}

} // namespace

vxc_result vxb_graph_create(const char *name, vxb_graph **out_graph) {
  if (!name || !out_graph)
    return VXC_USAGE;
  *out_graph = new vxb_graph(name);
  return VXC_DONE;
}

void vxb_graph_release(vxb_graph *graph) { delete graph; }

const char *vxb_graph_message(const vxb_graph *graph) { return graph ? graph->recorder->getError().c_str() : ""; }

vxc_result vxb_graph_fail(vxb_graph *graph, const vxb_place *place, const char *message) {
  return GraphCall(graph).want("message", message).run(place, [&](vx::GraphRecorder &recorder) {
    const vx::RecordedPlace at = GraphCall::readPlace(place);
    return recorder.fail(&at, message);
  });
}

vxc_result vxb_symbol(vxb_graph *graph, const char *name, int64_t min, int64_t max, int64_t multiple) {
  return GraphCall(graph).want("name", name).run(nullptr, [&](vx::GraphRecorder &recorder) {
    return recorder.declareSymbol(name, min, max, multiple);
  });
}

vxc_result vxb_variable(vxb_graph *graph, const vxb_variable_info *info, const vxb_place *place,
                        vxb_value *out_variable) {
  vxb_variable_info known = {};
  if (info)
    memcpy(&known, info, std::min(info->struct_size, sizeof(known)));
  return GraphCall(graph)
      .want("info", info)
      .want("out_variable", out_variable)
      .want("name", known.name)
      .want("dims", known.type.dims, known.type.rank > 0)
      .want("data", known.data, known.init == VXB_INIT_DATA && known.data_size > 0)
      .run(place, [&](vx::GraphRecorder &recorder) {
        const vx::RecordedPlace at = GraphCall::readPlace(place);
        vx::RecordedVariable variable;
        variable.name = known.name;
        variable.type = readType(known.type);
        auto refuse = [&](const Twine &reason) {
          return recorder.fail(&at, "variable '" + Twine(known.name) + "' " + reason);
        };
        if (known.role < VXB_PARAMETER || known.role > VXB_STATE)
          return refuse("expects a role of vxb_role, got " + Twine(static_cast<int>(known.role)));
        if (known.init < VXB_INIT_ZEROS || known.init > VXB_INIT_DATA)
          return refuse("expects an init of vxb_init_kind, got " + Twine(static_cast<int>(known.init)));
        variable.role = known.role == VXB_PARAMETER   ? vx::VariableRole::parameter
                        : known.role == VXB_STATISTIC ? vx::VariableRole::statistic
                                                      : vx::VariableRole::state;
        variable.a = known.a;
        variable.b = known.b;
        switch (known.init) {
        case VXB_INIT_ZEROS:
          break;
        case VXB_INIT_CONSTANT:
          variable.b = known.a;
          [[fallthrough]];
        case VXB_INIT_UNIFORM:
          variable.init = vx::InitKind::uniform;
          break;
        case VXB_INIT_NORMAL:
          variable.init = vx::InitKind::normal;
          break;
        case VXB_INIT_ORTHOGONAL:
          variable.init = vx::InitKind::orthogonal;
          break;
        case VXB_INIT_DATA:
          variable.hasElements = true;
          variable.elements = {static_cast<const char *>(known.data), known.data_size};
          break;
        case VXB_INIT_LIMIT: // refused above
          break;
        }
        auto value = recorder.addVariable(variable, at);
        if (value)
          *out_variable = *value;
        return value.has_value();
      });
}

vxc_result vxb_function_begin(vxb_graph *graph, const char *name, size_t num_inputs, const vxb_input *inputs,
                              const vxb_place *place, vxb_value *out_inputs) {
  GraphCall call(graph);
  call.want("name", name).want("inputs", inputs, num_inputs > 0).want("out_inputs", out_inputs, num_inputs > 0);
  for (size_t i = 0; inputs && i < num_inputs; ++i)
    call.want("name of an input", inputs[i].name)
        .want("dims of an input", inputs[i].type.dims, inputs[i].type.rank > 0);
  return call.run(place, [&](vx::GraphRecorder &recorder) {
    std::vector<vx::GraphRecorder::Input> known;
    for (size_t i = 0; i < num_inputs; ++i)
      known.push_back({inputs[i].name, readType(inputs[i].type)});
    std::vector<vx::GraphRecorder::Value> values;
    if (!recorder.beginFunction(name, known, GraphCall::readPlace(place), values))
      return false;
    llvm::copy(values, out_inputs);
    return true;
  });
}

vxc_result vxb_function_end(vxb_graph *graph, size_t num_outputs, const char *const *names, const vxb_value *values) {
  GraphCall call(graph);
  call.want("names", names, num_outputs > 0).want("values", values, num_outputs > 0);
  for (size_t i = 0; names && i < num_outputs; ++i)
    call.want("name of an output", names[i]);
  return call.run(nullptr, [&](vx::GraphRecorder &recorder) {
    return recorder.endFunction(std::vector<std::string>(names, names + num_outputs), ArrayRef(values, num_outputs));
  });
}

vxc_result vxb_node(vxb_graph *graph, const char *op, size_t num_inputs, const vxb_value *inputs, size_t num_attributes,
                    const vxb_attribute *attributes, const vxb_place *place, size_t num_outputs,
                    vxb_value *out_values) {
  return GraphCall(graph)
      .want("op", op)
      .want("inputs", inputs, num_inputs > 0)
      .want("attributes", attributes, num_attributes > 0)
      .want("out_values", out_values, num_outputs > 0)
      .run(place, [&](vx::GraphRecorder &recorder) {
        const vx::RecordedPlace at = GraphCall::readPlace(place);
        std::vector<vx::RecordedAttribute> known;
        for (size_t i = 0; i < num_attributes; ++i)
          if (!readAttribute(recorder, at, attributes[i], known))
            return false;
        std::vector<vx::GraphRecorder::Value> values;
        if (!recorder.addNode(op, ArrayRef(inputs, num_inputs), known, at, static_cast<unsigned>(num_outputs), values))
          return false;
        llvm::copy(values, out_values);
        return true;
      });
}

vxc_result vxb_constant(vxb_graph *graph, const vxb_type *type, const void *data, size_t data_size,
                        const vxb_place *place, vxb_value *out_value) {
  return GraphCall(graph)
      .want("type", type)
      .want("dims", type ? type->dims : nullptr, type && type->rank > 0)
      .want("data", data, data_size > 0)
      .want("out_value", out_value)
      .run(place, [&](vx::GraphRecorder &recorder) {
        auto value = recorder.addConstant(readType(*type), {static_cast<const char *>(data), data_size},
                                          GraphCall::readPlace(place));
        if (value)
          *out_value = *value;
        return value.has_value();
      });
}

vxc_result vxb_sizes(vxb_graph *graph, size_t count, const vxb_dim *dims, const vxb_place *place,
                     vxb_value *out_value) {
  return GraphCall(graph)
      .want("dims", dims, count > 0)
      .want("out_value", out_value)
      .run(place, [&](vx::GraphRecorder &recorder) {
        auto value = recorder.addSizes(readDims(count, dims), GraphCall::readPlace(place));
        if (value)
          *out_value = *value;
        return value.has_value();
      });
}

vxc_result vxb_store(vxb_graph *graph, vxb_value variable, vxb_value value, const vxb_place *place) {
  return GraphCall(graph).run(
      place, [&](vx::GraphRecorder &recorder) { return recorder.store(variable, value, GraphCall::readPlace(place)); });
}

vxc_result vxb_body_begin(vxb_graph *graph, uint8_t is_loop, size_t num_carried, const vxb_value *carried,
                          const vxb_place *place, vxb_value *out_values) {
  return GraphCall(graph)
      .want("carried", carried, num_carried > 0)
      .want("out_values", out_values, is_loop)
      .run(place, [&](vx::GraphRecorder &recorder) {
        std::vector<vx::GraphRecorder::Value> values;
        if (!recorder.beginBody(is_loop, ArrayRef(carried, num_carried), GraphCall::readPlace(place), values))
          return false;
        llvm::copy(values, out_values);
        return true;
      });
}

vxc_result vxb_body_end(vxb_graph *graph, size_t num_values, const vxb_value *values, int32_t *out_body) {
  return GraphCall(graph)
      .want("values", values, num_values > 0)
      .want("out_body", out_body)
      .run(nullptr, [&](vx::GraphRecorder &recorder) {
        auto body = recorder.endBody(ArrayRef(values, num_values));
        if (body)
          *out_body = body->number;
        return body.has_value();
      });
}

vxc_result vxb_value_type(vxb_graph *graph, vxb_value value, vxb_type *out_type) {
  return GraphCall(graph).want("out_type", out_type).run(nullptr, [&](vx::GraphRecorder &recorder) {
    auto type = recorder.getType(value);
    if (!type)
      return false;
    graph->type = std::move(*type);
    graph->dims.clear();
    for (const vx::RecordedDim &dim : graph->type.dims)
      graph->dims.push_back({dim.size, dim.size < 0 ? dim.name.c_str() : nullptr});
    *out_type = {static_cast<vxb_element_type>(graph->type.elementType), static_cast<uint32_t>(graph->dims.size()),
                 graph->dims.data()};
    return true;
  });
}

vxc_result vxb_train(vxb_graph *graph, const vxb_training *training) {
  vxb_training known = {};
  if (training)
    memcpy(&known, training, std::min(training->struct_size, sizeof(known)));
  return GraphCall(graph)
      .want("training", training)
      .want("evaluate", known.evaluate)
      .want("optimizer", known.optimizer)
      .run(nullptr, [&](vx::GraphRecorder &recorder) {
        const vx::RecordedPlace place{"", "train", "", 0};
        auto refuse = [&](const Twine &reason) { return recorder.fail(&place, reason); };
        if (!recorder.getError().empty())
          return false;
        const std::vector<std::string> functions = recorder.getFunctions();
        for (const char *function : {known.evaluate, known.predict})
          if (function && !llvm::is_contained(functions, function))
            return refuse("expected the name of a function of the graph, got '" + Twine(function) + "'");
        if (graph->training)
          return refuse("expected one training of a graph, got a second; the first has the loss of '" +
                        graph->training->evaluate + "'");
        std::string error;
        if (!vx::OptimizerSpec::parse(known.optimizer, error))
          return refuse(error);
        for (auto [name, value] :
             {std::pair("lr", known.lr), {"clip_norm", known.clip_norm}, {"clip_value", known.clip_value}})
          if (!(value >= 0) || !std::isfinite(value))
            return refuse(Twine(name) + ": expected a number above 0, got " + std::to_string(value));
        for (auto [name, value] : {std::pair("memory", known.memory), {"planned_batch", known.planned_batch}})
          if (value < 0)
            return refuse(Twine(name) + ": expected a number of 0 or more, got " + Twine(value));
        vx::TrainingOptions options;
        options.evaluate = known.evaluate;
        options.predict = known.predict ? known.predict : "";
        options.optimizer = known.optimizer;
        options.rate = known.lr;
        options.clipNorm = known.clip_norm;
        options.clipValue = known.clip_value;
        options.keepGradients = known.keep_gradients;
        SmallVector<StringRef> patterns;
        StringRef(known.freeze ? known.freeze : "").split(patterns, ',', -1, /*KeepEmpty=*/false);
        for (StringRef pattern : patterns)
          options.freeze.push_back(pattern.trim().str());
        graph->training = std::move(options);
        graph->memory = known.memory;
        graph->plannedBatch = known.planned_batch;
        return true;
      });
}

static vxc_result compile(vxb_graph *graph, const char *outputPath, const vxc_options *options,
                          std::unique_ptr<vx::ModuleBytes> *bytes) {
  if (!graph || !options)
    return VXC_USAGE;
  vx::CompilerCall call(vx::readOptions(*options));
  vx::GraphRecorder &recorder = *graph->recorder;
  if (recorder.getError().empty() && recorder.isRecording())
    recorder.fail(
        nullptr,
        "expected a graph of functions that have ended, got one that has not: end it before the graph is compiled");
  if (recorder.getError().empty() && recorder.getFunctions().empty())
    recorder.fail(nullptr, "expected a graph with a function, got none");
  if (!recorder.getError().empty())
    return call.fail(VXC_UNSUPPORTED, recorder.getError());
  vx::CompilerCall::Built built;
  built.name = graph->name;
  built.module = recorder.getModule();
  built.training = graph->training;
  built.memory = graph->memory;
  built.plannedBatch = graph->plannedBatch;
  if (graph->training && !graph->training->predict.empty())
    built.makeSkeleton = [graph](ModuleOp module, const vx::ExportOptions &exporting, std::string &error) {
      return graph->recorder->makeSkeleton(graph->training->predict, graph->opset, module, exporting, error);
    };
  return call.runBuilt(built, outputPath, bytes);
}

vxc_result vxb_compile(vxb_graph *graph, const char *output_path, const vxc_options *options) {
  return compile(graph, output_path, options, nullptr);
}

vxc_result vxb_compile_bytes(vxb_graph *graph, const vxc_options *options, vxc_module **out_module) {
  if (!out_module)
    return VXC_USAGE;
  *out_module = nullptr;
  std::unique_ptr<vx::ModuleBytes> bytes;
  vxc_result result = compile(graph, nullptr, options, &bytes);
  if (bytes)
    *out_module = new vxc_module{std::move(bytes)};
  return result;
}

vxc_result vxb_export_opset(vxb_graph *graph, int64_t opset) {
  return GraphCall(graph).run(nullptr, [&](vx::GraphRecorder &recorder) {
    const vx::RecordedPlace place{"", "export", "", 0};
    if (opset < vx::oldestExportOpset || opset > vx::newestExportOpset)
      return recorder.fail(&place, "expected version " + Twine(vx::oldestExportOpset) + " to " +
                                       Twine(vx::newestExportOpset) + " of ONNX's ops, got " + Twine(opset));
    graph->opset = opset;
    return true;
  });
}

/// The bytes of `pieces`, by where they end and how long they are. Lengths are of pieces behind them.
static uint64_t getSize(ArrayRef<vx::ExportPiece> pieces, size_t index, SmallVectorImpl<uint64_t> &sizes) {
  const vx::ExportPiece &piece = pieces[index];
  if (piece.kind != vx::ExportPiece::Kind::Length)
    return piece.kind == vx::ExportPiece::Kind::Bytes || piece.kind == vx::ExportPiece::Kind::Constant
               ? piece.bytes.size()
               : piece.size;
  uint64_t length = 0;
  for (size_t i = index + 1; i <= index + piece.count; ++i)
    length += sizes[i];
  uint64_t bytes = 1;
  for (uint64_t rest = length; rest >= 0x80; rest >>= 7)
    ++bytes;
  return bytes;
}

vxc_result vxb_export(vxb_graph *graph, const char *function, vxb_read_fn read, vxb_write_fn write,
                      vxc_message_fn on_message, void *user_data) {
  if (!graph || !function || !read || !write)
    return VXC_USAGE;
  vxc_options options = {};
  options.on_message = on_message;
  options.user_data = user_data;
  vx::CompilerCall call(options);
  vx::GraphRecorder &recorder = *graph->recorder;
  if (!recorder.getError().empty())
    return call.fail(VXC_UNSUPPORTED, recorder.getError());
  std::string error;
  vx::ExportOptions exporting;
  exporting.largestModel = INT32_MAX;
  auto skeleton = recorder.makeSkeleton(function, graph->opset, recorder.getModule(), exporting, error);
  if (!skeleton)
    return call.fail(VXC_UNSUPPORTED, error);
  if (!skeleton->weights.empty())
    return call.fail(VXC_UNSUPPORTED, "function '" + std::string(function) + "' is more than 2 GiB as a model");
  ArrayRef<vx::ExportPiece> pieces = skeleton->model;
  SmallVector<uint64_t> sizes(pieces.size());
  for (size_t i = pieces.size(); i-- > 0;)
    sizes[i] = getSize(pieces, i, sizes);
  std::vector<char> buffer;
  for (auto [index, piece] : llvm::enumerate(pieces)) {
    StringRef bytes = piece.bytes;
    if (piece.kind == vx::ExportPiece::Kind::Variable) {
      buffer.assign(piece.size, 0);
      if (read(user_data, piece.variable.c_str(), buffer.data(), buffer.size()))
        return call.fail(VXC_FAILED, "the export got no elements of variable '" + piece.variable + "'");
      bytes = {buffer.data(), buffer.size()};
    } else if (piece.kind == vx::ExportPiece::Kind::Length) {
      uint64_t length = 0;
      for (size_t i = index + 1; i <= index + piece.count; ++i)
        length += sizes[i];
      buffer.clear();
      for (; length >= 0x80; length >>= 7)
        buffer.push_back(static_cast<char>((length & 0x7f) | 0x80));
      buffer.push_back(static_cast<char>(length));
      bytes = {buffer.data(), buffer.size()};
    }
    if (!bytes.empty() && write(user_data, bytes.data(), bytes.size()))
      return call.fail(VXC_FAILED, "the export of function '" + std::string(function) + "' could not be written");
  }
  return VXC_DONE;
}
