# cmake -DINPUT=file -DOUTPUT=header -DNAME=identifier -P EmbedBinary.cmake: the bytes of a file as an array.
file(READ ${INPUT} bytes HEX)
string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
string(REGEX REPLACE "(................................................................................)" "\\1\n" bytes "${bytes}") # 16 of them a line
file(WRITE ${OUTPUT} "#pragma once\n#include <cstdint>\nalignas(4) static const uint8_t ${NAME}[] = {\n${bytes}\n};\n")
