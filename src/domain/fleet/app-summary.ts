import type { Entry } from '../../store/port.ts';
import { parseRecord } from '../records/codec.ts';
import type { AppRecord } from '../records/app-records.ts';
import { KEYS } from '../records/keys.ts';

/** The fields of an app's record that memory keeps beside its text, because they are read all the time. */
export interface AppSummary {
  readonly status: AppRecord['status'];
  readonly connection: AppRecord['connection'];
  /** The app's number in its account. */
  readonly slot: number;
  readonly hasOpenCodes: boolean;
  /** Nobody has proved the credential: the first request that it authenticates makes the binding final. */
  readonly isProvisional: boolean;
  /** An operator has consented that a custom resource adopts the app, some time. */
  readonly isOffered: boolean;
}

export const summaryOf = ({
  status,
  connection,
  slot,
  codes,
  credential,
  enrolled,
  adoptableBy,
}: AppRecord): AppSummary => ({
  status,
  connection,
  slot,
  hasOpenCodes: codes.length > 0,
  isProvisional: enrolled?.provisional === true && enrolled.credential === credential,
  isOffered: adoptableBy !== undefined,
});

/**
 * Judges the stored text as `KEYS.app.schema` does, and reads its summary. Parsing a million records takes longer than
 * everything else at a start together, so a text that is spelled as this program spells it, nothing more and nothing
 * less, is judged by one regular expression; any other text is parsed.
 * @returns the summary, and the credential's hash where there is one
 * @throws BadRecord
 */
export function readSummary(entry: Entry): { readonly summary: AppSummary; readonly credential: string | undefined } {
  const spelled = SPELLED.exec(entry.value);
  if (!spelled) {
    const { record } = parseRecord(KEYS.app, entry);
    const { credential } = record;
    return {
      summary: summaryOf(record),
      credential: credential !== undefined && IS_HASH.test(credential) ? credential : undefined,
    };
  }
  const [, status, slot, connection, early, codes, late, claimed, provisional] = spelled;
  // Where a name is there twice, JSON.parse takes the last one.
  const credential = late ?? early;
  const summary = {
    status: status as AppRecord['status'],
    connection: connection as AppRecord['connection'],
    slot: Number(slot),
    hasOpenCodes: codes !== '',
    isProvisional: provisional !== undefined && claimed === credential,
    isOffered: false,
  };
  return { summary, credential: credential === '' ? undefined : credential };
}

/** No other text can be presented as a credential's hash, and only such a text stands in JSON without escapes. */
const IS_HASH = /^[\w-]+$/;

/** A string without escapes; a whole number that is no larger than a number can hold; a hash in base64url. */
const TEXT = String.raw`"[^"\\\x00-\x1f]*"`;
const WHOLE = String.raw`(?:0|[1-9]\d{0,14})`;
const HASH = String.raw`"[\w-]*"`;
const CODE = String.raw`\{"hash":${HASH},"issuedAt":${WHOLE},"expiresAt":${WHOLE}\}`;
const SPENT = String.raw`\{"hash":${HASH},"why":"(?:used|voided|expired)"\}`;
const listOf = (item: string): string => String.raw`(?:${item}(?:,${item})*)?`;
const ENROLLED_AT = String.raw`(?:,"enrolledAt":${WHOLE})?`;
const CREDENTIAL = String.raw`(?:,"credential":"([\w-]*)")?`;

/** The fields of an enrollment lie at the end, or, in records that older versions wrote again, before the codes. */
const SPELLED = new RegExp(
  [
    String.raw`^\{"name":${TEXT},"status":"(pending|active|revoked)","statusAt":${WHOLE},"createdAt":${WHOLE}`,
    String.raw`,"slot":(${WHOLE}),"platform":${TEXT},"agentVersion":${TEXT},"connection":"(cloud|private)"`,
    String.raw`${ENROLLED_AT}${CREDENTIAL}`,
    String.raw`,"codes":\[(${listOf(CODE)})\],"spent":\[${listOf(SPENT)}\]`,
    String.raw`${ENROLLED_AT}${CREDENTIAL}${ENROLLED_AT}`,
    String.raw`(?:,"enrolled":\{"code":${HASH},"credential":"([\w-]*)","at":${WHOLE}(,"provisional":true)?\})?\}$`,
  ].join(''),
);
