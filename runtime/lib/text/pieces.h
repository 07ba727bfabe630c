// A text in pieces, on its way to tokens.
#ifndef VX_TEXT_PIECES_H
#define VX_TEXT_PIECES_H

#include "text/aligned_text.h"

#include <deque>
#include <vector>

namespace vx::text {

// A part of one of the buffers: a word, or a token that is known already.
struct Piece {
  uint32_t buffer, begin, end;
  int32_t token = -1;
};

struct Pieces {
  std::deque<AlignedText> buffers; // those in use are the first `count`
  size_t count = 0;
  std::vector<Piece> list, next;

  void clear() {
    count = 0;
    list.clear();
  }
  AlignedText &addBuffer() {
    if (count == buffers.size())
      buffers.emplace_back();
    return buffers[count++];
  }
  std::string_view view(const Piece &piece) const {
    return buffers[piece.buffer].view().substr(piece.begin, piece.end - piece.begin);
  }
};

} // namespace vx::text

#endif
