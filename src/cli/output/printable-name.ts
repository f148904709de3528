import { isolated } from '../../text/shown-name.ts';
import { printable } from '../terminal/printable.ts';

/**
 * A name that others have chosen, within a line: printable, and one that is written from right to left turns nothing.
 */
export const printableName = (name: string): string => isolated(printable(name));
