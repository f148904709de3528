/**
 * Stands in for the function of Node that the judge of a collector's address asks. A browser has none that gives the
 * Unicode form of a name; its own URL parser, which the judge asks as well, refuses what is no name, and the service
 * has the last word.
 * @public The bundler takes it for the one of Node.
 */
export const domainToUnicode = (_domain: string): string => '';
