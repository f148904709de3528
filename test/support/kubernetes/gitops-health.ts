import { loadYaml } from '@kubernetes/client-node';
import { evaluate } from '@marcbachmann/cel-js';
import { readFileSync } from 'node:fs';
import { LuaFactory } from 'wasmoon';
import * as z from 'zod';
import { kstatusOf, type Observed, type Verdict } from './kstatus.ts';

/* The health checks of examples/gitops, carried out as Argo CD and Flux carry them out: in Lua, and in CEL. */

const example = (name: string): unknown =>
  loadYaml(readFileSync(new URL(`../../../examples/gitops/${name}`, import.meta.url), 'utf8'));

const argoSchema = z.object({ data: z.record(z.string(), z.string()) });
const fluxSchema = z.object({
  spec: z.object({
    healthCheckExprs: z.array(
      z.object({
        apiVersion: z.literal('muster.dev/v1beta1'),
        kind: z.string(),
        inProgress: z.string(),
        failed: z.string(),
        current: z.string(),
      }),
    ),
  }),
});
const healthSchema = z.object({ status: z.enum(['Healthy', 'Progressing', 'Degraded']), message: z.string() });

type ArgoHealth = z.infer<typeof healthSchema>['status'];

interface Health {
  readonly kstatus: Verdict;
  readonly argo: ArgoHealth;
  readonly flux: Exclude<Verdict, 'Terminating'>;
}

/** The kinds of which each tool has a check. */
export interface HealthChecks {
  readonly kinds: { readonly argo: readonly string[]; readonly flux: readonly string[] };
  /** The verdicts of the three about an object of the kind. */
  judge(kind: string, object: Observed): Health;
}

/** Reads the examples; one engine of Lua serves all verdicts. */
export async function healthChecks(): Promise<HealthChecks> {
  const PREFIX = 'resource.customizations.health.muster.dev_';
  const scripts = new Map(
    Object.entries(argoSchema.parse(example('argo-cd-health.yaml')).data).map(([key, script]) => [
      key.replace(PREFIX, ''),
      script,
    ]),
  );
  const checks = fluxSchema.parse(example('flux-resources.yaml')).spec.healthCheckExprs;
  // Without proxies objects become tables, as Argo CD has them.
  const lua = await new LuaFactory().createEngine({ enableProxy: false });

  function argoOf(kind: string, object: Observed): ArgoHealth {
    lua.global.set('obj', structuredClone(object));
    return healthSchema.parse(lua.doStringSync(scripts.get(kind) ?? '')).status;
  }

  /** fluxcd/pkg, runtime/cel: the generation first, then the expressions in this order. */
  function fluxOf(kind: string, object: Observed): Health['flux'] {
    const { metadata, status } = object;
    if (status?.observedGeneration !== undefined && status.observedGeneration !== metadata.generation) {
      return 'InProgress';
    }
    const check = checks.find((each) => each.kind === kind);
    const says = (expression: string | undefined): boolean => evaluate(expression ?? '', { ...object }) === true;
    if (says(check?.inProgress)) return 'InProgress';
    if (says(check?.failed)) return 'Failed';
    return says(check?.current) ? 'Current' : 'InProgress';
  }

  return {
    kinds: { argo: [...scripts.keys()], flux: checks.map(({ kind }) => kind) },
    judge: (kind, object) => ({
      kstatus: kstatusOf(object),
      argo: argoOf(kind, object),
      flux: fluxOf(kind, object),
    }),
  };
}

/** What Argo CD and Flux should say where kstatus says this; both know no `Terminating`. */
export const AGREED: Readonly<Record<Verdict, Omit<Health, 'kstatus'>>> = {
  Current: { argo: 'Healthy', flux: 'Current' },
  Failed: { argo: 'Degraded', flux: 'Failed' },
  InProgress: { argo: 'Progressing', flux: 'InProgress' },
  Terminating: { argo: 'Progressing', flux: 'InProgress' },
};
