import { randomBytes } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { FleetCounters } from '../../../src/cli/simulation/counters.ts';
import { SimulatedDaemon } from '../../../src/cli/simulation/daemon.ts';
import { Slots } from '../../../src/concurrency/slots.ts';
import { DEFAULT_TEMPLATE, collectorTemplate } from '../../../src/domain/opamp/collector-template.ts';
import { AGENT_CAN, can, REPORT_FULL_STATE } from '../../../src/opamp/capabilities.ts';
import {
  RemoteConfigStatuses,
  ServerErrorResponseType,
  type AgentToServer,
} from '../../../src/opamp/generated/opamp_pb.ts';
import { answerBytes, OPAMP_TYPE, readAgentMessage, type AnswerFields } from '../../../src/opamp/messages.ts';

const ENDPOINT = 'http://muster.example/agents/opamp';
const ENROLLED = { appId: 'k3v9x0q2m7t5b8n1c4d6', pollIntervalSeconds: 180 };

/** What a message is answered: the fields of the answer, or an answer of HTTP. */
type Answer = AnswerFields | Response;

interface Spoken {
  readonly messages: AgentToServer[];
  readonly headers: Headers[];
  /** The pauses of the agent, in milliseconds. */
  readonly pauses: number[];
  readonly counters: FleetCounters;
  /** Whether it has ended by itself. */
  isOver: boolean;
}

interface Script {
  readonly intervalSeconds?: number;
  /** Called before each answer. @param number of the message, from 1 on */
  readonly meanwhile?: (number: number, agent: SimulatedDaemon, now: number) => void;
  readonly counters?: FleetCounters;
}

/** Lets an agent enroll and speak, until each answer is given. Its pauses pass at once. */
async function speak(answers: readonly Answer[], script: Script = {}): Promise<Spoken> {
  const { intervalSeconds, meanwhile, counters = new FleetCounters() } = script;
  const spoken: Spoken = { messages: [], headers: [], pauses: [], counters, isOver: false };
  const ended = new AbortController();
  const asked = new Set<string>();
  let now = 5000;
  const endpoint: typeof fetch = async (input, init) => {
    init?.signal?.throwIfAborted();
    const request = new Request(input, init);
    const { url, method, redirect, headers } = request;
    if (url.endsWith('/enroll')) return Response.json(ENROLLED, { status: 201 });
    asked.add(`${method} ${url} ${redirect}`);
    const message = readAgentMessage(new Uint8Array(await request.arrayBuffer()));
    spoken.messages.push(message);
    spoken.headers.push(headers);
    const number = spoken.messages.length;
    meanwhile?.(number, agent, now);
    const answer = answers[number - 1] ?? {};
    if (number >= answers.length) ended.abort();
    return answer instanceof Response ? answer : saying(message, answer);
  };
  const agent = new SimulatedDaemon({
    url: 'http://muster.example',
    fetch: endpoint,
    counters,
    clock: {
      now: () => 1_750_000_000_000,
      monotonic: () => now,
      async sleep(ms) {
        spoken.pauses.push(ms);
        now += ms;
        await setImmediate();
      },
    },
    jitter: () => 0.5,
    randomBytes,
    waitSeconds: 50,
    opamp: { endpoint: ENDPOINT, fetch: endpoint, intervalSeconds, slots: new Slots(1) },
  });
  await agent.run({ appId: ENROLLED.appId, enrollCode: 'mst_code_x' }, ended.signal).then(
    () => (spoken.isOver = true),
    (error: unknown) => expect(error).toMatchObject({ code: 'aborted' }),
  );
  expect([...asked]).toEqual([`POST ${ENDPOINT} manual`]);
  return spoken;
}

const saying = ({ instanceUid }: AgentToServer, fields: AnswerFields): Response =>
  new Response(Buffer.from(answerBytes(instanceUid, fields)), { headers: { 'content-type': OPAMP_TYPE } });

const TEMPLATE = collectorTemplate(DEFAULT_TEMPLATE);
const configured = (hash: string, endpoint = 'https://otel-1.example.com'): AnswerFields => ({
  remoteConfig: {
    configHash: Buffer.from(hash),
    config: {
      configMap: {
        '': {
          body: Buffer.from(TEMPLATE.render({ enabled: true, endpoint, headers: {}, evidenceLevel: 'full' })),
          contentType: 'text/yaml',
        },
      },
    },
  },
});

const attributesOf = ({ agentDescription }: AgentToServer): Readonly<Record<string, string>> =>
  Object.fromEntries(
    [...(agentDescription?.identifyingAttributes ?? []), ...(agentDescription?.nonIdentifyingAttributes ?? [])].map(
      ({ key, value }) => [key, value?.stringValue ?? ''],
    ),
  );
const isFull = ({ agentDescription, health, remoteConfigStatus }: AgentToServer): boolean =>
  agentDescription !== undefined && health?.healthy === true && remoteConfigStatus !== undefined;
const isBare = ({ agentDescription, health, remoteConfigStatus }: AgentToServer): boolean =>
  agentDescription === undefined && health === undefined && remoteConfigStatus === undefined;
const appliedIn = ({ remoteConfigStatus }: AgentToServer): string | undefined =>
  remoteConfigStatus?.status === RemoteConfigStatuses.APPLIED
    ? Buffer.from(remoteConfigStatus.lastRemoteConfigHash).toString()
    : undefined;
const refused = (status: number, retryAfter?: number, code = 'refused'): Response =>
  Response.json(
    { error: { code, message: 'No.' } },
    { status, ...(retryAfter !== undefined && { headers: { 'retry-after': String(retryAfter) } }) },
  );
const interval = (seconds: bigint): AnswerFields => ({
  connectionSettings: { hash: Buffer.from('i'), opamp: { heartbeatIntervalSeconds: seconds } },
});

describe('a simulated agent of OpAMP', () => {
  test('says all of its state, then that it is there, in numbers that go up by one', async () => {
    const { messages, headers, counters } = await speak([{}, {}, {}]);
    expect(messages.map(({ sequenceNum }) => sequenceNum)).toEqual([1n, 2n, 3n]);
    expect(messages.map(isFull)).toEqual([true, false, false]);
    expect(messages.map(isBare)).toEqual([false, true, true]);
    const [first] = messages;
    if (!first) throw new Error('it has said nothing');
    const uid = Buffer.from(first.instanceUid).toString('hex');
    expect(uid).toMatch(/^[0-9a-f]{12}7[0-9a-f]{3}[89ab][0-9a-f]{15}$/);
    expect(attributesOf(first)).toEqual({
      'service.name': 'muster-simulated',
      'service.version': '1.0.0',
      'service.instance.id': expect.stringMatching(/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/) as string,
      'os.type': 'linux',
    });
    expect(attributesOf(first)['service.instance.id']?.replaceAll('-', '')).toBe(uid);
    expect(first.remoteConfigStatus?.status).toBe(RemoteConfigStatuses.UNSET);
    for (const { capabilities, instanceUid } of messages) {
      expect(Object.keys(AGENT_CAN).filter((name) => can(capabilities, name as keyof typeof AGENT_CAN))).toEqual([
        'reportStatus',
        'acceptRemoteConfig',
        'reportHealth',
        'reportRemoteConfig',
        'reportHeartbeat',
      ]);
      expect(Buffer.from(instanceUid).toString('hex')).toBe(uid);
    }
    expect(headers[0]?.get('authorization')).toMatch(/^Bearer mst_dev_/);
    expect(headers[0]?.get('content-type')).toBe(OPAMP_TYPE);
    expect(counters).toMatchObject({ polls: 3, unchanged: 3, received: 0, acknowledged: 0, failed: 0 });
  });

  test('waits as the enrollment told, then as the service offers, or as it is set', async () => {
    expect((await speak([{}, interval(7n), {}, interval(0n), {}])).pauses).toEqual([180e3, 7e3, 7e3, 7e3, 7e3]);
    expect((await speak([interval(7n), {}], { intervalSeconds: 20 })).pauses).toEqual([21e3, 21e3]);
  });

  test('tells at once that it has applied what it is offered', async () => {
    const { messages, pauses, counters } = await speak([configured('3-a'), {}, {}, configured('4-b'), {}]);
    expect(messages.map(appliedIn)).toEqual([undefined, '3-a', undefined, undefined, '4-b']);
    expect(messages.map(({ sequenceNum }) => sequenceNum)).toEqual([1n, 2n, 3n, 4n, 5n]);
    expect(isBare({ ...messages[1], remoteConfigStatus: undefined } as AgentToServer)).toBe(true);
    expect(pauses.length).toBe(3);
    expect(counters).toMatchObject({ polls: 3, unchanged: 1, received: 2, acknowledged: 2 });
  });

  test('tells again of what it is offered again, and does not count it as received again', async () => {
    const { messages, counters } = await speak([configured('3-a'), {}, configured('3-a'), {}]);
    expect(messages.map(appliedIn)).toEqual([undefined, '3-a', undefined, '3-a']);
    expect(counters).toMatchObject({ received: 1, acknowledged: 2 });
  });

  test('that is offered the next one in the answer tells of it after a pause', async () => {
    const { messages, pauses } = await speak([configured('3-a'), configured('4-b'), {}]);
    expect(messages.map(appliedIn)).toEqual([undefined, '3-a', '4-b']);
    expect(pauses.length).toBe(2);
  });

  test('counts the time of a change from the change until it has it, and not what it finds there', async () => {
    const counters = new FleetCounters();
    counters.changing('https://otel-1.example.com', 0);
    const { pauses } = await speak([configured('3-a'), {}, {}, configured('4-b', 'https://otel-2.example.com'), {}], {
      counters,
      intervalSeconds: 10,
      // In the middle of the pause before it is received.
      meanwhile: (number, _, now) => {
        if (number === 3) counters.changing('https://otel-2.example.com', now + 500);
      },
    });
    expect(pauses[1]).toBe(10_500);
    expect(counters.receipts.at(0.01) / 10_000).toBeCloseTo(1, 1);
    expect(counters.receipts.at(1) / 10_000).toBeCloseTo(1, 1);
  });

  test('that found nothing counts the first configuration as a change', async () => {
    const counters = new FleetCounters();
    counters.changing('https://otel-1.example.com', 5000);
    await speak([{}, configured('1-a'), {}], { counters, intervalSeconds: 10 });
    expect(counters.receipts.at(1) / 10_500).toBeCloseTo(1, 1);
  });

  test('says all of its state again at once where it is asked to', async () => {
    const { messages, pauses } = await speak([configured('3-a'), {}, { flags: REPORT_FULL_STATE }, {}, {}]);
    expect(messages.map(isFull)).toEqual([true, false, false, true, false]);
    expect(messages.map(appliedIn)).toEqual([undefined, '3-a', undefined, '3-a', undefined]);
    expect(pauses.length).toBe(3);
  });

  test('takes the id that it is given', async () => {
    const newInstanceUid = Buffer.from('0197a1b2c3d47000800000000000000f', 'hex');
    const { messages } = await speak([{ agentIdentification: { newInstanceUid } }, {}]);
    expect(Buffer.from(messages[1]?.instanceUid ?? []).equals(newInstanceUid)).toBe(true);
  });

  test('with a newer version describes itself again', async () => {
    const { messages, counters } = await speak([{}, {}, {}, {}], {
      meanwhile: (number, agent) => {
        if (number === 2) agent.upgrade();
      },
    });
    expect(messages.map((message) => attributesOf(message)['service.version'])).toEqual([
      '1.0.0',
      undefined,
      '1.1.0',
      undefined,
    ]);
    expect(messages[2]?.health).toBeUndefined();
    expect(counters.upgrades).toBe(1);
  });

  test.each([429, 503])('waits as long as a %d says, and says the same under the same number', async (status) => {
    const { messages, pauses, counters } = await speak([{}, refused(status, 300), {}]);
    expect(pauses).toEqual([180e3, 315e3, 180e3]);
    expect(messages.map(({ sequenceNum }) => sequenceNum)).toEqual([1n, 2n, 2n]);
    expect(counters).toMatchObject({ failed: 1, polls: 2 });
  });

  test('whose first message is lost says all of its state again', async () => {
    const { messages } = await speak([refused(503), {}]);
    expect(messages.map(isFull)).toEqual([true, true]);
    expect(messages.map(({ sequenceNum }) => sequenceNum)).toEqual([1n, 1n]);
  });

  test('whose acknowledgement is refused tells of it with its next message', async () => {
    const { messages, counters } = await speak([configured('3-a'), refused(503), {}, {}]);
    expect(messages.map(appliedIn)).toEqual([undefined, '3-a', '3-a', undefined]);
    expect(counters).toMatchObject({ received: 1, acknowledged: 1, failed: 1 });
  });

  test('ends when its credential is refused', async () => {
    const { messages, isOver, counters } = await speak([{}, refused(401, 1800, 'invalid_credential'), {}]);
    expect([messages.length, isOver, counters.failed]).toEqual([2, true, 0]);
  });

  const error = (type: ServerErrorResponseType): AnswerFields => ({ errorResponse: { type, errorMessage: 'No.' } });
  test.each<[string, Answer]>([
    ['a message that was no good', error(ServerErrorResponseType.BAD_REQUEST)],
    ['a service that has no time', error(ServerErrorResponseType.UNAVAILABLE)],
    ['no message', new Response('<h1>a proxy</h1>')],
    ['a proxy that wants a password', new Response('<h1>a proxy</h1>', { status: 401 })],
    ['a page that names the code', new Response('<p>"code":"invalid_credential"</p>', { status: 401 })],
    ['another API', refused(401, undefined, 'unauthorized')],
    ['another agent', new Response(Buffer.from(answerBytes(new Uint8Array(16))))],
    ['a redirect', new Response(null, { status: 302, headers: { location: 'http://elsewhere.example' } })],
  ])('counts an answer for %s as failed, and goes on', async (_, answer) => {
    const { messages, counters, pauses } = await speak([answer, {}]);
    expect(counters).toMatchObject({ failed: 1, polls: 1 });
    expect(messages.map(isFull)).toEqual([true, true]);
    expect(pauses[0]).toBe(2500);
  });
});

test('a thousand agents send no more messages at once than there are slots', async () => {
  const counters = new FleetCounters();
  const ended = new AbortController();
  let [underWay, most, messages] = [0, 0, 0];
  const endpoint: typeof fetch = async (input, init) => {
    init?.signal?.throwIfAborted();
    const request = new Request(input, init);
    if (request.url.endsWith('/enroll')) return Response.json(ENROLLED, { status: 201 });
    underWay += 1;
    most = Math.max(most, underWay);
    const message = readAgentMessage(new Uint8Array(await request.arrayBuffer()));
    await setImmediate();
    underWay -= 1;
    messages += 1;
    if (counters.acknowledged === 1000) ended.abort();
    return saying(message, isFull(message) ? configured('1-a') : {});
  };
  const clock = { now: () => 0, monotonic: () => 0, sleep: async () => await setImmediate() };
  const slots = new Slots(64);
  const surroundings = { url: 'http://muster.example', fetch: endpoint, counters, clock, jitter: () => 0.5 };
  const agents = Array.from(
    { length: 1000 },
    () =>
      new SimulatedDaemon({
        ...surroundings,
        randomBytes,
        waitSeconds: 50,
        opamp: { endpoint: ENDPOINT, fetch: endpoint, slots },
      }),
  );
  await Promise.all(
    agents.map((agent) =>
      agent
        .run({ appId: ENROLLED.appId, enrollCode: 'mst_code_x' }, ended.signal)
        .catch((error: unknown) => expect(error).toMatchObject({ code: 'aborted' })),
    ),
  );
  expect(most).toBe(64);
  expect(messages).toBeGreaterThanOrEqual(2000);
  expect(counters).toMatchObject({ enrolled: 1000, received: 1000, acknowledged: 1000, failed: 0 });
});
