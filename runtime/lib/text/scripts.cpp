#include "text/pattern.h"

namespace vx::text {

// Those of Unicode 14, by their codes of ISO 15924, the most usual ones first; but Han with both kana, which are one
// here.
static constexpr std::string_view scripts =
    "zinh adlm aghb ahom arab armi armn avst bali bamu bass batk beng bhks bopo brah brai bugi "
    "buhd cakm cans cari cham cher chrs copt cpmn cprt cyrl deva diak dogr dsrt dupl egyp elba elym ethi "
    "geor glag gong gonm goth gran grek gujr guru hang hano hatr hebr hluw hmng hmnp hung ital java kali "
    "khar khmr khoj kits knda kthi lana laoo lepc limb lina linb lisu lyci lydi mahj maka mand mani marc "
    "medf mend merc mero mlym modi mong mroo mtei mult mymr nand narb nbat newa nkoo nshu ogam olck orkh "
    "orya osge osma ougr palm pauc perm phag phli phlp phnx plrd prti rjng rohg runr samr sarb saur sgnw "
    "shaw shrd sidd sind sinh sogd sogo sora soyo sund sylo syrc tagb takr tale talu taml tang tavt telu "
    "tfng tglg thaa thai tibt tirh tnsa toto ugar vaii vith wara wcho xpeo xsux yezi yiii zanb";

std::string scriptRuns() {
  // A blank, and what no script has, belongs to what stands before. The mark of long vowels is common to two scripts
  // that are one with Han here.
  const std::string any = " \\p{sc:zzzz}", han = "\\p{sc:hani}\\p{sc:hira}\\p{sc:kana}\\x{30fc}";
  auto runOf = [&](const std::string &characters) { return "[" + characters + "][" + characters + any + "]*+"; };
  std::string expression = runOf("\\p{sc:latn}") + "|" + runOf(han) +
                           "|(?![ \\x{30fc}])\\p{sc:zyyy}(?:(?!\\x{30fc})[\\p{sc:zyyy}" + any + "])*+";
  constexpr size_t step = 5;
  for (size_t at = 0; at < scripts.size(); at += step)
    expression += "|" + runOf("\\p{sc:" + std::string(scripts.substr(at, step - 1)) + "}");
  // Of a script that is newer: by itself.
  return expression + "|[^" + any + "][" + any + "]*+";
}

} // namespace vx::text
