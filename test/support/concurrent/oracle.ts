import type { Answer, Muster } from '../service/muster.ts';
import type { Place } from './place.ts';

/*
 * Two mutations that are made at once must come out as if one had been made after the other. What that would be is told
 * by the product itself: each pair is first made in both orders, one after the other, by one service.
 */

/** The two sides of a round. A mutation that is paired with itself writes another content on each. */
export type Side = 'a' | 'b';

/** The answers of both sides; one is absent where the service gave the mutation up, or nobody made it. */
export type Answers = Readonly<Partial<Record<Side, Answer>>>;

export interface Observation {
  /** `200`, `409 conflict`, or `none`. */
  readonly answers: Readonly<Record<Side, string>>;
  /** What is left, as texts in an order of their own. */
  readonly state: readonly string[];
  /** The audit in the order of the store's revisions: a group is what one revision has, in no order. */
  readonly audit: readonly (readonly string[])[];
}

/** One change of a scene, as a client asks for it. */
export interface Mutation<Scene> {
  /** Ends the sentence "a request that …". */
  readonly name: string;
  act(muster: Muster, scene: Scene, side: Side): Promise<Answer>;
}

export type Pair<Scene> = readonly [a: Mutation<Scene>, b: Mutation<Scene>];

/** Where pairs are made. */
export interface Setting<Scene> {
  readonly place: Place;
  /** A scene that nothing has happened in. */
  scene(): Promise<Scene>;
  /** What is seen of a scene, by one of the replicas and in the store. */
  observe(asked: Muster, scene: Scene, answers: Answers): Promise<Observation>;
}

export const spelledPair = ([a, b]: Pair<never>): string => `"${a.name}" and "${b.name}"`;

/** What comes of a pair one after the other, and of each mutation without the other one. */
export interface Orders {
  readonly aFirst: Observation;
  readonly bFirst: Observation;
  /** Made when it is asked for: few rounds need it. */
  aAlone(): Promise<Observation>;
  bAlone(): Promise<Observation>;
}

/** The service may answer so where others changed the record under every attempt; the client repeats its request. */
const isGivenUp = (answer: Answer): boolean => answer.status === 502 || answer.status === 503;

/** Makes a pair in both orders. @throws Error where a mutation is given up though nobody is in the way */
export async function inOrders<Scene>(setting: Setting<Scene>, pair: Pair<Scene>): Promise<Orders> {
  const { one } = setting.place;
  const [a, b] = pair;
  const run = async (make: (scene: Scene) => Promise<Answers>): Promise<Observation> => {
    const scene = await setting.scene();
    const answers = await make(scene);
    if (Object.values(answers).some((answer) => answer && isGivenUp(answer))) {
      throw new Error(`${spelledPair(pair)} are given up one after the other.`);
    }
    return await setting.observe(one, scene, answers);
  };
  // One after the other: scenes may share a record.
  const aFirst = await run(async (scene) => {
    const first = await a.act(one, scene, 'a');
    return { a: first, b: await b.act(one, scene, 'b') };
  });
  const bFirst = await run(async (scene) => {
    const first = await b.act(one, scene, 'b');
    return { a: await a.act(one, scene, 'a'), b: first };
  });
  return {
    aFirst,
    bFirst,
    aAlone: () => run(async (scene) => ({ a: await a.act(one, scene, 'a') })),
    bAlone: () => run(async (scene) => ({ b: await b.act(one, scene, 'b') })),
  };
}

/** How a round came out. A round that is given up tells nothing of the pair. */
type Outcome = 'as in order' | 'given up' | { readonly failure: string };

/**
 * Makes a pair at once, each mutation by a replica of its own, and judges what comes of it.
 * @param round an odd one exchanges the replicas
 */
export async function atOnce<Scene>(
  setting: Setting<Scene>,
  pair: Pair<Scene>,
  { round, orders }: { readonly round: number; readonly orders: Orders },
): Promise<Outcome> {
  const { one, other } = setting.place;
  const [a, b] = pair;
  const scene = await setting.scene();
  const [left, right] = round % 2 === 0 ? [one, other] : [other, one];
  const [ofA, ofB] = await Promise.all([a.act(left, scene, 'a'), b.act(right, scene, 'b')]);
  // What was given up has no effect: all is as if the other one had been alone.
  const answers = { ...(!isGivenUp(ofA) && { a: ofA }), ...(!isGivenUp(ofB) && { b: ofB }) };
  const seen = await setting.observe(round % 4 < 2 ? left : right, scene, answers);
  if (answers.a && answers.b) {
    const isInOrder = [orders.aFirst, orders.bFirst].some((order) => isSame(seen, order));
    return isInOrder ? 'as in order' : { failure: spelledFailure(pair, seen, orders) };
  }
  if (!answers.a && !answers.b) return 'given up';
  const alone = await (answers.a ? orders.aAlone() : orders.bAlone());
  return isSame(seen, alone) ? 'given up' : { failure: spelledFailure(pair, seen, orders) };
}

const isSame = (seen: Observation, order: Observation): boolean =>
  seen.answers.a === order.answers.a &&
  seen.answers.b === order.answers.b &&
  seen.state.join('\n') === order.state.join('\n') &&
  isMerged(seen.audit, order.audit);

/**
 * Whether an audit is the other one, where some neighbouring revisions may have become one: commits that wait for etcd
 * together share a revision.
 */
function isMerged(seen: Observation['audit'], order: Observation['audit']): boolean {
  let next = 0;
  for (const group of seen) {
    const merged: string[] = [];
    while (merged.length < group.length && next < order.length) merged.push(...(order[next++] ?? []));
    if (merged.sort().join('\n') !== group.join('\n')) return false;
  }
  return next === order.length;
}

/** An observation that is no order's, with both orders, and without the state that all three share. */
function spelledFailure([a, b]: Pair<never>, seen: Observation, { aFirst, bFirst }: Orders): string {
  const isShared = (line: string): boolean => [seen, aFirst, bFirst].every(({ state }) => state.includes(line));
  const told = (title: string, { answers, state, audit }: Observation): string =>
    [
      `  ${title}: a is ${answers.a}, b is ${answers.b}`,
      `    audit: ${audit.map((group) => group.join(' + ')).join(' | ')}`,
      ...state.filter((line) => !isShared(line)).map((line) => `    ${line}`),
    ].join('\n');
  return [
    `a ${a.name}, b ${b.name}:`,
    told('at once', seen),
    told('a before b', aFirst),
    told('b before a', bFirst),
  ].join('\n');
}
