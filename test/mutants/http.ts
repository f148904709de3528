import type { Mutant } from './mutant.ts';

/** The gateway of `/v1` and the listeners. */
export const HTTP: readonly Mutant[] = [
  {
    name: 'TLS takes whichever suites Node does',
    file: 'src/api/listener/http-server.ts',
    search: '  ciphers: CIPHERS,\n',
    replacement: '',
    rule: 'Listener bounds: TLS 1.2 has no suite with CBC, and none without keys of its own.',
    caughtBy: ['test/api/listener/ciphers.test.ts'],
  },
  {
    name: 'the entitlement is checked after the body',
    file: 'src/api/v1/gateway.ts',
    search: `    if (of.requires && account.record.entitlement !== of.requires) throw new Refusal('enterprise_required');
    return andThen(bodyOf(of, exchange), (body) => {
`,
    replacement: `    return andThen(bodyOf(of, exchange), (body) => {
      if (of.requires && account.record.entitlement !== of.requires) throw new Refusal('enterprise_required');
`,
    rule: 'H1: 403 is told before 413 and before the fields of the body.',
    caughtBy: ['test/api/v1/check-order.test.ts'],
  },
  {
    name: 'a declared body of exactly 65536 bytes is too large',
    file: 'src/api/http/request-body.ts',
    search: 'if (length > limits.bytesMax) return TOO_LARGE;',
    replacement: 'if (length >= limits.bytesMax) return TOO_LARGE;',
    rule: 'H7: a body of 65536 bytes passes, and one of 65537 is refused.',
    caughtBy: [
      'test/api/device/report-detections.test.ts',
      'test/api/device/enroll-refused.test.ts',
      'test/api/http/request-body.test.ts',
      'test/api/v1/http.test.ts',
    ],
  },
  {
    name: 'the body of an enrollment is inflated',
    file: 'src/api/http/json-body.ts',
    search: 'exchange.response, exchange.principal, limits)',
    replacement: "exchange.response, exchange.principal ?? 'anybody', limits)",
    rule: 'H7: nothing is inflated for a client that is not authenticated.',
    caughtBy: ['test/api/device/enroll-refused.test.ts'],
  },
  {
    name: 'an account waits until all bodies of another one are inflated',
    file: 'src/api/http/content-encoding.ts',
    search: 'queue.turns.tryRun(principal, ',
    replacement: "queue.turns.tryRun('all', ",
    rule: 'H7: bodies are inflated one at a time, and each account has its turn.',
    caughtBy: ['test/api/http/content-encoding.test.ts'],
  },
  {
    name: 'the lines of a flood that were left out are not counted',
    file: 'src/log.ts',
    search: 'if (second.leftOut > 0) second.tell(second.leftOut);',
    replacement: '',
    rule: 'H15: of any cause the log has 10 lines a second and a count.',
    caughtBy: ['test/log.test.ts', 'test/service/outage-log.test.ts'],
  },
  {
    name: 'a malformed app ID is told apart from an unknown one',
    file: 'src/api/v1/gateway.ts',
    search: `!APP_ID.test(appId)) throw new Refusal('not_found');`,
    replacement: `!APP_ID.test(appId)) throw new Refusal('not_found', 'The app ID is malformed.');`,
    rule: 'H8: a malformed app ID is answered with the same 404 body as an unknown and a foreign one.',
    caughtBy: ['test/api/v1/paths.test.ts'],
  },
  {
    name: 'an outage of the store lets memory authenticate',
    file: 'src/domain/fleet/fleet.ts',
    search: 'current: () => readerAfter(watchCache.fresh()),',
    replacement: `current: () => {
      try {
        const asked = watchCache.fresh();
        return readerAfter(asked instanceof Promise ? asked.catch((): Freshness => 'fresh') : asked);
      } catch {
        return cached;
      }
    },`,
    rule: 'H15: authentication fails closed with 502 while the store does not answer.',
    caughtBy: ['test/service/store-outage.test.ts'],
  },
  {
    name: 'of several Authorization fields the first counts',
    file: 'src/api/http/request-headers.ts',
    search: `const fields = fieldsOf(request, 'authorization');`,
    replacement: `const fields = fieldsOf(request, 'authorization').slice(0, 1);`,
    rule: 'H16: a request with several Authorization fields is refused with 401.',
    caughtBy: [
      'test/api/http/bearer.test.ts',
      'test/api/device/poll-config.test.ts',
      'test/api/operator/authenticate.test.ts',
      'test/api/v1/http.test.ts',
    ],
  },
  {
    name: 'answers may be kept by a cache',
    file: 'src/api/http/exchange.ts',
    search: "return ['Cache-Control', cache, 'X-Request-Id'",
    replacement: "return ['X-Request-Id'",
    rule: 'H17: every answer bears Cache-Control: no-store.',
    caughtBy: [
      'test/api/device/poll-config.test.ts',
      'test/service/every-door.test.ts',
      'test/api/operator/probes.test.ts',
      'test/api/v1/http.test.ts',
    ],
  },
  {
    name: 'a browser is told by plain HTTP to come by https alone',
    file: 'src/api/http/exchange.ts',
    search: 'this.#deps.cameByTls(this.request) ? encrypted : plain',
    replacement: 'encrypted',
    rule: 'H17: Strict-Transport-Security goes over TLS alone.',
    caughtBy: ['test/service/every-door.test.ts'],
  },
  {
    name: 'the refusal of what is no request has fewer headers',
    file: 'src/api/listener/fixed-response.ts',
    search: "'X-Request-Id', requestId, ...safe];",
    replacement: "'X-Request-Id', requestId];",
    rule: 'H17: what every answer bears, answers below routing bear as well.',
    caughtBy: ['test/service/every-door.test.ts'],
  },
  {
    name: 'anybody may say that a proxy has TLS',
    file: 'src/api/http/client-address.ts',
    search: 'if (!this.has(request.socket.remoteAddress)) return false;',
    replacement: '',
    rule: 'H17: X-Forwarded-Proto is believed of trusted proxies alone.',
    caughtBy: ['test/api/http/client-address.test.ts', 'test/api/panel/sessions.test.ts'],
  },
  {
    name: 'gzip is sent to whoever names it',
    file: 'src/api/headers/accepted-encoding.ts',
    search: "return new Negotiator(request).encodings(ENCODINGS)[0] === 'gzip';",
    replacement: "return String(request.headers['accept-encoding']).includes('gzip');",
    rule: 'RFC 9110, 12.5.3: gzip;q=0 is obeyed.',
    caughtBy: ['test/service/every-door.test.ts', 'test/api/headers/accepted-encoding.test.ts'],
  },
  {
    name: 'the panel shows the reference to strangers',
    file: 'src/api/panel/panel-server.ts',
    search: "          const isStranger = error instanceof Refusal && error.code === 'invalid_session';",
    replacement: `          if (error instanceof Refusal) return send(exchange);
          const isStranger = error instanceof Refusal && error.code === 'invalid_session';`,
    rule: 'P12: the reference in the panel is behind a session.',
    caughtBy: ['test/api/panel/pages/reference.test.ts'],
  },
  {
    name: 'a full account is refused before the idempotency record is looked up',
    file: 'src/domain/apps/apps.ts',
    search: `    const found = asked && (await deps.idempotency.find(accountId, asked, origin.at, reader));
    if (found && 'answer' in found) return { unchanged: readApp(found.answer) };
    if (counters.apps >= LIMITS.appsPerAccountMax) throw new Refusal('limit_reached');
`,
    replacement: `    if (counters.apps >= LIMITS.appsPerAccountMax) throw new Refusal('limit_reached');
    const found = asked && (await deps.idempotency.find(accountId, asked, origin.at, reader));
    if (found && 'answer' in found) return { unchanged: readApp(found.answer) };
`,
    rule: 'H19: an idempotency record is looked up before limit_reached.',
    caughtBy: ['test/api/v1/app-limit.test.ts'],
  },
  {
    name: "the operator's idempotency records of an API key lie among those of the account's owner",
    file: 'src/domain/accounts/api-keys.ts',
    search: 'scope: `${OPERATOR_AUDIT}-${accountId}`,',
    replacement: 'scope: accountId,',
    rule: "H19: the operator's records are apart from those of the account's owner.",
    caughtBy: ['test/domain/accounts/idempotent-creates.test.ts'],
  },
  {
    name: 'a request head that comes too late is cut off without an answer',
    file: 'src/api/listener/listener.ts',
    search: `return code === NOT_IN_TIME || code?.startsWith('HPE_') === true;`,
    replacement: `return code?.startsWith('HPE_') === true;`,
    rule: 'H21: a request without a complete head within 10 s is refused with the JSON body, and then the connection closes.',
    caughtBy: ['test/api/listener/listener.test.ts'],
  },
  {
    name: 'an operator request with an unknown field is carried out',
    file: 'src/api/contract/fields.ts',
    search: 'fields.strict().meta(about)',
    replacement: 'fields.meta(about) as never',
    rule: 'H5: the operator API refuses fields that an operation does not have.',
    caughtBy: ['test/api/operator/unknown-fields.test.ts'],
  },
  {
    name: 'two letters in the wrong order are two slips',
    file: 'src/config/unknown-variables.ts',
    search: 'const swapped = isSwap ? (beforeLast[j - 2] ?? 0) + 1 : changed;',
    replacement: 'const swapped = changed;',
    rule: 'Configuration: a variable within two letters of a known one stops the start.',
    caughtBy: ['test/config/config.test.ts'],
  },
  {
    name: 'a slot is held until the client has taken its answer',
    file: 'src/api/listener/listener.ts',
    search: `response.on('prefinish', leave).on(ANSWER_WRITTEN, leave);`,
    replacement: `response.on('finish', leave);`,
    rule: 'Bounds of a listener: the slot is free when an answer is written, whether or not the client takes it.',
    caughtBy: ['test/api/listener/pipelining.test.ts'],
  },
  {
    name: 'what follows a request with Upgrade is executed',
    file: 'src/api/listener/below-routing.ts',
    search: 'request.headers.upgrade !== undefined;',
    replacement: 'request.headers.upgrade === null;',
    rule: 'H21: nothing that follows a request with Upgrade on its connection is executed.',
    caughtBy: ['test/api/listener/pipelining.test.ts'],
  },
  {
    name: 'a connection that has authenticated gives way like a stranger',
    file: 'src/api/listener/seats.ts',
    search: 'if (this.#strangers.size >= this.#max * STRANGERS_PART) return stranger;',
    replacement: '',
    rule: 'Bounds of a listener: those give way first that have not authenticated a request, above a quarter of all.',
    caughtBy: ['test/api/listener/newcomers.test.ts', 'test/api/listener/seats-model.test.ts'],
  },
  {
    name: 'a newcomer gives way to the next one, before it can authenticate',
    file: 'src/api/listener/seats.ts',
    search: 'const STRANGERS_PART = 1 / 4;',
    replacement: 'const STRANGERS_PART = 0;',
    rule: 'Bounds of a listener: a quarter of all connections is free for those that have not authenticated a request.',
    caughtBy: ['test/api/listener/newcomers.test.ts', 'test/api/listener/seats-model.test.ts'],
  },
  {
    name: 'a request whose work has ended keeps its timer',
    file: 'src/concurrency/in-time.ts',
    search: '        clearTimeout(timer);\n        resolve(value);',
    replacement: '        resolve(value);',
    rule: 'Bounds of a listener: nothing of a request is left once it is answered.',
    caughtBy: ['test/concurrency/in-time.test.ts'],
  },
  {
    name: 'a stranger who reads nothing is owed as much as there is',
    file: 'src/api/http/pieces/owed-bytes.ts',
    search: 'if (this.#sum <= this.#max) return;',
    replacement: 'if (oldest.writable) return;',
    rule: 'Bounds of a listener: what strangers have not taken has 64 MiB all in all.',
    caughtBy: ['test/api/http/owed-bytes.test.ts'],
  },
  {
    name: 'an answer whose client is gone is owed for ever',
    file: 'src/api/http/pieces/owed-bytes.ts',
    search: "response.once('close', () => this.#forget(response));",
    replacement: '',
    rule: 'Bounds of a listener: an answer owes nothing once it is closed.',
    caughtBy: ['test/api/http/owed-bytes.test.ts'],
  },
  {
    name: 'a long body is handed to TLS at once',
    file: 'src/api/http/response.ts',
    search: 'bytes > PIECE_BYTES',
    replacement: 'bytes > Infinity',
    rule: 'Bounds of a listener: a long answer is written in pieces.',
    caughtBy: ['test/api/http/owed-bytes.test.ts', 'test/system/hostile/unread-bodies.test.ts'],
  },
];
