import { createHmac } from 'node:crypto';
import type { OperatorRole } from '../../config/operator-tokens.ts';
import type { Log } from '../../log.ts';
import type { Sections } from '../../metrics/instruments/sections.ts';
import type { Secret } from '../credentials/secret.ts';
import { derivedKey } from '../keys/derived-key.ts';
import type { KeyRing } from '../keys/key-ring.ts';
import type { AnnouncedTokens, ReplicaRecord } from '../records/replica-records.ts';

/** A token that opens the operator API. */
export interface OperatorToken {
  /** The name of who has it, for the audit. */
  readonly name: string | undefined;
  readonly role: OperatorRole;
  readonly secret: Secret;
}

/*
 * Replicas must take the same tokens of the operator: otherwise a token works or not by the replica that is asked, and
 * one that was withdrawn may still open a door. Each replica announces an HMAC of its tokens under the active key. It
 * tells whether two replicas have the same tokens with the same roles, whatever their names, to those who have the key,
 * and nothing to anybody else. A token of the role `operator` stands there alone, as in versions without roles.
 */

export const operatorTokensMetrics = ({ controller }: Sections) => ({
  operatorTokensDiffer: controller.gauge({
    name: 'muster_replicas_with_other_operator_tokens',
    help: 'Live replicas whose operator tokens are other ones than those of this one.',
    unit: 'replicas',
  }),
});

interface OperatorTokensDeps {
  readonly keyRing: KeyRing;
  readonly operatorTokens: () => readonly OperatorToken[];
  readonly log: Pick<Log, 'warn' | 'info'>;
  readonly metrics: ReturnType<typeof operatorTokensMetrics>;
}

/** The operator tokens of this replica, as it announces them and compares them with those of the others. */
export class ComparedTokens {
  readonly #deps: OperatorTokensDeps;
  /** The replicas that were logged last, so that each difference is logged once. */
  #logged = '';

  constructor(deps: OperatorTokensDeps) {
    this.#deps = deps;
  }

  /** @param keyNumber the active key; undefined is returned where this replica does not have it */
  announced(keyNumber: number): AnnouncedTokens | undefined {
    const { keyRing, operatorTokens } = this.#deps;
    const key = keyRing.key(keyNumber);
    if (!key) return undefined;
    const tokens = [...new Set(operatorTokens().map(announcedText))].sort();
    // Tokens have neither line ends nor colons in them, so a list has one text.
    const mac = createHmac('sha256', derivedKey(key, 'operator tokens')).update(tokens.join('\n')).digest('hex');
    return { keyNumber, mac };
  }

  /**
   * Compares what the live replicas announced, and warns of a difference once. A replica of an earlier version
   * announces nothing, and one that has not seen a rotation yet used another key: neither can be compared.
   */
  compare(own: AnnouncedTokens | undefined, others: readonly ReplicaRecord[]): void {
    const { log, metrics } = this.#deps;
    const comparable = others.filter(({ operatorTokens: theirs }) => own && theirs?.keyNumber === own.keyNumber);
    const differing = comparable
      .filter(({ operatorTokens: theirs }) => theirs?.mac !== own?.mac)
      .map(({ replicaId }) => replicaId)
      .sort();
    metrics.operatorTokensDiffer(differing.length);
    // Nothing is known of the others until they have announced themselves under the same key.
    if (differing.length === 0 && comparable.length < others.length) return;
    const names = differing.join(' ');
    if (names === this.#logged) return;
    this.#logged = names;
    if (differing.length === 0) log.info({}, 'the operator tokens of all replicas are the same again');
    else log.warn({ replicas: differing }, 'other replicas have other operator tokens: make them the same everywhere');
  }
}

const announcedText = ({ role, secret }: OperatorToken): string =>
  role === 'operator' ? secret.reveal() : `${role}:${secret.reveal()}`;
