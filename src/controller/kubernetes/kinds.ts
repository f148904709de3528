import { reconcilerOf, type KindReconciler } from './runtime/reconcile.ts';
import { fleetAccountKind } from './resources/fleet-account.ts';
import { fleetApiKeyKind } from './resources/fleet-api-key.ts';
import { fleetAppKind } from './resources/fleet-app.ts';
import { fleetOtelConfigKind } from './resources/fleet-otel-config.ts';
import { formerOfAccount, formerOfDependant } from './former-binding.ts';

/** The reconcilers of all kinds. */
export const KINDS: readonly KindReconciler[] = [
  reconcilerOf(fleetAccountKind, formerOfAccount),
  reconcilerOf(fleetApiKeyKind, formerOfDependant),
  reconcilerOf(fleetAppKind, formerOfDependant),
  reconcilerOf(fleetOtelConfigKind, formerOfDependant),
];
