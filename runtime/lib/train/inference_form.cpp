#include "inference_form.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <utility>

namespace vx::train {

namespace {

struct Malformed {};

constexpr unsigned DeepestGraph = 64; // of graphs in graphs: a reader of protobuf stops at 100 messages

// Numbers of fields, as onnx.proto has them.
namespace model_field {
constexpr uint64_t Graph = 7, Function = 25;
}
namespace graph_field {
constexpr uint64_t Node = 1, Initializer = 5, Input = 11, Output = 12, ValueInfo = 13;
}
namespace function_field {
constexpr uint64_t Input = 4, Output = 5, Node = 7;
}
namespace node_field {
constexpr uint64_t Input = 1, Output = 2, Name = 3, OpType = 4, Attribute = 5, Domain = 7;
}
namespace attribute_field {
constexpr uint64_t Name = 1, Integer = 3, Graph = 6, Graphs = 11, Reference = 21;
}
constexpr uint64_t TensorName = 8, ValueName = 1;

struct Range {
  uint64_t begin, end;
};

struct Field {
  uint64_t number = 0;
  bool hasLength = false;
  uint64_t value = 0; // of a varint
  Range whole = {}, payload = {};
};

uint64_t readVarint(const ModelBytes &bytes, uint64_t &place, uint64_t end) {
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    const std::optional<uint8_t> byte = place < end ? bytes.at(place) : std::nullopt;
    if (!byte)
      throw Malformed();
    ++place;
    value |= uint64_t(*byte & 0x7f) << shift;
    if (*byte < 0x80)
      return value;
  }
  throw Malformed();
}

void forEachField(const ModelBytes &bytes, Range message, const std::function<void(const Field &)> &visit) {
  for (uint64_t place = message.begin; place < message.end;) {
    Field field;
    field.whole.begin = place;
    const uint64_t tag = readVarint(bytes, place, message.end);
    field.number = tag >> 3;
    field.hasLength = (tag & 7) == 2;
    uint64_t size = 0;
    if ((tag & 7) == 0)
      field.value = readVarint(bytes, place, message.end);
    else if (field.hasLength)
      size = readVarint(bytes, place, message.end);
    else if ((tag & 7) == 1 || (tag & 7) == 5)
      size = (tag & 7) == 1 ? 8 : 4;
    else
      throw Malformed();
    if (size > message.end - place)
      throw Malformed();
    field.payload = {place, place + size};
    place += size;
    field.whole.end = place;
    visit(field);
  }
}

std::string textOf(const ModelBytes &bytes, Range range) {
  if (std::optional<std::string> text = bytes.text(range.begin, range.end))
    return std::move(*text);
  throw Malformed();
}

// The last text of this number, or "".
std::string textIn(const ModelBytes &bytes, Range message, uint64_t number) {
  std::string text;
  forEachField(bytes, message, [&](const Field &field) {
    if (field.number == number && field.hasLength)
      text = textOf(bytes, field.payload);
  });
  return text;
}

struct Node {
  std::string op, domain, name;
  std::vector<std::string> inputs, outputs;
  bool trains = false; // has an attribute 'training_mode' that is not 0
};

// What becomes of a node.
struct Change {
  enum class Kind { LeaveOut, Shorten } kind = Kind::LeaveOut;
  size_t inputs = SIZE_MAX, outputs = SIZE_MAX;            // the most that remain
  std::vector<std::pair<std::string, std::string>> copies; // Identity nodes after it, from and to
};

// The names of one graph with those inside of it, or of a function: no name is there twice.
class Scope {
public:
  explicit Scope(const ModelBytes &bytes) : bytes(bytes) {}

  void readGraph(Range graph, unsigned depth = 0) {
    if (depth > DeepestGraph)
      throw Malformed();
    forEachField(bytes, graph, [&](const Field &field) {
      if (!field.hasLength)
        return;
      if (field.number == graph_field::Node)
        readNode(field.payload, depth);
      else if (field.number == graph_field::Output)
        addResult(textIn(bytes, field.payload, ValueName));
    });
  }
  void readFunction(Range function) {
    forEachField(bytes, function, [&](const Field &field) {
      if (field.hasLength && field.number == function_field::Node)
        readNode(field.payload, 0);
      else if (field.hasLength && field.number == function_field::Output)
        addResult(textOf(bytes, field.payload));
    });
  }

  // After all has been read. False: nothing changes.
  bool decide() {
    for (const auto &[place, node] : candidates) {
      if (node.op == "Dropout")
        decideDropout(place, node);
      else
        decideNorm(place, node);
    }
    for (const auto &[name, count] : dropped)
      if (reads[name] == count)
        unread.insert(name);
    return !changes.empty();
  }

  const Change *changeOf(Range node) const {
    const auto found = changes.find(node.begin);
    return found == changes.end() ? nullptr : &found->second;
  }
  std::string resolve(const std::string &name) const {
    auto found = aliases.find(name);
    if (found == aliases.end())
      return name;
    for (auto next = found; (next = aliases.find(found->second)) != aliases.end();)
      found = next;
    return found->second;
  }
  bool isUnread(const std::string &name) const { return unread.contains(name); }
  bool isGone(const std::string &name) const { return aliases.contains(name) && !results.contains(name); }

private:
  void readNode(Range range, unsigned depth) {
    Node node;
    forEachField(bytes, range, [&](const Field &field) {
      if (!field.hasLength)
        return;
      switch (field.number) {
      case node_field::Input:
        ++reads[node.inputs.emplace_back(textOf(bytes, field.payload))];
        break;
      case node_field::Output:
        node.outputs.push_back(textOf(bytes, field.payload));
        break;
      case node_field::Name:
        node.name = textOf(bytes, field.payload);
        break;
      case node_field::OpType:
        node.op = textOf(bytes, field.payload);
        break;
      case node_field::Domain:
        node.domain = textOf(bytes, field.payload);
        break;
      case node_field::Attribute:
        readAttribute(field.payload, depth, node);
        break;
      default:
        break;
      }
    });
    const bool isOfOnnx = node.domain.empty() || node.domain == "ai.onnx";
    const bool isFull = !node.inputs.empty() && !node.inputs[0].empty() && !node.outputs.empty();
    if (isOfOnnx && isFull && (node.op == "Dropout" || (node.op == "BatchNormalization" && node.inputs.size() == 5)))
      candidates.emplace_back(range.begin, std::move(node));
  }

  void readAttribute(Range attribute, unsigned depth, Node &node) {
    std::string name;
    bool isSet = false;
    forEachField(bytes, attribute, [&](const Field &field) {
      if (field.hasLength && (field.number == attribute_field::Graph || field.number == attribute_field::Graphs))
        readGraph(field.payload, depth + 1);
      else if (field.hasLength && field.number == attribute_field::Name)
        name = textOf(bytes, field.payload);
      else if (field.number == attribute_field::Integer)
        isSet = field.value != 0;
      else if (field.hasLength && field.number == attribute_field::Reference)
        isSet = true;
    });
    node.trains |= name == "training_mode" && isSet;
  }

  void addResult(const std::string &name) {
    results.insert(name);
    ++reads[name];
  }

  bool isRead(const Node &node, size_t output) const {
    if (output >= node.outputs.size() || node.outputs[output].empty())
      return false;
    const auto found = reads.find(node.outputs[output]);
    return found != reads.end() && found->second > 0;
  }

  // Readers of the output read `to`; a result of a graph keeps its name.
  void replace(const std::string &output, const std::string &to, Change &change) {
    if (resolve(to) == output || !aliases.emplace(output, to).second)
      throw Malformed(); // a value that is made of itself, or twice
    if (results.contains(output))
      change.copies.emplace_back(to, output);
  }

  void decideDropout(uint64_t place, const Node &node) {
    Change change;
    for (size_t i = 1; i < node.inputs.size(); ++i)
      if (const bool stays = isRead(node, 1) && i == 1; !stays)
        ++dropped[node.inputs[i]];
    dropped.erase("");
    if (isRead(node, 1)) {
      if (node.inputs.size() < 3)
        return;
      change.kind = Change::Kind::Shorten;
      change.inputs = 2;
    } else {
      replace(node.outputs[0], node.inputs[0], change);
    }
    changes.emplace(place, std::move(change));
  }

  void decideNorm(uint64_t place, const Node &node) {
    const bool hasMore = std::any_of(node.outputs.begin() + 1, node.outputs.end(),
                                     [](const std::string &output) { return !output.empty(); });
    if (!node.trains && !hasMore)
      return;
    Change change;
    change.kind = Change::Kind::Shorten;
    change.outputs = 1;
    // The running mean and variance, and those of the batch that versions before 14 give.
    for (size_t i = 1; i < node.outputs.size(); ++i)
      if (!node.outputs[i].empty())
        replace(node.outputs[i], node.inputs[i % 2 == 1 ? 3 : 4], change);
    changes.emplace(place, std::move(change));
  }

  const ModelBytes &bytes;
  std::vector<std::pair<uint64_t, Node>> candidates; // by where they begin
  std::map<std::string, size_t> reads, dropped;
  std::set<std::string> results, unread;
  std::map<std::string, std::string> aliases;
  std::map<uint64_t, Change> changes;
};

// Writes messages with the changes of a scope.
class Writer {
public:
  Writer(const ModelBytes &bytes, const Scope &scope) : bytes(bytes), scope(scope) {}

  ModelBytes writeGraph(Range graph) {
    return write(graph, [&](const Field &field, ModelBytes &body) {
      if (field.number == graph_field::Node)
        return writeNode(field, body);
      if (field.number == graph_field::Initializer)
        return scope.isUnread(textIn(bytes, field.payload, TensorName));
      if (field.number == graph_field::Input)
        return scope.isUnread(textIn(bytes, field.payload, ValueName)) &&
               hasInitializer(graph, textIn(bytes, field.payload, ValueName));
      if (field.number == graph_field::ValueInfo)
        return scope.isGone(textIn(bytes, field.payload, ValueName)) ||
               scope.isUnread(textIn(bytes, field.payload, ValueName));
      return false;
    });
  }
  ModelBytes writeFunction(Range function) {
    return write(function, [&](const Field &field, ModelBytes &body) {
      return field.number == function_field::Node && writeNode(field, body);
    });
  }

  // A message whose fields `replace` has written, or left out, where it returns true.
  ModelBytes write(Range message, const std::function<bool(const Field &, ModelBytes &)> &replace) {
    ModelBytes body = ModelBytes::beside(bytes);
    forEachField(bytes, message, [&](const Field &field) {
      if (!field.hasLength || !replace(field, body))
        body.add(bytes, field.whole.begin, field.whole.end);
    });
    return body;
  }

  static void addField(ModelBytes &body, uint64_t number, const ModelBytes &payload) {
    body.addVarint(number << 3 | 2);
    body.addVarint(payload.size());
    body.add(payload);
  }

private:
  static void addText(ModelBytes &body, uint64_t number, const std::string &text) {
    ModelBytes payload = ModelBytes::beside(body);
    payload.add(text);
    addField(body, number, payload);
  }

  bool hasInitializer(Range graph, const std::string &name) {
    bool has = false;
    forEachField(bytes, graph, [&](const Field &field) {
      if (field.hasLength && field.number == graph_field::Initializer)
        has |= textIn(bytes, field.payload, TensorName) == name;
    });
    return has;
  }

  // Only that of a node that nothing reads any more.
  bool isUnreadConstant(Range node) {
    if (textIn(bytes, node, node_field::OpType) != "Constant")
      return false;
    return scope.isUnread(textIn(bytes, node, node_field::Output));
  }

  // False where it stays byte for byte.
  bool writeNode(const Field &field, ModelBytes &graph) {
    if (isUnreadConstant(field.payload))
      return true;
    const Change *change = scope.changeOf(field.payload);
    if (!change || change->kind == Change::Kind::Shorten) {
      bool isChanged = change != nullptr;
      const ModelBytes node = writeFields(field.payload, change, isChanged);
      if (!isChanged)
        return false;
      addField(graph, field.number, node);
    }
    if (change)
      for (const auto &[from, to] : change->copies) {
        ModelBytes copy = ModelBytes::beside(bytes);
        addText(copy, node_field::Input, scope.resolve(from));
        addText(copy, node_field::Output, to);
        addText(copy, node_field::Name, to + "/Identity");
        addText(copy, node_field::OpType, "Identity");
        addField(graph, field.number, copy);
      }
    return true;
  }

  ModelBytes writeFields(Range node, const Change *change, bool &isChanged) {
    size_t inputs = 0, outputs = 0;
    return write(node, [&](const Field &field, ModelBytes &body) {
      if (field.number == node_field::Input) {
        if (change && inputs++ >= change->inputs)
          return true;
        const std::string name = textOf(bytes, field.payload), other = scope.resolve(name);
        if (other == name)
          return false;
        isChanged = true;
        addText(body, field.number, other);
        return true;
      }
      if (field.number == node_field::Output)
        return change && outputs++ >= change->outputs;
      if (field.number != node_field::Attribute)
        return false;
      if (change && textIn(bytes, field.payload, attribute_field::Name) == "training_mode")
        return true;
      bool hasOther = false;
      const ModelBytes attribute = write(field.payload, [&](const Field &inner, ModelBytes &target) {
        if (inner.number != attribute_field::Graph && inner.number != attribute_field::Graphs)
          return false;
        hasOther = true;
        addField(target, inner.number, writeGraph(inner.payload));
        return true;
      });
      if (!hasOther)
        return false;
      isChanged = true;
      addField(body, field.number, attribute);
      return true;
    });
  }

  const ModelBytes &bytes;
  const Scope &scope;
};

} // namespace

bool toInferenceForm(ModelBytes &model, std::string &error) {
  try {
    ModelBytes made = ModelBytes::beside(model);
    bool isChanged = false;
    forEachField(model, {0, model.size()}, [&](const Field &field) {
      const bool isGraph = field.number == model_field::Graph, isFunction = field.number == model_field::Function;
      Scope scope(model);
      if (field.hasLength && isGraph)
        scope.readGraph(field.payload);
      if (field.hasLength && isFunction)
        scope.readFunction(field.payload);
      if (!scope.decide())
        return made.add(model, field.whole.begin, field.whole.end);
      isChanged = true;
      Writer writer(model, scope);
      Writer::addField(made, field.number,
                       isGraph ? writer.writeGraph(field.payload) : writer.writeFunction(field.payload));
    });
    if (isChanged)
      model = std::move(made);
    return true;
  } catch (const Malformed &) {
    error = "the skeleton is of no ONNX model";
    return false;
  }
}

} // namespace vx::train
