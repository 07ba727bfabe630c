#include "vx/text/tokenizer.hpp"

#include <gtest/gtest.h>

#include <ctime>
#include <thread>

namespace vx::text {

namespace {

std::string quoted(std::string text) {
  for (size_t at = text.find('\''); at != text.npos; at = text.find('\'', at))
    text[at] = '"';
  return text;
}

/// A model with words, letters, and a few pairs that merge.
std::string bpeJson(const std::string &more) {
  return quoted("{'model':{'type':'BPE','unk_token':'?','vocab':{'?':0,'a':1,'b':2,'c':3,' "
                "':4,'ab':5,'abc':6,'#':7,'<s>':8},"
                "'merges':['a b',['ab','c']]}") +
         (more.empty() ? "" : "," + quoted(more)) + "}";
}
/// Each byte is a token of its number.
std::string byteJson(const std::string &more = "") {
  std::string vocabulary;
  unsigned next = 0x100;
  for (unsigned byte = 0; byte < 256; ++byte) {
    const bool isItself = (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte != 0xad);
    char name[16];
    std::snprintf(name, sizeof name, "\\u%04x", isItself ? byte : next++);
    vocabulary += (byte ? ",\"" : "\"") + std::string(name) + "\":" + std::to_string(byte);
  }
  return quoted("{'pre_tokenizer':{'type':'ByteLevel','add_prefix_space':false,'use_regex':true},'decoder':{'type':'"
                "ByteLevel'},") +
         more + quoted("'model':{'type':'BPE','merges':[],'vocab':{") + vocabulary + "}}}";
}

std::vector<int32_t> idsOf(const Tokenizer &tokenizer, std::string_view text) { return tokenizer.encode(text).ids; }
using Ids = std::vector<int32_t>;
using Spans = std::vector<Span>;

template <typename Function>
std::string errorOf(Function function) {
  try {
    function();
  } catch (const Error &error) {
    return error.what();
  }
  return "no error";
}
std::string errorOfJson(const std::string &text) {
  return errorOf([&] { Tokenizer::from_json(quoted(text)); });
}

} // namespace

TEST(Tokenizer, mergesAPairOfTheLowestRankFirst) {
  const Tokenizer tokenizer = Tokenizer::from_json(bpeJson(""));
  EXPECT_EQ(idsOf(tokenizer, "abcab"), (Ids{6, 5}));
  EXPECT_EQ(idsOf(tokenizer, "aabz"), (Ids{1, 5, 0}));
  EXPECT_EQ(idsOf(tokenizer, ""), Ids{});
  EXPECT_EQ(tokenizer.vocabulary_size(), 9u);
  EXPECT_EQ(tokenizer.token_to_id("ab"), 5);
  EXPECT_EQ(tokenizer.token_to_id("zz"), std::nullopt);
  EXPECT_EQ(tokenizer.id_to_token(6), "abc");
  EXPECT_EQ(tokenizer.id_to_token(-1), std::nullopt);
}

TEST(Tokenizer, aLongWordTakesTimeThatIsLinearInItsLength) {
  const Tokenizer tokenizer = Tokenizer::from_json(bpeJson(""));
  const auto secondsOf = [&](size_t size) {
    std::string word;
    while (word.size() < size)
      word += "abcabbac";
    const std::clock_t begin = std::clock(); // of the CPU: other work on the machine does not count
    EXPECT_GT(tokenizer.encode(word).ids.size(), size / 4);
    return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  };
  secondsOf(1 << 16);
  const double small = secondsOf(1 << 16), large = secondsOf(1 << 20);
  // 16 times the length: a square would be 256 times the time.
  EXPECT_LT(large, 80 * small + 0.05);
}

TEST(Tokenizer, spansAreInBytesOrCodePoints) {
  const Tokenizer tokenizer = Tokenizer::from_json(byteJson());
  EncodeOptions options;
  const std::string text = "\xc3\xa9 a";
  EXPECT_EQ(tokenizer.encode(text, options).offsets, (Spans{{0, 2}, {0, 2}, {2, 3}, {3, 4}}));
  options.offsets = OffsetUnit::code_points;
  EXPECT_EQ(tokenizer.encode(text, options).offsets, (Spans{{0, 1}, {0, 1}, {1, 2}, {2, 3}}));
  options.offsets = OffsetUnit::none;
  EXPECT_TRUE(tokenizer.encode(text, options).offsets.empty());
  EXPECT_EQ(tokenizer.encode(text).words, (std::vector<int32_t>{0, 0, 1, 1}));
}

TEST(Tokenizer, addedTokensTakeWhiteSpaceAndWholeWordsAsTheyAreTold) {
  const Tokenizer tokenizer = Tokenizer::from_json(
      bpeJson("'added_tokens':[{'id':8,'content':'<s>','special':true,'lstrip':true,'rstrip':true,'normalized':false},"
              "{'id':5,'content':'ab','special':false,'single_word':true,'normalized':false}]"));
  const Encoding encoding = tokenizer.encode("a  <s> b");
  EXPECT_EQ(encoding.ids, (Ids{1, 8, 2}));
  EXPECT_EQ(encoding.offsets, (Spans{{0, 1}, {1, 7}, {7, 8}}));
  EXPECT_TRUE(tokenizer.is_special(8));
  EXPECT_FALSE(tokenizer.is_special(5));
  EncodeOptions options;
  options.match_special_tokens = false;
  EXPECT_EQ(tokenizer.encode("<s>", options).ids, (Ids{0, 0, 0}));
}

TEST(Tokenizer, truncatesPadsAndPutsTemplatesAround) {
  const Tokenizer tokenizer =
      Tokenizer::from_json(bpeJson("'post_processor':{'type':'TemplateProcessing','single':[{'SpecialToken':{'id':'#','"
                                   "type_id':0}},{'Sequence':{'id':'A','type_id':0}}],"
                                   "'pair':[{'Sequence':{'id':'A','type_id':0}},{'SpecialToken':{'id':'#','type_id':1}}"
                                   ",{'Sequence':{'id':'B','type_id':1}}],"
                                   "'special_tokens':{'#':{'id':'#','ids':[7],'tokens':['#']}}}"));
  EncodeOptions options;
  options.truncation = Truncation{.max_length = 3};
  options.overflowing = true;
  Encoding encoding = tokenizer.encode("a a b b c", options);
  EXPECT_EQ(encoding.ids, (Ids{7, 1, 4}));
  ASSERT_EQ(encoding.overflowing.size(), 4u);
  EXPECT_EQ(encoding.overflowing[0].ids, (Ids{7, 1, 4}));
  EXPECT_EQ(encoding.overflowing[3].ids, (Ids{7, 3}));
  EXPECT_EQ(encoding.special_tokens_mask, (std::vector<int32_t>{1, 0, 0}));
  options.truncation->side = Side::left;
  EXPECT_EQ(tokenizer.encode("a a b b c", options).ids, (Ids{7, 4, 3}));
  options.truncation = Truncation{.max_length = 4};
  encoding = tokenizer.encode_pair("ccccc", "bb", options);
  EXPECT_EQ(encoding.ids, (Ids{3, 3, 7, 2}));
  EXPECT_EQ(encoding.type_ids, (Ids{0, 0, 1, 1}));
  options.truncation->strategy = Truncation::Strategy::only_second;
  EXPECT_EQ(errorOf([&] { tokenizer.encode_pair("ccccc", "bb", options); }),
            "truncation takes 4 tokens from the second text only, which has 2");
  EXPECT_EQ(errorOf([&] { tokenizer.encode("ccccc", options); }),
            "truncation of the second text only is for pairs, got one text");
  options.truncation = Truncation{.max_length = 0};
  EXPECT_EQ(errorOf([&] { tokenizer.encode("a", options); }),
            "truncation leaves room for the 1 tokens of the template, got a length of 0");
  options.truncation = Truncation{.max_length = 3, .stride = 2};
  EXPECT_EQ(errorOf([&] { tokenizer.encode("ccccc", options); }),
            "parts that truncation leaves have more tokens than its stride, got parts of 2 and a stride of 2");

  options.truncation = {};
  options.padding = Padding{.multiple_of = 4, .side = Side::left, .id = 9};
  const std::string_view texts[] = {"a", "abcabcabcabc"};
  const std::vector<Encoding> batch = tokenizer.encode_batch(texts, options);
  EXPECT_EQ(batch[0].ids, (Ids{9, 9, 9, 9, 9, 9, 7, 1}));
  EXPECT_EQ(batch[0].attention_mask, (Ids{0, 0, 0, 0, 0, 0, 1, 1}));
  EXPECT_EQ(batch[1].ids, (Ids{9, 9, 9, 7, 6, 6, 6, 6}));
}

TEST(Tokenizer, isCalledByManyThreadsAtOnce) {
  const Tokenizer tokenizer = Tokenizer::from_json(byteJson());
  const std::string text = "The quick brown fox \xe6\x97\xa5\xe6\x9c\xac 12";
  const Ids want = idsOf(tokenizer, text);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread)
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i)
        EXPECT_EQ(idsOf(tokenizer, text), want);
    });
  for (std::thread &thread : threads)
    thread.join();
}

TEST(DecodeStream, givesOutWholeCharactersOnly) {
  const Tokenizer tokenizer = Tokenizer::from_json(byteJson());
  DecodeStream stream(tokenizer);
  EXPECT_EQ(stream.push(0xe6), "");
  EXPECT_EQ(stream.push(0x97), "");
  EXPECT_EQ(stream.push(0xa5), "\xe6\x97\xa5");
  EXPECT_EQ(stream.push('x'), "x");
  EXPECT_EQ(stream.push(0xff), "\xef\xbf\xbd");
  EXPECT_EQ(stream.push(0xf0), "");
  EXPECT_EQ(stream.push('y'), "\xef\xbf\xbdy");
  EXPECT_EQ(stream.push(0xf0), "");
  EXPECT_EQ(stream.finish(), "\xef\xbf\xbd");
  EXPECT_EQ(stream.push(1000), "");
  EXPECT_EQ(stream.push('z'), "z");
  EXPECT_EQ(tokenizer.decode(Ids{0xe6, 0x97, 'a', -5, 300}), "\xef\xbf\xbd"
                                                             "a");
}

TEST(Errors, nameTheComponentAndBothValues) {
  EXPECT_EQ(errorOfJson("{'model':{'type':'Tree','vocab':{}}}"),
            "tokenizer.json:1:10: model: the model 'Tree' is not supported");
  EXPECT_EQ(errorOfJson("{'normalizer':{'type':'Upper'},'model':{}}"),
            "tokenizer.json:1:15: normalizer: the normalizer 'Upper' is not supported");
  EXPECT_EQ(errorOfJson("{'pre_tokenizer':{'type':'Sequence','pretokenizers':[{'type':'Rhyme'}]},'model':{}}"),
            "tokenizer.json:1:54: pre_tokenizer.pretokenizers[0]: the pre-tokenizer 'Rhyme' is not supported");
  EXPECT_EQ(errorOfJson("{'model':{'type':'BPE','vocab':{'a':1},'merges':[],'dropout':0.1}}"),
            "tokenizer.json:1:62: model.dropout: dropout, which is for training, is not supported");
  EXPECT_EQ(errorOfJson("{'model':{'type':'BPE','vocab':{'a':1},'merges':['a b']}}"),
            "the vocabulary has a token for each merge, got none for 'ab'");
  EXPECT_EQ(errorOfJson("{'model':{'type':'BPE','vocab':{'a':-1},'merges':[]}}"),
            "tokenizer.json:1:32: model.vocab: expected a whole number from 0 to 67108863 for 'a', got -1");
  EXPECT_EQ(errorOfJson("{'model':{'type':'BPE','vocab':{'a':60000000},'merges':[]}}"),
            "tokenizer.json:1:32: model.vocab: expected numbers near the count of tokens, 1, got 60000000");
  EXPECT_EQ(errorOfJson("{'model':{'type':'WordPiece','vocab':{'a':0}}}"),
            "the vocabulary has a token for what is unknown, got none for '[UNK]'");
  EXPECT_EQ(errorOfJson("{'model':{'type':'WordLevel','vocab':{'a':0}},'added_tokens':[{'id':3,'content':'a'}]}"),
            "tokenizer.json:1:69: added_tokens[0].id: expected the number that the model has for 'a', 0, got 3");
  EXPECT_EQ(errorOfJson("{'normalizer':{'type':'Precompiled','precompiled_charsmap':'AAA?'},'model':{}}"),
            "tokenizer.json:1:60: normalizer.precompiled_charsmap: expected base64, got a character of number 63");
  EXPECT_EQ(errorOfJson(std::string(100, '[')), "tokenizer.json:1:65: expected values in at most 64 others, got more");
  EXPECT_EQ(errorOfJson("{}"), "tokenizer.json:1:1: expected the key 'model'");
  EXPECT_EQ(errorOfJson("{\n 'modle':{'type':'BPE'}}"), "tokenizer.json:2:2: expected the key 'model', got 'modle'");
  EXPECT_EQ(errorOfJson("{'model':\n {'type':'BPE','vocba':{},'merges':[]}}"),
            "tokenizer.json:2:16: model: expected the key 'vocab', got 'vocba'");
  EXPECT_EQ(errorOfJson("{'model':\n {'type':'BPE','vocab':3,'merges':[]}}"),
            "tokenizer.json:2:24: model.vocab: expected an object, got 3");
  EXPECT_EQ(errorOfJson("{'model':\n {'type':"),
            "tokenizer.json:2:10: expected JSON: syntax error while parsing value - unexpected end of input; expected "
            "'[', '{', or a literal");
  EXPECT_EQ(errorOfJson("{'a':1e999}"), "tokenizer.json:1:6: expected JSON: number "
                                        "overflow parsing '1e999'");
  const auto errorOfPattern = [](const std::string &pattern) {
    return errorOfJson("{'normalizer':{'type':'Replace','pattern':{'Regex':'" + pattern +
                       "'},'content':''},'model':{}}");
  };
  EXPECT_EQ(errorOfPattern("[a&&b]"),
            "the regular expression '[a&&b]' has an intersection of classes at byte 2, which is not supported");
  EXPECT_EQ(errorOfPattern("[a[b]]"),
            "the regular expression '[a[b]]' has a class inside of a class at byte 2, which is not supported");
  EXPECT_EQ(errorOfPattern("(a"),
            "the regular expression '(a' does not compile: missing closing parenthesis at byte 2 of '(a'");
  const Tokenizer tokenizer = Tokenizer::from_json(byteJson());
  EXPECT_EQ(errorOf([&] { tokenizer.encode("a\xff"); }),
            "a text is UTF-8, got a byte 0xff at 1 where no character begins or one ends too early");
  EXPECT_EQ(errorOf([] { Tokenizer::load("words.bin"); }),
            "a vocabulary is a file .json, .txt, .model or .gguf, got 'words.bin'");
  EXPECT_EQ(errorOf([] { Tokenizer::load("/nowhere/words.txt"); }), "cannot read '/nowhere/words.txt'");
  EXPECT_EQ(errorOf([] { Tokenizer::from_sentencepiece("\x0a\x05"); }),
            "the SentencePiece model is damaged at byte 2: expected 5 bytes, got 0");
  EXPECT_EQ(errorOf([] { Tokenizer::from_vocabulary("[UNK]\na\n"); }),
            "the vocabulary has tokens for the begin and the end of a text, got none for '[CLS]'");
}

TEST(Errors, aPatternThatTakesTooLongEndsTheCall) {
  const Tokenizer tokenizer = Tokenizer::from_json(
      bpeJson("'pre_tokenizer':{'type':'Split','pattern':{'Regex':'(a|aa)+$'},'behavior':'Isolated','invert':false}"));
  const std::string message = errorOf([&] { tokenizer.encode(std::string(60, 'a') + "b"); });
  EXPECT_EQ(message, "the text cannot be matched with the vocabulary's regular expression '(a|aa)+$' from byte 0 on: "
                     "match limit exceeded");
}

} // namespace vx::text
