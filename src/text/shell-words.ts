/** One word of a POSIX shell, whatever is in it. */
export const shellQuoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

/** The same without quotes where it needs none. */
export const shellWord = (text: string): string => (/^[A-Za-z0-9_./@%+:,-]+$/.test(text) ? text : shellQuoted(text));

/** One word of fish, which takes a backslash for itself within single quotes. */
export const fishQuoted = (text: string): string => `'${text.replaceAll(/[\\']/g, '\\$&')}'`;
