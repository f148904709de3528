import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { LIMITS } from '../../src/domain/limits.ts';
import { endpointFault } from '../../src/domain/otel-config/collector-endpoint.ts';
import { drawnEndpoint, isBeyondPatterns, KNOWN_ENDPOINTS } from '../support/kubernetes/endpoints.ts';
import { runs } from '../support/run/effort.ts';
import type { ApiAccess } from './support/api-access.ts';
import { sharedPlane } from './support/control-plane/shared-plane.ts';
import { describeOn } from './support/control-plane/tools.ts';
import { Namespace } from './support/operated.ts';

/* What a real API server makes of the definitions by itself: nobody operates here. */

describeOn('control plane', 'the definitions', () => {
  let plane: ApiAccess;
  let team: Namespace;
  beforeAll(async () => {
    plane = await sharedPlane();
    team = await Namespace.create(plane, 'definitions');
  });
  afterAll(() => plane[Symbol.asyncDispose]());

  /** The API server's words where it refuses to create the resource, by a dry run. */
  async function refusal(kind: string, spec: object): Promise<string | undefined> {
    const path = `/apis/muster.dev/v1beta1/namespaces/${team.name}/${kind.toLowerCase()}s`;
    const object = { apiVersion: 'muster.dev/v1beta1', kind, metadata: { name: 'one' }, spec };
    const { status, body } = await plane.ask('POST', `${path}?dryRun=All&fieldValidation=Strict`, object);
    return status === 201 ? undefined : (body as { message: string }).message;
  }

  describe('about an endpoint', () => {
    const refused = (endpoint: string): Promise<string | undefined> =>
      refusal('FleetOtelConfig', { accountRef: { name: 'acme' }, enabled: true, endpoint });

    async function judge(endpoint: string): Promise<void> {
      if (endpoint === '' || endpoint.length > LIMITS.endpointCharactersMax) return;
      const fault = endpointFault(endpoint);
      if (fault === undefined) expect(await refused(endpoint), `of ${endpoint}`).toBeUndefined();
      else if (!isBeyondPatterns(endpoint)) expect(await refused(endpoint), `of ${endpoint}`).toContain(fault);
    }

    test('agree with the operator, in its words, on all that is known', async () => {
      for (const endpoint of KNOWN_ENDPOINTS) await judge(endpoint);
    });

    test('agree with the operator on any', async () => {
      const property = fc.asyncProperty(drawnEndpoint, judge);
      await fc.assert(property, { seed: 16, numRuns: runs(150) });
    });

    test('refuse one that is too long, and take the longest', async () => {
      const longest = `https://c.example.com/${'a'.repeat(LIMITS.endpointCharactersMax)}`.slice(
        0,
        LIMITS.endpointCharactersMax,
      );
      expect(await refused(longest)).toBeUndefined();
      expect(await refused(`${longest}a`)).toMatch(/Too long/);
    });
  });

  test.each([
    ['my-key', true],
    ['a.b', true],
    ['a..b', false],
    ['a.-b', false],
    ['a-.b', false],
    ['A', false],
  ])('a Secret of the name %s: %s', async (name, taken) => {
    const words = await refusal('FleetApiKey', { accountRef: { name: 'acme' }, secretRef: { name } });
    if (taken) expect(words).toBeUndefined();
    else expect(words).toMatch(/spec\.secretRef\.name.*should match/);
  });

  test.each([
    [{ interval: '1h', overlap: '59m' }, undefined],
    [{ interval: '59m' }, /interval must be at least 1h/],
    [{ interval: '1h', overlap: '1h' }, /overlap must be shorter/],
    [{ interval: '30m1h' }, /should match/],
  ])('a rotation of %j', async (rotation, words) => {
    const said = await refusal('FleetApiKey', { accountRef: { name: 'acme' }, secretRef: { name: 'key' }, rotation });
    if (words === undefined) expect(said).toBeUndefined();
    else expect(said).toMatch(words);
  });

  test('fill in a status that speaks of no generation, from the answer to the create on', async () => {
    const path = `/apis/muster.dev/v1beta1/namespaces/${team.name}/fleetaccounts`;
    const object = { apiVersion: 'muster.dev/v1beta1', kind: 'FleetAccount', metadata: { name: 'new' }, spec: {} };
    const created = await plane.ask('POST', path, object);
    expect(created).toMatchObject({ status: 201, body: { status: { observedGeneration: -1 } } });
    expect((await team.get('facct', 'new'))?.status).toEqual({ observedGeneration: -1 });
  });

  test('are explained by kubectl', async () => {
    const explained = (field: string): Promise<string> => team.kubectl(['explain', field]).catch(() => '');
    // The API server publishes the descriptions a moment after the definitions.
    await team.eventually('the descriptions', async () => (await explained('fleetapikeys.status')) !== '');
    expect(await explained('fleetapikeys.status.nextRotationAt')).toContain('When the key is rotated next.');
    expect(await explained('fleetapps.status.conditions.reason')).toContain('one word in CamelCase');
    expect(await explained('fleetapps.metadata')).toContain("Standard object's metadata.");
  });
});
