import { ADMITTED } from './admitted.ts';
import { ANSWERED } from './answered.ts';
import type { Crime } from './violation.ts';
import { LOST } from './lost.ts';
import { RECORDED } from './recorded.ts';

/** Each rule, broken in every way that a checker is to tell. */
export const CRIMES: readonly Crime[] = [...ADMITTED, ...RECORDED, ...LOST, ...ANSWERED];
