#include "embed_options.h"

#include <CLI/CLI.hpp>

#include <filesystem>

namespace vx::tools {

namespace fs = std::filesystem;

static constexpr const char *EmbedExamples = R"(
Texts of so many tokens, in batches of so many, are tokenised and run. MODEL is a module that vx-compile has made of a folder with a model of
embeddings, or such a folder, which vx-compile beside this tool compiles first. With --url a server does that work, which is asked for /v1/embeddings by
clients that keep their connections, with texts that differ; each answer is looked at whole, and one that is wrong or none is exit code 1.

Examples:
  Sizes:    vx-bench embed --model minilm.vxm --lengths 16,128 --batch-sizes 1,32 --threads 2
  Peer:     vx-bench embed --model all-MiniLM-L6-v2 --compare onnxruntime --threads 2
            vx-bench embed --model minilm.vxm --compare onnxruntime --peer-model all-MiniLM-L6-v2/model.onnx
  Server:   vx-bench embed --url http://127.0.0.1:8080 --model minilm --clients 16 --lengths 128 --seconds 10
            VX_API_KEY=... vx-bench embed --url http://127.0.0.1:8080 --model minilm --encoding base64 --json result.json
  Gates:    vx-bench embed --url http://127.0.0.1:8080 --model minilm --engine minilm.vxm --threads 2 --lengths 128 --least-ratio 0.9
  Report:   vx-bench embed --model minilm.vxm --json result.json --html result.html
  Gate:     vx-bench embed --model minilm.vxm --compare onnxruntime --peer-model model.onnx --baseline result.json --allow 0.15
)";

bool parseEmbedOptions(const char *name, int argc, char **argv, EmbedOptions &options) {
  CLI::App app("Times how texts become vectors.");
  app.add_option("--model", options.model, "A module (.vxm), or a folder with a model")->group("Model");
  app.add_option("--device", options.device, "A device, cpu by default; a refused one is an error")->group("Model");
  app.add_option("--threads", options.threads, "CPU thread counts, e.g. 1,2; 0: one per core")->group("Model");
  app.add_option("--lengths", options.lengths, "Tokens of a text; 16,128 by default")->group("Sizes");
  app.add_option("--batch-sizes", options.batchSizes,
                 "Texts of a batch, 1,32 by default; of a server, those of a request, 1 by default")
      ->group("Sizes");
  addTurnOptions(app, options.turns, "Batches");
  addLoadFlags(app, options.load);
  app.add_option("--encoding", options.encoding, "How the server sends vectors: float (by default) or base64")
      ->check(oneOf({"float", "base64"}))
      ->group("Server");
  app.add_option("--compare", options.compare, "onnxruntime: the same model with PyPI's tokenizers, in turns")
      ->check(oneOf({"onnxruntime"}))
      ->group("Peer");
  app.add_option("--peer-model", options.peerModel, "The peer's model; that of the folder by default")->group("Peer");
  app.add_option("--peer-script", options.peerScript, "The path of scripts/bench-peer, when it is not above this tool")
      ->group("Peer");
  options.report.addTo(app);
  app.add_option("--baseline", options.baseline, "A file that --json has written: a slower result is exit code 1")
      ->group("Report");
  app.add_option("--allow", options.allowed, "How much slower than the baseline is taken, 0.15 by default")
      ->check(numberAbove(0))
      ->group("Report");
  if (!parseCommandLine(app, name, EmbedExamples, argc, argv))
    return false;
  if (options.model.empty())
    throw usageError("embed needs --model, a module or a folder; see --help");
  options.report.check();
  checkLoadFlags(app, options.load);
  if (options.lengths.empty())
    options.lengths = "16,128";
  if (options.batchSizes.empty())
    options.batchSizes = options.load.url.empty() ? "1,32" : "1";
  if (options.compare.empty() && !(options.peerModel.empty() && options.peerScript.empty()))
    throw usageError("--peer-model and --peer-script go with --compare");
  std::error_code error;
  const bool isFolder = options.load.url.empty() && fs::is_directory(options.model, error);
  if (!options.compare.empty() && options.peerModel.empty() && !isFolder)
    throw usageError("--compare: expected --peer-model, the ONNX model that '{}' was made of", options.model);
  if (options.peerModel.empty() && isFolder)
    for (const char *place : {"onnx/model.onnx", "model.onnx"})
      if (fs::exists(fs::path(options.model) / place, error))
        options.peerModel = (fs::path(options.model) / place).string();
  return true;
}

} // namespace vx::tools
