import process from 'node:process';

/** The environment of this process without the variables of these names: a program takes them for its settings. */
export const environmentWithout = (names: RegExp): Readonly<Record<string, string | undefined>> =>
  Object.fromEntries(Object.entries(process.env).filter(([name]) => !names.test(name)));
