/*
 * The places where the two joiners may stand, which are not seen themselves: RFC 5892, Appendix A.1 and A.2. The RegExp
 * engine knows neither joining types nor combining classes. The former are a table (Unicode 16, ArabicShaping.txt), the
 * latter are seen by the order into which normalization brings two marks.
 */

/** Letters that join to the next one: Joining_Type L and D, in hexadecimal. */
const JOIN_ON =
  '620 626 628 62a-62e 633-63f 641-647 649-64a 66e-66f 678-687 69a-6bf 6c1-6c2 6cc 6ce 6d0-6d1 6fa-6fc 6ff ' +
  '712-714 71a-71d 71f-727 729 72b 72d-72e 74e-758 75c-76a 76d-770 772 775-777 77a-77f 7ca-7ea 841-845 848 ' +
  '84a-853 855 860 862-865 868 886 889-88d 88f 8a0-8a9 8af-8b0 8b3-8b8 8ba-8c8 1807 1820-1878 1887-18a8 18aa ' +
  'a840-a872 10ac0-10ac4 10acd 10ad3-10adc 10ade-10ae0 10aeb-10aee 10b80 10b82 10b86-10b88 10b8a-10b8b 10b8d ' +
  '10b90 10bad-10bae 10d00-10d21 10d23 10ec3-10ec4 10ec6-10ec7 10f30-10f32 10f34-10f44 10f51-10f53 10f70-10f73 ' +
  '10f76-10f81 10fb0 10fb2-10fb3 10fb8 10fbb-10fbc 10fbe-10fbf 10fc1 10fc4 10fca-10fcb 1e900-1e943';
/** Letters that join to the one before: R and D. */
const JOIN_BACK =
  '620 622-63f 641-64a 66e-66f 671-673 675-6d3 6d5 6ee-6ef 6fa-6fc 6ff 710 712-72f 74d-77f 7ca-7ea 840-858 860 ' +
  '862-865 867-86a 870-882 886 889-88f 8a0-8ac 8ae-8c8 1807 1820-1878 1887-18a8 18aa a840-a871 10ac0-10ac5 ' +
  '10ac7 10ac9-10aca 10ace-10ad6 10ad8-10ae1 10ae4 10aeb-10aef 10b80-10b91 10ba9-10bae 10d01-10d23 10ec2-10ec4 ' +
  '10ec6-10ec7 10f30-10f44 10f51-10f54 10f70-10f81 10fb0 10fb2-10fb6 10fb8-10fbf 10fc1-10fc4 10fc9-10fca ' +
  '1e900-1e943';

const classOf = (ranges: string): string => ranges.replaceAll(/[0-9a-f]+/g, '\\u{$&}').replaceAll(' ', '');
/** Joining_Type T: marks that letters join across. */
const ACROSS = '[\\p{Mn}\\p{Me}]*';
const JOINS_ON = new RegExp(`[${classOf(JOIN_ON)}]${ACROSS}$`, 'u');
const JOINS_BACK = new RegExp(`^${ACROSS}[${classOf(JOIN_BACK)}]`, 'u');

/** A mark of class 8, and one of class 10: of two marks the one of the lower class goes first. */
const [CLASS_8, CLASS_10] = ['\u3099', '\u05b0'];

/** Whether a character is a virama (Canonical_Combining_Class 9), after which a joiner says how to join. */
function isVirama(character: string): boolean {
  if (!/^[\p{Mn}\p{Mc}]/u.test(character) || character === CLASS_8) return false;
  const above8 = (character + CLASS_8).normalize('NFD') === CLASS_8 + character;
  return above8 && (CLASS_10 + character).normalize('NFD') === character + CLASS_10;
}

const JOINER = /[\u200c\u200d]/gu;
/** Characters on each side of a joiner that are looked at: more marks than this stand on no letter. */
const SIDE_MAX = 16;

/** Whether each joiner of a text stands where RFC 5892 allows it. */
export function joinersFit(text: string): boolean {
  for (const { 0: joiner, index } of text.matchAll(JOINER)) {
    const before = Array.from(text.slice(Math.max(0, index - 2 * SIDE_MAX), index));
    if (isVirama(before.at(-1) ?? '')) continue;
    if (joiner === '\u200d') return false;
    const after = text.slice(index + 1, index + 1 + 2 * SIDE_MAX);
    if (!JOINS_ON.test(before.join('')) || !JOINS_BACK.test(after)) return false;
  }
  return true;
}
