"""Scores of texts by cross-encoders, in the forms of text-embeddings-inference and of Cohere, against ONNX Runtime with PyPI's tokenizers and the formula of
sentence-transformers' CrossEncoder."""
import os
import shutil

import numpy as np

from embedding_models import CrossEncoder, texts, tiny_model, without_places, write_json
from served import Server, metric

LIMIT = 1e-5


def close(got, want):
    return len(got) == len(want) and np.abs(np.array(got) - want).max() <= LIMIT


def check_rerank(bench):
    """Activations by each key, tokenizers with and without a file of their own, both forms, batches, and requests that are wrong."""
    check_wrong_folders(bench)
    url, query = "/v1/rerank", "guitar strings of the night"
    folders = {
        "plain": CrossEncoder(bench.path("plain-ce")),
        "old-key": CrossEncoder(bench.path("old-key-ce"), "Identity", {"architectures": ["BertForSequenceClassification"], "num_labels": 1, "sbert_ce_default_activation_function": "torch.nn.modules.linear.Identity"},
                                tokenizer="tokenizer.json", seed=1),
        "new-key": CrossEncoder(bench.path("new-key-ce"), "Identity", {"id2label": {"0": "x"}, "sentence_transformers": {"activation_fn": "torch.nn.modules.linear.Identity", "version": "4.0"},
                                                                        "sbert_ce_default_activation_function": "torch.nn.modules.activation.Sigmoid"}, types=False, seed=2),
        "sigmoid": CrossEncoder(bench.path("sigmoid-ce"), "Sigmoid", {"num_labels": 1, "sentence_transformers": {"activation_fn": "torch.nn.modules.activation.Sigmoid"}}, seed=3),
    }
    os.mkdir(bench.path("rankers"))
    for name, folder in folders.items():
        bench.tool("vx-compile", folder.path, "--target=cpu", "-o", bench.path(f"rankers/{name}.vxm"))
    _, said = bench.tool("vx-embed", "test", f"--model={bench.path('rankers/plain.vxm')}", "--text=a", "--device=cpu", code=2)
    bench.check("vx-embed refuses a cross-encoder", "the model is a cross-encoder, which scores pairs of texts: expected a model of embeddings" in said, said)
    given = [text for text in texts(40, 3, longest=20) if text.strip()]
    with Server(bench, f"--model-dir={bench.path('rankers')}", *(f"--model={bench.path(f'rankers/{name}.vxm')}" for name in folders), f"--model={bench.path('tiny.vxm')}", name="rerank") as server:
        server.wait_until_ready()
        for name, folder in folders.items():
            want, logits = folder.scores(query, given), folder.logits(query, given)
            bench.check(f"{name}: the oracle's scores differ from each other and from the logits", np.ptp(want) > 0.05 and (np.abs(want - logits).max() > 0.1) == folder.is_sigmoid, (want, logits))
            status, _, data = server.ask("POST", url, {"model": name, "query": query, "texts": given, "truncate": True})
            bench.check(f"{name}: TEI's form", status == 200 and all(set(row) == {"index", "score"} for row in data), (status, data))
            order = [row["index"] for row in data]
            bench.check(f"{name}: each text once", sorted(order) == list(range(len(given))), order)
            bench.check(f"{name}: scores", close([row["score"] for row in data], want[order]), [row["score"] for row in data] - want[order])
            bench.check(f"{name}: the best first", all(a["score"] >= b["score"] for a, b in zip(data, data[1:])), data)
            status, _, raw = server.ask("POST", url, {"model": name, "query": query, "texts": given, "truncate": True, "raw_scores": True, "return_text": True, "top_n": 5})
            bench.check(f"{name}: logits of the best five, with texts", [row["index"] for row in raw] == order[:5] and close([row["score"] for row in raw], logits[order[:5]]) and [row["text"] for row in raw] == [given[i] for i in order[:5]], raw)
            status, headers, cohere = server.ask("POST", url, {"model": name, "query": query, "documents": [text if i % 2 else {"text": text} for i, text in enumerate(given)], "top_n": 3, "return_documents": True})
            bench.check(f"{name}: Cohere's form", status == 200 and set(cohere) == {"id", "model", "results", "usage"} and cohere["id"] == headers["x-request-id"] and cohere["model"] == name
                        and cohere["usage"]["total_tokens"] == sum(min(count, folder.max_tokens) for count in folder.tokens(query, given)), cohere)
            bench.check(f"{name}: Cohere's results", [row["index"] for row in cohere["results"]] == order[:3] and close([row["relevance_score"] for row in cohere["results"]], want[order[:3]])
                        and [row["document"] for row in cohere["results"]] == [{"text": given[i]} for i in order[:3]], cohere)
            plain = server.ask("POST", url, {"model": name, "query": query, "documents": given[:2]})[2]["results"]
            bench.check(f"{name}: no documents unless they are asked for", all(set(row) == {"index", "relevance_score"} for row in plain) and len(plain) == 2, plain)
            about = server.ask("GET", f"/api/v1/models/{name}")[2]
            bench.check(f"{name}: the model's facts", about.get("rerank") == {"max_tokens": folder.max_tokens, "activation": "sigmoid" if folder.is_sigmoid else "identity"} and "embeddings" not in about, about)
        # Requests side by side are batches: each has its own texts' scores.
        folder, batches = folders["plain"], metric(server, 'vx_batch_rows_count{model="plain"}')
        queries = [" ".join(given[i].split()[:3]) for i in range(24)]
        answers = server.ask_many([("POST", url, {"model": "plain", "query": text, "texts": given[i : i + 4], "truncate": True}) for i, text in enumerate(queries)])
        right = [close([row["score"] for row in sorted(data, key=lambda row: row["index"])], folder.scores(text, given[i : i + 4])) for i, (text, (_, _, data)) in enumerate(zip(queries, answers))]
        bench.check("requests side by side", all(right), right)
        bench.check("requests run together", metric(server, 'vx_batch_rows_count{model="plain"}') - batches < len(queries), metric(server, 'vx_batch_rows_count{model="plain"}') - batches)
        bench.check("pairs and tokens are counted", metric(server, 'vx_scores_total{model="plain"}') == 3 * len(given) + 2 + sum(len(given[i : i + 4]) for i in range(24)) and metric(server, 'vx_tokens_total{model="plain"}') > 100
                    and metric(server, 'vx_embeddings_total{model="plain"}') == 0)
        check_refusals(bench, server, folder, given)
    with Server(bench, f"--model-dir={bench.path('rankers')}", f"--model={bench.path('rankers/plain.vxm')}", f"--model={bench.path('tiny.vxm')}", name="rerank-one") as server:
        server.wait_until_ready()
        status, _, data = server.ask("POST", "/rerank", {"query": query, "texts": given[:3], "truncate": True})
        bench.check("TEI's path and no model's name", status == 200 and close([row["score"] for row in sorted(data, key=lambda row: row["index"])], folder.scores(query, given[:3])), (status, data))


def check_refusals(bench, server, folder, given):
    long = "star " * 40
    count = folder.tokens("a", [long])[0]
    for what, body, message, code, param in (
            ("no texts", {"query": "a"}, "'texts' is missing: expected it or 'documents'", "invalid_value", "texts"),
            ("both forms", {"query": "a", "texts": ["a"], "documents": ["a"]}, "expected 'texts' or 'documents', got both", "invalid_value", "texts"),
            ("no query", {"texts": ["a"]}, "'query' is missing", "invalid_value", "query"),
            ("an empty query", {"query": "", "texts": ["a"]}, "'query' is empty", "invalid_value", "query"),
            ("a text that is none", {"query": "a", "texts": ["a", {"text": "a"}]}, "'texts[1]': expected a string, got an object", "invalid_value", "texts[1]"),
            ("a document that is none", {"query": "a", "documents": [1]}, "'documents[0]': expected a string or an object with 'text', got a number", "invalid_value", "documents[0]"),
            ("a document without a text", {"query": "a", "documents": [{}]}, "'documents[0].text' is missing", "invalid_value", "documents[0].text"),
            ("an empty text", {"query": "a", "texts": ["a", ""]}, "'texts[1]' is empty", "invalid_value", "texts[1]"),
            ("no text", {"query": "a", "texts": []}, "'texts': expected 1 to 2048 texts, got 0", "invalid_value", "texts"),
            ("too many texts", {"query": "a", "texts": ["a"] * 2049}, "'texts': expected 1 to 2048 texts, got 2049", "invalid_value", "texts"),
            ("a list that is none", {"query": "a", "texts": "a"}, "'texts': expected a list, got a string", "invalid_value", "texts"),
            ("a long text", {"query": "a", "texts": ["a", long]}, f"'texts[1]': the model takes {folder.max_tokens} tokens of a query and a text, got {count}", "context_length_exceeded", "texts[1]"),
            ("a long document that is not to be cut", {"query": "a", "documents": [long], "truncate": False}, f"'documents[0]': the model takes {folder.max_tokens} tokens of a query and a text, got {count}", "context_length_exceeded", "documents[0]"),
            ("none of the texts", {"query": "a", "texts": ["a"], "top_n": 0}, None, "invalid_value", "top_n"),
            ("a field", {"query": "a", "texts": ["a"], "topn": 1}, None, "invalid_value", "topn")):
        status, _, data = server.ask("POST", "/v1/rerank", {"model": "plain", **body})
        error = data["error"] if status != 200 else {}
        bench.check(f"{what}: refused", status == 400 and (message is None or error["message"] == message) and (error["code"], error["param"]) == (code, param), (status, data))
    status, _, data = server.ask("POST", "/v1/rerank", {"query": "a", "texts": ["a"]})
    bench.check("several cross-encoders and no name", status == 400 and data["error"]["message"].startswith("'model' is missing: expected it, or one loaded cross-encoder, got 'new-key', 'old-key', 'plain', 'sigmoid'"), data)
    status, _, data = server.ask("POST", "/v1/rerank", {"model": "tiny", "query": "a", "texts": ["a"]})
    bench.check("a model of embeddings", status == 400 and data["error"]["message"] == "model 'tiny': expected a cross-encoder, got a model of embeddings", data)
    status, _, data = server.ask("POST", "/v1/embeddings", {"model": "plain", "input": "a"})
    bench.check("embeddings of a cross-encoder", status == 400 and data["error"]["message"] == "model 'plain' is a cross-encoder: expected a model of embeddings; /v1/rerank scores texts", data)


def check_wrong_folders(bench):
    def refuse(what, message, change=lambda path: None, **settings):
        path = bench.path("wrong-ce")
        CrossEncoder(path, **settings)
        change(path)
        _, said = bench.tool("vx-compile", path, "--target=cpu", "-o", bench.path("wrong-ce.vxm"), code=3)
        bench.check(f"{what}: refused", message in without_places(said), said)
        shutil.rmtree(path)

    classifier = {"architectures": ["BertForSequenceClassification"]}
    refuse("three labels", "config.json: a model for sequence classification: expected one label, as a cross-encoder has, got 3", config={**classifier, "id2label": {"0": "a", "1": "b", "2": "c"}})
    refuse("labels that are not counted", "expected one label, as a cross-encoder has, got 2", config=classifier)
    refuse("another activation", "'sbert_ce_default_activation_function': expected Sigmoid or Identity of PyTorch, got 'torch.nn.Tanh'", config={"num_labels": 1, "sbert_ce_default_activation_function": "torch.nn.Tanh"})
    refuse("a model with two labels", "expected one output, or one named logits, of floats [batch,1], got 'logits'", lambda path: tiny_model(os.path.join(path, "model.onnx"), labels=2))
    refuse("SentencePiece", "expected a tokenizer.json or a vocab.txt, which say how two texts are put together, got 'spiece.model'", tokenizer="T5Tokenizer")
    # An encoder by its class is one of embeddings, whatever its labels are.
    path = bench.path("encoder")
    CrossEncoder(path)
    write_json(os.path.join(path, "config.json"), {"architectures": ["BertModel"], "num_labels": 1})
    _, said = bench.tool("vx-compile", path, "--target=cpu", "-o", bench.path("wrong-ce.vxm"), code=3)
    bench.check("an encoder by its class", "expected one output of batch, sequence and vector" in said, said)
