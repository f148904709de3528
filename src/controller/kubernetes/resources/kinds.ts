import { reconcilerOf, type KindReconciler } from '../runtime/reconcile.ts';
import { fleetAccountKind } from './fleet-account.ts';
import { fleetApiKeyKind } from './fleet-api-key.ts';
import { fleetAppKind } from './fleet-app.ts';
import { fleetOtelConfigKind } from './fleet-otel-config.ts';
import { formerOfAccount, formerOfDependant } from './former-binding.ts';

/** The reconcilers of all kinds. */
export const KINDS: readonly KindReconciler[] = [
  reconcilerOf(fleetAccountKind, formerOfAccount),
  reconcilerOf(fleetApiKeyKind, formerOfDependant),
  reconcilerOf(fleetAppKind, formerOfDependant),
  reconcilerOf(fleetOtelConfigKind, formerOfDependant),
];
