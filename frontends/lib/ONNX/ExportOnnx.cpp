// The skeleton of a model: its bytes are walked beside the messages that were parsed of them, which the import knows
// its constants by.
#include "vx/Frontend/ONNX/ExportOnnx.h"

#include "ImportError.h"
#include "OnnxSource.h"
#include "TrainedPlaces.h"
#include "WireFormat.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "vx/Dialect/VX/IR/UserText.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/SaveAndRestore.h"

#include <deque>

using namespace mlir;

namespace vx {

void OnnxSource::record(const void *place, StringRef name, ElementsAttr elements) {
  values[place].push_back({escapeControlCharacters(name), elements});
}

ArrayRef<OnnxSource::Value> OnnxSource::getValues(const void *place) const {
  auto found = values.find(place);
  return found == values.end() ? ArrayRef<Value>() : ArrayRef<Value>(found->second);
}

namespace onnx {

namespace {

/// The pieces of a message. One that is not changed is written as it stands.
struct Body {
  std::vector<ExportPiece> pieces;
  size_t sealed = 0; // pieces before this one are not made longer: they are parts of messages inside
  bool isChanged = false;
  bool isLeftOut = false; // the message as a whole
};

enum TensorField : uint64_t {
  Sizes = 1,
  FloatData = 4,
  Int32Data = 5,
  Int64Data = 7,
  RawData = 9,
  DoubleData = 10,
  UInt64Data = 11,
  ExternalData = 13,
  DataLocation = 14
};
constexpr uint64_t floatsField = 7; // of an attribute

constexpr uint64_t weightsAlignment = 64;

class SkeletonBuilder {
public:
  SkeletonBuilder(const OnnxSource &source, const TrainedPlaces &places, const ExportOptions &options,
                  bool hasWeightsFile)
      : places(places), outputs(places.getOutputSizes()), options(options), hasWeightsFile(hasWeightsFile),
        source(source), reader(source.context, source.model, source.folder, /*maxInlineElements=*/0),
        texts(std::make_shared<std::deque<std::string>>()) {}

  ExportSkeleton run() {
    Body body = visit(source.bytes, *source.model);
    ExportSkeleton skeleton;
    skeleton.model = std::move(body.pieces);
    skeleton.weights = std::move(weights);
    skeleton.owners = std::move(owners);
    skeleton.owners.push_back(texts);
    skeleton.owners.push_back(source.owner);
    skeleton.owners.push_back(source.model);
    return skeleton;
  }

private:
  // Pieces.
  static void appendBytes(Body &body, StringRef bytes) {
    if (bytes.empty())
      return;
    if (body.pieces.size() > body.sealed) {
      ExportPiece &last = body.pieces.back();
      if (last.kind == ExportPiece::Kind::Bytes && last.bytes.end() == bytes.begin()) {
        last.bytes = StringRef(last.bytes.data(), last.bytes.size() + bytes.size());
        return;
      }
    }
    ExportPiece piece;
    piece.bytes = bytes;
    body.pieces.push_back(std::move(piece));
  }
  void appendText(Body &body, std::string text) { appendBytes(body, texts->emplace_back(std::move(text))); }

  static void appendLength(Body &body, const std::vector<ExportPiece> &of) {
    ExportPiece length;
    length.kind = ExportPiece::Kind::Length;
    length.count = static_cast<uint32_t>(of.size());
    body.pieces.push_back(std::move(length));
    llvm::append_range(body.pieces, of);
    body.sealed = body.pieces.size();
  }

  /// Returns the pieces of a message. For the fields that it descends into, `member` returns their contents.
  Body visitFields(StringRef bytes, llvm::function_ref<std::optional<Body>(const WireField &field)> member) {
    Body body;
    bool isMessage = forEachField(bytes, [&](const WireField &field) {
      std::optional<Body> inner = field.isBytes ? member(field) : std::nullopt;
      if (inner && inner->isLeftOut) {
        body.isChanged = true;
        return;
      }
      if (!inner || !inner->isChanged)
        return appendBytes(body, field.whole);
      appendBytes(body, field.tag);
      appendLength(body, inner->pieces);
      body.isChanged = true;
    });
    if (!isMessage)
      throwInvalid("expects the bytes of a message, got others");
    return body;
  }

  /// Counts the elements of a field as they come, to find them in the message that was parsed.
  template <typename Message>
  Body next(const WireField &field, const google::protobuf::RepeatedPtrField<Message> &list, int &count) {
    if (count >= list.size())
      throwInvalid("expects " + Twine(list.size()) + " elements of a list, got more");
    return visit(field.payload, list.Get(count++));
  }
  /// For a field that a message has once: parsers merge a repeated one into the first.
  template <typename Message>
  Body only(const WireField &field, const Message &message, bool &wasMet) {
    if (std::exchange(wasMet, true))
      throwNotExported("a field of the model is stored in segments, expected whole fields");
    return visit(field.payload, message);
  }

  // Visits messages by the field numbers of onnx_wire.proto.
  Body visit(StringRef bytes, const ModelProto &model) {
    bool graph = false;
    int training = 0, functions = 0;
    return visitFields(bytes, [&](const WireField &field) -> std::optional<Body> {
      if (field.number == 7)
        return only(field, model.graph(), graph);
      if (field.number == 20)
        return next(field, model.training_info(), training);
      if (field.number == 25)
        return next(field, model.functions(), functions);
      return std::nullopt;
    });
  }

  Body visit(StringRef bytes, const GraphProto &graph) {
    int nodes = 0, initializers = 0, sparse = 0, results = 0;
    return visitFields(bytes, [&](const WireField &field) -> std::optional<Body> {
      if (field.number == 13 && outputs) { // types of values, which follow from others
        Body none;
        none.isLeftOut = true;
        return none;
      }
      if (field.number == 12 && outputs && &graph == &source.model->graph())
        return next(field, graph.output(), results);
      if (field.number == 1)
        return next(field, graph.node(), nodes);
      if (field.number == 5) {
        const llvm::SaveAndRestore inside(isInitializer, true);
        return next(field, graph.initializer(), initializers);
      }
      if (field.number == 15)
        return next(field, graph.sparse_initializer(), sparse);
      return std::nullopt;
    });
  }

  /// An output of a model with changed sizes of tensors.
  Body visit(StringRef bytes, const ValueInfoProto &output) {
    auto sizes = outputs->find(output.name());
    int place = 0;
    auto inside = [&](uint64_t number, llvm::function_ref<Body(StringRef)> inner) {
      return [number, inner](const WireField &field) -> std::optional<Body> {
        return field.number == number ? std::optional<Body>(inner(field.payload)) : std::nullopt;
      };
    };
    auto dimension = [&](StringRef dim) {
      return replaceSize(dim, output.type().tensor_type().shape(), sizes->second, place++);
    };
    auto shape = [&](StringRef message) { return visitFields(message, inside(1, dimension)); };
    auto tensor = [&](StringRef message) { return visitFields(message, inside(2, shape)); };
    auto type = [&](StringRef message) { return visitFields(message, inside(1, tensor)); };
    if (sizes != outputs->end())
      return visitFields(bytes, inside(2, type));
    Body body;
    appendBytes(body, bytes);
    return body;
  }

  Body replaceSize(StringRef bytes, const TensorShapeProto &shape, ArrayRef<int64_t> sizes, int place) {
    Body body;
    const int64_t size =
        place < static_cast<int>(sizes.size()) ? sizes[static_cast<size_t>(place)] : ShapedType::kDynamic;
    const bool isOther = size != ShapedType::kDynamic && place < shape.dim_size() && shape.dim(place).has_dim_value() &&
                         shape.dim(place).dim_value() != size;
    (void)forEachField(bytes, [&](const WireField &field) {
      if (field.number != 1 || !isOther)
        return appendBytes(body, field.whole);
      std::string text = field.tag.str();
      appendVarint(text, static_cast<uint64_t>(size));
      appendText(body, std::move(text));
      body.isChanged = true;
    });
    return body;
  }

  Body visit(StringRef bytes, const TrainingInfoProto &training) {
    bool initialization = false, algorithm = false;
    return visitFields(bytes, [&](const WireField &field) -> std::optional<Body> {
      if (field.number == 1)
        return only(field, training.initialization(), initialization);
      if (field.number == 2)
        return only(field, training.algorithm(), algorithm);
      return std::nullopt;
    });
  }

  Body visit(StringRef bytes, const FunctionProto &function) {
    int nodes = 0, attributes = 0;
    return visitFields(bytes, [&](const WireField &field) -> std::optional<Body> {
      if (field.number == 7)
        return next(field, function.node(), nodes);
      if (field.number == 11)
        return next(field, function.attribute_proto(), attributes);
      return std::nullopt;
    });
  }

  Body visit(StringRef bytes, const NodeProto &node) {
    int attributes = 0;
    return visitFields(bytes, [&](const WireField &field) -> std::optional<Body> {
      if (field.number == 5)
        return next(field, node.attribute(), attributes);
      return std::nullopt;
    });
  }

  Body visit(StringRef bytes, const AttributeProto &attribute) {
    if (const Trained *trained = places.find(&attribute))
      return replaceFloats(bytes, *trained);
    bool tensor = false, graph = false, sparse = false;
    int tensors = 0, graphs = 0, sparseTensors = 0;
    return visitFields(bytes, [&](const WireField &field) -> std::optional<Body> {
      switch (field.number) {
      case 5:
        return only(field, attribute.t(), tensor);
      case 6:
        return only(field, attribute.g(), graph);
      case 10:
        return next(field, attribute.tensors(), tensors);
      case 11:
        return next(field, attribute.graphs(), graphs);
      case 22:
        return only(field, attribute.sparse_tensor(), sparse);
      case 23:
        return next(field, attribute.sparse_tensors(), sparseTensors);
      default:
        return std::nullopt;
      }
    });
  }

  Body visit(StringRef bytes, const SparseTensorProto &tensor) {
    bool values = false, indices = false;
    return visitFields(bytes, [&](const WireField &field) -> std::optional<Body> {
      if (field.number == 1)
        return only(field, tensor.values(), values);
      if (field.number == 2)
        return only(field, tensor.indices(), indices);
      return std::nullopt;
    });
  }

  Body visit(StringRef bytes, const TensorProto &tensor) {
    static constexpr uint64_t all[] = {FloatData,  Int32Data,  Int64Data,    RawData,
                                       DoubleData, UInt64Data, ExternalData, DataLocation};
    if (const Trained *trained = places.find(&tensor)) {
      RankedTensorType type = trained->type;
      bool isShaped = ArrayRef<int64_t>(tensor.dims().data(), tensor.dims_size()) == type.getShape();
      return replaceElements(bytes, all, makeVariable(*trained), isShaped ? RankedTensorType() : type);
    }
    if (tensor.data_location() == TensorProto::EXTERNAL) {
      TensorReader::Bytes elements = reader.readExternal(tensor, tensor.name());
      owners.push_back(elements.owner);
      return replaceElements(bytes, all, makeConstant(tensor, toStringRef(elements.data)), {});
    }
    // Bytes that the module has among its constants are not stored twice.
    if (tensor.has_raw_data()) {
      StringRef elements = tensor.raw_data();
      ExportPiece piece = makeConstant(tensor, elements);
      if (piece.constant || goesToFile(elements.size()))
        return replaceElements(bytes, {RawData, ExternalData, DataLocation}, std::move(piece), {});
    }
    Body body;
    appendBytes(body, bytes);
    return body;
  }

  // Elements.
  static StringRef toStringRef(ArrayRef<char> bytes) { return {bytes.data(), bytes.size()}; }

  static ExportPiece makeVariable(const Trained &trained) {
    ExportPiece piece;
    piece.kind = ExportPiece::Kind::Variable;
    piece.variable = trained.variable.str();
    piece.size = trained.getSize();
    return piece;
  }

  /// Bytes, with the attribute that the import has made of them where it has them as they are.
  ExportPiece makeConstant(const TensorProto &tensor, StringRef bytes) const {
    ExportPiece piece;
    piece.bytes = bytes;
    for (const OnnxSource::Value &value : source.getValues(&tensor)) {
      auto resource = dyn_cast<DenseResourceElementsAttr>(value.elements);
      AsmResourceBlob *blob = resource ? resource.getRawHandle().getBlob() : nullptr;
      if (!blob || toStringRef(blob->getData()) != bytes)
        continue;
      piece.kind = ExportPiece::Kind::Constant;
      piece.constant = resource;
      break;
    }
    return piece;
  }

  static uint64_t getSize(const ExportPiece &piece) {
    return piece.kind == ExportPiece::Kind::Variable ? piece.size : piece.bytes.size();
  }

  /// Not every reader looks for other tensors in files.
  bool goesToFile(uint64_t size) const { return hasWeightsFile && isInitializer && size >= options.leastWeights; }

  /// A tensor with other elements, in the place of the first of the fields that are left out; `type` is null where its
  /// dimensions stay.
  Body replaceElements(StringRef bytes, ArrayRef<uint64_t> leftOut, ExportPiece elements, RankedTensorType type) {
    Body body;
    bool hasElements = false, hasDims = !type;
    auto appendElements = [&] {
      if (!std::exchange(hasElements, true))
        goesToFile(getSize(elements)) ? appendExternal(body, elements) : appendRaw(body, RawData, elements);
    };
    auto appendDims = [&] {
      if (std::exchange(hasDims, true))
        return;
      std::string text;
      for (int64_t dim : type.getShape()) {
        text += static_cast<char>(Sizes << 3);
        appendVarint(text, static_cast<uint64_t>(dim));
      }
      appendText(body, std::move(text));
    };
    (void)forEachField(bytes, [&](const WireField &field) { // that it is a message is known
      if (llvm::is_contained(leftOut, field.number))
        appendElements();
      else if (field.number == Sizes && type)
        appendDims();
      else
        appendBytes(body, field.whole);
    });
    appendDims();
    appendElements();
    body.isChanged = true;
    return body;
  }

  /// An attribute of floats with other ones.
  Body replaceFloats(StringRef bytes, const Trained &trained) {
    Body body;
    bool hasFloats = false;
    (void)forEachField(bytes, [&](const WireField &field) {
      if (field.number != floatsField)
        appendBytes(body, field.whole);
      else if (!std::exchange(hasFloats, true))
        appendRaw(body, floatsField, makeVariable(trained));
    });
    body.isChanged = true;
    return body;
  }

  void appendRaw(Body &body, uint64_t field, ExportPiece elements) {
    std::string text;
    appendTag(text, field);
    appendVarint(text, getSize(elements));
    appendText(body, std::move(text));
    body.pieces.push_back(std::move(elements));
  }

  /// One of `external_data`.
  void appendEntry(Body &body, StringRef key, ExportPiece value) {
    Body entry;
    std::string text;
    appendTag(text, 1);
    appendVarint(text, key.size());
    text += key;
    appendTag(text, 2);
    appendText(entry, std::move(text));
    appendLength(entry, {std::move(value)});
    text.clear();
    appendTag(text, ExternalData);
    appendText(body, std::move(text));
    appendLength(body, entry.pieces);
  }
  void appendEntry(Body &body, StringRef key, uint64_t number) {
    ExportPiece value;
    value.bytes = texts->emplace_back(std::to_string(number));
    appendEntry(body, key, std::move(value));
  }

  /// Appends the position of elements in the file of weights, and adds the elements to its end.
  void appendExternal(Body &body, ExportPiece elements) {
    if (uint64_t over = weightsSize % weightsAlignment) {
      ExportPiece zeros;
      zeros.kind = ExportPiece::Kind::Zeros;
      zeros.size = weightsAlignment - over;
      weightsSize += zeros.size;
      weights.push_back(std::move(zeros));
    }
    ExportPiece location;
    location.kind = ExportPiece::Kind::Location;
    appendEntry(body, "location", std::move(location));
    appendEntry(body, "offset", weightsSize);
    appendEntry(body, "length", getSize(elements));
    std::string text;
    text += static_cast<char>(DataLocation << 3);
    text += static_cast<char>(TensorProto::EXTERNAL);
    appendText(body, std::move(text));
    weightsSize += getSize(elements);
    weights.push_back(std::move(elements));
  }

  const TrainedPlaces &places;
  const std::optional<TrainedPlaces::OutputSizes> &outputs;
  const ExportOptions &options;
  const bool hasWeightsFile;
  bool isInitializer = false; // of the tensor at hand
  const OnnxSource &source;
  TensorReader reader;
  std::shared_ptr<std::deque<std::string>> texts;
  std::vector<std::shared_ptr<const void>> owners;
  std::vector<ExportPiece> weights;
  uint64_t weightsSize = 0;
};

/// No less than the model's file has; a length is one of at most ten bytes.
uint64_t estimateSize(ArrayRef<ExportPiece> pieces) {
  uint64_t size = 0;
  for (const ExportPiece &piece : pieces)
    size += piece.kind == ExportPiece::Kind::Length ? 10 : piece.size + piece.bytes.size();
  return size;
}

} // namespace

} // namespace onnx

std::optional<ExportSkeleton> makeExportSkeleton(const OnnxSource &source, ModuleOp module,
                                                 const ExportOptions &options, std::string &error) {
  try {
    const onnx::TrainedPlaces places(source, module);
    ExportSkeleton skeleton = onnx::SkeletonBuilder(source, places, options, /*hasWeightsFile=*/false).run();
    if (onnx::estimateSize(skeleton.model) > options.largestModel)
      skeleton = onnx::SkeletonBuilder(source, places, options, /*hasWeightsFile=*/true).run();
    return skeleton;
  } catch (const onnx::ImportError &failure) {
    error = failure.reason;
    return std::nullopt;
  }
}

} // namespace vx
