import { keyIdOf, type AccountField, type Call } from '../judgement/history.ts';
import { ModelService } from './service.ts';

/** An account of the model. */
export interface ModelOwner {
  readonly account: string;
  readonly key: string;
}

export const notFound = { status: 404, code: 'not_found' };

/** The requests of the operator to the model. */
export class OperatorCalls extends ModelService {
  owner(): ModelOwner {
    const account = this.id('account');
    const key = this.id('key');
    this.accounts.set(account, {
      disabled: false,
      counters: 0,
      keys: new Set([key]),
      narrowed: new Set(),
      ended: new Set(),
      fields: { name: account, entitlement: 'enterprise', adoptableBy: '' },
      consentEnd: '',
    });
    this.markerOf.set(account, this.id('marker'));
    this.write(this.id('request'), { action: 'account.created', account, places: ['', '/tally'] });
    return { account, key };
  }

  disable(owner: ModelOwner, disabled: boolean): Call {
    const asked = { account: owner.account, field: 'disabled', value: String(disabled) } as const;
    return this.ask(disabled ? 'account.disable' : 'account.enable', asked, () => {
      const account = this.accounts.get(owner.account);
      if (account?.disabled === disabled || !account) return { status: 200 };
      account.disabled = disabled;
      return { status: 200, writes: { action: 'account.changed', account: owner.account, places: [''] } };
    });
  }

  change(owner: ModelOwner, field: Exclude<AccountField, 'disabled'>, value: string): Call {
    return this.ask('account.change', { account: owner.account, field, value }, () => {
      const account = this.accounts.get(owner.account);
      const isConsent = field === 'adoptableBy' && value !== '';
      // A consent that is given anew has another end.
      if (!account || (account.fields[field] === value && !isConsent)) return { status: 200 };
      account.fields[field] = value;
      if (field === 'adoptableBy') account.consentEnd = isConsent ? this.id('end') : '';
      return { status: 200, writes: { action: 'account.changed', account: owner.account, places: [''] } };
    });
  }

  addKey(owner: ModelOwner): Call {
    const target = this.id('key');
    return this.ask('key.create', { account: owner.account }, () => {
      this.accounts.get(owner.account)?.keys.add(target);
      return {
        status: 201,
        told: { target },
        writes: { action: 'key.created', account: owner.account, places: [`/key/${target}`] },
      };
    });
  }

  narrowKey(owner: ModelOwner, target: string): Call {
    return this.ask('key.narrow', { account: owner.account, target }, () => {
      const account = this.accounts.get(owner.account);
      if (account?.keys.has(target) !== true) return notFound;
      account.narrowed.add(target);
      return { status: 200, writes: { action: 'key.changed', account: owner.account, places: [`/key/${target}`] } };
    });
  }

  /** Ends the secret of this name; the next one's is not asked for. */
  rotateKey(owner: ModelOwner, target: string): Call {
    return this.ask('key.rotate', { account: owner.account, target }, () => {
      const account = this.accounts.get(owner.account);
      const key = keyIdOf(target);
      if (account?.keys.has(key) !== true) return notFound;
      account.ended.add(target);
      return { status: 201, writes: { action: 'key.rotated', account: owner.account, places: [`/key/${key}`] } };
    });
  }

  revokeKey(owner: ModelOwner, target: string): Call {
    return this.ask('key.revoke', { account: owner.account, target }, () => {
      if (this.accounts.get(owner.account)?.keys.delete(target) !== true) return notFound;
      return { status: 204, writes: { action: 'key.revoked', account: owner.account, places: [`/key/${target}`] } };
    });
  }
}
