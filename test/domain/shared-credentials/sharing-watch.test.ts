import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  createSharingWatch,
  type Sender,
  type StoredContact,
} from '../../../src/domain/shared-credentials/sharing-watch.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const NOW = Date.UTC(2026, 5, 1);
const APP = 'k3v9x0q2m7t5b8n1c4d6';
const machine = (instance?: string, network?: string): Sender => ({ instance, network });
const [A, B] = [machine('a'), machine('b')];

interface Contact {
  readonly sender: Sender;
  readonly replica: number;
  readonly at: number;
}

/** Replicas that write each contact at once, as a round would, and learn of all that is written. */
function replicas(count: number): { polled: (contact: Contact) => boolean; told: StoredContact[] } {
  const watches = Array.from({ length: count }, () => createSharingWatch(() => 10));
  const told: StoredContact[] = [];
  return {
    told,
    polled({ sender, replica, at }) {
      const { isShared, toOthers } = watches[replica]!.polled(APP, sender, at, told.at(-1));
      told.push({ at, sender: toOthers });
      return isShared;
    },
  };
}

/** Which of the contacts show that the credential is shared. */
function found(count: number, contacts: readonly Contact[]): readonly number[] {
  const { polled } = replicas(count);
  return contacts.flatMap((contact, index) => (polled(contact) ? [index] : []));
}

const every = (seconds: number, steps: readonly (readonly [Sender, number])[]): readonly Contact[] =>
  steps.map(([sender, replica], index) => ({ sender, replica, at: NOW + index * seconds * 1000 }));

/** How often A and B have changed within the ten minutes before a contact. */
function turnsUntil(contacts: readonly Contact[], end: Contact): number {
  const recent = contacts.filter(({ at }) => at >= end.at - 10 * MINUTE_MS && at <= end.at);
  return recent.filter(({ sender }, index) => sender !== recent[index - 1]?.sender).length;
}

describe('one replica', () => {
  const one = (...senders: readonly Sender[]): readonly number[] =>
    found(
      1,
      every(
        30,
        senders.map((sender) => [sender, 0]),
      ),
    );

  test('finds two at the fourth turn, and then again after an hour', () => {
    expect(one(A, B, A, B, A, B, A, B)).toEqual([3]);
    const hours = Array.from({ length: 240 }, (_, turn): Sender => (turn % 2 === 0 ? A : B));
    expect(one(...hours)).toEqual([3, 123 + 3]);
  });

  test('forgets nothing of a machine with both families, and finds the other one beside it', () => {
    const [four, six, other] = ['192.0.2.0/24', '2001:db8:1::/48', '198.51.100.0/24'].map((of) =>
      machine(undefined, of),
    );
    expect(one(four!, six!, other!, six!, four!, six!, other!)).toEqual([6]);
  });

  test('finds one without an id beside one with an id that a NAT gives many networks', () => {
    const [here, there, elsewhere] = ['192.0.2.0/24', '198.51.100.0/24', '203.0.113.0/24'];
    const [own, moved, other] = [machine('a', here), machine('a', there), machine(undefined, elsewhere)];
    expect(one(own, moved, own, moved, other, own, moved, other)).toEqual([7]);
    expect(one(own, moved, own, moved, other, own, moved, own, moved)).toEqual([]);
  });

  test('finds again what could not be told, after a minute', () => {
    const watch = createSharingWatch(() => 10);
    const polled = (sender: Sender, at: number): boolean => watch.polled(APP, sender, NOW + at).isShared;
    const turns = (from: number): readonly boolean[] => [A, B, A, B].map((sender, turn) => polled(sender, from + turn));
    expect(turns(0).at(-1)).toBe(true);
    expect(turns(10)).toEqual([false, false, false, false]);
    watch.untold(APP, NOW + 20);
    expect(turns(30)).not.toContain(true);
    expect(turns(20 + MINUTE_MS)).toEqual([false, false, false, true]);
  });

  test('remembers the turns of so many credentials; one that no longer polls makes room', () => {
    const watch = createSharingWatch(() => 10, 2);
    const turns = (from: number, ...apps: readonly string[]): readonly string[] =>
      [A, B, A, B].flatMap((sender, turn) =>
        apps.filter((app) => watch.polled(app, sender, NOW + from + turn * 1000).isShared),
      );
    expect(turns(0, 'one', 'two', 'three', 'four')).toEqual(['one', 'two']);
    expect(turns(9 * MINUTE_MS, 'three')).toEqual([]);
    expect(turns(20 * MINUTE_MS, 'three')).toEqual(['three']);
  });

  test('one that goes on polling keeps its place while another one that does not makes room', () => {
    const watch = createSharingWatch(() => 10, 2);
    const polled = (app: string, id: string, at: number): boolean => watch.polled(app, machine(id), NOW + at).isShared;
    // Its turns are told each hour: nobody pushes it out in between.
    const told = Array.from({ length: 120 }, (_, turn) => polled('on', turn % 2 === 0 ? 'a' : 'b', turn * 30_000));
    expect(told.filter(Boolean)).toHaveLength(1);
    for (const [turn, id] of ['a', 'b', 'c'].entries()) polled('gone', id, turn * 1000);
    const late = HOUR_MS - 30_000;
    const turns = ['a', 'b', 'a', 'b'].map((id, turn) => [
      polled('new', id, late + turn),
      polled('on', id, late + turn),
    ]);
    expect(turns.at(-1)).toEqual([true, false]);
  });

  test('a poll of twelve days before is none of the last ten minutes', () => {
    const watch = createSharingWatch(() => 10);
    const since = (2 ** 20 - 300) * 1000;
    watch.polled(APP, A, NOW);
    expect([B, A, B].map((sender, turn) => watch.polled(APP, sender, NOW + since + turn).isShared)).not.toContain(true);
  });
});

describe('two replicas', () => {
  test('find two machines that each stay with one of them', () => {
    const turns = Array.from({ length: 12 }, (_, turn) => (turn % 2 === 0 ? ([A, 0] as const) : ([B, 1] as const)));
    const [first] = found(2, every(25, turns));
    expect(first).toBeLessThanOrEqual(6);
  });

  test('tell each other nothing of machines that each stay with one of them, and of one that moved once', () => {
    const { polled, told } = replicas(2);
    for (let turn = 0; turn < 10; turn += 1) polled({ sender: A, replica: 0, at: NOW + turn * MINUTE_MS });
    for (let turn = 10; turn < 20; turn += 1) polled({ sender: A, replica: 1, at: NOW + turn * MINUTE_MS });
    expect(told.filter(({ sender }) => sender !== undefined)).toEqual([]);
  });

  const contact = fc.record({ isOther: fc.boolean(), replica: fc.nat({ max: 2 }), pauseMs: fc.nat({ max: 120_000 }) });

  const [FOUR, SIX] = ['192.0.2.0/24', '2001:db8:1::/48'];
  test.each<[why: string, instance: string | undefined, networks: readonly (string | undefined)[]]>([
    ['without an id, of whatever family it comes', undefined, [FOUR, SIX]],
    ['with an id, wherever it comes from', 'a', [FOUR, SIX, '198.51.100.0/24', '203.0.113.0/24', undefined]],
  ])('find nothing of one machine behind a balancer, %s', (_, instance, networks) => {
    const step = fc.record({ network: fc.constantFrom(...networks), replica: fc.nat(2), pauseMs: fc.nat(120_000) });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60, size: 'max' }), (steps) => {
        let at = NOW;
        const contacts = steps.map(({ network, replica, pauseMs }) => ({
          sender: machine(instance, network),
          replica,
          at: (at += pauseMs),
        }));
        expect(found(3, contacts)).toEqual([]);
      }),
    );
  });

  test('find nothing that the four turns of ten minutes do not show', () => {
    fc.assert(
      fc.property(fc.array(contact, { maxLength: 60, size: 'max' }), (steps) => {
        let at = NOW;
        const contacts = steps.map(({ isOther, replica, pauseMs }) => ({
          sender: isOther ? B : A,
          replica,
          at: (at += pauseMs),
        }));
        const { polled } = replicas(3);
        for (const [index, one] of contacts.entries()) {
          if (!polled(one)) continue;
          // Another replica may have heard of the fourth turn before.
          const ends = contacts.slice(0, index + 1);
          expect(ends.map((end) => turnsUntil(contacts, end)).some((turns) => turns >= 4)).toBe(true);
          return;
        }
      }),
    );
  });
});

test('two instances of other apps are told apart, whatever their ids', () => {
  const watch = createSharingWatch(() => 10);
  const turns = [A, B, A, B].map((sender, turn) => watch.polled('another', sender, NOW + turn * 1000).isShared);
  expect(turns).toEqual([false, false, false, true]);
  expect(watch.polled(APP, A, NOW + HOUR_MS).isShared).toBe(false);
});
