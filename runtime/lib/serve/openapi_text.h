// The server's own reference as a document of OpenAPI, which `scripts/http-reference --openapi` makes of the table of
// routes.
#ifndef VX_SERVE_OPENAPI_TEXT_H
#define VX_SERVE_OPENAPI_TEXT_H

#include <string_view>

namespace vx::serve {

std::string_view openApiText();

} // namespace vx::serve

#endif
