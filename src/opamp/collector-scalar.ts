/**
 * A text as a quoted scalar of YAML that a collector, or its supervisor, reads as exactly this text. The collector
 * expands `$NAME` and `${…}` in every value, from its environment, files and the network, so each `$` is doubled. The
 * rest is JSON, which YAML contains, in ASCII alone: no character can end the line, the quotes or the document. Only a
 * character beyond U+FFFF has YAML's own escape, since the collector's reader refuses the two halves by which JSON
 * spells it.
 *
 * The package `yaml` with `QUOTE_DOUBLE` leaves U+0085 as it is, of which a reader of YAML 1.1 makes a blank, and the
 * controls above U+007E, which it refuses. The bytes count as well: by a digest of the supervisor's file the operator
 * knows whether its Secret must be written again.
 */
export const collectorScalar = (text: string): string =>
  JSON.stringify(text.replaceAll('$', '$$$$')).replaceAll(/[^\x20-\x7e]/gu, escaped);

function escaped(character: string): string {
  const hex = (character.codePointAt(0) ?? 0).toString(16);
  return hex.length > 4 ? `\\U${hex.padStart(8, '0')}` : `\\u${hex.padStart(4, '0')}`;
}
