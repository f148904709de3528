import fc from 'fast-check';

/**
 * Any code point but half a pair, as a text: what `unit: 'binary'` draws from. That one is a table of a million
 * entries, made once in each process, which takes longer than all that is tested with it.
 */
export const codePoint = fc
  .oneof(
    fc.nat(0x7f),
    fc.nat(0xd7ff),
    fc.integer({ min: 0xe000, max: 0xffff }),
    fc.integer({ min: 0x1_0000, max: 0x10_ffff }),
  )
  .map((code) => String.fromCodePoint(code));
