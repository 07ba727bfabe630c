#include "onnx_skeleton.h"

#include "inference_form.h"
#include "vx/abi/onnx_skeleton.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace vx::train {

// What a reader of protobuf takes.
static constexpr uint64_t LargestModel = INT32_MAX;
// They only align what follows.
static constexpr uint64_t MostZeros = 4096;

static size_t varintSize(uint64_t value) {
  size_t size = 1;
  for (; value >= 0x80; value >>= 7)
    ++size;
  return size;
}

class OnnxSkeleton::Parser {
public:
  Parser(OnnxSkeleton &skeleton, std::span<const uint8_t> bytes, std::span<const vx_variable_info> variables,
         std::span<const vx_constant_info> constants, std::string &error)
      : skeleton(skeleton), bytes(bytes), variables(variables), constants(constants), error(error) {}

  bool run() {
    vx_skeleton_header header = {};
    if (bytes.size() < sizeof(header))
      return fail("the skeleton has {} bytes, its header needs {}", bytes.size(), sizeof(header));
    std::memcpy(&header, bytes.data(), sizeof(header));
    if (std::memcmp(header.magic, VX_SKELETON_MAGIC, sizeof(header.magic)) != 0)
      return fail("the skeleton does not begin with 'VXONNX'");
    if (header.form != VX_SKELETON_FORM || header.reserved != 0)
      return fail("the skeleton has the form {}.{}, this program reads {}.0", header.form, header.reserved,
                  VX_SKELETON_FORM);
    const uint64_t pieces = uint64_t(header.model_pieces) + header.weights_pieces;
    table = bytes.subspan(sizeof(header));
    if (pieces > table.size() / sizeof(vx_skeleton_piece))
      return fail("{} pieces of the skeleton need {} bytes, there are {}", pieces, pieces * sizeof(vx_skeleton_piece),
                  table.size());
    rest = table.subspan(static_cast<size_t>(pieces) * sizeof(vx_skeleton_piece));
    if (!readAll(0, header.model_pieces, skeleton.model) ||
        !readAll(header.model_pieces, header.weights_pieces, skeleton.weights))
      return false;
    if (!rest.empty())
      return fail("the skeleton has {} bytes after those of its pieces", rest.size());
    if (const std::vector<Piece> &model = skeleton.model;
        skeleton.weights.empty() &&
        std::any_of(model.begin(), model.end(), [](const Piece &piece) { return piece.kind == Kind::location; }))
      return fail("the skeleton names a file of weights, but has no pieces for it");
    std::sort(skeleton.used.begin(), skeleton.used.end());
    skeleton.used.erase(std::unique(skeleton.used.begin(), skeleton.used.end()), skeleton.used.end());
    return true;
  }

private:
  template <typename... Args>
  bool fail(fmt::format_string<Args...> format, Args &&...args) {
    error = fmt::format(format, std::forward<Args>(args)...);
    return false;
  }

  bool readAll(uint32_t first, uint32_t count, std::vector<Piece> &pieces) {
    uint64_t total = 0;
    for (uint32_t i = 0; i < count; ++i) {
      vx_skeleton_piece piece = {};
      std::memcpy(&piece, table.data() + size_t(first + i) * sizeof(piece), sizeof(piece));
      if (!read(first + i, piece, count - i - 1, &pieces == &skeleton.weights, pieces))
        return false;
      total += std::min(pieces.back().size, uint64_t(INT64_MAX)); // INT64_MAX is above all that follows
      if (total > INT64_MAX)
        return fail("the pieces of the skeleton are more than {} bytes", INT64_MAX);
    }
    return true;
  }

  bool read(uint32_t number, const vx_skeleton_piece &piece, uint32_t behind, bool isWeights,
            std::vector<Piece> &pieces) {
    auto add = [&](Kind kind, const uint8_t *data) {
      pieces.push_back({kind, piece.number, piece.size, data});
      return true;
    };
    const bool hasNumber =
        piece.kind == VX_PIECE_VARIABLE || piece.kind == VX_PIECE_CONSTANT || piece.kind == VX_PIECE_LENGTH;
    const bool hasSize = piece.kind != VX_PIECE_LOCATION && piece.kind != VX_PIECE_LENGTH;
    if (piece.kind > VX_PIECE_ZEROS)
      return fail("piece {} of the skeleton has the unknown kind {}", number, piece.kind);
    if ((!hasNumber && piece.number != 0) || (!hasSize && piece.size != 0))
      return fail("piece {} of the skeleton, of kind {}, has the number {} and the size {}, expected 0", number,
                  piece.kind, piece.number, piece.size);
    switch (piece.kind) {
    case VX_PIECE_BYTES: {
      if (piece.size > rest.size())
        return fail("piece {} of the skeleton needs {} bytes, there are {}", number, piece.size, rest.size());
      const uint8_t *data = rest.data();
      rest = rest.subspan(static_cast<size_t>(piece.size));
      return add(Kind::bytes, data);
    }
    case VX_PIECE_VARIABLE: {
      if (piece.number >= variables.size())
        return fail("piece {} of the skeleton: variable {} does not exist, there are {}", number, piece.number,
                    variables.size());
      const vx_variable_info &variable = variables[piece.number];
      if (std::any_of(variable.dims, variable.dims + variable.rank, [](int64_t dim) { return dim < 0; }))
        return fail("piece {} of the skeleton: the size of variable '{}' depends on the instance", number,
                    variable.name);
      if (variable.size != piece.size)
        return fail("piece {} of the skeleton needs {} bytes of variable '{}', it has {}", number, piece.size,
                    variable.name, variable.size);
      skeleton.used.push_back(piece.number);
      return add(Kind::variable, nullptr);
    }
    case VX_PIECE_CONSTANT: {
      if (piece.number >= constants.size())
        return fail("piece {} of the skeleton: constant {} does not exist, there are {}", number, piece.number,
                    constants.size());
      const vx_constant_info &constant = constants[piece.number];
      if (constant.size != piece.size)
        return fail("piece {} of the skeleton needs {} bytes of constant '{}', it has {}", number, piece.size,
                    constant.name, constant.size);
      return add(Kind::bytes, static_cast<const uint8_t *>(constant.bytes));
    }
    case VX_PIECE_ZEROS:
      if (piece.size > MostZeros)
        return fail("piece {} of the skeleton is {} zeros, allowed are {}", number, piece.size, MostZeros);
      return add(Kind::zeros, nullptr);
    default:
      if (isWeights)
        return fail("piece {} of the skeleton, of kind {}, is in the file of weights", number, piece.kind);
      if (piece.number > behind)
        return fail("piece {} of the skeleton is the length of {} pieces, there are {}", number, piece.number, behind);
      return add(piece.kind == VX_PIECE_LENGTH ? Kind::length : Kind::location, nullptr);
    }
  }

  OnnxSkeleton &skeleton;
  const std::span<const uint8_t> bytes;
  const std::span<const vx_variable_info> variables;
  const std::span<const vx_constant_info> constants;
  std::string &error;
  std::span<const uint8_t> table, rest;
};

bool OnnxSkeleton::parse(std::span<const uint8_t> bytes, std::span<const vx_variable_info> variables,
                         std::span<const vx_constant_info> constants, std::string &error) {
  *this = {};
  return Parser(*this, bytes, variables, constants, error).run();
}

Segment OnnxSkeleton::segmentOf(const Piece &piece) {
  static constexpr std::array<uint8_t, MostZeros> zeros = {};
  return {piece.kind == Kind::zeros ? zeros.data() : piece.data, piece.number, 0, piece.size};
}

void OnnxSkeleton::write(const Segment &segment, const Elements &elements, const Sink &sink) {
  if (segment.data)
    return sink({segment.data, static_cast<size_t>(segment.size)});
  sink(elements(segment.variable).subspan(static_cast<size_t>(segment.offset), static_cast<size_t>(segment.size)));
}

bool OnnxSkeleton::writeModel(const std::string &location, ExportForm form, const Elements &elements, const Sink &sink,
                              std::string &error) const {
  // From each piece to the end, back to front: what a length is of is behind it.
  std::vector<uint64_t> behind(model.size() + 1);
  auto lengthOf = [&](size_t i) { return behind[i + 1] - behind[i + 1 + model[i].number]; };
  for (size_t i = model.size(); i-- > 0;) {
    const Piece &piece = model[i];
    const uint64_t size = piece.kind == Kind::length     ? varintSize(lengthOf(i))
                          : piece.kind == Kind::location ? location.size()
                                                         : piece.size;
    behind[i] = behind[i + 1] + size;
    if (behind[i] > LargestModel) {
      error = fmt::format("the model has more than {} bytes, which no ONNX file may have; keep its weights beside it "
                          "(vx-compile --export=external)",
                          LargestModel);
      return false;
    }
  }
  ModelBytes bytes;
  for (size_t i = 0; i < model.size(); ++i) {
    if (model[i].kind == Kind::location)
      bytes.add(location);
    else if (model[i].kind == Kind::length)
      bytes.addVarint(lengthOf(i));
    else
      bytes.add(segmentOf(model[i]));
  }
  if (form == ExportForm::inference && !toInferenceForm(bytes, error))
    return false;
  for (const Segment &segment : bytes.segments())
    write(segment, elements, sink);
  return true;
}

void OnnxSkeleton::writeWeights(const Elements &elements, const Sink &sink) const {
  for (const Piece &piece : weights)
    write(segmentOf(piece), elements, sink);
}

} // namespace vx::train
