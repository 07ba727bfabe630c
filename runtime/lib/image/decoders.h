// What reads the formats of images. Each decoder takes the bytes of a file that begins as its format does, tells the
// sizes to the rows before it needs memory for them, and gives these one by one. Samples of more or fewer than 8 bits
// become 8 so that the largest one is 255, to nearest; alpha is left out, and color profiles and gamma are not looked
// at. Of several images in a file it is the first one.
#ifndef VX_RUNTIME_IMAGE_DECODERS_H
#define VX_RUNTIME_IMAGE_DECODERS_H

#include "image/rows.h"

#include <span>

namespace vx::image {

using Bytes = std::span<const uint8_t>;

Outcome decodeBmp(Bytes file, Rows &rows);
Outcome decodeJpeg(Bytes file, Rows &rows);
// A codestream, or a JP2 file with one.
Outcome decodeJpeg2000(Bytes file, Rows &rows);
Outcome decodePng(Bytes file, Rows &rows);
// P1 to P7 of Netpbm: PBM, PGM and PPM as text or bytes, and PAM.
Outcome decodePnm(Bytes file, Rows &rows);
// Turned and mirrored as its tag for the orientation says.
Outcome decodeTiff(Bytes file, Rows &rows);
// Of an animation, its first picture.
Outcome decodeWebp(Bytes file, Rows &rows);

} // namespace vx::image

#endif
