import { fleetAccountKind } from './fleet-account.ts';
import { fleetApiKeyKind } from './fleet-api-key.ts';
import { runnerOf, type Runner } from './runner.ts';

/** Every kind that the operator looks at. */
export const KINDS: readonly Runner[] = [runnerOf(fleetAccountKind), runnerOf(fleetApiKeyKind)];
