import type { ApiAccess, KubeAnswer } from './api-access.ts';
import type { Namespace } from './operated.ts';

/* Causes for which an API server refuses: rights, a quota and a policy, each taken away again. */

const RBAC = 'apis/rbac.authorization.k8s.io/v1';
const POLICIES = '/apis/admissionregistration.k8s.io/v1';

/** Rights on Secrets that a test takes away and gives back. */
const SECRET_VERBS = { writes: ['create', 'patch', 'delete'], reads: ['get', 'list', 'watch'] } as const;
type SecretRights = keyof typeof SECRET_VERBS;

function done({ status, body }: KubeAnswer, ...tolerated: readonly number[]): void {
  if (status >= 300 && !tolerated.includes(status)) throw new Error(`${status}: ${JSON.stringify(body)}`);
}

/** A service account for the operator in a namespace, and what keeps it from Secrets there. */
export class OperatorRights {
  readonly account = 'muster';
  readonly #plane: ApiAccess;
  readonly #team: Namespace;

  private constructor(plane: ApiAccess, team: Namespace) {
    this.#plane = plane;
    this.#team = team;
  }

  /** With all rights that the chart gives. */
  static async create(plane: ApiAccess, team: Namespace): Promise<OperatorRights> {
    const made = new OperatorRights(plane, team);
    await team.kubectl(['create', 'serviceaccount', made.account]);
    await made.#clusterRole([
      { apiGroups: ['muster.dev'], resources: ['*'], verbs: ['*'] },
      { apiGroups: ['events.k8s.io'], resources: ['events'], verbs: ['create'] },
      { apiGroups: [''], resources: ['namespaces'], verbs: ['get', 'list', 'watch'] },
      {
        apiGroups: ['coordination.k8s.io'],
        resources: ['leases'],
        resourceNames: ['muster-operator'],
        verbs: ['get', 'list', 'watch', 'patch', 'delete'],
      },
    ]);
    await made.#role('claims', [{ apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['create'] }]);
    await made.#bind('claims');
    for (const what of ['writes', 'reads'] as const) {
      await made.#role(what, [{ apiGroups: [''], resources: ['secrets'], verbs: SECRET_VERBS[what] }]);
      await made.allow(what);
    }
    return made;
  }

  /** Resolves once the API server knows of it. */
  async allow(what: SecretRights): Promise<void> {
    await this.#bind(what);
    await this.#known(what, true);
  }

  /** Resolves once the API server knows of it. */
  async refuse(what: SecretRights): Promise<void> {
    done(await this.#plane.ask('DELETE', this.#path('rolebindings', what)), 404);
    await this.#known(what, false);
  }

  /** A ResourceQuota `none`, or none; resolves once the API server knows of it. */
  async limitSecrets(hard: number | undefined): Promise<void> {
    const path = `/api/v1/namespaces/${this.#team.name}/resourcequotas`;
    if (hard === undefined) return done(await this.#plane.ask('DELETE', `${path}/none`));
    const spec = { hard: { secrets: `${hard}` } };
    done(await this.#plane.ask('POST', path, { metadata: { name: 'none' }, spec }));
    await this.#team.eventually('the quota to be counted', async () => {
      const { body } = await this.#plane.ask('GET', `${path}/none`);
      return (body as { status?: { used?: object } }).status?.used !== undefined;
    });
  }

  async #clusterRole(rules: readonly object[]): Promise<void> {
    const { name } = this.#team;
    const subjects = [{ kind: 'ServiceAccount', name: this.account, namespace: name }];
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name };
    done(await this.#plane.ask('POST', `/${RBAC}/clusterroles`, { metadata: { name }, rules }));
    done(await this.#plane.ask('POST', `/${RBAC}/clusterrolebindings`, { metadata: { name }, subjects, roleRef }));
  }

  async #role(name: string, rules: readonly object[]): Promise<void> {
    done(await this.#plane.ask('POST', this.#path('roles'), { metadata: { name }, rules }));
  }

  async #bind(name: string): Promise<void> {
    const subjects = [{ kind: 'ServiceAccount', name: this.account, namespace: this.#team.name }];
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name };
    done(await this.#plane.ask('POST', this.#path('rolebindings'), { metadata: { name }, subjects, roleRef }), 409);
  }

  async #known(what: SecretRights, allowed: boolean): Promise<void> {
    const user = `system:serviceaccount:${this.#team.name}:${this.account}`;
    for (const verb of SECRET_VERBS[what]) {
      const resourceAttributes = { namespace: this.#team.name, verb, resource: 'secrets' };
      await this.#team.eventually(`${verb} to be ${allowed ? 'allowed' : 'refused'}`, async () => {
        const path = '/apis/authorization.k8s.io/v1/subjectaccessreviews';
        const { body } = await this.#plane.ask('POST', path, { spec: { user, resourceAttributes } });
        return (body as { status?: { allowed?: boolean } }).status?.allowed === allowed;
      });
    }
  }

  #path(plural: string, name?: string): string {
    return `/${RBAC}/namespaces/${this.#team.name}/${plural}${name === undefined ? '' : `/${name}`}`;
  }
}

interface PolicyOptions {
  readonly group?: string;
  readonly resource: string;
  readonly operation: 'CREATE' | 'UPDATE' | 'DELETE';
  /** The expression of CEL that makes the words of the refusal. */
  readonly message: string;
  /** A request that it refuses, by `dryRun=All`: it tells when the API server knows the policy. */
  readonly trial: readonly [method: string, path: string, body?: object];
}

let policies = 0;

/** A ValidatingAdmissionPolicy that refuses in one namespace. */
export class RefusingPolicy {
  readonly name: string;
  readonly #plane: ApiAccess;

  private constructor(plane: ApiAccess, name: string) {
    this.#plane = plane;
    this.name = name;
  }

  /** Resolves once it refuses. */
  static async create(plane: ApiAccess, team: Namespace, options: PolicyOptions): Promise<RefusingPolicy> {
    const { group = '', resource, operation, message, trial } = options;
    const name = `${team.name}-${(policies += 1)}`;
    const rule = { apiGroups: [group], apiVersions: ['*'], resources: [resource], operations: [operation] };
    const namespaceSelector = { matchLabels: { 'kubernetes.io/metadata.name': team.name } };
    const policy = {
      failurePolicy: 'Fail',
      matchConstraints: { resourceRules: [rule] },
      validations: [{ expression: 'false', messageExpression: message }],
    };
    const binding = { policyName: name, validationActions: ['Deny'], matchResources: { namespaceSelector } };
    const metadata = { name };
    done(await plane.ask('POST', `${POLICIES}/validatingadmissionpolicies`, { metadata, spec: policy }));
    done(await plane.ask('POST', `${POLICIES}/validatingadmissionpolicybindings`, { metadata, spec: binding }));
    const [method, path, body] = trial;
    await team.eventually('the policy to refuse', async () => {
      const contentType = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
      const answer = await plane.ask(method, `${path}?dryRun=All`, body, contentType);
      return answer.status >= 400 && JSON.stringify(answer.body).includes(name);
    });
    return new RefusingPolicy(plane, name);
  }

  async remove(): Promise<void> {
    for (const plural of ['validatingadmissionpolicybindings', 'validatingadmissionpolicies']) {
      done(await this.#plane.ask('DELETE', `${POLICIES}/${plural}/${this.name}`), 404);
    }
  }
}
