#include "exec/interpreter.h"

namespace vx {

Status Interpreter::replayObserved(const Instruction &instruction, CallState::RecordedSegment &segment) {
  // The buffers of the arena are written again later in the segment, so each command is a list of its own.
  segment.single.resize(instruction.commands.size());
  for (size_t i = 0; i < instruction.commands.size(); ++i) {
    const Command &command = instruction.commands[i];
    Ref<hal::CommandList> &list = segment.single[i];
    if (!list) {
      hal::SegmentShape shape;
      shape.commands.push_back(command.shape());
      VX_RETURN_IF_ERROR(call.stream->record(shape, loaded.executable(), list));
    }
    VX_RETURN_IF_ERROR(call.stream->replay(*list, {&segment.arguments[i], 1}, nullptr));
    if (command.kind == hal::CommandKind::Dispatch)
      VX_RETURN_IF_ERROR(observe(command, segment.arguments[i]));
  }
  return okStatus();
}

Status Interpreter::observe(const Command &command, const hal::CommandArguments &arguments) {
  const Kernel &kernel = loaded.target().kernels[command.kernel];
  std::vector<Ref<Value>> outputs;
  std::vector<hal::BufferView> views;
  std::vector<const char *> layouts;
  for (size_t i = 0; i < kernel.buffers.size(); ++i) {
    if (kernel.buffers[i] == Access::Read)
      continue;
    hal::BufferView view = arguments.buffers[i];
    const BufferType &type = kernel.bufferTypes[i];
    std::vector<int64_t> dims;
    for (const Expression &dim : type.dims)
      VX_RETURN_IF_ERROR(dim.evaluate({arguments.scalars, command.scalars.size()}, dims.emplace_back()));
    // A buffer may be larger than its tensor; it has been checked to be no smaller.
    VX_RETURN_IF_ERROR(tensorByteSize(type.elementType, dims, view.size));
    std::vector<uint8_t> bytes(view.size);
    VX_RETURN_IF_ERROR(call.stream->download(view, bytes.data()));
    VX_RETURN_IF_ERROR(Value::copyTensor(type.elementType, dims, bytes.data(), bytes.size(), outputs.emplace_back()));
    layouts.push_back(type.layout.c_str());
    views.push_back(view);
  }

  std::vector<const char *> nodes;
  for (uint32_t node : command.nodes)
    nodes.push_back(loaded.data().sourceNodes[node].c_str());
  const vx_dispatch_info info = {kernel.name.c_str(), nodes.size(), nodes.data(), outputs.size(), nullptr,
                                 layouts.data(),      nullptr};
  std::vector<Ref<Value>> replacements(outputs.size());
  call.observer(info, outputs, replacements);
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!replacements[i])
      continue;
    if (replacements[i]->typeString() != outputs[i]->typeString())
      return failure(VX_INVALID_ARGUMENT, "a replacement of output {} of kernel '{}' is '{}', expected '{}'", i,
                     kernel.name, replacements[i]->typeString(), outputs[i]->typeString());
    const void *bytes = nullptr;
    VX_RETURN_IF_ERROR(replacements[i]->hostBytes(bytes));
    VX_RETURN_IF_ERROR(call.stream->upload(views[i], bytes));
  }
  return okStatus();
}

} // namespace vx
