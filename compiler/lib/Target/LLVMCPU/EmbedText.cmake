# Writes INPUT as a C++ raw string literal to OUTPUT.
file(READ ${INPUT} text)
file(WRITE ${OUTPUT} "R\"vx_text(${text})vx_text\"\n")
