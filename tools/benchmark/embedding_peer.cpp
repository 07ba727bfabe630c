#include "embedding_peer.h"

#include "output_file.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <thread>

namespace vx::tools {

namespace fs = std::filesystem;
namespace serve = vx::serve;
using nlohmann::json;

PeerRequest makeEmbeddingPeer(const PeerRequest &base, const serve::Embedder &embedder, const vx::Module &module,
                              uint32_t threads, const fs::path &scratch) {
  PeerRequest request = base;
  request.function = fmt::format("embed_{}", serve::poolingName(embedder.info().pooling));
  request.threads = threads ? threads : std::max(1u, std::thread::hardware_concurrency());
  PeerEmbedding &embedding = request.embedding.emplace();
  embedding.pooling = serve::poolingName(embedder.info().pooling);
  embedding.normalize = embedder.info().normalizes;
  embedding.maxTokens = embedder.info().maxTokens;
  const std::vector<vx_asset_info> assets(module.assets().begin(), module.assets().end());
  for (const vx_asset_info &asset : assets) {
    const std::string name = asset.name;
    const std::string_view bytes(static_cast<const char *>(asset.bytes), asset.size);
    if (name == "embedding.json") {
      embedding.padding = json::parse(bytes).value("padding", 0);
      continue;
    }
    embedding.tokenizer = (scratch / fs::path(name).filename()).string();
    writeFile(embedding.tokenizer, bytes);
  }
  // The folder of the peer's model, which may lie in one for the format.
  fs::path folder = fs::path(request.model).parent_path();
  std::error_code error;
  if (folder.filename() == "onnx")
    folder = folder.parent_path();
  if (fs::exists(folder / "modules.json", error))
    embedding.folder = fs::absolute(folder).string();
  return request;
}

} // namespace vx::tools
