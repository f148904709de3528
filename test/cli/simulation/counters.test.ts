import { describe, expect, test } from 'vitest';
import { FleetCounters } from '../../../src/cli/simulation/counters.ts';
import { LiveLine } from '../../../src/cli/simulation/live-line.ts';
import { recordedTerminal } from '../../support/cli/recorded-terminal.ts';

describe('the time until a change is received', () => {
  test('counts from the change where it is known', () => {
    const counters = new FleetCounters();
    counters.changing('https://one', 1000);
    counters.receivedChange('https://one', 1, 1100);
    expect(counters.receipts.at(1)).toBeCloseTo(100, -1);
    expect(counters.changes).toBe(1);
  });

  test('counts from the first daemon that received it where others made the change', () => {
    const counters = new FleetCounters();
    counters.receivedChange('https://other', 7, 5000);
    expect(counters.receipts.at(1)).toBe(0);
    counters.receivedChange('https://other', 7, 5200);
    expect(counters.receipts.at(1)).toBeCloseTo(200, -1);
    counters.receivedChange('https://other', 8, 9000);
    expect(counters.receipts.at(1)).toBeCloseTo(200, -1);
  });
});

describe('the live line', () => {
  const counters = { toString: () => '12345 polls, 3 unchanged' };

  test('is rewritten in place on a terminal, and never wraps', () => {
    const { stderr, err } = recordedTerminal({ stderr: { isTTY: true, columns: 12 } });
    new LiveLine(counters, stderr)[Symbol.dispose]();
    expect(err()).toBe('\r\u001b[2K12345 polls\n');
  });

  test('is a line where it is no terminal', () => {
    const { stderr, err } = recordedTerminal();
    new LiveLine(counters, stderr)[Symbol.dispose]();
    expect(err()).toBe('12345 polls, 3 unchanged\n');
  });
});
