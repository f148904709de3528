import process from 'node:process';

/* Loaded before a program (`node --import`): its wall clock is ahead by TEST_CLOCK_SHIFT_MS, and runs as others do. */

const shiftMs = Number(process.env['TEST_CLOCK_SHIFT_MS']);
const RealDate = Date;

class ShiftedDate extends RealDate {
  constructor(...given: [] | [value: number | string | Date]) {
    if (given.length === 0) super(ShiftedDate.now());
    else super(...given);
  }

  static override now(): number {
    return RealDate.now() + shiftMs;
  }
}
globalThis.Date = ShiftedDate as DateConstructor;
