import { describe, expect, test } from 'vitest';
import {
  causeOfAccountStep,
  type FleetAccountFacts,
  type FleetAccountResource,
  type FleetAccountStep,
} from '../../../../src/controller/kubernetes/resources/fleet-account-decide.ts';
import { causeOfAppStep, type FleetAppStep } from '../../../../src/controller/kubernetes/resources/fleet-app-decide.ts';
import type {
  FleetAppFacts,
  FleetAppResource,
} from '../../../../src/controller/kubernetes/resources/fleet-app-facts.ts';
import { causeOfOtelStep } from '../../../../src/controller/kubernetes/resources/fleet-otel-config-decide.ts';
import type {
  FleetOtelConfigFacts,
  FleetOtelConfigResource,
} from '../../../../src/controller/kubernetes/resources/fleet-otel-config-facts.ts';
import type { BindingRecord } from '../../../../src/domain/records/binding-records.ts';
import { asResource } from '../../../support/kubernetes/decisions.ts';
import { anAccount, aReadyAccount } from '../../../support/kubernetes/an-account.ts';
import { foundAt } from '../../../support/store/snapshots.ts';

/* The writes that have a rate are those that are made since somebody has changed something. */

const bound = (more: Partial<BindingRecord> = {}) =>
  foundAt(1, { kind: 'K', namespace: 'team', name: 'one', accountId: 'a', generation: 1, ...more });
const hash = 'h';
const code = { hash, expiresAt: 1 };
const credential = { hash, file: { digest: 'd', settings: 's' } };
const pending = { hash };

describe('an app', () => {
  const app = (generation: number): FleetAppResource =>
    asResource(
      'FleetApp',
      {
        accountRef: { name: 'acme' },
        desiredState: 'Active',
        secretFormat: 'enrollment',
        enrollment: { secretRef: { name: 'box' }, issue: 'UntilEnrolled' },
        deletionPolicy: 'Delete',
      },
      { generation },
    );
  const facts = (binding: Partial<BindingRecord> | undefined): FleetAppFacts => ({
    binding: binding && bound(binding),
    account: aReadyAccount('a'),
    app: undefined,
    candidate: undefined,
    namespaceUid: undefined,
    seenAt: null,
    secret: undefined,
    isDressed: true,
    wanted: { appId: '', serverUrl: '', settings: '' },
  });

  test.each<[string, FleetAppStep, Partial<BindingRecord> | undefined, number, string | undefined]>([
    ['the app itself', { do: 'create' }, undefined, 1, undefined],
    ['another app, for one that was deleted outside', { do: 'create' }, { appId: 'x' }, 2, 'spec'],
    ['a first code', { do: 'issue' }, {}, 1, undefined],
    ['a first credential', { do: 'issueCredential' }, {}, 1, undefined],
    ['a further code', { do: 'issue' }, { code }, 1, 'outside'],
    ['a further code that another spec asks for', { do: 'issue' }, { code }, 2, 'spec'],
    ['a code that was lost before it was registered', { do: 'issue' }, { pending }, 1, 'outside'],
    ['the same of another spec', { do: 'issue' }, { pending }, 2, 'outside'],
    ['a further credential', { do: 'issueCredential' }, { credential }, 1, 'outside'],
    ['a file that is written again', { do: 'rewrite' }, { credential }, 1, 'outside'],
    ['a Secret that is put right', { do: 'write', withoutCode: false }, { code }, 1, 'outside'],
    ['the same without a code of any time', { do: 'write', withoutCode: true }, {}, 1, 'outside'],
    ['labels that are put right', { do: 'dress' }, {}, 1, 'outside'],
    ['labels that another spec asks for', { do: 'dress' }, { code }, 2, 'spec'],
    ['a restored Secret that is taken over', { do: 'takeSecret' }, { code }, 1, 'outside'],
    ['the same without a code of any time', { do: 'takeSecret' }, {}, 1, 'outside'],
    ['a revocation', { do: 'revoke', after: undefined }, { code }, 2, undefined],
    ['a code that is voided', { do: 'void' }, { code }, 1, undefined],
    ['what goes on with a code', { do: 'register' }, { pending }, 1, undefined],
    ['what goes on with a credential', { do: 'enroll' }, { pending }, 1, undefined],
  ])('%s: %o', (_what, step, binding, generation, cause) => {
    expect(causeOfAppStep(step, app(generation), facts(binding))?.cause).toBe(cause);
  });

  test('names its Secret', () => {
    expect(causeOfAppStep({ do: 'issue' }, app(1), facts({ code }))?.secret).toBe('box');
  });
});

describe('an account', () => {
  const change = (disabled: boolean): FleetAccountStep => ({ do: 'change', disabled });

  test.each<[string, FleetAccountStep, boolean, number, string | undefined]>([
    ['a name that was changed outside', change(false), false, 1, 'outside'],
    ['a name that the spec changes', change(false), false, 2, 'spec'],
    ['access that is taken away', change(true), false, 1, undefined],
    ['the same of another spec', change(true), false, 2, undefined],
    ['another name of an account that is disabled', change(true), true, 1, 'outside'],
    ['access that comes back', change(false), true, 2, 'spec'],
    ['the account itself', { do: 'create' }, false, 1, undefined],
    ['its release', { do: 'release' }, false, 1, undefined],
  ])('%s: %o', (_what, step, isDisabled, generation, cause) => {
    const spec = { entitlement: 'standard', disabled: false, deletionPolicy: 'Retain' } as const;
    const resource: FleetAccountResource = asResource('FleetAccount', spec, { generation });
    const { record } = anAccount('a');
    const facts: FleetAccountFacts = {
      binding: bound(),
      account: { ...record, disabled: isDisabled },
      owner: { uid: 'u', namespace: 'team', name: 'one' },
      former: undefined,
      users: [],
      apps: { total: 0, active: 0, pending: 0, revoked: 0 },
      sinceStatusMs: 0,
      at: 0,
    };
    expect(causeOfAccountStep(step, resource, facts)?.cause).toBe(cause);
  });
});

describe('a configuration', () => {
  test.each([
    ['the first revision', undefined, false, 1, undefined],
    ['one that differs in its header', bound(), true, 1, 'header'],
    ['one that differs in more', bound(), false, 1, 'outside'],
    ['one that the spec changes', bound(), false, 2, 'spec'],
    ['one whose header the spec changes', bound(), true, 2, 'spec'],
  ])('%s', (_what, binding, isHeaderAlone, generation, cause) => {
    const resource: FleetOtelConfigResource = asResource(
      'FleetOtelConfig',
      {
        accountRef: { name: 'acme' },
        enabled: true,
        endpoint: 'https://a.example.com',
        authHeaderSecretRef: { name: 'box', key: 'header' },
        evidenceLevel: 'hashes',
      },
      { generation },
    );
    const facts: FleetOtelConfigFacts = {
      binding,
      account: aReadyAccount('a', 'enterprise'),
      first: 'one',
      header: 'none',
      stored: { enabled: true, endpoint: '', evidenceLevel: 'hashes' as const },
      isHeaderAlone,
      seenTag: 't',
      ours: true,
      inSync: false,
      rollout: undefined,
      sinceStatusMs: 0,
    };
    const answer = causeOfOtelStep({ do: 'store' }, resource, facts);
    expect(answer?.cause).toBe(cause);
    expect(answer?.secret).toBe(cause === 'header' ? 'box' : undefined);
    // The header of a spec that only switches off is not told.
    if (!isHeaderAlone) expect(causeOfOtelStep({ do: 'disable' }, resource, facts)).toEqual(answer);
    if (facts.binding) expect(causeOfOtelStep({ do: 'lower' }, resource, facts)).toEqual({ cause: 'outside' });
    expect(causeOfOtelStep({ do: 'purge' }, resource, facts)).toBeUndefined();
  });
});
