/**
 * A text as a quoted scalar of YAML that a collector, or its supervisor, reads as exactly this text. The collector expands
 * `$NAME` and `${…}` in every value, from its environment, files and the network, so each `$` is doubled. The rest is
 * JSON, which YAML contains, in ASCII alone: no character can end the line, the quotes or the document.
 */
export const collectorScalar = (text: string): string =>
  JSON.stringify(text.replaceAll('$', '$$$$')).replaceAll(
    /[^\x20-\x7e]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
