import type { ServerToAgent } from '../../../src/opamp/generated/opamp_pb.ts';
import { call, createApp, enroll, OPERATOR_TOKEN, type Muster, type Tenant } from '../service/muster.ts';
import { OpampAgent, REPORTS } from './agent.ts';

interface StartedAgent {
  readonly agent: OpampAgent;
  readonly appId: string;
  /** The answer to its first message. */
  readonly first: ServerToAgent;
}

/** An app's agent that has just started. @param fields of its first message, in place of all that it has */
export async function startedAgent(
  muster: Muster,
  { apiKey }: Tenant,
  capabilities: bigint = REPORTS,
  fields?: Parameters<OpampAgent['say']>[0],
): Promise<StartedAgent> {
  const app = await createApp(muster, apiKey);
  const agent = new OpampAgent(muster.device, await enroll(muster, app), capabilities);
  return { agent, appId: app.appId, first: fields ? await agent.say(fields) : await agent.start() };
}

/** GET /operator/v1/accounts/{accountId}/rollout. */
export const rolloutOf = async (muster: Muster, { accountId }: Tenant): Promise<Readonly<Record<string, unknown>>> =>
  (await call(`${muster.ops}/operator/v1/accounts/${accountId}/rollout`, { token: OPERATOR_TOKEN })).body;
