import { ADMITTED } from './admitted.ts';
import { ANSWERED } from './answered.ts';
import { LOST } from './lost.ts';
import { RECORDED } from './recorded.ts';
import type { Violation } from './violation.ts';

/** Each rule, broken in every way that a checker is to tell. */
export const VIOLATIONS: readonly Violation[] = [...ADMITTED, ...RECORDED, ...LOST, ...ANSWERED];
