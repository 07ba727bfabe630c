#include "model_registry.h"

#include "../base/scratch_folder.h"

#include <gtest/gtest.h>

#include <sys/stat.h>
#include <unistd.h>

namespace vx::serve {
namespace {

namespace fs = std::filesystem;
using Lines = std::vector<std::string>;

class RegistryTest : public test::ScratchFolder {
protected:
  RegistryTest() { fs::create_directories(models()); }
  fs::path models() const { return folder / "models"; }
  // A file of the model folder, with the folders that it is in.
  void file(const std::string &path, const std::string &text = "x") {
    fs::create_directories((models() / path).parent_path());
    put((models() / path).string(), text);
  }
  void embedder(const std::string &name) {
    file(name + "/model.onnx");
    file(name + "/tokenizer.json");
  }
  ModelRegistry scan() { return ModelRegistry::read(models().string()); }
  ModelRegistry configured(const std::string &text, std::vector<FlagValue> flags = {}) {
    put(at("config.toml"), text);
    flags.push_back({"--model-dir", models().string()});
    const ConfigurationReading reading = readConfiguration({flags, at("config.toml"), std::vector<std::string>{}});
    EXPECT_TRUE(reading.configuration) << (reading.configuration ? "" : reading.firstError()->line());
    return ModelRegistry::read(reading.configuration.value_or(Configuration()));
  }
  // "name kind" or "name: refusal", without the folder's path.
  Lines lines(const ModelRegistry &registry) const {
    Lines result;
    for (const RegisteredModel &model : registry.models()) {
      std::string line =
          model.name + (model.isUsable() ? " " + std::string(modelKindName(model.kind)) : ": " + model.refusal);
      for (size_t begin = 0; (begin = line.find(models().string() + "/")) != std::string::npos;)
        line.erase(begin, models().string().size() + 1);
      result.push_back(line);
    }
    return result;
  }
  // The name that is meant, or the problem.
  static std::string meant(const ModelRegistry &registry, std::string_view name) {
    const ModelChoice choice = registry.find(name);
    return choice.model ? choice.model->name : choice.problem;
  }
};

TEST_F(RegistryTest, whatIsFound) {
  file("digits.vxm", "VXMODULE and more");
  file("broken.vxm", "text");
  file("net.onnx");
  file("README.md");
  file(".cache/model.onnx");
  embedder("all-MiniLM-L6-v2");
  file("all-MiniLM-L6-v2/1_Pooling/config.json");
  file("org/inner/onnx/model.onnx");
  file("org/inner/vocab.txt");
  file("org/plain.vxm", "VXMODULE");
  file("org/deeper/still/model.onnx");
  file("empty/notes.txt");
  const ModelRegistry registry = scan();
  EXPECT_EQ(registry.refusal(), "");
  EXPECT_EQ(lines(registry), (Lines{"all-MiniLM-L6-v2 folder", "broken: is no module: it does not begin with VXMODULE",
                                    "digits module", "net onnx", "org/inner folder", "org/plain module"}));
  EXPECT_EQ(registry.find("inner").model->onnx, "onnx/model.onnx");
  EXPECT_EQ(registry.find("inner").model->tokenizer, "vocab.txt");
  EXPECT_EQ(registry.find("digits").model->bytes, 17u);
  EXPECT_EQ(registry.find("all-MiniLM-L6-v2").model->bytes, 3u);
}

TEST_F(RegistryTest, whyRefused) {
  file("e5-large/model.onnx");
  file("e5-large/modules.json");
  file("many/a.onnx");
  file("many/b.onnx");
  file("torch/config.json");
  file("torch/model.safetensors");
  file("pickle/config.json");
  file("pickle/pytorch_model.bin");
  file("quantized/a.gguf");
  file("nothing/config.json");
  file("llama.gguf");
  file("vision/net.onnx");
  file("vision/config.json"); // no text: it needs no tokenizer
  const auto advice = [](const std::string &model) {
    return "compile a model of embeddings with 'vx-compile " + model + "', run a language model with 'vx-llm run " +
           model + "'";
  };
  EXPECT_EQ(
      lines(scan()),
      (Lines{"e5-large: no tokenizer.json (nor vocab.txt, tokenizer.model, spiece.model, sentencepiece.bpe.model)",
             "llama: expected a .vxm or .onnx file, or a folder, got 'llama.gguf': " + advice("FILE"),
             "many: expected one .onnx file or a model.onnx, got 'a.onnx', 'b.onnx'", "nothing: no .onnx file",
             "pickle: no .onnx file: 'pytorch_model.bin' is of a format that is not served: export the model to ONNX",
             "quantized: no .onnx file: 'a.gguf' is of a format that is not served: " + advice("FILE"),
             "torch: no .onnx file: 'model.safetensors' is of a format that is not served: " + advice("FOLDER"),
             "vision folder"}));
}

// No link leads out, also not one of a file in a model's folder; within the folder they may.
TEST_F(RegistryTest, links) {
  put(at("secret.onnx"), "x");
  fs::create_directories(folder / "outside");
  put(at("outside/model.onnx"), "x");
  fs::create_symlink(folder / "secret.onnx", models() / "a.onnx");
  fs::create_symlink(folder / "outside", models() / "b");
  fs::create_directories(folder / "outside2/inner");
  put(at("outside2/inner/model.onnx"), "x");
  fs::create_symlink(folder / "outside2", models() / "org"); // whose models are not even listed
  file("c/model.onnx");
  fs::create_symlink(folder / "secret.onnx", models() / "c/weights.bin");
  file("blobs.d/weights");
  file("d/tokenizer.json");
  fs::create_symlink("../blobs.d/weights", models() / "d/model.onnx");
  fs::create_symlink(".", models() / "d/loop");
  fs::create_symlink("nowhere", models() / "e.onnx");
  const std::string outside = "is a link out of the model folder, to '" + folder.string();
  EXPECT_EQ(lines(scan()), (Lines{"a: 'a.onnx' " + outside + "/secret.onnx'", "b: 'b' " + outside + "/outside'",
                                  "c: 'weights.bin' " + outside + "/secret.onnx'", "d folder",
                                  "e: 'e.onnx' cannot be opened: No such file or directory"}));
}

TEST_F(RegistryTest, whatOthersMayWrite) {
  embedder("a");
  embedder("b");
  file("c.onnx");
  ASSERT_EQ(::chmod((models() / "a").c_str(), 0777), 0);
  ASSERT_EQ(::chmod((models() / "b/model.onnx").c_str(), 0666), 0);
  ASSERT_EQ(::chmod((models() / "c.onnx").c_str(), 0602), 0);
  const std::string advice = ": chmod o-w it, or mount its volume read-only";
  EXPECT_EQ(lines(scan()), (Lines{"a: 'a': others may write it (mode 0777)" + advice,
                                  "b: 'model.onnx': others may write it (mode 0666)" + advice,
                                  "c: 'c.onnx': others may write it (mode 0602)" + advice}));
  ASSERT_EQ(::chmod(models().c_str(), 01777), 0);
  EXPECT_EQ(lines(scan()), Lines{});
  EXPECT_EQ(scan().refusal(), "'" + models().string() + "': others may write it (mode 1777)" + advice);
  EXPECT_EQ(ModelRegistry::read(at("none")).refusal(),
            "'" + at("none") + "' cannot be opened: No such file or directory");
  put(at("file"), "x");
  EXPECT_EQ(ModelRegistry::read(at("file")).refusal(), "'" + at("file") + "' is a regular file, expected a folder");
}

// A volume with one module is that model, by the volume's name; in a folder of models it is one of "org/name".
TEST_F(RegistryTest, foldersWithOneModule) {
  file("volume/net.vxm", "VXMODULE");
  file("volume/lost+found/kept");
  file("volume/..data/net.vxm", "VXMODULE");
  file("two/a.vxm", "VXMODULE");
  file("two/b.vxm", "VXMODULE");
  file("both/net.vxm", "VXMODULE");
  file("both/net.onnx");
  file("damaged/net.vxm", "text");
  file("unread/net.vxm", "VXMODULE");
  file("unread/lost+found/kept");
  ASSERT_EQ(::chmod((models() / "unread/lost+found").c_str(), 0777), 0); // which would be refused
  const auto look = [&](const char *name) {
    const ModelPlace place = lookAtModel((models() / name).string());
    return std::string(modelKindName(place.kind)) + " " + place.name + " " +
           std::filesystem::path(place.path).filename().string() + " " + place.refusal;
  };
  EXPECT_EQ(look("volume"), "module volume net.vxm ");
  EXPECT_EQ(look("two"), "folder two two expected one .vxm file in the folder, got 'a.vxm', 'b.vxm': name the file");
  EXPECT_EQ(look("both"), "folder both both ");
  EXPECT_EQ(look("damaged"), "module damaged net.vxm is no module: it does not begin with VXMODULE");
  EXPECT_EQ(look("unread"), "module unread net.vxm ");
  EXPECT_EQ(lines(scan()).at(0), "both folder");
  EXPECT_EQ(meant(scan(), "volume/net"), "volume/net");
}

TEST_F(RegistryTest, names) {
  for (const char *name :
       {"bge-small-en-v1.5", "bge-base-en-v1.5", "all-MiniLM-L6-v2", "org/inner", "other/inner", "org/Single"})
    embedder(name);
  const ModelRegistry registry = scan();
  EXPECT_EQ(meant(registry, "bge-small-en-v1.5"), "bge-small-en-v1.5");
  EXPECT_EQ(meant(registry, "minilm"), "all-MiniLM-L6-v2");
  EXPECT_EQ(meant(registry, "bge-sm"), "bge-small-en-v1.5");
  EXPECT_EQ(meant(registry, "single"), "org/Single");
  EXPECT_EQ(meant(registry, "org/inner"), "org/inner");
  EXPECT_EQ(meant(registry, "bge"), "model 'bge' is ambiguous: bge-base-en-v1.5, bge-small-en-v1.5");
  EXPECT_EQ(meant(registry, "inner"), "model 'inner' is ambiguous: org/inner, other/inner");
  EXPECT_TRUE(registry.find("inner").isAmbiguous);
  EXPECT_EQ(meant(registry, "bge-smal-en-v1.5"), "no model 'bge-smal-en-v1.5', did you mean 'bge-small-en-v1.5'");
  EXPECT_EQ(meant(registry, "lm"), "no model 'lm', there are all-MiniLM-L6-v2, bge-base-en-v1.5, "
                                   "bge-small-en-v1.5, org/Single, org/inner, other/inner");
  EXPECT_FALSE(registry.find("lm").isAmbiguous);
  // A name is no path.
  for (const char *name : {"", "..", "../models/org/inner", "org/../org/inner", "/etc/passwd", ".", "org"})
    EXPECT_EQ(registry.find(name).model, nullptr) << name;
  EXPECT_EQ(registry.find((models() / "org/inner").string()).model, nullptr);
  EXPECT_LT(registry.find(std::string(100000, 'a')).problem.size(), 500u);
  EXPECT_EQ(meant(scan(), std::string("a\nb")).substr(0, 21), "no model 'a\\u000ab', ");
}

TEST_F(RegistryTest, duplicates) {
  file("digits.onnx");
  file("digits.vxm", "VXMODULE");
  embedder("digits");
  EXPECT_EQ(lines(scan()), (Lines{"digits module", "digits: 'digits.vxm' has this name too, and is taken",
                                  "digits: 'digits.vxm' has this name too, and is taken"}));
  EXPECT_EQ(meant(scan(), "digits"), "digits");
  file("digits.vxm", "damaged");
  EXPECT_EQ(lines(scan()).at(0), "digits folder"); // one that can be served goes before one that cannot
}

TEST_F(RegistryTest, configuration) {
  embedder("all-MiniLM-L6-v2");
  embedder("other");
  put(at("digits.vxm"), "VXMODULE");
  const std::string text = "[[vx.server.model]]\nname = \"minilm\"\nalias = [\"text-embedding-3-small\"]\n"
                           "[[vx.server.model]]\nname = \"numbers\"\npath = \"digits.vxm\"\n"
                           "[[vx.server.model]]\nname = \"minilmm\"\n";
  const ModelRegistry registry = configured(text);
  EXPECT_EQ(lines(registry), (Lines{"minilm folder", "minilmm: no model 'minilmm', did you mean 'minilm'",
                                    "numbers module", "other folder"}));
  for (const char *name : {"minilm", "text-embedding-3-small", "all-MiniLM-L6-v2"})
    EXPECT_EQ(meant(registry, name), "minilm") << name;
  ASSERT_TRUE(registry.find("minilm").model->configuration);
  EXPECT_FALSE(registry.find("other").model->configuration);
  EXPECT_EQ(lines(configured(text, {{"--model", "other"}})), Lines{"other folder"});
  EXPECT_EQ(lines(configured(text, {{"--model", at("digits.vxm")}})), Lines{"digits module"});
  EXPECT_EQ(lines(configured("", {{"--model", at("none.vxm")}})),
            Lines{"none: '" + at("none.vxm") + "' cannot be opened: No such file or directory"});
  EXPECT_EQ(lines(configured("", {{"--model", at("smol.gguf")}})),
            Lines{"smol: '" + at("smol.gguf") + "' cannot be opened: No such file or directory"});
}

// What somebody names is to be there; what lies in the folder may be anything.
TEST_F(RegistryTest, missing) {
  file("broken.vxm", "damaged");
  const std::string text = "[[vx.server.model]]\npath = \"none.vxm\"\n[[vx.server.model]]\nname = \"broken\"\n"
                           "[[vx.server.model]]\nname = \"third\"\n";
  const auto missing = [&](const std::string &content, const ModelRegistry::Present &present = {},
                           std::vector<FlagValue> flags = {}) {
    put(at("config.toml"), content);
    const ConfigurationReading reading = readConfiguration({flags, at("config.toml"), std::vector<std::string>{}});
    Lines result;
    for (const ConfigurationMessage &message :
         ModelRegistry::read(*reading.configuration).missing(*reading.configuration, present)) {
      result.push_back(message.line());
      for (size_t begin = 0; (begin = result.back().find(at(""))) != std::string::npos;)
        result.back().erase(begin, at("").size());
    }
    return result;
  };
  const std::string folder = "[vx]\nmodel_dir = \"models\"\n";
  EXPECT_EQ(missing(folder), Lines{});
  const Lines all = missing(folder + text);
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0], "config.toml:6:8: error: 'models/broken.vxm': is no module: it does not begin with VXMODULE");
  EXPECT_EQ(all[1], "config.toml:4:8: error: 'none.vxm' cannot be opened: No such file or directory");
  EXPECT_EQ(all[2], "config.toml:8:8: error: no model 'third', there are none");
  // A server that has it goes on with what it has.
  EXPECT_EQ(missing(folder + text, {{"none", "broken"}, ""}), Lines{all[2]});
  const std::string absent = "[vx]\nmodel_dir = \"nowhere\"\n";
  EXPECT_EQ(missing(absent), Lines{"config.toml:2:13: error: 'nowhere' cannot be opened: No such file or directory"});
  EXPECT_EQ(missing(absent, {{}, at("nowhere")}), Lines{});
  // Nobody looks into the folder where all models are files.
  EXPECT_EQ(missing("[vx]\nmodel_dir = \"models\"\n", {}, {{"--model", at("none.vxm")}}),
            Lines{"--model: error: 'none.vxm' cannot be opened: No such file or directory"});
}

} // namespace
} // namespace vx::serve
