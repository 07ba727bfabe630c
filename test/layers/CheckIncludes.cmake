# cmake -DROOT=<repository> -DTABLE=cmake/VxAddLibrary.cmake -P CheckIncludes.cmake: no file of a layer includes a public header of a
# layer that the table forbids. The linker does not see a header that needs no library.
cmake_policy(VERSION 3.22)
include(${TABLE})

# Folders of files, and of public headers behind include/, by their layer.
foreach(pair Analysis=analysis Transforms=transforms Memory=memory Conversion=conversion Codegen=codegen Target=target Module=module
             Pipelines=pipelines Driver=compiler-driver API=api)
  string(REGEX MATCH "^(.*)=(.*)$" unused ${pair})
  list(APPEND files compiler/lib/${CMAKE_MATCH_1}=${CMAKE_MATCH_2} compiler/include/vx/${CMAKE_MATCH_1}=${CMAKE_MATCH_2})
  list(APPEND headers vx/${CMAKE_MATCH_1}=${CMAKE_MATCH_2})
endforeach()
list(APPEND files base=base dialects=dialects frontends=frontend compiler/include/vx/compiler=api runtime/include/vx/abi=abi
                  runtime/include/vx/runtime=runtime-api runtime/lib/base=runtime runtime/lib/hal=runtime runtime/lib/module=runtime
                  runtime/lib/exec=runtime runtime/lib/image=image runtime/lib/grpc=grpc runtime/lib/drivers=driver runtime/lib/api=runtime-api
                  runtime/include/vx/train=train runtime/lib/train=train
                  runtime/include/vx/text=text runtime/lib/text=text
                  runtime/include/vx/serve=serve runtime/lib/serve=serve
                  runtime/include/vx/llm=serve runtime/lib/llm=serve)
list(APPEND headers vx/base=base vx/Dialect=dialects vx/Reference=dialects vx/Frontend=frontend vx/compiler=api vx/abi=abi vx/train=train vx/text=text vx/serve=serve vx/llm=serve)
# The runtime's own headers, which its libraries include by folder. vx.h itself is plain C that all of the runtime implements.
set(runtime_headers base=runtime hal=runtime module=runtime exec=runtime image=image grpc=grpc drivers=driver api=runtime-api text=text serve=serve)

set(count 0)
function(check_include file layer line headers)
  foreach(pair ${headers})
    string(REGEX MATCH "^(.*)=(.*)$" unused ${pair})
    set(folder ${CMAKE_MATCH_1})
    set(owner ${CMAKE_MATCH_2})
    if(line MATCHES "[<\"]${folder}/" AND NOT owner STREQUAL layer AND NOT owner IN_LIST VX_LAYER_${layer})
      string(REGEX REPLACE ".*[<\"]([^>\"]*)[>\"].*" "\\1" header "${line}")
      message(SEND_ERROR "layer check: '${file}' of layer '${layer}' includes '${header}' of layer '${owner}', "
                         "allowed are: ${VX_LAYER_${layer}}")
    endif()
  endforeach()
endfunction()
foreach(pair ${files})
  string(REGEX MATCH "^(.*)=(.*)$" unused ${pair})
  set(folder ${CMAKE_MATCH_1})
  set(layer ${CMAKE_MATCH_2})
  file(GLOB_RECURSE paths RELATIVE ${ROOT} ${ROOT}/${folder}/*.cpp ${ROOT}/${folder}/*.h ${ROOT}/${folder}/*.hpp
                                         ${ROOT}/${folder}/*.td)
  foreach(path ${paths})
    math(EXPR count "${count} + 1")
    file(STRINGS ${ROOT}/${path} lines REGEX "^[ \t]*#?[ \t]*include[ \t]*[<\"]")
    string(REGEX MATCH "^compiler/(lib|include/vx)/Target/([A-Za-z]+)" unused ${path})
    set(target "${CMAKE_MATCH_2}")
    foreach(line ${lines})
      if(layer STREQUAL "target" AND line MATCHES "[<\"](vx/Target/([A-Za-z]+)[^>\"]*)")
        set(header ${CMAKE_MATCH_1})
        if(NOT CMAKE_MATCH_2 STREQUAL target AND NOT CMAKE_MATCH_2 MATCHES "^(Target|GPU)Backend$")
          message(SEND_ERROR "layer check: '${path}' includes '${header}', no target knows another")
        endif()
      endif()
      check_include(${path} ${layer} "${line}" "${headers}")
      if(folder MATCHES "^runtime/lib")
        check_include(${path} ${layer} "${line}" "${runtime_headers}")
      endif()
    endforeach()
  endforeach()
endforeach()
if(count EQUAL 0)
  message(FATAL_ERROR "layer check: expects files of layers in '${ROOT}', got none")
endif()
