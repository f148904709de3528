import { runnerOf, type Runner } from '../runtime/reconcile.ts';
import { fleetAccountKind } from './fleet-account.ts';
import { fleetApiKeyKind } from './fleet-api-key.ts';
import { fleetAppKind } from './fleet-app.ts';
import { fleetOtelConfigKind } from './fleet-otel-config.ts';

/** Every kind that the operator looks at. */
export const KINDS: readonly Runner[] = [
  runnerOf(fleetAccountKind),
  runnerOf(fleetApiKeyKind),
  runnerOf(fleetAppKind),
  runnerOf(fleetOtelConfigKind),
];
