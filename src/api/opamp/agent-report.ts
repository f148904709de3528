import { LIMITS } from '../../domain/limits.ts';
import type { AgentReport } from '../../domain/opamp/agent-state.ts';
import { can } from '../../opamp/capabilities.ts';
import {
  RemoteConfigStatuses,
  type AgentDescription,
  type AgentToServer,
  type RemoteConfigStatus,
} from '../../opamp/generated/opamp_pb.ts';

const INSTANCE_BYTES = 16;

/** The id of the instance, as 32 hex digits; undefined for one of another length, and for zeros alone. */
export function instanceOf({ instanceUid }: Pick<AgentToServer, 'instanceUid'>): string | undefined {
  if (instanceUid.length !== INSTANCE_BYTES || instanceUid.every((byte) => byte === 0)) return undefined;
  return Buffer.from(instanceUid).toString('hex');
}

/** Makes the report of a message, within bounds: texts are cut, and nothing is taken that Muster does not know. */
export function agentReport(message: AgentToServer): Omit<AgentReport, 'gap'> {
  const { capabilities, agentDescription, health, remoteConfigStatus } = message;
  return {
    instance: instanceOf(message),
    abilities: {
      acceptsConfig: can(capabilities, 'acceptRemoteConfig'),
      reportsConfig: can(capabilities, 'reportRemoteConfig'),
      acceptsSettings: can(capabilities, 'acceptConnectionSettings'),
      reportsHeartbeat: can(capabilities, 'reportHeartbeat'),
      reportsHealth: can(capabilities, 'reportHealth'),
    },
    described: agentDescription && describedBy(agentDescription),
    health: health && { healthy: health.healthy, error: errorText(health.lastError) },
    config: remoteConfigStatus && configOf(remoteConfigStatus),
  };
}

/** The platform and the version, as an enrollment would take them. */
export function describedBy(description: AgentDescription): NonNullable<AgentReport['described']> {
  return { platform: attribute(description, 'os.type'), agentVersion: attribute(description, 'service.version') };
}

function attribute(
  { identifyingAttributes, nonIdentifyingAttributes }: AgentDescription,
  key: string,
): string | undefined {
  const found = [identifyingAttributes, nonIdentifyingAttributes]
    .flatMap((attributes) => attributes.find((each) => each.key === key) ?? [])
    .map(({ value }) => value?.stringValue ?? '')
    .find((text) => text !== '');
  const cut = found?.slice(0, LIMITS.deviceTextCharactersMax).replaceAll(/[^\x20-\x7e]/g, '?');
  return cut === undefined ? undefined : Buffer.from(cut).toString();
}

const STATUSES = new Map<RemoteConfigStatuses, 'applying' | 'applied' | 'failed'>([
  [RemoteConfigStatuses.APPLYING, 'applying'],
  [RemoteConfigStatuses.APPLIED, 'applied'],
  [RemoteConfigStatuses.FAILED, 'failed'],
]);

const HASH_CHARACTERS_MAX = 200;

function configOf({ lastRemoteConfigHash, status, errorMessage }: RemoteConfigStatus): AgentReport['config'] {
  // A hash that another server has made is no text of ours; what it is does not matter.
  const isText = lastRemoteConfigHash.length <= HASH_CHARACTERS_MAX && lastRemoteConfigHash.every(isHashCharacter);
  return {
    hash: isText ? Buffer.from(lastRemoteConfigHash).toString('latin1') : '?',
    status: STATUSES.get(status) ?? 'unset',
    error: errorText(errorMessage),
  };
}

const isHashCharacter = (byte: number): boolean => byte > 0x20 && byte < 0x7f;

/** An agent's own words, as of an acknowledgement. */
function errorText(text: string): string | undefined {
  // A copy: a part of a long text would keep all of it.
  return text === '' ? undefined : Buffer.from(text.slice(0, LIMITS.ackErrorCharactersMax)).toString();
}
