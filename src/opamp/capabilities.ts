/* Capabilities and flags of the protocol, as bits of a 64-bit number. */

/** The capabilities of an agent, as it says them (`AgentToServer.capabilities`). */
export const AGENT_CAN = {
  reportStatus: 0x1n,
  acceptRemoteConfig: 0x2n,
  reportEffectiveConfig: 0x4n,
  acceptConnectionSettings: 0x100n,
  reportHealth: 0x800n,
  reportRemoteConfig: 0x1000n,
  reportHeartbeat: 0x2000n,
} as const;

/**
 * Muster can do these (`ServerToAgent.capabilities`). It takes no effective configuration, which has secrets in clear.
 */
export const SERVER_CAPABILITIES: bigint =
  0x1n /* status */ | 0x2n /* remote configuration */ | 0x20n; /* connection settings */

/** `AgentToServer.flags`: the agent asks for an id of the server's making. */
export const REQUEST_INSTANCE_UID = 0x1n;
/** `ServerToAgent.flags`: the agent is to send all that it would otherwise leave out as unchanged. */
export const REPORT_FULL_STATE = 0x1n;

/** Tells whether an agent has a capability. */
export const can = (capabilities: bigint, capability: keyof typeof AGENT_CAN): boolean =>
  (capabilities & AGENT_CAN[capability]) !== 0n;
