// Columns of a data set in .npy files, mapped.
#include "failure.h"
#include "mapped_file.h"
#include "source.h"
#include "vx/base/npy_header.h"

#include <cstring>

namespace vx::train {

namespace {

class NpyFiles : public Source {
public:
  void add(const std::string &name, const std::string &path) {
    for (const Column &column : columns)
      if (column.name == name)
        throw argumentError("data: '{}' is given twice, '{}' and '{}'", name, paths[&column - columns.data()], path);
    auto file = std::make_unique<MappedFile>(path);
    NpyHeader header;
    if (std::string error; !parseNpyHeader(file->bytes(), header, error))
      throw dataError("{}: {}", path, error);
    const vx_element_type type = typeOf(path, header);
    const std::optional<uint64_t> bytes = byteCount(type, header.dims);
    if (!bytes)
      throw dataError("{}: {} is too large", path, typeText(type, header.dims));
    if (header.dims.empty())
      throw dataError("{}: expected rows, the first dimension of an array, got the single number {}", path,
                      typeText(type, header.dims));
    if (header.order == '>' && header.itemSize > 1)
      throw dataError("{}: the elements are stored big end first, expected little-endian: save a.astype(a.dtype"
                      ".newbyteorder('<'))",
                      path);
    if (header.fortranOrder && header.dims.size() > 1)
      throw dataError("{}: the array is stored column by column (fortran_order), expected rows: save "
                      "numpy.ascontiguousarray(a)",
                      path);
    const uint64_t got = file->bytes().size() - header.dataOffset;
    if (got != *bytes)
      throw dataError("{}: {}: {} needs {} bytes of data, got {}", path, got < *bytes ? "truncated" : "too long",
                      typeText(type, header.dims), *bytes, got);
    if (!columns.empty() && header.dims[0] != rows)
      throw dataError("{}: has {} rows, '{}' has {}", path, header.dims[0], paths[0], rows);
    rows = header.dims[0];
    std::vector<int64_t> dims(header.dims.begin() + 1, header.dims.end());
    const uint64_t bytesOfRow = byteCount(type, dims).value_or(0);
    columns.push_back({name, type, std::move(dims)});
    rowBytes.push_back(bytesOfRow);
    starts.push_back(reinterpret_cast<const std::byte *>(file->bytes().data()) + header.dataOffset);
    paths.push_back(path);
    mappings.push_back(std::move(file));
  }

  void read(std::span<const int64_t> wanted, std::span<std::byte *const> places) const override {
    for (size_t column = 0; column < columns.size(); ++column)
      if (std::byte *place = places[column])
        for (int64_t row : wanted) {
          std::memcpy(place, starts[column] + static_cast<uint64_t>(row) * rowBytes[column], rowBytes[column]);
          place += rowBytes[column];
        }
  }
  const std::byte *elements(size_t column) const override { return starts[column]; }
  std::string origin(size_t column) const override { return paths[column]; }

private:
  static vx_element_type typeOf(const std::string &path, const NpyHeader &header) {
    static constexpr struct {
      char kind;
      uint64_t size;
      vx_element_type type;
    } types[] = {{'b', 1, VX_BOOL}, {'i', 1, VX_I8},  {'i', 2, VX_I16}, {'i', 4, VX_I32},
                 {'i', 8, VX_I64},  {'u', 1, VX_U8},  {'u', 2, VX_U16}, {'u', 4, VX_U32},
                 {'u', 8, VX_U64},  {'f', 2, VX_F16}, {'f', 4, VX_F32}, {'f', 8, VX_F64}};
    for (const auto &known : types)
      if (known.kind == header.kind && known.size == header.itemSize)
        return known.type;
    throw dataError("{}: .npy element type '{}{}' is not supported", path, header.kind, header.itemSize);
  }

  std::vector<const std::byte *> starts;
  std::vector<std::string> paths;
  std::vector<std::unique_ptr<MappedFile>> mappings;
};

} // namespace

std::shared_ptr<const Source> openNpyFiles(const std::vector<std::pair<std::string, std::string>> &files) {
  auto source = std::make_shared<NpyFiles>();
  if (files.empty())
    throw argumentError("data: expected one file or more, got none");
  for (const auto &[name, path] : files)
    source->add(name, path);
  return source;
}

} // namespace vx::train
