/**
 * Raw deflate (RFC 1951, 3.2.7) of at most `bytesMax` bytes that inflates to nothing and costs the decoder most: blocks
 * with a code of their own and no byte in them. Each has it build its tables anew, for 11 bytes.
 */
export function costlyDeflate(bytesMax: number): Buffer {
  const bits: number[] = [];
  const put = (value: number, width: number): void => {
    for (let bit = 0; bit < width; bit += 1) bits.push((value >> bit) & 1);
  };
  const block = (last: boolean): void => {
    put(last ? 1 : 0, 1);
    put(2, 2);
    // 257 codes of literals, 1 of distances, and 18 lengths of the code that spells them: 18 (zeros) and 1 have a bit.
    put(0, 5);
    put(0, 5);
    put(14, 4);
    for (const symbol of [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1]) {
      put(symbol === 18 || symbol === 1 ? 1 : 0, 3);
    }
    // 138 and 118 literals without a code; the end of the block and the one distance have one of a bit.
    put(1, 1);
    put(138 - 11, 7);
    put(1, 1);
    put(118 - 11, 7);
    put(0, 2);
    put(0, 1);
  };
  block(false);
  const blocks = Math.floor((bytesMax * 8) / bits.length);
  for (let more = 2; more < blocks; more += 1) block(false);
  block(true);
  const bytes = Buffer.alloc(Math.ceil(bits.length / 8));
  bits.forEach((bit, at) => (bytes[at >> 3] = bytes[at >> 3]! | (bit << (at & 7))));
  return bytes;
}
