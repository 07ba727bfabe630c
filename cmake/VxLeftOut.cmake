# vx_left_out(<reason> <what>): writes down what no test was made of on this machine; scripts/test counts it.
file(WRITE ${CMAKE_BINARY_DIR}/left_out.txt "")
function(vx_left_out reason what)
  file(APPEND ${CMAKE_BINARY_DIR}/left_out.txt "${reason}\t${what}\n")
endfunction()
