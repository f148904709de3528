import { answers } from './answers.ts';
import { audit } from './audit.ts';
import { cap } from './cap.ts';
import type { Checker } from './checker.ts';
import { earlyRefusal } from './early-refusal.ts';
import { halfWritten } from './half-written.ts';
import { isolation } from './isolation.ts';
import { kept } from './kept.ts';
import { lostUpdate } from './lost-update.ts';
import { narrowed } from './narrowed.ts';
import { rateWindow } from './rate-window.ts';
import { revocation } from './revocation.ts';
import { singleUse } from './single-use.ts';

/** The rules that hold on any machine, however slow. */
export const CORRECTNESS: readonly Checker[] = [
  singleUse,
  cap,
  revocation,
  narrowed,
  rateWindow,
  earlyRefusal,
  isolation,
  audit,
  kept,
  lostUpdate,
  halfWritten,
  answers,
];
