import { OPERATOR_AUDIT } from '../../../src/domain/records/audit-records.ts';
import { isWrite, keyIdOf, type Call, type Facts } from '../judgement/history.ts';
import { notFound, OperatorCalls, type ModelOwner } from './operator-calls.ts';
import type { ModelAccount, ModelApp, Verdict } from './service.ts';

/** A person of the model, by one of the ways in. */
interface ModelPerson {
  readonly person: string;
  readonly bearer: string;
}

/** The keys that a mutation of an app writes, and its audit entry. */
const writes = (
  action: string,
  account: string,
  app: string,
  ...more: readonly string[]
): Verdict['writes'] & object => ({
  action,
  account,
  app,
  places: [`/app/${app}`, ...more],
});

const refused = { status: 401, code: 'invalid_key' };

/** The requests of the model, each with its effect. */
export class ModelCalls extends OperatorCalls {
  create(owner: ModelOwner): Call {
    return this.#v1(owner, 'app.create', {}, () => this.#created(owner));
  }

  /** A person of the panel, with a role on the installation. */
  newPerson(): ModelPerson {
    const [person, bearer] = [this.id('person'), this.id('session')];
    this.people.set(person, new Set([bearer]));
    return { person, bearer };
  }

  makeToken(by: ModelPerson, { account }: ModelOwner): Call {
    return this.#panel(by, 'token.create', { account }, () => {
      const target = this.id('token');
      this.people.get(by.person)?.add(target);
      return { status: 201, told: { target }, writes: { action: 'access-token.created', account, places: [] } };
    });
  }

  revokeToken(by: ModelPerson, { account }: ModelOwner, target: string): Call {
    return this.#panel(by, 'token.revoke', { target }, () =>
      this.people.get(by.person)?.delete(target) === true
        ? { status: 204, writes: { action: 'access-token.revoked', account, places: [] } }
        : notFound,
    );
  }

  readBy(by: ModelPerson, { account }: ModelOwner): Call {
    return this.#panel(by, 'person.read', { account }, () => ({ status: 200 }));
  }

  writeBy(by: ModelPerson, owner: ModelOwner): Call {
    return this.#panel(by, 'person.write', { account: owner.account }, () => this.#created(owner));
  }

  /** Ends whatever lets the person in, or the role alone, without which a session may do nothing here. */
  endPerson({ person }: ModelPerson, kind: 'person.disable' | 'role.take'): Call {
    return this.ask(kind, { person }, () => {
      this.people.delete(person);
      return { status: 200, writes: { action: 'user.changed', account: OPERATOR_AUDIT, places: [] } };
    });
  }

  #panel({ person, bearer }: ModelPerson, kind: Call['kind'], facts: Facts, decide: () => Verdict): Call {
    return this.ask(kind, { person, bearer, ...facts }, () =>
      this.people.get(person)?.has(bearer) === true ? decide() : { status: 401, code: 'invalid_session' },
    );
  }

  #created({ account: of }: ModelOwner): Verdict {
    const account = this.accounts.get(of);
    if (!account) return notFound;
    const [app, code] = [this.id('app'), this.id('code')];
    account.counters += 1;
    this.apps.set(app, {
      account: of,
      status: 'pending',
      slot: this.nextSlot(),
      enrolled: false,
      credential: undefined,
      openCodes: [code],
    });
    return { status: 201, told: { app, code }, writes: writes('app.created', of, app, '/tally') };
  }

  issue(owner: ModelOwner, app: string): Call {
    const code = this.id('code');
    return this.#ofApp(owner, 'code.issue', app, (stored) => {
      stored.openCodes.push(code);
      return {
        status: 201,
        told: { code },
        writes: writes('code.issued', owner.account, app),
      };
    });
  }

  read(owner: ModelOwner, app: string): Call {
    return this.#ofApp(owner, 'app.read', app, ({ status }) => ({ status: 200, told: { value: status } }));
  }

  list(owner: ModelOwner): Call {
    return this.#v1(owner, 'app.list', {}, ({ counters }) => ({ status: 200, told: { count: counters } }));
  }

  revoke(owner: ModelOwner, app: string): Call {
    return this.#ofApp(owner, 'app.revoke', app, (stored) => {
      if (stored.status === 'revoked' && stored.openCodes.length === 0) return { status: 200 };
      Object.assign(stored, { status: 'revoked', credential: undefined, openCodes: [] });
      return { status: 200, writes: writes('app.revoked', owner.account, app) };
    });
  }

  remove(owner: ModelOwner, app: string): Call {
    return this.#ofApp(owner, 'app.delete', app, () => {
      this.apps.delete(app);
      const account = this.accounts.get(owner.account);
      if (account) account.counters -= 1;
      return {
        status: 204,
        writes: writes('app.deleted', owner.account, app, '/tally'),
      };
    });
  }

  enroll(owner: ModelOwner, app: string, code: string, credential: string): Call {
    return this.ask('enroll', { account: owner.account, app, code, credential }, () => {
      const stored = this.apps.get(app);
      if (!stored?.openCodes.includes(code)) return { status: 401, code: 'invalid_code' };
      if (this.accounts.get(owner.account)?.disabled === true) return { status: 401, code: 'account_disabled' };
      const openCodes = stored.openCodes.slice(stored.openCodes.indexOf(code) + 1);
      Object.assign(stored, { status: 'active', credential, enrolled: true, openCodes });
      this.credentials.set(credential, app);
      return { status: 200, writes: writes('app.enrolled', owner.account, app) };
    });
  }

  poll(owner: ModelOwner, app: string, credential: string): Call {
    return this.ask('poll', { account: owner.account, app, credential }, () => {
      if (this.apps.get(app)?.credential !== credential) return { status: 401, code: 'invalid_credential' };
      const isDisabled = this.accounts.get(owner.account)?.disabled === true;
      return isDisabled ? { status: 401, code: 'account_disabled' } : { status: 200 };
    });
  }

  store(owner: ModelOwner, value: string | undefined): Call {
    const kind = value === undefined ? 'otel.purge' : 'otel.write';
    return this.#v1(owner, kind, value === undefined ? {} : { value }, () => {
      this.endpoints.set(owner.account, value);
      return { status: 200, writes: { action: kind, account: owner.account, places: ['/otel'] } };
    });
  }

  #v1(owner: ModelOwner, kind: Call['kind'], facts: Facts, decide: (account: ModelAccount) => Verdict): Call {
    return this.ask(kind, { account: owner.account, key: owner.key, ...facts }, () => {
      const account = this.accounts.get(owner.account);
      const id = keyIdOf(owner.key);
      if (account?.keys.has(id) !== true || account.ended.has(owner.key)) return refused;
      if (account.disabled) return { status: 401, code: 'account_disabled' };
      return isWrite({ kind }) && account.narrowed.has(id) ? { status: 403, code: 'forbidden' } : decide(account);
    });
  }

  #ofApp(owner: ModelOwner, kind: Call['kind'], app: string, decide: (app: ModelApp) => Verdict): Call {
    return this.#v1(owner, kind, { app }, () => {
      const stored = this.apps.get(app);
      return stored?.account === owner.account ? decide(stored) : notFound;
    });
  }
}
