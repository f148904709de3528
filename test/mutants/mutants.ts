import { AUDIT_INDEX } from './audit/index.ts';
import { TOLD_BY_ITSELF } from './audit/transitions.ts';
import { ACCESS_TOKENS } from './rights/access-tokens.ts';
import { CALLERS } from './rights/callers.ts';
import { APPS } from './apps.ts';
import { CLIENTS } from './clients.ts';
import { CONCURRENCY } from './concurrency.ts';
import { CONTROLLER } from './controller.ts';
import { DEVICES } from './devices.ts';
import { HTTP } from './http.ts';
import { KUBERNETES } from './kubernetes.ts';
import type { Mutant } from './mutant.ts';
import { NIGHTS } from './nights.ts';
import { OPAMP } from './opamp.ts';
import { PANEL } from './panel.ts';
import { RATE } from './rate.ts';
import { OFFBOARDED } from './rights/offboarding.ts';
import { PEOPLE_ROLES } from './rights/people-roles.ts';
import { RESTRICTED_KEYS } from './rights/restricted-keys.ts';
import { SECRETS } from './secrets.ts';
import { STORE } from './store.ts';

/** One for each kind of promise, by subject. */
export const MUTANTS: readonly Mutant[] = [
  ...HTTP,
  ...KUBERNETES,
  ...RATE,
  ...ACCESS_TOKENS,
  ...APPS,
  ...CALLERS,
  ...OFFBOARDED,
  ...PEOPLE_ROLES,
  ...RESTRICTED_KEYS,
  ...DEVICES,
  ...SECRETS,
  ...NIGHTS,
  ...TOLD_BY_ITSELF,
  ...AUDIT_INDEX,
  ...STORE,
  ...CONCURRENCY,
  ...CONTROLLER,
  ...CLIENTS,
  ...OPAMP,
  ...PANEL,
];
