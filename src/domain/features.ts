import { accessAudit } from './access-audit/feature.ts';
import { accessTokens } from './access-tokens/feature.ts';
import { apps } from './apps/feature.ts';
import { audit } from './audit/feature.ts';
import { auditIndex } from './audit/index/feature.ts';
import type { Sweep } from './cleanup/sweep.ts';
import { devices } from './devices/feature.ts';
import { mutation } from './mutation/feature.ts';
import { otelConfig } from './otel-config/feature.ts';
import { resourceBindings } from './resource-bindings/feature.ts';
import { sessions } from './sessions/feature.ts';
import { signIns } from './sign-ins/feature.ts';
import { users } from './users/feature.ts';

/**
 * The part of a feature that runs by itself; its `feature.ts` lists it. The records, actions and series of all features
 * stand in lists of their own: they are read where no feature is loaded, and the series keep the order of
 * docs/METRICS.md.
 */
interface Feature {
  /** Its sweeps of the clean-up, by the names that the metrics have for what they remove. */
  readonly sweeps: Readonly<Record<string, Sweep>>;
}

const FEATURES = [
  accessAudit,
  accessTokens,
  apps,
  audit,
  auditIndex,
  devices,
  mutation,
  otelConfig,
  resourceBindings,
  sessions,
  signIns,
  users,
] as const satisfies readonly Feature[];

type KeyOf<T> = T extends unknown ? keyof T & string : never;
export type SweepName = KeyOf<(typeof FEATURES)[number]['sweeps']>;

/** The sweeps of all features, each with its name. */
export const SWEEPS = FEATURES.flatMap(({ sweeps }) => Object.entries(sweeps) as [SweepName, Sweep][]);
